"""Machine code that is kept and loaded again: what it takes, whose it is, and where it cannot be kept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding

import workbench as wb
from workbench.executors.compiled.code import kernels, machine, objects
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.printer import executable
from workbench.executors.compiled.execute.executor import Compiled
from workbench.verify.decide.explicit.records import Edges, SearchProgress

SUM = """
def run(first, last, total, y):
    for i in range(first, last):
        y[i] = {factor} * y[i]
        total[0] += y[i]
    return total[0]
"""
ONE = SUM.format(factor=1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where code is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "workbench" / "loops"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kept code of the sum with the factor 1, on four numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(made := tmp_path_factory.mktemp("one")))
        assert summed(ONE) == (6, 1)
    (path,) = (made / "workbench" / "loops").iterdir()
    return path


@pytest.fixture
def kept_one(folder: Path, one: Path) -> Path:
    """It, where code is kept."""
    folder.mkdir(parents=True)
    return Path(shutil.copy(one, folder))


def summed(source: str, count: int = 4) -> tuple[int, int]:
    """The sum that it finds, and how often it was compiled for that."""
    loop = MachineLoop(source)
    return loop(0, count, np.zeros(1, np.int64), np.arange(count)), loop.compiled


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "u8", "f8", "b1"])
def test_all_kinds_of_arguments_arrive(kind: str, folder: Path) -> None:
    source = """
def run(number, real, truth, line, gaps, table, out):
    out[0], out[1], out[2] = number, real, truth
    for i in range(3):
        out[3 + i], out[6 + i] = line[i], gaps[i]
        for k in range(2):
            out[9 + 2 * i + k] = table[i, k]
    gaps[1] = line[0]
    return len(line) * 100 + len(table) * 10 + table.shape[1]
"""
    line: Any = np.array([1, 0, 1]).astype(kind)
    table: Any = np.array([[0, 1], [1, 1], [1, 0]]).astype(kind)
    for _ in range(2):  # compiled, then loaded
        spread: Any = np.array([7, 1, 7, 0, 7, 1]).astype(kind)
        out = np.zeros(15)
        assert MachineLoop(source)(-(2**63), -0.1, True, line, spread[1::2], table, out) == 332
        assert out.tolist() == [-(2.0**63), -0.1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0]
        assert spread[3] == 1


def test_named_tuples_arrive(folder: Path) -> None:
    source = """
def run(progress, last, edges):
    edges.flags[progress.last] = progress.counts[0] + progress.counts[1]
    return progress.capacity * 100 + len(edges.starts) * 10 + edges.ends[last]
"""
    counts, ends = np.array([3, 4]), np.array([5, 6, 7], np.int32)
    for _ in range(2):  # compiled, then loaded
        flags = np.zeros(2, np.int64)
        assert MachineLoop(source)(SearchProgress(counts, 1, 9), 2, Edges(np.zeros(8), ends, flags)) == 987
        assert flags.tolist() == [0, 7]
    assert len(list(folder.iterdir())) == 1


def test_code_is_kept_for_its_source_and_for_each_kind_of_argument(folder: Path, kept_one: Path) -> None:
    assert summed(ONE) == (6, 0)
    assert summed(SUM.format(factor=3)) == (18, 1)
    loop = MachineLoop(ONE)
    assert loop(0, 3, np.zeros(1, np.int64), np.array([True, False, True])) == 2
    assert loop.compiled == 1
    assert len(list(folder.iterdir())) == 3


@pytest.mark.sampled(1)
@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "other", "text"])
def test_a_damaged_file_is_made_anew(damage: str, folder: Path, kept_one: Path) -> None:
    whole = kept_one.read_bytes()
    if damage == "other":  # the code of another function under this name
        kept_one.unlink()
        assert summed(SUM.format(factor=7)) == (42, 1)
        whole = next(folder.iterdir()).read_bytes()
    flipped = bytearray(whole)
    flipped[-100] ^= 1
    damaged = {"cut": whole[:-1], "bit": bytes(flipped), "empty": b"", "other": whole, "text": b"no machine code"}
    kept_one.write_bytes(damaged[damage])
    assert summed(ONE) == (6, 1)
    assert summed(ONE) == (6, 0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("what", ["get_host_cpu_name", "get_host_cpu_features"])
def test_code_for_another_processor_is_not_loaded(what: str, kept_one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(dict[str, bool]):
        def flatten(self) -> str:
            return "+sse2"

    objects._makers.cache_clear()
    monkeypatch.setattr(binding, what, lambda: "x86-64" if what.endswith("name") else Other())
    assert summed(ONE) == (6, 1)
    objects._makers.cache_clear()


def test_settings_of_numba_count(kept_one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects._makers.cache_clear()
    monkeypatch.setenv("NUMBA_OPT", "1")
    assert summed(ONE) == (6, 1)
    objects._makers.cache_clear()


def test_without_a_place_to_keep_it_code_is_made_each_time(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("a file where the folder should be", encoding="utf-8")
    assert summed(ONE) == (6, 1)
    assert summed(ONE) == (6, 1)


def test_python_runs_where_numba_is_not_to_compile(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    pipeline = wb.parse("pipeline p(x: int) -> int { return cumulate(x, +) }").get().pipeline
    assert Compiled(pipeline, warm_up_steps=-1).feed(np.arange(4))["out"].array.tolist() == [0, 1, 3, 6]
    assert not folder.exists()


TABLES = """
import sys, numpy as np, workbench as wb
text = '''
function key(e) = e.0
function to_all(e) = e.1 = 0
pipeline total(e: (int, int)) -> int { return cumulate(second(e), +) }
function second(e) = e.1
pipeline p(e: (int, int)) -> int { return slice_last(e, key, total, to_all = to_all).value }
'''
from workbench.executors.compiled.execute.executor import Compiled
from workbench.verify.decide.explicit.records import Edges, SearchProgress
pipeline = wb.parse(text).get("p").pipeline
running = Compiled(pipeline, warm_up_steps=-1)
a, b = np.array([900, 100, 900, 5]), np.array([1, 2, 3, 0])
expected = wb.executors.Reference(pipeline).run([*zip(a.tolist(), b.tolist())])["out"]
assert running.feed((a, b))["out"].array.tolist() == expected, expected
print(sum(loop.compiled for (_, machine), loop in running.loops.made.items() if machine), "numba" in sys.modules)
"""


@pytest.mark.slow  # numba takes long to compile what sorts
def test_what_needs_the_runtime_of_numba_is_kept_too(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", TABLES], env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs == ["1 True\n", "0 True\n"]


@pytest.mark.slow
def test_two_processes_at_once(tmp_path: Path) -> None:
    code = (
        "import numpy as np, workbench as wb; from workbench.executors.compiled.execute.executor import Compiled\n"
        "p = wb.parse('pipeline p(x: int) -> int { return cumulate(x * 3, +) }').get().pipeline\n"
        "print(Compiled(p, warm_up_steps=-1).feed(np.arange(5))['out'].array.tolist())\n"
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    both = [subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in "ab"]
    assert [process.communicate()[0] for process in both] == ["[0, 3, 9, 18, 30]\n"] * 2
    (kept,) = (tmp_path / "workbench" / "loops").iterdir()  # and nothing half written beside it
    assert kept.suffix == ".o"


MANY = """
function last(x) = x mod 7
pipeline sums(x: int, y: int, b: bool) -> int { return window(x, 4, cumulate(+)) - trim(y, 3) }
pipeline floats(x: float, y: float, b: bool) -> float, bool { return window(x * y + y, 3, cumulate(+)), x mod y < 0.5 }
machine alarms(x: int, y: int, b: bool) -> int {
    var number: int = 0
    state calm: number
    state alarm: number
    calm -> alarm when x > 20 and b / number := number + y
    alarm -> calm when y < 0
}
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline slices(x: int, y: int, b: bool) -> int { return slice_last(x * y, last, total).value }
"""


def two_calls() -> list[tuple[MachineLoop, tuple[Any, ...]]]:
    return [(MachineLoop(SUM.format(factor=factor)), (0, 4, np.zeros(1, np.int64), np.arange(4))) for factor in (1, 3)]


def compile_two() -> None:
    machine.compile_alone(two_calls())


def test_functions_are_compiled_aside_unless_another_process_has_kept_them_meanwhile(folder: Path, one: Path) -> None:
    aside = Thread(target=machine.run_aside, args=(f"from {__name__} import compile_two; compile_two()",))
    with objects.alone():  # as the other process
        aside.start()
        kept = Path(shutil.copy(one, folder)).stat()
    aside.join()
    assert (folder / one.name).stat().st_ino == kept.st_ino
    calls = two_calls()
    assert [loop.ready(given) for loop, given in calls] == [True, True]
    (loop, given), _ = calls
    assert loop(*given) == 6
    assert [loop.compiled for loop, _ in calls] == [0, 0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "gaps"),
    [("sums", False), pytest.param("floats", True, marks=pytest.mark.slow), ("alarms", True), ("slices", False)],
)
def test_kept_code_numba_and_python_agree(name: str, gaps: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three ways to run the same loops, on random columns: the numbers are equal bit by bit."""
    pipeline = wb.parse(MANY).get(name).pipeline
    random = np.random.default_rng(len(name))
    kinds: dict[str, Any] = {
        "int": random.integers(-50, 50, (3, 600)), "bool": random.random((3, 600)) < 0.4,
        "float": random.normal(size=(3, 600)),
    }  # fmt: skip
    columns = {key: kinds[str(domain)][i] for i, (key, domain) in enumerate(pipeline.inputs)}
    present = {key: random.random(600) < 0.7 for key in columns} if gaps else {}

    def made(**how: Any) -> list[bytes]:
        running = Compiled(pipeline, warm_up_steps=-1, **how)
        parts = [running.feed(columns, present, steps=True), running.feed(columns, present, steps=True)]
        arrays = [array for part in parts for column in part.values() for array in (*column.fields, column.steps)]
        return [np.ascontiguousarray(array).tobytes() for array in [*arrays, *running.state]]

    plain, compiled, loaded = made(machine=False), made(), made()
    assert plain == compiled == loaded
    if name == "floats":  # in which another order of operations would show
        monkeypatch.setattr(machine, "MachineLoop", by_numba)
        assert plain == made()


def by_numba(source: str, _maker: str = "") -> Any:
    """The loop as numba calls it itself."""
    return numba.njit(nogil=True, error_model="numpy")(executable(source, kernels.SCOPE))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("which", ["folder", "file"])
def test_code_that_others_may_have_written_is_not_loaded(
    which: str, mode: int, folder: Path, kept_one: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert summed(ONE) == (6, 0)
    path = folder if which == "folder" else kept_one
    path.chmod(mode)
    assert summed(ONE) == (6, 1)
    assert f"others own {path}, or may write there" in caplog.text
    if which == "folder":  # and nothing is written there
        assert list(folder.iterdir()) == [kept_one]
        assert summed(ONE) == (6, 1)
    assert caplog.text.count("others own") == 1


def test_code_that_others_own_is_not_loaded(
    kept_one: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert summed(ONE) == (6, 1)
    assert "others own" in caplog.text


def test_a_link_is_not_followed(folder: Path, kept_one: Path, tmp_path: Path) -> None:
    kept_one.rename(elsewhere := tmp_path / "elsewhere.o")
    kept_one.symlink_to(elsewhere)
    assert summed(ONE) == (6, 1)
    folder.rename(tmp_path / "loops")
    folder.symlink_to(tmp_path / "loops")
    assert summed(ONE) == (6, 1)


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(kept_one: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept_one.unlink()
    os.mkfifo(kept_one, 0o600)
    assert summed(ONE) == (6, 1)
    assert f"{kept_one} is no regular file" in caplog.text
    assert summed(ONE) == (6, 0)  # what was made has taken its place


def test_a_file_in_place_of_the_folder_is_left_as_it_is(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("mine")
    folder.chmod(0o640)
    assert summed(ONE) == (6, 1)
    assert f"{folder} is no folder" in caplog.text
    assert (folder.read_text(), folder.stat().st_mode & 0o777) == ("mine", 0o640)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_is_kept_is_private(umask: int, folder: Path) -> None:
    before = os.umask(umask)
    try:
        assert summed(ONE) == (6, 1)
    finally:
        os.umask(before)
    (kept,) = folder.iterdir()
    assert [path.stat().st_mode & 0o777 for path in (folder, kept)] == [0o700, 0o600]
    folder.chmod(0o755)  # as earlier versions left it: nobody else could write
    assert summed(ONE) == (6, 0)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_oldest_code_goes_when_all_of_it_is_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    for age in range(4):
        (folder / f"loop_{age}.o").write_bytes(b"x" * 10_000)
        os.utime(folder / f"loop_{age}.o", (1000 - age, 1000 - age))
    (folder / "dangling.o").symlink_to(folder / "nowhere")
    (folder / "inside").mkdir()
    monkeypatch.setattr(objects, "LARGEST", 25_000)
    assert summed(ONE) == (6, 1)
    assert {path.name for path in folder.iterdir()} > {"loop_0.o", "loop_1.o"}
    assert len(list(folder.glob("loop_*.o"))) == 3
    assert summed(ONE) == (6, 0)
