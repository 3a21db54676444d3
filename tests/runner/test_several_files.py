"""A log of several files, some of which lack columns that others have: their rows have no event there."""

import contextlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.events import lines as lines_of

pa = pytest.importorskip("pyarrow")  # what is imported below is a part of it
from pyarrow import ipc, parquet  # noqa: E402

TEXT = """
pipeline sum(inside: int, outside: int) -> int { return inside + outside }
pipeline one(x: int) -> int { return x }
pipeline records(e: {u: int, v: int}, x: int) -> u: int, x: int { return e.u, x }
"""
SUM = wb.parse(TEXT).get("sum").pipeline
INSIDE = [{"at": 1, "room": "a", "inside": 5}, {"at": 4, "room": "b", "inside": 7}, {"at": 6, "room": "a", "inside": 1}]
OUTSIDE = [{"at": 2, "room": "a", "outside": 10}, {"at": 3, "room": "a", "outside": 20}]


@pytest.fixture(autouse=True, params=["blocks", "rows"])
def _blocks_or_rows(request, monkeypatch):
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0 if request.param == "blocks" else 1 << 40)


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A log in the format of its name."""
    names = list(rows[0])
    if path.suffix in (".csv", ".tsv"):
        between = "," if path.suffix == ".csv" else "\t"
        path.write_text("".join(between.join(map(str, each)) + "\n" for each in [names, *(r.values() for r in rows)]))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        table = pa.Table.from_pylist(list(rows))
        if path.suffix == ".parquet":
            parquet.write_table(table, path)
        else:
            make = ipc.new_file if path.suffix == ".arrow" else ipc.new_stream
            with make(path, table.schema) as writer:
                writer.write_table(table)
    return path


def ran(logs: Sequence[Path], *, program: Any = SUM, **options: Any) -> list[dict[str, Any]]:
    """The rows of the output."""
    target = logs[0].parent / "out.jsonl"
    wb.run(program, list(logs), output=target, **options)
    return [json.loads(line) for line in target.read_text().splitlines()]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("other", ["csv", "jsonl"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow", "arrows"])
def test_inputs_with_a_file_each(ending, other, backend, tmp_path):
    logs = [written(tmp_path / f"in.{ending}", INSIDE), written(tmp_path / f"beside.{other}", OUTSIDE)]
    # events are joined in their order: 5 and 10 (complete at time 2), 7 and 20 (at 4); the third has no partner
    assert ran(logs, backend=backend) == [{"out": 15}, {"out": 27}]
    assert ran(logs, backend=backend, time="at") == [{"at": 2, "out": 15}, {"at": 4, "out": 27}]
    by_room = [{"at": 2, "room": "a", "out": 15}, {"at": 6, "room": "a", "out": 21}]
    assert ran(logs, backend=backend, time="at", key="room") == by_room
    options = {"backend": backend, "time": "at", "carry": ["inside", "room"]}
    assert ran(logs, **options) == [
        {"at": 2, "room": "a", "out": 15}, {"at": 4, "inside": 7, "room": "b", "out": 27},
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_is_named_is_in_some_file(ending, tmp_path):
    renamed = [{"at": row["at"], "celsius": row["outside"]} for row in OUTSIDE]
    logs = [written(tmp_path / f"in.{ending}", INSIDE), written(tmp_path / f"beside.{ending}", renamed)]
    for files in (logs, logs[::-1]):
        assert ran(files, time="at", columns={"outside": "celsius"}) == [{"at": 2, "out": 15}, {"at": 4, "out": 27}]
        with pytest.raises(InputError, match="'kelvin'"):
            ran(files, time="at", columns={"outside": "kelvin"})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_that_no_file_has_is_an_error_before_the_first_row(ending, tmp_path):
    logs = [written(tmp_path / f"in{i}.{ending}", INSIDE) for i in range(2)]
    with pytest.raises(InputError, match="there is no column 'outside'") as error:
        ran(logs)
    assert str(logs[0]) in str(error.value.where)
    assert "--column outside=NAME" in error.value.hint


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_may_lack_what_a_file_has(tmp_path):
    """But not the other way round: what a pipe has is unknown before it is read."""
    os.mkfifo(pipe := tmp_path / "pipe.csv")
    text = written(tmp_path / "in.csv", INSIDE).read_text()

    def fill() -> None:
        with contextlib.suppress(BrokenPipeError):
            pipe.write_text(text)

    for rows in ([{**OUTSIDE[0], "inside": 3}], OUTSIDE):
        logs = [pipe, written(tmp_path / "beside.csv", rows)]
        (thread := threading.Thread(target=fill)).start()
        if "inside" in rows[0]:
            assert ran(logs) == [{"out": 15}]
        else:
            with pytest.raises(InputError, match="there is no column 'inside'"):
                ran(logs)
        thread.join()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_file_without_any_input_is_an_error(ending, tmp_path):
    other = written(tmp_path / f"other.{ending}", [{"at": 1, "z": 2}])
    logs = [written(tmp_path / f"in.{ending}", [{**INSIDE[0], **OUTSIDE[0]}]), other]
    with pytest.raises(InputError, match="'inside'"):
        ran(logs)
    with pytest.raises(InputError):
        ran([*logs[:1], written(tmp_path / f"one.{ending}", [{"y": 1}])], program=wb.parse(TEXT).get("one").pipeline)


def test_every_file_needs_the_key_and_the_time(tmp_path):
    for name in ("at", "room"):
        rows = [{key: value for key, value in row.items() if key != name} for row in OUTSIDE]
        logs = [written(tmp_path / "in.csv", INSIDE), written(tmp_path / "beside.csv", rows)]
        with pytest.raises(InputError, match=f"there is no column '{name}'"):
            ran(logs, time="at", key="room")


def test_half_a_record_is_an_error(tmp_path):
    rows = [{"e.u": 1, "e.v": 2, "x": 3}]
    half = written(tmp_path / "half.csv", [{"e.u": 1, "x": 3}])
    without = written(tmp_path / "without.csv", [{"x": 4}])
    program = wb.parse(TEXT).get("records").pipeline
    whole = written(tmp_path / "whole.csv", rows)
    assert ran([whole, without], program=program) == [{"u": 1, "x": 3}, {"x": 4}]
    with pytest.raises(InputError, match=r"'e\.v'"):
        ran([whole, half], program=program)


def test_a_file_of_events_of_one_type_may_lack_an_attribute(tmp_path):
    rules = tmp_path / "r.tesla"
    rules.write_text("""declare Temp(room: str, value: int)
declare Hot(room: str)
rule hot: from Temp[$r = room](value > 5) emit Hot(room = $r)
""")
    rows = [{"time": 2, "room": "a", "value": 9}, {"time": 3, "room": "b", "value": 1}]
    (folder := tmp_path / "logs").mkdir()
    written(folder / "1.csv", [{"time": 1, "room": "c"}])
    written(folder / "2.csv", rows)
    wb.run(rules, f"Temp={folder}/*.csv", output=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "type,time,room\nHot,2,a\n"
