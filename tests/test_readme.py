"""The README's commands and Python blocks run, and print what the README shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doc_blocks import PageRun, blocks

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_examples_print_what_the_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert PageRun("README.md").run(TEXT) == 2
    for name in ("proof.cert", "curve.png"):
        assert (tmp_path / name).stat().st_size > 1000


def test_every_example_shows_its_output() -> None:
    assert [block.language for block in blocks(TEXT)] == ["console", "python", "text"]


def test_the_readme_is_short_and_its_links_lead_to_files() -> None:
    assert len(TEXT.splitlines()) <= 120
    targets = re.findall(r"\]\(([^)#]+)", TEXT)
    assert len(targets) > 10
    assert [target for target in targets if not (README.parent / target).exists()] == []
