"""The values that options accept.

A value that is not acceptable is refused with the reason and the remedy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import inf, isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.errors import HcsspError, InvalidProblem

if TYPE_CHECKING:
    from fractions import Fraction


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


def _named(text: str, form: str, example: str) -> tuple[str, str]:
    """The name and the value of ``NAME=VALUE``; a name may contain ``=``, a number never does."""
    name, separator, value = (part.strip() for part in text.rpartition("="))
    if not (separator and name):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form {form}, such as {example}")
    return name, value


def bound(text: str) -> tuple[str, float]:
    """``NAME=VALUE``: a constraint and its bound."""
    name, value = _named(text, "NAME=VALUE", "damage=2")
    try:
        at_most = amount(value)
    except argparse.ArgumentTypeError as error:
        if "too large" in str(error):
            raise argparse.ArgumentTypeError(f"the bound on {name!r}: {error}") from None
        raise argparse.ArgumentTypeError(
            f"the bound on {name!r} is {value!r}, which is not a number; write damage=2 or damage=inf"
        ) from None
    if at_most == -inf:
        raise argparse.ArgumentTypeError(f"the bound on {name!r} is {value}; give a finite number, or inf")
    return name, at_most


def chance(text: str) -> tuple[str, float]:
    """``WHAT=VALUE``: an event or a state, and the greatest probability that is allowed."""
    what, value = _named(text, "WHAT=VALUE", "crashed=1%")
    try:
        at_most = amount(value)
    except argparse.ArgumentTypeError:
        at_most = -1.0
    if not (0.0 <= at_most <= 1.0 or at_most == inf):
        wrong = f"the probability of {what!r} is {value!r}, which is no share from 0 to 1; write crashed=1%"
        raise argparse.ArgumentTypeError(wrong)
    return what, at_most


def setting(text: str) -> tuple[str, Fraction]:
    """``NAME=VALUE``: a parameter of the problem and its value; decimals are taken exactly."""
    from hcssp.files.problem_file.arithmetic import exact_number

    name, value = _named(text, "NAME=VALUE", "slip=0.2")
    found = exact_number(value)
    if found is None:
        wrong = f"the parameter {name!r} is {value!r}, which is not a number; write slip=0.2, 20% or 1/5"
        raise argparse.ArgumentTypeError(wrong)
    return name, found


def names(text: str) -> list[str]:
    """Names, with commas between them."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of names, such as energy,risk")
    return found


def _limited(
    read: Callable[[str], float], allowed: Callable[[float], bool], what: str, remedy: str
) -> Callable[[str], float]:
    """The type of a number for which `allowed` holds; `what` and `remedy` are for the message."""

    def limited(text: str) -> float:
        value = read(text)
        if not allowed(value):
            raise argparse.ArgumentTypeError(f"{text} is no {what}; {remedy}")
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
            raise argparse.ArgumentTypeError(f"{text} is no list of pairs such as 'cross-room: 0.1'")
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
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; give a whole number, 0 or more")
    return int(text)


def port(text: str) -> int:
    """A port of a machine."""
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 0 to 65535")
    return int(text)


def axis(text: str) -> tuple[str, list[Fraction]]:
    """``NAME=VALUES``: a parameter, and a list or a range of its values."""
    return _axis(text, "slip=0.05:0.3:0.05 or slip=0.1,0.2")


def bound_axis(text: str) -> tuple[str, list[float]]:
    """``NAME=VALUES``: a constraint, and a list or a range of its bounds, among which ``inf`` may be."""
    name, _, values = text.rpartition("=")
    parts = [part.strip() for part in values.split(",")]
    finite = [part for part in parts if part.lower() not in ("inf", "+inf")]
    if finite == parts or not name.strip():
        return name.strip(), [float(value) for value in _axis(text, "damage=1,2,5 or damage=1:5:1")[1]]
    found = _axis(f"{name}={','.join(finite)}", "damage=1,2,inf")[1] if finite else []
    return name.strip(), [*(float(value) for value in found), float("inf")]


def chance_axis(text: str) -> tuple[str, list[float]]:
    """``WHAT=VALUES``: an event or a state, and the most probabilities with which it may happen."""
    # The name of a state may have "=" in it, as those of PRISM have.
    what, _, values_of = text.rpartition("=")
    values = bound_axis(f"{what and 'probability'}={values_of}")[1]
    wrong = [value for value in values if not (0.0 <= value <= 1.0 or value == float("inf"))]
    if wrong:
        raise argparse.ArgumentTypeError(
            f"the probability of {what!r} is {wrong[0]:g}, which is no share from 0 to 1; write crashed=1%,2%"
        )
    return what.strip(), values


def _axis(text: str, example: str) -> tuple[str, list[Fraction]]:
    name, separator, values = (part.strip() for part in text.rpartition("="))
    if not (separator and name and values):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUES, such as {example}")
    found: list[Fraction] = []
    for part in values.split(","):
        ends = [_exact(name, each.strip(), example) for each in part.split(":")]
        if len(ends) == 1:
            found += ends
        elif len(ends) == 3:
            found += _range(part, *ends)
        else:
            raise argparse.ArgumentTypeError(
                f"{name!r} is {part!r}; a range is FROM:TO:STEP, such as {example}"
            )
    return name, found


def _exact(name: str, text: str, example: str) -> Fraction:
    from hcssp.files.problem_file.arithmetic import exact_number

    found = exact_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{name!r} is {text!r}, which is no number; write {example}")
    return found


def _range(text: str, first: Fraction, last: Fraction, step: Fraction) -> list[Fraction]:
    """From the first value to the last that is not beyond the end, exactly."""
    if step <= 0 or last < first:
        raise argparse.ArgumentTypeError(f"{text!r} is no range FROM:TO:STEP; it goes up by a positive step")
    count = (last - first) // step + 1
    if count > _MOST_VALUES:
        raise argparse.ArgumentTypeError(f"{text!r} has {count:,} values; give at most {_MOST_VALUES:,}")
    return [first + step * number for number in range(count)]


def job_count(text: str) -> int:
    """A number of processes that one machine can run."""
    from hcssp.workers import MAX_JOBS

    count = whole("count", 1)(text)
    if count > MAX_JOBS:
        raise argparse.ArgumentTypeError(
            f"{text} are more processes than a machine runs; give 1 to {MAX_JOBS}"
        )
    return count
