"""What the terminal can do: whether a line may be rewritten, and whether letters may be bold."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from hcssp.reports.plan_words import Style


def can_rewrite(stream: TextIO) -> bool:
    """Whether `stream` is a terminal on which a line can be written over."""
    return stream.isatty() and os.environ.get("TERM", "") != "dumb"


def width_of(stream: TextIO) -> int:
    """The columns of the terminal that `stream` is; elsewhere what the environment says."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns


def style_of(stream: TextIO) -> Style:
    """The style that suits `stream`: none where ``NO_COLOR`` is set (https://no-color.org)."""
    from hcssp.reports.plan_words import Style

    return Style(can_rewrite(stream) and not os.environ.get("NO_COLOR"))
