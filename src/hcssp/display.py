"""How results are shown: as tables for pandas, as pictures, and in notebooks.

What draws and writes them is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from hcssp.errors import MissingDependency

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from pandas import DataFrame


def frame(columns: Mapping[str, Any], index: str | None = None) -> DataFrame:
    """A ``pandas.DataFrame`` of these columns.

    Parameters
    ----------
    columns
        From names to lists or arrays of values, all equally many.
    index
        The column that names the rows, if one does.

    Raises
    ------
    MissingDependency
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "tables need pandas, which is not installed; pip install 'hcssp[notebook]'"
        ) from error
    made = pd.DataFrame(dict(columns))
    return made if index is None else made.set_index(index)


class Card:
    """A result that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        from hcssp.reports.card import html

        return html(self)


class Picture(Card):
    """A result that can be drawn."""

    def plot(self, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw it with matplotlib.

        A trade-off curve shows proven intervals, the optimum of randomised policies, and the price. A sweep
        shows lines, or a heat map if two axes vary with three values or more each. A simulation shows a
        histogram of each cost; on axes that are given, only the primary cost.

        Parameters
        ----------
        path
            Where to write the picture; its suffix (.png, .svg, .pdf) says how. Without a path and without
            axes it is drawn in a figure of pyplot, which a notebook shows.
        ax
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; of several panels, the first.

        Raises
        ------
        MissingDependency
            If matplotlib is not installed.
        """
        from hcssp.reports.plots import plot

        axes: Axes = plot(self, path, ax)
        return axes


class ProblemPicture(Picture):
    """A problem, whose rooms or procedure can be drawn."""

    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: Axes | None = None,
        of: Literal["rooms", "procedure"] | None = None,
    ) -> Axes:
        """Draw the problem: its rooms, or its procedure.

        Parameters
        ----------
        path, ax
            As for :meth:`Picture.plot`.
        of
            Draw this; by default the rooms, or the procedure where there are no rooms.
        """
        from hcssp.reports.plots import plot

        axes: Axes = plot(self, path, ax, of)
        return axes
