"""What the terminal can do: whether a line may be rewritten, and whether letters may be bold."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO


def can_rewrite(stream: TextIO) -> bool:
    """Whether `stream` is a terminal on which a line can be written over."""
    return stream.isatty() and os.environ.get("TERM", "") != "dumb"


@dataclass(frozen=True)
class Style:
    """Emphasis, or none of it where there is no terminal or ``NO_COLOR`` is set (https://no-color.org)."""

    enabled: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """The style that suits `stream`."""
        return cls(can_rewrite(stream) and not os.environ.get("NO_COLOR"))

    def strong(self, text: str) -> str:
        """For headings and the figures that matter."""
        return f"\x1b[1m{text}\x1b[0m" if self.enabled else text

    def faint(self, text: str) -> str:
        """For what may be overlooked."""
        return f"\x1b[2m{text}\x1b[0m" if self.enabled else text
