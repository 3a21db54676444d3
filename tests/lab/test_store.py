"""The store: what is added comes back, once, whatever happens to the files."""

import errno
import itertools
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.examples import scaled
from workbench.errors import LabError
from workbench.lab import store as store_module
from workbench.lab.result import Measured, Result, Status
from workbench.lab.rows import COLUMNS
from workbench.lab.store import ResultStore, newest
from workbench.stored import FORM


def result(key="a", repetition=0, started="2026-01-01T00:00:00", status=Status.OK, **outputs):
    return Result(
        key, repetition, "e", {"n": 1, "name": "ö'\"", "x": 0.1}, Measured(status, outputs, "why", 1.5, 0.5, 20.0),
        "code", 7, started, "run", "commit", "command", {"cores": 2}, {"python": "3"},
    )  # fmt: skip


def by_id(results):
    """The outputs of the newest of each."""
    return {r.id: r.measured.outputs for r in sorted(results, key=lambda r: r.started)}


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path, "s")


def test_what_is_added_comes_back(store):
    first, second = result(y=1.5, word="ü"), result("b", 3, "2026-01-02T00:00:00", Status.CRASH)
    store.add([second])
    store.add([first])
    assert store.results() == ([first, second], [])
    assert store.done() == ({"a.0": "ok", "b.3": "crash"}, [])
    assert [path.name for path in store.folder.parent.iterdir()] == ["suite=s"]


def test_a_file_from_before_a_column_was_added_has_none_there(store, monkeypatch):
    old = [name for name in COLUMNS if name not in ("gpu_seconds", "gpu_peak_mb")]
    with monkeypatch.context() as before:
        before.setattr("workbench.lab.rows.COLUMNS", old)
        store.add([result(y=1)])
    store.add([replace(result("b"), measured=Measured(Status.OK, gpu_seconds=0.5, gpu_peak_mb=300.0))])
    found = {r.key: (r.measured.gpu_seconds, r.measured.gpu_peak_mb) for r in store.results()[0]}
    assert found == {"a": (None, None), "b": (0.5, 300.0)}


def test_nothing_is_written_for_nothing(store):
    assert store.add([]) is None
    assert store.results() == ([], [])
    assert not store.folder.exists()


def test_the_newest_counts(store):
    old, new = result(y=1), result(started="2026-01-01T00:00:01", y=2)
    other_code = replace(result("c", started="2026-01-01T00:00:02", y=3), code="later")
    for each in (new, old, other_code):
        store.add([each])
    found = newest(store.results()[0])
    assert [r.measured.outputs for r in found.values()] == [{"y": 3}]
    assert store.done()[0]["a.0"] == "ok"


def test_a_named_file_is_replaced(store):
    store.add([result(y=1)], name="batch")
    store.add([result(y=2)], name="batch")
    assert [r.measured.outputs for r in store.results()[0]] == [{"y": 2}]
    assert len(list(store.folder.iterdir())) == 1


def test_a_name_does_not_take_away_what_the_new_file_has_not(store):
    store.add([result(y=1), result("b", y=2)], name="batch")
    store.add([result(y=3, started="2026-01-02T00:00:00")], name="batch")
    assert by_id(store.results()[0]) == {"a.0": {"y": 3}, "b.0": {"y": 2}}


def test_tidying_keeps_runs_apart(store):
    """A batch that was interrupted leaves its parts beside the whole; a measurement made again is another run's."""
    late = {"started": "2026-01-02T00:00:00"}
    parts = [result("a"), result("b", **late), result("c")]
    again = replace(result("a", **late), run="another")
    for name, results in (
        ("x-1", parts[:1]),
        ("x-2", parts[1:]),
        ("x", [result(key) for key in "abc"]),
        ("y", [again]),
    ):
        store.add(results, name)
    assert len(store.results()[0]) == 6, "what is newer is not removed when something is added"
    store.tidy()
    assert sorted((r.run, r.id) for r in store.results()[0]) == [
        ("another", "a.0"), ("run", "a.0"), ("run", "b.0"), ("run", "c.0"),
    ]  # fmt: skip


class Turns:
    """Lets writers do one call of the file system each, in turns that are given."""

    def __init__(self, writers):
        self.go = [threading.Semaphore(0) for _ in writers]
        self.waits = [threading.Semaphore(0) for _ in writers]
        self.threads = [threading.Thread(target=self._run, args=each) for each in enumerate(writers)]
        self.over = [False for _ in writers]
        self.own = threading.local()

    def _run(self, number, writer):
        self.own.number = number
        try:
            writer()
        finally:
            self.own.number, self.over[number] = None, True
            self.waits[number].release()

    def before(self, function):
        def waiting(*args, **kwargs):
            if (number := getattr(self.own, "number", None)) is not None:
                self.waits[number].release()
                self.go[number].acquire()
            found = function(*args, **kwargs)
            return found if found is None else list(found)  # a listing is made at once, not as it is used

        return waiting

    def take(self, order):
        for number, thread in enumerate(self.threads):
            thread.start()
            self.waits[number].acquire()
        for number in itertools.chain(order, [0] * 50, [1] * 50):
            if not self.over[number]:
                self.go[number].release()
                assert self.waits[number].acquire(timeout=20)
        for thread in self.threads:
            thread.join(20)
        assert all(self.over)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("other", ["ab", "a", "c"])
def test_no_interleaving_of_two_writers_loses_a_result(tmp_path, monkeypatch, other):
    """One is interrupted after any number of calls, and so is the other then."""
    given = [result(key) for key in "ab"], [result(key, started="2026-01-02T00:00:00") for key in other]
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for calls in itertools.product(range(0, 7, scaled(2, 1)), repeat=2):
        store = ResultStore(tmp_path, f"s{calls}")
        writers = [lambda results=results, s=store: s.add(results, "batch") for results in given]
        turns = Turns(writers)
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", turns.before(os.replace))
            for name in ("unlink", "glob"):
                patched.setattr(Path, name, turns.before(getattr(Path, name)))
            turns.take([0] * calls[0] + [1] * calls[1])
        assert set(by_id(store.results()[0])) == set(by_id([*given[0], *given[1]])), calls


WRITER = """
import os, sys
from pathlib import Path
from tests.lab.test_store import result
from workbench.lab.store import ResultStore
os.fsync = lambda _: None
me = sys.argv[2]
print("ready", flush=True)
for line in sys.stdin:
    ResultStore(Path(sys.argv[1]), f"s{int(line)}").add([result("shared", y=me), result(me, y=me)], "batch")
    print("done", flush=True)
"""


@pytest.mark.slow
def test_two_processes_write_one_name_at_once(tmp_path):
    def start(me):
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-c", WRITER, str(tmp_path), me]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )

    writers = [start("one"), start("two")]
    try:
        for number in ["", *range(20)]:
            for writer in writers if number != "" else ():
                writer.stdin.write(f"{number}\n")
                writer.stdin.flush()
            for writer in writers:
                assert writer.stdout.readline()
        for number in range(20):
            assert {r.id for r in ResultStore(tmp_path, f"s{number}").results()[0]} == {"shared.0", "one.0", "two.0"}
    finally:
        for writer in writers:
            writer.stdin.close()
            writer.stdout.close()
            assert writer.wait(30) == 0


def forge(path, change):
    """In place of a file one whose hash is right and whose rows are not: what another program or version may write."""
    rows = pa.parquet.read_table(path).to_pylist()
    change(rows)
    path.unlink()
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.Table.from_pylist(rows), sink)
    data = bytes(sink.getvalue())
    forged = path.with_name(f"part-forged.{store_module._hash(data)}.parquet")
    forged.write_bytes(data)
    return forged


@pytest.fixture
def three(store):
    """Adds a file of three results."""
    return lambda: store.add([result("x0"), result("x1"), result("x2")])


DAMAGES = {
    "bad JSON": (("outputs", "{"), "row 2: its 'outputs' is not a JSON object"),
    "another JSON": (("point", "[1]"), "row 2: its 'point' is not a JSON object"),
    "deep JSON": (("versions", "[" * 100_000), "row 2: its 'versions' is not a JSON object"),
    "unknown status": (("status", "exploded"), "row 2: its status 'exploded' is not known"),
    "no time": (("started", None), "row 2: it has no 'started'"),
    "no number": (("cpu_seconds", None), "row 2: it has no 'cpu_seconds'"),
    "no key": (("key", None), "row 2: it has no 'key'"),
}


def test_results_of_earlier_and_newer_versions(store, three, monkeypatch):
    """Earlier files do not say their form, and are read; those of a newer form are left to who can read them."""
    monkeypatch.setattr("workbench.lab.store.FORM", FORM + 1)
    newer = three()
    monkeypatch.undo()
    found, broken = store.results()
    assert found == []
    (one,) = broken
    assert f"it has the form {FORM + 1}, but this version of workbench reads {FORM}" in str(one)
    assert "newer workbench" in one.hint
    monkeypatch.setattr("workbench.lab.store.FORM_KEY", b"other")
    store.add([result("old")])
    monkeypatch.undo()
    assert [r.key for r in store.results()[0]] == ["old"]
    store.tidy()
    assert newer.exists()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_row_that_is_no_result_is_named_and_the_others_used(store, three, damage):
    (column, value), said = DAMAGES[damage]
    path = forge(three(), lambda rows: rows[1].update({column: value}))
    found, broken = store.results()
    assert [r.key for r in found] == ["x0", "x2"]
    assert [str(item) for item in broken] == [f"{path}: {said}"]
    assert "newer workbench" in broken[0].hint
    assert store.done() == ({"x0.0": "ok", "x2.0": "ok"}, broken)
    store.add([result(f"x{i}") for i in range(3)], "forged")
    assert path.exists(), "the row may be another version's"


def test_files_with_another_schema(store, three):
    def lacking(rows):
        for row in rows:
            del row["status"], row["started"]

    forge(three(), lacking)
    assert store.results()[0] == []
    assert "row 1: it has no 'status' (and 2 more)" in str(store.results()[1][0])
    forge(three(), lambda rows: [row.update(cpu_seconds=[1]) for row in rows])
    assert len(store.results()[1]) == 2
    forge(three(), lambda rows: [row.update(status=b"\xff") for row in rows])
    found, broken = store.results()
    assert (found, len(broken)) == ([], 3)
    forge(three(), lambda rows: [row.update(joules=1.0) for row in rows])  # one column more does no harm
    assert (len(store.results()[0]), len(store.results()[1])) == (3, 3)


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage"])
def test_a_broken_file_is_reported_and_the_rest_kept(store, damage):
    good = store.add([result("good")])
    bad = store.add([result(f"bad{i}", word="x" * 50 + str(i)) for i in range(200)])
    data = bad.read_bytes()
    bad.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "garbage": b"x" * 100}[damage])
    found, broken = store.results()
    assert [r.key for r in found] == ["good"]
    assert [item.path for item in broken] == [bad]
    assert str(bad) in str(broken[0])
    assert good.exists()


def test_a_damaged_byte_is_noticed(store):
    path = store.add([result(f"key{i}", word="x" * 50 + str(i)) for i in range(200)])
    data = path.read_bytes()
    for position in range(0, len(data), len(data) // 20):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :])
        found, broken = store.results()
        assert (found, len(broken)) == ([], 1)


def test_a_file_in_the_making_is_not_looked_at(store):
    store.add([result()])
    (store.folder / ".part-x-y.incoming").write_text("half")
    assert len(store.results()[0]) == 1
    assert store.results()[1] == []


def test_half_a_character_is_stored_as_a_question_mark(store):
    store.add([replace(result(word="a\udcff"), command="run \ud800")])
    (found,) = store.results()[0]
    assert (found.measured.outputs, found.command) == ({"word": "a?"}, "run ?")


def test_points_are_found_by_the_keys_of_their_results(store):
    store.add([result("abc1"), result("abd2", 1), result("xyz3")])
    ((experiment, point), keys), *others = store.points(["ab", "x", "none"]).items()
    assert (experiment, keys, others) == ("e", ["ab", "x"], [])
    assert '"n":1' in point


@pytest.mark.parametrize(
    ("number", "what", "remedy"),
    [
        (errno.ENOSPC, "the disk is full", "free some space"),
        (errno.EFBIG, "too large", "free some space"),
        (errno.EROFS, "Read-only", "--data"),
    ],
)
def test_a_full_disk_says_so_and_keeps_what_there_was(store, monkeypatch, number, what, remedy):
    store.add([result()])

    def full(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LabError, match=what) as caught:
        store.add([result("b")])
    assert "earlier results stay" in caught.value.hint
    assert remedy in caught.value.hint
    assert len(store.results()[0]) == 1
    assert len(list(store.folder.iterdir())) == 1


def test_whether_it_can_be_written_is_known_before_anything_is_measured(store, tmp_path):
    store.try_to_write()
    assert list(store.folder.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match="Not a directory"):
        ResultStore(tmp_path / "file", "s").try_to_write()
