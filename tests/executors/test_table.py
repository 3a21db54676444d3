"""Every backend and every engine of the tables, on one pipeline: a new one is tested as soon as it is there."""

import pytest

import workbench as wb
from workbench.conformance.compare.contenders import CONTENDERS, contenders
from workbench.core.form import Form
from workbench.errors import EngineMissing
from workbench.executors.table import Start, backend_rows
from workbench.verify.decide.table import engine_rows

ROWS = backend_rows().values()
SUM = "pipeline p(x: int) -> int { return window(x, 3, cumulate(+)) }"


@pytest.mark.parametrize("row", [row for row in ROWS if row.make], ids=lambda row: row.name)
def test_every_backend_runs(row):
    start = Start()
    with start.closing:
        running = row.make(wb.parse(SUM).get().pipeline, start)
        shown = [running.step({"x": x}).outputs["out"] for x in (3, 1, 4, 1)]
        assert shown == [[], [], [8], [6]]
        assert running.end() == {"out": []}
        running.reset()
        assert running.step({"x": 3}).outputs == {"out": []}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", [row for row in engine_rows().values() if row.name != "algebra"], ids=lambda r: r.name)
@pytest.mark.parametrize(
    ("asked", "wanted"), [("always (x.present -> out = x)", "holds"), ("always (out != 3)", "fails")]
)
def test_every_engine_decides(row, asked, wanted):
    if row.name == "simulation" and wanted == "holds":
        pytest.skip("it refutes only")
    pipeline = wb.parse("pipeline p(x: int) -> int { return passthrough(x) }").get().pipeline
    try:
        assert wb.check(pipeline, asked, wb.Settings(engine=row.name)).outcome == wanted
    except EngineMissing:
        pytest.skip(f"{row.name} is not installed")


def test_rows_say_what_there_is():
    assert {row.form for row in ROWS} == set(Form)
    assert {each.backend for each in CONTENDERS} == set(contenders()) < set(backend_rows())
