"""Searches on disk: the regions that are left, so that another run goes on where one was killed.

``format`` and ``version``
    ``"hcssp-search"`` and 2; 1 has no pairs in ``rows``.
``problem``, ``bounds``
    As in a plan's file (:mod:`hcssp.files.plan_file`). A search for other bounds is not continued.
``rows``
    The regions: for each the row that it was split on, or -1 if it was not; the part that uses the row
    follows with all of its parts, then the one that does not. A pair of a row and a count stands for a split
    on all rows that it can be exchanged for: at most this number of them is used. Such a list covers all
    policies, whatever its numbers are.
``weights``
    For each region that was not split, the weights of the costs that say most about it; ``null`` if none do.

The file holds no lower bound, and nothing in it is believed: a search that continues proves its regions
again, each from its weights, which takes one dual for each of them. False weights cost time only. The rows
are those of the solver. Another version may number them otherwise; continuing from such a file is sound, and
slow.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from hcssp.contract.solver import Problem
from hcssp.errors import InvalidPlan
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.shapes import AboutProblem, bounds_of, check_problem, head, naming, read_document
from hcssp.proofs.search_record import SearchRecord, Split

FORMAT = "hcssp-search"
VERSION, READABLE = 2, (1, 2)


class SearchDocument(AboutProblem):
    """A search's file."""

    rows: list[int | list[int]]
    weights: list[list[float] | None]


def search_path(plan: str | Path) -> Path:
    """Where the search for the plan of a file is kept: beside it.

    >>> search_path("out/plan.json").name
    'plan.json.search'
    """
    return Path(f"{plan}.search")


def save_search(
    path: str | Path, problem: Problem, record: SearchRecord, *, fingerprint: str | None = None
) -> None:
    """Write the regions of a search; an old file is replaced in one step, or stays as it was.

    Parameters
    ----------
    path
        Where to.
    problem
        What is solved, under the bounds of the search.
    record
        What the search has written down.
    fingerprint
        That of the problem, if it is at hand.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    splits, weights = record.skeleton()
    bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
    document = {
        **head(FORMAT, VERSION, problem.name, fingerprint or fingerprint_of(problem), bounds),
        "rows": splits,
        "weights": [
            None if each is None or not np.isfinite(each).all() else each.tolist() for each in weights
        ],
    }
    write_atomically(path, json.dumps(document, allow_nan=False) + "\n")


def load_search(path: str | Path, problem: Problem) -> SearchRecord:
    """Read the regions of a search for `problem` under its bounds.

    Parameters
    ----------
    path
        The file.
    problem
        The problem, under the bounds that count.

    Returns
    -------
    SearchRecord
        For ``solve(problem, record=record)``.

    Raises
    ------
    InvalidPlan
        If the file cannot be read, holds no search, or one for another problem or other bounds.
    """
    file = str(path)
    document = read_document(file, FORMAT, READABLE, SearchDocument)
    with naming(file):
        check_problem(document, fingerprint_of(problem))
        made_for, judged_by = bounds_of(document, problem.constraint_names), problem.bounds.tolist()
        if not all(map(_is_split, document["rows"])):
            raise InvalidPlan("rows: give whole numbers from -1, or pairs from 0")
        if list(made_for.values()) != judged_by:
            other = ", ".join(
                f"{name} at most {bound:g}, not {judged:g}"
                for (name, bound), judged in zip(made_for.items(), judged_by, strict=True)
                if bound != judged
            )
            raise InvalidPlan(f"this search is for other bounds ({other}); start without it")
        rows = document["rows"]
        splits: list[Split] = [(each[0], each[1]) if isinstance(each, list) else each for each in rows]
        weights = [None if each is None else np.array(each, dtype=np.float64) for each in document["weights"]]
        try:
            return SearchRecord.of_skeleton(splits, weights)
        except ValueError as error:
            raise InvalidPlan(f"{error}; start without it") from None


def _is_split(given: int | list[int]) -> bool:
    if isinstance(given, int):
        return -1 <= given < _LARGEST
    return len(given) == 2 and all(0 <= each < _LARGEST for each in given)


_LARGEST = 2**62
"""More than any row."""
