"""How much the factors of a system fill in, seen on a part of it that is soon factorised.

The graph of a problem tells whether steps lead anywhere, see :mod:`hcssp.cssp.fill`. Between a grid and that
lie problems in which several things move by themselves, such as a boat among ferries: their steps lead
nearby, but in so many directions that factors have hundreds of entries a state, and thousands in larger ones.
The factors of the states around one of them show it. Those of grids, tracks and trees have about twenty
entries a state there, and not many more in all.

>>> import numpy as np
>>> from scipy.sparse import diags_array
>>> line = csr_array(diags_array([np.ones(9_000), np.full(8_999, -0.5)], offsets=[0, 1]))
>>> fills_in_nearby(line, Layers(line))
False
"""

from __future__ import annotations

from scipy.sparse import csr_array

from hcssp.cssp.factorisation import eliminate
from hcssp.cssp.fill import Layers
from hcssp.cssp.model import SparseMatrix

SAMPLE = 4_000
"""So many states make up the part. Smaller systems are factorised in no time, whatever the fill."""

DENSE = 64.0
"""With more entries a state than this in the factors of the part, those of the whole are dense."""


def fills_in_nearby(system: SparseMatrix, layers: Layers) -> bool:
    """Whether factors are likely to be dense, by the look of those of the states around the start.

    Parameters
    ----------
    system
        CSR, square, with a diagonal: the system of a policy, or of any choice of rows.
    layers
        Those of the steps that the policy may take.
    """
    if system.shape[0] <= SAMPLE:
        return False
    nearby = layers.around_start(SAMPLE)
    part = csr_array(system[nearby][:, nearby])
    part.sort_indices()
    # Fill is a matter of the pattern alone; with twice the diagonal no choice of rows is singular.
    part.setdiag(2.0 * part.diagonal())
    try:
        factors = eliminate(part)
    except RuntimeError:
        # Singular within rounding, which says nothing about the fill.
        return False
    return bool(factors.nnz > DENSE * len(nearby))
