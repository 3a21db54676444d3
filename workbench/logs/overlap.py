"""Reading ahead and writing behind: a file is read and another one written while what lies between is computed.

The rule of this module: blocks are read and tables written in their order, and nothing of that goes on when it is left,
whatever happens. So values, order and errors are those of one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.domain import Value
from workbench.events.files import is_stream
from workbench.events.inputs import named_files
from workbench.events.rows import LogBlock
from workbench.executors.pending import Done, Pending

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter
    from workbench.executors.table import Start
    from workbench.executors.threaded.manager import ThreadManager


READERS = 2
"""Blocks that are read at a time."""


@contextmanager
def overlapping(start: Start, threads: int, blocks: Iterator[LogBlock], writer: RowWriter) -> Iterator[LogFlow]:
    """Blocks that are read ahead and a writer that writes behind, where threads and files allow that; else the same.

    Nobody who reads the output as it comes waits for what comes next.
    """
    args = start.options
    files = all(Path(each).is_file() for each in named_files(args.input) or [""])  # a pipe may keep a thread for ever
    if threads < 2 or not files or start.option("head") is not None:
        yield LogFlow(blocks, writer)
        return
    from workbench.executors.threaded.manager import ThreadManager

    with ThreadManager(READERS + 2) as manager, ExitStack() as stack:
        ahead = stack.enter_context(closing(_ahead(blocks, manager)))
        start.closing.callback(ahead.close)  # before what it reads is closed
        if is_stream(args.output):
            yield LogFlow(ahead, writer)
            return
        behind = WriterBehind(writer, manager)
        stack.callback(behind.wait)
        yield LogFlow(ahead, behind, manager, stack)


class BlockTask(NamedTuple):
    """What is to be done with a block.

    Attributes
    ----------
    run: does it.
    alone: whether the next block may only be looked at when that is done.
    """

    run: Callable[[], None]
    alone: bool


class LogFlow(NamedTuple):
    """What is read and what is written, each perhaps by a thread of its own."""

    blocks: Iterator[LogBlock]
    writer: RowWriter | WriterBehind
    manager: ThreadManager | None = None
    closing: ExitStack | None = None

    def tasks(self, make: Callable[[LogBlock], BlockTask]) -> Iterator[BlockTask]:
        """What is to be done with each block, which is found out while the one before it is done."""
        if self.manager is None or self.closing is None:
            return map(make, self.blocks)
        return self.closing.enter_context(closing(_tasks(self.blocks, make, self.manager)))


def _tasks(
    blocks: Iterator[LogBlock], make: Callable[[LogBlock], BlockTask], manager: ThreadManager
) -> Generator[BlockTask]:
    def found() -> BlockTask | None:
        block = next(blocks, None)
        return None if block is None else make(block)

    pending = manager.start(found)
    try:
        while (task := pending.wait_for()) is not None:
            if not task.alone:
                pending = manager.start(found)
            yield task
            if task.alone:
                pending = manager.start(found)
    finally:
        with suppress(Exception):  # told before, or nobody's business any more
            pending.wait_for()


def _ahead(blocks: Iterator[LogBlock], manager: ThreadManager) -> Generator[LogBlock]:
    """The blocks, with their columns, some of which are parsed at the same time while one before them is used."""
    turn, numbers = Lock(), count()

    def read() -> tuple[int, Done[LogBlock | None]]:
        with turn:
            number, block = next(numbers), Done(partial(next, blocks, None))
        return number, Done(lambda: _with_columns(block.wait_for()))

    pending = deque(manager.start(read) for _ in range(READERS))
    there: dict[int, Done[LogBlock | None]] = {}
    try:
        for wanted in count():
            while wanted not in there:
                number, found = pending.popleft().wait_for()
                there[number] = found
                pending.append(manager.start(read))
            block = there.pop(wanted).wait_for()
            if block is None:
                return
            yield block
    finally:
        for each in pending:
            each.wait_for()


def _with_columns(block: LogBlock | None) -> LogBlock | None:
    """The same with columns that are there already."""
    if block is None:
        return None
    columns = block.columns()
    return LogBlock(block.steps, lambda: columns)


class WriterBehind:
    """A writer that writes tables in a thread, while the next ones are made.

    Parameters
    ----------
    writer: into a file.
    """

    def __init__(self, writer: RowWriter, manager: ThreadManager) -> None:
        self.domains = writer.domains
        self._writer, self._manager = writer, manager
        self._last: Pending[Any] = Done(lambda: None)

    def wait(self) -> None:
        """Until all that was given is written; its error is raised here, once."""
        last, self._last = self._last, Done(lambda: None)
        last.wait_for()

    def table(self, table: Any) -> None:
        """See `RowWriter`."""
        self.wait()
        self._last = self._manager.start(partial(self._writer.table, table))

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """See `RowWriter`."""
        self.wait()
        self._writer.write(outputs)

    def flush(self) -> None:
        """Nobody waits for a file."""
