"""A running command: its arguments, its problem and plan, and its answer.

Every command is a function of a :class:`Session` and returns its exit code.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from math import inf
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import UsageError
from hcssp.cli.terminal import ProgressPrinter, style_of
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from fractions import Fraction

    from hcssp.cli.running import Interruption
    from hcssp.contract.plan import Plan
    from hcssp.exchange.reading import Question
    from hcssp.numerics import Tolerances
    from hcssp.parameters import Number
    from hcssp.procedure import HCSSP
    from hcssp.reports.plan_text import Style
    from hcssp.workers import Workers


class Session:
    """The input of a command.

    Attributes
    ----------
    arguments, interruption
        What the command line says, and the signals.
    """

    def __init__(self, arguments: argparse.Namespace, interruption: Interruption) -> None:
        self.arguments, self.interruption = arguments, interruption

    @cached_property
    def printer(self) -> ProgressPrinter:
        """What prints progress."""
        return ProgressPrinter.wanted(self.arguments)

    @property
    def title(self) -> str:
        """What to call the problem in words: as the user does, with the parameters that are set."""
        name, settings = self.arguments.problem, self.arguments.settings
        set_to = [f"{each} = {float(value):g}" for each, value in settings]
        return f"{name} with {', '.join(set_to)}" if set_to else str(name)

    @contextmanager
    def working(self) -> Iterator[ProgressPrinter]:
        """Work that a signal interrupts; at its end the display of progress is removed."""
        try:
            self.interruption.begin()
            yield self.printer
        finally:
            self.printer.close()
        self.interruption.end()

    def allow(self) -> None:
        """Let the time limit count from now on."""
        limit = self.arguments.time_limit
        self.interruption.allow(inf if limit is None else limit)

    def workers(self, gone: float | None = None) -> AbstractContextManager[Workers | None]:
        """The workers that were asked for; None if this process does it all.

        Parameters
        ----------
        gone
            How many seconds of the time limit have passed, beyond which a cluster is not waited for; None if
            the limit is one for each piece of the work.

        Raises
        ------
        UsageError
            If processes and a cluster were asked for.
        """
        jobs, scheduler = self.arguments.jobs, self.arguments.scheduler
        if scheduler is None and jobs in (None, 1):
            return nullcontext()
        if scheduler is not None and jobs is not None:
            raise UsageError("--jobs and --scheduler: give one of them")
        from hcssp.deadline import until
        from hcssp.workers import open_workers

        limit = self.arguments.time_limit
        left = inf if gone is None or limit is None else limit - gone
        with until(time.perf_counter() + left):
            return open_workers(jobs=jobs, scheduler=scheduler)

    def read(self) -> HCSSP:
        """The problem that the user names; the bounds of the command line are not among its bounds yet."""
        self.printer.note(f"reading {self.arguments.problem}")
        return load_problem(self.arguments)

    def read_plan(self, problem: HCSSP, tolerances: Tolerances | None = None) -> Plan:
        """The saved plan that the user names."""
        return read_plan(self.arguments, self.arguments.plan, problem, tolerances)

    def verified(self, plan: Plan) -> Plan | None:
        """The plan with what a certificate proves, if one is given; None, with a message, if it does not.

        Raises
        ------
        InvalidCertificate
            If it is no certificate for this plan.
        """
        from hcssp.errors import NotProven

        if self.arguments.certificate is None:
            return plan
        try:
            return plan.verified(self.arguments.certificate, exact=self.arguments.exact)
        except NotProven as error:
            print(f"hcssp: not verified: {error}", file=sys.stderr)
            return None

    def check_outputs(self, *options: str) -> None:
        """Find out before the work whether the files that these options name can be written.

        Raises
        ------
        UsageError, CannotWrite, MissingDependency
            If one cannot.
        """
        from hcssp.files.atomic import check_writable

        for option in options:
            path = getattr(self.arguments, option)
            if path is None:
                continue
            if option in _PICTURES:
                from hcssp.reports.charts import picture_formats

                formats = picture_formats()
                if path.suffix.lstrip(".").lower() not in formats:
                    known = ", ".join(f".{each}" for each in formats)
                    suffix = path.suffix or "no suffix"
                    raise UsageError(
                        f"--{option} {path}: matplotlib cannot write {suffix}; use one of {known}"
                    )
            check_writable(path)

    def answer(
        self, document: Callable[[], Mapping[str, Any]], words: Callable[[Style], str], *, wrap: bool = True
    ) -> None:
        """Print the answer: with ``--json`` one object, otherwise for people, if `wrap` in short lines."""
        if self.arguments.json:
            print(json.dumps(document(), allow_nan=False))
        else:
            from hcssp.reports.plan_text import wrapped

            text = words(style_of(sys.stdout))
            print(wrapped(text) if wrap else text)

    def say(self, text: str) -> None:
        """Print, below an answer for people, the files that were written."""
        if not self.arguments.json:
            print(f"\n{text}")

    def plan_heading(self, plan: Plan) -> dict[str, Any]:
        """The first keys of a JSON object about a saved plan: the files, and the bounds it was made for."""
        from hcssp.reports.figures import plain

        made_for = {name: plain(bound) for name, bound in (plan.made_for or {}).items()}
        return {"problem": self.arguments.problem, "plan": str(self.arguments.plan), "made_for": made_for}

    def fail(self, why: str) -> None:
        """Print on stderr why there is no plan, or what else is missing."""
        print(f"hcssp: {why}", file=sys.stderr)


_PICTURES = ("plot", "lagrangian", "allocation")


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
    given = settings_of(arguments) if settings is None else settings
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
        raise UsageError("-: constants, costs and goals apply to models in files, not to standard input")
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
    others = (arguments.domain, arguments.max_states, arguments.property, arguments.props)
    if not any(asked) and all(each is None for each in others):
        return None
    from hcssp.exchange.reading import Question

    return Question(
        constants=",".join(arguments.constants) or None,
        minimise=arguments.minimise,
        goal=arguments.goal or None,
        costs=arguments.costs,
        give_up=once("--give-up", arguments.give_up) or None,
        domain=arguments.domain,
        max_states=arguments.max_states,
        property=arguments.property,
        props=arguments.props,
    )


def settings_of(arguments: argparse.Namespace) -> dict[str, Fraction]:
    """The parameters that the command line sets.

    Raises
    ------
    UsageError
        If one is set twice.
    """
    return once("--set", arguments.settings)


def once(option: str, given: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The values by name, of which each must be given once."""
    found: dict[str, Any] = {}
    for name, value in given:
        if name in found:
            both = f"{float(found[name]):g} and {float(value):g}"
            raise UsageError(f"{option} {name}: given twice ({both}); give one")
        found[name] = value
    return found


def with_bounds(problem: HCSSP, bounds: Sequence[tuple[str, float]]) -> HCSSP:
    """The problem under the bounds of the command line.

    Raises
    ------
    UnknownName
        If a constraint's name is not one of the problem's.
    UsageError
        If a constraint is bounded twice.
    """
    for name, _ in bounds:
        if name not in problem.constraint_names:
            raise UnknownName("constraint", name, problem.constraint_names)
    return problem.with_bounds(once("--bound", bounds))


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
    for option, pairs in (
        ("--bound", bounds),
        ("--probability", arguments.probability),
        ("--give-up", arguments.give_up),
    ):
        values += [(option, f"{name}={written(value)}") for name, value in pairs]
    values += [("--goal", label) for label in arguments.goal]
    values += [("--constants", text) for text in arguments.constants]
    values += [("--costs", ",".join(arguments.costs))] if arguments.costs else []
    values += [("--scale", arguments.scale)] if arguments.scale != 1 else []
    for option in ("maximise", "minimise", "domain", "props", "property"):
        if getattr(arguments, option) is not None:
            values.append((f"--{option}", getattr(arguments, option)))
    return quote(arguments.problem) + "".join(f" {option} {quote(str(value))}" for option, value in values)


def written(bound: float) -> str:
    """A number that the command line reads back as the same one.

    >>> written(2.0), written(0.1), written(float("inf"))
    ('2', '0.1', 'inf')
    """
    return repr(float(bound)).removesuffix(".0")


def read_plan(
    arguments: argparse.Namespace, path: Path, problem: HCSSP, tolerances: Tolerances | None = None
) -> Plan:
    """A saved plan, evaluated under the bounds that count: the only place that decides which ones.

    They are those of the problem and of ``--bound``; with ``--bounds-of plan``, those that the file names
    instead of the problem's. A plan that was made for other bounds is announced on stderr.

    Raises
    ------
    InvalidPlan
        If it is no plan for `problem`, or does not reach the end.
    """
    from dataclasses import replace

    from hcssp.files.plan_file import load_plan
    from hcssp.reports.plan_text import other_bounds

    plan = load_plan(path, with_bounds(problem, arguments.bound))
    if arguments.bounds_of == "plan":
        # Read again: the claims of the file are about its bounds.
        plan = load_plan(path, with_bounds(problem.with_bounds(plan.made_for), arguments.bound))
    other = other_bounds(plan)
    if other:
        print(f"hcssp: {path}: the plan was {other}", file=sys.stderr)
    return plan if tolerances is None else replace(plan, tolerances=tolerances).evaluated()
