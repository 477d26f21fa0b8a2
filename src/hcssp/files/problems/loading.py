"""Loading a problem file: everything that is wrong with it is told together, with file, line and field.

The format is described in ``docs/file-format.md`` and by the JSON Schema that ``hcssp schema`` prints.
Loading executes nothing, reads nothing outside of the problem's folder, and keeps to limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from hcssp.cssp.grid import GridWorld
from hcssp.cssp.grid_map import Cell
from hcssp.errors import InvalidProblem
from hcssp.files.fingerprint import fingerprint
from hcssp.files.problems.folder import Folder
from hcssp.files.problems.models import Models, read_cost_names
from hcssp.files.problems.procedure import Procedure
from hcssp.files.reading.document import read_document
from hcssp.files.reading.fields import Field
from hcssp.files.reading.findings import Findings
from hcssp.files.reading.limits import Limits
from hcssp.files.reading.parsing import parse_document
from hcssp.files.reading.tree import Node
from hcssp.procedure import HCSSP

FORMAT = "hcssp-problem"
VERSION = 1
SUFFIXES = (".yaml", ".yml", ".json")

_REQUIRED = ("format", "version", "costs", "activities")
_OPTIONAL = ("name", "description", "models", "procedure", "constraints")


@dataclass(frozen=True, eq=False)
class LoadedProblem:
    """A problem and what else its file says.

    Attributes
    ----------
    name, description
        What the file calls it; by default the file's own name, and nothing.
    problem
        The problem.
    worlds
        The grid of each activity, for pictures; None for a table.
    rooms
        For each activity the shared model, or else the activity, whose model it has.
    positions
        Where the top-left wall cell of a room lies on a map of them all, for the rooms that say so.
    source
        The file; None if it was loaded from a text.
    """

    name: str
    description: str
    problem: HCSSP
    worlds: Mapping[str, GridWorld | None]
    rooms: Mapping[str, str]
    positions: Mapping[str, Cell]
    source: Path | None = None

    @cached_property
    def fingerprint(self) -> str:
        """What identifies the problem; see :mod:`hcssp.files.fingerprint`."""
        return fingerprint(self.problem)


def load_problem(path: str | Path, limits: Limits | None = None) -> LoadedProblem:
    """Load a problem file.

    Parameters
    ----------
    path
        A YAML file, or a JSON file if its name ends in ``.json``.
    limits
        How large it may be.

    Raises
    ------
    InvalidProblem
        If anything is wrong; each violation begins with file, line and field.
    """
    source = Path(path)
    findings = Findings(str(path))
    bounded = limits or Limits()
    root = read_document(source, findings, bounded)
    return _load(root, findings, source, source.parent, bounded)


def load_problem_text(
    text: str, folder: str | Path = ".", *, json: bool = False, limits: Limits | None = None
) -> LoadedProblem:
    """Load a problem from a text; tables that it names lie in `folder`.

    >>> loaded = load_problem_text('''
    ... format: hcssp-problem
    ... version: 1
    ... costs: [time]
    ... activities:
    ...   cross: {grid: {width: 3, height: 2}, start: [0, 1], goal: [4, 2]}
    ... ''')
    >>> loaded.problem.activities[0].cssp.num_states
    8
    """
    findings = Findings("problem")
    bounded = limits or Limits()
    root = parse_document(text, findings, bounded, json=json)
    return _load(root, findings, None, Path(folder), bounded)


def _load(root: Node, findings: Findings, source: Path | None, folder: Path, limits: Limits) -> LoadedProblem:
    document = Field.root(root, findings)
    _check_format(document)
    parts = document.entries("a problem, a mapping with the key 'format'", _REQUIRED, _OPTIONAL) or {}
    name = parts["name"].name("a name") if "name" in parts else None
    description = parts["description"].text() if "description" in parts else None
    costs = read_cost_names(parts["costs"]) if "costs" in parts else None
    if costs is None or "activities" not in parts:
        # Without the costs everything else would be called wrong.
        findings.raise_if_any()
        raise InvalidProblem([f"{findings.file}: the costs cannot be read"])
    models = Models(costs, Folder(folder, limits), limits)
    activities = models.read(parts.get("models"), parts["activities"])
    names = [*(parts["activities"].members("activities") or {})] if parts["activities"].is_mapping else []
    procedure = Procedure(document, activities, names)
    procedure.read(parts.get("procedure"), parts.get("constraints"))
    findings.raise_if_any()
    problem = procedure.build()
    findings.raise_if_any()
    if problem is None:
        raise InvalidProblem([f"{findings.file}: the procedure cannot be read"])
    rooms = {activity: loaded.room for activity, loaded in activities.items()}
    used = set(rooms.values())
    return LoadedProblem(
        name=name or (source.stem if source is not None else "problem"),
        description=description or "",
        problem=problem,
        worlds={activity: loaded.world for activity, loaded in activities.items()},
        rooms=rooms,
        positions={room: position for room, position in models.positions.items() if room in used},
        source=source,
    )


def _check_format(document: Field) -> None:
    """What is no problem file, or one of a later version, is not looked at any further."""
    findings = document.findings
    if not document.is_mapping:
        findings.fatal(document.line, "", f"{document.shown} is not a problem; begin with 'format: {FORMAT}'")
    parts = document.members("a problem") or {}
    if "format" not in parts:
        nearest = get_close_matches("format", parts, n=1)
        instead = f" instead of {nearest[0]!r}" if nearest else ""
        findings.fatal(document.line, "", f"the key 'format' is missing; write 'format: {FORMAT}'{instead}")
    kind = parts["format"]
    if kind.value != FORMAT:
        findings.fatal(kind.line, kind.path, f"{kind.shown} is not a problem file; write 'format: {FORMAT}'")
    if "version" in parts:
        version = parts["version"]
        if isinstance(version.value, bool) or version.value != VERSION:
            findings.fatal(
                version.line,
                version.path,
                f"version {version.shown} cannot be read; this hcssp reads version {VERSION}",
            )
