"""A table in a DRN file, the explicit format of the model checker Storm: the part that fits here.

Read are models of type MDP and DTMC with plain numbers or fractions, their reward models as costs (those
of states and of actions added up), and labels of states. States are called by their numbers; a label
stands for all states that carry it. Unless the activity says otherwise it starts where ``init`` is and
ends where ``goal`` is. Parameters, placeholders, intervals, rates and observations are refused.

Storm writes numbers with some ten digits: probabilities that sum to one up to 1e-6 are scaled to do so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import fsum

from hcssp.errors import did_you_mean, listed
from hcssp.files.problem_file.grid_format import LARGEST_COST
from hcssp.files.problem_file.tables import TableDraft, TableModel, Wrong
from hcssp.numerics import PROBABILITY_TOLERANCE

TOLERANCE = 1e-6
"""How far Storm's rounded probabilities may sum from one."""

_STATE = re.compile(r"state\s+(\d{1,15})\s*(?:\[([^\]]*)\])?\s*(.*)")
_ACTION = re.compile(r"action\s+(\S+)\s*(?:\[([^\]]*)\])?\s*")
_TRANSITION = re.compile(r"(\d{1,15})\s*:\s*(\S+)")
_LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]{1,4})?")
_FRACTION = re.compile(r"([0-9]{1,300})/([0-9]{1,300})")
_TYPES = ("MDP", "DTMC")
_SECTIONS = ("@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")


@dataclass
class _Action:
    state: int
    name: str
    line: int
    costs: list[float]
    to: list[tuple[str, float]] = field(default_factory=list)


class _Unreadable(Exception):
    """After this mistake (a line, a field and a message) the rest of the file makes no sense."""


def read_drn_table(text: str, cost_names: tuple[str, ...], wrong: Wrong, most: int) -> TableModel | None:
    """The table of a DRN file; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    text
        The file's content.
    cost_names
        The costs; every reward model must be one of them, and what none names is zero.
    wrong
        Notes a mistake.
    most
        How many transitions there may be.
    """
    reader = _Reader(cost_names, wrong, most)
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

    def __init__(self, cost_names: tuple[str, ...], wrong: Wrong, most: int) -> None:
        self._cost_names = cost_names
        self._wrong = wrong
        self._left = most
        self._draft = TableDraft(cost_names, wrong)
        self._kind = ""
        self._section = ""
        self._models: list[str] = []
        self._announced = ""
        self._actions: list[_Action] = []
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
            self._models += content.split()
            for name in content.split():
                if name not in self._cost_names:
                    told = f"{name!r} is not a cost; the costs are {listed(self._cost_names)}"
                    self._wrong(line, self._section, told)
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
            costs = [own + paid for own, paid in zip(self._state_rewards, rewards, strict=True)]
            self._actions.append(_Action(self._state, self._name(action[1]), line, costs))
        elif transition := _TRANSITION.fullmatch(content):
            self._transition(line, transition[1], transition[2])
        else:
            told = f"{content[:60]!r} is neither 'state ...' nor 'action ...' nor 'number : probability'"
            raise _Unreadable(line, "", told)

    def model(self) -> TableModel | None:
        draft = self._draft
        for action in self._actions:
            # A state of a chain that leads nowhere has no action; one of an MDP should not have announced it.
            if action.to or self._kind == "MDP":
                row = draft.row(draft.state(str(action.state)), action.name, action.costs, action.line)
                draft.lead([row] * len(action.to), [target for target, _ in action.to], _scaled(action.to))
        count = self._state + 1
        if count == 0:
            raise _Unreadable(1, "", "there are no states")
        if self._announced.isdecimal() and self._announced != str(count):
            told = f"{self._announced[:15]} states are announced, but there are {count}"
            self._wrong(1, "@nr_states", told)
        return draft.model(draft.places.get("init", ()), draft.places.get("goal", ()))

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
        index = self._draft.state(str(number), listed=True)
        for quoted, bare in _LABEL.findall(labels):
            self._draft.places.setdefault(quoted or bare, []).append(index)
        if self._kind == "DTMC":
            self._actions.append(_Action(self._state, "go", line, self._state_rewards))

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
        self._actions[-1].to.append((str(int(target)), value))

    def _rewards(self, line: int, text: str | None) -> list[float]:
        costs = dict.fromkeys(self._cost_names, 0.0)
        values = text.split(",") if text is not None else []
        if text is not None and len(values) != len(self._models):
            self._wrong(line, "", f"{len(values)} rewards, but there are {len(self._models)} reward models")
            values = []
        # A model that is no cost has been noted.
        for name, value in zip(self._models, values, strict=False):
            costs[name] = costs.get(name, 0.0) + self._number(line, value.strip())
        return [costs[name] for name in self._cost_names]

    def _number(self, line: int, text: str) -> float:
        """A number of at least 0, perhaps as a fraction; 0 in the place of what is none."""
        value = -1.0
        if _NUMBER.fullmatch(text) and len(text) < 400:
            value = float(text)
        elif (fraction := _FRACTION.fullmatch(text)) and int(fraction[2]) > 0:
            value = int(fraction[1]) / int(fraction[2])
        if not 0.0 <= value <= LARGEST_COST:
            self._wrong(line, "", f"{text[:60]!r} is not a number from 0 to {LARGEST_COST:g}")
            return 0.0
        return value


def _scaled(to: list[tuple[str, float]]) -> list[float]:
    """Probabilities that sum to one if only the digits that Storm has not written are missing."""
    total = fsum(probability for _, probability in to)
    rounded = PROBABILITY_TOLERANCE < abs(total - 1.0) <= TOLERANCE
    return [probability / total if rounded else probability for _, probability in to]
