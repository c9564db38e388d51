"""Bad input: one line that names value, reason and what is allowed; exit code 2; no traceback; nothing written."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nojit

MAX = ["--model", "max-slr", "--estimator", "erm"]
SPIKED = ["--model", "spiked-slr", "--estimator", "erm"]


def solve(*arguments, base=MAX):
    return ["solve", *base, *arguments] if "--alpha" in arguments else ["solve", *base, "--alpha", "2", *arguments]


# command line, text that the message must contain: the value, and what is allowed
CASES = [
    (solve("--alpha", "0"), ["alpha = 0", "zero", "alpha > 0"]),
    (solve("--alpha", "-1"), ["alpha = -1", "negative", "alpha > 0"]),
    (solve("--alpha", "nan"), ["alpha = nan", "alpha > 0"]),
    (solve("--alpha", "1e999"), ["1e999", "overflows", "inf"]),
    (solve("--alpha", "two"), ["'two'", "not a number", "such as"]),
    (solve("--alpha", ""), ["''", "not a number"]),
    (solve("--alpha", "1,2"), ["'1,2'", "not a number"]),
    (solve("-L", "0"), ["0", "L >= 1"]),
    (solve("-L", "-3"), ["-3", "L >= 1"]),
    (solve("-L", "2.5"), ["2.5", "L >= 1"]),
    (solve("-L", "1:1,2"), ["1:1,2", "1:1,2:1,3:2"]),
    (solve("-L", "1:1,2:0"), ["weight 0.0", "positive"]),
    (solve("-L", "1:1,1:1"), ["twice", "1:1,2:1,3:2"]),
    (solve("-L", "2:nan"), ["nan", "positive"]),
    (solve("-L", "1:1e308,2:1e308"), ["overflows", "finite"]),
    (solve("-L", ""), ["''", "L >= 1"]),
    (solve("--reg", "0"), ["reg_k = 0", "zero", "extrapolate"]),
    (solve("--reg-k", "0"), ["reg_k = 0", "zero", "extrapolate"]),
    (solve("--reg-v", "-0.5"), ["reg_v = -0.5", "negative", "reg_v > 0"]),
    (solve("--reg", "inf"), ["inf", "finite"]),
    (solve("--reg", "nan"), ["nan", "reg_k > 0"]),
    (solve("--reg", "1", "--reg-k", "2", "--reg-v", "3"), ["reg has no effect", "leave out one"]),
    (solve("--noise", "-0.1"), ["noise = -0.1", "negative", "noise >= 0"]),
    (solve("--noise", "nan"), ["noise = nan", "noise >= 0"]),
    (solve("--noise", "inf"), ["noise = inf", "finite"]),
    (solve("--nu", "-2"), ["nu = -2", "negative", "nu >= 0"]),
    (solve("--nu", "nan"), ["nu = nan", "nu >= 0"]),
    (solve("--nu", "1e400"), ["1e400", "overflows"]),
    (solve("--nu", "inf", base=SPIKED), ["nu = inf", "finite", "max-slr"]),
    (solve("--rtol", "0"), ["rtol = 0", "0 < rtol < 1"]),
    (solve("--rtol", "1"), ["rtol = 1", "0 < rtol < 1"]),
    (solve("--rtol", "nan"), ["rtol = nan", "0 < rtol < 1"]),
    (solve("--damping", "1"), ["damping = 1", "0 <= damping < 1"]),
    (solve("--damping", "-0.1"), ["damping = -0.1", "0 <= damping < 1"]),
    (solve("--damping", "nan"), ["damping = nan", "0 <= damping < 1"]),
    (solve("--seed", "-1"), ["-1", ">=0"]),
    (solve("--seed", "1.5"), ["1.5", "integer"]),
    (solve("--init", "warm"), ["warm", "informed", "uninformed", "both"]),
    (solve("--format", "xml"), ["xml", "table", "json", "csv"]),
    (solve("--activation", "relu"), ["relu", "softmax", "erf"]),
    (solve("--estimator", "map"), ["map", "erm"]),
    (solve(base=["--model", "slr"]), ["slr", "max-slr", "spiked-slr"]),
    (solve("--erf-offset", "0.5"), ["erf-offset = 0.5", "erf only"]),
    (solve("--activation", "erf", "--erf-offset", "nan"), ["nan", "allowed"]),
    (["solve", "--model", "max-slr"], ["--alpha"]),
    (["solve", "--alpha", "2"], ["--model"]),
    (solve("--unknown", "1"), ["--unknown"]),
    (solve("extra"), ["extra"]),
    (["resolve"], ["resolve"]),
    (["derive", "--model", "spiked-slr", "--nu", "inf"], ["nu = inf", "finite", "max-slr"]),
    (["derive", "--model", "max-slr", "-L", "0"], ["0", "L >= 1"]),
    (["derive", "--model", "max-slr", "--format", "html"], ["html", "text", "latex", "source"]),
    (["derive"], ["--model"]),
    (["derive", "--model", "max-slr", "--estimator", "bayes", "--activation", "erf"], ["activation", "bayes", "erm"]),
    (["thresholds", "--model", "max-slr", "--tol", "1e-30"], ["tol = 1e-30", "1e-07 <= tol <= 0.1"]),
    (["thresholds", "--model", "max-slr", "--tol", "0"], ["tol = 0", "zero"]),
    (["thresholds", "--model", "max-slr", "--tol", "1"], ["tol = 1", "1e-07 <= tol <= 0.1"]),
]


@pytest.mark.parametrize(("arguments", "mentions"), CASES, ids=lambda value: " ".join(value)[:60])
def test_refused(run, tmp_path, monkeypatch, arguments, mentions):
    monkeypatch.chdir(tmp_path)
    writes = ["--output", "result.json"] if arguments[0] == "solve" and "--format" not in arguments else []
    code, out, err = run(*arguments, *writes)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for text in mentions:
        assert text in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "more", "mentions"),
    [
        ("missing/a.json", [], ["missing", "does not exist"]),
        ("folder", ["--format", "csv"], ["folder", "name of a file"]),
        ("a.dat", [], ["a.dat", ".json, .csv, .txt, or --format"]),
        ("a", [], ["'a'", ".json, .csv, .txt, or --format"]),
        ("a.json", ["--format", "csv"], ["a.json", "contradicts", "csv"]),
        ("a.txt", ["--format", "json"], ["a.txt", "contradicts", "json"]),
        ("x" * 300 + ".csv", [], ["cannot be written", "too long"]),
        ("", ["--format", "csv"], ["folder"]),
    ],
)
def test_output_that_cannot_be_written(run, tmp_path, monkeypatch, name, more, mentions):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    code, out, err = run(*solve("--output", name, *more))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for text in mentions:
        assert text in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("option", ["--alpha", "-L", "--nu", "--noise", "--reg", "--rtol", "--damping", "--seed"])
def test_nothing_is_evaluated(run, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*solve(option, "__import__('pathlib').Path('pwned').touch()"))
    assert code == 2
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_message_stays_on_one_line(run):
    code, _, err = run(*solve("-L", "2\n3"))
    assert code == 2
    assert err.count("\n") == 1


def test_interrupt(run, monkeypatch):
    import replica.models.problem

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(replica.models.problem.Problem, "__post_init__", interrupted)
    code, out, err = run(*solve())
    assert (code, out, err.strip()) == (130, "", "interrupted")


def test_a_group_without_a_command_shows_its_help(run):
    for group in ((), ("heads",), ("cache",)):
        code, out, err = run(*group)
        assert "Commands:\n" in out + err
        assert not err.startswith("error")
        assert code in (0, 2)  # by version of click


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], solve("-L", "1", "--format", "json")])
def test_stdout_on_a_full_disk(arguments):
    command = [sys.executable, "-m", "replica_cli.main", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: the output was not written: No space left on device\n"
