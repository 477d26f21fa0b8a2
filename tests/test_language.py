"""Texts and public names use plain technical English: words of this list have a standard term instead.

Code in pages is left out: names and sentences in examples may be stories.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

import hcssp
import hcssp.extend

ROOT = Path(__file__).parents[1]
STANDARD_TERMS = {
    r"draw(s|n|ing)? (the )?lots|drawn by lot|throws? (its )?dice|\blots between": "randomised",
    r"\bto come\b|\bcom(e|es) to (an? )?(action|event|exit|goal|row|state)|\bcame to\b": "cost-to-go; reach",
    r"\bso[- ]many(eth)?\b": "the number of",
    r"\btells?\b|\btold\b|\btelling\b": "print, report, state, pass",
    r"\banew\b": "again",
    r"\bnought\b": "zero",
    r"\blest\b": "so that ... not",
    r"\bdear(er|est)?\b": "expensive",
    r"\bmend(s|ed|ing)?\b": "fix, restore",
    r"\bdials?\b": "parameter",
    r"(?<!\x22)\bnobody\b(?!\x22)|\bwhoever\b|\banybody\b": "no plan, no function; name the subject",
    r"\bsuperfluous\b": "dominated",
    r"\bglimpses?\b|\bforesight\b|\bforeseen\b": "cached bound; predicted",
    r"\btwins?\b|\bexchangeable\b": "identical, symmetric",
    r"\bof (his|her|one's) own\b|\bfor (his|her) want\b|\bfor want of\b": "without",
    r"\bat odds\b|\bit is said\b|\bspeaks? of\b": "with probabilities; is about, names",
    r"\bto be had\b|\bcan be had\b|\bbest there is\b": "available; optimal",
    r"\bcomes? there\b|\bblank sheet\b|\bwhatever is done\b": "reach; an empty problem; under every policy",
    r"\bready-made\b|\ba fault of (hcssp|this)\b": "built-in; a bug in hcssp",
    r"\bsays itself\b|\bsaid so\b|\bsays so\b|\bso says\b": "states; report",
}
# A line may end within an expression.
WORD = {
    re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE): instead
    for pattern, instead in STANDARD_TERMS.items()
}
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")})
SOURCES = sorted(
    path
    for path in (ROOT / "src/hcssp").rglob("*")
    if path.suffix in {".py", ".pyi", ".js", ".html", ".yaml", ".css", ".txt"}
)
_FIELD = re.compile(r"\{[^{}]*\}")
_CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def found(text: str) -> list[str]:
    """The words of the list in a text, with their lines and what to write instead."""
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group()!r}; write: {instead}"
        for word, instead in WORD.items()
        for match in word.finditer(text)
    ]


def without_code(text: str) -> str:
    return _CODE.sub(lambda block: "\n" * block.group().count("\n"), text)


def test_words_are_found() -> None:
    assert found("One line.\nIt tells the cost.") == ["line 2: 'tells'; write: print, report, state, pass"]
    assert not found("The hotel is full.")
    assert not found(without_code("```console\nIt tells\n```\n"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path: Path) -> None:
    assert not found(without_code(path.read_text(encoding="utf-8")))


def texts(source: str) -> str:
    """The strings and comments of Python code, at their lines; not its names, nor those inside f-strings."""
    lines: list[list[str]] = [[] for _ in range(source.count("\n") + 2)]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            for line, part in enumerate(token.string.split("\n"), start=token.start[0] - 1):
                lines[line].append(_FIELD.sub("", part))
    return "\n".join(map(" ".join, lines))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sources(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert not found(texts(source) if path.suffix in {".py", ".pyi"} else source)


def test_public_names() -> None:
    names = {*hcssp.__all__, *hcssp.extend.__all__}
    assert not found("\n".join(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ") for name in names))
