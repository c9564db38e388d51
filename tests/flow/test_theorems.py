"""The theorems hold on random instances, and every measure fails where its hypotheses do not hold."""

from dataclasses import replace

import numpy as np
import pytest

from replica.errors import IntegrationError, InvalidProblem
from replica.flow import theorems
from replica.flow.plan import METHODS, Plan
from replica.flow.problem import FlowProblem
from replica.flow.reduced import check_reducible, reduced_descent, reduced_flow
from replica.flow.train import train

FLOW = Plan("flow", time=1e6, records=100)
DESCENT = Plan("descent", time=2e3, lr=0.1, records=100)
BASE = {"dim": 6, "scale_v": 0.1, "scale_a": 0.0}
# (measure, a problem on which its statement is false)
COUNTEREXAMPLES = [
    (theorems.order_kept, {"scale_a": 1.0}),
    (theorems.gaps_grow, {"scale_a": 1.0}),
    (theorems.ratio_bound, {"scale_a": 1.0}),
    (theorems.grows_like_log, {"loss": "square"}),
    (theorems.sum_conserved, {"map": "power2", "scale_a": 0.3, "mean_a": 1.0}),
    (theorems.stays_finite, {}),
    (theorems.rank_one, {"loss": "square", "condition": 5.0, "scale_v": 0.0, "scale_a": 0.3}),
    (theorems.rank_one, {"loss": "square"}),
    (theorems.one_sink, {"rows": 6, "scale_a": 2.0}),
]


def test_every_theorem_holds_under_both_methods():
    rows = theorems.check_theorems(instances=2, steps=20_000, seed=40)
    assert [(row["check"], row["method"]) for row in rows] == [(t.name, m) for t in theorems.THEOREMS for m in METHODS]
    assert [row for row in rows if not row["holds"]] == []
    assert [column.name for column in theorems.COLUMNS] == list(rows[0])


@pytest.mark.parametrize("plan", [FLOW, DESCENT], ids=METHODS)
@pytest.mark.parametrize(("measure", "case"), COUNTEREXAMPLES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_every_measure_fails_without_its_hypotheses(measure, case, plan):
    violations = [measure(train(FlowProblem(**BASE | case, seed=seed), plan)) for seed in range(4)]
    assert any(violation > limit for violation, limit in violations)


def test_loss_falls_fails_for_too_large_a_step():
    result = train(FlowProblem(**BASE, loss="square"), Plan("descent", time=300.0, lr=15.0, records=50))
    violation, limit = theorems.loss_falls(result)
    assert violation > limit


def test_loss_vanishes_fails_for_a_run_that_rests():
    result = train(FlowProblem(**BASE), FLOW)
    violation, limit = theorems.loss_vanishes(replace(result, V=np.repeat(result.V[:1], len(result.t), axis=0)))
    assert violation > limit


def test_a_failed_check_is_reported(monkeypatch):
    false = replace(theorems.THEOREMS[0], instance=lambda seed: FlowProblem(scale_a=1.0, seed=seed))
    monkeypatch.setattr(theorems, "THEOREMS", (false,))
    rows = theorems.check_theorems(instances=3, steps=10_000)
    assert not any(row["holds"] for row in rows)
    assert all(row["passed"] < row["instances"] for row in rows)


@pytest.mark.parametrize("case", [{}, {"rows": 3, "scale_a": 0.5}, {"loss": "square", "scale_v": 0.0, "scale_a": 0.5}])
def test_reduced_and_full_systems_agree(case):
    problem = FlowProblem(**BASE | {"norm": 1.5, "seed": 11} | case)
    flow = train(problem, FLOW)
    u, A, integral = reduced_flow(problem, flow.t)
    np.testing.assert_allclose(flow.u, u, atol=1e-6)
    np.testing.assert_allclose(flow.A, A, atol=1e-6)
    np.testing.assert_allclose(flow.int_gamma, integral, atol=1e-6)
    descent = train(problem, Plan("descent", time=50.0))
    u, A, integral = reduced_descent(problem, 0.1, descent.steps)
    np.testing.assert_allclose(descent.u, u, atol=1e-12)
    np.testing.assert_allclose(descent.A, A, atol=1e-12)
    np.testing.assert_allclose(descent.int_gamma, integral, atol=1e-12)


def test_the_reduced_measure_fails_on_a_wrong_run():
    run = train(FlowProblem(**BASE, seed=1), Plan(time=100.0, records=10))
    wrong = replace(run, problem=replace(run.problem, seed=2))
    violation, limit = theorems.reduced_agrees(wrong)
    assert violation > limit


@pytest.mark.parametrize(
    "case",
    [
        {"map": "l1"},
        {"tied": True},
        {"loss": "kl"},
        {"loss": "square"},
        {"loss": "square", "condition": 2.0, "scale_v": 0.0},
    ],
)
def test_what_does_not_close_is_refused(case):
    with pytest.raises(InvalidProblem, match="no reduced flow"):
        check_reducible(FlowProblem(**case))


@pytest.mark.parametrize(
    "case",
    [{"instances": 0}, {"steps": 10}, {"steps": 5_000}, {"time": 10.0}, {"lr": -1.0}, {"time": 0.0}, {"seed": -1}],
)
def test_bad_settings(case):
    with pytest.raises(InvalidProblem):
        theorems.check_theorems(**case)


def test_a_reduced_flow_that_gives_up_is_an_error(gives_up):
    problem = FlowProblem(dim=4, scale_v=0.0, scale_a=0.3)
    with pytest.raises(IntegrationError, match="reduced flow failed: tired"):
        reduced_flow(problem, np.array([0.0, 1.0]))
