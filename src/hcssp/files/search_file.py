"""Searches on disk: the regions that are left, so that another run goes on where one was killed.

``format`` and ``version``
    ``"hcssp-search"`` and 2; 1 has no pairs in ``rows``.
``problem``, ``bounds``
    As in a plan's file (:mod:`hcssp.files.plan_file`).
``rows``
    The regions: for each the row that it was split on, or -1 if it was not; the part that uses the row
    follows with all of its parts, then the one that does not. A pair of a row and a count stands for a split
    on all rows that it can be exchanged for: so many of them are used, or fewer. Such a list covers all
    policies, whatever its numbers are.
``weights``
    For each region that was not split, the weights of the costs that say most about it; ``null`` if none do.

No bound is in the file, since nobody would have to believe it: a search that goes on proves its regions
again, each from its weights, which takes one dual for each of them. The rows are those of the solver. Another
version may number them otherwise; it would be sound, and slow, to go on with such a file.
"""

from __future__ import annotations

import json
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hcssp.contract.memory import Problem
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidPlan, InvalidProblem
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.problem_file.source import read_bytes
from hcssp.procedure import HCSSP
from hcssp.proofs.search_record import SearchRecord, Split

FORMAT = "hcssp-search"
VERSION, READABLE = 2, (1, 2)
LARGEST_FILE = 2**30

Kind = TypeVar("Kind", CSSP, HCSSP)


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


def load_search(path: str | Path, problem: Kind) -> tuple[Kind, SearchRecord]:
    """Read the regions of a search for `problem`, whatever its bounds.

    Parameters
    ----------
    path
        The file.
    problem
        The problem, under whatever bounds.

    Returns
    -------
    problem
        The problem under the bounds of the search.
    record
        For ``solve(problem, record=record)``.

    Raises
    ------
    InvalidPlan
        If the file cannot be read, is none of a search, or of one for another problem.
    """
    file = str(path)
    try:
        content = json.loads(read_bytes(Path(path), file, LARGEST_FILE))
    except InvalidProblem as error:
        raise InvalidPlan(error.violations) from None
    except (ValueError, RecursionError) as error:
        raise InvalidPlan([f"{file}: this is not JSON: {error}"]) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidPlan([f"{file}: this is no search; begin without it"])
    if content.get("version") not in READABLE:
        raise InvalidPlan([f"{file}: version {content.get('version')!r} cannot be read, only {VERSION}"])
    about = content.get("problem")
    if not isinstance(about, dict) or about.get("fingerprint") != fingerprint_of(problem):
        raise InvalidPlan([f"{file}: this search is for another problem; begin without it"])
    bounds = content.get("bounds")
    if not isinstance(bounds, dict) or set(bounds) != set(problem.constraint_names):
        raise InvalidPlan([f"{file}: bounds: {_shown(bounds)} are not those of this problem's constraints"])
    try:
        bounded = problem.with_bounds({name: inf if each is None else each for name, each in bounds.items()})
        record = SearchRecord.of_skeleton(_splits(content.get("rows")), _weights(content.get("weights")))
    except InvalidProblem as error:
        raise InvalidPlan([f"{file}: bounds: {each}" for each in error.violations]) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidPlan([f"{file}: {error}; begin without it"]) from None
    return bounded, record


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
