"""A report as one page of HTML that holds everything it needs: no network, no other files.

The page's text, style and scripts are files of this package in ``page``; writing puts them and the data into
one document. Its content security policy forbids every request, so that nothing can be fetched by mistake.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hcssp.files.atomic import write_atomically

_SCRIPTS = tuple(
    f"{name}.js" for name in ("drawing", "charts", "levels", "map", "procedure", "runs", "tables", "app")
)


def page_html(data: Mapping[str, Any]) -> str:
    """The page that shows `data`, as made by :func:`hcssp.reports.page_data.page_data`.

    Raises
    ------
    ValueError
        If the data holds a number that JSON does not know.
    """
    plan = data["plans"][data["reported"]]
    description = data["problem"]["description"]
    texts = {
        "title": escape(f"{data['problem']['name']}: {plan['brief']}"),
        "name": escape(data["problem"]["name"]),
        "description": escape(description[:1].upper() + description[1:]),
        "brief": "".join(f"<p>{escape(sentence)}</p>" for sentence in (*plan["words"], data["stopped"])),
        "version": escape(data["hcssp"]),
        "fingerprint": escape(data["problem"]["fingerprint"]),
    }
    folder = files("hcssp.reports") / "page"
    return filled_page(folder / "template.html", [folder / name for name in _SCRIPTS], texts, data)


def filled_page(
    template: Traversable,
    scripts: Iterable[Traversable],
    texts: Mapping[str, str],
    data: Mapping[str, Any],
    styles: Iterable[Traversable] = (),
) -> str:
    """A page of the same kind as the report: its style, these scripts, and data for them.

    Parameters
    ----------
    template
        What the page shows, as HTML with places to fill, such as ``{{name}}``; ``frame.html`` stands around.
    scripts
        What draws the page, in this order.
    texts
        The markup of its places, and the title; what comes from users is escaped.
    data
        What the scripts show.
    styles
        More style than all pages have.

    Raises
    ------
    ValueError
        If the data holds a number that JSON does not know.
    """
    folder = files("hcssp.reports") / "page"
    parts = {
        **texts,
        "style": _joined((folder / "style.css", *styles)),
        "script": _joined(scripts),
        # No text of the data may end the element that it stands in.
        "data": json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    frame = (folder / "frame.html").read_text(encoding="utf-8")
    pieces = frame.replace("{{body}}", template.read_text(encoding="utf-8")).split("{{")
    # One pass, so that nothing in the data can be taken for a place to fill.
    return pieces[0] + "".join(
        parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:])
    )


def _joined(texts: Iterable[Traversable]) -> str:
    return "\n".join(text.read_text(encoding="utf-8") for text in texts)


def save_page(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write the page; a reader never sees half of it.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, page_html(data))
