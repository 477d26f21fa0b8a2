"""What people give for an array, a matrix or a sequence, as one that nobody changes any more.

What cannot be one is noted in words instead of raised, so that everything that is wrong is told together.

>>> found = []
>>> as_array("costs", [[1.0], [2.0, 3.0]], np.float64, True, found).size
0
>>> found[0][:36]
'costs cannot be an array of numbers '
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array


def as_array(name: str, given: Any, kind: type[np.generic], copy: bool, found: list[str]) -> npt.NDArray[Any]:
    """`given` as a read-only array; an empty one, with a violation in `found`, if it cannot be one."""
    try:
        if issubclass(kind, np.integer) and (fraction := _first_fraction(given)) is not None:
            found.append(f"{name}: {fraction} is no whole number; give whole numbers")
            return np.zeros(0, dtype=kind)
        return frozen(np.array(given, dtype=kind, order="C", copy=copy or None))
    except (TypeError, ValueError, OverflowError) as error:
        found.append(f"{name} cannot be an array of numbers ({error}); give numbers, in rows of equal length")
        return np.zeros(0, dtype=kind)


def as_matrix(name: str, given: Any, copy: bool, found: list[str]) -> Any:
    """`given` as a CSR matrix; an empty one, with a violation in `found`, if it cannot be one."""
    try:
        return csr_array(given, dtype=np.float64, copy=copy)
    except (TypeError, ValueError) as error:
        found.append(f"{name} cannot be a matrix of numbers ({error}); give numbers, in rows of equal length")
        return csr_array((0, 0))


def as_sequence(name: str, given: Any, found: list[str]) -> Sequence[Any]:
    """`given` as a sequence; an empty one, with a violation in `found`, if it is none.

    What computes its items when somebody looks is kept as it is; what could be changed is copied.
    """
    if isinstance(given, str):
        return (given,)
    if isinstance(given, np.ndarray):
        return tuple(given.tolist())
    if isinstance(given, Sequence) and not isinstance(given, MutableSequence):
        return given
    if isinstance(given, Iterable):
        return tuple(given)
    found.append(f"{name} is {given!r}, which is no sequence; give a tuple")
    return ()


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of `array` through which nothing can be changed."""
    view = array.view()
    view.flags.writeable = False
    return view


def _first_fraction(given: Any) -> float | None:
    """The first number that is not whole, if any: a cast would cut off what is behind the point."""
    array = np.asarray(given)
    if array.dtype.kind != "f":
        return None
    wrong = array[~(np.isfinite(array) & (array == np.floor(array)))]
    return float(wrong.flat[0]) if wrong.size else None


def tidy(transitions: csr_array) -> None:
    """Sum repeated successors and drop impossible ones, so that the pattern means reachability."""
    transitions.sum_duplicates()
    transitions.eliminate_zeros()


def index_type(largest: int) -> type[np.int32 | np.int64]:
    """The narrowest integers that hold indices up to the `largest`.

    Most of the time of a sparse product goes into reading the matrix, and wide integers make up half of it.
    Sparse factorisations take narrow ones only.

    >>> index_type(1_000).__name__, index_type(2**40).__name__
    ('int32', 'int64')
    """
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64
