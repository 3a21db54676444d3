"""Sessions of rule sets: events in the order of time go in, and composites come out.

The rule of this module: an engine that takes blocks of events gets them where that is faster; the output is the same,
row by row or as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from workbench.core.domain import ANY, INT
from workbench.core.program import Port
from workbench.errors import WorkbenchError
from workbench.events.batch import LogBatch, RowEvents
from workbench.executors.session import BatchOutput, Session
from workbench.runner.rules.composites import (
    NUMBER,
    SOURCES,
    RuleRow,
    Sources,
    composite_table,
    event_columns,
    event_row,
    type_rows,
)
from workbench.runner.rules.passed_events import PassedEvents
from workbench.tesla.engines.engine import block_engine
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence

if TYPE_CHECKING:
    from workbench.events.output_split import OutputRows
    from workbench.runner.rules.control import RuleChange, RuleControl
    from workbench.runner.rules.opening import OpenedRules
    from workbench.tesla.engines.engine import BlockEngine
    from workbench.tesla.rule_set import RuleSet


class RuleSession(Session):
    """A running rule set.

    Parameters
    ----------
    opened: the rules, and the engine that runs them.
    sources: names the events of each match; None without `--with-sources`.
    types: the types of composites that may be emitted.
    passed: the types of events of the log that are also emitted.
    """

    stops_at_errors = False

    def __init__(
        self, opened: OpenedRules, sources: Sources | None, types: Iterable[str], passed: Sequence[str] = ()
    ) -> None:
        self.opened, self.engine, self.sources = opened, opened.engine, sources
        self.block_engine = block_engine(opened.engine)
        self.passed = PassedEvents(opened.engine, passed) if passed else None
        steps = self.passed or self.engine
        self._process: Callable[[Occurrence], list[Occurrence]] = steps.process
        self._advance: Callable[[int], list[Occurrence]] = steps.advance
        more = (Port(NUMBER, INT), Port(SOURCES, ANY)) if sources else ()
        self._types = list(dict.fromkeys((*types, *passed)))
        self.outputs = event_columns(opened.rules, opened.clock, self._types, more)

    def block_size(self, rows: int) -> int:
        return rows if self.block_engine is not None and self.block_engine.takes_block(rows) else 0

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        block = batch.occurrences
        if self.block_engine is not None and isinstance(block, EventBlock) and self.block_size(len(block)):
            return self._of_block(self.block_engine, block)
        composites, event_count, failed = list[Occurrence](), 0, batch.failed
        try:
            with self.opened.together(batch):
                for event in self.opened.events(batch):
                    event_count += 1
                    composites += self._process(event)
        except WorkbenchError as error:  # the composites before the failure are valid
            failed = error
        rows = self._rows(composites, event_count)
        return BatchOutput(rows, computed=event_count, events_out=len(rows), failed=failed)

    def advance_clock(self, time: int) -> BatchOutput:
        failed, rows = None, list[RowEvents]()
        try:
            rows += self._rows(self._advance(time), 0)
        except WorkbenchError as error:
            failed = error
        return BatchOutput(rows, events_out=len(rows), failed=failed)

    def end(self) -> BatchOutput:
        return BatchOutput()

    def notes(self) -> Iterable[str]:
        return (*self.opened.notes(), *self.opened.costs())

    def composite_rows(self) -> Mapping[str, OutputRows]:
        """Return the selection of rows of each type, with the columns that all have, and those of its attributes."""
        return {name: type_rows(self.outputs, self.opened.rules, name) for name in self._types}

    def save(self) -> bytes:
        state: bytes = self.engine.snapshot()
        if self.sources is not None:
            state = self.sources.save() + state
        return state if self.passed is None else self.passed.save() + state

    def restore(self, state: bytes) -> None:
        if self.passed is not None:
            state = self.passed.restore(state)
        self.engine.restore(state if self.sources is None else self.sources.restore(state))

    def _of_block(self, engine: BlockEngine, block: EventBlock) -> BatchOutput:
        """Process a block of events at once, and return the composites that it causes."""
        parts, failed = list[Any](), None
        try:
            parts += filter(len, engine.process_block(block, sources=self.sources is not None))
        except WorkbenchError as error:  # the composites before the failure are valid
            failed = error
        if self.sources is not None or self.passed is not None:
            numbers = [number for each in parts for number in _numbers(each)]
            if self.sources is not None:
                self.sources.add(numbers, len(block))
            if self.passed is not None:
                parts.append(self.passed.of_block(block, numbers, failed=failed is not None))
        count, tables = sum(map(len, parts)), [None if isinstance(each, list) else self._table(each) for each in parts]
        if any(table is None for table in tables):
            events = [event for each in parts for event in _one_by_one(each, self.opened.rules)]
            rows = self._format_rows(events if self.passed is None else sorted(events, key=attrgetter("number")))
            return BatchOutput(rows, computed=len(block), events_out=count, failed=failed)
        table = _join_tables(tables) if self.passed is None else _in_order(tables, parts)
        return BatchOutput(table=table, computed=len(block), events_out=count, failed=failed)

    def _table(self, block: EventBlock) -> Any:
        return composite_table(block, self.outputs.outputs_by_name, self.opened.rules, self.opened.clock, self.sources)

    def _rows(self, composites: Sequence[Occurrence], events: int) -> list[RuleRow]:
        """Return the rows of composites that `events` events have caused."""
        if self.sources is not None:
            self.sources.add([each.number for each in composites if each.rule], events)
        if self.opened.tables is not None:
            self.opened.tables.release()  # writing them may take long
        return self._format_rows(composites)

    def _format_rows(self, composites: Iterable[Occurrence]) -> list[RuleRow]:
        return [event_row(each, self.opened.rules, self.opened.clock, self.sources) for each in composites]


class ControlledSession(RuleSession):
    """A rule set that changes while it runs: each change comes between the events before and after its time."""

    def __init__(
        self,
        opened: OpenedRules,
        sources: Sources | None,
        types: Iterable[str],
        control: RuleControl,
        passed: Sequence[str] = (),
    ) -> None:
        super().__init__(opened, sources, types, passed)
        self.control = control
        self._seen: int | None = None

    def block_size(self, rows: int) -> int:
        return 0

    def save(self) -> bytes:
        return Session.save(self)  # no state records which changes have been made

    def step_parts(self, batch: LogBatch) -> Iterator[BatchOutput]:
        """Yield the output before a change, and only then make and report the change."""
        rows, computed, failed = list[RowEvents](), 0, batch.failed
        try:
            with self.opened.together(batch):
                for event in self.opened.events(batch):
                    for change in self.control.until(event.time):
                        rows += self._due_before(change)
                        yield BatchOutput(rows, computed=computed, events_out=len(rows))
                        rows, computed = [], 0
                        self._make(change)
                    self._seen = event.time
                    if event.type not in self.engine.rules.declarations:
                        self.opened.log.pass_over(event.type)
                        continue
                    computed += 1
                    rows += self._rows(self._process(event), 1)
        except WorkbenchError as error:
            failed = error
        yield BatchOutput(rows, computed=computed, events_out=len(rows), failed=failed)

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        *before, last = self.step_parts(batch)
        rows, computed = [row for each in before for row in each.rows], sum(each.computed for each in before)
        rows += last.rows
        return replace(last, rows=rows, computed=computed + last.computed, events_out=len(rows))

    def advance_clock(self, time: int) -> BatchOutput:
        before = list[RowEvents]()
        try:
            for change in self.control.until(time):
                before += self._due_before(change)
                self._make(change)
        except WorkbenchError as error:
            return BatchOutput(before, events_out=len(before), failed=error)
        last = super().advance_clock(time)
        return replace(last, rows=[*before, *last.rows], events_out=len(before) + last.events_out)

    def notes(self) -> Iterable[str]:
        yield from self.opened.notes()
        self.control.report()
        yield from self.opened.costs(self.control.costs)

    def _due_before(self, change: RuleChange) -> Sequence[RowEvents]:
        """Return the composites that the clock causes before a change."""
        if self._seen is None or change.time <= self._seen:
            return ()
        return self._rows(self._advance(change.time - 1), 0)

    def _make(self, change: RuleChange) -> None:
        self.control.make(change, self.engine, self.outputs.outputs_by_name)
        self.opened.rules = self.engine.rules


def _one_by_one(composites: EventBlock | list[Occurrence], rules: RuleSet) -> Sequence[Occurrence]:
    return composites if isinstance(composites, list) else composites.occurrences(rules)


def _join_tables(tables: Sequence[Any]) -> Any:
    if len(tables) < 2:
        return tables[0] if tables else None
    import pyarrow as pa

    return pa.concat_tables(tables)


def _in_order(tables: Sequence[Any], parts: Sequence[EventBlock | list[Occurrence]]) -> Any:
    """Return the rows of parts, in the order of their numbers."""
    import numpy as np

    order = np.concatenate([_numbers(part) for part in parts]).argsort(kind="stable")
    return _join_tables(tables).take(order)


def _numbers(composites: EventBlock | list[Occurrence]) -> list[int]:
    if isinstance(composites, list):
        return [each.number for each in composites]
    assert composites.numbers is not None
    numbers: list[int] = composites.numbers.tolist()
    return numbers
