"""The compiled vector field against finite differences of the plain objective."""

import numpy as np
import pytest

from replica.flow import kernels
from replica.flow.problem import LOSSES, MAPS, FlowProblem
from replica.flow.result import Setting

from .faces import gradient, objective, weights

pytestmark = pytest.mark.nojit

CASES = [
    *[{"loss": loss, "map": name} for loss in LOSSES for name in MAPS],
    *[{"loss": loss, "map": name, "tied": True} for loss in LOSSES for name in ("softmax", "power2", "sigmoid")],
    {"loss": "square", "condition": 5.0, "dim": 4},
    {"loss": "square", "condition": 3.0, "dim": 4, "map": "relu", "tied": True},
    {"loss": "kl", "temperature": 0.0},
    {"loss": "logistic", "tokens": 6},
    {"loss": "kl", "tokens": 2},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_velocity_is_minus_the_gradient(case):
    problem = FlowProblem(**{"dim": 4, "rows": 2, "scale_v": 0.7, "scale_a": 0.6, "mean_a": 0.3, "seed": 5} | case)
    setting = Setting.of(problem)
    _, _, target, design = problem.arrays()
    W, A = setting.W, setting.A
    dW, dA = np.empty_like(W), np.empty_like(A)
    kinds = LOSSES.index(problem.loss), MAPS.index(problem.map), problem.tied
    value, _, gamma = kernels.velocity(*kinds, W, A, *setting.constants, dW, dA, setting.work)
    V = W.T.copy()
    assert value == pytest.approx(objective(problem, V, A, target, design), rel=1e-12)
    by_V = gradient(lambda x: objective(problem, x, A, target, design), V)
    by_A = gradient(lambda x: objective(problem, V, x, target, design), A)
    np.testing.assert_allclose(dW.T, -by_V, atol=1e-7, rtol=1e-6)
    np.testing.assert_allclose(dA, -by_A, atol=1e-7, rtol=1e-6)
    if not problem.tied:
        # the columns of V move along -grad ell, whose component on w is gamma: sum_j du_j/dt = gamma |w|^2 sum s
        axis = setting.constants[3]
        total = np.mean([weights(problem.map, a).sum() for a in A])
        if problem.rows == 1 or problem.map != "sigmoid":
            assert np.sum(dW @ axis) == pytest.approx(gamma * (axis @ axis) * total, rel=1e-10)


@pytest.mark.parametrize("name", MAPS)
def test_weights(name):
    z = np.array([0.3, 2.0, -0.4, 900.0, -900.0]) if name in ("softmax", "sigmoid") else np.array([0.3, 2.0, -0.4])
    s = np.empty_like(z)
    kernels.weights(MAPS.index(name), z, s)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(s, weights(name, z), rtol=1e-14)


def test_dead_weights_are_nan():
    s = np.empty(2)
    kernels.weights(MAPS.index("relu"), np.array([-1.0, 0.0]), s)
    assert np.isnan(s).all()


@pytest.mark.parametrize("reach", [-800.0, 800.0])
def test_logistic_is_finite_far_out(reach):
    pull, r = np.empty(1), np.empty(1)
    value, gamma = kernels.ell(0, np.array([reach]), np.ones(1), np.eye(1), False, pull, r)
    assert value == pytest.approx(max(-reach, 0.0), abs=1e-300)
    assert gamma == pytest.approx(float(reach < 0), abs=1e-300)
