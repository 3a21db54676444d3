"""Row groups that another thread decodes: the file that one thread writes, and the same errors."""

import itertools
import re

import pytest

import workbench as wb
from tests.examples import scaled
from workbench.errors import InputError, WorkbenchError
from workbench.events import typed
from workbench.events.read import read_blocks

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

SOURCE = wb.parse("""
pipeline sums(x: int) -> int { return cumulate(x, +) }
pipeline highest(x: int) -> int { return cumulate(window(x, 3, cumulate(max)), +) }
pipeline rows(x: int, s: str) -> x: int, s: str { return x, s }
""")
LAYOUTS = {
    "one group": [1010],
    "many small ones": [10] * 101,
    "ragged": [7, 500, 3, 120, 1, 199, 180],
    "empty ones": [0, 300, 0, 0, 310, 400, 0],
    "no rows": [0, 0],
    "none": [],
}
LOGS = {  # of numbers, the rows of a log
    "numbers": lambda i: {"x": i, "s": f"t{i % 3}", "user": i % 7},
    "nulls": lambda i: {"x": None if i % 5 == 1 else i, "s": None if i % 4 == 2 else "ä" * (i % 3), "user": i % 7},
    "texts": lambda i: {"x": i, "s": f"text {i}", "user": i % 7},
}
SCHEMA = pa.schema([("x", pa.int64()), ("s", pa.string()), ("user", pa.int64())])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(typed, "LARGE", 50)


def write(path, rows, lengths, schema=SCHEMA):
    rows = iter(rows)
    with parquet.ParquetWriter(path, schema, data_page_size=64) as writer:
        for length in lengths:
            writer.write_table(pa.Table.from_pylist(list(itertools.islice(rows, length)), schema))


def ran(name, source, target, threads, **options):
    """What is written, or the error, of which there is no file then."""
    target.unlink(missing_ok=True)
    try:
        wb.run(SOURCE.get(name), source, output=target, backend="compiled", threads=threads, **options)
    except WorkbenchError as error:
        assert not target.exists()
        return error.message
    return target.read_bytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("log", ["numbers", "nulls", "texts"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_row_groups(layout, log, tmp_path):
    lengths = LAYOUTS[layout]
    rows = [LOGS[log](i) for i in range(sum(lengths))]
    write(tmp_path / "in.parquet", rows, lengths)
    seen = [row["x"] for row in rows if row["x"] is not None]
    wanted = {"sums": list(itertools.accumulate(seen)), "rows": rows}
    for name, options in (("sums", {}), ("sums", {"key": "user"}), ("rows", {})):
        found = [ran(name, tmp_path / "in.parquet", tmp_path / f"out{n}.parquet", n, **options) for n in (1, 2, 3)]
        assert isinstance(found[0], bytes), found[0]
        assert found[0] == found[1] == found[2]
        table = parquet.read_table(tmp_path / "out2.parquet").to_pylist()
        if name == "sums" and not options:
            assert [row["out"] for row in table] == wanted[name]
        elif name == "rows":
            there = [{each: row[each] for each in "xs"} for row in rows]
            assert table == [row for row in there if row != {"x": None, "s": None}]


def test_rows_are_read_in_large_batches_behind_an_empty_group(tmp_path, monkeypatch):
    """The pages of an empty group have bytes, and no row that is as long."""
    monkeypatch.setattr(typed, "LARGE", 500)
    write(tmp_path / "in.parquet", [LOGS["texts"](i) for i in range(1010)], LAYOUTS["empty ones"])
    rows = [block.rows or 0 for block in read_blocks(tmp_path / "in.parquet", SOURCE.get("rows"))]
    assert (max(rows), sum(rows)) == (500, 1010)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("layout", ["one group", "many small ones", "ragged"])
def test_several_files(layout, target, tmp_path):
    """Of which some are damaged: in a page, in a footer, or in a value."""
    from random import Random

    lengths, sources = LAYOUTS[layout], [tmp_path / f"in{i}.parquet" for i in range(3)]
    for i, source in enumerate(sources):
        write(source, [LOGS["nulls"](1010 * i + k) for k in range(1010)], lengths)
    told = set[str]()
    whole = ran("sums", sources, tmp_path / target, 1)
    assert ran("sums", sources, tmp_path / target, 2) == whole
    data = sources[1].read_bytes()
    for seed in range(scaled(4, 12)):
        random, hurt = Random(seed), bytearray(data)
        for _ in range(20):
            hurt[random.randrange(len(hurt) // 2)] ^= 0xFF
        sources[1].write_bytes(hurt)
        found = [ran("sums", sources, tmp_path / target, n) for n in (1, 2, 3)]
        assert found[0] == found[1] == found[2]
        told.add("error" if isinstance(found[0], str) else "file")
    assert "error" in told


def test_a_bad_row_in_a_later_group(tmp_path):
    schema = pa.schema([("x", pa.float64())])
    xs = [float(i) for i in range(1010)]
    xs[700] = 0.5
    write(tmp_path / "in.parquet", [{"x": x} for x in xs], LAYOUTS["ragged"], schema)
    program = wb.parse("pipeline same(x: 0..2000) -> 0..2000 { return x }").get()
    for threads in (1, 2):
        with pytest.raises(InputError, match=re.escape("in.parquet:")):
            wb.run(program, tmp_path / "in.parquet", output=tmp_path / "out.csv", backend="compiled", threads=threads)
        found = []
        for n in (1, threads):
            kept = tmp_path / "bad.jsonl"
            wb.run(
                program, tmp_path / "in.parquet", output=tmp_path / "out.csv", backend="compiled", threads=n,
                bad_rows=str(kept),
            )  # fmt: skip
            found.append(((tmp_path / "out.csv").read_bytes(), kept.read_bytes()))
        assert found[0] == found[1]


@pytest.mark.parametrize("head", [0, 1, 50, 51, 349, 1010, 2000])
def test_only_the_first_rows(head, tmp_path):
    write(tmp_path / "in.parquet", map(LOGS["numbers"], range(1010)), LAYOUTS["ragged"])
    found = [ran("sums", tmp_path / "in.parquet", tmp_path / "out.csv", n, head=head) for n in (1, 2)]
    assert found[0] == found[1]
    assert found[0].decode().split()[1:] == [str(x) for x in itertools.accumulate(range(min(head, 1010)))]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("last", [1, 2**63 - 1])
def test_costly_steps_are_shared_by_who_would_wait(last, tmp_path, monkeypatch):
    """The same values, and the same error; blocks of both have run."""
    from workbench.executors.compiled.parallel import executor

    made = []

    class Small(executor.Parallel):
        def __init__(self, *given, **options):
            super().__init__(*given, **options | {"costly": 0.0}, shortest=50, warm_up_steps=-1)
            made.append(self)

    monkeypatch.setattr(executor, "Parallel", Small)
    monkeypatch.setattr(typed, "LARGE", 1000)
    xs = [*(x * 7919 % 1000 for x in range(9999)), last]
    write(tmp_path / "in.parquet", [{"x": x, "s": "", "user": 1} for x in xs], [3000] * 4)
    found = [ran("highest", tmp_path / "in.parquet", tmp_path / "out.csv", threads) for threads in (1, 2, 3)]
    assert found[0] == found[1] == found[2]
    assert isinstance(found[0], str) == (last > 1)
    if last == 1:
        sums = itertools.accumulate(max(xs[i : i + 3]) for i in range(len(xs) - 2))
        assert found[0].decode().split()[1:] == [str(x) for x in sums]
    assert all(each.blocks >= 4 * 9 for each in made)
    assert [each.threads for each in made] == [2, 3]
