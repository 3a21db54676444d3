"""`auto` gives what the reference executor gives, also where a number has more than 64 bits or something overflows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.conftest import Run, program

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

PROGRAMS = {
    "product": "pipeline p(x: int) -> int { return cumulate(x, *) }",
    "shift": "pipeline p(x: int) -> int { return x * 4000000000000000000 }",
    "two outputs": "pipeline p(x: int) -> a: int, b: bool { return cumulate(x, *), x > 2 }",
    "window": "pipeline p(x: int) -> int { return window(x, 100, cumulate(*)) }",
    "last": "pipeline p(x: int) -> int { return keep_last(cumulate(x, *)) }",
    "late": "pipeline p(x: int) -> int { return keep_last(x) * 5000000000000000000 }",
}
"""The first result of more than 64 bits comes early, late, or at the end of the log."""
FAILING = {
    "checked": "pipeline p(x: int) -> any { return window(cast(x, int checked 45), 20, cumulate(+)) }",
    "range": "pipeline p(x: int) -> any { return cast(window(x, 20, cumulate(+)), 0..44) }",
    "queue": "pipeline p(x: int) -> int { y = x - filter(x, x > 2) capacity queue(y.left) = 30 return y }",
    "pending": "pipeline p(x: int) -> bool { return eventually(window(x, 8, cumulate(+)) > 20, 60) }",
}
"""What overflows after a while."""
ROWS = 400


@pytest.fixture(params=[*PROGRAMS, *FAILING])
def text(request: pytest.FixtureRequest) -> str:
    return {**PROGRAMS, **FAILING}[request.param]


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file is long enough for machine code."""
    monkeypatch.setattr("workbench.executors.backends.compiled.START", 0)


def numbers() -> list[int]:
    return [*random.Random(1).choices((1, 2, 3), k=ROWS - 1), 2]


def batches(columns: Mapping[str, list[int]]) -> Any:
    """A table in small batches: what runs it gets several blocks."""
    whole = pa.table(columns)
    return pa.Table.from_batches([whole.slice(at, 64).combine_chunks().to_batches()[0] for at in range(0, ROWS, 64)])


DATA: dict[str, Callable[[list[int]], Any]] = {
    "lists": lambda xs: {"x": xs},
    "arrays": lambda xs: {"x": np.array(xs)},
    "batches": lambda xs: batches({"x": xs}),
    "rows": lambda xs: [{"x": x} for x in xs],
    "iterator": lambda xs: ({"x": x} for x in xs),
    "reader": lambda xs: batches({"x": xs}).to_reader(),
}


def outcomes(run: Callable[[str], Any]) -> list[Any]:
    """What comes of a run on `auto` and on the reference executor, as plain data, or its error."""
    found: list[Any] = []
    for backend in ("auto", "reference"):
        try:
            made = run(backend)
            made = made.read_all() if hasattr(made, "read_all") else made
            shown = {name: list(column) for name, column in made.items()} if isinstance(made, Mapping) else list(made)
            found.append(made.to_pylist() if hasattr(made, "to_pylist") else shown)
        except Exception as error:
            found.append((type(error), str(error)))
    return found


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", DATA)
def test_data(text: str, kind: str) -> None:
    p = wb.parse(text).get()
    found, right = outcomes(lambda backend: wb.run(p, DATA[kind](numbers()), backend=backend))
    assert found == right


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["batches", "rows", "reader"])
def test_keys(text: str, kind: str) -> None:
    p, xs = wb.parse(text).get(), numbers()
    keys = random.Random(2).choices((7, 8, 9), k=ROWS)
    made: dict[str, Callable[[], Any]] = {
        "batches": lambda: batches({"x": xs, "k": keys}),
        "rows": lambda: [{"x": x, "k": k} for x, k in zip(xs, keys, strict=True)],
        "reader": lambda: batches({"x": xs, "k": keys}).to_reader(),
    }
    found, right = outcomes(lambda b: wb.run(p, made[kind](), key="k", with_row=True, backend=b))
    assert found == right


def written(path: Path, xs: list[int]) -> Path:
    rows = [{"k": number % 3, "x": x} for number, x in enumerate(xs)]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("k,x\n" + "".join(f"{row['k']},{row['x']}\n" for row in rows))
    return path


@pytest.mark.sampled(6)
@pytest.mark.usefixtures("long")
@pytest.mark.parametrize(
    "options", [[], ["--key", "k", "--with-row"], ["--bad-rows", "skip"], ["--threads", "2"]], ids=str
)
@pytest.mark.parametrize(("format", "large"), [("csv", None), ("jsonl", 150)])
def test_files(workbench: Run, tmp_path: Path, text: str, format: str, options: list[str], large: int | None) -> None:
    """Also where a number of the log has more than 64 bits."""
    xs = numbers() if large is None else [*numbers()[:large], 2**70, *numbers()[large:]]
    log, pipeline = written(tmp_path / f"log.{format}", xs), tmp_path / "p.pipe"
    pipeline.write_text(text)
    done = workbench("run", pipeline, "--input", log, *options)
    others = [each for each in options if each not in ("--threads", "2")]
    right = workbench("run", pipeline, "--input", log, "--backend", "reference", *others)
    assert (done.code, done.out) == (right.code, right.out)
    assert right.out or "queue" in right.err
    first, *told = (line for line in done.err.splitlines() if "one thread runs it" not in line)
    assert first.startswith("workbench: chose backend compiled, the fastest for ")
    if text in PROGRAMS.values():
        assert any(line.startswith("workbench: continuing on the reference backend: ") for line in told)
    assert [line for line in told if "continuing on the reference backend" not in line] == right.err.splitlines()


def test_data_in_memory_are_run_by_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few they are; iterables of rows, which come one by one, are not."""
    chosen = list[str]()
    monkeypatch.setattr("workbench.runner.pipelines.report_choice", lambda row, *_: chosen.append(row.name))
    p = wb.parse(PROGRAMS["product"]).get()
    assert list(wb.run(p, {"x": np.array([2, 3])})["out"]) == [2, 6]
    assert chosen == ["compiled"]


@pytest.mark.slow
def test_a_pipe_and_a_short_file_begin_at_once(workbench: Run, tmp_path: Path) -> None:
    """With the reference executor, unless it is asked for several threads."""
    others = "pipeline q(b: bool) -> bool { return not b }\npipeline r(b: bool) -> bool { return globally(b, 70) }\n"
    (tmp_path / "p.pipe").write_text(f"{PROGRAMS['product']}\n{others}")
    for name, log, out in (
        ("p", "x\n" + "3\n" * 70, str(3**70)),
        ("q", "b\ntrue\n", "false"),
        ("r", "b\nfalse\n", "false"),
    ):
        done = program(
            "run", f"{tmp_path / 'p.pipe'}:{name}", "--input", "-", "--format", "csv", "--backend", "auto", stdin=log
        )
        assert (done.code, done.out.split()[-1], done.err) == (0, out, "")
        (tmp_path / "log.csv").write_text(log)
        given = ("run", f"{tmp_path / 'p.pipe'}:{name}", "--input", tmp_path / "log.csv")
        assert (workbench(*given).out.split()[-1], workbench(*given).err) == (out, "")
        assert "chose backend compiled, the fastest for 2 threads" in workbench(*given, "--threads", "2").err
