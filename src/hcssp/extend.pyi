# The names of hcssp.extend, for type checkers and for the loader in hcssp/lazy.py: one import in a line.

# Own stop criteria and solvers.
from hcssp.methods.paper import BudgetParameters as BudgetParameters
from hcssp.contract.solver import Context as Context
from hcssp.contract.proof import Ending as Ending
from hcssp.contract.proof import FileClaim as FileClaim
from hcssp.methods.highs.running import HighsParameters as HighsParameters
from hcssp.dual.ascent import Infeasibility as Infeasibility
from hcssp.contract.proof import Infeasible as Infeasible
from hcssp.contract.proof import Interval as Interval
from hcssp.evaluation.chain import is_proper as is_proper
from hcssp.contract.solver import Memory as Memory
from hcssp.contract.progress import Progress as Progress
from hcssp.contract.solver import SearchOptions as SearchOptions
from hcssp.methods.policy_branching import SearchParameters as SearchParameters
from hcssp.contract.solver import Solver as Solver
from hcssp.contract.progress import StopCriterion as StopCriterion
from hcssp.solving.solve import UnsoundResult as UnsoundResult
from hcssp.contract.proof import Verification as Verification

# Own oracles.
from hcssp.dual.oracle import Correspondence as Correspondence
from hcssp.dual.oracle import Enumeration as Enumeration
from hcssp.dual.flat import FlatOracle as FlatOracle
from hcssp.dual.flat import FlatPoint as FlatPoint
from hcssp.dual.oracle import KnownBest as KnownBest
from hcssp.dual.oracle import KnownPoints as KnownPoints
from hcssp.dual.oracle import KnownPolicies as KnownPolicies
from hcssp.dual.oracle import KnownPotential as KnownPotential
from hcssp.dual.oracle import LocalSearch as LocalSearch
from hcssp.dual.oracle import Minimum as Minimum
from hcssp.dual.oracle import Oracle as Oracle
from hcssp.dual.oracle import PlanClasses as PlanClasses
from hcssp.dual.oracle import PolicyPoint as PolicyPoint
from hcssp.dual.oracle import Potentials as Potentials
from hcssp.dual.oracle import Prediction as Prediction
from hcssp.ssp.guided_expansion import ExpansionParameters as ExpansionParameters
from hcssp.ssp.scalar_problem import Region as Region
from hcssp.dual.oracle import RoundingUp as RoundingUp
from hcssp.dual.oracle import Settlement as Settlement
from hcssp.dual.ascent import stationary as stationary
from hcssp.dual.ascent import StochasticOptimum as StochasticOptimum
from hcssp.dual.oracle import Strategies as Strategies
from hcssp.dual.oracle import Symmetry as Symmetry
from hcssp.dual.prediction import Breakpoint as Breakpoint

# Own ways to state and transform problems.
from hcssp.cssp.builder import ActionHandle as ActionHandle
from hcssp.procedure.model import Activity as Activity
from hcssp.procedure.builder import ActivityHandle as ActivityHandle
from hcssp.procedure.model import Choice as Choice
from hcssp.procedure.model import Constraint as Constraint
from hcssp.cssp.model import CSSPParts as CSSPParts
from hcssp.procedure.builder import EventHandle as EventHandle
from hcssp.procedure.flattening import EventWay as EventWay
from hcssp.cssp.expansion import ExpandedCSSP as ExpandedCSSP
from hcssp.cssp.expansion import ExpandedParts as ExpandedParts
from hcssp.cssp.expansion import Expansion as Expansion
from hcssp.procedure.flattening import Flattening as Flattening
from hcssp.procedure.model import Floor as Floor
from hcssp.exchange.storm import from_storm as from_storm
from hcssp.procedure.model import HCSSPParts as HCSSPParts
from hcssp.procedure.implicit import ImplicitProcedure as ImplicitProcedure
from hcssp.files.problem_file.document import Limits as Limits
from hcssp.procedure.nesting import Nesting as Nesting
from hcssp.procedure.model import PerExecution as PerExecution
from hcssp.cssp.preprocessing import prepare as prepare
from hcssp.cssp.preprocessing import Prepared as Prepared
from hcssp.exchange.reading import Question as Question
from hcssp.exchange.gymnasium_environment import record_episodes as record_episodes
from hcssp.cssp.model import Reward as Reward
from hcssp.cssp.model import RewardInterval as RewardInterval
from hcssp.cssp.builder import StateHandle as StateHandle
from hcssp.exchange.gymnasium_environment import TableStep as TableStep
from hcssp.cssp.state_space import TransitionBatch as TransitionBatch
from hcssp.cssp.transition_costs import TransitionCosts as TransitionCosts
from hcssp.procedure.nesting import Use as Use
from hcssp.cssp.product import Uses as Uses

# Records.
from hcssp.evaluation.exact import ActivityEvaluation as ActivityEvaluation
from hcssp.solving.why import Alternative as Alternative
from hcssp.contract.progress import AllocationBox as AllocationBox
from hcssp.contract.progress import AllocationSpace as AllocationSpace
from hcssp.solving.best_plans import BestPlans as BestPlans
from hcssp.solving.trade_off import CurvePoint as CurvePoint
from hcssp.evaluation.simulation import Estimate as Estimate
from hcssp.evaluation.exact import Evaluation as Evaluation
from hcssp.evaluation.robustness import Influence as Influence
from hcssp.solving.lagrangian import lagrangian as lagrangian
from hcssp.solving.lagrangian import Lagrangian as Lagrangian
from hcssp.solving.lagrangian import PolicyLine as PolicyLine
from hcssp.evaluation.exact import LimitEvaluation as LimitEvaluation
from hcssp.evaluation.exact import ProcedureEvaluation as ProcedureEvaluation
from hcssp.contract.plan import ProcedurePlan as ProcedurePlan
from hcssp.procedure.policy import ProcedurePolicy as ProcedurePolicy
from hcssp.evaluation.simulation import ProcedureSimulation as ProcedureSimulation
from hcssp.cssp.policy import RandomisedPolicy as RandomisedPolicy
from hcssp.solving.why import Reasons as Reasons
from hcssp.evaluation.robustness import Robustness as Robustness
from hcssp.evaluation.simulation import simulate as simulate
from hcssp.evaluation.simulation import Simulation as Simulation
from hcssp.solving.sweep import Sweep as Sweep
from hcssp.solving.sweep import SweepAxis as SweepAxis
from hcssp.solving.sweep import SweepPoint as SweepPoint
from hcssp.contract.proof import Trace as Trace
from hcssp.contract.proof import TracePoint as TracePoint
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
from hcssp.workers import LostWorker as LostWorker
from hcssp.workers import Shared as Shared
from hcssp.workers import Task as Task
from hcssp.workers import Workers as Workers
