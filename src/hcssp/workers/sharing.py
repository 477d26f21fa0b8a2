"""Large things travel once for each worker, by the fingerprint of their bytes.

What is shared is pickled with its arrays aside. For processes of this machine the arrays are written once,
as ``.npy`` files in a directory that only this user can read, and every process maps them into its memory:
there is one copy, however many look at it. Elsewhere they are sent, and kept by whoever has got them.

>>> parcel = pack(list(range(3)))
>>> parcel.open(), len(parcel.fingerprint)
([0, 1, 2], 64)
"""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAPPED_BYTES = 2**16
"""Arrays of at least this many bytes are files of their own, which processes map instead of reading them;
those of a problem with 10^5 states all are."""


@dataclass(frozen=True)
class Shared:
    """What stands for a shared thing among the arguments of a task; the function is given the thing.

    Attributes
    ----------
    fingerprint
        SHA-256 of its bytes.
    directory
        Where the bytes are, for workers that see it; None if they are sent.
    """

    fingerprint: str
    directory: str | None = None


@dataclass(frozen=True)
class Parcel:
    """The bytes of a thing: its pickle, and its arrays.

    Attributes
    ----------
    fingerprint
        SHA-256 of all of them.
    pickled, arrays
        As :mod:`pickle` tells them apart.
    """

    fingerprint: str
    pickled: bytes = field(repr=False)
    arrays: tuple[Any, ...] = field(repr=False)

    def open(self) -> Any:
        """The thing; its arrays look at those of the parcel and cannot be written to."""
        return pickle.loads(self.pickled, buffers=self.arrays)

    def __getstate__(self) -> dict[str, Any]:
        # So that whoever pickles the parcel may again keep the arrays aside.
        arrays = tuple(pickle.PickleBuffer(each) for each in self.arrays)
        return {"fingerprint": self.fingerprint, "pickled": self.pickled, "arrays": arrays}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def pack(thing: Any) -> Parcel:
    """The parcel of a thing that can be pickled."""
    buffers: list[pickle.PickleBuffer] = []

    def keep_aside(buffer: pickle.PickleBuffer) -> bool:
        # What is small stays in the pickle, which a true answer asks for.
        if buffer.raw().nbytes < MAPPED_BYTES:
            return True
        buffers.append(buffer)
        return False

    pickled = pickle.dumps(thing, protocol=5, buffer_callback=keep_aside)
    digest = hashlib.sha256(pickled)
    views = tuple(memoryview(buffer.raw()).toreadonly() for buffer in buffers)
    for view in views:
        digest.update(view)
    return Parcel(digest.hexdigest(), pickled, views)


def write_parcel(parcel: Parcel, directory: Path) -> None:
    """Write a parcel where :func:`read_parcel` finds it."""
    import numpy as np

    for number, view in enumerate(parcel.arrays):
        np.save(directory / f"{parcel.fingerprint}-{number}.npy", np.frombuffer(view, dtype=np.uint8))
    (directory / f"{parcel.fingerprint}.pickle").write_bytes(parcel.pickled)


def read_parcel(fingerprint: str, directory: Path) -> Parcel:
    """The parcel that was written, its arrays mapped into memory."""
    import numpy as np

    pickled = (directory / f"{fingerprint}.pickle").read_bytes()
    paths = sorted(directory.glob(f"{fingerprint}-*.npy"), key=lambda path: int(path.stem.rpartition("-")[2]))
    return Parcel(fingerprint, pickled, tuple(np.load(path, mmap_mode="r") for path in paths))
