"""The channel of softmax attention at L = 2: a scalar proximal point (theory.md section 4).

Softmax at L = 2 depends on delta = chi_1 - chi_2 alone, and the label on three Gaussians: the difference delta_0 of
the key fields, the difference A of the value fields, and R, the part of the label independent of A.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from ..models.activations.softmax import Softmax
from ..models.data.base import PairLaw
from ..models.problem import Problem
from .erm import NOISE, NU, EquationSystem, V_k, V_v, m_k, m_v, q_k, q_v, stationarity
from .functions import sigmoid
from .nodes import GaussianAverage, Moreau

x_A, x_R, x_delta = sympy.symbols("x_A x_R x_delta", real=True)
delta = sympy.Symbol("delta", real=True)
# the fields of the two tokens, kept apart to differentiate in each; they enter only through differences
y, w_1, w_2, k_1, k_2 = sympy.symbols("y omega_v1 omega_v2 omega_k1 omega_k2", real=True)


@dataclass(frozen=True)
class PairChannel:
    """Everything about the scalar channel that is lowered or printed.

    `objective`, `residual`, `preimage` and `response` are in terms of the token fields y, omega_v1, ...; `reduced`
    writes the fields through standard normals and overlaps.

    Attributes
    ----------
    law : PairLaw
        Law of delta_0.
    fields : dict
        The Gaussian fields in terms of (x_A, x_R, x_delta) and the overlaps.
    objective : Expr
        The Moreau objective as a function of delta, values eliminated.
    potential : Expr
        F(delta), the objective without its quadratic term.
    preimage : Expr
        T(delta), the delta_0 whose stationary point is delta.
    residual : Expr
        y - f at the proximal point.
    response : dict
        kk, kv, vv, cross: the sums over tokens of products of d g/d omega that enter the replicon
        (theory.md section 8).
    """

    law: PairLaw
    fields: dict[sympy.Symbol, sympy.Expr]
    objective: sympy.Expr
    potential: sympy.Expr
    preimage: sympy.Expr
    residual: sympy.Expr
    response: dict[str, sympy.Expr]

    def reduced(self, expression: sympy.Expr) -> sympy.Expr:
        """The expression with every field written through standard normals and overlaps."""
        return expression.xreplace(self.fields)

    @property
    def system(self) -> EquationSystem:
        """The energy and its stationarity."""
        integrand = self.law.weight * Moreau(self.reduced(self.objective), delta)
        return stationarity(GaussianAverage(integrand, x_A, x_R, x_delta))


def law_of(problem: Problem) -> PairLaw | None:
    """Law of delta_0 at L = 2 where the scalar channel applies: softmax itself and a data model with a pair law."""
    if type(problem.activation) is not Softmax:
        return None
    return problem.data.pair_law(m_k, q_k, NU, x_delta)


def build(problem: Problem) -> PairChannel:
    """Derive the channel of `problem`, which has a `law_of`."""
    law = law_of(problem)
    residual, potential = _eliminate_values(problem, (sigmoid(delta), sigmoid(-delta)))
    objective = potential + (delta - (k_1 - k_2)) ** 2 / (4 * V_k)
    delta_0 = sympy.Symbol("delta_0", real=True)
    (preimage,) = sympy.solve(objective.xreplace({k_1: delta_0 + k_2}).diff(delta), delta_0)
    return PairChannel(law, _fields(law), objective, potential, preimage, residual, _response(objective))


def _fields(law: PairLaw) -> dict[sympy.Symbol, sympy.Expr]:
    """The Gaussian fields through standard normals, with token 2 at the origin (only differences enter)."""
    c = m_v / q_v
    difference = sympy.sqrt(2 * q_v) * x_A
    label_variance = (1 - c) ** 2 * q_v / 2 + 1 - m_v**2 / q_v + NOISE**2
    return {
        y: (c + 1) * difference / 2 + sympy.sqrt(label_variance) * x_R,
        w_1: difference,
        w_2: sympy.S.Zero,
        k_1: law.mean + sympy.sqrt(2 * q_k) * x_delta,
        k_2: sympy.S.Zero,
    }


def _eliminate_values(problem: Problem, sigma: tuple[sympy.Expr, sympy.Expr]) -> tuple[sympy.Expr, sympy.Expr]:
    """Minimise over z in closed form: z = omega_v + V_v r sigma, r the residual; return (r, minimum)."""
    r = sympy.Symbol("r", real=True)
    square = sigma[0] ** 2 + sigma[1] ** 2
    prediction = sigma[0] * w_1 + sigma[1] * w_2 + V_v * r * square
    objective = problem.loss.expression(y, prediction) + V_v * r**2 * square / 2
    stationary = sympy.together(objective.diff(r))
    (optimum,) = sympy.solve(stationary, r)
    residual = sympy.factor(optimum)
    return residual, sympy.factor(sympy.simplify(objective.subs(r, residual)))


def _response(objective: sympy.Expr) -> dict[str, sympy.Expr]:
    """Sums over tokens of products of d g/d omega = -d^2 M/d omega^2, by implicit differentiation."""
    curvature = objective.diff(delta, 2)
    keys, values = (k_1, k_2), (w_1, w_2)

    def second(a: sympy.Symbol, b: sympy.Symbol) -> sympy.Expr:
        return -(objective.diff(a, b) - objective.diff(a, delta) * objective.diff(b, delta) / curvature)

    kk = [[second(a, b) for b in keys] for a in keys]
    kv = [[second(a, b) for b in values] for a in keys]
    vv = [[second(a, b) for b in values] for a in values]
    pairs = [(i, j) for i in (0, 1) for j in (0, 1)]
    return {
        "kk": sum(kk[i][j] ** 2 for i, j in pairs),
        "kv": sum(kv[i][j] ** 2 for i, j in pairs),
        "vv": sum(vv[i][j] ** 2 for i, j in pairs),
        "cross": sum(kk[i][j] * vv[i][j] + kv[i][j] * kv[j][i] for i, j in pairs),
    }
