"""The certificate that comes of a proof: what no leaf and no plan needs is left out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from hcssp.checker.format import Certificate, Potential, Statement, Use
from hcssp.checker.layout import Layout
from hcssp.proofs.plans import ProvenPlan
from hcssp.proofs.region_tree import RegionTree


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
        fingerprint=layout.flat.digest,
        bounds=layout.bounds,
        tree=tuple(tree),
        leaves=tuple(leaves),
        plan=plan.rows,
        ranks=plan.ranks,
        upper_bound=plan.upper_bound,
        plan_statements=tuple(len(renumbered) + number for number in range(len(plan.statements))),
        statements=(*renumbered, *(_renumbered(statement, shifted) for statement in plan.statements)),
        potentials=(*(potentials[number] for number in kept), *plan.potentials),
        segments=regions.segments if any(isinstance(each, tuple) for each in tree) else (),
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
