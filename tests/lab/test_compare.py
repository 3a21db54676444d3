"""Comparing runs: what changed, and what is only noise."""

from dataclasses import replace

import pytest

from tests.lab.test_store import result
from workbench.errors import InputError
from workbench.lab.compare import compare, differ, find_run
from workbench.lab.result import Status


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


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (0.9, 0.6, "y 0.9 -> 0.6 (x 0.67)"),
        (100.0, 101.0, "y 100 -> 101 (x 1.01)"),  # a result has no noise
        (0.1 + 0.2, 0.3, None),
        (1, 1.0, None),
        (2**60, 2**60 + 1, f"y {2**60} -> {2**60 + 1} (x 1.00)"),
        (True, 1, "y True -> 1"),
        ("NaN", "NaN", None),
        (None, None, None),
        (None, 2, "y nothing -> 2"),
        ("a", "b", "y a -> b"),
    ],
)
def test_outputs_are_compared_as_they_are(old, new, said):
    for reliable in (True, False):  # what is not a time does not depend on the load
        changes = compare([measured("a", y=old)], [measured("b", y=new, reliable=reliable)]).changes
        assert [str(change).partition(": ")[2] for change in changes] == [said] * (said is not None)


def test_repetitions_that_do_not_agree():
    a, b = ([measured(run, i, y=y) for i, y in enumerate(ys)] for run, ys in (("a", [1, 2, 1]), ("b", [2, 1, 2])))
    assert compare(a, b).changes == ()
    (change,) = compare(a, [measured("c", y=1)]).changes
    assert str(change) == "e(n=1): y 1 or 2 -> 1"
    assert change.to_json()["before"] == [1, 2]


def test_an_output_of_one_run_only_is_a_change():
    old, new = [measured("a", x=1, y=2)], [measured("b", y=2, z=3)]
    assert [str(c).partition(": ")[2] for c in compare(old, new).changes] == ["x 1 -> nothing", "z nothing -> 3"]


def test_changes_come_in_one_order():
    """Whatever the seed of hashes is: by the names of outputs."""
    names = [f"output_{i}" for i in range(30)]
    old, new = ([measured(run, **dict.fromkeys(reversed(names), k))] for run, k in (("a", 1), ("b", 2)))
    assert [change.what for change in compare(old, new).changes] == sorted(names)


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


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [([1.0], [1.5], False), ([1.0], [2.1], True), ([1.0, 1.01, 0.99], [1.05, 1.06, 1.04], False), ([5], [11], True)],
)
def test_outputs_that_are_measured_have_noise(old, new, changed):
    a, b = ([measured(run, i, rate=v) for i, v in enumerate(values)] for run, values in (("a", old), ("b", new)))
    assert [c.what for c in compare(a, b, {("e", "rate")}).changes] == ["rate"] * changed
    loaded = [replace(r, measured=replace(r.measured, reliable=False)) for r in b]
    assert compare(a, loaded, {("e", "rate")}).changes == ()


def test_runs_are_found_by_how_they_begin():
    stored = {"s": [measured("2026a"), measured("2026a", 1), measured("2026b")]}
    assert find_run(stored, "2026a")[0] == "s"
    assert len(find_run(stored, "2026a")[1]) == 2
    with pytest.raises(InputError, match=r"commits begin with '2026'\n.*there are: 2026a of s, 2026b of s;"):
        find_run(stored, "2026")
    with pytest.raises(InputError, match=r"no run, code version or commit begins with 'x'\n.*there are: 2026"):
        find_run(stored, "x")
    with pytest.raises(InputError, match="there are: none yet;"):
        find_run({}, "x")
    many = {"s": [replace(measured(f"run{i}"), started=f"2026-01-{i:02}") for i in range(1, 21)]}
    with pytest.raises(InputError, match=r"there are: run20 of s, run19 of s,.* run13 of s, \.\.\.;"):
        find_run(many, "x")


def test_several_runs_are_named_by_their_code_or_commit():
    first = replace(measured("a"), code="c0de1", commit="f00d")
    other = replace(measured("b", 1), code="c0de1", commit="f00d")
    later = replace(measured("c"), code="c0de2", commit="beef")
    stored = {"s": [first, other, later]}
    assert [r.run for r in find_run(stored, "c0de1")[1]] == ["a", "b"]
    assert [r.run for r in find_run(stored, "bee")[1]] == ["c"]
    with pytest.raises(InputError, match="c0de1 of s, c0de2 of s"):
        find_run(stored, "c0de")


def test_what_is_used_of_gpus_is_compared_where_it_is_known():
    def using(run, seconds, mb):
        found = measured(run)
        return replace(found, measured=replace(found.measured, gpu_seconds=seconds, gpu_peak_mb=mb))

    changes = compare([using("a", 1.0, 100.0)], [using("b", 3.0, 100.0)]).changes
    assert [str(change).partition(": ")[2] for change in changes] == ["gpu_seconds 1 -> 3 (x 3.00)"]
    assert compare([using("a", None, None)], [using("b", 3.0, 100.0)]).changes == ()
