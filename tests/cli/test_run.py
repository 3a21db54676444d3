"""`workbench run`."""

import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import ipc, parquet

from tests.cli.conftest import MODELS, ROOT, Run, command, program
from workbench.language import read_file

SQUARES = MODELS / "sum_of_odds.pipe"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text("x\n" + "7\n" * 8)
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.csv.gz", "bad.csv"])
def test_a_full_disk_is_told_with_the_path(tmp_path: Path, name: str) -> None:
    """A limit for the size of files stands for the disk: it fails in the same call."""
    odd = name == "bad.csv"
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{i * i * i}{'x' * odd}\n" for i in range(5000)))
    call = command(["run", SQUARES, "--input", tmp_path / "x.csv", "--bad-rows" if odd else "--output", name])
    done = subprocess.run(
        call, capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # Python would keep 200 bytes of a module's code
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, f"workbench: {name}: cannot write there: File too large\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_device_is_told_by_its_name(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    done = workbench("run", SQUARES, "--input", tmp_path / "x.csv", "--output", "/dev/full")
    assert (done.code, done.err) == (2, "workbench: /dev/full: cannot write there: No space left on device\n")


@pytest.mark.sampled(1)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_full_standard_output_is_named(backend, tmp_path):
    (tmp_path / "x.csv").write_text("x\n1\n")
    asked = command(["run", SQUARES, "--backend", backend, "--input", tmp_path / "x.csv"])
    with open("/dev/full", "w") as full:
        done = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "workbench: standard output: No space left on device\n")


def test_csv_to_the_standard_output(workbench: Run, events: Path) -> None:
    done = workbench("run", SQUARES, "--input", events)
    assert (done.code, done.out, done.err) == (0, "out\n1\n4\n9\n16\n", "")


def test_steps_without_output(workbench: Run, events: Path) -> None:
    assert workbench("run", SQUARES, "--input", events, "--steps").out == "out\n\n1\n\n4\n\n9\n\n16\n"


@pytest.mark.sampled(15)
@pytest.mark.parametrize("threads", [["threaded"], ["threaded", "--threads", 3], ["dataflow", "--threads", 2]])
@pytest.mark.parametrize("model", sorted(MODELS.glob("*.pipe")), ids=lambda path: path.stem)
def test_threads_give_the_same_output(workbench: Run, tmp_path: Path, model: Path, threads: list[object]) -> None:
    names = [name for name, _ in read_file(model).get().pipeline.inputs]
    rows = [",".join(str((i * 7 + k) % 4) if (i + k) % 3 else "" for k in range(len(names))) for i in range(40)]
    (tmp_path / "x.csv").write_text("\n".join([",".join(names), *rows, ""]))
    given = ("run", model, "--input", tmp_path / "x.csv", "--steps")
    before = threading.active_count()  # other tests of the process may have left some, which end
    assert workbench(*given, "--backend", *threads) == workbench(*given)
    assert threading.active_count() <= before


def test_an_error_in_the_middle_ends_a_threaded_run_as_any_other(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n7\n7\n7\n7\nseven\n7\n")
    given = ("run", SQUARES, "--input", tmp_path / "x.csv")
    for backend in ("threaded", "dataflow"):
        assert workbench(*given, "--backend", backend, "--threads", 2) == workbench(*given)
    assert workbench(*given).code == 2


def test_threads_from_the_standard_input() -> None:
    given = ("run", SQUARES, "--input", "-", "--format", "csv", "--backend", "threaded", "--threads", 2)
    assert program(*given, stdin="x\n7\n7\n7\n7\n").out == "out\n1\n4\n"


def test_threads_belong_to_the_threaded_backend(workbench: Run, events: Path) -> None:
    done = workbench("run", SQUARES, "--input", events, "--backend", "reference", "--threads", 2)
    assert (done.code, done.out) == (2, "")
    assert "add --backend threaded or --backend dataflow or --backend compiled" in done.err
    assert workbench("run", SQUARES, "--input", events, "--threads", 2).code == 0


@pytest.mark.parametrize("backend", ["threaded", "compiled"])
@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_are_refused_by_all_that_have_them(workbench: Run, events: Path, backend: str, threads: int) -> None:
    done = workbench("run", SQUARES, "--input", events, "--backend", backend, "--threads", threads)
    assert (done.code, done.out) == (2, "")
    assert f"argument --threads: '{threads}' is not a positive number" in done.err


def test_auto_says_what_runs(workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled executor where it runs the pipeline on columns of numbers; of the reference executor nothing."""
    monkeypatch.setattr("workbench.executors.backends.compiled.START", 0)
    (tmp_path / "p.pipe").write_text(
        "pipeline total(x: int) -> int { return cumulate(x, +) }\npipeline last(x: any) -> any { return trim(x, 1) }\n"
    )
    (tmp_path / "x.csv").write_text("x\n" + "1\n" * 124)
    compiled = "workbench: chose backend compiled, the fastest for about 125 rows\n"
    total = "".join(f"{number}\n" for number in range(1, 125))
    for name, said, out in (("total", compiled, f"out\n{total}"), ("last", "", "out\n" + "1\n" * 123)):
        done = workbench("run", f"{tmp_path / 'p.pipe'}:{name}", "--input", tmp_path / "x.csv", "--backend", "auto")
        assert (done.code, done.out, done.err) == (0, out, said)
    done = workbench("run", SQUARES, "--input", tmp_path / "x.csv", "--backend", "auto", "--fault", "lose out")
    assert "chose backend" not in done.err


@pytest.mark.parametrize("other", [["--steps"], ["--reassociate"], ["--steps", "--reassociate"]], ids=str)
def test_keys_complain_of_the_options_that_are_given(workbench: Run, events: Path, other: list[object]) -> None:
    done = workbench("run", SQUARES, "--input", events, "--backend", "compiled", "--key", "x", *other)
    assert (done.code, done.out) == (2, "")
    options = [option for option in other if isinstance(option, str)]
    assert done.err == f"workbench: {', '.join(options)} and --key cannot be combined\n"
    done = workbench("run", SQUARES, "--input", events, "--backend", "compiled", "--key", "x", "--seed", 0, "--rate", 0)
    assert "not for the compiled backend: --seed, --rate" in done.err


def test_an_option_of_spark_is_refused_whatever_its_value(workbench: Run, events: Path) -> None:
    done = workbench("run", SQUARES, "--input", events, "--files", 0)
    assert (done.code, done.out) == (2, "")
    assert "not for the reference backend: --files" in done.err


def test_a_finite_domain(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n3\n2\n2\n")
    file = MODELS / "sum_of_doubles.pipe"
    assert workbench("run", file, "--input", tmp_path / "x.csv").out.split()[1:] == ["2", "8", "12", "16"]
    found = workbench("run", file, "--input", tmp_path / "x.csv", "-N", 5)
    assert found.out.split()[1:] == ["2", "3", "2", "1"]
    found = workbench("run", file, "--input", tmp_path / "x.csv", "-N", 5, "--int", "saturating")
    assert found.out.split()[1:] == ["2", "4", "4", "4"]


def test_json_lines(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"x": 1}\n{}\n{"x": 2}\n')
    target = tmp_path / "y.jsonl"
    done = workbench("run", MODELS / "sum_of_doubles.pipe", "--input", tmp_path / "x.jsonl", "--output", target)
    assert (done.code, done.out) == (0, "")
    assert [json.loads(line) for line in target.read_text().splitlines()] == [{"out": 2}, {"out": 6}]


def test_parameters(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n0\n1\n2\n3\n4\n")
    file = MODELS / "product_of_1_and_kth.pipe"
    found = workbench("run", file, "--input", tmp_path / "x.csv", "--param", "k=2")
    assert found.out.split()[1:] == ["0", "2", "8"]


def test_events_come_out_as_they_go_in() -> None:
    process = subprocess.Popen(
        command(["run", SQUARES, "--input", "-"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        bufsize=1,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("x\n5\n5\n")
    process.stdin.flush()
    assert process.stdout.readline() == "out\n"
    assert process.stdout.readline() == "1\n"  # while the input is still open
    process.stdin.close()
    assert process.wait(10) == 0
    process.stdout.close()


def test_a_reader_that_has_had_enough(tmp_path: Path) -> None:
    many = tmp_path / "many.csv"
    many.write_text("x\n" + "1\n" * 50_000)
    line = f"{' '.join(command(['run', MODELS / 'passthrough.pipe', '--input', many]))} | head -2"
    done = subprocess.run(line, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    chosen = "workbench: chose backend compiled, the fastest for about 50,001 rows\n"
    assert (done.stdout, done.stderr.removeprefix(chosen)) == ("out\n1\n", "")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [2, 15])
@pytest.mark.parametrize(
    ("backend", "options"), [("reference", []), ("compiled", []), ("dataflow", []), ("reference", ["--key", "k"])]
)
def test_interrupting_a_live_run(number: int, backend: str, options: list[str], tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    args = ["run", MODELS / "passthrough.pipe", "--input", "-", "--output", target, "--backend", backend, *options]
    process = subprocess.Popen(command(args), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None
    whole = "x,out\n5,5\n5,6\n" if options else "out\n5\n6\n"
    process.stdin.write("x\n5\n6\n" if not options else "x,k\n5,5\n6,5\n")
    process.stdin.flush()
    for _ in range(500):
        if target.exists() and target.read_text().count("\n") == 3:  # they are there while it waits
            break
        time.sleep(0.02)
    process.send_signal(number)
    process.wait(10)  # before its input is closed
    _, err = process.communicate()
    assert (process.returncode, err) == (128 + number, "workbench: stopped after 2 rows, 2 events out\ninterrupted\n")
    assert target.read_text() == whole.replace("x,", "k,")
    assert list(tmp_path.iterdir()) == [target]


def test_the_rows_before_an_error_are_named_on_a_line_of_their_own(workbench: Run, tmp_path: Path) -> None:
    log, target = tmp_path / "log.csv", tmp_path / "out.csv"
    log.write_text("x\n1\n?\n")
    done = workbench("run", MODELS / "passthrough.pipe", "--input", log, "--output", target)
    hint, note = done.err.splitlines()[-2:]
    assert hint.startswith("  hint: ")
    assert "rows so far" not in hint
    (beside,) = set(tmp_path.iterdir()) - {log}
    assert note == f"workbench: the output is not complete; its rows so far are in {beside}"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize(("number", "bad"), [(2, False), (15, False), (0, True)])
def test_the_end_of_a_live_run_leaves_typed_rows(number: int, bad: bool, kind: str, tmp_path: Path) -> None:
    """Which are written within the time that a signal leaves, also where it takes long to import pandas."""
    (tmp_path / "slow" / "pandas").mkdir(parents=True)
    (tmp_path / "slow" / "pandas" / "__init__.py").write_text("import time\ntime.sleep(5)\n")
    os.mkfifo(tmp_path / "in")
    args = ["run", MODELS / "passthrough.pipe", "--input", tmp_path / "in", "--format", "csv"]
    args += ["--output", tmp_path / f"out.{kind}", *([] if bad else ["--bad-rows", tmp_path / "bad.csv"])]
    slow = {**os.environ, "PYTHONPATH": f"{tmp_path / 'slow'}:{ROOT}"}
    process = subprocess.Popen(command(args), stderr=subprocess.PIPE, text=True, env=slow)
    with (tmp_path / "in").open("w") as pipe:
        pipe.write("x\n5\n6\nodd\n")
        pipe.flush()
        for _ in range(500 if number else 0):  # the row behind the others has been read
            if (tmp_path / "bad.csv").exists() and (tmp_path / "bad.csv").read_text().count("\n") == 2:
                break
            time.sleep(0.02)
        if number:
            process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert process.returncode == (128 + number if number else 2), err
    (beside,) = tmp_path.glob(f".*.out.{kind}")
    assert f"its rows so far are in {beside}" in err
    read = {"parquet": parquet.read_table, "arrow": ipc.open_file, "arrows": ipc.open_stream}[kind]
    with beside.open("rb") as file:
        found = read(file)
        assert (found if kind == "parquet" else found.read_all()).to_pydict() == {"out": [5, 6]}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["text", "xml"])
def test_a_pipe_of_a_few_rows_is_seen_at_once(kind: str, tmp_path: Path) -> None:
    """Also of formats that have no columns, with machine code that takes many steps at a time."""
    os.mkfifo(tmp_path / "in")
    target = tmp_path / "out.jsonl"
    given = ["--pattern", r"(?P<x>\d+)"] if kind == "text" else ["--xml", "m"]
    args = ["run", MODELS / "passthrough.pipe", "--input", tmp_path / "in", "--output", target, "--backend", "compiled"]
    process = subprocess.Popen(command([*args, *given]), text=True)
    with (tmp_path / "in").open("w") as pipe:
        pipe.write("5\n6\n" if kind == "text" else "<r><m><x>5</x></m><m><x>6</x></m>")
        pipe.flush()
        for _ in range(500):
            if target.exists() and target.read_text().count("\n") == 2:
                break
            time.sleep(0.02)
        process.kill()
        process.wait()
    assert target.read_text() == '{"out": 5}\n{"out": 6}\n'


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 15])
def test_interrupting_a_run_on_files(number: int, tmp_path: Path) -> None:
    (tmp_path / "slow.pipe").write_text("pipeline p(x: int) -> int { return window(x, 300, cumulate(+)) }")
    source, target = tmp_path / "x.csv", tmp_path / "out.csv"
    source.write_text("x,note\n" + f"1,{'-' * 60}\n" * 3_000_000)
    args = ["run", tmp_path / "slow.pipe", "--input", source, "--output", target]
    process = subprocess.Popen(command(args), stderr=subprocess.PIPE, text=True)
    for _ in range(4000):
        kept = [path for path in tmp_path.glob(".*.csv") if path.stat().st_size]
        if kept:
            break
        time.sleep(0.005)
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number
    assert not target.exists()
    assert str(kept[0]) in err
    head, *rows = kept[0].read_text().splitlines()
    assert head == "out"
    assert rows
    assert set(rows) == {"300"}


# --- the compiled backend -------------------------------------------------------------------------------------

SEVERAL = """
pipeline several(x: int, y: {price: 0..99, red: bool}) -> sum: int, last: {price: 0..99, red: bool}, twice: int {
    return cumulate(x, +), keep_last(y), stutter(x, 2)
}
"""


@pytest.mark.parametrize("options", [[], ["--steps"], ["-N", "7"], ["--output", "out.jsonl"]], ids=str)
def test_numba_writes_what_the_reference_executor_writes(
    workbench: Run, pipe: Callable[[str], Path], tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("workbench.executors.session.Session.size", 3)
    file = pipe(SEVERAL)
    lines = ['{"x": 1}', "{}", '{"x": 2, "y": {"price": 3, "red": true}}', '{"y": {"price": 4, "red": false}}']
    (tmp_path / "x.jsonl").write_text("\n".join(lines * 2) + "\n")
    found = []
    for backend in ("reference", "compiled"):
        done = workbench("run", file, "--input", "x.jsonl", "--backend", backend, *options)
        found.append((done, Path("out.jsonl").read_text() if "--output" in options else ""))
    assert found[0] == found[1]
    assert found[0][0].code == 0


@pytest.mark.parametrize("bad", ["x", "9223372036854775808"])
def test_numba_writes_what_came_out_before_an_error(workbench: Run, tmp_path: Path, bad: str) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n2\n3\n" + f"{bad}\n4\n")
    done = workbench("run", MODELS / "sum_of_doubles.pipe", "--input", tmp_path / "x.csv", "--backend", "compiled")
    assert (done.code, done.out) == (2, "out\n2\n6\n12\n")
    assert "x.csv:5: column 'x'" in done.err
    assert bad == "x" or "expected a whole number of 64 bits, not '9223372036854775808'" in done.err


@pytest.mark.parametrize("options", [[], ["--backend", "compiled"], ["--backend", "threaded"], ["--steps"]])
def test_a_first_event_outside_its_type_writes_nothing(
    workbench: Run, pipe: Callable[[str], Path], tmp_path: Path, options: list[str]
) -> None:
    """Nothing, not even the header, in every executor; behind a good row the header is there with it."""
    file = pipe("pipeline p(x: int, y: int) -> int, int { return x, trim(y, 1) }")
    (tmp_path / "bad.csv").write_text("x,y\n1,1e400\n")
    done = workbench("run", file, "--input", tmp_path / "bad.csv", *options)
    assert (done.code, done.out) == (2, "")
    assert f"{tmp_path / 'bad.csv'}:2: column 'y': expected a whole number" in done.err
    (tmp_path / "bad.csv").write_text("x,y\n1,2\n1,1e400\n")
    done = workbench("run", file, "--input", tmp_path / "bad.csv", *options)
    assert (done.code, done.out) == (2, "out1,out2\n1,\n")
    assert ":3: column 'y'" in done.err


@pytest.mark.parametrize("options", [[], ["--backend", "compiled"], ["--backend", "threaded"]], ids=str)
def test_parquet_is_read_and_written(
    workbench: Run, pipe: Callable[[str], Path], tmp_path: Path, options: list[str]
) -> None:
    """The outputs of one pipeline are the inputs of the next, and a wrong row leaves nothing behind."""
    (tmp_path / "x.jsonl").write_text('{"x": 1}\n{"y": {"price": 3, "red": true}}\n{"x": 2}\n')
    table = tmp_path / "table.parquet"
    done = workbench("run", pipe(SEVERAL), "--input", tmp_path / "x.jsonl", "--output", table, *options)
    assert (done.code, done.out, done.err) == (0, "", "")
    kinds = "pipeline next(sum: int, last: {price: 0..99, red: bool}, twice: int)"
    following = pipe(f"{kinds} -> sum: int, last: {{price: 0..99, red: bool}} {{ return sum, last }}")
    done = workbench("run", following, "--input", table, *options)
    assert done.out == '{"sum": 1}\n{"sum": 3}\n{"last": {"price": 3, "red": true}}\n'
    narrow = pipe(f"{kinds.replace('sum: int', 'sum: 0..2')} -> sum: 0..2 {{ return sum }}")
    done = workbench("run", narrow, "--input", table, "--output", tmp_path / "other.parquet", *options)
    assert done.code == 2
    assert f"{table}:3: column 'sum': expected an integer 0..2, not 3" in done.err
    assert not (tmp_path / "other.parquet").exists()
    assert re.search(r"its rows so far are in (\S+/\.\w+\.other\.parquet)", done.err)


@pytest.mark.parametrize("bad", ["", "x\n"])
def test_blocks_write_what_one_thread_writes(
    workbench: Run, tmp_path: Path, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also up to an error, which is in the last of the steps that are taken at a time."""
    monkeypatch.setattr("workbench.executors.session.Session.size", 50)
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(120)) + bad)
    given = ("run", MODELS / "sum_of_doubles.pipe", "--input", tmp_path / "x.csv", "--backend", "compiled")
    assert workbench(*given, "--threads", 2) == workbench(*given)


def test_threads_where_a_stream_has_no_blocks(workbench: Run, tmp_path: Path, pipe: Callable[[str], Path]) -> None:
    """One thread runs it, and another one reads; nothing else can be regrouped."""
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    file = pipe("pipeline p(x: int) -> int { return freeze(x) }")
    given = ("run", file, "--input", tmp_path / "x.csv", "--backend", "compiled", "--threads", 2)
    done, refused = workbench(*given), workbench(*given, "--reassociate")
    assert (done.code, done.out) == (0, "out\n1\n1\n")
    assert (refused.code, refused.out) == (2, "")
    for each in (done, refused):
        assert "cannot be started in the middle of a stream: `Freeze` (processor 'freeze')" in each.err


def test_sums_of_floats_in_blocks(workbench: Run, tmp_path: Path, pipe: Callable[[str], Path]) -> None:
    """Where numbers are as round as these, the order of additions does not matter."""
    (tmp_path / "x.csv").write_text("x\n" + "0.5\n" * 9)
    file = pipe("pipeline p(x: float) -> float { return cumulate(x, +) }")
    given = ("run", file, "--input", tmp_path / "x.csv", "--backend", "compiled")
    one = workbench(*given)
    beside = workbench(*given, "--threads", 2)
    assert (beside.out, "one thread runs it, and others read and write" in beside.err) == (one.out, True)
    assert workbench(*given, "--threads", 2, "--reassociate") == one
    assert "--backend compiled --threads 2" in workbench(*given, "--reassociate").err


# --- many traces ------------------------------------------------------------------------------------------------

LOG = "item,x\nlamp,1\nvase,10\nlamp,2\nvase,20\nlamp,3\nvase,30\nlamp,4\n"
WINDOW = MODELS / "sum_on_window_of_3.pipe"


def test_a_run_for_each_key(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    given = ("run", WINDOW, "--input", tmp_path / "log.csv", "--key", "item", "--backend")
    done = workbench(*given, "compiled")
    assert (done.code, done.out, done.err) == (0, "item,out\nlamp,6\nvase,60\nlamp,9\n", "")
    if "NUMBA_ENABLE_CUDASIM" not in os.environ and not shutil.which("nvidia-smi"):
        done = workbench(*given, "gpu")
        assert done.out == "item,out\nlamp,6\nvase,60\nlamp,9\n"
        assert done.err == "workbench: running on the CPU, since no NVIDIA GPU was found\n"


def test_keys_in_a_log_that_has_more(workbench: Run, tmp_path: Path) -> None:
    lines = ['{"at": 1, "user": 7, "x": 1}', '{"user": "7", "x": 2}', '{"user": true, "x": 9}', '{"user": 7, "x": 4}']
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    given = ("run", WINDOW, "--backend", "compiled", "--key", "user", "--input")
    assert workbench(*given, tmp_path / "log.jsonl").out == '{"user": "7", "out": 7}\n'
    (tmp_path / "log.csv").write_text("at,user,x\n1,07,1\n2,7,2\n3,7,3\n4,7,4\n")
    assert workbench(*given, tmp_path / "log.csv").out == "user,out\n7,9\n"
    (tmp_path / "log.csv").write_text("at,x\n1,1\n")
    assert (
        "log.csv:1: there is no column 'user'\n  hint: its columns are: at, x;"
        in workbench(*given, tmp_path / "log.csv").err
    )
    (tmp_path / "log.jsonl").write_text('{"user": [1], "x": 1}\n')
    assert "key 'user': expected a text or a number, not [1]" in workbench(*given, tmp_path / "log.jsonl").err


def test_a_key_that_is_an_input(workbench: Run, pipe: Callable[[str], Path], tmp_path: Path) -> None:
    room = "capacity queue(mul.left) = 0 capacity queue(mul.right) = 0"
    file = pipe(f"pipeline p(k: 0..9, x: int) -> y: int {{ {room} return k * cumulate(x, +) }}")
    lines = ['{"k": 2, "x": 1}', '{"k": 3, "x": 1}', "{}", '{"k": 2, "x": 4}']
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n")
    done = workbench("run", file, "--input", tmp_path / "x.jsonl", "--key", "k", "--backend", "compiled")
    assert done.out.splitlines() == ['{"k": 2, "y": 2}', '{"k": 3, "y": 3}', '{"k": 2, "y": 10}']


def test_errors_name_key_and_row(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG + f"vase,{2**63}\n")
    given = ("run", WINDOW, "--input", tmp_path / "log.csv", "--key", "item")
    done = workbench(*given, "--backend", "compiled")
    assert (done.code, done.out) == (2, "item,out\nlamp,6\nvase,60\nlamp,9\n")
    assert f"log.csv:9: column 'x': expected a whole number of 64 bits, not '{2**63}'" in done.err
    assert workbench(*given).out == f"{done.out}vase,{2**63 + 50}\n"
    assert "--steps and --key cannot be combined" in workbench(*given, "--backend", "compiled", "--steps").err
    (tmp_path / "log.csv").write_text("item,x\n,1\n")
    for backend in ("compiled", "reference"):
        assert "log.csv: row 1 has no 'item'" in workbench(*given, "--backend", backend).err


def test_one_trace_without_a_gpu(workbench: Run, tmp_path: Path) -> None:
    if "NUMBA_ENABLE_CUDASIM" in os.environ or shutil.which("nvidia-smi"):
        pytest.skip("there is one")
    (tmp_path / "x.csv").write_text("x\n1\n2\n3\n")
    done = workbench("run", WINDOW, "--input", tmp_path / "x.csv", "--backend", "gpu")
    assert (done.out, done.err) == ("out\n6\n", "workbench: running on the CPU, since no NVIDIA GPU was found\n")


def test_bad_rows_are_counted_by_reason(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("5 1\n3 2\nnothing\n6 3\n4 4\n7 5\n")
    pattern = ("--pattern", r"(?P<t>\d+) (?P<x>\d+)", "--bad-rows", "skip", "--time", "t")
    (tmp_path / "p.pipe").write_text("pipeline p(x: int) -> int { return x }")
    done = workbench("run", tmp_path / "p.pipe", "--input", tmp_path / "a.log", *pattern)
    assert done.out.splitlines() == ["t,out", "5,1", "6,3", "7,5"]
    told = "3 of 6 rows were skipped; 2: column 't': expected a time from ... on, the time of the row before, 1: the"
    assert told in done.err


def test_what_becomes_of_rows_is_told(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\nfoo\n2\n")
    given = ("run", MODELS / "sum_of_doubles.pipe", "--input", tmp_path / "a.csv")
    assert workbench(*given, "--bad-rows", "skip").err.splitlines() == [
        f"workbench: 1 of 3 rows was skipped; the first one: {tmp_path}/a.csv:3: column 'x': expected a whole"
        " number, not 'foo'"
    ]
    for backend in ("reference", "compiled"):
        told = workbench(
            *given, "--bad-rows", "skip", "--progress", "--backend", backend, "--output", tmp_path / "o.csv"
        )
        assert "workbench: 3 rows, 2 events in, 2 events out, 1 bad row, " in told.err
    assert workbench(*given, "--head", "1").err == ""


def test_a_file_of_bad_rows_is_named(workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x\n1\nfoo\n2\n")
    given = ("run", MODELS / "sum_of_doubles.pipe", "--input", "a.csv", "--bad-rows")
    written = "workbench: 1 of 3 rows was skipped and written to {}; the first one: a.csv:3: column 'x'"
    for name in ("bad.csv", "rejects"):
        assert workbench(*given, name).err.startswith(written.format(name))
    for name in ("ignore", "Skip", "drop", "warn"):
        first, second = workbench(*given, name).err.splitlines()
        assert first == f"workbench: bad rows are written to a file named '{name}'; 'skip' leaves them out"
        assert second.startswith(written.format(name))
        assert workbench(*given, name).err.startswith(written.format(name)), "the file exists"
        assert workbench(*given, "skip").err.startswith("workbench: 1 of 3 rows was skipped; the first one")


def test_patterns_that_the_shell_takes(workbench: Run, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        (tmp_path / name).write_text("x\n1\n")
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    done = workbench("run", MODELS / "sum_of_doubles.pipe", "--input", *files)
    assert (done.code, done.out) == (2, "")
    assert "put a pattern in quotes: --input 'logs/*.csv'" in done.err
    done = workbench("run", MODELS / "sum_of_doubles.pipe", "--input", f"{tmp_path}/*.csv")
    assert (done.code, done.out, done.err) == (0, "out\n2\n4\n6\n", "")
    assert "see workbench" in workbench("run", "a", "--input", "b", "--nonsense").err
    assert "--input - reads the standard input" in workbench("run", MODELS / "sum_of_doubles.pipe").err


@pytest.mark.sampled(1)
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_log_is_utf8_whatever_the_terminal_shows(backend: str, tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text("pipeline p(s: str) -> str { return s }")
    (tmp_path / "s.csv").write_text("s\n\u20ac\n\u00e9\n", encoding="utf-8")
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for change in (plain, {**os.environ, "PYTHONIOENCODING": "latin-1"}):
        asked = command(["run", tmp_path / "p.pipe", "--backend", backend, "--input", tmp_path / "s.csv"])
        done = subprocess.run(asked, capture_output=True, env=change, check=False)
        assert (done.returncode, done.stdout.decode(), done.stderr) == (0, "out\n\u20ac\n\u00e9\n", b"")


@pytest.mark.slow
def test_closed_streams_are_told(tmp_path: Path) -> None:
    """As other programs say it; what is opened next is not taken for them."""
    (tmp_path / "x.csv").write_text("x\n1\n")
    squares, there, closed = f"run '{SQUARES}'", f"--input '{tmp_path / 'x.csv'}'", "Bad file descriptor"
    call = shlex.join(map(str, command([])))
    for asked, told in {
        f"{squares} --input - <&-": f"workbench: <stdin>: cannot be read: {closed}\n",
        f"{squares} {there} >&-": f"workbench: {closed}\n",
        f"{squares} {there} --backend compiled >&-": f"workbench: {closed}\n",
        "--help >&-": f"workbench: {closed}\n",
        "--version >/dev/full": "workbench: standard output: No space left on device\n",
        f"{squares} {there}x 2>&-": "",
    }.items():
        done = subprocess.run(f"{call} {asked}", shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, told)


def test_commands_warn_once(workbench, tmp_path):
    for name in "rdc":  # a process warns of each join once
        text = f"pipeline {name}(x: int) -> int {{ return x - window(x, 20, cumulate(+)) div 20 }}\n"
        (tmp_path / f"{name}.pipe").write_text(text)
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(25)))
    for words in (["run", tmp_path / "r.pipe", "--input", tmp_path / "x.csv"],
                  ["draw", tmp_path / "d.pipe", "-o", tmp_path / "d.dot"],
                  ["check", tmp_path / "c.pipe", "-p", "no-overflow", "-Q", "1", "-N", "2"]):  # fmt: skip
        done = workbench(*words)
        assert done.err.count("pairs events of different times") == 1, words


def test_the_column_of_times_is_one_that_is_used(tmp_path, workbench):
    (tmp_path / "p.pipe").write_text("pipeline p(x: int) -> int { return x }")
    (tmp_path / "in.csv").write_text("t,x\n1,2\n")
    given = ["run", tmp_path / "p.pipe", "--input", tmp_path / "in.csv", "--columns"]
    assert [line.split()[-2:] for line in workbench(*given).out.splitlines()[2:]] == [["0", "ignored"], ["x:", "int"]]
    timed = workbench(*given, "--time", "t").out.splitlines()[2:]
    assert [line.split()[-3:] for line in timed] == [["t:", "a", "time"], ["0", "x:", "int"]]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_rows_that_lack_an_event_of_a_join_are_reported(backend: str, workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text("pipeline p(x: int, y: int) -> int { return x + y }")
    (tmp_path / "q.pipe").write_text("pipeline q(x: int, y: int) -> int, int { return x + x, y }")
    few, many = "x,y\n1,2\n3,\n5,6\n7,8\n", "x,y\n1,\n,3\n5,\n,8\n"
    (tmp_path / "one.pipe").write_text("pipeline one(y: int) -> int { return y + trim(y, 1) }")  # it meets itself only
    for text, pipe, reported in ((few, "p", True), (few, "q", False), (many, "p", False), (few, "one", False)):
        (tmp_path / "in.csv").write_text(text)
        given = (tmp_path / f"{pipe}.pipe", "--input", tmp_path / "in.csv", "--output", tmp_path / "out.csv")
        done = workbench("run", *given, "--backend", backend)
        assert done.code == 0
        assert ("1 of 8 events of inputs are missing" in done.err) is reported


@pytest.mark.parametrize(
    ("text", "head", "null", "note"),
    [
        (
            "x: str",
            "x,c",
            (),
            "column x is empty there (--null zero reads an empty cell as the empty text; --null error",
        ),
        (
            "x: str, c: bool",
            "x,c",
            (),
            "columns x, c are empty there (--null zero reads an empty cell as the empty text or false;",
        ),
        (
            "x: {a, b}",
            "x,c",
            ("--null", "zero"),
            "column x is empty there (--null zero has no value for it; --null error",
        ),
        ("x: {a, b}", "x,c", (), "column x is empty there (--null error stops"),
        ("x: {d: int, c: int}", "d,c", (), "input x is empty there (--null error stops"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--backend", "reference"), ("--carry", "t"), ("--key", "t"), ("--time", "t")])
def test_rows_without_an_event_are_reported(text, head, null, note, options, workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(f"pipeline p({text}) -> int {{ return turn(x, 1) }}")
    row = "4,5" if "d" in head else "a,true"
    (tmp_path / "in.csv").write_text(f"t,{head}\n1,{row}\n1,,\n1,{row}\n")
    given = ("--input", tmp_path / "in.csv", "--output", tmp_path / "out.csv")
    done = workbench("run", tmp_path / "p.pipe", *given, *null, *options)
    assert (done.code, f"1 of 3 rows has no event: {note}" in done.err) == (0, True), done.err


@pytest.mark.parametrize(("text", "options"), [("x,y\n1,\n,3\n5,\n,8\n", []), ("x,y\n1,2\n,\n3,4\n", ["--steps"])])
def test_no_row_is_lost(text: str, options: list[str], workbench: Run, tmp_path: Path) -> None:
    """It has an event of another input, or is in the output."""
    (tmp_path / "p.pipe").write_text("pipeline p(x: int, y: int) -> int, int { return x, y }")
    (tmp_path / "in.csv").write_text(text)
    assert workbench("run", tmp_path / "p.pipe", "--input", tmp_path / "in.csv", *options).err == ""


def test_dates_that_are_read_as_numbers_are_no_error_of_their_column(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text("pipeline p(at: int) -> int { return at }")
    (tmp_path / "in.csv").write_text("at\n2026-11-29T09:00:07\n2026-11-29T09:00:30\n")
    inspect = ("run", tmp_path / "p.pipe", "--input", tmp_path / "in.csv", "--columns")
    assert workbench(*inspect, "--time-format", "auto").out.endswith("at      texts  0      at: int\n")
    assert "at: int (row 1: expected a whole number, not '2026-11-29T09:00:07')" in workbench(*inspect).out
