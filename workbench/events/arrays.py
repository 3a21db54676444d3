"""Arrow columns as the arrays of compiled code, and back.

The rule of this module: a column is taken as a whole or left to who looks at the rows; numbers are not copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from workbench.core.domain import INT, STR, Domain, Enum, Integer, Range, Reals, Texts
from workbench.core.fields import Record, Tuple, scalars
from workbench.core.term import leaves
from workbench.events import compute as pc
from workbench.events.buffers import bits_of, numbers_of, shown_column, taken, texts_of
from workbench.events.clock import Times
from workbench.events.columns import arrays_of, arrow_type
from workbench.events.text_column import StoredTexts, TextColumn
from workbench.events.times import times_in
from workbench.events.tuple_texts import tuple_texts
from workbench.events.values import UnreadableError, Words, from_text


class EventArray(NamedTuple):
    """The events of one input in successive rows, and where there are events; None: everywhere.

    `events` is an array, or for tuples a tuple of what their fields have; of keys (`Words`) an Arrow array of texts.
    """

    events: Any
    present: Any

    @property
    def rows(self) -> int:
        """How many rows they are of."""
        return len(self.fields[0])

    @property
    def fields(self) -> tuple[Any, ...]:
        """An array per scalar field."""
        return tuple(leaves(self.events))

    def part(self, rows: Any) -> EventArray:
        """Those of some of the rows, a slice or an array of their numbers."""
        return EventArray(_part(self.events, rows), None if self.present is None else self.present[rows])

    def padded(self) -> EventArray:
        """The same with events everywhere: 0, or the empty text, where there was none."""
        if self.present is None:
            return self
        if not isinstance(self.events, TextColumn):
            return EventArray(self.events, None)  # it has 0 there
        if self.events.apart:
            return EventArray(self.events, None)  # and empty texts
        texts: Sequence[str] = self.events.texts
        if isinstance(texts, StoredTexts):
            texts, empty = texts.with_empty()
        else:
            texts = texts if "" in texts else [*texts, ""]
            empty = texts.index("")
        return EventArray(TextColumn(np.where(self.present, self.events.numbers, empty), texts), None)


def _part(events: Any, rows: Any) -> Any:
    if isinstance(events, tuple):
        return tuple(_part(each, rows) for each in events)
    return taken(events, rows) if isinstance(events, pa.Array) and not isinstance(rows, slice) else events[rows]


def given_array(domain: Domain, column: Any, *, stored: bool = False) -> EventArray | None:
    """An Arrow column as compiled code takes it; None where some cell may be no event of the domain, or is not plain.

    Parameters
    ----------
    domain: one that `has_array`, or a tuple of such.
    column: of any type.
    stored: whether all its floats are as they were stored. Else they were read from texts, of which we do not take all
        that Arrow takes for infinite or no number. Where they are stored, they may be whole or half as wide.
    """
    if isinstance(domain, Tuple):
        read = _given_structs if pa.types.is_struct(column.type) else _given_json
        return read(domain, column, stored)
    if isinstance(domain, Words):
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if not _tells_apart(column.type):
            return None
        texts = column if pa.types.is_string(column.type) else column.cast(pa.string())
        return EventArray(texts, None if column.null_count == 0 else bits_of(column.is_valid(), 1))
    if isinstance(domain, Times):
        return _given_times(domain, column)
    labels: Sequence[Any] = []
    if named := isinstance(domain, Enum | Texts):
        if not _is_text(column.type):
            return None
        column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        labels, without, column = texts_of(column.dictionary), column.dictionary.null_count == 0, column.indices
        if not (set(labels) <= set(domain.labels) if isinstance(domain, Enum) else without):
            return None
    wanted = pa.int64() if named else arrow_type(domain)
    if pa.types.is_integer(column.type) and pa.types.is_int64(wanted) and column.type not in (pa.uint64(), wanted):
        column = column.cast(wanted)
    if (
        stored
        and pa.types.is_float64(wanted)
        and (pa.types.is_integer(column.type) or pa.types.is_float32(column.type))
    ):
        try:
            column = column.cast(wanted)
        except pa.ArrowInvalid:  # some are not exactly floats
            return None
    if column.type != wanted:
        return None
    present = None if column.null_count == 0 else bits_of(column, 0)
    array = bits_of(column, 1) if pa.types.is_boolean(wanted) else numbers_of(column)
    if present is not None:
        array = np.where(present, array, array.dtype.type(0))  # whatever stands where nothing is
    if isinstance(domain, Texts):
        return EventArray(TextColumn(array, labels or [""]), present)
    if isinstance(domain, Enum):
        array = np.array([domain.labels.index(label) for label in labels] or [0], np.int64)[array]
    if isinstance(domain, Reals):
        return EventArray(array, present) if stored or np.isfinite(array).all() else None
    if isinstance(domain, Integer | Range) and column.null_count < len(column):
        least, most = pc.min_max(column).values()
        if not (domain.lo <= least.as_py() and most.as_py() <= domain.hi):
            return None
    return EventArray(array, present)


def given_texts(column: Any) -> EventArray | None:
    """A column of texts as compiled code takes it, without a look at which are the same; None where it is short."""
    texts = texts_of(column)
    if not isinstance(texts, StoredTexts):
        return given_array(STR, column)
    return EventArray(TextColumn.each(texts), None if column.null_count == 0 else bits_of(column.is_valid(), 1))


def shown_table(outputs: Mapping[str, Any], domains: Mapping[str, Domain]) -> Any:
    """What outputs show as an Arrow table with a row a step; several events of one in a step take several rows.

    Parameters
    ----------
    outputs: name to what compiled code gives: `fields`, of each event, and `steps`, where there are several outputs.
    domains: those of the outputs, whose events are columns (`column_map.has_columns`). A null is no event.
    """
    return pa.table(shown_columns(outputs, domains)[1], list(domains))


def shown_columns(outputs: Mapping[str, Any], domains: Mapping[str, Domain]) -> tuple[Any, list[Any]]:
    """The columns of that table, and the step of each of its rows, where outputs have `steps`."""
    rows: list[Any] = []
    of_rows = next(iter(outputs.values())).steps
    if len(domains) > 1:
        steps = [outputs[name].steps for name in domains]
        numbers = [np.arange(len(each)) - np.searchsorted(each, each) for each in steps]  # among those of its step
        width = 1 + max((int(each.max()) for each in numbers if len(each)), default=0)
        rows = [each * width + number for each, number in zip(steps, numbers, strict=True)]
        every = np.unique(np.concatenate(rows))
        of_rows = every // width
    columns = []
    for i, (name, domain) in enumerate(domains.items()):
        arrays = outputs[name].fields
        there: Any = None
        if rows and len(rows[i]) < len(every):
            places = np.searchsorted(every, rows[i])
            there = np.zeros(len(every), np.bool_)
            there[places] = True
            arrays = tuple(_spread(array, places, len(every)) for array in arrays)
        columns.append(shown_events(domain, arrays, there))
    return of_rows, columns


def shown_events(domain: Domain, arrays: Sequence[Any], there: Any = None) -> Any:
    """The same of events with an array per scalar field: tuples are JSON text."""
    if not isinstance(domain, Tuple):
        return shown_column(domain, arrays[0], there)
    fields = (
        shown_column(part, array, there, quoted=True) for (_, part), array in zip(scalars(domain), arrays, strict=True)
    )
    return tuple_texts(domain, fields)


def _tells_apart(kind: Any) -> bool:
    """Whether texts of values of this type are those that rows have for them."""
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_boolean(kind) or pa.types.is_integer(kind))


def _spread(array: Any, places: Any, count: int) -> Any:
    """An array of so many entries, those of another one at these places."""
    if isinstance(array, TextColumn):
        return TextColumn(_spread(array.numbers, places, count), array.texts)
    made = np.zeros(count, array.dtype)
    made[places] = array
    return made


def _given_times(domain: Times, column: Any) -> EventArray | None:
    present = None if column.null_count == 0 else bits_of(column.is_valid(), 1)
    times = times_in(column if present is None else column.drop_null(), domain.clock)
    if times is None or present is None:
        return None if times is None else EventArray(times, None)
    spread: Any = np.zeros(len(present), np.int64)
    spread[present] = times
    return EventArray(spread, present)


def _given_structs(domain: Tuple, column: Any, stored: bool) -> EventArray | None:
    """The fields of a column of structs; None where they are others than those of the domain, or some are missing."""
    names = [column.type.field(i).name for i in range(column.type.num_fields)]
    if not isinstance(domain, Record) or sorted(names) != sorted(domain.labels):
        return None
    present = None if column.null_count == 0 else bits_of(column.is_valid(), 1)
    inside = dict(zip(names, column.flatten(), strict=True))  # which are null where the struct is
    parts = []
    for label, field in zip(domain.labels, domain.fields, strict=True):
        part = given_array(field, inside[label], stored=stored)
        if part is None or (part.present is not None and (present is None or not part.present[present].all())):
            return None
        parts.append(part.events)
    return EventArray(tuple(parts), present)


def _given_json(domain: Tuple, column: Any, stored: bool) -> EventArray | None:
    """The fields of tuples that are JSON text in cells; each text is read once."""
    del stored
    if not _is_text(column.type):
        return None
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    numbers = given_array(INT, column.indices)
    arrays = _of_texts(domain, column.dictionary)
    if arrays is None or numbers is None:
        return None
    return EventArray(tuple(array[numbers.events] for array in arrays), numbers.present)


def _of_texts(domain: Tuple, texts: Any) -> list[Any] | None:
    """An array per scalar field of tuples that are JSON texts, with at least one entry."""
    try:
        known = [from_text(text, domain) for text in texts.to_pylist()]
    except (UnreadableError, AttributeError):
        return None
    return arrays_of(domain, known or [domain.default])


def _is_text(kind: Any) -> bool:
    """Whether an Arrow column has texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
