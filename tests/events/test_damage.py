"""Damaged logs of every format end in an error that names the file, or are another log: never in a traceback."""

import gzip
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.core.domain import ANY, INT
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events import lines as lines_of
from workbench.events.read import read_blocks, read_events

pa = pytest.importorskip("pyarrow")
damage = pytest.importorskip("tests.events.damage")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return damage.sound_logs(tmp_path_factory.mktemp("sound"))


def tried(folder, ending: str, data: bytes) -> bool:
    """Whether it is a log; row by row it is one as in columns, and an error names the file."""
    path = folder / f"log{ending}"
    path.write_bytes(data)
    one, other = (damage.how_it_ends(path, by_columns=each) for each in (False, True))
    assert all(told is None or path.name in str(told.where) for told in (one, other))
    assert (one is None) == (other is None)
    path.unlink()
    return one is None


@example(seed=13942, size=64, few=0)  # metadata of a column chunk, for which pyarrow ends the process
@example(seed=273093, size=64, few=0)
@examples(600)
@given(seed=st.integers(0, 1 << 60), size=st.sampled_from([64, 1 << 21]), few=st.sampled_from([0, 1 << 14]))
def test_damage_is_told(sound, seed, size, few, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "SIZE", size)
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", few)
    tried(tmp_path, *damage.damaged(Random(seed), sound))


def test_nothing_wrong_is_no_damage(sound, tmp_path):
    for ending, data in sound.items():
        assert tried(tmp_path, ending, data)


WAYS: list[dict[str, Any]] = [{}, {"key": "s"}]
BACKENDS: Any = ("reference", "compiled")


def test_texts_of_parquet_are_texts(tmp_path):
    """Nothing in the format sees to it: neither inputs nor keys have bytes that are no characters."""
    from pyarrow import parquet

    path = tmp_path / "log.parquet"
    texts = pa.array([b"ok", b"\xff"]).view(pa.string())
    parquet.write_table(pa.table({"s": texts, "x": [1, 2]}), path)
    for name in ("s", "x"):
        kind = "str" if name == "s" else "int"
        program = wb.parse(f"pipeline p({name}: {kind}) -> {kind} {{ return {name} }}").get()
        for options in WAYS[name == "x" :]:  # without the key that column is not read
            for backend in BACKENDS:
                with pytest.raises(InputError, match=r"log\.parquet: this cannot be read as Parquet: .*UTF8"):
                    wb.run(program, path, output=tmp_path / "out.csv", **options, backend=backend)
                assert not (tmp_path / "out.csv").exists()


def test_a_page_that_is_mostly_nothing_is_refused(tmp_path, monkeypatch):
    from pyarrow import parquet

    from workbench.events.formats import parquet as parquet_format

    path, program = tmp_path / "log.parquet", Ports("log", (Port("x", INT),))
    monkeypatch.setattr(parquet_format, "LARGEST", 1 << 20)
    count = 4 << 20
    settings = {"compression": "zstd", "use_dictionary": False, "data_page_size": 1 << 30}
    table = pa.table({"x": pa.repeat(pa.scalar(0, pa.int64()), count)})
    parquet.write_table(table, path, row_group_size=count, write_batch_size=count, max_rows_per_page=count, **settings)
    with pytest.raises(InputError, match=r"row group 0 has [0-9]{8} bytes, and the file [0-9]{4}"):
        next(read_events(path, program))
    parquet.write_table(table, path)
    assert sum(1 for _ in read_blocks(path, program)) > 1


@pytest.mark.parametrize("lines", [200, 300_000])
def test_a_header_that_does_not_end_is_read_once(lines, tmp_path):
    """As long as it may go on it is waited for; then it is told, and not looked at once more for each line."""
    (tmp_path / "log.csv").write_text('"' + "\n" * lines)
    told = "unexpected end of data" if lines < 1000 else "field larger than field limit"
    with pytest.raises(InputError, match=rf"log\.csv:[0-9]+: not a line of CSV: {told}"):
        list(read_events(tmp_path / "log.csv", damage.LOG))


@pytest.mark.parametrize("header", [True, False])
def test_a_line_without_an_end_is_not_waited_for(header, tmp_path, monkeypatch):
    """A small file that is packed may hold any number of letters: of names, too, as many as a line may have."""
    monkeypatch.setattr(lines_of, "LONGEST", 1 << 20)
    monkeypatch.setattr(lines_of, "SIZE", 1 << 18)
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress((b"" if header else b"x\n") + b"x" * (1 << 22) + b"\n1\n"))
    with pytest.raises(InputError, match=r"log\.csv\.gz: a line is longer than 1 MB"):
        list(read_events(tmp_path / "log.csv.gz", Ports("log", (Port("x", INT),))))


@pytest.mark.parametrize("depth", [201, 15_000])
@pytest.mark.parametrize("opened", ["[", '{"a":'])
def test_what_is_nested_too_deeply_is_told(opened, depth, tmp_path):
    closed = "]" if opened == "[" else "}"
    (tmp_path / "log.jsonl").write_text(f'{{"x": {opened * depth}0{closed * depth}}}\n')
    with pytest.raises(InputError, match=r"log\.jsonl:1: .*(at most 200 levels|nested too deeply)"):
        list(read_events(tmp_path / "log.jsonl", Ports("log", (Port("x", ANY),))))


@pytest.mark.parametrize("wide", ["first", "each"])
def test_keys_that_no_input_needs_take_no_memory(wide, tmp_path):
    """Each would be a column of all lines: here of 8 GB and 1.5 GB."""
    first = ",".join(f'"k{i}":1' for i in range(50_000 if wide == "first" else 1))
    lines = [f'{{"x":{i},"l{i if wide == "each" else 0}":1}}\n' for i in range(20_000 if wide == "each" else 4000)]
    (tmp_path / "log.jsonl").write_text(f'{{"x":0,{first}}}\n' + "".join(lines))
    before = pa.total_allocated_bytes()
    blocks = list(read_blocks(tmp_path / "log.jsonl", Ports("log", (Port("x", INT),))))
    columns = [block.columns() for block in blocks]
    assert sum(each["x"].rows for each in columns if each) == len(lines) + 1
    assert pa.total_allocated_bytes() - before < 1 << 26
    assert pa.default_memory_pool().max_memory() < 1 << 30
