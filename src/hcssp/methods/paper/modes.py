"""The two modes of the method, and the places in Algorithm 1 where they differ.

*published* is the paper's algorithm and nothing else. *sharp* is ours; all that it adds lies in
:mod:`hcssp.methods.paper.sharp`. The documentation has a page about the paper that tells every deviation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, get_args

from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.errors import UnknownName
from hcssp.methods.paper.algorithm_4_compute_lb import LowerBound, compute_lb
from hcssp.methods.paper.algorithm_5_compute_ub import compute_ub
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.methods.paper.limits import published_limits
from hcssp.methods.paper.sharp.limits import sharp_limits
from hcssp.methods.paper.sharp.lower_bound import sharp_lower_bound
from hcssp.methods.paper.sharp.splitting import split_at_incumbent
from hcssp.methods.paper.sharp.suggestions import suggested_solutions
from hcssp.methods.paper.splitting import halve_longest_edge

ModeName = Literal["published", "sharp"]

MODES: tuple[ModeName, ...] = get_args(ModeName)


class Mode(ABC):
    """What a mode decides.

    Attributes
    ----------
    shortcuts
        Whether an instance may take them, see :class:`hcssp.methods.paper.instance.Instance`.
    """

    shortcuts: bool

    @abstractmethod
    def initial_box(self, instance: Instance) -> Box:
        """The allocation space to begin with."""

    @abstractmethod
    def compute_ub(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound
    ) -> tuple[float, ProcedureVertex | None]:
        """The cost of a feasible solution and the solution, or ``inf`` and None."""

    @abstractmethod
    def compute_lb(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound, cutoff: float
    ) -> LowerBound:
        """A lower bound on the solutions of `box`, part of a box with the bound `parent`."""

    @abstractmethod
    def suggestions(
        self, instance: Instance, bound: LowerBound, iterations: float
    ) -> Iterable[ProcedureVertex]:
        """More feasible solutions, from what carries a lower bound."""

    @abstractmethod
    def split(
        self, instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
    ) -> tuple[Box, ...]:
        """The parts of `box`, or nothing if it cannot be split."""


class Published(Mode):
    """The paper's algorithm: the bounds of a box depend on the box and on l, and on nothing else."""

    shortcuts = False

    def initial_box(self, instance: Instance) -> Box:
        return published_limits(instance)

    def compute_ub(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound
    ) -> tuple[float, ProcedureVertex | None]:
        return compute_ub(instance, box, iterations)

    def compute_lb(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound, cutoff: float
    ) -> LowerBound:
        return compute_lb(instance, box, iterations)

    def suggestions(
        self, instance: Instance, bound: LowerBound, iterations: float
    ) -> Iterable[ProcedureVertex]:
        return ()

    def split(
        self, instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
    ) -> tuple[Box, ...]:
        return halve_longest_edge(box, root)


class Sharp(Mode):
    """Ours: narrower limits, the dual restricted to the box, incumbents around it, splits that separate."""

    shortcuts = True

    def initial_box(self, instance: Instance) -> Box:
        return sharp_limits(instance)

    def compute_ub(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound
    ) -> tuple[float, ProcedureVertex | None]:
        return compute_ub(instance, box, iterations, start=parent.prices)

    def compute_lb(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound, cutoff: float
    ) -> LowerBound:
        return sharp_lower_bound(instance, box, iterations, parent, cutoff)

    def suggestions(
        self, instance: Instance, bound: LowerBound, iterations: float
    ) -> Iterable[ProcedureVertex]:
        return suggested_solutions(instance, bound, iterations)

    def split(
        self, instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
    ) -> tuple[Box, ...]:
        return split_at_incumbent(instance, box, root, bound, iterations)


def find_mode(name: str) -> Mode:
    """The mode called `name`.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    if name not in MODES:
        raise UnknownName("mode", name, MODES)
    return Published() if name == "published" else Sharp()
