"""Models in DRN, the explicit format of the model checker Storm: the part that fits here.

Read are models of type MDP and DTMC with plain numbers or fractions, their reward models (those of states
and of actions added up), and labels of states. States are called by their numbers. Parameters, placeholders,
intervals, rates and observations are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hcssp.errors import did_you_mean, listed

LARGEST_REWARD = 1e100
"""Larger numbers are surely a mistake, and sums of them overflow."""

Wrong = Callable[[int, str, str], None]
"""Notes a mistake: its line, its field and what it is."""

_STATE = re.compile(r"state\s+(\d{1,15})\s*(?:\[([^\]]*)\])?\s*(.*)")
_ACTION = re.compile(r"action\s+(\S+)\s*(?:\[([^\]]*)\])?\s*")
_TRANSITION = re.compile(r"(\d{1,15})\s*:\s*(\S+)")
_LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]{1,4})?")
_FRACTION = re.compile(r"([0-9]{1,300})/([0-9]{1,300})")
_TYPES = ("MDP", "DTMC")
_SECTIONS = ("@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")


@dataclass
class DrnAction:
    """A choice of a state: the line it stands on, what it earns of each reward model, where it leads."""

    state: int
    name: str
    line: int
    rewards: list[float]
    to: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class DrnModel:
    """What a DRN file says.

    Attributes
    ----------
    reward_models
        Their names, and the lines they stand on.
    num_states
        How many states there are; actions may lead to others by mistake.
    actions
        The choices in the order of their states.
    labels
        The states of each label.
    """

    reward_models: dict[str, int]
    num_states: int
    actions: list[DrnAction]
    labels: dict[str, list[int]]


class _Unreadable(Exception):
    """After this mistake (a line, a field and a message) the rest of the file makes no sense."""


def read_drn(text: str, wrong: Wrong, most: int) -> DrnModel | None:
    """The content of a DRN file; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    text
        The file's content.
    wrong
        Notes a mistake.
    most
        How many transitions there may be.
    """
    reader = _Reader(wrong, most)
    in_header = True
    try:
        for line, content in enumerate(map(str.strip, text.split("\n")), start=1):
            if in_header and content == "@model":
                reader.end_header(line)
                in_header = False
            elif content and not content.startswith("//"):
                (reader.take_header if in_header else reader.take)(line, content)
        if in_header:
            raise _Unreadable(1, "", "there is no line '@model', so this is no DRN file")
        return reader.model()
    except _Unreadable as mistake:
        wrong(*mistake.args)
        return None


class _Reader:
    """Takes the lines of a DRN file one after the other."""

    def __init__(self, wrong: Wrong, most: int) -> None:
        self._wrong = wrong
        self._left = most
        self._kind = ""
        self._section = ""
        self._models: dict[str, int] = {}
        self._announced = ""
        self._actions: list[DrnAction] = []
        self._labels: dict[str, list[int]] = {}
        self._names: set[str] = set()
        self._state = -1
        self._state_rewards: list[float] = []

    def take_header(self, line: int, content: str) -> None:
        """A line before ``@model``."""
        key, _, value = (part.strip() for part in content.partition(":"))
        if key == "@type":
            self._kind = value.upper()
            if self._kind not in _TYPES:
                told = f"{value!r} cannot be read; the types that can are {listed(_TYPES)}"
                raise _Unreadable(line, key, told)
        elif key == "@value_type":
            if value not in ("double", "rational"):
                raise _Unreadable(line, key, f"{value!r} cannot be read; write plain numbers (double)")
        elif content in _SECTIONS:
            self._section = content
        elif not self._section or content.startswith("@"):
            told = f"{content[:60]!r} is no part of a header; {did_you_mean(content, _SECTIONS)}"
            raise _Unreadable(line, "", told)
        elif self._section in ("@parameters", "@placeholders"):
            told = f"{content[:60]!r} is not a number; instantiate the model first"
            raise _Unreadable(line, self._section, told)
        elif self._section == "@reward_models":
            for name in content.split():
                if name in self._models:
                    self._wrong(line, self._section, f"the reward model {name!r} is named twice")
                self._models[name] = line
        elif self._section == "@nr_states":
            self._announced = content

    def end_header(self, line: int) -> None:
        """The line ``@model``."""
        if not self._kind:
            raise _Unreadable(line, "", "the type is missing; write '@type: MDP' before '@model'")

    def take(self, line: int, content: str) -> None:
        """A line after ``@model``."""
        if state := _STATE.fullmatch(content):
            self._begin_state(line, int(state[1]), state[2], state[3])
        elif action := _ACTION.fullmatch(content):
            if self._state < 0:
                raise _Unreadable(line, "", "an action before the first state")
            rewards = self._rewards(line, action[2])
            total = [own + paid for own, paid in zip(self._state_rewards, rewards, strict=True)]
            self._actions.append(DrnAction(self._state, self._name(action[1]), line, total))
        elif transition := _TRANSITION.fullmatch(content):
            self._transition(line, transition[1], transition[2])
        else:
            told = f"{content[:60]!r} is neither 'state ...' nor 'action ...' nor 'number : probability'"
            raise _Unreadable(line, "", told)

    def model(self) -> DrnModel:
        count = self._state + 1
        if count == 0:
            raise _Unreadable(1, "", "there are no states")
        if self._announced.isdecimal() and self._announced != str(count):
            told = f"{self._announced[:15]} states are announced, but there are {count}"
            self._wrong(1, "@nr_states", told)
        # A state of a chain that leads nowhere has no action; one of an MDP should not have announced it.
        actions = [action for action in self._actions if action.to or self._kind == "MDP"]
        return DrnModel(self._models, count, actions, self._labels)

    def _begin_state(self, line: int, number: int, rewards: str | None, labels: str) -> None:
        if number != self._state + 1:
            told = f"state {number} follows {self._state}; states are numbered 0, 1, 2 and so on"
            raise _Unreadable(line, "", told)
        if labels[:1] in ("!", "{", "["):
            told = f"{labels[:60]!r}: rates, observations and intervals are not supported"
            raise _Unreadable(line, "", told)
        self._state = number
        self._names = set()
        self._state_rewards = self._rewards(line, rewards)
        for quoted, bare in _LABEL.findall(labels):
            self._labels.setdefault(quoted or bare, []).append(number)
        if self._kind == "DTMC":
            self._actions.append(DrnAction(self._state, "go", line, self._state_rewards))

    def _name(self, told: str) -> str:
        """The action's name, made unique in its state: Storm does without names, and repeats them."""
        name = f"action {len(self._names)}" if told == "__NOLABEL__" else told
        while name in self._names:
            name += "'"
        self._names.add(name)
        return name

    def _transition(self, line: int, target: str, probability: str) -> None:
        if not self._actions or self._actions[-1].state != self._state:
            raise _Unreadable(line, "", "a transition before the first action")
        self._left -= 1
        if self._left < 0:
            raise _Unreadable(line, "", "the table has more transitions than are allowed")
        value = self._number(line, probability)
        if value > 1.0:
            self._wrong(line, "", f"{probability!r} is not a probability between 0 and 1")
        self._actions[-1].to.append((int(target), value))

    def _rewards(self, line: int, text: str | None) -> list[float]:
        values = text.split(",") if text is not None else []
        if text is not None and len(values) != len(self._models):
            self._wrong(line, "", f"{len(values)} rewards, but there are {len(self._models)} reward models")
            values = []
        return [self._number(line, value.strip()) for value in values] or [0.0] * len(self._models)

    def _number(self, line: int, text: str) -> float:
        """A number of at least 0, perhaps as a fraction; 0 in the place of what is none."""
        value = -1.0
        if _NUMBER.fullmatch(text) and len(text) < 400:
            value = float(text)
        elif (fraction := _FRACTION.fullmatch(text)) and int(fraction[2]) > 0:
            value = int(fraction[1]) / int(fraction[2])
        if not 0.0 <= value <= LARGEST_REWARD:
            self._wrong(line, "", f"{text[:60]!r} is not a number from 0 to {LARGEST_REWARD:g}")
            return 0.0
        return value
