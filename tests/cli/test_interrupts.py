"""A signal at any moment: the exit code tells it, soon, and nothing is left or broken.

Signals are blocked until the program takes them, so that none comes to Python while it starts: no program can help it.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from .conftest import ROOT, command

PATIENCE = 10.0
"""Seconds for an answer: one where nothing else runs."""
PIPES = """
pipeline products(x: int) -> int { return window(x, 8, cumulate(*)) }
pipeline copies(x: int) -> int { return window(x, 8, prefix(4)) }
pipeline hard(x: int mod 4096, y: int mod 4096) -> int mod 4096 {
    a = cumulate(x * y, +)
    return cumulate(a * a + y, *)
}
check ctl(AG EF (out = 2))
pipeline late(x: 0..4096, y: 0..4096) -> bool {
    return window(x, 40, cumulate(+)) > window(y, 40, cumulate(+)) + 150000
}
check always (not out)
"""
RUN = ["run", "p.pipe:products", "--input", "x.csv"]
COMMANDS = {
    "check": ["check", "p.pipe:hard", "-N", "4096"],
    "check with limits": ["check", "p.pipe:hard", "-N", "4096", "--timeout", "60"],
    **({"check with z3": ["check", "p.pipe:late", "--engine", "spacer"]} if find_spec("z3") else {}),
    "check all": ["check", "p.pipe", "-N", "4096", "--jobs", "2"],
    "buffers": ["buffers", "p.pipe:hard"],
    "run": [*RUN, "--output", "-", "--backend", "reference"],
    "threaded": [*RUN, "--output", "-", "--backend", "threaded"],
    "processes": ["run", "p.pipe:copies", *RUN[2:], "--output", "-", "--processes", "2"],
    "machine code": [*RUN, "--output", "-", "--backend", "compiled"],
    "conform": ["conform", "--random", "100000"],
    "conform rules": ["conform", "--random-rules", "100000"],
    "lab": ["lab", "run", "endless", "--jobs", "2"],
}
SHORT = {"buffers": 1, "run": 0, "machine code": 0}
"""Commands that may have ended when the signal comes, and how they end."""
SUITE = """
import time
from workbench.lab import *
suite = Suite("endless", "It never ends")
@suite.experiment(Region(s=range(10000)))
def slow(s):
    time.sleep(0.1)
    return {"square": s * s}
"""
SPARK = ["run", "p.pipe:products", "--input", "keys.csv", "--key", "user", "--output", "out", "--backend", "spark"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.pipe").write_text(PIPES)
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{i % 7}\n" for i in range(300_000)))
    (tmp_path / "keys.csv").write_text("user,x\n" + "".join(f"{i % 5},{i % 7}\n" for i in range(2_000)))
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "endless.py").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def block() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


def strike(
    arguments: list[str], number: signal.Signals, after: float, *, group: bool = False, ends: int | None = None
) -> bytes:
    """Start a command, send it a signal after so many seconds, and look at its end; its output.

    Parameters
    ----------
    group: whether all its processes get the signal, as in a terminal.
    ends: how it ends where no signal comes, which may be before this one does; None: it does not.
    """
    process = subprocess.Popen(
        command(arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=block,
    )  # fmt: skip
    told = f"{' '.join(arguments)}, {number.name} after {after:.3f} s"
    try:
        out, err = process.communicate(timeout=after)
        assert ends is not None, (told, process.returncode, err)
        return out
    except subprocess.TimeoutExpired:
        (os.killpg if group else os.kill)(process.pid, number)
    begin = time.monotonic()
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - begin
    if ends is not None and process.returncode in (ends, -number):  # all was done, and Python about to go
        return out
    assert process.returncode == 128 + number, (told, err)
    assert took < PATIENCE, told
    assert err.endswith(b"interrupted\n"), (told, err)
    assert b"Traceback" not in err, (told, err)
    assert b"rror" not in err, (told, err)
    deadline = time.monotonic() + PATIENCE
    while (left := list(living(process.pid))) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, told
    return out


def living(session: int) -> Iterator[int]:
    """The processes of a session that have not ended."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, _, _, of = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(of) == session and state != "Z":
            yield int(name)


def check_output(name: str, out: bytes) -> None:
    """What was printed is whole."""
    if name in ("run", "threaded", "processes", "machine code"):
        assert out.count(b"\n") == len(out.splitlines()), out[-50:]
        assert all(line.isdigit() for line in out.splitlines()[1:]), out[-50:]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_some_moment(files: Path, name: str) -> None:
    moment = random.Random(name).uniform(0, 1)
    check_output(name, strike(COMMANDS[name], signal.SIGINT, moment, group=len(name) % 2 == 0, ends=SHORT.get(name)))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", COMMANDS)
def test_signals_at_many_moments(files: Path, name: str) -> None:
    moments = random.Random(name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for group in (False, True) * 6:
            moment = moments.uniform(0, 1)
            check_output(name, strike(COMMANDS[name], number, moment, group=group, ends=SHORT.get(name)))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_signals_to_spark(files: Path) -> None:
    pytest.importorskip("pyspark")
    moments = random.Random("spark")
    for number in (signal.SIGINT, signal.SIGTERM):
        for group in (False, True) * 3:
            strike(SPARK, number, moments.uniform(0, 8), group=group, ends=True)


def test_what_is_ignored_stays_ignored(files: Path) -> None:
    """As under nohup, and in the background of a shell script."""
    ignoring = f"trap '' INT HUP; exec {' '.join(command(COMMANDS['check']))}"
    with subprocess.Popen(["sh", "-c", ignoring], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        time.sleep(1)
        for number in (signal.SIGINT, signal.SIGHUP):
            process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM


def test_a_second_signal_ends_what_the_first_does_not(files: Path) -> None:
    """And so does the time, where foreign code never comes back."""
    stuck = (
        "import ctypes, sys, time; from types import SimpleNamespace; from workbench.cli import command_line, main\n"
        "def execute(_):\n"
        "    print('begun', flush=True)\n"
        "    while True:\n"
        "        try: {}\n"
        "        except BaseException: pass\n"
        "command_line.command = lambda _: SimpleNamespace(options=lambda _: None, execute=execute)\n"
        "sys.argv = ['workbench', 'check']; sys.exit(main.main())"
    )
    for work in ("time.sleep(9)", "ctypes.CDLL(None).pause() or ctypes.CDLL(None).sleep(3)"):
        for again in (False, True):
            program = command([])[:1]
            with subprocess.Popen(
                [*program, "-c", stuck.format(work)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == b"begun\n"
                process.send_signal(signal.SIGINT)
                if again:
                    time.sleep(0.4)
                    process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=60)
                assert (process.returncode, err) == (130, b"interrupted\n")


@pytest.mark.parametrize("stays", [True, False])
def test_files_of_a_program_that_comes_to_no_safe_point_are_named_or_removed(stays: bool, tmp_path: Path) -> None:
    """Those with rows that may stay, and all others: also where foreign code does not come back in time."""
    stuck = (
        "import ctypes, sys; from pathlib import Path; from types import SimpleNamespace\n"
        "from workbench.cli import command_line, main; from workbench.events.files import replacing\n"
        "def execute(_):\n"
        f"    with replacing(Path('zeilen-ä.csv'), {'lambda: True' if stays else None}) as name:\n"
        "        with replacing(Path('empty.csv'), lambda: True):\n"
        "            name.write_text('x\\n1\\n'); print(name, flush=True)\n"
        "            while True:\n"
        "                try: ctypes.CDLL(None).sleep(9)\n"
        "                except BaseException: pass\n"
        "command_line.command = lambda _: SimpleNamespace(options=lambda _: None, execute=execute)\n"
        "sys.argv = ['workbench', 'check']; sys.exit(main.main())"
    )
    with subprocess.Popen(
        [*command([])[:1], "-c", stuck], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    kept = f"workbench: the output is not complete; its rows so far are in {name}, the last one cut off\n"
    assert (process.returncode, err) == (143, f"{kept if stays else ''}interrupted\n")
    assert os.listdir(tmp_path) == [name] * stays


@pytest.mark.sampled(1)
@pytest.mark.parametrize("key", [[], ["--key", "user"]])
def test_a_signal_while_threads_compile(key: list[str], files: Path) -> None:
    """Nothing has been written yet: nothing stays."""
    (files / "keys.csv").write_text("user,x\n" + "".join(f"{i % 5},{i % 7}\n" for i in range(300_000)))
    args = [*RUN[:2], "--input", "keys.csv", "--output", "out.csv", "--backend", "compiled", "--threads", "2", *key]
    process = subprocess.Popen(
        command(args), stderr=subprocess.PIPE, preexec_fn=block, env={**os.environ, "XDG_CACHE_HOME": str(files / "c")}
    )
    while not list(files.glob(".*.out.csv")) and process.poll() is None:
        time.sleep(0.01)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert err.endswith(b"interrupted\n")
    left = list(files.glob(".*.out.csv"))
    assert [path for path in left if not path.stat().st_size or str(path).encode() not in err] == []
