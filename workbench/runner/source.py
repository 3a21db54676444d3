"""Sources of the rows of a run: files, or Python data.

The rule of this module: names of columns and forms of cells are the same for both, and a row is read on demand.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from workbench.core.domain import BOOL, FLOAT, INT, Domain
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.data import ArraysReader, FrameBatch, RowsReader, TableReader
from workbench.events.decoding import count_blocks
from workbench.events.files import display_name
from workbench.events.inputs import LogPath, list_named_files
from workbench.events.read import as_key, cell_domain, key_domain, read_blocks
from workbench.events.reading_options import Reading
from workbench.events.rows import LogBlock, RowReader
from workbench.events.typed import column_domain
from workbench.events.values import CopiedCells, KeyTexts
from workbench.executors.session import BATCH

NAME_COLUMN = "name the one to read: columns={'%s': 'NAME'}"


class LogSource(ABC):
    """A log.

    Attributes
    ----------
    name: the user's name for the log, and the place of a row in messages.
    log_name: the name of the log in messages.
    format_of: the file that determines the format of the output if nothing else does; `-`: none.
    columns: whether the log may have columns.
    rereadable: whether its rows can be read more than once.
    size: the maximum number of rows that are read before the outputs of the first one are yielded.
    """

    name = "row"
    log_name = "the log"
    format_of: LogPath = "-"
    columns = True
    rereadable = True
    size = BATCH

    @abstractmethod
    def blocks(self, program: Ported, reading: Reading, reporter: Reporter) -> Generator[LogBlock]:
        """Read the rows for the inputs of a program."""

    @abstractmethod
    def key_domain(self, name: str, reading: Reading) -> Domain | None:
        """Infer the domain of the keys in a column: whole numbers, truth values or texts; None if it is unknown."""

    @abstractmethod
    def cell_domain(self, name: str, reading: Reading) -> Domain:
        """Infer the domain of the cells in a column, for copying them."""

    def logs(self) -> Sequence[LogSource]:
        """Return the logs that are merged by time where rows have times."""
        return [self]


class FileSource(LogSource):
    """The rows of a file, or of several one after the other."""

    def __init__(self, paths: Sequence[LogPath], *, live: bool) -> None:
        self.paths = paths
        self.name, self.format_of = str(paths[0]), paths[0]
        self.rereadable = not live
        if len(paths) == 1:
            self.log_name = display_name(paths[0])

    def blocks(self, program: Ported, reading: Reading, reporter: Reporter) -> Generator[LogBlock]:
        return read_blocks(self.paths, program, reading, reporter=reporter)

    def key_domain(self, name: str, reading: Reading) -> Domain:
        return key_domain(self.paths, name, reading)

    def cell_domain(self, name: str, reading: Reading) -> Domain:
        return cell_domain(self.paths, name, reading)

    def logs(self) -> Sequence[LogSource]:
        return [FileSource([path], live=not self.rereadable) for path in self.paths]


class DataSource(LogSource):
    """The rows of a table, a frame, arrays or lists by name, or of mappings."""

    def __init__(self, data: Any) -> None:
        kind = type(data).__name__
        if kind == "LazyFrame" or hasattr(type(data), "dtype"):
            hint = "collect() it" if kind == "LazyFrame" else "give this one column a name: {'x': data}"
            raise InputError(f"data of type {kind} cannot be read", hint=hint)
        self._data = data
        self.rereadable = not answers_as_it_comes(data)
        self.columns = not isinstance(data, Sequence | Iterator)
        if isinstance(data, Mapping):
            self.columns = not all(isinstance(each, Sequence) for each in data.values())
        elif not self.rereadable and not hasattr(data, "__arrow_c_stream__"):
            self.size = 1  # the next row may come much later

    def blocks(self, program: Ported, reading: Reading, reporter: Reporter) -> Generator[LogBlock]:
        reader: RowReader
        inputs = [replace(port, remedy=port.data_remedy or NAME_COLUMN % port.name) for port in program.ports.inputs]
        program = replace(program.ports, inputs=tuple(inputs))
        if isinstance(self._data, Mapping):
            reader = ArraysReader(program, reading, reporter, self._data)
        elif (stream := record_batches(self._data)) is not None:
            reader = TableReader(program, reading, reporter, *stream)
        elif isinstance(self._data, Iterable):
            reader = RowsReader(program, reading, reporter, self._data)
        else:
            kind = type(self._data).__name__
            raise InputError(
                f"data of type {kind} cannot be read", hint="pass a table, a frame, arrays by name, or rows"
            )
        return count_blocks(reader.blocks(cast(Any, None), self.name), self.name, reading, reporter.account)

    def key_domain(self, name: str, reading: Reading) -> Domain | None:
        if isinstance(self._data, Mapping):
            first = next((each for each in self._data.get(name, ()) if each is not None), None)
        elif (stream := record_batches(self._data)) is not None:
            return as_key(column_domain(stream[0], name)) if name in stream[0].names else None
        else:
            rows = self._data if isinstance(self._data, Sequence) else iter(self._data)
            head: list[Mapping[str, Any]] = list(itertools.islice(rows, 1))
            if not isinstance(rows, Sequence):
                self._data = itertools.chain(head, rows)
            first = head[0].get(name) if head else None
        first = cast(Any, first).item() if hasattr(first, "item") else first
        return {bool: BOOL, int: INT, str: KeyTexts()}.get(type(first))

    def cell_domain(self, name: str, reading: Reading) -> Domain:
        if isinstance(self._data, Mapping):
            kind = getattr(getattr(self._data.get(name), "dtype", None), "kind", "")
            return {"b": BOOL, "i": INT, "f": FLOAT}.get(kind) or CopiedCells()
        stream = record_batches(self._data)
        return CopiedCells() if stream is None else column_domain(stream[0], name)


def source_of(data: Any, *, live: bool = False) -> LogSource:
    """Return the source of a log; `live`: the log is being written while it is read."""
    files = list_named_files(data)
    return DataSource(data) if files is None else FileSource(files, live=live)


def answers_as_it_comes(data: Any) -> bool:
    """Whether rows or tables of the answer are computed when the caller takes them."""
    if hasattr(data, "__arrow_c_stream__"):
        return type(data).__name__ == "RecordBatchReader"
    return not isinstance(data, Sequence | Mapping | Path) and not hasattr(data, "__arrow_c_array__")


def record_batches(data: Any) -> tuple[Any, Iterator[Any]] | None:
    """Return the schema and the record batches of data that has such; None for other data."""
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        return None
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        return data.schema, iter([data])
    if find_package(data) == "pandas":
        return (batch := FrameBatch(data)), iter([batch])
    reader = data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
    return reader.schema, iter(reader)


def find_package(data: Any) -> str:
    """Return the package that a class is from."""
    return type(data).__module__.partition(".")[0].strip("_")
