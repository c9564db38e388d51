"""Replicon, jumps of the proximal point and the verdict: measured values of spiked-SLR, nu = 2, no noise."""

import numpy as np
import pytest

from replica.analysis.channels import StabilitySums
from replica.analysis.discretise import ladder
from replica.analysis.erm_map import Equations
from replica.analysis.stability import replicon_of
from tests.erm.problems import LOW

# (alpha, reg): replicon and its uncertainty
REPLICON = {
    (4.0, 1.0): (0.1500, 1e-4),
    (2.0, 0.1): (0.63, 0.02),
    (4.0, 0.1): (0.475, 0.012),
    (8.0, 0.1): (0.494, 0.012),
}
REPLICON |= {(2.0, 0.01): (1.43, 0.08)}
# (alpha, reg): share of V_hat_k due to jumps, and its uncertainty
JUMP = {(4.0, 1.0): (0.0, 1e-7), (4.0, 0.1): (-0.0088, 5e-4), (4.0, 0.01): (-0.13, 0.015), (2.0, 0.01): (-0.57, 0.03)}


@pytest.fixture
def solution(request, solved):
    return solved(LOW[request.param], rtol=1e-2 if request.param[1] < 0.1 else None)[0]


def cases(table):
    return [(key, *value) for key, value in table.items()]


@pytest.mark.parametrize(("solution", "value", "spread"), cases(REPLICON), indirect=["solution"], ids=str)
def test_replicon(solution, value, spread):
    assert abs(solution.replicon - value) <= spread + solution.errors["replicon"]
    assert solution.errors["replicon"] < 0.25 * solution.replicon


@pytest.mark.parametrize(("solution", "value", "spread"), cases(JUMP), indirect=["solution"], ids=str)
def test_prox_jump(solution, value, spread):
    assert abs(solution.prox_jump - value) <= spread + solution.errors["prox_jump"]


@pytest.mark.parametrize(
    ("solution", "stable"),
    [((4.0, 1.0), True), ((4.0, 0.1), True), ((2.0, 0.01), False), ((4.0, 0.01), False)],
    indirect=["solution"],
    ids=str,
)
def test_verdict(solution, stable):
    """At reg = .01 experiments from different starts find different minima; at .1 and above they find one."""
    assert solution.rs_stable is stable
    assert ("broken" in solution.message) is (not stable)


def test_strength_of_the_jumps(solved):
    """b = 2 alpha V_k^2 E[p(delta_0*) Dg^2], Dg = (delta_+ - delta_-)/(2 V_k): .007 at reg = .1, alpha = 4."""
    problem = LOW[4.0, 0.1]
    (solution,) = solved(problem)
    equations = Equations(problem, ladder(problem, seed=0, threads=None).channel(4))
    sums = equations.channel.stability(equations.parameters(np.array(solution.overlaps)))
    V_k = solution.overlaps.V_k
    assert 2 * problem.alpha * V_k**2 * sums.jump_square / (2 * V_k) ** 2 == pytest.approx(0.007, abs=0.0005)


def test_replicon_is_the_spectral_radius():
    """Against numpy on the operator written out on (C_kk, C_vv, C_kv)."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        kk, kv, vv, cross = rng.uniform(0, 1, size=4) * (1, 1, 1, 0.3)
        V_k, V_v, alpha = rng.uniform(0.1, 2, size=3)
        sums = StabilitySums(kk=kk, kv=kv, vv=vv, cross=cross, jump=0.0, jump_square=0.0)
        operator = alpha * np.array(
            [[V_k**2 * kk, V_k**2 * kv, 0], [V_v**2 * kv, V_v**2 * vv, 0], [0, 0, V_k * V_v * cross]]
        )
        expected = np.abs(np.linalg.eigvals(operator)).max()
        found = replicon_of(np.array([0.1, 1.0, V_k, 0.1, 1.0, V_v]), alpha, sums)
        assert found == pytest.approx(expected, rel=1e-12)
