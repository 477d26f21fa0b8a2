"""The command line's grammar: commands and their options as ``manual.txt`` declares them, and what is given.

The manual says what each is for and how it is called. What reads a value follows from what the manual calls
it. What is wrong with the arguments becomes a :class:`UsageError`, a single message without a page of usage.
A command's module is imported when the command runs, so that help and errors need nothing heavy.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hcssp.cli import arguments as values
from hcssp.cli.arguments import UsageError
from hcssp.errors import UnknownName
from hcssp.version import __version__

if TYPE_CHECKING:
    from hcssp.cli.session import Session

HOMES = {
    "replan": "solve",
    **dict.fromkeys(("evaluate", "check", "simulate", "robust", "why"), "saved_plans"),
    **dict.fromkeys(("curve", "sweep"), "grids"),
    **dict.fromkeys(("show", "new", "import", "methods", "problems", "schema"), "listings"),
}
"""The modules of commands; any other command has a module of its own. Each command is a function there."""

KINDS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("CERTIFICATE", "FILE", "FOLDER", "PLAN"), Path),
    **dict.fromkeys(("HIGH", "LOW", "PERCENT"), values.amount),
    "G": values.gap,
    "K": values.whole("number of plans", 1),
    "L": values.count_or_inf,
    "NAME,...": values.names,
    "NAME=VALUE": values.bound,
    "NAME=VALUES": values.bound_axis,
    "PAIRS": values.likelihoods,
    "S": values.seconds,
    "SHARE": values.deviation,
    "T": values.share,
    "WHAT=VALUE": values.chance,
    "WHAT=VALUES": values.chance_axis,
    "damage=VALUES": values.bound_axis,
    "--graph N": int,
    "--jobs N": values.job_count,
    "--max-states N": values.whole("number of states", 1),
    "--most N": values.whole("count", 1),
    "--now NAME=VALUE": values.setting,
    "--port N": values.port,
    "--points N": values.whole("number of points"),
    "--repeat N": values.whole("number of runs", 1),
    "--runs N": values.whole("count", 1),
    "--scale N": values.whole("scale", 1),
    "--seed N": values.seed,
    "--set NAME=VALUE": values.setting,
    "--set NAME=VALUES": values.axis,
}
"""What reads a value, by what the manual calls it, or by that behind the option's name; else it is text."""

Declared = dict[str, Any]
Option = tuple[str, Declared]

_OPTION = re.compile(
    r"(?P<name>-*\w[\w-]*(?: -\w)?)(?: @(?P<dest>\w+))?(?: (?P<value>\{.*?\}|[A-Za-z\[][^ ]*?))?(?P<many>\*)?"
    r"(?: (?P<several>\.\.\.|\?|\d))?(?: = (?P<default>.*))?"
)


class Command:
    """A command.

    Parameters
    ----------
    name, text
        Its name, and its section of the manual.

    Attributes
    ----------
    summary, description
        Its summary and its description.
    """

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self.summary, _, rest = text.partition("\n")
        self.description, _, self._options = rest.partition("\n\noptions:\n")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add everything that the command takes to its parser."""
        groups: dict[str, argparse._ActionsContainer] = {"": parser}
        for _, declared in _options(self._options, common()):
            title = declared.pop("group")
            if title == "|" and title not in groups:
                groups[title] = parser.add_mutually_exclusive_group()
            elif title not in groups:
                groups[title] = parser.add_argument_group(title)
            groups[title].add_argument(*declared.pop("called").split(), **declared)

    def run(self, session: Session) -> int:
        """Run the command and return the exit code."""
        module = import_module(f"hcssp.cli.{HOMES.get(self._name, self._name)}")
        run: Callable[[Session], int] = getattr(module, self._name.replace("import", "import_site"))
        return run(session)


@cache
def _sections() -> dict[str, str]:
    text = Path(__file__).with_name("manual.txt").read_text(encoding="utf-8")
    parts = re.split(r"^== (\w+):? *", text, flags=re.MULTILINE)
    return {name: section.strip() for name, section in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def common() -> dict[str, Declared]:
    """The options that several commands have, and the names that stand for several of them."""
    return dict(_options(_sections()["options"], {}))


def _options(text: str, known: Mapping[str, Declared]) -> Iterator[Option]:
    """The options of a section: those that are known by their names, and those that it declares."""
    group = ""
    for first, indented in re.findall(r"^(\S.*)\n?((?:^ .*\n?)*)", text, flags=re.MULTILINE):
        words = first.split()
        found = _OPTION.fullmatch(first)
        if first.startswith("["):
            group = first[1:-1]
        elif words[0].endswith(":"):
            yield words[0][:-1], {"names": words[1:]}
        elif found is not None and (indented or found["several"] or _is_new(found, known)):
            yield _declared(found, " ".join(indented.split()), group, known)
        else:
            for name in words:
                yield from _expanded(name, known)


def _is_new(found: re.Match[str], known: Mapping[str, Declared]) -> bool:
    """Whether a line declares an option, and is not a list of options that are known."""
    return found["name"].split()[0] not in known or (bool(found["value"]) and found["value"] not in known)


def _expanded(name: str, known: Mapping[str, Declared]) -> Iterator[Option]:
    if "names" not in known[name]:
        yield name, dict(known[name])
    for each in known[name].get("names", ()):
        yield from _expanded(each, known)


def _declared(found: re.Match[str], text: str, group: str, known: Mapping[str, Declared]) -> Option:
    """An option: what its lines say, and the rest as it is known."""
    called, value = found["name"], found["value"]
    name = called.split()[0]
    declared = dict(known.get(name, {"group": group, "called": called}))
    if text:
        declared["help"] = text.replace("%", "%%")
    if value is None and name not in known:
        declared["action"] = "store_true"
    elif value is not None and value.startswith("{"):
        declared["choices"] = tuple(value[1:-1].split(","))
    elif value is not None:
        declared |= {"metavar": value, "type": KINDS.get(f"{name} {value}", KINDS.get(value))}
    if found["dest"]:
        declared["dest"] = found["dest"]
    if found["several"]:
        declared["nargs"] = {"...": "+", "?": "?"}.get(found["several"]) or int(found["several"])
    if found["default"]:
        declared["default"] = found["default"]
    elif found["many"] or found["several"] == "...":
        declared["default"] = []
    if found["many"]:
        declared["action"] = "append"
    return name, declared


COMMANDS = {
    name: Command(name, text) for name, text in _sections().items() if name not in ("about", "options")
}
"""Every command by its name."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; ``command`` is the name of the command.

    Raises
    ------
    UsageError, UnknownName
        If they make no sense.
    """
    parser = _Parser(
        prog="hcssp",
        description="Plans under uncertainty that keep their budgets, with a proof of how good they are.",
        epilog=_sections()["about"],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"hcssp {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    asked = next(iter(argv), "")
    if not asked.startswith("-") and argv and asked not in COMMANDS:
        raise UnknownName("command", asked, COMMANDS)
    for each in argv:
        # argparse would pass an empty list on.
        if each.startswith("--") and each.endswith("=--"):
            raise UsageError(f"argument {each[:-3]}: '--' is no value")
    if asked not in COMMANDS:
        for name, each_command in COMMANDS.items():
            commands.add_parser(name, help=each_command.summary)
        return parser.parse_args(argv)
    command = commands.add_parser(
        asked,
        description=COMMANDS[asked].description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    COMMANDS[asked].add_arguments(command)
    _refuse_unknown_options(argv[1:], command)
    arguments, unexpected = parser.parse_known_args(argv)
    if unexpected:
        raise UsageError(f"unexpected argument {unexpected[0]!r}; see {command.prog} --help")
    return arguments


def _refuse_unknown_options(given: Sequence[str], command: argparse.ArgumentParser) -> None:
    """Refuse an unknown option, before argparse reports that something else is missing."""
    known = [name for action in command._actions for name in action.option_strings if name.startswith("--")]
    for option in (each.partition("=")[0] for each in takewhile(lambda each: each != "--", given)):
        if option.startswith("--") and " " not in option and option not in known:
            from difflib import get_close_matches

            nearest = get_close_matches(option.strip("-"), [name.strip("-") for name in known], n=1)
            guess = f"; did you mean --{nearest[0]}?" if nearest else ""
            raise UsageError(f"unknown option {option}{guess}; see {command.prog} --help")
