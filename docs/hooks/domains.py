"""The page of the ready-made problems: sizes and dials are filled in from the registry itself.

A line ``{{ dials NAME }}`` of the page becomes the size of that problem and a table of its dials.
"""

from __future__ import annotations

import re
from typing import Any

PAGE = "domains.md"
_MARK = re.compile(r"^\{\{ dials (?P<name>[\w-]+) \}\}$", re.MULTILINE)


def dials(name: str) -> str:
    """The size and the dials of a problem, in Markdown."""
    from hcssp.scenarios.registry import find_scenario

    scenario = find_scenario(name)
    rows = [f"| `{dial.name}` | {dial.default:g} | {dial.meaning} |" for dial in scenario.dials]
    lines = ["| dial | unless set | what it says |", "| --- | ---: | --- |", *rows]
    return f"Unless a dial is set: {scenario.size}.\n\n" + "\n".join(lines)


def named(text: str) -> list[str]:
    """The problems that the page has a mark for."""
    return [found["name"] for found in _MARK.finditer(text)]


def fill_in(text: str) -> str:
    """The page with its marks replaced."""
    return _MARK.sub(lambda found: dials(found["name"]), text)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the page of the ready-made problems (an event of MkDocs)."""
    return fill_in(markdown) if page.file.src_uri == PAGE else markdown
