"""Numbers as people write them: besides ``0.15`` also ``15%`` and ``3/20``.

What is written is divided exactly and rounded once, so that three thirds sum to one.

>>> written_number("1/3") == 1 / 3, written_number("15%"), written_number("2.5 %"), written_number("half")
(True, 0.15, 0.025, None)
>>> exact_number("0.1"), exact_number("2.5%"), exact_number("1e-3"), exact_number("inf")
(Fraction(1, 10), Fraction(1, 40), Fraction(1, 1000), None)
"""

from __future__ import annotations

import re
from fractions import Fraction

DECIMAL = r"(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)"
"""Digits, perhaps with a point among them."""
PATTERN = rf"^[-+]?(?:{DECIMAL} ?%|{DECIMAL} ?/ ?{DECIMAL})$"
"""What percentages and fractions look like; a JSON Schema understands it, too."""

LARGEST = 10**300
"""More than any number in a problem; what is larger could not be rounded to a double."""

_WRITTEN = re.compile(PATTERN)
_PLAIN = re.compile(rf"[-+]?{DECIMAL}(?:[eE][-+]?[0-9]{{1,3}})?")


def written_number(text: str) -> float | None:
    """The number that a percentage or a fraction means; None if the text is neither, or divides by zero."""
    value = _written(text)
    return None if value is None else float(value)


def exact_number(text: str) -> Fraction | None:
    """The number that a decimal, a percentage or a fraction means, exactly; None if the text is none."""
    value = Fraction(text) if _PLAIN.fullmatch(text) else _written(text)
    return None if value is None or abs(value) > LARGEST else value


def _written(text: str) -> Fraction | None:
    if not _WRITTEN.fullmatch(text):
        return None
    if text.endswith("%"):
        return Fraction(text[:-1].strip()) / 100
    above, _, below = text.partition("/")
    divisor = Fraction(below.strip())
    return Fraction(above.strip()) / divisor if divisor else None
