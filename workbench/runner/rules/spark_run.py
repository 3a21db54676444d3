"""`workbench run RULES --backend spark`: run rules that a key can split on workers, with the output of a single engine.

The rule of this module: the output is that of a run without Spark, in the same order; runs without that guarantee are
refused at the start. In a stream the composites of a micro-batch are those of one engine up to its last event: each
file moves the clock of all buckets, so that absences of keys without events are published, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.program import Ports
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.clock import Clock, instant
from workbench.events.inputs import log_files
from workbench.events.reading_options import Reading
from workbench.executors.run_options import AUTO
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.run import SparkRun, check_files, choose_format, run_on_spark
from workbench.executors.table import RULE_SET, Start
from workbench.runner.choice import choose_engine, report_choice, run_size
from workbench.runner.rules.composites import event_columns
from workbench.runner.rules.log import RuleLog
from workbench.runner.rules.opening import OpenedRules
from workbench.runner.source import source_of
from workbench.tesla.engines.engine import rule_engine
from workbench.tesla.engines.partial_run import refuse_circles
from workbench.tesla.partition import rule_partition
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workbench.executors.spark.reader import PartReader
    from workbench.runner.rules.spark_job import RuleJob
    from workbench.tesla.tree import Declaration

BUCKETS_PER_TASK = 4
"""Number of buckets of keys for each task that runs engines: it balances the load of tasks."""
STREAM_BUCKETS = 32
"""Number of buckets of keys of a stream, the same on all machines: a query may continue on another one."""


def run_rules_on_spark(rules: RuleSet, start: Start) -> None:
    """Read and write a log as the options of the command state."""
    args = start.options
    if args.stream and args.list_present("--until"):
        raise InputError("--until needs the end of the log, which a stream does not have", hint="leave out --stream")
    rule_partition(rules).see(f"the spark backend has no key by which {rules.name} is split")
    refuse_circles(rules, "absences that cause each other in a circle run only without Spark")
    run = SparkRuleRun(rules, start)
    if args.head is not None and len(run.inputs) > 1:
        raise InputError("--head needs a single input on the spark backend", hint="leave it out, or give one --input")
    files = replace(args, input=[str(path) for _, path in run.inputs])
    check_files(files)
    run_on_spark(lambda: run, start, choose_format(files), otherwise="leave --backend spark out")


@dataclass
class SparkRuleRun(SparkRun):
    """Rules that are to run on a log of events.

    Attributes
    ----------
    start: its backend is that of the workers.
    opened: the rules, whose clock has the form of times from the first event.
    inputs: the type of the events of each input, if it is given, and its file.
    """

    rules: RuleSet
    start: Start
    opened: OpenedRules = field(init=False)
    clock: Clock = field(init=False)
    reading: Reading = field(init=False)
    inputs: Sequence[tuple[Declaration | None, Any]] = field(init=False)
    parts: dict[str, int] = field(default_factory=dict)
    engine: str = field(init=False)
    job: RuleJob = field(init=False)
    counts: Counts = field(init=False)

    def __post_init__(self) -> None:
        options = self.start.options
        self.start = replace(self.start, options=replace(options, backend=options.worker_backend or AUTO))
        source = source_of(options.input)
        self.opened = opened = OpenedRules(self.rules, replace(self.start, reporter=Reporter()), source)
        self.inputs = [opened.log.named(log.name) for log in source.logs()]
        opened.begin()
        opened.log.unknown.clear()
        self.engine, self.clock, self.time = opened.backend, opened.clock, opened.clock.column
        self.reading = replace(opened.reading, only_64_bits=True)

    def read(self, spark: SparkSession) -> DataFrame:
        from workbench.executors.spark.worker import run_groups
        from workbench.runner.rules.spark_job import PLACE, RANGE

        self._choose()
        tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
        self.begin(Counts.on(spark), BUCKETS_PER_TASK * tasks, ranges=tasks)
        readers = self.readers(2 * spark.sparkContext.defaultParallelism)
        frames = [
            spark.range(min(each.tasks), max(each.tasks) + 1, 1, len(each.tasks)).mapInArrow(
                each, self.job.layout.schema
            )
            for each in readers
        ]
        composites = run_groups(self.job, reduce(lambda one, other: one.union(other), frames), self.counts)
        ranged = composites.repartitionById(tasks, f"`{RANGE}`")
        return ranged.sortWithinPartitions(f"`{PLACE}`").drop(PLACE, RANGE)

    def follow(self, spark: SparkSession) -> DataFrame:
        from workbench.executors.spark.logs import follow_files, is_remote
        from workbench.executors.spark.reader import FileReader
        from workbench.executors.spark.worker import step_groups
        from workbench.runner.rules.spark_events import EventForm

        self.begin(Counts.on(spark), STREAM_BUCKETS)
        ((declared, folder),) = self.inputs
        if is_remote([str(folder)]):
            raise InputError("rules on the spark backend read files of this machine", where=str(folder))
        reader = FileReader(EventForm(self.job.layout, self.clock, 0, declared), self.reading, self.counts)
        files = follow_files(spark, str(folder), self.start.options.files).select("path")
        return step_groups(self.job, files.mapInArrow(reader, self.job.layout.schema), self.counts)

    def ports(self, outputs: DataFrame) -> Ports:
        return self.job.ports

    def sort_batch(self, outputs: DataFrame) -> DataFrame:
        from workbench.runner.rules.spark_job import PLACE

        return outputs.orderBy(f"`{PLACE}`").drop(PLACE)

    def _choose(self) -> None:
        """Choose the engine for `auto`; the engine of a stream is fixed when it begins."""
        if self.start.options.backend == AUTO:
            opened = self.opened
            scaled, settings = opened.scale_windows(), opened.settings()
            make = partial(rule_engine, scaled, facts=opened.read_facts(), settings=settings)
            size = run_size(self.start.options, len(scaled.rules))
            row = choose_engine(size, make)
            self.engine = row.name
            report_choice(row, RULE_SET, size, self.start.report)

    def begin(self, counts: Counts, buckets: int, ranges: int = 0) -> None:
        """Build the job for events in that number of buckets; Refused if no engine runs it."""
        from workbench.runner.rules.spark_events import EventLayout
        from workbench.runner.rules.spark_job import RuleJob

        clock, until, opened = self.clock, self.start.options.until, self.opened
        scaled, facts, settings = opened.scale_windows(), opened.read_facts(), opened.settings()
        ports = event_columns(self.rules, clock, self.rules.composites)
        events = EventLayout(self.rules, rule_partition(self.rules), buckets)
        last = None if until is None else instant(clock, str(until))
        self.counts, self.job = counts, RuleJob(
            events, scaled, self.engine, facts, settings, clock, ports, last, ranges
        )  # fmt: skip
        self.job.start()  # what an engine refuses it refuses here

    def readers(self, task_count: int) -> list[PartReader]:
        """Make a reader of each input, with about `task_count` tasks, which are numbered over all inputs."""
        from workbench.executors.spark.logs import count_parts, is_remote, read_tasks
        from workbench.executors.spark.reader import PartReader
        from workbench.runner.rules.spark_events import EventForm

        readers: list[PartReader] = []
        for number, (declared, path) in enumerate(self.inputs):
            files = [] if is_remote([str(path)]) else log_files(path)
            if odd := next((each for each in files or [path] if not Path(each).is_file()), None):
                raise InputError("rules on the spark backend read files, and no pipes", where=str(odd))
            form = EventForm(self.job.layout, self.clock, number, declared)
            tasks = read_tasks(files, form.ports, self.reading, self.start.reporter, task_count)
            self.parts |= count_parts(tasks)
            first = sum(len(each.tasks) for each in readers)
            readers.append(PartReader(form, self.reading, self.counts, dict(enumerate(tasks, first))))
        return readers

    def settle(self) -> None:
        """Report the counts and notes of workers; InputError where times go back."""
        reporter, last = self.start.reporter, dict[int, int]()
        remarks = RuleLog(self.rules, self.clock, self.reading, reporter)
        for note in self.counts.notes:
            before = last.get(note.input)
            if before is not None and note.first is not None and note.first < before:
                what = f"the time goes back from {self.clock.show(before)} to {self.clock.show(note.first)}"
                raise InputError(f"{what} in a later part of the log", hint="sort the events by time")
            if note.last is not None:
                last[note.input] = note.last
            remarks.unknown += note.unknown
            remarks.seen |= note.seen
            remarks.types |= note.types
        self.counts.settle(reporter, self.parts)
        reporter.account.check()
        if odd := remarks.remark(reporter.account):
            self.start.warn(odd)
        for remark in remarks.notes():
            self.start.report(remark)

    def settle_batch(self) -> None:
        for note in self.counts.notes:
            if new := note.unknown.keys() - self.opened.log.unknown.keys():
                self.start.report(f"ignored rows of types that are not declared: {', '.join(sorted(new))}")
            self.opened.log.unknown += note.unknown
        self.counts.settle(self.start.reporter, {})
        self.start.reporter.account.check()
