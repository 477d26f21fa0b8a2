"""PPDDL: what files mean, against problems stated by hand and figures worked out on paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hcssp
from hcssp.cli import main
from hcssp.exchange.ppddl_model import from_ppddl

FOLDER = Path(__file__).parents[2] / "examples" / "ppddl"
HEAD = "(define (domain d) (:requirements :adl :fluents :probabilistic-effects)"


@pytest.fixture
def made(tmp_path: Path):  # type: ignore[no-untyped-def]
    def make(domain: str, problem: str, **options: object) -> hcssp.CSSP:
        file = tmp_path / "both.pddl"
        file.write_text(f"{HEAD} {domain})\n(define (problem p) (:domain d) {problem})", encoding="utf-8")
        return from_ppddl(file, **options)  # type: ignore[arg-type]

    return make


def successors(problem: hcssp.CSSP, state: str, action: str) -> dict[object, float]:
    (row,) = [
        row
        for row in range(problem.num_rows)
        if (problem.state_labels[problem.row_state[row]], problem.action_labels[row]) == (state, action)
    ]
    dense = problem.transitions[[row]].toarray()[0]
    return {problem.state_labels[state]: float(dense[state]) for state in dense.nonzero()[0]}


@pytest.mark.parametrize(
    ("name", "options", "states", "bound", "costs"),
    [
        ("blocks", {}, 125, {"scratches": 0.75}, (28.5, 0.75)),
        ("tireworld", {"give_up": {"failure": 1}}, 96, {"failure": 0.2}, (63.44, 0.62, 0.1355)),
        ("elevators", {}, 572, {"energy": 15}, (166 / 3, 14.25)),
        ("rescue", {}, 24, {"danger": 0.2}, (22.0, 0.1)),
        ("exploding-blocks", {"give_up": {"failure": 1}}, 774, {"failure": 0.05}, (42.0, 1.04, 0.04)),
    ],
)
def test_five_domains_with_a_bound(
    name: str, options: dict[str, dict[str, float]], states: int, bound: dict[str, float], costs: tuple[float]
) -> None:
    problem = from_ppddl(FOLDER / f"{name}.pddl", FOLDER / f"{name}-problem.pddl", bounds=bound, **options)
    assert problem.num_states == states
    plan = hcssp.solve(problem)
    assert plan.status is hcssp.Status.OPTIMAL
    assert plan.keeps_bounds()
    assert plan.evaluate().costs.tolist() == pytest.approx(costs)
    # The bound bites: without it things go faster.
    assert hcssp.solve(problem.with_bounds(dict.fromkeys(bound, 1e9))).upper_bound < plan.upper_bound - 1e-6


def test_the_tyres_are_those_of_a_problem_stated_by_hand() -> None:
    roads = {
        ("home", "hill"): 10, ("hill", "pass"): 10, ("pass", "town"): 10, ("home", "village"): 15,
        ("village", "farm"): 15, ("farm", "mill"): 15, ("mill", "town"): 15, ("hill", "farm"): 12,
        ("pass", "mill"): 12,
    }  # fmt: skip
    spares = frozenset({"village", "farm", "mill", "pass"})

    def actions(state):  # type: ignore[no-untyped-def]
        place, left, aboard, flat = state
        loading = ["load"] if place in left and not aboard else []
        if flat:
            return ["change"] if aboard else loading or ["give up"]
        return loading + [(how, to) for how in ("drive", "crawl") for from_, to in roads if from_ == place]

    def transitions(state, action):  # type: ignore[no-untyped-def]
        place, left, aboard, flat = state
        if action == "give up":
            return {"lost": 1.0}
        if action == "change":
            return {(place, left, False, False): 1.0}
        if action == "load":
            return {(place, left - {place}, True, flat): 1.0}
        how, to = action
        chance = 0.3 if how == "drive" else 0.05
        return {(to, left, aboard, False): 1.0 - chance, (to, left, aboard, True): chance}

    def costs(state, action):  # type: ignore[no-untyped-def]
        if isinstance(action, str):
            return {"change": (20, 0, 0), "load": (5, 0, 0), "give up": (0, 0, 1)}[action]
        how, to = action
        return roads[state[0], to] * (1 if how == "drive" else 3), 0.3 if how == "drive" else 0.05, 0

    by_hand = hcssp.explore(
        ("home", spares, False, False), actions, transitions, costs,
        lambda state: state == "lost" or (state[0] == "town" and not state[3]),
        cost_names=("minutes", "flats", "failure"), bounds={"failure": 0.1},
    )  # fmt: skip
    read = from_ppddl(
        FOLDER / "tireworld.pddl", FOLDER / "tireworld-problem.pddl",
        give_up={"failure": 1}, bounds={"failure": 0.1},
    )  # fmt: skip
    first, second = hcssp.solve(by_hand), hcssp.solve(read)
    assert first.status is second.status is hcssp.Status.OPTIMAL
    assert second.evaluate().costs.tolist() == pytest.approx(first.evaluate().costs.tolist())


def test_effects_beside_each_other_are_independent_and_nested_ones_multiply(made) -> None:  # type: ignore[no-untyped-def]
    problem = made(
        """(:predicates (a) (b) (c) (done)) (:action toss :parameters () :precondition (not (done))
             :effect (and (done) (probabilistic 0.5 (a)) (when (not (c)) (probabilistic 0.25 (b)))
                     (probabilistic 0.5 (probabilistic 0.5 (c) 0.5 (and)))))""",
        "(:init) (:goal (done))",
    )
    found = successors(problem, "()", "(toss)")
    assert found == pytest.approx(
        {
            "(done)": 0.5 * 0.75 * 0.75, "(a) (done)": 0.5 * 0.75 * 0.75,
            "(b) (done)": 0.5 * 0.25 * 0.75, "(a) (b) (done)": 0.5 * 0.25 * 0.75,
            "(c) (done)": 0.5 * 0.75 * 0.25, "(a) (c) (done)": 0.5 * 0.75 * 0.25,
            "(b) (c) (done)": 0.5 * 0.25 * 0.25, "(a) (b) (c) (done)": 0.5 * 0.25 * 0.25,
        }
    )  # fmt: skip


def test_outcomes_beside_conditional_effects_are_all_there(made) -> None:  # type: ignore[no-untyped-def]
    problem = made(
        """(:predicates (a) (b) (wet) (done)) (:functions (cost)) (:action go :parameters ()
             :effect (and (done) (when (wet) (increase (cost) 4))
                     (probabilistic 0.5 (and (a) (increase (cost) 2)) 0.3 (b))))""",
        "(:init (wet)) (:goal (done)) (:metric minimize (cost))",
    )
    # That it is wet never changes, and is not a part of a state.
    found = successors(problem, "()", "(go)")
    assert found == pytest.approx({"(a) (done)": 0.5, "(b) (done)": 0.3, "(done)": 0.2})
    assert problem.costs.tolist() == [[5.0]]


def test_outcomes_cost_what_they_increase(made) -> None:  # type: ignore[no-untyped-def]
    problem = made(
        """(:predicates (done) (a)) (:functions (cost))
           (:action go :parameters ()
             :effect (and (done)
                     (probabilistic 0.25 (and (a) (increase (cost) 8)) 0.25 (increase (cost) 4))))""",
        "(:goal (done)) (:metric minimize (cost))",
    )
    assert problem.costs.tolist() == [[3.0]]
    paid = problem.transition_costs
    assert sorted(zip(paid.probabilities.tolist(), paid.costs[0].tolist(), strict=True)) == [
        (0.25, 4.0),
        (0.25, 8.0),
        (0.5, 0.0),
    ]


def test_additions_come_after_deletions_and_increases_add_up(made) -> None:  # type: ignore[no-untyped-def]
    problem = made(
        """(:predicates (a) (done)) (:functions (cost) (n)) (:action go :parameters () :precondition (< (n) 2)
             :effect (and (a) (not (a)) (increase (cost) 1) (increase (cost) (n)) (increase (n) 1)))
           (:action end :parameters () :precondition (= (n) 2) :effect (done))""",
        "(:init (= (n) 0)) (:goal (done)) (:metric minimize (cost))",
    )
    # What is increased twice is increased by both, and values are those from before the action.
    assert problem.cost_names == ("cost",)
    assert list(problem.state_labels)[1] == "(a) (= (n) 1)"
    assert hcssp.solve(problem).upper_bound == 3.0


def test_quantifiers_types_constants_and_derived_predicates(made) -> None:  # type: ignore[no-untyped-def]
    problem = made(
        """(:types lamp - thing thing) (:constants main - lamp)
           (:predicates (lit ?x - lamp) (seen ?x - thing) (all-lit))
           (:derived (all-lit) (forall (?x - lamp) (lit ?x)))
           (:action light :parameters (?x - lamp)
             :precondition (and (not (lit ?x)) (imply (= ?x main) (exists (?y - lamp) (lit ?y))))
             :effect (and (lit ?x) (forall (?t - thing) (when (lit main) (seen ?t)))))
           (:action look :parameters () :precondition (all-lit) :effect (seen main))""",
        "(:objects second - lamp box - thing) (:init) (:goal (and (all-lit) (seen main)))",
    )
    # The main lamp only after the other one, so that nothing is seen until one looks.
    assert hcssp.solve(problem).upper_bound == 3.0
    assert problem.cost_names == ("steps",)


def test_numbers_that_something_depends_on_are_part_of_the_state(made) -> None:  # type: ignore[no-untyped-def]
    text = """(:predicates (there)) (:functions (fuel) (time) (hops ?x)) (:constants t)
           (:action hop :parameters () :precondition (>= (fuel) 2)
             :effect (and (decrease (fuel) 2) (increase (time) 1) (increase (hops t) 1)
                          (probabilistic 1/2 (there))))
           (:action fill :parameters () :precondition (< (fuel) 2)
             :effect (and (assign (fuel) 4) (increase (time) (* 2 (+ 1.5 (fuel))))))"""
    metric = "(:metric minimize (+ (time) (* 0.5 (hops t))))"
    problem = made(text, f"(:init (= (fuel) 2)) (:goal (there)) {metric}")
    assert problem.cost_names == ("metric", "time", "hops t")
    assert set(problem.state_labels) >= {"(= (fuel) 2)", "(= (fuel) 0)", "(there) (= (fuel) 0)"}
    # Two hops on average; the tank is empty after the first with 1/2, and after each further pair with 1/4.
    fills = 0.5 / 0.75
    assert hcssp.solve(problem).evaluate().costs.tolist() == pytest.approx([3 + 3 * fills, 2 + 3 * fills, 2])
    other = made(text, "(:init (= (fuel) 2)) (:goal (there))", minimise="hops t", bounds={"steps": 3})
    assert other.cost_names == ("hops t", "time", "steps")
    assert hcssp.solve(other).cost("steps") == pytest.approx(2 + fills)


def test_a_metric_that_is_maximised_is_a_reward(made) -> None:  # type: ignore[no-untyped-def]
    text = """(:predicates (home) (left ?x) (out)) (:functions (reward) (hours))
        (:action pick :parameters (?x) :precondition (left ?x)
          :effect (and (not (left ?x)) (increase (hours) 2)
                       (probabilistic 0.5 (increase (reward) 10) 0.25 (decrease (reward) 4))))
        (:action leave :parameters () :effect (and (home) (increase (hours) 1)))"""
    task = "(:objects a b c) (:init (left a) (left b) (left c)) (:goal (home)) {} (:metric maximize {})"
    problem = made(text, task.format("", "(reward)"), bounds={"hours": 5})
    assert problem.cost_names == ("reward missed", "reward", "hours", "reward lost")
    plan = hcssp.solve(problem)
    # Two can be picked in time, each worth 5 - 1 on average.
    assert (plan.reward.value, plan.cost("reward lost")) == pytest.approx((8.0, 2.0))
    free = hcssp.solve(problem.with_bounds(hours=100.0))
    assert free.reward.value == pytest.approx(12.0)
    with_goal = made(text, task.format("(:goal-reward 7)", "(- (reward) (* 3 (hours)))"))
    best = hcssp.solve(with_goal)
    # A pick costs 6 for its hours and brings 4; going home costs 3 and brings 7.
    assert best.reward.value == pytest.approx(4.0)
    assert best.cost("goal-reward") == pytest.approx(7.0)


def test_a_beginning_by_chance_is_a_distribution(made) -> None:  # type: ignore[no-untyped-def]
    problem = made(
        """(:predicates (wet) (lamp ?x) (cold) (done)) (:functions (fuel) (mass) (time)) (:constants a b)
           (:action walk :parameters () :precondition (not (wet))
             :effect (and (done) (increase (time) (mass))))
           (:action wade :parameters () :precondition (and (wet) (not (cold)) (> (fuel) 1))
             :effect (and (done) (increase (time) (+ (mass) (fuel) 1 2))))
           (:action rest :parameters () :precondition (and (wet) (<= (fuel) 1))
             :effect (and (not (wet)) (increase (time) (- (- 1)))))""",
        """(:init (not (cold)) (= (fuel) 1) (probabilistic 1/4 (and (wet) (= (fuel) 2)) 1/4 (wet))
             (probabilistic 0.5 (and (= (mass) 10) (lamp a)) 0.5 (and (= (mass) 20) (lamp b))))
           (:goal (done)) (:metric minimize (time))""",
    )
    begins = dict(zip(problem.state_labels, problem.initial.tolist(), strict=True))
    begins = {label: chance for label, chance in begins.items() if chance}
    assert begins == pytest.approx(
        {
            f"(lamp {lamp}){wet} (= (fuel) {fuel}) (= (mass) {mass})": chance
            for lamp, mass in (("a", 10), ("b", 20))
            for wet, fuel, chance in (("", 1, 0.25), (" (wet)", 1, 0.125), (" (wet)", 2, 0.125))
        }
    )
    # 15 on average; a quarter wades for 5 more, a quarter rests for 1 more.
    assert hcssp.solve(problem).upper_bound == pytest.approx(15 + 5 / 4 + 1 / 4)


def test_what_is_never_enumerated_begins_by_chance_as_well(tmp_path: Path) -> None:
    file = tmp_path / "both.pddl"
    effect = "(and (p) (when (q) (increase (c) 4)) (increase (c) 1))"
    task = "(define (problem p) (:domain d) (:init (probabilistic 0.25 (q))) (:goal (p)))"
    file.write_text(f"{HEAD} {go(effect)})\n{task}", encoding="utf-8")
    assert hcssp.solve(hcssp.implicit_ppddl(file)).upper_bound == pytest.approx(2.0)


def test_a_problem_with_rewards_need_not_declare_them(tmp_path: Path) -> None:
    file = tmp_path / "both.pddl"
    actions = """(:predicates (p) (q)) (:action go :parameters () :effect (p))
        (:action earn :parameters () :precondition (not (q)) :effect (and (q) (increase (reward) 3)))"""
    head = HEAD.replace(":adl", ":adl :mdp :numeric-fluents")
    task = "(define (problem p) (:domain d) (:goal (p)) (:goal-reward 10))"
    file.write_text(f"{head} {actions})\n{task}", encoding="utf-8")
    assert hcssp.solve(from_ppddl(file)).reward.value == pytest.approx(13.0)


def test_what_is_true_may_be_bounded_in_its_probability() -> None:
    files = FOLDER / "tireworld.pddl", FOLDER / "tireworld-problem.pddl"
    problem = from_ppddl(*files, give_up={"failure": 1}, bounds={"failure": 0.2})
    assert all("(flat)" in str(label) for label in problem.groups["(flat)"])
    flat = hcssp.with_probability(problem, "flat", of="(flat)", at_most=0.4)
    plan = hcssp.solve(flat)
    # A run in which it happens counts once, however many flats there are.
    assert plan.cost("flat") < plan.cost("flats")
    assert plan.upper_bound > hcssp.solve(problem).upper_bound


def test_a_dead_end_is_told_and_may_be_ended_at_a_price() -> None:
    files = FOLDER / "tireworld.pddl", FOLDER / "tireworld-problem.pddl"
    with pytest.raises(hcssp.errors.DeadEnd, match="no policy reaches a goal with certainty"):
        hcssp.solve(from_ppddl(*files))
    dear = hcssp.solve(from_ppddl(*files, give_up=1000.0))
    cheap = hcssp.solve(from_ppddl(*files, give_up=10.0))
    assert cheap.upper_bound < dear.upper_bound
    with pytest.raises(hcssp.InvalidProblem, match="more than 10 states are reachable"):
        from_ppddl(*files, max_states=10)


def go(effect: str) -> str:
    return f"(:predicates (p) (q)) (:functions (c)) (:action go :parameters () :effect {effect})"


GO = go("(p)")
DRAWN = "(:init (probabilistic 0.5 (= (c) 1)))"


@pytest.mark.parametrize(
    ("domain", "problem", "told"),
    [
        (GO, "(:init (r)) (:goal (p))", "there is no predicate 'r'; available: 'p', 'q'"),
        (GO, "(:init (p x)) (:goal (p))", "predicate 'p' takes 0 objects, but is given 1"),
        (GO, "(:goal (p)) (:metric minimize (d))", "'d' cannot be minimised, since no action increases it"),
        (GO, "(:init) (:goal (q))", "there is no goal"),
        (GO, "(:goal (p)) (:metric maximize (c))", "'c' cannot be maximised, since no action changes it"),
        (GO + ")", "(:goal (p))", "both.pddl: line 1: ')' after the end of the definition"),
        (go("(probabilistic 0.7 (p) 0.7 (q))"), "(:goal (p))", "action 'go': probabilities 0.7, 0.7 are"),
        (go("(and (p) (increase (c) (u)))"), "(:goal (p))", "action 'go': there is no function 'u'"),
        (go("(and (p) (increase (c) (c)))"), "(:goal (p))", "action (go): (c) has no value"),
        (go("(and (p) (assign (c) 1))"), "(:goal (p))", "(c) is a cost and is assigned to"),
        (go("(and (p) (decrease (c) 1))"), "(:goal (p))", "the cost 'c' is -1.0; costs must be"),
        (go("(and (p) (increase (c) 1))"), "(:init (= (c) 3)) (:goal (p))", "a cost begins at 0"),
        (GO.replace(":effect", ":precondition (q ?x) :effect"), "(:goal (p))", "'q' takes 0 objects"),
        (go("(p ?x)"), "(:goal (p))", "'p' takes 0 objects, but is given 1"),
        (GO + "(:derived (r) (r))", "(:goal (r))", "the derived predicate 'r' depends on itself"),
        (GO.replace("()", "(?x - car)", 1), "(:goal (p))", "there is no type 'car'"),
        (GO.replace(":parameters", ":foo"), "(:goal (p))", "action 'go': ':foo' is none of :parameters"),
        (GO.replace(":parameters", "(x)"), "(:goal (p))", "action 'go': '(x)' is none of :parameters"),
        (go("(when (p))"), "(:goal (p))", "line 1: (when (p)) has 1 parts, and needs 2"),
        (go("(and (p) (increase (c) 1e101))"), "(:goal (p))", "'1e101' is too large for a number"),
        (go("(and (p) (increase (c) (* 1e99 1e99)))"), "(:goal (p))", "the cost 'c' becomes too large"),
        (GO.replace("()", "(?x ?x)", 1), "(:goal (p))", "action 'go' has two parameters of one name"),
        (go("(probabilistic 0.5)"), "(:goal (p))", "lacks a probability or an effect"),
        (GO + "(:what (p))", "(:goal (p))", "line 1: (:what (p)) is not a part of a domain"),
        (go("7"), "(:goal (p))", "action 'go': line 1: '7' is no predicate"),
        (GO, "(:goal (p)", "ends too early"),
        (GO, "(:init (probabilistic 0.7 (p) 0.7 (q))) (:goal (p))", "probabilities 0.7, 0.7 are"),
        (GO, "(:init (probabilistic 0.5 (r))) (:goal (p))", "there is no predicate 'r'"),
        (GO, "(:init (probabilistic 0.5 (when (q) (p)))) (:goal (p))", "line 2: 'when' in :init"),
        (GO, "(:init (q) (probabilistic 0.5 (not (q)))) (:goal (p))", "(q) is true and false in :init"),
        (go("(and (p) (increase (c) 1))"), f"{DRAWN} (:goal (p))", "is left to chance in :init"),
        (go("(when (> (c) 1) (p))"), f"{DRAWN} (:goal (p))", "has no value if chance does not draw one"),
    ],
)  # fmt: skip
def test_mistakes_are_told(made, domain: str, problem: str, told: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(hcssp.InvalidProblem) as error:
        made(domain, problem)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("domain", "problem", "told"),
    [
        (GO + "(:durative-action a)", "(:goal (p))", "line 1: ':durative-action': actions that last; give"),
        (GO, "(:init (oneof (p) (q))) (:goal (p))", "line 2: 'oneof': outcomes without probabilities"),
        (GO, "(:goal (p)) (:metric minimize (* (c) (c)))", "is not a sum of costs with factors"),
    ],
)
def test_what_is_not_known_is_told_as_such(made, domain: str, problem: str, told: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(hcssp.errors.UnsupportedProblem) as error:
        made(domain, problem)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("name", "bound", "options"),
    [("blocks", {"scratches": 0.75}, {}), ("tireworld", {"failure": 0.1}, {"give_up": {"failure": 1}})],
)
def test_what_is_never_enumerated_has_the_same_optimum(
    name: str, bound: dict[str, float], options: dict[str, dict[str, float]]
) -> None:
    files = FOLDER / f"{name}.pddl", FOLDER / f"{name}-problem.pddl"
    lazily = hcssp.solve(hcssp.implicit_ppddl(*files, bounds=bound, **options))
    at_once = hcssp.solve(from_ppddl(*files, bounds=bound, **options))
    assert lazily.status is at_once.status is hcssp.Status.OPTIMAL
    assert lazily.upper_bound == pytest.approx(at_once.upper_bound)
    first = str(at_once.problem.state_labels[0])
    assert lazily.action(first) == at_once.action(first)


def test_a_reward_needs_a_look_at_everything(tmp_path: Path) -> None:
    file = tmp_path / "reward.pddl"
    effect = "(and (p) (increase (c) 1))"
    task = "(define (problem p) (:domain d) (:goal (p)) (:metric maximize (c)))"
    file.write_text(f"{HEAD} {go(effect)})\n{task}", encoding="utf-8")
    with pytest.raises(hcssp.errors.UnsupportedProblem, match="maximised only if everything is explored"):
        hcssp.implicit_ppddl(file)


def test_the_command_line_reads_a_problem_and_its_domain(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    task, domain = str(FOLDER / "tireworld-problem.pddl"), str(FOLDER / "tireworld.pddl")
    options = ["--give-up", "failure=1", "--bound", "failure=10%", "--costs", "steps", "--json", "--quiet"]
    assert main(["solve", task, "--domain", domain, *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["upper_bound"] == pytest.approx(69.14)
    assert set(told["constraints"]) == {"flats", "steps", "failure"}
    assert main(["solve", task]) == 2
    assert "there is no (define (domain ...))" in capsys.readouterr().err
    assert main(["solve", task, "--domain", domain, "--goal", "flat"]) == 2
    assert "states its constants and its goal itself" in capsys.readouterr().err
    assert main(["solve", "evacuation", "--domain", domain]) == 2
    capsys.readouterr()
    yaml = tmp_path / "mine.yaml"
    yaml.write_text("", encoding="utf-8")
    assert main(["solve", str(yaml), "--domain", domain]) == 2
    assert "only problems in PPDDL have a domain in a separate file" in capsys.readouterr().err


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hcssp.InvalidProblem, match=r"of the domain 'scratched-blocks', but .* is 'flat-"):
        from_ppddl(FOLDER / "tireworld.pddl", FOLDER / "blocks-problem.pddl")
    with pytest.raises(hcssp.InvalidProblem, match="there is no such file"):
        from_ppddl(tmp_path / "nowhere.pddl")
