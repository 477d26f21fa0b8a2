"""How large a file may be: so that no file, by mistake or malice, takes all memory or all day.

The limits lie far above what can be solved; a problem beyond them is better built with the library.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a file may ask for.

    Attributes
    ----------
    document_bytes
        The size of a problem file.
    table_bytes
        The size of a table beside it.
    nodes
        The values of a document, each counted as often as aliases repeat it.
    depth
        How deep lists and mappings may be nested.
    states
        The states of all activities together; a grid counts with width times height.
    transitions
        The transitions of all activities together; a grid counts with 16 for every cell.
    """

    document_bytes: int = 8 * 2**20
    table_bytes: int = 256 * 2**20
    nodes: int = 1_000_000
    depth: int = 32
    states: int = 5_000_000
    transitions: int = 80_000_000
