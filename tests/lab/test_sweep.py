"""Sweeps on this machine: what is missing is measured, and nothing is lost or measured twice."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.lab.conftest import SQUARES, run
from workbench.errors import LabError, SuiteError
from workbench.lab import local_sweep
from workbench.lab.local_sweep import sweep
from workbench.lab.plan import Lab, Measurement, Origin, Selection, SweepPlan, missing, tasks
from workbench.lab.result import Measured, Status
from workbench.lab.suite_search import load_suite
from workbench.lab.sweep_progress import Pace

ROOT = Path(__file__).resolve().parents[2]
SLOW = """
import time
@suite.experiment(Region(n=range(40)), n_again=Output("n", kind=int))
def slow(n):
    time.sleep(0.05)
    return {"n_again": n}
"""


def test_a_sweep_measures_every_point_and_its_repetitions(make_lab):
    lab = make_lab(SQUARES.replace("square=Output", "repeat=2, square=Output"))
    found = run(lab, jobs=2)
    assert len(found) == len({r.id for r in found}) == 12
    assert {(r.point["n"], r.point["kind"]): r.measured.outputs["square"] for r in found} == {
        (n, kind): n * n + (kind == "odd") for n in (1, 2, 3) for kind in ("plain", "odd")
    }
    stored, broken = lab.store.results()
    assert sorted(r.id for r in stored) == sorted(r.id for r in found)
    assert broken == []


def test_every_result_says_where_it_comes_from(make_lab):
    lab = make_lab(SQUARES)
    one = run(lab)[0]
    assert one.machine["cores"] >= 1
    assert one.versions["python"].startswith("3.")
    assert one.command == "workbench lab run tiny"
    assert one.started > "2026"
    assert one.code == lab.code()
    assert one.seed == tasks(lab, "other code", Selection())[0].seed


def test_the_same_again_measures_nothing(make_lab):
    lab = make_lab(SQUARES)
    run(lab)
    assert run(lab) == []


def test_what_is_new_or_changed_is_measured(make_lab, tmp_path):
    lab = make_lab(SQUARES)
    run(lab)
    more = make_lab(SQUARES.replace("[3, 1, 2]", "[3, 1, 2, 4]"))  # other code: all of it
    assert len(run(more)) == 8
    more.path.with_name("helper.py").write_text("")
    assert run(more) == []
    depending = Lab(load_suite(more.path), more.path, more.store)
    depending.suite.depends = ("inputs",)
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "x").write_text("1")
    before = depending.code()
    (tmp_path / "inputs" / "x").write_text("2")
    assert depending.code() != before
    depending.suite.depends = ("nowhere",)
    with pytest.raises(SuiteError, match="'nowhere', which is missing"):
        depending.code()


def test_the_code_version_depends_on_the_paths_of_files_but_not_on_the_folder(make_lab, tmp_path):
    lab = make_lab(SQUARES)
    lab.suite.depends = ("inputs",)
    (tmp_path / "inputs" / "a").mkdir(parents=True)
    (tmp_path / "inputs" / "a" / "x").write_text("1")
    before = lab.code()
    (tmp_path / "inputs" / "a").rename(tmp_path / "inputs" / "b")
    assert lab.code() != before
    (tmp_path / "inputs" / "b").rename(tmp_path / "inputs" / "a")
    shutil.copytree(tmp_path, moved := tmp_path.with_name(f"{tmp_path.name}-moved"))
    assert Lab(lab.suite, moved / "experiments" / "tiny.py", lab.store).code() == before


def test_the_remaining_time_leaves_out_the_start(make_lab, monkeypatch):
    lab = make_lab(SQUARES)
    (result, *_) = run(lab)
    clock = [100.0]
    monkeypatch.setattr("workbench.lab.sweep_progress.time.monotonic", lambda: clock[0])
    pace = Pace(tasks(lab, lab.code(), Selection()), jobs=1)
    clock[0] += 42  # Spark starts in 40 s, and measures a point in 2 s
    pace.add(replace(result, measured=Measured(Status.OK, wall_seconds=2.0)))
    assert pace.left() == pytest.approx(5 * 2)
    clock[0] += 3
    pace.add(replace(result, measured=Measured(Status.OK, wall_seconds=2.0)))
    assert pace.left() == pytest.approx(4 * 2.5), "with 0.5 s around each point"
    assert pace.elapsed_seconds == pytest.approx(45)


def test_a_selection(make_lab):
    lab = make_lab(SQUARES)
    found = run(lab, Selection(where={"n": (1, 2), "kind": ("odd",)}))
    assert [(r.point["n"], r.point["kind"]) for r in found] == [(1, "odd"), (2, "odd")]
    assert len(run(lab)) == 4
    assert [r.key for r in run(lab, Selection(keys=(found[0].key[:8],), again=True))] == [found[0].key]
    for wrong in (
        Selection(experiments=("x",)),
        Selection(where={"k": (1,)}),
        Selection(keys=("nothing",)),
        Selection(keys=(found[0].key, "nothing")),
    ):
        with pytest.raises(SuiteError):
            run(lab, wrong)


def test_the_key_of_a_result_means_its_point_after_the_code_has_changed(make_lab):
    before = run(make_lab(SQUARES))
    changed = make_lab(SQUARES + "\n# another version\n")
    wanted = next(r for r in before if r.point == {"n": 2, "kind": "odd"})
    (again,) = run(changed, Selection(keys=(wanted.id,), again=True))
    assert (again.point, again.key == wanted.key) == (wanted.point, False)
    with pytest.raises(SuiteError, match="no point has the key"):
        run(make_lab(SQUARES.replace("[3, 1, 2]", "[3]")), Selection(keys=(wanted.key,)))


ENDINGS = """
import os
@suite.experiment(Region(how=["ends", "raises", "lacks"]))
def all(how):
    if how == "raises": raise ValueError
    if how == "lacks":
        from workbench.errors import EngineMissing
        if not os.path.exists(FLAG): raise EngineMissing("no engine")
    return {}
"""


@pytest.mark.slow
def test_one_bad_point_leaves_the_others_and_what_was_refused_is_tried_again(make_lab, tmp_path):
    lab = make_lab(f"FLAG = {str(tmp_path / 'flag')!r}\n{ENDINGS}")
    assert Counter(r.measured.status for r in run(lab)) == {Status.OK: 1, Status.CRASH: 1, Status.REFUSED: 1}
    assert [r.measured.status for r in run(lab)] == [Status.REFUSED]
    (tmp_path / "flag").touch()
    assert [r.measured.status for r in run(lab)] == [Status.OK]
    assert run(lab) == []
    assert [r.point["how"] for r in run(lab, Selection(retry=(Status.CRASH,)))] == ["raises"]


def test_a_supervisor_that_is_killed_costs_one_measurement(make_lab):
    lab = make_lab("""
        import os, signal
        @suite.experiment(Region(n=range(5)))
        def kills(n):
            if n == 2: os.kill(os.getppid(), signal.SIGKILL)
            return {}
    """)
    assert [r.measured.status for r in run(lab)].count(Status.CRASH) == 1
    assert len(lab.store.results()[0]) == 5


def test_an_interrupted_sweep_keeps_what_was_measured(make_lab):
    lab = make_lab(SLOW)
    todo = tasks(lab, lab.code(), Selection())
    going = sweep(lab, todo, Origin.of(lab), 1)
    first = [next(going) for _ in range(5)]
    going.close()  # what an exception or Ctrl-C does
    assert {r.id for r in first} <= set(lab.store.done()[0])
    rest = run(lab, jobs=2)
    assert {r.id for r in rest}.isdisjoint({r.id for r in first})
    assert len({r.id for r in lab.store.results()[0]}) == len(lab.store.results()[0]) == 40


def test_an_interruption_while_results_are_written_loses_none(make_lab, monkeypatch):
    lab = make_lab(SQUARES)
    sync, interruptions = os.fsync, [KeyboardInterrupt]

    def interrupted(file):
        sync(file)
        if interruptions:
            raise interruptions.pop()

    monkeypatch.setattr(os, "fsync", interrupted)
    monkeypatch.setattr(local_sweep, "FIRST_FLUSH", 0.0)
    with pytest.raises(KeyboardInterrupt):
        list(sweep(lab, tasks(lab, lab.code(), Selection()), Origin.of(lab), 1))
    first = lab.store.done()[0]
    assert first
    assert [path.name[:5] for path in lab.store.folder.iterdir()] == ["part-"]
    assert len(run(lab)) == 6 - len(first)


@pytest.mark.slow
def test_a_killed_sweep_is_resumed_with_nothing_twice(make_lab):
    lab = make_lab(SLOW)
    code = (
        "import sys; from pathlib import Path; from workbench.lab import plan;"
        "from workbench.lab.suite_search import load_suite;"
        "from workbench.lab.local_sweep import sweep; from workbench.lab.store import ResultStore;"
        "path = Path(sys.argv[1]); lab = plan.Lab(load_suite(path), path, ResultStore(Path(sys.argv[2]), 'tiny'));"
        "list(sweep(lab, plan.tasks(lab, lab.code(), plan.Selection()), plan.Origin.of(lab), 1))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(lab.path), str(lab.store.folder.parent)], cwd=ROOT,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(lab.store.folder.glob("part-*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = lab.store.done()[0]
    assert 0 < len(before) < 40
    rest = run(lab)
    assert len(rest) == 40 - len(before)
    assert {r.id for r in rest}.isdisjoint(before)
    assert len(lab.store.results()[0]) == 40


def test_a_sweep_that_cannot_store_says_so(make_lab):
    lab = make_lab(SQUARES)
    todo = tasks(lab, lab.code(), Selection())
    lab.store.folder.parent.parent.mkdir(exist_ok=True)
    lab.store.folder.parent.write_text("a file where the folder should be")
    with pytest.raises(LabError, match="cannot be stored"):
        list(sweep(lab, todo, Origin.of(lab), 1))


def test_files_become_rarer(make_lab, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    written = []
    lab = make_lab(SQUARES)
    monkeypatch.setattr(lab.store, "add", lambda results, _: written.append((clock[0], len(results))))
    one = Origin.of(lab).result(tasks(lab, "", Selection())[0], Measured(Status.OK), "")
    keep = local_sweep.Keeper(lab.store)
    for second in range(100):
        clock[0] = float(second)
        keep.add(one)
        keep.look()
    gaps = [b[0] - a[0] for a, b in pairwise(written)]
    assert gaps == sorted(gaps)
    assert gaps[-1] <= local_sweep.LONGEST_FLUSH + 1
    assert len(written) < 15


def test_repetitions_come_apart(make_lab):
    """A disturbance of the machine then hits different points, not every repetition of one."""
    lab = make_lab(SQUARES.replace("square=Output", "repeat=3, square=Output"))
    order = [task.repetition for task in tasks(lab, "", Selection())]
    assert order == [0] * 6 + [1] * 6 + [2] * 6
    assert len(missing(tasks(lab, "", Selection()), {}, Selection())) == 18


def test_a_plan_counts_what_there_is_and_what_is_made_again():
    """Of three points one has ended well, one has crashed, and one is missing."""
    well, crashed, new = (Measurement("e", {"n": n}, 0, f"key{n}", "code") for n in range(3))
    done = {well.id: "ok", crashed.id: "crash"}
    first = SweepPlan([well, crashed, new], done, [new], [])
    assert (first.measured, first.again, first.earlier_failures) == (2, 0, {crashed.id: "crash"})
    retried = SweepPlan([well, crashed, new], done, [crashed, new], [])
    assert (retried.measured, retried.again, retried.earlier_failures) == (2, 1, {})
