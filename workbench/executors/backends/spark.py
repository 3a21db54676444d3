"""Spark: a program for each key of a large or growing log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.executors.table import KEY, PIPELINE, RULE_SET, BackendOption, BackendRow, Start
from workbench.extensions import later
from workbench.extras import install_extra

if TYPE_CHECKING:
    from workbench.core.program import Program

COLUMN, SWITCH = {"metavar": "COLUMN"}, {"action": "store_true"}
EXTRA = install_extra("spark")


def _whole(program: Program, start: Start) -> None:
    rules = "workbench.runner.rules.spark_run", "run_rules_on_spark"
    pipelines = "workbench.executors.spark.pipeline_run", "run_pipeline_on_spark"
    run = later(*(rules if program.kind == RULE_SET else pipelines))
    run(program, start)


_LACKS = (
    "--output NAME=FILE",
    "--steps",
    "--memory",
    "--late-output",
    "--encoding",
    "--skip-lines",
    "--comment",
    "--follow",
    "--output-delimiter",
    "--output-decimal",
)

ROW = BackendRow(
    "spark",
    "a run for each key of a large or growing log, on Spark; rules are partitioned by their key",
    whole=_whole,
    kinds=(PIPELINE, RULE_SET),
    options=(
        replace(KEY, kinds=(PIPELINE,)),
        BackendOption(
            "--order", "the column that orders the rows of a key (default: as in the log)", COLUMN, (PIPELINE,)
        ),
        BackendOption(
            "--worker-backend", "the backend of rules on the workers (default: auto)", {"metavar": "NAME"}, (RULE_SET,)
        ),
        BackendOption("--master", "a Spark master (default: local[*])", {"metavar": "URL"}),
        BackendOption("--stream", "follow a folder that grows, until stopped", SWITCH),
        BackendOption("--checkpoint", "the folder where a --stream saves its state, for a restart", {"metavar": "DIR"}),
        BackendOption("--once", "end a --stream once all existing files have been processed", SWITCH),
        BackendOption("--files", "files that a --stream takes at a time (default: all)", {"type": int, "metavar": "N"}),
    ),
    lacks={
        PIPELINE: (*_LACKS, "--with-row", "--carry", "--only-true", "--until"),
        RULE_SET: (
            *_LACKS,
            "--late",
            "--rules-control",
            "--with-sources",
            "--pass",
            "--profile",
            "--matches",
            "--first",
        ),
    },
    instead={
        "--follow": "--stream follows a folder to which files are added",
        "--state": "a --stream stores its state in --checkpoint DIR",
    },
    needs={"pyspark": EXTRA, "pandas": EXTRA, "pyarrow": EXTRA, "java": "install a Java runtime, 17 or newer"},
    rank=7,
)
