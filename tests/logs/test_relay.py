"""Blocks that threads carry: what is written is in the order of the blocks, whichever is done first."""

import io
from functools import partial
from threading import Event

import pytest

from workbench.core.domain import INT
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.rows import LogBlock, RowWriter
from workbench.logs.relay import BlockTask, WriterInTurn, done_in_turn

WAIT = 20
"""Seconds after which a thread gives up, and the test fails."""


class NotedWriter(RowWriter):
    """Makes each block of two ready when the one behind it is."""

    def __init__(self, broken=()):
        super().__init__(Ports("p", (), (Port("out", INT),)), io.StringIO())
        self.broken, self.made, self.written = broken, [], []
        self.readied = [Event() for _ in range(9)]

    def row(self, events):
        raise NotImplementedError

    def ready(self, table):
        if table % 2 == 0:
            assert self.readied[table + 1].wait(WAIT)
        self.made.append(table)
        self.readied[table].set()
        if table in self.broken:
            raise InputError(f"{table} cannot be written")
        return lambda: self.written.append(table)


def carried(writer, count):
    turned = WriterInTurn(writer)
    blocks = (LogBlock(partial(iter, [k])) for k in range(count))

    def task(block):
        (k,) = block.steps()
        return BlockTask(lambda: turned.table(k), alone=False)

    return len(list(done_in_turn(blocks, task, turned, threads=2)))


def test_what_is_ready_later_is_written_first_where_it_comes_first():
    writer = NotedWriter()
    assert carried(writer, 8) == 8
    assert writer.written == list(range(8))
    assert all(writer.made.index(k + 1) < writer.made.index(k) for k in range(0, 8, 2))


def test_the_first_block_that_cannot_be_written_is_told():
    """The one behind it fails sooner."""
    writer = NotedWriter(broken=(4, 5))
    with pytest.raises(InputError, match="4 cannot"):
        carried(writer, 8)
    assert writer.written == [0, 1, 2, 3]
