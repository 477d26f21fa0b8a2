"""Models in the languages PRISM and JANI, built by the model checker Storm, as arrays.

Markov chains and Markov decision processes in discrete time are read: the states that can be reached, up to
the goal, with their labels, the rewards of states, choices and branches, and the values of the variables, by
which states are then called. A state in which nothing can be done stays as it is for ever, as in Storm.

Storm is free software under the GPL and no part of this package; ``pip install 'hcssp[storm]'``.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import re
import signal
import tarfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, IntArray, states_of_rows
from hcssp.errors import InvalidProblem, did_you_mean, listed
from hcssp.exchange.models import (
    GOAL,
    ExplicitModel,
    RewardParts,
    added_up,
    extra,
    mask_of,
    posed,
    unique_names,
    valuation_names,
)
from hcssp.start import SIGNALS, is_command

UNNAMED = "reward"
"""The name of a reward model that has none in PRISM."""


LOCATION = "_loc_"
"""How Storm's name of the variable begins that says where an automaton is."""


INTERNAL = {"_OutOfBoundsBit"}
"""Variables of Storm's own."""


KINDS = ("DTMC", "MDP")
"""The kinds of models that can be read."""


@contextmanager
def storm_at_work(stormpy: Any, place: str, path: Path | None = None) -> Iterator[None]:
    """While Storm works: its log is off, and what it raises becomes an error of the model.

    Parameters
    ----------
    stormpy
        The module.
    place
        The user's name of the model.
    path
        The file that Storm was given for it.

    Raises
    ------
    InvalidProblem
        With Storm's message.
    """
    developer = stormpy.developer
    level = developer.get_log_level()
    # Its log goes to standard output, among the results.
    developer.set_log_level(developer.LogLevel.OFF)
    try:
        yield
    except (RuntimeError, stormpy.exceptions.StormError) as error:
        why = " ".join(str(error).split())
        if path is not None:
            why = why.replace(str(path), place)
        kind, colon, rest = why.partition("Exception: ")
        raise InvalidProblem([f"{place}: {rest if colon and kind.isalpha() else why}"]) from error
    finally:
        developer.set_log_level(level)


def explicit(model: Any, place: str = "the model", variables: Sequence[str] | None = None) -> ExplicitModel:
    """A sparse model of Storm as arrays.

    Parameters
    ----------
    model
        What Storm has built.
    place
        The user's name of it.
    variables
        Those by whose values states are called; by default all.

    Raises
    ------
    InvalidProblem
        If it is neither a Markov chain nor a Markov decision process, or has parameters or intervals.
    """
    kind = model.model_type.name
    refuse_other_kinds(kind, place)
    if model.supports_parameters or model.supports_uncertainty:
        raise InvalidProblem([f"{place}: it has parameters or intervals; give every probability a number"])
    exported = _Exported(model)
    matrix, row_start = exported.transitions, exported.row_start
    actions = exported.actions if kind == "MDP" else None
    names = unique_names(*(actions or _choice_names(model, kind, matrix.shape[0])), row_start)
    parts = {name or UNNAMED: exported.rewards[name] for name in model.reward_models}
    rewards, paid = added_up(matrix, row_start, parts)
    return ExplicitModel(
        transitions=matrix,
        row_start=row_start,
        rewards=rewards,
        labels=exported.labels,
        initial=exported.labels["init"],
        state_names=_state_names(model, variables),
        action_names=names,
        transition_rewards=paid,
    )


def refuse_other_kinds(kind: str, place: str) -> None:
    """Raise an error if a model is of a kind that cannot be planned with."""
    if kind not in KINDS:
        why = "only discrete time, full observability and a single player are supported"
        raise InvalidProblem([f"{place}: it is of the type {kind}; {why} ({' or '.join(KINDS)})"])


def refuse_more_states(num_states: int, max_states: int | None, place: str) -> None:
    """Raise an error if a model has more states than wanted."""
    if max_states is not None and num_states > max_states:
        remedy = "give its constants smaller values, or allow more by --max-states"
        raise InvalidProblem([f"{place}: it has more than {max_states:,} states; {remedy}"])


def truth_values(stormpy: Any, model: Any, formula: Any) -> BoolArray:
    """The states of a model of Storm where a formula about states is true."""
    return mask_of(stormpy.model_checking(model, formula).get_truth_values_vector(), model.nr_states)


class _Exported:
    """The numbers of a model, as Storm writes them to a UMB file: much faster than one by one through Python.

    Parameters
    ----------
    model
        The model.

    Attributes
    ----------
    transitions, row_start
        As in :class:`~hcssp.exchange.models.ExplicitModel`.
    rewards
        The rewards of states, choices and transitions of each reward model.
    labels
        The states that carry each label.
    actions
        The different names of choices, and the position of that of each row; None if it does not have them.
    """

    def __init__(self, model: Any) -> None:
        io = extra("stormpy.io", "storm", "reading a model of Storm")
        options = io.UmbExportOptions()
        options.compression = io.CompressionMode.NO_COMPRESSION
        with TemporaryDirectory() as folder:
            path = f"{folder}/model.umb"
            io.export_to_umb(model, path, options=options)
            with tarfile.open(path) as archive:
                parts = {
                    each.name: stream.read()
                    for each in archive
                    if (stream := archive.extractfile(each)) is not None
                }
        heads = np.frombuffer(parts["branch-to-target.bin"], dtype="<i8")
        shares = np.array(np.frombuffer(parts["branch-to-probability.bin"], dtype="<f8"))
        branches = _starts(parts.get("choice-to-branches.bin"), len(heads))
        self.row_start = _starts(parts.get("state-to-choices.bin"), len(branches) - 1)
        self.transitions = csr_array((shares, heads, branches), shape=(len(branches) - 1, model.nr_states))
        self.rewards: dict[str, RewardParts] = {}
        described = json.loads(parts["index.json"]).get("annotations", {})
        masks = {
            about.get("alias", name): f"annotations/aps/{name}/states/values"
            for name, about in described.get("aps", {}).items()
        }
        masks["init"] = "state-is-initial"
        bits = {label: np.frombuffer(parts[f"{name}.bin"], np.uint8) for label, name in sorted(masks.items())}
        self.labels: dict[str, BoolArray] = {
            label: np.unpackbits(each, count=model.nr_states, bitorder="little").astype(np.bool_)
            for label, each in bits.items()
        }
        self.actions: tuple[list[str], IntArray] | None = None
        if "actions/choices/strings.bin" in parts:
            ends = np.frombuffer(parts["actions/choices/string-mapping.bin"], "<u8").tolist()
            text = parts["actions/choices/strings.bin"]
            codes = np.frombuffer(parts["actions/choices/values.bin"], "<i4").astype(np.int64)
            self.actions = [text[a:b].decode() for a, b in pairwise(ends)], codes
        for name, about in described.get("rewards", {}).items():
            read = (
                parts.get(f"annotations/rewards/{name}/{kind}/values.bin")
                for kind in ("states", "choices", "branches")
            )
            first, second, third = (None if each is None else np.frombuffer(each, "<f8") for each in read)
            self.rewards[about.get("alias", "")] = first, second, third


def _starts(part: bytes | None, number: int) -> IntArray:
    """Where each one's parts begin; the file leaves that out if all have one."""
    return np.arange(number + 1) if part is None else np.array(np.frombuffer(part, dtype="<i8"))


def _choice_names(model: Any, kind: str, num_rows: int) -> tuple[list[str], IntArray]:
    """The different names of choices, and the position of that of each row."""
    names, codes = ["go" if kind == "DTMC" else ""], np.zeros(num_rows, dtype=np.int64)
    if kind == "DTMC" or not model.has_choice_labeling():
        return names, codes
    for label in sorted(model.choice_labeling.get_labels()):
        # A choice with several labels is called by all of them.
        chosen = np.flatnonzero(mask_of(model.choice_labeling.get_choices(label), num_rows))
        before, inverse = np.unique(codes[chosen], return_inverse=True)
        codes[chosen] = len(names) + inverse
        names += [f"{names[code]} and {label}" if names[code] else label for code in before.tolist()]
    return names, codes


def _state_names(model: Any, variables: Sequence[str] | None) -> Sequence[str]:
    """The values of the variables, where they differ in all states; numbers otherwise."""
    columns: dict[str, Sequence[Any]] = {}
    if model.has_state_valuations():
        valuations = model.state_valuations
        there = {variable.name: variable for variable in valuations.get_all_variables()}
        for name in there if variables is None else filter(there.__contains__, variables):
            if there[name].has_boolean_type():
                columns[name] = mask_of(valuations.get_boolean_values(there[name]), model.nr_states).tolist()
            elif there[name].has_integer_type():
                columns[name] = valuations.get_int64_values(there[name])
        for name in INTERNAL & columns.keys() | {name for name in columns if name.startswith(LOCATION)}:
            if len(set(columns[name])) == 1:
                del columns[name]
    return valuation_names(columns, model.nr_states)


logger = logging.getLogger(__name__)


Language = Literal["PRISM", "JANI"]


Constants = Mapping[str, Any] | str
"""Values of constants that a model leaves open, by name or as a text such as ``"B=10,p=0.5"``."""


LANGUAGES: dict[str, Language] = {".prism": "PRISM", ".nm": "PRISM", ".pm": "PRISM", ".jani": "JANI"}
"""The suffixes of model files, and their languages."""


_OUT_OF_RANGE = "out_of_bounds"
"""Storm's label of where a variable has left its range."""


def from_storm(
    model: Any,
    *,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """A sparse model that Storm has built, an MDP or a DTMC, as a problem.

    Parameters
    ----------
    model
        The model, as stormpy gives it.
    goal
        Labels of the states where it ends.
    minimise, bounds, costs, give_up
        As in :func:`~hcssp.exchange.reading.load_model`.

    Raises
    ------
    InvalidProblem, UnknownName
        As :func:`~hcssp.exchange.reading.load_model` does.
    """
    read = explicit(model)
    return posed(read, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def read_symbolic(
    source: str | Path,
    language: Language,
    constants: Constants | None = None,
    goal: str | Sequence[str] | None = None,
    *,
    whole: bool = False,
    max_states: int | None = None,
) -> ExplicitModel:
    """A model as arrays, explored up to its goal or as a whole; every text of `goal` is one of its labels.

    A command reads it in a child process, so that signals and time limits end it at once.

    Raises
    ------
    MissingDependency, InvalidProblem, UnknownName
        As :func:`~hcssp.exchange.reading.load_model` does.
    """
    stormpy = extra("stormpy", "storm", f"reading a {language} model")
    if isinstance(source, str) and "\n" in source:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_text(source, encoding="utf-8")
            return _read(stormpy, path, "the model", language, constants, goal, whole, max_states)
    path = Path(source)
    if not path.is_file():
        raise InvalidProblem([f"{source}: there is no such file"])
    read = partial(_read, stormpy, path, str(source), language, constants, goal, whole, max_states)
    apart = is_command() and "fork" in multiprocessing.get_all_start_methods()
    return replace(_by_child(read, str(source)) if apart else read(), name=path.stem)


def jani_properties(path: Path) -> str:
    """The properties of a model in JANI, in the syntax of PRISM.

    Raises
    ------
    MissingDependency, InvalidProblem
        If stormpy is not installed, or cannot read the model.
    """
    stormpy = extra("stormpy", "storm", "reading a JANI model")
    if not path.is_file():
        raise InvalidProblem([f"{path}: there is no such file"])
    with storm_at_work(stormpy, str(path), path):
        _, found = stormpy.parse_jani_model(str(path))
        return "\n".join(f'"{each.get_name()}": {each.get_raw_formula()};' for each in found)


def _by_child(read: Callable[[], ExplicitModel], place: str) -> ExplicitModel:
    """The result or error of a function in a child process, which ends at the latest with this process.

    Python handles no signal while Storm works. Here a signal interrupts the wait, and the child is killed.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    parent = os.pipe()
    child = context.Process(target=_answer, args=(read, sender, parent))
    child.start()
    sender.close()
    try:
        answer = receiver.recv()
    except EOFError as error:
        why = "Storm's process was ended; perhaps there is not enough memory, and --max-states N helps"
        raise InvalidProblem([f"{place}: {why}"]) from error
    finally:
        child.kill()
        child.join()
        receiver.close()
        for end in parent:
            os.close(end)
    if isinstance(answer, Exception):
        raise answer
    model: ExplicitModel = answer
    return model


def _answer(read: Callable[[], ExplicitModel], sender: Any, parent: tuple[int, int]) -> None:
    """The life of the child: it ignores the signals of the command, whose pipe closes when that ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    watched, own = parent
    os.close(own)
    if hasattr(signal, "SIGIO"):
        import fcntl

        # The default action of the signal ends the process, also in native code.
        fcntl.fcntl(watched, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(watched, fcntl.F_SETFL, fcntl.fcntl(watched, fcntl.F_GETFL) | os.O_ASYNC)
    try:
        answer: ExplicitModel | Exception = read()
    except Exception as error:  # noqa: BLE001  raised again by the parent
        answer = error
    sender.send(answer)


def _read(
    stormpy: Any,
    path: Path,
    place: str,
    language: Language,
    constants: Constants | None,
    goal: str | Sequence[str] | None,
    whole: bool,
    max_states: int | None,
) -> ExplicitModel:
    with storm_at_work(stormpy, place, path):
        if language == "PRISM":
            program = stormpy.parse_prism_program(str(path), prism_compatibility=True)
        else:
            program, _ = stormpy.parse_jani_model(str(path))
    refuse_other_kinds(program.model_type.name, place)
    program = _instantiated(stormpy, program, place, constants)
    named = _labels(program, language)
    wanted = (goal,) if isinstance(goal, str) else tuple(goal or ())
    formulas = {text: _formula(stormpy, program, place, text, named) for text in wanted}
    # The label of a goal counts even if it is not named, so nothing behind it need be explored.
    ends = [] if whole else [*formulas.values()] or [f'"{GOAL}"'] * (GOAL in named)
    with storm_at_work(stormpy, place, path):
        options = stormpy.BuilderOptions()
        if ends:
            (reach,) = stormpy.parse_properties(f"P=? [F ({' | '.join(map(str, ends))})]", program)
            options = stormpy.BuilderOptions([reach])
        elif formulas:
            # Of several properties Storm keeps the expressions, and explores behind all of them.
            texts = [f"P=? [F ({formula})]" for formula in formulas.values()]
            several = stormpy.parse_properties("; ".join([*texts, "P=? [F true]"]), program)
            options = stormpy.BuilderOptions(several)
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        options.set_build_choice_labels()
        options.set_build_state_valuations()
        # Without it a variable that leaves its range silently takes another value.
        options.set_add_out_of_bounds_state()
        exploration = stormpy.developer.ExplicitModelBuilderOptions[float]()
        # One more than allowed shows that there are too many.
        exploration.exploration_state_limit = None if max_states is None else max_states + 1
        builder = stormpy.developer.make_explicit_model_builder[float](
            program, options, exploration_options=exploration
        )
        built = builder.build()
        refuse_more_states(built.nr_states, max_states, place)
        masks = {text: truth_values(stormpy, built, formula) for text, formula in formulas.items()}
    model = explicit(built, place, _variables(program, language))
    labels = {**model.labels, **masks}
    _refuse_out_of_range(model, labels.pop(_OUT_OF_RANGE, None), place)
    order = [reward.name or UNNAMED for reward in program.reward_models] if language == "PRISM" else []
    rewards = {name: model.rewards[name] for name in dict.fromkeys((*order, *sorted(model.rewards)))}
    paid = model.transition_rewards
    if paid is not None:
        before = list(model.rewards)
        paid = paid.paying(paid.costs[[before.index(name) for name in rewards]])
    averaged = _averaged_by_storm(path) if language == "JANI" else []
    if averaged:
        logger.warning(
            "%s: the rewards %s depend on the destination of an edge, and Storm gives their mean; expected "
            "costs are right, but what a single run spends is not known",
            place,
            listed(averaged),
        )
    return replace(model, rewards=rewards, labels=labels, transition_rewards=paid)


def _averaged_by_storm(path: Path) -> list[str]:
    """The rewards that the destinations of an edge of a JANI model assign differently."""
    document = json.loads(path.read_text(encoding="utf-8-sig"))
    automata = document.get("automata", [])
    declared = [each for part in (document, *automata) for each in part.get("variables", [])]
    transient = {each["name"] for each in declared if each.get("transient")}
    found: dict[str, None] = {}
    for edge in (edge for automaton in automata for edge in automaton.get("edges", [])):
        values = [
            {each["ref"]: each["value"] for each in to.get("assignments", []) if each["ref"] in transient}
            for to in edge.get("destinations", [])
        ]
        names = dict.fromkeys(name for each in values for name in each)
        found |= {
            name: None for name in names if any(each.get(name) != values[0].get(name) for each in values)
        }
    return list(found)


def _instantiated(stormpy: Any, program: Any, place: str, constants: Constants | None) -> Any:
    """The model with all constants; those that are missing or unknown are reported together."""
    given = dict(written_constants(place, constants))
    known = {constant.name: constant.defined for constant in program.constants}
    open_ = [name for name, defined in known.items() if not defined]
    found = []
    for name in given:
        if name not in known:
            found.append(f"{place}: there is no constant {name!r}; {did_you_mean(name, open_)}")
        elif known[name]:
            found.append(f"{place}: the constant {name!r} has its value in the model; leave it out")
    if missing := [name for name in open_ if name not in given]:
        example = ",".join(f"{name}=..." for name in missing)
        found.append(f"{place}: {listed(missing)} must be given; say {example} as the constants")
    if found:
        raise InvalidProblem(found)
    if not given:
        return program
    with storm_at_work(stormpy, place):
        text = ",".join(f"{name}={value}" for name, value in given.items())
        instantiated, _ = stormpy.instantiate_constants(program, text)
        return instantiated.substitute_constants()


def written_constants(place: str, constants: Constants | None) -> Iterator[tuple[str, str]]:
    """Constants and their values as texts.

    >>> dict(written_constants("the model", "B=10, p=0.5"))
    {'B': '10', 'p': '0.5'}
    """
    if not isinstance(constants, str):
        for name, value in (constants or {}).items():
            yield name, str(value).lower() if isinstance(value, bool) else str(value)
        return
    for part in filter(None, map(str.strip, constants.split(","))):
        name, separator, value = (each.strip() for each in part.partition("="))
        if not (separator and name and value):
            raise InvalidProblem([f"{place}: {part!r} is not of the form NAME=VALUE, such as B=10"])
        yield name, value


def _formula(stormpy: Any, program: Any, place: str, goal: str, named: Collection[str]) -> Any:
    """A goal as a formula about states: a label, or an expression on the variables."""
    text = f'"{goal}"' if goal in named else goal
    for label in re.findall(r'"([^"]*)"', text):
        if label not in (*named, "init", "deadlock"):
            raise InvalidProblem(
                [f"{place}: there is no label {label!r}; {did_you_mean(label, sorted(named))}"]
            )
    try:
        with storm_at_work(stormpy, place):
            (parsed,) = stormpy.parse_properties(f"P=? [F ({text})]", program)
            return parsed.get_raw_formula().subformula.subformula
    except InvalidProblem as error:
        labels = f"the labels are {listed(sorted(named))}"
        raise InvalidProblem(
            [f"{place}: the goal {goal!r} is neither a label nor an expression; {labels}. {error}"]
        ) from error


def _refuse_out_of_range(model: ExplicitModel, outside: BoolArray | None, place: str) -> None:
    """Raise an error that names an action after which a variable is out of its range, if there is one."""
    if outside is None or not outside.any():
        return
    states = states_of_rows(model.row_start)
    leaving = (model.transitions @ outside > 0.0) & ~outside[states]
    row = int(np.flatnonzero(leaving)[0])
    where = f"state {model.state_names[int(states[row])]!r}, action {model.action_names[row]!r}"
    raise InvalidProblem([f"{place}: {where}: a variable leaves its range; correct the guard or the update"])


def _labels(program: Any, language: Language) -> set[str]:
    """The names of labels; in JANI these are variables that are true or false and last for a moment."""
    if language == "PRISM":
        return {label.name for label in program.labels}
    return {
        variable.name
        for variable in program.global_variables
        if variable.is_transient and variable.expression_variable.has_boolean_type()
    }


def _variables(program: Any, language: Language) -> list[str]:
    """The names of the variables in the order of the model, without those that last for a moment."""
    if language == "PRISM":
        return [*(variable.name for variable in program.variables), *INTERNAL]
    held = [*program.global_variables, *(each for part in program.automata for each in part.variables)]
    places = [LOCATION + automaton.name for automaton in program.automata]
    return [*places, *(variable.name for variable in held if not variable.is_transient), *INTERNAL]
