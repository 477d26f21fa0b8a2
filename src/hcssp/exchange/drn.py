"""Problems from and for DRN files, the explicit format of the model checker Storm; no package is needed.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time",))
>>> here, there = plan.add_state("here"), plan.add_goal("there")
>>> _ = plan.add_action(here, "go", to={there: 0.75, here: 0.25}, costs=2.0)
>>> print(drn_text(plan.build()).partition("@model")[2].expandtabs(2).rstrip())
<BLANKLINE>
state 0 init
//here
  action go [2.0]
    0 : 0.25
    1 : 0.75
state 1 goal
//there
  action stay [0.0]
    1 : 1.0

Read are models of type MDP and DTMC with plain numbers or fractions, their reward models (those of states
and of actions added up), and labels of states. States are called by their numbers. Parameters, placeholders,
intervals, rates and observations are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import compress, pairwise
from math import inf
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP
from hcssp.cssp.validation import unsound_rows
from hcssp.errors import InvalidProblem, did_you_mean, listed
from hcssp.exchange.models import ExplicitModel, added_up, closed, coded, mask_of, scaled, unique_names
from hcssp.files.atomic import read_text, write_atomically
from hcssp.procedure import HCSSP

LARGEST_REWARD = 1e100
"""Larger numbers are surely a mistake, and sums of them overflow."""


Wrong = Callable[[int, str, str], None]
"""Notes an error: its line, its field and its message."""


_STATE = re.compile(r"state\s+(\d{1,15})\s*(?:\[([^\]]*)\])?\s*(.*)")
_ACTION = re.compile(r"action\s+(\S+)\s*(?:\[([^\]]*)\])?\s*")
_TRANSITION = re.compile(r"(\d{1,15})\s*:\s*(\S+)")
_LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
_NUMBER = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]{1,4})?)(?:/([0-9]+))?")
_TYPES = ("MDP", "DTMC")
_SECTIONS = ("@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")
_MOST_FINDINGS = 25


class _Unreadable(Exception):
    """After this mistake (a line, a field and a message) the rest of the file makes no sense."""


def read_drn(text: str, wrong: Wrong, most: float = inf, name: str = "") -> ExplicitModel | None:
    """The content of a DRN file; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    text
        The file's content.
    wrong
        Notes a mistake.
    most
        How many transitions there may be.
    name
        The name of the model.
    """
    reader = _Reader(wrong, most)
    in_header = True
    try:
        for line, content in enumerate(map(str.strip, text.split("\n")), start=1):
            if in_header and content == "@model":
                if not reader.kind:
                    raise _Unreadable(line, "", "the type is missing; write '@type: MDP' before '@model'")
                in_header = False
            elif content and not content.startswith("//"):
                (reader.take_header if in_header else reader.take)(line, content)
        if in_header:
            raise _Unreadable(1, "", "there is no line '@model', so this is no DRN file")
        return reader.model(name)
    except _Unreadable as mistake:
        wrong(*mistake.args)
        return None


class _Reader:
    """Takes the lines of a DRN file one after the other."""

    def __init__(self, wrong: Wrong, most: float) -> None:
        self._report = wrong
        self._sound = True
        self._most = most
        self.kind = ""
        self._section = ""
        self._models: list[str] = []
        self._announced = ""
        self._labels: dict[str, list[int]] = {}
        self._state_rewards: list[list[float]] = []
        # Of each row: its state, name, line, rewards and first transition.
        self._rows: list[tuple[int, str, int, list[float], int]] = []
        self._targets: list[int] = []
        self._chances: list[float] = []

    def take_header(self, line: int, content: str) -> None:
        """A line before ``@model``."""
        key, _, value = (part.strip() for part in content.partition(":"))
        if key == "@type":
            self.kind = value.upper()
            if self.kind not in _TYPES:
                why = f"{value!r} cannot be read; the types that can are {listed(_TYPES)}"
                raise _Unreadable(line, key, why)
        elif key == "@value_type":
            if value not in ("double", "rational"):
                raise _Unreadable(line, key, f"{value!r} cannot be read; write plain numbers (double)")
        elif content in _SECTIONS:
            self._section = content
        elif not self._section or content.startswith("@"):
            why = f"{content[:60]!r} is not a part of a header; {did_you_mean(content, _SECTIONS)}"
            raise _Unreadable(line, "", why)
        elif self._section in ("@parameters", "@placeholders"):
            why = f"{content[:60]!r} is not a number; instantiate the model first"
            raise _Unreadable(line, self._section, why)
        elif self._section == "@reward_models":
            for name in content.split():
                if name in self._models:
                    self._wrong(line, self._section, f"the reward model {name!r} is named twice")
                self._models.append(name)
        elif self._section == "@nr_states":
            self._announced = content

    def take(self, line: int, content: str) -> None:
        """A line after ``@model``."""
        state = len(self._state_rewards) - 1
        if found := _STATE.fullmatch(content):
            self._begin_state(line, int(found[1]), found[2], found[3])
        elif found := _ACTION.fullmatch(content):
            if state < 0:
                raise _Unreadable(line, "", "an action before the first state")
            name = "" if found[1] == "__NOLABEL__" else found[1]
            self._rows.append((state, name, line, self._rewards(line, found[2]), len(self._targets)))
        elif found := _TRANSITION.fullmatch(content):
            if not self._rows or self._rows[-1][0] != state:
                raise _Unreadable(line, "", "a transition before the first action")
            if len(self._targets) >= self._most:
                raise _Unreadable(line, "", "the table has more transitions than are allowed")
            chance = self._number(line, found[2])
            if chance > 1.0:
                self._wrong(line, "", f"{found[2]!r} is not a probability between 0 and 1")
            self._targets.append(int(found[1]))
            self._chances.append(chance)
        else:
            why = f"{content[:60]!r} is neither 'state ...' nor 'action ...' nor 'number : probability'"
            raise _Unreadable(line, "", why)

    def model(self, name: str) -> ExplicitModel | None:
        """The arrays of the model; None if there were errors."""
        size = len(self._state_rewards)
        if size == 0:
            raise _Unreadable(1, "", "there are no states")
        if self._announced.isdecimal() and self._announced != str(size):
            why = f"{self._announced[:15]} states are announced, but there are {size}"
            self._wrong(1, "@nr_states", why)
        firsts = [*(row[4] for row in self._rows), len(self._targets)]
        for row, (first, last) in zip(self._rows, pairwise(firsts), strict=True):
            for target in self._targets[first:last]:
                if target >= size:
                    self._wrong(row[2], "", f"it leads to {target}, but the states are 0 to {size - 1}")
        if not self._sound:
            return None
        if self.kind == "DTMC":
            # A state of a chain that leads nowhere has no action.
            leading = [last > first for first, last in pairwise(firsts)]
            self._rows = list(compress(self._rows, leading))
        pointers = np.array([*(row[4] for row in self._rows), len(self._targets)], dtype=np.int64)
        matrix = csr_array(
            (np.array(self._chances, dtype=np.float64), self._targets, pointers), (len(self._rows), size)
        )
        matrix.sum_duplicates()
        for at, why in unsound_rows(scaled(matrix)):
            self._wrong(self._rows[at][2], "", why)
        if not self._sound:
            return None
        counts = np.bincount([row[0] for row in self._rows], minlength=size)
        row_start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        of_states = np.array(self._state_rewards).reshape(size, len(self._models))
        of_rows = np.array([row[3] for row in self._rows]).reshape(len(self._rows), len(self._models))
        parts = {each: (of_states[:, at], of_rows[:, at], None) for at, each in enumerate(self._models)}
        labels = {label: mask_of(states, size) for label, states in self._labels.items()}
        return ExplicitModel(
            transitions=matrix,
            row_start=row_start,
            rewards=added_up(matrix, row_start, parts)[0],
            labels=labels,
            initial=labels.get("init", mask_of((), size)),
            state_names=[str(state) for state in range(size)],
            action_names=unique_names(*coded([row[1] for row in self._rows]), row_start),
            name=name,
        )

    def _begin_state(self, line: int, number: int, rewards: str | None, labels: str) -> None:
        before = len(self._state_rewards) - 1
        if number != before + 1:
            why = f"state {number} follows {before}; states are numbered 0, 1, 2 and so on"
            raise _Unreadable(line, "", why)
        if labels[:1] in ("!", "{", "["):
            why = f"{labels[:60]!r}: rates, observations and intervals are not supported"
            raise _Unreadable(line, "", why)
        self._state_rewards.append(self._rewards(line, rewards))
        for quoted, bare in _LABEL.findall(labels):
            self._labels.setdefault(quoted or bare, []).append(number)
        if self.kind == "DTMC":
            self._rows.append((number, "go", line, self._rewards(line, None), len(self._targets)))

    def _rewards(self, line: int, text: str | None) -> list[float]:
        values = text.split(",") if text is not None else []
        if text is not None and len(values) != len(self._models):
            self._wrong(line, "", f"{len(values)} rewards, but there are {len(self._models)} reward models")
            values = []
        return [self._number(line, value.strip()) for value in values] or [0.0] * len(self._models)

    def _number(self, line: int, text: str) -> float:
        """A number of at least 0, perhaps as a fraction; 0 in the place of what is none."""
        found = _NUMBER.fullmatch(text) if len(text) < 400 else None
        below = float(found[2] or 1) if found else 0.0
        value = float(found[1]) / below if found and below else -1.0
        if not 0.0 <= value <= LARGEST_REWARD:
            self._wrong(line, "", f"{text[:60]!r} is not a number from 0 to {LARGEST_REWARD:g}")
            return 0.0
        return value

    def _wrong(self, line: int, field: str, message: str) -> None:
        self._sound = False
        self._report(line, field, message)


def read_drn_file(path: str | Path) -> ExplicitModel:
    """A model in a DRN file as arrays.

    Raises
    ------
    InvalidProblem
        If it cannot be read, with the lines.
    """
    text = read_text(Path(path))
    found: list[str] = []

    def wrong(line: int, field: str, message: str) -> None:
        if len(found) < _MOST_FINDINGS:
            found.append(f"{path}:{line}: {f'{field}: ' if field else ''}{message}")

    model = read_drn(text, wrong, name=Path(path).stem)
    if model is None:
        raise InvalidProblem(found)
    return model


def to_drn(problem: CSSP | HCSSP, path: str | Path) -> None:
    """Write a problem as a DRN file, a procedure in its flat form.

    :func:`~hcssp.exchange.reading.load_model` reads it. Costs are reward models of the actions, goals
    carry the label ``goal``, and the names of states are comments. Bounds are not written: they belong to the
    question that is asked about the model.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, drn_text(problem))


def drn_text(problem: CSSP | HCSSP) -> str:
    """The problem in the format DRN, a procedure in its flat form.

    Costs are reward models of the actions, goals carry the label ``goal``, and the names of states are
    comments. Numbers keep all their digits. Blanks in names of costs and actions become underscores.
    """
    return "".join(_lines(closed(problem)))


def _lines(model: ExplicitModel) -> Iterator[str]:
    yield "// written by hcssp\n@type: MDP\n@value_type: double\n@parameters\n\n@reward_models\n"
    yield " ".join(_word(name) for name in model.rewards) + "\n"
    yield f"@nr_states\n{model.num_states}\n@nr_choices\n{model.num_rows}\n@model\n"
    rewards = np.array(list(model.rewards.values())).T.tolist()
    first, pointers = model.row_start.tolist(), model.transitions.indptr.tolist()
    targets, chances = model.transitions.indices.tolist(), model.transitions.data.tolist()
    labels = {label: mask.tolist() for label, mask in model.labels.items()}
    for state, name in enumerate(model.state_names):
        carried = "".join(f" {label}" for label, mask in labels.items() if mask[state])
        yield f"state {state}{carried}\n//{' '.join(str(name).split())}\n"
        for row in range(first[state], first[state + 1]):
            earned = ", ".join(map(repr, rewards[row]))
            yield f"\taction {_word(str(model.action_names[row]))} [{earned}]\n"
            for entry in range(pointers[row], pointers[row + 1]):
                yield f"\t\t{targets[entry]} : {chances[entry]!r}\n"


def _word(name: str) -> str:
    """A name without blanks, which separate names."""
    return "_".join(name.split()) or "_"
