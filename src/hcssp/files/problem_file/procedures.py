"""The procedures of a problem file that its activities can be: from the same file, or from others beside it.

A procedure is made when an activity asks for it, once, and all its uses share it. One that would be inside
itself is refused, and the message names the chain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter

from hcssp.errors import did_you_mean
from hcssp.files.problem_file.activities import ActivityReader, Loaded
from hcssp.files.problem_file.format import Activity, Problem, UsedProcedure
from hcssp.files.problem_file.procedure import ProcedureReader
from hcssp.files.problem_file.source import Limits
from hcssp.files.problem_file.tree import Field
from hcssp.procedure import HCSSP


class ProcedureLibrary:
    """Makes the procedures of one document.

    Parameters
    ----------
    problem
        The document.
    activities
        What makes activities of it.
    load_beside
        The problem in a file beside the document, and how often the whole uses it; None, and mistakes noted,
        if none is sound.
    limits
        How deep procedures may be inside each other, and how many activities they may have in all.
    times
        How often the document itself is used.
    """

    def __init__(
        self,
        problem: Problem,
        activities: ActivityReader,
        load_beside: Callable[[str, Field, int], HCSSP | None],
        limits: Limits,
        times: int,
    ) -> None:
        self._parts = problem.procedures or {}
        self._activities = activities
        self._load_beside = load_beside
        self._limits = limits
        self._uses = self._counted(problem, times)
        self._made: dict[str, HCSSP | None] = {}
        self._chain: list[str] = []

    def procedure(self, name: str, where: Field) -> HCSSP | None:
        """The procedure of that name; None, and the mistakes noted, if it is not sound."""
        if name in self._made:
            return self._made[name]
        if name not in self._parts:
            where.wrong(f"there is no procedure {name!r}; {did_you_mean(name, [*self._parts])}")
            return None
        if name in self._chain:
            chain = " > ".join(repr(each) for each in [*self._chain[self._chain.index(name) :], name])
            where.wrong(f"a procedure cannot be inside itself: {chain}; let one of them run something else")
            return None
        if len(self._chain) >= self._limits.depth:
            where.wrong(f"procedures are inside each other more than {self._limits.depth} deep")
            return None
        part = self._parts[name]
        self._chain.append(name)
        made = None if part is None else self._read(name, part)
        self._chain.pop()
        self._made[name] = made
        return made

    def finish(self) -> None:
        """Look at the procedures that nothing uses, too: mistakes are mistakes."""
        for name, part in self._parts.items():
            if part is not None:
                self.procedure(name, part.place)

    def _read(self, name: str, part: UsedProcedure) -> HCSSP | None:
        if not part.sound:
            return None
        if part.file is not None:
            made = self._load_beside(part.file, part.where("file"), self._uses[name])
        else:
            findings = part.place.findings
            before = len(findings)
            activities = self._activities.read(part.activities, self.procedure)
            reader = ProcedureReader(part, activities)
            if len(findings) > before:
                return None
            made = reader.build()
            made = None if made is None else made.named("", sources=sources(activities))
        return None if made is None else made.named(name, part.description or made.description)

    def _counted(self, problem: Problem, times: int) -> Counter[str | None]:
        """How often the whole uses each procedure of the document, which itself has the name None.

        It is counted before anything is made: files of a few lines can ask for 2^30 activities.
        """
        activities: dict[str | None, Mapping[str, Activity | None]] = {None: problem.activities or {}}
        activities |= {name: part.activities or {} for name, part in self._parts.items() if part is not None}
        users: defaultdict[str | None, Counter[str | None]] = defaultdict(Counter)
        for user, inside in activities.items():
            for each in inside.values():
                if each is not None and each.procedure is not None:
                    users[each.procedure][user] += 1
        uses: Counter[str | None] = Counter({None: times})
        total = 0
        try:
            for name in TopologicalSorter({**dict.fromkeys(activities, ()), **users}).static_order():
                if name is not None:
                    # One that nothing uses is looked at all the same.
                    uses[name] = max(1, sum(uses[user] * count for user, count in users[name].items()))
                total += uses[name] * len(activities.get(name, ()))
        except CycleError:
            # It is refused where the procedures are made.
            return Counter(dict.fromkeys(activities, times))
        most = self._limits.activities
        if total > most:
            place = problem.place
            place.findings.fatal(
                place.line,
                "",
                f"the problem has more than the {most:,} activities that are allowed, each counted as often "
                "as the procedures around it are used; use them less often",
            )
        return uses


def sources(activities: Loaded) -> dict[str, str]:
    """Where the file says what each activity is."""
    return {
        name: f"{each.field.findings.file}:{each.field.line}: {each.field.path}"
        for name, each in activities.items()
    }
