"""The words of a file in PPDDL, put into the forms that plado's parser knows.

Sums and products of more than two numbers are nested, ``(- x)`` becomes ``(- 0 x)``, and an effect ``()`` is
one of nothing. What ``:init`` leaves to chance, or says to be false, is taken out and handed on as an effect:
the parser knows only what is certainly true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hcssp.errors import InvalidProblem
from hcssp.exchange.extras import extra

PURPOSE = "reading PPDDL"

_BEGINNINGS = {"and", "not", "probabilistic", "="}
"""What an uncertain beginning may be made of, besides atoms."""


class Words(NamedTuple):
    """The words of a definition.

    Attributes
    ----------
    plain
        Those for the parser.
    chances
        The effects that ``:init`` is made of where it is not certain; each is a list of words.
    """

    plain: list[Any]
    chances: list[list[Any]]


def plain_words(text: str) -> Words:
    """The words of a text, as the parser knows them; as they are if brackets do not match.

    Raises
    ------
    InvalidProblem
        If ``:init`` leaves something to chance that can be none of it.
    MissingDependency
        If plado is not installed.
    """
    rewriting = _Rewriting(extra("plado.parser.tokenizer", "ppddl", PURPOSE))
    return rewriting.words(text)


class _Rewriting:
    """One text, bracket by bracket; what is in brackets is a list that begins with its bracket."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._chances: list[list[Any]] = []

    def words(self, text: str) -> Words:
        given = list(self._tokenizer.tokenize(text))
        open_ones: list[list[Any]] = [[]]
        for word in given:
            if word.tok == "(":
                open_ones.append([word])
            elif word.tok != ")" or len(open_ones) == 1:
                open_ones[-1].append(word)
            else:
                closed = open_ones.pop()
                closed.append(word)
                open_ones[-1].append(self._rewritten(closed, open_ones[-1]))
        if len(open_ones) > 1:
            return Words(given, [])
        return Words(list(_flat(open_ones[0])), self._chances)

    def _rewritten(self, closed: list[Any], around: Sequence[Any]) -> list[Any]:
        """What is in brackets, in a form that the parser knows."""
        first, *inner, last = closed
        if not inner:
            is_list = _text(around[-1]) in (":parameters", "forall", "exists") if around else False
            return closed if is_list else [first, self._word("and", first), last]
        head = _text(inner[0])
        if head in ("+", "*") and len(inner) > 3:
            rest = self._rewritten([first, inner[0], *inner[2:], last], ())
            return [first, inner[0], inner[1], rest, last]
        if head == "-" and len(inner) == 2:
            return [first, inner[0], self._word("0", first), inner[1], last]
        if head == ":init":
            certain = [each for each in inner[1:] if _head(each) not in _BEGINNINGS - {"="}]
            uncertain = [each for each in inner[1:] if _head(each) in _BEGINNINGS - {"="}]
            self._chances += [list(_flat([self._beginning(each)])) for each in uncertain]
            return [first, inner[0], *certain, last]
        return closed

    def _beginning(self, tree: list[Any]) -> list[Any]:
        """A part of ``:init`` as an effect; what a number is becomes an assignment."""
        head = _head(tree)
        if head == "=":
            return [tree[0], self._word("assign", tree[1]), *tree[2:]]
        if head not in _BEGINNINGS:
            if type(tree[1]) is list or tree[1].cat is not self._tokenizer.Category.NAME:
                told = f"line {tree[0].lno}: {head!r} in :init"
                raise InvalidProblem([f"{told}; it begins with atoms, numbers and (probabilistic ...)"])
            return tree
        return [self._beginning(each) if isinstance(each, list) else each for each in tree]

    def _word(self, text: str, place: Any) -> Any:
        return self._tokenizer.parse_token(text, place.lno, place.cno)


def _head(tree: Any) -> str:
    """What brackets begin with; nothing if there is none."""
    return _text(tree[1]) if isinstance(tree, list) else ""


def _text(word: Any) -> str:
    return "" if isinstance(word, list) else str(word.tok)


def _flat(trees: Sequence[Any]) -> Iterator[Any]:
    for each in trees:
        if isinstance(each, list):
            yield from _flat(each)
        else:
            yield each
