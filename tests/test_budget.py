"""Budgets: what is done in one ends, in whatever code and thread, and nothing is thrown after its end."""

import contextlib
import importlib
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench import budget
from workbench.budget import AGAIN, GRACE, Budget, phase, remaining, share, work
from workbench.errors import LimitMet
from workbench.ir.system import System
from workbench.verify.ask.properties import Property, Question

LONG = 60.0
"""Seconds after which a test that waits for an interrupt gives up."""


def busy() -> None:
    """Work that goes on, and takes every exception for its own."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            sum(range(100))


def test_time() -> None:
    with pytest.raises(LimitMet) as met, Budget(0.1), phase("outside"), phase("counting"):
        busy()
    assert (met.value.limit, met.value.phase, met.value.exit_code) == ("time limit of 0.1 s", "counting", 3)
    assert met.value.what == "time limit of 0.1 s met while counting"
    assert (work().phases, work().budgets) == ([], [])


def test_memory() -> None:
    with pytest.raises(LimitMet) as met, Budget(LONG, 40), phase("filling"):
        _ = [bytes(10_000) for _ in iter(int, 1)]
    assert (met.value.limit, met.value.phase) == ("memory limit of 40 MB", "filling")


def test_no_memory_at_all() -> None:
    with pytest.raises(LimitMet, match="memory limit of the system met while asking"), phase("asking"):
        bytearray(1 << 62)


def test_in_a_thread() -> None:
    found = []

    def run() -> None:
        try:
            with Budget(0.1), phase("elsewhere"):
                busy()
        except LimitMet as met:
            found.append(met.phase)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LONG)
    assert found == ["elsewhere"]


def test_the_inner_one_is_met_first() -> None:
    """Both are met; who is inside gets to say what it knows, and who is outside then ends, too."""
    found = []

    def one_after_the_other() -> None:
        with Budget(0.11):
            try:
                with Budget(0.1):
                    busy()
            except LimitMet as met:
                found.append(met.limit)
            busy()

    with pytest.raises(LimitMet, match=r"0\.11 s"):
        one_after_the_other()
    assert found == ["time limit of 0.1 s"]


def test_an_inner_one_that_has_time_does_not_hide_the_outer_one() -> None:
    with pytest.raises(LimitMet, match=r"0\.1 s"), Budget(0.1), Budget(LONG):
        busy()


def test_nothing_comes_after_the_end() -> None:
    for _ in range(20):
        with Budget(0.001):
            pass
    with Budget(0.01, 1000), contextlib.suppress(LimitMet), share(1):
        pass
    time.sleep(GRACE + 2 * AGAIN)


def test_an_interrupt_comes_before_another_thread_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: dict[object, object] = {}
    outer, inner, me, held = Budget(LONG), Budget(LONG), threading.get_ident(), threading.Event()

    def throw() -> None:  # while the thread that works waits for the lock, as when an outer budget is spent then
        with budget._LOCK:
            held.set()
            while not inner._gate.locked():
                time.sleep(0.001)
            time.sleep(0.02)  # now it waits
            outer._interrupt.met = LimitMet("a limit", "waiting")
            budget._throw_into(me, outer._interrupt)

    def begin() -> None:
        with outer:
            thread.start()
            held.wait()
            monkeypatch.setattr("_thread.start_new_thread", begun.setdefault)  # no step of Python's is in it
            with inner:
                busy()

    thread = threading.Thread(target=throw)
    with pytest.raises(LimitMet, match="a limit met while waiting"):
        begin()
    thread.join()
    assert not begun


def test_what_is_left() -> None:
    assert remaining().seconds is None
    with Budget(100, 50), Budget(10):
        left = remaining()
        assert left.seconds is not None
        assert 9 < left.seconds <= 10
        assert (left.of_seconds, left.of_memory_mb) == (10, 50)
        with share(5):
            third = remaining().seconds
            assert third is not None
            assert 1 < third <= 2
    with Budget(1e-9):
        assert remaining().seconds == 0.0


SOURCE = "pipeline p(x: int) -> int { return x + trim(x, 1) }"


def thinking(system: System) -> Question:
    with phase("thinking"):
        busy()
    raise AssertionError(system)


def test_a_check_is_bounded_as_a_whole() -> None:
    """Not only its engine: here the limit is met before there is anything to decide."""
    verdict = wb.check(wb.parse(SOURCE).get().pipeline, Property("hard", thinking), wb.Settings(seconds=0.2))
    assert verdict.outcome is wb.Outcome.UNKNOWN
    assert (verdict.phase, verdict.reason) == ("thinking", "time limit of 0.2 s met while thinking")
    assert verdict.to_json()["phase"] == "thinking"


def test_no_interrupt_comes_where_python_would_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not where what is called when an object goes calls others: a key of a dictionary of weak references."""
    lost: list[object] = []

    class Telling(budget._LostInterrupts):
        def __call__(self, error: object) -> None:
            lost.append(error)

    monkeypatch.setattr(sys, "unraisablehook", Telling(print))
    late = time.monotonic() + 0.5

    class Key:
        def __hash__(self) -> int:
            while going and time.monotonic() < late:
                sum(range(100))
            return 1

    class Held:
        pass

    going, held = False, Held()
    found = weakref.WeakValueDictionary({Key(): held})
    going = True

    def lose() -> None:
        nonlocal held
        del held
        assert time.monotonic() >= late
        busy()

    with pytest.raises(LimitMet), Budget(0.05):
        lose()
    assert (lost, len(found)) == ([], 0)


def test_of_an_interrupt_that_is_lost_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may enter what Python calls by itself after it was looked at; any other error is told."""
    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    with pytest.raises(LimitMet), Budget(0.05):
        busy()

    class Held:
        def __init__(self, error: type[BaseException]) -> None:
            self.error = error

        def __del__(self) -> None:
            raise self.error

    Held(budget.Interrupt)
    Held(ValueError)
    assert told == [ValueError]


def test_no_interrupt_comes_while_a_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others have taken of half a module, and what it has registered, would be wrong in what follows."""
    (tmp_path / "slowly_imported.py").write_text("""
import contextlib, time
end = time.monotonic() + 0.6
while time.monotonic() < end:
    with contextlib.suppress(Exception):
        sum(range(100))
whole = True
""")
    monkeypatch.syspath_prepend(tmp_path)

    def work() -> None:
        assert importlib.import_module("slowly_imported").whole
        busy()

    with pytest.raises(LimitMet), Budget(0.1):
        work()
    assert sys.modules.pop("slowly_imported").whole


def test_work_within_an_import_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a script which is imported."""
    (tmp_path / "script_with_a_limit.py").write_text("""
from tests.test_budget import Budget, LimitMet, busy
try:
    with Budget(0.1):
        busy()
except LimitMet as error:
    met = error.limit
""")
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("script_with_a_limit").met == "time limit of 0.1 s"


def test_what_is_decided_is_not_lost_in_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.verify.answer.replay.decode", lambda *_: busy())
    pipeline = wb.parse(SOURCE).get().pipeline
    verdict = wb.check(pipeline, wb.properties.no_overflow(), wb.Settings(seconds=2, q=0, engine="explicit"))
    assert verdict.outcome is wb.Outcome.FAILS
    assert verdict.counterexample is None
    assert "is not shown: time limit of 2 s met" in verdict.reason


def test_queues_share_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first takes all it can get; the second is asked about all the same."""
    source = "pipeline p(x: int) -> int { a = x + trim(x, 1)\n return a + trim(a, 2) }"
    monkeypatch.setattr("workbench.verify.buffers.search.QueueSearch._exceeds", lambda *_: busy())
    found = wb.buffers(wb.parse(source).get().pipeline, wb.Settings(seconds=0.5))
    assert [str(each.status) for each in found.queues] == ["unknown"] * 4
    assert "met while looking for the capacity of queue 'a.left'" in found.queues[0].reason


PROFILED = """
import cProfile
from workbench.budget import Budget
from workbench.errors import LimitMet
for seconds in (60, 0.1):
    try:
        with Budget(seconds):
            while seconds < 1:
                pass
    except LimitMet:
        pass
    cProfile.Profile().runcall(sorted, range(9), key=lambda x: -x)
"""


def test_what_comes_after_a_budget_can_be_profiled() -> None:
    """In Python 3.11 that hangs where an interrupt was taken back."""
    subprocess.run([sys.executable, "-c", PROFILED], check=True, timeout=60)


COLLECTING = """
import gc, threading, time
from workbench import budget

def leave_garbage():
    cycle = []
    cycle += [cycle, threading.local()]
    cycle[1].value = 1

other = threading.Thread(target=time.sleep, args=(60,), daemon=True)
other.start()
gc.set_threshold(1, 1, 1)
with budget.Budget(60):
    for _ in range(2000):
        leave_garbage()
        budget.remaining()
        leave_garbage()
        budget._frame_of(other.ident)
assert gc.isenabled()
print("no deadlock")
"""


def test_no_garbage_is_freed_while_frames_are_read() -> None:
    """Python 3.11 would wait for itself: the garbage is local to threads (python/cpython#106883)."""
    run = [sys.executable, "-c", COLLECTING]
    assert subprocess.run(run, capture_output=True, text=True, timeout=60, check=True).stdout == "no deadlock\n"


@pytest.mark.parametrize(("file", "name", "can"), [
    ("/lib/z3/z3.py", "__init__", False), ("/lib/z3/z3.py", "check", True), ("/lib/other.py", "__init__", True),
])  # fmt: skip
def test_a_limit_leaves_no_object_of_z3_half_made(file: str, name: str, can: bool) -> None:
    """Its deletion needs what it lacks, and Python would print that."""
    names: dict[str, Any] = {"is_open": lambda: budget._can_be_interrupted(sys._getframe(), None)}
    exec(compile(f"def {name}(self): return is_open()", file, "exec"), names)
    assert names[name](None) is can
