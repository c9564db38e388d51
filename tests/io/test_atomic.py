"""Files appear whole or not at all."""

import errno
import os
import stat

import pytest

from replica.errors import InvalidProblem, OutputError
from replica.io.atomic import check_writable, write_text

pytestmark = pytest.mark.nojit


def test_text_is_written_as_given(tmp_path):
    path = tmp_path / "a.csv"
    write_text(path, "ä,b\n1,2\n")
    assert path.read_bytes() == "ä,b\n1,2\n".encode()
    write_text(path, "new\n")
    assert path.read_text() == "new\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / "a.json"
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "write":
        real = os.fdopen

        def opened(*args, **kwargs):
            stream = real(*args, **kwargs)
            stream.flush = full
            return stream

        monkeypatch.setattr(os, "fdopen", opened)
    else:
        monkeypatch.setattr(os, call, full)
    with pytest.raises(OutputError, match=r"a\.json' was not written: No space left on device"):
        write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_check_writable_leaves_no_trace(tmp_path):
    check_writable(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_check_writable_refusals(tmp_path):
    with pytest.raises(InvalidProblem, match="is a folder; give the name of a file"):
        check_writable(tmp_path)
    with pytest.raises(InvalidProblem, match="does not exist; create it first"):
        check_writable(tmp_path / "missing" / "a.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidProblem, match="does not exist"):
        check_writable(tmp_path / "file" / "a.json")
    with pytest.raises(InvalidProblem, match="cannot be written"):
        check_writable(tmp_path / ("x" * 300 + ".json"))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that nobody can write")
def test_unwritable_folder():
    from pathlib import Path

    with pytest.raises(InvalidProblem, match="cannot be written"):
        check_writable(Path("/proc/self/a.json"))


def test_a_pipe_or_device_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidProblem, match="not a regular file"):
        check_writable(pipe)
