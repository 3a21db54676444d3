"""`--timeout` and `--memory` bound the whole command: it ends in time, with exit code 3, and says what it was doing.

Where nothing is asserted about seconds, the work itself would take minutes at least: a command that is not bounded runs
into the time limit of the test.
"""

import importlib
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Ended, Run, program

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""An interrupt may come in what Python calls by itself when an object goes, and is lost there: another one follows."""

Pipe = Callable[[str], Path]
MARGIN = 15.0
"""Seconds beyond the limit that a loaded machine may need; what is tested would take far longer."""


def deep(count: int, first: str, each: str, last: str) -> str:
    """`count` definitions, each of which uses the one before."""
    return "\n".join([first, *(each.format(i=i, before=i - 1) for i in range(1, count + 1)), last.format(i=count)])


TOTAL = "pipeline p(x: int) -> int { return cumulate(x, +) }"
WIDE = "pipeline p(x: int) -> int { return window(x, 1000000000, cumulate(+)) }"
HARD = {
    "a wide window": WIDE,
    "pipelines": deep(30, "pipeline p0(x: int) -> int { return x + 1 }",
                      "pipeline p{i}(x: int) -> int {{ return p{before}(p{before}(x)) }}", ""),
    "functions": deep(30, "function f0(x) = x + 1", "function f{i}(x) = f{before}(x) * f{before}(x + {i})",
                      "pipeline p(x: int) -> int {{ return f{i}(x) }}"),
}  # fmt: skip
"""Pipelines that no machine can make a model of."""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", HARD)
def test_the_limit_of_time_is_that_of_all_phases(pipe: Pipe, case: str) -> None:
    begin = time.monotonic()
    done = program("check", pipe(HARD[case]), "-p", "liveness", "--timeout", 1, "--json")
    assert time.monotonic() - begin < 1 + MARGIN
    (found,) = done.objects
    assert (done.code, found["verdict"]) == (3, "unknown")
    assert found["phase"]
    assert found["reason"] == f"time limit of 1 s met while {found['phase']}"


@pytest.mark.slow
def test_the_limit_of_memory_is_that_of_all_phases(pipe: Pipe) -> None:
    done = program("check", pipe(WIDE), "-p", "liveness", "--memory", 100)
    assert done.code == 3
    assert "memory limit of 100 MB met while composing the model" in done.out + done.err


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["export", "buffers", "analyse"])
def test_other_commands_too(workbench: Run, pipe: Pipe, command: str) -> None:
    done = workbench(command, pipe(HARD["pipelines"]), "--timeout", 0.5)
    assert done.code == 3
    assert "time limit of 0.5 s met while" in done.err


def test_an_analysis_that_takes_too_long_costs_no_other(
    workbench: Run, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(importlib.import_module("workbench.verify.analyses.measure"), "latencies", busy)
    file = pipe("pipeline p(x: int) -> int { return x + 1 }")
    done = workbench("analyse", file, "--only", "latency,silence", "--timeout", 4)
    assert done.code == 3
    assert "latency\n  ? not known: time limit of" in done.out
    assert "silence: 0 steps" in done.out


@pytest.mark.slow
def test_what_is_decided_is_not_lost(workbench: Run, pipe: Pipe) -> None:
    """Each property gets its share of the time that is left, and the one that takes more does not cost the others."""
    file = pipe("pipeline p(x: int) -> int { return cumulate(x, +) }\ncheck liveness\ncheck equivalent(q)\n"
                "pipeline q(x: int) -> int { return window(x, 1000000000, cumulate(+)) }\ncheck liveness")  # fmt: skip
    done = workbench("check", f"{file}:p", "--timeout", 2.5, "--json")
    assert [found["verdict"] for found in done.objects] == ["holds", "unknown"]
    assert done.code == 3


@pytest.mark.slow  # it waits for seconds, again and again
def test_a_run_that_waits_for_what_does_not_come(pipe: Pipe, tmp_path: Path) -> None:
    """A stream keeps what has come out, and so does a file that is written as it comes."""
    from .conftest import command

    def run(*args: object) -> tuple[int, str, str]:
        with subprocess.Popen(command(["run", pipe(TOTAL), "--input", "-", "--timeout", 4, *args]),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                              ) as process:  # fmt: skip
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write("x\n5\n6\n7\n")
            process.stdin.flush()
            return process.wait(60), process.stdout.read(), process.stderr.read()

    code, out, err = run()
    assert (code, out) == (3, "out\n5\n11\n18\n")
    assert "time limit of 4 s met while running the log, after row 3\n" in err
    assert "with --state FILE the next run continues" in err
    assert run("--output", tmp_path / "out.csv")[0] == 3
    assert (tmp_path / "out.csv").read_text() == "out\n5\n11\n18\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "test.pipe"]


# --- what no thread can interrupt ----------------------------------------------------------------------------------


def attended(body: str, seconds: float | None, memory_mb: int | None) -> Ended:
    """A program whose work keeps Python's lock."""
    code = f"""
        import sys
        from workbench import interrupts
        from workbench.budget import phase
        from workbench.cli import supervised, command_line, main
        def execute(args):
            {body}
        command_line._execute = lambda args: (interrupts.begin(), execute(args))[1]
        sys.argv = ["workbench", "check", "no file"]
        sys.argv += [{f'"--timeout", "{seconds}"' if seconds else f'"--memory", "{memory_mb}"'}]
        sys.exit(main.main())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


LOCKED = """import ctypes  # a call that keeps Python's lock, and costs the machine nothing
            library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(128)
            with phase("counting"): [library.pthread_mutex_lock(mutex) for _ in range(2)]  # no signal ends this"""


def test_foreign_code_is_killed() -> None:
    done = attended(LOCKED, 0.5, None)
    assert done.code == 3
    assert "workbench: time limit of 0.5 s met while counting" in done.err


def test_what_is_printed_is_not_printed_again_where_the_process_is_killed() -> None:
    """Its last verdict is out, and it comes to no end: the error stream says so, and the exit code."""
    for worst, code in ((0, 3), (1, 1)):
        done = attended(f'print("{{}}", flush=True); supervised.report_missing([], {worst}); {LOCKED}', 0.5, None)
        assert (done.out, done.code) == ("{}\n", code)
        assert "workbench: time limit of 0.5 s met while counting" in done.err


def test_a_process_that_has_printed_everything_and_ends_slowly_says_no_more() -> None:
    """Its code counts; it releases memory, for example, and was not interrupted."""
    done = attended('import atexit, time; atexit.register(time.sleep, 9); print("{}", flush=True); return 1', 60, None)
    assert done == Ended(1, "{}\n", "")


def test_foreign_code_that_takes_memory_is_killed() -> None:
    done = attended('with phase("filling"): set(range(10 ** 10))', None, 100)
    assert done.code == 3
    assert "workbench: memory limit of 100 MB met while filling" in done.err


def test_a_file_that_a_killed_process_wrote_vanishes(tmp_path: Path) -> None:
    body = f"""from pathlib import Path
            from workbench.events.files import replacing
            with replacing(Path({str(tmp_path / "out")!r})) as file:
                file.write_text("half")
                {LOCKED.replace(chr(10), chr(10) + " " * 4)}"""
    assert attended(body, 0.5, None).code == 3
    assert list(tmp_path.iterdir()) == []


def test_verdicts_of_a_process_that_is_killed() -> None:
    """They are well-formed objects, and one that fails still decides the exit code."""
    body = f"""supervised.report_missing([{{"property": "p", "verdict": "unknown"}}], 1)
            {LOCKED}"""
    done = attended(body, 0.5, None)
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {
            "property": "p",
            "verdict": "unknown",
            "reason": "time limit of 0.5 s met while counting",
            "phase": "counting",
        }
    ]
    assert done.code == 1
    done = attended(body.replace('{"property": "p", "verdict": "unknown"}', '"? unknown  p"'), 0.5, None)
    assert done.out == "? unknown  p: time limit of 0.5 s met while counting\n"


def test_a_process_that_dies() -> None:
    done = attended("import os; os.kill(os.getpid(), 9)", 30, None)
    assert done.code == 3
    assert "killed by signal 9 while starting" in done.err


def test_a_process_is_interrupted_as_one(hard: Path) -> None:
    from .conftest import busy, command

    process = subprocess.Popen(
        command(["check", hard, "-N", "4096", "--timeout", "60", "--quiet"]),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    children = busy(process.pid, 3)  # the command, and an engine
    process.send_signal(2)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    deadline = time.monotonic() + 10  # what was told to end does so when it gets a core
    while any(_runs(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(child) for child in children)


@pytest.mark.slow
def test_a_process_with_limits_is_ended_as_one(hard: Path) -> None:
    from .conftest import busy, command

    process = subprocess.Popen(
        command(["check", hard, "-N", "4096", "--timeout", "60", "--quiet"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    busy(process.pid, 3)
    process.terminate()
    assert process.communicate(timeout=60) == (b"", b"interrupted\n")
    assert process.returncode == 143


def _runs(pid: int) -> bool:
    """Whether a process is there, and not only its end waits to be noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_interrupt_where_errors_are_swallowed_is_not_lost() -> None:
    """Ctrl-C comes while garbage is collected: an error in what Python calls then is printed, and forgotten."""
    script = textwrap.dedent("""
        import gc, signal, sys, time
        from types import SimpleNamespace
        from workbench.cli import command_line, main
        sent = []
        def asked(when, _):
            if not sent:
                sent.append(signal.raise_signal(signal.SIGINT))
        gc.callbacks.append(asked)
        work = SimpleNamespace(options=lambda _: None, execute=lambda _: gc.collect() + time.sleep(50))
        command_line.command = lambda _: work
        sys.argv = ["workbench", "check"]
        sys.exit(main.main())
    """)
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        code = process.wait(60)
        assert process.stderr is not None
        assert (code, process.stderr.read()) == (130, "interrupted\n")
