"""The commands around the Bayes side."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from replica_cli.main import cli

from replica.errors import InvalidProblem


def run(*arguments: str):
    return CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)


def test_solve_shows_the_gap():
    result = run("solve", "--model", "spiked-slr", "--alpha", "inf", "--activation", "linear", "--format", "json")
    erm, bayes = json.loads(result.output)
    assert (erm["estimator"], bayes["estimator"]) == ("erm", "bayes")
    assert erm["test_risk"] == pytest.approx(1 / 3)
    assert bayes["test_risk"] == pytest.approx(0.2247997546)
    assert bayes["activation"] is None


def test_the_optimal_offset_is_reported():
    result = run(
        "solve", "--model", "spiked-slr", "--alpha", "inf", "--activation", "erf", "--erf-offset", "optimal",
        "--estimator", "erm", "--format", "json",
    )  # fmt: skip
    [row] = json.loads(result.output)
    assert row["erf_offset"] == pytest.approx(-0.4186, abs=1e-3)
    assert row["test_risk"] == pytest.approx(0.324993, abs=1e-6)


def test_thresholds_in_every_format(tmp_path):
    result = run("thresholds", "--model", "spiked-slr", "--nu", "2", "--format", "json")
    rows = json.loads(result.output)
    assert [row["kind"] for row in rows] == ["spinodal-uninformed", "spinodal-informed", "information-theoretic"]
    assert list(rows[0]) == ["model", "length", "nu", "noise", "kind", "value", "lo", "hi", "status", "message"]
    assert rows[2]["value"] == 1.0
    table = run("thresholds", "--model", "spiked-slr", "--nu", "2").output
    assert "certified" in table
    assert "1.080934" in table
    path = tmp_path / "thresholds.csv"
    run("thresholds", "--model", "spiked-slr", "--noise", "0.3", "--output", str(path))
    assert "no first-order transition" in path.read_text()
    assert "no first-order transition" in run("thresholds", "--model", "spiked-slr", "--noise", "0.3").output


def test_derive_prints_the_bayes_equations():
    text = run("derive", "--model", "spiked-slr", "--estimator", "bayes").output
    assert "q_hat_k = 2*alpha*E[D(Z, omega_k2)**2/(2*Z) + D(Z, omega_k1)**2/(2*Z)]" in text
    latex = run("derive", "--model", "max-slr", "--estimator", "bayes", "--format", "latex").output
    assert r"\hat{q}_k &= 2 \alpha" in latex
    with pytest.raises(InvalidProblem, match="text, latex"):
        run("derive", "--model", "max-slr", "--estimator", "bayes", "--format", "source")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("thresholds", "--model", "spiked-slr", "--noise", "-1"), "noise = -1 is negative"),
        (("thresholds", "--model", "spiked-slr", "--tol", "0"), "tol = 0 is zero"),
        (("derive", "--model", "max-slr", "--estimator", "bayes", "-L", "9"), "at most 6 tokens"),
    ],
)
def test_bad_input_is_one_line(arguments, text):
    with pytest.raises(Exception, match=text) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
