"""Writing a problem as a problem file; loading it gives the same problem, number by number.

Activities whose grids are known are written as grids, and grids that agree in everything but start and
goal only once; all others are written as tables. Procedures that run inside others are written once, too.
What a file cannot say is refused: states whose names become the same when written as texts.

A document as a text that people like to read: short things on one line, long things below each other.

Floats are written with the fewest digits that give the same float again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Literal

import numpy as np

from hcssp.cssp.grid import DIRECTIONS, Cell, GridWorld, PlacedGrid
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.product import Capacity, Uses
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.document import Limits, quoted, resolved
from hcssp.files.problem_file.format import FORMAT, VERSION
from hcssp.files.problem_file.schema import name_problem
from hcssp.files.problem_file.tables import label_text, state_label
from hcssp.procedure import HCSSP, Activity, Outcome
from hcssp.procedure.description import used_procedures
from hcssp.procedure.model import Floor, refuse_parts
from hcssp.procedure.nesting import expand
from hcssp.procedure.product import CapacityModel, capacity_model

WIDTH = 100


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. ")


# What YAML 1.1, which other tools read, takes for something else than a text.
_MISREAD = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


class Line(dict[str, Any]):
    """A mapping that is written on one line, if it fits there."""


def to_json(document: Mapping[str, Any]) -> str:
    """The document as JSON."""
    return _json(document, "") + "\n"


def to_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML, with an empty line between its parts."""
    parts: list[str] = []
    for key, value in document.items():
        lines = yaml_entry(key, value, "")
        parts.append(("\n" if len(lines) > 1 and parts else "") + "\n".join(lines))
    return "\n".join(parts) + "\n"


def yaml_entry(key: str, value: Any, indent: str) -> list[str]:
    """The lines of a key with its value."""
    head, inner = f"{indent}{yaml_text(key)}:", indent + "  "
    if isinstance(value, str) and "\n" in value.strip("\n") and value.isascii():
        body = value.strip("\n").split("\n")
        if all(line.strip() and line == line.rstrip() and not line.startswith(" ") for line in body):
            return [f"{head} |", *(inner + line for line in body)]
    flow = f"{head} {on_one_line(value, yaml_text)}"
    if not _is_block(value) and (len(flow) <= WIDTH or not isinstance(value, Mapping | list | tuple)):
        return [flow]
    if isinstance(value, Mapping):
        return [head, *(line for each in value.items() for line in yaml_entry(*each, inner))]
    return [head, *(f"{inner}- {on_one_line(item, yaml_text)}" for item in value)]


def _json(value: Any, indent: str) -> str:
    flow, inner = on_one_line(value, json.dumps), indent + "  "
    fits = len(flow) + len(inner) + 20 <= WIDTH
    if not isinstance(value, Mapping | list | tuple) or (fits and not _is_block(value)):
        return flow
    if isinstance(value, Mapping):
        held = [f"{json.dumps(key)}: {_json(each, inner)}" for key, each in value.items()]
    else:
        held = [_json(each, inner) for each in value]
    begin, end = "{}" if isinstance(value, Mapping) else "[]"
    return begin + ",".join(f"\n{inner}{each}" for each in held) + f"\n{indent}{end}"


def _is_block(value: Any) -> bool:
    """Whether a value has lines of its own, even if it is short."""
    if isinstance(value, Mapping):
        return bool(value) and not isinstance(value, Line)
    return isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value)


def on_one_line(value: Any, text: Callable[[str], str]) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text(key)}: {on_one_line(each, text)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(on_one_line(each, text) for each in value) + "]"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if value == inf:
        # JSON knows no infinity.
        return '"inf"' if text is json.dumps else ".inf"
    number = float(value)
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    # Tools that read YAML 1.1 take 1e-05 for a text, but not 1.0e-05.
    written = repr(number)
    return written if "." in written else written.replace("e", ".0e")


def yaml_text(text: str) -> str:
    """A text as YAML: without quotes if it can mean nothing else."""
    bare = set(text) <= _PLAIN and text[:1].isalpha() and not text.endswith((" ", "."))
    if bare and text.lower() not in _MISREAD and isinstance(resolved(text), str):
        return text
    return quoted(text)


_HEADER = "# A problem file of hcssp; docs/file-format.md explains it. Solve it with: hcssp solve FILE\n"


def dump_problem(problem: CSSP | HCSSP, *, style: Literal["yaml", "json"] = "yaml") -> str:
    """The text of a problem file.

    Parameters
    ----------
    problem
        What to write, with its name, its rooms and their places; a single problem is written as a procedure.
    style
        YAML, which is made for people, or JSON.

    Raises
    ------
    InvalidProblem
        If something has a name that a file cannot hold.
    """
    procedure = problem.procedure
    refuse_parts(procedure)
    return written(problem_document(procedure), style)


def written(document: Mapping[str, Any], style: Literal["yaml", "json"] = "yaml") -> str:
    """The text of a document.

    Raises
    ------
    InvalidProblem
        If it is too large to be read again.
    """
    limits = Limits()
    count = _num_values(document)
    if count > limits.nodes:
        raise _too_large(f"{count:,} values", f"{limits.nodes:,}")
    text = to_json(document) if style == "json" else _HEADER + to_yaml(document)
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.document_bytes:
        raise _too_large(f"{size / 2**20:.1f} MiB", f"{limits.document_bytes / 2**20:g} MiB")
    return text


def _too_large(size: str, most: str) -> InvalidProblem:
    message = f"the problem file would have {size}, and at most {most} are read; save the plan instead"
    return InvalidProblem([message])


def _num_values(node: object) -> int:
    if isinstance(node, Mapping):
        return 1 + sum(map(_num_values, node.values()))
    return 1 + sum(map(_num_values, node)) if isinstance(node, list | tuple) else 1


def problem_document(problem: HCSSP) -> dict[str, Any]:
    """What a problem file says, before it is a text.

    Raises
    ------
    InvalidProblem
        If something has a name that a file cannot hold.
    """
    if problem.reward is not None and problem.nesting is not None:
        raise InvalidProblem(
            "a file cannot hold procedures inside procedures whose reward was maximised already; write "
            f"the original, and say maximise: {problem.reward.name} in the file"
        )
    model, drawing, per_event = _writable_model(problem), problem.drawing, problem.choices_per_event
    if model is not None:
        # Procedures that run inside are written out, as they are where levels are carried.
        problem = model.problem.derive(reward=problem.reward, nesting=None)
    used = [procedure for procedure, _ in used_procedures(problem)]
    for each in (problem, *used):
        _check_names(each.outline)
        _check_limits(each)
    writer = _Writer(problem, used, model)
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if problem.name:
        document["name"] = problem.name
    if problem.description:
        document["description"] = problem.description
    document["costs"] = writer.cost_names
    if problem.units:
        document["units"] = Line(problem.units)
    if model is not None:
        document["capacities"] = {each.name: _capacity(each) for each in model.capacities}
    procedures = {name: writer.level(procedure) for procedure, name in writer.procedures()}
    whole = writer.level(problem)
    if per_event:
        whole["procedure"]["choices"] = "per event"
    if writer.models:
        document["models"] = writer.models
    if procedures:
        document["procedures"] = procedures
    document.update(whole)
    if drawing:
        document["drawing"] = {level: _floor(floor) for level, floor in drawing.items()}
    return document


def _floor(floor: Floor) -> dict[str, Any]:
    named = {key: getattr(floor, key) for key in ("doors", "lifts", "places", "paths")}
    written = {
        key: {name: list(line) for name, line in lines.items()} for key, lines in named.items() if lines
    }
    return {"walls": [list(line) for line in floor.walls], **written} if floor.walls else written


def _writable_model(problem: HCSSP) -> CapacityModel | None:
    """The problem without the levels of its capacities; None if it has none, or a file cannot hold them."""
    model = capacity_model(problem)
    if model is None or model.give_up_to or problem.reward is not None:
        return None
    for activity in model.problem.activities:
        names = activity.cssp.cost_names
        uses = model.uses[activity.name]
        for number, capacity in enumerate(model.capacities):
            if capacity.name not in names:
                continue
            # What has one name is one number in a file: as a cost, what is given back does not count.
            cost, pairs = names.index(capacity.name), [(activity.cssp.costs, uses.rows[number])]
            if uses.transitions is not None:
                paid = uses.transitions.costs
                pairs.append((paid, paid[len(names) + number]))
            if not all(np.array_equal(costs[cost], np.maximum(used, 0.0)) for costs, used in pairs):
                return None
    return model


def _capacity(capacity: Capacity) -> Line:
    written = Line(at_most=float(capacity.at_most))
    defaults = {"step": 1.0, "probability": 0.0, "used": 0.0}
    written.update({k: getattr(capacity, k) for k, v in defaults.items() if getattr(capacity, k) != v})
    return written


class _Writer:
    """Writes activities, and remembers which models have been written."""

    def __init__(self, problem: HCSSP, used: Sequence[HCSSP], model: CapacityModel | None) -> None:
        self.models: dict[str, Any] = {}
        self._capacities = model
        named = [activity.cssp.cost_names for activity in problem.activities]
        # What most activities agree on is said once.
        self.cost_names = list(Counter(named).most_common(1)[0][0]) if named else ["cost"]
        self._used = used
        names = unique([procedure.name or "procedure" for procedure in used])
        self._procedure_names = {id(each): name for each, name in zip(used, names, strict=True)}
        levels = Counter(
            cssp for level in (problem, *used) for cssp in {id(each.cssp) for each in own_activities(level)}
        )
        self._shared = {cssp for cssp, count in levels.items() if count > 1}
        self._positions: Mapping[str, Cell] = {}
        self._written: dict[object, str] = {}
        self._written_here: dict[object, str] = {}

    def procedures(self) -> Iterator[tuple[HCSSP, str]]:
        """The procedures that are used, with their names in the file."""
        for procedure in self._used:
            yield procedure, self._procedure_names[id(procedure)]

    def level(self, problem: HCSSP) -> dict[str, Any]:
        """The activities, the procedure and the constraints, without what is inside of procedures."""
        outline = problem.outline
        self._positions = outline.positions
        self._written_here = {}
        uses = {} if problem.nesting is None else problem.nesting.procedures
        document: dict[str, Any] = {
            "activities": {
                activity.name: self._use(activity, uses[index]) if index in uses else self.activity(activity)
                for index, activity in enumerate(outline.activities)
            },
            "procedure": _procedure(outline),
        }
        inner = id(problem) in self._procedure_names
        if problem.description and inner:
            document["description"] = problem.description
        if outline.constraints or inner:
            document["constraints"] = _constraints(outline)
        return document

    def _use(self, activity: Activity, procedure: HCSSP) -> dict[str, Any]:
        position = self._positions.get(activity.room)
        at = {} if position is None else {"position": list(position)}
        return Line(procedure=self._procedure_names[id(procedure)], **at)

    def activity(self, activity: Activity) -> dict[str, Any]:
        world = activity.cssp.world
        labels = {"entries": activity.entries, "hands_over": activity.hands_over}
        entries = {
            key: Line({label_text(label): label_text(other) for label, other in given.items()})
            for key, given in labels.items()
            if given
        }
        if world is None or isinstance(world, PlacedGrid) or not self._uses_are_of(world, activity):
            written = self._table(activity)
            return type(written)({**written, **entries})
        ends = {"start": _start(world.starts, list), "goal": _goal(world.goals), **entries}
        room = activity.room
        model = {**self._grid(room, world, activity.cssp.cost_names), **self._give_up(activity)}
        key = (room if room != activity.name else None, repr(model))
        known = self._written.get(key) or self._written_here.get(key)
        if known is not None:
            return Line(model=known, **ends)
        if (room != activity.name or id(activity.cssp) in self._shared) and room not in self.models:
            self.models[room] = model
            self._written[key] = room
            return Line(model=room, **ends)
        # A room of its own, or one that differs from the room of that name.
        self._written_here[key] = activity.name
        return {**model, **ends}

    def _uses_are_of(self, world: GridWorld, activity: Activity) -> bool:
        """Whether the steps of a grid use of each capacity what its cells say."""
        if self._capacities is None:
            return True
        labels = activity.cssp.state_labels
        cells = [labels[state] for state in np.flatnonzero(~activity.cssp.goals).tolist()]
        columns, rows = np.array(cells, dtype=np.int64).reshape(-1, 2).T
        uses = zip(self._capacities.capacities, self._capacities.uses[activity.name].rows, strict=True)
        return all(
            np.array_equal(np.repeat(world.cell_costs(each.name)[rows, columns], len(DIRECTIONS)), used)
            for each, used in uses
        )

    def _give_up(self, activity: Activity) -> dict[str, Any]:
        """What giving up costs; only where levels are carried is it no action yet."""
        price = None if self._capacities is None else self._capacities.give_up.get(activity.name)
        return {} if price is None else {"give_up": Line(price)}

    def _grid(self, room: str, world: GridWorld, cost_names: Sequence[str]) -> dict[str, Any]:
        grid: dict[str, Any] = {"width": world.width, "height": world.height}
        if world.walls:
            grid["walls"] = [list(wall) for wall in world.walls]
        hazards: list[Line] = []
        for hazard in world.hazards:
            area = Line(at=[list(hazard.rectangle)], costs=Line(hazard.costs))
            if hazard.exits:
                area["exit"] = Line(hazard.exits)
            if hazards and {**hazards[-1], "at": []} == {**area, "at": []}:
                hazards[-1]["at"] += area["at"]
            else:
                hazards.append(area)
        for each in hazards:
            if len(each["at"]) == 1:
                (each["at"],) = each["at"]
        if hazards:
            grid["hazards"] = hazards
        grid.update(_slip(world.slip))
        if isinstance(world.step_cost, Mapping):
            grid["step_cost"] = Line(world.step_cost)
        elif world.step_cost != 1.0:
            grid["step_cost"] = world.step_cost
        if world.exits:
            grid["exit"] = Line(world.exits)
        model: dict[str, Any] = {"grid": grid, **self._costs(cost_names)}
        position = self._positions.get(room)
        if position is not None:
            model["position"] = list(position)
        return model

    def _table(self, activity: Activity) -> dict[str, Any]:
        cssp = activity.cssp
        uses = None if self._capacities is None else self._capacities.uses[activity.name]
        model = None if uses is None else {**self._table_model(cssp, uses), **self._give_up(activity)}
        key = id(cssp) if model is None else (id(cssp), repr(model))
        known = self._written.get(key) or self._written_here.get(key)
        if known is not None:
            return Line(model=known)
        model = self._table_model(cssp, uses) if model is None else model
        if id(cssp) in self._shared and activity.room not in self.models:
            self.models[activity.room] = model
            self._written[key] = activity.room
            return Line(model=activity.room)
        self._written_here[key] = activity.name
        return model

    def _table_model(self, cssp: CSSP, uses: Uses | None) -> dict[str, Any]:
        used, paid = dict[str, FloatArray](), cssp.transition_costs
        if uses is not None and self._capacities is not None:
            names = [each.name for each in self._capacities.capacities]
            used, paid = dict(zip(names, uses.rows, strict=True)), uses.transitions
        texts = [label_text(label) for label in cssp.state_labels]
        starts = {texts[state]: float(cssp.initial[state]) for state in np.flatnonzero(cssp.initial).tolist()}
        goals = [texts[state] for state in np.flatnonzero(cssp.goals).tolist()]
        return {
            "table": _rows(cssp, texts, used, paid),
            **self._costs(cssp.cost_names),
            "start": _start(starts, str),
            "goal": goals[0] if len(goals) == 1 else goals,
        }

    def _costs(self, names: Sequence[str]) -> dict[str, Any]:
        return {} if list(names) == self.cost_names else {"costs": list(names)}


def unique(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that have been there before."""
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}-{number}"
        found.append(candidate)
    return found


def own_activities(problem: HCSSP) -> Iterator[Activity]:
    """The activities of a procedure that are no procedures themselves."""
    uses = {} if problem.nesting is None else problem.nesting.procedures
    return (activity for index, activity in enumerate(problem.outline.activities) if index not in uses)


def _rows(cssp: CSSP, texts: list[str], used: Mapping[str, FloatArray], paid: TransitionCosts | None) -> Any:
    """The table of a problem; what is used of a capacity takes the place of a cost of that name."""
    table: dict[str, Any] = {text: {} for text in texts}
    indptr, indices, data = (
        part.tolist() for part in (cssp.transitions.indptr, cssp.transitions.indices, cssp.transitions.data)
    )
    named = dict(zip(cssp.cost_names, cssp.costs, strict=True)) | dict(used)
    costs = np.array(list(named.values())).T.tolist()
    on_arrival = _arrival_costs((*cssp.cost_names, *used), paid)
    for row, state in enumerate(cssp.row_state.tolist()):
        entries = range(indptr[row], indptr[row + 1])
        to = Line({texts[indices[entry]]: data[entry] for entry in entries})
        arrivals = on_arrival.get(row, {})
        differing = {name for extra in arrivals.values() for name in extra}
        own = zip(named, costs[row], strict=True)
        paid_here = Line({name: cost for name, cost in own if cost and name not in differing})
        action = Line(
            to=next(iter(to)) if list(to.values()) == [1.0] else to,
            **({"costs": paid_here} if paid_here else {}),
            **(
                {"arrival_costs": Line({texts[s]: extra for s, extra in arrivals.items()})}
                if arrivals
                else {}
            ),
        )
        table[texts[state]][label_text(cssp.action_labels[row])] = action
    return table


def _arrival_costs(names: Sequence[str], paid: TransitionCosts | None) -> dict[int, dict[int, Line]]:
    """By rows and the states that they reach, the costs that depend on the state."""
    found: dict[int, dict[int, Line]] = {}
    if paid is None:
        return found
    # Of two costs with one name, the second is what is used of a capacity.
    last = {name: cost for cost, name in enumerate(names)}
    rows, begins = np.unique(paid.rows, return_index=True)
    for row, span in zip(rows.tolist(), np.split(np.arange(len(paid.rows)), begins[1:]), strict=True):
        costs = paid.costs[:, span]
        differing = costs.max(axis=1) > costs.min(axis=1)
        for state, own in zip(paid.states[span].tolist(), costs.T.tolist(), strict=True):
            extra = Line({name: own[cost] for name, cost in last.items() if differing[cost] and own[cost]})
            if extra:
                found.setdefault(row, {})[state] = extra
    return found


def _slip(slip: float | tuple[float, float]) -> dict[str, Any]:
    if isinstance(slip, tuple):
        return {"slip": Line(left=slip[0], right=slip[1])}
    intended = round(1.0 - slip, 9)
    # 0.09999999999999998 is what 1 - 0.9 leaves behind; say 0.9, which gives the same number back.
    if len(repr(slip)) > len(repr(intended)) and 1.0 - intended == slip:
        return {"intended": intended}
    return {"slip": slip} if slip else {}


def _start(starts: Mapping[Any, float], written: type[list[Any]] | type[str]) -> Any:
    if list(starts.values()) == [1.0]:
        return written(next(iter(starts)))
    return [Line(at=written(state), probability=chance) for state, chance in starts.items()]


def _goal(goals: Sequence[Cell]) -> Any:
    return list(goals[0]) if len(goals) == 1 else [list(goal) for goal in goals]


def _procedure(problem: HCSSP) -> dict[str, Any]:
    events: dict[str, Any] = {}
    for event, name in enumerate(problem.events):
        choices = [problem.choices[index] for index in problem.choices_at(event)]
        events[name] = {choice.name: _outcomes(problem, choice.outcomes) for choice in choices}
    return {"start": problem.events[problem.start], "end": problem.events[problem.end], "events": events}


def _outcomes(problem: HCSSP, outcomes: Sequence[Outcome]) -> Any:
    written = []
    for outcome in outcomes:
        parts = Line() if len(outcomes) == 1 else Line(probability=float(outcome.probability))
        if outcome.runs is not None:
            parts["runs"] = problem.activities[outcome.runs].name
        parts["to"] = problem.events[outcome.event]
        if outcome.exits:
            exits = {label_text(label): problem.events[event] for label, event in outcome.exits.items()}
            parts["to"] = Line(exits)
        written.append(parts)
    return written[0] if len(written) == 1 else written


def _constraints(problem: HCSSP) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for constraint in problem.constraints:
        counts = {
            problem.activities[index].name: problem.activities[index].cssp.cost_names[cost]
            for index, cost in sorted(constraint.counts.items())
        }
        (cost, *others) = dict.fromkeys(counts.values())
        having = [a.name for a in problem.activities if cost in a.cssp.cost_names[1:]]
        shared = not others and list(counts) == having
        of = {"probability_of": constraint.probability_of} if constraint.probability_of else {}
        written[constraint.name] = Line(
            at_most=float(constraint.at_most), counts=cost if shared else Line(counts), **of
        )
    return written


def _check_names(problem: HCSSP) -> None:
    """Refuse what a file could not give back."""
    found = []
    named = {
        "event": problem.events,
        "activity": [activity.name for activity in problem.activities],
        "choice": [choice.name for choice in problem.choices],
        "constraint": [constraint.name for constraint in problem.constraints],
        "cost": [name for activity in problem.activities for name in activity.cssp.cost_names],
    }
    for kind, names in named.items():
        for name in dict.fromkeys(names):
            reason = name_problem(name)
            if reason is not None:
                found.append(f"{kind} {name!r}: a file cannot hold it: {reason}")
    for activity in problem.activities:
        labels = activity.cssp.state_labels
        if not isinstance(labels, range):
            found += _unwritable(f"activity {activity.name!r}", labels)
        paid = activity.cssp.transition_costs
        if paid is not None:
            again = (np.diff(paid.rows) == 0) & (np.diff(paid.states) == 0)
            for entry in np.flatnonzero(again)[:1].tolist():
                found.append(
                    f"activity {activity.name!r}: a file cannot hold two costs of one action that leads to "
                    f"state {labels[int(paid.states[entry])]!r}; let the two outcomes reach different states"
                )
    if found:
        raise InvalidProblem(found)


def _check_limits(problem: HCSSP) -> None:
    """Refuse limits that differ from use to use: a file states a procedure and its bounds once."""
    if problem.nesting is None:
        return
    written_out = expand(problem.nesting)
    stated = {each.name: each.at_most for each in written_out.constraints if each.per is not None}
    own = {each.name: each.at_most for each in problem.constraints if each.per is not None}
    found = [
        f"constraint {name!r}: a file cannot hold a limit for one use only; bound the procedure instead"
        for name in own
        if own[name] != stated.get(name)
    ]
    if [each.cssp.cost_names for each in written_out.activities] != [
        each.cssp.cost_names for each in problem.activities
    ]:
        found.append(
            "a file cannot hold what was added to procedures that run inside; say it in the file of the whole"
        )
    if found:
        raise InvalidProblem(found)


def _unwritable(where: str, labels: Sequence[Hashable]) -> list[str]:
    texts: dict[str, Hashable] = {}
    for label in labels:
        text = label_text(label)
        reason = name_problem(text)
        if text in texts:
            reason = f"as a text it is the same as {texts[text]!r}"
        elif isinstance(label, str) and state_label(text) != label:
            reason = "as a text it is a cell"
        if reason is not None:
            return [f"{where}, state {label!r}: a file cannot hold it: {reason}"]
        texts[text] = label
    return []
