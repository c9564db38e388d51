"""Problems and plans refuse nonsense; the seeded parts are what they say."""

import math

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.flow.plan import Plan
from replica.flow.problem import FlowProblem

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize(
    "case",
    [
        {"loss": "hinge"},
        {"map": "max"},
        {"dim": 0},
        {"dim": 2.5},
        {"dim": 10**9},
        {"dim": True},
        {"tokens": -3},
        {"rows": 0},
        {"seed": -1},
        {"condition": 5.0},
        {"loss": "square", "condition": 0.5},
        {"loss": "square", "condition": math.inf},
        {"norm": 0.0},
        {"norm": math.nan},
        {"norm": 1e200},
        {"temperature": 2.0},
        {"loss": "kl", "temperature": -1.0},
        {"loss": "kl", "dim": 1},
        {"scale_v": -1.0},
        {"scale_a": "a"},
        {"mean_a": math.inf},
        {"tied": True, "tokens": 3},
        {"map": "sum", "mean_a": 0.0, "scale_a": 0.0},
        {"map": "power2", "tied": True, "scale_v": 0.0},
    ],
    ids=str,
)
def test_bad_problems(case):
    with pytest.raises(InvalidProblem) as refusal:
        FlowProblem(**case)
    assert "\n" not in str(refusal.value)
    assert any(name in str(refusal.value) for name in [*case, "a = 0"])


@pytest.mark.parametrize(
    "case",
    [
        {"method": "euler"},
        {"time": 0.0},
        {"time": math.nan},
        {"time": math.inf},
        {"time": 1e300},
        {"lr": 0.1},
        {"method": "descent", "lr": 0.0},
        {"method": "descent", "lr": -1.0},
        {"method": "descent", "lr": 1e-9},
        {"method": "descent", "lr": 1e9},
        {"method": "descent", "rtol": 1e-6},
        {"rtol": 1e-15},
        {"rtol": 0.5},
        {"records": 0},
        {"stop": 0.0},
    ],
    ids=str,
)
def test_bad_plans(case):
    with pytest.raises(InvalidProblem) as refusal:
        Plan(**case)
    assert "\n" not in str(refusal.value)


def test_the_design_has_the_stated_singular_values():
    design = FlowProblem(loss="square", condition=5.0, seed=4).arrays()[3]
    np.testing.assert_allclose(np.linalg.svd(design, compute_uv=False), np.linspace(1, 0.2, 20), rtol=1e-12)


def test_target_norm_and_default_scales():
    conditioned = FlowProblem(loss="square", condition=5.0)
    assert (conditioned.dim, conditioned.tokens, conditioned.scale_v) == (20, 20, 1e-5)
    assert np.linalg.norm(conditioned.arrays()[2]) == pytest.approx(math.sqrt(20))
    W, A, target, _ = FlowProblem().arrays()
    assert np.linalg.norm(target) == pytest.approx(1.0)
    assert W.std() == pytest.approx(0.1, rel=0.3)
    assert not A.any()


def test_the_target_is_the_same_for_every_map():
    targets = [FlowProblem(map=name, seed=3).arrays()[2] for name in ("softmax", "l1")]
    np.testing.assert_array_equal(*targets)


def test_kl_target_is_a_softmax_and_hardens_with_temperature():
    soft, hard = (FlowProblem(loss="kl", temperature=t).arrays()[2] for t in (1.0, 0.0))
    axis = FlowProblem().arrays()[2]
    np.testing.assert_allclose(soft, np.exp(axis) / np.exp(axis).sum())
    assert hard.max() == hard.sum() == 1.0
    assert np.argmax(hard) == np.argmax(axis)
