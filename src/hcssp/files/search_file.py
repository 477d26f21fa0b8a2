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
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from hcssp.contract.solver import Problem
from hcssp.errors import InvalidPlan
from hcssp.files.atomic import CheckedDocument, write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.proofs.search_record import SearchRecord, Split

FORMAT = "hcssp-search"
VERSION, READABLE = 2, (1, 2)


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
    bounds = zip(problem.constraint_names, problem.bounds.tolist(), strict=True)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "problem": {"name": problem.name, "fingerprint": fingerprint or fingerprint_of(problem)},
        "bounds": {name: bound if isfinite(bound) else None for name, bound in bounds},
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
    document = CheckedDocument.of_format(path, FORMAT, READABLE)
    file, content = document.file, document.content
    about = content.get("problem")
    if not isinstance(about, dict) or about.get("fingerprint") != fingerprint_of(problem):
        raise InvalidPlan(f"{file}: this search is for another problem; begin without it")
    made_for, judged_by = document.bounds(problem.constraint_names), problem.bounds.tolist()
    document.raise_if_any()
    if list(made_for.values()) != judged_by:
        other = ", ".join(
            f"{name} at most {bound:g}, not {judged:g}"
            for (name, bound), judged in zip(made_for.items(), judged_by, strict=True)
            if bound != judged
        )
        raise InvalidPlan(f"{file}: this search is for other bounds ({other}); begin without it")
    try:
        return SearchRecord.of_skeleton(_splits(content.get("rows")), _weights(content.get("weights")))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidPlan(f"{file}: {error}; begin without it") from None


def _splits(given: Any) -> list[Split]:
    wrong = ValueError(f"rows: {_shown(given)} is no list of whole numbers from -1, or pairs from 0")
    if not isinstance(given, list):
        raise wrong
    splits: list[Split] = []
    for each in given:
        pair = isinstance(each, list)
        numbers = each if pair else [each]
        if len(numbers) != 1 + pair or not all(type(n) is int and pair - 1 <= n < 2**62 for n in numbers):
            raise wrong
        splits.append((numbers[0], numbers[1]) if pair else numbers[0])
    return splits


def _weights(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise ValueError(f"weights: {_shown(given)} is no list")
    found = []
    for each in given:
        if each is not None and not (isinstance(each, list) and all(type(one) is float for one in each)):
            raise ValueError(f"weights: {_shown(each)} is no list of numbers")
        found.append(None if each is None else np.array(each, dtype=np.float64))
    return found


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
