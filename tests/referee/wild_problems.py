"""Random small problems at the edges of what floating point can tell apart, by family and seed.

A family and a seed name a problem for good. Probabilities are dyadic, so that they sum to one exactly and the
referee judges the very problem that the solvers see. Bounds are drawn last, from the exact costs of all
policies: on one of them, a hair beside it, between, below all of them, zero, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, nextafter
from zlib import crc32

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from referee.exact_policies import EveryPolicy, TooManyPolicies, every_policy, round_up
from referee.nested_problems import SHAPES, nested_procedure

MOST_POLICIES = 300
FEWEST_POLICIES = 3
"""Where there is nothing to choose there is little to get wrong: one in ten of such problems is kept."""

LABELS = ("x0", "x1", "x2", "x3")
"""Rooms of a procedure share their labels, so that the exit of one is an entry of the next."""

Draw = Callable[[np.random.Generator], float]


@dataclass(frozen=True)
class Style:
    """What the numbers of a family look like.

    Attributes
    ----------
    primary, secondary
        Draw one cost of a row.
    leaving
        Exponents e of the probabilities 2^-e with which a row that mostly stays or goes back goes on; if
        there are none, nothing is left to chance.
    free
        The probability that a row has no primary cost.
    trap
        The probability that a state may be one that is never left.
    alike
        The probability that an action costs almost the same as the one before it.
    """

    primary: Draw
    secondary: Draw
    leaving: tuple[int, ...] = (1, 2, 3)
    free: float = 0.0
    trap: float = 0.0
    alike: float = 0.0


def _whole(rng: np.random.Generator) -> float:
    return float(rng.integers(0, 8))


def _positive(rng: np.random.Generator) -> float:
    return float(rng.integers(1, 8))


def _eighths(rng: np.random.Generator) -> float:
    return float(rng.integers(0, 64)) / 8.0


def _tenths(rng: np.random.Generator) -> float:
    return float(rng.integers(1, 50)) / 10.0


def _nearly_whole(rng: np.random.Generator) -> float:
    return float(rng.integers(0, 3)) + float(rng.choice([0.0, 9e-10, 2.0**-40]))


def _about_ten(rng: np.random.Generator) -> float:
    return 10.0 * (1.0 - float(rng.choice([0.0, 1e-3, 1e-5, 1e-7, 1e-9])))


def _wide(rng: np.random.Generator) -> float:
    return 0.0 if rng.random() < 0.1 else float(10.0 ** rng.uniform(-10.0, 10.0))


def _wide_whole(rng: np.random.Generator) -> float:
    return float(rng.choice([0.0, 1.0, 2.0, 3.0, 1e3, 1e6, 1e9, 1e12]))


def _unit(unit: float) -> Draw:
    return lambda rng: unit * float(rng.integers(1, 50))


LOOPS = (1, 4, 10, 20, 25, 30)

STYLES = {
    "natural": Style(_positive, _whole),
    "sure": Style(_tenths, _whole, leaving=()),
    "nearly whole": Style(_nearly_whole, _whole, leaving=()),
    "free": Style(_whole, _whole, leaving=(1, 2, 4), free=0.4),
    "ties": Style(_positive, _eighths, leaving=(1, 2, 10, 20), free=0.2, alike=0.5),
    "loops": Style(_eighths, _eighths, leaving=LOOPS, free=0.2),
    "penalties": Style(_wide_whole, _wide_whole, leaving=(1, 3, 7, 12), free=0.2),
    "wide": Style(_wide, _wide, leaving=(1, 2, 10, 20)),
    "wide loops": Style(_wide, _wide, leaving=LOOPS, free=0.2),
    "small units": Style(_unit(1e-7), _tenths),
    "tiny units": Style(_unit(1e-12), _unit(1e-9)),
    "huge units": Style(_unit(1e12), _unit(1e9)),
    "dead ends": Style(_positive, _whole, trap=0.4, free=0.2),
}

FLAT = (*STYLES, "rare", "waiting")
PROCEDURES = (
    *(
        f"{shape}: {style}"
        for shape in ("procedure", "retries", "exits")
        for style in ("natural", "free", "ties", "loops", "penalties", "wide", "small units", "dead ends")
    ),
    "procedure: sure",
    "retries: waiting",
    "procedure: rare",
    "procedure: odd",
    "exits: odd",
    *(f"cycles of exits: {style}" for style in ("sure", "natural", "free", "dead ends", "odd")),
)
NESTED = (
    *(f"{shape}: {style}" for shape in SHAPES for style in ("natural", "free")),
    "nested: ties",
    "nested retries: loops",
    "nested: dead ends",
    "nested limits: odd",
)
FAMILIES = (*FLAT, *PROCEDURES)
"""Those that every test run draws from; the full run has the nested ones, too."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and the truth about it.

    Attributes
    ----------
    family, seed
        Its name.
    problem
        With its bounds.
    truth
        All its policies.
    hair
        How near the bounds are to a policy's value, relatively; ``inf`` if by chance at most.
    """

    family: str
    seed: int
    problem: CSSP | HCSSP
    truth: EveryPolicy
    hair: float

    @property
    def name(self) -> str:
        return f"{self.family} {self.seed}"

    @property
    def bounds(self) -> list[float]:
        bounds: list[float] = self.problem.bounds.tolist()
        return bounds


def make_case(family: str, seed: int) -> Case:
    """The problem of that name."""
    rng = np.random.default_rng([crc32(family.encode()), seed])
    while True:
        try:
            problem = _unbounded(family, rng)
            truth = every_policy(problem, MOST_POLICIES)
        except (TooManyPolicies, InvalidProblem):
            # Too large, or a procedure whose parts do not fit together: the next one.
            continue
        if len(truth.policies) < FEWEST_POLICIES and rng.random() < 0.9:
            continue
        # What choices cost depends on the limits of uses, and so all policies do: those stay.
        names = problem.outline.constraint_names if isinstance(problem, HCSSP) else problem.constraint_names
        bounds, hair = _bounds(rng, truth, len(names))
        bounded = problem.with_bounds(dict(zip(names, bounds, strict=True)))
        return Case(family, seed, bounded, truth, hair)


def _unbounded(family: str, rng: np.random.Generator) -> CSSP | HCSSP:
    if family == "rare":
        return _rare(rng, 1 + int(rng.integers(0, 2)))
    if family == "waiting":
        return _waiting(rng, 1 + int(rng.integers(1, 3)))
    if family == "retries: waiting":
        return _attempts(rng)
    if family in STYLES:
        return _room(rng, STYLES[family], 1 + int(rng.integers(1, 4)))
    shape, style = family.split(": ")
    if shape in SHAPES:
        num_costs = 1 + int(rng.integers(1, 4))
        return nested_procedure(
            rng, shape, num_costs, lambda: _nested_room(rng, style, num_costs, shape == "nested exits")
        )
    return _procedure(rng, shape, style)


# ---- single problems ----------------------------------------------------------------------------------


def _room(
    rng: np.random.Generator,
    style: Style,
    num_costs: int,
    *,
    most_states: int = 5,
    most_actions: int = 3,
    labels: tuple[str, ...] | None = None,
    num_goals: int = 1,
) -> CSSP:
    """A problem of a few states whose actions lead on, stay, go back or leave it to chance."""
    size = int(rng.integers(1, most_states)) + num_goals if labels is None else len(labels)
    inner = size - num_goals
    rows: list[np.ndarray] = []
    costs: list[list[float]] = []
    row_start = [0]
    for state in range(inner):
        if rng.random() < style.trap:
            if rng.random() < 0.5:
                rows.append(np.eye(size)[state])
                costs.append([style.primary(rng) for _ in range(num_costs)])
        else:
            for action in range(int(rng.integers(1, most_actions + 1))):
                rows.append(_row(rng, style, state, inner, size))
                costs.append(_costs(rng, style, num_costs, costs[-1] if action else None))
        row_start.append(len(rows))
    row_start += [len(rows)] * num_goals
    return CSSP(
        transitions=csr_array(np.array(rows).reshape(-1, size)),
        row_start=np.array(row_start),
        costs=np.array(costs).reshape(-1, num_costs).T,
        initial=_initial(rng, inner, size, bool(style.leaving)),
        goals=np.arange(size) >= inner,
        cost_names=("time", *(f"risk {index}" for index in range(1, num_costs))),
        bounds=np.full(num_costs - 1, inf),
        state_labels=tuple(f"s{state}" for state in range(size)) if labels is None else labels,
        action_labels=tuple(f"a{row}" for row in range(len(rows))),
    )


def _row(rng: np.random.Generator, style: Style, state: int, inner: int, size: int) -> np.ndarray:
    row = np.zeros(size)
    onwards = int(rng.integers(state + 1, size))
    kind = rng.random()
    if kind < 0.3 or not style.leaving:
        row[onwards] = 1.0
    elif kind < 0.75:
        leave = 2.0 ** -float(rng.choice(style.leaving))
        row[onwards] += leave
        row[state if rng.random() < 0.6 else int(rng.integers(0, inner))] += 1.0 - leave
    else:
        share = float(rng.integers(1, 16)) / 16.0
        row[onwards] += share
        row[int(rng.integers(0, size))] += 1.0 - share
    return row


def _costs(rng: np.random.Generator, style: Style, num_costs: int, before: list[float] | None) -> list[float]:
    if before is not None and rng.random() < style.alike:
        # The same, or so nearly that a tolerance may take it for the same.
        near = 1.0 + float(rng.choice([0.0, 0.0, 2.0**-52, 1e-13, 1e-11, 1e-9, -1e-12, -1e-10]))
        costs = [near * cost for cost in before]
    else:
        costs = [style.primary(rng), *(style.secondary(rng) for _ in range(num_costs - 1))]
    if rng.random() < style.free:
        costs[0] = 0.0
    return costs


def _initial(rng: np.random.Generator, inner: int, size: int, chance: bool) -> np.ndarray:
    initial = np.zeros(size)
    if chance and inner > 1 and rng.random() < 0.2:
        initial[:2] = 0.25, 0.75
    else:
        initial[0] = 1.0
    return initial


def _rare(rng: np.random.Generator, num_bounds: int) -> CSSP:
    """A state that is hardly ever visited, where the costs are as large as the visits are rare."""
    steps = int(rng.integers(1, 3))
    exponent = int(rng.choice([10, 18, 20, 22, 24]))
    likely = 2.0**-exponent
    scale = 2.0 ** (exponent * steps + int(rng.integers(-3, 4)))
    size = steps + 2
    rows, costs, row_start = [], [], [0]
    for state in range(steps):
        row = np.zeros(size)
        row[state + 1], row[-1] = likely, 1.0 - likely
        rows.append(row)
        costs.append([float(rng.integers(0, 2)), *(0.0 for _ in range(num_bounds))])
        row_start.append(len(rows))
    for _ in range(int(rng.integers(2, 5))):
        rows.append(np.eye(size)[-1])
        costs.append([scale * _eighths(rng) for _ in range(1 + num_bounds)])
    row_start += [len(rows), len(rows)]
    return CSSP(
        transitions=csr_array(np.array(rows)),
        row_start=np.array(row_start),
        costs=np.array(costs).T,
        initial=np.eye(size)[0],
        goals=np.arange(size) == size - 1,
        cost_names=("time", *(f"risk {index}" for index in range(1, 1 + num_bounds))),
        bounds=np.full(num_bounds, inf),
        state_labels=tuple(f"s{state}" for state in range(size)),
        action_labels=tuple(f"a{row}" for row in range(len(rows))),
    )


def _waiting(rng: np.random.Generator, num_costs: int) -> CSSP:
    """In each state one may walk out, or wait for nothing until one is in the next, hardly cheaper one."""
    inner = int(rng.integers(2, 4))
    size = inner + 1
    rows, costs, row_start = [], [], [0]
    for state in range(inner):
        for _ in range(int(rng.integers(1, 3))):
            rows.append(np.eye(size)[-1])
            costs.append([_about_ten(rng), *(_whole(rng) for _ in range(num_costs - 1))])
        if state + 1 < inner:
            likely = 2.0 ** -float(rng.choice((10, 20, 25, 30)))
            rows.append(likely * np.eye(size)[state + 1] + (1.0 - likely) * np.eye(size)[state])
            costs.append([0.0] * num_costs)
        row_start.append(len(rows))
    row_start.append(len(rows))
    return CSSP(
        transitions=csr_array(np.array(rows)),
        row_start=np.array(row_start),
        costs=np.array(costs).T,
        initial=np.eye(size)[0],
        goals=np.arange(size) == size - 1,
        cost_names=("time", *(f"risk {index}" for index in range(1, num_costs))),
        bounds=np.full(num_costs - 1, inf),
        state_labels=tuple(f"s{state}" for state in range(size)),
        action_labels=tuple(f"a{row}" for row in range(len(rows))),
    )


def _attempts(rng: np.random.Generator) -> HCSSP:
    """Two stages, each to be tried in one of several ways until it succeeds; the ways hardly differ."""
    plan = ProcedureBuilder()
    events = [plan.add_event(f"e{index}") for index in range(3)]
    activities = []
    for here, there in pairwise(events):
        likely = 2.0 ** -float(rng.choice((4, 10, 20, 25, 30)))
        for choice in range(int(rng.integers(1, 4))):
            room = _waiting(rng, 2) if rng.random() < 0.2 else _step(_about_ten(rng), _whole(rng))
            activities.append(plan.add_activity(f"A{len(activities)}", room))
            to = [Outcome(likely, there), Outcome(1.0 - likely, here, runs=activities[-1])]
            plan.add_choice(here, f"c{choice}", to=to)
    plan.add_constraint("limit 1", at_most=inf, counts=dict.fromkeys(activities, "risk 1"))
    return plan.build(start=events[0], end=events[-1])


def _step(*costs: float) -> CSSP:
    """One step from the start to the goal."""
    return CSSP(
        transitions=csr_array(np.array([[0.0, 1.0]])),
        row_start=np.array([0, 1, 1]),
        costs=np.array(costs).reshape(-1, 1),
        initial=np.array([1.0, 0.0]),
        goals=np.array([False, True]),
        cost_names=("time", *(f"risk {index}" for index in range(1, len(costs)))),
        bounds=np.full(len(costs) - 1, inf),
        state_labels=("s0", "s1"),
        action_labels=("go",),
    )


def _at_goal(room: CSSP, rng: np.random.Generator) -> CSSP:
    """The same room, but one is there already, or half of the time."""
    share = float(rng.choice([1.0, 0.5]))
    initial = (1.0 - share) * room.initial
    initial[np.flatnonzero(room.goals)[0]] += share
    return room.derive(initial=initial)


def _without_end(rng: np.random.Generator, num_costs: int, labels: tuple[str, ...] | None) -> CSSP:
    """A room none of whose goals can be reached."""
    names = ("in", "out", "away") if labels is None else labels
    rows = np.zeros((2, len(names)))
    rows[:, 0] = 1.0
    return CSSP(
        transitions=csr_array(rows),
        row_start=np.array([0, 2, *(2 for _ in names[1:])]),
        costs=np.array([[_whole(rng), _whole(rng)] for _ in range(num_costs)]),
        initial=np.eye(len(names))[0],
        goals=np.arange(len(names)) > 0 if rng.random() < 0.7 else np.arange(len(names)) == 1,
        cost_names=("time", *(f"risk {index}" for index in range(1, num_costs))),
        bounds=np.full(num_costs - 1, inf),
        state_labels=names,
        action_labels=("turn", "turn round"),
    )


# ---- procedures ---------------------------------------------------------------------------------------


def _procedure(rng: np.random.Generator, shape: str, style_name: str) -> HCSSP:
    """Two to four events; choices with chance, which may lead back if the shape is to retry.

    In the shape "cycles of exits" each exit of an activity leads to an event of its own, onwards or back.
    """
    plan = ProcedureBuilder()
    num_events = int(rng.integers(2, 5))
    events = [plan.add_event(f"e{index}") for index in range(num_events)]
    num_costs = 1 + int(rng.integers(1, 4))
    activities = []

    parting = shape == "cycles of exits"

    def outcome(probability: float, event: int) -> Outcome:
        if len(activities) >= 4 or (activities and rng.random() < 0.2):
            return Outcome(probability, event)
        room = _activity(rng, style_name, num_costs, several_exits=parting or shape == "exits")
        activities.append(plan.add_activity(f"A{len(activities)}", room))
        exits = {}
        if parting and room.goals.sum() > 1:
            goals = np.flatnonzero(room.goals).tolist()
            exits = {room.state_labels[goal]: events[int(rng.integers(num_events))] for goal in goals}
        return Outcome(probability, event, runs=activities[-1], exits=exits)

    style = STYLES.get(style_name, STYLES["natural"])
    for position, event in enumerate(events[:-1]):
        for choice in range(int(rng.choice([1, 2, 2]))):
            target = events[int(rng.integers(position + 1, num_events))] if choice else events[position + 1]
            if rng.random() < 0.5 or not style.leaving:
                outcomes = [outcome(1.0, target)]
            else:
                back = (parting or shape == "retries") and rng.random() < 0.7
                exponents = style.leaving if back else (1, 2, 3)
                share = 2.0 ** -float(rng.choice(exponents))
                low, high = (0, position + 1) if back else (position + 1, num_events)
                other = events[int(rng.integers(low, high))]
                outcomes = [outcome(share, target), outcome(1.0 - share, other)]
            plan.add_choice(event, f"c{choice}", to=outcomes)
    if not activities:
        raise InvalidProblem(["a procedure without activities"])
    for index in range(1, num_costs):
        counted = [activity for activity in activities if rng.random() < 0.8] or activities[:1]
        plan.add_constraint(f"limit {index}", at_most=inf, counts=dict.fromkeys(counted, f"risk {index}"))
    return plan.build(start=events[0], end=events[-1])


def _nested_room(rng: np.random.Generator, style: str, num_costs: int, several_exits: bool) -> CSSP:
    """A room of one or two states: there are many of them, and all their policies are enumerated."""
    labels = LABELS[:3] if several_exits else None
    if style == "odd" and rng.random() < 0.35:
        return _without_end(rng, num_costs, labels)
    num_goals = 2 if several_exits and rng.random() < 0.5 else 1
    chosen = STYLES.get(style, STYLES["natural"])
    return _room(rng, chosen, num_costs, most_states=3, most_actions=2, labels=labels, num_goals=num_goals)


def _activity(rng: np.random.Generator, style_name: str, num_costs: int, *, several_exits: bool) -> CSSP:
    labels = LABELS[: int(rng.integers(3, 5))] if several_exits else None
    if style_name == "rare":
        rare = _rare(rng, num_costs - 1)
        return rare if rng.random() < 0.7 else _room(rng, STYLES["natural"], num_costs, most_states=2)
    if style_name == "odd" and rng.random() < 0.35:
        return _without_end(rng, num_costs, labels)
    style = STYLES.get(style_name, STYLES["natural"])
    num_goals = 2 if several_exits and rng.random() < 0.6 else 1
    room = _room(rng, style, num_costs, most_states=3, most_actions=2, labels=labels, num_goals=num_goals)
    if style_name == "odd" and rng.random() < 0.4:
        return _at_goal(room, rng)
    return room


# ---- bounds -------------------------------------------------------------------------------------------

HAIRS = (0.0, 2.0**-52, 1e-12, 1e-9)
"""Relative distances of a bound to the exact value of a policy."""


def _bounds(rng: np.random.Generator, truth: EveryPolicy, count: int) -> tuple[list[float], float]:
    """A bound for each constraint, and the least distance to a value that was meant."""
    if not truth.policies:
        return [float(rng.integers(0, 3)) for _ in range(count)], inf
    least = min(policy.costs[0] for policy in truth.policies)
    # Mostly bounds for whose sake something dearer than the cheapest policy is done.
    dearer = [policy for policy in truth.policies if policy.costs[0] > least]
    chosen = dearer if dearer and rng.random() < 0.7 else truth.policies
    together = chosen[int(rng.integers(len(chosen)))]
    hair = float(rng.choice(HAIRS))
    share = 0.8 if rng.random() < 0.6 else 0.3
    bounds, meant = [], inf
    for index in range(1, 1 + count):
        values = sorted({policy.costs[index] for policy in truth.policies})
        if rng.random() < share:
            bounds.append(_beside(together.costs[index], hair, below=rng.random() < 0.3))
            meant = hair
            continue
        kind = rng.random()
        if kind < 0.5:
            position = int(rng.integers(len(values)))
            low, high = values[position], values[min(position + 1, len(values) - 1)]
            bounds.append(round_up(low + (high - low) * Fraction(int(rng.integers(1, 16)), 16)))
        elif kind < 0.65:
            bounds.append(float(values[0]) * float(rng.choice([0.5, 0.9, 1.0 - 1e-6])))
        elif kind < 0.85:
            bounds.append(0.0)
        else:
            bounds.append(inf)
    return bounds, meant


def _beside(value: Fraction, hair: float, *, below: bool) -> float:
    """The least double not below `value`, or one that is a hair away from it."""
    on = round_up(value)
    if hair == 0.0:
        return on
    if hair <= 2.0**-52:
        return max(0.0, nextafter(on, -inf)) if below else nextafter(on, inf)
    return on * (1.0 - hair if below else 1.0 + hair)
