"""Plans for constrained stochastic shortest path problems, single and hierarchical.

A plan minimises one expected cost while others stay within their budgets, each in expectation. Every
answer carries a proven interval around the optimum and is evaluated by code that no solver uses.

The names below are imported when they are first used, so that ``import hcssp`` stays fast.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hcssp.version import __version__

if TYPE_CHECKING:
    from hcssp.contract.progress import Progress as Progress
    from hcssp.contract.result import Result as Result
    from hcssp.contract.result import Status as Status
    from hcssp.contract.stop import Gap as Gap
    from hcssp.contract.stop import MaxIterations as MaxIterations
    from hcssp.contract.stop import MaxRuntime as MaxRuntime
    from hcssp.contract.stop import Target as Target
    from hcssp.cssp.arrays import from_arrays as from_arrays
    from hcssp.cssp.builder import CSSPBuilder as CSSPBuilder
    from hcssp.cssp.exploration import explore as explore
    from hcssp.cssp.grid import GridWorld as GridWorld
    from hcssp.cssp.grid import Hazard as Hazard
    from hcssp.cssp.grid_drawing import render_policy as render_policy
    from hcssp.cssp.model import CSSP as CSSP
    from hcssp.cssp.policy import DeterministicPolicy as DeterministicPolicy
    from hcssp.cssp.policy import RandomisedPolicy as RandomisedPolicy
    from hcssp.cssp.preprocessing import prepare as prepare
    from hcssp.cssp.preprocessing import with_giving_up as with_giving_up
    from hcssp.dual.stochastic import stationary as stationary
    from hcssp.errors import CannotWrite as CannotWrite
    from hcssp.errors import DeadEnd as DeadEnd
    from hcssp.errors import HcsspError as HcsspError
    from hcssp.errors import ImpossibleObservation as ImpossibleObservation
    from hcssp.errors import ImproperPolicy as ImproperPolicy
    from hcssp.errors import InvalidPlan as InvalidPlan
    from hcssp.errors import InvalidProblem as InvalidProblem
    from hcssp.errors import MissingDependency as MissingDependency
    from hcssp.errors import NoSolution as NoSolution
    from hcssp.errors import UnsupportedProblem as UnsupportedProblem
    from hcssp.evaluation.chain import is_proper as is_proper
    from hcssp.evaluation.exact import Evaluation as Evaluation
    from hcssp.evaluation.exact import evaluate as evaluate
    from hcssp.evaluation.hierarchical import evaluate_hierarchical as evaluate_hierarchical
    from hcssp.evaluation.simulation import Simulation as Simulation
    from hcssp.evaluation.simulation import simulate as simulate
    from hcssp.execution.plan import Plan as Plan
    from hcssp.files.plan_file import load_plan as load_plan
    from hcssp.files.plan_file import save_plan as save_plan
    from hcssp.files.problem_file.dumping import dump_problem as dump_problem
    from hcssp.files.problem_file.loading import load_problem as load_problem
    from hcssp.methods.anytime import Anytime as Anytime
    from hcssp.methods.highs.linear_program import LinearProgram as LinearProgram
    from hcssp.methods.highs.mixed_integer import MixedInteger as MixedInteger
    from hcssp.methods.policy_branching import PolicyBranching as PolicyBranching
    from hcssp.procedure.builder import ProcedureBuilder as ProcedureBuilder
    from hcssp.procedure.flattening import Flattening as Flattening
    from hcssp.procedure.model import HCSSP as HCSSP
    from hcssp.procedure.model import Outcome as Outcome
    from hcssp.procedure.policy import HierarchicalPolicy as HierarchicalPolicy
    from hcssp.scenarios.evacuation import evacuation as evacuation
    from hcssp.solving.solve import solve as solve
    from hcssp.solving.trade_off import TradeOff as TradeOff
    from hcssp.solving.trade_off import trade_off as trade_off

# Where each public name lives. A new one is added here and, for type checkers, above;
# tests/test_architecture.py fails when the two disagree.
_HOME = {
    "Anytime": "hcssp.methods.anytime",
    "CannotWrite": "hcssp.errors",
    "CSSP": "hcssp.cssp.model",
    "CSSPBuilder": "hcssp.cssp.builder",
    "DeadEnd": "hcssp.errors",
    "DeterministicPolicy": "hcssp.cssp.policy",
    "evacuation": "hcssp.scenarios.evacuation",
    "dump_problem": "hcssp.files.problem_file.dumping",
    "evaluate": "hcssp.evaluation.exact",
    "evaluate_hierarchical": "hcssp.evaluation.hierarchical",
    "Evaluation": "hcssp.evaluation.exact",
    "explore": "hcssp.cssp.exploration",
    "Flattening": "hcssp.procedure.flattening",
    "from_arrays": "hcssp.cssp.arrays",
    "Gap": "hcssp.contract.stop",
    "GridWorld": "hcssp.cssp.grid",
    "Hazard": "hcssp.cssp.grid",
    "HCSSP": "hcssp.procedure.model",
    "HcsspError": "hcssp.errors",
    "HierarchicalPolicy": "hcssp.procedure.policy",
    "ImpossibleObservation": "hcssp.errors",
    "ImproperPolicy": "hcssp.errors",
    "InvalidPlan": "hcssp.errors",
    "InvalidProblem": "hcssp.errors",
    "is_proper": "hcssp.evaluation.chain",
    "LinearProgram": "hcssp.methods.highs.linear_program",
    "load_problem": "hcssp.files.problem_file.loading",
    "load_plan": "hcssp.files.plan_file",
    "MaxIterations": "hcssp.contract.stop",
    "MaxRuntime": "hcssp.contract.stop",
    "MissingDependency": "hcssp.errors",
    "MixedInteger": "hcssp.methods.highs.mixed_integer",
    "NoSolution": "hcssp.errors",
    "Outcome": "hcssp.procedure.model",
    "Plan": "hcssp.execution.plan",
    "PolicyBranching": "hcssp.methods.policy_branching",
    "prepare": "hcssp.cssp.preprocessing",
    "ProcedureBuilder": "hcssp.procedure.builder",
    "Progress": "hcssp.contract.progress",
    "RandomisedPolicy": "hcssp.cssp.policy",
    "render_policy": "hcssp.cssp.grid_drawing",
    "Result": "hcssp.contract.result",
    "simulate": "hcssp.evaluation.simulation",
    "Simulation": "hcssp.evaluation.simulation",
    "save_plan": "hcssp.files.plan_file",
    "solve": "hcssp.solving.solve",
    "stationary": "hcssp.dual.stochastic",
    "Status": "hcssp.contract.result",
    "Target": "hcssp.contract.stop",
    "trade_off": "hcssp.solving.trade_off",
    "TradeOff": "hcssp.solving.trade_off",
    "UnsupportedProblem": "hcssp.errors",
    "with_giving_up": "hcssp.cssp.preprocessing",
}

__all__ = ["__version__", *_HOME]

logging.getLogger(__name__).addHandler(logging.NullHandler())

# Hidden from type checkers, which would otherwise take any misspelt name for a lazy one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
