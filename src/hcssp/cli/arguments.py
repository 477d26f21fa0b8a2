"""The values that options accept.

A value that is not acceptable is refused with the reason and the remedy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import inf, isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hcssp.errors import HcsspError, InvalidProblem

if TYPE_CHECKING:
    from fractions import Fraction


Value = TypeVar("Value")

FEASIBILITY_TOLERANCE, LEAST_TOLERANCE = 1e-9, 1e-11
"""Those of :mod:`hcssp.numerics`, which would import numpy; a test compares them."""

_MOST_VALUES = 100_000


class UsageError(HcsspError):
    """Arguments that make no sense."""


def number(text: str) -> float:
    """Any number."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if isnan(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    if isinf(value) and "i" not in text.lower():
        # Digits do not mean that there is no bound.
        raise argparse.ArgumentTypeError(f"{text} is too large for a number; write inf if that is meant")
    return value


def amount(text: str) -> float:
    """Any number, perhaps as a percentage or a fraction."""
    from hcssp.files.problem_file.arithmetic import exact_number

    value = exact_number(text.strip())
    return number(text) if value is None else float(value)


def exact(text: str) -> Fraction:
    """A finite number, a percentage or a fraction, exactly."""
    from hcssp.files.problem_file.arithmetic import exact_number

    value = exact_number(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value


def _pair(
    stated: str, read: Callable[[str], Value], example: str, form: str = "NAME=VALUE"
) -> Callable[[str], tuple[str, Value]]:
    """The type of ``NAME=VALUE``; `stated` is what a message says of the name.

    A name may contain ``=``, a value never does.
    """

    def pair(text: str) -> tuple[str, Value]:
        name, separator, value = (part.strip() for part in text.rpartition("="))
        if not (separator and name):
            raise argparse.ArgumentTypeError(f"{text!r} is not of the form {form}, such as {example}")
        try:
            return name, read(value)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"{stated.format(name)}: {error}; write {example}") from None

    return pair


def _axis(
    stated: str, read: Callable[[str], Value], example: str
) -> Callable[[str], tuple[str, list[Value]]]:
    """The type of ``NAME=VALUES``: a list, in which ranges ``FROM:TO:STEP`` may be."""

    def several(text: str) -> list[Value]:
        return [read(each) for part in text.split(",") for each in _parts(part.strip())]

    return _pair(stated, several, example, "NAME=VALUES")


def _parts(text: str) -> list[str]:
    """The values of a part of a list: one value, or those of a range, exactly."""
    if ":" not in text:
        return [text]
    ends = [exact(part.strip()) for part in text.split(":")]
    if len(ends) != 3 or ends[2] <= 0 or ends[1] < ends[0]:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range FROM:TO:STEP that goes up by a positive step"
        )
    first, last, step = ends
    count = (last - first) // step + 1
    if count > _MOST_VALUES:
        raise argparse.ArgumentTypeError(f"{text!r} has {count:,} values; give at most {_MOST_VALUES:,}")
    return [str(first + step * number) for number in range(count)]


def names(text: str) -> list[str]:
    """Names, with commas between them."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names, such as energy,risk")
    return found


def _limited(
    read: Callable[[str], float], allowed: Callable[[float], bool], what: str, remedy: str = ""
) -> Callable[[str], float]:
    """The type of a number for which `allowed` holds; `what` and `remedy` are for the message."""

    def limited(text: str) -> float:
        value = read(text)
        if not allowed(value):
            raise argparse.ArgumentTypeError(f"{text} is no {what}{remedy and '; '}{remedy}")
        return value

    return limited


deviation = _limited(
    amount, lambda value: 0.0 <= value < 1.0, "share from 0 to less than 1", "write 10% or 0.1"
)
gap = _limited(
    amount, lambda value: 0.0 <= value < inf, "relative gap", "give 0 or more, such as 1e-3 for 0.1%"
)
share = _limited(
    amount,
    lambda value: LEAST_TOLERANCE <= value < 1.0,
    "tolerance",
    f"give a share from {LEAST_TOLERANCE:g} to below 1, such as 1e-6",
)
seconds = _limited(number, lambda value: value > 0.0, "time limit", "give a positive number of seconds")

_bound = _limited(amount, lambda value: value > -inf, "bound")
_chance = _limited(amount, lambda value: 0.0 <= value <= 1.0 or value == inf, "share from 0 to 1")
setting = _pair("the parameter {!r}", exact, "slip=0.2, 20% or 1/5")
bound = _pair("the bound on {!r}", _bound, "damage=2 or damage=inf")
chance = _pair("the probability of {!r}", _chance, "crashed=1%")
axis = _axis("the parameter {!r}", exact, "slip=0.05:0.3:0.05 or slip=0.1,0.2")
bound_axis = _axis("the bound on {!r}", _bound, "damage=1,2,5 or damage=1:5:1")
chance_axis = _axis("the probability of {!r}", _chance, "crashed=1%,2%")


def likelihoods(text: str) -> dict[str, float]:
    """``NAME=VALUE,...``, or a YAML file of such pairs: a positive number for each activity."""
    from yaml import YAMLError, safe_load

    from hcssp.files.atomic import read_text

    if Path(text).is_file():
        try:
            pairs = safe_load(read_text(Path(text)))
        except (InvalidProblem, YAMLError) as error:
            raise argparse.ArgumentTypeError(f"{text} cannot be read: {error}") from None
        if not isinstance(pairs, dict):
            raise argparse.ArgumentTypeError(f"{text} is not a list of pairs such as 'cross-room: 0.1'")
    elif "=" in text:
        pairs = dict(part.rpartition("=")[::2] for part in text.split(","))
    else:
        raise argparse.ArgumentTypeError(f"there is no file {text!r}; or write NAME=VALUE,NAME=VALUE")
    found = {str(name).strip(): amount(str(value)) for name, value in pairs.items()}
    for name, value in found.items():
        if not 0.0 < value < inf:
            raise argparse.ArgumentTypeError(
                f"the likelihood of {name!r} is {value:g}; give a positive number"
            )
    return found


def count_or_inf(text: str) -> float:
    """A whole number that is not negative, or ``inf``."""
    return inf if number(text) == inf else whole("number of iterations")(text)


def whole(what: str, least: int = 0) -> Callable[[str], int]:
    """The type of a whole number that is not below `least`; `what` names it in the message."""
    remedy = f"give a whole number{f' of at least {least}' if least else ', 0 or more'}"
    read = _limited(number, lambda value: least <= value < inf and value == int(value), what, remedy)
    return lambda text: int(read(text))


def seed(text: str) -> int:
    """A whole number that is not negative."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; give a whole number, 0 or more")
    return int(text)


def port(text: str) -> int:
    """A port of a machine."""
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 0 to 65535")
    return int(text)


def job_count(text: str) -> int:
    """A number of processes that one machine can run."""
    from hcssp.workers import MAX_JOBS

    count = whole("count", 1)(text)
    if count > MAX_JOBS:
        raise argparse.ArgumentTypeError(
            f"{text} are more processes than a machine runs; give 1 to {MAX_JOBS}"
        )
    return count
