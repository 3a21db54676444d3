"""A run for each key of a log: what comes out is what each key's rows alone give, in the order of the log's rows."""

import gzip
import io
import itertools
import json
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.errors import InputError, Refused, WorkbenchError
from workbench.events import lines as text_lines
from workbench.events import typed
from workbench.events.values import to_json
from workbench.executors.compiled.execute.columns import column
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.keyed import keys as numbering
from workbench.executors.compiled.keyed.executor import CompiledKeys
from workbench.executors.compiled.keyed.tables import make_compiled_keys
from workbench.executors.reference.executor import Reference

BACKENDS = ["reference", "threaded", "compiled"]
TEXT = """
pipeline sums(x: int) -> int { return cumulate(x, +) }
pipeline late(x: int, y: int) -> int { return x + trim(y, 2) }
pipeline several(x: int, y: int) -> a: int, b: bool, c: float { return stutter(x, 2), y > 1, x * 0.1 }
pipeline last(x: int, y: int) -> a: int, b: int { return keep_last(x), window(y, 3, cumulate(+)) }
pipeline wide(x: int, y: int) -> a: int, b: int { return window(x, 20, cumulate(max)), y }
pipeline pairs(x: int, y: int) -> (int, int) { return (x, y) }
function itself(x) = x
pipeline count(x: int) -> int { return cumulate(turn(x, 1), +) }
pipeline counts(x: int) -> map(int, int) { return slice(x, itself, count) }
pipeline growing(x: int, y: int) -> int { return x + decimate(y, 2) }
"""
SOURCE = wb.parse(TEXT)


class Alone:
    """Each key's rows alone in the reference executor."""

    def __init__(self, pipeline, rows):
        self.shown, self.error_row = [], None
        runs = defaultdict(lambda: Reference(pipeline))
        for number, (key, events) in enumerate(rows, 1):
            try:
                self.add(key, number, runs[key].step(events).outputs)
            except WorkbenchError:
                self.error_row = f"row {number} of "
                return
        for key, run in runs.items():
            try:
                self.add(key, None, run.end())
            except WorkbenchError:
                self.error_row = "the end of "
                return

    def add(self, key, row, outputs):
        for i in range(max(map(len, outputs.values()), default=0)):
            events = {name: values[i] for name, values in outputs.items() if i < len(values)}
            self.shown.append((key, row, events))


def written(pipeline, rows, path):
    """Rows as JSON lines."""
    domains = pipeline.ports.domains
    lines = [{"user": key, **{n: to_json(v, domains[n]) for n, v in events.items()}} for key, events in rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def lines(alone, pipeline):
    """What the command writes."""
    shown = pipeline.ports.outputs_by_name
    return [
        {"user": key, **({} if row is None else {"row": row}), **{n: to_json(v, shown[n]) for n, v in events.items()}}
        for key, row, events in alone.shown
    ]


@given(data=st.data())
@examples(60)
def test_every_backend_gives_each_key_what_its_rows_alone_give(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("keyed")
    pipeline = data.draw(pipelines(max_nodes=4))
    if "row" in pipeline.ports.outputs_by_name or "user" in {*pipeline.ports.outputs_by_name, *pipeline.ports.domains}:
        return
    steps = data.draw(traces(pipeline, max_steps=12))
    steps = [step for step in steps if isinstance(step, dict)]
    if steps and not any(steps):  # a log in which no row has any input is an error
        return
    users = data.draw(st.lists(st.sampled_from("abc"), min_size=len(steps), max_size=len(steps)))
    rows = list(zip(users, steps, strict=True))
    written(pipeline, rows, folder / "in.jsonl")
    expected = Alone(pipeline, rows)
    failed = {}
    for backend in BACKENDS:
        try:
            wb.run(
                pipeline, folder / "in.jsonl", output=folder / "out.jsonl", backend=backend, key="user", with_row=True
            )
        except Refused:
            assert backend == "compiled"
            continue
        except WorkbenchError as error:
            told = re.match(r"user '.', (row \d+ of |the end of )", error.what)
            failed[backend] = told[1] if told else error
            continue
        failed[backend] = None
        found = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        assert found == json.loads(json.dumps(lines(expected, pipeline))), backend
    assert set(failed.values()) == {expected.error_row}


def as_rows(made, codes, keys, start):
    """What a piece gave, as `Alone.shown` has it."""
    found = {}
    for name, output in made.outputs.items():
        for step, value in zip(output.steps.tolist(), output.events(), strict=True):
            found.setdefault(step, {}).setdefault(name, []).append(value)
    return [
        (keys[int(codes[step])], None if start is None else start + step + 1, each)
        for step in sorted(found)
        for each in [
            {n: v[i] for n, v in found[step].items() if i < len(v)} for i in range(max(map(len, found[step].values())))
        ]
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("gaps", "threads"), [(False, 1), (True, 3)])
@pytest.mark.parametrize("name", ["late", "several", "last", "growing"])
def test_machine_code_over_the_rows_of_many_keys(name, gaps, threads):
    """In pieces, the first ones without gaps: queues get the room that they need on the way."""
    pipeline, random = SOURCE.get(name).pipeline, np.random.default_rng(5)
    size, keys = 3000, 40
    codes = random.integers(0, keys, size)
    _, codes = np.unique(codes, return_inverse=True)
    order = {code: i for i, code in enumerate(dict.fromkeys(codes.tolist()))}
    codes = np.array([order[code] for code in codes.tolist()])
    events = {n: random.integers(-9, 9, size).tolist() for n in pipeline.ports.domains}
    there = {n: (random.random(size) < 0.8) | (np.arange(size) < 1000) | (not gaps) for n in events}
    steps = [{n: v[i] for n, v in events.items() if there[n][i]} for i in range(size)]
    expected = Alone(pipeline, list(zip(codes.tolist(), steps, strict=True)))
    run, found = CompiledKeys(Compiled(pipeline), threads=threads, warm_up_steps=-1, costly=0), []
    for first in range(0, size, 700):
        part = slice(first, first + 700)
        given = {
            n: column(n, d, events[n][part], there[n][part] if gaps and first >= 700 else None)
            for n, d in pipeline.ports.domains.items()
        }
        made = run.feed(codes[part], given, int(codes[: part.stop].max()) + 1)
        assert made.wrong is None
        found += as_rows(made, codes[part], range(keys), first)
    found += as_rows(run.finish(), np.arange(keys), range(keys), None)
    assert found == expected.shown


def test_tables_that_grow_are_put_in_and_out():
    pipeline = SOURCE.get("counts").pipeline
    codes = np.arange(4000) % 3
    values = [(i * 7) % 90 * 1000 for i in range(4000)]
    expected = Alone(pipeline, [(int(c), {"x": x}) for c, x in zip(codes, values, strict=True)])
    run, found = make_compiled_keys(Compiled(pipeline)), []
    for first in (0, 2500):
        part = slice(first, 2500 if not first else 4000)
        made = run.feed(codes[part], {"x": column("x", wb.INT, values[part])}, 3)
        found += as_rows(made, codes[part], range(3), first)
    assert found + as_rows(run.finish(), np.arange(3), range(3), None) == expected.shown


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_names_key_row_and_file(backend, tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "SIZE", 16)
    monkeypatch.setattr(text_lines, "MIN_COLUMN_BYTES", 0)
    (tmp_path / "p.pipe").write_text(
        "pipeline p(x: int, y: int) -> int{ z = x + y capacity queue(z.left) = 1 capacity queue(z.right) = 1 return z }"
    )
    (tmp_path / "in.csv").write_text("user,x,y\na,1,\nb,1,\na,1,1\nb,,1\na,2,\na,5,\nb,1,1\n")
    with pytest.raises(WorkbenchError, match=r"user 'a', row 5 of .*in.csv: step 2: queue 'z.left' .* overflows"):
        wb.run(tmp_path / "p.pipe", tmp_path / "in.csv", output=tmp_path / "out.csv", backend=backend, key="user")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_rows_without_a_key(backend, form, tmp_path, monkeypatch):
    """Those in which nothing is are passed over, and counted."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(text_lines, "SIZE", 16)
    monkeypatch.setattr(text_lines, "MIN_COLUMN_BYTES", 0)
    monkeypatch.setattr(typed, "LARGE", 2)
    rows = [("a", 1), (None, None), ("b", 5), ("a", None), ("a", 2)]

    def log(rows):
        users, xs = zip(*rows, strict=True)
        if form == "parquet":
            parquet.write_table(
                pa.table({"user": pa.array(users), "x": pa.array(xs, pa.int64())}), tmp_path / "in.parquet"
            )
        elif form == "csv":
            cells = "".join(f"{'' if u is None else u},{'' if x is None else x}\n" for u, x in rows)
            (tmp_path / "in.csv").write_text("user,x\n" + cells)
        else:
            (tmp_path / "in.jsonl").write_text("".join(json.dumps({"user": u, "x": x}) + "\n" for u, x in rows))

    log(rows)
    given = (SOURCE.get("sums").pipeline, tmp_path / f"in.{form}")
    wb.run(*given, output=tmp_path / "out.csv", backend=backend, key="user", with_row=True)
    assert (tmp_path / "out.csv").read_text() == "user,row,out\na,1,1\nb,3,5\na,5,3\n"
    log([*rows, (None, 4), ("a", 1)])
    with pytest.raises(InputError, match="row 6 has no 'user'"):
        wb.run(*given, output=tmp_path / "out.csv", backend=backend, key="user")


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("warm_up_steps", [0, 10**9], ids=["machine", "python"])
def test_keys_of_parquet_keep_their_type(backend, warm_up_steps, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(typed, "LARGE", 50)
    monkeypatch.setattr(numbering, "WARM_UP_ROWS", warm_up_steps)
    random = np.random.default_rng(3)
    whole = random.integers(-(2**62), 2**62, 30)[random.integers(0, 30, 500)].tolist()
    texts = [f"{'é' * (key % 20)}{key}" for key in whole]
    for keys in (whole, texts, [key % 2 == 0 for key in whole]):
        parquet.write_table(pa.table({"k": keys, "x": list(range(500)), "z": texts}), tmp_path / "in.parquet")
        wb.run(
            SOURCE.get("sums").pipeline, tmp_path / "in.parquet", output=tmp_path / "out.parquet",
            backend=backend, key="k", with_row=True,
        )  # fmt: skip
        found, sums = parquet.read_table(tmp_path / "out.parquet").to_pydict(), {}
        for i, key in enumerate(keys):
            sums[key] = sums.get(key, 0) + i
            assert (found["k"][i], found["row"][i], found["out"][i]) == (key, i + 1, sums[key])


PACKINGS: Any = {"": bytes, ".gz": gzip.compress}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_whole_numbers_are_keys_in_packed_files_and_dictionaries_too(packing, form, dictionary, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    keys, data, path = pa.array([3, 5, 3]), io.BytesIO(), tmp_path / f"in.{form}{packing}"
    table = pa.table({"k": keys.dictionary_encode() if dictionary else keys, "x": [1, 10, 2]})
    if form == "parquet":
        parquet.write_table(table, data)
    else:
        with (pa.ipc.new_stream if form == "arrows" else pa.ipc.new_file)(data, table.schema) as writer:
            writer.write_table(table)
    path.write_bytes(PACKINGS[packing](data.getvalue()))
    wb.run(SOURCE.get("sums").pipeline, path, output=tmp_path / "out.jsonl", key="k")
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [{"k": 3, "out": 1}, {"k": 5, "out": 10}, {"k": 3, "out": 3}]


def test_texts_that_are_alike_are_told_apart():
    """Lengths, ends and beginnings: the table compares all that there is."""
    from workbench.executors.compiled.code.hashing import TextTable, WordTable

    texts = ["", "a", "a\0", "a\0\0", "\0a", "x" * 15, "x" * 16, "x" * 17, "x" * 16 + "y", "x" * 40, "x" * 39 + "y"]
    texts += [f"{'p' * 20}{i}" for i in range(5000)] + [str(i) for i in range(5000)]
    many = texts * 2
    letters = "".join(many).encode()
    offsets = np.cumsum([0, *(len(text.encode()) for text in many)]).astype(np.int32)
    table = TextTable()
    codes = table.codes((offsets[:-1], offsets[1:], np.frombuffer(letters, np.uint8)))
    assert codes.tolist() == [*range(len(texts))] * 2
    starts, kept = table.keys()
    assert [bytes(kept[a:b]).decode() for a, b in itertools.pairwise(starts)] == texts
    numbers = np.array([0, 1, -1, 2**63 - 1, -(2**63), *range(2, 9000)], np.int64)
    words = WordTable()
    assert words.codes(np.concatenate([numbers, numbers])).tolist() == [*range(len(numbers))] * 2
    assert (words.keys() == numbers).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_no_number_is_one_key(backend, form, tmp_path):
    """Though it equals nothing, not even itself; and both zeros are one number."""
    program = wb.parse("pipeline p(x: int, k: float) -> int { return cumulate(x, +) }").get()
    keys, path = [float("nan"), 0.0, -0.0, float("nan")], tmp_path / f"in.{form}"
    if form == "csv":
        path.write_text("x,k\n" + "".join(f"{x},{key}\n" for x, key in enumerate(keys, 1)))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pytest.importorskip("pyarrow").table({"x": [1, 2, 3, 4], "k": keys}), path)
    wb.run(program, path, output=tmp_path / "out.jsonl", key="k", backend=backend)
    assert [json.loads(line)["out"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [1, 2, 5, 5]


def test_names_that_clash(tmp_path):
    (tmp_path / "x.csv").write_text("user,row,x\na,1,2\n")
    named = wb.parse("pipeline p(x: int) -> row: int { return x }").get()
    with pytest.raises(InputError, match="an output of pipeline p and the number of the row are both called 'row'"):
        wb.run(named, tmp_path / "x.csv", output=tmp_path / "y.csv", key="user", with_row=True)
    with pytest.raises(InputError, match="'row'"):
        wb.run(SOURCE.get("sums"), tmp_path / "x.csv", output=tmp_path / "y.csv", key="row", with_row=True)
    wb.run(named, tmp_path / "x.csv", output=tmp_path / "y.csv", key="user")
    with pytest.raises(InputError, match="an output of pipeline p and the number of the row are both called 'row'"):
        wb.run(named, tmp_path / "x.csv", output=tmp_path / "y.csv", with_row=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_who_reads_a_pipe_sees_each_row_at_once(backend, tmp_path):
    (tmp_path / "p.pipe").write_text(TEXT)
    command = [sys.executable, "-m", "workbench.cli.main", "run", f"{tmp_path / 'p.pipe'}:sums", "--key", "user"]
    with subprocess.Popen(
        [*command, "--input", "-", "--backend", backend], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("user,x\na,1\n")
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(2)] == ["user,out\n", "a,1\n"]
        process.stdin.write("b,5\na,2\n")
        process.stdin.close()
        assert process.stdout.read() == "b,5\na,3\n"


@pytest.mark.slow
def test_an_interrupt_leaves_whole_rows(tmp_path):
    (tmp_path / "p.pipe").write_text(TEXT)
    with open(tmp_path / "in.csv", "w") as file:
        file.write("user,x\n")
        file.writelines(f"{i % 1000},{i}\n" for i in range(600_000))
    command = [sys.executable, "-m", "workbench.cli.main", "run", f"{tmp_path / 'p.pipe'}:sums", "--key", "user"]
    command += ["--input", str(tmp_path / "in.csv"), "--output", str(tmp_path / "out.csv")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while time.monotonic() < end and not any(path.stat().st_size for path in tmp_path.glob(".*.out.csv")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode not in (0, None)
    assert b"Traceback" not in errors
    (kept,) = tmp_path.glob("*.out.csv")
    assert str(kept).encode() in errors
    assert all(re.fullmatch(r"[0-9]+,[0-9]+\n", line) for line in kept.read_text().splitlines(keepends=True)[1:])
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("options", [{"key": "user", "with_row": True}, {}], ids=str)
def test_bad_rows_are_kept_whatever_is_read_ahead(options, tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "SIZE", 300)
    monkeypatch.setattr(text_lines, "MIN_COLUMN_BYTES", 0)
    rows = [f'u"{i}",x{i}' if i % 90 == 7 else f"u{i % 3},{i}" for i in range(900)]
    (tmp_path / "in.csv").write_text("\n".join(["user,x", *rows, ""]))
    found = []
    for threads, piece in ((1, 1000), (1, 60), (2, 60)):
        monkeypatch.setattr("workbench.events.formats.csv.PIECE", piece)
        kept, target = tmp_path / "bad.csv", tmp_path / "out.csv"
        wb.run(
            SOURCE.get("sums"), tmp_path / "in.csv", output=target, backend="compiled", threads=threads,
            bad_rows=str(kept), **options,
        )  # fmt: skip
        found.append((target.read_bytes(), kept.read_bytes()))
    assert found[0] == found[1] == found[2]
    assert found[0][1].count(b"\n") == 11


@pytest.mark.sampled(4)
@pytest.mark.parametrize("options", [{"key": "user"}, {}], ids=str)
@pytest.mark.parametrize(("form", "packed"), [("csv", ""), ("parquet", ""), ("csv", ".gz"), ("csv", ".zst")])
def test_threads_read_ahead_and_write_behind(options, form, packed, tmp_path, monkeypatch):
    """The same file, and the same error, which leaves none."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    monkeypatch.setattr(typed, "LARGE", 50)
    monkeypatch.setattr(text_lines, "SIZE", 300)
    monkeypatch.setattr(text_lines, "MIN_COLUMN_BYTES", 0)
    write = parquet.write_table if form == "parquet" else csv.write_csv
    xs = list(range(500))
    for last in (1, 2**63 - 1):
        write(pa.table({"x": [*xs, last], "user": [x % 3 for x in [*xs, 0]]}), tmp_path / f"in.{form}")
        found = []
        for threads in (1, 2):
            target = tmp_path / f"out{threads}.{form}{packed}"
            target.unlink(missing_ok=True)
            try:
                wb.run(
                    SOURCE.get("sums"),
                    tmp_path / f"in.{form}",
                    output=target,
                    backend="compiled",
                    threads=threads,
                    **options,
                )
                found.append(target.read_bytes())
            except WorkbenchError as error:
                assert not target.exists()
                found.append(error.message)
        assert found[0] == found[1]
        assert isinstance(found[0], str) == (last > 1)
        if packed == ".gz" and last == 1 and not options:
            assert gzip.decompress(found[0]).decode().split() == ["out", *map(str, itertools.accumulate([*xs, 1]))]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_key_column_that_an_input_takes_under_another_name_has_the_type_of_the_input(backend, kind, tmp_path):
    numbers = [1.5, 2.0, 1.5]
    log = tmp_path / f"log.{kind}"
    rows = ["at", *map(str, numbers)] if kind == "csv" else [json.dumps({"at": each}) for each in numbers]
    log.write_text("\n".join(rows))
    (tmp_path / "p.pipe").write_text("pipeline totals(x: float) -> total: float { return cumulate(x, +) }")
    out = tmp_path / "out.jsonl"
    wb.run(tmp_path / "p.pipe", log, output=out, columns={"x": "at"}, key="at", backend=backend)
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"at": 1.5, "total": 1.5},
        {"at": 2.0, "total": 2.0},
        {"at": 1.5, "total": 3.0},
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_misspelt_key_of_json_lines_has_a_hint(backend, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"host": "a", "x": 1}\n{"host": "b", "x": 2}\n')
    for misspelt, meant in (("hosst", "host"), ("xx", "x")):
        with pytest.raises(InputError, match="row 1 has no") as caught:
            wb.run(SOURCE.get("sums"), log, output=tmp_path / "out.jsonl", key=misspelt, backend=backend)
        assert caught.value.hint.startswith(f"did you mean '{meant}'? If so, write --key {meant}; otherwise add one")


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_with_a_key_and_without_the_input_are_an_error(backend, tmp_path):
    log, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    log.write_text('{"user": {"id": "a"}, "price": 1}\n{"user": {"id": "b"}, "price": 2}\n')
    with pytest.raises(InputError, match="no row has a key 'x'"):
        wb.run(SOURCE.get("sums"), log, output=out, key="user.id", backend=backend)
    with pytest.raises(InputError, match=r"row 1 has no 'user\.idd'") as caught:
        wb.run(SOURCE.get("sums"), log, output=out, key="user.idd", columns={"x": "price"}, backend=backend)
    assert caught.value.hint.startswith("did you mean 'user.id'?")
