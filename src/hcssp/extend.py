"""What extends hcssp, and the types that its answers are made of.

``hcssp`` has the names that a user writes. Here are those that code of one's own needs: a solver, an oracle,
workers, a certificate made by hand, annotations. They are imported when they are first used. All errors are
in :mod:`hcssp.errors`, ready-made problems in :mod:`hcssp.scenarios`.

>>> from hcssp.extend import Oracle, Progress

- Own stop criteria and solvers: ``Context``, ``Ending``, ``FileClaim``, ``Infeasibility``, ``Infeasible``,
  ``Interval``, ``is_proper``, ``Memory``, ``Progress``, ``SearchOptions``, ``Solver``, ``StopCriterion``,
  ``UnsoundResult``, ``Verification``.
- Own oracles: ``FlatOracle``, ``FlatVertex``, ``KnownBest``, ``KnownVertices``, ``Minimum``, ``Oracle``,
  ``Region``, ``Settlement``, ``stationary``, ``StochasticOptimum``, ``TurningPoint``, ``Vertex``.
- Own ways to state and transform problems: ``ActionHandle``, ``Activity``, ``ActivityHandle``, ``Choice``,
  ``Constraint``, ``CSSPParts``, ``EventHandle``, ``EventWay``, ``ExpandedCSSP``, ``ExpandedParts``,
  ``Expansion``, ``explore_in_batches``, ``Flattening``, ``from_storm``, ``HCSSPParts``,
  ``ImplicitProcedure``, ``Limits``, ``Nesting``, ``PerExecution``, ``prepare``, ``Prepared``, ``Question``,
  ``record_episodes``, ``Reward``, ``RewardInterval``, ``StateHandle``, ``TableStep``, ``TransitionBatch``,
  ``TransitionCosts``, ``Use``, ``with_units``.
- Records: ``ActivityEvaluation``, ``Alternative``, ``CurvePoint``, ``Estimate``, ``Evaluation``,
  ``Influence``, ``LimitEvaluation``, ``ProcedureEvaluation``, ``ProcedurePlan``, ``ProcedurePolicy``,
  ``ProcedureSimulation``, ``RandomisedPolicy``, ``Reasons``, ``Robustness``, ``simulate``, ``Simulation``,
  ``Sweep``, ``SweepAxis``, ``SweepPoint``, ``Trace``, ``TracePoint``, ``TradeOff``, ``why``.
- Proofs: ``Certificate``, ``Claim``, ``load_search``, ``Potential``, ``save_certificate``, ``save_plan``,
  ``save_search``, ``SearchRecord``, ``Statement``, ``Verdict``.
- Workers: ``LostWorker``, ``Shared``, ``Task``, ``Workers``.
"""

from __future__ import annotations

from hcssp.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
