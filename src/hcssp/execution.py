"""Following a plan in the world: pass each observation, receive the next action.

Problem: a robot's code has a plan and sensors. At every moment it needs the next thing to do.

Method: a :class:`Run` tracks its place in the procedure. Every call of :meth:`Run.step` takes what was
observed since the last one and answers with a :class:`Decision`: at an event the choice made there, in an
activity the action to take. What is observed is

- after an action, the label of the state that the robot is in now;
- after a choice, how it turned out: the name of the event that was reached or of the activity that
  begins, or the label of the state that the activity begins in, if that is unique; both, if neither
  is (``run.step((3, 4), outcome="cross")``);
- nothing, if the model has only one outcome: ``run.step()``. So a run begins.

The run of a single problem has no events: it begins in its initial state, which is passed unless there is
only one, and every decision is an action.

Where states carry capacities (:mod:`hcssp.procedure.product`), the cell is passed with the measured amounts
used: ``run.step((3, 4), battery=12)``. Without a measurement the model's amounts count. A
measurement that differs from the model replaces it: the run goes on from the measured level if the plan has
an action there, else the rest is planned again (:attr:`Decision.replanned`).

Guarantee: an observation that the model calls impossible raises
:class:`~hcssp.errors.ImpossibleObservation` and changes nothing; the next call may pass another observation.

**Figures.** The model knows what an action costs if it reaches a state, not what it really cost this time.
:attr:`Decision.spent` is the sum of what the model says about all transitions made so far, and
:attr:`Decision.budget_left` the bound less that. A bound is kept in expectation, over many runs: in an
unlucky one the budget left may fall below 0, and the plan is still the one that keeps its bounds.
:attr:`Decision.remaining` is the expected cost-to-go, from here to the end.

>>> from hcssp import CSSPBuilder, Outcome, ProcedureBuilder, solve
>>> room = CSSPBuilder(cost_names=("minutes", "smoke"))
>>> inside, door = room.add_state("inside"), room.add_goal("door")
>>> _ = room.add_action(inside, "crawl", to=door, costs={"minutes": 4})
>>> _ = room.add_action(inside, "run", to={door: 0.5, inside: 0.5}, costs={"minutes": 1, "smoke": 2})
>>> room.set_initial(inside)
>>> procedure = ProcedureBuilder()
>>> start, at_door, out = (procedure.add_event(name) for name in ("start", "at-door", "out"))
>>> cross = procedure.add_activity("cross", room.build())
>>> back = procedure.add_activity("go-round", room.build())
>>> _ = procedure.add_choice(start, "cross", to=[Outcome(1.0, at_door, runs=cross)])
>>> _ = procedure.add_choice(at_door, "open", to=[Outcome(0.9, out), Outcome(0.1, out, runs=back)])
>>> _ = procedure.add_constraint("smoke", at_most=1.0, counts={cross: "smoke", back: "smoke"})
>>> problem = procedure.build(start=start, end=out)
>>> plan = solve(problem)

>>> run = plan.start()
>>> print(run.step())
at start: choose cross; remaining: minutes 4.2, smoke 0.4; left: smoke 1
>>> print(run.step("inside"))
in cross, state 'inside': crawl; remaining: minutes 4.2, smoke 0.4; left: smoke 1
>>> print(run.step("door"))
at at-door: choose open; remaining: minutes 0.2, smoke 0.4; left: smoke 1
>>> run.possible()
[('out', None), ('go-round', 'inside')]
>>> print(run.step("go-round"))
in go-round, state 'inside': run; remaining: minutes 2, smoke 4; left: smoke 1
>>> run.step("hall")
Traceback (most recent call last):
    ...
hcssp.errors.ImpossibleObservation: activity 'go-round', state 'inside', action 'run': 'hall' cannot be
observed next; possible: 'inside', 'door'
>>> print(run.step("inside"))
in go-round, state 'inside': run; remaining: minutes 2, smoke 4; left: smoke -1
>>> print(run.step("door"))
at out: over; spent: minutes 6, smoke 4; left: smoke -3
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt

from hcssp.cssp.labels import as_label
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.product import LevelLabel, base_of, used_in, with_used
from hcssp.errors import ImpossibleObservation, InvalidProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import expected_remaining
from hcssp.evaluation.simulation import Simulation, simulate
from hcssp.procedure import (
    HCSSP,
    Outcome,
    ProcedurePolicy,
)
from hcssp.procedure.model import entry_distribution, goal_event_states
from hcssp.procedure.nesting import enters
from hcssp.procedure.policy import Policy
from hcssp.procedure.product import capacity_model

if TYPE_CHECKING:
    from hcssp.contract.plan import Plan
    from hcssp.contract.solver import SearchOptions
    from hcssp.cssp.implicit import ImplicitCSSP
    from hcssp.cssp.model import CSSP


@dataclass(frozen=True)
class Decision:
    """What to do now, where, and with what left.

    Attributes
    ----------
    action
        The label of the action to take, or at an event the name of the choice; None once the run is over, and
        before the first state of a single problem is observed.
    event
        The event that was reached last; empty in a single problem, which has none.
    activity
        The activity that is being executed; None at an event, and in a single problem.
    state
        The label of the activity's state; at an event that of the state it was entered in, if it can be
        entered in several; else None.
    spent
        The expected costs of all actions decided before this one since the plan began, by name; of a limit
        for each execution of a use, those in the execution that is under way.
    remaining
        The expected costs from here to the end, by name, this action's included.
    budget_left
        For each constraint the bound less what is spent; ``inf`` where there is no bound. If the rest was
        planned again, the bound is what was left for it.
    over
        Whether the end is reached and nothing is left to do.
    cell
        The state without its levels, such as a cell; the same as `state` if it has none.
    used
        How much of each capacity has been used, by name: what was measured last, and what the model expects
        since then.
    replanned
        Whether what was measured led to where the plan says nothing, so that the rest was planned again.
    """

    action: Hashable | None
    event: str
    activity: str | None
    state: Hashable | None
    spent: Mapping[str, float]
    remaining: Mapping[str, float]
    budget_left: Mapping[str, float]
    over: bool = False
    cell: Hashable | None = None
    used: Mapping[str, float] = field(default_factory=dict)
    replanned: bool = False

    def __str__(self) -> str:
        if not self.event:
            where = "at the start" if self.action is None else f"in state {self._shown}: {self.action}"
            where = "over" if self.over else where
        elif self.activity is None:
            what = "over" if self.over else f"choose {self.action}"
            entered = "" if self.state is None else f" (entered in {self._shown})"
            where = f"at {self.event}{entered}: {what}"
        else:
            where = f"in {self.activity}, state {self._shown}: {self.action}"
        figures = f"spent: {_listed(self.spent)}" if self.over else f"remaining: {_listed(self.remaining)}"
        left = f"; left: {_listed(self.budget_left)}" if self.budget_left else ""
        return f"{where}; {figures}{left}{'; planned again' if self.replanned else ''}"

    @property
    def _shown(self) -> str:
        return with_used(self.state) if isinstance(self.state, LevelLabel) else repr(self.state)


def _listed(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in figures.items())


class Run:
    """One execution of a policy, from its start to its end; ``plan.start()`` makes one.

    Parameters
    ----------
    policy
        What to do.
    plan
        The plan of that policy, which :meth:`replan` needs; ``plan.start()`` gives it.
    options
        How the rest is planned where measured amounts lead to where the plan says nothing.
    seed
        Identifies the random choices of a randomised policy; None for different ones in every run.
    """

    def __init__(
        self,
        policy: Policy,
        plan: Plan | None = None,
        options: SearchOptions | None = None,
        seed: int | None = None,
    ) -> None:
        self._plan = plan
        self._options: SearchOptions = {} if options is None else options
        self._replanned = False
        # A single problem is run as the only activity of a procedure, whose one choice goes without saying.
        self._single = not isinstance(policy, ProcedurePolicy)
        if not isinstance(policy, ProcedurePolicy):
            # An improper policy is reported here with the names of its problem.
            induced_chain(policy.problem, policy).require_proper()
        self._problem = policy.problem.procedure
        self._policy = policy.procedure
        self._flattening = self._problem.flattening
        self._chain, self._mixed = induced_chain(self._problem, self._policy), self._policy.mixed()
        self._generator = np.random.default_rng(seed)
        self._remaining = expected_remaining(self._problem, self._policy)  # checks the policy, too
        self._spent: FloatArray = np.zeros(len(self._flattening.cost_names))
        # What was spent by plans before this one.
        self._before: Mapping[str, float] = {}
        # What plans before this one were charged with, of the bounds for the whole way.
        self._charged: dict[str, float] = {}
        self._allowed = {
            each.name: (each.per.carried if each.per else 0.0) or each.limit
            for each in self._problem.constraints
        }
        self._begun = False
        self._event_state = self._flattening.start
        # The activity and its local state; None at an event.
        self._inside: tuple[int, int] | None = None
        self._flat_states: dict[int, IntArray] = {}
        model = capacity_model(self._problem)
        self._used = {} if model is None else {each.name: each.used for each in model.capacities}
        self._draw()
        self._observations = Observations(self._policy, self._single, self._where)

    def step(
        self,
        observation: Hashable | Sequence[object] | npt.NDArray[np.generic] | None = None,
        *,
        outcome: str | None = None,
        **used: float,
    ) -> Decision:
        """Pass an observation, and return the next decision.

        Parameters
        ----------
        observation
            A state's label, or after a choice also the name of an event or activity; None if nothing
            else is possible. A list or an array counts as a tuple.
        outcome
            After a choice, the event or activity that it led to, where `observation` is a state.
        used
            By the names of capacities, how much of them was measured to be used; without, what the model
            expects.

        Raises
        ------
        ImpossibleObservation
            If the model calls it impossible, or it is ambiguous; the run stays as it was.
        NoSolution, BudgetSpent
            If the plan says nothing about the measured amounts, and there is no plan for the rest.
        """
        seen = as_label(observation)
        ahead = copy(self)
        ahead._replanned = False
        ahead._spent, ahead._used = self._spent.copy(), dict(self._used)
        ahead._charged, ahead._allowed = dict(self._charged), dict(self._allowed)
        if not self._begun and not self._single:
            ahead._begin(seen, outcome)
            if used:
                raise ImpossibleObservation("nothing is measured before the first choice; pass it afterwards")
        elif self._inside is not None:
            local = self._observations.state_of(*self._inside, seen, outcome, used)
            expected = self._observations.state_of(*self._inside, seen, outcome, {}) if used else local
            ahead._spend(expected)
            ahead = ahead._entered(self._inside[0], local, expected)
        elif self._event_state == self._flattening.end:
            raise ImpossibleObservation(f"{self._where()}: the run is over; start another one")
        else:
            event, entry = self._flattening.event_states[self._event_state]
            happened, start = self._observations.outcome_of(event, entry, seen, outcome, used)
            begun = self._observations.outcome_of(event, entry, seen, outcome, {})[1] if used else start
            ahead._begun = True
            if happened.runs is None or start is None:
                ahead._begin_uses(happened)
                modelled = (self._problem.events[happened.event], entry)
                if used:
                    entry = self._observations.measured_label(entry, used)
                ahead = ahead._at_event(happened.event, entry, entry, modelled)
            else:
                ahead = ahead._entered(happened.runs, start, start if begun is None else begun)
        moved = self._begun or self._single
        self.__dict__.update(ahead.__dict__)
        if moved:
            self._draw()
        self._observations = Observations(self._policy, self._single, self._where)
        return self.decision

    @property
    def decision(self) -> Decision:
        """What to do now; the same that the last step returned.

        Before the first step of a single problem there is no action yet: it may begin in several states.
        """
        flattening, state = self._flattening, self._flat_state
        names = flattening.cost_names
        spent = dict(zip(names, self._spent.tolist(), strict=True))
        event, entry = flattening.event_states[self._event_state]
        action: Hashable | None = None
        activity, label = None, entry
        if self._inside is not None:
            index, local = self._inside
            cssp = self._problem.activities[index].cssp
            activity = None if self._single else self._problem.activities[index].name
            label = cssp.state_labels[local]
            action = cssp.action_labels[int(self._policy.activities[index][local])]
        elif state != flattening.end and not self._single:
            action = self._problem.choices[self._policy.choices[event, entry]].name
        return Decision(
            action=action,
            event="" if self._single else self._problem.events[event],
            activity=activity,
            state=label,
            spent=spent,
            remaining=dict(zip(names, self._remaining[:, state].tolist(), strict=True)),
            budget_left={name: allowed - spent[name] for name, allowed in self._allowed.items()},
            over=state == flattening.end,
            cell=base_of(label),
            used=dict(self._used),
            replanned=self._replanned,
        )

    def __repr__(self) -> str:
        return f"<Run of {self._problem.name or 'a plan'}: {self.decision}>"

    @property
    def over(self) -> bool:
        """Whether the end is reached."""
        return self._begun and self._flat_state == self._flattening.end

    @property
    def total_spent(self) -> dict[str, float]:
        """As :attr:`Decision.spent`, but since the run began, also by plans before this one."""
        spent = zip(self._flattening.cost_names, self._spent.tolist(), strict=True)
        return {name: self._before.get(name, 0.0) + amount for name, amount in spent}

    @property
    def plan(self) -> Plan | None:
        """The plan that is followed; None if the run was begun without one."""
        return self._plan

    def replan(
        self,
        problem: CSSP | HCSSP | ImplicitCSSP | None = None,
        spent: Mapping[str, float] | None = None,
        used: Mapping[str, float] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Run:
        """Plan the rest again from here, for example in a changed world, and continue with that plan.

        Parameters
        ----------
        problem
            The whole problem as the world is now, whatever was planned again before; None if nothing has
            changed but the budgets.
        spent
            What was spent since this plan began, if that is to count, such as ``run.decision.spent``; None if
            what the plan expected until here counts. See :mod:`hcssp.solving.replan`.
        used
            How much of capacities was measured to be used, by name; the model's amounts count for others.
        options
            As for :meth:`Plan.replan <hcssp.contract.plan.Plan.replan>`.

        Returns
        -------
        Run
            A run of the new plan that is where this one is; this one stays as it was. ``run.plan.kept`` says
            whether that is the old plan, because no better one was found in time.

        Raises
        ------
        NoSolution
            If there is no plan for the rest.
        HcsspError
            If the run is over, or was not begun by ``plan.start()``.
        """
        here = self.decision
        at, modelled = here if self._begun else None, None
        if used:
            if here.state is None:
                raise ImpossibleObservation(
                    f"{self._where()}: nothing is measured here; pass it with the next observation"
                )
            label = self._observations.measured_label(here.state, used)
            at, modelled = replace(here, state=label), (here.activity or here.event, here.state)
        run = self._planned_again(at, self._inside is not None, here.event, problem, spent, options, modelled)
        if used:
            run._used = {**self._used, **used_in(label)}
        return run

    def _planned_again(
        self,
        at: Decision | Hashable | None,
        inside: bool,
        event: str,
        problem: CSSP | HCSSP | ImplicitCSSP | None,
        spent: Mapping[str, float] | None,
        options: SearchOptions,
        reckoned_at: Hashable | None = None,
    ) -> Run:
        """A run by a plan for the rest, from inside an activity or an event on."""
        if self._plan is None:
            raise InvalidProblem(["the run was started without a plan; start it with plan.start()"])
        charged = None if problem is None else self._charged
        plan = self._plan.replan(at, spent, problem, charged=charged, reckoned_at=reckoned_at, **options)
        run = plan.start(**self._options)
        run._before = self.total_spent
        run.step()
        if not self._single and self._begun:
            # What leads to the place where the rest begins leaves no choice.
            while run.decision.activity is None if inside else run.decision.event != event:
                run.step()
        if problem is not None and not problem.lists_states:
            # What bounds it has is all that is asked of the whole; its states are never listed.
            bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
            whole = run._problem.with_bounds(bounds)
        else:
            whole = self._problem if problem is None else problem.procedure
        before = self._charged if problem is None else {}
        left = {each.name: each.at_most for each in run._problem.constraints if each.per is None}
        run._charged = {
            each.name: before.get(each.name, 0.0) + each.limit - left.get(each.name, 0.0)
            for each in whole.constraints
            if each.limit < np.inf and (each.per is None or each.name in left)
        }
        return run

    def possible(self) -> list[tuple[str | None, Hashable | None]]:
        """What can be observed next: pairs of an outcome and a state, None where there is none."""
        if not self._begun and not self._single:
            return [(self._problem.events[self._problem.start], None)]
        if self._inside is not None:
            labels = self._problem.activities[self._inside[0]].cssp.state_labels
            return [(None, labels[local]) for local in self._observations.states(*self._inside)]
        if self.over:
            return []
        here = self._flattening.event_states[self._event_state]
        return [self._observations.named(each) for each in self._observations.outcomes(*here)]

    def chances(self) -> list[float]:
        """The probability of each of :meth:`possible`, in the same order."""
        if not self._begun and not self._single:
            return [1.0]
        if self._inside is not None:
            return list(self._observations.states(*self._inside).values())
        if self.over:
            return []
        here = self._flattening.event_states[self._event_state]
        return list(self._observations.outcomes(*here).values())

    def simulate(self, runs: int = 10_000, seed: int = 0) -> Simulation:
        """Simulate the plan from here to the end: the distribution of the remaining costs.

        Parameters
        ----------
        runs, seed
            As for :func:`hcssp.evaluation.simulation.simulate`.
        """
        return simulate(self._problem, self._policy, runs, seed, begin=self._flat_state)

    @property
    def _flat_state(self) -> int:
        if self._inside is None:
            return self._event_state
        return self._flat(*self._inside)

    def _flat(self, activity: int, local: int) -> int:
        if activity not in self._flat_states:
            self._flat_states[activity] = self._flattening.flat_state(activity)
        return int(self._flat_states[activity][local])

    def _draw(self) -> None:
        """If the policy chooses at random, sample the action."""
        options = self._mixed.get(self._flat_state)
        if options is not None:
            rows = self._policy.rows.copy()
            drawn = self._generator.choice(len(options), p=[chance for _, chance in options])
            rows[self._flat_state] = options[drawn][0]
            self._policy = ProcedurePolicy(self._problem, rows)

    def _begin(self, seen: Hashable | None, outcome: str | None) -> None:
        start = self._problem.events[self._problem.start]
        for each in (seen, outcome):
            if each not in (None, start):
                raise ImpossibleObservation(f"a run begins at event {start!r}, not in {each!r}")
        self._begun = True

    def _entered(self, activity: int, local: int, expected: int) -> Run:
        """The run in a state of an activity, which may be its end and so the next event.

        Where the plan says nothing about it, what it expected in the state `expected` of the model counts.
        """
        cssp, flat = self._problem.activities[activity].cssp, self._flat(activity, local)
        name, label = self._problem.activities[activity].name, cssp.state_labels[local]
        modelled = (name, cssp.state_labels[expected])
        if cssp.goals[local]:
            entered = goal_event_states(self._problem, activity)[local] if flat < 0 else None
            return self._at_event(*(entered or self._flattening.event_states[flat]), label, modelled)
        self._inside = (activity, local)
        self._used.update(used_in(label))
        return self if self._says_something(flat) else self._off_the_plan((name, label), modelled)

    def _at_event(
        self, event: int, entry: Hashable | None, label: Hashable | None, modelled: Hashable
    ) -> Run:
        """The run at an event that was entered with a label, in the state of another."""
        self._inside = None
        self._used.update(used_in(label))
        entry = None if event == self._problem.end else entry
        if (event, entry) in self._flattening.event_states:
            self._event_state = self._flattening.event_state(event, entry)
            if self._says_something(self._event_state):
                return self
        return self._off_the_plan((self._problem.events[event], entry), modelled)

    def _says_something(self, state: int) -> bool:
        """Whether the plan can be followed from a flat state to the end."""
        return bool(np.isfinite(self._remaining[:, state]).all())

    def _off_the_plan(self, place: tuple[str, Hashable | None], modelled: Hashable) -> Run:
        """The run by a plan for the rest, from where the measured amounts are."""
        if self._plan is None:
            remedy = "start the run with plan.start(), which plans the rest again"
            raise ImpossibleObservation(f"the plan has no decision for {place!r}; {remedy}")
        options = self._options
        if options.get("stop") is None and options.get("gap") is None:
            # A robot waits.
            options = {**options, "gap": 1e-3}
        run = self._planned_again(place, self._inside is not None, place[0], None, None, options, modelled)
        run._used, run._replanned = self._used, True
        return run

    def _begin_uses(self, happened: Outcome) -> None:
        """Limits of uses are for each execution: where one begins, nothing of it is spent."""
        before = self._flattening.event_states[self._event_state][0]
        for row, constraint in enumerate(self._problem.constraints, 1):
            if constraint.per is None:
                continue
            use = self._problem.uses[constraint.per.use]
            if enters(use, before, happened.event):
                self._spent[row] = 0.0
                self._charged.pop(constraint.name, None)
                self._allowed[constraint.name] = constraint.limit

    def _spend(self, reached: int) -> None:
        """Add the costs of the last action, which may depend on the state that it reached."""
        row = int(np.searchsorted(self._chain.rows, self._policy.rows[self._flat_state]))
        costs = self._chain.problem.costs[:, row]
        if self._inside is not None:
            index, local = self._inside
            paid = self._problem.activities[index].cssp.transition_costs
            own = None if paid is None else paid.given(int(self._policy.activities[index][local]), reached)
            if own is not None:
                costs = self._flattening.counted_costs(index, own[:, np.newaxis])[:, 0]
        self._spent = self._spent + costs

    def _where(self) -> str:
        decision = self.decision
        if self._single:
            if decision.action is None:
                return "the end" if decision.over else "the start"
            return f"state {decision.state!r}, action {decision.action!r}"
        if decision.activity is None:
            choice = "" if decision.over else f", choice {decision.action!r}"
            return f"event {decision.event!r}{choice}"
        return f"activity {decision.activity!r}, state {decision.state!r}, action {decision.action!r}"


Begun = tuple[Outcome, int | None]
"""An outcome, and the local state in which its activity begins; None if it runs none."""


class Observations:
    """The observations that the model allows under a policy, and the meaning of each.

    After an action that is a state. After a choice it is an outcome, by the name of its activity or event,
    and the state in which its activity begins: whichever identifies it. Other observations are refused with a
    list of the possible ones. Where states carry capacities, the state without its levels suffices, such as a
    cell. Measured amounts need not be those of the model: the state is then the same one at the measured
    level.

    Parameters
    ----------
    policy
        The action.
    single
        Whether the problem is a single one, which has no events.
    where
        Says where the run is, for error messages.
    """

    def __init__(self, policy: ProcedurePolicy, single: bool, where: Callable[[], str]) -> None:
        self._problem: HCSSP = policy.problem
        self._policy, self._single, self._where = policy, single, where

    def states(self, activity: int, local: int) -> dict[int, float]:
        """The local states that the action in a state of an activity can lead to, and their probabilities."""
        transitions = self._problem.activities[activity].cssp.transitions
        row = int(self._policy.activities[activity][local])
        span = slice(transitions.indptr[row], transitions.indptr[row + 1])
        reached = zip(transitions.indices[span].tolist(), transitions.data[span].tolist(), strict=True)
        return {state: chance for state, chance in reached if chance > 0.0}

    def outcomes(self, event: int, entry: Hashable | None) -> dict[Begun, float]:
        """How the choice can turn out at an event that was entered in some state, and the probabilities."""
        found: dict[Begun, float] = {}
        for each in self._problem.choices[self._policy.choices[event, entry]].outcomes:
            if not each.probability > 0.0:
                continue
            if each.runs is None:
                # Two ways to the same event without an activity are one: they cannot be distinguished.
                alike = (key for key in found if key[0].runs is None and key[0].event == each.event)
                begun: Begun = next(alike, (each, None))
                found[begun] = found.get(begun, 0.0) + each.probability
            else:
                starts, chances = entry_distribution(self._problem.activities[each.runs], entry)
                for start, chance in zip(starts.tolist(), chances.tolist(), strict=True):
                    found[each, start] = found.get((each, start), 0.0) + each.probability * chance
        return found

    def named(self, possible: Begun) -> tuple[str | None, Hashable | None]:
        """The name of an outcome, None in a single problem, and the label of the state."""
        return None if self._single else self._name(possible[0]), self._start_label(possible)

    def state_of(
        self,
        activity: int,
        local: int,
        seen: Hashable | None,
        outcome: str | None,
        used: Mapping[str, float],
    ) -> int:
        """The local state that the robot is in after the action in a state of an activity.

        At the amounts that were measured, also if the action cannot lead there.
        """
        if outcome is not None:
            raise ImpossibleObservation(
                f"{self._where()}: an action has no outcome {outcome!r} but a next state; pass that"
            )
        labels = self._problem.activities[activity].cssp.state_labels
        successors = list(self.states(activity, local))
        matching = successors if seen is None else [each for each in successors if _is_at(labels[each], seen)]
        if used:
            matching = list(dict.fromkeys(self._measured(activity, each, used) for each in matching))
        if len(matching) != 1:
            unclear = seen is not None and bool(matching)
            raise self._impossible(seen, [repr(labels[each]) for each in matching or successors], unclear)
        return matching[0]

    def measured_label(self, label: Hashable, used: Mapping[str, float]) -> LevelLabel:
        """The label of the same state at the amounts that were measured."""
        try:
            if isinstance(label, LevelLabel):
                return label.at(used)
        except InvalidProblem as error:
            raise ImpossibleObservation(f"{self._where()}: {error.violations[0]}") from error
        raise ImpossibleObservation(f"{self._where()}: there is no capacity {min(used)!r}; measure none")

    def _measured(self, activity: int, local: int, used: Mapping[str, float]) -> int:
        cssp = self._problem.activities[activity].cssp
        return cssp.state_index[self.measured_label(cssp.state_labels[local], used)]

    def outcome_of(
        self,
        event: int,
        entry: Hashable | None,
        seen: Hashable | None,
        outcome: str | None,
        used: Mapping[str, float],
    ) -> Begun:
        """How the choice turned out; in a single problem, where it begins.

        At the amounts that were measured, also if the choice cannot lead there.
        """
        possible = list(self.outcomes(event, entry))
        if self._single and outcome is not None:
            raise ImpossibleObservation(
                f"{self._where()}: there is no outcome {outcome!r} but a first state; pass that"
            )

        def is_called(each: Begun, name: Hashable) -> bool:
            return name in (self._name(each[0]), *(self._problem.events[end] for end in each[0].events))

        # An immediate event is more specific than the event to which an activity leads.
        matching = [each for each in possible if outcome is None or self._name(each[0]) == outcome]
        matching = matching or [each for each in possible if is_called(each, outcome)]
        if seen is not None:
            by_state = [each for each in matching if _is_at(self._start_label(each), seen)]
            exactly = [each for each in matching if self._name(each[0]) == seen]
            loosely = [each for each in matching if is_called(each, seen)]
            # The name of an activity is more specific than that of the event after it.
            matching = by_state if self._single else by_state or exactly or loosely
        if len(matching) != 1:
            observed = seen if outcome is None else (outcome if seen is None else (outcome, seen))
            shown = [self._shown(each) for each in (matching or possible)]
            raise self._impossible(observed, shown, unclear=bool(matching))
        happened, start = matching[0]
        if used and happened.runs is not None and start is not None:
            start = self._measured(happened.runs, start, used)
        return happened, start

    def _name(self, outcome: Outcome) -> str:
        """The name of an outcome: its activity, or its event if it runs none."""
        if outcome.runs is None:
            return self._problem.events[outcome.event]
        return self._problem.activities[outcome.runs].name

    def _start_label(self, possible: Begun) -> Hashable | None:
        outcome, start = possible
        if outcome.runs is None or start is None:
            return None
        return self._problem.activities[outcome.runs].cssp.state_labels[start]

    def _shown(self, possible: Begun) -> str:
        """An outcome and the state that it begins in, for an error message."""
        if self._single:
            return repr(self._start_label(possible))
        where = "" if possible[1] is None else f" in {self._start_label(possible)!r}"
        return repr(self._name(possible[0])) + where

    def _impossible(
        self, seen: Hashable | None, possible: Sequence[str], unclear: bool = False
    ) -> ImpossibleObservation:
        listed = ", ".join(possible[:10]) + (" and more" if len(possible) > 10 else "")
        if seen is None:
            return ImpossibleObservation(f"{self._where()}: pass what was observed; possible: {listed}")
        if unclear:
            return ImpossibleObservation(
                f"{self._where()}: {seen!r} is ambiguous; pass outcome and state; possible: {listed}"
            )
        return ImpossibleObservation(f"{self._where()}: {seen!r} cannot be observed next; possible: {listed}")


def _is_at(label: Hashable | None, seen: Hashable) -> bool:
    """Whether a label is what was seen, or the state without its levels is."""
    return label == seen or base_of(label) == seen
