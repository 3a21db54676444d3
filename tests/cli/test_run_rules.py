"""Rules on logs: types, times and attributes of rows, several files, late events, facts, and what is written."""

import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.executors.table import engines_here

ROOT = Path(__file__).parents[2]
RULES = """
declare A(x: int)
declare B(x: int, name: string)
declare C(x: int)
declare Told(x: int, name: string)
rule pair: from B[$x = x] and each A(x == $x) within 10 from B emit Told(x = $x, name = B.name)
rule gone: from C as Start and absent A(x == Start.x) within 5 after Start emit Told(x = Start.x, name = "gone")
"""


@pytest.fixture
def run(workbench, tmp_path):
    """What a run of rules says: its rows, and what it tells."""
    (tmp_path / "r.tesla").write_text(RULES)

    def made(rows, *options, rules=None, code=0):
        if rules is not None:
            (tmp_path / "r.tesla").write_text(rules)
        (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = [] if "--input" in options else ["--input", tmp_path / "in.jsonl"]
        done = workbench("run", tmp_path / "r.tesla", *given, *options)
        assert done.code == code, done.err
        return [json.loads(line) for line in done.out.splitlines()], done.err

    return made


def event(type, time, **values):
    return {"type": type, "time": time, **values}


PAIR = [event("A", 1, x=7), event("A", 2, x=8), event("B", 11, x=7, name="n"), event("B", 12, x=7, name="m")]
TOLD = [event("Told", 11, x=7, name="n")]


@pytest.mark.parametrize("engine", engines_here())
def test_composites_are_rows(run, engine):
    """Of the two Bs only the first lies within 10 of the A with the same x."""
    assert run(PAIR, "--backend", engine) == (TOLD, "")


def test_every_format(run, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {name: [row.get(name) for row in PAIR] for name in ("type", "time", "x", "name")}
    parquet.write_table(pa.table(columns), tmp_path / "in.parquet")
    (tmp_path / "in.csv").write_text("time,name,x,type\n1,,7,A\n2,,8,A\n11,n,7,B\n12,m,7,B\n")
    for name in ("in.parquet", "in.csv"):
        out = tmp_path / "out.jsonl"
        run([], "--input", tmp_path / name, "--output", out)
        assert [json.loads(line) for line in out.read_text().splitlines()] == TOLD
    run(PAIR, "--output", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "type,time,x,name\nTold,11,7,n\n"
    run(PAIR, "--output", tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == TOLD


def test_a_file_for_each_type(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,time\n7,1\n8,2\n")
    (tmp_path / "b.csv").write_text("time,x,name\n11,7,n\n12,7,m\n")
    given = ("--input", f"B={tmp_path / 'b.csv'}", "--input", f"A={tmp_path / 'a.csv'}", "--format", "csv")
    out = tmp_path / "out.jsonl"
    run([], *given, "--output", out)
    assert [json.loads(line) for line in out.read_text().splitlines()] == TOLD
    _, told = run([], "--input", f"Bb={tmp_path / 'b.csv'}", code=2)
    assert "no events of type 'Bb'" in told
    assert "did you mean 'B'?" in told
    (tmp_path / "b.csv").write_text("time,y,name\n11,7,n\n")
    _, told = run([], "--input", f"B={tmp_path / 'b.csv'}", code=2)
    assert "there is no column 'x'" in told


def test_events_of_one_time_stand_in_the_order_of_the_files(run, tmp_path):
    """An A of the same time is before the B where its file is named first, and after it else."""
    (tmp_path / "a.csv").write_text("x,time\n7,5\n")
    (tmp_path / "b.csv").write_text("time,x,name\n5,7,n\n")
    files = [f"A={tmp_path / 'a.csv'}", f"B={tmp_path / 'b.csv'}"]
    for order, count in ((files, 1), (files[::-1], 0)):
        out = tmp_path / "out.jsonl"
        run([], *(word for file in order for word in ("--input", file)), "--output", out)
        assert len(out.read_text().splitlines()) == count


def test_dates_and_units(run):
    rules = RULES.replace("within 10 from", "within 10 s from").replace("within 5 after", "within 5 s after")
    dates = [row | {"time": f"2024-05-01T00:00:{row['time']:02}.5+02:00"} for row in PAIR]
    assert run(dates, rules=rules)[0] == [event("Told", "2024-04-30T22:00:11.500000Z", x=7, name="n")]
    assert run(PAIR, "--time-unit", "s")[0] == TOLD
    halves = [row | {"time": row["time"] / 2} for row in PAIR]
    assert run(halves, "--time-unit", "s")[0] == [
        event("Told", 5.5, x=7, name="n"), event("Told", 6, x=7, name="m"),
    ]  # fmt: skip
    _, told = run(PAIR, code=2)
    assert "'10 s' has a unit, but the times of the log have none" in told
    assert "--time-unit" in told
    assert "expected a whole number" in run(halves, rules=RULES, code=2)[1]
    assert "10 needs a unit\n" in (told := run(dates, code=2)[1])
    assert "times are dates: write 10 s" in told
    assert "did you mean 'ms'" in run(PAIR, "--time-unit", "mss", code=2)[1]


def test_the_clock_moves_to_the_end_where_it_is_told_to(run):
    """No A with x = 1 comes by time 6; without a later event nothing happens."""
    start = [event("A", 1, x=1), event("C", 1, x=1), event("A", 3, x=2)]
    gone = [event("Told", 6, x=1, name="gone")]
    assert run(start)[0] == []
    assert run(start, "--until", "5")[0] == []
    assert run(start, "--until", "6")[0] == gone
    assert run([*start, event("A", 6, x=1), event("A", 9, x=1)])[0] == []
    assert run([*start, event("A", 7, x=1)])[0] == gone
    assert "--until x: expected a number" in run(start, "--until", "x", code=2)[1]


def test_until_is_refused_at_the_first_row():
    """Where the log has times with a zone, and it has none."""
    rows = iter([event("A", f"2026-01-01T00:00:0{second}Z", x=1) for second in range(9)])
    rules = wb.rules.parse_rules("declare A(x: int) declare Told(x: int) from A emit Told(x = 1)")
    with pytest.raises(wb.errors.InputError, match="expected a date with a time zone, as in the rows before"):
        list(wb.run(rules, rows, until="2026-01-01T00:00:09"))
    assert len(list(rows)) > 5


def test_late_events_are_waited_for(run, tmp_path):
    late = [PAIR[2], PAIR[0], PAIR[1], event("A", 30, x=1)]
    _, told = run(late, code=2)
    assert "in.jsonl:2:" in told
    assert "expected a time from 11 on" in told
    assert "--late 10" in told
    assert run(late, "--late", "10")[0] == TOLD
    _, told = run([event("A", 30, x=1), event("A", 45, x=1), *PAIR], "--late", "10", code=2)
    assert "an event of type A of 1 (event 3) came later than --late 10" in told
    kept = tmp_path / "late.jsonl"
    rows, told = run(
        [event("A", 30, x=1), event("A", 45, x=1), *PAIR], "--late", "10", "--late-output", kept
    )  # fmt: skip
    assert rows == []
    assert "4 events came too late" in told
    assert [json.loads(line) for line in kept.read_text().splitlines()] == PAIR


def test_the_events_of_a_match_are_told(run):
    rows, _ = run([event("Z", 0), *PAIR], "--with-sources")
    assert [(row["id"], row["sources"]) for row in rows] == [(1, ["3", "1"])]
    nested = RULES + "declare Twice(x: int) from Told and each Told as Before within 10 from Told emit Twice(x = 1)"
    rows, _ = run(
        [*PAIR[:2], event("B", 3, x=7, name="n"), event("B", 4, x=7, name="m")], "--with-sources", rules=nested
    )
    assert [(row["type"], row["id"], row["sources"]) for row in rows] == [
        ("Told", 1, ["3", "1"]), ("Told", 2, ["4", "1"]), ("Twice", 3, ["#2", "#1"]),
    ]  # fmt: skip


def test_a_column_of_another_name_has_the_types(workbench, tmp_path):
    """With declared types, and where the log tells what types it has."""
    rule, log = tmp_path / "r.tesla", tmp_path / "in.csv"
    rule.write_text("declare Told(x: int) from A emit Told(x = A.x)")
    log.write_text("time,action,n\n1,A,3\n2,B,4\n")
    given = ("run", rule, "--input", log, "--infer", "--output-format", "jsonl")
    done = workbench(*given, "--column", "type=action", "--column", "x=n")
    assert json.loads(done.out) == {"type": "Told", "time": 1, "x": 3}
    assert "--input TYPE=" in (hint := workbench(*given).err)
    assert "--column type=COLUMN" in hint
    rule.write_text("declare A(n: int) declare Told(x: int) from A emit Told(x = A.n)")
    assert "n: int" in workbench("run", rule, "--input", f"A={log}", "--columns").out


def test_what_a_log_lacks_is_told(run):
    rows, told = run([event("Z", 0), event("A", 1, y=7), *PAIR[2:]])
    assert rows == []
    assert "ignored rows of types that are not declared: Z (1)" in told
    assert "no event of type A has a 'x': it is null in all of them" in told
    nameless = [event("", 1), {"time": 1, "y": 7}]
    assert "ignored rows of types that are not declared: no type (2)" in run([*nameless, *PAIR])[1]
    _, told = run([event("A", 1, y=7), event("A", 2, y=7)])
    assert "no event of type A has a 'x' so far: it is null" in told
    assert "ignored columns: y" in told
    assert "has no 'time'" in run([{"type": "A", "x": 1}], code=2)[1]
    _, told = run([event("A", 1, x="seven")], code=2)
    assert "in.jsonl:1" in told
    assert "expected a whole number, not" in told


def test_null_is_a_value(run):
    """It equals nothing, itself neither."""
    assert run([event("A", 1), event("B", 2, name="n")])[0] == []
    rules = RULES.replace("(x == $x)", "")
    assert run([event("A", 1), event("B", 2, x=3)], rules=rules)[0] == [event("Told", 2, x=3)]


FACTS = """
declare Late(bus: int)
declare fact Line(bus: int, name: string)
declare Notice(line: string)
from Late[$b = bus] and each Line[$l = name](bus == $b) emit Notice(line = $l)
"""


def test_facts_come_from_files(run, tmp_path):
    (tmp_path / "lines.csv").write_text("bus,name\n1,north\n2,south\n1,ring\n")
    lines = f"Line={tmp_path / 'lines.csv'}"
    rows, _ = run([event("Late", 3, bus=1)], "--facts", lines, rules=FACTS)
    assert [row["line"] for row in rows] == ["north", "ring"]
    assert "there are no facts of type 'Line'" in run([event("Late", 3, bus=1)], code=2)[1]
    assert "expected TYPE=FILE" in run([event("Late", 3, bus=1)], "--facts", "Lne=x", code=2)[1]


@pytest.mark.parametrize("user", [str, int])
def test_a_run_for_each_key(run, user):
    """What is of another user is no part of a match, and all users have one clock, that of the log.

    The A of user 1 is none for the B of user 2. The Cs at 20 are told when the event at 30 comes, though it is of
    user 1; a C of user 2 at 30 by the clock in the end.
    """
    rows = [event("A", 1, x=7), event("B", 3, x=7, name="n"), event("A", 4, x=7), event("B", 5, x=7, name="m"),
            event("C", 20, x=1), event("C", 20, x=2), event("A", 30, x=9), event("C", 30, x=3)]  # fmt: skip
    whose = [1, 2, 2, 1, 1, 2, 1, 2]
    rows = [{**row, "user": user(number)} for row, number in zip(rows, whose, strict=True)]
    told = [
        event("Told", 5, x=7, name="m", user=user(1)), event("Told", 25, x=1, name="gone", user=user(1)),
        event("Told", 25, x=2, name="gone", user=user(2)),
    ]  # fmt: skip
    assert run(rows, "--key", "user") == (told if user is str else [{**e, "user": str(e["user"])} for e in told], "")
    later = {**event("Told", 35, x=3, name="gone"), "user": "2"}
    assert run(rows, "--key", "user", "--until", "40")[0][-1] == later
    in_python: Any = wb.run(wb.rules.parse_rules(RULES), rows, key="user")
    assert in_python == told
    del rows[2]["user"]
    assert "an event of type A has no 'user'" in run(rows, "--key", "user", code=2)[1]
    assert "--with-sources and --key cannot be combined" in run(rows, "--key", "user", "--with-sources", code=2)[1]


def test_what_runs_rules_was_called_an_engine(run):
    """And is for one release."""
    out, err = run(PAIR, "--engine", "aip")
    assert out == TOLD
    assert "--backend instead of --engine" in err
    assert "two backends: aip and cdp" in run(PAIR, "--backend", "aip", "--engine", "cdp", code=2)[1]


def test_options_of_others_are_refused(run, workbench, tmp_path):
    assert "Told has an attribute 'x', which is also the column of keys" in run(PAIR, "--key", "x", code=2)[1]
    said = run(PAIR, "--backend", "threaded", code=2)[1]
    assert "is not supported by backend 'threaded': it runs pipelines only; available on: cdp, aip, compiled" in said
    said = run(PAIR, "--master", "local", code=2)[1]
    assert "not for the cdp backend: --master" in said
    assert "leave it out, or add --backend spark" in said
    assert "for pipelines only: --reassociate" in run(PAIR, "--backend", "compiled", "--reassociate", code=2)[1]
    assert "for pipelines only: --steps" in run(PAIR, "--steps", code=2)[1]
    said = run(PAIR, "--backend", "gpu", "--threads", "2", code=2)[1]
    assert "not for the gpu backend: --threads" in said
    assert "--backend compiled" in said
    assert "there is no backend 'cpd'" in run(PAIR, "--backend", "cpd", code=2)[1]
    (tmp_path / "p.pipe").write_text("pipeline p(x: int) -> int { return x }")
    (tmp_path / "x.csv").write_text("x\n1\n")
    done = workbench("run", tmp_path / "p.pipe", "--input", tmp_path / "x.csv", "--until", "3")
    assert done.code == 2
    assert "for rules and pipelines with rules in them only: --until" in done.err
    done = workbench("advise", tmp_path / "r.tesla", "--input", tmp_path / "x.csv")
    assert done.code == 2
    assert "these are rules" in done.err


def test_names_that_are_taken_are_refused(run):
    rules = "declare A(x: int, id: int) from A emit A(x = 1, id = 2)"
    assert "attribute 'id' is also a column of --with-sources" in run([], "--with-sources", rules=rules, code=2)[1]
    assert "'x' is an attribute, not a column of times" in run(PAIR, "--time", "x", code=2)[1]


def test_a_row_is_one_event(run):
    _, told = run(PAIR, "--progress")
    assert "4 rows, 4 events in, 1 event out" in told


def test_profile(run):
    _, told = run(PAIR, "--profile")
    assert "pair: " in told
    assert "1 composites" in told


def test_types_may_share_the_name_of_an_attribute(run):
    rules = "declare A(v: int) declare B(v: string) declare C(v: string) from B[$v = v] emit C(v = $v)"
    rows = [event("A", 1, v=3), event("B", 2, v="x")]
    assert run(rows, rules=rules)[0] == [event("C", 2, v="x")]
    assert "'v' of A: expected a whole number" in run([event("A", 1, v="y")], code=2)[1]


def test_types_are_taken_from_the_log(run, tmp_path):
    rules = """define Fire(area: string, measured: double)
    from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 from Smoke
    where area=Smoke.area and measured=Temp.value"""
    rows = [event("Temp", 1, area="a", value=50), event("Temp", 2, area="a", value=40.5), event("Smoke", 3, area="a")]
    assert run(rows, "--infer", rules=rules)[0] == [event("Fire", 3, area="a", measured=50.0)]
    assert "no type 'Smoke' is declared" in run(rows, code=2)[1]
    assert "--infer" in run(rows, code=2)[1]
    (tmp_path / "s.csv").write_text("time,area\n3,a\n")
    (tmp_path / "t.csv").write_text("time,area,value\n1,a,50.5\n")
    given = ("--input", f"Smoke={tmp_path / 's.csv'}", "--input", f"Temp={tmp_path / 't.csv'}")
    run([], *given, "--infer", "--output", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "type,time,area,measured\nFire,3,a,50.5\n"
    assert "there is no column 'type'" in run([], "--input", tmp_path / "s.csv", "--infer", code=2)[1]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["5", "7"], "string"), ([1, "x"], "string"), (["x", 1], "string"), ([True, 3], "string"), ([1, 2.5], "float"),
        ([1, 2], "int"), ([True, False], "bool"), ([None, None], "string"), ([None, 4], "int"), ([1.0, 2.0], "float"),
        (["007", "12"], "string"), (["", 1], "string"), ([1, ""], "string"), (["", None], "string"),
    ],
)  # fmt: skip
def test_inferred_types_read_the_rows_that_they_are_from(run, cells, kind):
    rules = f"declare Seen(v: {kind}) from Temp[$v = v] emit Seen(v = $v)"
    rows = [event("Temp", time, v=v) for time, v in enumerate(cells)]
    out, told = run(rows, "--infer", rules=rules)
    assert f"v: {kind}" in told
    shown = [v if kind != "string" or v is None or isinstance(v, str) else json.dumps(v) for v in cells]
    assert [each.get("v") for each in out] == shown


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(["007", "12"], "string"), (["7", "12"], "int"), (["7", "1.5"], "float"), (["1", "x"], "string"),
     (["", ""], "string"), (["0", "10"], "int"), (["0.5", "00.5"], "string"), (["-01", "2"], "string"),
     (["true", "3"], "string")],
)  # fmt: skip
def test_inferred_types_of_texts(run, tmp_path, cells, kind):
    log = tmp_path / "t.csv"
    log.write_text("time,v\n" + "".join(f"{time},{v}\n" for time, v in enumerate(cells)))
    rules = f"declare Seen(v: {kind}) from Temp[$v = v] emit Seen(v = $v)"
    written = tmp_path / "out.jsonl"
    _, told = run([], "--input", f"Temp={log}", "--infer", "--output", written, rules=rules)
    out = [json.loads(line) for line in written.read_text().splitlines()]
    assert f"Temp(v: {kind})" in told
    meant = {"int": int, "float": float, "string": str}[kind]
    assert [each.get("v") for each in out] == [meant(v) if v else None for v in cells]


def test_numbers_in_a_text_of_json_are_read_as_they_are_written(run, tmp_path):
    written = ["1.50", "1e3", "1E+2", "-0", "1e400", "12345678901234567890", "true", '"x"', '"1.50"']
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f'{{"type": "A", "time": {time}, "v": {v}}}\n' for time, v in enumerate(written)))
    rules = "declare B(v: string) from A[$v = v] emit B(v = $v)"
    (tmp_path / "mixed.jsonl").write_text('{"type": "A", "time": 0, "v": "a"}\n' + log.read_text())
    out, _ = run([], "--input", tmp_path / "mixed.jsonl", "--infer", "--infer-rows", "1", rules=rules)
    assert [each["v"] for each in out] == ["a", *(v.strip('"') for v in written)]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("[1]", "arrays"),
        ('{"a": 1}', "objects"),
        ("1e400", "numbers that no float holds"),
        (None, "no row of A that --infer has read has a value for it"),
    ],
)
def test_what_no_attribute_can_be_is_said_when_types_are_inferred(run, tmp_path, value, why):
    """Rules that do not read it run."""
    log = tmp_path / "log.jsonl"
    v = "" if value is None else f', "v": {value}'
    log.write_text(f'{{"type": "A", "time": 1, "w": 2{v}}}\n{{"type": "A", "time": 2, "w": 3}}\n')
    _, told = run([], "--input", log, "--infer", rules="declare B(v: string) from A[$v = v] emit B(v = $v)", code=2)
    assert "A has no attribute 'v'" in told
    assert why in told
    assert "declared without" not in told
    out, told = run([], "--input", log, "--infer", rules="declare B(w: int) from A[$w = w] emit B(w = $w)")
    assert [each["w"] for each in out] == [2, 3]
    assert ("left out" in told) == (value is not None)


def test_more_rows_may_be_looked_at_for_types(run):
    rows = [event("Temp", time, v=0) for time in range(3)] + [event("Temp", 3, v=0.5)]
    rules = "declare Seen(v: float) from Temp[$v = v] emit Seen(v = $v)"
    assert len(run(rows, "--infer", rules=rules)[0]) == 4
    _, told = run(rows, "--infer", "--infer-rows", "2", rules=rules, code=2)
    assert "expected a whole number" in told
    assert "--infer-rows" in told
    assert len(run(rows, "--infer", "--infer-rows", "4", rules=rules)[0]) == 4


def test_the_columns_of_a_log(run, workbench, tmp_path):
    run([event("A", 1, x="seven")], code=2)
    done = workbench("run", tmp_path / "r.tesla", "--input", tmp_path / "in.jsonl", "--columns")
    assert done.code == 0
    assert [line.split()[:2] for line in done.out.splitlines()[2:5]] == [
        ["type", "texts"], ["time", "whole"], ["x", "texts"],
    ]  # fmt: skip
    assert "no column" not in done.out, "types need not have what others have"
    assert "expected a whole number" in done.out


def test_drawn(workbench):
    done = workbench("draw", ROOT / "models/tesla/silence.tesla")
    assert done.code == 0
    assert 'label="within 1 min after"' in done.out
    assert 'label="$r"' in done.out
    assert done.out.count("subgraph") == 2
