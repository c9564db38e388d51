"""Atomic files: a reader sees the old content or the new, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from ..errors import InvalidProblem, OutputError


def check_writable(path: Path) -> None:
    """Refuse an output path that cannot be written, before any work is done.

    Raises
    ------
    InvalidProblem
        If the folder is missing or not writable, or the path is a folder, a device or a pipe.
    """
    folder = path.parent
    if os.path.isdir(path):  # not Path.is_dir, which raises on names that are too long
        raise InvalidProblem(f"output = {str(path)!r} is a folder; give the name of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InvalidProblem(
            f"output = {str(path)!r} is not a regular file, which would be replaced; give another name"
        )
    if not os.path.isdir(folder):
        raise InvalidProblem(f"output = {str(path)!r}: the folder {str(folder)!r} does not exist; create it first")
    try:
        descriptor, probe = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise InvalidProblem(f"output = {str(path)!r} cannot be written: {error.strerror}") from None
    os.close(descriptor)
    os.unlink(probe)


def write_text(path: Path, text: str) -> None:
    """Write `text` (UTF-8, newlines kept) as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` through a temporary file in the same folder, fsync and rename.

    Raises
    ------
    OutputError
        If the disk is full or the file cannot be written; an existing file is left as it was.
    """
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise OutputError(f"{str(path)!r} was not written: {error.strerror}") from None
