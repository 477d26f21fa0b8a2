"""The page of the command line, filled in from the parser itself, so that it cannot fall behind.

The line ``{{ commands }}`` of the page becomes a section for every command: what it is for, how it is called,
and a table of everything that it takes.
"""

from __future__ import annotations

import argparse
import html
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcssp.cli.commands import Command

PAGE = "command-line.md"
MARK = "{{ commands }}"


def commands() -> dict[str, Command]:
    """The commands by name."""
    from hcssp.cli.commands import COMMANDS

    return COMMANDS


def section(name: str, command: Command) -> str:
    """The section of one command, in Markdown."""
    parser = argparse.ArgumentParser(prog=f"hcssp {name}", add_help=False)
    command.add_arguments(parser)
    actions = [action for action in parser._actions if action.help is not argparse.SUPPRESS]
    positional = "".join(f" {_value(action)}" for action in actions if not action.option_strings)
    options = " [OPTIONS]" if any(action.option_strings for action in actions) else ""
    parts = [
        f"## hcssp {name} {{#{name}}}",
        # The descriptions are plain text: a line that begins with blanks is an example or a list.
        re.sub(r"^ +(\S.*)$", r"    \1", command.description.strip(), flags=re.MULTILINE),
        f"```text\nhcssp {name}{positional}{options}\n```",
    ]
    if actions:
        rows = [f"| {_names(action)} | {_text(action)} |" for action in actions]
        parts.append("\n".join(["| argument | what it does |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def fill_in(text: str) -> str:
    """The page with its mark replaced by all commands.

    Raises
    ------
    ValueError
        If the page has no mark, or several.
    """
    if text.count(MARK) != 1:
        raise ValueError(f"docs/{PAGE}: it needs the line '{MARK}' once and has it {text.count(MARK)} times")
    return text.replace(MARK, "\n\n".join(section(name, command) for name, command in commands().items()))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the page of the command line (an event of MkDocs)."""
    return fill_in(markdown) if page.file.src_uri == PAGE else markdown


def _value(action: argparse.Action) -> str:
    value = action.metavar or action.dest.upper()
    shown = " ".join(value) if isinstance(value, tuple) else str(value)
    if action.choices is not None and action.metavar is None:
        shown = "{" + ",".join(str(choice) for choice in action.choices) + "}"
    if action.nargs in ("?", "*"):
        shown = f"[{shown}]"
    return f"{shown} ..." if action.nargs in ("+", "*") else shown


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_value(action)}`"
    takes = "" if action.nargs == 0 else f" {_value(action)}"
    return ", ".join(f"`{name}{takes}`" for name in action.option_strings)


def _text(action: argparse.Action) -> str:
    described = (action.help or "") % {**vars(action), "prog": "hcssp"}
    return html.escape(" ".join(described.split()), quote=False).replace("|", "\\|")
