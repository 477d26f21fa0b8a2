"""Problems as files for other tools: DRN, which Storm reads, and UMB, which several of them exchange."""

from __future__ import annotations

from pathlib import Path

from hcssp.cssp.model import CSSP
from hcssp.exchange.drn import drn_text
from hcssp.exchange.umb import umb_bytes
from hcssp.files.atomic import write_atomically
from hcssp.procedure import HCSSP


def to_drn(problem: CSSP | HCSSP, path: str | Path) -> None:
    """Write a problem as a DRN file, a procedure in its flat form.

    :func:`~hcssp.exchange.drn.from_drn` reads it. Costs are reward models of the actions, goals carry the
    label ``goal``, and the names of states are comments. Bounds are not written: they belong to the question
    that is asked about the model.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, drn_text(problem))


def to_umb(problem: CSSP | HCSSP, path: str | Path) -> None:
    """Write a problem as a UMB file, a procedure in its flat form.

    :func:`~hcssp.exchange.umb.from_umb` reads it. Costs are rewards of the choices, and goals carry the label
    ``goal``. Bounds are not written.

    Raises
    ------
    MissingDependency
        If umbi is not installed.
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, umb_bytes(problem))
