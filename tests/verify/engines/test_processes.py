"""Worker processes: reuse, death, interruption, threads, forks. And which engines are found."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.examples import scaled
from workbench.budget import Budget
from workbench.errors import EngineError, EngineMissing, LimitMet
from workbench.frames import Frame, take_frames, write_frame
from workbench.smv.engines.embedded import PynusmvEngine
from workbench.smv.engines.engine import Engine, EngineLimits, Query, Task, TaskResult
from workbench.smv.engines.executable import ExecutableEngine
from workbench.verify.decide.table import find_engines, get_engine

from .conftest import engine_or_skip
from .models import COUNTER, HARD, LASSO, long

ROOT = Path(__file__).parents[3]
EASY = Task(LASSO, (Query("invar", "n < 5"), Query("ltl", "G F n = 1"), Query("ctl", "AG EF n = 2")))
TRUTHS = [True, False, True]


def truths(result: TaskResult) -> list[bool | None]:
    return [answer.truth for answer in result.answers]


def children(pid: int) -> list[int]:
    """The processes below one; none where it has ended meanwhile."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in listed]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.slow
def test_many_jobs_in_a_row(pynusmv: PynusmvEngine) -> None:
    counter = Task(COUNTER, (Query("invar", "n != 2"), Query("ltl", "F n = 7")), ("n.2", "n.1", "n.0"))
    first, second = pynusmv.check(EASY), pynusmv.check(counter)
    worker = pynusmv._idle[0].pid
    runners = set()
    for index in range(320):
        task, expected = (EASY, first) if index % 3 else (counter, second)
        assert pynusmv.check(task).answers == expected.answers
        runners |= set(children(worker))
    assert pynusmv._idle[0].pid == worker
    assert len(runners) == 2, "NuSMV is replaced after some hundred jobs"


@pytest.mark.sampled(1)
def test_a_limit_of_time_leaves_no_process_behind(engine: Engine) -> None:
    """It may come at any moment: while a process starts, works or ends."""
    mine = engine if isinstance(engine, ExecutableEngine) else PynusmvEngine()
    before, interrupted = set(children(os.getpid())), 0
    moments = range(2, 62, scaled(10, 5))
    for milliseconds in moments:
        try:
            with Budget(milliseconds / 1000):
                for _ in range(100):
                    mine.check(EASY)
                    if isinstance(mine, PynusmvEngine):
                        mine.close()
        except LimitMet:
            interrupted += 1
    if isinstance(mine, PynusmvEngine):
        mine.close()
    assert set(children(os.getpid())) == before
    assert interrupted == len(moments)


def test_killed_while_idle(pynusmv: PynusmvEngine) -> None:
    pynusmv.start()
    os.kill(pynusmv._idle[0].pid, signal.SIGKILL)
    assert eventually(lambda: not pynusmv._idle[0].alive)
    assert truths(pynusmv.check(EASY)) == TRUTHS


def test_runner_killed_while_idle(pynusmv: PynusmvEngine) -> None:
    pynusmv.start()
    (runner,) = children(pynusmv._idle[0].pid)
    os.kill(runner, signal.SIGKILL)
    assert eventually(lambda: not alive(runner))
    # It is noticed with the next job, which is lost or not; the one after it is not.
    pynusmv.check(EASY)
    assert truths(pynusmv.check(EASY)) == TRUTHS


@pytest.mark.sampled(1)
@pytest.mark.parametrize("victim", ["worker", "runner"])
def test_killed_at_work(pynusmv: PynusmvEngine, victim: str) -> None:
    pynusmv.start()
    worker = pynusmv._idle[0].pid
    (runner,) = children(worker)
    threading.Timer(0.4, os.kill, (worker if victim == "worker" else runner, signal.SIGKILL)).start()
    result = pynusmv.check(Task(HARD, (Query("invar", "TRUE"),)), EngineLimits(seconds=20))
    assert result.answers[0].truth is None
    assert "9" in result.answers[0].reason or "SIGKILL" in result.answers[0].reason
    assert eventually(lambda: not alive(runner)), "the runner outlives its worker"
    assert truths(pynusmv.check(EASY)) == TRUTHS


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "bits"), [("pynusmv", 30), ("nusmv", 16)])
def test_a_side_question_does_not_hold_up_the_others(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # NuSMV itself looks for all states first, in any case, so its side question must take yet longer
    monkeypatch.setattr("workbench.smv.engines.ending.limit_side_questions", lambda seconds: 0.0)
    main = Query("invar", f"n != 0ud{bits}_5")
    side = Query("invar", f"n != 0ud{bits}_{2**bits - 1}", side=True)
    result = engine_or_skip(name).check(Task(long(bits), (main, side)), EngineLimits(seconds=100))
    assert [answer.truth for answer in result.answers] == [False, None]
    assert "side question" in result.answers[1].reason


def test_side_questions_come_last() -> None:
    with pytest.raises(ValueError, match="come last"):
        Task(long(3), (Query("invar", "TRUE", side=True), Query("invar", "TRUE")))


def test_threads_have_a_worker_each(pynusmv: PynusmvEngine) -> None:
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: truths(pynusmv.check(EASY)), range(30)))
    assert results == [TRUTHS] * 30
    assert 1 <= len(pynusmv._idle) <= 3


def test_after_a_fork(pynusmv: PynusmvEngine) -> None:
    pynusmv.start()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = pynusmv.check(EASY)
            pynusmv.close()
            os.write(writing, bytes(str(truths(result)), "ascii"))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        assert answers.read() == str(TRUTHS)
    os.waitpid(pid, 0)
    assert truths(pynusmv.check(EASY)) == TRUTHS


def test_close_leaves_nothing(pynusmv: PynusmvEngine) -> None:
    pynusmv.check(EASY)
    worker = pynusmv._idle[0]
    (runner,) = children(worker.pid)
    folder = Path(worker._folder)
    assert folder.is_dir()
    pynusmv.close()
    assert not alive(worker.pid)
    assert eventually(lambda: not alive(runner))
    assert not folder.exists()
    assert truths(pynusmv.check(EASY)) == TRUTHS


SCRIPT = textwrap.dedent("""
    import os
    from tests.verify.engines.models import HARD
    from workbench.smv.engines.engine import Query, Task
    from workbench.verify.decide.table import get_engine
    print("ready", flush=True)
    try:
        get_engine({name!r}).check(Task(HARD, (Query("invar", "TRUE"),)))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
""")


def descendants(pid: int) -> list[int]:
    found = children(pid)
    return found + [grandchild for child in found for grandchild in descendants(child)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "ending"),
    [("pynusmv", signal.SIGINT), ("pynusmv", signal.SIGKILL), ("nusmv", signal.SIGINT), ("nusmv", signal.SIGKILL)],
)
def test_the_end_of_the_caller_leaves_no_orphan(name: str, ending: signal.Signals) -> None:
    try:
        get_engine(name)
    except EngineMissing as error:
        pytest.skip(error.what)
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(name=name)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == "ready\n"
        depth = 2 if name == "pynusmv" else 1
        assert eventually(lambda: len(descendants(caller.pid)) >= depth)
        time.sleep(0.3)
        processes = descendants(caller.pid)
        caller.send_signal(ending)
        output = caller.stdout.read()
        caller.wait(10)
    assert (output == "interrupted\n") == (ending == signal.SIGINT)
    assert eventually(lambda: not any(alive(pid) for pid in processes))


def test_a_worker_that_does_not_start(pynusmv: PynusmvEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pynusmv.py").write_text("raise ImportError('built without its library')")
    monkeypatch.syspath_prepend(tmp_path)  # the worker looks where its caller does
    with pytest.raises(EngineError, match="built without its library"):
        pynusmv.start()


def test_found_engines() -> None:
    found = {engine.name: engine for engine in find_engines()}
    readers = ["pynusmv", "nusmv", "nuxmv", "bmc", "ic3"]
    own = ["explicit", "algebra", "simulation", "induction", "bits", "invariants", "spacer"]
    assert list(found) == [*own[:2], *readers, *own[2:]]
    versions = [found.pop(name).version for name in own]
    assert versions[:3] == ["built in"] * 3
    assert find_spec("z3") is None or all(version.startswith("z3 ") for version in versions[3:])
    for name, engine in found.items():
        if engine.usable:
            assert get_engine(name).version() == engine.version
        else:
            with pytest.raises(EngineMissing):
                get_engine(name)
    assert get_engine("auto").name == next(engine.name for engine in found.values() if engine.usable)


def test_missing_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_NUXMV", "/nowhere/nuXmv")
    with pytest.raises(EngineMissing, match=r"WORKBENCH_NUXMV names no executable: /nowhere/nuXmv"):
        get_engine("nuxmv")
    with pytest.raises(EngineMissing, match="there is no engine 'spin'"):
        get_engine("spin")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineMissing, match="run 'make setup' in a clone"):
        PynusmvEngine()


def test_configured_executable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "my-nuxmv"
    script.write_text("#!/bin/sh\necho '*** This is nuXmv 9.9.9 (compiled today)'\n")
    script.chmod(0o755)
    monkeypatch.setenv("WORKBENCH_NUXMV", str(script))
    engine = ExecutableEngine("nuxmv")
    assert engine.version() == "nuXmv 9.9.9"
    answer = engine.check(Task(LASSO, (Query("invar", "TRUE"),))).answers[0]
    assert answer.truth is None
    assert answer.reason


def test_frames_survive_being_cut() -> None:
    reading, writing = os.pipe()
    frames: list[Frame] = [{"a": 1}, {"b": "é" * 300}, {}]
    for frame in frames:
        write_frame(writing, frame)
    os.close(writing)
    buffer, got = bytearray(), []
    while data := os.read(reading, 7):
        buffer += data
        got += take_frames(buffer)
    os.close(reading)
    assert got == frames
    assert not buffer
