"""Damaged logs of every format end in an error that names the file, or are another log: never in a traceback."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.files import COMPRESSIONS
from workbench.events.read import read_blocks, read_events
from workbench.events.rows import LogBlock
from workbench.events.table import format_rows
from workbench.events.write import write_events

pa = pytest.importorskip("pyarrow")
PORTS = tuple(Port(n, d) for n, d in {"x": INT, "f": FLOAT, "b": BOOL, "s": STR, "e": Enum(("red", "green"))}.items())
LOG = Ports("log", PORTS, PORTS)
ENDINGS = [row.endings[0] for row in format_rows().values()]
NAMES = ENDINGS + [f"{ending}{packed}" for ending in ENDINGS[:3] for packed in COMPRESSIONS]


@pytest.fixture(scope="module", params=NAMES)
def sound(request, tmp_path_factory):
    """A log, and its bytes."""
    path = tmp_path_factory.mktemp("damage") / f"log{request.param}"
    with write_events(path, LOG) as writer:
        for i in range(40):
            row: dict[str, list] = {
                "x": [i] if i % 3 else [],
                "f": [i / 7],
                "b": [i > 9],
                "s": [f'"{i},\n'],
                "e": ["red"] if i % 2 else [],
            }
            writer.write(row)
    return path, path.read_bytes()


def how_it_ends(path, *, by_columns=False) -> InputError | None:
    try:
        for item in read_blocks(path, LOG) if by_columns else read_events(path, LOG):
            if isinstance(item, LogBlock) and item.columns() is None:
                list(item.steps())
    except InputError as error:
        return error
    return None


@examples(60)
@given(data=st.data())
def test_damage_is_told(sound, data):
    path, content = sound
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(content))) :]
    path.write_bytes(damaged)
    for told in (how_it_ends(path), how_it_ends(path, by_columns=True)):
        assert told is None or path.name in str(told.where)


def test_a_page_that_is_mostly_nothing_is_refused(tmp_path, monkeypatch):
    from pyarrow import parquet

    from workbench.events import parquet as parquet_format

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
