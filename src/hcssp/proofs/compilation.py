"""The problem as a proof takes it, and the certificate at the end: what is not needed is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from hcssp.checker.format import Certificate, Potential, Statement, Use
from hcssp.checker.layout import Layout
from hcssp.cssp.dominated import UNDOMINATED, dominating_rows
from hcssp.cssp.model import CSSP
from hcssp.procedure.model import HCSSP
from hcssp.procedure.single import as_procedure
from hcssp.proofs.plans import ProvenPlan
from hcssp.proofs.region_tree import RegionTree


def proposed_layout(problem: CSSP | HCSSP) -> Layout:
    """The layout of a problem, with all activities that have equal arrays and all dominated rows."""
    firsts: dict[tuple[object, ...], int] = {}
    same: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    seen: dict[int, int] = {}
    for activity, each in enumerate(as_procedure(problem).activities):
        if id(each.cssp) not in seen:
            first = seen[id(each.cssp)] = firsts.setdefault(_key(each.cssp), activity)
            if first == activity:
                by = dominating_rows(each.cssp)
                pairs += [(activity, row, int(by[row])) for row in np.flatnonzero(by != UNDOMINATED).tolist()]
        same.append(seen[id(each.cssp)])
    return Layout(problem, tuple(same), tuple(pairs))


def _key(cssp: CSSP) -> tuple[object, ...]:
    """What only C-SSPs with equal arrays have in common."""
    matrix = cssp.transitions
    arrays = matrix.indptr, matrix.indices, matrix.data, cssp.row_start, cssp.goals, cssp.costs
    return tuple((each.shape, np.ascontiguousarray(each).tobytes()) for each in arrays)


def compiled(
    layout: Layout, regions: RegionTree, potentials: Sequence[Potential], plan: ProvenPlan
) -> Certificate:
    """All that is proven of the leaves, with the plan.

    Parameters
    ----------
    layout
        The problem as the checker sees it.
    regions, potentials
        What is proven, and the potentials that statements about regions use, by number.
    plan
        The plan, with statements and potentials of its own.
    """
    tree, nodes = regions.written()
    statements: dict[Statement, int] = {}
    leaves: list[tuple[int | None, float]] = []
    for statement, bound in map(regions.best, nodes):
        number = None if statement is None else statements.setdefault(statement, len(statements))
        leaves.append((number, bound))
    kept = {
        number: new
        for new, number in enumerate(sorted({n for each in statements for _, n, _ in _uses_of(each)}))
    }
    renumbered = [_renumbered(statement, kept) for statement in statements]
    shifted = {number: len(kept) + number for number in range(len(plan.potentials))}
    return Certificate(
        bounds=layout.bounds,
        tree=tuple(tree),
        leaves=tuple(leaves),
        plan=plan.rows,
        ranks=plan.ranks,
        upper_bound=plan.upper_bound,
        plan_statements=tuple(len(renumbered) + number for number in range(len(plan.statements))),
        statements=(*renumbered, *(_renumbered(statement, shifted) for statement in plan.statements)),
        potentials=(*(potentials[number] for number in kept), *plan.potentials),
        same=layout.same,
        dominated=layout.pairs,
    )


def _uses_of(statement: Statement) -> Iterator[Use]:
    """All that a statement uses, in its parts as well."""
    yield from statement.uses
    for _, _, classes in statement.parts:
        for each in classes:
            yield from chain.from_iterable(each)


def _renumbered(statement: Statement, numbers: Mapping[int, int]) -> Statement:
    def again(uses: Iterable[Use]) -> tuple[Use, ...]:
        return tuple((activity, numbers[number], share) for activity, number, share in uses)

    parts = tuple(
        (activity, tree, tuple(tuple(map(again, each)) for each in classes))
        for activity, tree, classes in statement.parts
    )
    return replace(statement, uses=again(statement.uses), parts=parts)
