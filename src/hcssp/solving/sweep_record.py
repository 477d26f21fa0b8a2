"""What a sweep has found: its points, and the points as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Problem
from hcssp.contract.proof import Status
from hcssp.cssp.reward import reward_gap
from hcssp.frames import frame
from hcssp.numerics import relative_gap
from hcssp.solving.sweep_grid import SweepAxis

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class SweepPoint:
    """What is known at one combination.

    Attributes
    ----------
    settings, bounds
        The parameters and the bounds that were varied.
    status, lower_bound, upper_bound
        What is proven about the best deterministic plan. With the status ``claimed``, everything here is
        what a results file says, and nothing of it was checked.
    costs
        The exact expected costs of the plan that was found, by name; empty if none was.
    prices
        What a unit of each constraint is worth, where that is known.
    randomised
        No plan costs less, not even one that draws lots; None if that is unknown.
    reason
        Why the search ended.
    message
        Why there is no plan; empty if there is one.
    iterations, seconds, cpu_seconds
        What the search took.
    reward, reward_at_most
        Of a problem that maximises: the plan's expected reward, and what no plan exceeds.
    """

    settings: Mapping[str, float]
    bounds: Mapping[str, float]
    status: Status
    lower_bound: float
    upper_bound: float
    costs: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)
    randomised: float | None = None
    reason: str = ""
    message: str = ""
    iterations: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    reward: float | None = None
    reward_at_most: float | None = None

    @property
    def figure(self) -> float:
        """What the plan is judged by: its expected reward where one is maximised, else its primary cost."""
        return self.upper_bound if self.reward is None else self.reward

    @property
    def limit(self) -> float:
        """What no plan betters: a lower bound on the cost, an upper bound on the reward."""
        return self.lower_bound if self.reward_at_most is None else self.reward_at_most

    @property
    def gap(self) -> float:
        """The proven relative gap, ``inf`` while either bound is unknown."""
        if self.reward is not None and self.reward_at_most is not None:
            return reward_gap(self.reward, self.reward_at_most, self.reward_at_most + self.lower_bound)
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def found(self) -> bool:
        """Whether there is a plan."""
        return bool(self.costs)

    def at(self, axis: SweepAxis) -> float:
        """Where it lies on an axis."""
        return (self.bounds if axis.is_bound else self.settings)[axis.name]

    @property
    def is_claimed(self) -> bool:
        """Whether the point was taken from a results file, and nothing of it was checked."""
        return self.status is Status.CLAIMED

    def is_done(self, gap: float) -> bool:
        """Whether nothing is left to do for someone who asks for this gap."""
        return self.status is Status.INFEASIBLE or self.gap <= gap or self.reason == Reason.PROVED


@dataclass(frozen=True)
class Sweep:
    """The best plans over a grid of parameters and bounds.

    Attributes
    ----------
    problem
        What the problem is called.
    primary, constraints
        The cost that is minimised, and the names of the constraints.
    called
        What costs and constraints are called for people, with their units.
    axes
        What was varied; bounds come last.
    points
        In the order of the axes, the last of which varies fastest. Fewer than combinations if interrupted.
    seconds
        How long it took, from beginning to end.
    reward
        The reward that is maximised; None if the primary cost is minimised.
    probabilities
        The constraints that bound probabilities.
    """

    problem: str
    primary: str
    constraints: tuple[str, ...]
    called: Mapping[str, str] = field(repr=False)
    axes: tuple[SweepAxis, ...]
    points: tuple[SweepPoint, ...] = field(repr=False)
    seconds: float = 0.0
    reward: str | None = None
    probabilities: tuple[str, ...] = ()

    @property
    def judged(self) -> str:
        """What plans are judged by, for people: the reward that is maximised, or the primary cost."""
        return self.called.get(self.primary, self.primary) if self.reward is None else self.reward

    def columns(self) -> dict[str, list[object]]:
        """The points as columns of equal length, for tables of any kind."""
        points = self.points
        columns: dict[str, list[object]] = {}
        for axis in self.axes:
            kind = "bound" if axis.is_bound else "set"
            columns[f"{kind}_{axis.name}"] = [point.at(axis) for point in points]
        columns["status"] = [point.status.value for point in points]
        for name in ("lower_bound", "upper_bound", "gap", "randomised"):
            columns[name] = [getattr(point, name) for point in points]
        if self.reward is not None:
            for name in ("reward", "reward_at_most"):
                columns[name] = [getattr(point, name) for point in points]
        for name in (self.primary, *self.constraints):
            columns[f"expected_{name}"] = [point.costs.get(name) for point in points]
        for name in self.constraints:
            columns[f"price_{name}"] = [point.prices.get(name) for point in points]
        for name in ("reason", "iterations", "seconds", "cpu_seconds"):
            columns[name] = [getattr(point, name) for point in points]
        return columns

    def to_frame(self) -> DataFrame:
        """The points as a ``pandas.DataFrame``.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        return frame(self.columns())

    def report(self, path: str | Path) -> None:
        """Write one page of HTML with a slider for every axis; see :mod:`hcssp.reports.sweep_page`."""
        from hcssp.reports.sweep_page import save_sweep_page

        save_sweep_page(self, path)

    def plot(self, path: str | Path) -> None:
        """Draw lines, or a heat map if two things vary; see :mod:`hcssp.reports.sweep_picture`."""
        from hcssp.reports.sweep_picture import save_sweep_picture

        save_sweep_picture(self, path)


class KnownPoints(Protocol):
    """Points that an earlier run has found, such as :class:`hcssp.files.sweep_file.SweepFile`."""

    def key(self, problem: Problem) -> str:
        """What tells a problem from others, its bounds included."""

    def find(self, key: str) -> SweepPoint | None:
        """What is known about the problem of that key."""

    def add(self, key: str, point: SweepPoint) -> None:
        """Keep what was found."""
