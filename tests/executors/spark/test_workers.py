"""What Spark's workers do, without Spark: lines to rows, rows to outputs, states from one micro-batch to the next."""

import base64
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import workbench as wb
from tests.executors.spark.logs import LAST, SUMS, expected, pipeline, rows_of
from workbench.core.domain import STR
from workbench.core.program import Port, Ports
from workbench.errors import DomainError, InputError, LostRows, Overflow, Refused, SparkError, StateError
from workbench.events.account import KEYLESS, Account, Reporter
from workbench.events.reading_options import Reading
from workbench.events.values import KeyTexts
from workbench.language import parse

pytest.importorskip("pyarrow")
pytest.importorskip("numba")
pytest.importorskip("pyspark")

import pyarrow as pa
from pyspark import cloudpickle

from workbench.executors.compiled.keyed.executor import CompiledKeys
from workbench.executors.spark import logs as spark_logs
from workbench.executors.spark.checkpoint import see_checkpoint
from workbench.executors.spark.choice import choose
from workbench.executors.spark.counts import Counts, TaskCounts
from workbench.executors.spark.error_transfer import CarriedError, bring_back, error_in
from workbench.executors.spark.job import group_starts, join_state, split_state
from workbench.executors.spark.key_rows import KeyRowForm
from workbench.executors.spark.key_streams import KeyLog, PipelineJob
from workbench.executors.spark.layout import Layout
from workbench.executors.spark.output import RowLines, write_rows
from workbench.executors.spark.reader import FileReader
from workbench.executors.spark.worker import GroupStepper, PartitionRunner, pack_groups, unpack, unpack_packets
from workbench.stored import FORM

Py4JError = pytest.importorskip("py4j.protocol").Py4JError
FILED = Layout("k", (), position_columns=("file", "row"))
TIMED = Layout("k", ("t",), position_columns=("file", "row"), parts=3)
PLACED = Layout("k", (), position_columns=("task", "row"))
BY_TIME = Layout("k", ("t",))
INPUTS = Ports("p", (Port("x", wb.INT), Port("q", wb.BOOL)))


@pytest.mark.parametrize(("encoding", "parts"), [("utf-8", 20), ("utf-16", 1)])
def test_a_text_in_utf_16_is_read_in_one_part(encoding, parts, tmp_path, monkeypatch):
    """Its mark is at its beginning alone, and its lines do not end with one byte."""
    monkeypatch.setattr(spark_logs, "LEAST", 100)
    path = tmp_path / "a.csv"
    path.write_text("x,q\n" + "1,true\n" * 300, encoding=encoding)
    tasks = spark_logs.read_tasks([path], INPUTS, Reading(), Reporter(), 20)
    assert (len(tasks) >= parts) if parts > 1 else (len(tasks) == 1)


class Kept:
    """What stands for an accumulator of Spark's."""

    def __init__(self, value=()):
        self.value = dict(value)

    def add(self, more):
        self.value |= more


def runner(choice, layout):
    """What runs a pipeline on a partition."""
    return PartitionRunner(PipelineJob(choice, layout))


def see_query(checkpoint, choice, layout=TIMED, output="out", format="csv", key_type="string"):
    """What a stream sees to before it begins."""
    see_checkpoint(checkpoint, PipelineJob(choice, layout, key_type).about(), output, format)


def tuples(batches):
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def ours(function, *given):
    """The error that a worker raises, as the driver gets it, which knows of 100 rows that task 0 has read."""
    with pytest.raises(CarriedError) as caught:
        list(function(*given))
    read = TaskCounts(Account(read=100, rows=100), (), (), {})
    log = KeyLog(None, PLACED, "string", Counts(Kept({("read", 0): read})), "the log")
    return error_in(RuntimeError(f"Java says: {caught.value}\n at org.apache.spark"), log.locate)


def batches(rows, size, order=lambda i, row: [row[1]]):
    """Rows as Spark brings them: sorted by key, in batches that do not care about keys."""
    ordered = sorted(rows, key=lambda row: row[0])
    orders = [order(i, row) for i, row in enumerate(ordered)]
    columns = [pa.array([r[0] for r in ordered]), *(pa.array(c) for c in zip(*orders, strict=True))]
    columns += [pa.array([r[2] for r in ordered], pa.int64()), pa.array([r[3] for r in ordered], pa.bool_())]
    names = [str(i) for i in range(len(columns))]
    whole = pa.RecordBatch.from_arrays(columns, names=names)
    return (whole.slice(i, size) for i in range(0, len(rows), size))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("text", [SUMS, LAST])
@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_each_key_is_a_run_of_its_own(text, backend, size):
    rows = rows_of(300)
    runs = pipeline(text)
    made = runner(choose(runs, backend), BY_TIME)(batches(rows, size))
    assert sorted(tuples(made), key=str) == expected(rows, runs)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [SUMS, LAST])
@pytest.mark.parametrize("size", [7, 100])
def test_machine_code_goes_on_in_the_next_batch(text, size):
    """Keys end in it, too; and what a task has begun that was given up is forgotten."""
    rows, runs = rows_of(300), pipeline(text)
    choice = choose(runs)
    runs_of_keys = choice.open()
    assert isinstance(runs_of_keys, CompiledKeys)
    runs_of_keys._warm_up_steps = 0
    given_up = runner(choice, BY_TIME)(batches(rows, size))
    next(given_up)
    assert sorted(tuples(runner(choice, BY_TIME)(batches(rows, size))), key=str) == expected(rows, runs)
    assert runs_of_keys is choice.open()
    assert any(machine for _, machine in runs_of_keys.one.loops.made)


def test_texts_of_earlier_keys_are_forgotten(monkeypatch):
    monkeypatch.setattr("workbench.executors.compiled.execute.text_codes.MAX_FORGOTTEN", 20)
    runs = parse("pipeline p(x: str) -> y: str { return trim(x, 1) }").get().pipeline
    choice, count = choose(runs), 500
    keys, texts = [f"k{i // 3:03}" for i in range(count)], [f"t{i}" for i in range(count)]
    table = pa.table({"key": keys, "o0": range(count), "x0": texts})
    made = tuples(runner(choice, BY_TIME)(iter(table.to_batches(10))))
    assert made == [(key, i % 3, text) for i, (key, text) in enumerate(zip(keys, texts, strict=True)) if i % 3]
    runs_of_keys = choice.open()
    assert isinstance(runs_of_keys, CompiledKeys)
    assert len(runs_of_keys.one.texts) < 100


def test_keys_of_other_kinds():
    runs = parse("pipeline p(x: int) -> y: int { return cumulate(x, +) }").get().pipeline
    for keys in ([1, 1, 2], [1.5, math.inf, math.inf], [b"a", b"b", b"b"], [True, True, False]):
        batch = pa.RecordBatch.from_arrays(
            [pa.array(keys), pa.array([1, 2, 3]), pa.array([5, 6, 7])], names=list("abc")
        )
        made = tuples(runner(choose(runs), BY_TIME)(iter([batch])))
        assert [row[0] for row in made] == keys
        assert [row[2] for row in made] == ([5, 11, 7] if keys[0] == keys[1] else [5, 6, 13])


VALUES = {
    "{a, b}": (pa.array(["a", "b", None, "b"]), ["a", "b", "b"]),
    "float": (pa.array([0.5, None, math.inf, -0.0]), [0.5, math.inf, -0.0]),
    "bool": (pa.array([True, False, None, True]), [True, False, True]),
    "{n: int, on: bool}": (pa.array(['{"n": 1, "on": true}', None, '{"on": false, "n": 2}']),
                           ['{"n": 1, "on": true}', '{"n": 2, "on": false}']),
    "(int, int)": (pa.array(["[1, 2]", "[1, 2]", None]), ["[1, 2]", "[1, 2]"]),
    "str": (pa.array(["", "é", None]), ["", "é"]),
}  # fmt: skip


@pytest.mark.parametrize("domain", VALUES)
def test_values_of_every_kind_pass_through(domain):
    given, wanted = VALUES[domain]
    runs = parse(f"pipeline p(x: {domain}) -> y: {domain} {{ return trim(x, 0) }}").get().pipeline
    rows = pa.RecordBatch.from_arrays(
        [pa.array(["k"] * len(given)), pa.array(range(len(given))), given], names=list("abc")
    )
    for backend in ("reference", "auto"):
        made = tuples(runner(choose(runs, backend), BY_TIME)(iter([rows])))
        assert [value for _, _, value in made] == wanted
    assert choose(runs).backend == "compiled"


def test_which_executor_is_said():
    objects = parse("pipeline p(x: any) -> any { return trim(x, 1) }").get().pipeline
    choice = choose(objects)
    assert (choice.backend, "any" in choice.reason) == ("reference", True)
    with pytest.raises(Refused):
        choose(objects, "compiled")
    assert choose(pipeline()).reason == ""


# --- rows that are not as they should be ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 50])
def test_the_order_is_verified(size):
    rows = [("a", t, 1, None) for t in (1, 2, 5, 4)]
    error = ours(runner(choose(pipeline()), BY_TIME), batches(rows, size))
    assert isinstance(error, InputError)
    assert error.what == "key 'a': the rows are not in the order of t at 4"
    rows = [("a", 1, 1, None), ("b", 0, 1, None), ("b", 0, 2, None)]
    error = ours(runner(choose(pipeline()), BY_TIME), batches(rows, size))
    assert "key 'b': two rows have the same t (0)" in error.what
    assert "order=['time', 'number']" in error.hint


def placed(i, row):
    return [1, row[1] + 1]


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("size", [3, 50])
def test_an_error_names_key_step_and_row_of_the_log(backend, size):
    checked = parse("pipeline p(x: 0..9, q: bool) -> y: 0..9 { return trim(x, 1) }").get().pipeline
    rows = [("a", t, 1, None) for t in range(4)] + [("b", 10 + t, 12 if t == 2 else 3, None) for t in range(5)]
    error = ours(runner(choose(checked, backend), PLACED), batches(rows, size, placed))
    assert isinstance(error, DomainError)
    assert error.what == "k 'b', row 113 of the log: step 2: 12 on input 'x' is not a value of 0..9"
    queue = parse("pipeline p(x: int, q: bool) -> y: bool { both = (x > 0) and q return both"
                  " capacity queue(both.left) = 2 capacity queue(both.right) = 2 }").get().pipeline  # fmt: skip
    error = ours(runner(choose(queue, backend), PLACED), batches(rows, size, placed))
    assert isinstance(error, Overflow)
    assert error.what.startswith("k 'a', row 103 of the log: step 2: queue 'both.left'")


def test_a_row_without_key_or_order():
    rows = [("a", 1, 1, None), (None, 2, 1, None)]
    columns = [pa.array(c) for c in zip(*[(*r[:2], r[2]) for r in rows], strict=True)]
    batch = pa.RecordBatch.from_arrays([*columns, pa.nulls(2, pa.bool_())], names=list("abcd"))
    assert ours(runner(choose(pipeline()), BY_TIME), [batch]).what == "a row has no key 'k'"
    columns[0], columns[1] = pa.array(["a", "a"]), pa.array([1, None])
    batch = pa.RecordBatch.from_arrays([*columns, pa.nulls(2, pa.bool_())], names=list("abcd"))
    assert ours(runner(choose(pipeline()), BY_TIME), [batch]).what == "key 'a': a row has no 't'"


def test_json_in_a_column_that_is_none():
    runs = parse("pipeline p(x: (int, int)) -> y: (int, int) { return trim(x, 0) }").get().pipeline
    rows = pa.RecordBatch.from_arrays(
        [pa.array(["k", "k"]), pa.array([1, 1]), pa.array([7, 8]), pa.array(["[1, 2]", "[1]"])], names=list("abcd")
    )
    error = ours(runner(choose(runs), PLACED), [rows])
    assert error.what == "k 'k', row 108 of the log: input 'x': expected an array (int, int), not [1]"


def test_integers_that_spark_has_not():
    runs = parse("pipeline p(x: int) -> y: int { return cumulate(x, *) }").get().pipeline
    rows = pa.RecordBatch.from_arrays(
        [pa.array(["k"] * 3), pa.array([1, 2, 3]), pa.array([2**40] * 3)], names=list("abc")
    )
    assert "64 bits" in ours(runner(choose(runs), BY_TIME), [rows]).what
    assert "64 bits, which a column has for int" in ours(runner(choose(runs, "reference"), BY_TIME), [rows]).what


# --- logs -----------------------------------------------------------------------------------------------------


def read(files, *, inputs=INPUTS, layout=FILED, **reading):
    """The rows of files as a worker reads them, and what it counts."""
    counts = Counts(Kept())
    rows = Ports("rows", (*(Port(name, KeyTexts()) for name in (layout.key, *layout.orders)), *inputs.inputs))
    reader = FileReader(KeyRowForm(rows, list(inputs.domains), layout), Reading(only_64_bits=True, **reading), counts)
    names = pa.RecordBatch.from_arrays([pa.array(["file:" + str(file) for file in files])], names=["path"])
    return reader(iter([names])), counts


def test_rows_without_a_key_go_on_and_rows_without_anything_do_not(tmp_path):
    (tmp_path / "a.csv").write_text('\ufeffx,k,q\n1,a,\n\n,"b, c",true\n7,,0\n')
    rows, counts = read([tmp_path / "a.csv"])
    found, name = tuples(rows), f"{tmp_path}/a.csv"
    assert found == [("a", name, 1, 1, None), ("b, c", name, 3, None, True), (None, name, 4, 7, False)]
    reporter = Reporter()
    counts.settle(reporter, {})
    assert (reporter.account.rows, reporter.account.events_in) == (4, 4)
    batch = pa.RecordBatch.from_pylist([dict(zip("abcde", found[2], strict=True))])
    assert (reporter.account.read, reporter.account.ignored[KEYLESS]) == (4, 1)
    with pytest.raises(LostRows, match="4 were read, 0 were computed"):
        reporter.account.check()
    counts.add_run(0, Account(computed=3))
    counts.settle(reporter, {})
    reporter.account.check()
    error = ours(runner(choose(pipeline()), FILED), [batch])
    assert (error.what, str(error.where)) == ("row 4 has no 'k', so it belongs to no key", name)


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["10", "9", "-1"], ["-1", "9", "10"]),
        (["1.5", "10", "2"], ["1.5", "2", "10"]),
        (["9007199254740993", "9007199254740992", "1e3"], ["1e3", "9007199254740992", "9007199254740993"]),
        (["2024-01-10", "2024-01-09T10:00", "2023"], ["2023", "2024-01-09T10:00", "2024-01-10"]),
    ],
)
def test_what_orders_rows_is_a_number_or_a_text(tmp_path, texts, wanted):
    (tmp_path / "a.csv").write_text("k,t,x,q\n" + "".join(f"a,{t},{i},1\n" for i, t in enumerate(texts)))
    made = tuples(read([tmp_path / "a.csv"], layout=TIMED)[0])
    assert [texts[row[6]] for row in sorted(made, key=lambda row: row[1:6])] == wanted


@pytest.mark.parametrize("size", [1, 50])
def test_a_key_is_not_ordered_by_numbers_and_texts(tmp_path, size):
    """As the worker gets them: sorted, which has put the numbers first."""

    def made(text):
        (tmp_path / "a.csv").write_text(text)
        rows = pa.Table.from_batches(read([tmp_path / "a.csv"], layout=TIMED)[0])
        return rows.sort_by([(name, "ascending") for name in rows.column_names[:6]]).to_batches(size)

    run, name = runner(choose(pipeline()), TIMED), f"{tmp_path}/a.csv"
    error = ours(run, made("k,t,x,q\na,1,1,\na,noon,1,\na,2.5,1,\n"))
    assert isinstance(error, InputError)
    assert error.what == f"k 'a', row 2 of {name}: 't' is a text here (noon), and a number before (2.5)"
    fine = made("k,t,x,q\na,1,1,\nb,noon,1,\na,2,1,\nb,dawn,1,\n")
    assert {row[0] for row in tuples(run(fine))} == {"a", "b"}, "each key is in order"
    error = ours(run, made("k,t,x,q\na,1,1,\na,,1,\n"))
    assert error.what == f"k 'a', row 2 of {name}: a row has no 't'"


# --- a stream -------------------------------------------------------------------------------------------------


class State:
    """What Spark keeps for a key."""

    def __init__(self):
        self.get = None

    @property
    def exists(self):
        return self.get is not None

    def update(self, value):
        self.get = value


def frame(rows, **others):
    """Rows as workers get them in a micro-batch: packed by key, in the frames of pandas."""
    pytest.importorskip("pandas")
    columns = {
        "key": [r[0] for r in rows], "o0": [float(r[1]) for r in rows], "o1": [r[1] for r in rows],
        "o2": [""] * len(rows), "o3": ["/logs/a.csv"] * len(rows), "o4": [r[1] for r in rows],
        "x0": pa.array([r[2] for r in rows], pa.int64()), "x1": pa.array([r[3] for r in rows], pa.bool_()),
    }  # fmt: skip
    return pa.Table.from_batches(pack_groups(iter([pa.RecordBatch.from_pydict(columns | others)]))).to_pandas()


def micro_batches(backend, parts, state, layout=TIMED, runs=None):
    """What comes out of one key over several micro-batches."""
    found = []
    for part in parts:
        stepper = GroupStepper(PipelineJob(choose(runs or pipeline(), backend), layout))
        for packed in stepper((part[0][0],), iter([frame(part[::-1][:3]), frame(part[::-1][3:])]), state):
            found += tuples(unpack(iter([pa.RecordBatch.from_pandas(packed)])))
    return found


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_micro_batches_go_on_from_the_state(backend):
    rows = rows_of(200, keys=1)
    parts = [rows[i : i + 10] for i in range(0, 200, 10)]
    assert micro_batches(backend, parts, State()) == sorted(expected(rows, pipeline(), end=False), key=lambda r: r[1])


def test_rows_pass_through_packets_as_they_are():
    """Whole numbers of 64 bits and nulls, too, which pandas would make floats; one packet for each key."""
    keys = ["b", "a", None, "b"]
    rows = {"key": keys, "x": pa.array([2**62 + 1, None, 3, -1], pa.int64()), "y": pa.array([None, True, False, None])}
    batch = pa.RecordBatch.from_pydict(rows)
    frame = pa.Table.from_batches(pack_groups(iter([batch.slice(0, 1), batch.slice(1, 0), batch.slice(1)]))).to_pandas()
    assert [key if isinstance(key, str) else None for key in frame["key"]] == ["a", "b", None]
    found = unpack(iter([pa.RecordBatch.from_pydict({"outputs": list(frame["rows"])})]))
    assert tuples(found) == [("a", None, True), ("b", 2**62 + 1, None), ("b", -1, None), (None, 3, False)]


def test_packets_are_made_of_so_many_rows_at_a_time(monkeypatch):
    monkeypatch.setattr("workbench.executors.spark.worker.PACKED_ROWS", 3)
    batches = (pa.RecordBatch.from_pydict({"key": ["b", "a"], "x": [i, -i]}) for i in range(1, 6))
    packed = list(pack_groups(batches))
    assert [each.column(0).to_pylist() for each in packed] == [["a", "b"]] * 3
    assert sorted(row["x"] for each in packed for batch in unpack_packets(each.column(1).to_pylist())
                  for row in batch.to_pylist()) == [*range(-5, 0), *range(1, 6)]  # fmt: skip


def test_groups_begin_where_the_key_changes():
    for keys, starts in (([1], [0]), ([1, 1, 2, 2, 3], [0, 2, 4]), (["a", "b", None], [0, 1, 2])):
        assert group_starts(pa.array(keys)).tolist() == starts


def test_a_micro_batch_accounts_for_the_rows_of_all_its_groups(monkeypatch):
    """A task that Spark does again counts once, since its reports have one name."""
    monkeypatch.setattr("pyspark.TaskContext.get", lambda: SimpleNamespace(partitionId=lambda: 7))
    rows, kept = rows_of(60, keys=3), Kept()
    for attempt in range(2):
        stepper = GroupStepper(PipelineJob(choose(pipeline()), TIMED), Counts(kept))
        for key in ("u0", "u1", "u2"):
            some = [row for row in rows if row[0] == key]
            assert list(stepper((key,), iter([frame(some)]), State())), attempt
    reporter = Reporter()
    Counts(kept).settle(reporter, {})
    events = sum(value is not None for row in expected(rows, pipeline(), end=False) for value in row[2:])
    assert (reporter.account.computed, reporter.account.events_out) == (60, events)


def test_a_text_orders_after_a_number_of_an_earlier_micro_batch():
    rows, state = rows_of(10, keys=1), State()
    micro_batches("compiled", [rows[:5]], state)
    later = frame(rows[5:6], o0=[math.inf], o1=[0], o2=["noon"])
    error = ours(GroupStepper(PipelineJob(choose(pipeline()), TIMED)), ("u0",), iter([later]), state)
    said = "'t' is a text here (noon), and a number in an earlier micro-batch (4)"
    assert error.what == f"k 'u0', row 5 of /logs/a.csv: {said}"


def test_rows_that_come_late_or_with_the_state_of_others():
    rows, state = rows_of(40, keys=1), State()
    micro_batches("compiled", [rows[:10], rows[20:30]], state)
    kept = state.get
    with pytest.raises(CarriedError) as caught:
        micro_batches("compiled", [rows[10:20]], state)
    error = error_in(caught.value)
    assert isinstance(error, InputError)
    said = "a row with t = 10 comes late: 29 has been there already"
    assert f"k 'u0', row 10 of /logs/a.csv: {said}" in error.what
    assert state.get == kept
    with pytest.raises(CarriedError) as caught:
        micro_batches("reference", [rows[30:]], state)
    assert isinstance(error_in(caught.value), StateError)
    assert micro_batches("compiled", [rows[30:]], state)


@pytest.mark.parametrize("change", [
    lambda state: b"", lambda state: state[:9], lambda state: b"garbage" + state, lambda state: state[7:],
    lambda state: state.replace(b"17", b"18"),
])  # fmt: skip
def test_a_damaged_state_is_refused(change):
    state = join_state([17], b"snapshot")
    assert split_state(state) == ([17], b"snapshot")
    with pytest.raises(StateError):
        split_state(change(state))


def test_a_checkpoint_belongs_to_one_query(tmp_path):
    choice = choose(pipeline())
    see_query(tmp_path / "ck", choice)
    see_query(tmp_path / "ck", choice)
    for other, layout, output, what in (
        (choose(pipeline(), "reference"), TIMED, "out", "backend: 'compiled' there, 'reference' now"),
        (choose(pipeline(SUMS.replace("3)", "4)"))), TIMED, "out", "another code"),
        (choice, Layout("j", ("t",)), "out", "another key: 'k' there, 'j' now"),
        (choice, Layout("k", ()), "out", "another order: "),
        (choice, replace(TIMED, parts=1), "out", "another order columns: 3 there, 1 now"),
        (choice, TIMED, "elsewhere", "another output"),
    ):
        with pytest.raises(StateError, match=what):
            see_query(tmp_path / "ck", other, layout, output, "csv")
    with pytest.raises(StateError, match="another key type: 'string' there, 'long' now"):
        see_query(tmp_path / "ck", choice, key_type="long")
    with pytest.raises(StateError, match="another format: 'csv' there, 'jsonl' now"):
        see_query(tmp_path / "ck", choice, TIMED, "out", "jsonl")
    about = json.loads((tmp_path / "ck" / "workbench.json").read_text())
    for form, said in ((about.pop("form") + 1, f"{FORM + 1}"), (None, "of an earlier version")):
        (tmp_path / "ck" / "workbench.json").write_text(json.dumps(about | ({"form": form} if form else {})))
        with pytest.raises(StateError, match=f"the form {said}, but this version of workbench reads {FORM}") as caught:
            see_query(tmp_path / "ck", choice)
        assert "the version of workbench that wrote it; or start afresh, with a new" in caught.value.hint
    for text in ("{", "[]", "", "[" * 100_000):
        (tmp_path / "ck" / "workbench.json").write_text(text)
        with pytest.raises(StateError, match="damaged") as caught:
            see_query(tmp_path / "ck", choice)
        assert "a new --checkpoint and a new --output" in caught.value.hint


def test_what_a_checkpoint_says_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    def full(self, text):
        self.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space"):
            see_query(tmp_path / "ck", choose(pipeline()))
    assert list((tmp_path / "ck").iterdir()) == []
    see_query(tmp_path / "ck", choose(pipeline()))
    assert [path.name for path in (tmp_path / "ck").iterdir()] == ["workbench.json"]


def test_an_output_belongs_to_one_checkpoint(tmp_path):
    out, checkpoint = tmp_path / "out", tmp_path / "ck"

    def begin(number=None):
        if number is not None:  # what Spark does: a note, and then the work
            (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
            (checkpoint / "offsets" / str(number)).touch()
            (checkpoint / "offsets" / f".{number}.crc").touch()
            (out / f"batch={number:08}").mkdir(parents=True)
        see_query(checkpoint, choose(pipeline()), TIMED, str(out), "csv")

    for number in (None, 0, 1, 12):
        begin(number)
    (out / "_notes").touch()
    (out / "read me").touch()
    begin()
    checkpoint.rename(tmp_path / "old")  # a new checkpoint and an old output
    with pytest.raises(
        StateError, match=r"has contents that do not belong to the checkpoint .*ck: batch=00000000"
    ) as caught:
        begin()
    assert caught.value.where == str(out)
    assert not checkpoint.exists()
    (tmp_path / "old").rename(checkpoint)
    begin()
    (checkpoint / "offsets" / "12").unlink()  # Spark would do 2 again
    with pytest.raises(StateError, match="batch=00000012"):
        begin()
    for path in out.glob("batch=*"):
        path.rmdir()
    begin()
    shutil.rmtree(checkpoint)
    with pytest.raises(StateError, match="read me"):
        begin()


# --- errors on their way --------------------------------------------------------------------------------------


SPARK_SAYS = [
    (
        "[STREAM_FAILED] Query [id = 8d] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error"
        " occurred in the user provided function in foreach batch sink. Reason: An exception was raised by the Python"
        " Proxy. Return Message: Traceback (most recent call last):\n"
        '  File "utils.py", line 166, in call\n    raise e\n'
        "py4j.protocol.Py4JJavaError: An error occurred while calling o359.json.\n"
        ": org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error"
        " occurred during loading state. ck/state/0/1/1.delta does not exist. SQLSTATE: 58030\n"
        "\tat org.apache.spark.sql.errors.QueryExecutionErrors",
        StateError,
        "ck: the checkpoint is damaged: An error occurred during loading state. ck/state/0/1/1.delta does not exist.\n"
        "  hint: start afresh, with a new --checkpoint and a new --output",
    ),
    (
        "Py4JJavaError: An error occurred while calling o1479.json.\n: org.apache.spark.SparkException: Job aborted:"
        " Python worker exited unexpectedly (crashed). Consider setting",
        SparkError,
        "a Python process of Spark was killed\n  hint: run the same command again",
    ),
    (
        "Traceback (most recent call last):\n  File x\npy4j.protocol.Py4JJavaError: An error occurred while calling"
        " o3.json.\n: java.io.IOException: No space left on device\n\tat java.base/java.io",
        SparkError,
        "Spark gave up: java.io.IOException: No space left on device",
    ),
]


@pytest.mark.parametrize(("text", "kind", "said"), SPARK_SAYS)
def test_what_spark_says_becomes_one_message(text, kind, said):
    with pytest.raises(kind) as caught, bring_back(where="ck"):
        raise Py4JError(text)
    assert caught.value.message.startswith(said)
    assert "org.apache" not in caught.value.message


def test_what_a_worker_cannot_write_comes_back_as_it_was():
    """A text that is no cell of CSV: with what the writer says where there is no Spark."""
    lines = RowLines(Ports("rows", (), (Port("out", STR),)), "csv", "")
    with pytest.raises(CarriedError) as sent:
        list(lines(iter([pa.RecordBatch.from_pydict({"out": ["a", "\r"]})])))
    with pytest.raises(InputError) as caught, bring_back():
        raise Py4JError(f"An exception was thrown from the Python worker: {sent.value}")
    assert caught.value.what == "the text '\\r' cannot be distinguished from an empty cell of CSV"
    assert "JSON lines" in caught.value.hint


def test_without_java_there_is_no_connection():
    with pytest.raises(SparkError, match="the Java process of Spark was killed"), bring_back():
        raise ConnectionRefusedError(111, "Connection refused")


def test_errors_of_others_stay_theirs():
    with pytest.raises(KeyError), bring_back():
        raise KeyError("k")
    assert error_in(RuntimeError("nothing of ours")) is None
    told = base64.b64encode(json.dumps(["SystemExit", "w", "", "", None]).encode()).decode()
    assert type(error_in(RuntimeError(f"[workbench:{told}]"))) is wb.errors.WorkbenchError


class Failing:
    """Rows whose writing fails when the folder is there."""

    @property
    def write(self):
        return self

    def mode(self, *_):
        return self

    format = option = mode

    def save(self, folder):
        Path(folder).mkdir(exist_ok=True)
        raise Py4JError("no room")


def test_a_folder_that_could_not_be_written_does_not_stay(tmp_path):
    out = tmp_path / "out"
    for mode in ("errorifexists", "overwrite"):
        with pytest.raises(Py4JError):
            write_rows(Failing(), INPUTS, str(out), "parquet", mode=mode)
        assert not out.exists(), "the same command is let in again, and Spark does the micro-batch again"


def test_a_pipeline_is_sent_without_what_follows_from_it():
    """Its compiled form is made again where it is needed, once for each pipeline and its capacities."""
    runs = wb.parse("pipeline p(x: int, y: int) -> int { return x + trim(y, 2) }").get().pipeline
    before = cloudpickle.dumps(runs)
    first, others = (
        wb.executors.Compiled(runs),
        [wb.executors.Compiled(runs), wb.executors.Compiled(runs, {"add.left": 2})],
    )
    assert [first.allocation is other.allocation for other in others] == [True, False]
    assert cloudpickle.dumps(runs) == before
