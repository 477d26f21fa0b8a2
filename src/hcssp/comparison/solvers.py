"""The compared solvers: the methods of hcssp, and other tools if they are installed.

A solver is given a problem and a time limit, and answers with a :class:`Claim`. What it claims is
judged afterwards; the plans of our own methods have been evaluated by code that no solver uses.

What one solver did on one problem.

The model checker Storm as a solver, through stormpy.

The flat problem is handed over in Storm's explicit format. Over randomised schedulers Storm is asked
for ``multi(R{primary}min=?, R{...} <= bound, ...)`` until the goal, with its sound algorithms.

Restricted to positional deterministic schedulers, Storm 2.0 answers the same question with figures around
zero, but whether a cost can be kept, ``multi(R{primary} <= cost, ...)``, it answers well: so the least such
cost is found by bisection.

scikit-decide as a solver: its solver CIDual, heuristic search in the dual space of constrained SSPs.

The solver asks the problem in Python, state by state. What it calls the utility of the first state is the
value at its multipliers, with the worth of the bounds still in it; so the plan that it found, which may be
randomised, is evaluated by our own exact evaluation, and that is its value.

Reference: Trevizan et al., *Heuristic Search in Dual Space for Constrained Stochastic Shortest Path
Problems*, 2016.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from hcssp.contract.progress import Gap, MaxRuntime, Progress
from hcssp.contract.proof import Reason, Status
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import RandomisedPolicy
from hcssp.errors import InvalidOption, UnknownName, looked_up
from hcssp.evaluation.exact import evaluate
from hcssp.exchange.drn import drn_text
from hcssp.exchange.models import extra
from hcssp.files.atomic import worded
from hcssp.numerics import relative_gap
from hcssp.procedure import HCSSP
from hcssp.solving.registry import METHODS, find_method
from hcssp.solving.solve import solve

TracePoint = tuple[float, float, float]
"""Seconds, lower bound, upper bound."""


CLAIMED = "claimed by a results file, not measured by this run"
"""What is noted of a measurement that was taken from a file."""


@dataclass(frozen=True)
class Measurement:
    """The result of one solver on one problem.

    Attributes
    ----------
    instance, domain, states
        The problem, what kind it is, and the states of the flat problem.
    solver, time_limit
        Who, and for how many seconds at most.
    status
        What it says: ``optimal``, ``feasible``, ``infeasible``, ``unknown``, ``missing`` if it is not
        installed, ``unsupported`` if it does not take such problems, ``failed``.
    lower_bound, upper_bound
        What it says about the best deterministic plan; infinite where it says nothing.
    randomised
        The cost of the best randomised policy that it reports; None if it reports none.
    first, randomised_seconds
        Seconds until its first plan, and until `randomised` was known; None if never.
    seconds, cpu_seconds
        What it took, without reading the problem.
    trace
        Its interval over time.
    note
        What else there is to say.
    """

    instance: str
    domain: str
    states: int
    solver: str
    time_limit: float
    status: str
    lower_bound: float = -inf
    upper_bound: float = inf
    randomised: float | None = None
    first: float | None = None
    randomised_seconds: float | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    trace: tuple[TracePoint, ...] = ()
    note: str = ""

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def proved(self) -> bool:
        """Whether the solver ended with all that it can say."""
        return self.status in ("optimal", "infeasible")

    @property
    def ran(self) -> bool:
        """Whether the solver was there and took the problem."""
        return self.status not in ("missing", "unsupported")

    @property
    def is_claimed(self) -> bool:
        """Whether it was taken from a results file, and nothing of it was checked."""
        return self.note.endswith(CLAIMED)

    def as_claim(self) -> Measurement:
        """The same as what a results file claims."""
        return replace(self, note="; ".join(filter(None, (self.note, CLAIMED))))

    def to_document(self) -> dict[str, Any]:
        """The measurement as JSON knows it: infinities are words."""
        document: dict[str, Any] = worded(asdict(self))
        return document

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Measurement:
        """The reverse of :meth:`to_document`.

        Raises
        ------
        ValueError, TypeError, KeyError
            If it is none.
        """
        if set(document) != {each.name for each in fields(cls)}:
            raise ValueError("other keys than those of a measurement")
        numbers = ("time_limit", "lower_bound", "upper_bound", "seconds", "cpu_seconds")
        maybe = ("randomised", "first", "randomised_seconds")
        return cls(
            **{
                **document,
                **{name: str(document[name]) for name in ("instance", "domain", "solver", "status", "note")},
                "states": int(document["states"]),
                **{name: float(document[name]) for name in numbers},
                **{name: None if document[name] is None else float(document[name]) for name in maybe},
                "trace": tuple((float(a), float(b), float(c)) for a, b, c in document["trace"]),
            }
        )


@dataclass(frozen=True)
class Claim:
    """What a solver says about a problem; see :class:`~hcssp.comparison.solvers.Measurement`."""

    status: str
    lower_bound: float = -inf
    upper_bound: float = inf
    randomised: float | None = None
    randomised_seconds: float | None = None
    trace: tuple[TracePoint, ...] = ()
    note: str = ""


Work = Callable[[float], Claim]
"""What is measured of a solver that has read its problem, given the seconds that it has."""


@dataclass(frozen=True)
class MeasuredSolver:
    """A method of ours, or another tool.

    Attributes
    ----------
    name, description
        What people call it, and what it does in a line.
    prepare
        Given the problem, makes ready whatever is not measured, and answers with the work that is: a function
        of the time limit.
    deterministic
        Whether it looks for the best deterministic policy; otherwise for the best randomised one.
    tolerance
        The relative error that its values are asked to have.
    """

    name: str
    description: str
    prepare: Callable[[HCSSP], Work]
    deterministic: bool = True
    tolerance: float = 1e-6


PRECISION = "1e-4"
"""Of Storm's values, absolute. At 1e-6 its sound value iteration does not end on problems of 64 states."""


CLOSE = 1e-3
"""The relative distance at which a bisection ends."""


LARGEST = 1e12
"""A problem whose plans would all cost more counts as one without plans."""


def run_storm(problem: HCSSP) -> Work:
    """The question over randomised policies.

    Raises
    ------
    MissingDependency
        If stormpy is not installed.
    """
    storm = _Storm(problem)
    asked = storm.formula("min=?")
    environment = storm.environment(deterministic=False)

    def work(time_limit: float) -> Claim:
        value = storm.answer(asked, environment).get_value(storm.model.initial_states[0])
        if isinstance(value, bool) or not isfinite(value):
            return Claim("infeasible")
        return Claim("optimal", randomised=float(value))

    return work


def run_storm_deterministic(problem: HCSSP) -> Work:
    """The question over deterministic plans.

    Raises
    ------
    MissingDependency
        If stormpy is not installed.
    """
    storm = _Storm(problem)
    environment = storm.environment(deterministic=True)

    def can_keep(cost: float) -> bool:
        return bool(storm.answer(storm.formula(f"<={cost!r}"), environment).exists_true())

    def work(time_limit: float) -> Claim:
        began, low, high, step = time.perf_counter(), 0.0, inf, 1.0
        while high == inf or high - low > CLOSE * high:
            if time.perf_counter() - began >= time_limit:
                break
            if high == inf:
                step *= 4.0
                low, high = (low, step) if can_keep(step) else (step, inf)
            else:
                middle = (low + high) / 2.0
                low, high = (low, middle) if can_keep(middle) else (middle, high)
            if low > LARGEST:
                return Claim("infeasible", inf)
        done = relative_gap(low, high) <= CLOSE
        return Claim("optimal" if done else "feasible" if high < inf else "unknown", low, high)

    return work


class _Storm:
    """The flat problem as a model of Storm's."""

    def __init__(self, problem: HCSSP) -> None:
        stormpy: Any = extra("stormpy", "peers", "a comparison with Storm")
        stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)
        self._stormpy = stormpy
        with tempfile.TemporaryDirectory(prefix="hcssp-") as folder:
            path = Path(folder) / "problem.drn"
            flat = problem.flattening.cssp
            # Plain names: Storm's properties do not take a dash in one.
            text = drn_text(flat.derive(cost_names=tuple(f"cost{at}" for at in range(len(flat.cost_names)))))
            path.write_text(text, encoding="utf-8")
            self.model = stormpy.build_model_from_drn(str(path))
        self._costs = reward_names(text)
        self._bounds = problem.bounds.tolist()

    def formula(self, primary: str) -> Any:
        """The question whose first part is about the primary cost."""
        parts = [f'R{{"{self._costs[0]}"}}{primary} [F "goal"]']
        for name, bound in zip(self._costs[1:], self._bounds, strict=True):
            if isfinite(bound):
                parts.append(f'R{{"{name}"}}<={bound!r} [F "goal"]')
        text = f"multi({', '.join(parts)})" if len(parts) > 1 else parts[0]
        (found,) = self._stormpy.parse_properties(text)
        return found

    def environment(self, deterministic: bool) -> Any:
        """How Storm is to work."""
        environment = self._stormpy.environments.sound()
        multi = environment.modelchecker().multi()
        multi.precision = self._stormpy.Rational(PRECISION)
        if deterministic:
            from stormpy.developer._core import SchedulerClass

            scheduler = SchedulerClass()
            scheduler.set_positional()
            scheduler.is_deterministic = True
            multi.scheduler_restriction = scheduler
        return environment

    def answer(self, formula: Any, environment: Any) -> Any:
        """What Storm says."""
        return self._stormpy.model_checking(self.model, formula, environment=environment)


def reward_names(text: str) -> list[str]:
    """What the costs are called in the explicit format, the primary first."""
    return text.partition("@reward_models\n")[2].partition("\n")[0].split()


KEPT = 1e-6
"""A bound counts as kept by its plan if it is exceeded by no more than this share: it is that precise."""


def run_scikit_decide(problem: HCSSP) -> Work:
    """The question to the solver, whose plan is evaluated here.

    Raises
    ------
    MissingDependency
        If scikit-decide is not installed.
    """
    extra("skdecide", "peers", "a comparison with scikit-decide")
    flat = problem.flattening.cssp
    domain = _domain_of(flat)

    def work(time_limit: float) -> Claim:
        from skdecide.hub.solver.idual import CIDual

        with CIDual(domain_factory=lambda: domain) as solver:
            solver.solve()
            policy = solver.get_policy()
        return _claim(flat, policy)

    return work


def _claim(flat: CSSP, policy: Any) -> Claim:
    """The exact cost of the plan that it found, if that keeps the bounds."""
    probabilities = np.zeros(flat.num_rows)
    for state, (actions, _) in policy.items():
        weights = {int(action): max(0.0, float(weight)) for action, weight in actions}
        total = sum(weights.values())
        if int(state) == flat.num_states or flat.goals[int(state)] or total <= 0.0:
            continue
        for row, weight in weights.items():
            probabilities[row] = weight / total
    found = evaluate(flat, RandomisedPolicy(flat, probabilities))
    broken = found.violations(KEPT)
    if broken:
        return Claim("unknown", note=f"its plan breaks the bounds on {', '.join(broken)}")
    return Claim("optimal", randomised=float(found.costs[0]))


def _domain_of(flat: CSSP) -> Any:
    """The flat problem as a domain of scikit-decide; a first state draws the one that it begins in."""
    skdecide = extra("skdecide", "peers", "a comparison with scikit-decide")
    from skdecide.builders import domain as traits

    moves, begin = flat.transitions.tocsr(), flat.num_states
    starts = [(int(state), float(flat.initial[state])) for state in np.flatnonzero(flat.initial)]

    class Listed(skdecide.EnumerableSpace):  # type: ignore[misc, name-defined]
        def __init__(self, elements: Any) -> None:
            self._elements = elements

        def get_elements(self) -> Any:
            return self._elements

        def contains(self, x: Any) -> bool:
            return x in self._elements

    class Flat(
        skdecide.Domain,  # type: ignore[misc, name-defined]
        traits.SingleAgent,  # type: ignore[misc]
        traits.Sequential,  # type: ignore[misc]
        traits.EnumerableTransitions,  # type: ignore[misc]
        traits.Actions,  # type: ignore[misc]
        traits.Goals,  # type: ignore[misc]
        traits.DeterministicInitialized,  # type: ignore[misc]
        traits.Markovian,  # type: ignore[misc]
        traits.FullyObservable,  # type: ignore[misc]
        traits.PositiveCosts,  # type: ignore[misc]
        traits.Constrained,  # type: ignore[misc]
    ):
        T_state = T_observation = T_event = int
        T_value, T_info, T_predicate = float, None, bool

        def _get_action_space_(self) -> Any:
            return Listed(range(flat.num_rows))

        def _get_applicable_actions_from(self, memory: Any) -> Any:
            state = int(memory)
            if state == begin:
                return Listed([0])
            return Listed(range(int(flat.row_start[state]), int(flat.row_start[state + 1])))

        def _get_next_state_distribution(self, memory: Any, action: Any) -> Any:
            if int(memory) == begin:
                return skdecide.DiscreteDistribution(starts)
            part = slice(moves.indptr[action], moves.indptr[action + 1])
            pairs = zip(moves.indices[part].tolist(), moves.data[part].tolist(), strict=True)
            return skdecide.DiscreteDistribution(list(pairs))

        def _get_transition_value(self, memory: Any, action: Any, next_state: Any = None) -> Any:
            return skdecide.Value(cost=0.0 if int(memory) == begin else float(flat.costs[0, action]))

        def _is_transition_value_dependent_on_next_state_(self) -> bool:
            return False

        def _is_goal(self, observation: Any) -> bool:
            return int(observation) != begin and bool(flat.goals[int(observation)])

        def _is_terminal(self, state: Any) -> bool:
            return self._is_goal(state)

        def _get_goals_(self) -> Any:
            return skdecide.ImplicitSpace(self._is_goal)

        def _get_initial_state_(self) -> int:
            return begin

        def _get_observation_space_(self) -> Any:
            return Listed(range(begin + 1))

        def _get_constraints_(self) -> Any:
            from skdecide.core import BoundConstraint

            return [
                BoundConstraint(
                    lambda memory, action, state, index=index: (
                        0.0 if int(memory) == begin else float(flat.costs[1 + index, action])
                    ),
                    "<=",
                    float(bound),
                    depends_on_next_state=False,
                )
                for index, bound in enumerate(flat.bounds.tolist())
                if isfinite(bound)
            ]

    return Flat()


def _ours(method: str, problem: HCSSP, options: Mapping[str, str | float] | None = None) -> Work:
    chosen = dict(options or {})
    gap = float(chosen.pop("gap", find_method(method).gap))
    solver = find_method(method).make(**chosen)

    def work(time_limit: float) -> Claim:
        known: list[float] = []

        def look(progress: Progress) -> None:
            if progress.stochastic is not None and not known:
                known.append(progress.seconds)

        plan = solve(problem, solver, [Gap(gap), MaxRuntime(time_limit)], look)
        status = str(plan.status)
        if method == "lp" and plan.stochastic is not None and plan.status is not Status.INFEASIBLE:
            # Its question is another one: the best randomised policy.
            status = "optimal"
        if method == "milp" and plan.found and plan.ending.reason is Reason.CONVERGED:
            # HiGHS claims so. Its bound is not certified, but its answer is complete.
            status = "optimal"
        found = None if plan.stochastic is None else plan.stochastic.value
        # The cost of a randomised plan is none of a deterministic one; its lower bound holds for both.
        mixed = plan.policies == "randomised"
        trace = tuple(
            (point.seconds, point.lower_bound, inf if mixed else point.upper_bound) for point in plan.trace
        )
        upper, at = inf if mixed else plan.upper_bound, known[0] if known else None
        return Claim(status, plan.lower_bound, upper, found, at, trace, str(plan.ending))

    return work


SOLVERS = {
    solver.name: solver
    for solver in (
        *(
            MeasuredSolver(
                method.name,
                method.description,
                partial(_ours, method.name),
                deterministic=method.name not in ("lp", "dual"),
            )
            for method in METHODS.values()
        ),
        MeasuredSolver(
            "storm",
            "Storm's multi(...) over randomised policies, to 1e-4",
            run_storm,
            deterministic=False,
            tolerance=1e-3,
        ),
        MeasuredSolver(
            "storm-deterministic",
            "Storm's multi(...) over deterministic plans, yes or no, with bisection to 1e-3",
            run_storm_deterministic,
            tolerance=1e-4,
        ),
        MeasuredSolver(
            "scikit-decide",
            "scikit-decide's CIDual over randomised policies; its plan is evaluated here",
            run_scikit_decide,
            deterministic=False,
        ),
    )
}
"""By name; our methods first, the default before all."""


PEERS = {"storm": ("storm", "storm-deterministic"), "scikit-decide": ("scikit-decide",)}
"""The other tools, each with the solvers that it sends."""


MODULES = {"storm": "stormpy", "scikit-decide": "skdecide"}
"""What must be installed for each of the other tools."""


def find_solver(name: str) -> MeasuredSolver:
    """The solver called `name`: one of :data:`SOLVERS`, or a method with options and a gap.

    >>> find_solver("budget-allocation:mode=published").name
    'budget-allocation:mode=published'

    Raises
    ------
    UnknownName
        If there is no such solver or option; the message lists those there are.
    InvalidOption
        If an option has no value.
    """
    base, _, text = name.partition(":")
    if not text:
        return looked_up("solver", name, SOLVERS)
    method = find_method(base)
    options: dict[str, str | float] = {}
    for part in text.split(","):
        option, equals, value = part.partition("=")
        if option not in (*method.options, "gap"):
            raise UnknownName(f"option of {base}", option, (*method.options, "gap"))
        if not equals or not value:
            raise InvalidOption(f"{name}: write {option}=VALUE")
        with suppress(ValueError):
            options[option] = float(value)
        options.setdefault(option, value)
    # Refused here, and not in a process of its own.
    if isinstance(options.get("gap"), str):
        raise InvalidOption(f"{name}: the gap is {options['gap']!r}; give a number")
    method.make(**{option: value for option, value in options.items() if option != "gap"})
    return replace(SOLVERS[base], name=name, prepare=partial(_ours, base, options=options))
