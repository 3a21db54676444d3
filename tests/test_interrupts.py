"""Ctrl-C in a script: Python's own handler stays, and what must not be interrupted is not."""

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.executors.processes.test_processes import HOLDERS, around
from tests.executors.threaded.test_pulled import branches
from workbench import run
from workbench.child_processes import Forked
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.pulled_pipeline import PullGroup
from workbench.interrupts import abandon, admit, checkpoint, hold, is_deaf

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def python_handles_ctrl_c() -> Iterator[None]:
    """Spark has a handler of its own, and what hypothesis has Python call swallows what is raised there."""
    before, called = signal.signal(signal.SIGINT, signal.default_int_handler), gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = called
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def test_what_is_held_back_comes_at_the_end() -> None:
    done = []

    def body() -> None:
        with hold():
            ctrl_c()
            done.append(1)
            with hold():
                ctrl_c()
                checkpoint()  # whoever holds it back is not ready
                done.append(2)
            done.append(3)

    with pytest.raises(KeyboardInterrupt):
        body()
    assert done == [1, 2, 3]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with hold():  # it came once
        done.append(4)


def test_what_is_admitted_comes_at_once_and_once() -> None:
    done = []

    def during() -> None:
        with hold():
            try:
                with admit():
                    ctrl_c()
                    done.append("after")
            finally:
                ctrl_c()  # it is held back again
                done.append("put in order")

    def before() -> None:
        with hold():
            ctrl_c()
            with admit():
                done.append("inside")

    for body in (during, before):
        with pytest.raises(KeyboardInterrupt):
            body()
    assert done == ["put in order"]


def test_the_handler_of_a_user_is_asked() -> None:
    came = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        with hold():
            ctrl_c()
            assert not came
        assert came == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with hold():
            ctrl_c()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_do_not_hold_back_what_comes_to_the_main_thread() -> None:
    begun, ended = threading.Event(), threading.Event()

    def body() -> None:
        with hold(), admit():
            begun.set()
            ended.wait(20)

    thread = threading.Thread(target=body)
    thread.start()
    begun.wait(20)
    try:
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
    finally:
        ended.set()
        thread.join()


def test_the_end_of_what_is_held_back_where_errors_are_swallowed() -> None:
    """A finaliser: what is raised there is printed and forgotten, so it comes afterwards."""

    class Closing:
        def __del__(self) -> None:
            with hold():
                ctrl_c()

    def body() -> None:
        Closing()
        threading.Event().wait(20)

    with pytest.raises(KeyboardInterrupt):
        body()


def strike_at_random(body: Callable[[], object], seed: int, most: float) -> None:
    """Ctrl-C while something is done again and again; AssertionError if it does not come.

    Python's own handler raises it also in what Python calls when objects go, where Python prints it and goes on.
    """
    main = threading.get_ident()
    pause = random.Random(seed).uniform(0, most)
    timer = threading.Timer(pause, lambda: signal.pthread_kill(main, signal.SIGINT))
    printed: list[object] = []

    def note(found: Any) -> None:
        if issubclass(found.exc_type, KeyboardInterrupt):
            printed.append(found.exc_value)
        else:
            hook(found)

    def again() -> None:
        timer.start()
        while timer.is_alive():
            body()
        body()
        if printed:
            raise KeyboardInterrupt

    hook, sys.unraisablehook = sys.unraisablehook, note
    try:
        with pytest.raises(KeyboardInterrupt):
            again()
    finally:
        sys.unraisablehook = hook
    timer.join()


def pull_all(group: PullGroup) -> None:
    for name in ("all", "all", "all", "thirds"):
        group.pull(name)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["_raw_object_cache_notify", "_raw_object_cache_getbuffer"])
def test_no_error_is_raised_in_what_llvm_calls(name: str) -> None:
    """It has no way for errors: ctypes prints them, and they are lost."""
    engine = pytest.importorskip("llvmlite.binding.executionengine").ExecutionEngine
    seen: list[bool] = []

    class Asked:
        def __getattr__(self, _: str) -> None:
            seen.append(is_deaf(sys._getframe()))

    getattr(engine, name)(Asked(), None)
    assert seen == [True]
    assert not is_deaf(sys._getframe())


@pytest.mark.parametrize("limit", [0, 1])
def test_a_group_answers_after_ctrl_c(limit: int) -> None:
    for seed in range(60):
        with ThreadManager(limit) as manager:
            group = PullGroup(branches, manager, capacity=2).connect(x=range(10**9))
            strike_at_random(partial(pull_all, group), seed, 2e-3)
            group.pull("all")
            group.close()


def ctrl_c_in_processes(times: int) -> None:
    program = around(HOLDERS["windows"])
    rows = [{"x": i} for i in range(300)]
    before = set(multiprocessing.active_children())
    for seed in range(times):
        strike_at_random(lambda: list(run(program, rows, processes=2)), seed, 0.05)
        assert not set(multiprocessing.active_children()) - before


def test_processes_lose_no_ctrl_c() -> None:
    ctrl_c_in_processes(20)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_processes_never_lose_ctrl_c() -> None:
    ctrl_c_in_processes(900)


def test_an_object_half_made_reports_nothing() -> None:
    """A program that is interrupted within `__init__` has an object that its `__del__` does not expect."""
    script = """
        import signal
        from workbench import interrupts

        class Context:
            def __init__(self):
                signal.raise_signal(signal.SIGINT)
                interrupts.checkpoint()
                self.owner = True

            def __del__(self):
                assert self.owner

        interrupts.own(interrupts.POINTS)
        interrupts.begin()
        try:
            Context()
        except KeyboardInterrupt:
            print("mine")
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_a_script_gets_ctrl_c() -> None:
    """As an exception, from whatever it calls."""
    script = """
        import os, signal, threading
        import workbench as wb
        program = wb.load("models/time2021/sum_of_odds.pipe")
        main = threading.get_ident()
        running = wb.executors.Reference(program)
        try:
            threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
            while True:
                running.push(1)
        except KeyboardInterrupt:
            print("mine")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\n", "")


def test_what_is_said_of_a_file_that_is_cut(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Rows of text can be read up to the last one, a Parquet file without its end cannot be read at all."""
    for name, said in (("out.csv", "the last one cut off"), ("out.parquet", "which Parquet readers refuse")):
        path = tmp_path / name
        path.write_bytes(b"PAR1")
        abandon({str(path): True})
        assert capfd.readouterr().err.endswith(f"its rows so far are in {path}, {said}\n")
        assert path.exists()


def test_a_child_that_another_thread_has_waited_for_is_stopped_without_an_error() -> None:
    """As `leave` waits for all children where the main thread does not end in time."""

    def serve(connection: Connection) -> None:
        connection.recv_bytes()

    with hold():
        child = Forked(serve, [])
    pid = child.process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    child.stop(now=True)
