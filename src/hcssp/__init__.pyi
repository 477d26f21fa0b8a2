# The names of hcssp, for type checkers and for the loader in hcssp/lazy.py: one import in a line.

# Problems.
from hcssp.cssp.product import Capacity as Capacity
from hcssp.cssp.model import CSSP as CSSP
from hcssp.cssp.builder import CSSPBuilder as CSSPBuilder
from hcssp.cssp.implicit import explore as explore
from hcssp.cssp.builder import from_arrays as from_arrays
from hcssp.cssp.grid import GridWorld as GridWorld
from hcssp.cssp.grid import Hazard as Hazard
from hcssp.procedure.model import HCSSP as HCSSP
from hcssp.cssp.implicit import ImplicitCSSP as ImplicitCSSP
from hcssp.solving.maximisation import maximise as maximise
from hcssp.procedure.model import Outcome as Outcome
from hcssp.procedure.builder import ProcedureBuilder as ProcedureBuilder
from hcssp import scenarios as scenarios
from hcssp.scenarios.domains.evacuation import small_building as small_building
from hcssp.procedure.product import with_capacities as with_capacities
from hcssp.cssp.preprocessing import with_giving_up as with_giving_up
from hcssp.procedure.product import with_probability as with_probability

# Files, and models of other tools.
from hcssp.files.problem_file.dumping import dump_problem as dump_problem
from hcssp.files.named_problem import find_problem as find_problem
from hcssp.exchange.gymnasium_environment import from_gymnasium as from_gymnasium
from hcssp.exchange.ppddl_model import from_ppddl as from_ppddl
from hcssp.exchange.ppddl_model import implicit_ppddl as implicit_ppddl
from hcssp.files.problem_file.loading import load as load
from hcssp.files.certificate import load_certificate as load_certificate
from hcssp.exchange.reading import load_model as load_model
from hcssp.files.plan_file import load_plan as load_plan
from hcssp.exchange.drn import to_drn as to_drn
from hcssp.exchange.gymnasium_environment import to_gymnasium as to_gymnasium
from hcssp.exchange.umb import to_umb as to_umb

# Solving.
from hcssp.methods.anytime import Anytime as Anytime
from hcssp.solving.best_plans import best_plans as best_plans
from hcssp.methods.paper import BudgetAllocation as BudgetAllocation
from hcssp.contract.progress import FirstPlan as FirstPlan
from hcssp.contract.progress import Gap as Gap
from hcssp.methods.heuristic_search import HeuristicSearch as HeuristicSearch
from hcssp.contract.progress import Interrupter as Interrupter
from hcssp.methods.highs.linear_program import LinearProgram as LinearProgram
from hcssp.contract.progress import MaxIterations as MaxIterations
from hcssp.contract.progress import MaxMemory as MaxMemory
from hcssp.contract.progress import MaxRuntime as MaxRuntime
from hcssp.methods.highs.mixed_integer import MixedInteger as MixedInteger
from hcssp.contract.progress import NoImprovement as NoImprovement
from hcssp.workers import open_workers as open_workers
from hcssp.methods.policy_branching import PolicyBranching as PolicyBranching
from hcssp.solving.solve import solve as solve
from hcssp.solving.sweep import sweep as sweep
from hcssp.contract.progress import Target as Target
from hcssp.numerics import Tolerances as Tolerances
from hcssp.solving.trade_off import trade_off as trade_off

# Plans.
from hcssp.checker.checking import check as check
from hcssp.execution import Decision as Decision
from hcssp.cssp.policy import DeterministicPolicy as DeterministicPolicy
from hcssp.evaluation.exact import evaluate as evaluate
from hcssp.contract.plan import Plan as Plan
from hcssp.contract.proof import Reason as Reason
from hcssp.cssp.grid import render_policy as render_policy
from hcssp.evaluation.robustness import robustness as robustness
from hcssp.execution import Run as Run
from hcssp.contract.proof import Status as Status

# Errors, and what extends the library.
from hcssp import errors as errors
from hcssp.errors import HcsspError as HcsspError
from hcssp.errors import InvalidProblem as InvalidProblem
from hcssp.errors import NoSolution as NoSolution
from hcssp import extend as extend

__version__: str
