"""Columns of events in Arrow, as Parquet files and Spark have them.

The rule of this module: four column types are enough. Truth values, whole numbers and floats are `boolean`, `long` and
`double`; all else is `string`: labels and texts as they are, tuples, records, maps and other values as JSON text. A
null is no event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.domain import Bool, Domain, Enum, Integer, Integers, Range, Reals, Texts, Value
from workbench.errors import DomainError
from workbench.events.values import dump_json, to_json


def kind(domain: Domain) -> str:
    """The type of a column of these values, as Spark calls it."""
    if isinstance(domain, Bool):
        return "boolean"
    if isinstance(domain, Reals):
        return "double"
    return "long" if domain.numeric and not as_json(domain) else "string"


def as_json(domain: Domain) -> bool:
    """Whether values are JSON text in a column."""
    return not isinstance(domain, Bool | Reals | Enum | Texts | Integer | Integers | Range)


def arrow_type(domain: Domain) -> Any:
    """The Arrow type of a column of these values."""
    import pyarrow as pa

    return {"boolean": pa.bool_(), "long": pa.int64(), "double": pa.float64(), "string": pa.string()}[kind(domain)]


def to_column(domain: Domain, values: Sequence[Value | None], name: str) -> Any:
    """An Arrow array of events; None is no event.

    Raises
    ------
    DomainError: a number is none of a column's.
    """
    import pyarrow as pa

    if as_json(domain):
        values = [None if value is None else dump_json(to_json(value, domain)) for value in values]
    try:
        return pa.array(values, arrow_type(domain))
    except (pa.ArrowInvalid, OverflowError, TypeError) as error:
        odd = next(v for v in values if v is not None and (isinstance(v, float) or not -(2**63) <= v < 2**63))
        raise DomainError(
            f"{odd!r} on output '{name}' is no whole number of 64 bits, which a column has for {domain}",
            hint="declare the output as float" if isinstance(odd, float) else "write CSV or JSON lines, without Spark",
        ) from error
