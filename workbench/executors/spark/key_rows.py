"""The rows of a log for a pipeline on Spark: key, order columns, position, and an event per input."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import FLOAT, INT, Domain, Range
from workbench.core.program import Ports
from workbench.errors import DomainError, InputError
from workbench.events.account import KEYLESS, Reporter
from workbench.events.batch import EventArray, LogBatch
from workbench.events.buffers import numbers_to_arrow
from workbench.events.columns import PLAIN, kind, rows_to_columns, to_column
from workbench.events.decoding import decode
from workbench.events.output_columns import events_to_arrow
from workbench.events.reading_options import Reading
from workbench.events.rows import LogBlock
from workbench.events.values import INTEGER, NUMBER, KeyTexts, UnreadableError, from_text, short
from workbench.executors.spark.layout import Layout
from workbench.executors.spark.reader import RowForm, RowOrigin, TaskRows

BATCH = 4096
"""Number of rows that are converted to columns at a time."""
ORDER_TYPES = "o0 double, o1 long, o2 string"
"""Sort keys of a text column: a number (infinite for a text), the number as an integer, and the text."""
_DATED = "^[0-9]+-"
"""The beginning of a text that is not a number: ISO 8601 dates have it."""
_WORD = Range(-(2**63), 2**63 - 1)


@dataclass(frozen=True)
class KeyRowForm(RowForm):
    """The columns of a layout, as a row form.

    Parameters
    ----------
    ports: the key, the order columns, and the inputs of the program.
    inputs: the names of the inputs.
    """

    ports: Ports
    inputs: Sequence[str]
    layout: Layout

    @property
    def schema(self) -> str:
        """The columns in Spark's notation."""
        layout, domains = self.layout, self.ports.domains
        types = {"file": "string", "task": "long", "row": "long"}
        columns = ["key " + kind(domains[layout.key]), *(order_types(domains[name]) for name in layout.orders)]
        columns += [f"o{layout.named + i} {types[field]}" for i, field in enumerate(layout.position_columns)]
        columns += [f"x{i} {kind(domains[name])}" for i, name in enumerate(self.inputs)]
        return ", ".join(columns)

    def with_position_columns(self, *columns: str) -> KeyRowForm:
        """Return the form with other columns for the position of a row (`Layout.position_columns`)."""
        return replace(self, layout=replace(self.layout, position_columns=columns))

    def begin(self, reading: Reading, reporter: Reporter) -> KeyRows:
        return KeyRows(self, reporter)


def order_types(domain: Domain) -> str:
    """Return the types of the sort keys of a column."""
    return ORDER_TYPES if kind(domain) == "string" else f"o0 {kind(domain)}"


class KeyRows(TaskRows):
    """A builder of the columns of a layout; rows are numbered as the account counts them."""

    def __init__(self, form: KeyRowForm, reporter: Reporter) -> None:
        self.form, self.ports, self.account = form, form.ports, reporter.account
        self._events = 0
        """Number of events for inputs, keys not included."""

    def columns(self, blocks: Iterator[LogBlock], log_name: str, origin: RowOrigin) -> Iterator[Any]:
        sizes = {True: sys.maxsize, False: BATCH}
        for batch in decode(blocks, self.account, sizes.__getitem__, columns=True, numbered=True):
            if len(batch):
                yield self._batch(self._columns(batch, log_name), batch.number_array(), log_name, origin)
            if batch.failed is not None:
                raise batch.failed

    def end(self) -> None:
        self.account.events_in = self._events

    def _columns(self, batch: LogBatch, log_name: str) -> Mapping[str, Any]:
        """Return the rows of a batch as Arrow columns."""
        if batch.columns is not None:
            return {name: self._column(name, each) for name, each in batch.columns.items()}
        domains = self.ports.domains
        try:
            return dict(zip(domains, rows_to_columns(batch.rows or (), domains, "input"), strict=True))
        except DomainError as error:
            raise InputError(error.what, where=log_name, hint=error.hint) from error

    def _column(self, name: str, array: EventArray) -> Any:
        domain = self.ports.domains[name]
        return array.events if isinstance(domain, KeyTexts) else events_to_arrow(domain, array.fields, array.present)

    def _batch(self, columns: Mapping[str, Any], numbers: Any, log_name: str, origin: RowOrigin) -> Any:
        """Return the columns of the layout, without empty rows."""
        import pyarrow as pa

        layout, count = self.form.layout, len(numbers)
        columns = {
            name: columns[name] if name in columns else to_column(domain, [None] * count, "")
            for name, domain in self.ports.domains.items()
        }
        key, inputs = columns[layout.key], [columns[name] for name in self.form.inputs]
        orders = [each for name in layout.orders for each in _order(name, columns[name], log_name)]
        positions = [
            numbers_to_arrow(INT, numbers) if each == "row" else pa.repeat(origin, count)
            for each in layout.position_columns
        ]
        titles = replace(layout, parts=len(orders)).names(len(inputs))
        batch = pa.RecordBatch.from_arrays([key, *orders, *positions, *inputs], names=titles)
        self._events += sum(count - each.null_count for each in inputs)
        return self._drop_empty(batch, key, inputs) if key.null_count else batch

    def _drop_empty(self, rows: Any, key: Any, inputs: Sequence[Any]) -> Any:
        """Return the rows with a key or an event."""
        import pyarrow.compute as pc

        there = key.is_valid()
        for each in inputs:
            there = pc.or_(there, each.is_valid())
        nonempty = rows.filter(there)
        self.account.ignored[KEYLESS] += len(rows) - len(nonempty)
        return nonempty


def _order(name: str, column: Any, where: str) -> list[Any]:
    """Return the sort keys of a column; null where a row has no value."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return [column]
    if not column.null_count:
        return order_columns(name, column, where)
    number, *others = order_columns(name, pa.array([text or "" for text in column.to_pylist()]), where)
    there = column.is_valid().to_pylist()
    numbers = [each if ok else None for each, ok in zip(number.to_pylist(), there, strict=True)]
    return [pa.array(numbers, pa.float64()), *others]


def order_columns(name: str, texts: Any, where: str) -> list[Any]:
    """Return the sort keys of an Arrow array of texts, as Arrow columns: numbers, exactly, before texts.

    Raises
    ------
    InputError: a number does not fit in 64 bits.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(texts, PLAIN)).as_py():
        whole = texts.cast(pa.int64())
        return [whole.cast(pa.float64(), safe=False), whole, pa.repeat("", len(texts))]
    if pc.all(pc.match_substring_regex(texts, _DATED)).as_py():
        return [pa.repeat(float("inf"), len(texts)), pa.repeat(0, len(texts)), texts]
    sort_keys: list[tuple[float, int, str]] = []
    for text in texts.to_pylist():
        stripped = text.strip()
        try:
            if INTEGER.fullmatch(stripped):
                number = from_text(stripped, _WORD)
                sort_keys.append((float(number), number, ""))
            elif NUMBER.fullmatch(stripped) and not re.search("inf|nan", stripped):
                sort_keys.append((from_text(stripped, FLOAT), 0, ""))
            else:
                sort_keys.append((float("inf"), 0, text))
        except UnreadableError as error:
            raise error.refusal(f"'{name}'", short(stripped), where) from error
    columns = zip(*sort_keys, strict=True)
    return [pa.array(c, t) for c, t in zip(columns, (pa.float64(), pa.int64(), pa.string()), strict=True)]
