"""Files of other tools, distinguished by their names: PRISM, JANI, DRN, UMB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.exchange import MODEL_SUFFIXES
from hcssp.exchange.models import ExplicitModel, posed
from hcssp.exchange.storm import LANGUAGES, Constants, Language, read_symbolic, refuse_more_states

DRN = ".drn"


@dataclass(frozen=True)
class Question:
    """The question about a model; by default as :func:`load_model` does.

    `domain` is for PPDDL alone. A `property`, or one of `props`, states its objective and its goal
    itself, see :func:`hcssp.exchange.objectives.load_question`.
    """

    constants: Constants | None = None
    minimise: str | None = None
    goal: str | Sequence[str] | None = None
    costs: Sequence[str] | None = None
    give_up: float | Mapping[str, float] | None = None
    domain: str | Path | None = None
    max_states: int | None = None
    property: str | None = None
    props: str | Path | None = None


def load_model(
    source: str | Path,
    *,
    language: Language | None = None,
    constants: Constants | None = None,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
    max_states: int | None = None,
) -> CSSP:
    """A model of another tool as a problem; its reward models are the costs.

    Parameters
    ----------
    source
        A file in PRISM (.prism, .nm, .pm), JANI (.jani), DRN (.drn) or UMB (.umb); or the text of a model in
        PRISM or JANI, which has several lines.
    language
        ``"PRISM"`` or ``"JANI"``, for files with another suffix. By default the suffix decides; a text that
        begins with a brace is JANI.
    constants
        Values of the constants that a model in PRISM or JANI leaves open, as in ``{"B": 10}`` or ``"B=10"``.
    minimise
        The reward model to minimise; by default the first. A model without rewards counts its ``"steps"``.
    goal
        Where it ends: a label, or in PRISM and JANI an expression such as ``"x=3 & !crashed"``; several are
        alternatives. By default the label ``goal``, if there is one; without it the rewards of the whole,
        endless run count.
    bounds
        Upper bounds on other reward models, by name.
    costs
        The reward models besides the one to minimise; by default all that there are.
    give_up
        What it costs to end where the goal can no longer be reached; without it such states are avoided.
    max_states
        How many states the model may have; by default any number.

    Raises
    ------
    MissingDependency
        If a package is needed that is not installed: stormpy for PRISM and JANI, umbi for UMB.
    InvalidProblem
        If the model cannot be read, has more than `max_states` states, or is no C-SSP: continuous time,
        negative rewards.
    UnknownName
        If there is no such label or reward model.
    """
    model = read_model(source, constants, goal, language=language, max_states=max_states)
    return posed(model, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def read_model(
    source: str | Path,
    constants: Constants | None = None,
    goal: str | Sequence[str] | None = None,
    *,
    language: Language | None = None,
    whole: bool = False,
    max_states: int | None = None,
) -> ExplicitModel:
    """A model of another tool as arrays; every text of `goal` is one of its labels, or unknown.

    It has all its states if it is wanted as a `whole`; otherwise those behind a goal may be missing.

    Raises
    ------
    MissingDependency, InvalidProblem, UnknownName
        As :func:`load_model` does.
    """
    is_text = isinstance(source, str) and "\n" in source
    suffix = "" if is_text else Path(source).suffix.lower()
    if language is None and is_text:
        language = "JANI" if str(source).lstrip().startswith("{") else "PRISM"
    if language or suffix in LANGUAGES:
        return read_symbolic(
            source, language or LANGUAGES[suffix], constants, goal, whole=whole, max_states=max_states
        )
    model = _read_explicit(source, suffix, constants)
    refuse_more_states(model.num_states, max_states, str(source))
    return model


def _read_explicit(path: str | Path, suffix: str, constants: Constants | None) -> ExplicitModel:
    if suffix not in MODEL_SUFFIXES:
        raise InvalidProblem(f"{path}: models end in {', '.join(MODEL_SUFFIXES)}; rename it, or convert it")
    if constants:
        raise InvalidProblem(f"{path}: the file has no constants; leave them out")
    if suffix == DRN:
        from hcssp.exchange.drn import read_drn_file

        return read_drn_file(path)
    from hcssp.exchange.umb import read_umb

    return read_umb(path)
