"""Conversion of events to and from Spark columns; `events/columns` defines the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

from workbench.core.domain import Domain, Value
from workbench.core.program import Ported
from workbench.errors import DomainError, InputError, WorkbenchError
from workbench.events.batch import Columns, LogBatch, rows_of
from workbench.events.column_map import has_columns
from workbench.events.columns import as_json, kind
from workbench.events.values import UnreadableError, from_json, parse_json, short

STEP = "step"
"""The output column with the step of each event, counted per key."""


def output_schema(program: Ported, key: str, key_type: str) -> str:
    """Return the output columns of a program for each key, as a Spark schema.

    Raises
    ------
    InputError: two columns would have the same name.
    """
    outputs = program.ports.outputs_by_name
    for name in outputs:
        if name.lower() in (key.lower(), STEP):
            whose = "step" if name.lower() == STEP else "key"
            raise InputError(
                f"output '{name}' would have the name of the column for the {whose}",
                hint="give the output another name: `-> total: int`",
            )
    if key.lower() == STEP:
        raise InputError(f"the key '{key}' would have the name of the column for the step", hint="rename the column")
    column_types = (f"`{name}` {kind(domain)}" for name, domain in outputs.items())
    return ", ".join([f"`{key}` {key_type}", f"{STEP} long", *column_types])


class RowError(Exception):
    """An error in a row of a batch.

    Attributes
    ----------
    row: the row's index in the batch.
    """

    def __init__(self, row: int, error: WorkbenchError) -> None:
        self.row, self.error = row, error


def read_events(domains: Mapping[str, Domain], columns: Sequence[Any], count: int) -> LogBatch:
    """Read the events of each input in `count` rows from their Arrow columns.

    Raises
    ------
    RowError: names the first row in which JSON text is no event of an input.
    """
    from workbench.events.input_columns import decode_column

    arrow_columns = dict(zip(domains, columns, strict=True))
    arrays = {
        n: decode_column(d, arrow_columns[n], stored=True) if has_columns(d) else None for n, d in domains.items()
    }
    if None not in arrays.values():
        return LogBatch(range(count), columns=cast("Columns", arrays))
    lists, wrong = dict[str, list[Any]](), list[tuple[int, DomainError]]()
    for name, domain in domains.items():
        cells = lists[name] = arrow_columns[name].to_pylist()
        if as_json(domain):
            known = {text: _parse(text, domain, name) for text in cells if text is not None}
            lists[name] = values = [known.get(text) for text in cells]
            wrong += [(row, value) for row, value in enumerate(values) if isinstance(value, DomainError)][:1]
    if wrong:
        raise RowError(*min(wrong, key=itemgetter(0)))
    return LogBatch(range(count), list(rows_of(lists)) if lists else [{}] * count)


def _parse(text: str, domain: Domain, name: str) -> Value | DomainError:
    """Parse the JSON text of an event of an input, or return the error."""
    try:
        return from_json(parse_json(text), domain)
    except UnreadableError as error:
        return DomainError(f"input '{name}': expected {error}, not {short(text)}")
    except ValueError as error:
        return DomainError(f"input '{name}': {error}")
