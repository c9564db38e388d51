"""Runs: the flow against tighter and smaller-step runs, conserved quantities, statuses."""

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.flow.plan import Plan
from replica.flow.problem import LOSSES, MAPS, FlowProblem
from replica.flow.train import train

PROBLEMS = {
    "logistic": {"dim": 5},
    "rows": {"dim": 4, "rows": 3, "scale_a": 0.5},
    "square": {"dim": 6, "loss": "square", "scale_v": 0.1},
    "condition": {"dim": 6, "loss": "square", "condition": 4.0},
    "kl": {"dim": 5, "loss": "kl"},
    "one-hot": {"dim": 5, "loss": "kl", "temperature": 0.0},
    "tied": {"dim": 5, "tied": True},
    **{name: {"dim": 6, "map": name} for name in MAPS if name != "softmax"},
    "l1-corners": {"dim": 10, "map": "l1", "rows": 2, "scale_a": 0.4},
    "relu-dead": {"dim": 6, "map": "relu", "scale_a": 1.0, "mean_a": 0.0},
}


@pytest.mark.parametrize("case", PROBLEMS.values(), ids=PROBLEMS)
def test_error_estimates_cover_a_tighter_run(case):
    problem = FlowProblem(**case, seed=2)
    got = train(problem, Plan(time=1e4, records=30, rtol=1e-7))
    reference = train(problem, Plan(time=1e4, records=30, rtol=1e-11))
    assert got.status == reference.status == "finished"
    for name, error in got.errors.items():
        miss = np.abs(got.scalars[name] - reference.scalars[name])
        assert np.all(miss <= error.max() + reference.errors[name].max()), name
        assert error.max() < 1e-3  # an estimate that is always large covers everything and says nothing


def test_error_estimates_cover_at_every_time_of_random_problems():
    rng = np.random.default_rng(1)
    misses = total = 0
    for seed in range(40):
        loss, name = str(rng.choice(LOSSES)), str(rng.choice(MAPS))
        condition = float(rng.uniform(1, 6)) if loss == "square" else None
        problem = FlowProblem(loss=loss, map=name, dim=int(rng.integers(3, 8)), condition=condition, seed=seed)
        got, reference = (train(problem, Plan(time=1e4, records=10, rtol=rtol)) for rtol in (1e-8, 1e-11))
        for key, error in got.errors.items():
            beyond = np.abs(got.scalars[key] - reference.scalars[key]) > error + reference.errors[key]
            misses, total = misses + beyond.sum(), total + beyond.size
    assert misses <= 0.02 * total


@pytest.mark.parametrize("case", PROBLEMS.values(), ids=PROBLEMS)
def test_descent_approaches_the_flow_at_first_order(case):
    problem = FlowProblem(**case, seed=3)
    flow = train(problem, Plan(time=60.0, records=1))
    V = [train(problem, Plan("descent", time=60.0, records=1, lr=lr)).V[-1] for lr in (0.02, 0.01)]
    misses = [np.abs(v - flow.V[-1]).max() for v in V]
    assert misses[1] < 0.7 * misses[0] + 1e-9
    assert misses[1] < 0.02


@pytest.mark.parametrize("name", MAPS)
def test_what_the_untied_flow_conserves(name):
    flow = train(FlowProblem(map=name, dim=6, scale_a=0.3, seed=1), Plan(time=1e4, records=20))
    drift = {key: np.ptp(flow.scalars[key]) for key in ("sum_a", "square_a")}
    conserved = {"softmax": "sum_a", "sigmoid": None}.get(name, "square_a")
    for key, change in drift.items():
        assert change < 1e-5 if key == conserved else change > 1e-2


def test_a_dead_relu_token_stays_dead_and_keeps_its_logit():
    flow = train(FlowProblem(map="relu", dim=6, scale_a=1.0, mean_a=0.0, seed=2), Plan(time=1e4, records=20))
    dead = flow.A[0, 0] < 0
    assert dead.any()
    np.testing.assert_array_equal(flow.s[:, 0, dead], 0.0)
    np.testing.assert_array_equal(flow.A[:, 0, dead], np.broadcast_to(flow.A[0, 0, dead], (21, dead.sum())))


def test_a_run_stops_at_the_residual_and_says_so():
    problem = FlowProblem(loss="square", condition=5.0, dim=8)
    for method, lr in (("flow", None), ("descent", 0.05)):
        got = train(problem, Plan(method, time=1e6, lr=lr, stop=1e-6))
        assert got.status == "converged"
        assert got.scalars["residual"][-1] == pytest.approx(1e-6, rel=1e-2)
        assert got.t[-1] < 1e6
    short = train(problem, Plan(time=1.0, stop=1e-6))
    assert short.status == "time_limit"
    assert not short.ok


def test_a_stop_that_holds_at_the_start():
    got = train(FlowProblem(), Plan(stop=0.9))
    assert (got.status, len(got.t)) == ("converged", 1)


def test_divergence_is_a_status_and_keeps_the_finite_states():
    got = train(FlowProblem(loss="square"), Plan("descent", lr=50.0, time=1e5))
    assert got.status == "nonfinite"
    assert np.isfinite(got.V).all()


def test_zero_weights_are_out_of_domain():
    got = train(FlowProblem(map="relu", mean_a=-5.0, scale_a=0.1), Plan("descent", time=10.0))
    assert got.status == "out_of_domain"
    assert train(FlowProblem(map="relu", mean_a=-5.0, scale_a=0.1), Plan(time=10.0)).status == "out_of_domain"


def test_same_seed_same_bits():
    problem, plan = FlowProblem(loss="kl", seed=9), Plan("descent", time=50.0)
    assert train(problem, plan).trajectory() == train(problem, plan).trajectory()


def test_descent_records_whole_steps():
    got = train(FlowProblem(), Plan("descent", time=100.0, lr=0.3, records=50))
    np.testing.assert_allclose(got.t, 0.3 * got.steps)
    assert got.steps[-1] == 333
    assert got.int_gamma[1] == pytest.approx(0.3 * got.scalars["gamma"][0] * got.steps[1], rel=0.05)


@pytest.mark.parametrize(
    ("case", "plan"),
    [
        ({"tied": True, "map": "l1"}, {}),
        ({"dim": 10**5}, {}),
        ({"dim": 10**6, "tokens": 10**6}, {"method": "descent"}),
        ({}, {"records": 10**6, "method": "descent", "time": 1e6}),
    ],
)
def test_what_cannot_be_trained_is_refused_before_work(case, plan, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_AVPHYS_PAGES": 2**18, "SC_PAGE_SIZE": 2**12}[name])
    with pytest.raises(InvalidProblem, match=r"use|need"):
        train(FlowProblem(**case), Plan(**plan))
