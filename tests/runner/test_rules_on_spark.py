"""Rules on Spark: the composites of a run without it, in its order."""

import json
import random
from typing import Any

import pytest

from workbench.errors import InputError, LostRows, PipelineError, Refused, StateError
from workbench.events.account import Account
from workbench.runner.options import make_start
from workbench.runner.rules.opening import run_rules
from workbench.tesla.check import parse_rules

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

# These need the packages above.
from pyarrow import parquet  # noqa: E402

from workbench.executors.spark.counts import Counts  # noqa: E402
from workbench.executors.spark.error_transfer import CarriedError  # noqa: E402
from workbench.executors.spark.reader import FileReader  # noqa: E402
from workbench.executors.spark.run import run_batch, run_stream  # noqa: E402
from workbench.executors.spark.worker import GroupStepper, PartitionRunner, pack_groups, unpack  # noqa: E402
from workbench.runner.rules.spark_events import EventForm  # noqa: E402
from workbench.runner.rules.spark_job import PLACE, RANGE  # noqa: E402
from workbench.runner.rules.spark_run import SparkRuleRun, run_rules_on_spark  # noqa: E402

FIRES = parse_rules("""
declare Temp(area: int, value: float)
declare Smoke(area: int, value: int)
declare Fire(place: float, value: float)
declare Calm(place: float)
declare Again(place: float, count: int)
rule fire: from Smoke[$a = area] and last Temp[$v = value](area == $a, value > 45.0) within 5 min from Smoke
emit Fire(place = $a, value = $v)
rule calm: from Fire[$a = place] as Start and absent Temp(area == $a, value > 45.0) within 30 s after Start
emit Calm(place = $a)
rule again: from Calm[$a = place] and $n = COUNT(Calm(place == $a) within 1 h from Calm)
emit Again(place = $a, count = $n) at most once in 1 min per $a
""")  # fmt: skip

NEVER_CALM = parse_rules("""
declare Temp(area: int, value: float)
declare Smoke(area: int, value: int)
declare Odd(area: int)
declare Fire(place: float, value: float)
declare Again(place: float, what: string)
rule fire: from Smoke[$a = area] and each Temp[$v = value](area == $a, value > 45.0) within 5 min from Smoke
emit Fire(place = $a, value = $v)
rule again: from Fire[$a = place, $v = value] and last Odd(area == $a) within 1 min from Fire
emit Again(place = $a, what = "on" + "ce")
""")
"""No rule waits: these run on columns."""


def readings(count, seed=0):
    """Events as rows, several at one time, some of types that nobody knows, some without an area."""
    chance, time, rows = random.Random(seed), 0, []
    for _ in range(count):
        time += chance.choice([0, 0, 1, 2])
        kind = chance.choice(["Temp", "Temp", "Smoke", "Smoke", "Odd"])
        value = chance.choice([20, 46, 50, None])
        rows.append({"type": kind, "time": time, "area": chance.choice([*range(9), None]), "value": value})
    return rows


@pytest.fixture
def files(tmp_path):
    """A log in two files, and its readings a second time in one of another format."""
    rows = readings(900)
    for name, some in (("log1", rows[:500]), ("log2", rows[500:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    table = pa.Table.from_pylist([row for row in readings(300, seed=1) if row["type"] == "Smoke"]).drop(["type"])
    parquet.write_table(table, tmp_path / "smoke.parquet", row_group_size=20)
    return [str(tmp_path / "log*.jsonl"), f"Smoke={tmp_path / 'smoke.parquet'}"]


def begun(files, output="-", **options: Any):
    """The options of a run, and what it says."""
    said: list[str] = []
    start = make_start(files, output, {"backend": "spark", "time_unit": "s", **options})
    start.reporter.report = said.append
    object.__setattr__(start, "report", said.append)
    return start, said


def told(start, said):
    """What a run tells beside its output."""
    account = start.reporter.account
    return account.rows, account.events_in, account.events_out, sorted(said)


@pytest.mark.parametrize("form", ["jsonl", pytest.param("csv", marks=pytest.mark.slow)])
def test_all_is_as_without_spark(form, spark_session, files, tmp_path, monkeypatch):
    """Its text, too: a whole time is no float, though Spark has a column of floats."""
    monkeypatch.setattr("workbench.executors.spark.logs.LEAST", 20_000)
    start, said = begun(files, tmp_path / f"spark.{form}", until=100_000)
    run_batch(SparkRuleRun(FIRES, start), spark_session, form)
    alone, also = begun(files, tmp_path / f"alone.{form}", until=100_000, backend="cdp")
    run_rules(FIRES, alone)
    parts = sorted((tmp_path / f"spark.{form}").glob("part-*"))
    expected = (tmp_path / f"alone.{form}").read_text().splitlines()
    made = [line for part in parts for line in part.read_text().splitlines()]
    if form == "csv":
        made = made[:1] + [line for line in made if line != made[0]]
    assert made == expected
    assert all(kind in "".join(made) for kind in ("Fire", "Calm", "Again"))
    assert told(start, said) == told(alone, also)


# --- without Spark ------------------------------------------------------------------------------------------


class Added:
    """What workers have added, as Spark keeps it."""

    def __init__(self):
        self.value = {}

    def add(self, counts):
        """More of it."""
        self.value |= counts


def by_hand(files, buckets, program=FIRES, lost=0, **options):
    """The composites of all buckets in order, as rows; what Spark does between workers is done here."""
    start, _ = begun(files, **options)
    run = SparkRuleRun(program, start)
    run.begin(Counts(Added()), buckets, ranges=3)
    found = [
        row
        for reader in run.readers(4)
        for task in reader.tasks
        for batch in reader.read(iter([pa.record_batch({"id": pa.array([task])})]))
        for row in batch.to_pylist()
    ]
    found.sort(key=lambda row: (row["bucket"], row["time"], row["place"]))
    batch = pa.RecordBatch.from_pylist(found, schema=run.job.layout.clock_rows(0).schema)
    runner = PartitionRunner(run.job)
    made = pa.Table.from_batches(runner.run(batch.slice(i, 100) for i in range(0, len(batch), 100)))
    run.counts.add_run(0, runner.account + Account(computed=-lost))
    run.settle()
    made = made.sort_by(PLACE)
    ranges = made[RANGE].to_pylist()
    assert ranges == sorted(ranges)
    assert set(ranges) == {0, 1, 2}
    return plain(made.to_pylist())


def plain(rows):
    """Composites without what is null, and their places."""
    return [
        {name: value for name, value in row.items() if value is not None and name not in (PLACE, RANGE)} for row in rows
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("buckets", "engine", "program"),
    [(1, "cdp", FIRES), (3, "aip", FIRES), (20, "cdp", FIRES), (2, "compiled", FIRES), (3, "compiled", NEVER_CALM)],
)
def test_buckets_make_what_one_run_makes(files, tmp_path, monkeypatch, buckets, engine, program):
    monkeypatch.setattr("workbench.executors.spark.logs.LEAST", 3000)
    alone, _ = begun(files, tmp_path / "alone.jsonl", backend="cdp")
    run_rules(program, alone)
    wanted = [json.loads(line) for line in (tmp_path / "alone.jsonl").read_text().splitlines()]
    made = by_hand(files, buckets, program, worker_backend=engine)
    assert [(i, *each) for i, each in enumerate(zip(made, wanted, strict=True)) if each[0] != each[1]][:3] == []
    assert len(wanted) > 100


def test_an_event_that_no_bucket_has_run_on_is_missed(files):
    with pytest.raises(LostRows, match=r"not all rows are accounted for.*[1-9].* were read"):
        by_hand(files, 3, lost=1, worker_backend="cdp")


class State:
    """What Spark keeps for a bucket."""

    get = (b"",)
    exists = False

    def update(self, state):
        """Keep it."""
        self.get, self.exists = state, True


def test_micro_batches_tell_what_one_run_tells(files, tmp_path):
    """Of two files at a time, which come in no order, each bucket goes on from its state."""
    rows = [row | {"time": row["time"] // 100 * 100} for row in readings(900)]
    cuts = [i for i in range(1, 900) if rows[i]["time"] != rows[i - 1]["time"]]
    names = []
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, 900], strict=True)):
        names.append(tmp_path / f"part{number:03}.jsonl")
        names[-1].write_text("".join(json.dumps(row) + "\n" for row in rows[first:last]))
    whole = str(tmp_path / "part*.jsonl")
    alone, _ = begun([whole], tmp_path / "alone.jsonl", backend="cdp")
    run_rules(FIRES, alone)
    wanted = [json.loads(line) for line in (tmp_path / "alone.jsonl").read_text().splitlines()]
    run, made = SparkRuleRun(FIRES, begun([whole])[0]), []
    run.begin(Counts(Added()), 3)
    reader = FileReader(EventForm(run.job.layout, run.clock, 0, None), run.reading, run.counts)
    states = {bucket: State() for bucket in range(3)}

    def micro_batch(some):
        paths = pa.record_batch({"path": pa.array(map(str, some))})
        frame = pa.Table.from_batches(pack_groups(reader.read(iter([paths])))).to_pandas()
        stepper = GroupStepper(run.job)
        batches = [
            batch
            for bucket, found in frame.groupby("bucket")
            for packets in stepper((bucket,), iter([found]), states[bucket])
            for batch in unpack(iter([pa.RecordBatch.from_pandas(packets)]))
        ]
        made.extend(plain(pa.Table.from_batches(batches).sort_by(PLACE).to_pylist()) if batches else [])
        run.counts.add_run(0, stepper.account)
        run.settle_batch()

    for i in range(0, len(names), 2):
        micro_batch(names[i : i + 2][::-1])
    assert made == wanted
    assert len(wanted) > 100
    with pytest.raises(CarriedError, match=r"an event of 0 comes late: an earlier micro-batch has reached .*"):
        micro_batch(names[:1])


@pytest.mark.slow  # a query of Spark's takes seconds to begin
def test_a_stream_that_goes_on_where_it_was(spark_session, tmp_path):
    rows = readings(600)
    (folder := tmp_path / "arriving").mkdir()
    options = {"stream": True, "once": True, "checkpoint": str(tmp_path / "state")}
    for number, some in enumerate((rows[:300], rows[300:])):
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
        start, _ = begun([str(folder)], tmp_path / "out", **options)
        run_stream(SparkRuleRun(FIRES, start), spark_session, "jsonl")
    made = [
        json.loads(line)
        for part in sorted((tmp_path / "out").glob("batch=*/part-*"))
        for line in part.read_text().splitlines()
    ]
    alone, _ = begun([str(folder)], tmp_path / "alone.jsonl", backend="cdp")
    run_rules(FIRES, alone)
    assert made == [json.loads(line) for line in (tmp_path / "alone.jsonl").read_text().splitlines()]
    start, _ = begun([str(folder)], tmp_path / "out", **options, worker_backend="aip")
    with pytest.raises(StateError, match="with another engine: 'cdp' there, 'aip' now"):
        run_stream(SparkRuleRun(FIRES, start), spark_session, "jsonl")


def test_what_is_refused(files, tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.executors.spark.logs.LEAST", 1)
    refused: list[tuple[Any, str]] = [
        ({"key": "area"}, "--key"),
        ({"late": "5s"}, "--late"),
        ({"with_sources": True}, "--with-s"),
    ]
    with pytest.raises(PipelineError, match="there is no backend 'cpd'"):
        by_hand(files, 1, worker_backend="cpd")
    for options, what in refused:
        with pytest.raises(InputError, match=f"not for the spark backend: {what}"):
            run_rules(FIRES, begun(files, **options)[0])
    declared = "declare A(x: int) declare P(x: int) "
    unjoined = parse_rules(declared + "from A and last P within 5 from A emit P(x = 1)")
    with pytest.raises(Refused, match=r"no key by which .* is split: rule 'rule 1': `last P within 5 from A` needs"):
        run_rules_on_spark(unjoined, begun(files)[0])
    circle = parse_rules(declared + "from A as S and absent A(x == S.x) within 5 after S emit A(x = S.x)")
    with pytest.raises(Refused, match="rule 'rule 1' leads back to itself"):
        run_rules_on_spark(circle, begun(files)[0])
    (tmp_path / "back1.jsonl").write_text('{"type": "A", "time": 9}\n')
    (tmp_path / "back2.jsonl").write_text('{"type": "A", "time": 3}\n')
    single = parse_rules(declared + "from A emit P(x = 1)")
    with pytest.raises(InputError, match="the time goes back from 9 to 3 in a later part of the log"):
        by_hand([str(tmp_path / "back*.jsonl")], 2, single)
