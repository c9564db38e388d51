"""The population limit: closed forms, brute force, relative precision, and the corollary on variable lengths."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from replica import Erf, LengthLaw, Linear, LinearCentred, MaxSLR, Problem, Softmax, Softplus, SpikedSLR
from replica.analysis.bayes import fixed_points
from replica.analysis.erm import fixed_points as erm_fixed_points
from replica.analysis.moments import Elementwise, Normalised, Quadratic, mean_winning_score
from replica.analysis.population import bayes_population, erm_population, misplaced
from replica.bayes.laplace import misplaced_spiked
from replica.errors import InvalidProblem

INF = math.inf
EXACT = [
    (2, 2.0, 0.22480),
    (2, 5.0, 0.08440),
    (3, 1.0, 0.48113),
    (3, 2.0, 0.35242),
    (10, 4.0, 0.44688),
    (10_000, 25.0, 0.18905),
]
DATA = [SpikedSLR(2.0), MaxSLR(2.0), MaxSLR()]


def population(data, length: object = 2, activation=None, noise: float = 0.0) -> Problem:
    """A problem at alpha = inf."""
    return Problem(data=data, activation=activation or Softmax(), alpha=INF, length=length, noise=noise)


@pytest.mark.parametrize(("length", "nu", "risk"), EXACT)
def test_known_bayes_risks(length, nu, risk):
    solution = bayes_population(population(SpikedSLR(nu), length))
    assert solution.test_risk == pytest.approx(risk, abs=6e-6)
    assert solution.accuracy_met
    assert solution.overlaps[:2] == (1.0, 1.0)


@pytest.mark.parametrize("nu", [2.0, 40.0, 400.0])
def test_six_digits_however_small_the_risk(nu):
    import mpmath

    with mpmath.workdps(30):
        exact = mpmath.exp(-nu / 4) * mpmath.quad(
            lambda d: mpmath.npdf(d, 0, mpmath.sqrt(2 * nu)) * mpmath.sech(d / 2) / 2, [-200, -50, -10, 0, 10, 50, 200]
        )
    for solution in (bayes_population(population(SpikedSLR(nu))), erm_population(population(SpikedSLR(nu)))):
        assert solution.test_risk == pytest.approx(float(exact), rel=1e-8)
        assert solution.errors["test_risk"] < 1e-7 * float(exact)


def test_large_nu_of_the_max_model_keeps_relative_precision():
    # two tokens: E sigmoid(nu d) sigmoid(-nu d) over d ~ N(0, 2), twice
    import mpmath

    nu = 60.0
    exact = mpmath.quad(
        lambda d: mpmath.npdf(d, 0, mpmath.sqrt(2)) / (2 * mpmath.cosh(nu * d / 2) ** 2), [-3, -0.3, 0, 0.3, 3]
    )
    assert misplaced(MaxSLR(nu), LengthLaw.of(2)) == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize("length", [2, 3, 50])
@pytest.mark.parametrize("nu", [1.0, 9.0, 400.0])
def test_affine_attention_has_its_closed_forms(length, nu):
    linear = erm_population(population(SpikedSLR(nu), length, Linear()))
    assert linear.test_risk == pytest.approx(1 / (length / (length - 1) + nu / length), rel=1e-12)
    centred = erm_population(population(SpikedSLR(nu), length, LinearCentred()))
    assert centred.test_risk == pytest.approx((length - 1) / (nu + length), rel=1e-12)


@pytest.mark.parametrize("length", [2, 5, 1000])
def test_affine_attention_on_the_largest_score(length):
    mean = mean_winning_score(LengthLaw.of(length), INF)
    if length == 2:
        assert mean == pytest.approx(1 / math.sqrt(math.pi), rel=1e-10)
    linear = erm_population(population(MaxSLR(), length, Linear()))
    assert linear.test_risk == pytest.approx(1 - (1 + mean**2) / length, rel=1e-9)
    centred = erm_population(population(MaxSLR(), length, LinearCentred()))
    assert centred.test_risk == pytest.approx(1 - 1 / length - mean**2 / (length - 1), rel=1e-9)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("activation", [Softmax(), Softplus(), Erf(-0.5), Linear(), LinearCentred()])
@pytest.mark.parametrize("length", [2, 5])
def test_moments_agree_with_samples(data, activation, length):
    m, count, rng = 1.3, 40_000, np.random.default_rng(4)
    law = LengthLaw.of(length)
    if activation.name == "linear-centred":
        first, rest = Quadratic(True, data, law)(m)
    else:
        kind = Normalised if activation.combination == "normalised" else Elementwise
        first, rest = kind(activation, data, law)(m)
    scores = rng.standard_normal((count, length))
    eps, shift = data.sample_position(rng, scores)
    scores[np.arange(count), eps] += shift
    sigma = activation.sigma(m * scores)
    for values, found in ((sigma[np.arange(count), eps], first), ((sigma**2).sum(axis=1), rest + first**2)):
        assert abs(values.mean() - found) < 4.5 * values.std() / math.sqrt(count)


@pytest.mark.parametrize("data", [SpikedSLR(2.0), SpikedSLR(30.0), MaxSLR(2.0)])
@pytest.mark.parametrize("length", [2, 5, "2:1,4:3"])
def test_softmax_reaches_the_bayes_risk_and_only_at_its_own_length(data, length):
    law = LengthLaw.of(length)
    moments = Normalised(Softmax(), data, law)
    best = erm_population(population(data, length)).overlaps.m_k

    def risk(m):
        first, rest = moments(m)
        return rest / (rest + first**2)

    bayes = misplaced(data, law)
    assert risk(best) == pytest.approx(bayes, rel=1e-7)
    assert risk(0.9 * best) > bayes * (1 + 1e-4)
    assert risk(1.1 * best) > bayes * (1 + 1e-4)
    # E sigma_1 = E|sigma|^2 there, so v = v*
    first, rest = moments(best)
    assert first == pytest.approx(rest + first**2, rel=1e-8)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("activation", [Linear(), LinearCentred(), Softplus(), Erf(0.0), Erf("optimal")])
def test_no_other_attention_reaches_the_bayes_risk(data, activation):
    found = erm_population(population(data, 3, activation))
    bayes = bayes_population(population(data, 3))
    assert found.test_risk > bayes.test_risk + 0.005
    assert found.accuracy_met or found.overlaps.m_k == INF


def test_the_best_offset_is_a_minimum_over_both():
    found = erm_population(population(SpikedSLR(2.0), 5, Erf("optimal")))
    offset, m = found.problem.activation.offset, found.overlaps.m_k
    for other in (-1.2, -0.8, 0.0):
        assert erm_population(population(SpikedSLR(2.0), 5, Erf(other))).test_risk > found.test_risk
    moments = Elementwise(Erf(offset), SpikedSLR(2.0), LengthLaw.of(5))
    for shift in (-0.01, 0.01):
        first, rest = moments(m + shift)
        assert rest / (rest + first**2) > found.test_risk
    assert found.to_row()["erf_offset"] == pytest.approx(offset)


@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR(2.0)])
def test_random_lengths_hurt_linear_and_erf_but_not_softmax(data):
    # one (k, v) serves all lengths: softmax loses nothing against knowing L, the others do (arXiv 2509.21936)
    def risk(length, activation):
        return erm_population(population(data, length, activation)).test_risk

    for activation in (Softmax(), Linear(), LinearCentred(), Erf("optimal")):
        apart = 0.5 * (risk(2, activation) + risk(6, activation))
        together = risk("2:1,6:1", activation)
        if activation == Softmax():
            assert together == pytest.approx(apart, rel=1e-9)
        else:
            assert together > apart + 0.003


def test_long_keys_are_said_and_extrapolated():
    found = erm_population(population(MaxSLR(), 2, Softplus()))
    assert found.overlaps.m_k == INF
    assert "k grows" in found.message
    # relu attention: perfect unless both scores are positive, where it is chi_1/(chi_1 + chi_2)
    rng = np.random.default_rng(2)
    both = np.sort(np.abs(rng.standard_normal((400_000, 2))), axis=1)
    share = both[:, 1] / both.sum(axis=1)
    first, second = 0.75 + 0.25 * share.mean(), 0.75 + 0.25 * (share**2 + (1 - share) ** 2).mean()
    assert found.test_risk == pytest.approx(1 - first**2 / second, abs=2e-4 + found.errors["test_risk"])
    softmax = erm_population(population(MaxSLR(), 2))
    assert softmax.test_risk == 0.0
    assert softmax.overlaps.m_k == INF


@pytest.mark.parametrize(
    ("data", "activation"), [(SpikedSLR(2.0), Softplus()), (MaxSLR(2.0), Erf()), (MaxSLR(), Linear())]
)
def test_error_bars_cover(data, activation):
    problem = population(data, 4, activation)
    found = erm_population(problem)
    law, m = problem.length, found.overlaps.m_k
    if activation.name == "linear":
        first, rest = Quadratic(False, data, law, refine=3.0)(m)
    else:
        first, rest = (Normalised if activation.name == "softplus" else Elementwise)(activation, data, law)(m, 2.5)
    assert abs(rest / (rest + first**2) - found.test_risk) <= found.errors["test_risk"] + 1e-12


def test_one_token_needs_no_attention():
    for activation in (Softmax(), Linear(), LinearCentred(), Softplus(), Erf()):
        for data in (SpikedSLR(2.0), MaxSLR()):
            assert abs(erm_population(population(data, 1, activation, noise=0.5)).test_risk - 0.25) < 1e-11


def test_both_estimators_enter_by_alpha_inf():
    problem = population(SpikedSLR(2.0), noise=0.5)
    [bayes], [erm] = fixed_points(problem), erm_fixed_points(problem)
    assert bayes.test_risk == pytest.approx(0.25 + 0.2247997546, rel=1e-9)
    assert erm.test_risk == pytest.approx(bayes.test_risk, rel=1e-12)
    assert erm.objective == pytest.approx(0.5 * erm.test_risk)
    # finite alpha approaches it from above
    close = fixed_points(replace(problem, alpha=1e5))[0]
    assert 0 < close.test_risk - bayes.test_risk < 1e-4


def test_nothing_is_learnt_about_keys_without_signal():
    assert bayes_population(population(SpikedSLR(0.0))).overlaps.q_k == 0.0
    assert bayes_population(population(MaxSLR(), 1)).overlaps.V_k == 1.0


def test_an_offset_to_be_optimised_has_no_value():
    with pytest.raises(InvalidProblem, match="no value"):
        Erf("optimal").sigma(np.zeros(2))


@pytest.mark.parametrize("length", ["2", "1:1,1000:1"])
def test_a_risk_below_the_smallest_float_needs_no_grid(length):
    law = LengthLaw.of(length)
    edge = 4.0 * (math.log(law.support[-1]) - math.log(5e-324))
    assert misplaced_spiked(1.001 * edge, law) == misplaced_spiked(1e50, law) == 0.0
    assert misplaced_spiked(0.9 * edge, law) > 0.0


def test_every_number_of_erf_attention_has_an_honest_error():
    """The minimum over m to 20 digits by mpmath; E erf(m (s + x)) is closed."""
    import mpmath

    root, length = mpmath.sqrt(2), 3

    def moments(m):
        first = 1 + mpmath.erf(m * root / mpmath.sqrt(1 + 2 * m**2))
        square = [
            mpmath.quad(lambda x, s=s: mpmath.npdf(x) * (1 + mpmath.erf(m * (s + x))) ** 2, [-12, -4, 0, 4, 12])
            for s in (root, 0)
        ]
        return first, square[0] + (length - 1) * square[1]

    def risk(m):
        first, square = moments(m)
        return 1 - first**2 / square

    found = erm_population(population(SpikedSLR(2.0), length, Erf()))
    with mpmath.workdps(20):
        best = mpmath.findroot(lambda m: mpmath.diff(risk, m), found.overlaps.m_k)
        first, square = moments(best)
        exact = {"m_k": best, "m_v": first / square, "attention_relevant": first, "test_risk": risk(best)}
        exact |= {"train_loss": exact["test_risk"] / 2, "objective": exact["test_risk"] / 2}
    row = found.to_row()
    for name, value in exact.items():
        assert abs(row[name] - float(value)) <= 2 * found.errors[name] + 1e-13, name
