"""The models and activities of a problem file, from the document to C-SSPs.

An activity is a model of its own, a grid or a table, or refers to a shared model or to another
activity's; the nearest start and goal on the way to the model count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hcssp.cssp.grid import GridWorld
from hcssp.cssp.grid_map import Cell
from hcssp.cssp.model import CSSP
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem, did_you_mean
from hcssp.files.problems.csv_table import read_csv_table
from hcssp.files.problems.drn_table import read_drn_table
from hcssp.files.problems.folder import Folder
from hcssp.files.problems.grid import GridModel, read_grid
from hcssp.files.problems.inline_table import read_inline_table
from hcssp.files.problems.table import TableModel
from hcssp.files.problems.targets import Aim, read_goal, read_start
from hcssp.files.reading.fields import Field
from hcssp.files.reading.limits import Limits

Place = TypeVar("Place", bound=Hashable)

_KINDS = ("grid", "table", "file")
_ENDS = ("start", "goal", "description")
_TABLES = {".csv": read_csv_table, ".drn": read_drn_table}


@dataclass(frozen=True, eq=False)
class LoadedActivity:
    """An activity as the file describes it.

    Attributes
    ----------
    field
        Where it stands.
    cssp
        What is solved.
    world
        The grid, for pictures; None if it is a table.
    room
        The shared model, or the activity, whose model it is.
    """

    field: Field
    cssp: CSSP
    world: GridWorld | None
    room: str


@dataclass(frozen=True, eq=False)
class _Spec:
    """A model or an activity before references are followed."""

    name: str
    field: Field
    model: GridModel | TableModel | None
    refers_to: Field | None
    start: list[Aim] | None
    goal: list[Aim] | None
    broken: bool


class Models:
    """Reads the models and activities of one document.

    Parameters
    ----------
    cost_names
        The costs, unless a model names its own.
    folder
        Where tables lie.
    limits
        How large all activities together may be.
    """

    def __init__(self, cost_names: tuple[str, ...], folder: Folder, limits: Limits) -> None:
        self.positions: dict[str, Cell] = {}
        self._cost_names = cost_names
        self._folder = folder
        self._limits = limits
        self._shared: dict[str, _Spec] = {}
        self._states_left = limits.states
        self._transitions_left = limits.transitions
        self._used_as_goals: dict[TableModel, set[int]] = {}
        # Activities that agree in model, start and goal share their arrays.
        self._made: dict[tuple[object, ...], tuple[CSSP, GridWorld | None]] = {}

    def read(self, models: Field | None, activities: Field) -> dict[str, LoadedActivity]:
        """All activities that are sound; what is wrong with the others is noted."""
        for name, field in (models.members("a mapping from names to models") or {} if models else {}).items():
            self._shared[name] = self._spec(name, field, is_activity=False)
        members = activities.members("a mapping from names to activities") or {}
        specs = {name: self._spec(name, field, is_activity=True) for name, field in members.items()}
        loaded = {}
        for name, spec in specs.items():
            activity = self._resolved(spec, specs)
            if activity is not None:
                loaded[name] = activity
        for table, goals in self._used_as_goals.items():
            for state, mistake in table.unlisted.items():
                if state not in goals:
                    mistake()
        return loaded

    def _spec(self, name: str, field: Field, *, is_activity: bool) -> _Spec:
        kinds = (*_KINDS, "model") if is_activity else _KINDS
        before = len(field.findings)
        what = "an activity" if is_activity else "a model"
        parts = field.entries(what, (), (*kinds, "costs", "position", *_ENDS)) or {}
        given = [kind for kind in kinds if kind in parts]
        if field.is_mapping and len(given) != 1:
            told = f"{' and '.join(given)} are given" if given else "its model is missing"
            field.wrong(f"{told}; give one of {', '.join(kinds)}")
        if "description" in parts:
            parts["description"].text()
        model: GridModel | TableModel | None = None
        refers_to = None
        if given == ["model"]:
            refers_to = parts["model"]
            for key in ("costs", "position"):
                if key in parts:
                    parts[key].wrong(f"the {key} belongs to the model that is referred to; say it there")
        elif len(given) == 1:
            costs = read_cost_names(parts["costs"]) if "costs" in parts else self._cost_names
            if costs is not None:
                model = self._model(given[0], parts[given[0]], costs)
            if "position" in parts:
                self._position(name, parts["position"], given[0])
        start = read_start(parts["start"]) if "start" in parts else None
        goal = read_goal(parts["goal"]) if "goal" in parts else None
        return _Spec(name, field, model, refers_to, start, goal, broken=len(field.findings) > before)

    def _model(self, kind: str, field: Field, costs: tuple[str, ...]) -> GridModel | TableModel | None:
        if kind == "grid":
            return read_grid(field, costs, self._limits)
        if kind == "table":
            return read_inline_table(field, costs)
        name = field.text("the name of a CSV or DRN file")
        if name is None:
            return None
        suffix = name[name.rfind(".") :].lower() if "." in name else ""
        if suffix not in _TABLES:
            field.wrong(f"{name!r} is not a table that can be read; its name must end in .csv or .drn")
            return None
        opened = self._folder.read(field, name)
        if opened is None:
            return None
        file, text = opened

        def wrong(line: int, path: str, message: str) -> None:
            field.findings.add(line, path, message, file)

        return _TABLES[suffix](text, costs, wrong, self._limits.transitions)

    def _position(self, name: str, field: Field, kind: str) -> None:
        if kind != "grid":
            field.wrong("only a grid has a position on a map")
            return
        items = field.items("a position [column, row]") or []
        numbers = [item.whole("a whole number", -(10**6), 10**6) for item in items]
        if field.is_list and len(items) != 2:
            field.wrong(f"a list of {len(items)} is not a position [column, row]")
        elif len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
            self.positions[name] = (numbers[0], numbers[1])

    def _resolved(self, spec: _Spec, activities: Mapping[str, _Spec]) -> LoadedActivity | None:
        """Follow references to the model, and give it the nearest start and goal."""
        start, goal, at, met = spec.start, spec.goal, spec, {id(spec)}
        while at.refers_to is not None and not at.broken:
            referred = at.refers_to.name("the name of a model or an activity")
            if referred is None:
                return None
            found = self._shared.get(referred) or activities.get(referred)
            if found is None:
                known = [*self._shared, *activities]
                at.refers_to.wrong(
                    f"there is no model or activity {referred!r}; {did_you_mean(referred, known)}"
                )
                return None
            if id(found) in met:
                at.refers_to.wrong(
                    f"the references go in a circle, back to {referred!r}; end them in a model"
                )
                return None
            met.add(id(found))
            at = found
            start, goal = start or at.start, goal or at.goal
        if spec.broken or at.broken or at.model is None:
            return None
        model = at.model
        if (start is None and not model.starts) or (goal is None and not model.goals):
            for what, given, drawn in (("start", start, model.starts), ("goal", goal, model.goals)):
                if given is None and not drawn:
                    spec.field.wrong(f"the key {what!r} is missing, here and in the model")
            return None
        if not self._fits(spec.field, model):
            return None
        try:
            if isinstance(model, GridModel):
                made = self._grid(model, start, goal)
            else:
                made = self._table(model, start, goal)
        except InvalidProblem as error:
            for violation in error.violations:
                spec.field.wrong(violation)
            return None
        return None if made is None else LoadedActivity(spec.field, *made, at.name)

    def _fits(self, field: Field, model: GridModel | TableModel) -> bool:
        self._states_left -= model.num_states
        self._transitions_left -= model.num_transitions
        if self._states_left >= 0 and self._transitions_left >= 0:
            return True
        limits = self._limits
        field.wrong(
            f"with this activity the problem has more than the {limits.states:,} states or "
            f"{limits.transitions:,} transitions that are allowed"
        )
        return False

    def _grid(
        self, model: GridModel, start: list[Aim] | None, goal: list[Aim] | None
    ) -> tuple[CSSP, GridWorld | None] | None:
        aims = _resolve(model.cells, model.starts, model.goals, start, goal)
        if aims is None:
            return None
        starts, goals = aims
        key = (id(model), tuple(starts.items()), goals)
        if key not in self._made:
            world = model.world(starts, goals)
            self._made[key] = (world.to_cssp(), world)
        return self._made[key]

    def _table(
        self, model: TableModel, start: list[Aim] | None, goal: list[Aim] | None
    ) -> tuple[CSSP, GridWorld | None] | None:
        aims = _resolve(model.states, model.starts, model.goals, start, goal)
        if aims is None:
            return None
        starts, goals = aims
        self._used_as_goals.setdefault(model, set()).update(goals)
        key = (id(model), tuple(starts.items()), goals)
        if key not in self._made:
            self._made[key] = (validated(model.cssp(starts, goals)), None)
        return self._made[key]


def _resolve(
    places_of: Callable[[Aim], Sequence[Place]],
    drawn_starts: Collection[Place],
    drawn_goals: tuple[Place, ...],
    start: list[Aim] | None,
    goal: list[Aim] | None,
) -> tuple[dict[Place, float], tuple[Place, ...]] | None:
    """Where an activity starts, with what probability, and its goals; those of the model where none is said.

    None if an aim names no place; `places_of` has said so.
    """
    starts: dict[Place, float] = {}
    if start is None:
        starts = dict.fromkeys(drawn_starts, 1.0 / len(drawn_starts))
    for aim in start or ():
        places = places_of(aim)
        if not places:
            return None
        for place in places:
            starts[place] = starts.get(place, 0.0) + aim.probability / len(places)
    if goal is None:
        return starts, drawn_goals
    found = [places_of(aim) for aim in goal]
    if not all(found):
        return None
    return starts, tuple(dict.fromkeys(place for places in found for place in places))


def read_cost_names(field: Field) -> tuple[str, ...] | None:
    """The names of costs, the primary first."""
    items = field.items("a list of costs, the one to minimise first")
    if items is None:
        return None
    if not items:
        field.wrong("the list of costs is empty; name at least the one to minimise")
        return None
    names = [item.name("the name of a cost") for item in items]
    known = [name for name in names if name is not None]
    for position, name in enumerate(known):
        if name in known[:position]:
            items[position].wrong(f"the cost {name!r} is named twice")
    return tuple(known) if len(set(known)) == len(items) else None
