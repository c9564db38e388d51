"""Ingredients that a user writes in a few lines of sympy, solved by the pipeline as it stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import sympy

from replica import Activation, DataModel, Problem, Softmax, SpikedSLR
from replica.analysis.erm_map import Equations
from replica.analysis.node_channel import NodeChannel
from replica.errors import InvalidProblem
from replica.lowering import pair as pair_lowering
from replica.lowering import tokens as lowering
from replica.models.data.base import PairLaw

from .problems import POINT


@dataclass(frozen=True)
class Temperature(Activation):
    """exp(beta chi_l) / sum exp(beta chi)."""

    beta: float = 1.0
    name = "temperature softmax"
    combination = "normalised"

    def phi(self, chi):
        return sympy.exp(self.beta * chi)


@dataclass(frozen=True)
class NormalisedSquare(Activation):
    """chi_l^2 / sum chi^2."""

    name = "normalised square"
    combination = "normalised"

    def phi(self, chi):
        return chi**2


@dataclass(frozen=True)
class Relu(Activation):
    """max(chi_l, 0)."""

    name = "relu"
    combination = "elementwise"

    def phi(self, chi):
        return sympy.Max(chi, 0)


@dataclass(frozen=True)
class Spike(DataModel):
    """Spiked-SLR from its density ratio alone."""

    nu: float = 1.0
    name = "my spike"

    def log_weight(self, chi, eps):
        return sympy.sqrt(self.nu) * chi[eps] - sympy.Float(self.nu) / 2


@dataclass(frozen=True)
class Unnormalised(Spike):
    name = "unnormalised"

    def log_weight(self, chi, eps):
        return sympy.sqrt(self.nu) * chi[eps]


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


@pytest.mark.parametrize(
    ("data", "reason"),
    [(Unnormalised(1.0), r"has E g = 1\.[56].*allowed: E g = 1"), (FirstIsSpecial(1.0), "is not exchangeable")],
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
