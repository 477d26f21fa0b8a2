"""A plan as a leaf of a behaviour tree of py_trees (``pip install 'hcssp[robot]'``).

:class:`FollowPlan` is the leaf, :class:`Robot` what it needs of a robot. A tick never waits: actions and
planning go on between ticks. When an action has ended and the map has changed, or more or less was spent than
the plan expected, the leaf plans the rest again, in a thread and within a deadline.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, Interrupter, MaxRuntime
from hcssp.contract.solver import Problem
from hcssp.errors import HcsspError
from hcssp.exchange.models import extra
from hcssp.execution import Decision, Run

extra("py_trees", "robot", "a leaf of a behaviour tree")

from py_trees.behaviour import Behaviour  # noqa: E402 - the line above says what to install
from py_trees.common import Status  # noqa: E402


class Robot(ABC):
    """The interface to a robot. A subclass implements it; only the first two methods are needed."""

    @abstractmethod
    def begin(self, decision: Decision) -> None:
        """Begin the action of a decision, and return at once.

        At an event it is a choice of which it has to be seen how it turns out, such as trying a door.
        """

    @abstractmethod
    def observed(self) -> Hashable | None:
        """The observation after the action, as for ``Run.step``; None while the action is running."""

    def used(self) -> Mapping[str, float]:
        """How much of some capacities was measured to be used, by name."""
        return {}

    def spent(self) -> Mapping[str, float]:
        """The measured spending of some costs since the plan began, by name."""
        return {}

    def changed_problem(self) -> Problem | None:
        """The problem as the world is now, once for each change."""
        return None

    def cancel(self) -> None:  # noqa: B027 - some robots have nothing to stop
        """Stop the current action."""


@dataclass(frozen=True)
class FollowParameters:
    """Parameters of the leaf.

    Attributes
    ----------
    deadline
        Seconds that planning again may take.
    gap
        The relative gap at which planning again ends before that.
    tolerance
        The rest is planned again if what was spent of a bounded cost differs from what the plan expected by
        more than this share of the bound.
    """

    deadline: float = 2.0
    gap: float = 1e-3
    tolerance: float = 0.05


class FollowPlan(Behaviour):
    """Follows a plan: RUNNING on the way, SUCCESS at the end, FAILURE if there is no plan for the rest.

    A tree that stops the leaf cancels the action and the planning. The next tick goes on from the last
    decision. After SUCCESS or FAILURE the next tick begins a new run.

    Parameters
    ----------
    plan
        What to do.
    robot
        Who does it.
    parameters
        When the rest is planned again, and for how long.
    name
        Of the leaf.

    Attributes
    ----------
    run
        The execution; None before the first tick and after the end.
    replanned
        How often the rest was planned again.
    """

    def __init__(
        self,
        plan: Plan,
        robot: Robot,
        parameters: FollowParameters = FollowParameters(),
        name: str = "follow plan",
    ) -> None:
        super().__init__(name)
        self.plan, self.robot, self.parameters = plan, robot, parameters
        self.run: Run | None = None
        self.replanned = 0
        # What was measured when the present run began, and which bounds it began with.
        self._counted: dict[str, float] = {}
        self._bounds: dict[str, float] = {}
        self._planner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planning")
        self._planning: Future[Run] | None = None
        # What is planned with: the changed problem, and what was spent.
        self._change: tuple[Problem | None, dict[str, float] | None] | None = None
        self._interrupter = Interrupter()

    def initialise(self) -> None:
        """Start a run, or continue the cancelled run or its planning."""
        run = self.run or self._started()
        if self._change is None:
            self._begin(run)
        else:
            self._plan(run, *self._change)

    def update(self) -> Status:
        """Pass the observation to the run, and start the next action."""
        run = self.run or self._started()
        try:
            if self._planning is None:
                seen = self.robot.observed()
                if seen is not None:
                    decision = run.step(seen, outcome=None, **self.robot.used())
                    if not decision.over and not self._plans_again(run, decision):
                        self._begin(run)
            elif self._planning.done():
                planning, self._planning, self._change = self._planning, None, None
                run = self._followed(planning.result())
                self.replanned += 1
                self._begin(run)
        except HcsspError as error:
            self.feedback_message = str(error)
            return Status.FAILURE
        self.feedback_message = str(run.decision)
        return Status.SUCCESS if run.over else Status.RUNNING

    def terminate(self, new_status: Status) -> None:
        """Stop the action and the planning; after the end forget the run."""
        if self._planning is not None:
            self._interrupter.interrupt()
            self._planning = None
        if new_status == Status.INVALID:
            self.robot.cancel()
        else:
            self.run = self._change = None

    def shutdown(self) -> None:
        """End the thread that plans."""
        self._interrupter.interrupt()
        self._planner.shutdown()

    def _started(self) -> Run:
        run = self.plan.start()
        run.step()
        return self._followed(run)

    def _followed(self, run: Run) -> Run:
        """The run, from now on the present one."""
        self.run = run
        self._counted = dict(self.robot.spent())
        left, spent = run.decision.budget_left, run.decision.spent
        self._bounds = {name: left[name] + spent.get(name, 0.0) for name in left}
        return run

    def _begin(self, run: Run) -> None:
        """Start the next action of the robot. Choices with only one outcome are skipped."""
        while not run.over and run.decision.activity is None and len(run.possible()) == 1:
            run.step()
        if not run.over:
            self.robot.begin(run.decision)

    def _plans_again(self, run: Run, decision: Decision) -> bool:
        """Whether the rest is planned again; if so, planning has begun."""
        problem, measured = self.robot.changed_problem(), self.robot.spent()
        spent = dict(decision.spent)
        for name, amount in measured.items():
            spent[name] = amount - self._counted.get(name, 0.0)
        differs = any(
            abs(spent[name] - decision.spent[name]) > self.parameters.tolerance * self._bounds[name]
            for name in measured
            if name in self._bounds
        )
        if problem is None and not differs:
            return False
        self._change = problem, spent if differs else None
        self._plan(run, *self._change)
        return True

    def _plan(self, run: Run, problem: Problem | None, spent: dict[str, float] | None) -> None:
        """Begin to plan the rest of a run."""
        self._interrupter = Interrupter()
        self._planning = self._planner.submit(
            run.replan,
            problem,
            spent,
            stop=[MaxRuntime(self.parameters.deadline), Gap(self.parameters.gap), self._interrupter],
        )
