"""Memory hangs on the largest row, and not on how long a log is: in every format, compressed or not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from workbench.core.domain import STR
from workbench.core.program import Port, Ports
from workbench.events import lines, typed
from workbench.events.read import read_blocks
from workbench.events.reading_options import Reading

pa = pytest.importorskip("pyarrow")
large: Any = pytest.importorskip("tests.events.large_logs")

COLUMNS = {"x": "cumulate(x, +)", "t": "cumulate(turn(t, 1), +)"}
BATCHES = ("parquet", "arrow", "arrows")


@pytest.mark.parametrize("ending", ["csv.zst", "xml.zst", "parquet"])
def test_what_is_read_at_a_time_is_small(ending: str, tmp_path: Path) -> None:
    """Rows of 10 kB: hundreds of thousands of them would be gigabytes."""
    path = tmp_path / f"log.{ending}"
    rows = large.write_large(path, ending, 85_000_000)
    own = dict(zip(*[iter(large.options(ending))] * 2, strict=True))
    reading = Reading(pattern=own.get("--pattern", "").replace("x>", "n>").replace(".*", "(?P<t>.*)"))
    if "--xml" in own:
        reading = Reading(xml=own["--xml"], format="xml")
    elif reading.pattern:
        reading = Reading(pattern=reading.pattern, format="text")
    seen, before = 0, pa.total_allocated_bytes()
    for block in read_blocks(path, Ports("log", (Port("t", STR),)), reading):
        columns = block.columns()
        found = columns["t"].rows if columns else sum(1 for _ in block.steps())
        assert found * len(large.TEXT) <= 2 * max(typed.LARGEST, lines.SIZE)
        assert pa.total_allocated_bytes() - before <= 8 * typed.LARGEST
        seen += found
    assert seen == rows


@pytest.mark.slow
@pytest.mark.parametrize("ending", large.FORMATS)
def test_two_gigabytes_in_half_of_one(ending: str, tmp_path: Path) -> None:
    column = "t" if ending in BATCHES else "x"
    path, program, output = tmp_path / f"log.{ending}", tmp_path / "p.pipe", tmp_path / "out.csv"
    kind = "str" if column == "t" else "int"
    program.write_text(f"pipeline p({column}: {kind}) -> int {{ return {COLUMNS[column]} }}")
    rows = large.write_large(path, ending, 2_000_000_000)
    run = [sys.executable, "-m", "workbench.cli.main", "run", str(program), "--input", str(path)]
    command = [*run, *large.options(ending), "--backend", "auto", "--memory", "500", "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with output.open() as lines:
        assert sum(1 for _ in lines) == rows + 1
