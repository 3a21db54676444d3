"""Conversion of the kernel's state to that of the engine `cdp`, and back.

The rule of this module: from either state, the same composites follow. `cdp` has a column for each predicate, the
    kernel has columns that predicates share. The plan of a rule locates the parts of a waiting match;
    `kernel/waiting_matches` defines their rows.
"""

# mypy: allow-untyped-calls
# It calls functions of the kernel as plain Python.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.domain import FLOAT, Domain, Value
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.blocks import append_events, event_words, list_retained_events, values_of
from workbench.executors.compiled.rules.expressions import register_of
from workbench.executors.compiled.rules.kernel.waiting_matches import find_deadline, rows_of_match
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.records import GREATEST_WORD, LEAST_WORD, KernelStatus
from workbench.tesla import tree as t
from workbench.tesla.engines.absences import DueAbsence
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.engines.rule_plan import PartialMatch, RulePlan
from workbench.tesla.event_block import LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.resolved import domain_of

ENGINE = "compiled"
"""The engine named in saved states."""
CodeOf = Callable[[str], int]
"""A function that returns the code of a text."""

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.text_codes import TextCodes
    from workbench.tesla.engines.columns import StepColumn
    from workbench.tesla.engines.runner import Consumed


def to_publisher(memory: KernelMemory, facts: Facts, settings: EngineSettings, texts: Mapping[int, str]) -> Publisher:
    """Build an engine `cdp` with the same history; its clock is not set."""
    publisher = Publisher(ENGINE, memory.rule_tables.plan.rules, facts, settings, CDPMatcher)
    publisher.count = int(memory.state.order)
    events = {each.number: each for each in list_retained_events(memory, texts)}
    for number, runner in enumerate(publisher.runners):
        types = {step.type for step in (*runner.plan.steps[1:], runner.plan.absent) if step is not None}
        if runner.absences is not None:
            for due in read_waiting(memory, number, texts):
                runner.absences.wait(due)
                heappush(publisher.waiting, (due.deadline, runner.order, due.trigger.number, due))
        for _, event in sorted(events.items()):
            if event.type in types:
                runner.add(event)
    _mark_forgotten(publisher, memory)
    for number, slot, order in _iterate_consumed(memory):
        consumed = publisher.runners[number].consumed
        if order in events and consumed is not None:
            _find_consumed(consumed, slot)[order] = events[order].time
    for rule, nulls, *words, time in memory.history.silences[memory.silent]:
        runner = publisher.runners[int(rule)]
        runner.emitted[_silent_values(runner.plan, int(nulls), words, texts)] = int(time)
    return publisher


def _silent_values(plan: RulePlan, nulls: int, words: Any, texts: Mapping[int, str]) -> tuple[Any, ...]:
    """Return the values for which a rule is silent, in the form of `cdp`."""
    values = values_of(nulls, words, map(domain_of, plan.rule.per), texts)
    return tuple(value if value == value else "nan" for value in values)


def read_publisher(exact: Publisher, memory: KernelMemory, codes: TextCodes) -> None:
    """Load the state of `cdp` into a kernel whose history is empty.

    Raises
    ------
    LargeNumberError: a number has more than 64 bits, or the kernel computes one that does.
    """

    def code_of(text: str) -> int:
        return codes.put([text])[0]

    events, tables = list_held_events(exact), memory.rule_tables
    block = event_block(tables.plan.rules, events, codes.put)
    words = event_words(block, tables.sizes.width)._replace(orders=np.array([each.number for each in events], np.int64))
    if not append_events(memory, words, codes, block.texts):
        raise LargeNumberError("an expression has more than 64 bits")
    for index, column in _iterate_columns(exact, memory):
        if column.since is not None:
            memory.since[index] = max(memory.since.get(index, (column.since, 0)), (column.since, column.place))
    memory.set_rows("consumed", np.array(read_consumed(exact, memory), np.int64).reshape(-1, 1))
    read_silences(exact, memory, code_of)
    write_waiting(memory, waiting_deadlines(exact), code_of)
    memory.state.order, memory.state.now = exact.count, LEAST_WORD if exact.now is None else exact.now


def list_held_events(exact: Publisher) -> list[Occurrence]:
    """Return the events that `cdp` retains, in order."""
    columns = [*_columns(exact), *(each.absences.column for each in exact.runners if each.absences is not None)]
    events = {event.number: event for column in columns for event in column.column}
    return [event for _, event in sorted(events.items())]


def is_complete(exact: Publisher) -> bool:
    """Whether every rule has its whole history: one that was added late may lack the start of its windows."""
    return all(_is_whole(column, exact.now) for column in _columns(exact))


def _is_whole(column: StepColumn, now: int | None) -> bool:
    """Whether a column has all events of its window; it then counts as an old column."""
    lookback = column.step.lookback.time
    if column.late and column.since is not None:
        column.late = lookback is None or now is None or column.since + lookback > now
        return not column.late
    return True


def read_consumed(exact: Publisher, memory: KernelMemory) -> list[int]:
    """Return the words of the events that rules have consumed."""
    consumers = memory.rule_tables.consumers
    return [
        order * len(consumers) + index
        for index, (number, slot) in enumerate(consumers)
        if (consumed := exact.runners[number].consumed) is not None
        for order in _find_consumed(consumed, slot)
    ]


def _find_consumed(consumed: dict[int, Consumed], slot: int) -> Consumed:
    """Return the events consumed at a slot: outside of T-Rex mode the same for all slots."""
    return consumed.get(slot, next(iter(consumed.values())))


def read_silences(exact: Publisher, memory: KernelMemory, code_of: CodeOf) -> None:
    """Store the times of the last emissions of rules; LargeNumberError where a value has more than 64 bits."""
    emissions = [(number, *item) for number, each in enumerate(exact.runners) for item in each.emitted.items()]
    rows = records.zeros(len(emissions), 3 + memory.rule_tables.sizes.per)
    for row, (number, values, time) in zip(rows, emissions, strict=True):
        row[0], row[-1], domains = number, time, map(domain_of, exact.runners[number].plan.rule.per)
        for k, (value, domain) in enumerate(zip(values, domains, strict=True)):
            real = domain == FLOAT and value is not None
            row[1] |= (value is None) << k
            row[2 + k] = 0 if value is None else word_of(float(value) + 0.0 if real else value, code_of)
    memory.set_rows("silences", rows)


def waiting_deadlines(exact: Publisher) -> list[tuple[int, DueAbsence]]:
    """Return the deadlines that `cdp` waits for, in order, each with the number of its rule."""
    orders = [runner.order for runner in exact.runners]
    return [(orders.index(order), due) for *_, order, _, due in sorted(exact.waiting, key=lambda each: each[:3])]


def _columns(exact: Publisher) -> Iterator[StepColumn]:
    for runner in exact.runners:
        yield from runner.matcher.columns.values()


def _iterate_consumed(memory: KernelMemory) -> Iterator[tuple[int, int, int]]:
    """Yield rules, slots of their matches, and order numbers of the events that are consumed there."""
    words, consumers = memory.history.consumed[:, 0], memory.rule_tables.consumers
    for word in words[words != records.NONE].tolist():
        yield *consumers[word % len(consumers)], word // len(consumers)


def _iterate_columns(exact: Publisher, memory: KernelMemory) -> Iterator[tuple[int, StepColumn]]:
    """Yield the columns of `cdp`, each with the number of the kernel's column for its events."""
    tables = memory.rule_tables
    for runner, steps in zip(exact.runners, tables.plan.steps, strict=True):
        for planned in steps:
            if not planned.step.fact:
                yield tables.columns[planned.column], runner.matcher.columns[planned.step.number]


def _mark_forgotten(exact: Publisher, memory: KernelMemory) -> None:
    """Record the time from which columns have all events that they accept, where some have been dropped."""
    for index, column in _iterate_columns(exact, memory):
        known = [] if column.since is None else [(column.since, column.place)]
        if index in memory.since:
            known.append(memory.since[index])
        if memory.history.columns[index].first:
            rows, state = memory.rows_of(index), memory.state
            oldest = (int(rows[0].time), int(rows[0].order)) if len(rows) else (int(state.now), int(state.order))
            known.append((oldest[0] + 1, oldest[1]))
        if known:
            column.since, column.place = max(known)


# --- matches that wait -----------------------------------------------------------------------------------


def read_waiting(memory: KernelMemory, number: int, texts: Mapping[int, str]) -> Iterator[DueAbsence]:
    """Yield the deadlines of a rule in order, each with its matches."""
    rule, plan = memory.plan.rules[number], memory.rule_tables.plan.plans[number]
    slots, size = memory.slots_of(int(rule.waits)), int(rows_of_match(rule))
    due: DueAbsence | None = None
    for begin in range(0, len(slots), size):
        match = _read_match(memory, number, slots[begin : begin + size], texts)
        trigger, links = match[0], int(memory.history.rows[slots[begin]].key)
        if due is None or due.trigger.number != trigger.number:
            if due is not None:
                yield due
            due = DueAbsence(trigger.time + plan.timeout, trigger, [], (plan.rule.name,) * links)
        due.matches.append(match)
    if due is not None:
        yield due


def _read_match(memory: KernelMemory, number: int, slots: Any, texts: Mapping[int, str]) -> PartialMatch:
    rule, plan = memory.plan.rules[number], memory.rule_tables.plan.plans[number]
    rows, cells, match = memory.history.rows, memory.history.cells, list[Any]([None] * len(plan.layout))
    cell_slots, own = slots[: rule.kept_rows], _list_slots(memory, rule.kept, rule.kept_end)
    nulls = sum(int(rows[row].nulls) << cells.shape[1] * k for k, row in enumerate(cell_slots))
    values = values_of(nulls, cells[cell_slots].ravel(), map(_parameter_domains(plan).__getitem__, own), texts)
    for slot, value in zip(own, values, strict=True):
        match[slot] = value
    for row, slot in zip(slots[rule.kept_rows :], _list_slots(memory, rule.bound, rule.bound_end), strict=True):
        declared, head = plan.binding[slot].declared, rows[row]
        item = tuple(values_of(int(head.nulls), cells[row], declared.domains.values(), texts))
        match[slot] = item if declared.fact else Occurrence(declared.name, int(head.time), item, int(head.order))
    return tuple(match)


def _list_slots(memory: KernelMemory, begin: int, end: int) -> list[int]:
    """Return the slots of a match whose registers are listed."""
    registers: list[int] = memory.plan.slots[begin:end].tolist()
    return [register - register_of(0) for register in registers]


def _parameter_domains(plan: RulePlan) -> dict[int, Domain]:
    """Return the domains of the parameters of a match, by slot."""
    domains: dict[int, Domain] = {}
    for step in plan.steps:
        if isinstance(step.part, t.Aggregate):
            domain = step.aggregate.result(step.values)
            assert domain is not None
            domains[step.slot] = domain
        elif step.policy.binds:
            domains |= {
                plan.layout[step.place, f"${each.name}"]: domain_of(each.value) for each in step.part.assignments
            }
    return domains


# --- from cdp to the kernel ------------------------------------------------------------------------------


def write_waiting(memory: KernelMemory, dues: Iterable[tuple[int, DueAbsence]], code_of: CodeOf) -> None:
    """Store waiting matches; each deadline comes with the number of its rule, those of one rule in order.

    Raises
    ------
    LargeNumberError: a number has more than 64 bits.
    """
    for number, due in dues:
        for match in due.matches:
            _write_match(memory, number, due, match, code_of)
    find_deadline(memory.plan, memory.history, memory.state)


def _write_match(memory: KernelMemory, number: int, due: DueAbsence, match: PartialMatch, code_of: CodeOf) -> None:
    rule, width = memory.plan.rules[number], memory.history.cells.shape[1]
    slots = _new_rows(memory, int(rule.waits), int(rows_of_match(rule)))
    for row in slots[: rule.kept_rows]:
        head = memory.history.rows[row]
        head.time, head.order, head.nulls = due.deadline, due.trigger.number, 0
        head.key = len(due.chain)
    for k, slot in enumerate(_list_slots(memory, rule.kept, rule.kept_end)):
        _write_value(memory, slots[k // width], k % width, match[slot], code_of)
    for row, slot in zip(slots[rule.kept_rows :], _list_slots(memory, rule.bound, rule.bound_end), strict=True):
        item, head = match[slot], memory.history.rows[row]
        head.time, head.order = (item.time, item.number) if isinstance(item, Occurrence) else (0, 0)
        head.nulls = 0
        for k, value in enumerate(item.values if isinstance(item, Occurrence) else item):
            _write_value(memory, row, k, value, code_of)


def _new_rows(memory: KernelMemory, number: int, count: int) -> Any:
    """Append rows to a column; return their slots."""
    while True:
        column = memory.history.columns[number]
        if column.appended - column.first + count <= column.mask + 1:
            column.appended += count
            return memory.slots_of(number)[-count:]
        memory.state.full_column = number
        memory.grow(KernelStatus.FULL_COLUMN)


def _write_value(memory: KernelMemory, row: int, cell: int, value: Value | None, code_of: CodeOf) -> None:
    """Write a value into a row whose null mask is known up to it."""
    if value is None:
        memory.history.rows[row].nulls |= 1 << cell
    memory.history.cells[row, cell] = 0 if value is None else word_of(value, code_of)


def word_of(value: Value, code_of: CodeOf) -> int:
    """Return the word of a value; LargeNumberError if it has none."""
    if isinstance(value, str):
        return code_of(value)
    if isinstance(value, float):
        return int(np.float64(value).view(np.int64))
    assert isinstance(value, int)
    if not LEAST_WORD <= value <= GREATEST_WORD:
        raise LargeNumberError(f"{value} has more than 64 bits")
    return int(value)
