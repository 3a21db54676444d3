"""Figures 1 and 3 of Zimmerman and Chandy from a run: what is shown is what the sets are."""

import re
from pathlib import Path

import pytest

import workbench as wb
from experiments.scheduler.flow_moments import PairPlace, flow_history, history_page, history_text
from experiments.scheduler.listings import define_sets
from tests.verify.browser import PROGRAM, WITHOUT, Page

PIPE = """
pipeline p(x: int) -> int {
    count = cumulate(turn(x, 1), +)
    return cumulate(filter(count, even(trim(count, 1))), +)
}
"""
STEPS = [{"x": 7}, {"x": 7}, {"x": 7}]
WAITS = PairPlace.READY, PairPlace.FULL, PairPlace.RUNS


def history(seed=0):
    return flow_history(wb.parse(PIPE).get().pipeline, STEPS, 2, seed)


@pytest.mark.parametrize("seed", range(4))
def test_places_are_those_of_the_definitions(seed):
    found = history(seed)
    assert [dict(each) for each in found.outputs] == [{"out": []}, {"out": [1]}, {"out": []}]
    for moment in found.moments:
        phases = len(moment.x)
        news = {pair for pair, place in moment.places.items() if place in (*WAITS, PairPlace.PARTIAL)}
        partial, full, ready = define_sets(found.vertices.graph, news, phases)
        assert {pair for pair in news if moment.places[pair] is PairPlace.PARTIAL} == partial
        assert {pair for pair in news if moment.places[pair] in WAITS} == full
        assert {pair for pair in full if moment.places[pair] is not PairPlace.FULL} == ready
    assert set(found.moments[-1].places.values()) == {PairPlace.DONE, PairPlace.NOWHERE}
    assert found.moments[-1].x == (7, 7, 7)


def test_text_has_a_column_for_each_moment():
    found = history()
    text = history_text(found, 60)
    rows = re.findall(r"^2 turn +(.*)$", text, re.MULTILINE)
    cells = [cell for row in rows for cell in row.split()]
    assert len(cells) == len(found.moments)
    assert cells[-1] == "●●●"
    assert max(map(len, text.splitlines()[:9])) <= 60


@pytest.mark.skipif(PROGRAM is None, reason=WITHOUT)
def test_the_page_shows_a_moment_at_a_time(page: Page, tmp_path: Path) -> None:
    found = history()
    (tmp_path / "page.html").write_text(history_page(found))
    page.open(tmp_path / "page.html", "moment-3")
    shown = "[...document.querySelectorAll('figure')].filter((f) => !f.hidden).map((f) => f.id).join()"
    assert page.ask(shown) == "moment-3"
    page.press("ArrowRight")
    assert page.ask(shown) == "moment-4"
    drawings = page.ask("document.querySelectorAll('#moment-4 .drawings > div').length")
    assert drawings == len(found.moments[3].x) + 1
