"""The README's Python blocks run, and print what the text block after each one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from doc_blocks import PageRun, blocks, run_command

pytestmark = pytest.mark.slow

README = Path(__file__).parents[1] / "README.md"
BEFOREHAND = "hcssp new small-building > mine.yaml"


def test_the_examples_print_what_the_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    # The library loads the file that the commands above it make.
    assert " ".join(BEFOREHAND.split()) in " ".join(text.split())
    run_command(BEFOREHAND)
    assert PageRun("README.md").run(text) == 2
    for name in ("plan.json", "report.html", "plan.png"):
        assert (tmp_path / name).stat().st_size > 1000


def test_every_example_shows_its_output() -> None:
    found = blocks(README.read_text(encoding="utf-8"))
    languages = [block.language for block in found]
    assert languages == ["python", "text"] * (len(found) // 2)
    assert all(not block.gap for block in found[1::2])
