"""From options to lines."""

from __future__ import annotations

import pickle

import pytest

from replica.errors import InvalidProblem
from replica.registry import ESTIMATORS
from replica.sweeps.plan import plan


def test_product_in_grid_order():
    found = plan({"model": "max-slr", "estimator": "erm", "alpha": "4,1", "nu": "inf,2", "reg": "log:1:100:3"})
    assert [line.alphas for line in found.lines] == [(4.0, 1.0)] * 6
    assert [(line.problem.data.nu, line.problem.reg_k, line.problem.reg_v) for line in found.lines] == [
        (nu, reg, reg) for nu in (float("inf"), 2.0) for reg in (1.0, 10.0, 100.0)
    ]
    assert found.points == 12
    assert pickle.loads(pickle.dumps(found.lines)) == found.lines


def test_penalties_offsets_and_laws():
    found = plan(
        {
            "model": "spiked-slr",
            "estimator": "erm",
            "alpha": 1,
            "reg": 2,
            "reg_k": [1, 3],
            "activation": "erf,softmax",
            "erf_offset": "0,0.5",
            "length": ["2", "1:1,2:1"],
        }
    )
    problems = [line.problem for line in found.lines]
    assert [(p.activation.name, getattr(p.activation, "offset", None)) for p in problems[::4]] == [
        ("erf", 0.0),
        ("erf", 0.5),
        ("softmax", None),
    ]
    assert [(str(p.length), p.reg_k, p.reg_v) for p in problems[:4]] == [
        (length, k, 2.0) for length in ("2", "1:0.5,2:0.5") for k in (1.0, 3.0)
    ]


def test_models_have_their_own_defaults():
    found = plan({"model": "max-slr,spiked-slr", "estimator": "erm", "alpha": 1})
    assert [line.problem.data.nu for line in found.lines] == [float("inf"), 2.0]


def test_bayes_is_not_multiplied_by_what_it_does_not_know(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "bayes", "tests.sweeps.fold:fixed_points")
    found = plan(
        {
            "model": "max-slr",
            "estimator": "erm,bayes",
            "activation": "softmax,erf",
            "alpha": 1,
            "reg": "1,2",
            "noise": "0,1",
        }
    )
    assert [line.estimator for line in found.lines] == ["erm"] * 8 + ["bayes"] * 2


def test_digest_knows_the_options_and_nothing_else():
    grid = {"model": "max-slr", "estimator": "erm", "alpha": "1,2"}
    base = plan(grid).digest
    assert plan(grid | {"alpha": [1.0, 2]}).digest == base
    assert plan(grid | {"noise": 0}).digest == base
    for other in ({"alpha": "2,1"}, {"noise": 0.1}, {"seed": 1}, {"rtol": 1e-3}, {"length": "2,3"}, {"nu": "inf"}):
        assert plan(grid | other).digest != base
    assert plan(grid, damping=0.5).digest != base
    assert plan(grid, init="informed").digest != base


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"beta": 1}, "'beta' is not an axis"),
        ({"model": None}, "model is missing"),
        ({"alpha": None}, "alpha is missing"),
        ({"alpha": "1,0"}, "alpha = 0 is zero"),
        ({"alpha": "nan"}, "nan"),
        ({"model": "spiked-slr", "nu": "1,inf"}, "nu = inf"),
        ({"reg": "0,1"}, "reg_k = 0 is zero"),
        ({"noise": -1}, "noise = -1 is negative"),
        ({"rtol": 2}, "rtol = 2 is out of range"),
        ({"seed": -1}, "seed = -1 is negative"),
        ({"erf_offset": 1}, "erf activation only"),
        ({"reg": 1, "reg_k": 1, "reg_v": 1}, "reg has no effect"),
        ({"length": "0"}, "length"),
        ({"estimator": "magic"}, "'magic' is unknown"),
        ({"alpha": "1:2:2000", "noise": "0:1:2000", "estimator": "erm"}, "4000000 points"),
    ],
)
def test_bad_grids_are_refused_in_one_line(change, words):
    with pytest.raises(InvalidProblem, match=words) as caught:
        plan({"model": "max-slr", "alpha": 1} | change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", [{"init": "lucky"}, {"damping": 1.0}])
def test_bad_solver_options_are_refused(option):
    with pytest.raises(InvalidProblem, match=next(iter(option))):
        plan({"model": "max-slr", "alpha": 1}, **option)


def test_optimal_is_a_value_of_penalties_and_offsets():
    grid = {"model": "spiked-slr", "estimator": "erm", "alpha": "1,2", "activation": "erf"}
    found = plan(grid | {"reg": "1,optimal", "reg_v": "2", "erf_offset": ["optimal", 0]})
    assert [(p.reg_k, p.reg_v, p.activation.offset) for p in (line.problem for line in found.lines)] == [
        (1.0, 2.0, "optimal"),
        ("optimal", 2.0, "optimal"),
        (1.0, 2.0, 0.0),
        ("optimal", 2.0, 0.0),
    ]
    assert found.options["axes"]["reg"] == [1.0, "optimal"]
    with pytest.raises(InvalidProblem, match="alpha = 'optimal' is not a number"):
        plan(grid | {"alpha": "optimal"})
    with pytest.raises(InvalidProblem, match="reg_k = optimal has no meaning at alpha = inf"):
        plan(grid | {"alpha": "1,inf", "reg": "1,optimal"})
