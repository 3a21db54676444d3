"""The state of the kernel as that of the engine `cdp`, and back.

The rule of this module: what either of them would publish next is the same. What `cdp` has in a column for each
predicate is here in columns that predicates share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.domain import FLOAT
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.blocks import append_events, event_words, retained_events, values_of
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.records import LEAST_WORD
from workbench.executors.compiled.rules.waiting_matches import CodeOf, read_waiting, word_of, write_waiting
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.event_block import LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.resolved import domain_of

ENGINE = "compiled"
"""The engine that saved states name."""

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.text_codes import TextCodes
    from workbench.tesla.engines.absences import DueAbsence
    from workbench.tesla.engines.rule_plan import RulePlan
    from workbench.tesla.engines.runner import Consumed, RuleRunner
    from workbench.tesla.engines.step_column import StepColumn


def to_publisher(memory: KernelMemory, facts: Facts, settings: EngineSettings, texts: Mapping[int, str]) -> Publisher:
    """An engine `cdp` that has seen the same events; its clock is not set."""
    publisher = Publisher(ENGINE, memory.rule_tables.plan.rules, facts, settings, CDPMatcher)
    publisher.count = int(memory.state.order)
    events = {each.number: each for each in retained_events(memory, texts)}
    for number, runner in enumerate(publisher.runners):
        types = {step.type for step in (*runner.plan.steps[1:], runner.plan.absent) if step is not None}
        _wait(publisher, number, runner, memory, texts)
        for _, event in sorted(events.items()):
            if event.type in types:
                runner.add(event)
    _mark_forgotten(publisher, memory)
    for number, slot, order in _consumed(memory):
        consumed = publisher.runners[number].consumed
        if order in events and consumed is not None:
            _consumed_at(consumed, slot)[order] = events[order].time
    for rule, nulls, *words, time in memory.history.silences[memory.silent]:
        runner = publisher.runners[int(rule)]
        runner.emitted[_silent_values(runner.plan, int(nulls), words, texts)] = int(time)
    return publisher


def _wait(
    publisher: Publisher, number: int, runner: RuleRunner, memory: KernelMemory, texts: Mapping[int, str]
) -> None:
    """Let a rule wait for its deadlines."""
    if runner.absences is not None:
        for due in read_waiting(memory, number, texts):
            runner.absences.wait(due)
            heappush(publisher.waiting, (due.deadline, runner.order, due.trigger.number, due))


def _silent_values(plan: RulePlan, nulls: int, words: Any, texts: Mapping[int, str]) -> tuple[Any, ...]:
    """The values for which a rule is silent, as `cdp` knows them."""
    values = values_of(nulls, words, map(domain_of, plan.rule.per), texts)
    return tuple(value if value == value else "nan" for value in values)


def read_publisher(exact: Publisher, memory: KernelMemory, codes: TextCodes) -> None:
    """Let a kernel whose history is empty know what `cdp` knows.

    Raises
    ------
    LargeNumberError: a number has more than 64 bits, or has where the kernel computes with it.
    """

    def code_of(text: str) -> int:
        return codes.put([text])[0]

    events, tables = held_events(exact), memory.rule_tables
    block = event_block(tables.plan.rules, events, codes.put)
    words = event_words(block, tables.sizes.width)._replace(orders=np.array([each.number for each in events], np.int64))
    if not append_events(memory, words, codes, block.texts):
        raise LargeNumberError("an expression has more than 64 bits")
    for place, column in _placed_columns(exact, memory):
        if column.since is not None:
            memory.since[place] = max(memory.since.get(place, (column.since, 0)), (column.since, column.place))
    memory.set_rows("consumed", np.array(read_consumed(exact, memory), np.int64).reshape(-1, 1))
    read_silences(exact, memory, code_of)
    write_waiting(memory, waiting_deadlines(exact), code_of)
    memory.state.order, memory.state.now = exact.count, LEAST_WORD if exact.now is None else exact.now


def held_events(exact: Publisher) -> list[Occurrence]:
    """The events that `cdp` retains, in their order."""
    columns = [*_columns(exact), *(each.absences.column for each in exact.runners if each.absences is not None)]
    events = {event.number: event for column in columns for event in column.column}
    return [event for _, event in sorted(events.items())]


def is_complete(exact: Publisher) -> bool:
    """Whether no rule lacks history, though it has joined later than others: its windows reach no further back."""
    return all(_is_whole(column, exact.now) for column in _columns(exact))


def _is_whole(column: StepColumn, now: int | None) -> bool:
    """Whether a column has all events of its window; from then on it is like one that was there always."""
    lookback = column.step.lookback.time
    if column.late and column.since is not None:
        column.late = lookback is None or now is None or column.since + lookback > now
        return not column.late
    return True


def read_consumed(exact: Publisher, memory: KernelMemory) -> list[int]:
    """The words of what rules have consumed."""
    consumers = memory.rule_tables.consumers
    return [
        order * len(consumers) + place
        for place, (number, slot) in enumerate(consumers)
        if (consumed := exact.runners[number].consumed) is not None
        for order in _consumed_at(consumed, slot)
    ]


def _consumed_at(consumed: dict[int, Consumed], slot: int) -> Consumed:
    """What is consumed at a slot: at all of them the same where T-Rex is not followed."""
    return consumed.get(slot, next(iter(consumed.values())))


def read_silences(exact: Publisher, memory: KernelMemory, code_of: CodeOf) -> None:
    """Note when rules have emitted something last; LargeNumberError where it was for a number of more than 64 bits."""
    found = [(number, *item) for number, each in enumerate(exact.runners) for item in each.emitted.items()]
    rows = records.zeros(len(found), 3 + memory.rule_tables.sizes.per)
    for row, (number, values, time) in zip(rows, found, strict=True):
        row[0], row[-1], domains = number, time, map(domain_of, exact.runners[number].plan.rule.per)
        for k, (value, domain) in enumerate(zip(values, domains, strict=True)):
            real = domain == FLOAT and value is not None
            row[1] |= (value is None) << k
            row[2 + k] = 0 if value is None else word_of(float(value) + 0.0 if real else value, code_of)
    memory.set_rows("silences", rows)


def waiting_deadlines(exact: Publisher) -> list[tuple[int, DueAbsence]]:
    """The deadlines that `cdp` waits for, each with the number of its rule, in their order."""
    orders = [runner.order for runner in exact.runners]
    return [(orders.index(order), due) for *_, order, _, due in sorted(exact.waiting, key=lambda each: each[:3])]


def _columns(exact: Publisher) -> Iterator[StepColumn]:
    for runner in exact.runners:
        yield from runner.matcher.columns.values()


def _consumed(memory: KernelMemory) -> Iterator[tuple[int, int, int]]:
    """Rules, slots of their matches, and the orders of the events that are consumed there."""
    words, consumers = memory.history.consumed[:, 0], memory.rule_tables.consumers
    for word in words[words != records.NONE].tolist():
        yield *consumers[word % len(consumers)], word // len(consumers)


def _placed_columns(exact: Publisher, memory: KernelMemory) -> Iterator[tuple[int, StepColumn]]:
    """The columns of `cdp`, each with the number of the one in which the kernel has its events."""
    tables = memory.rule_tables
    for runner, steps in zip(exact.runners, tables.plan.steps, strict=True):
        for planned in steps:
            if not planned.step.fact:
                yield tables.columns[planned.column], runner.matcher.columns[planned.step.number]


def _mark_forgotten(exact: Publisher, memory: KernelMemory) -> None:
    """Say from when on columns have all events that they accept, where some have been forgotten."""
    for place, column in _placed_columns(exact, memory):
        known = [] if column.since is None else [(column.since, column.place)]
        if place in memory.since:
            known.append(memory.since[place])
        if memory.history.columns[place].first:
            rows, state = memory.rows_of(place), memory.state
            oldest = (int(rows[0].time), int(rows[0].order)) if len(rows) else (int(state.now), int(state.order))
            known.append((oldest[0] + 1, oldest[1]))
        if known:
            column.since, column.place = max(known)
