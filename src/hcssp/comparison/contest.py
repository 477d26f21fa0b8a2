"""One contestant on one problem, in this process; reading the problem and handing it over is not measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from hcssp.comparison.contestants import find_contestant
from hcssp.comparison.measurement import Measurement
from hcssp.comparison.suite import Instance
from hcssp.errors import HcsspError, MissingDependency, UnsupportedProblem


def measured(
    instance: Instance, contestant: str, time_limit: float, on_ready: Callable[[int], object] = lambda _: None
) -> Measurement:
    """What a contestant does on a problem, in this process.

    Parameters
    ----------
    instance, contestant, time_limit
        Who solves what, in how many seconds.
    on_ready
        Called with the number of states when everything that is not measured is done.
    """
    problem = instance.problem()
    states = problem.flattening.num_states
    about = (instance.name, instance.domain, states, contestant, time_limit)
    try:
        work = find_contestant(contestant).prepare(problem)
        on_ready(states)
        began, cpu = time.perf_counter(), time.process_time()
        claim = work(time_limit)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    except MissingDependency as error:
        return Measurement(*about, "missing", note=str(error))
    except (UnsupportedProblem, NotImplementedError) as error:
        return Measurement(*about, "unsupported", note=str(error))
    except HcsspError as error:
        return Measurement(*about, "failed", note=str(error))
    except Exception as error:  # noqa: BLE001, whatever another tool raises is its answer
        return Measurement(*about, "failed", note=f"{type(error).__name__}: {error}")
    told = [point[0] for point in claim.trace if point[2] < inf]
    known = claim.randomised_seconds
    if known is None and claim.randomised is not None:
        known = seconds
    return Measurement(
        *about,
        claim.status,
        claim.lower_bound,
        claim.upper_bound,
        claim.randomised,
        told[0] if told else seconds if claim.upper_bound < inf else None,
        known,
        seconds,
        cpu_seconds,
        claim.trace,
        claim.note,
    )
