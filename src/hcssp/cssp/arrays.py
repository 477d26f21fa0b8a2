"""Arrays that callers give, made read-only; the decimals that their numbers mean; and spans of arrays.

What cannot be converted is noted as a violation instead of raised, so that all violations are reported
together.

>>> found = []
>>> as_array("costs", [[1.0], [2.0, 3.0]], np.float64, True, found).size
0
>>> found[0][:36]
'costs cannot be an array of numbers '

The exact value of a double of a problem is the shortest decimal that rounds to it, as a ratio of integers:

>>> decimal(0.05)
Fraction(1, 20)
>>> integers([decimal(0.05), decimal(0.3)])
(array([1, 6], dtype=object), 20)

Spans are ranges of an array that are put one after the other: the rows of states, the entries of rows. The
k-th span begins at ``begins[k]`` of the result.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array


def as_array(name: str, given: Any, kind: type[np.generic], copy: bool, found: list[str]) -> npt.NDArray[Any]:
    """`given` as a read-only array; an empty one, with a violation in `found`, if it cannot be one."""
    try:
        if issubclass(kind, np.integer) and (fraction := _first_fraction(given)) is not None:
            found.append(f"{name}: {fraction} is not a whole number; give whole numbers")
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

    A sequence that computes its items on demand is kept; one that could be changed is copied.
    """
    if isinstance(given, str):
        return (given,)
    if isinstance(given, np.ndarray):
        return tuple(given.tolist())
    if isinstance(given, Sequence) and not isinstance(given, MutableSequence):
        return given
    if isinstance(given, Iterable):
        return tuple(given)
    found.append(f"{name} is {given!r}, which is not a sequence; give a tuple")
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


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def joined_spans(firsts: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """The places in all spans, one span after the other, and where each of them begins there.

    >>> places, begins = joined_spans(np.array([5, 2]), np.array([3, 2]))
    >>> places.tolist(), begins.tolist()
    ([5, 6, 7, 2, 3], [0, 3])
    """
    begins = np.cumsum(lengths) - lengths
    places = np.repeat(firsts - begins, lengths)
    places += np.arange(len(places))
    return places, begins


def first_in_each(holds: BoolArray, begins: IntArray) -> IntArray:
    """The first place of each span where something holds; it must do so somewhere in each.

    >>> first_in_each(np.array([False, True, True, True, False]), np.array([0, 3])).tolist()
    [1, 3]
    """
    places = np.flatnonzero(holds)
    found: IntArray = places[np.searchsorted(places, begins)]
    return found


def by_column(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The transpose, column by column: numpy reduces it over a few columns 20 times as fast as short rows.

    >>> by_column(np.array([[1, 2], [3, 4]])).max(axis=0).tolist()
    [2, 4]
    """
    return np.ascontiguousarray(table.T)


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The different values, ascending.

    Sorting takes less time than the hashes of ``np.unique``, which also loads masked arrays.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ascending = np.sort(values)
    kept = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=kept[1:])
    found: npt.NDArray[Any] = ascending[kept]
    return found


def decimal(number: float) -> Fraction:
    """The exact value of a number of the problem: 0.05 is one twentieth."""
    return Fraction(repr(float(number)))


def exactly(numbers: FloatArray) -> tuple[Any, int]:
    """An array of a problem's numbers as one of Python's integers, and what to divide them all by."""
    different, places = np.unique(numbers, return_inverse=True)
    whole, divisor = integers(map(decimal, different))
    return whole[places.reshape(numbers.shape)], divisor


def sum_of_decimals(first: FloatArray, second: FloatArray) -> FloatArray:
    """The sums of a problem's numbers, each the double nearest to the sum of what the two mean.

    >>> sum_of_decimals(np.array([0.1]), np.array([0.2])).tolist()
    [0.3]
    """
    sums: FloatArray = first + second
    # Adding zero does not round.
    for place in np.argwhere((first != 0.0) & (second != 0.0) & np.isfinite(sums)).tolist():
        at = tuple(place)
        sums[at] = float(decimal(first[at]) + decimal(second[at]))
    return sums


def integers(numbers: Iterable[Fraction]) -> tuple[Any, int]:
    """The numbers as an array of Python's integers, and what to divide them all by."""
    fractions = list(numbers)
    divisor = lcm(*{each.denominator for each in fractions})
    return np.array([each.numerator * (divisor // each.denominator) for each in fractions], object), divisor
