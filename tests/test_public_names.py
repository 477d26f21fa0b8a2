"""What the package offers: the exact list of its names, and that whatever they speak of is on it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, NewType, get_args, get_origin, get_type_hints

import pytest

import hcssp

EXPORTED = {id(getattr(hcssp, name)) for name in hcssp.__all__}

_SPECIAL = ("__init__", "__call__", "__iter__", "__getitem__")


def test_the_list_of_public_names() -> None:
    """Who adds or removes one says so here, and in the list of changes."""
    assert sorted(hcssp.__all__) == [
        "ActionHandle",
        "Activity",
        "ActivityEvaluation",
        "ActivityHandle",
        "Alternative",
        "Anytime",
        "BudgetAllocation",
        "BudgetSpent",
        "CSSP",
        "CSSPBuilder",
        "CannotWrite",
        "Capacity",
        "Certificate",
        "Choice",
        "Claim",
        "Constraint",
        "Context",
        "CostOverflow",
        "CurvePoint",
        "DeadEnd",
        "Decision",
        "DeterministicPolicy",
        "Ending",
        "Estimate",
        "Evaluation",
        "EventHandle",
        "EventWay",
        "ExpandedCSSP",
        "Expansion",
        "FileClaim",
        "FirstPlan",
        "FlatOracle",
        "FlatVertex",
        "Flattening",
        "Gap",
        "GridWorld",
        "HCSSP",
        "Hazard",
        "HcsspError",
        "HeuristicSearch",
        "ImplicitCSSP",
        "ImplicitProcedure",
        "ImpossibleObservation",
        "ImproperPolicy",
        "Infeasibility",
        "Infeasible",
        "Influence",
        "Interrupter",
        "Interval",
        "InvalidCertificate",
        "InvalidPlan",
        "InvalidProblem",
        "KnownBest",
        "KnownVertices",
        "LimitEvaluation",
        "Limits",
        "LinearProgram",
        "LostWorker",
        "MaxIterations",
        "MaxMemory",
        "MaxRuntime",
        "Memory",
        "Minimum",
        "MissingDependency",
        "MixedInteger",
        "Nesting",
        "NoImprovement",
        "NoSolution",
        "NotProven",
        "Oracle",
        "Outcome",
        "PerExecution",
        "Plan",
        "PolicyBranching",
        "Potential",
        "Prepared",
        "ProcedureBuilder",
        "ProcedureEvaluation",
        "ProcedurePlan",
        "ProcedurePolicy",
        "ProcedureSimulation",
        "Progress",
        "Question",
        "RandomisedPolicy",
        "Reason",
        "Reasons",
        "Region",
        "Reward",
        "RewardInterval",
        "Robustness",
        "Run",
        "SearchRecord",
        "Settlement",
        "Shared",
        "Simulation",
        "Solver",
        "StateHandle",
        "Statement",
        "Status",
        "StochasticOptimum",
        "StopCriterion",
        "Sweep",
        "SweepAxis",
        "SweepPoint",
        "TableStep",
        "Target",
        "Task",
        "Tolerances",
        "Trace",
        "TracePoint",
        "TradeOff",
        "TransitionBatch",
        "TransitionCosts",
        "TurningPoint",
        "UnboundedReward",
        "UnknownName",
        "UnsoundResult",
        "UnsupportedProblem",
        "Use",
        "Verdict",
        "Verification",
        "Vertex",
        "Workers",
        "__version__",
        "campus",
        "check",
        "dump_problem",
        "evacuation",
        "evacuation_text",
        "evaluate",
        "explore",
        "explore_in_batches",
        "find_problem",
        "from_arrays",
        "from_drn",
        "from_gymnasium",
        "from_jani",
        "from_ppddl",
        "from_prism",
        "from_storm",
        "from_umb",
        "implicit_ppddl",
        "is_proper",
        "load",
        "load_certificate",
        "load_model",
        "load_plan",
        "load_search",
        "maximise",
        "open_workers",
        "prepare",
        "record_episodes",
        "render_policy",
        "robustness",
        "save_certificate",
        "save_plan",
        "save_search",
        "scenarios",
        "simulate",
        "small_building",
        "solve",
        "stationary",
        "sweep",
        "to_drn",
        "to_gymnasium",
        "to_umb",
        "trade_off",
        "why",
        "with_capacities",
        "with_giving_up",
        "with_probability",
        "with_units",
    ]


def test_the_list_of_ready_made_problems() -> None:
    assert sorted(hcssp.scenarios.__all__) == [
        "aircraft",
        "campus",
        "delivery",
        "elevators",
        "evacuation",
        "evacuation_rooms",
        "evacuation_text",
        "patient",
        "racetrack",
        "random_cssp",
        "random_procedure",
        "routing",
        "rover",
        "search_and_rescue",
        "small_building",
    ]


@cache
def for_type_checkers(module: str) -> dict[str, Any]:
    """The names that a module imports for its annotations only."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(inspect.getsource(import_module(module)))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for imported in node.body:
                assert isinstance(imported, ast.ImportFrom)
                assert imported.module is not None
                home = import_module(imported.module)
                found |= {alias.asname or alias.name: getattr(home, alias.name) for alias in imported.names}
    return found


def functions_of(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods and properties of a class, as far as they are ours."""
    for base in kind.__mro__:
        if not base.__module__.startswith("hcssp"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") and name not in _SPECIAL:
                continue
            if name == "__init__" and is_dataclass(base):
                # Made from the fields, which are looked at themselves.
                continue
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            elif isinstance(member, property):
                member = member.fget
            elif isinstance(member, cached_property):
                member = member.func
            if inspect.isfunction(member) and member.__module__.startswith("hcssp"):
                yield f"{kind.__name__}.{name}", member


def spoken_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Where a public name speaks of types, and the types."""
    if inspect.isfunction(value):
        for hint in get_type_hints(value, localns=for_type_checkers(value.__module__)).values():
            yield name, hint
    elif inspect.isclass(value):
        names: dict[str, Any] = {}
        for base in value.__mro__:
            if base.__module__.startswith("hcssp"):
                names |= for_type_checkers(base.__module__)
        for field, hint in get_type_hints(value, localns=names).items():
            if not field.startswith("_"):
                yield f"{name}.{field}", hint
        for where, function in functions_of(value):
            yield from spoken_of(where, function)
    else:
        yield name, value


def classes_in(hint: Any) -> Iterator[Any]:
    """The classes, and what has a type of its own like them, that a type is made of."""
    if get_origin(hint) is None:
        if inspect.isclass(hint) or isinstance(hint, NewType):
            yield hint
        return
    yield from classes_in(get_origin(hint))
    for part in get_args(hint):
        for each in part if isinstance(part, list) else [part]:
            yield from classes_in(each)


def missing(name: str) -> list[str]:
    return [
        f"{where} speaks of {kind.__module__}.{kind.__qualname__}"
        for where, hint in spoken_of(name, getattr(hcssp, name))
        for kind in classes_in(hint)
        if kind.__module__.startswith("hcssp") and id(kind) not in EXPORTED
    ]


@pytest.mark.parametrize("name", sorted(set(hcssp.__all__) - {"__version__"}))
def test_whatever_a_public_name_speaks_of_is_public(name: str) -> None:
    assert missing(name) == []
