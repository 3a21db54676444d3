"""Logs in which a row, or every row, lacks its time, and logs without any row, in all formats."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import workbench as wb
from workbench.errors import InputError

RULES = """declare Failed(r: string) declare Alert(r: string)
from Failed[$r = r] as F and last Failed(r == $r) within 1 min from F emit Alert(r = $r)"""
TIMES = ["2026-11-24T03:00:00", None, "2026-11-24T03:00:10", None]
TYPES = ["Failed", "Failed", "Failed", "Other"]
ALERTS = [{"type": "Alert", "time": "2026-11-24T03:00:10", "r": "a"}]


def logs(folder: Path, times: list[Any], types: list[str]) -> dict[str, Any]:
    """The same rows in each form."""
    rows = [{"time": time, "type": type, "r": "a"} for time, type in zip(times, types, strict=True)]
    table = pa.table({"time": pa.array(times, pa.string()), "type": types, "r": ["a"] * len(rows)})
    (folder / "a.csv").write_text(
        "time,type,r\n" + "".join(f"{time or ''},{type},a\n" for time, type in zip(times, types, strict=True))
    )
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "bare.jsonl").write_text(
        "".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows)
    )
    parquet.write_table(table, folder / "a.parquet")
    files = {name: str(folder / name) for name in ("a.csv", "a.jsonl", "bare.jsonl", "a.parquet")}
    frame = table.to_pandas().assign(time=pd.to_datetime(pd.Series(times, dtype="object")))
    return {**files, "rows": rows, "table": table, "frame": frame}


def alerts(outputs: Any) -> list[dict[str, Any]]:
    if isinstance(outputs, pa.Table):
        return outputs.to_pylist()
    rows: Any = outputs.to_dict("records") if isinstance(outputs, pd.DataFrame) else outputs
    return list(rows)


@pytest.mark.parametrize("backend", ["auto", "cdp", "compiled"])
def test_a_row_without_a_time_is_a_bad_row_of_rules(tmp_path: Path, backend: str) -> None:
    """The row of another type needs no time: it is no event."""
    rules = wb.rules.parse_rules(RULES)
    for log in logs(tmp_path, TIMES, TYPES).values():
        with pytest.raises(
            InputError, match=r":[23]: this row has no 'time'\n  hint: .*name the column of times.*skip"
        ):
            alerts(wb.run(rules, log, backend=backend))
        assert alerts(wb.run(rules, log, backend=backend, bad_rows="skip")) == ALERTS


def test_a_row_without_a_time_is_a_bad_row_of_pipelines(tmp_path: Path) -> None:
    other, same = (
        wb.parse("pipeline p(r: str) -> str { return r }"),
        wb.parse("pipeline p(time: str) -> str { return time }"),
    )
    for name, log in logs(tmp_path, TIMES[:3], TYPES[:3]).items():
        for program in (other, same) if name != "frame" else (other,):
            with pytest.raises(InputError, match=r":[23]: this row has no 'time'\n  hint: .*skip"):
                alerts(wb.run(program, log, time="time"))
            rows = alerts(wb.run(program, log, time="time", bad_rows="skip"))
            assert [str(row["time"])[-2:] for row in rows] == ["00", "10"]


def test_rules_run_on_logs_without_rows(tmp_path: Path) -> None:
    rules = wb.rules.parse_rules(RULES)
    for log in logs(tmp_path, [], []).values():
        assert alerts(wb.run(rules, log)) == []
    rules = wb.rules.parse_rules(RULES.replace(" min", ""))
    for log in logs(tmp_path, [], []).values():
        assert alerts(wb.run(rules, log)) == []


def test_an_attribute_that_no_event_has_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rules = wb.rules.parse_rules(
        RULES.replace("r: string", "remote: string", 1).replace("r == $r", "remote == $r").replace("= r]", "= remote]")
    )
    for log in logs(tmp_path, TIMES[:1], TYPES[:1]).values():
        caplog.clear()
        assert alerts(wb.run(rules, log)) == []
        (warning,) = (each for each in caplog.records if each.levelname == "WARNING")
        assert warning.message == "no event of type Failed has a 'remote': it is null in all of them"
