"""The strokes of a room's picture: walls, hazards, shading, arrows and marks, on matplotlib's axes.

A cell ``(column, row)`` lies at that point of the axes, moved by the room's corner.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.cssp.grid import Cell, GridWorld
from hcssp.reports.procedure_graph import shortened

if TYPE_CHECKING:
    from hcssp.reports.rooms import Passage

_WALL, _HAZARD_FACE, _HAZARD_EDGE, _INK = "0.25", "#f6d5c8", "#b5451f", "#10243f"
_SHADE = "#9db8d9"
_STEPS = np.array([(0, -1), (1, 0), (0, 1), (-1, 0)])
"""North, east, south, west, on axes whose rows go downwards."""

_FAINTEST = 2e-3
"""Visits below this share of the most visited cell are not drawn."""

_ARROWS_ACROSS = 42
"""Rooms with more cells than this side by side get an arrow for every second cell, or fewer."""


_LETTERS_PER_CELL = 7
_LARGE_ROOM = 12
"""Cells that a room must be wide and high for its name to stand inside."""


@dataclass(frozen=True)
class Marks:
    """What is marked in a room: its start, its goal, a door with its name."""

    start: Cell | None = None
    goal: Cell | None = None
    door: tuple[Cell, str] | None = None


def draw_room(axes: Any, grid: GridWorld, corner: Cell, openings: Collection[Cell], title: str = "") -> None:
    """Draw the walls and the hazards of a room."""
    from matplotlib.patches import Rectangle

    left, top = corner
    ring = (
        *((0, row, grid.width + 2, 1) for row in (0, grid.height + 1)),
        *((column, 0, 1, grid.height + 2) for column in (0, grid.width + 1)),
    )
    for column, row, width, height in (*ring, *grid.walls):
        axes.add_patch(
            Rectangle(
                (left + column - 0.5, top + row - 0.5), width, height, facecolor=_WALL, linewidth=0, zorder=3
            )
        )
    for column, row in openings:
        axes.add_patch(
            Rectangle(
                (left + column - 0.5, top + row - 0.5), 1, 1, facecolor="white", edgecolor="0.6",
                linewidth=0.4, zorder=4,
            )
        )  # fmt: skip
    for hazard in grid.hazards:
        column, row, width, height = hazard.rectangle
        axes.add_patch(
            Rectangle(
                (left + column - 0.5, top + row - 0.5), width, height, facecolor=_HAZARD_FACE,
                edgecolor=_HAZARD_EDGE, hatch="////", linewidth=0.8, zorder=1,
            )
        )  # fmt: skip
    if title:
        _draw_title(axes, grid, corner, title)
    axes.update_datalim([(left - 0.5, top - 0.5), (left + grid.width + 1.5, top + grid.height + 1.5)])


def _draw_title(axes: Any, grid: GridWorld, corner: Cell, title: str) -> None:
    """The room's name: large and pale inside, or in the corner of the wall where the room is small."""
    middle = corner[0] + grid.width / 2 + 0.5
    style: dict[str, Any] = {"fontweight": "bold", "va": "center"}
    if min(grid.width, grid.height) >= _LARGE_ROOM:
        below = corner[1] + grid.height * 0.62
        axes.text(middle, below, title, fontsize=30, color="0.55", alpha=0.4, zorder=2, ha="center", **style)
    else:
        # From the edge inwards, since a name that is longer than the corner must not leave the picture.
        title = shortened(title, _LETTERS_PER_CELL * (grid.width + 1))
        axes.text(corner[0] - 0.4, corner[1], title, fontsize=14, color="white", zorder=7, ha="left", **style)


def draw_passage(axes: Any, passage: Passage, corner: Cell, most: float) -> None:
    """Draw where an activity goes: shading and arrows that fade with the visits.

    Parameters
    ----------
    axes, passage, corner
        Where to draw, what, and where its room's top-left wall cell lies.
    most
        The visits of the darkest cell.
    """
    from matplotlib.colors import to_rgba

    # Roots, since visits fall off fast: a cell of a hundredth of the visits is still seen.
    strength = np.sqrt(passage.visits / most)
    seen = passage.visits >= _FAINTEST * most
    places = passage.cells + np.array(corner)
    shade = np.zeros((passage.grid.height + 2, passage.grid.width + 2, 4))
    shade[..., :] = to_rgba(_SHADE, 0.0)
    columns, rows = passage.cells.T
    shade[rows, columns, 3] = 0.9 * strength
    left, top = corner
    extent = (left - 0.5, left + passage.grid.width + 1.5, top + passage.grid.height + 1.5, top - 0.5)
    axes.imshow(shade, extent=extent, origin="upper", interpolation="nearest", zorder=1.5, aspect="equal")
    stride = -(-max(passage.grid.width, passage.grid.height) // _ARROWS_ACROSS)
    seen &= np.all(passage.cells % stride == 0, axis=1)
    if not seen.any():
        return
    ink = np.tile(to_rgba(_INK), (int(seen.sum()), 1))
    ink[:, 3] = np.clip(0.12 + 0.88 * strength[seen], 0.0, 1.0)
    length = 0.85 * stride
    u, v = (_STEPS[passage.headings[seen]] * length).T
    axes.quiver(
        *places[seen].T, u, v, color=ink, angles="xy", scale_units="xy", scale=1, pivot="mid",
        units="xy", width=0.16 * stride, headwidth=4, headlength=3.5, headaxislength=3.2, zorder=5,
    )  # fmt: skip


def draw_marks(axes: Any, corner: Cell, marks: Marks) -> None:
    """Mark a start with a circle, a goal with a star, a door with its name."""
    left, top = corner
    style: dict[str, Any] = {
        "zorder": 6,
        "clip_on": False,
        "markeredgecolor": "black",
        "markeredgewidth": 1.0,
    }
    if marks.start is not None:
        axes.plot(
            left + marks.start[0], top + marks.start[1], marker="o", color="white", markersize=7, **style
        )
    if marks.goal is not None:
        axes.plot(left + marks.goal[0], top + marks.goal[1], marker="*", color="gold", markersize=12, **style)
    if marks.door is not None:
        (column, row), name = marks.door
        axes.annotate(
            name, (left + column, top + row), xytext=(7, 0), textcoords="offset points", fontsize=9,
            va="center", zorder=7, bbox={"boxstyle": "round,pad=0.2", "facecolor": "white"},
        )  # fmt: skip


def draw_legend(axes: Any, left_out: int = 0) -> None:
    """Explain the signs, and say how many activities are not drawn."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    mark: dict[str, Any] = {"linestyle": "none", "markeredgecolor": "black"}
    axes.legend(
        handles=[
            Line2D([], [], marker="o", color="white", markersize=8, label="start", **mark),
            Line2D([], [], marker="*", color="gold", markersize=13, label="goal", **mark),
            Patch(facecolor=_HAZARD_FACE, edgecolor=_HAZARD_EDGE, hatch="////", label="hazard"),
            _arrow(),
            Patch(facecolor=_SHADE, label="visited often"),
            Patch(facecolor=_SHADE, alpha=0.25, label="visited seldom"),
        ],
        loc="center",
        fontsize=11,
        frameon=False,
        labelspacing=0.9,
        title=f"{left_out:,} more activities are not drawn" if left_out else None,
    )
    axes.set_axis_off()


def _arrow() -> Any:
    """The sign of a heading: the one formula of all pictures."""
    import matplotlib as mpl
    from matplotlib.lines import Line2D

    with mpl.rc_context({"text.parse_math": True}):
        return Line2D(
            [], [], marker=r"$\rightarrow$", color=_INK, linestyle="none", markersize=13, label="heading"
        )


def finish(axes: Any) -> None:
    """Square cells, rows downwards, no ticks."""
    axes.set_aspect("equal")
    axes.autoscale_view()
    limits = axes.dataLim
    axes.set_xlim(limits.x0, limits.x1)
    axes.set_ylim(limits.y1, limits.y0)
    axes.set_anchor("N")
    axes.set_axis_off()
