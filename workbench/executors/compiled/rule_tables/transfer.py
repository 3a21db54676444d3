"""The state of the kernel as that of the engine `cdp`, and back.

The rule of this module: what either of them would publish next is the same. What `cdp` has in a column for each
predicate is here in columns that predicates share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from workbench.executors.compiled.rule_tables import records
from workbench.executors.compiled.rule_tables.blocks import retained_events
from workbench.executors.compiled.rule_tables.memory import KernelMemory
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.occurrence import Facts, Occurrence

if TYPE_CHECKING:
    from workbench.tesla.engines.runner import RuleRunner
    from workbench.tesla.engines.step_column import StepColumn


def to_publisher(memory: KernelMemory, facts: Facts, settings: EngineSettings, texts: Mapping[int, str]) -> Publisher:
    """An engine `cdp` that has seen the same events; its clock is not set."""
    publisher = Publisher("tables", memory.rule_tables.plan.rules, facts, settings, CDPMatcher)
    publisher.count = int(memory.state.order)
    events = {each.number: each for each in retained_events(memory, texts)}
    for number, runner in enumerate(publisher.runners):
        types = {step.type for step in runner.plan.steps[1:]}
        for _, event in sorted(events.items()):
            if event.type in types:
                runner.add(event)
        _mark_forgotten(memory, number, runner)
    for number, order in _consumed(memory):
        if order in events:
            consumed = publisher.runners[number].consumed
            assert consumed is not None
            next(iter(consumed.values()))[order] = events[order].time
    return publisher


def held_events(exact: Publisher) -> list[Occurrence]:
    """The events that `cdp` retains, in their order."""
    events = {event.number: event for column in _columns(exact) for event in column.column}
    return [event for _, event in sorted(events.items())]


def is_complete(exact: Publisher) -> bool:
    """Whether no rule lacks history, since it has joined later than others."""
    return not any(column.late for column in _columns(exact))


def read_consumed(exact: Publisher, memory: KernelMemory) -> list[int]:
    """The words of what rules have consumed."""
    rules = len(memory.plan.rules)
    return [
        order * rules + number
        for number, runner in enumerate(exact.runners)
        if runner.consumed is not None
        for order in next(iter(runner.consumed.values()))
    ]


def _columns(exact: Publisher) -> Iterator[StepColumn]:
    for runner in exact.runners:
        yield from runner.matcher.columns.values()


def _consumed(memory: KernelMemory) -> Iterator[tuple[int, int]]:
    """Rules, and the orders of the events that each has consumed."""
    words, rules = memory.history.consumed, len(memory.plan.rules)
    for word in words[words != records.NONE].tolist():
        yield word % rules, word // rules


def _mark_forgotten(memory: KernelMemory, number: int, runner: RuleRunner) -> None:
    """Say from when on columns have all events that they accept, where some have been forgotten."""
    for planned in memory.rule_tables.plan.steps[number]:
        place = memory.rule_tables.columns[planned.column]
        if memory.history.columns[place].first:
            rows, state = memory.rows_of(place), memory.state
            oldest = (int(rows[0].time), int(rows[0].order)) if len(rows) else (int(state.now), int(state.order))
            column = runner.matcher.columns[planned.step.number]
            column.since, column.place = oldest[0] + 1, oldest[1]
