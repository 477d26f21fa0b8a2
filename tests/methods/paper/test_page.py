"""The page about the paper and the code that it speaks of: what can drift apart unseen."""

from __future__ import annotations

import importlib
import io
import re
import tokenize
from pathlib import Path

import pytest

import hcssp.methods.paper
from hcssp.methods.paper import MODES

FOLDER = Path(hcssp.methods.paper.__file__).parent
PAGE = (Path(__file__).parents[3] / "docs" / "paper.md").read_text(encoding="utf-8")
ALGORITHMS = {
    name: int(lines)
    for lines, name in re.findall(r"^\| \d, [\w-]+ \| (\d+) \| `(algorithm_\w+\.py)` \|", PAGE, re.MULTILINE)
}


def cited_lines(source: str) -> list[int]:
    """The numbers of the paper's lines in comments such as "# lines 4-6 and 16"."""
    cited = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and re.match(r"# lines? \d", token.string):
            for first, last in re.findall(r"(\d+)(?:-(\d+))?", token.string):
                cited += range(int(first), int(last or first) + 1)
    return cited


def test_the_page_names_every_algorithm_and_no_other_file() -> None:
    assert len(ALGORITHMS) == 5
    assert set(ALGORITHMS) == {path.name for path in FOLDER.glob("algorithm_*.py")}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_code_cites_every_line_of_its_algorithm(name: str) -> None:
    cited = cited_lines((FOLDER / name).read_text(encoding="utf-8"))
    assert sorted(set(cited)) == list(range(1, ALGORITHMS[name] + 1))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_file_defines_the_algorithm_it_is_called_after(name: str) -> None:
    function = re.sub(r"^algorithm_\d_", "", name.removesuffix(".py"))
    module = importlib.import_module(f"hcssp.methods.paper.{name.removesuffix('.py')}")
    assert callable(getattr(module, function))
    assert f"[`{function}`][hcssp.methods.paper.{name.removesuffix('.py')}.{function}]" in PAGE
    number = re.findall(r"\d", name)[0]
    assert module.__doc__ is not None
    assert module.__doc__.startswith(f"Algorithm {number}, ")


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


def test_all_that_the_folder_sharp_decides_is_told() -> None:
    """Each file of the folder has a line in the table of deviations."""
    table = PAGE[PAGE.index("## Where the mode sharp differs besides") :]
    for path in (FOLDER / "sharp").glob("*.py"):
        assert path.stem == "__init__" or f"hcssp.methods.paper.sharp.{path.stem}" in table
