"""From the record of a search to a certificate: the leaves are proven one by one from what the oracle knows.

Whatever the search believed, the certificate says what :class:`~hcssp.proofs.builder.ProofBuilder` could
prove of it. A method that keeps no record of regions of policies has a certificate of one leaf: the
Lagrangian bound on all policies, which holds for plans that draw lots as well.
"""

from __future__ import annotations

import logging
from math import inf

from hcssp.checker.format import Certificate
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.dual.ascent import maximise
from hcssp.dual.oracles import oracle_of
from hcssp.errors import DeadEnd
from hcssp.procedure.model import HCSSP
from hcssp.proofs.builder import ProofBuilder
from hcssp.proofs.search_record import Claim, SearchRecord, write_down
from hcssp.proofs.witnesses import Blocks, ProcedureWitness, Witness, witness_of
from hcssp.ssp.region import Region
from hcssp.threads import single_threaded_algebra

logger = logging.getLogger(__name__)

ENOUGH = 1e-10
"""A leaf that is proven but for this share of what the search told is not planned for anew."""


@single_threaded_algebra()
def certificate_of(
    problem: CSSP | HCSSP,
    record: SearchRecord,
    plan: IntArray | None = None,
    *,
    relaxed: bool = False,
) -> Certificate:
    """What a search has found out, as a proof.

    Parameters
    ----------
    problem
        The problem, under the bounds of the search.
    record
        What the search has written down; if that is nothing, or about an oracle that is not ours, the dual
        of the whole problem is solved instead.
    plan
        The best plan that was found: a row for each of the problem's (flat) states, -1 for none.
    relaxed
        Prove only what holds for plans that draw lots, too: all policies are one leaf.
    """
    proof = ProofBuilder(problem, randomised=relaxed)
    if plan is not None:
        proof.set_plan(plan)
    witness = witness_of(proof, problem, record.oracle)
    if witness is None or record.claim(record.root) is None:
        record = _root_of(problem)
        witness = witness_of(proof, problem, record.oracle)
    _Assembly(proof, record, witness).run(relaxed)
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
    """The leaves of a record, on their way into a proof."""

    def __init__(self, proof: ProofBuilder, record: SearchRecord, witness: Witness | None) -> None:
        self._proof, self._record, self._witness = proof, record, witness
        self._places: dict[int, tuple[int, Blocks]] = {}
        self._done: set[int] = set()

    def run(self, relaxed: bool) -> None:
        """Prove as much of every leaf as the whole needs."""
        record = self._record
        told = [record.claim(leaf) for leaf in record.leaves()]
        target = min(0.0 if claim is None else claim.bound for claim in told)
        short = 0
        for leaf in self._leaves(target, relaxed):
            claim = record.claim(leaf)
            if claim is None:
                continue
            if claim.node not in self._done:
                self._done.add(claim.node)
                self._prove(*self._places[claim.node], claim, afresh=False)
            if not self._is_enough(leaf, min(target, claim.bound)):
                self._prove(*self._places[leaf], claim, afresh=True)
            short += not self._is_enough(leaf, min(target, claim.bound))
        whole = record.claim(record.root)
        if short and whole is not None:
            # Where a split could not be followed, what is known about all policies may be more.
            self._prove(*self._places[record.root], whole, afresh=False)
            logger.info("of %d leaves, %d are proven to less than the search told", len(told), short)

    def _leaves(self, target: float, relaxed: bool) -> list[int]:
        """Replay the splits, but not those of a region that is known to be good enough as it is."""
        leaves = []
        everything: Blocks = () if self._witness is None else self._witness.everything
        waiting = [(self._record.root, self._proof.root, everything)]
        while waiting:
            region, node, blocks = waiting.pop()
            self._places[region] = node, blocks
            claim, children = self._record.claim(region), self._record.children(region)
            known = claim is not None and claim.bound >= target
            row, exchanged = self._record.row(region), self._record.orbit(region)[1]
            # A certificate cannot say that rows were exchanged: it has one leaf for what was split so.
            if self._witness is None or relaxed or known or not children or exchanged:
                leaves.append(region)
                continue
            parts = self._proof.branch(node, self._witness.flat_row(row))
            for child, part, used in zip(children, parts, (True, False), strict=True):
                waiting.append((child, part, self._witness.part(blocks, row, used)))
        return leaves

    def _prove(self, node: int, blocks: Blocks, claim: Claim, afresh: bool) -> None:
        proof, weights = self._proof, claim.weights
        if weights is None:
            proof.refute_empty(node)
            return
        if claim.counted and self._spread(node, claim.node, weights[1:], claim.bound):
            return
        testimony = None
        if self._witness is not None:
            testimony = self._witness.testify(node, blocks, weights, afresh)
        if testimony is None:
            proof.refute_empty(node)
        elif weights[0] == 0.0:
            proof.refute(node, weights[1:].tolist(), *testimony)
        else:
            proof.prove(node, weights[1:].tolist(), *testimony)

    def _spread(self, node: int, region: int, prices: FloatArray, bound: float) -> bool:
        """Whether a bound that was found by counting is proven so; plans that draw lots are not counted."""
        if self._proof.randomised or not isinstance(self._witness, ProcedureWitness):
            return False
        parts = self._witness.spread(self._record.region(region), prices, bound)
        if parts is None:
            return False
        return _nearly(self._proof.prove_spread(node, prices.tolist(), parts, bound), bound)

    def _is_enough(self, leaf: int, wanted: float) -> bool:
        return _nearly(self._proof.bound(self._places[leaf][0]), wanted)


def _nearly(proven: float, wanted: float) -> bool:
    """Whether as much is proven as was wanted, but for next to nothing."""
    return proven >= wanted or (wanted < inf and proven >= wanted - ENOUGH * abs(wanted))
