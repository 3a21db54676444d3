"""Convert the arrays of compiled code to Arrow columns of outputs, and these to rows.

The rule of this module: `columns.kind` defines the type of a column; a null means no event, and tuples are JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.core.domain import ANY, INT, Domain, Reals, Value
from workbench.core.fields import Tuple, scalars
from workbench.events.batch import rows_of
from workbench.events.buffers import numbers_to_arrow
from workbench.events.column_map import has_columns
from workbench.events.columns import as_json, to_column
from workbench.events.texts import tuple_texts
from workbench.events.values import from_text


def outputs_to_table(outputs: Mapping[str, Any], domains: Mapping[str, Domain]) -> Any:
    """Convert outputs to an Arrow table with a row for each step; several events of one in a step take several rows.

    Parameters
    ----------
    outputs: name to events (`session.OutputEvents`), with `steps` if there are several outputs.
    domains: the domains of the outputs. A null means no event.
    """
    return pa.table(outputs_to_columns(outputs, domains)[1], list(domains))


def outputs_to_columns(outputs: Mapping[str, Any], domains: Mapping[str, Domain]) -> tuple[Any, list[Any]]:
    """Return the step of each row of that table, if outputs have `steps`, and its columns."""
    rows: list[Any] = []
    of_rows = next(iter(outputs.values())).steps
    if len(domains) > 1:
        steps = [outputs[name].steps for name in domains]
        numbers = [np.arange(len(each)) - np.searchsorted(each, each) for each in steps]  # among the events of its step
        width = 1 + max((int(each.max()) for each in numbers if len(each)), default=0)
        rows = [each * width + number for each, number in zip(steps, numbers, strict=True)]
        every = np.unique(np.concatenate(rows))
        of_rows = every // width
    columns = []
    for i, (name, domain) in enumerate(domains.items()):
        column = _output_to_arrow(domain, outputs[name], name)
        if rows and len(rows[i]) < len(every):
            indices = np.full(len(every), -1)
            indices[np.searchsorted(every, rows[i])] = np.arange(len(rows[i]))
            column = column.take(numbers_to_arrow(INT, indices, indices >= 0))
        columns.append(column)
    return of_rows, columns


def _output_to_arrow(domain: Domain, output: Any, name: str) -> Any:
    """Convert the events of an output to an Arrow array; those without arrays from their values."""
    if output.fields and has_columns(domain):
        return events_to_arrow(domain, output.fields)
    return to_column(domain, output.events(), f"output '{name}'")


def events_to_arrow(domain: Domain, arrays: Sequence[Any], there: Any = None) -> Any:
    """Convert events with an array for each scalar field to an Arrow array: tuples are JSON text."""
    if not isinstance(domain, Tuple):
        return numbers_to_arrow(domain, arrays[0], there)
    fields = (
        numbers_to_arrow(part, array, there, quoted=True)
        for (_, part), array in zip(scalars(domain), arrays, strict=True)
    )
    return tuple_texts(domain, fields)


def table_rows(table: Any, domains: Mapping[str, Domain]) -> Iterator[dict[str, Value]]:
    """Yield the rows of a table of outputs; JSON texts are parsed."""
    lists = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        domain, values = domains[name], column.to_pylist()
        if as_json(domain) or is_texts_of_numbers(domain, column):
            held = domain if as_json(domain) else ANY
            known = {text: from_text(text, held) for text in set(values) - {None}}
            values = [known.get(text) for text in values]
        lists[name] = values
    return rows_of(lists)


def is_texts_of_numbers(domain: Domain, column: Any) -> bool:
    """Whether a column of floats has texts, some of which are whole numbers."""
    return isinstance(domain, Reals) and pa.types.is_string(column.type)
