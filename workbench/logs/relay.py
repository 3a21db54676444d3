"""Blocks of a log that threads carry from the file that is read to the one that is written, a block a thread.

The rule of this module: a block owns its rows, and enters each stage when the one before it has left that. So values,
order and errors are those of one thread; and as a block stays with its thread, hardly anybody waits, or brings memory
to another core.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.domain import Value
from workbench.events.files import is_stream
from workbench.events.inputs import named_files
from workbench.events.rows import LogBlock
from workbench.executors.pending import Done
from workbench.executors.threaded.shared_work import SharedWork
from workbench.interrupts import came, checkpoint

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter
    from workbench.executors.table import Start
    from workbench.executors.threaded.manager import ThreadManager

LOOKED_AT, RUN, WRITTEN = range(3)
"""The stages behind reading."""
LOOK = 0.001
"""Seconds after which who waits looks anew whether there is other work to do."""
KEPT = {-1: 1 << 26, -3: 1 << 25}
"""Options of the C library: bytes that are kept when they are free, and that a block may have for that."""


class BlockTask(NamedTuple):
    """What is to be done with a block.

    Attributes
    ----------
    run: does it.
    alone: whether the next block may only be looked at when that is done.
    """

    run: Callable[[], None]
    alone: bool


class Halted(Exception):
    """A block before this one has not come through."""


class Passage:
    """How far a block has come.

    Attributes
    ----------
    failed: whether it goes no further.
    """

    def __init__(self) -> None:
        self._gates = [Lock() for _ in (LOOKED_AT, RUN, WRITTEN)]
        self.failed = False

    def begin(self) -> Passage:
        """The same, before its first stage."""
        for gate in self._gates:
            gate.acquire()
        return self

    def leave(self, stage: int) -> None:
        """It has left this stage."""
        if self._gates[stage].locked():
            self._gates[stage].release()

    def wait(self, stage: int, *others: Callable[[], bool]) -> None:
        """Until it has left this stage; meanwhile do other work, as long as there is some. Halted: it never will."""
        gate = self._gates[stage]
        while not gate.acquire(timeout=0 if any(do() for do in others if gate.locked()) else LOOK):
            checkpoint()
        gate.release()
        if self.failed:
            raise Halted


class WriterInTurn:
    """A writer for tasks: tables are kept until it is their block's turn.

    Parameters
    ----------
    writer: into a file.
    """

    def __init__(self, writer: RowWriter) -> None:
        self.domains = writer.domains
        self.writer, self.before, self._tables = writer, Passage(), list[Any]()
        """`before`: the block before the one that is run."""
        self.writing = Lock()
        """Held by who writes."""
        self.work = SharedWork()
        """What running a block leaves to threads that would wait."""

    def table(self, table: Any) -> None:
        """See `RowWriter`."""
        self._tables.append(table)

    def taken(self) -> list[Any]:
        """What is kept."""
        found, self._tables = self._tables, []
        return found

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """See `RowWriter`."""
        self.before.wait(WRITTEN)
        with self.writing:
            self.settle()
            self.writer.write(outputs)

    def settle(self) -> None:
        """Write what is kept."""
        for table in self.taken():
            self.writer.table(table)

    def flush(self) -> None:
        """Nobody waits for a file."""

    def keep_up(self) -> None:
        """Nobody does."""


def writer_in_turn(writer: RowWriter, start: Start, threads: int) -> RowWriter | WriterInTurn:
    """A writer for threads that share the blocks, where files allow that; else the same."""
    _keep_freed()
    args = start.options
    files = all(Path(each).is_file() for each in named_files(args.input) or [""])  # a pipe may keep a thread for ever
    if threads < 2 or not files or is_stream(args.output) or start.option("head") is not None:
        return writer
    return WriterInTurn(writer)


def _keep_freed() -> None:
    """Have the memory of a block for the next one: the system gives it page by page, to one thread at a time."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # another C library
        for option, size in KEPT.items():
            ctypes.CDLL(None).mallopt(option, size)


def write_blocks(
    blocks: Iterator[LogBlock],
    make: Callable[[LogBlock], BlockTask],
    end: Callable[[], None],
    writer: RowWriter | WriterInTurn,
    start: Start,
    threads: int,
) -> None:
    """Do what is to be done with each block, and at the end; all of it is written then. See `done_in_turn`."""
    with closing(done_in_turn(blocks, make, writer, threads)) as done:
        for _ in done:
            writer.flush()
            start.tally.tell()
    end()
    if isinstance(writer, WriterInTurn):
        writer.settle()


def done_in_turn(
    blocks: Iterator[LogBlock], make: Callable[[LogBlock], BlockTask], writer: RowWriter | WriterInTurn, threads: int
) -> Generator[None]:
    """Do what is to be done with each block; None whenever one is over.

    Parameters
    ----------
    make: looks at a block.
    writer: of the tasks; with a `WriterInTurn` threads share the blocks.

    Raises
    ------
    What the first block raises that cannot be read, run or written, when nothing goes on any more.
    """
    if not isinstance(writer, WriterInTurn):
        for block in blocks:
            make(block).run()
            yield
        return
    from workbench.executors.threaded.manager import ThreadManager

    manager = ThreadManager(threads)  # one more than cores would take one from who has the turn
    try:
        yield from _relayed(blocks, make, writer, manager)
    finally:
        if not came():
            manager.close()


def _relayed(
    blocks: Iterator[LogBlock], make: Callable[[LogBlock], BlockTask], writer: WriterInTurn, manager: ThreadManager
) -> Generator[None]:
    turn, over = Lock(), SimpleQueue[Done[bool]]()
    last, stopped = Passage(), False

    def carry() -> None:
        nonlocal last, stopped
        while not stopped:
            with turn:
                before, mine = last, Passage().begin()
                last, block = mine, Done(partial(next, blocks, None))
            done = Done(partial(_through, block, make, writer, before, mine))
            mine.failed = done.failed or not done.wait_for()
            if mine.failed:
                stopped = True
            for stage in (LOOKED_AT, RUN, WRITTEN):
                mine.leave(stage)
            over.put(done)

    started = [manager.start(carry) for _ in range(manager.limit or 1)]
    try:
        while not (done := over.get()).failed and done.wait_for():
            yield
    finally:
        stopped = True
        if came():  # a thread may compile for seconds: none reads or writes any more, and none is waited for
            turn.acquire()
            writer.writing.acquire()
        else:
            for each in started:
                each.wait_for()
    done.wait_for()
    while not over.empty():
        over.get().wait_for()


def _through(
    read: Done[LogBlock | None],
    make: Callable[[LogBlock], BlockTask],
    writer: WriterInTurn,
    before: Passage,
    mine: Passage,
) -> bool:
    """Carry a block through all stages; whether there may be one behind it."""
    try:
        block = read.wait_for()
        if block is not None:
            columns = block.columns()
            before.wait(LOOKED_AT)
            task = make(replace(block, columns=lambda: columns))
            if not task.alone:
                mine.leave(LOOKED_AT)
            before.wait(RUN, writer.work.help, block.ahead)
            writer.before = before
            task.run()
            tables = writer.taken()
            mine.leave(LOOKED_AT)
            mine.leave(RUN)
            first = writer.writer.ready(tables[0]) if tables else bool  # most often the only one
            before.wait(WRITTEN, writer.work.help, block.ahead)
            with writer.writing:
                first()
                for table in tables[1:]:
                    writer.writer.table(table)
        before.wait(WRITTEN)
    except Halted:
        return False
    except Exception:
        with suppress(Halted):
            before.wait(WRITTEN)
            raise
        return False
    return block is not None
