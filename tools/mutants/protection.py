"""Which tests protect a file of the package: the most telling first, and only as many as are needed.

A mistake that nothing notices costs the time of all of them, so that whole folders are not named.

>>> protectors_of("dual/one_bound.py")
['tests/dual/test_one_bound.py', 'tests/dual/test_ascent.py', 'tests/methods/test_policy_branching.py']
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

PROTECTORS: dict[str, tuple[str, ...]] = {
    "numerics.py": ("solving/test_tolerances.py", "evaluation/test_exact.py", "contract/test_plan.py"),
    "cssp/absorption.py": (
        "evaluation/test_exact.py",
        "evaluation/test_by_activity.py",
        "procedure/test_executions.py",
    ),
    "cssp/identical_problems.py": ("dual/test_alike_activities.py", "solving/test_replan.py"),
    "ssp/balance.py": ("ssp/test_policy_system.py", "ssp/test_start.py", "dual/test_repair.py"),
    "ssp/mending.py": ("ssp/test_potential.py", "proofs/test_feasibility.py", "proofs/test_assembly.py"),
    "ssp/potential.py": (
        "ssp/test_roundings.py",
        "ssp/test_scalar_problem.py",
        "ssp/test_balance.py",
        "dual/test_flat_oracle.py",
    ),
    "ssp/region.py": ("methods/test_policy_branching.py",),
    "dual/activity_budget.py": ("methods/paper/test_algorithm_2_activity_planning.py",),
    "dual/activity_curve.py": (
        "dual/test_roundings_of_duals.py",
        "dual/test_activity_planner.py",
        "dual/test_procedure_oracle.py",
    ),
    "dual/activity_planner.py": ("dual/test_procedure_oracle.py", "proofs/test_assembly.py"),
    "dual/activity_planners.py": (
        "dual/test_procedure_oracle.py",
        "dual/test_ascent.py",
        "contract/test_memory.py",
    ),
    "dual/affordable_oracle.py": (
        "dual/test_oracle.py",
        "methods/test_own_oracle.py",
        "contract/test_memory.py",
    ),
    "dual/alike_activities.py": ("dual/test_procedure_oracle.py",),
    "dual/ascent.py": (
        "dual/test_roundings_of_duals.py",
        "dual/test_one_bound.py",
        "dual/test_several_bounds.py",
        "dual/test_oracle.py",
    ),
    "dual/budget_spread.py": ("dual/test_settlement.py",),
    "dual/circle.py": ("dual/test_doors_oracle.py", "proofs/test_assembly.py"),
    "dual/door_layout.py": ("dual/test_doors_oracle.py", "proofs/test_assembly.py"),
    "dual/door_planner.py": (
        "dual/test_roundings_of_duals.py",
        "dual/test_doors_oracle.py",
        "proofs/test_assembly.py",
    ),
    "dual/doors_oracle.py": ("proofs/test_assembly.py",),
    "dual/doors_vertex.py": (
        "dual/test_switching_costs.py",
        "dual/test_doors_oracle.py",
        "methods/test_open_duals.py",
    ),
    "dual/envelope_oracle.py": ("ssp/test_envelope.py",),
    "dual/event_factors.py": ("dual/test_event_solver.py", "dual/test_doors_vertex.py"),
    "dual/event_rows.py": ("dual/test_doors_oracle.py", "proofs/test_assembly.py"),
    "dual/event_solver.py": ("dual/test_procedure_oracle.py",),
    "dual/exchangeable.py": ("dual/test_procedure_oracle.py", "methods/test_policy_branching.py"),
    "dual/expanding_oracle.py": ("methods/test_heuristic_search.py",),
    "dual/flat_oracle.py": ("dual/test_ascent.py", "proofs/test_assembly.py"),
    "dual/floors.py": ("dual/test_envelope_oracle.py",),
    "dual/frontier.py": ("dual/test_activity_curve.py", "dual/test_activity_budget.py"),
    "dual/master.py": ("dual/test_several_bounds.py", "dual/test_ascent.py"),
    "dual/near_best.py": ("dual/test_settlement.py", "checker/test_knapsack.py"),
    "dual/one_bound.py": ("dual/test_ascent.py", "methods/test_policy_branching.py"),
    "dual/oracle.py": (
        "dual/test_roundings_of_duals.py",
        "methods/test_own_oracle.py",
        "dual/test_several_bounds.py",
    ),
    "dual/oracles.py": ("contract/test_memory.py", "methods/test_open_duals.py"),
    "dual/precision.py": ("dual/test_one_bound.py", "dual/test_ascent.py"),
    "dual/price_interval.py": ("dual/test_activity_curve.py", "dual/test_activity_planner.py"),
    "dual/procedure_oracle.py": ("dual/test_ascent.py", "proofs/test_assembly.py"),
    "dual/procedure_vertex.py": ("dual/test_procedure_oracle.py", "proofs/test_assembly.py"),
    "dual/settlement.py": ("dual/test_procedure_oracle.py", "checker/test_knapsack.py"),
    "dual/several_bounds.py": (
        "dual/test_ascent.py",
        "dual/test_peak.py",
        "methods/test_policy_branching.py",
    ),
    "dual/stochastic.py": ("contract/test_plan.py", "solving/test_solve.py"),
    "dual/value_surface.py": ("dual/test_activity_planner.py", "dual/test_procedure_oracle.py"),
    "dual/vertex.py": (
        "dual/test_roundings_of_duals.py",
        "methods/test_own_oracle.py",
        "dual/test_several_bounds.py",
    ),
    "checker/arithmetic.py": (
        "checker/test_check.py",
        "checker/test_knapsack.py",
        "checker/test_tampering.py",
        "checker/test_adversary.py",
    ),
    "checker/checking.py": (
        "checker/test_check.py",
        "checker/test_knapsack.py",
        "checker/test_tampering.py",
        "proofs/test_builder.py",
        "checker/test_adversary.py",
    ),
    "checker/format.py": ("checker/test_check.py", "checker/test_tampering.py"),
    "checker/layout.py": (
        "checker/test_arithmetic.py",
        "checker/test_check.py",
        "checker/test_tampering.py",
        "checker/test_adversary.py",
    ),
    "proofs/assembly.py": (
        "proofs/test_search_record.py",
        "dual/test_exchangeable.py",
        "cli/test_certificates.py",
    ),
    "proofs/builder.py": (
        "proofs/test_random_proofs.py",
        "proofs/test_assembly.py",
        "dual/test_exchangeable.py",
    ),
    "proofs/compilation.py": (
        "proofs/test_builder.py",
        "proofs/test_assembly.py",
        "checker/test_knapsack.py",
    ),
    "proofs/encoding.py": ("proofs/test_builder.py", "checker/test_format.py", "proofs/test_assembly.py"),
    "proofs/events.py": ("proofs/test_builder.py", "proofs/test_random_proofs.py", "proofs/test_assembly.py"),
    "proofs/feasibility.py": ("proofs/test_builder.py", "proofs/test_random_proofs.py"),
    "proofs/plans.py": ("proofs/test_builder.py", "proofs/test_random_proofs.py", "proofs/test_assembly.py"),
    "proofs/potential_store.py": (
        "proofs/test_builder.py",
        "proofs/test_random_proofs.py",
        "proofs/test_assembly.py",
        "checker/test_knapsack.py",
    ),
    "proofs/region_tree.py": (
        "proofs/test_builder.py",
        "proofs/test_random_proofs.py",
        "proofs/test_assembly.py",
        "dual/test_exchangeable.py",
    ),
    "proofs/search_record.py": ("proofs/test_assembly.py",),
    "proofs/visits.py": ("checker/test_knapsack.py",),
    "proofs/witnesses.py": ("proofs/test_assembly.py",),
    "methods/best_first.py": ("methods/test_anytime.py", "methods/test_policy_branching.py"),
    "methods/branching.py": (
        "dual/test_exchangeable.py",
        "methods/test_policy_branching.py",
        "methods/test_open_duals.py",
        "dual/test_settlement.py",
    ),
    "methods/careful_costs.py": ("methods/test_reporter.py",),
    "methods/coordinator.py": ("files/test_search_file.py",),
    "methods/policy_branching.py": (
        "methods/test_open_duals.py",
        "dual/test_settlement.py",
        "solving/test_all_solvers.py",
        "methods/test_coordinator.py",
    ),
    "methods/reporter.py": ("methods/test_open_duals.py", "methods/test_anytime.py"),
}
"""What claims rest on, in ``src/hcssp``, and which of ``tests`` protect it, beside those of the same name."""

WHOLE_FOLDERS = ("checker", "dual", "proofs")
"""Claims rest on what is in them; a file that is not listed has all tests of its folder."""

PROPOSERS = (
    *(f"dual/{name}.py" for name in ("crossing", "foresight", "guessing", "known_model", "loose_slots")),
    *(f"dual/{name}.py" for name in ("door_repair", "policy_part", "procedure_repair", "repair")),
    "dual/switch_sets.py",
    "ssp/mending.py",
    *(f"proofs/{name}.py" for name in ("encoding", "events", "feasibility", "plans", "search_record")),
    *(f"proofs/{name}.py" for name in ("visits", "witnesses")),
)
"""What no claim rests on, because somebody else judges what is proposed, whatever it is:

- better plans (``crossing``, ``repair`` and its kin): each is evaluated before it is offered, and what a plan
  costs is told by its evaluation;
- prices to ask the oracle at (``known_model``, ``foresight``, ``guessing``): what it answers is certified at
  whatever prices it is asked;
- what to plan more precisely (``loose_slots``): the bound is made of what is certified of each activity;
- lower values (``mending``): the certifier goes through all rows again, and so does the checker;
- what certificates are made of (``proofs``): "verified" is the checker's word, which is in the core, and it
  believes nothing that the writer of a certificate says. What the command tells of a certificate before it
  is checked comes from ``assembly``, ``builder`` and what it is made of, which stay in the core.

A mistake there makes a search slower, an interval wider or a certificate refused, and nothing false is said.
The tests of their own files say what they are to find; ``--proposers`` plants mistakes in them instead."""

LAST_RESORT = ("tests/referee/test_verdicts.py", "tests/solving/test_reproductions.py")
"""Run where the tests of the file itself notice nothing."""


def core_files(proposers: bool = False) -> list[str]:
    """The files that mistakes are planted in, relative to ``src/hcssp``; those that only propose if asked."""
    package = ROOT / "src" / "hcssp"
    inside = {
        path.relative_to(package).as_posix()
        for each in WHOLE_FOLDERS
        for path in (package / each).glob("*.py")
    }
    every = inside | set(PROTECTORS)
    return sorted(path for path in every if (path in PROPOSERS) == proposers)


def protectors_of(path: str) -> list[str]:
    """The tests of a file of the core: those of the same name, then others."""
    own = Path(path)
    mirrored = Path("tests") / own.parent / f"test_{own.name}"
    first = [mirrored.as_posix()] if (ROOT / mirrored).exists() else []
    return [*first, *(f"tests/{each}" for each in PROTECTORS.get(path, (own.parent.as_posix(),)))]


def stages_of(path: str) -> list[list[str]]:
    """All tests that concern a file, in the order in which they are tried."""
    # Its doctests apart: a module that is imported for them hides a function of the same name.
    return [protectors_of(path), [f"src/hcssp/{path}"], list(LAST_RESORT)]
