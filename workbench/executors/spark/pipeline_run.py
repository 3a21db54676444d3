"""The run of a pipeline for each key of a log, by the options of the command."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.core.program import Ports, Program
from workbench.errors import InputError, WorkbenchError, listed
from workbench.events.inspection import look
from workbench.events.reading_options import Reading
from workbench.executors.run_options import RunOptions
from workbench.executors.spark.choice import Choice, choose
from workbench.executors.spark.columns import STEP
from workbench.executors.spark.key_streams import KeyLog, PipelineJob
from workbench.executors.spark.logs import file_names, follow_log, read_log
from workbench.executors.spark.output import row_ports
from workbench.executors.spark.run import SparkRun, check_files, choose_format, run_on_spark
from workbench.executors.spark.worker import step_groups
from workbench.executors.table import Start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run_pipeline_on_spark(pipeline: Program, start: Start) -> None:
    """Run a pipeline and write its output, by the options of the command."""
    args = start.options
    if not args.key:
        raise InputError("the spark backend runs the pipeline once per key", hint=_propose_key(pipeline, args))
    check_files(args)
    format, choice = choose_format(args), choose(pipeline)

    def run() -> SparkPipelineRun:
        if choice.reason:
            start.report(f"run by the reference executor: {choice.reason}")
        return SparkPipelineRun(choice, start)

    run_on_spark(run, start, format, otherwise="use --backend compiled")


def _propose_key(pipeline: Program, args: RunOptions) -> str:
    """Propose an option --key, with the columns of the log that are not inputs."""
    names: list[str] = []
    with suppress(WorkbenchError, OSError):  # errors of the log are reported when it is read
        for file in look(args.input, pipeline, args.reading(pipeline)):
            names += [each.name for each in file.columns if not each.inputs]
    if not names:
        return "add a column that separates the streams, and name it: --key COLUMN; or use --backend compiled"
    return f"name the column that separates the streams: {listed([f'--key {name}' for name in dict.fromkeys(names)])}"


@dataclass
class SparkPipelineRun(SparkRun):
    """The run of a pipeline for each key of a log."""

    choice: Choice
    start: Start
    reading: Reading = field(init=False)
    log: KeyLog = field(init=False)
    job: PipelineJob = field(init=False)

    def __post_init__(self) -> None:
        self.reading = self.start.options.reading(self.choice.pipeline)

    def read(self, spark: SparkSession) -> DataFrame:
        args, reporter = self.start.options, self.start.reporter
        self.log = read_log(spark, args.input, self.choice.pipeline, reporter=reporter, **self._columns())
        self.job = self.log.job(self.choice)
        return self.log.run(self.choice)

    def follow(self, spark: SparkSession) -> DataFrame:
        args = self.start.options
        (folder,) = file_names(args.input)
        self.log = follow_log(spark, folder, self.choice.pipeline, files=args.files, **self._columns())
        self.job = self.log.job(self.choice)
        return step_groups(self.job, self.log.rows, self.log.counts)

    def _columns(self) -> dict[str, Any]:
        """Return the key column, the order column, and the options for reading all columns."""
        args = self.start.options
        return {"key": args.key or "", "order": args.order, "reading": self.reading}

    def ports(self, outputs: DataFrame) -> Ports:
        return row_ports(outputs, self.choice.pipeline.ports.outputs_by_name)

    def sort_printed(self, outputs: DataFrame) -> DataFrame:
        """Sort the rows by key and step; rows of one step stay in order."""
        from pyspark.sql import functions as F

        numbered = outputs.withColumn("workbench_row", F.monotonically_increasing_id())
        return numbered.orderBy(f"`{outputs.columns[0]}`", STEP, "workbench_row").drop("workbench_row")

    def settle(self) -> None:
        self.log.settle(self.start.reporter)
        self.start.reporter.account.check()

    settle_batch = settle

    def locate(self, error: WorkbenchError, key: str | None, task: int, row: int | None) -> WorkbenchError:
        return self.log.locate(error, key, task, row)
