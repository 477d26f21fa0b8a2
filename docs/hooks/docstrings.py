r"""Docstrings on the site: their references become links, their formulas HTML, their doctests code blocks.

The docstrings are written for people at a prompt, with the roles that Python's tools know. mkdocstrings takes
them for Markdown; this extension of Griffe translates what Markdown does not know. Formulas use a handful of
TeX's commands, which Unicode and HTML can show without a library that would have to be fetched.

>>> formula(r"\max_{\lambda \ge 0} L(\lambda)")
'max<sub><i>λ</i> ≥ 0</sub> <i>L</i>(<i>λ</i>)'
>>> formula(r"x(s, a) \le 10^{-9} M")
'<i>x</i>(<i>s</i>, <i>a</i>) ≤ 10<sup>-9</sup> <i>M</i>'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from griffe import Alias, Extension, GriffeError, Module, Object

SYMBOLS = {
    "Delta": "Δ", "Gamma": "Γ", "Psi": "Ψ", "alpha": "α", "delta": "δ", "epsilon": "ε", "lambda": "λ",
    "mu": "μ", "phi": "φ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "varepsilon": "ε",
    "cdot": "·", "dots": "…", "ge": "≥", "in": "∈", "infty": "∞", "le": "≤", "mid": "|", "rightarrow": "→",
    "sum": "∑", "top": "⊤", "max": "max", "min": "min", "quad": " ", "qquad": "  ", ",": "",
}  # fmt: skip
"""TeX's commands and what they look like; a docstring with another one fails the test of this file."""

ACCENTS = {"bar": "\u0304", "hat": "\u0302"}
_TOKEN = re.compile(r"\\(?P<command>[a-zA-Z]+|,)|(?P<character>.)", re.DOTALL)
_ROLE = re.compile(r":(?P<role>[a-z]+):`(?P<text>[^`]+)`")
_MATH_BLOCK = re.compile(r"^\.\. math:: (?P<first>.*)\n(?P<rest>(?:[ ]{3}.*\n?)*)", re.MULTILINE)
_DOCTEST = re.compile(r"^>>> .*\n(?:(?!\s*$).*\n?)*", re.MULTILINE)
_REFERENCES = ("attr", "class", "data", "func", "meth", "mod")


def formula(tex: str) -> str:
    """A formula as HTML.

    Parameters
    ----------
    tex
        What stands between the backticks of a ``:math:`` role.

    Raises
    ------
    ValueError
        If it has a command that is not among those known here.
    """
    tokens = [match.group() for match in _TOKEN.finditer(" ".join(tex.split()))]
    html = _sequence(iter(tokens), end=None)
    return re.sub(r"\s+", " ", html).strip()


def _sequence(tokens: Iterator[str], end: str | None) -> str:
    html = ""
    for token in tokens:
        if token == end:
            return html
        html += _piece(token, tokens)
    return html


def _piece(token: str, tokens: Iterator[str]) -> str:
    """The HTML of one token and of the arguments that it takes from those after it."""
    if token in "_^":
        tag = "sub" if token == "_" else "sup"
        return f"<{tag}>{_argument(tokens)}</{tag}>"
    if token == "{":
        return _sequence(tokens, "}")
    if token.startswith("\\"):
        return _command(token[1:], tokens)
    if token.isalpha():
        return f"<i>{token}</i>"
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(token, token)


def _command(name: str, tokens: Iterator[str]) -> str:
    if name == "text":
        return re.sub(r"</?i>", "", _argument(tokens))
    if name == "mathbb":
        return re.sub(r"</?i>", "", _argument(tokens)).replace("E", "𝔼")
    if name in ACCENTS:
        return re.sub(r"([^<>/])(</i>)?$", rf"\g<1>{ACCENTS[name]}\g<2>", _argument(tokens))
    if name not in SYMBOLS:
        raise ValueError(f"the formula has \\{name}, which docs/hooks/docstrings.py does not know; add it")
    symbol = SYMBOLS[name]
    return f"<i>{symbol}</i>" if symbol.isalpha() and len(symbol) == 1 else symbol


def _argument(tokens: Iterator[str]) -> str:
    """What a command applies to: the next token, or a group in braces; blanks before it do not count."""
    for token in tokens:
        if token != " ":
            return _piece(token, tokens)
    return ""


def markdown(text: str, target: Callable[[str], str | None]) -> str:
    """A docstring as Markdown.

    Parameters
    ----------
    text
        The docstring.
    target
        From a name, as a reference gives it, to the full path of what it means; None if it has no page.
    """

    def role(match: re.Match[str]) -> str:
        kind, name = match["role"], match["text"]
        if kind == "math":
            return formula(name)
        if kind not in _REFERENCES:
            return match.group()
        path = target(name.lstrip("~"))
        shown = name.rpartition(".")[2] if name.startswith("~") else name
        return f"`{shown}`" if path is None else f"[`{shown}`][{path}]"

    def block(match: re.Match[str]) -> str:
        return f'<p class="formula">{formula(match["first"] + " " + match["rest"])}</p>\n\n'

    # Doctests first, so that nothing inside them is taken for a role or a formula.
    pieces = []
    position = 0
    for match in _DOCTEST.finditer(text):
        pieces += [_MATH_BLOCK.sub(block, text[position : match.start()]), match.group()]
        position = match.end()
    pieces.append(_MATH_BLOCK.sub(block, text[position:]))
    return "".join(
        f"```pycon\n{piece.rstrip()}\n```\n" if index % 2 else _ROLE.sub(role, piece)
        for index, piece in enumerate(pieces)
    )


class Docstrings(Extension):
    """Translates all docstrings of a package once it is loaded, so that references can be looked up."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Translate the docstrings of `pkg`, and show everything once: where it is defined."""
        things = list(_everything(pkg))
        for thing in things:
            if thing.docstring is not None:
                thing.docstring.value = markdown(thing.docstring.value, _resolver(pkg, thing))
        for thing in things:
            if isinstance(thing, Module) and thing.is_init_module:
                for name in [name for name, member in thing.members.items() if isinstance(member, Alias)]:
                    thing.del_member(name)
                thing.exports = None


def _everything(thing: Object) -> Iterator[Object]:
    yield thing
    for member in thing.members.values():
        if isinstance(member, Object) and not isinstance(member, Alias):
            yield from _everything(member)


def _resolver(package: Module, thing: Object) -> Callable[[str], str | None]:
    def target(name: str) -> str | None:
        first, _, rest = name.partition(".")
        try:
            path = name if first == package.name else ".".join(filter(None, [thing.resolve(first), rest]))
            found = package[path.removeprefix(f"{package.name}.")]
            while isinstance(found, Alias):
                found = found.final_target
        except (GriffeError, KeyError):
            return None
        hidden = any(part.startswith("_") for part in found.path.split("."))
        # What has no docstring has no place on the site.
        return None if hidden or found.docstring is None else found.path

    return target
