"""Rules from Python: sets, runs over data of any kind, and running rules with subscribers."""

import json
import math
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.errors import DomainError, InputError, LanguageError, Refused, WorkbenchError
from workbench.executors.run_options import RunOptions
from workbench.executors.table import Start
from workbench.runner.rules.opening import run_rules

TEXT = """
declare A(x: int)
declare B(x: int, name: string)
declare Told(x: int, name: string, share: float)
rule pair: from B[$x = x] and each A(x == $x) within 10 from B emit Told(x = $x, name = B.name, share = $x / 2)
"""
ROWS: list[dict[str, Any]] = [
    {"type": "A", "time": 1, "x": 7}, {"type": "A", "time": 2, "x": 8}, {"type": "B", "time": 11, "x": 7, "name": "n"},
    {"type": "B", "time": 12, "x": 7, "name": "m"},
]  # fmt: skip
TOLD = {"type": "Told", "time": 11, "x": 7, "name": "n", "share": 3.5}


def test_a_run_over_any_data(tmp_path):
    rules = wb.rules.parse_rules(TEXT)
    assert wb.run(rules, ROWS) == [TOLD]
    assert list(wb.run(rules, iter(ROWS), backend="aip")) == [TOLD]
    columns = {name: [row.get(name) for row in ROWS] for name in ("type", "time", "x", "name")}
    assert wb.run(rules, columns) == {name: [value] for name, value in TOLD.items()}
    (tmp_path / "r.tesla").write_text(TEXT)
    path = wb.run(tmp_path / "r.tesla", iter(ROWS), output=tmp_path / "out.csv")
    assert path.read_text() == "type,time,x,name,share\nTold,11,7,n,3.5\n"
    wb.run(rules, columns, output=tmp_path / "log.jsonl")
    (tmp_path / "log.csv").write_text("type,time,x,name\nA,1,7,\nB,11,7,n\n")
    assert list(wb.run(rules, tmp_path / "log.csv")) == [TOLD]
    assert wb.run(rules, ROWS, with_sources=True)[0]["sources"] == ("3", "1")
    none: list[dict[str, Any]] = []
    assert wb.run(rules, none) == []


def test_options_have_their_names_in_python():
    """Who follows the hints that come first from Python has the composite."""
    rules = wb.rules.parse_rules(TEXT.replace("within 10", "within 10 s"))
    rows = [{"at": row["time"], **{name: cell for name, cell in row.items() if name != "time"}} for row in ROWS]
    with pytest.raises(InputError, match=r'^row:1: this row has no .time.\n  hint: .*: time="NAME"; bad_rows="skip" '):
        wb.run(rules, rows)
    with pytest.raises(InputError, match=r'--time-unit s, in Python time_unit="s" .of RunningRules unit="s".; or'):
        wb.run(rules, rows, time="at")
    assert [row["x"] for row in wb.run(rules, rows, time="at", time_unit="s")] == [7]
    with pytest.raises(InputError, match='of RunningRules unit="s"'):
        wb.rules.RunningRules(rules)
    running = wb.rules.RunningRules(rules, unit="s")
    running.publish("A", time=1, x=7)
    assert running.publish("B", time=11, x=7, name="n")[0]["x"] == 7


def test_frames(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pylist([{"type": None, "time": None, "x": None, "name": None, **row} for row in ROWS])
    assert wb.run(wb.rules.parse_rules(TEXT), table).to_pylist() == [TOLD]
    frame = wb.run(wb.rules.parse_rules(TEXT), table.to_pandas().astype({"x": "Int64"}))
    assert frame.to_dict("records") == [TOLD]


def test_times_of_a_typed_column(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    start = datetime(2024, 5, 1)
    table = pa.table({
        "type": [row["type"] for row in ROWS],
        "time": pa.array([start + timedelta(seconds=int(row["time"])) for row in ROWS], pa.timestamp("ms")),
        "x": [row["x"] for row in ROWS],
        "name": [row.get("name") for row in ROWS],
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "log.parquet")
    rules = wb.rules.parse_rules(TEXT.replace("within 10", "within 10 s"))
    wanted = [TOLD | {"time": "2024-05-01T00:00:11"}]
    assert list(wb.run(rules, tmp_path / "log.parquet")) == wanted
    assert wb.run(rules, table).to_pylist() == wanted
    assert wb.run(rules, [row | {"time": start + timedelta(seconds=int(row["time"]))} for row in ROWS]) == wanted


def test_facts_are_given():
    text = """declare Late(bus: int) declare fact Line(bus: int, name: string) declare Notice(line: string)
    from Late[$b = bus] and each Line[$l = name](bus == $b) emit Notice(line = $l)"""
    lines = [{"bus": 1, "name": "north"}, {"bus": 2, "name": "south"}]
    rows = [{"type": "Late", "time": 3, "bus": 2}]
    assert wb.run(wb.rules.parse_rules(text), rows, facts={"Line": lines}) == [
        {"type": "Notice", "time": 3, "line": "south"}
    ]
    with pytest.raises(InputError, match="no facts of type 'Line'"):
        wb.run(wb.rules.parse_rules(text), rows)
    running = wb.rules.RunningRules(text, facts={"Line": lines})
    assert [each["line"] for each in running.publish("Late", 1, bus=1)] == ["north"]


FACTS = """declare A(x: int) declare fact F(x: int, y: float) declare B(y: float)
from A[$x = x] and each F[$y = y](x == $x) emit B(y = $y)"""


@pytest.mark.parametrize("kind", ["mappings", "table", "frame", "relation"])
def test_facts_are_given_as_the_log_may_be(kind):
    rows = [{"x": 1, "y": Decimal("1.5")}, {"x": 2, "y": Decimal(7)}]
    table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
    given: dict[str, Callable[[], Any]] = {
        "mappings": lambda: rows, "table": lambda: table, "frame": table.to_pandas,
        "relation": lambda: pytest.importorskip("duckdb").from_arrow(table),
    }  # fmt: skip
    log = [{"type": "A", "time": 1, "x": 2}]
    assert wb.run(wb.rules.parse_rules(FACTS), log, facts={"F": given[kind]()}) == [{"type": "B", "time": 1, "y": 7.0}]


@pytest.mark.parametrize(
    ("given", "said"),
    [("f.csv", "of type str.*TYPE=FILE"), ({"x": [1]}, "of type dict"), (3, "of type int"), ([3], "mapping")],
)
def test_facts_of_another_kind_are_refused(given, said):
    with pytest.raises(InputError, match=f"(?s)facts of type 'F'.*{said}"):
        wb.run(wb.rules.parse_rules(FACTS), [], facts={"F": given})


def test_subscribers_are_told():
    running, told = wb.rules.RunningRules(TEXT), []
    end = running.subscribe("Told", told.append)
    assert running.publish("A", 1, x=7) == []
    made = running.publish("B", time=11, x=7, name="n")
    assert made == told == [TOLD | {"rule": "pair"}]
    end()
    running.publish("B", time=11, x=7)
    assert len(told) == 1
    running.subscribe(None, told.append)
    assert running.publish("B", time=11, x=7)[0]["name"] is None
    assert len(told) == 2
    for call, phrase in (
        (lambda: running.subscribe("Tld", print), "no rule emits 'Tld'"),
        (lambda: running.publish("C", 12), "no type 'C' of events"),
        (lambda: running.publish("A", 12, y=1), "A has no attribute 'y'"),
        (lambda: running.publish("A", 3, x=1), "goes back"),
    ):
        with pytest.raises(InputError, match=phrase):
            call()
    with pytest.raises(DomainError, match=r"'x' of A is int, not 1\.5"):
        running.publish("A", 12, x=1.5)


def test_rules_that_somebody_subscribes_to_run():
    told = []
    running = wb.rules.parse_rules(TEXT).subscribe("Told", told.append, unit="s", engine="aip")
    running.publish("A", 1, x=7)
    assert running.publish("B", time=11, x=7, name="n") == told != []
    assert isinstance(running, wb.rules.RunningRules)


GCD = "declare A(x: int) declare B() declare D(x: int) rule g: from B and $g = GCD(A.x within {} from B) emit D(x = $g)"


def test_aggregates_are_functions():
    rules = wb.rules.parse_rules(GCD.format(9), aggregates={"GCD": (math.gcd, 0)})
    assert not rules.warnings
    log: list[Any] = [{"type": "A", "time": 1, "x": x} for x in (12, 8, None, 30)] + [{"type": "B", "time": 1}]
    for engine in ("cdp", "aip"):
        assert wb.run(rules, log, engine=engine) == [{"type": "D", "time": 1, "x": 2}]
    running = wb.rules.RunningRules(rules)
    running.engine.replace("g", GCD.partition("rule")[1] + GCD.partition("rule")[2].format("2 events"))
    for row in log:
        made = running.publish(**row)
    assert made[0]["x"] == 30
    with pytest.raises(LanguageError, match="two aggregates are called 'GCD'"):
        running.engine.add("declare aggregate GCD(a: int, b: int) = a * b from 1")


@pytest.mark.parametrize(("given", "phrase"), [
    ((lambda a, b: a - b, 0), "not associative"), ((max, None), "'GCD' is not"), (max, "not an aggregate"),
    ((lambda a, b: a + b, ""), "not defined on int"),
])  # fmt: skip
def test_functions_that_are_no_aggregates(given, phrase):
    with pytest.raises(WorkbenchError, match=phrase):
        wb.rules.parse_rules(GCD.format(9), aggregates={"GCD": given})


def test_a_function_that_fails_is_named():
    for function, phrase in (
        (lambda a, b: a if a > 9 or b > 9 else 1 // 0, r"GCD\(0, 3\) fails: ZeroDivisionError"),
        (lambda a, b: float(a), r"GCD\(0, 3\) is 0\.0, not of type int"),
    ):
        running = wb.rules.parse_rules(GCD.format(9), aggregates={"GCD": (function, 0)}).subscribe(None, print)
        running.publish("A", 1, x=3)
        with pytest.raises(InputError, match=phrase):
            running.publish("B", 1)


def test_the_clock_moves():
    running = wb.rules.RunningRules(
        "declare A() declare Gone() from A as Start and absent A within 5 s after Start emit Gone", unit="s"
    )
    running.publish("A", 1)
    assert running.advance(5) == []
    assert [each["time"] for each in running.advance(6)] == [6]
    with pytest.raises(InputError, match="'lap' is not a unit"):
        wb.rules.RunningRules("", unit="lap")


def test_what_a_command_would_say_is_said(tmp_path, caplog):
    """Bad rows and late events are kept, and rows of unknown types are told, when the answer has been read."""
    rows: list[dict[str, Any]] = [
        {"type": "Z", "time": 1}, {"type": "A", "time": 30, "x": 7}, {"type": "A", "time": 31, "x": "seven"},
        {"type": "A", "time": 50, "x": 8}, {"type": "A", "time": 2, "x": 8},
    ]  # fmt: skip
    late, bad = tmp_path / "late.jsonl", tmp_path / "bad.csv"
    caplog.set_level("INFO", "workbench")
    answer = wb.run(wb.rules.parse_rules(TEXT), iter(rows), late="5", late_output=str(late), bad_rows=str(bad))
    assert not late.exists()
    assert list(answer) == []
    assert late.read_text() == '{"type": "A", "time": 2, "x": 8}\n'
    assert "seven" in bad.read_text()
    assert "ignored rows of types that are not declared: Z (1)" in caplog.text
    assert "1 event came too late" in caplog.text
    with pytest.raises(InputError, match="came later"):
        list(wb.run(wb.rules.parse_rules(TEXT), iter(rows), late="5", bad_rows=str(tmp_path / "none.csv")))
    assert {path.name for path in tmp_path.iterdir() if path.name[0] != "."} == {"bad.csv", "late.jsonl"}


def test_a_run_from_file_to_file_shows_how_far_it_is(tmp_path):
    shown = []

    @contextmanager
    def progress(text):
        yield
        shown.append(text())

    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    options = RunOptions(input=str(tmp_path / "in.jsonl"), output=str(tmp_path / "out.jsonl"))
    run_rules(wb.rules.parse_rules(TEXT), Start(options, progress=progress))
    assert shown == [f"{len(ROWS)} rows, 1 event out"]


def test_options_for_pipelines_are_refused():
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    with pytest.raises(InputError, match="for rules and pipelines with rules in them only: --until"):
        wb.run(program, {"x": [1]}, until=3)
    with pytest.raises(InputError, match="no system 'trx' to be compatible with"):
        wb.run(wb.rules.parse_rules(TEXT), ROWS, compat="trx")
    with pytest.raises(Refused, match="not supported by backend 'threaded': it runs pipelines only"):
        wb.run(wb.rules.parse_rules(TEXT), ROWS, backend="threaded")
    with pytest.raises(InputError, match=r"wb\.rules\.load_rules"):
        wb.load("fire.tesla")
    with pytest.raises(InputError, match="not for the gpu backend: --threads"):
        wb.run(wb.rules.parse_rules(TEXT), ROWS, backend="gpu", threads=2)
    assert wb.run(wb.rules.parse_rules(TEXT), ROWS, threads=2) == wb.run(wb.rules.parse_rules(TEXT), ROWS)
    with pytest.raises(InputError, match="there is no option 'untl'"):
        wb.run(wb.rules.parse_rules(TEXT), ROWS, untl=2)  # type: ignore[call-overload]


def test_times_of_published_events():
    """What is not a time is refused, and changes nothing; fractions are rounded to microseconds."""
    running = wb.rules.parse_rules("declare A()\ndeclare B()\nfrom A() emit B()").subscribe("B", print, unit="s")
    times: list[tuple[Any, float]] = [(1, 1), (np.int64(2), 2), (2.5, 2.5), (3.0000001, 3), (np.float64(4.25), 4.25)]
    for time, said in times:
        assert [each["time"] for each in running.publish("A", time)] == [said]
    nothing: Any = None
    wrong: Any
    for wrong in ("now", "5", None, math.nan, math.inf, datetime(2026, 1, 1, tzinfo=UTC)):
        for move in (running.advance, lambda time: running.publish("A", time)):
            with pytest.raises(InputError, match="is not a time of an event"):
                move(wrong)
    assert [each["time"] for each in running.publish("A", 5)] == [5]
    without_unit = wb.rules.parse_rules("declare A()\ndeclare B()\nfrom A() emit B()").subscribe("B", print)
    assert [each["time"] for each in without_unit.publish("A", 2.0)] == [2]
    with pytest.raises(InputError, match="without a unit, a whole number"):
        without_unit.publish("A", 2.5)
    with pytest.raises(InputError, match="None cannot be called"):
        running.subscribe("B", nothing)


def test_a_log_without_a_declared_type_is_remarked(caplog):
    rules = wb.rules.parse_rules("declare A()\ndeclare B()\nfrom A() emit B()")
    for row, named in (({"type": "Z", "time": 1}, "Z"), ({"kind": "A", "time": 1}, "no type")):
        caplog.clear()
        assert wb.run(rules, [row], time_unit="s") == []
        assert f"no row is of a type that is declared: {named} (1)" in caplog.text
    some: list[dict[str, Any]] = [{"type": "A", "time": 1}, {"type": "Z", "time": 1}]
    bad: list[dict[str, Any]] = [{"type": "A", "time": "soon"}, {"type": "Z", "time": 1}]
    for rows, count in ((some, 1), (bad, 0)):  # one row is, even if it cannot be read
        caplog.clear()
        assert len(wb.run(rules, rows, time_unit="s", bad_rows="skip")) == count
        assert "no row is of a type" not in caplog.text
