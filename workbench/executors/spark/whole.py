"""`workbench run --backend spark`: a pipeline per key of a large or growing log."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.executors.table import Start, given

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.spark.executors import Choice

SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "50000"}
WHOLE_FILES = {"spark.sql.files.maxPartitionBytes": str(2**40)}
"""For streams: each file tells its own columns, so it is read in one piece."""
OWN = {"null": "absent", "bad-rows": "error"}
"""Options that others have, and what they are here."""
_TASKS_PER_CORE = 2
_POLL = 0.3


def run_whole(pipeline: Program, start: Start) -> None:
    """Run and write, as the options of the command say."""
    args = start.options
    _check(args)
    from workbench.executors.spark.carry import brought_back
    from workbench.executors.spark.executors import choose
    from workbench.executors.spark.session import LOCAL, session

    format, written = _formats(args)
    choice = choose(pipeline)
    spark = session(
        args.master or LOCAL, name="workbench run", otherwise="use --backend numba",
        **SETTINGS, **(WHOLE_FILES if args.stream else {}),
    )  # fmt: skip
    try:
        spark.sparkContext.setLogLevel("OFF")  # its errors come back as ours
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        spark.conf.set("spark.sql.shuffle.partitions", str(_TASKS_PER_CORE * spark.sparkContext.defaultParallelism))
        if choice.why:
            start.say(f"run by the reference executor: {choice.why}")
        with brought_back(where=args.checkpoint or ""):
            if args.stream:
                _stream(args, spark, choice, format, written)
            else:
                _batch(start, spark, choice, format, written)
    finally:
        with contextlib.suppress(Exception):
            spark.stop()


def _check(args: argparse.Namespace) -> None:
    if args.steps:
        raise InputError("not for the spark backend: --steps", hint="leave it out, or use another backend")
    if isinstance(args.input, list):  # as the command line gives them
        if len(args.input) > 1:
            raise InputError("the spark backend reads one input", hint="give a folder, or a pattern: 'logs/*.csv'")
        (args.input,) = args.input
    if said := given(args, "column", "strict", "head") or next(
        (f"--{name}" for name, default in OWN.items() if vars(args)[name.replace("-", "_")] != default), ""
    ):
        raise InputError(f"not for the spark backend: {said}", hint="leave it out, or use another backend")
    if not args.key:
        raise InputError("the spark backend runs the pipeline once per key", hint="say which column it is: --key user")
    if args.input == "-":
        raise InputError("the spark backend reads files, not the standard input", hint="give a file or a folder")
    if args.stream:
        if not args.checkpoint:
            raise InputError("a stream needs a place for its state", hint="add --checkpoint DIR")
        if args.output == "-":
            raise InputError("a stream writes into a folder", hint="add --output DIR")
        if args.files is not None and args.files < 1:
            raise InputError(f"--files {args.files}: at least one")
        return
    if streams := given(args, "checkpoint", "once", "files"):
        raise InputError(f"for a stream only: {streams}", hint="add --stream")


def _formats(args: argparse.Namespace) -> tuple[Any, str]:
    """What is read, and what is written."""
    from workbench.executors.spark.logs import FORMATS, format_of, named_format

    format = args.format or format_of(args.input)
    if format is not None and format not in FORMATS:
        raise InputError(f"the spark backend does not read {format}", hint=f"it reads {', '.join(FORMATS)}")
    if format is None:
        raise InputError("nothing tells the format of the input", where=args.input, hint="add --format csv")
    written = "" if args.output == "-" else named_format(args.output) or args.format or format
    if written == "":
        written = "csv" if format == "csv" else "jsonl"
    return format, written


def _batch(start: Start, spark: Any, choice: Choice, format: Any, written: str) -> None:
    args = start.options
    from workbench.executors.spark.keyed import run_located
    from workbench.executors.spark.logs import read_log
    from workbench.executors.spark.output import print_rows, write_rows

    with start.progress(partial(_stages, spark.sparkContext.statusTracker())) as progress:
        log = read_log(spark, args.input, choice.pipeline, key=args.key, order=args.order, format=format)
        made = run_located(choice, log)
        if args.output == "-":
            print_rows(made, written, _Clearing(progress))
        else:
            write_rows(made, args.output, written)


class _Clearing:
    """The standard output, on which the line of progress does not stand in the way."""

    def __init__(self, progress: Any) -> None:
        self.progress = progress

    def write(self, text: str) -> int:
        if sys.stdout.isatty():
            self.progress.clear()
        return sys.stdout.write(text)


def _stages(tracker: Any) -> str:
    """How many tasks of the stages that are running have been done."""
    infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    told = [f"stage {i.stageId}: {i.numCompletedTasks} of {i.numTasks} tasks" for i in infos if i]
    return ", ".join(told) or "Spark is getting ready"


def _stream(args: argparse.Namespace, spark: Any, choice: Choice, format: Any, written: str) -> None:
    from workbench.executors.spark.logs import follow_log
    from workbench.executors.spark.stream import start

    log = follow_log(
        spark, args.input, choice.pipeline, key=args.key, order=args.order, format=format, files=args.files
    )
    query = start(
        log, choice, output=args.output, checkpoint=args.checkpoint, format=written, once=args.once, wrote=_say
    )
    try:
        while not query.awaitTermination(_POLL):
            pass
    except KeyboardInterrupt:
        print("stopped; the same command goes on from there", file=sys.stderr)
        raise
    finally:
        with contextlib.suppress(Exception):
            query.stop()


def _say(number: int) -> None:
    print(f"micro-batch {number} is there", file=sys.stderr, flush=True)
