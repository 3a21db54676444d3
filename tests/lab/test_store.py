"""The store: what is added comes back, once, whatever happens to the files."""

import errno
import os
from dataclasses import replace

import pytest

from workbench.errors import LabError
from workbench.lab.result import Measured, Result, Status
from workbench.lab.store import COLUMNS, Store, newest


def result(key="a", repetition=0, started="2026-01-01T00:00:00", status=Status.OK, **outputs):
    return Result(
        key, repetition, "e", {"n": 1, "name": "ö'\"", "x": 0.1}, Measured(status, outputs, "why", 1.5, 0.5, 20.0),
        "code", 7, started, "run", "commit", "command", {"cores": 2}, {"python": "3"},
    )  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, "s")


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
        before.setattr("workbench.lab.store.COLUMNS", old)
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
        (errno.ENOSPC, "the disk is full", "make room"),
        (errno.EFBIG, "too large", "make room"),
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
    assert "kept" in caught.value.hint
    assert remedy in caught.value.hint
    assert len(store.results()[0]) == 1
    assert len(list(store.folder.iterdir())) == 1


def test_whether_it_can_be_written_is_known_before_anything_is_measured(store, tmp_path):
    store.try_to_write()
    assert list(store.folder.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match="Not a directory"):
        Store(tmp_path / "file", "s").try_to_write()
