"""The page of the built-in problems: sizes and parameters are filled in from the registry itself.

A line ``{{ parameters NAME }}`` of the page becomes the size of that problem and a table of its parameters.
"""

from __future__ import annotations

import re
from typing import Any

PAGE = "domains.md"
_MARK = re.compile(r"^\{\{ parameters (?P<name>[\w-]+) \}\}$", re.MULTILINE)


def parameters(name: str) -> str:
    """The size and the parameters of a problem, in Markdown."""
    from hcssp.scenarios.scenario import find_scenario

    scenario = find_scenario(name)
    rows = [
        f"| `{parameter.name}` | {parameter.default:g} | {parameter.meaning} |"
        for parameter in scenario.parameters
    ]
    lines = ["| parameter | default | meaning |", "| --- | ---: | --- |", *rows]
    files = (
        f"Problem file: `hcssp new {name}`. Notebook in the repository: `examples/notebooks/{name}.ipynb`."
    )
    return f"{files} Size with the defaults: {scenario.size}.\n\n" + "\n".join(lines)


def named(text: str) -> list[str]:
    """The problems that the page has a mark for."""
    return [found["name"] for found in _MARK.finditer(text)]


def fill_in(text: str) -> str:
    """The page with its marks replaced."""
    return _MARK.sub(lambda found: parameters(found["name"]), text)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the page of the built-in problems (an event of MkDocs)."""
    return fill_in(markdown) if page.file.src_uri == PAGE else markdown
