"""Composites of rules as rows and as columns, and the names of events in them.

The rule of this module: a table has the same content as its rows one by one, and is written in the same bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.domain import ANY, BOOL, INT, STR, Domain, Value
from workbench.core.program import Port, Ports
from workbench.core.types import type_row
from workbench.errors import InputError
from workbench.events.clock import Clock, time_domain
from workbench.runner.rules.columns import TYPE
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet, find_shared_domains

if TYPE_CHECKING:
    from workbench.events.output_split import OutputRows

RuleRow = dict[str, Value]
"""An event as a row: its type, its time, and its attributes that are not null."""
SOURCES, NUMBER = "sources", "id"
"""The names of the columns of --with-sources: the events of a match, and a composite's id."""


def event_columns(rules: RuleSet, clock: Clock, types: Iterable[str], more: Sequence[Port] = ()) -> Ports:
    """Return the columns of events of these types, as outputs of a program."""
    domains = find_shared_domains(rules.declarations[name] for name in types)
    if clash := next((port.name for port in more if port.name in domains), None):
        raise InputError(f"attribute '{clash}' is also a column of --with-sources", hint="leave that option out")
    ports = (Port(TYPE, STR), Port(clock.column, time_domain(clock)), *more, *(Port(n, d) for n, d in domains.items()))
    return Ports(rules.name, (), ports, kind=rules.kind)


def type_rows(columns: Ports, rules: RuleSet, type: str) -> OutputRows:
    """Select the rows of events of a type, among those of `event_columns`."""
    from workbench.events.output_split import OutputRows

    own, other = rules.declarations[type].domains, find_shared_domains(rules.declarations.values())
    ports = tuple(port for port in columns.outputs if port.name in own or port.name not in other)
    return OutputRows(replace(columns, outputs=ports), TYPE, type)


def event_row(event: Occurrence, rules: RuleSet, clock: Clock, sources: Sources | None = None) -> RuleRow:
    """Return an event as a row without its null attributes."""
    names = rules.declarations[event.type].positions
    values = {name: value for name, value in zip(names, event.values, strict=True) if value is not None}
    first: RuleRow = {TYPE: event.type, clock.column: clock.show(event.time)}
    return first | values | sources.row(event) if sources else first | values


class Sources:
    """The names of events in the output: a row of the log has its number, from 1 on; a composite has its id: `#3`."""

    def __init__(self) -> None:
        self._labels, self._made = array("q"), 0

    def add(self, numbers: Any, events: int) -> None:
        """Record that `events` events have been processed, and have caused composites with these numbers."""
        import numpy as np

        first, count = len(self._labels), len(numbers) + events
        composite: Any = np.zeros(count, bool)
        composite[np.asarray(numbers, np.int64) - first] = True
        names = np.where(composite, -self._made - composite.cumsum(), first - self._made + (~composite).cumsum())
        self._labels.frombytes(names.astype(np.int64).tobytes())
        self._made += len(numbers)

    def save(self) -> bytes:
        """Return the names of all events, preceded by the numbers of composites and of events."""
        head = self._made.to_bytes(8, "little") + len(self._labels).to_bytes(8, "little")
        return head + self._labels.tobytes()

    def restore(self, state: bytes) -> bytes:
        """Restore what `save` has returned, and return the rest of the state."""
        end = 16 + 8 * int.from_bytes(state[8:16], "little")
        self._made, self._labels = int.from_bytes(state[:8], "little"), array("q", state[16:end])
        return state[end:]

    def row(self, event: Occurrence) -> RuleRow:
        """Return the id of a composite, and the events of its match; of an event of the log only its row."""
        if not event.rule:
            return {SOURCES: (self.name(event.number),)}
        return {NUMBER: -self._labels[event.number], SOURCES: tuple(map(self.name, event.sources))}

    def name(self, number: int) -> str:
        """Return the name of an event with a number."""
        label = self._labels[number]
        return str(label) if label > 0 else f"#{-label}"

    def columns(self, block: EventBlock) -> Mapping[str, Any]:
        """Return the names in a block as Arrow columns; the events of a match are JSON text."""
        import numpy as np
        import pyarrow as pa

        from workbench.events import compute as pc
        from workbench.events.buffers import numbers_to_arrow
        from workbench.events.texts import constant

        labels = np.frombuffer(self._labels, np.int64)
        if block.rules is None:  # events of the log
            rows = numbers_to_arrow(INT, labels[block.numbers]).cast(pa.string())
            texts = pc.binary_join_element_wise(constant('["'), rows, constant('"]'), constant(""))
            return {NUMBER: pa.nulls(len(block), pa.int64()), SOURCES: texts}
        assert block.starts is not None
        assert block.sources is not None
        ids, first = -labels[block.numbers], block.starts[0]
        source_labels = labels[block.sources[first : block.starts[-1]]]
        texts = numbers_to_arrow(INT, np.abs(source_labels)).cast(pa.string())
        marks = pc.if_else(numbers_to_arrow(BOOL, source_labels < 0), constant('"#'), constant('"'))
        texts = pc.binary_join_element_wise(marks, texts, constant('"'), constant(""))
        bounds = numbers_to_arrow(INT, block.starts - first).cast(pa.int32())
        lists = pc.binary_join(pa.ListArray.from_arrays(bounds, texts), ", ")
        joined = pc.binary_join_element_wise(constant("["), lists, constant("]"), constant(""))
        return {NUMBER: numbers_to_arrow(INT, ids), SOURCES: joined}


def composite_table(
    block: EventBlock, domains: Mapping[str, Domain], rules: RuleSet, clock: Clock, sources: Sources | None
) -> Any:
    """Build an Arrow table of composites for `RowWriter.table`; None where rows have to be made one by one.

    Parameters
    ----------
    domains: the domain of each column (`event_columns`).
    """
    from workbench.events.buffers import numbers_to_arrow
    from workbench.events.text_column import TextColumn
    from workbench.events.times import times_to_arrow

    columns = {
        TYPE: numbers_to_arrow(STR, TextColumn(block.types.astype("i8"), block.names)),
        clock.column: times_to_arrow(block.times, clock), **(sources.columns(block) if sources else {}),
    }  # fmt: skip
    for name in domains:
        if name not in columns:
            if domains[name] == ANY:
                return None
            columns[name] = attribute_values(block, name, domains[name], rules)
    import pyarrow as pa

    return pa.table([columns[name] for name in domains], list(domains))


def attribute_values(block: EventBlock, name: str, domain: Domain, rules: RuleSet) -> Any:
    """Return the Arrow column of an attribute of several types; null for types that lack it with this domain."""
    import numpy as np

    from workbench.events.buffers import numbers_to_arrow
    from workbench.events.text_column import TextColumn
    from workbench.executors.compiled.execute.text_codes import different

    values: Any = np.zeros(len(block), type_row(domain).column)
    there: Any = np.zeros(len(block), bool)
    for type in set(block.types.tolist()):
        declared = rules.declarations[block.names[type]]
        if declared.domains.get(name) == domain:
            column, rows = block.columns[type][declared.positions[name]], block.types == type
            indices = block.type_rows[rows]
            values[rows], there[rows] = column.values[indices], True if column.nulls is None else ~column.nulls[indices]
    if domain == STR:
        numbers, codes = different(np.where(there, values, 0))
        values = TextColumn(numbers, [block.texts.get(code, "") for code in codes])
    return numbers_to_arrow(domain, values, None if there.all() else there)
