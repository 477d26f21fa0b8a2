"""HTML and SVG as text in which nothing is taken for markup by mistake.

Names come from users. Every text that is put into an element is escaped, unless it is :class:`Markup`, which
only :func:`element` makes.

>>> element("b", {"class": "name"}, "<script>", element("i", {}, 1))
'<b class="name">&lt;script&gt;<i>1</i></b>'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

MOST_LETTERS = 60
"""Longer names are cut where they would spoil a table or a drawing."""


class Markup(str):
    """A text that is markup; any other is escaped where it is put in."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__repr__(str(self))


def element(tag: str, attributes: Mapping[str, object], *children: object) -> Markup:
    """An element.

    Parameters
    ----------
    tag
        Its name.
    attributes
        Those that are None are left out; numbers have few decimals.
    children
        Texts, numbers and elements.
    """
    given = "".join(f' {name}="{_escaped(value)}"' for name, value in attributes.items() if value is not None)
    if tag in _EMPTY and not children:
        return Markup(f"<{tag}{given}/>")
    return Markup(f"<{tag}{given}>{joined(children)}</{tag}>")


_EMPTY = frozenset({"circle", "line", "path", "polygon", "rect"})


def joined(parts: Iterable[object]) -> Markup:
    """Texts, numbers and elements one after another."""
    return Markup("".join(part if isinstance(part, Markup) else _escaped(part) for part in parts))


def shortened(name: object) -> str:
    """A name that is not too long.

    >>> len(shortened("x" * 100))
    60
    """
    text = str(name)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def number(value: float) -> str:
    """A length or a coordinate, as short as it can be told.

    >>> number(2.0), number(-0.126), number(0.001)
    ('2', '-0.13', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def table(head: Sequence[object], rows: Iterable[Sequence[object]], texts: int = 1) -> Markup:
    """A table.

    Parameters
    ----------
    head
        The names of the columns.
    rows
        What stands in them.
    texts
        How many columns, from the left, are texts and not figures.
    """

    def line(tag: str, cells: Sequence[object]) -> Markup:
        sides = ("text" if column < texts else None for column in range(len(cells)))
        return element("tr", {}, *(element(tag, {"class": s}, c) for s, c in zip(sides, cells, strict=True)))

    body = (line("td", row) for row in rows)
    return element(
        "div", {"class": "wide"},
        element("table", {}, element("thead", {}, line("th", head)), element("tbody", {}, *body)),
    )  # fmt: skip


def _escaped(value: object) -> str:
    if isinstance(value, float):
        return number(value)
    # A lone surrogate cannot be written to a notebook's file.
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def paragraphs(*sentences: str) -> Markup:
    """Each sentence that is not empty, as a paragraph."""
    return joined(element("p", {}, sentence) for sentence in sentences if sentence)


def unfolding(summary: str, *children: object, opened: bool = False) -> Markup:
    """What the reader can unfold and fold; browsers do that without a script."""
    attributes = {"open": "" if opened else None}
    return element("details", attributes, element("summary", {}, summary), *children)
