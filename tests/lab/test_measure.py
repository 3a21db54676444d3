"""Measurements: every way in which a point can end, and what it used, by its whole process tree."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workbench.errors import SuiteError
from workbench.interrupts import descendants
from workbench.lab.measure import cgroup, gpu
from workbench.lab.measure.client import Client
from workbench.lab.measure.tree import cpu_of, resident_mb
from workbench.lab.result import Status

SUITE = """
import os, signal, subprocess, sys, time
from workbench.errors import EngineMissing

LIMITS = Limits(seconds=60, cpu_seconds=2, memory_mb=400)
BURN = "import time\\nwhile time.process_time() < 0.2: pass"
GROW = "x = bytearray(150 << 20)\\nfor i in range(0, len(x), 4096): x[i] = 1\\nimport time; time.sleep(5)"

def start(code):
    return subprocess.Popen([sys.executable, "-S", "-c", code])

@suite.experiment(Region(how=["text"]), limits=LIMITS, y=Output("a number", kind=int),
                  expected=lambda how: {"y": 2 if how == "wrong" else 1})
def end(how, seed):
    print("my last words", how, flush=True)
    if how == "burns": start(BURN.replace("0.2", "9")).wait()
    if how == "grows": bytearray(800 << 20)
    if how == "tree grows": [p.wait() for p in [start(GROW) for _ in range(4)]]
    if how == "segfaults": os.kill(os.getpid(), signal.SIGSEGV)
    if how == "exits": os._exit(5)
    if how == "leaves": sys.exit("no")
    if how == "raises": raise ValueError("no good")
    if how == "lacks": raise EngineMissing("no engine x", hint="install x")
    if how == "forgets": return {}
    if how == "misspells": return {"yy": 1}
    if how == "mistypes": return {"y": "one"}
    if how == "large": return {"y": 1 << 63}
    if how == "half a character": raise ValueError("\\ud800")
    if how == "parent": start(BURN).wait()
    if how == "orphan": subprocess.run(["sh", "-c", f"{sys.executable} -S -c '{BURN.replace('0.2', '0.05')}' &"])
    if how == "memory": x = bytearray(100 << 20)
    if how == "temporary":
        import tempfile
        print(tempfile.mkdtemp())
    return {"y": 1}

@suite.experiment(Region(s=[30]), limits=Limits(seconds=0.3))
def sleeps(s):
    print("my last words", flush=True)
    time.sleep(s)
    return {}

count = 0

@suite.experiment(Region(n=range(5)), persistent=True, pid=Output("process", kind=int), count=Output("calls", kind=int))
def kept(n):
    global count
    count += 1
    if n == 3: os._exit(1)
    if n == 4: start(BURN).wait()
    return {"pid": os.getpid(), "count": count}

def warm_up():
    global count
    start(BURN).wait()
    count = 100

@suite.experiment(Region(what=["start", "nothing", "die"]), persistent=True)
def beside(what):
    # a process that lives on, and burns 0.2 s in a child of its own before the next point begins
    if what == "start":
        code = f"import subprocess, sys, time; subprocess.run([sys.executable, '-S', '-c', {BURN!r}])"
        code += "; print('done', flush=True); time.sleep(60)"
        subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE).stdout.readline()
    if what == "die": os._exit(3)
    return {}

@suite.experiment(Region(n=range(5)), persistent=True, warm_up=warm_up, count=Output("calls", kind=int))
def warmed(n):
    return {"count": count}

@suite.prerequisite
def log(size, path):
    if size == 3: raise OSError("no space")
    path.write_text("x" * size)
    with open(path.parent / "made", "a") as file: file.write(f"{size} ")

@suite.experiment(Region(size=[1, 2, 3], n=[1, 2]), needs=log, length=Output("length", kind=int))
def reads(size, n, log):
    return {"length": len(log.read_text()) * n}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measure")
    (folder / "tiny.py").write_text(f"from workbench.lab import *\nsuite = Suite('tiny', '')\n{SUITE}")
    client = Client(folder / "tiny.py", folder / "files")
    yield client
    client.close()


@pytest.fixture(scope="module")
def burnt(client):
    """Of a process that burns CPU time until it is killed, and nothing is left of it."""
    measured = measure(client, how="burns")
    assert descendants(client.pid) == []
    return measured


def measure(client, experiment="end", **point):
    client.send({"experiment": experiment, "point": point, "seed": 7, "code": "c"})
    return client.take()


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("ends", Status.OK, ""),
        ("wrong", Status.WRONG, "y is 1 where 2 is expected"),
        ("burns", Status.TIMEOUT, "more than 2 CPU seconds"),
        ("grows", Status.MEMORY, "limit of 400 MB: MemoryError"),
        ("tree grows", Status.MEMORY, "limit of 400 MB"),
        ("segfaults", Status.CRASH, "killed by SIGSEGV; my last words segfaults"),
        ("exits", Status.CRASH, "ended with status 5; my last words exits"),
        ("leaves", Status.CRASH, "SystemExit: no"),
        ("raises", Status.CRASH, "ValueError: no good"),
        ("lacks", Status.REFUSED, "install x"),
        ("forgets", Status.CRASH, "output 'y' is missing"),
        ("misspells", Status.CRASH, "output 'yy' is not declared: did you mean 'y'?"),
        ("mistypes", Status.CRASH, "output 'y' is 'one', but was declared as int"),
        ("large", Status.CRASH, "more than 64 bits"),
        ("half a character", Status.CRASH, "ValueError: \ud800"),
    ],
)
def test_every_ending_is_told_from_the_others(client, burnt, how, status, reason):
    measured = burnt if how == "burns" else measure(client, how=how)
    assert (measured.status, reason in measured.reason) == (status, True), measured
    assert "my last words" in measured.log
    assert measured.outputs == ({"y": 1} if status in (Status.OK, Status.WRONG) else {})
    assert measured.limited_by in ("rlimits", "cgroup v2")


def test_an_error_says_what_and_where_in_the_suite(client):
    what, *where = measure(client, how="raises").reason.splitlines()
    assert what == "ValueError: no good"
    assert len(where) == 1, "the lab's own calls are nobody's business"
    assert re.fullmatch(r"\S+/tiny\.py:\d+ in end: if how == \"raises\": raise ValueError\(\"no good\"\)", where[0])


def test_a_point_that_takes_too_long(client):
    measured = measure(client, "sleeps", s=30)
    assert measured.status is Status.TIMEOUT
    assert measured.reason == "more than 0.3 s of wall-clock time"
    assert measured.log == "my last words\n"
    assert 0.3 <= measured.wall_seconds < 5
    assert measured.cpu_seconds < 0.2


@pytest.mark.parametrize(("how", "burnt"), [("parent", 0.2), ("orphan", 0.05)])
def test_cpu_time_is_that_of_the_tree(client, how, burnt):
    """A process burns some CPU time; also where it outlives the one that started it."""
    assert burnt <= measure(client, how=how).cpu_seconds < burnt + 0.2


def test_cpu_time_of_a_tree_that_was_killed(burnt):
    assert 1.95 <= burnt.cpu_seconds < 2.4


def test_peak_memory_of_one_and_of_a_tree(client):
    less, more = measure(client, how="ends").peak_mb, measure(client, how="memory").peak_mb
    assert 90 < more - less < 130
    assert measure(client, how="tree grows").peak_mb > 300


def test_nothing_is_left_of_a_measurement(client, burnt):
    for how in ("tree grows", "orphan"):
        measure(client, how=how)
        assert descendants(client.pid) == []
    folder = Path(measure(client, how="temporary").log.splitlines()[-1])
    assert not folder.exists()
    assert folder.parent.parent.is_dir()


def test_a_kept_process_goes_on_until_something_is_wrong(client):
    found = [measure(client, "kept", n=n) for n in (0, 1, 3, 0, 1)]
    assert [m.outputs.get("count") for m in found] == [1, 2, None, 1, 2]
    assert found[0].outputs["pid"] == found[1].outputs["pid"] != found[3].outputs["pid"]
    assert found[2].status is Status.CRASH


def test_cpu_time_in_a_kept_process_is_that_of_the_point(client):
    assert measure(client, "kept", n=4).cpu_seconds >= 0.2
    assert measure(client, "kept", n=0).cpu_seconds < 0.1


def test_what_a_living_process_has_waited_for_counts_once(client):
    assert measure(client, "beside", what="start").cpu_seconds >= 0.15
    for what in ("nothing", "nothing", "die"):
        assert measure(client, "beside", what=what).cpu_seconds < 0.15


def test_the_warm_up_is_not_measured(client):
    first, second = measure(client, "warmed", n=0), measure(client, "warmed", n=1)
    assert first.outputs == second.outputs == {"count": 100}
    assert first.cpu_seconds < 0.1


def test_a_prerequisite_is_made_once_for_each_file(client):
    lengths = [measure(client, "reads", size=size, n=n).outputs["length"] for size in (1, 2) for n in (1, 2)]
    assert lengths == [1, 2, 2, 4]
    failed = measure(client, "reads", size=3, n=1)
    assert failed.status is Status.CRASH
    assert "prerequisite 'log'" in failed.reason
    assert "no space" in failed.reason
    made = next(iter(Path(client.files).glob("made")))
    assert made.read_text() == "1 2 "


def test_without_a_gpu_nothing_is_said_of_it(client):
    if gpu.devices():
        pytest.skip("there is a GPU")
    measured = measure(client, how="ends")
    assert (measured.gpu_seconds, measured.gpu_peak_mb) == (None, None)


def test_a_supervisor_that_is_gone_says_so_and_leaves_nothing(client, tmp_path):
    other = Client(client.suite, tmp_path)
    other.send({"experiment": "end", "point": {"how": "tree grows"}, "seed": 1, "code": ""})
    deadline = time.monotonic() + 20
    while not (below := descendants(other.pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(other.pid, signal.SIGKILL)
    found = other.take()
    assert found.status is Status.CRASH
    assert "-9" in found.reason
    assert other.lost
    other.close()
    while any(
        Path(f"/proc/{pid}/stat").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text() for pid in below[:1]
    ):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_caller_that_goes_takes_the_measurement_with_it(client, tmp_path):
    other = Client(client.suite, tmp_path)
    other.send({"experiment": "sleeps", "point": {"s": 30}, "seed": 1, "code": ""})
    time.sleep(0.1)
    begin = time.monotonic()
    other.close()
    assert time.monotonic() - begin < 4


def test_a_suite_that_cannot_be_loaded(tmp_path):
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(SuiteError, match="ZeroDivisionError"):
        Client(tmp_path / "bad.py", tmp_path)


def test_the_tree_of_a_process():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not (below := descendants(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(below) == 1
    assert resident_mb([process.pid, *below]) > 2
    assert cpu_of([process.pid]) > 0
    process.communicate(b"\n")
    assert descendants(process.pid) == []


def test_a_group_writes_limits_and_reads_peaks(tmp_path, monkeypatch):
    """The files that the kernel would keep are plain ones here."""
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    monkeypatch.setenv("WORKBENCH_CGROUP", str(tmp_path))
    assert cgroup.base() == tmp_path
    group = cgroup.ControlGroup(tmp_path)
    group.limit(100)
    group.add(123)
    assert (group.folder / "memory.max").read_text() == str(100 << 20)
    assert (group.folder / "cgroup.procs").read_text() == "123"
    (group.folder / "memory.peak").write_text(f"{50 << 20}\n")
    (group.folder / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    assert group.peak_mb == 50
    assert group.out_of_memory
    (tmp_path / "cgroup.subtree_control").write_text("cpu\n")
    assert cgroup.base() is None
