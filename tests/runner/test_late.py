"""Late rows: each log has a watermark, the greatest time read less the allowed lateness; a row below it is late."""

import json

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.events import lines

SEEN = wb.rules.parse_rules("declare C(n: int)\ndeclare Seen(n: int)\nrule seen: from C emit Seen(n = C.n)")


@pytest.fixture(params=["blocks", "rows"], autouse=True)
def form(request, monkeypatch):
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 0 if request.param == "blocks" else 1 << 40)
    monkeypatch.setattr(lines, "SIZE", 30)


def log(path, *times):
    """A log of events at these times, numbered from 1 on."""
    path.write_text("type,time,n\n" + "".join(f"C,{time},{i}\n" for i, time in enumerate(times, 1)))
    return path


def times_of(rows):
    return [row["time"] for row in rows]


def test_a_row_below_the_watermark_is_late_whatever_has_been_released(tmp_path):
    """Behind 20 the watermark is 15: 12 is late, though no time between 12 and 15 has come."""
    kept = tmp_path / "late.jsonl"
    found = wb.run(SEEN, log(tmp_path / "a.csv", 10, 20, 12, 17), late="5", late_output=kept)
    assert times_of(found) == [10, 17, 20]
    assert [json.loads(line)["time"] for line in kept.read_text().splitlines()] == [12]


def test_the_late_rows_of_a_file_of_one_type_have_its_columns(tmp_path, caplog):
    """They are read like the file: neither a column of types nor attributes of other types are ignored."""
    rules = wb.rules.parse_rules(
        "declare C(n: int)\ndeclare Sum(n: int, total: int)\nfrom C emit Sum(n = 1, total = 2)"
    )
    (tmp_path / "a.csv").write_text("time,n\n10,1\n20,2\n12,3\n")
    (tmp_path / "b.csv").write_text("time,n,total\n30,4,1\n11,5,2\n")
    late, both = tmp_path / "late.csv", tmp_path / "both.csv"
    wb.run(rules, f"C={tmp_path / 'a.csv'}", late="5", late_output=late)
    assert late.read_text() == "time,n\n12,3\n"
    with caplog.at_level("INFO", "workbench"):
        assert times_of(wb.run(rules, f"C={late}")) == [12]
    assert caplog.messages == []
    wb.run(rules, [f"C={tmp_path / 'a.csv'}", f"Sum={tmp_path / 'b.csv'}"], late="5", late_output=both)
    assert sorted(both.read_text().splitlines()) == ["C,12,3,", "Sum,11,5,2", "type,time,n,total"]


def test_a_row_at_the_watermark_is_in_time(tmp_path):
    assert times_of(wb.run(SEEN, log(tmp_path / "a.csv", 20, 15), late="5")) == [15, 20]
    with pytest.raises(InputError, match=r"a\.csv: an event of type C of 14 \(event 2\) came later than --late 5"):
        wb.run(SEEN, log(tmp_path / "a.csv", 20, 14), late="5")


def test_rows_of_one_time_stay_in_their_order(tmp_path):
    found = wb.run(SEEN, log(tmp_path / "a.csv", 3, 5, 3, 5, 4), late="2")
    assert [(row["time"], row["n"]) for row in found] == [(3, 1), (3, 3), (4, 5), (5, 2), (5, 4)]


def test_each_log_has_a_watermark(tmp_path):
    """100 in one log makes nothing late in the other one, and both are merged when they are in order."""
    files = [log(tmp_path / "a.csv", 100, 96, 150), log(tmp_path / "b.csv", 8, 5, 120, 97)]
    kept = tmp_path / "late.jsonl"
    assert times_of(wb.run(SEEN, files, late="5", late_output=kept)) == [5, 8, 96, 100, 120, 150]
    assert [json.loads(line)["time"] for line in kept.read_text().splitlines()] == [97]


def test_what_comes_before_a_late_row_is_there(tmp_path):
    """Behind 40 the watermark is 35, and has passed 10 and 30."""
    output = tmp_path / "out.jsonl"
    with pytest.raises(InputError, match=r"of 34 \(event 4\) came later"):
        wb.run(SEEN, log(tmp_path / "a.csv", 10, 30, 40, 34, 41), output=output, late="5")
    (unfinished,) = (each for each in tmp_path.iterdir() if each.name.endswith(".out.jsonl"))
    assert [json.loads(line)["time"] for line in unfinished.read_text().splitlines()] == [10, 30]


def test_what_comes_before_a_row_that_cannot_be_read_is_there_in_every_log(tmp_path):
    """The first log ends at 20 with an error: what the other one has up to there comes before it."""
    output, damaged = tmp_path / "out.jsonl", log(tmp_path / "a.csv", 10, 20)
    damaged.write_text(damaged.read_text() + "C,25,x\n")
    with pytest.raises(InputError, match=r"a\.csv:4: column 'n': expected a whole number, not 'x'"):
        wb.run(SEEN, [damaged, log(tmp_path / "b.csv", 5, 15, 19, 20, 24)], output=output)
    (unfinished,) = (each for each in tmp_path.iterdir() if each.name.endswith(".out.jsonl"))
    assert [json.loads(line)["time"] for line in unfinished.read_text().splitlines()] == [5, 10, 15, 19, 20]


def test_the_lateness_of_dates_has_a_unit(tmp_path):
    """30 may be seconds, minutes or microseconds."""
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    rows = [{"at": f"2026-11-24T08:00:{second:02}", "x": second} for second in (0, 20, 10)]
    for late in ("30", " 1.5 "):
        with pytest.raises(InputError, match=r"the duration .* has no unit") as error:
            list(wb.run(program, rows, time="at", late=late))
        assert error.value.hint == "the times of the log are dates: write {0}s, {0}min or {0}h".format(late.strip())
    assert [row["x"] for row in wb.run(program, rows, time="at", late="30s", carry="x")] == [0, 10, 20]


def test_a_key_is_carried_once():
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    rows = [{"k": 1, "x": 5}, {"k": 2, "x": 6}]
    assert list(wb.run(program, rows, key="k", carry=["k", "x"])) == list(wb.run(program, rows, key="k", carry="x"))
