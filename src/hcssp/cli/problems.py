"""The problem that a command names, with its parameters set, its bounds, and what is asked about it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

from hcssp.cli.arguments import UsageError
from hcssp.cli.terminal import notes_on
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from fractions import Fraction

    from hcssp.cli.running import Interruption
    from hcssp.cli.terminal import ProgressPrinter
    from hcssp.exchange.reading import Question
    from hcssp.parameters import Number
    from hcssp.procedure import HCSSP


@contextmanager
def reading(
    arguments: argparse.Namespace, interruption: Interruption
) -> Iterator[tuple[ProgressPrinter, HCSSP]]:
    """The printer and the problem of a command that can be interrupted and has nothing to save."""
    with notes_on(arguments, interruption) as printer:
        printer.note(f"reading {arguments.problem}")
        yield printer, load_problem(arguments)


def load_problem(
    arguments: argparse.Namespace, name: str | None = None, settings: Mapping[str, Number] | None = None
) -> HCSSP:
    """The problem that the user names, with its parameters set, its lengths multiplied, and more bounds.

    Parameters
    ----------
    arguments
        What the command line says.
    name, settings
        Another problem that is asked the same, and its parameters; None for those of the command line.

    Raises
    ------
    UnknownName
        If there is no such problem, or no such parameter.
    InvalidProblem
        If the file is not in order, or a parameter cannot be so.
    UsageError
        If a parameter is set twice, or a file is to be scaled.
    """
    from hcssp.files.named_problem import is_file

    named = arguments.problem if name is None else name
    given = settings_of(arguments.settings) if settings is None else settings
    # The scale of one built-in problem is that of another, but a file has its own.
    scale = arguments.scale if name is None or not is_file(name) else 1
    problem = named_problem(named, given, scale, question_of(arguments))
    return asked_of(problem, arguments.probability, arguments.maximise)


def asked_of(problem: HCSSP, chances: Sequence[tuple[str, float]], reward: str | None) -> HCSSP:
    """The problem under bounds on probabilities, and with a reward to maximise if there is one."""
    for what, at_most in chances:
        from hcssp.procedure.product import with_probability

        problem = with_probability(problem, what, of=what, at_most=at_most)
    if reward is not None:
        from hcssp.procedure.validation import explaining_dead_ends
        from hcssp.solving.maximisation import maximise

        with explaining_dead_ends(problem):
            problem = maximise(problem, reward)
    return problem


def named_problem(
    name: str, settings: Mapping[str, Number] | None = None, scale: int = 1, question: Question | None = None
) -> HCSSP:
    """The problem called `name`, a file or a built-in one; ``-`` is one that comes by standard input."""
    from hcssp.files.named_problem import find_problem, is_file

    if scale != 1 and (name == "-" or is_file(name)):
        raise UsageError(f"--scale {scale}: only built-in problems can be scaled, not the file {name}")
    if name != "-":
        return find_problem(name, settings, scale, question)
    if question is not None:
        raise UsageError("-: constants, costs and goals are asked of models in files, not of standard input")
    if sys.stdin is None:
        raise UsageError("-: there is no standard input to read a problem from")
    from hcssp.files.problem_file.loading import load_stream

    return load_stream(sys.stdin.buffer, parameters=settings)


def question_of(arguments: argparse.Namespace) -> Question | None:
    """What the command line asks about a model of another tool; None if nothing.

    Raises
    ------
    UsageError
        If giving up is priced twice.
    """
    asked = (arguments.constants, arguments.minimise, arguments.goal, arguments.costs, arguments.give_up)
    if not any(asked) and arguments.domain is None and arguments.max_states is None:
        return None
    from hcssp.exchange.reading import Question

    price: dict[str, float] = {}
    for name, amount in arguments.give_up:
        if name in price:
            raise UsageError(f"--give-up {name}: given twice ({price[name]:g} and {amount:g}); give one")
        price[name] = amount
    return Question(
        constants=",".join(arguments.constants) or None,
        minimise=arguments.minimise,
        goal=arguments.goal or None,
        costs=arguments.costs,
        give_up=price or None,
        domain=arguments.domain,
        max_states=arguments.max_states,
    )


def settings_of(given: Sequence[tuple[str, Fraction]]) -> dict[str, Fraction]:
    """The parameters that the command line sets.

    Raises
    ------
    UsageError
        If one is set twice.
    """
    settings: dict[str, Fraction] = {}
    for name, value in given:
        if name in settings:
            both = f"{float(settings[name]):g} and {float(value):g}"
            raise UsageError(f"--set {name}: given twice ({both}); give one")
        settings[name] = value
    return settings


def asked_again(arguments: argparse.Namespace, problem: HCSSP) -> str:
    """The problem and the options that ask the same about it, for a command line to copy.

    Parameters
    ----------
    arguments
        What the command line says.
    problem
        The problem that it led to; its bounds are named where they are not those of the file.
    """
    bounds = arguments.bound
    if arguments.bounds_of == "plan":
        bounds = [(each.name, each.at_most) for each in problem.constraints]
    values: list[tuple[str, object]] = [("--set", f"{name}={value}") for name, value in arguments.settings]
    values += [("--bound", f"{name}={written(value)}") for name, value in bounds]
    values += [("--probability", f"{name}={written(value)}") for name, value in arguments.probability]
    values += [("--give-up", f"{name}={written(value)}") for name, value in arguments.give_up]
    values += [("--goal", label) for label in arguments.goal]
    values += [("--constants", text) for text in arguments.constants]
    values += [("--costs", ",".join(arguments.costs))] if arguments.costs else []
    values += [("--scale", arguments.scale)] if arguments.scale != 1 else []
    for option in ("maximise", "minimise", "domain"):
        if getattr(arguments, option) is not None:
            values.append((f"--{option}", getattr(arguments, option)))
    return quote(arguments.problem) + "".join(f" {option} {quote(str(value))}" for option, value in values)


def written(bound: float) -> str:
    """A number that the command line reads back as the same one.

    >>> written(2.0), written(0.1), written(float("inf"))
    ('2', '0.1', 'inf')
    """
    return repr(float(bound)).removesuffix(".0")


def title_of(arguments: argparse.Namespace) -> str:
    """What to call the problem in words: as the user does, with the parameters that are set."""
    set_to = [f"{name} = {float(value):g}" for name, value in arguments.settings]
    return f"{arguments.problem} with {', '.join(set_to)}" if set_to else str(arguments.problem)


def with_bounds(problem: HCSSP, bounds: list[tuple[str, float]]) -> HCSSP:
    """The problem under the bounds of the command line.

    Raises
    ------
    UnknownName
        If a constraint's name is not one of the problem's.
    UsageError
        If a constraint is bounded twice.
    """
    known = [constraint.name for constraint in problem.constraints]
    wanted: dict[str, float] = {}
    for name, at_most in bounds:
        if name not in known:
            raise UnknownName("constraint", name, known)
        if name in wanted:
            raise UsageError(f"--bound {name}: given twice ({wanted[name]:g} and {at_most:g}); give one")
        wanted[name] = at_most
    return problem.with_bounds(wanted)
