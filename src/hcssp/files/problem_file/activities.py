"""The models and activities of a problem file, from the document to C-SSPs.

An activity is a model of its own, a grid or a table, or refers to a shared model or to another
activity's; the nearest start and goal on the way to the model count. Or it is a procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hcssp.cssp.alike_tables import AlikeTables
from hcssp.cssp.grid_map import Cell
from hcssp.cssp.model import CSSP
from hcssp.cssp.preprocessing import with_giving_up
from hcssp.cssp.validation import unknown_cost
from hcssp.errors import InvalidProblem, did_you_mean
from hcssp.files.problem_file.capacities import Carried, note_negative
from hcssp.files.problem_file.csv_table import read_csv_table
from hcssp.files.problem_file.drn_table import read_drn_table
from hcssp.files.problem_file.ends import Aim, ends_of, goals_of, starts_of
from hcssp.files.problem_file.format import Activity, Model, Problem
from hcssp.files.problem_file.grids import GridModel, note_violations, read_grid
from hcssp.files.problem_file.model_table import SUFFIXES as MODEL_SUFFIXES
from hcssp.files.problem_file.model_table import read_model_table
from hcssp.files.problem_file.other_numbers import changes_model, with_other_numbers
from hcssp.files.problem_file.source import Limits, Unreadable, find_beside, read_beside
from hcssp.files.problem_file.tables import TableModel, label_text, read_table, state_label
from hcssp.files.problem_file.tree import Field
from hcssp.procedure import HCSSP
from hcssp.procedure.expansion import OTHER_EXIT, cost_names, procedure_exits


@dataclass(frozen=True, eq=False)
class LoadedActivity:
    """An activity as the file describes it.

    Attributes
    ----------
    field
        Where it stands.
    problem
        What is solved.
    room
        The shared model, or the activity, whose model it is.
    exits
        What outcomes may call the ends of the activity, and the labels that are meant.
    position
        Where the room lies on a map of them all; None if that is not said.
    entries
        Where it starts when another activity hands over a label, if not in its state of that label.
    hands_over
        From the labels of goals to what they hand over, if not their own labels.
    """

    field: Field
    problem: CSSP | HCSSP
    room: str
    exits: Mapping[str, tuple[Hashable, ...]]
    position: Cell | None
    entries: Mapping[Hashable, Hashable] | None = None
    hands_over: Mapping[Hashable, Hashable] | None = None

    @property
    def cost_names(self) -> tuple[str, ...]:
        """The costs that constraints can count, after the one to minimise."""
        return cost_names(self.problem)


@dataclass(frozen=True, eq=False)
class _Spec:
    """A model or an activity before references are followed."""

    name: str
    part: Model
    model: GridModel | TableModel | None
    start: list[Aim] | None
    goal: list[Aim] | None
    broken: bool

    @property
    def refers_to(self) -> str | None:
        return self.part.model if isinstance(self.part, Activity) else None

    @property
    def procedure(self) -> str | None:
        """The procedure that an activity is, if it is one."""
        return self.part.procedure if isinstance(self.part, Activity) else None


_Parts = Mapping[str, Activity | None] | None
_Specs = Mapping[str, _Spec | None]
Loaded = dict[str, LoadedActivity]
"""Activities by name."""


@dataclass(frozen=True, eq=False)
class _Followed:
    """Where references lead: the model, the nearest start, goal and price, and the numbers that change it."""

    model: _Spec
    start: list[Aim] | None
    goal: list[Aim] | None
    giving_up: Model
    changes: tuple[Model, ...]

    @classmethod
    def itself(cls, spec: _Spec) -> _Followed:
        changes = (spec.part,) if changes_model(spec.part) else ()
        return cls(spec, spec.start, spec.goal, spec.part, changes)

    def from_(self, spec: _Spec) -> _Followed:
        """The same, from one reference before."""
        return _Followed(
            self.model,
            spec.start or self.start,
            spec.goal or self.goal,
            self.giving_up if spec.part.give_up is None else spec.part,
            (spec.part, *self.changes) if changes_model(spec.part) else self.changes,
        )


class ActivityReader:
    """Makes the activities of one document.

    Parameters
    ----------
    problem
        The document.
    cost_names
        The costs, unless a model names its own.
    folder
        Where tables lie.
    limits
        How large all activities together may be.
    """

    def __init__(self, problem: Problem, cost_names: tuple[str, ...], folder: Path, limits: Limits) -> None:
        self.carried = Carried.read(problem)
        self._cost_names = cost_names
        self._folder = folder
        self._limits = limits
        self._states_left = limits.states
        self._transitions_left = limits.transitions
        self._used_as_goals: dict[TableModel, set[int]] = {}
        self._tables = AlikeTables()
        # Activities that agree in model, start and goal share their arrays.
        self._made: dict[tuple[object, ...], CSSP] = {}
        # Where the references of each model and activity lead; None if to nothing.
        self._ends: dict[_Spec, _Followed | None] = {}
        # Models with other numbers, by the model and the activities that change it.
        self._variants: dict[tuple[int, ...], GridModel | TableModel | None] = {}
        self._models = self._specs(problem.models or {})

    def read(self, activities: _Parts, procedures: Callable[[str, Field], HCSSP | None]) -> Loaded:
        """All activities of a procedure that are sound; what is wrong with the others is noted.

        Parameters
        ----------
        activities
            What the document says about them.
        procedures
            The procedure of that name, for activities that are one; None, and mistakes noted, if it is not
            sound.
        """
        specs = self._specs(activities or {})
        found = {
            name: self._used(spec, procedures) if spec and spec.procedure else self._resolved(spec, specs)
            for name, spec in specs.items()
        }
        return {name: activity for name, activity in found.items() if activity is not None}

    def finish(self) -> None:
        """Note what is wrong with tables, once it is known how all activities end."""
        for table, goals in self._used_as_goals.items():
            for state, note_mistake in table.unlisted.items():
                if state not in goals:
                    note_mistake()

    def _used(self, spec: _Spec, procedures: Callable[[str, Field], HCSSP | None]) -> LoadedActivity | None:
        """An activity that is a procedure."""
        where = spec.part.where("procedure")
        problem = None if spec.broken or spec.procedure is None else procedures(spec.procedure, where)
        if problem is None:
            return None
        transitions = sum(each.cssp.transitions.nnz for each in problem.activities)
        if not self._fits(spec.part.place, problem.flattening.num_states, transitions):
            return None
        exits = {label_text(label): (label,) for label in (*procedure_exits(problem), OTHER_EXIT)}
        return LoadedActivity(spec.part.place, problem, spec.name, exits, _position(spec.part))

    def _specs(self, parts: Mapping[str, Model | None]) -> dict[str, _Spec | None]:
        return {name: None if part is None else self._spec(name, part) for name, part in parts.items()}

    def _spec(self, name: str, part: Model) -> _Spec:
        findings = part.place.findings
        before = len(findings)
        model = self._model(part)
        start, goal = starts_of(part), goals_of(part)
        return _Spec(name, part, model, start, goal, not part.sound or len(findings) > before)

    def _model(self, part: Model) -> GridModel | TableModel | None:
        if sum(kind in part.place for kind in ("grid", "table", "file", "model", "procedure")) != 1:
            return None
        costs = self._cost_names
        if part.costs is not None:
            costs = tuple(name for name in part.costs if name is not None)
        capacities = tuple(name for name in self.carried.names if name not in costs)
        model = self._read_model(part, (*costs, *capacities))
        return None if model is None else replace(model, capacities=capacities)

    def _read_model(self, part: Model, costs: tuple[str, ...]) -> GridModel | TableModel | None:
        note_negative(part, self.carried.names)
        if part.grid is not None:
            return read_grid(part.grid, costs, self._limits)
        if part.table is not None:
            return read_table(part.table, part.where("table"), costs, self._tables)
        if part.file is None:
            return None
        if part.file.lower().endswith(MODEL_SUFFIXES):
            return self._read_model_file(part, part.file, costs)
        if part.constants:
            part.where("constants").wrong("a table has no constants; only models of PRISM and JANI do")
        findings = part.place.findings
        try:
            file, text = read_beside(self._folder, part.file, self._limits, findings)
        except Unreadable as error:
            part.where("file").wrong(str(error))
            return None

        def wrong(line: int, path: str, message: str) -> None:
            findings.add(line, path, message, file)

        most = self._limits.transitions
        if part.file.lower().endswith(".csv"):
            return read_csv_table(text, costs, wrong, most, self.carried.names, part.place.parameters)
        return read_drn_table(text, costs, wrong, most)

    def _read_model_file(self, part: Model, name: str, costs: tuple[str, ...]) -> TableModel | None:
        where = part.where("file")
        try:
            path = find_beside(self._folder, name)
        except Unreadable as error:
            where.wrong(str(error))
            return None
        constants = {name: value for name, value in (part.constants or {}).items() if value is not None}
        return read_model_table(path, costs, constants, where.wrong)

    def _resolved(self, spec: _Spec | None, specs: _Specs) -> LoadedActivity | None:
        """Follow references to the model, and give it the nearest start and goal."""
        if spec is None:
            return None
        followed = self._followed(spec, specs)
        if followed is None:
            return None
        at, start, goal, giving_up = followed.model, followed.start, followed.goal, followed.giving_up
        changes = list(followed.changes)
        model = at.model
        if spec.broken or at.broken or model is None:
            return None
        if changes:
            model = self._changed(at, changes)
            if model is None:
                return None
        missing = {
            "start": start is None and not model.starts,
            "goal": goal is None and not model.ends_by_itself,
        }
        for what in (what for what, is_missing in missing.items() if is_missing):
            spec.part.place.wrong(f"the key {what!r} is missing, here and in the model")
        levels = self.carried.num_levels
        if any(missing.values()) or not self._fits(
            spec.part.place, levels * model.num_states, levels * model.num_transitions
        ):
            return None
        ends = ends_of(model, start, goal)
        if ends is None:
            return None
        if isinstance(model, TableModel):
            self._used_as_goals.setdefault(model, set()).update(ends.goals)
        price = _price(giving_up, model.cost_names)
        priced = None if price is None else tuple(price.items())
        key = (model.identity, tuple(ends.starts.items()), ends.goals, priced)
        try:
            if key not in self._made:
                cssp = model.made(ends.starts, ends.goals)
                if self.carried.capacities:
                    # Where one must give up depends on what is left, and that is not known yet.
                    self.carried.uses[id(cssp)] = model.uses(cssp, self.carried.names), price
                elif price is not None:
                    cssp = with_giving_up(cssp, price)
                self._made[key] = cssp
        except InvalidProblem as error:
            note_violations(error, ends.places, spec.part.place)
            return None
        entries, exits = _entries(spec.part, model, self._made[key]), model.exits(ends.goals)
        handed, position = _hands_over(spec.part, exits), _position(at.part)
        return LoadedActivity(spec.part.place, self._made[key], at.name, exits, position, entries, handed)

    def _followed(self, spec: _Spec, specs: _Specs) -> _Followed | None:
        """Where the references of `spec` lead; None, and the mistake noted, if to nothing or in a circle.

        What lies on the way is followed with it, so that a long chain is walked once and not from every link.
        """
        way: list[_Spec] = []
        at = spec
        while at not in self._ends:
            way.append(at)
            self._ends[at] = None
            if at.refers_to is None or at.broken:
                self._ends[at] = _Followed.itself(at)
                break
            found = self._referred(at, at.refers_to, specs)
            if found is None:
                break
            if found in self._ends and self._ends[found] is None and found in way:
                told = f"the references go in a circle, back to {at.refers_to!r}; end them in a model"
                at.part.where("model").wrong(told)
                break
            at = found
        known = self._ends[at]
        for link in reversed(way):
            if link is not at:
                known = self._ends[link] = None if known is None else known.from_(link)
        return self._ends[spec]

    def _changed(self, spec: _Spec, changes: list[Model]) -> GridModel | TableModel | None:
        """The model of `spec` with the numbers of the activities that refer to it, the nearest first."""
        key = (id(spec), *map(id, changes))
        if key not in self._variants:
            findings = spec.part.place.findings
            before = len(findings)
            changed = with_other_numbers(spec.part, changes)
            model = None if changed is None else self._model(changed)
            self._variants[key] = model if len(findings) == before else None
        return self._variants[key]

    def _referred(self, spec: _Spec, name: str, specs: _Specs) -> _Spec | None:
        """What a reference leads to; None, and the mistake noted, if to nothing."""
        if name in self._models:
            return self._models[name]
        if name not in specs:
            names = [*self._models, *specs]
            told = f"there is no model or activity {name!r}; {did_you_mean(name, names)}"
            spec.part.where("model").wrong(told)
        return specs.get(name)

    def _fits(self, field: Field, num_states: int, num_transitions: int) -> bool:
        self._states_left -= num_states
        self._transitions_left -= num_transitions
        if self._states_left >= 0 and self._transitions_left >= 0:
            return True
        limits = self._limits
        field.wrong(
            f"with this activity the problem has more than the {limits.states:,} states or "
            f"{limits.transitions:,} transitions that are allowed"
        )
        return False


def _entries(part: Model, model: GridModel | TableModel, cssp: CSSP) -> dict[Hashable, Hashable]:
    """Where an activity starts, by the labels that are handed over; what does not exist is noted."""
    found: dict[Hashable, Hashable] = {}
    for text, target in ((part.entries if isinstance(part, Activity) else None) or {}).items():
        where = part.where("entries", text)
        states = [] if target is None else [*model.find(target, where)]
        if len(states) > 1:
            where.wrong(f"{target!r} are {len(states)} states; name one")
        for state in states[:1]:
            found[state_label(text)] = cssp.state_labels[state] if isinstance(state, int) else state
    return found


def _hands_over(part: Model, exits: Mapping[str, tuple[Hashable, ...]]) -> dict[Hashable, Hashable]:
    """What an activity hands over, by the labels of its goals; a goal that does not exist is noted."""
    found: dict[Hashable, Hashable] = {}
    for text, label in ((part.hands_over if isinstance(part, Activity) else None) or {}).items():
        if text not in exits:
            part.where("hands_over", text).wrong(f"there is no goal {text!r}; {did_you_mean(text, [*exits])}")
        elif label is not None:
            found |= dict.fromkeys(exits[text], state_label(label))
    return found


def _position(part: Model) -> Cell | None:
    """Where the part says that its top-left corner lies on a map."""
    return None if part.position is None else (part.position[0], part.position[1])


def _price(part: Model, cost_names: tuple[str, ...]) -> dict[str, float] | None:
    """What giving up costs; None if that is not allowed. Costs that there are not are noted."""
    if part.give_up is None:
        return None
    for name in part.give_up:
        if name not in cost_names:
            part.where("give_up", name).wrong(unknown_cost(name, cost_names))
    return {name: cost or 0.0 for name, cost in part.give_up.items() if name in cost_names}
