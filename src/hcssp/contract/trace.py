"""The proven interval over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from hcssp.frames import frame

if TYPE_CHECKING:
    from pandas import DataFrame


class TracePoint(NamedTuple):
    """The proven interval at one instant."""

    seconds: float
    lower_bound: float
    upper_bound: float


class Trace(Sequence[TracePoint]):
    """The proven interval over time; it only tightens. A sequence of :class:`TracePoint`.

    >>> trace = Trace([(0.1, 1.0, float("inf")), (0.2, 2.0, 3.0)])
    >>> len(trace), trace[-1].upper_bound
    (2, 3.0)
    """

    def __init__(self, points: Iterable[tuple[float, float, float]] = ()) -> None:
        self._points = tuple(TracePoint(*map(float, point)) for point in points)

    @overload
    def __getitem__(self, index: int) -> TracePoint: ...
    @overload
    def __getitem__(self, index: slice) -> Trace: ...
    def __getitem__(self, index: int | slice) -> TracePoint | Trace:
        return Trace(self._points[index]) if isinstance(index, slice) else self._points[index]

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[TracePoint]:
        return iter(self._points)

    def __eq__(self, other: object) -> bool:
        return self._points == other._points if isinstance(other, Trace) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._points)

    def __repr__(self) -> str:
        return f"Trace({len(self)} points)"

    def to_frame(self) -> DataFrame:
        """A ``pandas.DataFrame`` with the columns seconds, lower_bound and upper_bound.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        return frame({name: [getattr(point, name) for point in self] for name in TracePoint._fields})
