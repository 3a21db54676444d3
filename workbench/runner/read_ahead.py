"""Read columns of coming blocks, and encode tables, in other threads while one thread runs the blocks of a log.

The rule of this module: that thread requests blocks, runs them, and writes, each in the order of the log. So values,
order and errors are those of a run without other threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Value
from workbench.events.inputs import list_named_files
from workbench.events.rows import LogBlock
from workbench.events.writers import EventWriter
from workbench.executors.pending import Done, Pool, Submitted
from workbench.interrupts import came, hold

if TYPE_CHECKING:
    from workbench.executors.table import Start


class OverlappedWriter(EventWriter):
    """A writer that encodes tables in a pool of threads, and writes them in their order.

    Parameters
    ----------
    writer: writes into a file.
    limit: the maximum number of tables that wait to be written.
    """

    live = False

    def __init__(self, writer: EventWriter, pool: Pool, limit: int) -> None:
        self.pool = pool
        self._writer, self._limit, self._waiting = writer, limit, deque[Submitted[Callable[[], object]]]()

    def table(self, table: Any) -> None:
        self._waiting.append(self.pool.start(partial(self._writer.ready, table)))
        self.settle(self._limit)

    def ready(self, table: Any) -> Callable[[], object]:
        return self._writer.ready(table)

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        self.settle()
        self._writer.write(outputs)

    def row(self, events: Mapping[str, Value]) -> None:
        self.settle()
        self._writer.row(events)

    def settle(self, limit: int = 0) -> None:
        """Write tables until at most `limit` of them wait."""
        try:
            while len(self._waiting) > limit or (self._waiting and self._waiting[0].done):
                self._waiting.popleft().wait_for()()
        except BaseException:
            self._waiting.clear()  # tables after the failed one must not be written
            raise

    def flush(self) -> None:
        """Write nothing yet: a file has no waiting reader."""

    def drain(self) -> None:
        self.settle()
        self._writer.drain()


@contextmanager
def overlap(
    blocks: Iterator[LogBlock],
    writer: EventWriter,
    start: Start,
    threads: int,
    share: Callable[[Pool], object] = lambda _: None,
) -> Iterator[tuple[Iterator[LogBlock], EventWriter]]:
    """Yield the blocks and the writer for a run in threads, if the files allow that; otherwise both as they are.

    All tables are written at the end; when a block fails, those of the blocks before it.

    Parameters
    ----------
    share: receives the pool of the threads.
    """
    # a pipe, or a file that grows, may keep a thread
    files = not start.live and all(Path(each).is_file() for each in list_named_files(start.options.input) or [""])
    if threads < 2 or not files or writer.live or start.options.head is not None:
        yield blocks, writer
        return
    executor = ThreadPoolExecutor(threads, "workbench")
    into = OverlappedWriter(writer, Pool(executor), threads)
    share(into.pool)
    try:
        try:
            ahead = _ReadAhead(blocks, into.pool, threads + 1)
            start.closing.callback(ahead.settle)  # before the reader is closed
            yield iter(ahead), into
        except Exception:
            into.settle()
            raise
        into.settle()
    finally:
        with hold():
            executor.shutdown(wait=not came(), cancel_futures=True)


class _ReadAhead:
    """Blocks of which `count` have been read ahead, and one more is being read. Errors are raised in order."""

    def __init__(self, blocks: Iterator[LogBlock], pool: Pool, count: int) -> None:
        self._blocks, self._pool, self._count = blocks, pool, count
        self._read = self._start()

    def _start(self) -> Submitted[LogBlock | None]:
        return self._pool.start(partial(next, self._blocks, None))

    def settle(self) -> None:
        """Wait until no thread reads any more."""
        Done(self._read.wait_for)

    def __iter__(self) -> Iterator[LogBlock]:
        coming = deque[LogBlock]()
        while True:
            block = Done(self._read.wait_for)
            log_block = None if block.has_failed else block.wait_for()
            if log_block is None:
                break
            self._read = self._start()
            coming.append(replace(log_block, columns=self._pool.start(log_block.columns).wait_for))
            if len(coming) == self._count:
                yield coming.popleft()
        yield from coming
        block.wait_for()
