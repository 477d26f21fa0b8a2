"""What Storm itself says about a model: the optimum over randomised policies, by its ``multi(...)``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
        model = stormpy.build_model(program, [asked])
        environment = stormpy.environments.sound()
        environment.modelchecker().multi().precision = stormpy.Rational(PRECISION)
        result = stormpy.model_checking(model, asked, environment=environment)
        return float(result.get_value(model.initial_states[0]))
