"""What comes out of a run, in the forms that Python's data has.

The rule of this module: tables and rows are those that files have, a row for each event of a step, and no row where
nothing came out; streams and arrays are the events of each output by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Domain, Enum, Value
from workbench.events.columns import arrays_of, arrow_type, has_array, to_column
from workbench.logs.run import BlockOutputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

RunRow = dict[str, Value]
SIZE = 4096
"""Rows that are made a table at a time."""


def rows(made: Iterator[BlockOutputs], shown: Mapping[str, Domain], *, idle: bool = False) -> Iterator[RunRow]:
    """A row for each event of a step: output to event.

    Parameters
    ----------
    idle: whether a step in which nothing came out has an empty row.
    """
    for piece in made:
        if not isinstance(piece, Iterator):
            yield from rows_of(piece, shown)
            continue
        for outputs in piece:
            count = max(map(len, outputs.values()), default=0)
            for i in range(max(count, idle)):
                yield {name: values[i] for name, values in outputs.items() if i < len(values)}


def rows_of(made: Any, shown: Mapping[str, Domain]) -> Iterator[RunRow]:
    """The rows of columns of compiled code, or of an Arrow table."""
    from workbench.events.tables import table_rows

    return table_rows(table_of(made, shown), shown)


def tables(made: Iterator[BlockOutputs], shown: Mapping[str, Domain], *, idle: bool = False) -> Iterator[Any]:
    """The same as Arrow tables; a null is no event."""
    for piece in made:
        if not isinstance(piece, Iterator):
            yield table_of(piece, shown).cast(schema(shown))
            continue
        some = rows(iter([piece]), shown, idle=idle)
        while batch := list(itertools.islice(some, SIZE)):
            yield table_of_rows(batch, shown)


def table_of(made: Any, shown: Mapping[str, Domain]) -> Any:
    """An Arrow table of columns of compiled code, or one that is there already."""
    if not isinstance(made, Mapping):
        return made
    from workbench.events.arrays import shown_table

    return shown_table(made, shown)


def table_of_rows(given: Sequence[Mapping[str, Value]], shown: Mapping[str, Domain]) -> Any:
    """An Arrow table of rows.

    Raises
    ------
    DomainError: a number is none of a column's.
    """
    import pyarrow as pa

    columns = [to_column(domain, [row.get(n) for row in given], f"output '{n}'") for n, domain in shown.items()]
    return pa.table(columns, list(shown)) if columns else pa.table({})


def schema(shown: Mapping[str, Domain]) -> Any:
    """That of these tables."""
    import pyarrow as pa

    return pa.schema([(name, arrow_type(domain)) for name, domain in shown.items()])


def joined(parts: Iterable[Any], shown: Mapping[str, Domain]) -> Any:
    """One table of several."""
    import pyarrow as pa

    some = [table.cast(schema(shown)) for table in parts if table.num_rows]
    return pa.concat_tables(some) if some else schema(shown).empty_table()


def streams(made: Iterator[BlockOutputs], shown: Mapping[str, Domain]) -> dict[str, list[Value]]:
    """The events of each output."""
    found: dict[str, list[Value]] = {name: [] for name in shown}
    for piece in made:
        if isinstance(piece, Mapping):
            for name, column in piece.items():
                found[name] += column.events()
            continue
        for outputs in piece:
            for name, values in outputs.items():
                found[name] += values
    return found


def listed(made: Iterator[BlockOutputs], shown: Mapping[str, Domain]) -> dict[str, list[Value]]:
    """Rows as lists of one length; None is no event."""
    found: dict[str, list[Value]] = {name: [] for name in shown}
    for row in rows(made, shown):
        for name, values in found.items():
            values.append(row.get(name))
    return found


def masked(made: Iterator[BlockOutputs], shown: Mapping[str, Domain]) -> dict[str, NDArray[Any]]:
    """The same as arrays; where some row has no event they are masked."""
    import numpy as np

    def array(values: list[Value], domain: Domain) -> NDArray[Any]:
        there = np.array([value is not None for value in values], np.bool_)
        some = _array([value for value in values if value is not None], domain)
        if there.all():
            return some
        found: Any = np.ma.MaskedArray(np.zeros(len(values), some.dtype), ~there)
        found[there] = some
        return found

    return {name: array(values, shown[name]) for name, values in listed(made, shown).items()}


def arrays(made: Iterator[BlockOutputs], shown: Mapping[str, Domain]) -> dict[str, NDArray[Any]]:
    """The same as arrays: of bool, int64 or float64, of labels (`str_`), of any other values (`object`)."""
    import numpy as np

    found: dict[str, list[Any]] = {name: [] for name in shown}
    for piece in made:
        if isinstance(piece, Mapping):
            for name, column in piece.items():
                domain = shown[name]
                one = has_array(domain)
                found[name].append(_named(column.array, domain) if one else _array(column.events(), domain))
            continue
        for name, values in streams(iter([piece]), shown).items():
            if values:
                found[name].append(_array(values, shown[name]))
    none = {name: _array([], domain) for name, domain in shown.items()}
    return {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts or [none[name]]) for name, parts in found.items()
    }


def _array(values: list[Value], domain: Domain) -> NDArray[Any]:
    import numpy as np

    made = arrays_of(domain, values) if has_array(domain) else None
    if made is not None:
        return _named(made[0], domain)
    found: NDArray[Any] = np.empty(len(values), np.object_)
    for i, value in enumerate(values):  # numpy would take tuples for rows
        found[i] = value
    return found


def _named(array: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """Labels for their positions; texts one by one."""
    import numpy as np

    return np.array(domain.labels)[array] if isinstance(domain, Enum) else np.asarray(array)
