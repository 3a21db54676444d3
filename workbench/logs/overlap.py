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
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from workbench.core.domain import Value
from workbench.events.files import is_stream
from workbench.events.inputs import named_files
from workbench.events.rows import LogBlock
from workbench.executors.pending import Done, Pending

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter
    from workbench.executors.table import Start
    from workbench.executors.threaded.manager import ThreadManager


READ, FOUND, WRITTEN = 3, 2, 2
"""How many blocks are read, looked at and written before somebody waits: the turns that threads get are uneven."""
KEPT = {-1: 1 << 26, -3: 1 << 25}
"""Options of the C library: bytes that are kept when they are free, and that a block may have for that."""
T = TypeVar("T")


@contextmanager
def overlapping(start: Start, threads: int, blocks: Iterator[LogBlock], writer: RowWriter) -> Iterator[LogFlow]:
    """Blocks that are read ahead and a writer that writes behind, where threads and files allow that; else the same."""
    args = start.options
    files = all(Path(each).is_file() for each in named_files(args.input) or [""])  # a pipe may keep a thread for ever
    if threads < 2 or not files or is_stream(args.output) or start.option("head") is not None:
        yield LogFlow(blocks, writer)
        return
    from workbench.executors.threaded.manager import ThreadManager

    _keep_freed()
    with ThreadManager(READ + FOUND + WRITTEN) as manager, ExitStack() as stack:
        ahead = stack.enter_context(closing(_ahead(blocks, manager)))
        start.closing.callback(ahead.close)  # before what it reads is closed
        behind = WriterBehind(writer, manager)
        stack.callback(behind.wait)
        yield LogFlow(ahead, behind, manager, stack)


def _keep_freed() -> None:
    """Have the memory of a block for the next one: the system gives it page by page, to one thread at a time."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # another C library
        for option, size in KEPT.items():
            ctypes.CDLL(None).mallopt(option, size)


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

    return _in_order(found, manager, FOUND, alone=lambda task: task.alone)


def _ahead(blocks: Iterator[LogBlock], manager: ThreadManager) -> Generator[LogBlock]:
    """The blocks, with their columns, some of which are parsed at the same time while one before them is used."""
    return _in_order(partial(next, blocks, None), manager, READ, finished=_with_columns)


def _in_order(
    one: Callable[[], T | None],
    manager: ThreadManager,
    ahead: int,
    *,
    finished: Callable[[T], T] = lambda found: found,
    alone: Callable[[T], bool] = lambda _: False,
) -> Generator[T]:
    """What is found one after the other, until it is None, in threads that are so many ahead.

    Parameters
    ----------
    finished: makes it ready, several at the same time.
    alone: whether nothing behind it may be looked for while it is used.
    """
    turn, numbers, halted = Lock(), count(), Event()

    def found() -> tuple[int, Done[T | None]] | None:
        with turn:
            if halted.is_set():
                return None
            number, made = next(numbers), Done(one)
            item = None if made.failed else made.wait_for()
            if item is None or alone(item):
                halted.set()
        return number, made if item is None else Done(partial(finished, item))

    pending: deque[Pending[tuple[int, Done[T | None]] | None]] = deque()
    there: dict[int, Done[T | None]] = {}
    try:
        for wanted in count():
            while wanted not in there:
                pending += (manager.start(found) for _ in range(ahead - len(pending)))
                there |= filter(None, [pending.popleft().wait_for()])
            item = there.pop(wanted).wait_for()
            if item is None:
                return
            if not halted.is_set():
                pending.append(manager.start(found))
            yield item
            if alone(item):
                halted.clear()
    finally:
        for each in pending:
            with suppress(Exception):  # nobody's business any more
                each.wait_for()


def _with_columns(block: LogBlock) -> LogBlock:
    """The same with columns that are there already."""
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
        self._given: deque[Pending[Any]] = deque()

    def wait(self, left: int = 0) -> None:
        """Until all that was given is written, but for so many tables; an error of that is raised here, once."""
        try:
            while len(self._given) > left:
                self._given.popleft().wait_for()
        except BaseException:
            while self._given:
                with suppress(Exception):  # the same
                    self._given.popleft().wait_for()
            raise

    def table(self, table: Any) -> None:
        """See `RowWriter`."""
        self.wait(WRITTEN - 1)
        before = self._given[-1] if self._given else Done(lambda: None)

        def write() -> None:
            before.wait_for()
            self._writer.table(table)

        self._given.append(self._manager.start(write))

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """See `RowWriter`."""
        self.wait()
        self._writer.write(outputs)

    def flush(self) -> None:
        """Nobody waits for a file."""
