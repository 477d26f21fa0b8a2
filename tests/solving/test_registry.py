from __future__ import annotations

from inspect import signature

import pytest

from hcssp.errors import UnknownName
from hcssp.solving.registry import METHODS, find_method


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_called_what_its_solver_is_called(name: str) -> None:
    assert find_method(name).make().name == name


def test_options_reach_the_solver() -> None:
    assert find_method("budget-allocation").make(iterations=7).iterations == 7  # type: ignore[attr-defined]
    assert find_method("budget-allocation").make(mode="published").mode == "published"  # type: ignore[attr-defined]
    assert find_method("budget-allocation").make().mode == "sharp"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_the_options_that_it_lists(name: str) -> None:
    method = find_method(name)
    assert set(method.options) <= set(signature(type(method.make())).parameters)


def test_an_unknown_method_is_told_with_a_guess() -> None:
    with pytest.raises(
        UnknownName, match="there is no method 'budgets-allocation'; did you mean 'budget-allocation'"
    ):
        find_method("budgets-allocation")
