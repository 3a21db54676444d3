"""The answer of a run over files, and tables as the frames of other packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.display import Displayed
from workbench.executors.session import BatchOutput
from workbench.runner import answers
from workbench.runner.answers import RunRow


def _pandas(table: Any) -> Any:
    """A frame, which may be written to; integers with nulls stay integers, and numbers are not copied."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    found, kinds = {}, {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.num_chunks == 1 and not column.null_count and column.type in (pa.int64(), pa.float64()):
            chunk = column.chunk(0)
            found[name] = np.frombuffer(chunk.buffers()[1], column.type.to_pandas_dtype())[chunk.offset :][: len(chunk)]
        else:
            found[name] = column.to_pandas(types_mapper=kinds.get if column.null_count else None)
    return pd.DataFrame(found, copy=False)


def _polars(table: Any) -> Any:
    return sys.modules["polars"].from_arrow(table)


def _relation(table: Any) -> Any:
    return sys.modules["duckdb"].from_arrow(table)


FRAMES: dict[str, Callable[[Any], Any]] = {"pandas": _pandas, "polars": _polars, "duckdb": _relation}
"""What makes frames of tables, by the package of the frame."""


class RunOutputs(Displayed):
    """What came out of a run over a file: rows, a dictionary of output and event for each event of a step.

    Attributes
    ----------
    backend: what ran it.
    domains: the outputs, and what they carry.
    """

    def __init__(self, shown: Mapping[str, Domain], backend: str, made: Iterator[BatchOutput]) -> None:
        self.backend, self.domains = backend, shown
        self._parts = [
            list(answers.rows_of(each, shown)) if (table := answers.table_of(each, shown)) is None else table
            for each in made
        ]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[RunRow]:
        for part in self._parts:
            yield from part if isinstance(part, list) else answers.table_rows(part, self.domains)

    def to_arrow(self) -> Any:
        """The rows as an Arrow table; a null is no event. DomainError: a number has no place in it."""
        parts = (answers.table_of_rows(part, self.domains) if isinstance(part, list) else part for part in self._parts)
        return answers.joined(parts, self.domains)

    def to_pandas(self) -> Any:
        """The same as a pandas frame, in which integers stay integers."""
        return _pandas(self.to_arrow())

    def to_dict(self) -> dict[str, list[Value]]:
        """The events of each output."""
        found: dict[str, list[Value]] = {name: [] for name in self.domains}
        for row in self:
            for name, event in row.items():
                found[name].append(event)
        return found

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.domains)}, by the {self.backend} backend>"
