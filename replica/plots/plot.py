"""The figure of a table, whatever it is a table of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import ConvergenceWarning, InvalidProblem
from .tables import is_check, is_flow, is_heads, is_line, is_thresholds, rows_of_check, select

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from .layout import Layout
    from .tables import Curves


def figure_of(
    frames: Sequence[pandas.DataFrame],
    *,
    x: str | None = None,
    y: str | None = None,
    hue: str | None = None,
    where: Sequence[str] = (),
) -> Figure:
    """Draw tables of this package: predictions and experiments together, with transitions as lines.

    Parameters
    ----------
    frames : sequence of DataFrame
        Tables of solves, sweeps, experiments and checks, as `replica.read_csv` gives them, and of thresholds; or a
        stability line, with experiments or not; or one table of a flow; or tables of several heads, see
        `replica.plots.heads.figure_of`.
    x, y, hue : str, optional
        Columns, see `replica.plots.layout.choose`.
    where : sequence of str
        Conditions NAME=VALUE[,VALUE...] on rows; those of thresholds are matched to what is drawn.

    Raises
    ------
    InvalidProblem
        If the tables cannot be drawn, together or at all, or a column is unknown.

    Warns
    -----
    ConvergenceWarning
        If selected rows are left out.
    """
    import pandas

    from . import curves, flow, heads, layout, maps, stability

    if any(frame.empty for frame in frames) or not frames:
        raise InvalidProblem("a table has no rows; nothing to draw")
    flows = [frame for frame in frames if is_flow(frame)]
    if flows:
        if len(frames) > 1 or any((x, y, hue)):
            raise InvalidProblem("a table of replica flow is drawn alone, without x, y and hue")
        one = select(flows[0], where)
        return flow.trajectory_figure(one) if "u_0" in one else flow.sweep_figure(one)
    if any(is_heads(frame) for frame in frames):
        if not all(is_heads(frame) for frame in frames) or any((x, y, hue)):
            raise InvalidProblem("tables of replica heads are drawn among themselves, without x, y and hue")
        return heads.figure_of([select(frame, where) for frame in frames])
    if any(is_line(frame) for frame in frames):
        if any((x, y, hue)):
            raise InvalidProblem("the line of replica symmetry is drawn over what was searched; leave out x, y and hue")
        line, others = ([frame for frame in frames if is_line(frame) is kind] for kind in (True, False))
        joined = (select(pandas.concat(part, ignore_index=True), where) if part else None for part in (line, others))
        return stability.line_figure(*joined)
    frames = [rows_of_check(frame) if is_check(frame) else frame for frame in frames]
    lines = [frame for frame in frames if is_thresholds(frame)]
    rows = [frame for frame in frames if not is_thresholds(frame)]
    thresholds = pandas.concat(lines, ignore_index=True) if lines else None
    if not rows:
        if any((x, y, hue)):
            raise InvalidProblem("a phase diagram has alpha against what varies; leave out x, y and hue")
        return maps.phase_figure(select(thresholds, where))
    together = select(pandas.concat(rows, ignore_index=True), where)
    found, chosen = layout.choose(together, x, y, hue)
    for count, reason in ((found.left_out, "did not converge"), (_infinite(found, chosen), "lie at infinity")):
        if count:
            warnings.warn(
                f"{count} selected row{'s' * (count > 1)} not drawn: {reason}", ConvergenceWarning, stacklevel=2
            )
    draw = maps.map_figure if chosen.is_map else curves.curves_figure
    return draw(found, chosen, thresholds)


def _infinite(found: Curves, chosen: Layout) -> int:
    table, names = found.both, [chosen.x, chosen.y] if chosen.is_map else [chosen.x]
    return int((table[names].abs() == math.inf).any(axis=1).sum())
