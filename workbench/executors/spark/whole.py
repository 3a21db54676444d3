"""`workbench run --backend spark`: a pipeline per key of a large or growing log."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.events.files import ending, format_of
from workbench.events.inputs import named_files
from workbench.events.table import PIPED, USUAL, endings, format_row
from workbench.events.write import kept_rows
from workbench.executors.run_options import RunOptions
from workbench.executors.spark.output import print_rows, row_ports, write_rows, written_formats
from workbench.executors.table import Start

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.spark.executors import Choice

SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "50000"}
_TASKS_PER_CORE = 2
_POLL = 0.3


def run_whole(pipeline: Program, start: Start) -> None:
    """Run and write, as the options of the command say."""
    args = start.options
    if not args.key:
        raise InputError("the spark backend runs the pipeline once per key", hint="say which column it is: --key user")
    check_files(args)
    from workbench.executors.spark.executors import choose

    written = written_format(args)
    choice = choose(pipeline)
    with started_session(args, otherwise="use --backend compiled") as spark:
        if choice.why:
            start.say(f"run by the reference executor: {choice.why}")
        if args.stream:
            _stream(start, spark, choice, written)
        else:
            _batch(start, spark, choice, written)


@contextlib.contextmanager
def started_session(args: RunOptions, otherwise: str) -> Iterator[Any]:
    """A session for a run, whose errors come back as ours; `otherwise` is what can be done without Java."""
    from workbench.executors.spark.carry import brought_back
    from workbench.executors.spark.session import LOCAL, session

    spark = session(args.master or LOCAL, name="workbench run", otherwise=otherwise, **SETTINGS)
    try:
        spark.sparkContext.setLogLevel("OFF")
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        spark.conf.set("spark.sql.shuffle.partitions", str(_TASKS_PER_CORE * spark.sparkContext.defaultParallelism))
        with brought_back(where=args.checkpoint or ""):
            yield spark
    finally:
        with contextlib.suppress(Exception):
            spark.stop()


def check_files(args: RunOptions) -> None:
    """InputError where the options of a batch or a stream do not go together."""
    names = named_files(args.input)
    if names is None or "-" in names:
        raise InputError("the spark backend reads files, not the standard input", hint="give a file or a folder")
    if args.stream:
        if not args.checkpoint:
            raise InputError("a stream needs a place for its state", hint="add --checkpoint DIR")
        if args.output == "-":
            raise InputError("a stream writes into a folder", hint="add --output DIR")
        if len(names) > 1:
            raise InputError("a stream reads one folder", hint="give the folder into which files come")
        if args.head is not None:
            raise InputError("a stream that goes on has no first rows: --head", hint="leave --stream out")
        if args.bad_rows not in ("error", "skip"):
            what = f"the bad rows of a stream are not kept, which may never end: --bad-rows {args.bad_rows}"
            raise InputError(what, hint="--bad-rows skip passes them over, and counts them")
        if args.files is not None and args.files < 1:
            raise InputError(f"--files {args.files}: at least one")
        return
    if streams := args.given("--checkpoint", "--once", "--files"):
        raise InputError(f"for a stream only: {streams}", hint="add --stream")


def written_format(args: RunOptions) -> str:
    """The format that is written: what the output's name tells, or `--format`, or the input."""
    from workbench.executors.spark.logs import first_file, is_remote, named

    named_so = None if args.output == "-" else endings().get(ending(args.output))
    known = written_formats()
    if named_so not in (None, *known):
        hint = f"it writes {', '.join(known)}"
        raise InputError(f"the spark backend does not write {named_so}", where=args.output, hint=hint)
    name = named(args.input)[0]
    read = None if is_remote([name]) else first_file(name)
    found = named_so or args.reading().format or format_of(read or name) or USUAL
    if format_row(found).writer is None:
        found = USUAL
    if args.output == "-":
        return found if format_row(found).text else PIPED
    return found if found in known else next(name for name in known if not format_row(name).text)


def _batch(start: Start, spark: Any, choice: Choice, written: str) -> None:
    args, reporter = start.options, start.reporter
    from workbench.executors.spark.carry import brought_back
    from workbench.executors.spark.keyed import run_located
    from workbench.executors.spark.logs import read_log

    reading = args.reading(choice.pipeline)
    with stages_shown(start, spark) as progress, kept_rows(reading, reporter):
        log = read_log(
            spark, args.input, choice.pipeline, key=args.key or "", order=args.order, reading=reading, reporter=reporter
        )  # fmt: skip
        made = run_located(choice, log)

        def settle() -> None:
            log.settle(reporter)
            reporter.account.check()

        ports = row_ports(made, choice.pipeline.ports.shown)
        with brought_back(placed=log.placed):
            if args.output == "-":
                print_rows(made, ports, written, ClearedOutput(progress), settle)
            else:
                write_rows(made, ports, args.output, written, settle=settle)


class ClearedOutput:
    """The standard output, on which the line of progress does not stand in the way."""

    def __init__(self, progress: Any) -> None:
        self.progress = progress

    def write(self, text: str) -> int:
        if sys.stdout.isatty():
            self.progress.clear()
        return sys.stdout.write(text)


def stages_shown(start: Start, spark: Any) -> Any:
    """A context in which it is shown how many tasks have been done."""
    return start.progress(partial(_stages, spark.sparkContext.statusTracker()))


def _stages(tracker: Any) -> str:
    """How many tasks of the stages that are running have been done."""
    infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    told = [f"stage {i.stageId}: {i.numCompletedTasks} of {i.numTasks} tasks" for i in infos if i]
    return ", ".join(told) or "Spark is getting ready"


def _stream(begin: Start, spark: Any, choice: Choice, written: str) -> None:
    args = begin.options
    from workbench.executors.spark.logs import follow_log, named
    from workbench.executors.spark.stream import start

    (folder,), reading = named(args.input), args.reading(choice.pipeline)
    log = follow_log(
        spark, str(folder), choice.pipeline, key=args.key or "", order=args.order, files=args.files, reading=reading
    )

    def wrote(number: int) -> None:
        log.settle(begin.reporter)
        print(f"micro-batch {number} is there", file=sys.stderr, flush=True)

    query = start(
        log, choice, output=args.output, checkpoint=args.checkpoint, format=written, once=args.once, wrote=wrote
    )
    until_stopped(query)


def until_stopped(query: Any) -> None:
    """Wait until a query ends, or is interrupted."""
    try:
        while not query.awaitTermination(_POLL):
            pass
    except KeyboardInterrupt:
        print("stopped; the same command goes on from there", file=sys.stderr)
        raise
    finally:
        with contextlib.suppress(Exception):
            query.stop()
