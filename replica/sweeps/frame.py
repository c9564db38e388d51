"""Sweeps from Python: run one and read one back with typed columns."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConvergenceWarning, InvalidProblem, QuadratureWarning
from ..io.rows import to_csv
from .lines import NAMES, SWEEP_COLUMNS
from .plan import plan
from .run import Execution, progress_bar, run, verdicts

if TYPE_CHECKING:
    import pandas

_DTYPES = {"text": "string", "integer": "Int64", "number": "float64", "flag": "boolean"}


def sweep(
    grid: Mapping[str, Any],
    *,
    init: Literal["informed", "uninformed", "both"] = "both",
    damping: float = 0.0,
    accelerate: bool = True,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    jobs: int = 1,
    threads: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> pandas.DataFrame:
    """Solve the product of all axes of a grid, each alpha line up and down with warm starts (theory.md section 5).

    Parameters
    ----------
    grid : mapping
        Values by axis: model and alpha, and any of length, nu, noise, reg, reg_k, reg_v, activation, erf_offset,
        estimator, rtol and seed; each a value, a list, or text such as ``"1,2,4"``, ``"0.5:8:30"``,
        ``"log:0.1:100:40"``.
    init : {"informed", "uninformed", "both"}
        Start at the ends of a line; "both" walks up from an uninformed and down from an informed start.
    damping, accelerate
        As for `replica.solve`.
    output : path, optional
        CSV to write at the end. Finished lines are kept in FILE.journal.jsonl meanwhile; FILE.meta.json tells options,
        seeds and versions. Without it nothing is written.
    resume, force : bool
        Continue the sweep of an existing journal, or begin anew where files exist.
    jobs : int
        Worker processes. A script that uses them needs the guard ``if __name__ == "__main__"``.
    threads : int, optional
        Threads of each worker; by default cores/jobs.
    scheduler : str, optional
        Address of a Dask scheduler whose workers solve the lines, instead of `jobs`.
    progress : bool, optional
        Show a bar on stderr; by default on a terminal.

    Returns
    -------
    DataFrame
        Columns of the table schema and `sweep`, the direction; rows in grid order, alpha fastest, up before down. One
        row of each point is `selected`. The numbers do not depend on jobs, threads, scheduler or interruptions.

    Raises
    ------
    InvalidProblem
        If a point of the grid or an option makes no sense, files are in the way, or the journal is of another sweep.
    OutputError
        If the disk is full; the journal keeps what is finished.
    WorkerError
        If workers die again and again, or the scheduler cannot be reached.
    """
    pandas_module()  # before hours of work
    planned = plan(grid, init=init, damping=damping, accelerate=accelerate)
    execution = Execution(jobs, threads, scheduler)
    path = None if output is None else Path(output)
    with progress_bar(planned, progress) as bar:
        rows = run(planned, execution, path, resume=resume, force=force, command=None, tick=bar.update)
    failed, coarse = verdicts(rows)
    if failed:
        warnings.warn("; ".join(failed), ConvergenceWarning, stacklevel=2)
    if coarse:
        warnings.warn(coarse, QuadratureWarning, stacklevel=2)
    return read_csv(io.StringIO(to_csv((dict(zip(NAMES, row, strict=True)) for row in rows), NAMES)))


def read_csv(path: str | os.PathLike[str] | io.TextIOBase) -> pandas.DataFrame:
    """A CSV of this package with typed columns: string, Int64, float64 and boolean, by the table schema.

    Numbers are read back exactly; missing values are nan for numbers and NA else. Columns outside the schema get the
    types that pandas finds.

    Raises
    ------
    InvalidProblem
        If the file cannot be read, is no CSV, or a cell has another type than its column.
    """
    pandas = pandas_module()
    # exact reading is the only one from pandas 3.1 on, which warns where it is asked for
    release = tuple(int(part) for part in pandas.__version__.split(".")[:2])
    exact = {"float_precision": "round_trip"} if release < (3, 1) else {}
    try:
        return pandas.read_csv(
            path,
            dtype={column.name: _DTYPES[column.kind] for column in SWEEP_COLUMNS},
            keep_default_na=False,
            na_values=[""],
            **exact,
        )
    except OSError as error:
        raise InvalidProblem(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidProblem(f"{str(path)!r} is not a CSV table: it is not UTF-8 text") from None
    except pandas.errors.EmptyDataError:
        raise InvalidProblem(f"{str(path)!r} is not a CSV table: it is empty") from None
    except (ValueError, TypeError) as error:  # pandas.errors.ParserError among them
        reason = " ".join(str(error).split())
        raise InvalidProblem(f"{str(path)!r} is not a CSV table of replica: {reason}") from None


def pandas_module() -> Any:
    """pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ModuleNotFoundError("tables need pandas: pip install 'replica-attention[tables]'") from None
    return pandas
