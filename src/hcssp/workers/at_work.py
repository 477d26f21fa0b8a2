"""What happens at a worker: a task is run, what is shared is found, and what was made is kept for the next.

Nothing here is the coordinator's. Each thread of a worker keeps its own things, since none of what tasks make
of a problem is meant to be used by two at once.
"""

from __future__ import annotations

import pickle
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hcssp.errors import HcsspError
from hcssp.workers.sharing import Parcel, Shared, read_parcel

MOST_KEPT = 8
"""So many things a worker keeps, those that were used last."""


@dataclass(frozen=True)
class Answer:
    """What a task returned."""

    value: Any


@dataclass(frozen=True)
class Fault:
    """The error that a task raised, and where, for people."""

    error: Exception
    where: str


@dataclass(frozen=True)
class Missing:
    """The worker has not got what a task is about."""

    fingerprint: str


class _Kept(threading.local):
    def __init__(self) -> None:
        self.things: OrderedDict[Hashable, Any] = OrderedDict()


_kept = _Kept()


def kept(key: Hashable, make: Callable[[], Any]) -> Any:
    """What `make` made when an earlier task of this worker asked for `key`; made now if it is gone."""
    things = _kept.things
    if key not in things:
        things[key] = make()
        while len(things) > MOST_KEPT:
            things.popitem(last=False)
    things.move_to_end(key)
    return things[key]


def replace_kept(key: Hashable, version: Hashable, make: Callable[[], Any]) -> Any:
    """As :func:`kept`, but of several versions only the last is."""
    found = _kept.things.get(key)
    if found is None or found[0] != version:
        # The old one goes first: both together may be more than there is room for.
        _kept.things.pop(key, None)
    return kept(key, lambda: (version, make()))[1]


def forget() -> None:
    """Drop whatever this worker has kept."""
    _kept.things.clear()


def run_task(call: bytes, parcels: Iterable[Parcel]) -> Answer | Fault | Missing:
    """Run a pickled call: a function, and arguments of which those that are shared are looked up.

    Parameters
    ----------
    call
        The pickled pair of function and arguments.
    parcels
        What the worker may not have got yet.
    """
    given = {parcel.fingerprint: parcel for parcel in parcels}
    try:
        function, arguments = pickle.loads(call)
        found = []
        for argument in arguments:
            if isinstance(argument, Shared):
                try:
                    argument = _opened(argument, given)
                except FileNotFoundError:
                    return Missing(argument.fingerprint)
            found.append(argument)
        return Answer(function(*found))
    except Exception as error:  # noqa: BLE001, it is raised again at the coordinator
        return Fault(_portable(error), traceback.format_exc())


def _opened(shared: Shared, given: dict[str, Parcel]) -> Any:
    """The shared thing; a file is not found if the worker cannot get at it."""

    def open_parcel() -> Any:
        parcel = given.get(shared.fingerprint)
        if parcel is None:
            if shared.directory is None:
                raise FileNotFoundError(shared.fingerprint)
            parcel = read_parcel(shared.fingerprint, Path(shared.directory))
        return parcel.open()

    return kept(("shared", shared.fingerprint), open_parcel)


def _portable(error: Exception) -> Exception:
    """The error itself if it survives the journey, else one that says the same."""
    try:
        copy = pickle.loads(pickle.dumps(error))
        if type(copy) is type(error) and str(copy) == str(error):
            return error
    except Exception:  # noqa: BLE001, whatever an error's own code does: its message is told
        pass
    said = f"{type(error).__name__}: {error}"
    return HcsspError(str(error)) if isinstance(error, HcsspError) else RuntimeError(said)
