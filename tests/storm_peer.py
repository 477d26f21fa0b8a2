"""What Storm itself says about a model: the optimum over randomised policies, by its ``multi(...)``."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

from hcssp import CSSP, to_drn
from hcssp.exchange.storm import storm_at_work

PRECISION = "1e-8"


def storm_optimum(
    stormpy: Any, path: Path, constants: str, minimise: str, bounds: Mapping[str, float], goal: str | None
) -> float:
    """Storm's optimum of a model with one initial state; without a goal, a label, the whole run counts.

    Storm leaves out policies of infinite reward, but not dead ends in which nothing is earned.
    """
    with storm_at_work(stormpy, str(path)):
        if path.suffix == ".jani":
            program, _ = stormpy.parse_jani_model(str(path))
        else:
            program = stormpy.parse_prism_program(str(path))
        program, _ = stormpy.instantiate_constants(program, constants)
        run = "C" if goal is None else f'F "{goal}"'
        parts = [f'R{{"{minimise}"}}min=? [{run}]']
        parts += [f'R{{"{name}"}}<={bound} [{run}]' for name, bound in bounds.items()]
        (asked,) = stormpy.parse_properties(f"multi({', '.join(parts)})" if bounds else parts[0], program)
        return _value(stormpy, stormpy.build_model(program, [asked]), asked)


def storm_optimum_of(stormpy: Any, problem: CSSP, folder: Path) -> float:
    """Storm's optimum of a problem; infinite if no policy keeps the bounds."""
    names = tuple(f"cost{place}" for place in range(len(problem.cost_names)))
    to_drn(problem.derive(cost_names=names), folder / "problem.drn")
    parts = ['R{"cost0"}min=? [F "goal"]']
    bounds = zip(names[1:], problem.bounds.tolist(), strict=True)
    parts += [f'R{{"{name}"}}<={bound!r} [F "goal"]' for name, bound in bounds if bound < inf]
    with storm_at_work(stormpy, "the problem"):
        (asked,) = stormpy.parse_properties(f"multi({', '.join(parts)})" if len(parts) > 1 else parts[0])
        return _value(stormpy, stormpy.build_model_from_drn(str(folder / "problem.drn")), asked)


def _value(stormpy: Any, model: Any, asked: Any) -> float:
    environment = stormpy.environments.sound()
    environment.modelchecker().multi().precision = stormpy.Rational(PRECISION)
    result = stormpy.model_checking(model, asked, environment=environment)
    # Of a question that no policy satisfies Storm says only that it is false.
    return float(result.get_value(model.initial_states[0])) if hasattr(result, "get_value") else inf
