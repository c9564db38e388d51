"""A real Dask cluster on loopback: a scheduler and two workers, one of them killed in the middle."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sweeps import command
from tests.sweeps.test_survival import finished_lines

pytest.importorskip("distributed")


@contextlib.contextmanager
def started(*arguments: str):
    """A process of Dask, ended at the end."""
    process = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def scheduler():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    port = address.rpartition(":")[2]
    with started("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"):
        yield f"tcp://{address}"


def worker(address: str, threads: int = 1):
    options = ("--nthreads", str(threads), "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    return started("distributed.cli.dask_worker", address, *options)


def begun(output, address: str) -> subprocess.Popen:
    """A sweep on the cluster that has finished two lines."""
    sweep = subprocess.Popen(command.arguments(output, "--scheduler", address), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while finished_lines(output) < 2 and time.monotonic() < deadline and sweep.poll() is None:
        time.sleep(0.01)
    return sweep


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(tmp_path, serial_csv):
    output = tmp_path / "risk.csv"
    # one worker with two threads, one with one
    with scheduler() as address, worker(address) as victim, worker(address, 2):
        sweep = begun(output, address)
        done = finished_lines(output)
        victim.kill()
        _, error = sweep.communicate(timeout=200)
    assert sweep.returncode == 0, error
    assert 2 <= done < 8
    assert output.read_bytes() == serial_csv


@pytest.mark.slow
def test_a_killed_scheduler_is_a_clear_error_and_the_sweep_goes_on_without(tmp_path, serial_csv):
    output = tmp_path / "risk.csv"
    with scheduler() as address, worker(address):
        sweep = begun(output, address)
        done = finished_lines(output)
    _, error = sweep.communicate(timeout=200)
    assert sweep.returncode == 2
    assert "error: the scheduler went away; finished lines are kept, continue with resume" in error
    assert "Traceback" not in error
    assert 2 <= done < 8
    assert command.sweep(output, "--resume").returncode == 0
    assert output.read_bytes() == serial_csv


@pytest.mark.slow
def test_the_slurm_script_of_the_readme(tmp_path, serial_csv):
    """With stand-ins for sbatch and scancel that start and end the job on this machine."""
    pytest.importorskip("dask_jobqueue")
    readme = Path(__file__).parents[2] / "README.md"
    (script,) = re.findall(r"```python\n(# slurm_sweep.py.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    for old, new in (
        ('"alpha": "0.5:8:30", "nu": "0.5:8:40"', '"alpha": "2,1", "nu": "0.5:4:8", "rtol": "1e-3"'),
        ("jobs=20", "jobs=2"),
    ):
        assert old in script
        script = script.replace(old, new)
    (tmp_path / "slurm_sweep.py").write_text(script)
    tools = tmp_path / "bin"
    tools.mkdir()
    log = tmp_path / "jobs"
    for name, text in {
        "sbatch": f'bash "$1" >/dev/null 2>&1 & echo $! >> "{log}"; echo "Submitted batch job $!"',
        "scancel": 'pkill -P "$1"; kill "$1"',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "slurm_sweep.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(log.read_text().split()) == 2
    assert (tmp_path / "risk.csv").read_bytes() == serial_csv


def test_no_scheduler_is_a_clear_error(tmp_path, monkeypatch):
    from replica.errors import WorkerError
    from replica.sweeps import cluster
    from replica.sweeps.plan import plan

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    lines = plan({"model": "spiked-slr", "estimator": "erm", "alpha": 1}).lines
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(WorkerError, match=f"scheduler = '{address}' cannot be reached") as caught:
            next(cluster.cluster(lines, address, None, lambda: None))
        assert "\n" not in str(caught.value)


def test_workers_with_other_versions_are_refused():
    from replica.errors import WorkerError
    from replica.sweeps.cluster import _remote
    from replica.sweeps.plan import plan, versions

    (line,) = plan({"model": "spiked-slr", "estimator": "erm", "alpha": 1}).lines
    with pytest.raises(WorkerError, match=r"a worker has numpy .*, this process 0\.1"):
        _remote(line, versions() | {"numpy": "0.1"}, 1)
