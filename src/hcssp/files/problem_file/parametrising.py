"""A ready-made problem as a file whose parameters are its dials.

Nobody says which numbers of the file come from which dial: the problem is made again with the dial turned,
and where its document differs there must be a number that is arithmetic on the dial for every setting that
was tried. A dial of which that is not so, because it adds rooms or is mixed with others, is no parameter of
the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from hcssp.errors import HcsspError
from hcssp.files.problem_file.dumping import problem_document
from hcssp.files.problem_file.expressions import evaluate
from hcssp.files.problem_file.layout import Arithmetic, Line
from hcssp.files.problem_file.parameters import exactly
from hcssp.procedure import HCSSP
from hcssp.scenarios.dials import Dial, Number

Path = tuple[str | int, ...]
_FACTORS = (Fraction(9, 10), Fraction(11, 10), Fraction(4, 5), Fraction(6, 5), Fraction(7, 10))
_TRIALS = 2
"""How many other settings of a dial must agree with what is written for it."""

MOST_NUMBERS = 20_000
"""A file with more numbers is nobody's to edit, and trying every dial on it takes minutes."""


def parametrised(
    make: Callable[[Mapping[str, Number]], HCSSP], dials: Mapping[str, Dial], settings: Mapping[str, Number]
) -> dict[str, Any]:
    """The document of a problem with parameters for the dials that are numbers in it, if it is not large.

    Parameters
    ----------
    make
        The problem with these settings.
    dials
        What can be set, by name.
    settings
        What is set.
    """
    document = problem_document(make(settings))
    numbers = dict(_numbers(document))
    if len(numbers) > MOST_NUMBERS:
        return document
    chosen: dict[Path, str] = {}
    parameters: dict[str, float] = {}
    for name, dial in dials.items():
        value = exactly(settings.get(name, dial.default))
        if value is None or dial.whole:
            continue
        found = _uses(make, dial, value, settings, numbers)
        # What two dials decide together is arithmetic on neither of them.
        if found and not set(found) & set(chosen):
            chosen |= found
            parameters[name] = float(value)
    if not parameters:
        return document
    for path, text in chosen.items():
        _put(document, path, Arithmetic(text))
    head = ("format", "version", "name", "description")
    before = {key: each for key, each in document.items() if key in head}
    return {**before, "parameters": Line(parameters), **document}


def _uses(
    make: Callable[[Mapping[str, Number]], HCSSP],
    dial: Dial,
    value: Fraction,
    settings: Mapping[str, Number],
    numbers: Mapping[Path, float],
) -> dict[Path, str]:
    """The arithmetic that stands for each number that depends on a dial; none if that is not all there is."""
    others: list[tuple[Fraction, dict[Path, float]]] = []
    for factor in _FACTORS:
        other = value * factor
        if not value or not dial.least <= other <= dial.most:
            continue
        try:
            found = dict(_numbers(problem_document(make({**settings, dial.name: other}))))
        except HcsspError:
            continue
        # How a number is written may depend on its digits; then it is tried with others.
        if found.keys() == numbers.keys():
            others.append((other, found))
        if len(others) == _TRIALS:
            break
    if len(others) < _TRIALS:
        return {}
    uses: dict[Path, str] = {}
    for path, number in numbers.items():
        seen = [(value, number), *((other, found[path]) for other, found in others)]
        if all(each == number for _, each in seen):
            continue
        text = next(
            (text for text in _candidates(dial.name, value, number) if _agrees(dial.name, text, seen)), None
        )
        if text is None:
            return {}
        uses[path] = text
    return uses


def _candidates(name: str, value: Fraction, number: float) -> Iterator[str]:
    """Arithmetic on a name that may have given a number, the simplest first."""
    yield name
    yield f"1 - {name}"
    yield f"{name} / 2"
    yield f"(1 - {name}) / 2"
    exact = exactly(number)
    factor = None if exact is None else exact / value
    if factor is not None and factor.denominator == 1:
        yield f"{factor} * {name}"
    if factor is not None and factor.numerator == 1:
        yield f"{name} / {factor.denominator}"


def _agrees(name: str, text: str, seen: list[tuple[Fraction, float]]) -> bool:
    """Whether arithmetic gives these numbers: the first, which the file is about, to the last digit."""
    made = [float(evaluate(text, {name: value})) for value, _ in seen]
    pairs = zip(made, (number for _, number in seen), strict=True)
    rounded = all(abs(each - number) <= 4e-16 * abs(number) for each, number in pairs)
    return rounded and made[0] == seen[0][1]


def _numbers(node: Any, path: Path = ()) -> Iterator[tuple[Path, float]]:
    """All numbers of a document with their places; other leaves count as their place only."""
    if isinstance(node, Mapping):
        for key, each in node.items():
            yield from _numbers(each, (*path, key))
    elif isinstance(node, list | tuple):
        for index, each in enumerate(node):
            yield from _numbers(each, (*path, index))
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield path, float(node)
    else:
        yield (*path, str(node)), 0.0


def _put(document: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value
