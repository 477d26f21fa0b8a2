"""The page about the paper and the code that it speaks of: what can drift apart unseen."""

from __future__ import annotations

import importlib
import io
import re
import tokenize
from pathlib import Path

import pytest

from hcssp.methods.paper import MODES, algorithms

SOURCE = Path(algorithms.__file__).read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[3] / "docs" / "paper.md").read_text(encoding="utf-8")
ALGORITHMS = {
    name: (int(number), int(lines))
    for number, lines, name in re.findall(
        r"^\| (\d), [\w-]+ \| (\d+) \| \[`(\w+)`\]\[hcssp\.methods\.paper\.algorithms\.", PAGE, re.MULTILINE
    )
}


def cited_lines(source: str) -> list[int]:
    """The numbers of the paper's lines in comments such as "# lines 4-6 and 16"."""
    cited = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and re.match(r"# lines? \d", token.string):
            for first, last in re.findall(r"(\d+)(?:-(\d+))?", token.string):
                cited += range(int(first), int(last or first) + 1)
    return cited


def test_the_page_names_every_algorithm() -> None:
    assert [number for number, _ in ALGORITHMS.values()] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_code_cites_every_line_of_its_algorithm(name: str) -> None:
    number, lines = ALGORITHMS[name]
    _, *sections = re.split(r"^# (?=Algorithm \d, |The members)", SOURCE, flags=re.MULTILINE)
    section = sections[number - 1]
    assert section.startswith(f"Algorithm {number}, ")
    assert f"def {name}(" in section
    assert sorted(set(cited_lines(section.partition("\n")[2]))) == list(range(1, lines + 1))
    assert (getattr(algorithms, name).__doc__ or "").startswith(f"Algorithm {number}: ")


def test_lines_are_read_from_comments_only() -> None:
    source = '"""line 9"""\na = 1  # lines 2-4 and 7\n# a line 8 of prose\n# line 5, at last\n'
    assert cited_lines(source) == [2, 3, 4, 7, 5]


def test_the_page_lists_the_modes_there_are() -> None:
    section = PAGE[PAGE.index("## Two modes") :]
    table = section[section.index("| mode |") : section.index("`BudgetAllocation(mode=...)`")]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == MODES


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\[(hcssp(?:\.\w+)+)\]", PAGE))))
def test_what_the_page_refers_to_exists(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert hasattr(importlib.import_module(module), name)


def test_all_that_the_mode_sharp_decides_is_told() -> None:
    """Each function that the mode calls has a line in the table of deviations."""
    table = PAGE[PAGE.index("## Further differences in the mode sharp") :]
    for name in ("sharp_limits", "sharp_lower_bound", "suggested_solutions", "split_at_incumbent"):
        assert f"[hcssp.methods.paper.sharp.{name}]" in table
