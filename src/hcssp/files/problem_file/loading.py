"""Loading a problem file: everything that is wrong with it is told together, with file, line and field.

The format is described in ``docs/file-format.md`` and by the JSON Schema that ``hcssp schema`` prints.
Loading executes nothing, reads nothing outside of the problem's folder, and keeps to limits.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

from hcssp.cssp.validation import unknown_cost
from hcssp.errors import InvalidProblem, OutOfPrecision, UnboundedReward, UnsupportedProblem
from hcssp.files.problem_file.activities import ActivityReader
from hcssp.files.problem_file.findings import Findings
from hcssp.files.problem_file.format import FORMAT, PARAMETERS, PROBLEM, Problem
from hcssp.files.problem_file.parameters import NO_PARAMETERS, Parameters, Settings, computed
from hcssp.files.problem_file.parsing import is_json, parse_document
from hcssp.files.problem_file.probabilities import with_probabilities
from hcssp.files.problem_file.procedure import ProcedureReader
from hcssp.files.problem_file.procedures import ProcedureLibrary, sources
from hcssp.files.problem_file.records import keys_of
from hcssp.files.problem_file.source import Limits, Unreadable, decoded, read_beside, read_bytes, read_stream
from hcssp.files.problem_file.tree import Field
from hcssp.procedure import HCSSP
from hcssp.scenarios.dials import Number

_Chain = tuple[Path | None, ...]
"""The files around a file that holds a procedure; None for a text or a stream."""


def load(
    path: str | Path,
    limits: Limits | None = None,
    *,
    parameters: Mapping[str, Number] | None = None,
    **settings: Number,
) -> HCSSP:
    """The problem that a file holds, with its name, its rooms and their places.

    Parameters
    ----------
    path
        A YAML file, or a JSON file if its name ends in ``.json``.
    limits
        How large it may be.
    parameters, settings
        What the file's parameters are instead of their defaults: ``load("mine.yaml", slip=0.2)``.

    Raises
    ------
    UnknownName
        If the file has no such parameter.
    InvalidProblem
        If anything is wrong; each violation begins with file, line and field.
    """
    source = Path(path)
    findings = Findings(str(path))
    bounded = limits or Limits()
    text = decoded(read_bytes(source, str(source), bounded.document_bytes), findings)
    json = source.suffix.lower() == ".json"
    return _whole(text, json, findings, source, source.parent, bounded, {**(parameters or {}), **settings})


def load_parameters(path: str | Path, parameters: Mapping[str, Number] | None = None) -> dict[str, Fraction]:
    """The parameters that a file declares, with their values.

    Parameters
    ----------
    path, parameters
        As for :func:`load`.
    """
    source, findings, limits = Path(path), Findings(str(path)), Limits()
    text = decoded(read_bytes(source, str(source), limits.document_bytes), findings)
    tree = parse_document(text, findings, limits, json=source.suffix.lower() == ".json")
    found = _parameters(Field.root(tree, findings), NO_PARAMETERS, Settings.given(parameters))
    return dict(found.values)


def load_stream(
    stream: BinaryIO,
    folder: str | Path = ".",
    limits: Limits | None = None,
    *,
    parameters: Mapping[str, Number] | None = None,
) -> HCSSP:
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
    return _whole(text, json, findings, None, Path(folder), bounded, parameters)


def load_text(
    text: str,
    folder: str | Path = ".",
    *,
    json: bool = False,
    limits: Limits | None = None,
    parameters: Mapping[str, Number] | None = None,
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
    return _whole(text, json, Findings("problem"), None, Path(folder), limits or Limits(), parameters)


def _whole(
    text: str,
    json: bool,
    findings: Findings,
    source: Path | None,
    folder: Path,
    limits: Limits,
    parameters: Mapping[str, Number] | None,
) -> HCSSP:
    """The problem of a document that is inside of no other, with what the user sets."""
    settings = Settings.given(parameters)
    try:
        with _all_kept():
            problem = _load(text, json, findings, source, folder, limits, settings)
    except InvalidProblem:
        # What is set under a wrong name may be the cause of all the rest.
        if settings.declared:
            settings.check()
        raise
    settings.check()
    return problem


@contextmanager
def _all_kept() -> Iterator[None]:
    """Let nobody look for garbage while a document is read: all of its values are kept until the end.

    Looking at them again and again would take a tenth of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _load(
    text: str,
    json: bool,
    findings: Findings,
    source: Path | None,
    folder: Path,
    limits: Limits,
    settings: Settings,
    around: Parameters | None = None,
    inside: _Chain = (),
    times: int = 1,
) -> HCSSP:
    """The problem of a document, which is used so many times inside the files around it."""
    document = Field.root(parse_document(text, findings, limits, json=json), findings)
    _check_format(document)
    parameters = _parameters(document, around or NO_PARAMETERS, settings)
    document = replace(document, parameters=parameters)
    read = PROBLEM.read(document)
    if read is None or read.costs is None or read.activities is None:
        # Without the costs everything else would be called wrong.
        findings.raise_if_any()
        raise InvalidProblem([f"{findings.file}: the costs or the activities cannot be read"])
    cost_names = tuple(name for name in read.costs if name is not None)
    if len(set(cost_names)) < len(read.costs):
        findings.raise_if_any()

    def beside(name: str, where: Field, times: int) -> HCSSP | None:
        return _load_beside(name, where, folder, limits, settings, (*inside, source), times)

    made = ActivityReader(read, cost_names, folder, limits)
    library = ProcedureLibrary(read, made, beside, limits, times)
    activities = made.read(read.activities, library.procedure)
    library.finish()
    made.finish()
    procedure = ProcedureReader(read, activities)
    findings.raise_if_any()
    problem = procedure.build()
    findings.raise_if_any()
    if problem is None:
        raise InvalidProblem([f"{findings.file}: the procedure cannot be read"])
    name = read.name or (source.stem if source is not None else "problem")
    named = problem.named(name, read.description or "", sources=sources(activities))
    carried = made.carried.over(named.measured_in(_units(read, named)), document)
    findings.raise_if_any()
    bounded = with_probabilities(read, carried or named)
    findings.raise_if_any()
    if read.maximise is None:
        return bounded
    if inside:
        read.where("maximise").wrong("only a whole problem is maximised; say it in the file that uses it")
        findings.raise_if_any()
    return _maximised(bounded, read)


def _maximised(problem: HCSSP, read: Problem) -> HCSSP:
    """The problem that asks for the greatest reward instead; what stands against it is told with its line."""
    from hcssp.solving.maximisation import maximise

    where = read.where("maximise")
    known = tuple(dict.fromkeys(name for each in problem.activities for name in each.cssp.cost_names))
    if read.maximise in known:
        try:
            return maximise(problem, read.maximise)
        except (OutOfPrecision, UnboundedReward, UnsupportedProblem) as error:
            where.wrong(str(error))
    else:
        where.wrong(unknown_cost(str(read.maximise), known))
    where.findings.raise_if_any()
    return problem


def _parameters(document: Field, around: Parameters, settings: Settings) -> Parameters:
    """The values of the document's parameters; without them nothing else can be read."""
    findings = document.findings
    before = len(findings)
    where = document.at("parameters")
    declared = PARAMETERS.read(where) if "parameters" in document else None
    if len(findings) == before:
        known = [(name, default) for name, default in (declared or {}).items() if default is not None]
        parameters, wrong = computed(known, around, settings)
        for name, told in wrong.items():
            where.at(name).wrong(told)
    if len(findings) > before:
        findings.raise_if_any()
    return parameters


def _units(read: Problem, problem: HCSSP) -> dict[str, str]:
    """What the costs are measured in; units of what is no cost are noted."""
    known = tuple(dict.fromkeys(name for each in problem.activities for name in each.cssp.cost_names))
    for name in read.units or {}:
        if name not in known:
            read.where("units", name).wrong(unknown_cost(name, known))
    return {name: unit for name, unit in (read.units or {}).items() if unit is not None}


def _load_beside(
    name: str, where: Field, folder: Path, limits: Limits, settings: Settings, inside: _Chain, times: int
) -> HCSSP | None:
    """The problem in a file beside another one; None, and the mistakes noted, if it is not sound."""
    try:
        path, text = read_beside(folder, name, limits, where.findings)
    except Unreadable as error:
        where.wrong(str(error))
        return None
    source = Path(path)
    if any(each is not None and each.resolve() == source.resolve() for each in inside):
        chain = " > ".join(str(each) for each in [*inside, source] if each is not None)
        where.wrong(f"a procedure cannot be inside itself: {chain}; let one of them run something else")
        return None
    if len(inside) > limits.depth:
        where.wrong(f"procedures are inside each other more than {limits.depth} deep")
        return None
    try:
        json = source.suffix.lower() == ".json"
        found = Findings(path)
        around = where.parameters
        return _load(text, json, found, source, source.parent, limits, settings, around, inside, times)
    except InvalidProblem as error:
        for violation in error.violations:
            where.wrong(violation)
        return None


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
