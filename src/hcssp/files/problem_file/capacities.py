"""The capacities of a problem file: what no run may use more of than there is.

They are named where costs are. What is less than 0 is given back, which costs cannot be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from hcssp.cssp.levels import Capacity, Uses
from hcssp.cssp.model import FloatArray
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.format import Model, Problem
from hcssp.files.problem_file.grid_format import COST, DrawnGrid, ListedGrid
from hcssp.files.problem_file.tree import Field
from hcssp.procedure import HCSSP
from hcssp.procedure.capacities import with_uses


@dataclass(frozen=True, eq=False)
class Carried:
    """What the capacities of a document are, and what its activities use of them.

    Attributes
    ----------
    capacities
        What there is.
    uses
        By the identity of what is solved: how much of each capacity its rows use, and what giving up costs.
    """

    capacities: tuple[Capacity, ...] = ()
    uses: dict[int, tuple[Uses | FloatArray, Mapping[str, float] | None]] = field(default_factory=dict)

    @classmethod
    def read(cls, problem: Problem) -> Carried:
        """The capacities that a document names."""
        named = (problem.capacities or {}).items()
        return cls(
            tuple(
                Capacity(name, part.at_most, part.step, part.probability)
                for name, part in named
                if part is not None and part.at_most is not None
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(capacity.name for capacity in self.capacities)

    @property
    def num_levels(self) -> int:
        """How many states there are for every state of an activity."""
        return prod(capacity.num_levels for capacity in self.capacities)

    def over(self, problem: HCSSP, document: Field) -> HCSSP | None:
        """The problem with its capacities; None, and the mistakes noted, if it cannot have them."""
        if not self.capacities:
            return problem
        used: dict[str, Uses | FloatArray] = {}
        prices: dict[str, Mapping[str, float]] = {}
        for activity in problem.activities:
            if id(activity.cssp) in self.uses:
                used[activity.name], price = self.uses[id(activity.cssp)]
                if price is not None:
                    prices[activity.name] = price
            else:
                # What an activity of another file uses are its costs of these names.
                used[activity.name] = Uses.of_costs(activity.cssp, self.names)
        try:
            return with_uses(problem, self.capacities, used, prices)
        except InvalidProblem as error:
            for violation in error.violations:
                document.at("capacities").wrong(violation)
            return None


def note_negative(part: Model, capacities: Collection[str]) -> None:
    """Note the costs of a grid or a table that are less than 0 and no capacities."""
    for where, costs in _costs(part):
        for name, cost in costs.items():
            negative = isinstance(cost, float) and cost < 0.0
            if negative and name not in capacities:
                where.at(name).expected(COST.what, "; only a capacity can be given back")


def _costs(part: Model) -> Iterator[tuple[Field, Mapping[str, object]]]:
    """All costs of a grid or a table, and where they stand."""
    for actions in (part.table or {}).values():
        for action in (actions or {}).values():
            if action is not None and action.costs:
                yield action.where("costs"), action.costs
            if action is not None:
                for reached, extra in (action.arrival_costs or {}).items():
                    yield action.where("arrival_costs", reached), extra or {}
    grid = part.grid
    if grid is not None and isinstance(grid.step_cost, dict):
        yield grid.where("step_cost"), grid.step_cost
    if isinstance(grid, DrawnGrid):
        for letter, costs in (grid.hazards or {}).items():
            yield grid.where("hazards", letter), costs or {}
    elif isinstance(grid, ListedGrid):
        for area in grid.hazards or ():
            if area is not None and area.costs:
                yield area.where("costs"), area.costs
