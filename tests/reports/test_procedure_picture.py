from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from matplotlib.patches import FancyArrowPatch

from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.reports.procedure_graph import procedure_dot
from hcssp.reports.procedure_picture import draw_procedure
from hcssp.scenarios import aircraft, small_building
from small_procedures import forking, retrying, risky_room


def odd_names() -> HCSSP:
    plan = ProcedureBuilder()
    start, end = plan.add_event('the "start"'), plan.add_event("a\\b")
    cross = plan.add_activity("cross {all} -> [this];", risky_room())
    plan.add_choice(start, "go", to=[Outcome(1.0, end, runs=cross)])
    return plan.build(start=start, end=end)


def boxes(axes: Any) -> list[Any]:
    """Where the boxes of the nodes and the labels of the ways lie, in dots."""
    return [text.get_bbox_patch().get_window_extent() for text in axes.texts]


PROBLEMS = [small_building(), retrying(), forking(), odd_names()]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_picture_names_everything_and_fits(problem: HCSSP) -> None:
    figure = draw_procedure(problem, "title")
    (axes,) = figure.axes
    figure.canvas.draw()
    texts = [text.get_text() for text in axes.texts]
    for event in problem.events:
        assert event in texts
    for activity in problem.activities:
        assert f"{activity.name}\n{activity.cssp.num_states:,} states" in texts
    for box in boxes(axes):
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1


def test_what_is_drawn_does_not_overlap() -> None:
    figure = draw_procedure(small_building())
    (axes,) = figure.axes
    figure.canvas.draw()
    drawn = boxes(axes)
    for index, first in enumerate(drawn):
        assert not any(first.overlaps(second) for second in drawn[index + 1 :])


def test_a_way_back_passes_what_it_leads_back_over() -> None:
    figure = draw_procedure(retrying())
    (axes,) = figure.axes
    figure.canvas.draw()
    (back,) = [patch for patch in axes.patches if patch.get_linestyle() == "--"]
    nodes = [text.get_bbox_patch() for text in axes.texts if text.get_zorder() < 5]
    assert back.get_window_extent().x1 > max(node.get_window_extent().x1 for node in nodes)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_dot_text_is_well_formed(problem: HCSSP) -> None:
    lines = procedure_dot(problem, "x").splitlines()
    assert lines[0] == 'digraph "x" {'
    assert lines[-1] == "}"
    text = r'"(?:[^"\\]|\\["\\n])*"'
    node = re.compile(rf"  n\d+ \[label={text}, shape=\w+(, style=(bold|filled))?(, peripheries=2)?\];")
    edge = re.compile(rf"  n(\d+) -> n(\d+)( \[label={text}\])?;")
    nodes = [line for line in lines if node.fullmatch(line)]
    edges = [match for line in lines if (match := edge.fullmatch(line))]
    assert len(nodes) + len(edges) == len(lines) - 5
    assert sum("style=filled" in line for line in nodes) == sum("style=bold" in line for line in nodes) == 1
    # As in the paper, an event with a real choice has a double outline.
    made = Counter(choice.event for choice in problem.choices)
    doubled = {line.split('"')[1] for line in nodes if "peripheries=2" in line}
    assert doubled == {problem.events[event] for event, count in made.items() if count > 1}
    known = {line.split()[0][1:] for line in nodes}
    assert {end for match in edges for end in match.groups()[:2]} <= known


def test_what_a_plan_chooses_is_bold() -> None:
    problem = small_building()
    chosen = [choice.name != "go-to-E" for choice in problem.choices]
    (axes,) = draw_procedure(problem, chosen=chosen).axes
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    bold = {arrow.get_linewidth() > 2.0 for arrow in arrows}
    assert bold == {True, False}
    (plain,) = draw_procedure(problem).axes
    assert {patch.get_linewidth() for patch in plain.patches if isinstance(patch, FancyArrowPatch)} == {1.0}


def test_names_of_wide_letters_stay_in_their_boxes() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("W" * 200), plan.add_event("out")
    room = plan.add_activity("M" * 200, risky_room())
    plan.add_choice(start, "m" * 200, to=[Outcome(1.0, end, runs=room)])
    figure = draw_procedure(plan.build(start=start, end=end))
    figure.canvas.draw()
    (axes,) = figure.axes
    for text in (each for each in axes.texts if each.get_text()[0] in "WM"):
        box, name = text.get_bbox_patch().get_window_extent(), text.get_window_extent()
        assert box.x0 <= name.x0 <= name.x1 <= box.x1
        assert box.y0 <= name.y0 <= name.y1 <= box.y1
    # What is said on a way is shortened, and stays in the picture.
    said = next(text for text in axes.texts if text.get_text().startswith("m"))
    assert said.get_window_extent().width <= figure.bbox.width


def test_what_is_written_on_two_ways_does_not_overlap() -> None:
    figure = draw_procedure(aircraft())
    (axes,) = figure.axes
    figure.canvas.draw()
    labels = [text for text in axes.texts if text.get_text() in ("divert", "to TERMO", "to CENTA", "hold")]
    assert len(labels) > 8
    boxes = [text.get_window_extent() for text in labels]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
