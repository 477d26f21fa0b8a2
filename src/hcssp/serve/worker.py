"""The worker process of a session: it edits, reads, draws, searches and answers, and may die of it.

It reads requests from its standard input and writes answers and events to its standard output, an object of
JSON on each line. A thread receives the requests. Each of them interrupts the search that is under way, and
an edit or a stop also the question; the end of the input, which means that the server has died, ends the
process at once. The main thread does one thing after the other. A search that was interrupted by a question
goes on afterwards, with all that it has learnt.

A request is ``{"id": 7, "do": "load", "with": {...}}`` and names a method of :class:`Desk`. The answers are
``{"id": 7, "begun": true}`` and then ``{"id": 7, "answer": ...}`` or ``{"id": 7, "error": ...}``. Events have
the key ``event`` and no ``id``.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from hcssp.contract.plan import Plan
from hcssp.contract.progress import (
    Gap,
    Interrupter,
    MaxMemory,
    MaxRuntime,
    Progress,
    StopCriterion,
    resident_memory,
)
from hcssp.contract.proof import Interval, Reason, Status
from hcssp.contract.solver import Memory, same_but_for_bounds
from hcssp.errors import DeadEnd, HcsspError, InvalidProblem, NoSolution, UnknownName
from hcssp.exchange.sites import Site, mission, read_building, read_route_graph
from hcssp.execution import Run
from hcssp.files.certificate import to_bytes
from hcssp.files.plan_file import PlanDocument, plan_document, plan_of
from hcssp.files.problem_file.loading import load_text
from hcssp.files.shapes import shaped
from hcssp.procedure import HCSSP
from hcssp.procedure.description import Aim
from hcssp.proofs.search_record import SearchRecord
from hcssp.reports.charts import limit, own
from hcssp.reports.figures import plain
from hcssp.reports.page import curves_around, page_html
from hcssp.reports.page_data import page_data
from hcssp.reports.plan_text import why_it_stopped
from hcssp.scenarios.scenario import BLANK, find_scenario
from hcssp.serve.answers import (
    QUICK,
    Answer,
    best_answer,
    comparison,
    curve_answer,
    drawing_of,
    figures,
    finding,
    observed,
    plan_of_run,
    rest_answer,
    robust_answer,
    run_answer,
    simulate_answer,
    why_answer,
)
from hcssp.serve.edits import document_of, edited
from hcssp.serve.parameters import OUT_OF_MEMORY, ServeParameters
from hcssp.solving.solve import solve
from hcssp.threads import work_in_one_thread

GIVING_UP = frozenset({"load", "search", "stop"})
"""Requests that interrupt a question."""


@dataclass
class Search:
    """A search that is under way, or waits until a question is answered.

    Attributes
    ----------
    plan, revision
        The number of its plan, and the revision of the text.
    gap, time_limit
        When it stops, in seconds of work.
    spent
        How long it has worked before the present part.
    seq
        How often its plan was announced.
    reported, page_cost
        When it reported last, and how long writing the last page took.
    shown
        The policy that was announced last.
    """

    plan: int
    revision: int
    gap: float
    time_limit: float
    spent: float = 0.0
    seq: int = 0
    reported: float = 0.0
    page_cost: float = 0.0
    shown: object = None


@dataclass
class Stored:
    """A plan that an earlier worker has found: the texts of its problem and of its file."""

    text: str
    json: bool
    document: Answer


@dataclass
class Desk:
    """The problem, its plans, the search and the run; its methods are the requests.

    Attributes
    ----------
    limits
        The limits of the server.
    send
        Sends an event to the server.
    is_called
        Whether a request waits.
    """

    limits: ServeParameters
    send: Callable[[Answer], None]
    is_called: Callable[[], bool]
    folder: str = "."
    interrupter: Interrupter = field(default_factory=Interrupter)
    problem: HCSSP | None = None
    waiting: Search | None = None
    latest: Plan | None = None
    plans: dict[int, Plan | Stored] = field(default_factory=dict)
    run: Run | None = None
    followed: int = 0
    trail: list[list[int]] = field(default_factory=list)
    steps: int = 0

    def make(
        self,
        builtin: str | None,
        parameters: Mapping[str, float],
        scale: int,
        site: str | None,
        content: str | None,
        stops: Sequence[str],
    ) -> Answer:
        """The text of a built-in problem, a mission on the map of a robot fleet, or an empty problem."""
        if site is not None:
            return {"text": mission(read_site(site, content), stops)}
        if builtin is None:
            return {"text": BLANK.read_text(encoding="utf-8")}
        return {"text": find_scenario(builtin).file_to_begin(scale, **parameters)[0]}

    def places(self, site: str, content: str | None) -> Answer:
        """The places of the map of a robot fleet, between which a mission can be."""
        return {"places": list(read_site(site, content).places)}

    def load(
        self, text: str, operations: Sequence[Mapping[str, Any]], json: bool, name: str, folder: str
    ) -> Answer:
        """Edit a text and read it: its document, its errors, and its drawing.

        Files that it names must lie in `folder` or below.
        """
        self.folder = folder
        is_large = len(text) > self.limits.edited_bytes
        if operations and is_large:
            most = f"{self.limits.edited_bytes:,}"
            raise InvalidProblem([f"operations edit texts up to {most} characters; edit this text itself"])
        if operations:
            text = edited(text, operations, json=json)
        self.problem = self.waiting = None
        document: Any = None
        drawing: str | None = None
        errors: list[str] = []
        try:
            if not is_large:
                document = document_of(text, json=json)
            problem = load_text(text, self.folder, json=json)
            named = problem if problem.name != "problem" else problem.named(name, problem.description)
            drawing = as_json(drawing_of(named, document))
            self.problem = named
        except InvalidProblem as error:
            errors = list(error.violations)
        except HcsspError as error:
            errors = [str(error)]
        found = [finding(each, document) for each in errors]
        return {"text": text, "document": document, "errors": found, "drawing": drawing}

    def search(self, plan: int, revision: int, gap: float, time_limit: float, kept: Sequence[int]) -> Answer:
        """Start a search; it runs while there is nothing else to do. Other plans than `kept` are dropped."""
        if self.problem is None:
            raise NoSolution("the problem has errors; correct them first")
        self.plans = {number: known for number, known in self.plans.items() if number in kept}
        self.waiting = Search(plan, revision, gap, time_limit)
        return {}

    def stop(self) -> Answer:
        """End the search; its best plan is kept."""
        if self.waiting is not None:
            self._ended(self.waiting, "stopped", "The search was stopped.", self.latest)
        return {}

    def go_on(self) -> None:
        """Search until it is over, or a request comes."""
        search, problem = self.waiting, self.problem
        if search is None or problem is None:
            return
        self.interrupter.reset()
        if self.is_called():
            return
        began = time.perf_counter()
        stop: list[StopCriterion] = [
            Gap(search.gap),
            MaxRuntime(max(0.0, search.time_limit - search.spent)),
            MaxMemory(self.limits.search_bytes),
            self.interrupter,
        ]
        try:
            plan = self._searched(problem, stop, lambda progress: self._report(search, problem, progress))
        except DeadEnd as error:
            plan = Plan.of_dead_end(problem, error)
        except HcsspError as error:
            self._ended(search, "failed", str(error), None)
            return
        search.spent += time.perf_counter() - began
        self.latest = plan
        is_over = plan.ending.reason is not Reason.INTERRUPTED
        if plan.found:
            self._keep(search.plan, plan)
            self._announce(search, plan, is_over)
        if is_over:
            status = "infeasible" if plan.status is Status.INFEASIBLE else "done"
            self._ended(search, status, why_it_stopped(plan) if plan.found else plan.message, plan)

    def _searched(
        self, problem: HCSSP, stop: list[StopCriterion], on_progress: Callable[[Progress], object]
    ) -> Plan:
        """Search from the last plan on, with all that its problem has in common with this one."""
        known = self.latest
        if known is None:
            return solve(problem, stop=stop, on_progress=on_progress)
        if same_but_for_bounds(known.problem, problem):
            start = known if known.found else None
            # The regions of the very same search are not split again.
            record = known.record if known.problem is problem else None
            return solve(*(problem, None, stop, on_progress), start=start, memory=known.memory, record=record)
        try:
            return known.replan(problem=problem, stop=stop, on_progress=on_progress)
        except InvalidProblem:
            # It is of another kind.
            return solve(problem, stop=stop, on_progress=on_progress)

    def _keep(self, number: int, plan: Plan) -> None:
        """Keep a plan; older plans lose their memory, and the oldest of too many are dropped."""
        for other, older in self.plans.items():
            if other != number and isinstance(older, Plan):
                self.plans[other] = replace(older, memory=Memory(), record=SearchRecord())
        self.plans[number] = plan
        while len(self.plans) > self.limits.plans:
            del self.plans[min(self.plans)]

    def _report(self, search: Search, problem: HCSSP, progress: Progress) -> None:
        """Send progress, not too often, and pages of better plans, which take a small share of the time."""
        now = time.perf_counter()
        waited, policy = now - search.reported, progress.incumbent
        is_due = search.seq == 0 or waited * self.limits.page_share >= search.page_cost
        if policy is not None and policy is not search.shown and is_due:
            search.shown = policy
            proof = Interval(float(progress.lower_bound), float(progress.upper_bound))
            plan = Plan(policy.problem, policy, proof=proof, seconds=progress.seconds).evaluated()
            self._announce(search, plan, complete=False)
            search.page_cost = time.perf_counter() - now
        elif waited < self.limits.progress_seconds:
            return
        search.reported = time.perf_counter()
        aim = Aim.of(problem)
        self._send_search(
            search,
            "searching",
            seconds=search.spent + progress.seconds,
            limit=plain(aim.limit(float(progress.lower_bound))),
            own=plain(aim.judged(float(progress.upper_bound))),
            gap=plain(progress.gap),
            iterations=progress.iterations,
            open=progress.open_nodes,
        )

    def _ended(self, search: Search, status: str, words: str, plan: Plan | None) -> None:
        self.waiting = None
        known: Answer = {}
        if plan is not None:
            known = {"limit": plain(limit(plan)), "own": plain(own(plan)), "gap": plain(plan.gap)}
            known["iterations"] = plan.iterations
        self._send_search(search, status, seconds=search.spent, words=words, **known)

    def _send_search(self, search: Search, status: str, **known: Any) -> None:
        nothing = dict.fromkeys(("limit", "own", "gap", "open"))
        about = {
            "status": status,
            "plan": search.plan,
            "revision": search.revision,
            "memory": resident_memory(),
        }
        self.send({"event": "search", "search": {**nothing, "iterations": 0, "words": "", **about, **known}})

    def _announce(self, search: Search, plan: Plan, complete: bool) -> None:
        """Send a plan with its page; while a search is under way without what takes long."""
        search.seq += 1
        options = {"runs": self.limits.runs, "samples": self.limits.samples, "whole": True}
        page = page_data(plan, **(options if complete else QUICK))
        about = {"plan": search.plan, "seq": search.seq, "revision": search.revision, "complete": complete}
        head = {**about, **figures(plan)}
        document = as_json(plan_document(plan))
        self.send({"event": "plan", "head": head, "page": as_json(page), "document": document})

    def restore(self, plan: int, text: str, json: bool, document: Answer) -> Answer:
        """Know a plan that an earlier worker has found; it is read when it is needed."""
        self.plans[plan] = Stored(text, json, document)
        return {}

    def _plan(self, number: int | None) -> Plan:
        """A plan by its number; None for the newest."""
        number = max(self.plans, default=0) if number is None else number
        if number not in self.plans:
            if not self.plans:
                raise NoSolution("there is no plan yet; wait for the search")
            raise UnknownName("plan", str(number), map(str, self.plans))
        found = self.plans[number]
        if isinstance(found, Stored):
            problem = load_text(found.text, self.folder, json=found.json)
            found = self.plans[number] = plan_of(shaped(found.document, PlanDocument), problem)
        return found

    def warm(self, plan: int) -> Answer:
        """Begin the next search from a plan that was restored."""
        with suppress(HcsspError):
            self.latest = self._plan(plan)
        return {}

    def report(self, plan: int | None, points: int, time_limit: float) -> Answer:
        """A whole report page."""
        found = self._plan(plan)
        return {"html": page_html(page_data(found, *curves_around(found, None, points, time_limit)))}

    def certificate(self, plan: int | None) -> Answer:
        """The certificate of a plan, a file in base64."""
        return {"file": b64encode(to_bytes(self._plan(plan).certificate)).decode("ascii")}

    def why(self, plan: int | None, at: Any, time_limit: float) -> Answer:
        """The costs of the alternatives at a place."""
        return why_answer(self._plan(plan), at, time_limit)

    def best(self, plan: int | None, count: int, time_limit: float) -> Answer:
        """The best plans."""
        return best_answer(self._plan(plan), count, time_limit)

    def curve(self, plan: int | None, constraint: str | None, points: int, time_limit: float) -> Answer:
        """The plans along the curve of a bound."""
        return curve_answer(self._plan(plan), constraint, points, time_limit)

    def robust(self, plan: int | None, within: float) -> Answer:
        """The worst case if probabilities may be wrong."""
        return robust_answer(self._plan(plan), within)

    def simulate(self, plan: int | None, runs: int, seed: int, play: int) -> Answer:
        """The distribution of costs, and some runs step by step."""
        return simulate_answer(self._plan(plan), runs, seed, play)

    def compare(self, first: int, second: int) -> Answer:
        """What two plans do otherwise."""
        return comparison(self._plan(first), self._plan(second))

    def run_start(self, plan: int | None, seed: int) -> Answer:
        """Begin to follow a plan."""
        found = self._plan(plan)
        run = found.start(seed=seed, time_limit=self.limits.ask_seconds)
        with suppress(HcsspError):
            # At its first event, unless a single problem may begin in several states.
            run.step()
        self.followed = max(self.plans) if plan is None else plan
        self.run, self.trail, self.steps = run, [], 0
        return self.run_state()

    def run_step(self, observation: Any, outcome: str | None, used: Mapping[str, float]) -> Answer:
        """Pass an observation."""
        run = self._running()
        run.step(observed(run, observation), outcome=outcome, **used)
        self.steps += 1
        return self.run_state()

    def run_replan(
        self,
        deadline: float,
        spent: Mapping[str, float] | None,
        used: Mapping[str, float] | None,
        problem: str,
    ) -> Answer:
        """Plan the rest again within a deadline, perhaps for the problem as it is now."""
        run = self._running()
        if problem == "edited" and self.problem is None:
            raise NoSolution("the edited problem has errors; correct them first")
        world = self.problem if problem == "edited" else None
        self.run = run.replan(world, spent, used, time_limit=deadline, gap=self.limits.gap)
        plan = plan_of_run(self.run)
        words = "There is a new plan for the rest."
        if plan.kept and plan.gap <= self.limits.gap:
            words = "The old plan is kept: it is still the best one."
        elif plan.kept:
            words = "The old plan is kept: no better one was found in time."
        self.trail = []
        changed = {"replanned": {"kept": plan.kept, "words": words}, "page": page_data(plan, **QUICK)}
        return {**self.run_state(), **changed}

    def run_outlook(self, runs: int, seed: int) -> Answer:
        """The distribution of the costs of the rest."""
        return rest_answer(self._running(), runs, seed)

    def run_end(self) -> Answer:
        """Forget the run."""
        self.run = None
        return {}

    def run_state(self) -> Answer:
        """Where the run is."""
        state = run_answer(self._running())
        place = None if state["cell"] is None else [state["index"], *state["cell"]]
        if place is not None and (not self.trail or self.trail[-1] != place):
            self.trail = [*self.trail, place][-self.limits.trail :]
        about = {"plan": self.followed, "steps": self.steps, "trail": self.trail}
        return {**about, "page": None, "replanned": None, **state}

    def _running(self) -> Run:
        if self.run is None:
            raise NoSolution("no run was started; start one first")
        return self.run


class Worker:
    """The process: a thread that receives, and the main thread that works."""

    def __init__(self, limits: ServeParameters, receiving: IO[str], sending: IO[str]) -> None:
        self._requests: queue.Queue[Answer] = queue.Queue()
        self._receiving, self._sending = receiving, sending
        self._is_asked = False
        self._limits = limits
        self.desk = Desk(limits, self._send, lambda: not self._requests.empty())

    def work(self) -> None:
        """Work until the input ends."""
        signal.signal(signal.SIGINT, self._give_up)
        for task in (self._receive, self._watch_memory):
            threading.Thread(target=task, daemon=True).start()
        self._send({"event": "ready"})
        while True:
            if self.desk.waiting is not None and self._requests.empty():
                self._safely(None, self.desk.go_on)
                continue
            request = self._requests.get()
            self._send({"id": request["id"], "begun": True})
            work = partial(getattr(self.desk, request["do"]), **request["with"])
            if request["do"] in GIVING_UP:
                self._safely(request["id"], work)
            else:
                self._safely(request["id"], partial(self._until_given_up, work))

    def _until_given_up(self, question: Callable[[], Answer]) -> Answer:
        """The answer to a question; a keyboard interrupt gives it up, and comes at no other time."""
        try:
            self._is_asked = True
            with self._requests.mutex:
                is_too_late = any(each["do"] in GIVING_UP for each in self._requests.queue)
            # What was received before may have interrupted nothing.
            if is_too_late:
                raise KeyboardInterrupt
            return question()
        finally:
            self._is_asked = False

    def _safely(self, number: int | None, work: Callable[[], Answer | None]) -> None:
        """Do some work, and send its answer or why there is none."""
        try:
            answer: Answer = {"answer": work()}
        except HcsspError as error:
            answer = {"error": str(error), "kind": type(error).__name__}
        except KeyboardInterrupt:
            # Results of an interrupted question may be incomplete.
            if self.desk.latest is not None:
                self.desk.latest = replace(self.desk.latest, memory=Memory(), record=SearchRecord())
            answer = {"error": "an edit interrupted the question; ask again", "kind": "Interrupted"}
        except MemoryError as error:
            answer = {
                "error": f"there is not enough memory for this ({error}); ask for less",
                "kind": "Memory",
            }
        except Exception as error:  # noqa: BLE001  a fault of one request must not end the session
            traceback.print_exc()
            answer = {"error": f"a bug in hcssp: {type(error).__name__}: {error}", "kind": "Fault"}
        if number is not None:
            self._send({"id": number, **answer})
        elif "error" in answer and self.desk.waiting is not None:
            self.desk._ended(self.desk.waiting, "failed", answer["error"], None)

    def _send(self, message: Answer) -> None:
        self._sending.write(as_json(message) + "\n")
        self._sending.flush()

    def _receive(self) -> None:
        for line in self._receiving:
            request = json.loads(line)
            self._requests.put(request)
            self.desk.interrupter.interrupt()
            if self._is_asked and request["do"] in GIVING_UP:
                _thread.interrupt_main()
        # The server is gone.
        os._exit(0)

    def _give_up(self, number: int, frame: object) -> None:
        if self._is_asked:
            self._is_asked = False
            raise KeyboardInterrupt

    def _watch_memory(self) -> None:
        while True:
            time.sleep(self._limits.watch_seconds)
            if resident_memory() > self._limits.worker_bytes:
                os._exit(OUT_OF_MEMORY)


def read_site(file: str, content: str | None) -> Site:
    """The map of a robot fleet, of Open-RMF or a route graph of Nav2 in GeoJSON: a file, or its content."""
    if content is not None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / Path(file).name
            path.write_text(content, encoding="utf-8")
            return read_site(str(path), None)
    return read_route_graph(file) if file.endswith(".geojson") else read_building(file)


def as_json(value: object) -> str:
    """A value as JSON; the server passes pages and plans on as they are."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def limit_memory(limits: ServeParameters) -> None:
    """Let a lack of memory be this process's and no other's, as far as the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = limits.address_bytes if most == resource.RLIM_INFINITY else min(most, limits.address_bytes)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def main() -> None:
    """Run a worker: its argument is the limits as JSON."""
    limits = ServeParameters(**json.loads(sys.argv[1]))
    limit_memory(limits)
    work_in_one_thread()
    # Text that is printed by mistake must not be read as an answer.
    sending = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    receiving = os.fdopen(os.dup(0), "r", encoding="utf-8")
    Worker(limits, receiving, sending).work()


if __name__ == "__main__":
    main()
