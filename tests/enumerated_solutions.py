"""Every solution of a small procedure, activity by activity: who runs, what it costs, what each one uses.

Unlike brute force on the flat problem this knows the use of every single activity, so that it can tell in
which box of allocations a solution lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from brute_force_procedures import brute_force_flat
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.procedure.model import HCSSP


@dataclass(frozen=True)
class Solutions:
    """One line for each solution.

    Attributes
    ----------
    costs
        The primary cost, then one for each constraint.
    executions
        Of each activity.
    usage
        For each activity, what one execution costs, in the activity's own order; NaN if it does not run.
    """

    costs: FloatArray
    executions: FloatArray
    usage: FloatArray

    def feasible(self, bounds: FloatArray) -> BoolArray:
        return np.all(self.costs[:, 1:] <= bounds + 1e-9 * np.abs(bounds) + 1e-14, axis=1)


def procedures(problem: HCSSP) -> FloatArray:
    """The expected executions of each activity, one line for each way to choose."""
    flattening = problem.flattening
    lines = []
    options = [range(*flattening.event_row_start[s : s + 2]) for s in range(flattening.num_event_states)]
    for rows in product(*(option or [-1] for option in options)):
        executions = np.zeros(problem.num_activities)
        pending = {problem.start: 1.0}
        while pending:
            event, probability = pending.popitem()
            row = rows[flattening.event_state(event)]
            if row < 0:
                continue
            for outcome in problem.choices[int(flattening.event_row_choice[row])].outcomes:
                if outcome.probability == 0.0:
                    continue
                share = probability * outcome.probability
                pending[outcome.event] = pending.get(outcome.event, 0.0) + share
                if outcome.runs is not None:
                    executions[outcome.runs] += share
        lines.append(executions)
    return np.unique(np.round(lines, 14), axis=0)


def enumerate_solutions(problem: HCSSP, most: int = 20_000) -> Solutions | None:
    """All solutions, or None if there are more than `most`."""
    policies = [np.unique(np.round(brute_force_flat(a.cssp).costs, 12), axis=0) for a in problem.activities]
    costs, executions, usage = [], [], []
    width = max(len(each[0]) for each in policies)
    for likelihood in procedures(problem):
        running = np.flatnonzero(likelihood > 0.0)
        if len(costs) + np.prod([len(policies[k]) for k in running]) > most:
            return None
        for chosen in product(*(policies[k] for k in running)):
            total = np.zeros(1 + problem.num_constraints)
            used = np.full((problem.num_activities, width), np.nan)
            for activity, own in zip(running.tolist(), chosen, strict=True):
                used[activity, : len(own)] = own
                total[0] += likelihood[activity] * own[0]
                for j, constraint in enumerate(problem.constraints):
                    if activity in constraint.counts:
                        total[1 + j] += likelihood[activity] * own[constraint.counts[activity]]
            costs.append(total)
            executions.append(likelihood)
            usage.append(used)
    return Solutions(np.array(costs), np.array(executions), np.array(usage))
