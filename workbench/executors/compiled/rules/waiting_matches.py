"""Matches that wait for a deadline, as the engine `cdp` has them, and back.

The rule of this module: where a match has what is said by the plan of its rule; `kernel/waiting` says which rows it is.
"""

# mypy: allow-untyped-calls
# It calls functions of the kernel as plain Python.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from workbench.core.domain import Domain, Value
from workbench.executors.compiled.rules.blocks import values_of
from workbench.executors.compiled.rules.expressions import register_of
from workbench.executors.compiled.rules.kernel.waiting import find_deadline, rows_of_match
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.records import GREATEST_WORD, LEAST_WORD, KernelStatus
from workbench.tesla import tree as t
from workbench.tesla.engines.absences import DueAbsence
from workbench.tesla.engines.publisher import chain_names, chain_of_names
from workbench.tesla.engines.rule_plan import PartialMatch, RulePlan
from workbench.tesla.event_block import LargeNumberError
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.resolved import domain_of

CodeOf = Callable[[str], int]
"""The number of a text."""


def read_waiting(memory: KernelMemory, number: int, texts: Mapping[int, str]) -> Iterator[DueAbsence]:
    """The deadlines of a rule, in their order, each with its matches."""
    rule, plan = memory.plan.rules[number], memory.rule_tables.plan.plans[number]
    slots, size = memory.slots_of(int(rule.waits)), int(rows_of_match(rule))
    due: DueAbsence | None = None
    for begin in range(0, len(slots), size):
        match = _read_match(memory, number, slots[begin : begin + size], texts)
        trigger, links = match[0], int(memory.history.rows[slots[begin]].key)
        if due is None or due.trigger.number != trigger.number:
            if due is not None:
                yield due
            due = DueAbsence(trigger.time + plan.timeout, trigger, [], chain_of_names([plan.rule.name] * links))
        due.matches.append(match)
    if due is not None:
        yield due


def _read_match(memory: KernelMemory, number: int, slots: Any, texts: Mapping[int, str]) -> PartialMatch:
    rule, plan = memory.plan.rules[number], memory.rule_tables.plan.plans[number]
    rows, cells, match = memory.history.rows, memory.history.cells, list[Any]([None] * len(plan.layout))
    kept, own = slots[: rule.kept_rows], _listed_slots(memory, rule.kept, rule.kept_end)
    nulls = sum(int(rows[row].nulls) << cells.shape[1] * k for k, row in enumerate(kept))
    values = values_of(nulls, cells[kept].ravel(), map(_parameter_domains(plan).__getitem__, own), texts)
    for slot, value in zip(own, values, strict=True):
        match[slot] = value
    for row, slot in zip(slots[rule.kept_rows :], _listed_slots(memory, rule.bound, rule.bound_end), strict=True):
        declared, head = plan.binding[slot].declared, rows[row]
        item = tuple(values_of(int(head.nulls), cells[row], declared.domains.values(), texts))
        match[slot] = item if declared.fact else Occurrence(declared.name, int(head.time), item, int(head.order))
    return tuple(match)


def _listed_slots(memory: KernelMemory, begin: int, end: int) -> list[int]:
    """The slots of a match whose registers are listed."""
    registers: list[int] = memory.plan.slots[begin:end].tolist()
    return [register - register_of(0) for register in registers]


def _parameter_domains(plan: RulePlan) -> dict[int, Domain]:
    """The types of the parameters of a match, by their slots."""
    found: dict[int, Domain] = {}
    for step in plan.steps:
        if isinstance(step.part, t.Aggregate):
            domain = step.aggregate.result(step.values)
            assert domain is not None
            found[step.slot] = domain
        elif step.policy.binds:
            found |= {plan.layout[step.place, f"${each.name}"]: domain_of(each.value) for each in step.part.assignments}
    return found


# --- back -----------------------------------------------------------------------------------------------


def write_waiting(memory: KernelMemory, dues: Iterable[tuple[int, DueAbsence]], code_of: CodeOf) -> None:
    """Let matches wait; each deadline comes with the number of its rule, those of one rule in their order.

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
        head.key = len(chain_names(due.chain))
    for k, slot in enumerate(_listed_slots(memory, rule.kept, rule.kept_end)):
        _write_value(memory, slots[k // width], k % width, match[slot], code_of)
    for row, slot in zip(slots[rule.kept_rows :], _listed_slots(memory, rule.bound, rule.bound_end), strict=True):
        item, head = match[slot], memory.history.rows[row]
        head.time, head.order = (item.time, item.number) if isinstance(item, Occurrence) else (0, 0)
        head.nulls = 0
        for k, value in enumerate(item.values if isinstance(item, Occurrence) else item):
            _write_value(memory, row, k, value, code_of)


def _new_rows(memory: KernelMemory, number: int, count: int) -> Any:
    """The slots of rows more of a column."""
    while True:
        column = memory.history.columns[number]
        if column.appended - column.first + count <= column.mask + 1:
            column.appended += count
            return memory.slots_of(number)[-count:]
        memory.state.full_column = number
        memory.grow(KernelStatus.FULL_COLUMN)


def _write_value(memory: KernelMemory, row: int, cell: int, value: Value | None, code_of: CodeOf) -> None:
    """Write a value into a row whose nulls are known up to it."""
    if value is None:
        memory.history.rows[row].nulls |= 1 << cell
    memory.history.cells[row, cell] = 0 if value is None else word_of(value, code_of)


def word_of(value: Value, code_of: CodeOf) -> int:
    """The word that stands for a value; LargeNumberError if there is none."""
    if isinstance(value, str):
        return code_of(value)
    if isinstance(value, float):
        return int(np.float64(value).view(np.int64))
    assert isinstance(value, int)
    if not LEAST_WORD <= value <= GREATEST_WORD:
        raise LargeNumberError(f"{value} has more than 64 bits")
    return int(value)
