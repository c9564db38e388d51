"""The journal: what is in it survives torn ends, full disks, and other people's options."""

from __future__ import annotations

import errno
import json
import os

import numpy as np
import pytest

from replica.errors import InvalidProblem, OutputError
from replica.sweeps.journal import Journal, journal_path
from replica.sweeps.plan import plan

GRID = {"model": "max-slr", "estimator": "erm", "alpha": "1,2", "noise": "0:1:9"}
ROWS = [['text, "quoted"\n', 0.1 + 0.2, 1e-320, None, "inf", True, 7]]


@pytest.fixture
def path(tmp_path):
    return journal_path(tmp_path / "risk.csv")


def write(path, indices):
    with Journal(path, plan(GRID)) as journal:
        for index in indices:
            journal.append(index, ROWS)


def read(path, grid=GRID):
    with Journal(path, plan(grid)) as journal:
        return journal.finished


def test_full_precision_and_order(path):
    write(path, [3, 1])
    assert path.name == "risk.csv.journal.jsonl"
    assert read(path) == {3: ROWS, 1: ROWS}
    assert list(read(path)) == [3, 1]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_any_torn_end_is_cut_off_and_work_goes_on(path):
    write(path, [0, 1, 2])
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for size in np.random.default_rng(0).integers(ends[0], len(whole), 40):
        path.write_bytes(whole[:size])
        kept = sum(end <= size for end in ends) - 1
        assert list(read(path)) == list(range(kept))
        write(path, [5])
        assert list(read(path)) == [*range(kept), 5]


@pytest.mark.parametrize("tail", [b"\0" * 100, b'{"line":1}\n', b"[]\n", b'{"line":1,"rows":[["a\n', b"\xff\xfe\n"])
def test_garbage_at_the_end_is_cut_off(path, tail):
    write(path, [0])
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert list(read(path)) == [0]
    assert path.read_bytes() == whole


@pytest.mark.parametrize("text", [b"", b"hello\n", b"{}\n", b'{"digest":1'])
def test_another_file_is_refused_and_left_alone(path, text):
    path.write_bytes(text)
    with pytest.raises(InvalidProblem, match="not the journal"):
        Journal(path, plan(GRID))
    assert path.read_bytes() == text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": "1,3"}, r"alpha = 1.0,2.0, not 1.0,3.0"),
        ({"seed": 1}, r"seed = 0, not 1"),
        ({"rtol": 0.1}, r"rtol = None, not 0.1"),
        ({"nu": "2"}, r"nu = None, not 2.0"),
    ],
)
def test_other_options_are_refused_and_named(path, change, words):
    write(path, [0])
    before = path.read_bytes()
    with pytest.raises(InvalidProblem, match=words):
        read(path, GRID | change)
    assert path.read_bytes() == before


def test_other_versions_are_refused_and_named(path, monkeypatch):
    write(path, [0])
    monkeypatch.setattr("replica.sweeps.plan.__version__", "0.0.0")
    with pytest.raises(InvalidProblem, match=r"version of replica = .*, not 0\.0\.0"):
        read(path)


def test_anew_forgets(path):
    write(path, [0, 1])
    with Journal(path, plan(GRID | {"seed": 5}), anew=True) as journal:
        assert journal.finished == {}
    assert read(path, GRID | {"seed": 5}) == {}


@pytest.mark.parametrize("anew", [False, True])
def test_two_sweeps_cannot_share_a_journal(path, anew):
    pytest.importorskip("fcntl")
    with Journal(path, plan(GRID)), pytest.raises(InvalidProblem, match="another process is writing"):
        Journal(path, plan(GRID), anew=anew)
    assert read(path) == {}


@pytest.mark.parametrize("seed", range(10))
def test_a_full_disk_keeps_the_finished_lines(path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    room = int(rng.integers(0, 600))
    real = os.write

    def write_until_full(descriptor, data):
        nonlocal room
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(descriptor, data[: max(1, min(room, int(rng.integers(1, 80))))])
        room -= written
        return written

    done = []
    with Journal(path, plan(GRID)) as journal:
        monkeypatch.setattr(os, "write", write_until_full)
        with pytest.raises(OutputError, match=r"No space left on device; the .* finished lines"):  # noqa: PT012
            for index in range(9):
                journal.append(index, ROWS)
                done.append(index)
        monkeypatch.setattr(os, "write", real)
        assert list(journal.finished) == done
        journal.append(8, ROWS)  # there is room again
    assert list(read(path)) == [*done, 8]
    assert len(path.read_bytes().splitlines()) == len(done) + 2
