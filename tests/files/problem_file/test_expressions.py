"""Arithmetic is computed exactly, by a parser that no text can take far."""

from __future__ import annotations

import ast
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcssp.files.problem_file.arithmetic import (
    DEEPEST,
    LONGEST,
    ExpressionError,
    evaluate,
    looks_like_expression,
    names_in,
)

VALUES = {"a": Fraction(1, 3), "b_2": Fraction(-7, 10), "c": Fraction(5)}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def by_python(text: str) -> Fraction:
    """The value by Python's own parser."""

    def value(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            return Fraction(OPERATORS[type(node.op)](value(node.left), value(node.right)))
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand) if isinstance(node.op, ast.USub) else value(node.operand)
        if isinstance(node, ast.Name):
            return VALUES[node.id]
        assert isinstance(node, ast.Constant)
        return Fraction(str(node.value))

    return value(ast.parse(text.strip(), mode="eval").body)


ATOMS = st.sampled_from(["a", "b_2", "c", "1", "2.5", ".5", "0", "3e-2", "10"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: (
        st.tuples(inner, st.sampled_from([" + ", "-", "*", " / ", " - "]), inner).map("".join)
        | inner.map("({})".format)
        | inner.map("-{}".format)
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_it_is_the_value_that_python_computes(text: str) -> None:
    try:
        expected = by_python(text)
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="it divides by zero"):
            evaluate(text, VALUES)
        return
    assert evaluate(text, VALUES) == expected
    plain = all(character in "0123456789.e-+ " for character in text) and not {"*", "/"} & set(text)
    assert looks_like_expression(text) or plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("15%", Fraction(3, 20)),
        ("(c + 5)%", Fraction(1, 10)),
        ("- -a", Fraction(1, 3)),
        ("1 - a * 2 / 4", Fraction(5, 6)),
        ("8 / 2 / 2", Fraction(2)),
        ("1 - 1/3 - 1/3 - 1/3", Fraction(0)),
        ("  2 *( a+a )", Fraction(4, 3)),
    ],
)
def test_what_is_written_is_meant(text: str, value: Fraction) -> None:
    assert evaluate(text, VALUES) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 - bb_2", "there is no parameter 'bb_2'; did you mean 'b_2'?"),
        ("1 / (a - a)", "it divides by zero"),
        ("1 / 0%", "it divides by zero"),
        ("(1 + a", "a parenthesis is not closed"),
        ("1 + a)", "there is an operator missing before ')'"),
        ("2 a", "there is an operator missing before 'a'"),
        ("1 +", "it ends too early"),
        ("", "it ends too early"),
        ("* 2", "there is nothing before '*'"),
        ("a ** 2", "there is nothing before '*'"),
        ("a ^ 2", "'^' is not a part of a number, a name or + - * / ( ) %"),
        ("a.b", "'.' is not a part of a number"),
        ("__import__('os')", '"\'" is not a part of a number'),
        ("1e999", "its value is too large for a number"),
        ("(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1), f"its parentheses are more than {DEEPEST} deep"),
        ("1+" * LONGEST + "1", f"it has more than {LONGEST} characters"),
        (" * ".join(["1.2345678901234567890123456789e99"] * 4), "its value is too large for a number"),
        (" / ".join(["1.2345678901234567890123456789012345678e-999"] * 10), "too many digits"),
    ],
)
def test_what_has_no_value_is_told(text: str, told: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        evaluate(text, VALUES)
    assert told in str(raised.value)


def test_signs_and_percents_are_no_nesting() -> None:
    assert evaluate("-" * 400 + "a", VALUES) == VALUES["a"]
    assert evaluate("1" + "%" * 100, VALUES) == Fraction(1, 100**100)


@pytest.mark.parametrize(
    "text", ["0.1", " -3 ", "1e-3", "inf", "1 in 5", "75 per cent", "a.csv", "", "é", "1 -"]
)
def test_what_is_no_arithmetic(text: str) -> None:
    assert not looks_like_expression(text)


def test_a_long_text_is_looked_at_quickly() -> None:
    # Nothing that backtracks: both end, and neither is arithmetic.
    assert not looks_like_expression("((" * 240 + "!")
    assert not looks_like_expression("1+" * 240 + "!")


def test_names_are_told_once_and_in_order() -> None:
    assert names_in("b * 2e3 - (a + b)") == ["b", "a"]
