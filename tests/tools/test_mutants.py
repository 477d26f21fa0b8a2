"""The planter of mistakes: what it plants, what it leaves alone, and that it knows which tests to ask."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mutants.__main__ import SURVIVORS, Planted, every_mistake, is_excused, read_survivors, sample, stale
from mutants.mutations import mutated, mutations
from mutants.protection import ROOT, core_files, stages_of
from volume import examples

CORE = core_files()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a == b", {"a != b"}),
        ("a is None", {"a is not None"}),
        ("a + b", {"a - b"}),
        ("a / b", {"a * b"}),
        ("a and b", {"a or b"}),
        ("not a", {"a"}),
        ("-a", {"a"}),
        ("True", {"False"}),
        ("7", {"8"}),
        ("2.5", {"3.5"}),
        ("1e-09", {"1e-06", "0.0"}),
        ("1e+300", set()),
        ("np.maximum", {"np.minimum"}),
        ("minimum", set()),
        ("any(a)", {"all(a)"}),
        ("a[b]", set()),
        ("'text' + a", set()),
        ("zip(a, b, strict=True)", set()),
    ],
)
def test_each_mistake_is_planted_and_nothing_else_changes(before: str, after: str) -> None:
    source = f"def f():\n    return {before}"
    planted = {
        mutated(source, each.index).removeprefix("def f():\n    return ") for each in mutations(source)
    }
    assert planted == after


def test_limits_of_effort_are_not_missed_by_one() -> None:
    source = "MAX_ROUNDS = 7\nTIES = 7\ndef f(a):\n    return a <= MAX_ROUNDS and a < TIES"
    told = [f"{each.before} -> {each.after}" for each in mutations(source)]
    assert "a <= MAX_ROUNDS -> a > MAX_ROUNDS" in told
    assert "a <= MAX_ROUNDS -> a < MAX_ROUNDS" not in told
    assert "a < TIES -> a <= TIES" in told
    assert told.count("7 -> 8") == 1


def test_what_roundings_lose_is_forgotten_and_their_number_is_not_missed_by_one() -> None:
    source = "def f(a):\n    return a * (1.0 - (2 * len(a) + 8) * ROUNDINGS)"
    told = [f"{each.before} -> {each.after}" for each in mutations(source)]
    assert "ROUNDINGS -> 0.0" in told
    assert "2 * len(a) + 8 -> 2 * len(a) - 8" in told
    assert "1.0 -> 2.0" in told
    assert "8 -> 9" not in told
    assert "2 -> 3" not in told
    assert mutations("from here import ROUNDINGS") == []


def test_a_constant_of_a_file_has_its_name() -> None:
    assert [each.function for each in mutations("SHARE = 0.5\nFIRST, LAST = 1, 2")] == [
        "SHARE",
        "FIRST, LAST",
        "FIRST, LAST",
    ]


def test_a_guard_is_dropped() -> None:
    source = "def f(a):\n    if a:\n        return 'early'\n    return 'late'"
    (guard,) = mutations(source)
    assert str(guard) == "f, line 2: if a -> if False"
    assert "if False" in mutated(source, guard.index)


def test_annotations_messages_and_docstrings_are_left_alone() -> None:
    source = '''
def f(a: "list[int]" = None) -> "Literal[1]":
    """Return 1."""
    logger.debug("at %d", 1)
    raise ValueError(f"{a} is more than {1}")
'''
    assert mutations(source) == []
    with pytest.raises(IndexError, match="none is number 0"):
        mutated(source, 0)


def test_every_mistake_in_the_core_can_be_compiled() -> None:
    for planted in sample(every_mistake(CORE), examples(30, 3), seed=1):
        source = (ROOT / "src" / "hcssp" / planted.path).read_text(encoding="utf-8")
        wrong = mutated(source, planted.mutation.index)
        assert ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(source)), planted


def test_every_file_of_the_core_has_tests() -> None:
    for path in CORE:
        for stage in stages_of(path):
            assert all((ROOT / each).exists() for each in stage), path


def test_the_same_seed_plants_the_same_mistakes() -> None:
    files = CORE[:3]
    assert sample(every_mistake(files), 20, 5) == sample(every_mistake(files), 20, 5)
    assert sample(every_mistake(files), 20, 5) != sample(every_mistake(files), 20, 6)
    # Of a file that is no longer there, others take the place; all others stay.
    some, others = sample(every_mistake(files), 20, 5), sample(every_mistake(files[1:]), 20, 5)
    assert [each for each in others if each in some] == [each for each in some if each.path != files[0]]


def test_survivors_are_excused_with_a_reason(tmp_path: Path) -> None:
    listed = tmp_path / "survivors.txt"
    listed.write_text("# a remark\nf.py: g: a -> b\n    It only\n    takes longer.\n")
    assert read_survivors(listed) == {"f.py: g: a -> b": "It only takes longer."}
    for key, reason in read_survivors(SURVIVORS).items():
        assert reason, f"{key}: say why"


def test_several_may_have_one_reason_and_a_whole_function_may_have_one(tmp_path: Path) -> None:
    (first, *others) = every_mistake(CORE[-1:])
    listed = tmp_path / "survivors.txt"
    listed.write_text(
        f"{first.keys[-1]}\ng.py: h: a -> b\n    It only takes longer.\ni.py: j: 1 -> 2\n    So does this.\n"
    )
    excused = read_survivors(listed)
    assert list(excused.values()) == ["It only takes longer.", "It only takes longer.", "So does this."]
    for each in (first, *others):
        assert is_excused(each, excused) == (each.mutation.function == first.mutation.function)
    assert stale(excused, every_mistake(CORE[-1:])) == ["g.py: h: a -> b", "i.py: j: 1 -> 2"]


def test_one_of_several_that_read_the_same_may_be_excused() -> None:
    source = "def f(a):\n    return 0 if a > 0 else a\n\n\ndef g(a):\n    return a - 0"
    same = [Planted("f.py", each) for each in mutations(source) if each.before == "0"]
    assert [each.key for each in same] == ["f.py: f: 0 -> 1 #1", "f.py: f: 0 -> 1 #2", "f.py: g: 0 -> 1 #1"]
    assert [is_excused(each, {"f.py: f: 0 -> 1 #2": "why"}) for each in same] == [False, True, False]
    assert [is_excused(each, {"f.py: f: 0 -> 1": "why"}) for each in same] == [True, True, False]
    assert stale({"f.py: g: 0 -> 1 #2": "why"}, same) == ["f.py: g: 0 -> 1 #2"]


def test_an_excuse_for_code_that_is_gone_is_told() -> None:
    (planted, *_) = every_mistake(CORE[-1:])
    excused = {planted.key: "why", "gone.py: f: 1 -> 2": "why"}
    assert stale(excused, every_mistake(CORE[-1:])) == ["gone.py: f: 1 -> 2"]
