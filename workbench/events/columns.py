"""Events as columns: of Arrow, as in Parquet files and Spark, and of numpy, one for each scalar field.

The rule of this module: four types of Arrow columns are enough. Truth values, whole numbers and floats are `boolean`,
`long` and `double`; all else is `string`: labels and texts as they are, tuples, records, maps and other values as JSON
text. A null means no event. Cells in doubt are left to code that reads events one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from workbench.core.domain import BOOL, Bool, Domain, Enum, Integer, Integers, Range, Reals, Texts, Value
from workbench.core.fields import Tuple, join_parts, scalars
from workbench.errors import DomainError
from workbench.events.clock import Times
from workbench.events.values import CopiedCells, KeyTexts, dump_json, is_encodable, to_json, to_text

PLAIN = r"^-?[0-9]{1,18}$"
"""A pattern for texts that are certainly whole numbers of 64 bits."""


def kind(domain: Domain) -> str:
    """Return the name of the column type for a domain in Spark."""
    if isinstance(domain, Bool):
        return "boolean"
    if isinstance(domain, Reals):
        return "double"
    return "long" if domain.numeric and not as_json(domain) and not isinstance(domain, CopiedCells) else "string"


def as_json(domain: Domain) -> bool:
    """Whether the values of a domain are JSON text in a column."""
    return not isinstance(domain, Bool | Reals | Enum | Texts | Integer | Integers | Range | Times | CopiedCells)


def arrow_type(domain: Domain) -> Any:
    """Return the Arrow type of the column for a domain."""
    import pyarrow as pa

    if isinstance(domain, CopiedCells) and domain.kind is not None:
        return domain.kind
    return {"boolean": pa.bool_(), "long": pa.int64(), "double": pa.float64(), "string": pa.string()}[kind(domain)]


def has_array(domain: Domain) -> bool:
    """Whether events of a domain are one word each in compiled code, or keys or times, and plain cells in a log."""
    if isinstance(domain, Times):
        return not domain.kind  # else they are read one by one
    return (
        isinstance(domain, Bool | Reals | Enum | Integers | Integer | Range | KeyTexts | CopiedCells)
        or type(domain) is Texts
    )


def to_column(domain: Domain, values: Sequence[Value | None], whose: str) -> Any:
    """Build an Arrow array of events; None means no event.

    Parameters
    ----------
    whose: the input or output, for messages: `output 'y'`.

    Raises
    ------
    DomainError: a number does not fit the type of the column.
    """
    import pyarrow as pa

    if isinstance(domain, CopiedCells):
        return _cell_array(values, domain, whose)
    if as_json(domain):
        values = [None if value is None else dump_json(to_json(value, domain)) for value in values]
    try:
        return text_array(values) if kind(domain) == "string" else _number_array(values, domain)
    except (pa.ArrowInvalid, OverflowError, TypeError) as error:
        odd = next(v for v in values if isinstance(v, float) or not (v is None or -(2**63) <= v < 2**63))
        raise DomainError(
            f"{odd!r} on {whose} is not a whole number of 64 bits, which a column has for {domain}",
            hint="declare it as float" if isinstance(odd, float) else "use CSV or JSON lines, without Spark",
        ) from error


def _cell_array(cells: Sequence[Any], domain: CopiedCells, whose: str) -> Any:
    """Build an Arrow array of copied cells: of the type of their column, or texts."""
    import pyarrow as pa

    if domain.kind is None:
        return text_array(None if cell is None else to_text(cell, domain) for cell in cells)
    try:
        return pa.array(cells, domain.kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        hint = "write CSV or JSON lines, which need no type for a column"
        raise DomainError(f"{whose} has cells of other types than {domain.kind}", hint=hint) from error


def is_plain_type(kind: Any) -> bool:
    """Whether each value of a column of this Arrow type has one text: it is a text, a number or a truth value."""
    import pyarrow as pa

    plain = (pa.types.is_string, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return any(is_one(kind) for is_one in plain)


def rows_to_columns(rows: Sequence[Mapping[str, Value]], domains: Mapping[str, Domain], whose: str) -> list[Any]:
    """Build an Arrow array for each input or output from rows of events; see `to_column`."""
    return [to_column(domain, [row.get(n) for row in rows], f"{whose} '{n}'") for n, domain in domains.items()]


def text_array(texts: Iterable[str | None]) -> Any:
    """Build an Arrow array of texts; `pyarrow.array` would import pandas."""
    import pyarrow as pa

    builder = pa.lib.StringBuilder()
    builder.append_values(texts)
    return builder.finish()


def _number_array(values: Sequence[Value | None], domain: Domain) -> Any:
    """Build an Arrow array of numbers or truth values; `pyarrow.array`, used for errors, imports pandas."""
    import numpy as np
    import pyarrow as pa

    plain = {"boolean": bool, "long": int, "double": float}[kind(domain)]
    if not set(map(type, values)) <= {plain, type(None)}:
        return pa.array(values, arrow_type(domain))
    there = np.array([value is not None for value in values], np.bool_)
    array = np.array([plain() if value is None else value for value in values], plain)
    valid, bits = (pa.py_buffer(np.packbits(each, bitorder="little")) for each in (there, array != 0))
    data = bits if plain is bool else pa.py_buffer(array)
    return pa.Array.from_buffers(arrow_type(domain), len(values), [None if there.all() else valid, data])


def arrays_of(domain: Domain, events: Sequence[Value]) -> list[Any] | None:
    """Return a numpy array for each scalar field; None if an event may not be of the domain, or fits in no array."""
    if not isinstance(domain, Tuple):
        array = _array(domain, events)
        return None if array is None else [array]
    if not (set(map(type, events)) <= {tuple} and set(map(len, events)) <= {len(domain.fields)}):
        return None
    columns: Sequence[Sequence[Value]] = list(zip(*events, strict=True)) if events else [()] * len(domain.fields)
    arrays: list[Any] = []
    for field, column in zip(domain.fields, columns, strict=True):
        inside = arrays_of(field, column)
        if inside is None:
            return None
        arrays += inside
    return arrays


def values_of(domain: Domain, arrays: Sequence[Any]) -> list[Value]:
    """Return the values of a domain from an array for each scalar field: the inverse of `arrays_of`."""
    if isinstance(domain, Tuple):
        rest = iter(arrays)
        parts = [values_of(field, list(islice(rest, len(scalars(field))))) for field in domain.fields]
        return list(zip(*parts, strict=True))
    if scalars(domain) == (((), domain),):
        values: list[Value] = arrays[0].tolist()
        return [domain.labels[number] for number in values] if isinstance(domain, Enum) else values
    columns = [values_of(part, [array]) for (_, part), array in zip(scalars(domain), arrays, strict=True)]
    return [join_parts(domain, iter(row)) for row in zip(*columns, strict=True)]


def _array(domain: Domain, column: Sequence[Value]) -> Any:
    import numpy as np

    from workbench.events.text_column import TextColumn

    kinds = set(map(type, column))
    if isinstance(domain, Enum):
        positions = {label: i for i, label in enumerate(domain.labels)}
        if not kinds <= {str} or not positions.keys() >= set(column):
            return None
        return np.array([positions[label] for label in column], np.int64)
    if domain == BOOL:
        return np.array(column, np.bool_) if kinds <= {bool} else None
    if isinstance(domain, Texts):
        return TextColumn.of(column) if kinds <= {str} and is_encodable("".join(set(column))) else None
    if isinstance(domain, Reals):
        return np.array(column, np.float64) if kinds <= {float} else None
    if not isinstance(domain, Integers | Integer | Range) or not kinds <= {int}:
        return None
    try:
        array = np.array(column, np.int64)
    except OverflowError:
        return None
    if isinstance(domain, Integers) or not len(array):
        return array
    return array if domain.lo <= array.min() and array.max() <= domain.hi else None
