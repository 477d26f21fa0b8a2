"""The published schema and the loader agree: on what is valid, and on what kinds of things are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.files.problem_file.format import schema_text
from hcssp.files.problem_file.loading import load_text
from hcssp.scenarios.scenario import scenarios
from plain_documents import plain_document
from tiny_scenarios import TINY

HERE = Path(__file__).parent
VALID = (HERE / "valid.yaml").read_text(encoding="utf-8")
CASES = yaml.safe_load((HERE / "malformed.yaml").read_text(encoding="utf-8"))
SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_text()))

# What a schema cannot see: whether names exist, numbers fit together, a key stands twice, a text is one
# that YAML spells with a tag, and what is no number at all.
SEMANTIC = (
    "there is no cost",
    "there is no place",
    "there is no state",
    "there is no event",
    "there is no model or activity",
    "there is no activity",
    "there is no file",
    "has no cost",
    "has no meaning",
    "has a space in it",
    "has 7 characters",
    "no activity has the secondary cost",
    "is the cost to minimise",
    "does not lie inside",
    "lies outside",
    "lies in the wall",
    "is a corner",
    "cells; at most",
    "which is more than 1",
    "sum to",
    "stands here a second time",
    "begins or ends with a space",
    "not a text; put it in quotes",
    "leads out of the problem's folder",
    "is missing, here and in the model",
    "go in a circle",
    "which has no actions and is no goal",
    "is run on line",
    "no outcome runs this activity",
    "there is nothing to choose",
    "cannot be reached",
    "is not reached with certainty",
    ".nan is not",
    "-.inf is not",
    "cannot draw a place",
    "the key 'procedure' is missing; with",
    "'120%' is not",
    "'1/0' is not",
    # A parameter might be called so.
    "'five' is not",
    "'x' is not a whole number",
    "'four' is not",
    "'below' is not a whole number",
    "only a capacity can be given back",
)
SYNTACTIC = ("not YAML", "the tag", "the alias", "second document", "nested more than", "cannot be a key")


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_it_accepts_what_is_valid() -> None:
    SCHEMA.validate(plain_document(VALID))
    for name, settings in TINY.items():
        SCHEMA.validate(json.loads(dump_problem(scenarios()[name].make(**settings), style="json")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['change'].strip()} > {case['to'].strip()}")
def test_it_refuses_what_is_malformed(case: dict[str, Any]) -> None:
    if any(mark in said for said in case["says"] for mark in SYNTACTIC):
        return
    valid = SCHEMA.is_valid(plain_document(VALID.replace(case["change"], case["to"])))
    only_semantic = all(any(mark in said for mark in SEMANTIC) for said in case["says"])
    assert valid == only_semantic, case["says"]


VARIANTS = [
    "activities: {a: {grid: {map: [S.G]}}}",
    "activities: {a: {grid: {map: S.G, slip: 0.1, step_cost: 2}, description: x}}",
    "activities: {a: {grid: {width: 2, height: 1, walls: []}, start: [1, 1], goal: [[2, 1]]}}",
    "activities: {a: {table: {x: {go: {to: y}}, y: }, start: x, goal: [y]}}",
    "activities: {a: {table: {x: {go: {to: {y: 1}}}}, start: [{at: x, probability: 1}], goal: y}}",
    "models: {m: {grid: {map: S.G}, position: [-3, 4]}}\nactivities: {a: {model: m}}",
    "activities: {a: {grid: {map: S.G}}}\nconstraints: {}",
    'activities: {a: {grid: {map: S~G, hazards: {"~": {time: 1, exit: {lost: 1%}}}, exit: {off: 0.1}}}}',
    "activities: {a: {grid: {map: S.G, hazards: {x: {exit: 3}}}, costs: [time, exit]}}",
    "models: {m: {grid: {map: S.G}}}\nactivities: {a: {model: m, slip: 0.1, step_cost: 2, exit: {off: 0.1}}}",
    "models: {m: {table: {x: {go: {to: y}}}, start: x, goal: y}}\n"
    "activities: {a: {model: m, actions: {x: {go: {to: y, costs: {time: 1}}}}}}",
    "activities: {a: {table: {x: {go: {to: {y: 1/2, z: 1/2}}}}, start: x, goal: [y, z], give_up: {}}}\n"
    "procedure: {start: e, end: f, events: {e: {go: {runs: a, to: {y: f, z: g}}}, g: {go: {to: f}}}}",
    "units: {time: min}\nactivities: {a: {grid: {map: S.G}}}",
    "capacities: {b: {at_most: 9, step: 1/2, probability: 5%}}\n"
    "activities: {a: {grid: {map: S.G, step_cost: {time: 1, b: 1}}, entries: {x: [1, 1]}}}",
    "activities: {a: {grid: {map: S.G, slip: 15%, step_cost: {time: 1/3}}}}",
    "parameters: {p: 0.2, q: 1 - p, n: 3, one: 100%}\n"
    "activities: {a: {grid: {width: n + 1, height: 2 * n, slip: (p + q) / 4, walls: [[n, 2, one, 1]]}, "
    "start: [{at: [1, n], probability: p}, {at: [1, 1], probability: q}], goal: [[n, 2 + 1], [n, 1]]}}",
    "activities: {}\nprocedure: {start: a, end: b, events: {a: {go: [{to: b}]}, b: }}",
    "activities: {}\nprocedure: {start: a, end: a, events: {}}",
    "activities: {a: {grid: {map: S.G, intended: 1}, costs: [t, u]}}\nconstraints: {u: {at_most: .inf}}",
]


@pytest.mark.parametrize("body", VARIANTS)
def test_both_accept_every_way_to_say_it(body: str) -> None:
    text = f"format: hcssp-problem\nversion: 1\ncosts: [time]\n{body}\n"
    load_text(text)
    SCHEMA.validate(plain_document(text))


REFUSED = [
    "activities: {a: {grid: {map: S.G, slip: 0.1, intended: 0.9}}}",
    "activities: {a: {grid: {map: S.G, walls: []}}}",
    "activities: {a: {grid: {map: []}}}",
    "activities: {a: {grid: {map: S.G, hazards: {ab: {}}}}}",
    "activities: {a: {grid: {map: S.G}, table: {x: {}}}}",
    "activities: {a: {table: {}, start: x, goal: y}}",
    "activities: {a: {table: {x: {go: {to: y}}}, position: [1, 1], start: x, goal: y}}",
    "activities: {a: {grid: {map: S.G}, start: []}}",
    "activities: []",
    "activities: {a: {grid: {map: S.G}}}\nprocedure: []",
    "activities: {a: {grid: {map: S.G}}}\nconstraints: [1]",
    "activities: {a: {grid: {map: S.G}}}\nmodels: 3",
    "activities: {a: {grid: {map: S.G, exit: {}}}}",
    "activities: {a: {grid: {map: S.G}}}\ncapacities: {b: 9}",
    "activities: {a: {grid: {map: S.G, slip: 1 - }}}",
    "activities: {a: {grid: {map: S.G, slip: '0.1'}}}",
    "parameters: {1st: 2}\nactivities: {a: {grid: {map: S.G}}}",
    "parameters: {p: true}\nactivities: {a: {grid: {map: S.G}}}",
    "parameters: [1]\nactivities: {a: {grid: {map: S.G}}}",
    "activities: {a: {grid: {map: S.G}}}\ncapacities: {b: {step: 1}}",
    "activities: {a: {grid: {map: S.G, exit: 3}}}",
    "activities: {a: {grid: {map: S.G}, slip: 0.1}}",
    "activities: {a: {grid: {width: 2, height: 1, hazards: [{at: [1, 1, 1, 1]}]}, start: [1, 1], goal: x}}",
    "activities: {a: {grid: {map: S.G}}}\nprocedure: {start: e, end: f, events: {e: {go: {to: {}}}}}",
]


@pytest.mark.parametrize("body", REFUSED)
def test_both_refuse(body: str) -> None:
    text = f"format: hcssp-problem\nversion: 1\ncosts: [time]\n{body}\n"
    assert not SCHEMA.is_valid(plain_document(text))
    with pytest.raises(InvalidProblem):
        load_text(text)
