"""Policies of an expansion as one row for each known state."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.spans import first_in_each, joined_spans
from hcssp.ssp.guided_expansion import GuidedExpansion


def greedy_rows(search: GuidedExpansion, values: FloatArray) -> IntArray:
    """For each known state the best of its rows if `values` are to come after it; -1 where it has none."""
    options = search.row_costs(slice(None)) + search.departures.after(values)
    return best_rows(search.expansion, options)


def best_rows(expansion: Expansion, options: FloatArray) -> IntArray:
    """For each known state the first of its rows with the least option; -1 where all are infinite."""
    owner = expansion.row_state
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    counts = np.diff(np.append(begins, len(owner)))
    least = np.minimum.reduceat(options, begins)
    first = first_in_each(options == np.repeat(least, counts), begins)
    rows = np.full(expansion.num_states, NO_ROW, dtype=np.int64)
    rows[owner[begins]] = np.where(np.isfinite(least), first, NO_ROW)
    return rows


def policy_chain(search: GuidedExpansion, rows: IntArray) -> SparseMatrix:
    """Where a policy leads from each known state when it leaves it; nowhere without a row."""
    expansion = search.expansion
    states = np.flatnonzero(rows != NO_ROW)
    own = rows[states]
    lengths = np.zeros(expansion.num_states, dtype=np.int64)
    lengths[states] = expansion.entries_of_row[own]
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    entries, _ = joined_spans(expansion.first_entry[own], lengths[states])
    count = expansion.num_states
    chain = csr_array(
        (search.departures.probability[entries], expansion.successor[entries], starts), shape=(count, count)
    )
    chain.sum_duplicates()
    chain.eliminate_zeros()
    return chain
