"""Files that ask for too much are refused at once, and files beside a problem stay beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.document import Limits
from hcssp.files.problem_file.loading import load, load_text
from hcssp.files.problem_file.models import ActivityReader

ROOM = """
format: hcssp-problem
version: 1
costs: [time]
activities:
  cross: {grid: {width: 30, height: 20}, start: [0, 1], goal: [31, 2]}
"""
TABLE = """
format: hcssp-problem
version: 1
costs: [time]
activities:
  slide: {file: FILE, start: top, goal: bottom}
"""
SLIDE = "state,action,next,probability,time\ntop,jump,bottom,1,2\n"


def refused(text: str, limits: Limits | None = None, *, json: bool = False, folder: Path = Path()) -> str:
    with pytest.raises(InvalidProblem) as caught:
        load_text(text, folder, json=json, limits=limits)
    return str(caught.value)


def test_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(ROOM, encoding="utf-8")
    with pytest.raises(InvalidProblem, match=r"the file is larger than the 50 bytes that are allowed"):
        load(path, Limits(document_bytes=50))
    path.write_text("#" * 9 * 2**20, encoding="utf-8")
    with pytest.raises(InvalidProblem, match=r"the file is larger than the 8 MiB that are allowed"):
        load(path)


def test_a_grid_of_very_many_cells() -> None:
    text = ROOM.replace("30", "1000000").replace("20", "1000")
    assert "1000000 x 1000 = 1,000,000,000 cells; at most 5,000,000 are allowed" in refused(text)


def test_many_activities_that_are_large_together() -> None:
    more = "\n".join(f"  again{number}: {{model: cross}}" for number in range(3))
    message = refused(ROOM + more, Limits(states=2000))
    assert "activities.again2: with this activity the problem has more than the 2,000 states" in message


@pytest.mark.parametrize("json", [False, True])
def test_deep_nesting(json: bool) -> None:
    deep = "[" * 500 + "]" * 500
    assert "nested more than 32 deep" in refused(f'{{"format": {deep}}}', json=json)


def test_nesting_beyond_what_the_parser_of_json_bears() -> None:
    assert "deep" in refused("[" * 200_000, json=True)


def test_an_alias_bomb_is_not_unfolded() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than 1,000,000 values, those that aliases repeat counted each time" in refused(
        "\n".join(levels)
    )


def test_aliases_that_people_write_are_fine() -> None:
    text = """
format: hcssp-problem
version: 1
costs: [time, damage]
activities:
  cross:
    grid:
      width: 4
      height: 3
      hazards: [{at: [2, 2, 1, 1], costs: &fire {damage: 5}}, {at: [3, 1, 1, 1], costs: *fire}]
    start: [0, 1]
    goal: [5, 1]
"""
    world = load_text(text).activities[0].cssp.world
    assert world is not None
    assert [dict(hazard.costs) for hazard in world.hazards] == [{"damage": 5.0}] * 2


def test_a_table_with_too_many_lines(tmp_path: Path) -> None:
    (tmp_path / "slide.csv").write_text(SLIDE + "top,walk,bottom,1,2\n", encoding="utf-8")
    text = TABLE.replace("FILE", "slide.csv")
    assert "more than the 1 transitions that are allowed" in refused(
        text, Limits(transitions=1), folder=tmp_path
    )
    assert "larger than the 9 bytes" in refused(text, Limits(table_bytes=9), folder=tmp_path)


def test_a_table_in_a_folder_below(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "slide.csv").write_text(SLIDE, encoding="utf-8")
    loaded = load_text(TABLE.replace("FILE", "tables/slide.csv"), tmp_path)
    assert loaded.activities[0].cssp.num_states == 2


def test_links_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "slide.csv").write_text(SLIDE, encoding="utf-8")
    (inside / "slide.csv").symlink_to(outside / "slide.csv")
    (inside / "way").symlink_to(outside, target_is_directory=True)
    (inside / "loop.csv").symlink_to(inside / "loop.csv")
    for name in ("slide.csv", "way/slide.csv"):
        message = refused(TABLE.replace("FILE", name), folder=inside)
        assert f"{name!r} is a link that leads out of the problem's folder" in message
    assert "loop.csv" in refused(TABLE.replace("FILE", "loop.csv"), folder=inside)


def test_a_link_inside_the_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text(SLIDE, encoding="utf-8")
    (tmp_path / "slide.csv").symlink_to(tmp_path / "real.csv")
    assert load_text(TABLE.replace("FILE", "slide.csv"), tmp_path).num_activities == 1


@pytest.mark.parametrize(
    "name", ["..", ".", "a/../../b.csv", "\\\\server\\x.csv", "C:x.csv", "~/x.csv", "x.csv/"]
)
def test_names_of_files_that_are_none(name: str, tmp_path: Path) -> None:
    assert "activities.slide.file: " in refused(TABLE.replace("FILE", f"'{name}'"), folder=tmp_path)


def test_tags_construct_nothing(tmp_path: Path) -> None:
    text = ROOM + f"\ndescription: !!python/object/apply:os.mkdir ['{tmp_path / 'made'}']\n"
    assert "the tag 'tag:yaml.org,2002:python/object/apply:os.mkdir' is not allowed" in refused(text)
    assert not (tmp_path / "made").exists()


def test_a_long_chain_of_references_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def counted(self: ActivityReader, *arguments: object) -> object:
        nonlocal looked
        looked += 1
        return followed(self, *arguments)  # type: ignore[arg-type]

    followed = ActivityReader._referred
    monkeypatch.setattr(ActivityReader, "_referred", counted)
    links = "".join(f"  m{number}: {{model: m{number - 1}}}\n" for number in range(1, 200))
    runs = "".join(
        f"    e{number}: {{go: {{runs: m{number}, to: e{number + 1}}}}}\n" for number in range(200)
    )
    load_text(
        "format: hcssp-problem\nversion: 1\ncosts: [time]\nactivities:\n"
        "  m0: {table: {a: {go: {to: z, costs: {time: 1}}}}, start: a, goal: z}\n"
        f"{links}procedure:\n  start: e0\n  end: e200\n  events:\n{runs}"
    )
    assert looked == 199
