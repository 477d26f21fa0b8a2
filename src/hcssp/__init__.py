"""Plans for constrained stochastic shortest path problems, single and hierarchical.

A plan minimises one expected cost while others stay within their budgets, each in expectation. Every
answer carries a proven interval around the optimum and is evaluated by code that no solver uses.

The names below are imported when they are first used, so that ``import hcssp`` stays fast.
"""

from __future__ import annotations

from hcssp.start import is_command, leave_quietly_if_interrupted

if is_command():
    # Before anything else is imported, which takes longer than a user who changes their mind.
    leave_quietly_if_interrupted()

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hcssp.version import __version__

if TYPE_CHECKING:
    from hcssp import scenarios as scenarios
    from hcssp.checker.checking import Verdict as Verdict
    from hcssp.checker.checking import check as check
    from hcssp.checker.format import Certificate as Certificate
    from hcssp.checker.format import Potential as Potential
    from hcssp.checker.format import Statement as Statement
    from hcssp.contract.ending import Ending as Ending
    from hcssp.contract.ending import Reason as Reason
    from hcssp.contract.memory import Memory as Memory
    from hcssp.contract.plan import Plan as Plan
    from hcssp.contract.plan import ProcedurePlan as ProcedurePlan
    from hcssp.contract.progress import Progress as Progress
    from hcssp.contract.proof import FileClaim as FileClaim
    from hcssp.contract.proof import Infeasible as Infeasible
    from hcssp.contract.proof import Interval as Interval
    from hcssp.contract.proof import Status as Status
    from hcssp.contract.proof import Verification as Verification
    from hcssp.contract.solver import Context as Context
    from hcssp.contract.solver import Solver as Solver
    from hcssp.contract.stop import FirstPlan as FirstPlan
    from hcssp.contract.stop import Gap as Gap
    from hcssp.contract.stop import Interrupter as Interrupter
    from hcssp.contract.stop import MaxIterations as MaxIterations
    from hcssp.contract.stop import MaxMemory as MaxMemory
    from hcssp.contract.stop import MaxRuntime as MaxRuntime
    from hcssp.contract.stop import NoImprovement as NoImprovement
    from hcssp.contract.stop import StopCriterion as StopCriterion
    from hcssp.contract.stop import Target as Target
    from hcssp.contract.trace import Trace as Trace
    from hcssp.contract.trace import TracePoint as TracePoint
    from hcssp.cssp.arrays import from_arrays as from_arrays
    from hcssp.cssp.builder import ActionHandle as ActionHandle
    from hcssp.cssp.builder import CSSPBuilder as CSSPBuilder
    from hcssp.cssp.builder import StateHandle as StateHandle
    from hcssp.cssp.expanded_part import ExpandedCSSP as ExpandedCSSP
    from hcssp.cssp.expansion import Expansion as Expansion
    from hcssp.cssp.exploration import explore as explore
    from hcssp.cssp.exploration import explore_in_batches as explore_in_batches
    from hcssp.cssp.grid import GridWorld as GridWorld
    from hcssp.cssp.grid import Hazard as Hazard
    from hcssp.cssp.grid_drawing import render_policy as render_policy
    from hcssp.cssp.implicit import ImplicitCSSP as ImplicitCSSP
    from hcssp.cssp.levels import Capacity as Capacity
    from hcssp.cssp.model import CSSP as CSSP
    from hcssp.cssp.policy import DeterministicPolicy as DeterministicPolicy
    from hcssp.cssp.policy import RandomisedPolicy as RandomisedPolicy
    from hcssp.cssp.preprocessing import Prepared as Prepared
    from hcssp.cssp.preprocessing import prepare as prepare
    from hcssp.cssp.preprocessing import with_giving_up as with_giving_up
    from hcssp.cssp.reward import Reward as Reward
    from hcssp.cssp.reward import RewardInterval as RewardInterval
    from hcssp.cssp.transition_batch import TransitionBatch as TransitionBatch
    from hcssp.cssp.transition_costs import TransitionCosts as TransitionCosts
    from hcssp.dual.ascent import Infeasibility as Infeasibility
    from hcssp.dual.flat_oracle import FlatOracle as FlatOracle
    from hcssp.dual.flat_oracle import FlatVertex as FlatVertex
    from hcssp.dual.foresight import TurningPoint as TurningPoint
    from hcssp.dual.oracle import KnownBest as KnownBest
    from hcssp.dual.oracle import KnownVertices as KnownVertices
    from hcssp.dual.oracle import Minimum as Minimum
    from hcssp.dual.oracle import Oracle as Oracle
    from hcssp.dual.oracle import Settlement as Settlement
    from hcssp.dual.stochastic import StochasticOptimum as StochasticOptimum
    from hcssp.dual.stochastic import stationary as stationary
    from hcssp.dual.vertex import Vertex as Vertex
    from hcssp.errors import BudgetSpent as BudgetSpent
    from hcssp.errors import CannotWrite as CannotWrite
    from hcssp.errors import CostOverflow as CostOverflow
    from hcssp.errors import DeadEnd as DeadEnd
    from hcssp.errors import HcsspError as HcsspError
    from hcssp.errors import ImpossibleObservation as ImpossibleObservation
    from hcssp.errors import ImproperPolicy as ImproperPolicy
    from hcssp.errors import InvalidCertificate as InvalidCertificate
    from hcssp.errors import InvalidPlan as InvalidPlan
    from hcssp.errors import InvalidProblem as InvalidProblem
    from hcssp.errors import MissingDependency as MissingDependency
    from hcssp.errors import NoSolution as NoSolution
    from hcssp.errors import NotProven as NotProven
    from hcssp.errors import UnboundedReward as UnboundedReward
    from hcssp.errors import UnknownName as UnknownName
    from hcssp.errors import UnsupportedProblem as UnsupportedProblem
    from hcssp.evaluation.chain import is_proper as is_proper
    from hcssp.evaluation.exact import evaluate as evaluate
    from hcssp.evaluation.nature import Influence as Influence
    from hcssp.evaluation.procedure_simulation import ProcedureSimulation as ProcedureSimulation
    from hcssp.evaluation.records import ActivityEvaluation as ActivityEvaluation
    from hcssp.evaluation.records import Evaluation as Evaluation
    from hcssp.evaluation.records import LimitEvaluation as LimitEvaluation
    from hcssp.evaluation.records import ProcedureEvaluation as ProcedureEvaluation
    from hcssp.evaluation.robustness import Robustness as Robustness
    from hcssp.evaluation.robustness import robustness as robustness
    from hcssp.evaluation.simulation import Estimate as Estimate
    from hcssp.evaluation.simulation import Simulation as Simulation
    from hcssp.evaluation.simulation import simulate as simulate
    from hcssp.exchange.drn import from_drn as from_drn
    from hcssp.exchange.gymnasium_environment import record_episodes as record_episodes
    from hcssp.exchange.gymnasium_environment import to_gymnasium as to_gymnasium
    from hcssp.exchange.gymnasium_table import TableStep as TableStep
    from hcssp.exchange.gymnasium_table import from_gymnasium as from_gymnasium
    from hcssp.exchange.ppddl_model import from_ppddl as from_ppddl
    from hcssp.exchange.ppddl_model import implicit_ppddl as implicit_ppddl
    from hcssp.exchange.prism_jani import from_jani as from_jani
    from hcssp.exchange.prism_jani import from_prism as from_prism
    from hcssp.exchange.prism_jani import from_storm as from_storm
    from hcssp.exchange.reading import Question as Question
    from hcssp.exchange.reading import load_model as load_model
    from hcssp.exchange.umb import from_umb as from_umb
    from hcssp.execution.decision import Decision as Decision
    from hcssp.execution.run import Run as Run
    from hcssp.files.certificate import load_certificate as load_certificate
    from hcssp.files.certificate import save_certificate as save_certificate
    from hcssp.files.model_file import to_drn as to_drn
    from hcssp.files.model_file import to_umb as to_umb
    from hcssp.files.named_problem import find_problem as find_problem
    from hcssp.files.plan_file import load_plan as load_plan
    from hcssp.files.plan_file import save_plan as save_plan
    from hcssp.files.problem_file.dumping import dump_problem as dump_problem
    from hcssp.files.problem_file.loading import load as load
    from hcssp.files.problem_file.source import Limits as Limits
    from hcssp.files.search_file import load_search as load_search
    from hcssp.files.search_file import save_search as save_search
    from hcssp.methods.anytime import Anytime as Anytime
    from hcssp.methods.heuristic_search import HeuristicSearch as HeuristicSearch
    from hcssp.methods.highs.linear_program import LinearProgram as LinearProgram
    from hcssp.methods.highs.mixed_integer import MixedInteger as MixedInteger
    from hcssp.methods.paper import BudgetAllocation as BudgetAllocation
    from hcssp.methods.policy_branching import PolicyBranching as PolicyBranching
    from hcssp.numerics import Tolerances as Tolerances
    from hcssp.procedure.builder import ActivityHandle as ActivityHandle
    from hcssp.procedure.builder import EventHandle as EventHandle
    from hcssp.procedure.builder import ProcedureBuilder as ProcedureBuilder
    from hcssp.procedure.capacities import with_capacities as with_capacities
    from hcssp.procedure.elements import Activity as Activity
    from hcssp.procedure.elements import Choice as Choice
    from hcssp.procedure.elements import Constraint as Constraint
    from hcssp.procedure.elements import Outcome as Outcome
    from hcssp.procedure.elements import PerExecution as PerExecution
    from hcssp.procedure.flattening import EventWay as EventWay
    from hcssp.procedure.flattening import Flattening as Flattening
    from hcssp.procedure.implicit import ImplicitProcedure as ImplicitProcedure
    from hcssp.procedure.model import HCSSP as HCSSP
    from hcssp.procedure.nesting import Nesting as Nesting
    from hcssp.procedure.nesting import Use as Use
    from hcssp.procedure.policy import ProcedurePolicy as ProcedurePolicy
    from hcssp.procedure.probabilities import with_probability as with_probability
    from hcssp.procedure.units import with_units as with_units
    from hcssp.proofs.search_record import Claim as Claim
    from hcssp.proofs.search_record import SearchRecord as SearchRecord
    from hcssp.scenarios.campus import campus as campus
    from hcssp.scenarios.evacuation import evacuation as evacuation
    from hcssp.scenarios.evacuation import evacuation_text as evacuation_text
    from hcssp.scenarios.evacuation import small_building as small_building
    from hcssp.solving.findings import UnsoundResult as UnsoundResult
    from hcssp.solving.maximisation import maximise as maximise
    from hcssp.solving.solve import solve as solve
    from hcssp.solving.sweep import sweep as sweep
    from hcssp.solving.sweep_grid import SweepAxis as SweepAxis
    from hcssp.solving.sweep_record import Sweep as Sweep
    from hcssp.solving.sweep_record import SweepPoint as SweepPoint
    from hcssp.solving.trade_off import CurvePoint as CurvePoint
    from hcssp.solving.trade_off import TradeOff as TradeOff
    from hcssp.solving.trade_off import trade_off as trade_off
    from hcssp.solving.why import Alternative as Alternative
    from hcssp.solving.why import Reasons as Reasons
    from hcssp.solving.why import why as why
    from hcssp.ssp.region import Region as Region
    from hcssp.workers.crew import Task as Task
    from hcssp.workers.crew import Workers as Workers
    from hcssp.workers.crew import open_workers as open_workers
    from hcssp.workers.losses import LostWorker as LostWorker
    from hcssp.workers.sharing import Shared as Shared

# Where each public name lives. A new one is added here and, for type checkers, above;
# tests/test_architecture.py fails when the two disagree.
_HOME = {
    "ActionHandle": "hcssp.cssp.builder",
    "Activity": "hcssp.procedure.elements",
    "ActivityEvaluation": "hcssp.evaluation.records",
    "ActivityHandle": "hcssp.procedure.builder",
    "Alternative": "hcssp.solving.why",
    "Anytime": "hcssp.methods.anytime",
    "BudgetAllocation": "hcssp.methods.paper",
    "BudgetSpent": "hcssp.errors",
    "campus": "hcssp.scenarios.campus",
    "CannotWrite": "hcssp.errors",
    "Capacity": "hcssp.cssp.levels",
    "Certificate": "hcssp.checker.format",
    "check": "hcssp.checker.checking",
    "Choice": "hcssp.procedure.elements",
    "Claim": "hcssp.proofs.search_record",
    "Constraint": "hcssp.procedure.elements",
    "Context": "hcssp.contract.solver",
    "CostOverflow": "hcssp.errors",
    "CSSP": "hcssp.cssp.model",
    "CSSPBuilder": "hcssp.cssp.builder",
    "CurvePoint": "hcssp.solving.trade_off",
    "DeadEnd": "hcssp.errors",
    "Decision": "hcssp.execution.decision",
    "DeterministicPolicy": "hcssp.cssp.policy",
    "dump_problem": "hcssp.files.problem_file.dumping",
    "Ending": "hcssp.contract.ending",
    "Estimate": "hcssp.evaluation.simulation",
    "evacuation": "hcssp.scenarios.evacuation",
    "evacuation_text": "hcssp.scenarios.evacuation",
    "evaluate": "hcssp.evaluation.exact",
    "Evaluation": "hcssp.evaluation.records",
    "EventHandle": "hcssp.procedure.builder",
    "EventWay": "hcssp.procedure.flattening",
    "ExpandedCSSP": "hcssp.cssp.expanded_part",
    "Expansion": "hcssp.cssp.expansion",
    "explore": "hcssp.cssp.exploration",
    "explore_in_batches": "hcssp.cssp.exploration",
    "FileClaim": "hcssp.contract.proof",
    "find_problem": "hcssp.files.named_problem",
    "FirstPlan": "hcssp.contract.stop",
    "FlatOracle": "hcssp.dual.flat_oracle",
    "Flattening": "hcssp.procedure.flattening",
    "FlatVertex": "hcssp.dual.flat_oracle",
    "from_arrays": "hcssp.cssp.arrays",
    "from_drn": "hcssp.exchange.drn",
    "from_gymnasium": "hcssp.exchange.gymnasium_table",
    "from_jani": "hcssp.exchange.prism_jani",
    "from_ppddl": "hcssp.exchange.ppddl_model",
    "from_prism": "hcssp.exchange.prism_jani",
    "from_storm": "hcssp.exchange.prism_jani",
    "from_umb": "hcssp.exchange.umb",
    "Gap": "hcssp.contract.stop",
    "GridWorld": "hcssp.cssp.grid",
    "Hazard": "hcssp.cssp.grid",
    "HCSSP": "hcssp.procedure.model",
    "HcsspError": "hcssp.errors",
    "HeuristicSearch": "hcssp.methods.heuristic_search",
    "implicit_ppddl": "hcssp.exchange.ppddl_model",
    "ImplicitCSSP": "hcssp.cssp.implicit",
    "ImplicitProcedure": "hcssp.procedure.implicit",
    "ImpossibleObservation": "hcssp.errors",
    "ImproperPolicy": "hcssp.errors",
    "Infeasibility": "hcssp.dual.ascent",
    "Infeasible": "hcssp.contract.proof",
    "Influence": "hcssp.evaluation.nature",
    "Interrupter": "hcssp.contract.stop",
    "Interval": "hcssp.contract.proof",
    "InvalidCertificate": "hcssp.errors",
    "InvalidPlan": "hcssp.errors",
    "InvalidProblem": "hcssp.errors",
    "is_proper": "hcssp.evaluation.chain",
    "KnownBest": "hcssp.dual.oracle",
    "KnownVertices": "hcssp.dual.oracle",
    "LimitEvaluation": "hcssp.evaluation.records",
    "Limits": "hcssp.files.problem_file.source",
    "LinearProgram": "hcssp.methods.highs.linear_program",
    "load": "hcssp.files.problem_file.loading",
    "load_certificate": "hcssp.files.certificate",
    "load_model": "hcssp.exchange.reading",
    "load_plan": "hcssp.files.plan_file",
    "load_search": "hcssp.files.search_file",
    "LostWorker": "hcssp.workers.losses",
    "maximise": "hcssp.solving.maximisation",
    "MaxIterations": "hcssp.contract.stop",
    "MaxMemory": "hcssp.contract.stop",
    "MaxRuntime": "hcssp.contract.stop",
    "Memory": "hcssp.contract.memory",
    "Minimum": "hcssp.dual.oracle",
    "MissingDependency": "hcssp.errors",
    "MixedInteger": "hcssp.methods.highs.mixed_integer",
    "Nesting": "hcssp.procedure.nesting",
    "NoImprovement": "hcssp.contract.stop",
    "NoSolution": "hcssp.errors",
    "NotProven": "hcssp.errors",
    "open_workers": "hcssp.workers.crew",
    "Oracle": "hcssp.dual.oracle",
    "Outcome": "hcssp.procedure.elements",
    "PerExecution": "hcssp.procedure.elements",
    "Plan": "hcssp.contract.plan",
    "PolicyBranching": "hcssp.methods.policy_branching",
    "Potential": "hcssp.checker.format",
    "prepare": "hcssp.cssp.preprocessing",
    "Prepared": "hcssp.cssp.preprocessing",
    "ProcedureBuilder": "hcssp.procedure.builder",
    "ProcedureEvaluation": "hcssp.evaluation.records",
    "ProcedurePlan": "hcssp.contract.plan",
    "ProcedurePolicy": "hcssp.procedure.policy",
    "ProcedureSimulation": "hcssp.evaluation.procedure_simulation",
    "Progress": "hcssp.contract.progress",
    "Question": "hcssp.exchange.reading",
    "RandomisedPolicy": "hcssp.cssp.policy",
    "Reason": "hcssp.contract.ending",
    "Reasons": "hcssp.solving.why",
    "record_episodes": "hcssp.exchange.gymnasium_environment",
    "Region": "hcssp.ssp.region",
    "render_policy": "hcssp.cssp.grid_drawing",
    "Reward": "hcssp.cssp.reward",
    "RewardInterval": "hcssp.cssp.reward",
    "robustness": "hcssp.evaluation.robustness",
    "Robustness": "hcssp.evaluation.robustness",
    "Run": "hcssp.execution.run",
    "save_certificate": "hcssp.files.certificate",
    "save_plan": "hcssp.files.plan_file",
    "save_search": "hcssp.files.search_file",
    "scenarios": "hcssp",
    "SearchRecord": "hcssp.proofs.search_record",
    "Settlement": "hcssp.dual.oracle",
    "Shared": "hcssp.workers.sharing",
    "simulate": "hcssp.evaluation.simulation",
    "Simulation": "hcssp.evaluation.simulation",
    "small_building": "hcssp.scenarios.evacuation",
    "solve": "hcssp.solving.solve",
    "Solver": "hcssp.contract.solver",
    "StateHandle": "hcssp.cssp.builder",
    "Statement": "hcssp.checker.format",
    "stationary": "hcssp.dual.stochastic",
    "Status": "hcssp.contract.proof",
    "StochasticOptimum": "hcssp.dual.stochastic",
    "StopCriterion": "hcssp.contract.stop",
    "sweep": "hcssp.solving.sweep",
    "Sweep": "hcssp.solving.sweep_record",
    "SweepAxis": "hcssp.solving.sweep_grid",
    "SweepPoint": "hcssp.solving.sweep_record",
    "TableStep": "hcssp.exchange.gymnasium_table",
    "Target": "hcssp.contract.stop",
    "Task": "hcssp.workers.crew",
    "to_drn": "hcssp.files.model_file",
    "to_gymnasium": "hcssp.exchange.gymnasium_environment",
    "to_umb": "hcssp.files.model_file",
    "Tolerances": "hcssp.numerics",
    "Trace": "hcssp.contract.trace",
    "TracePoint": "hcssp.contract.trace",
    "trade_off": "hcssp.solving.trade_off",
    "TradeOff": "hcssp.solving.trade_off",
    "TransitionBatch": "hcssp.cssp.transition_batch",
    "TransitionCosts": "hcssp.cssp.transition_costs",
    "TurningPoint": "hcssp.dual.foresight",
    "UnboundedReward": "hcssp.errors",
    "UnknownName": "hcssp.errors",
    "UnsoundResult": "hcssp.solving.findings",
    "UnsupportedProblem": "hcssp.errors",
    "Use": "hcssp.procedure.nesting",
    "Verdict": "hcssp.checker.checking",
    "Verification": "hcssp.contract.proof",
    "Vertex": "hcssp.dual.vertex",
    "why": "hcssp.solving.why",
    "with_capacities": "hcssp.procedure.capacities",
    "with_giving_up": "hcssp.cssp.preprocessing",
    "with_probability": "hcssp.procedure.probabilities",
    "with_units": "hcssp.procedure.units",
    "Workers": "hcssp.workers.crew",
}

__all__ = ["__version__", *_HOME]

logging.getLogger(__name__).addHandler(logging.NullHandler())

# Hidden from type checkers, which would otherwise take any misspelt name for a lazy one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # A package of this one is no attribute of it until it is imported.
        home = import_module(f"{__name__}.{name}" if _HOME[name] == __name__ else _HOME[name])
        value = home if _HOME[name] == __name__ else getattr(home, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
