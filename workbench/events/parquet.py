"""Parquet files of events: read in batches, written in batches.

The rule of this module: a cell is what it is in JSON lines, typed; `events_values` says what it may be. Written columns
are those of `events_columns`; what is read may also have structs, lists and maps for records, tuples and maps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from workbench.core.domain import Domain, Map, Value
from workbench.errors import InputError
from workbench.events.arrow import arrow_type, as_json, to_column
from workbench.events.values import UnreadableError, from_json, from_text, short

BATCH = 4096
"""Rows that are read, or kept to be written, at a time."""


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """What pyarrow cannot do, as an error of ours."""
    try:
        import pyarrow as pa
    except ImportError as error:
        hint = "install the extra 'lab': pip install 'workbench[lab]'; or use CSV or JSON lines"
        raise InputError("Parquet needs pyarrow, which is not installed", where=where, hint=hint) from error
    try:
        yield
    except pa.ArrowException as error:
        raise InputError(f"this cannot be read as Parquet: {error}", where=where) from error


def columns(file: IO[bytes], where: str) -> tuple[list[str], Iterator[list[list[Any]]]]:
    """The names of the columns of a file, and its batches, each a list of Python values per column."""
    if not file.seekable():
        raise InputError(
            "Parquet cannot be read from a pipe", where=where, hint="give the file, or write CSV or JSON lines"
        )
    with _readable(where):
        from pyarrow import parquet

        opened = parquet.ParquetFile(file)

    def batches() -> Iterator[list[list[Any]]]:
        with _readable(where):
            for batch in opened.iter_batches(batch_size=BATCH):
                yield [column.to_pylist() for column in batch.columns]

    return opened.schema_arrow.names, batches()


def from_cell(value: Any, domain: Domain) -> Value:
    """The value of a cell as an event.

    Raises
    ------
    UnreadableError: it is none.
    """
    if isinstance(value, str) and as_json(domain):
        return from_text(value, domain)
    if isinstance(value, list) and isinstance(domain, Map):
        value = {str(key): item for key, item in value}
    return from_json(value, domain)


def events(
    batches: Iterator[list[list[Any]]], names: Sequence[str | None], inputs: Mapping[str, Domain], where: str
) -> Iterator[dict[str, Value]]:
    """The steps of a file: a row each; rows are counted from 1.

    Parameters
    ----------
    names: the input that each column holds; None for one that is passed over.
    """
    number = 0
    for batch in batches:
        held = [(name, inputs[name], column) for name, column in zip(names, batch, strict=True) if name is not None]
        for i in range(len(batch[0])):
            number += 1
            step: dict[str, Value] = {}
            for name, domain, column in held:
                if column[i] is not None:
                    try:
                        step[name] = from_cell(column[i], domain)
                    except UnreadableError as error:
                        shown = short(repr(column[i]))
                        raise error.refusal(f"column '{name}'", shown, f"{where}:{number}") from error
            yield step


class ParquetRows:
    """A Parquet file that is being written."""

    def __init__(self, file: IO[bytes], domains: Mapping[str, Domain], where: str) -> None:
        with _readable(where):
            import pyarrow as pa
            from pyarrow import parquet

            self._schema = pa.schema([(name, arrow_type(domain)) for name, domain in domains.items()])
            self._writer = parquet.ParquetWriter(file, self._schema)
        self._domains, self._rows = domains, list[Mapping[str, Value]]()

    def add(self, row: Mapping[str, Value]) -> None:
        """A row more."""
        self._rows.append(row)
        if len(self._rows) == BATCH:
            self.flush()

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()

    def flush(self) -> None:
        """Write the rows that are kept."""
        import pyarrow as pa

        made = [to_column(d, [row.get(name) for row in self._rows], name) for name, d in self._domains.items()]
        self._writer.write_batch(pa.record_batch(made, schema=self._schema))
        self._rows = []
