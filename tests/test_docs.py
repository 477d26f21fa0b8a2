"""Every block of the documentation runs, and the documentation speaks of everything there is."""

from __future__ import annotations

import argparse
import importlib.util
import pkgutil
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import hcssp
from doc_blocks import DocError, PageRun, blocks, compare
from hcssp.scenarios.scenario import scenarios
from test_architecture import LAYERS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(DOCS)): path for path in sorted(DOCS.rglob("*.md"))}
INTERNAL = {"cli"}
"""Packages that users reach in another way than by importing them."""


def hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", PAGES)
def test_the_blocks_of_a_page_do_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    text = PAGES[name].read_text(encoding="utf-8")
    for module in re.findall(r"^<!-- needs: (\w+) -->$", text, flags=re.MULTILINE):
        pytest.importorskip(module, reason=f"the page needs {module}, which comes with an extra of hcssp")
    page = PageRun(name)
    try:
        page.run(text)
    finally:
        page.end_processes()


def test_blocks_that_do_not_run_are_rare() -> None:
    skipped = [
        f"{name}, line {block.line}"
        for name, path in PAGES.items()
        for block in blocks(path.read_text(encoding="utf-8"))
        if block.language in ("python", "console", "bash", "yaml") and not block.is_run
    ]
    assert len(skipped) <= 10, skipped


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "shows:\n2"),
        ("```python\n1 / 0\n```\n", "page, line 1: ZeroDivisionError"),
        ("```console\n$ hcssp solve nowhere\n```\n", "exits with 2, not 0"),
        ("```console\n$ hcssp methods\nnothing\n```\n", "shows:\nnothing"),
        ("```console\n$ rm -r /\n```\n", "no such command"),
        ("```yaml\nformat: hcssp-problem\nversion: 1\ncosts: [time]\n```\n", "activities"),
        ("```yaml\na: [\n```\n", "ParserError"),
    ],
)
def test_a_page_that_lies_is_found_out(page: str, complaint: str) -> None:
    with pytest.raises(DocError, match=re.escape(complaint)):
        PageRun("page").run(page)


def test_a_marked_block_is_not_run_and_an_expected_failure_is() -> None:
    page = (
        "<!-- not run: it never ends -->\n```python\n1 / 0\n```\n\n"
        "<!-- exits with: 2 -->\n```console\n$ hcssp solve nowhere\nhcssp: error: there is no ...\n```\n"
    )
    assert PageRun("page").run(page) == 1


def test_dots_stand_for_anything() -> None:
    compare("here", "a ... c\n", "a b c")


def test_titled_blocks_become_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = '```python title="two.py"\nprint(2)\n```\n'
    page = script + "\n```console\n$ python two.py\n2\n$ python two.py > out\n```\n"
    assert PageRun("page").run(page) == 2
    assert Path("out").read_text(encoding="utf-8") == "2\n"


def test_every_package_has_its_page_of_the_reference() -> None:
    packages = {module.name for module in pkgutil.iter_modules(hcssp.__path__) if module.ispkg} - INTERNAL
    assert packages <= {Path(name).stem for name in PAGES if name.startswith("api/")}


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", str(yaml.safe_load(text)["nav"])))
    assert listed == set(PAGES)


def test_the_table_of_the_architecture_is_that_of_the_layers() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for layer, rooms in re.findall(r"^\| ([\w ,]*?) ?\| (`.*?`) \| \S", text, flags=re.MULTILINE):
        names = found.setdefault(layer or next(reversed(found)), [])
        names += re.findall(r"`(\w+)`", rooms)
    entries = {"hcssp", "hcssp.__main__"}
    layers = {
        layer: [name.removeprefix("hcssp.") for name in rooms if name not in entries]
        for layer, rooms in LAYERS.items()
    }
    assert found == layers


def test_the_command_line_page_speaks_of_every_command_and_option() -> None:
    command_line = hook("command_line")
    text = (DOCS / command_line.PAGE).read_text(encoding="utf-8")
    page = command_line.fill_in(text)
    for name, module in command_line.commands().items():
        assert f"\n## hcssp {name} {{#{name}}}\n" in page
        parser = argparse.ArgumentParser(add_help=False)
        module.add_arguments(parser)
        for action in parser._actions:
            for option in action.option_strings:
                assert f"`{option}" in page
    assert "`--bound NAME=VALUE` |" in page
    with pytest.raises(ValueError, match="has it 0 times"):
        command_line.fill_in("nothing")


def test_the_page_of_problems_has_all_of_them() -> None:
    domains = hook("domains")
    text = (DOCS / domains.PAGE).read_text(encoding="utf-8")
    variants = {"evacuation-text", "small-building"}
    assert set(domains.named(text)) == scenarios().keys() - variants
    assert "| `drift` | 0.35 | the probability that a cell drifts south" in domains.fill_in(text)
    pictures = re.findall(r"\]\((assets/domains/[\w-]+\.png)\)", text)
    # Once in the gallery at the top, once in the section.
    assert pictures == 2 * [f"assets/domains/{name}.png" for name in domains.named(text)]
    assert all((DOCS / picture).stat().st_size < 100_000 for picture in pictures)


def test_every_docstring_can_be_shown() -> None:
    griffe = pytest.importorskip("griffe")
    docstrings = hook("docstrings")
    package = griffe.load(
        "hcssp", search_paths=[ROOT / "src"], extensions=griffe.Extensions(docstrings.Docstrings())
    )
    texts = [
        thing.docstring.value for thing in docstrings._everything(package) if thing.docstring is not None
    ]
    assert len(texts) > 300
    prose = [re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL) for text in texts]
    assert [
        text for text in prose if re.search(r":\w+:`|\.\. \w+::|\\[a-zA-Z]|^>>>", text, re.MULTILINE)
    ] == []


def test_references_and_formulas_become_markdown() -> None:
    pytest.importorskip("griffe")
    markdown = hook("docstrings").markdown
    known = {"here.Plan": "a.here.Plan"}
    text = "See :class:`~here.Plan`, :func:`lost` and :math:`\\bar f_i \\le \\Delta`.\n\n>>> 1\n1\n\nEnd."
    assert markdown(text, known.get) == (
        "See [`Plan`][a.here.Plan], `lost` and <i>f\u0304</i><sub><i>i</i></sub> ≤ <i>Δ</i>.\n\n"
        "```pycon\n>>> 1\n1\n```\n\nEnd."
    )
    with pytest.raises(ValueError, match="does not know; add it"):
        markdown(":math:`\\oint x`", known.get)


def test_pages_begin_with_the_question_that_a_user_has() -> None:
    overviews = {"index.md", "glossary.md"}
    pages = {name for name in PAGES if not name.startswith("api/")} - overviews
    begin = {name: PAGES[name].read_text(encoding="utf-8").split("\n")[:8] for name in pages}
    assert [
        name for name, lines in begin.items() if not any(re.fullmatch(r"\*.*\?\*", line) for line in lines)
    ] == []


def test_the_guide_for_contributors_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|pyi|txt|md))`", text))
    places = (ROOT, ROOT / "src/hcssp", ROOT / "src/hcssp/reports", ROOT / "src/hcssp/files/problem_file")
    assert len(named) > 20
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []


def test_extras_that_texts_name_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rooms = [path for room in ("docs", "examples", "src") for path in (ROOT / room).rglob("*")]
    files = [path for path in (*ROOT.glob("*.md"), *rooms) if path.suffix in {".md", ".py", ".txt", ".yaml"}]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"hcssp\[(\w+)\]", texts))
    assert named - project["optional-dependencies"].keys() == set()
    assert len(named) > 8
