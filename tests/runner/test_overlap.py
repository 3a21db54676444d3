"""Blocks whose reading and writing overlap: what is written is in their order, whichever is done first."""

import io
from dataclasses import replace
from threading import Event, Timer, current_thread, main_thread

import pytest

from workbench.core.domain import INT
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.rows import LogBlock
from workbench.events.writers import RowWriter
from workbench.executors.run_options import RunOptions
from workbench.executors.table import Start
from workbench.runner.read_ahead import overlap

WAIT = 20
"""Seconds after which a thread gives up, and the test fails."""


class NotedWriter(RowWriter):
    """Makes each block of two ready when the one behind it is."""

    def __init__(self, broken=()):
        super().__init__(Ports("p", (), (Port("out", INT),)), io.StringIO())
        self.broken, self.made, self.written = broken, [], []
        self.readied = [Event() for _ in range(9)]

    def row(self, events):
        self.written.append(events["out"])

    def ready(self, table):
        if table % 2 == 0 and table <= min(self.broken, default=table):  # nothing behind what fails need begin
            assert self.readied[table + 1].wait(WAIT)
        self.made.append(table)
        self.readied[table].set()
        if table in self.broken:
            raise InputError(f"{table} cannot be written")
        return lambda: self.written.append(table)


@pytest.fixture
def start(tmp_path):
    """A run from a file into a file."""
    (tmp_path / "in.csv").touch()
    return Start(RunOptions(input=str(tmp_path / "in.csv"), output=str(tmp_path / "out.csv")))


def block(k, readers=None):
    def columns():
        if readers is not None:
            readers.append(current_thread())
        return k

    return LogBlock(lambda: iter(()), columns)


def numbered(count):
    return map(block, range(count))


def run(blocks, writer, start, broken=None):
    with overlap(blocks, writer, start, threads=2) as (given, into):
        for each in given:
            if each.columns() == broken:
                raise InputError(f"{broken} cannot be run")
            into.table(each.columns())


def test_what_is_ready_later_is_written_first_where_it_comes_first(start):
    writer = NotedWriter()
    run(numbered(8), writer, start)
    assert writer.written == list(range(8))
    assert all(writer.made.index(k + 1) < writer.made.index(k) for k in range(0, 8, 2))


def test_the_first_block_that_cannot_be_written_is_told(start):
    """The one behind it fails sooner, and nothing behind them is written."""
    writer = NotedWriter(broken=(4, 5))
    with pytest.raises(InputError, match="4 cannot"):
        run(numbered(8), writer, start)
    assert writer.written == [0, 1, 2, 3]


def test_what_comes_before_a_block_that_fails_is_written(start):
    writer = NotedWriter()
    with pytest.raises(InputError, match="6 cannot be run"):
        run(numbered(8), writer, start, broken=6)
    assert writer.written == list(range(6))


def test_a_block_that_cannot_be_read_is_told_in_its_turn(start):
    """It is asked for before the blocks in front of it are run."""

    def blocks():
        yield from numbered(2)
        raise InputError("2 cannot be read")

    writer = NotedWriter()
    with pytest.raises(InputError, match="2 cannot be read"):
        run(blocks(), writer, start)
    assert writer.written == [0, 1]


def test_the_reader_is_closed_when_no_thread_reads_any_more(start):
    """A run that fails closes what it has opened, while the next block is being read."""
    reading, failed = Event(), Event()

    def blocks():
        yield from numbered(3)
        reading.set()
        assert failed.wait(WAIT)
        yield block(3)

    given = blocks()
    start.closing.callback(given.close)

    def fail(_):
        assert reading.wait(WAIT)
        Timer(0.05, failed.set).start()  # while the reader would be closed
        raise InputError("0 cannot be run")

    def run_first():
        with overlap(given, NotedWriter(), start, 2) as (ahead, _), start.closing:
            fail(next(ahead))

    with pytest.raises(InputError, match="0 cannot be run"):
        run_first()


def test_rows_are_written_behind_the_tables_before_them(start):
    writer = NotedWriter()
    with overlap(iter(()), writer, start, threads=2) as (_, into):
        into.table(0)
        into.table(1)
        into.write({"out": [7]})
        assert writer.written == [0, 1, 7]


def test_other_threads_read_columns(start):
    readers = []
    with overlap((block(k, readers) for k in range(4)), NotedWriter(), start, threads=2) as (given, _):
        first = next(given)
        while len(readers) < 2:
            pass
        found = [first, *given]
    assert [each.columns() for each in found] == list[object](range(4))
    assert len(readers) == 4
    assert any(each is not main_thread() for each in readers)


@pytest.mark.parametrize("change", [{"input": "-"}, {"output": "-"}, {"head": 3}])
def test_who_waits_for_rows_has_them_at_once(change, start):
    """A pipe, and a log of which the first rows are read: the blocks and the writer stay as they are."""
    start = replace(start, options=replace(start.options, **change))
    blocks, writer = numbered(3), NotedWriter()
    writer.live = start.options.output == "-"
    with overlap(blocks, writer, start, threads=2) as found:
        assert found == (blocks, writer)
