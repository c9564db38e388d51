"""Ingredients that a user writes in a few lines of sympy, solved by the pipeline as it stands."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sympy
from scipy.special import erfc

from replica import Activation, DataModel, MaxSLR, Problem, Softmax, SpikedSLR
from replica.analysis.erm_map import Equations
from replica.analysis.node_channel import NodeChannel
from replica.errors import InvalidProblem, UnsupportedExpression
from replica.lowering import pair as pair_lowering
from replica.lowering import tokens as lowering
from replica.models.data.base import PairLaw
from tests.erm.test_ridge import closed_form

from .problems import POINT

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```python\n(# own_ingredients.py.*?)```", README, re.DOTALL)
# the documented ingredients, the same class for all tests of a session
own = ModuleType("own_ingredients")
exec(compile(EXAMPLE, "README.md", "exec", dont_inherit=True), own.__dict__)
Temperature, NormalisedSquare, Relu, Spike = own.Temperature, own.NormalisedSquare, own.Relu, own.Spike


@dataclass(frozen=True)
class Unnormalised(Spike):
    name = "unnormalised"

    def log_weight(self, chi, eps):
        return sympy.sqrt(self.nu) * chi[eps]


@dataclass(frozen=True)
class TooLarge(Spike):
    name = "too large"

    def log_weight(self, chi, eps):
        return super().log_weight(chi, eps) + sympy.log(sympy.Float(1.1))


@dataclass(frozen=True)
class FirstIsSpecial(Spike):
    name = "special"

    def log_weight(self, chi, eps):
        return sympy.Float(0.5) * chi[0] - sympy.Float(0.125)


def test_temperature_is_a_scaling_of_the_key(solved):
    """softmax(beta chi) with penalty lambda on |k|^2 is softmax with k' = beta k and penalty lambda/beta^2."""
    options = {"alpha": 4.0, "length": 3, "noise": 0.3, "reg_v": 1.0}
    (hot,) = solved(Problem(SpikedSLR(2.0), Temperature(2.0), reg_k=4.0, **options), rtol=5e-3)
    (plain,) = solved(Problem(SpikedSLR(2.0), Softmax(), reg_k=1.0, **options), rtol=5e-3)
    # the same nodes: equal to round-off, not only within error bars
    assert hot.test_risk == pytest.approx(plain.test_risk, rel=1e-6)
    assert 2.0 * hot.overlaps.m_k == pytest.approx(plain.overlaps.m_k, rel=1e-5)
    assert 4.0 * hot.overlaps.V_k == pytest.approx(plain.overlaps.V_k, rel=1e-5)


def test_what_the_expression_says_names_the_module():
    at = {beta: Problem(SpikedSLR(2.0), Temperature(beta), length=3) for beta in (2.0, 3.0)}
    assert lowering.load(at[2.0]) is lowering.load(at[2.0])
    sources = [lowering.source(problem) for problem in at.values()]
    assert sources[0] != sources[1]


def test_a_density_ratio_alone_gives_the_model():
    """Tilted and weighted samples against the closed law of the built-in model."""
    options = {"alpha": 4.0, "length": 3, "noise": 0.3}
    found = []
    for data in (Spike(1.0), SpikedSLR(1.0)):
        one = Problem(data, Softmax(), **options)
        equations = Equations(one, NodeChannel(one, 3, 12, 0))
        par = equations.parameters(POINT)
        variants = equations.channel.variants(par)[0]
        found.append(np.array([[v.sums.envelope, *v.sums.slopes, v.first, v.square] for v in variants]))
    mine, own = found
    error = np.hypot(mine.std(axis=0, ddof=1), own.std(axis=0, ddof=1)) / np.sqrt(len(own))
    gap = np.abs(mine.mean(axis=0) - own.mean(axis=0))
    assert np.all(gap < 4.0 * error)
    assert np.all(error < 0.05 * np.abs(own.mean(axis=0)))


def test_a_model_needs_no_signal_strength():
    @dataclass(frozen=True)
    class Tilt(DataModel):
        name = "tilt"

        def log_weight(self, chi, eps):
            return chi[eps] - 0.5

    found = []
    for data in (Tilt(), Spike(1.0)):
        one = Problem(data, Softmax(), alpha=4.0, length=3, noise=0.3)
        state = Equations(one, NodeChannel(one, 3, 6, 0)).evaluate(POINT)
        found.append([*state.value, *state.numbers.values()])
    assert np.array_equal(*found)


@pytest.mark.nojit
@pytest.mark.parametrize(("nu", "length"), [(1.0, 1), (2.0, 3), (100.0, 3), (900.0, 2), (4.0, 64)])
def test_a_density_ratio_is_sampled_where_it_is_large(nu, length):
    """A spike far out of reach of normal samples: no weight dominates, and the hidden score is N(sqrt(nu), 1)."""
    points = np.random.default_rng(0).random((4000, length + 1))
    scores, weights = Spike(nu).teacher_scores(points, length)
    assert weights.max() < 4.0
    moments = np.column_stack([weights, *(weights * (scores[:, 0] - np.sqrt(nu)) ** power for power in (1, 2))])
    error = moments.std(axis=0, ddof=1) / np.sqrt(len(moments))
    assert np.all(np.abs(moments.mean(axis=0) - [1.0, 0.0, 1.0]) < 4.0 * error)
    assert np.all(error < 0.06)


@pytest.mark.nojit
def test_sampling_a_sharp_density_ratio_agrees_with_its_closed_law():
    """The winner of five without a law of its own: moments of its score and of the others."""

    class Winner(MaxSLR):
        score_points, teacher_scores = DataModel.score_points, DataModel.teacher_scores

    rng, found = np.random.default_rng(0), []
    for data in (Winner(), MaxSLR()):
        scores, weights = data.teacher_scores(rng.random((20000, data.score_points(5))), 5)
        numbers = np.column_stack([scores[:, 0], scores[:, 0] ** 2, scores[:, 1:].mean(axis=1), scores[:, 1] ** 2])
        found.append(weights[:, None] * numbers)
    error = np.hypot(*(one.std(axis=0, ddof=1) for one in found)) / np.sqrt(20000)
    assert np.all(np.abs(found[0].mean(axis=0) - found[1].mean(axis=0)) < 4.0 * error)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (Unnormalised(1.0), r"has E g = 1\.[56].*allowed: E g = 1"),
        (Spike(1600.0), "puts the hidden score beyond 36"),
        (TooLarge(100.0), r"has E g = 1\.[01].*allowed: E g = 1"),
        (FirstIsSpecial(1.0), "is not exchangeable"),
    ],
)
def test_a_weight_that_is_no_density_ratio_is_refused(data, reason):
    from replica.analysis.erm import fixed_points

    with pytest.raises(InvalidProblem, match=reason):
        fixed_points(Problem(data, Softmax(), alpha=2.0, length=3))


@dataclass(frozen=True)
class Shifted(Spike):
    """Spiked-SLR with its pair law, moved by a number that is not nu."""

    shift: float = 0.0
    name = "my pair"

    def pair_law(self, m_k, q_k, nu, x):
        return PairLaw(m_k * sympy.sqrt(nu) + self.shift, sympy.S.One, sympy.oo)


class MySoftmax(Softmax):
    """A softmax that is not the built-in one."""

    def phi(self, chi):
        return sympy.exp(2 * chi)


def test_two_tokens_take_the_scalar_channel_only_where_it_applies():
    assert pair_lowering.applies(Problem(Shifted()))
    assert not pair_lowering.applies(Problem(Spike()))
    assert not pair_lowering.applies(Problem(SpikedSLR(), MySoftmax()))


def test_the_pair_law_of_a_user_names_its_module():
    """A number of the model that is not nu, or an edited law, must not find the module compiled before."""
    names = {pair_lowering.load(Problem(Shifted(shift=shift))).__name__ for shift in (0.0, 0.0, 0.5)}
    assert len(names) == 2


def test_a_model_without_a_pair_law_is_solved_at_two_tokens(solved):
    (found,) = solved(Problem(Spike(2.0), alpha=2.0), rtol=3e-2, init="informed")
    (known,) = solved(Problem(SpikedSLR(2.0), alpha=2.0), init="informed")
    assert found.converged
    assert abs(found.test_risk - known.test_risk) < 3.0 * found.errors["test_risk"]


def test_what_has_no_population_limit_is_refused():
    from replica.analysis.population import bayes_population, erm_population

    for limit in (bayes_population, erm_population):
        with pytest.raises(InvalidProblem, match="'my spike' has no population limit"):
            limit(Problem(Spike(), alpha=np.inf))


@pytest.mark.slow
def test_the_example_of_the_readme_agrees_with_its_experiment(capsys):
    """relu and a data model from its density ratio: the documented script, theory and L-BFGS on its own samplers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(EXAMPLE, "README.md", "exec", dont_inherit=True), {"__name__": "__main__"})
    theory, found = (line.split() for line in capsys.readouterr().out.splitlines())
    (risk, error, status), (measured, spread, end) = theory[1:4], found[1:4]
    assert (theory[0], status, found[0]) == ("erm", "converged", "experiment-erm")
    # the minimum is at kinks, where the gradient does not vanish
    assert end in ("max_iter", "stalled")
    assert float(error) < 0.02 * float(risk)
    # at D = 150 a bias of order 1/D is left, and jumps break replica symmetry a little
    assert abs(float(risk) - float(measured)) < 3.0 * float(spread) + float(error) + 0.02


@dataclass(frozen=True)
class Written(Activation):
    """phi from an expression."""

    text: str
    combination: str = "normalised"
    name = "written"

    def phi(self, chi):
        return {"x": chi, "abs": abs(chi), "step": sympy.Heaviside(chi), "relu": sympy.Max(chi, 0)}[self.text]


@pytest.mark.parametrize(
    ("activation", "reason"),
    [
        (Written("x"), "its sum can vanish; allowed: phi > 0"),
        (Written("relu"), "its sum can vanish; allowed: phi > 0"),
        (Written("abs"), "vanishes at its kink 0; allowed: phi > 0 there"),
        (Written("step", "elementwise"), "jumps at 0, from 0 to 1; allowed: continuous functions"),
    ],
)
def test_functions_without_proximal_points_are_refused(activation, reason):
    with pytest.raises(UnsupportedExpression, match=reason):
        lowering.source(Problem(Spike(1.0), activation, length=3))


@pytest.mark.parametrize("nu", [0.25, 4.0])
def test_relu_in_the_population(nu):
    """Homogeneous: the risk depends on the sign of m alone; Gaussian integrals of x_+ in closed form."""
    from scipy.stats import norm

    from replica.analysis.population import erm_population

    found = erm_population(Problem(SpikedSLR(nu), Relu(), alpha=np.inf, length=3), None)
    a = np.sqrt(nu)
    first = a * norm.cdf(a) + norm.pdf(a)
    second = (1.0 + nu) * norm.cdf(a) + a * norm.pdf(a) + 2 * 0.5
    assert found.converged
    assert "does not depend on the length of k" in found.message
    assert "m_k" not in found.errors
    assert found.test_risk == pytest.approx(1.0 - first**2 / second, abs=3 * found.errors["test_risk"] + 1e-6)
    assert found.errors["test_risk"] < 1e-2


def test_kinks_and_straight_pieces_are_found():
    relu = lowering.source(Problem(Spike(1.0), Relu(), length=3))
    assert "KINKED, KINKS = True, np.array([0.0], dtype=np.float64)" in relu
    assert "CENTRED, STRAIGHT = False, True" in relu
    square = lowering.source(Problem(Spike(1.0), NormalisedSquare(), length=3))
    assert "KINKED, KINKS = False" in square
    assert "RISING = False" in square
    assert "RISING = True" in lowering.source(Problem(Spike(1.0), Temperature(2.0), length=3))


@dataclass(frozen=True)
class Constant(Activation):
    """Attention that does not see the scores."""

    combination: str = "normalised"
    name = "constant"

    def phi(self, chi):
        return sympy.Integer(1)


@pytest.mark.parametrize("length", [2, 3])
def test_attention_that_sees_no_scores_is_ridge_regression_on_the_mean_token(solved, length):
    """y = v*.mean(X) + noise of variance 1 - 1/L + Delta^2, and the mean has covariance 1/L."""
    (found,) = solved(Problem(SpikedSLR(2.0), Constant(), 4.0, length, 0.3, 1.0, 0.5))
    exact = closed_form(4.0, 0.5 * length, np.sqrt(length - 1 + 0.09 * length))
    exact |= {name: exact[name] / length for name in ("test_risk", "train_loss", "objective")}
    exact["V_v"] *= length
    row = found.to_row()
    assert found.converged
    assert found.accuracy_met
    assert found.rs_stable
    for name, value in exact.items():
        assert abs(row[name] - value) < 3.0 * found.errors[name], name
    # the key is not used
    assert found.overlaps[:2] == pytest.approx((0.0, 0.0), abs=1e-11)
    assert found.overlaps.V_k == pytest.approx(1.0)
    assert found.prox_jump == 0.0
    assert np.isnan(found.off_m)


@dataclass(frozen=True)
class Rare(Spike):
    """All of the weight on scores beyond 3, which few samples reach."""

    name = "rare"

    def log_weight(self, chi, eps):
        return sympy.log(sympy.Heaviside(chi[eps] - 3)) - sympy.log(sympy.Float(0.5 * erfc(3.0 / np.sqrt(2.0))))


@pytest.mark.nojit
def test_a_rare_hidden_score_is_sampled():
    scores, weights = Rare(1.0).teacher_scores(np.random.default_rng(0).random((2000, 65)), 64)
    assert weights.mean() == pytest.approx(1.0, abs=0.1)
    assert np.all(scores[weights > 0.0, 0] > 3.0)
