"""Fractions and percentages are the nearest floats to what they say, wherever a number may stand."""

from __future__ import annotations

from fractions import Fraction
from math import fsum

import pytest

from hcssp.files.problem_file.arithmetic import exact_number
from hcssp.files.problem_file.loading import load_text
from hcssp.files.problem_file.tables import read_csv_table


def test_a_fraction_is_meant_exactly() -> None:
    for below in range(1, 40):
        for above in range(below + 1):
            assert exact_number(f"{above}/{below}") == Fraction(above, below)


def test_a_percentage_is_meant_exactly() -> None:
    # 0.1 * 3 / 100 would not be: what is written is divided before it is rounded.
    for tenths in range(1001):
        assert exact_number(f"{tenths // 10}.{tenths % 10}%") == Fraction(tenths, 1000)


@pytest.mark.parametrize(
    "text",
    ["", "%", "1/", "/3", "1/0", "0/0", "1/3/4", "1e-3%", "0x1/2", "1 /  3", "١/٣", "a/b"],
)
def test_what_is_neither(text: str) -> None:
    assert exact_number(text) is None


def test_rows_of_fractions_sum_to_one() -> None:
    text = """
    format: hcssp-problem
    version: 1
    costs: [time, harm]
    activities:
      dice:
        table:
          thrown:
            throw: {to: {low: 1/3, middle: 1/3, high: 1/3}, costs: {time: 1/7, harm: 250%}}
          low: {again: {to: thrown}}
          middle: {stop: {to: high}}
        start: [{at: thrown, probability: 2/3}, {at: middle, probability: 1/3}]
        goal: high
    constraints: {harm: {at_most: 1/3}}
    """
    problem = load_text(text)
    cssp = problem.activities[0].cssp
    assert fsum(cssp.transitions[[0]].data) == 1.0
    assert cssp.costs[:, 0].tolist() == [1 / 7, 2.5]
    assert cssp.initial.tolist() == [2 / 3, 0.0, 1 / 3, 0.0]
    assert problem.constraints[0].at_most == 1 / 3


def test_a_csv_file_has_them_too() -> None:
    found: list[object] = []
    lines = "state,action,next,probability,time\na,go,b, 1/3,50%\na,go,a,2/3,50%\n"
    model = read_csv_table(lines, ("time",), lambda *told: found.append(told), 10)
    assert model is not None
    assert not found
    assert sorted(model.table.transitions.data.tolist()) == [1 / 3, 2 / 3]
    assert model.table.costs.tolist() == [[0.5]]
