"""`workbench run --backend spark`: a program on a large log, or on a growing one.

The rule of this module: runs of pipelines and of rules are alike. Workers read the log, a job runs on its groups,
outputs are written in order, and every row is accounted for. A `SparkRun` contains the differences.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.program import Ports
from workbench.errors import InputError, WorkbenchError
from workbench.events.files import ending, format_of
from workbench.events.inputs import list_named_files
from workbench.events.reading_options import Reading
from workbench.events.table import PIPED, USUAL, endings, format_row
from workbench.events.write import keep_bad_rows
from workbench.executors.run_options import RunOptions
from workbench.executors.spark.checkpoint import see_checkpoint
from workbench.executors.spark.error_transfer import bring_back, carry
from workbench.executors.spark.job import Job
from workbench.executors.spark.output import output_formats, print_rows, write_rows
from workbench.executors.table import Start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "50000"}
_TASKS_PER_CORE = 2
_POLL = 0.3


class SparkRun(ABC):
    """A run of a program on a log, by the options of the command.

    Attributes
    ----------
    reading: the user's options for columns and rows.
    job: the workers' job; available once the log has been opened.
    time: the time column of the outputs, if there is one.
    """

    start: Start
    reading: Reading
    job: Job
    time: str = ""

    @abstractmethod
    def read(self, spark: SparkSession) -> DataFrame:
        """Return the outputs of a whole log, in the order in which they are written."""

    @abstractmethod
    def follow(self, spark: SparkSession) -> DataFrame:
        """Return the outputs of a growing folder, as a stream."""

    @abstractmethod
    def ports(self, outputs: DataFrame) -> Ports:
        """Return the columns of the outputs, and their domains."""

    def sort_printed(self, outputs: DataFrame) -> DataFrame:
        """Sort the outputs of a whole log for printing."""
        return outputs

    def sort_batch(self, outputs: DataFrame) -> DataFrame:
        """Sort the outputs of a micro-batch."""
        return outputs

    @abstractmethod
    def settle(self) -> None:
        """Report the counts of the workers for a whole log; an error where some rows are not accounted for."""

    @abstractmethod
    def settle_batch(self) -> None:
        """Report the counts of the workers for a micro-batch; an error as in `settle`."""

    def locate(self, error: WorkbenchError, key: str | None, task: int, row: int | None) -> WorkbenchError:
        """Add the row of the log to an error, given its `RowPlace`."""
        return error


def run_on_spark(run: Callable[[], SparkRun], start: Start, format: str, otherwise: str) -> None:
    """Run a program on a log, and write its outputs in a format.

    Parameters
    ----------
    run: opens the run, once there is a session.
    otherwise: alternatives without Java, for the hint.
    """
    with open_session(start.options, otherwise) as spark:
        (run_stream if start.options.stream else run_batch)(run(), spark, format)


@contextlib.contextmanager
def open_session(args: RunOptions, otherwise: str) -> Iterator[Any]:
    """Start a session for a run, and convert its errors to those of workbench."""
    from workbench.executors.spark.session import LOCAL, start_session

    spark = start_session(args.master or LOCAL, name="workbench run", otherwise=otherwise, **SETTINGS)
    try:
        spark.sparkContext.setLogLevel("OFF")
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        spark.conf.set("spark.sql.shuffle.partitions", str(_TASKS_PER_CORE * spark.sparkContext.defaultParallelism))
        with bring_back(where=args.checkpoint or ""):
            yield spark
    finally:
        with contextlib.suppress(Exception):
            spark.stop()


def run_batch(run: SparkRun, spark: SparkSession, format: str) -> None:
    """Run a program on a finite log."""
    start = run.start
    stages = start.progress(partial(_format_stages, spark.sparkContext.statusTracker()))
    with stages as progress, keep_bad_rows(run.reading, start.reporter):
        outputs = run.read(spark)
        ports = run.ports(outputs)
        with bring_back(locate=run.locate):
            if start.options.output == "-":
                clear = progress.clear if progress and sys.stdout.isatty() else lambda: None
                print_rows(run.sort_printed(outputs), ports, format, time=run.time, settle=run.settle, clear=clear)
            else:
                write_rows(outputs, ports, start.options.output, format, time=run.time, settle=run.settle)


def _format_stages(tracker: Any) -> str:
    """Format the progress of each running stage, in tasks."""
    infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    stages = [f"stage {i.stageId}: {i.numCompletedTasks} of {i.numTasks} tasks" for i in infos if i]
    return ", ".join(stages) or "Spark is starting"


# --- growing logs ---------------------------------------------------------------------------------------------


def run_stream(run: SparkRun, spark: SparkSession, format: str) -> None:
    """Run a program on a growing log, until it is stopped."""
    query = start_query(run, spark, format)
    try:
        while not query.awaitTermination(_POLL):
            pass
    except KeyboardInterrupt:
        print("stopped; run the same command again to continue", file=sys.stderr)
        raise
    finally:
        with contextlib.suppress(Exception):
            query.stop()


def start_query(run: SparkRun, spark: SparkSession, format: str) -> StreamingQuery:
    """Start a query of Structured Streaming, or resume it from its checkpoint.

    The outputs of a micro-batch are a folder of their own, `batch=00000007`, which is overwritten when Spark repeats
    the batch, so that after any interruption each output is written once. Streams do not end.

    Raises
    ------
    StateError: the checkpoint belongs to another program, key, order or output.
    """
    args = run.start.options
    outputs = run.follow(spark)
    ports = run.ports(outputs)
    see_checkpoint(Path(args.checkpoint), run.job.about(), args.output, format)

    def each(frame: DataFrame, number: int) -> None:
        with carry():
            folder = f"{args.output}/batch={number:08}"
            rows, settle = run.sort_batch(frame), run.settle_batch
            write_rows(rows, ports, folder, format, mode="overwrite", time=run.time, settle=settle)
        print(f"micro-batch {number} is complete", file=sys.stderr, flush=True)

    writer = outputs.writeStream.foreachBatch(each).option("checkpointLocation", args.checkpoint)
    return (writer.trigger(availableNow=True) if args.once else writer).start()


def check_files(args: RunOptions) -> None:
    """Refuse options of a batch or a stream that contradict each other, with InputError."""
    names = list_named_files(args.input)
    if names is None or "-" in names:
        raise InputError("the spark backend reads files, not the standard input", hint="name a file or a folder")
    if args.key and "." in args.key:
        hint = "let a pipeline first emit it as an output, or use --backend compiled"
        raise InputError(f"the spark backend has no keys with dots, and in nested objects: --key {args.key}", hint=hint)
    if args.stream:
        if not args.checkpoint:
            raise InputError("a stream needs a folder for its state", hint="add --checkpoint DIR")
        if args.output == "-":
            raise InputError("a stream writes into a folder", hint="add --output DIR")
        if len(names) > 1:
            raise InputError("a stream reads one folder", hint="name the folder to which files are added")
        if args.head is not None:
            raise InputError("an endless stream does not take --head", hint="leave out --stream")
        if args.bad_rows not in ("error", "skip"):
            what = f"the bad rows of a stream, which may never end, are not stored: --bad-rows {args.bad_rows}"
            raise InputError(what, hint="--bad-rows skip skips and counts them")
        if args.files is not None and args.files < 1:
            raise InputError(f"--files {args.files}: expected at least 1")
        return
    if streams := args.list_present("--checkpoint", "--once", "--files"):
        raise InputError(f"for a stream only: {streams}", hint="add --stream")


def choose_format(args: RunOptions) -> str:
    """Return the output format: `--output-format`, that of the output's name, `--format`, or that of the input."""
    from workbench.executors.spark.logs import file_names, first_file, is_remote

    output_format = args.output_format or (None if args.output == "-" else endings().get(ending(args.output)))
    formats = output_formats()
    if output_format not in (None, *formats):
        hint = f"it writes {', '.join(formats)}"
        raise InputError(f"the spark backend does not write {output_format}", where=args.output, hint=hint)
    name = file_names(args.input)[0]
    read = None if is_remote([name]) else first_file(name)
    format = output_format or args.reading().format or format_of(read or name) or USUAL
    if format_row(format).writer is None:
        format = USUAL
    if args.output == "-":
        return format if format_row(format).text else PIPED
    return format if format in formats else next(name for name in formats if not format_row(name).text)
