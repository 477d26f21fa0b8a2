"""Following a plan in the world: tell what was observed, be told what to do next.

Problem: a robot's code has a plan and sensors. At every moment it needs the next thing to do.

Method: a :class:`Run` knows where in the procedure it is. Every call of :meth:`Run.step` takes what was
observed since the last one and answers with a :class:`Decision`: at an event the choice made there, in an
activity the action to take. What is observed is

- after an action, the label of the state that the robot is in now;
- after a choice, how it turned out: the name of the event that was reached or of the activity that
  begins, or the label of the state that the activity begins in, whichever tells it; both, where neither
  does alone (``run.step((3, 4), outcome="cross")``);
- nothing, where the model leaves only one possibility: ``run.step()``. So a run begins.

The run of a single problem has no events: it begins in its initial state, which is told unless there is only
one, and every decision is an action.

Where states carry capacities (:mod:`hcssp.procedure.capacities`), the cell is told and what was measured of
them, as amounts used: ``run.step((3, 4), battery=12)``. Without a measurement the model's amounts count. A
measurement that differs from the model is believed: the run goes on from the measured level if the plan says
what to do there, else the rest is planned again (:attr:`Decision.replanned`).

Guarantee: an observation that the model calls impossible raises
:class:`~hcssp.errors.ImpossibleObservation` and changes nothing; the next call may tell something else.

**Figures.** The model knows what an action costs if it reaches a state, not what it really cost this time.
:attr:`Decision.spent` is the sum of what the model says about all transitions made so far, and
:attr:`Decision.budget_left` the bound less that. A bound is kept in expectation, over many runs: in an
unlucky one the budget left may fall below nought, and the plan is still the one that keeps its bounds.
:attr:`Decision.remaining` is what is still to come in expectation, from here to the end.

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
at start: choose cross; to come: minutes 4.2, smoke 0.4; left: smoke 1
>>> print(run.step("inside"))
in cross, state 'inside': crawl; to come: minutes 4.2, smoke 0.4; left: smoke 1
>>> print(run.step("door"))
at at-door: choose open; to come: minutes 0.2, smoke 0.4; left: smoke 1
>>> run.possible()
[('out', None), ('go-round', 'inside')]
>>> print(run.step("go-round"))
in go-round, state 'inside': run; to come: minutes 2, smoke 4; left: smoke 1
>>> run.step("hall")
Traceback (most recent call last):
    ...
hcssp.errors.ImpossibleObservation: activity 'go-round', state 'inside', action 'run': 'hall' cannot be
observed next; possible: 'inside', 'door'
>>> print(run.step("inside"))
in go-round, state 'inside': run; to come: minutes 2, smoke 4; left: smoke -1
>>> print(run.step("door"))
at out: over; spent: minutes 6, smoke 4; left: smoke -3
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.levels import base_of, used_in
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import ImpossibleObservation, InvalidProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import expected_remaining
from hcssp.execution.decision import Decision
from hcssp.execution.observations import Observations
from hcssp.procedure import Outcome, ProcedurePolicy, as_procedure, as_procedure_policy, policy_chain
from hcssp.procedure.capacities import capacity_model
from hcssp.procedure.entries import goal_event_states
from hcssp.procedure.limits import enters

if TYPE_CHECKING:
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import Progress
    from hcssp.contract.solver import SearchOptions, Solver
    from hcssp.contract.stop import Stop
    from hcssp.cssp.model import CSSP
    from hcssp.procedure.model import HCSSP


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
    """

    def __init__(
        self,
        policy: DeterministicPolicy | ProcedurePolicy,
        plan: Plan | None = None,
        options: SearchOptions | None = None,
    ) -> None:
        self._plan = plan
        self._options: SearchOptions = {} if options is None else options
        self._replanned = False
        # A single problem is run as the only activity of a procedure, whose one choice goes without saying.
        self._single = isinstance(policy, DeterministicPolicy)
        if isinstance(policy, DeterministicPolicy):
            # Here an improper policy is told in the words of its own problem.
            induced_chain(policy.problem, policy).require_proper()
        self._problem = as_procedure(policy.problem)
        self._policy = as_procedure_policy(self._problem, policy)
        self._flattening = self._problem.flattening
        self._observations = Observations(self._policy, self._single, self._where)
        self._chain, only_policy = policy_chain(self._policy)
        self._remaining = expected_remaining(self._chain, only_policy)  # checks the policy, too
        self._spent: FloatArray = np.zeros(len(self._chain.cost_names))
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

    def step(
        self,
        observation: Hashable | Sequence[object] | npt.NDArray[np.generic] | None = None,
        *,
        outcome: str | None = None,
        **used: float,
    ) -> Decision:
        """Tell what was observed, and be told what to do.

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
            If the model calls it impossible, or it does not tell what happened; the run stays as it was.
        NoSolution, BudgetSpent
            If the plan says nothing about the measured amounts, and there is no plan for the rest.
        """
        # What was read from JSON or computed with arrays is meant as a tuple.
        seen: Hashable | None = (
            tuple(np.asarray(observation).tolist())
            if isinstance(observation, list | np.ndarray)
            else observation
        )
        ahead = copy(self)
        ahead._replanned = False
        ahead._spent, ahead._used = self._spent.copy(), dict(self._used)
        ahead._charged, ahead._allowed = dict(self._charged), dict(self._allowed)
        if not self._begun and not self._single:
            ahead._begin(seen, outcome)
            if used:
                raise ImpossibleObservation("nothing is measured before the first choice; tell it afterwards")
        elif self._inside is not None:
            local = self._observations.state_of(*self._inside, seen, outcome, used)
            expected = self._observations.state_of(*self._inside, seen, outcome, {}) if used else local
            ahead._spend(expected)
            ahead = ahead._entered(self._inside[0], local, expected)
        elif self._event_state == self._flattening.end:
            raise ImpossibleObservation(f"{self._where()}: the run is over; begin another one")
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
        self.__dict__.update(ahead.__dict__)
        self._observations = Observations(self._policy, self._single, self._where)
        return self.decision

    @property
    def decision(self) -> Decision:
        """What to do now; the same that the last step told.

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

    @property
    def over(self) -> bool:
        """Whether the end is reached."""
        return self._begun and self._flat_state == self._flattening.end

    def replan(
        self,
        problem: CSSP | HCSSP | ImplicitCSSP | None = None,
        spent: Mapping[str, float] | None = None,
        *,
        method: Solver | str | None = None,
        stop: Stop | None = None,
        time_limit: float | None = None,
        gap: float | None = None,
        on_progress: Callable[[Progress], object] | None = None,
    ) -> Run:
        """Plan the rest anew from here, and go on by that plan: the world is not what the plan took it for.

        Parameters
        ----------
        problem
            The whole problem as the world is now, whatever was planned anew before; None if nothing has
            changed but the budgets.
        spent
            What was spent since this plan began, if that is to count, such as ``run.decision.spent``; None if
            what the plan expected until here counts. See :mod:`hcssp.solving.replan`.
        method, stop, time_limit, gap, on_progress
            As for :func:`hcssp.solve`.

        Returns
        -------
        Run
            A run of the new plan that is where this one is; this one stays as it was.

        Raises
        ------
        NoSolution
            If there is no plan for the rest.
        HcsspError
            If the run is over, or was not begun by ``plan.start()``.
        """
        here = self.decision
        at = here if self._begun else None
        options: SearchOptions = {
            "method": method,
            "stop": stop,
            "time_limit": time_limit,
            "gap": gap,
            "on_progress": on_progress,
        }
        return self._planned_again(at, self._inside is not None, here.event, problem, spent, options)

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
            raise InvalidProblem(["the run was begun without a plan; begin it by plan.start()"])
        charged = None if problem is None else self._charged
        plan = self._plan.replan(at, spent, problem, charged=charged, reckoned_at=reckoned_at, **options)
        run = plan.start(**self._options)
        run.step()
        if not self._single and self._begun:
            # What leads to the place where the rest begins leaves no choice.
            while run.decision.activity is None if inside else run.decision.event != event:
                run.step()
        if isinstance(problem, ImplicitCSSP):
            # What bounds it has is all that is asked of the whole; its states are never listed.
            bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
            whole = run._problem.with_bounds(bounds)
        else:
            whole = self._problem if problem is None else as_procedure(problem)
        before = self._charged if problem is None else {}
        left = {each.name: each.at_most for each in run._problem.constraints if each.per is None}
        run._charged = {
            each.name: before.get(each.name, 0.0) + each.limit - left.get(each.name, 0.0)
            for each in whole.constraints
            if each.limit < np.inf and (each.per is None or each.name in left)
        }
        return run

    def possible(self) -> list[tuple[str | None, Hashable | None]]:
        """What can be observed next: pairs of an outcome and a state, None where there is none to tell."""
        if not self._begun and not self._single:
            return [(self._problem.events[self._problem.start], None)]
        if self._inside is not None:
            labels = self._problem.activities[self._inside[0]].cssp.state_labels
            return [(None, labels[local]) for local in self._observations.states(*self._inside)]
        if self.over:
            return []
        here = self._flattening.event_states[self._event_state]
        return [self._observations.named(each) for each in self._observations.outcomes(*here)]

    @property
    def _flat_state(self) -> int:
        if self._inside is None:
            return self._event_state
        return self._flat(*self._inside)

    def _flat(self, activity: int, local: int) -> int:
        if activity not in self._flat_states:
            self._flat_states[activity] = self._flattening.flat_state(activity)
        return int(self._flat_states[activity][local])

    def _begin(self, seen: Hashable | None, outcome: str | None) -> None:
        start = self._problem.events[self._problem.start]
        for told in (seen, outcome):
            if told not in (None, start):
                raise ImpossibleObservation(f"a run begins at event {start!r}, not in {told!r}")
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
            told = "begin the run by plan.start(), which plans the rest again"
            raise ImpossibleObservation(f"the plan says nothing about {place!r}; {told}")
        run = self._planned_again(
            place, self._inside is not None, place[0], None, None, self._options, modelled
        )
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
        """Count what the action cost that was taken, which may depend on the state that it reached."""
        costs = self._chain.costs[:, int(self._chain.row_start[self._flat_state])]
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
