"""`--state`: cut a run anywhere, go on from its state, and the files are those of one run."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from tests.runner.random_runs import outcome, random_run, without
from workbench.budget import Remaining
from workbench.core.domain import Integer, Overflowing
from workbench.errors import InputError, LimitMet, Refused, StateError
from workbench.executors.table import STATE, backend_rows
from workbench.runner import batching, state

ROOT = Path(__file__).resolve().parents[2]
SUM = wb.parse("pipeline p(x: int) -> int { return cumulate(x, +) }").get().pipeline
LAST = wb.parse("pipeline p(x: int) -> int { return window(x, 3, cumulate(+)) }").get().pipeline
PAIRS = wb.rules.parse_rules(
    "declare C(n: int)\ndeclare Pair(m: int, n: int)\n"
    "rule pair: from C as Y and last C as X within 50 from Y emit Pair(m = X.n, n = Y.n)"
)
QUIET = wb.rules.parse_rules(
    "declare C(n: int)\ndeclare D(n: int)\ndeclare Quiet(n: int)\n"
    "rule quiet: from C and absent D within 20 after C emit Quiet(n = C.n)"
)


def log(path, *values, name="x"):
    path.write_text(f"{name}\n" + "".join(f"{value}\n" for value in values))
    return path


def first(rows: int | None) -> Any:
    """The option that cuts a run; None: it is not cut."""
    return {} if rows is None else {"head": rows}


def lines(path):
    return path.read_text().splitlines()


@pytest.fixture
def files(tmp_path):
    """A log, an output and a state."""
    return log(tmp_path / "log.csv", *range(1, 11)), tmp_path / "out.csv", tmp_path / "run.state"


# --- the law ----------------------------------------------------------------------------------------------------


def left_by(found):
    """What a run leaves, under the names that it has been given; nothing of what has no rows, where it failed."""
    files = {name.removeprefix("unfinished."): each for name, each in found.items() if name not in ("out", "err")}
    return {name: each for name, each in files.items() if name == "code" or has_rows(name, each, failed=found["code"])}


def has_rows(name, content, *, failed):
    """Whether a file has any; a run that fails leaves no line of names alone, if no other run has written it."""
    return content.count(b"\n") > 1 if failed and name.endswith(("csv", "tsv")) else bool(content)


def see_cut(seed, folder):
    """Cut a random run, of one log where rules run it, some times after some rows."""
    run, random = random_run(seed), Random(seed)
    if run.program == "rules":
        run = replace(run, logs=run.logs[:1])
    form = run.form if run.form != "csv.gz" else "csv"
    output = run.output if run.output in ("csv", "tsv", "jsonl", "logfmt") else "csv"
    run = replace(run, form=form, output=output, options=without(run.options, "--head"))
    command = run.command(folder)
    whole = left_by(outcome(command, folder))
    command += ["--state", "run.state"]
    for cut in range(random.choice([1, 2, 3])):
        found = outcome([*command, "--head", str(random.choice([1, 3, 60, 500]))], folder, afresh=not cut)
        if found["code"]:
            break
    for _ in range(2):  # and nothing more the second time
        found = left_by(outcome(command, folder, afresh=False))
        assert read_equally_far(found, whole) == read_equally_far(whole, found)


def read_equally_far(found, other):
    """What a run leaves, without the bad rows that the other one has not met: one that fails may have read ahead."""
    name = next((name for name in found if name.startswith("bad.")), "")
    return found | {name: found[name][: len(other[name])]} if found["code"] and name in other else found


@given(seed=st.integers(0, 10**9))
@example(seed=494)
@example(seed=746)
@example(seed=1500)
@examples(24)
def test_a_random_run_is_cut_anywhere(seed, tmp_path_factory):
    see_cut(seed, tmp_path_factory.mktemp("cut"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_many_runs_are_cut_anywhere(seed, tmp_path):
    see_cut(seed, tmp_path)


HAVE_STATE = [row.name for row in backend_rows().values() if STATE in row.options]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("cut", [1, 4, 9])
@pytest.mark.parametrize("key", [{}, {"key": "k"}], ids=["", "key"])
@pytest.mark.parametrize("backend", [name for name in HAVE_STATE if "pipeline" in backend_rows()[name].kinds])
def test_every_backend_of_pipelines(backend, key, cut, tmp_path):
    if backend == "compiled":
        pytest.importorskip("numba")
    source, whole, out = tmp_path / "log.csv", tmp_path / "whole.csv", tmp_path / "out.csv"
    source.write_text("k,x\n" + "".join(f"{'uv'[n % 3 % 2]},{n}\n" for n in range(10)))
    wb.run(LAST, source, output=whole, backend=backend, **key)
    for head in (cut, None):
        wb.run(LAST, source, output=out, backend=backend, state=tmp_path / "s", **key, **first(head))
    assert out.read_bytes() == whole.read_bytes()
    assert len(lines(out)) > 2


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "options", [{}, {"key": "k"}, {"with_sources": True}, {"passed": ["C"]}], ids=["", "key", "sources", "passed"]
)
@pytest.mark.parametrize("backend", [name for name in HAVE_STATE if "rule set" in backend_rows()[name].kinds])
@pytest.mark.parametrize("rules", [PAIRS, QUIET], ids=["pairs", "quiet"])
def test_every_engine_of_rules(rules, backend, options, tmp_path):
    for package in backend_rows()[backend].needs:
        pytest.importorskip(package)
    source, whole, out = tmp_path / "log.csv", tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    rows = [("D" if n % 7 == 5 and rules is QUIET else "C", 10 * n + 13 * (n % 3), n, "uv"[n % 2]) for n in range(30)]
    source.write_text("type,time,n,k\n" + "".join(f"{t},{time},{n},{k}\n" for t, time, n, k in rows))
    said: Any = {"backend": backend, "late": "30", "until": "1000", **options}
    wb.run(rules, source, output=whole, **said)
    for head in (1, 10, 6, None):
        wb.run(rules, source, output=out, state=tmp_path / "s", **said, **first(head))
    assert out.read_bytes() == whole.read_bytes()
    assert len(lines(out)) > 5


# --- where a run stops ------------------------------------------------------------------------------------------


def test_a_row_that_cannot_be_read_is_mended(files):
    source, out, saved = files
    log(source, 1, 2, "oops", 4)
    with pytest.raises(InputError, match="oops") as error:
        wb.run(SUM, source, output=out, state=saved)
    assert f"the state is in {saved}" in error.value.__notes__[0]
    assert lines(out) == ["out", "1", "3"]
    log(source, 1, 2, 3, 4)
    wb.run(SUM, source, output=out, state=saved)
    assert lines(out) == ["out", "1", "3", "6", "10"]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("key", [{}, {"key": "k"}], ids=["", "key"])
def test_a_row_that_cannot_be_run_is_mended(backend, key, tmp_path):
    """Sums leave 0..15."""
    if backend == "compiled":
        pytest.importorskip("numba")
    source, out = tmp_path / "log.csv", tmp_path / "out.csv"
    said = {"output": out, "state": tmp_path / "s", "backend": backend, **key}
    said["integers"] = Integer(16, Overflowing.CHECKED)
    source.write_text("k,x\nu,3\n,\nu,1\nu,13\nu,2\n")
    with pytest.raises(wb.WorkbenchError) as error:
        wb.run(SUM, source, **said)
    assert f"the state is in {tmp_path / 's'}" in error.value.__notes__[0]
    assert [line.rpartition(",")[2] for line in lines(out)] == ["out", "3", "4"]
    source.write_text("k,x\nu,3\n,\nu,1\nu,10\nu,1\n")
    wb.run(SUM, source, **said)
    assert [line.rpartition(",")[2] for line in lines(out)] == ["out", "3", "4", "14", "15"]


def test_rules_at_a_row_that_comes_too_late(tmp_path):
    source, out = tmp_path / "log.csv", tmp_path / "out.jsonl"
    said = {"output": out, "state": tmp_path / "s", "late": "5"}
    source.write_text("type,time,n\nC,10,1\nC,20,2\nC,40,3\nC,34,4\nC,50,5\n")
    with pytest.raises(InputError, match=r"of 34 \(event 4\) came later"):
        wb.run(PAIRS, source, **said)
    source.write_text("type,time,n\nC,10,1\nC,20,2\nC,40,3\nC,36,4\nC,50,5\n")
    wb.run(PAIRS, source, **said)
    assert [(row["m"], row["n"]) for row in map(json.loads, lines(out))] == [(1, 2), (2, 4), (4, 3), (3, 5)]


def test_a_limit_of_time_comes_between_batches(files, monkeypatch):
    source, out, saved = files
    monkeypatch.setattr(batching, "FIRST", 4)
    with monkeypatch.context() as patched:
        patched.setattr(state, "remaining", lambda: Remaining(0.0, None, 1.0, None))
        with pytest.raises(LimitMet, match="time limit of 1 s"):
            wb.run(SUM, source, output=out, state=saved)
    assert lines(out) == ["out", "1", "3", "6", "10"]
    wb.run(SUM, source, output=out, state=saved)
    assert lines(out)[1:] == list(map(str, itertools.accumulate(range(1, 11))))


def test_ctrl_c_saves_the_state(tmp_path):
    """Of a log that has no end yet."""
    out, saved = tmp_path / "out.csv", tmp_path / "run.state"
    (tmp_path / "p.pipe").write_text("pipeline p(x: int) -> int { return cumulate(x, +) }")
    command = [sys.executable, "-m", "workbench.cli.main", "run", "p.pipe", "--input", "-", "--output", str(out)]
    command += ["--state", str(saved)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("x\n1\n2\n")
        process.stdin.flush()
        while process.poll() is None and not (out.exists() and out.read_text().endswith("3\n")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert f"the state is in {saved}" in said
    wb.run(wb.load(tmp_path / "p.pipe"), log(tmp_path / "more.csv", 4), output=out, state=saved)
    assert lines(out) == ["out", "1", "3", "7"]


def test_a_run_that_was_killed_leaves_rows_that_are_made_once_more(files):
    source, out, saved = files
    wb.run(SUM, source, output=out, state=saved, head=3)
    with out.open("a") as written:
        written.write("10\n15\n2")
    wb.run(SUM, source, output=out, state=saved)
    assert lines(out)[1:] == list(map(str, itertools.accumulate(range(1, 11))))


# --- logs that grow, and those that are read once -----------------------------------------------------------------


def test_a_log_that_has_grown_is_gone_on_with(files):
    source, out, saved = files
    wb.run(SUM, source, output=out, state=saved)
    log(source, *range(1, 13))
    wb.run(SUM, source, output=out, state=saved)
    assert lines(out)[1:] == list(map(str, itertools.accumulate(range(1, 13))))


def test_files_of_a_folder_grow_and_come(tmp_path):
    folder, out, saved = tmp_path / "logs", tmp_path / "out.csv", tmp_path / "s"
    folder.mkdir()
    log(folder / "1.csv", 1, 2), log(folder / "2.csv", 3)
    wb.run(SUM, folder, output=out, state=saved)
    log(folder / "1.csv", 1, 2, 10), log(folder / "3.csv", 20)
    wb.run(SUM, folder, output=out, state=saved)
    assert lines(out) == ["out", "1", "3", "6", "16", "36"]


def test_nothing_goes_on_behind_what_the_end_has_brought_out(tmp_path):
    """The second event waits until the log has ended."""
    source, out, saved = tmp_path / "log.csv", tmp_path / "out.csv", tmp_path / "s"
    source.write_text("type,time,n\nC,10,1\nC,12,2\n")
    said = {"output": out, "state": saved, "late": "5"}
    wb.run(PAIRS, source, **said)
    wb.run(PAIRS, source, **said)
    assert len(lines(out)) == 2
    source.write_text("type,time,n\nC,10,1\nC,12,2\nC,30,3\n")
    with pytest.raises(StateError, match="output for its end has been written"):
        wb.run(PAIRS, source, **said)
    assert len(lines(out)) == 2


def test_what_is_no_file_goes_on_with_what_comes(tmp_path):
    saved = tmp_path / "s"
    assert wb.run(SUM, {"x": [1, 2]}, state=saved) == {"out": [1, 3]}
    assert list(wb.run(SUM, iter([{"x": 3}, {"x": 4}]), state=saved)) == [{"out": 6}, {"out": 10}]
    assert wb.run(SUM, [{"x": 5}], state=saved) == [{"out": 15}]


def test_rows_that_are_held_back_are_in_the_state(tmp_path):
    """Behind 20 the watermark is 10, so that 12 and 20 wait; then 14 comes between them."""
    rows = [{"type": "C", "time": time, "n": n} for n, time in enumerate([5, 12, 20, 14, 40])]
    found = list(wb.run(PAIRS, iter(rows[:3]), state=tmp_path / "s", late="10", head=3))
    found += wb.run(PAIRS, iter(rows[3:]), state=tmp_path / "s", late="10")
    assert found == list(wb.run(PAIRS, iter(rows), late="10"))
    assert [(row["m"], row["n"]) for row in found] == [(0, 1), (1, 3), (3, 2), (2, 4)]


def test_outputs_in_files_of_their_own(tmp_path):
    both = wb.parse("pipeline p(x: int) -> a: int, b: int { return cumulate(x, +), cumulate(x, max) }").get().pipeline
    source, out = log(tmp_path / "log.csv", 3, 1, 4), {name: tmp_path / f"{name}.csv" for name in "ab"}
    for head in (1, 1, 1):
        wb.run(both, source, output=out, state=tmp_path / "s", head=head)
    assert [lines(out[name]) for name in "ab"] == [["a", "3", "4", "8"], ["b", "3", "3", "4"]]


def test_a_row_that_comes_too_late_is_told_once(tmp_path):
    source, late = tmp_path / "log.csv", tmp_path / "late.jsonl"
    times = [10, 20, 12, 30, 21, 40]
    source.write_text("type,time,n\n" + "".join(f"C,{time},{n}\n" for n, time in enumerate(times)))
    said = {"output": tmp_path / "out.csv", "state": tmp_path / "s", "late": "5", "late_output": late}
    for head in (4, 1):
        wb.run(PAIRS, source, head=head, **said)
    wb.run(PAIRS, source, **said)
    assert [json.loads(line)["time"] for line in lines(late)] == [12, 21]


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        (LAST, {}, "another program"),
        (SUM, {"key": "x"}, "without --key"),
        (SUM, {"null": "error"}, "with --null absent"),
        (SUM, {"backend": "threaded"}, "of the reference backend"),
    ],
    ids=["program", "key", "null", "backend"],
)
def test_the_state_of_another_run(program, options, message, files):
    source, out, saved = files
    wb.run(SUM, source, output=out, state=saved, head=2)
    before = saved.read_bytes(), out.read_bytes()
    with pytest.raises(StateError, match=message) as error:
        wb.run(program, source, output=out, state=saved, **options)
    assert "name another --state" in error.value.hint
    assert (saved.read_bytes(), out.read_bytes()) == before


@pytest.mark.parametrize(
    "damage", [lambda data: data[:50], lambda data: data[:-1] + b"?", lambda _: b"", lambda _: b"x"]
)
def test_a_damaged_state(damage, files):
    source, out, saved = files
    wb.run(SUM, source, output=out, state=saved, head=2)
    saved.write_bytes(damage(saved.read_bytes()))
    with pytest.raises(StateError, match=r"damaged|no state"):
        wb.run(SUM, source, output=out, state=saved)
    assert lines(out) == ["out", "1", "3"]


@pytest.mark.parametrize(
    ("values", "message"),
    [([1, 7, 3], "row 2 has changed"), ([1], "fewer rows than the 2")],
    ids=["other", "fewer"],
)
def test_another_log(values, message, files):
    source, out, saved = files
    wb.run(SUM, source, output=out, state=saved, head=2)
    with pytest.raises(StateError, match=message):
        wb.run(SUM, log(source, *values), output=out, state=saved)


def test_an_output_that_has_lost_rows(files):
    source, out, saved = files
    wb.run(SUM, source, output=out, state=saved, head=2)
    out.unlink()
    with pytest.raises(StateError, match="have written 8 bytes here, but there are 0"):
        wb.run(SUM, source, output=out, state=saved)


@pytest.mark.parametrize("name", ["out.parquet", "out.csv.gz"])
def test_an_output_that_one_run_writes(name, files):
    source, out, saved = files
    with pytest.raises(InputError, match="what several runs write"):
        wb.run(SUM, source, output=out.with_name(name), state=saved)
    assert not saved.exists()
    assert not out.with_name(name).exists()


WITHOUT_STATE = [row for row in backend_rows().values() if row.runs and STATE not in row.options]


@pytest.mark.parametrize("row", [row for row in WITHOUT_STATE if "pipeline" in row.kinds], ids=lambda row: row.name)
def test_a_backend_without_state(row, files):
    source, out, saved = files
    with pytest.raises(InputError, match=f"not for the {row.name} backend: --state"):
        wb.run(SUM, source, output=out, state=saved, backend=row.name)
    assert not out.exists()


@pytest.mark.parametrize(
    "options", [{"matches": "count"}, {"rules_control": [{"time": 1, "do": "remove", "rule": "pair"}]}], ids=str
)
def test_a_run_without_state(options, tmp_path):
    source = tmp_path / "log.csv"
    source.write_text("type,time,n\nC,10,1\n")
    with pytest.raises(Refused, match="cannot be saved in such a run"):
        wb.run(PAIRS, source, output=tmp_path / "out.csv", state=tmp_path / "s", **options)
    assert not (tmp_path / "out.csv").exists()


def test_a_pipeline_whose_rows_are_put_in_order(files):
    source, out, saved = files
    with pytest.raises(InputError, match="--state and --time cannot be combined"):
        wb.run(SUM, source, output=out, state=saved, time="x")
    assert not out.exists()
