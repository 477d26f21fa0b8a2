"""Names for code that extends hcssp, and the types of its results.

``hcssp`` has the names that a user writes. Here are those that an extension needs: a solver, an oracle,
workers, a certificate made by hand, annotations. They are imported when they are first used. All errors are
in :mod:`hcssp.errors`, built-in problems in :mod:`hcssp.scenarios`.

>>> from hcssp.extend import Oracle, Progress

- Own stop criteria and solvers: ``BudgetParameters``, ``Context``, ``Ending``, ``FileClaim``,
  ``HighsParameters``, ``Infeasibility``, ``Infeasible``, ``Interval``, ``is_proper``, ``Memory``,
  ``Progress``, ``SearchOptions``, ``SearchParameters``, ``Solver``, ``StopCriterion``, ``UnsoundResult``,
  ``Verification``.
- Own oracles: ``Breakpoint``, ``Correspondence``, ``Enumeration``, ``FlatOracle``, ``FlatPoint``,
  ``KnownBest``, ``KnownPoints``, ``KnownPolicies``, ``KnownPotential``, ``LocalSearch``, ``Minimum``,
  ``Oracle``, ``PlanClasses``, ``PolicyPoint``, ``Potentials``, ``Prediction``, ``Region``, ``RoundingUp``,
  ``Settlement``, ``stationary``, ``StochasticOptimum``, ``Strategies``, ``Symmetry``.
- Own ways to state and transform problems: ``ActionHandle``, ``Activity``, ``ActivityHandle``, ``Choice``,
  ``Constraint``, ``CSSPParts``, ``EventHandle``, ``EventWay``, ``ExpandedCSSP``, ``ExpandedParts``,
  ``Expansion``, ``ExpansionParameters``, ``Flattening``, ``Floor``, ``from_storm``,
  ``HCSSPParts``, ``ImplicitProcedure``, ``Limits``, ``Nesting``, ``PerExecution``, ``prepare``,
  ``Prepared``, ``Question``,
  ``record_episodes``, ``Reward``, ``RewardInterval``, ``StateHandle``, ``TableStep``, ``TransitionBatch``,
  ``TransitionCosts``, ``Use``, ``Uses``.
- Records: ``ActivityEvaluation``, ``AllocationBox``, ``AllocationIncumbent``, ``AllocationSpace``,
  ``Alternative``, ``BestPlans``, ``CurvePoint``, ``Estimate``,
  ``Evaluation``, ``Influence``, ``lagrangian``, ``Lagrangian``, ``LagrangianStep``, ``LimitEvaluation``,
  ``MetPolicy``, ``PolicyLine``, ``ProcedureEvaluation``, ``ProcedurePlan``,
  ``ProcedurePolicy``, ``ProcedureSimulation``, ``RandomisedPolicy``, ``Reasons``, ``Robustness``,
  ``simulate``, ``Simulation``, ``Sweep``, ``SweepAxis``, ``SweepPoint``, ``Trace``, ``TracePoint``,
  ``TradeOff``, ``why``.
- Proofs: ``Certificate``, ``Claim``, ``load_search``, ``Potential``, ``save_certificate``, ``save_plan``,
  ``save_search``, ``SearchRecord``, ``Statement``, ``Verdict``.
- Workers: ``LostWorker``, ``Shared``, ``Task``, ``Workers``.
"""

from __future__ import annotations

from hcssp.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
