"""Tables, plots, claims and macros, on results that are known."""

from dataclasses import replace

import pytest

from tests.lab.conftest import run
from workbench.errors import SuiteError
from workbench.lab.claim import Standing
from workbench.lab.data import open_data
from workbench.lab.draw import DOUBTFUL, svg
from workbench.lab.plan import Selection
from workbench.lab.table import format_value, is_timing

SUITE = """
@suite.experiment(Region(order=["b'b", "a"], q=[2, 10], exact=True), repeat=3,
                  y=Output("a number", "s"), word=Output("a word", kind=str), whole=Output("", kind=int))
def measure(order, q, exact, seed):
    import os
    if order == "a" and q == 10: raise ValueError("no")
    y = {2: 1.5, 10: 4.0}[q]
    return {"y": y, "word": "same" if q == 2 else order, "whole": None if q == 2 else 3}

PAPER = Beside("paper", ("order", "q"), {("a", 2): 7.5, ("b'b", 2): None}, missing="> 9", source="somewhere")
suite.table("wide", of=measure, rows="order", columns="q", beside=[PAPER],
            cells={"y": median("y").as_("ms", 1000), "word": only("word")})
suite.table("long", of=measure, rows=["q", "exact"], cells={"n": number(), "least": minimum("whole"),
            "most": maximum("y"),
            "mean": mean("y"), "sum": total("y"), "spread": spread("y"), "words": only("word")})
suite.table("part", of=measure, rows="order", cells={"sd": deviation("y")}, where={"q": 2, "exact": [True]})
suite.plot("line", of=measure, x="q", y=median("y"), series="order")
suite.plot("cloud", of=measure, x="y", y=median("cpu_seconds"), kind="scatter", log="xy")
suite.plot("bars", of=measure, x="order", y=total("y"), kind="bar")
suite.plot("heap", of=measure, y=median("y").as_("ms", 1000), kind="histogram")

@suite.claim("y grows with q")
def grows(data):
    by_q = {q: [r["y"] for r in data.rows(measure, q=q, status="ok")] for q in (2, 10)}
    return ok("it does") if max(by_q[2]) < min(by_q[10]) else fails("it does not")

@suite.claim("everything works")
def works(data):
    bad = data.sql("SELECT id FROM measure WHERE status <> 'ok'")
    return warns(f"{len(bad)} do not") if bad else ok()

@suite.claim("stumbles")
def stumbles(data):
    return 1 / 0

@suite.macro("the largest y", "s")
def largest(data):
    return max(r["y"] for r in data.rows(measure, q=10, status="ok"))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    from tests.lab.conftest import HEAD
    from workbench.lab.plan import Lab
    from workbench.lab.store import ResultStore
    from workbench.lab.suite_search import load_suite

    folder = tmp_path_factory.mktemp("lab")
    path = folder / "tiny.py"
    path.write_text(f"{HEAD}suite = Suite('tiny', '')\n{SUITE}")
    lab = Lab(load_suite(path), path, ResultStore(folder / "data", "tiny"))
    run(lab)
    run(lab, Selection(where={"q": (2,)}, again=True))  # the newest of each counts, once
    return lab


@pytest.fixture(scope="module")
def data(lab):
    return open_data(lab.suite, lab.store)


def texts(grid):
    return {key: [cell.text for cell in cells] for key, cells in grid.rows}


def test_a_table_with_an_axis_across_and_known_figures_beside(data):
    grid = data.grid("wide")
    assert grid.corner == ("order",)
    assert grid.heads == (
        "order",
        "q = 2, y",
        "q = 2, word",
        "q = 2, paper",
        "q = 10, y",
        "q = 10, word",
        "q = 10, paper",
    )
    assert [key for key, _ in grid.rows] == [("b'b",), ("a",)]
    plain = {key: [text.removesuffix(" ~") for text in cells] for key, cells in texts(grid).items()}
    assert plain[("b'b",)] == ["1500", "same", "> 9", "4000", "b'b", ""]
    assert plain[("a",)] == ["1500", "same", "7.5", "crash", "crash", ""]
    assert grid.notes == ("paper: somewhere",)


def test_the_way_back_from_a_cell(data, lab):
    (_, cells), _ = data.grid("wide").rows
    wanted = {r.id for r in lab.store.results()[0] if r.point["order"] == "b'b" and r.point["q"] == 2}
    assert set(cells[0].ids) == wanted
    assert len(wanted) == 3
    assert cells[2].ids == ()


def test_statistics(data):
    rows = {key: [cell.value for cell in cells] for key, cells in data.grid("long").rows}
    assert rows[(2, True)] == [6, None, 1.5, 1.5, 9.0, 0.0, "same"]
    assert rows[(10, True)] == [6, 3, 4.0, 4.0, 12.0, 0.0, "b'b"]
    assert [cells[0].value for _, cells in data.grid("part").rows] == [0.0, 0.0]


def test_a_timing_from_a_loaded_machine_is_marked(data):
    _, cells = data.grid("wide").rows[0]
    reliable = all(row["reliable"] for row in data.rows("measure", order="b'b", q=2))
    assert cells[0].text.endswith(" ~") is not reliable
    assert not cells[1].text.endswith(" ~")


def test_the_points_of_plots(data):
    line = data.dots("line")
    assert {name: [(d.x, d.y, len(d.ids)) for d in dots] for name, dots in line.items()} == {
        "b'b": [(2, 1.5, 3), (10, 4.0, 3)], "a": [(2, 1.5, 3)],
    }  # fmt: skip
    assert len(data.dots("cloud")[""]) == 9
    assert [d.y for d in data.dots("heap")[""]].count(1500.0) == 6
    assert [(d.x, d.y) for d in data.dots("bars")[""]] == [("b'b", 16.5), ("a", 4.5)]


def test_claims_and_macros_know_what_they_looked_at(data, lab):
    grows = lab.suite.claims["grows"].evaluate(data)
    assert (grows.standing, grows.why, len(grows.ids)) == (Standing.OK, "it does", 9)
    works = lab.suite.claims["works"].evaluate(data)
    assert (works.standing, works.why, len(works.ids)) == (Standing.WARNING, "3 do not", 3)
    stumbles = lab.suite.claims["stumbles"].evaluate(data)
    assert stumbles.standing is Standing.FAILS
    assert "ZeroDivisionError" in stumbles.why
    largest = lab.suite.macros["largest"].evaluate(data)
    assert (largest.value, len(largest.ids)) == (4.0, 3)


def test_without_results_there_is_nothing_to_judge(make_lab):
    lab = make_lab(SUITE)
    data = open_data(lab.suite, lab.store)
    assert lab.suite.claims["grows"].evaluate(data).standing is Standing.NO_DATA
    assert "no result of 'measure' with q = 10, status = ok" in lab.suite.macros["largest"].evaluate(data).why
    assert data.grid("wide").rows == ()
    assert data.dots("line") == {}
    assert data.numbers() == {"measure": {}}


def test_points_that_the_suite_no_longer_has_are_left_out(make_lab):
    lab = make_lab(SUITE)
    run(lab)
    fewer = make_lab(SUITE.replace("q=[2, 10]", "q=[2]").replace("q == 10", "q == 11"))
    data = open_data(fewer.suite, fewer.store)
    assert data.numbers() == {"measure": {"ok": 6}}


def test_bad_sql_is_shown(data):
    with pytest.raises(SuiteError, match="no_such_view"):
        data.sql("SELECT * FROM no_such_view")
    with pytest.raises(SuiteError) as caught:
        data.sql("SELECT avg(word) FROM measure")
    assert len(caught.value.what.splitlines()) == 1, "without DuckDB's list of candidates"


def test_rows_are_chosen_by_what_there_is(data):
    with pytest.raises(SuiteError, match="'measure' has no 'm'"):
        data.rows("measure", m=1)


def test_an_output_that_has_got_another_type_is_none_in_older_results(make_lab):
    text = '@suite.experiment(Region(n=[1]), y=Output("y", kind=str))\ndef f(n): return {"y": "a"}\n'
    run(make_lab(text))
    changed = make_lab(text.replace("kind=str", "kind=int").replace('"a"', "2"))
    assert [row["y"] for row in open_data(changed.suite, changed.store).rows("f")] == [None]
    run(changed)
    assert [row["y"] for row in open_data(changed.suite, changed.store).rows("f")] == [2]


def test_a_judge_must_judge(make_lab):
    lab = make_lab("@suite.claim('something')\ndef c(data): return True\n")
    judged = lab.suite.claims["c"].evaluate(open_data(lab.suite, lab.store))
    assert judged.standing is Standing.FAILS
    assert "returned True, not ok()" in judged.why


@pytest.mark.parametrize(
    ("unit", "timing"),
    [("s", True), ("ms", True), ("µs", True), ("1/s", True), ("events/s", True), ("", False), ("MB", False)],
)
def test_what_depends_on_how_busy_the_machine_is(unit, timing):
    assert is_timing(unit) is timing


def test_what_is_not_finite_is_not_drawn(make_lab):
    lab = make_lab("""
        @suite.experiment(Region(n=[1, 2, 3]), y=Output("y"))
        def f(n): return {"y": [float("nan"), float("-inf"), 3.0][n - 1]}
        suite.table("t", of=f, rows="n", cells={"y": maximum("y")})
        suite.plot("line", of=f, x="n", y=maximum("y"))
        suite.plot("heap", of=f, y=maximum("y"), kind="histogram")
    """)
    run(lab)
    data = open_data(lab.suite, lab.store)
    assert [cell.text for _, (cell,) in data.grid("t").rows] == ["nan", "-inf", "3"]
    for plot in lab.suite.plots.values():
        assert [dot.y for dot in data.dots(plot)[""]] == [3.0]
        assert "<svg" in svg(plot, data.dots(plot), lambda ids: "#")


DOUBTS = """
@suite.experiment(Region(n=[1, 2]), y=Output("a number"), seconds=Output("a time", "s"))
def f(n):
    if n == 2: raise ValueError
    return {"y": 1.0, "seconds": 1.0}
suite.plot("number", of=f, x="n", y=maximum("y"))
suite.plot("time", of=f, x="n", y=maximum("seconds"))
suite.plot("cpu", of=f, x="n", y=maximum("cpu_seconds"))
suite.plot("bars", of=f, x="n", y=maximum("cpu_seconds"), kind="bar")
suite.plot("heap", of=f, y=maximum("cpu_seconds"), kind="histogram")
suite.plot("cloud", of=f, x="seconds", y=maximum("y"), kind="scatter")
"""


def test_what_did_not_end_well_or_was_timed_badly_is_doubtful_in_a_plot(make_lab):
    lab = make_lab(DOUBTS)
    stored = [replace(r, measured=replace(r.measured, reliable=False), started="3000") for r in run(lab)]
    lab.store.add([replace(r, measured=replace(r.measured, reliable=True)) for r in stored])
    data = open_data(lab.suite, lab.store)
    doubts = {name: [d.doubtful for dots in data.dots(name).values() for d in dots] for name in lab.suite.plots}
    assert doubts["cpu"] == doubts["bars"] == [False, True], "the second crashed"
    assert sorted(doubts["heap"]) == [False, True], "in the order of the times measured"
    assert doubts["number"] == doubts["time"] == doubts["cloud"] == [False]
    lab.store.add([replace(r, started="3001") for r in stored])
    data = open_data(lab.suite, lab.store)
    doubts = {name: [d.doubtful for dots in data.dots(name).values() for d in dots] for name in lab.suite.plots}
    assert doubts["number"] == [False], "it does not depend on the load"
    assert doubts["time"] == doubts["cloud"] == [True]
    for name, plot in lab.suite.plots.items():
        drawn = svg(plot, data.dots(plot), lambda ids: "#")
        assert (DOUBTFUL in drawn) is (name != "number")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (3, "3"), (3.0, "3"), (0.0314159, "0.0314"), (1234.5, "1234"), (12.345, "12.3"),
     (0.00001234, "1.23e-05"), ("x", "x"), (float("inf"), "inf"), (1e20, "100000000000000000000")],
)  # fmt: skip
def test_how_values_are_shown(value, text):
    assert format_value(value) == text


COVERED = """
@suite.experiment(Region(n=[1, 2, 3, 4], k=[1, 2]), y=Output("y", kind=int))
def f(n, k): return {"y": n}
@suite.experiment(Region(n=[1, 2]))
def g(n): return {}
suite.table("t", of=f, rows="n", cells={"y": maximum("y")})
suite.plot("p", of=f, x="n", y=maximum("y"))
@suite.claim("all")
def all_points(data):
    data.rows(f)
    return ok()
@suite.claim("a part")
def part(data):
    data.rows(f, n=iter([1, 2]), k=1, status="ok")
    return ok() if data.rows("f", n=3) else fails("")
@suite.claim("a query")
def query(data):
    data.sql("SELECT max(y) FROM f JOIN g ON f.n = g.n")
    return ok() if data.sql("SELECT * FROM g") is not None else fails("")
@suite.claim("a table")
def table(data):
    data.grid("t")
    return warns("small")
"""


def extents(lab):
    data = open_data(lab.suite, lab.store, lab.code())
    return {name: claim.evaluate(data).extent for name, claim in lab.suite.claims.items()}


def test_a_claim_states_how_many_of_its_points_are_measured_and_with_which_code(make_lab):
    lab = make_lab(COVERED)
    assert lab.suite.claims["all_points"].evaluate(open_data(lab.suite, lab.store)).extent == "", "there is no data"
    run(lab, Selection(experiments=("f",), where={"n": (1, 3)}))
    assert extents(lab) == {
        "all_points": " on 4 of 8 points", "part": " on 3 of 4 points",
        "query": " on f: 4 of 8 points; g: 0 of 2 points", "table": " on 4 of 8 points",
    }  # fmt: skip
    run(lab, Selection(where={"n": (2,)}))
    assert extents(lab)["part"] == ""
    lab = make_lab(COVERED.replace('"y": n}', '"y": n + 1}'))
    assert extents(lab)["part"] == " on 4 of 4 points, all of them measured with other code"
    run(lab, Selection(where={"n": (3,)}))
    assert extents(lab)["all_points"] == " on 6 of 8 points, 4 of them measured with other code"
    run(lab)
    assert set(extents(lab).values()) == {""}


def test_results_of_other_code_among_those_of_this_code_are_marked(make_lab):
    run(make_lab(COVERED))
    lab = make_lab(COVERED.replace('"y": n}', '"y": n + 1}'))

    def look():
        data = open_data(lab.suite, lab.store, lab.code())
        return texts(data.grid("t")), [dot.doubtful for dot in data.dots("p")[""]]

    assert look() == ({(n,): [str(n)] for n in (1, 2, 3, 4)}, [False] * 4), "all are of other code"
    run(lab, Selection(where={"n": (2,)}))
    assert look() == ({(1,): ["1 ~"], (2,): ["3"], (3,): ["3 ~"], (4,): ["4 ~"]}, [True, False, True, True])


def test_unknown_tables_and_plots_are_named(data):
    for look in (data.grid, data.dots, data.drawn):
        with pytest.raises(SuiteError, match=r"suite 'tiny' has no (table|plot) 'lin'"):
            look("lin")
    with pytest.raises(SuiteError, match="did you mean 'wide'"):
        data.grid("wdie")


def test_known_figures_have_their_unit_in_the_head(make_lab):
    lab = make_lab(SUITE.replace('missing="> 9"', '"ms", missing="> 9"'))
    run(lab, Selection(where={"q": (2,)}))
    assert open_data(lab.suite, lab.store).grid("wide").heads == (
        "order",
        "q = 2, y",
        "q = 2, word",
        "q = 2, paper, ms",
    )


def test_a_notebook_shows_tables_and_plots(data):
    shown = data.grid("wide")._repr_html_()
    assert shown.count("<tr>") == 3
    assert '<th style="text-align:left">q = 10, paper</th>' in shown
    assert '<td style="text-align:left">b&#x27;b</td>' in shown
    plot = data.drawn("line")
    assert plot._repr_svg_().startswith("<svg")
    assert len(repr(plot)) < 200
