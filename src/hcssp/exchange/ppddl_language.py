"""Files in PPDDL, read into the syntax trees of plado.

plado parses; what its trees mean is for :mod:`hcssp.exchange.ppddl_model`, which evaluates them without
running any code that is made from the file. What the language has and this reader does not know is reported
as such, with its line, before plado fails on it.

The words of a file in PPDDL, put into the forms that plado's parser knows.

Sums and products of more than two numbers are nested, ``(- x)`` becomes ``(- 0 x)``, and an effect ``()`` is
one of nothing. What ``:init`` leaves to chance, or says to be false, is taken out and handed on as an effect:
the parser knows only what is certainly true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from hcssp.errors import InvalidProblem, UnsupportedProblem
from hcssp.exchange.models import extra
from hcssp.exchange.ppddl_grounding import functions_changed

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
                message = f"line {tree[0].lno}: {head!r} in :init"
                raise InvalidProblem([f"{message}; it begins with atoms, numbers and (probabilistic ...)"])
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


REWARD = "reward"
"""The number that problems with rewards have without declaring it."""


_UNKNOWN = {
    ":durative-action": "actions that last; give each action an effect (increase (time) ...) instead",
    ":durative-actions": "actions that last; give each action an effect (increase (time) ...) instead",
    ":constraints": "constraints on the way; bound a fluent instead",
    ":preferences": "preferences; bound a fluent instead",
    ":timed-initial-literals": "events at given times",
    ":process": "processes",
    ":event": "events by themselves",
    ":observe": "observations; states are fully known",
    ":continuous-effects": "changes in the course of time; give each action an effect (increase ...) instead",
    ":object-fluents": "functions to objects; use a predicate instead",
    "oneof": "outcomes without probabilities; write (probabilistic ...) instead",
    "either": "unions of types; name a common supertype instead",
}


_SYNONYMS = {":numeric-fluents": ":fluents", ":universal-effects": ":adl"}
"""What plado knows by another name."""


class PpddlTrees(NamedTuple):
    """A domain and a problem as plado's trees.

    Attributes
    ----------
    domain, problem
        What the files define; the problem without what is uncertain in the beginning.
    chances
        What happens before everything, as effects: what ``:init`` leaves to chance, or says to be false.
    """

    domain: Any
    problem: Any
    chances: tuple[Any, ...]


def read_ppddl(domain: str | PathLike[str], problem: str | PathLike[str] | None = None) -> PpddlTrees:
    """The domain and the problem, as plado's trees.

    Parameters
    ----------
    domain
        The file of the domain.
    problem
        The file of the problem; None if it follows in the same file.

    Raises
    ------
    InvalidProblem
        If a file cannot be read, or is no PPDDL.
    UnsupportedProblem
        If it uses what is not known here.
    MissingDependency
        If plado is not installed.
    """
    parser = extra("plado.parser.parser", "ppddl", PURPOSE)
    parts: dict[str, tuple[Any, Path, tuple[Any, ...]]] = {}
    for path in (Path(domain), *(() if problem is None else (Path(problem),))):
        for kind, tree, chances in _definitions(parser, path):
            parts.setdefault(kind, (tree, path, chances))
    missing = [kind for kind in ("domain", "problem") if kind not in parts]
    if missing:
        named = " and ".join(str(path) for path in (domain, problem) if path is not None)
        raise InvalidProblem(
            f"{named}: there is no (define ({kind} ...)); give both files" for kind in missing
        )
    (tree, path, _), (posed, posed_path, chances) = parts["domain"], parts["problem"]
    if posed.domain_name != tree.name:
        raise InvalidProblem(
            [f"{posed_path}: a problem of the domain {posed.domain_name!r}, but {path} is {tree.name!r}"]
        )
    _give_rewards(tree, posed)
    return PpddlTrees(tree, posed, chances)


def _give_rewards(domain: Any, problem: Any) -> None:
    """Declare the number of rewards, and maximise it if the problem has one and says nothing else."""
    if not {":rewards", ":mdp"} & set(domain.requirements):
        return
    language = extra("plado.pddl", "ppddl", PURPOSE)
    if all(each.name != REWARD for each in domain.functions):
        domain.functions = (*domain.functions, language.Function(REWARD, []))
    changed = functions_changed(action.effect for action in domain.actions)
    if problem.metric is None and (REWARD in changed or problem.goal_reward is not None):
        problem.metric = language.Metric(language.Metric.MAXIMIZE, language.FunctionCall(REWARD, []))


def _definitions(parser: Any, path: Path) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """What is defined in a file: whether a domain or a problem, its tree, and its uncertain beginning."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InvalidProblem([f"{path}: cannot be read ({error})"]) from error
    _refuse_unknown(text, path)
    plain = _without_comments(text).lower()
    begins = [match.start() for match in re.finditer(r"\(\s*define\b", plain)]
    # A file without a definition has no beginning, but an end.
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=False):
        # Lines before keep their places, so that a mistake is reported with its line.
        part = "\n" * text.count("\n", 0, begin) + _with_synonyms(text[begin:end])
        is_domain = re.match(r"\(\s*define\s*\(\s*domain\b", plain[begin:end])
        read = parser.parse_domain if is_domain else parser.parse_problem
        try:
            given, chances = plain_words(part)
            words = parser.LookaheadStreamer(iter(given))
            tree = read(words)
            left = next(iter(words), None)
            begun = tuple(_effect(parser, each) for each in chances)
        except InvalidProblem as error:
            raise InvalidProblem(f"{path}: {each}" for each in error.violations) from error
        except (ValueError, StopIteration, AttributeError, RecursionError) as error:
            raise InvalidProblem([f"{path}: {_message(error)}"]) from error
        if left is not None:
            raise InvalidProblem([f"{path}: line {left.lno}: {left.tok!r} after the end of the definition"])
        yield ("domain" if is_domain else "problem"), tree, begun


def _effect(parser: Any, words: list[Any]) -> Any:
    """An effect by itself, which the parser knows only as that of an action."""
    tokenizer = extra("plado.parser.tokenizer", "ppddl", PURPOSE)
    action = [tokenizer.parse_token(each, words[0].lno, words[0].cno) for each in ("begin", ":effect")]
    return parser.parse_action(parser.LookaheadStreamer(iter([*action, *words, words[-1]]))).effect


def _refuse_unknown(text: str, path: Path) -> None:
    found = [
        f"{path}, line {number}: {word!r}: {_UNKNOWN[word]}"
        for number, line in enumerate(_without_comments(text).lower().splitlines(), 1)
        for word in re.findall(r"\(\s*(:?[a-z-]+)|(?<=\s)(:[a-z-]+)", line)
        for word in word
        if word in _UNKNOWN
    ]
    if found:
        raise UnsupportedProblem("; ".join(found[:3]) + ": this is not supported")


def _with_synonyms(text: str) -> str:
    """The text with the words that plado knows, in the same places."""
    for word, known in _SYNONYMS.items():
        text = re.sub(rf"{word}(?![\w-])", known.ljust(len(word)), text, flags=re.IGNORECASE)
    return text


def _without_comments(text: str) -> str:
    """The text with comments blanked out, so that places stay."""
    return re.sub(r";[^\n]*", lambda comment: " " * len(comment.group()), text)


def _message(error: BaseException) -> str:
    """What plado says is wrong, with the line in words."""
    if isinstance(error, StopIteration) or str(error).startswith("Unexpected end"):
        return "it ends too early; a bracket is not closed"
    if isinstance(error, RecursionError):
        return "brackets are nested too deeply"
    text = str(error)
    token = re.search(r"<Token .*?'([^']*)' @(\d+):(\d+)>", text)
    if token is None:
        return text or "it cannot be parsed"
    word, line, column = token.groups()
    rest = text[token.end() :].strip(" .")
    return f"line {line}, column {column}: {word!r} is not expected here" + (f"; {rest}" if rest else "")
