"""Reading ahead and writing behind: a file is read and another one written while what lies between is computed.

The rule of this module: blocks are read and tables written in their order, and nothing of that goes on when it is left,
whatever happens. So values, order and errors are those of one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Value
from workbench.events.files import is_stream
from workbench.events.inputs import named_files
from workbench.events.rows import LogBlock
from workbench.executors.pending import Done, Pending

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter
    from workbench.executors.table import Start
    from workbench.executors.threaded.manager import ThreadManager


READ = 2
"""Blocks that are read at a time."""
KEPT = {-1: 1 << 26, -3: 1 << 25}
"""Options of the C library: bytes that are kept when they are free, and that a block may have for that."""


@contextmanager
def overlapping(
    start: Start, threads: int, blocks: Iterator[LogBlock], writer: RowWriter
) -> Iterator[tuple[Iterator[LogBlock], RowWriter | WriterBehind]]:
    """Blocks that are read ahead and a writer that writes behind, where threads and files allow that; else the same."""
    if not overlaps(start, threads):
        yield blocks, writer
        return
    from workbench.executors.threaded.manager import ThreadManager

    with ThreadManager(READ + 1) as manager, closing(_ahead(blocks, manager)) as ahead, ExitStack() as stack:
        start.closing.callback(ahead.close)  # before what it reads is closed
        behind = WriterBehind(writer, manager)
        stack.callback(behind.wait)
        yield ahead, behind


def overlaps(start: Start, threads: int) -> bool:
    """Whether threads and files allow it; then what is freed is kept."""
    args = start.options
    files = all(Path(each).is_file() for each in named_files(args.input) or [""])  # a pipe may keep a thread for ever
    if threads < 2 or not files or is_stream(args.output) or start.option("head") is not None:
        return False
    _keep_freed()
    return True


def _keep_freed() -> None:
    """Have the memory of a block for the next one: the system gives it page by page, to one thread at a time."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # another C library
        for option, size in KEPT.items():
            ctypes.CDLL(None).mallopt(option, size)


def _ahead(blocks: Iterator[LogBlock], manager: ThreadManager) -> Generator[LogBlock]:
    """The blocks, with their columns, some of which are parsed at the same time while one before them is used."""
    turn, numbers = Lock(), count()

    def read() -> tuple[int, Done[LogBlock | None]]:
        with turn:
            number, block = next(numbers), Done(partial(next, blocks, None))
        return number, Done(lambda: _with_columns(block.wait_for()))

    pending = deque(manager.start(read) for _ in range(READ))
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
