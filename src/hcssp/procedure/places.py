"""What a user may call a place of a procedure: by names, by labels, or by a text that has both in it.

>>> from hcssp.scenarios.evacuation import small_building
>>> building = small_building()
>>> readings(building, "go-to-door 2,2")
[('go-to-door', '2,2')]
>>> labels = building.activities[building.activity_index("go-to-door")].cssp.state_labels
>>> label_called("2,2", labels)
(2, 2)
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

from hcssp.cssp.levels import LevelLabel, base_of
from hcssp.procedure.model import HCSSP

Place = Hashable
"""An event, ``(event, entry)``, ``(activity, state)``, or a text that means one, such as ``cross-NE 3,4``."""


def readings(problem: HCSSP, at: Place) -> list[tuple[str, Hashable | None]]:
    """What `at` may mean, the likeliest first: the name of an event or activity, and a label or None.

    Parameters
    ----------
    problem
        The procedure.
    at
        The name of an event; a pair of a name and a label; a text that begins with a name; the label of a
        state, if there is one activity only.
    """
    found: list[tuple[str, Hashable | None]] = []
    if isinstance(at, tuple) and len(at) == 2 and isinstance(at[0], str):
        found.append((at[0], tuple(at[1]) if isinstance(at[1], list) else at[1]))
    if isinstance(at, str):
        if at in problem.events:
            found.append((at, None))
        # Names may have spaces in them, so whatever the text begins with may be the name.
        names = [*problem.events, *(activity.name for activity in problem.activities)]
        begun = {name for name in names if re.match(rf"{re.escape(name)}[ :]", at)}
        found += [(name, at[len(name) :].strip(" :")) for name in sorted(begun, key=len, reverse=True)]
    if problem.num_activities == 1:
        found.append((problem.activities[0].name, at))
    return found


def label_called(given: Hashable | None, labels: Iterable[Hashable | None]) -> Hashable | None:
    """The label that is meant: by itself, by its text, or as a cell without parentheses; None if none is.

    Of labels that differ in their levels only, the levels alone: ``battery 60``.
    """
    if not isinstance(given, str):
        return next((label for label in labels if label == given), None)
    listed = [label for label in labels if label is not None]
    meant = [label for label in listed if _plain(str(label)) == _plain(given)]
    if not meant and len({base_of(label) for label in listed}) == 1:
        by_level = (label for label in listed if isinstance(label, LevelLabel))
        meant = [label for label in by_level if _plain(", ".join(label.levels)) == _plain(given)]
    return min(meant, key=lambda label: str(label) != given, default=None)


def _plain(text: str) -> str:
    return re.sub(r"[()\s]", "", text)
