"""`workbench run RULES --backend spark`: rules that a key can split, on workers, as one engine would run them.

The rule of this module: what comes out is what comes out without Spark, in the same order; what cannot be so is refused
before a row is read.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.clock import Clock
from workbench.events.inputs import expected_rows, log_files
from workbench.events.parts import WHOLE
from workbench.events.reading import Reading
from workbench.events.write import kept_rows, write_events
from workbench.executors.run_options import AUTO, RunOptions
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.output import events_of_row, write_rows
from workbench.executors.spark.whole import ClearedOutput, check_files, stages_shown, started_session, written_format
from workbench.executors.table import Start
from workbench.logs.rule_choice import chosen_engine, engine_name
from workbench.logs.rule_composites import event_columns
from workbench.logs.rule_facts import facts_of
from workbench.logs.rule_log import RuleLog, instant
from workbench.logs.rule_order import begun
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.occurrence import Facts, in_units
from workbench.tesla.partial_run import refuse_circles
from workbench.tesla.partition import rule_partition
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workbench.logs.rule_parts import EventPartReader
    from workbench.logs.rule_workers import RuleJob
    from workbench.tesla.tree import Declaration

BUCKETS_PER_TASK = 4
"""Buckets of keys for each task that runs engines: tasks have about the same to do."""


def run_rules_on_spark(rules: RuleSet, start: Start) -> None:
    """Read and write, as the options of the command say."""
    args = start.options
    if args.stream and args.given("--until"):
        raise InputError("a stream that goes on has no end: --until", hint="leave --stream out")
    rule_partition(rules).see(f"the spark backend has no key by which {rules.name} is split")
    refuse_circles(rules)
    log = SparkRuleLog(rules, start)
    if args.head is not None and len(log.inputs) > 1:
        raise InputError("--head is of one input on the spark backend", hint="leave it out, or give one --input")
    files = replace(args, input=[str(path) for _, path in log.inputs])
    check_files(files)
    written = written_format(files)
    with started_session(args, otherwise="leave --backend spark out") as spark:
        if args.stream:
            from workbench.logs.rule_stream import run_stream

            run_stream(log, spark, written)
        else:
            run_batch(log, spark, written)


def run_batch(log: SparkRuleLog, spark: SparkSession, written: str) -> None:
    """Run a log that is there, and write composites in a format."""
    from workbench.logs.rule_workers import PLACE, RANGE, BucketRunner

    start, counts = log.start, Counts.on(spark)
    log.choose()
    with stages_shown(start, spark) as progress, kept_rows(log.reading, start.reporter):
        tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
        job = log.job(BUCKETS_PER_TASK * tasks)
        runner = BucketRunner(job, counts, tasks)
        events = log.events(spark, job, counts).repartition("bucket").sortWithinPartitions("bucket", "time", "place")
        made = events.mapInArrow(runner, runner.schema).repartitionById(tasks, f"`{RANGE}`")
        ordered = made.sortWithinPartitions(f"`{PLACE}`").drop(PLACE, RANGE)
        if start.options.output == "-":
            _print(ordered, job, written, ClearedOutput(progress), lambda: log.settle(counts))
        else:
            settle, time = partial(log.settle, counts), log.clock.column
            write_rows(ordered, job.ports, start.options.output, written, settle=settle, time=time)


@dataclass
class SparkRuleLog:
    """A log of events, and the rules that run on it.

    Attributes
    ----------
    start: whose backend is that of the workers.
    clock: knows what times are from the first event.
    """

    rules: RuleSet
    start: Start
    clock: Clock = field(init=False)
    reading: Reading = field(init=False)
    inputs: Sequence[tuple[Declaration | None, Any]] = field(init=False)
    log: RuleLog = field(init=False)
    parts: dict[str, int] = field(default_factory=dict)
    engine: str = field(init=False)

    def __post_init__(self) -> None:
        asked = self.start.options
        self.start = replace(self.start, options=replace(asked, backend=asked.worker_backend or AUTO))
        self.engine = engine_name(self.start.options)
        self.clock = self.start.options.clock()
        self.reading = self.start.options.reading()
        self.log = RuleLog(self.rules, self.clock, self.reading, Reporter())
        self.inputs = [self.log.named(each) for each in _inputs(self.start.options)]
        for each in _inputs(self.start.options):
            if self.clock.dates is None:
                begun(self.log.pieces([each]))
        self.reading = replace(self.reading, words=True)
        self.log.unknown.clear()

    def choose(self) -> None:
        """Take the engine that fits, where that is asked for: a stream has one from its beginning."""
        if self.start.options.backend == AUTO:
            made, facts, settings = self._running()
            make = partial(rule_engine, made, facts=facts, settings=settings)
            expected = expected_rows(self.start.options.input)
            choice = chosen_engine(made, settings, expected, "columns", make)
            self.engine = choice.engine
            choice.tell(self.start.say)

    def _running(self) -> tuple[RuleSet, Facts, EngineSettings]:
        """The rules with windows in the unit of times, facts, and how engines run."""
        start, clock = self.start, self.clock
        trex = start.options.compat == "trex"
        scaled = in_units(self.rules, clock.unit, dates=bool(clock.dates), trex=trex)
        return scaled, facts_of(self.rules, start), EngineSettings(clock.unit, bool(clock.dates), trex)

    def job(self, buckets: int) -> RuleJob:
        """What is run on so many buckets."""
        from workbench.logs.rule_parts import EventLayout
        from workbench.logs.rule_workers import RuleJob

        clock, until = self.clock, self.start.options.until
        scaled, facts, settings = self._running()
        ports = event_columns(self.rules, clock, self.rules.composites)
        job = RuleJob(
            EventLayout(self.rules, rule_partition(self.rules), buckets), scaled, self.engine,
            facts, settings, clock, ports,
            None if until is None else instant(clock, str(until)),
        )  # fmt: skip
        job.start()  # what an engine refuses it refuses here
        return job

    def events(self, spark: SparkSession, job: RuleJob, counts: Counts) -> DataFrame:
        """The rows of all inputs."""
        readers = self.readers(2 * spark.sparkContext.defaultParallelism, job, counts)
        frames = [
            spark.range(min(each.tasks), max(each.tasks) + 1, 1, len(each.tasks)).mapInArrow(each, job.events.schema)
            for each in readers
        ]
        return reduce(lambda one, other: one.union(other), frames)

    def readers(self, wanted: int, job: RuleJob, counts: Counts) -> list[EventPartReader]:
        """What reads each input, in about so many tasks, which are numbered over all inputs."""
        from workbench.executors.spark.logs import is_remote, read_tasks
        from workbench.logs.rule_parts import EventPartReader

        made: list[EventPartReader] = []
        first = 0
        for number, (declared, path) in enumerate(self.inputs):
            files = [] if is_remote([str(path)]) else log_files(path)
            if odd := next((each for each in files or [path] if not Path(each).is_file()), None):
                raise InputError("rules on the spark backend read files, and no pipes", where=str(odd))
            reader = EventPartReader(job.events, self.clock, number, declared, self.reading, counts)
            reader.tasks = dict(enumerate(read_tasks(files, reader, self.start.reporter, wanted), first))
            first += len(reader.tasks)
            self.parts |= Counter(str(file) for task in reader.tasks.values() for file, part in task if part != WHOLE)
            made.append(reader)
        return made

    def settle(self, counts: Counts) -> None:
        """See that times do not go back, and tell what is worth knowing; InputError where they do."""
        reporter, last = self.start.reporter, dict[int, int]()
        told = RuleLog(self.rules, self.clock, self.reading, reporter)
        for note in counts.notes:
            before = last.get(note.input)
            if before is not None and note.first is not None and note.first < before:
                what = f"the time goes back from {self.clock.show(before)} to {self.clock.show(note.first)}"
                raise InputError(f"{what} in a later part of the log", hint="sort the events by time")
            if note.last is not None:
                last[note.input] = note.last
            told.unknown += note.unknown
            told.seen |= note.seen
            told.types |= note.types
        counts.settle(reporter, self.parts)
        reporter.account.check()
        told.tell(self.start.say)

    def settle_stream(self, counts: Counts) -> None:
        """Tell what has come since this was told last."""
        for note in counts.notes:
            if new := note.unknown.keys() - self.log.unknown.keys():
                self.start.say(f"rows of types that are not declared are passed over: {', '.join(sorted(new))}")
            self.log.unknown += note.unknown
        counts.settle(self.start.reporter, {})


def _inputs(options: RunOptions) -> Sequence[Any]:
    return options.input if isinstance(options.input, list) else [options.input]


def _print(rows: DataFrame, job: RuleJob, written: str, stream: ClearedOutput, settle: Callable[[], object]) -> None:
    """Write composites on the standard output as they are written without Spark."""
    with write_events("-", job.ports, format=written) as writer:
        found = (events_of_row(each.asDict(), job.ports, job.clock.column) for each in rows.toLocalIterator())
        first = list(itertools.islice(found, 1))  # nothing is written before it is known that there is something
        settle()
        stream.progress.clear()
        for row in itertools.chain(first, found):
            writer.row(row)
