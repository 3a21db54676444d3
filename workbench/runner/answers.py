"""Outputs of a run as Python data: rows, tables, lists, arrays, frames.

The rule of this module: tables and rows are the same as in files, one row for each event of a step, and no row for a
step without events; streams and arrays contain the events of each output separately.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from workbench.core.domain import Domain, Enum, Value
from workbench.core.readable import plural
from workbench.display import Displayed
from workbench.events.columns import arrays_of, arrow_type, has_array, rows_to_columns
from workbench.events.values import standard_json, to_json
from workbench.executors.session import BatchOutput
from workbench.extensions import later

if TYPE_CHECKING:
    from numpy.typing import NDArray

RunRow = dict[str, Value]
table_rows = later("workbench.events.output_columns", "table_rows")
"""Convert an Arrow table to rows."""
SIZE = 4096
"""Number of rows that are converted to a table at a time."""


def rows(outputs: Iterable[BatchOutput], domains: Mapping[str, Domain]) -> Iterator[RunRow]:
    """Yield a row for each event of a step: a dictionary from output to event."""
    return itertools.chain.from_iterable(rows_of(each, domains) for each in outputs)


def rows_of(output: BatchOutput, domains: Mapping[str, Domain]) -> Iterable[RunRow]:
    """Return the events of a batch output as rows."""
    if output.lists is not None:
        return ({name: event} for name, events in output.lists.items() for event in events)
    table = output.as_table(domains)
    return cast("Sequence[RunRow]", output.rows) if table is None else table_rows(table, domains)


def tables(outputs: Iterable[BatchOutput], domains: Mapping[str, Domain]) -> Iterator[Any]:
    """Yield the outputs as Arrow tables; a null means no event."""
    for output in outputs:
        if (table := output.as_table(domains)) is not None:
            yield table.cast(schema(domains))
            continue
        some = iter(rows_of(output, domains))
        while batch := list(itertools.islice(some, SIZE)):
            yield table_of_rows(batch, domains)


def table_of_rows(batch: Sequence[Mapping[str, Value]], domains: Mapping[str, Domain]) -> Any:
    """Build an Arrow table from rows.

    Raises
    ------
    DomainError: a number does not fit the type of its column.
    """
    import pyarrow as pa

    columns = rows_to_columns(batch, domains, "output")
    return pa.table(columns, list(domains)) if columns else pa.table({})


def schema(domains: Mapping[str, Domain]) -> Any:
    """Return the Arrow schema of the output tables."""
    import pyarrow as pa

    return pa.schema([(name, arrow_type(domain)) for name, domain in domains.items()])


def join_tables(parts: Iterable[Any], domains: Mapping[str, Domain]) -> Any:
    """Concatenate Arrow tables into one."""
    import pyarrow as pa

    some = [table.cast(schema(domains)) for table in parts if table.num_rows]
    return pa.concat_tables(some) if some else schema(domains).empty_table()


def streams(outputs: Iterable[BatchOutput], domains: Mapping[str, Domain]) -> dict[str, list[Value]]:
    """Collect the events of each output."""
    events_by_name: dict[str, list[Value]] = {name: [] for name in domains}
    for output in outputs:
        for name, column in (output.columns or {}).items():
            events_by_name[name].extend(column.events())
        for name, events in (output.lists or {}).items():
            events_by_name[name].extend(events)
        _add_rows(output.rows, events_by_name)
    return events_by_name


def _add_rows(batch: Iterable[Mapping[str, Value]], events_by_name: Mapping[str, list[Value]]) -> None:
    for row in batch:
        for name, event in row.items():
            events_by_name[name].append(event)


def listed(outputs: Iterable[BatchOutput], domains: Mapping[str, Domain]) -> dict[str, list[Value]]:
    """Collect rows as lists of equal length; None means no event."""
    columns: dict[str, list[Value]] = {name: [] for name in domains}
    for row in rows(outputs, domains):
        for name, values in columns.items():
            values.append(row.get(name))
    return columns


def mask_arrays(outputs: Iterable[BatchOutput], domains: Mapping[str, Domain]) -> dict[str, NDArray[Any]]:
    """Collect rows as arrays, masked where a row has no event."""
    import numpy as np

    def array(values: list[Value], domain: Domain) -> NDArray[Any]:
        there = np.array([value is not None for value in values], np.bool_)
        some = _array([value for value in values if value is not None], domain)
        if there.all():
            return some
        masked_array: Any = np.ma.MaskedArray(np.zeros(len(values), some.dtype), ~there)
        masked_array[there] = some
        return masked_array

    return {name: array(values, domains[name]) for name, values in listed(outputs, domains).items()}


def arrays(outputs: Iterable[BatchOutput], domains: Mapping[str, Domain]) -> dict[str, NDArray[Any]]:
    """Collect the events of each output as arrays: bool, int64, float64, `str_` for labels, `object` for all else."""
    import numpy as np

    parts_by_name: dict[str, list[Any]] = {name: [] for name in domains}
    for output in outputs:
        if output.columns is not None:
            for name, column in output.columns.items():
                domain = domains[name]
                one = has_array(domain)
                parts_by_name[name].append(
                    _name_labels(column.fields[0], domain) if one else _array(column.events(), domain)
                )
            continue
        for name, values in streams([output], domains).items():
            if values:
                parts_by_name[name].append(_array(values, domains[name]))
    none = {name: _array([], domain) for name, domain in domains.items()}
    return {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts or [none[name]])
        for name, parts in parts_by_name.items()
    }


def _array(values: list[Value], domain: Domain) -> NDArray[Any]:
    import numpy as np

    fields = arrays_of(domain, values) if has_array(domain) else None
    if fields is not None:
        return _name_labels(fields[0], domain)
    objects: NDArray[Any] = np.empty(len(values), np.object_)
    for i, value in enumerate(values):  # numpy would take tuples for rows
        objects[i] = value
    return objects


def _name_labels(array: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """Replace positions of labels by the labels; decode texts one by one."""
    import numpy as np

    return np.array(domain.labels)[array] if isinstance(domain, Enum) else np.asarray(array)


# --- outputs of files, and frames -------------------------------------------------------------------------------


def _pandas(table: Any) -> Any:
    """Convert a table to a writable pandas frame; integers with nulls stay integers, and numbers are not copied."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    cells, kinds = {}, {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.num_chunks == 1 and not column.null_count and column.type in (pa.int64(), pa.float64()):
            chunk = column.chunk(0)
            cells[name] = np.frombuffer(chunk.buffers()[1], column.type.to_pandas_dtype())[chunk.offset :][: len(chunk)]
        else:
            cells[name] = column.to_pandas(types_mapper=kinds.get if column.null_count else None)
    return pd.DataFrame(cells, copy=False)


def _polars(table: Any) -> Any:
    return sys.modules["polars"].from_arrow(table)


def _relation(table: Any) -> Any:
    return sys.modules["duckdb"].from_arrow(table)


FRAMES: dict[str, Callable[[Any], Any]] = {"pandas": _pandas, "polars": _polars, "duckdb": _relation}
"""Functions from an Arrow table to a frame, by the package of the frame."""


class RunOutputs(Displayed):
    """The outputs of a run over a file: rows, each a dictionary from output to event, one for each event of a step.

    Attributes
    ----------
    backend: the name of the backend that ran the program.
    domains: the outputs and their domains.
    """

    def __init__(self, domains: Mapping[str, Domain], backend: str, outputs: Iterator[BatchOutput]) -> None:
        self.backend, self.domains = backend, domains
        self._parts = [
            list(rows_of(each, domains)) if (table := each.as_table(domains)) is None else table for each in outputs
        ]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[RunRow]:
        for part in self._parts:
            yield from part if isinstance(part, list) else table_rows(part, self.domains)

    def to_arrow(self) -> Any:
        """Return the rows as an Arrow table; a null means no event. DomainError: a number does not fit its column."""
        parts = (table_of_rows(part, self.domains) if isinstance(part, list) else part for part in self._parts)
        return join_tables(parts, self.domains)

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame, in which integers stay integers."""
        return _pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the rows as a Polars frame; ModuleNotFoundError where polars is not installed."""
        return importlib.import_module("polars").from_arrow(self.to_arrow())

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows as JSON data, as a file of JSON lines has them."""
        return [
            {name: standard_json(to_json(value, self.domains[name])) for name, value in row.items()} for row in self
        ]

    def to_dict(self) -> dict[str, list[Value]]:
        """Return the events of each output."""
        events_by_name: dict[str, list[Value]] = {name: [] for name in self.domains}
        _add_rows(self, events_by_name)
        return events_by_name

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{plural(len(self), 'row')} of {', '.join(self.domains)}, by the {self.backend} backend>"
