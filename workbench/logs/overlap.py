"""Reading ahead and writing behind: a file is read and another one written while what lies between is computed.

The rule of this module: a block is read and a table written at a time, in their order, and nothing of that goes on when
it is left, whatever happens. So values, order and errors are those of one thread.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
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


@contextmanager
def overlapping(
    start: Start, threads: int, blocks: Iterator[LogBlock], writer: RowWriter
) -> Iterator[tuple[Iterator[LogBlock], RowWriter | WriterBehind]]:
    """Blocks that are read ahead and a writer that writes behind, where threads and files allow that; else the same."""
    args = start.options
    files = all(Path(each).is_file() for each in named_files(args.input) or [""])  # a pipe may keep a thread for ever
    if threads < 2 or not files or is_stream(args.output) or start.option("head") is not None:
        yield blocks, writer
        return
    from workbench.executors.threaded.manager import ThreadManager

    with ThreadManager(2) as manager, closing(_ahead(blocks, manager)) as ahead:
        start.closing.callback(ahead.close)  # before what it reads is closed
        behind = WriterBehind(writer, manager)
        try:
            yield ahead, behind
        finally:
            behind.wait()


def _ahead(blocks: Iterator[LogBlock], manager: ThreadManager) -> Generator[LogBlock]:
    """The blocks, with their columns, each of which is read while the one before it is used."""

    def read() -> tuple[LogBlock, Any] | None:
        block = next(blocks, None)
        return None if block is None else (block, block.columns())

    pending = manager.start(read)
    try:
        while (found := pending.wait_for()) is not None:
            pending = manager.start(read)
            yield LogBlock(found[0].steps, partial(_same, found[1]))
    finally:
        with suppress(Exception):  # told before, or nobody's business any more
            pending.wait_for()


def _same(columns: Any) -> Any:
    return columns


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
