"""What all pictures share: matplotlib, imported when the first one is drawn, and figures that need no screen.

Everything is told by position, hatch, dash or label; colour only helps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hcssp.errors import MissingDependency

ACCENT, INK, SOFT, WARNING = "#0b4f8a", "#14202e", "0.45", "#a13a12"
SHADE, WARNING_SHADE = "#b9d3ea", "#fbe3d8"
_DOTS_PER_INCH = 140


def require_matplotlib() -> None:
    """Import matplotlib.

    Raises
    ------
    MissingDependency
        If it is not installed; the message says how to.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "pictures need matplotlib, which is not installed; pip install 'hcssp[plot]'"
        ) from error


def picture_formats() -> list[str]:
    """The suffixes of the files that a picture can be written to, without their dots.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return sorted(FigureCanvasAgg.get_supported_filetypes())


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches, which needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_picture(path: Path, figure: Any) -> None:
    """Write a figure to `path`; its suffix (.png, .svg, .pdf) says how."""
    figure.savefig(path, dpi=_DOTS_PER_INCH)


def tidy(axes: Any) -> None:
    """No frame where there is no axis, and faint lines to read values off."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, axis="y", color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
