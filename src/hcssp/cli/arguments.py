"""Values on the command line: what is not acceptable is refused with the reason and the remedy."""

from __future__ import annotations

import argparse
from math import inf, isfinite, isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.errors import HcsspError

if TYPE_CHECKING:
    from fractions import Fraction

FEASIBILITY_TOLERANCE, LEAST_TOLERANCE = 1e-9, 1e-11
"""Those of :mod:`hcssp.numerics`, which would import numpy; a test compares them."""


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
        # Nobody who writes digits means that there is no bound.
        raise argparse.ArgumentTypeError(f"{text} is too large for a number; write inf if that is meant")
    return value


def amount(text: str) -> float:
    """Any number, perhaps as a percentage or a fraction."""
    from hcssp.files.problem_file.written_numbers import written_number

    value = written_number(text.strip())
    return number(text) if value is None or isinf(value) else value


def bound(text: str) -> tuple[str, float]:
    """``NAME=VALUE``: a constraint and its bound."""
    # A name may contain "=", a number never does.
    name, separator, value = text.rpartition("=")
    if not (separator and name.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE, such as damage=2")
    try:
        at_most = amount(value)
    except argparse.ArgumentTypeError as error:
        if "too large" in str(error):
            raise argparse.ArgumentTypeError(f"the bound on {name.strip()!r}: {error}") from None
        raise argparse.ArgumentTypeError(
            f"the bound on {name.strip()!r} is {value!r}, which is not a number; write damage=2 or damage=inf"
        ) from None
    if at_most == -inf:
        raise argparse.ArgumentTypeError(
            f"the bound on {name.strip()!r} is {value}; give a finite number, or inf"
        )
    return name.strip(), at_most


def chance(text: str) -> tuple[str, float]:
    """``WHAT=VALUE``: an event or a state, and the most probability with which it may happen."""
    what, separator, value = (part.strip() for part in text.rpartition("="))
    if not (separator and what):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form WHAT=VALUE, such as crashed=1%")
    try:
        at_most = amount(value)
    except argparse.ArgumentTypeError:
        at_most = -1.0
    if not (0.0 <= at_most <= 1.0 or at_most == inf):
        told = f"the probability of {what!r} is {value!r}, which is no share from 0 to 1; write crashed=1%"
        raise argparse.ArgumentTypeError(told)
    return what, at_most


def setting(text: str) -> tuple[str, Fraction]:
    """``NAME=VALUE``: a parameter of the problem, and what it is instead; decimals are taken exactly."""
    from hcssp.files.problem_file.written_numbers import exact_number

    name, separator, value = (part.strip() for part in text.rpartition("="))
    if not (separator and name):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE, such as slip=0.2")
    found = exact_number(value)
    if found is None:
        told = f"the parameter {name!r} is {value!r}, which is not a number; write slip=0.2, 20% or 1/5"
        raise argparse.ArgumentTypeError(told)
    return name, found


def names(text: str) -> list[str]:
    """Names, with commas between them."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of names, such as energy,risk")
    return found


def deviation(text: str) -> float:
    """A share from 0 to less than 1, by which probabilities may be wrong."""
    value = amount(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is no share from 0 to less than 1; write 10% or 0.1")
    return value


def gap(text: str) -> float:
    """A relative gap: a finite number that is not negative."""
    value = amount(text)
    if not (isfinite(value) and value >= 0.0):
        raise argparse.ArgumentTypeError(f"{text} is no relative gap; give 0 or more, such as 1e-3 for 0.1%")
    return value


def share(text: str) -> float:
    """A tolerance: a share below the whole, and not finer than figures are."""
    value = amount(text)
    if not LEAST_TOLERANCE <= value < 1.0:
        raise argparse.ArgumentTypeError(
            f"{text} is no tolerance; give a share from {LEAST_TOLERANCE:g} to below 1, such as 1e-6"
        )
    return value


def seconds(text: str) -> float:
    """A time limit: more than nothing, perhaps infinite."""
    value = number(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text} is no time limit; give a positive number of seconds")
    return value


def count_or_inf(text: str) -> float:
    """A whole number that is not negative, or ``inf``."""
    value = number(text)
    if value == inf:
        return value
    if value < 0.0 or value != int(value):
        raise argparse.ArgumentTypeError(f"{text} is no number of iterations; give a whole number, or inf")
    return int(value)


def points(text: str) -> int:
    """A whole number of points, perhaps none."""
    value = number(text)
    if not (isfinite(value) and value >= 0.0 and value == int(value)):
        raise argparse.ArgumentTypeError(f"{text} is no number of points; give a whole number, 0 or more")
    return int(value)


def scale(text: str) -> int:
    """A whole number of at least one."""
    value = number(text)
    if not (isfinite(value) and value >= 1.0 and value == int(value)):
        raise argparse.ArgumentTypeError(f"{text} is no scale; give a whole number of at least 1")
    return int(value)


def positive_count(text: str) -> int:
    """A whole number of at least one."""
    value = number(text)
    if not (isfinite(value) and value >= 1.0 and value == int(value)):
        raise argparse.ArgumentTypeError(f"{text} is no count; give a whole number of at least 1")
    return int(value)


def seed(text: str) -> int:
    """A whole number that is not negative."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; give a whole number, 0 or more")
    return int(text)


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a problem, its bounds, its parameters and its scale."""
    parser.add_argument(
        "problem",
        metavar="PROBLEM",
        help="a built-in problem (hcssp problems lists them), a problem file, a model of PRISM, JANI, DRN or "
        "UMB, or - for standard input",
    )
    parser.add_argument(
        "--bound",
        type=bound,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an upper bound on an expected cost, such as damage=2; may be repeated",
    )
    parser.add_argument(
        "--probability",
        type=chance,
        action="append",
        default=[],
        metavar="WHAT=VALUE",
        help="an upper bound on the probability that an event is reached or a state entered, such as "
        "crashed=1%%; may be repeated",
    )
    add_maximise_argument(parser)
    add_setting_arguments(parser)
    add_model_arguments(parser)


def add_plan_arguments(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add a saved plan, and the bounds that it is judged by."""
    parser.add_argument(
        "plan",
        type=Path,
        nargs="?" if optional else None,
        metavar="PLAN",
        help="a plan that hcssp solve --out saved",
    )
    add_bounds_argument(parser)


def add_bounds_argument(parser: argparse.ArgumentParser) -> None:
    """Add which bounds count if a saved plan was made for others than the problem's."""
    parser.add_argument(
        "--bounds-of",
        choices=("problem", "plan"),
        default="problem",
        help="the bounds that count where --bound gives none: those of PROBLEM (the default), or those that "
        "the plan's file says it was made for",
    )


def add_maximise_argument(parser: argparse.ArgumentParser) -> None:
    """Add the reward that is to be as great as possible."""
    parser.add_argument(
        "--maximise",
        metavar="COST",
        help="a cost that is a reward: have as much of it as possible, instead of minimising the first",
    )


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is asked about models of other tools."""
    group = parser.add_argument_group("models (.prism, .nm, .pm, .jani, .drn, .umb, .pddl, .ppddl)")
    group.add_argument(
        "--constants",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="values of the constants that the model leaves open, such as B=10,p=0.5",
    )
    group.add_argument(
        "--minimise", metavar="NAME", help="the reward model to minimise (default: the model's first)"
    )
    group.add_argument(
        "--goal",
        action="append",
        default=[],
        metavar="LABEL",
        help="where it ends: a label or, in PRISM and JANI, an expression; may be repeated (default: the "
        "label goal; without one the whole run counts)",
    )
    group.add_argument(
        "--costs",
        type=names,
        metavar="NAME,...",
        help="the reward models that are costs besides the minimised one (default: all)",
    )
    group.add_argument(
        "--domain",
        type=Path,
        metavar="FILE",
        help="the domain of a problem in PPDDL, if in a file of its own",
    )
    group.add_argument(
        "--give-up",
        type=bound,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what it costs to end where the goal is out of reach; may be repeated",
    )


def add_setting_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what makes a problem another one: its parameters and its scale."""
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a parameter of the problem, such as slip=0.2, 20%% or 1/5; may be repeated",
    )
    add_scale_argument(parser)


def add_scale_argument(parser: argparse.ArgumentParser) -> None:
    """Add the size of a built-in problem."""
    parser.add_argument(
        "--scale", type=scale, default=1, metavar="N", help="multiply every length of a built-in problem"
    )


def add_tolerance_argument(parser: argparse.ArgumentParser) -> None:
    """Add how closely bounds must be kept."""
    parser.add_argument(
        "--feasibility-tolerance",
        type=share,
        default=FEASIBILITY_TOLERANCE,
        metavar="T",
        help="a bound is kept if it is exceeded by no more than this share of it (default: 1e-9)",
    )


def add_certificate_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what verifies the plan of a file."""
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="verify by a certificate what is claimed about the plan; without one it stays a claim",
    )
    parser.add_argument(
        "--exact", action="store_true", help="check the certificate in integers; takes some 50 times longer"
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add how to answer programs."""
    parser.add_argument("--json", action="store_true", help="answer with one JSON object on stdout")


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every command has that works for a while: how to answer, and how much to tell meanwhile."""
    add_json_argument(parser)
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("--quiet", "-q", action="store_true", help="no progress; errors are still told")
    talk.add_argument("--verbose", "-v", action="store_true", help="a line for every change, and the log")
