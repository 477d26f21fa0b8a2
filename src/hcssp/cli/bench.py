"""``hcssp bench``: our methods and other tools on the same problems, on one page and as CSV."""

from __future__ import annotations

from importlib.util import find_spec

from hcssp.cli.arguments import UsageError
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.session import Session, question_of, settings_of
from hcssp.comparison import measuring
from hcssp.comparison.measuring import Key, Pair, in_order, key_of, results_file
from hcssp.comparison.page import (
    comparison_summary,
    disagreements,
    markdown_table,
    measurements_csv,
    save_comparison_page,
)
from hcssp.comparison.solvers import MODULES, PEERS, SOLVERS, Measurement, find_solver
from hcssp.comparison.suite import PAPER_REPEATS, SUITES, paper_suite, suite
from hcssp.errors import UnknownName
from hcssp.files.atomic import Journal, make_folder, write_atomically
from hcssp.files.named_problem import is_file
from hcssp.solving.registry import METHODS


def bench(session: Session) -> int:
    """Make the missing measurements, and write all of them."""
    arguments = session.arguments
    limit = SUITES[arguments.suite] if arguments.time_limit is None else arguments.time_limit
    pairs, folder = _pairs(session), arguments.out
    make_folder(folder)
    known = results_file(folder / "results.jsonl")
    with session.working():
        found = _measure(session, pairs, limit, known)
    if not found:
        session.fail("nothing was measured before the interruption")
        return INTERRUPTED
    places = {pair[0].name: place for place, pair in reversed(list(enumerate(pairs)))}
    found.sort(key=lambda each: places[each.instance])
    found = in_order(found, list(dict.fromkeys(name for _, name in pairs)))
    write_atomically(folder / "bench.csv", measurements_csv(found))
    write_atomically(folder / "ratios.md", markdown_table(found))
    save_comparison_page(found, folder / "bench.html", arguments.suite)
    contradictions = disagreements(found)
    session.answer(
        lambda: {
            "suite": arguments.suite,
            "disagreements": contradictions,
            "measurements": [each.to_document() for each in found],
        },
        lambda style: comparison_summary(found, style),
        # The names of files make its tables wide.
        wrap=False,
    )
    session.say(f"The page is {folder / 'bench.html'}, the figures are in {folder / 'bench.csv'}.")
    if session.interruption.requested:
        session.fail("interrupted; the measurements are kept")
        return INTERRUPTED
    return NO_PLAN if contradictions else SOLVED


def _pairs(session: Session) -> list[Pair]:
    """Which solvers solve which problems, in the order in which they begin."""
    arguments = session.arguments
    if arguments.suite != "paper":
        problems = suite(
            arguments.suite,
            arguments.problem,
            arguments.repeat or 1,
            settings_of(arguments),
            dict(arguments.bound),
            question_of(arguments),
        )
        solvers = _solvers(arguments.method, arguments.peer)
        return [(problem, name) for problem in problems for name in solvers]
    if arguments.problem or arguments.peer or arguments.settings or arguments.bound:
        raise UsageError(
            "--suite paper: leave --problem, --peer, --set and --bound out; its problems are fixed"
        )
    methods = [find_solver(name).name for name in arguments.method]
    return paper_suite(methods, arguments.repeat or PAPER_REPEATS)


def _solvers(methods: list[str], tools: list[str]) -> list[str]:
    """Who takes part, in the order of the tables.

    Raises
    ------
    UnknownName
        If there is no such method or tool.
    """
    wanted = [find_solver(name).name for name in methods] or list(METHODS)
    if not tools:
        peers = [peer for peer in PEERS if find_spec(MODULES[peer]) is not None]
    else:
        peers = [name for name in tools if name != "none"]
    for peer in peers:
        if peer not in PEERS:
            raise UnknownName("peer", peer, [*PEERS, "none"])
        wanted += PEERS[peer]
    order = list(SOLVERS)
    return sorted(dict.fromkeys(wanted), key=lambda name: order.index(name.partition(":")[0]))


def _measure(
    session: Session, pairs: list[Pair], limit: float, known: Journal[Key, Measurement]
) -> list[Measurement]:
    """All measurements; after a signal, those made so far."""
    found: list[Measurement] = []
    missing = []
    for instance, solver in pairs:
        # A file may have changed since it was measured.
        again = session.arguments.fresh or is_file(instance.domain)
        kept = None if again else known.find((instance.name, solver, limit))
        if kept is None:
            missing.append((instance, solver))
        else:
            found.append(kept.as_claim())
    try:
        with session.workers() as workers:
            for measurement in measuring.measure_all(missing, limit, workers):
                known.add(key_of(measurement), measurement)
                found.append(measurement)
                text = f"{measurement.solver} on {measurement.instance}: {measurement.status}"
                why = f": {measurement.note}" if measurement.status in ("failed", "missing") else ""
                session.printer.step(len(found), len(pairs), f"{text}, {measurement.seconds:.2f} s{why}")
    except KeyboardInterrupt:
        return found
    return found
