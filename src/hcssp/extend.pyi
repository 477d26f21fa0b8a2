# The names of hcssp.extend, for type checkers and for the loader in hcssp/lazy.py: one import in a line.

# Own stop criteria and solvers.
from hcssp.contract.solver import Context as Context
from hcssp.contract.ending import Ending as Ending
from hcssp.contract.proof import FileClaim as FileClaim
from hcssp.dual.ascent import Infeasibility as Infeasibility
from hcssp.contract.proof import Infeasible as Infeasible
from hcssp.contract.proof import Interval as Interval
from hcssp.evaluation.chain import is_proper as is_proper
from hcssp.contract.memory import Memory as Memory
from hcssp.contract.progress import Progress as Progress
from hcssp.contract.solver import SearchOptions as SearchOptions
from hcssp.contract.solver import Solver as Solver
from hcssp.contract.stop import StopCriterion as StopCriterion
from hcssp.solving.findings import UnsoundResult as UnsoundResult
from hcssp.contract.proof import Verification as Verification

# Own oracles.
from hcssp.dual.flat_oracle import FlatOracle as FlatOracle
from hcssp.dual.flat_oracle import FlatVertex as FlatVertex
from hcssp.dual.oracle import KnownBest as KnownBest
from hcssp.dual.oracle import KnownVertices as KnownVertices
from hcssp.dual.oracle import Minimum as Minimum
from hcssp.dual.oracle import Oracle as Oracle
from hcssp.ssp.region import Region as Region
from hcssp.dual.oracle import Settlement as Settlement
from hcssp.dual.stochastic import stationary as stationary
from hcssp.dual.stochastic import StochasticOptimum as StochasticOptimum
from hcssp.dual.foresight import TurningPoint as TurningPoint
from hcssp.dual.vertex import Vertex as Vertex

# Own ways to state and transform problems.
from hcssp.cssp.builder import ActionHandle as ActionHandle
from hcssp.procedure.elements import Activity as Activity
from hcssp.procedure.builder import ActivityHandle as ActivityHandle
from hcssp.procedure.elements import Choice as Choice
from hcssp.procedure.elements import Constraint as Constraint
from hcssp.cssp.model import CSSPParts as CSSPParts
from hcssp.procedure.builder import EventHandle as EventHandle
from hcssp.procedure.flattening import EventWay as EventWay
from hcssp.cssp.expansion import ExpandedCSSP as ExpandedCSSP
from hcssp.cssp.expansion import ExpandedParts as ExpandedParts
from hcssp.cssp.expansion import Expansion as Expansion
from hcssp.cssp.exploration import explore_in_batches as explore_in_batches
from hcssp.procedure.flattening import Flattening as Flattening
from hcssp.exchange.prism_jani import from_storm as from_storm
from hcssp.procedure.model import HCSSPParts as HCSSPParts
from hcssp.procedure.implicit import ImplicitProcedure as ImplicitProcedure
from hcssp.files.problem_file.source import Limits as Limits
from hcssp.procedure.nesting import Nesting as Nesting
from hcssp.procedure.elements import PerExecution as PerExecution
from hcssp.cssp.preprocessing import prepare as prepare
from hcssp.cssp.preprocessing import Prepared as Prepared
from hcssp.exchange.reading import Question as Question
from hcssp.exchange.gymnasium_environment import record_episodes as record_episodes
from hcssp.cssp.reward import Reward as Reward
from hcssp.cssp.reward import RewardInterval as RewardInterval
from hcssp.cssp.builder import StateHandle as StateHandle
from hcssp.exchange.gymnasium_table import TableStep as TableStep
from hcssp.cssp.transition_batch import TransitionBatch as TransitionBatch
from hcssp.cssp.transition_costs import TransitionCosts as TransitionCosts
from hcssp.procedure.nesting import Use as Use
from hcssp.procedure.units import with_units as with_units

# Records.
from hcssp.evaluation.records import ActivityEvaluation as ActivityEvaluation
from hcssp.solving.why import Alternative as Alternative
from hcssp.solving.trade_off import CurvePoint as CurvePoint
from hcssp.evaluation.simulation import Estimate as Estimate
from hcssp.evaluation.records import Evaluation as Evaluation
from hcssp.evaluation.nature import Influence as Influence
from hcssp.evaluation.records import LimitEvaluation as LimitEvaluation
from hcssp.evaluation.records import ProcedureEvaluation as ProcedureEvaluation
from hcssp.contract.plan import ProcedurePlan as ProcedurePlan
from hcssp.procedure.policy import ProcedurePolicy as ProcedurePolicy
from hcssp.evaluation.procedure_simulation import ProcedureSimulation as ProcedureSimulation
from hcssp.cssp.policy import RandomisedPolicy as RandomisedPolicy
from hcssp.solving.why import Reasons as Reasons
from hcssp.evaluation.robustness import Robustness as Robustness
from hcssp.evaluation.simulation import simulate as simulate
from hcssp.evaluation.simulation import Simulation as Simulation
from hcssp.solving.sweep_record import Sweep as Sweep
from hcssp.solving.sweep_grid import SweepAxis as SweepAxis
from hcssp.solving.sweep_record import SweepPoint as SweepPoint
from hcssp.contract.trace import Trace as Trace
from hcssp.contract.trace import TracePoint as TracePoint
from hcssp.solving.trade_off import TradeOff as TradeOff
from hcssp.solving.why import why as why

# Proofs.
from hcssp.checker.format import Certificate as Certificate
from hcssp.proofs.search_record import Claim as Claim
from hcssp.files.search_file import load_search as load_search
from hcssp.checker.format import Potential as Potential
from hcssp.files.certificate import save_certificate as save_certificate
from hcssp.files.plan_file import save_plan as save_plan
from hcssp.files.search_file import save_search as save_search
from hcssp.proofs.search_record import SearchRecord as SearchRecord
from hcssp.checker.format import Statement as Statement
from hcssp.checker.checking import Verdict as Verdict

# Workers.
from hcssp.workers.losses import LostWorker as LostWorker
from hcssp.workers.sharing import Shared as Shared
from hcssp.workers.crew import Task as Task
from hcssp.workers.crew import Workers as Workers
