"""Charts by matplotlib: costs of runs, the proof over time, the trade-off curve, sweeps.

Matplotlib is imported when the first picture is drawn; figures need no screen. Everything is shown by
position, hatch, dash or label; colour only helps. A reward that is maximised is shown as such: the
upper bound of the search is then a lower one.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.contract.progress import AllocationSpace
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import MissingDependency
from hcssp.evaluation.simulation import Simulation
from hcssp.files.atomic import write_atomically
from hcssp.procedure.description import Aim, expected
from hcssp.reports.figures import given, rounded
from hcssp.reports.plan_text import history_of
from hcssp.reports.sweep_tables import aim_of, axis_name, value_on
from hcssp.solving.lagrangian import Lagrangian
from hcssp.solving.sweep import Sweep, SweepAxis, SweepPoint
from hcssp.solving.trade_off import CurvePoint, TradeOff

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
        If it is not installed; the message has the command.
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


def new_figure(width: float, height: float, on: Any = None) -> Any:
    """A figure of this size in inches: the empty one that is given, or a new one, which needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    require_matplotlib()
    if on is not None:
        on.set_size_inches(width, height)
        return on
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def one_panel(width: float, height: float, on: Any = None) -> Any:
    """The axes that are given, or those of a figure of this size in inches, as of :func:`new_figure`."""
    return on if is_axes(on) else new_figure(width, height, on).add_subplot()


def is_axes(on: Any) -> bool:
    """Whether a picture is to be drawn on axes that are there already."""
    return hasattr(on, "transAxes")


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
        # A letter that no font has is drawn as a box, which is seen in the picture.
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


_BARS = 40


_FEW_VALUES = 14


def look_ahead(plan: Plan, runs: int = 5000, seed: int = 0) -> Simulation:
    """Simulate a plan, in terms of what is wanted; `seed` makes the runs reproducible."""
    return judged_runs(Aim.of(plan.problem), plan.simulate(runs, seed))


def bound_on(runs: Simulation, index: int) -> float:
    """The bound on a cost of simulated runs; ``inf`` where there is none."""
    return float(runs.bounds[index - 1]) if index else inf


def histogram(totals: FloatArray) -> tuple[FloatArray, IntArray, bool]:
    """Edges and counts of bars of equal width, and whether every bar is a single value.

    >>> edges, counts, by_value = histogram(np.array([0.0, 0.0, 50.0, 150.0]))
    >>> edges.tolist(), counts.tolist(), by_value
    ([-25.0, 25.0, 75.0, 125.0, 175.0], [2, 1, 0, 1], True)
    """
    values = np.unique(totals)
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5]), np.array([len(totals)]), True
    step = float(np.diff(values).min())
    places = (values - values[0]) / step
    by_value = bool(places[-1] < _FEW_VALUES and np.allclose(places, np.rint(places)))
    if by_value:
        edges = values[0] + step * (np.arange(round(float(places[-1])) + 2) - 0.5)
    else:
        edges = np.histogram_bin_edges(totals, bins=_BARS)
    counts, _ = np.histogram(totals, edges)
    return edges, counts.astype(np.int64), by_value


AnySimulation = TypeVar("AnySimulation", bound=Simulation)


def own(plan: Plan) -> float:
    """What the plan has of what is wanted; infinitely bad without one."""
    return plan.upper_bound if plan.reward is None else plan.reward.value


def limit(plan: Plan) -> float:
    """What no plan is better than."""
    return plan.lower_bound if plan.reward is None else plan.reward.at_most


@dataclass(frozen=True, eq=False)
class JudgedCurve:
    """A trade-off curve in terms of what is wanted.

    Attributes
    ----------
    aim
        The objective.
    name
        Its name, with its unit.
    breakpoints
        As of the curve, with the values of what is wanted.
    """

    aim: Aim
    name: str
    breakpoints: FloatArray

    @classmethod
    def of(cls, curve: TradeOff) -> JudgedCurve:
        """That of a curve."""
        aim = Aim.of(curve.problem)
        breakpoints = np.array(curve.breakpoints)
        if aim.greatest and len(breakpoints):
            breakpoints[:, 1] = judged(aim, breakpoints[:, 1].tolist())
        return cls(aim, curve.problem.called(aim.name), breakpoints)

    @property
    def best(self) -> str:
        """The drawn quantity, as a text: ``least expected time``."""
        return f"{'greatest' if self.aim.greatest else 'least'} expected {self.name}"

    @property
    def worse(self) -> str:
        """The side of the proven bound on which there is no plan."""
        return "above" if self.aim.greatest else "below"

    @property
    def gains(self) -> str:
        """What more of a bound does."""
        return "gains" if self.aim.greatest else "saves"

    def stochastic(self, point: CurvePoint) -> float:
        """What randomised policies reach at a point; infinitely bad where the bound cannot be kept."""
        return self.aim.judged(point.stochastic)

    def limit(self, point: CurvePoint) -> float:
        """What no plan is better than at a point; the plan's own where nothing is proven."""
        proven = limit(point.plan)
        return proven if isfinite(proven) else own(point.plan)


def judged_runs(aim: Aim, runs: AnySimulation) -> AnySimulation:
    """Simulated runs with what is reported: the aim, then the other costs."""
    return replace(runs, totals=aim.matrix @ runs.totals, cost_names=aim.names, bounds=runs.bounds[aim.kept])


def judged(aim: Aim, costs: Iterable[float]) -> list[float]:
    """Primary costs in terms of what is wanted."""
    return [aim.judged(cost) for cost in costs]


@literally
def draw_histograms(runs: Simulation, on: Any = None) -> Any:
    """Draw the distribution of every cost over simulated runs.

    Parameters
    ----------
    runs
        The simulated runs of a plan.
    on
        An empty figure, or axes, which show the first cost only.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each cost, with the mean as a full line and the bound as a broken one; runs above the
        bound are hatched the other way.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    if is_axes(on):
        figure, places = on.figure, [on]
    else:
        figure = new_figure(4.6 * len(runs.cost_names), 3.4, on)
        places = figure.subplots(1, len(runs.cost_names), squeeze=False)[0]
        figure.suptitle(f"The costs of {runs.num_runs:,} simulated runs")
    for index, axes in enumerate(places):
        _draw(axes, runs, index)
        axes.set_xlabel(f"{runs.cost_names[index]} of a run")
    return figure


def _draw(axes: Any, runs: Simulation, index: int) -> None:
    tidy(axes)
    bound, (edges, counts, by_value) = bound_on(runs, index), histogram(runs.totals[index])
    middles = (edges[1:] + edges[:-1]) / 2
    shares = 100.0 * counts / runs.num_runs
    for chosen, face, edge, hatch in (
        (middles <= bound, SHADE, ACCENT, "///"),
        (middles > bound, WARNING_SHADE, WARNING, "\\\\\\"),
    ):
        if chosen.any():
            axes.bar(
                middles[chosen], shares[chosen], np.diff(edges)[chosen] * 0.92, color=face,
                edgecolor=edge, hatch=hatch,
            )  # fmt: skip
    mean = runs.mean(runs.cost_names[index]).value
    if isfinite(mean):
        axes.axvline(mean, color=INK, linewidth=1.6, label=f"mean: {rounded(mean, 2)}")
    if isfinite(bound):
        axes.axvline(bound, color=WARNING, linestyle="--", linewidth=1.6, label=f"bound: {given(bound)}")
    if by_value:
        axes.set_xticks(middles[:: max(1, len(middles) // 8)])
    axes.set_ylabel("% of runs")
    axes.legend(frameon=False, fontsize=9)


_FIRST_BOUNDS = 1.5
"""How many times the first interval is shown below the last lower bound; more would flatten the rest."""


@literally
def draw_history(plan: Plan, on: Any = None) -> Any:
    """Draw how the proven interval narrowed.

    Parameters
    ----------
    plan
        Whose trace is drawn.
    on
        An empty figure, or axes.

    Returns
    -------
    matplotlib.figure.Figure
        The cost of the best plan so far as a full line, the lower bound as a dotted one.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    axes = one_panel(7.0, 3.6, on)
    tidy(axes)
    axes.set_xlabel("seconds")
    shown = plan.as_procedure().problem
    aim = Aim.of(shown)
    axes.set_ylabel(f"expected {shown.called(aim.name)}")
    trace, word = history_of(plan)
    axes.set_title(f"The {word} interval over time")
    points = [*trace]
    if not points:
        axes.text(0.5, 0.5, f"nothing was {word}", transform=axes.transAxes, ha="center")
        return axes.figure
    seconds = np.array([point.seconds for point in points] + [max(plan.seconds, points[-1].seconds)])
    lower = np.array([point.lower_bound for point in points] + [points[-1].lower_bound])
    upper = np.array([point.upper_bound for point in points] + [points[-1].upper_bound])
    known_lower, known_upper = np.isfinite(lower), np.isfinite(upper)
    both = known_lower & known_upper
    limits, owns = np.array(judged(aim, lower)), np.array(judged(aim, upper))
    axes.fill_between(seconds[both], limits[both], owns[both], step="post", color=SHADE, alpha=0.6)
    axes.step(
        seconds[known_upper], owns[known_upper], where="post", color=ACCENT, label="the best plan so far"
    )
    axes.step(
        seconds[known_lower], limits[known_lower], where="post", color=INK, linestyle=":", linewidth=2,
        label=f"{word}: no deterministic plan {'above' if aim.greatest else 'below'}",
    )  # fmt: skip
    if both.any():
        first, last = upper[both][0], lower[both][-1]
        bottom = max(float(lower[both].min()), float(last - _FIRST_BOUNDS * max(first - last, 1e-9)))
        margin = 0.08 * max(float(first) - bottom, 1e-9)
        if isfinite(bottom):
            axes.set_ylim(*sorted(judged(aim, (bottom - margin, float(first) + margin))))
    axes.set_xlim(left=0.0)
    axes.legend(frameon=False)
    return axes.figure


@literally
def draw_lagrangian(picture: Lagrangian, on: Any = None) -> Any:
    """Draw the lines of policies over the multiplier of one bound, and both bounds on the optimum.

    Parameters
    ----------
    picture
        The lines.
    on
        An empty figure, or axes.

    Returns
    -------
    matplotlib.figure.Figure
        Policies that keep the bounds as full lines, the others dashed, the least of all as a thick line.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    axes = one_panel(7.0, 4.4, on)
    tidy(axes)
    found, bound = picture, picture.bound
    last = 2.0 * found.price if found.price > 0.0 else 1.0
    prices = np.linspace(0.0, last, 2)
    fine = np.linspace(0.0, last, 400)
    for line in found.lines:
        axes.plot(
            prices, [line.at(price, bound) for price in prices.tolist()],
            color=ACCENT if line.feasible else WARNING, linestyle="-" if line.feasible else "--",
            linewidth=1.4 if line.rank else 0.8, alpha=1.0 if line.rank else 0.6,
        )  # fmt: skip
    least = np.min([[line.at(price, bound) for price in fine.tolist()] for line in found.lines], axis=0)
    axes.plot(fine, least, color=INK, linewidth=2.6, alpha=0.8)
    axes.axvline(found.price, color=SOFT, linewidth=0.8, linestyle=":")
    axes.plot([found.price], [found.dual], "o", color=INK)
    values = [found.dual, found.lower_bound]
    ranked = [(line.rank, line.at(found.price, bound)) for line in found.lines if line.rank is not None]
    values += [value for _, value in ranked]
    if isfinite(found.upper_bound):
        axes.axhline(found.upper_bound, color=ACCENT, linewidth=1.0, linestyle="-.")
        values.append(found.upper_bound)
    axes.axhline(found.lower_bound, color=INK, linewidth=1.0, linestyle=":")
    height = max(max(values) - min(values), 1e-9 * (1.0 + abs(found.dual)))
    axes.set_xlim(0.0, last)
    axes.set_ylim(min(values) - 0.9 * height, max(values) + 0.6 * height)
    # Policies whose values are too close to distinguish share a label.
    shown: list[tuple[float, list[int]]] = []
    for rank, value in ranked:
        if shown and value - shown[-1][0] < 0.08 * height:
            shown[-1][1].append(rank)
        else:
            shown.append((value, [rank]))
    for value, ranks in shown:
        name = f"π{ranks[0]}" if len(ranks) == 1 else f"π{ranks[0]} to π{ranks[-1]}"
        axes.plot([found.price], [value], ".", color=INK)
        axes.annotate(name, (found.price, value), xytext=(6, 3), textcoords="offset points", color=INK)
    axes.set_xlabel(f"price λ of {found.constraint} (λ* = {given(found.price, 4)})")
    axes.set_ylabel(f"expected {found.cost_name} + λ (expected {found.constraint} - {given(bound, 4)})")
    whose = f" of {found.name}" if found.name else ""
    axes.set_title(f"Policies{whose} over the multiplier")
    lines = [
        axes.plot([], [], color=INK, linewidth=2.6, alpha=0.8, label="least of all: the dual")[0],
        axes.plot([], [], color=ACCENT, label="keeps the bounds")[0],
        axes.plot([], [], color=WARNING, linestyle="--", label="breaks a bound")[0],
        axes.plot([], [], color=INK, linestyle=":", label=f"lower bound {rounded(found.lower_bound)}")[0],
    ]
    if isfinite(found.upper_bound):
        label = f"incumbent {rounded(found.upper_bound)}"
        lines.append(axes.plot([], [], color=ACCENT, linestyle="-.", label=label)[0])
    axes.legend(handles=lines, edgecolor="none", framealpha=0.9, fontsize="small", loc="best")
    return axes.figure


@literally
def draw_allocation(space: AllocationSpace, activities: Sequence[str] | None = None, on: Any = None) -> Any:
    """Draw the boxes of budget allocation in the plane of two activities.

    Open boxes have the colour of their bound, those that were pruned are grey and hatched. Boxes that differ
    along other axes lie on each other: open ones above pruned ones, and the least bound on top. Where only
    pruned boxes lie, far from the others, the picture ends.

    Parameters
    ----------
    space
        The boxes.
    activities
        The names of two; by default those whose budgets were split most often.
    on
        An empty figure, or axes.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import Normalize
    from matplotlib.patches import Patch, Rectangle

    plane = list(space.axes_of(activities))
    axes = one_panel(7.0, 5.2, on)
    boxes, states = space.boxes, np.array(space.state_of())
    bounds = np.array([box.bound for box in boxes])
    lower = np.array([box.lower[plane] for box in boxes])
    upper = np.array([box.upper[plane] for box in boxes])
    # A budget without a limit goes to the end of the picture.
    known = np.where(np.isfinite(upper), upper, lower)
    upper = np.minimum(upper, known.max(axis=0))
    is_open = states == "open"
    shown = is_open if is_open.any() else np.ones(len(boxes), dtype=np.bool_)
    corners = [lower[shown], upper[shown], *([] if space.usage is None else [space.usage[None, plane]])]
    first, last = np.vstack(corners).min(axis=0), np.vstack(corners).max(axis=0)
    last = np.where(last > first, last, first + 1.0)
    mapped = ScalarMappable(Normalize(bounds[shown].min(), bounds[shown].max()), "viridis_r")
    for state, hatch in (("pruned", "////"), ("open", "")):
        members = np.flatnonzero(states == state)
        # Those with the least bound are drawn last.
        members = members[np.argsort(-bounds[members], kind="stable")]
        rectangles = [Rectangle(tuple(lower[box]), *(upper[box] - lower[box])) for box in members.tolist()]
        colours = FAINT if hatch else mapped.to_rgba(bounds[members])
        axes.add_collection(
            PatchCollection(rectangles, facecolor=colours, edgecolor=INK, linewidth=0.5, hatch=hatch)
        )
    if space.usage is not None:
        axes.plot(*space.usage[plane], "*", color=WARNING, markeredgecolor="white", markersize=15, zorder=5)
    margin = 0.06 * (last - first)
    axes.set_xlim(first[0] - margin[0], last[0] + margin[0])
    axes.set_ylim(first[1] - margin[1], last[1] + margin[1])
    for set_label, axis in zip((axes.set_xlabel, axes.set_ylabel), plane, strict=True):
        activity, cost = space.axes[axis]
        set_label(f"{cost} of an execution of {activity}")
    axes.set_title(f"{len(boxes):,} boxes of allocations, {np.sum(states == 'split'):,} of them split")
    if is_open.any():
        axes.figure.colorbar(mapped, ax=axes, label="lower bound of the open box")
    handles: list[Any] = [
        Patch(facecolor=mapped.cmap(0.5), edgecolor=INK, label="open"),
        Patch(facecolor=FAINT, edgecolor=INK, hatch="////", label="pruned"),
    ]
    if space.usage is not None:
        handles += axes.plot([], [], "*", color=WARNING, linestyle="", markersize=11, label="the best plan")
    axes.legend(handles=handles, edgecolor="none", framealpha=0.9, fontsize="small", loc="upper right")
    return axes.figure


_MANY = 60
"""Breakpoints beyond this many are not marked one by one."""


@literally
def draw_trade_off(curve: TradeOff, on: Any = None) -> Any:
    """Draw a trade-off curve.

    Parameters
    ----------
    curve
        What :func:`hcssp.solving.trade_off.trade_off` found.
    on
        An empty figure, or axes.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; it needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    costs = one_panel(9.0, 5.4, on)
    tidy(costs)
    shown = JudgedCurve.of(curve)
    handles = [*_deterministic(costs, curve, shown), *_stochastic(costs, curve, shown)]
    varied, stated = curve.problem.called(curve.constraint), expected(curve.problem, curve.constraint)
    costs.set_xlabel(f"bound on the {stated}")
    costs.set_ylabel(f"{'greatest' if shown.aim.greatest else 'least'} expected {shown.name}")
    if len(curve.prices):
        prices = costs.twinx()
        handles.append(_prices(prices, curve))
        won = "gained" if shown.aim.greatest else "saved"
        prices.set_ylabel(f"price: {shown.name} {won} by one more unit of {varied}", color=WARNING)
        prices.set_ylim(bottom=0.0)
        prices.spines["top"].set_visible(False)
        prices.tick_params(axis="y", colors=WARNING)
        # The curve itself is what one looks at first.
        costs.set_zorder(prices.get_zorder() + 1)
        costs.patch.set_visible(False)
    if handles:
        place = "lower right" if shown.aim.greatest else "upper right"
        costs.legend(handles=handles, loc=place, frameon=True, framealpha=0.9, fontsize=9)
    else:
        costs.text(0.5, 0.5, "no plan keeps any of these bounds", transform=costs.transAxes, ha="center")
    impossible = [point.bound for point in curve.points if point.bound < curve.least]
    if impossible:
        costs.axvspan(min(impossible), curve.least, color="0.93", zorder=0)
        costs.text(
            curve.least, 0.02, f" no plan below {curve.least:.4g}", transform=costs.get_xaxis_transform(),
            fontsize=9, ha="left", va="bottom",
        )  # fmt: skip
    costs.set_title(f"What the bound on {varied} costs", fontsize=13, fontweight="bold", loc="left")
    return costs.figure


def _stochastic(axes: Any, curve: TradeOff, shown: JudgedCurve) -> list[Any]:
    if not len(curve.breakpoints):
        return []
    bounds, values = shown.breakpoints.T
    reached = "randomised optimum"
    label = reached if curve.exact else f"no policy {shown.worse}, randomised or not"
    (line,) = axes.plot(
        bounds, values, color=ACCENT, linewidth=1.6, zorder=4, label=label,
        marker="o" if len(bounds) <= _MANY else "", markersize=3.2,
    )  # fmt: skip
    return [line]


def _deterministic(axes: Any, curve: TradeOff, shown: JudgedCurve) -> list[Any]:
    known = [point for point in curve.points if isfinite(point.upper_bound)]
    if not known:
        return []
    bounds = np.array([point.bound for point in known])
    limits = np.array([shown.limit(point) for point in known])
    owns = np.array([own(point.plan) for point in known])
    handles = []
    if len(known) > 1:
        # Between two bounds the best is no worse than at the smaller and no better than at the larger one.
        between = axes.fill_between(
            np.repeat(bounds, 2)[1:-1], np.repeat(limits[1:], 2), np.repeat(owns[:-1], 2),
            facecolor=SHADE, linewidth=0.0, alpha=0.55, zorder=1, label="... between those bounds",
        )  # fmt: skip
        handles.append(between)
    bars = axes.errorbar(
        bounds, (limits + owns) / 2, yerr=np.abs(owns - limits) / 2, fmt="_", color=INK, markersize=9,
        markeredgewidth=2.0, elinewidth=2.0, capsize=3.5, zorder=5,
        label="best deterministic plan: proven interval",
    )  # fmt: skip
    return [bars, *handles]


def _prices(axes: Any, curve: TradeOff) -> Any:
    bounds = curve.breakpoints[:, 0]
    (line,) = axes.plot(
        np.repeat(bounds, 2)[1:-1], np.repeat(curve.prices, 2), color=WARNING, linewidth=1.2,
        linestyle=(0, (4, 2)), zorder=2, label=f"price of {curve.constraint} (right axis)",
    )  # fmt: skip
    return line


_MOST_SMALL, _SMALL_ACROSS = 24, 3
"""A picture of a sweep has at most this many small charts, and this many side by side."""


_MARKS = "osD^vPX*"


_DASHES = ("-", "--", "-.", ":")


_FEWEST_FOR_A_MAP = 3
"""A heat map needs this many values on both axes; with fewer, lines say more."""


@literally
def draw_sweep(sweep: Sweep, on: Any = None) -> Any:
    """Draw the least expected cost over what varies, on a new figure, on an empty one or on axes.

    Returns
    -------
    matplotlib.figure.Figure
        A heat map if two axes vary, each with three values or more; else lines over the longest axis.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    varied = sorted((axis for axis in sweep.axes if len(axis.values) > 1), key=lambda a: -len(a.values))
    primary = aim_of(sweep)
    if len(varied) == 2 and len(varied[1].values) >= _FEWEST_FOR_A_MAP:
        return _heat_map(sweep, varied[0], varied[1], primary, on)
    return _lines(sweep, varied, primary, on)


def _title(sweep: Sweep) -> str:
    claimed = sum(point.is_claimed for point in sweep.points)
    claims = f"\n{claimed} of {len(sweep.points)} points are claims, not checked" if claimed else ""
    return f"{sweep.problem}: {aim_of(sweep)}{claims}"


def _heat_map(sweep: Sweep, across: SweepAxis, down: SweepAxis, primary: str, on: Any) -> Any:
    axes = one_panel(2.6 + 0.85 * len(across.values), 2.0 + 0.6 * len(down.values), on)
    grid = np.full((len(down.values), len(across.values)), nan)
    for point in sweep.points:
        row, column = (axis.numbers.index(point.at(axis)) for axis in (down, across))
        grid[row, column] = point.figure if point.found else nan
    image = axes.imshow(grid, origin="lower", aspect="auto", cmap="Blues")
    axes.set_facecolor("0.93")
    axes.set_xticks(range(len(across.values)), [value_on(sweep, across, value) for value in across.numbers])
    axes.set_yticks(range(len(down.values)), [value_on(sweep, down, value) for value in down.numbers])
    axes.set_xlabel(axis_name(sweep, across))
    axes.set_ylabel(axis_name(sweep, down))
    known = grid[np.isfinite(grid)]
    middle = (known.min() + known.max()) / 2 if len(known) else 0.0
    for row, column in np.ndindex(*grid.shape):
        value = float(grid[row, column])
        text = rounded(value, 2) if isfinite(value) else "no plan"
        colour = WARNING if not isfinite(value) else "white" if value > middle else INK
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
    axes.figure.colorbar(image, ax=axes, label=primary)
    axes.set_title(_title(sweep), loc="left", fontsize=11)
    return axes.figure


def _lines(sweep: Sweep, varied: list[SweepAxis], primary: str, on: Any) -> Any:
    """Lines over the longest axis, one for each value of the next, in a chart for each value of the others.

    On axes that are given all lines are in one chart.
    """
    inside, outside = (varied[1:], []) if is_axes(on) else (varied[1:2], varied[2:])
    charts: dict[tuple[float, ...], dict[tuple[float, ...], list[SweepPoint]]] = {}
    for point in sweep.points:
        lines = charts.setdefault(tuple(point.at(axis) for axis in outside), {})
        lines.setdefault(tuple(point.at(axis) for axis in inside), []).append(point)
    title, shown = _title(sweep), list(charts.items())[:_MOST_SMALL]
    if len(shown) < len(charts):
        title += f"\nthe first {len(shown)} of {len(charts)} charts; the table has the others"
    down, across = -(-len(shown) // _SMALL_ACROSS), min(len(shown), _SMALL_ACROSS)
    if len(shown) <= 1:
        places, figure = [one_panel(8.0, 4.6, on)], None
        places[0].set_title(title, loc="left", fontsize=11)
    else:
        figure = new_figure(4.2 * across + 1.5, 3.4 * down + 0.6, on)
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        places = grid.ravel().tolist()
        for unused in places[len(shown) :]:
            unused.set_axis_off()
        figure.suptitle(title, fontsize=11)
    for axes, (where, lines) in zip(places, shown, strict=False):
        tidy(axes)
        axes.set_ylabel(primary)
        if where:
            axes.set_title(_combination(sweep, outside, where), fontsize=9)
        if varied:
            axes.set_xlabel(axis_name(sweep, varied[0]))
            for number, (values, points) in enumerate(lines.items()):
                _line(axes, varied[0], points, _combination(sweep, inside, values), number)
        else:
            axes.text(0.5, 0.5, "nothing varies", transform=axes.transAxes, ha="center")
        axes.label_outer()
    if inside and figure is None:
        # Beside the lines, so that it hides none.
        places[0].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    elif inside and figure is not None:
        figure.legend(*places[0].get_legend_handles_labels(), frameon=False, fontsize=9, loc="outside right")
    return places[0].figure


def _combination(sweep: Sweep, axes: Sequence[SweepAxis], values: Sequence[float]) -> str:
    """Values of some axes, as a text."""
    return ", ".join(
        f"{axis_name(sweep, axis)} {value_on(sweep, axis, value)}"
        for axis, value in zip(axes, values, strict=True)
    )


def _line(axes: Any, along: SweepAxis, points: list[SweepPoint], label: str, number: int) -> None:
    """The plans that were found, with whiskers to the proven bounds."""
    known = [point for point in points if point.found and isfinite(point.at(along))]
    if not known:
        return
    places = [point.at(along) for point in known]
    figures = np.array([point.figure for point in known])
    limits = np.array(
        [point.limit if point.reward_at_most is not None else max(point.limit, 0.0) for point in known]
    )
    proven = [np.maximum(figures - limits, 0.0), np.maximum(limits - figures, 0.0)]
    style: Mapping[str, Any] = {
        "marker": _MARKS[number % len(_MARKS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "markersize": 5,
        "capsize": 3,
    }
    axes.errorbar(places, figures, yerr=proven, label=label or None, **style)
