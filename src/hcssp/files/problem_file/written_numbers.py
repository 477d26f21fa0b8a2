"""Numbers as people write them: besides ``0.15`` also ``15%`` and ``3/20``.

What is written is divided exactly and rounded once, so that three thirds sum to one.

>>> written_number("1/3") == 1 / 3, written_number("15%"), written_number("2.5 %"), written_number("half")
(True, 0.15, 0.025, None)
"""

from __future__ import annotations

import re
from fractions import Fraction

_DECIMAL = r"(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)"
PATTERN = rf"^[-+]?(?:{_DECIMAL} ?%|{_DECIMAL} ?/ ?{_DECIMAL})$"
"""What percentages and fractions look like; a JSON Schema understands it, too."""

_WRITTEN = re.compile(PATTERN)


def written_number(text: str) -> float | None:
    """The number that a percentage or a fraction means; None if the text is neither, or divides by zero."""
    if not _WRITTEN.fullmatch(text):
        return None
    if text.endswith("%"):
        return float(Fraction(text[:-1].strip()) / 100)
    above, _, below = (Fraction(part.strip()) if part != "/" else part for part in text.partition("/"))
    return float(Fraction(above) / Fraction(below)) if below else None
