"""Sweeps as processes: killed, out of disk, on several workers; the bytes are those of an undisturbed one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.sweeps import command

resource = pytest.importorskip("resource", reason="limits of POSIX")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")


def finished_lines(output) -> int:
    journal = output.with_name(output.name + ".journal.jsonl")
    return max(0, journal.read_bytes().count(b"\n") - 1) if journal.exists() else 0


def assert_group_ends(group: int) -> None:
    """Wait until no process of the group is left."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("a process outlived the sweep")


@pytest.mark.parametrize("options", [["--threads", "2"], ["--jobs", "3", "--threads", "2"]], ids=" ".join)
def test_bytes_do_not_depend_on_threads_or_jobs(tmp_path, serial_csv, options):
    output = tmp_path / "risk.csv"
    done = command.sweep(output, *options)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == serial_csv


@pytest.mark.slow
def test_twenty_kills(tmp_path, serial_csv):
    rng = np.random.default_rng(6)
    begin = time.monotonic()
    assert command.sweep(tmp_path / "other.csv", "--threads", "1").returncode == 0
    duration = time.monotonic() - begin
    output, kills, moments = tmp_path / "risk.csv", 0, []
    while kills < 20:
        process = subprocess.Popen(command.arguments(output, "--resume", "--threads", "1"), stderr=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0.0, 1.1 * duration))
        except subprocess.TimeoutExpired:
            before = finished_lines(output)
            process.kill()
            kills += 1
            moments.append(before)
            assert finished_lines(output) >= before
        assert process.wait() in (0, -signal.SIGKILL)
        if output.exists():
            assert output.read_bytes() == serial_csv
            output.unlink()
            output.with_name(output.name + ".journal.jsonl").unlink()
    assert any(0 < done < 8 for done in moments)  # else this tested nothing
    assert command.sweep(output, "--resume").returncode == 0
    assert output.read_bytes() == serial_csv


def test_resume_solves_only_what_is_missing(tmp_path, serial_csv):
    output = tmp_path / "risk.csv"
    journal = tmp_path / "risk.csv.journal.jsonl"
    assert command.sweep(output).returncode == 0
    texts = journal.read_bytes().splitlines(keepends=True)
    output.unlink()
    journal.write_bytes(b"".join(texts[:4]) + texts[4][:100])
    assert command.sweep(output, "--resume", "--jobs", "2").returncode == 0
    assert journal.read_bytes().splitlines(keepends=True)[:4] == texts[:4]
    assert output.read_bytes() == serial_csv


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_leaves_a_journal_and_no_process(tmp_path, serial_csv, jobs):
    output = tmp_path / "risk.csv"
    process = subprocess.Popen(
        command.arguments(output, "--jobs", jobs), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while finished_lines(output) < 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.split("\n")[0] == "interrupted; finished lines are kept, continue with --resume"
    assert "Traceback" not in error
    assert_group_ends(process.pid)
    assert not output.exists()
    assert command.sweep(output, "--resume").returncode == 0
    assert output.read_bytes() == serial_csv


def test_workers_end_with_a_killed_parent(tmp_path):
    output = tmp_path / "risk.csv"
    process = subprocess.Popen(
        command.arguments(output, "--jobs", "2"), stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while finished_lines(output) < 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert_group_ends(process.pid)


def test_a_file_size_limit_is_a_clear_error(tmp_path, serial_csv):
    output = tmp_path / "risk.csv"

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))

    done = command.sweep(output, preexec_fn=limit)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "finished lines in it are kept" in done.stderr
    assert 0 < finished_lines(output) < 8
    assert command.sweep(output, "--resume").returncode == 0
    assert output.read_bytes() == serial_csv


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small disk: needs root on Linux")
def test_a_full_disk_is_a_clear_error(tmp_path, serial_csv):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True, check=False)
    if mount.returncode != 0:
        pytest.skip("this root may not mount")
    try:
        done = command.sweep(disk / "risk.csv")
        assert done.returncode == 2
        assert "No space left on device" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert 0 < finished_lines(disk / "risk.csv") < 8
        shutil.copytree(disk, tmp_path, dirs_exist_ok=True)
    finally:
        subprocess.run(["umount", disk], check=True)
    output = tmp_path / "risk.csv"
    assert command.sweep(output, "--resume").returncode == 0
    assert output.read_bytes() == serial_csv
