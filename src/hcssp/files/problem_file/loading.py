"""Loading a problem file: everything that is wrong with it is told together, with file, line and field.

The format is described in ``docs/file-format.md`` and by the JSON Schema that ``hcssp schema`` prints.
Loading executes nothing, reads nothing outside of the problem's folder, and keeps to limits.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.activities import ActivityReader
from hcssp.files.problem_file.findings import Findings
from hcssp.files.problem_file.format import FORMAT, PROBLEM, Problem
from hcssp.files.problem_file.parsing import is_json, parse_document
from hcssp.files.problem_file.procedure import ProcedureReader
from hcssp.files.problem_file.records import keys_of
from hcssp.files.problem_file.source import Limits, decoded, read_bytes, read_stream
from hcssp.files.problem_file.tree import Field
from hcssp.procedure import HCSSP


def load(path: str | Path, limits: Limits | None = None) -> HCSSP:
    """The problem that a file holds, with its name, its rooms and their places.

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
    text = decoded(read_bytes(source, str(source), bounded.document_bytes), findings)
    return _load(text, source.suffix.lower() == ".json", findings, source, source.parent, bounded)


def load_stream(stream: BinaryIO, folder: str | Path = ".", limits: Limits | None = None) -> HCSSP:
    """The problem that a stream such as standard input holds, YAML or JSON; tables lie in `folder`.

    Raises
    ------
    InvalidProblem
        If anything is wrong; each violation begins with "standard input", line and field.
    """
    bounded = limits or Limits()
    findings = Findings("standard input")
    text = decoded(read_stream(stream, findings.file, bounded.document_bytes), findings)
    # There is no name to tell them apart by, and every JSON document begins with a brace if it is a problem.
    json = text.lstrip().startswith("{") and is_json(text)
    return _load(text, json, findings, None, Path(folder), bounded)


def load_text(
    text: str, folder: str | Path = ".", *, json: bool = False, limits: Limits | None = None
) -> HCSSP:
    """The problem that a text holds; tables that it names lie in `folder`.

    >>> loaded = load_text('''
    ... format: hcssp-problem
    ... version: 1
    ... costs: [time]
    ... activities:
    ...   cross: {grid: {width: 3, height: 2}, start: [0, 1], goal: [4, 2]}
    ... ''')
    >>> loaded.activities[0].cssp.num_states
    8
    """
    return _load(text, json, Findings("problem"), None, Path(folder), limits or Limits())


def _load(
    text: str, json: bool, findings: Findings, source: Path | None, folder: Path, limits: Limits
) -> HCSSP:
    document = Field.root(parse_document(text, findings, limits, json=json), findings)
    _check_format(document)
    read = PROBLEM.read(document)
    if read is None or read.costs is None or read.activities is None:
        # Without the costs everything else would be called wrong.
        findings.raise_if_any()
        raise InvalidProblem([f"{findings.file}: the costs or the activities cannot be read"])
    cost_names = tuple(name for name in read.costs if name is not None)
    if len(set(cost_names)) < len(read.costs):
        findings.raise_if_any()
    made = ActivityReader(read, cost_names, folder, limits)
    activities = made.read()
    procedure = ProcedureReader(read, activities)
    findings.raise_if_any()
    problem = procedure.build()
    findings.raise_if_any()
    if problem is None:
        raise InvalidProblem([f"{findings.file}: the procedure cannot be read"])
    rooms = {activity: loaded.room for activity, loaded in activities.items()}
    used = set(rooms.values())
    return problem.named(
        read.name or (source.stem if source is not None else "problem"),
        read.description or "",
        {room: position for room, position in made.positions.items() if room in used},
        rooms,
        {name: f"{findings.file}:{each.field.line}: {each.field.path}" for name, each in activities.items()},
    )


def _check_format(document: Field) -> None:
    """What is no problem file, or one of a later version, is not looked at any further."""
    findings = document.findings
    if document.kind != "a mapping":
        findings.fatal(document.line, "", f"{document.shown} is not a problem; begin with 'format: {FORMAT}'")
    members = document.members()
    if "format" not in members:
        nearest = get_close_matches("format", members, n=1)
        instead = f" instead of {nearest[0]!r}" if nearest else ""
        findings.fatal(document.line, "", f"the key 'format' is missing; write 'format: {FORMAT}'{instead}")
    before = len(findings)
    for key in ("format", "version"):
        if key in members:
            keys_of(Problem)[key].form.read(members[key])
        if len(findings) > before:
            findings.raise_if_any()
