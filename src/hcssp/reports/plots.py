"""The pictures that ``plot`` of problems, plans, curves, sweeps and simulations draws, with matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from hcssp.contract.plan import Plan
from hcssp.cssp.model import CSSP
from hcssp.display import Picture
from hcssp.errors import InvalidProblem
from hcssp.evaluation.simulation import Simulation
from hcssp.procedure import HCSSP
from hcssp.reports.charts import (
    draw_histograms,
    draw_history,
    draw_lagrangian,
    draw_sweep,
    draw_trade_off,
    require_matplotlib,
    save_picture,
)
from hcssp.reports.page_data import choice_counts
from hcssp.reports.procedure_picture import draw_procedure
from hcssp.reports.rooms import draw_rooms
from hcssp.solving.lagrangian import Lagrangian
from hcssp.solving.sweep import Sweep
from hcssp.solving.trade_off import TradeOff

File = str | Path | None
Shown = Literal["rooms", "procedure", "history"]


def plotted(draw: Callable[[Any], Any], path: str | Path | None, ax: Any) -> Any:
    """What every ``plot`` method does: draw on axes, into a file, or into a figure that a notebook shows.

    Parameters
    ----------
    draw
        Draws on axes, on an empty figure, or if it gets None on a new one; returns the figure.
    path
        Where to write the picture; its suffix (.png, .svg, .pdf) says how.
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
    CannotWrite
        If the file cannot be written.
    """
    require_matplotlib()
    if path is None and ax is None:
        import matplotlib.pyplot as plt

        shown = plt.figure(layout="constrained")
        try:
            draw(shown)
        except BaseException:
            plt.close(shown)
            raise
        return shown.axes[0]
    figure = draw(ax)
    if path is not None:
        save_picture(Path(path), figure if ax is None else ax.get_figure(root=True))
    return figure.axes[0] if ax is None else ax


def plot_plan(plan: Plan, path: File, ax: Any, of: Shown | None) -> Any:
    """Draw a plan: its rooms with arrows, its procedure with what is chosen, or how its interval narrowed.

    Raises
    ------
    NoSolution
        If the plan has no policy, and not its history is asked for.
    """
    if of == "history":
        return plotted(lambda on: draw_history(plan, on), path, ax)
    solved = plan.as_procedure()
    problem, chosen = solved.problem, (choice_counts(solved) > 0.0).tolist()
    if _has_rooms(problem, of):
        return plotted(lambda on: draw_rooms(problem, solved, on), path, ax)
    return plotted(lambda on: draw_procedure(problem, problem.name, chosen, on), path, ax)


def plot_problem(problem: CSSP | HCSSP, path: File, ax: Any, of: Shown | None) -> Any:
    """Draw a problem: its rooms, or its procedure."""
    procedure = problem.procedure
    if _has_rooms(procedure, of):
        return plotted(lambda on: draw_rooms(procedure, on=on), path, ax)
    return plotted(lambda on: draw_procedure(procedure, procedure.name, on=on), path, ax)


def _has_rooms(problem: HCSSP, of: Shown | None) -> bool:
    """Whether the rooms are drawn; by default wherever there are any."""
    if of == "rooms" and not problem.has_rooms:
        raise InvalidProblem(["the problem has no rooms; draw its procedure: plot(of='procedure')"])
    return problem.has_rooms if of is None else of == "rooms"


def plot(result: Picture, path: File, ax: Any, of: Shown | None = None) -> Any:
    """Draw a problem, a trade-off curve, a sweep or simulated runs."""
    match result:
        case CSSP() | HCSSP():
            return plot_problem(result, path, ax, of)
        case TradeOff():
            return plotted(lambda on: draw_trade_off(result, on=on), path, ax)
        case Lagrangian():
            return plotted(lambda on: draw_lagrangian(result, on), path, ax)
        case Sweep():
            return plotted(lambda on: draw_sweep(result, on), path, ax)
        case Simulation():
            return plotted(lambda on: draw_histograms(result, on=on), path, ax)
    raise TypeError(f"there is no picture of {type(result).__name__}")
