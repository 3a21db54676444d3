"""Comparing runs: what changed, and what is only noise."""

from dataclasses import replace

import pytest

from tests.lab.test_store import result
from workbench.errors import InputError
from workbench.lab.compare import compare, differ, find_run
from workbench.lab.result import Status
from workbench.lab.store import Store


def measured(run, repetition=0, point=1, cpu=1.0, status=Status.OK, reliable=True, **outputs):
    base = result(f"k{point}", repetition, status=status, **outputs)
    own = replace(base.measured, cpu_seconds=cpu, wall_seconds=cpu, peak_mb=50.0, reliable=reliable)
    return replace(base, run=run, point={"n": point}, measured=own)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], False),
        ([1.0, 1.01, 0.99], [1.05, 1.06, 1.04], False),  # less than a tenth
        ([1.0, 1.01, 0.99], [1.3, 1.31, 1.29], True),
        ([1.0, 1.5, 0.6], [1.4, 1.9, 1.0], False),  # more, but within the dispersion
        ([1.0], [1.5], False),  # measured once: only a factor of two counts
        ([1.0], [2.1], True),
        ([0.0010], [0.0031], False),  # below what can be told apart
    ],
)
def test_noise_is_no_change(old, new, changed):
    assert differ(old, new, 0.005) is changed
    assert differ(new, old, 0.005) is changed


def test_statuses_outputs_and_times_are_compared():
    old = [
        measured("a", point=1, y=1),
        measured("a", point=2, word="x"),
        measured("a", point=3),
        measured("a", point=4),
    ]
    new = [
        measured("b", point=1, y=2), measured("b", point=2, word="x", cpu=9.0),
        measured("b", point=3, status=Status.CRASH), measured("b", point=5),
    ]  # fmt: skip
    found = compare(old, new)
    assert [(c.point["n"], c.what) for c in found.changes] == [
        (1, "y"), (2, "cpu_seconds"), (2, "wall_seconds"), (3, "status"),
    ]  # fmt: skip
    assert (found.points, found.only_before, found.only_after, found.once) == (3, 1, 1, 3)
    assert str(found.changes[1]) == "e(n=2): cpu_seconds 1 -> 9 (x 9.00)"
    assert found.changes[3].to_json()["after"] == "crash"


def test_timings_from_a_loaded_machine_are_not_compared():
    found = compare([measured("a", cpu=1.0)], [measured("b", cpu=9.0, reliable=False)])
    assert found.changes == ()
    assert "loaded machine" in found.summary


def test_outputs_that_are_timings_are_not_compared_either():
    before, after = ([measured(run, reliable=False, rate=rate)] for run, rate in (("a", 1.0), ("b", 9.0)))
    assert [change.what for change in compare(before, after).changes] == ["rate"]
    assert compare(before, after, {("e", "rate")}).changes == ()


def test_runs_are_found_by_how_they_begin(tmp_path):
    Store(tmp_path, "s").add([measured("2026a"), measured("2026a", 1), measured("2026b")])
    assert find_run(tmp_path, "2026a")[0] == "s"
    assert len(find_run(tmp_path, "2026a")[1]) == 2
    with pytest.raises(InputError, match="several begin with"):
        find_run(tmp_path, "2026")
    with pytest.raises(InputError, match="no run, code version or commit begins"):
        find_run(tmp_path, "x")


def test_several_runs_are_named_by_their_code_or_commit(tmp_path):
    first = replace(measured("a"), code="c0de1", commit="f00d")
    other = replace(measured("b", 1), code="c0de1", commit="f00d")
    later = replace(measured("c"), code="c0de2", commit="beef")
    Store(tmp_path, "s").add([first, other, later])
    assert [r.run for r in find_run(tmp_path, "c0de1")[1]] == ["a", "b"]
    assert [r.run for r in find_run(tmp_path, "bee")[1]] == ["c"]
    with pytest.raises(InputError, match="c0de1 of s, c0de2 of s"):
        find_run(tmp_path, "c0de")


def test_what_is_used_of_gpus_is_compared_where_it_is_known():
    def using(run, seconds, mb):
        found = measured(run)
        return replace(found, measured=replace(found.measured, gpu_seconds=seconds, gpu_peak_mb=mb))

    changes = compare([using("a", 1.0, 100.0)], [using("b", 3.0, 100.0)]).changes
    assert [str(change).partition(": ")[2] for change in changes] == ["gpu_seconds 1 -> 3 (x 3.00)"]
    assert compare([using("a", None, None)], [using("b", 3.0, 100.0)]).changes == ()
