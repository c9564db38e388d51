"""The journal of a sweep: finished lines, one JSON text each, appended and synced; what is in it survives."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidProblem, OutputError
from ..io.atomic import write_text
from .lines import NAMES
from .plan import Plan

try:
    import fcntl
except ImportError:  # Windows: no advisory lock
    fcntl = None

Rows = list[list[Any]]


def journal_path(output: Path) -> Path:
    """FILE.journal.jsonl."""
    return output.with_name(output.name + ".journal.jsonl")


class Journal:
    """Finished lines of one sweep on disk, for one process at a time.

    The first text is the header, with the options and their hash; every further one holds the rows of a finished line
    in full precision. A torn end, left by a kill or a power cut, is cut off when the journal is opened.

    Attributes
    ----------
    finished : dict
        Rows by the index of their line.
    """

    def __init__(self, path: Path, plan: Plan, *, anew: bool = False, columns: Sequence[str] = NAMES) -> None:
        """Open the journal, or begin it if there is none or if `anew`.

        Parameters
        ----------
        path : Path
        plan : Plan
        anew : bool
        columns : sequence of str
            Names of the cells of a row.

        Raises
        ------
        InvalidProblem
            If it belongs to other options, or another process writes it.
        OutputError
            If it cannot be written.
        """
        self.path, self.finished, self._columns = path, {}, list(columns)
        header = {"digest": plan.digest, "options": plan.options, "columns": self._columns}
        if not path.exists():
            write_text(path, _line(header))
        elif anew:
            self._open()  # refuses if another sweep is at it
            write_text(path, _line(header))
            self.close()
        self._open()
        try:
            self._size = self._read(plan)
            os.ftruncate(self._file, self._size)
        except BaseException:
            self.close()
            raise

    def append(self, index: int, rows: Rows) -> None:
        """Add a finished line and wait until the disk has it.

        Raises
        ------
        OutputError
            If the disk is full, say; the journal keeps the lines before this one.
        """
        data = _line({"line": index, "rows": rows}).encode()
        try:
            os.lseek(self._file, self._size, os.SEEK_SET)
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise OutputError(
                f"{str(self.path)!r} cannot grow: {error.strerror}; the {len(self.finished)} finished lines in it are "
                "kept: make room, then continue with resume"
            ) from None
        self._size += len(data)
        self.finished[index] = rows

    def close(self) -> None:
        """Close the file and give up the lock."""
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        """Open the file and take the lock on it."""
        try:
            self._file = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise OutputError(f"{str(self.path)!r} cannot be opened: {error.strerror}") from None
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise InvalidProblem(f"output: another process is writing {str(self.path)!r}; wait for it") from None
        except OSError:
            pass  # a file system without locks

    def _read(self, plan: Plan) -> int:
        """Read the finished lines; returns the size of the part that is whole."""
        size = 0
        with open(os.dup(self._file), "rb") as stream:
            header = _parse(stream.readline(), "digest")
            if header is None:
                raise InvalidProblem(f"{str(self.path)!r} is not the journal of a sweep; move it away")
            if header["digest"] != plan.digest or header.get("columns") != self._columns:
                raise InvalidProblem(
                    f"{str(self.path)!r} belongs to a sweep with {_difference(header.get('options', {}), plan.options)}"
                    "; repeat those, or begin anew with force"
                )
            size = stream.tell()
            for text in stream:
                entry = _parse(text, "rows")
                if entry is None:
                    break
                self.finished[entry["line"]] = entry["rows"]
                size += len(text)
        return size


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n"


def _parse(text: bytes, key: str) -> dict[str, Any] | None:
    """A whole text of the journal, which has that key, or None for a torn one."""
    if not text.endswith(b"\n"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and key in value else None


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The first option in which two sweeps differ, for a message."""
    for part in ("axes", "versions"):
        for name in {**old.get(part, {}), **new[part]}:
            before, now = old.get(part, {}).get(name), new[part].get(name)
            if before != now:
                return f"{'' if part == 'axes' else 'version of '}{name} = {_short(before)}, not {_short(now)}"
    for name in new:
        if old.get(name) != new[name]:
            return f"{name} = {_short(old.get(name))}, not {_short(new[name])}"
    return "other columns"


def _short(value: Any) -> str:
    text = ",".join(str(item) for item in value) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
