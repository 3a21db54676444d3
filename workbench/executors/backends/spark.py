"""Spark: a pipeline for each key of a large or growing log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.executors.table import KEY, BackendOption, BackendRow, Start

if TYPE_CHECKING:
    from workbench.core.program import Program

COLUMN, SWITCH = {"metavar": "COLUMN"}, {"action": "store_true"}
EXTRA = "pip install 'workbench[spark]'"


def _whole(pipeline: Program, start: Start) -> None:
    from workbench.executors.spark.whole import run_whole

    run_whole(pipeline, start)


ROW = BackendRow(
    "spark",
    "a run for each key of a large log, or of one that grows, on Spark",
    whole=_whole,
    options=(
        KEY,
        BackendOption("--order", "what orders the rows of a key (default: the log's own order)", COLUMN),
        BackendOption("--master", "a Spark master (default: local[*])", {"metavar": "URL"}),
        BackendOption("--stream", "the input is a folder that grows: go on until stopped", SWITCH),
        BackendOption("--checkpoint", "where a --stream keeps its state, for a restart", {"metavar": "DIR"}),
        BackendOption("--once", "end a --stream when all that is there has been done", SWITCH),
        BackendOption("--files", "files that a --stream takes at a time (default: all)", {"type": int, "metavar": "N"}),
    ),
    needs={"pyspark": EXTRA, "pandas": EXTRA, "pyarrow": EXTRA, "java": "install a Java runtime, 17 or newer"},
    rank=5,
)
