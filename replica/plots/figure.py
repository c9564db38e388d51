"""What every figure shares: look, colours, the needed libraries, and atomic files."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidProblem
from ..io.atomic import check_writable, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
# Okabe and Ito's palette, told apart with every common colour vision
BLUE, ORANGE, GREEN, PINK, VERMILLION, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
GREY = "#7F7F7F"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "svg.hashsalt": "replica",
    "pdf.fonttype": 42,  # TrueType, which journals ask for
}


def check_figure(path: Path, option: str = "plot") -> None:
    """Refuse a figure that could not be drawn or written, before any work is done; `option` names it in messages.

    Raises
    ------
    InvalidProblem
        If the suffix is unknown, the path cannot be written, or a library is missing.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidProblem(f"{option} = {str(path)!r} has no known suffix; allowed: {', '.join(SUFFIXES)}")
    for library in ("matplotlib", "pandas"):
        if find_spec(library) is None:
            raise InvalidProblem(f"plot needs {library}; install the extra: pip install replica-attention[plots]")
    check_writable(path)


def save(figure: Figure, path: Path) -> None:
    """Write `figure` to `path` atomically, without dates, so that the same table gives the same bytes.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    import matplotlib as mpl

    stream = io.BytesIO()
    kind = path.suffix.lower()[1:]
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with mpl.rc_context(STYLE):
        figure.savefig(stream, format=kind, metadata=stamp)
    write_bytes(path, stream.getvalue())
