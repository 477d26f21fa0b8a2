"""From the record of a search to a certificate: each leaf is proven from the potentials of the oracle.

The certificate contains what :class:`~hcssp.proofs.builder.ProofBuilder` could prove, whatever the search
believed. An oracle gives potentials by its strategy :class:`~hcssp.dual.oracle.Potentials`. A method without
a record of regions, or with an oracle without potentials, has a certificate of one leaf: the Lagrangian bound
on all policies, which holds for randomised policies as well.
"""

from __future__ import annotations

import logging
from math import inf

from hcssp.checker.format import Certificate, Extra, Part, Use
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.dual.ascent import maximise
from hcssp.dual.oracle import KnownPotential, Potentials
from hcssp.dual.oracles import oracle_of
from hcssp.errors import DeadEnd
from hcssp.procedure.model import HCSSP
from hcssp.proofs.builder import ProofBuilder
from hcssp.proofs.search_record import Claim, SearchRecord, write_down
from hcssp.ssp.scalar_problem import Region
from hcssp.threads import single_threaded_algebra

logger = logging.getLogger(__name__)

ENOUGH = 1e-10
"""A leaf that is proven up to this share of the search's bound is not planned for again."""


@single_threaded_algebra()
def certificate_of(
    problem: CSSP | HCSSP,
    record: SearchRecord,
    plan: IntArray | None = None,
    extra: Extra = (),
    *,
    relaxed: bool = False,
) -> Certificate:
    """The certificate of the results of a search.

    Parameters
    ----------
    problem
        The problem, under the bounds of the search.
    record
        The record of the search. If it is empty or its oracle has no potentials, the dual of the problem
        is solved instead.
    plan
        The best plan that was found: a row for each of the problem's (flat) states, -1 for none.
    extra
        The further rows of a randomised plan, with their probabilities; it must be `relaxed` then.
    relaxed
        Prove bounds that are valid for randomised policies, too: all policies are one leaf.
    """
    proof = ProofBuilder(problem, randomised=relaxed)
    if plan is not None:
        proof.set_plan(plan, extra)
    if _potentials_of(record) is None or record.claim(record.root) is None:
        record = _root_of(problem)
    _Assembly(proof, record).run(relaxed)
    return proof.certificate()


def claimed_interval(certificate: Certificate) -> tuple[float, float]:
    """The interval around the optimum that a certificate claims; ``inf`` twice if there is no plan."""
    lower = min((bound for _, bound in certificate.leaves), default=inf)
    return min(lower, certificate.upper_bound), certificate.upper_bound


def _root_of(problem: CSSP | HCSSP) -> SearchRecord:
    """The record of a search that ended with the dual of the whole problem."""
    record = SearchRecord()
    try:
        oracle = oracle_of(problem)
    except DeadEnd:
        record.empty(record.root)
        return record
    record.begin(oracle)
    write_down(record, record.root, maximise(oracle, Region()))
    return record


class _Assembly:
    """Proves the leaves of a record."""

    def __init__(self, proof: ProofBuilder, record: SearchRecord) -> None:
        self._proof, self._record = proof, record
        self._potentials = _potentials_of(record)
        self._nodes: dict[int, int] = {}
        self._numbers: dict[tuple[int, bytes, frozenset[int]], int] = {}

    def run(self, relaxed: bool) -> None:
        """Prove as much of every leaf as the whole needs."""
        record, done = self._record, set[int]()
        claims = [record.claim(leaf) for leaf in record.leaves()]
        target = min(0.0 if claim is None else claim.bound for claim in claims)
        short = 0
        for leaf in self._leaves(target, relaxed):
            claim = record.claim(leaf)
            if claim is None:
                continue
            wanted = min(target, claim.bound)
            if claim.node not in done:
                done.add(claim.node)
                self._prove(claim.node, claim, fresh=False)
            if not self._is_enough(leaf, wanted):
                self._prove(leaf, claim, fresh=True)
            short += not self._is_enough(leaf, wanted)
        whole = record.claim(record.root)
        if short and whole is not None:
            # Where a split could not be followed, what is known about all policies may be more.
            self._prove(record.root, whole, fresh=False)
            logger.info("of %d leaves, %d are proven to less than the search claims", len(claims), short)

    def _leaves(self, target: float, relaxed: bool) -> list[int]:
        """Replay the splits, but not those of a region whose bound reaches the target."""
        leaves = []
        waiting = [(self._record.root, self._proof.root)]
        while waiting:
            region, node = waiting.pop()
            self._nodes[region] = node
            claim, children = self._record.claim(region), self._record.children(region)
            known = claim is not None and claim.bound >= target
            (row, *_), exchanged = self._record.orbit(region) if children else ((-1,), 0)
            # A certificate cannot express that rows were exchanged: such a split is one leaf.
            if self._potentials is None or relaxed or known or not children or exchanged:
                leaves.append(region)
                continue
            parts = self._proof.branch(node, self._flat_row(row))
            waiting += zip(children, parts, strict=True)
        return leaves

    def _prove(self, region: int, claim: Claim, fresh: bool) -> None:
        proof, node, weights = self._proof, self._nodes[region], claim.weights
        if weights is None or self._potentials is None:
            proof.refute_empty(node)
            return
        if claim.counted and self._prove_settled(node, claim.node, weights[1:], claim.bound):
            return
        found = self._potentials.within(self._record.path(region), weights, fresh)
        if found is None:
            proof.refute_empty(node)
            return
        whole = [each.values for each, _ in found if each.activity is None]
        uses, events = [self._use(each, share) for each, share in found if each.activity is not None], None
        if whole and callable(whole[0]):
            uses, events = proof.flat_uses(node, weights.tolist(), proof.flat_values(whole[0]()))
        if weights[0] == 0.0:
            proof.refute(node, weights[1:].tolist(), uses, events)
        else:
            proof.prove(node, weights[1:].tolist(), uses, events)

    def _prove_settled(self, node: int, region: int, prices: FloatArray, bound: float) -> bool:
        """Whether a bound that was settled by enumeration is proven; randomised policies may be below it."""
        oracle = self._record.oracle
        if self._proof.randomised or oracle is None or oracle.strategies.enumeration is None:
            return False
        found = oracle.strategies.enumeration.plan_classes(self._record.region(region), prices, bound)
        if found is None:
            return False
        parts: list[Part] = [
            (
                each.activity,
                tuple(row if row < 0 else self._flat_row(row) for row in each.tree),
                tuple(
                    tuple(() if known is None else (self._use(known, 1.0),) for known in potentials)
                    for potentials in each.classes
                ),
            )
            for each in found
        ]
        return _nearly(self._proof.prove_spread(node, prices.tolist(), parts, bound), bound)

    def _use(self, known: KnownPotential, share: float) -> Use:
        """A share of a potential of an activity, which is kept once."""
        activity = 0 if known.activity is None else known.activity
        key = activity, known.weights.tobytes(), known.forbidden
        if key not in self._numbers:
            first, weights = self._proof.flat_row(activity, 0), known.weights.tolist()
            rows = [self._flat_row(row) - first for row in sorted(known.forbidden)]
            rows += self._proof.unaffordable(activity)
            if callable(known.values):
                number = self._proof.add_potential(activity, weights, known.values(), rows)
            else:
                number = self._proof.potentials.add_dead_end(activity, weights, known.values, rows)
            self._numbers[key] = number
        return activity, self._numbers[key], share

    def _flat_row(self, row: int) -> int:
        """The flat row that a row of the oracle is."""
        return self._proof.problem_row(row if self._potentials is None else self._potentials.problem_row(row))

    def _is_enough(self, leaf: int, wanted: float) -> bool:
        return _nearly(self._proof.bound(self._nodes[leaf]), wanted)


def _potentials_of(record: SearchRecord) -> Potentials | None:
    return None if record.oracle is None else record.oracle.strategies.potentials


def _nearly(proven: float, wanted: float) -> bool:
    """Whether as much is proven as was wanted, up to rounding."""
    return proven >= wanted or (wanted < inf and proven >= wanted - ENOUGH * abs(wanted))
