r"""The Lagrangian dual of a constrained problem within a region: lower bound, prices, mixture.

**Problem.** :math:`\max_{\lambda \ge 0} L(\lambda)`, where
:math:`L(\lambda) = \min_\pi f(\pi) + \lambda (g(\pi) - \Delta)` over the policies of a region. Every
:math:`L(\lambda)` is a lower bound on the deterministic optimum; the maximum is the optimum over randomised
policies.

**Method.** One constraint: intersect the lines of the best infeasible and the best feasible policy, solve
at that multiplier, replace one of them, until the value meets the intersection. Several: the same idea with
a linear program as master (Kelley's cutting planes, column generation).

**Guarantee.** The bound reported is the largest *certified* :math:`L(\lambda)` met, whatever the master said.
A region is called infeasible only with weights :math:`w \ge 0` for which the least :math:`w g` exceeds
:math:`w \Delta`.

**References.** Aneja and Nair 1979; Kelley 1960; Altman 1999.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual, explore, settle
from hcssp.dual.one_bound import intersect_lines
from hcssp.dual.oracle import Oracle, Vertex
from hcssp.dual.several_bounds import cut_planes
from hcssp.ssp.region import Region

__all__ = ["Dual", "ascend", "maximise"]


def maximise(
    oracle: Oracle,
    region: Region,
    known: Sequence[Vertex] = (),
    start: FloatArray | None = None,
    cutoff: float = inf,
) -> Dual:
    """Maximise the dual of `region`; stop early once the bound reaches `cutoff`.

    Parameters
    ----------
    oracle, region
        The problem and the part of its policies that is meant.
    known
        Policies of the region that are known already.
    start
        Multipliers near the answer, such as those of a larger region.
    cutoff
        A bound at which the caller loses interest, such as the incumbent's cost.
    """
    dual = Dual()
    for dual in ascend(oracle, region, known, start, cutoff):
        if dual.bound >= cutoff:
            break
    return dual


def ascend(
    oracle: Oracle,
    region: Region,
    known: Sequence[Vertex] = (),
    start: FloatArray | None = None,
    cutoff: float = inf,
) -> Iterator[Dual]:
    """The ascent step by step, after every solved multiplier; the same object grows.

    See :func:`maximise` for the parameters; with a cutoff, the last small part of the way is not gone.
    """
    dual = Dual(prices=np.zeros(len(oracle.bounds)), vertices=list(known))
    bounded = np.flatnonzero(np.isfinite(oracle.bounds))
    if len(bounded) == 0:
        if explore(oracle, region, dual, np.zeros(len(oracle.bounds))) is not None:
            settle(dual, [dual.vertices[-1]], np.ones(1))
        yield dual
    elif len(bounded) == 1:
        yield from intersect_lines(oracle, region, dual, int(bounded[0]), start, cutoff)
    else:
        yield from cut_planes(oracle, region, dual, bounded, start, cutoff)
