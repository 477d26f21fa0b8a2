"""The model checker Storm as a contestant, through stormpy.

The flat problem is handed over in Storm's explicit format. Over schedulers that may draw lots Storm is asked
for ``multi(R{primary}min=?, R{...} <= bound, ...)`` until the goal, with its sound algorithms.

Restricted to positional deterministic schedulers, Storm 2.0 answers the same question with figures around
nought, but whether a cost can be kept, ``multi(R{primary} <= cost, ...)``, it answers well: so the least such
cost is found by bisection.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from math import inf, isfinite
from pathlib import Path
from typing import Any

from hcssp.exchange.drn import drn_text
from hcssp.exchange.extras import extra
from hcssp.procedure import HCSSP

PRECISION = "1e-4"
"""Of Storm's values, absolute. At 1e-6 its sound value iteration does not end on problems of 64 states."""

CLOSE = 1e-3
"""The relative distance at which a bisection ends."""

LARGEST = 1e12
"""A problem whose plans would all cost more is taken for one without plans."""


def run_storm(problem: HCSSP) -> Callable[[], float | None]:
    """The question over plans that may draw lots; asking it answers with the value, None without a plan.

    Raises
    ------
    MissingDependency
        If stormpy is not installed.
    """
    storm = _Storm(problem)
    asked = storm.formula("min=?")
    environment = storm.environment(deterministic=False)

    def ask() -> float | None:
        value = storm.answer(asked, environment).get_value(storm.model.initial_states[0])
        return float(value) if not isinstance(value, bool) and isfinite(value) else None

    return ask


def run_storm_deterministic(problem: HCSSP) -> Callable[[float], tuple[float, float]]:
    """The question over deterministic plans; asked with a time limit, it answers with an interval.

    Raises
    ------
    MissingDependency
        If stormpy is not installed.
    """
    storm = _Storm(problem)
    environment = storm.environment(deterministic=True)

    def can_keep(cost: float) -> bool:
        return bool(storm.answer(storm.formula(f"<={cost!r}"), environment).exists_true())

    def ask(time_limit: float) -> tuple[float, float]:
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
                return inf, inf
        return low, high

    return ask


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
