"""Batches of a log are its rows, whatever their form, and however it is cut."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.core.domain import FLOAT, INT, STR, Enum
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events import lines
from workbench.events.account import Reporter
from workbench.events.batch import LogBatch
from workbench.events.decoding import decode
from workbench.events.read import read_blocks
from workbench.events.reading_options import Reading

PORTS = Ports("p", (Port("x", INT), Port("f", FLOAT), Port("s", STR), Port("c", Enum(("red", "blue")))))
ROWS = [
    {"x": i, "s": f"text {i % 7} ä", "c": ("red", "blue")[i % 2]} | ({} if i % 5 == 0 else {"f": i / 4})
    for i in range(100)
]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 0)  # so that few rows are columns, too
    path = tmp_path / "log.csv"
    cells = ([str(row.get(name, "")) for name in PORTS.domains] for row in ROWS)
    path.write_text("x,f,s,c\n" + "".join(",".join(each) + "\n" for each in cells))
    return path


def batches(path: Path, reporter: Reporter, *, columns: bool, size: int, **reading: object) -> Iterator[LogBatch]:
    blocks = read_blocks(path, PORTS, Reading(**reading), reporter=reporter)  # type: ignore[arg-type]
    return decode(blocks, reporter.account, lambda _: size, columns=columns, numbered=True)


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("head", [None, 42])
def test_batches_have_the_rows_of_a_log(log: Path, columns: bool, size: int, head: int | None) -> None:
    pytest.importorskip("pyarrow")
    reporter, wanted = Reporter(), ROWS[:head]
    found = list(batches(log, reporter, columns=columns, size=size, head=head))
    assert all((each.columns is None) != columns and len(each) <= size for each in found)
    assert [row for each in found for row in each.as_rows(PORTS.domains)] == wanted
    assert [number for each in found for number in each.numbers] == list(range(1, len(wanted) + 1))
    assert [number for each in found for number in each.number_array().tolist()] == list(range(1, len(wanted) + 1))
    events = sum(map(len, wanted))
    assert sum(each.events for each in found) == reporter.account.events_in == events
    assert reporter.account.rows == len(wanted)


def test_lists_are_there_where_all_rows_have_all_events(log: Path) -> None:
    pytest.importorskip("pyarrow")
    (batch,) = batches(log, Reporter(), columns=True, size=1000)
    assert batch.as_lists(PORTS.domains) is None
    part = batch.part(slice(1, 5))  # the first row of five has no `f`
    assert part.as_lists(PORTS.domains) == {name: [row[name] for row in ROWS[1:5]] for name in PORTS.domains}
    assert LogBatch(range(1, 5), ROWS[1:5]).as_lists(PORTS.domains) is None


def test_a_row_that_cannot_be_read_fails_behind_those_before_it(log: Path) -> None:
    rows = log.read_text().splitlines()
    log.write_text("\n".join([*rows[:11], "odd,1,a,red", *rows[11:]]) + "\n")
    *before, last = batches(log, Reporter(), columns=True, size=4)
    assert [row for each in (*before, last) for row in each.as_rows(PORTS.domains)] == ROWS[:10]
    assert all(each.failed is None for each in before)
    assert isinstance(last.failed, InputError)
    assert "log.csv:12: column 'x'" in str(last.failed)
    assert last.before(1).failed is None


def test_bad_rows_have_numbers_though_they_are_in_no_batch(log: Path) -> None:
    rows = log.read_text().splitlines()
    log.write_text("\n".join([*rows[:11], "odd,1,a,red", *rows[11:]]) + "\n")
    reporter = Reporter()
    found = list(batches(log, reporter, columns=True, size=4, bad_rows="skip"))
    assert [number for each in found for number in each.numbers] == [*range(1, 11), *range(12, 102)]
    assert (reporter.account.rows, reporter.account.bad) == (101, 1)
