"""A table in a DRN file, the explicit format of the model checker Storm: the part that fits here.

Read are models of type MDP and DTMC with plain numbers or fractions, their reward models as costs (those
of states and of actions added up), and labels of states. States are called by their numbers; a label
stands for all states that carry it. Unless the activity says otherwise it starts where ``init`` is and
ends where ``goal`` is. Parameters, placeholders, intervals, rates and observations are refused.

Storm writes numbers with some ten digits: probabilities that sum to one up to 1e-6 are scaled to do so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import fsum

from hcssp.errors import did_you_mean, listed
from hcssp.files.problem_file.format import LARGEST_COST
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
class _Header:
    kind: str = ""
    sections: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def words(self, section: str) -> list[str]:
        return [word for _, text in self.sections.get(section, []) for word in text.split()]


@dataclass
class _Action:
    state: int
    name: str
    line: int
    costs: list[float]
    to: list[tuple[str, float]] = field(default_factory=list)


class _Unreadable(Exception):
    """The rest of the file makes no sense after this; the mistake has been noted."""


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
    lines = _lines(text)
    try:
        reader = _Reader(_header(lines, wrong), cost_names, wrong, most)
        for line, content in lines:
            reader.take(line, content)
        return reader.finish()
    except _Unreadable:
        return None


def _scaled(to: list[tuple[str, float]]) -> list[float]:
    """Probabilities that sum to one if only the digits that Storm has not written are missing."""
    total = fsum(probability for _, probability in to)
    rounded = PROBABILITY_TOLERANCE < abs(total - 1.0) <= TOLERANCE
    return [probability / total if rounded else probability for _, probability in to]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.strip()
        if content and not content.startswith("//"):
            yield number, content


def _header(lines: Iterator[tuple[int, str]], wrong: Wrong) -> _Header:
    header = _Header()
    section = ""
    for line, content in lines:
        if content == "@model":
            if not header.kind:
                wrong(line, "", "the type is missing; write '@type: MDP' before '@model'")
                raise _Unreadable
            return header
        key, _, value = content.partition(":")
        if key == "@type":
            header.kind = value.strip()
            if header.kind.upper() not in _TYPES:
                wrong(
                    line, "@type", f"{header.kind!r} cannot be read; the types that can are {listed(_TYPES)}"
                )
                raise _Unreadable
        elif key == "@value_type":
            if value.strip() not in ("double", "rational"):
                wrong(line, key, f"{value.strip()!r} cannot be read; write plain numbers (double)")
                raise _Unreadable
        elif content in _SECTIONS:
            section = content
            header.sections[section] = []
        elif section and not content.startswith("@"):
            header.sections[section].append((line, content))
        else:
            wrong(line, "", f"{content[:60]!r} is no part of a header; {did_you_mean(content, _SECTIONS)}")
            raise _Unreadable
    wrong(1, "", "there is no line '@model', so this is no DRN file")
    raise _Unreadable


class _Reader:
    """The states, actions and transitions after the header."""

    def __init__(self, header: _Header, cost_names: tuple[str, ...], wrong: Wrong, most: int) -> None:
        self._wrong = wrong
        self._left = most
        self._draft = TableDraft(cost_names, wrong)
        self._actions: list[_Action] = []
        self._names: set[str] = set()
        self._state = -1
        self._state_rewards: list[float] = []
        self._chain = header.kind.upper() == "DTMC"
        for section in ("@parameters", "@placeholders"):
            for line, content in header.sections.get(section, [])[:1]:
                wrong(line, section, f"{content[:60]!r} is not a number; instantiate the model first")
                raise _Unreadable
        self._models = header.words("@reward_models")
        for line, content in header.sections.get("@reward_models", []):
            for name in content.split():
                if name not in cost_names:
                    wrong(
                        line, "@reward_models", f"{name!r} is not a cost; the costs are {listed(cost_names)}"
                    )
        self._costs = [cost_names.index(name) if name in cost_names else None for name in self._models]
        declared = header.words("@nr_states")
        self._declared = int(declared[0]) if declared and re.fullmatch(r"\d{1,15}", declared[0]) else None

    def take(self, line: int, content: str) -> None:
        if state := _STATE.fullmatch(content):
            self._begin_state(line, int(state[1]), state[2], state[3])
        elif action := _ACTION.fullmatch(content):
            if self._state < 0:
                self._wrong(line, "", "an action before the first state")
                raise _Unreadable
            rewards = self._rewards(line, action[2])
            costs = [own + paid for own, paid in zip(self._state_rewards, rewards, strict=True)]
            self._actions.append(_Action(self._state, self._name(action[1]), line, costs))
        elif transition := _TRANSITION.fullmatch(content):
            self._transition(line, int(transition[1]), transition[2])
        else:
            self._wrong(
                line,
                "",
                f"{content[:60]!r} is neither 'state ...' nor 'action ...' nor 'number : probability'",
            )
            raise _Unreadable

    def finish(self) -> TableModel | None:
        draft = self._draft
        for action in self._actions:
            # A state of a chain that leads nowhere has no action; one of an MDP should not have announced it.
            if action.to or not self._chain:
                row = draft.row(draft.state(str(action.state)), action.name, action.costs, action.line)
                successors = [draft.state(target) for target, _ in action.to]
                draft.assembly.add_transitions([row] * len(successors), successors, _scaled(action.to))
        count = self._state + 1
        if count == 0:
            self._wrong(1, "", "there are no states")
            return None
        if self._declared is not None and self._declared != count:
            self._wrong(1, "@nr_states", f"{self._declared} states are announced, but there are {count}")
        return draft.model(draft.places.get("init", ()), draft.places.get("goal", ()))

    def _begin_state(self, line: int, number: int, rewards: str | None, labels: str) -> None:
        if number != self._state + 1:
            self._wrong(
                line, "", f"state {number} follows {self._state}; states are numbered 0, 1, 2 and so on"
            )
            raise _Unreadable
        self._state = number
        self._names = set()
        self._state_rewards = self._rewards(line, rewards)
        index = self._draft.state(str(number), listed=True)
        if labels[:1] in ("!", "{", "["):
            self._wrong(line, "", f"{labels[:60]!r}: rates, observations and intervals are not supported")
            raise _Unreadable
        for quoted, bare in _LABEL.findall(labels):
            self._draft.places.setdefault(quoted or bare, []).append(index)
        if self._chain:
            self._actions.append(_Action(self._state, "go", line, self._state_rewards))

    def _name(self, told: str) -> str:
        """The action's name, made unique in its state: Storm does without names, and repeats them."""
        name = f"action {len(self._names)}" if told == "__NOLABEL__" else told
        while name in self._names:
            name += "'"
        self._names.add(name)
        return name

    def _transition(self, line: int, target: int, probability: str) -> None:
        if not self._actions or self._actions[-1].state != self._state:
            self._wrong(line, "", "a transition before the first action")
            raise _Unreadable
        self._left -= 1
        if self._left < 0:
            self._wrong(line, "", "the table has more transitions than are allowed")
            raise _Unreadable
        value = self._number(line, probability)
        if value > 1.0:
            self._wrong(line, "", f"{probability!r} is not a probability between 0 and 1")
        self._actions[-1].to.append((str(target), value))

    def _rewards(self, line: int, text: str | None) -> list[float]:
        costs = [0.0] * len(self._draft.assembly.cost_names)
        if text is None:
            return costs
        values = text.split(",")
        if len(values) != len(self._models):
            self._wrong(line, "", f"{len(values)} rewards, but there are {len(self._models)} reward models")
            return costs
        for position, value in zip(self._costs, values, strict=True):
            if position is not None:
                costs[position] += self._number(line, value.strip())
        return costs

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
