"""What all pictures share: matplotlib, imported when the first one is drawn, and figures that need no screen.

Everything is told by position, hatch, dash or label; colour only helps.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from hcssp.errors import MissingDependency
from hcssp.files.atomic import write_atomically

P = ParamSpec("P")

ACCENT, INK, SOFT, FAINT, WARNING = "#0b4f8a", "#14202e", "0.45", "0.75", "#a13a12"
SHADE, WARNING_SHADE = "#b9d3ea", "#fbe3d8"
_DOTS_PER_INCH = 140
_MOST_DOTS = 32_000
"""A picture that would be higher or wider is drawn coarser; libraries refuse more than twice as many."""

_FORMATS = ("png", "svg", "pdf", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps", "svgz")
"""What needs nothing but matplotlib; its others want LaTeX, or write bare dots."""

_LITERALLY: Any = {"text.parse_math": False, "axes.formatter.use_mathtext": False}
"""A dollar in a name is a dollar, and begins no formula."""


def literally(draw: Callable[P, Any]) -> Callable[P, Any]:
    """A function that draws a picture, made to draw every text as it stands."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Any:
        require_matplotlib()
        import matplotlib as mpl

        with mpl.rc_context(_LITERALLY):
            return draw(*args, **kwargs)

    return drawn


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

    supported = FigureCanvasAgg.get_supported_filetypes()
    return [each for each in _FORMATS if each in supported]


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
    """Write a figure to `path`; its suffix (.png, .svg, .pdf) says how.

    Raises
    ------
    CannotWrite
        If that is impossible.
    """
    dots = min(_DOTS_PER_INCH, _MOST_DOTS / max(figure.get_size_inches()))
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        # A letter that no font has is drawn as a box; who reads the picture sees that.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        save(figure, drawn, format=path.suffix.lstrip(".").lower() or "png", dpi=dots)
    write_atomically(path, drawn.getvalue())


@literally
def save(figure: Any, stream: io.BytesIO, **options: Any) -> None:
    """Draw a figure into `stream`."""
    figure.savefig(stream, **options)


def tidy(axes: Any) -> None:
    """No frame where there is no axis, and faint lines to read values off."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, axis="y", color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
