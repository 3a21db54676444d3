"""Translation of a rule set to tables: rules, their steps, the columns of events that steps search, and code.

The rule of this module: the plan of the rule set (`tesla/engines/set_plan`) decides which columns exist, what is
indexed, and when a condition is evaluated; this module writes it as records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.constants import find_constants, index_constants, list_remaining_constraints
from workbench.executors.compiled.rules.expressions import register_of
from workbench.executors.compiled.rules.lookups import add_lookups
from workbench.executors.compiled.rules.range_constraints import find_banded_cell
from workbench.executors.compiled.rules.records import StepKind
from workbench.executors.compiled.rules.search_order import SearchEntry, list_written_order, search_order
from workbench.executors.compiled.rules.steps import EntryLists, StepLine, StepWriter, TableEntry, selects_window
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.engines.set_plan import PlannedColumn, SetPlan
from workbench.tesla.resolved import expand_parameters


class ScratchSizes(NamedTuple):
    """The maximum sizes that one event needs.

    Attributes
    ----------
    width: attributes of a type; the others count registers, stack entries, steps of a rule, ranges of a step,
        sources of a composite, and values of `per`, for which a rule is silent separately.
    """

    width: int
    registers: int
    stack: int
    steps: int
    ranges: int
    sources: int
    per: int


class RuleTables(NamedTuple):
    """A rule set as tables.

    Attributes
    ----------
    columns: for each planned column, the number of its table entry; columns of events come first.
    fact_types: for each planned column of facts, the event type of its rows.
    consumers: each consumer, as the number of a rule and the slot of its match.
    hierarchical: whether rules select composites.
    """

    plan: SetPlan
    tables: records.PlanTables
    sizes: ScratchSizes
    columns: Sequence[int]
    fact_types: Mapping[int, int]
    consumers: Sequence[tuple[int, int]]
    hierarchical: bool

    @property
    def event_columns(self) -> int:
        """Number of columns that have events."""
        return len(self.columns) - len(self.fact_types)


def build_tables(
    plan: SetPlan, code_of: Callable[[str], int], *, trex: bool = False, profiled: bool = False
) -> RuleTables:
    """Write the tables of a rule set.

    Parameters
    ----------
    code_of: returns the code of a text.
    trex: whether windows and consumption have the semantics of T-Rex.
    profiled: whether to count matches before `where`, which is then evaluated after all steps.
    """
    return _TableBuilder(plan, code_of, trex, profiled).build()


class _TableBuilder:
    """Tables under construction."""

    def __init__(self, plan: SetPlan, code_of: Callable[[str], int], trex: bool, profiled: bool) -> None:
        self._plan, self._trex, self._profiled = plan, trex, profiled
        self._consumers: list[tuple[int, int]] = [] if trex else [(number, 0) for number in range(len(plan.plans))]
        self._waiting = [number for number, each in enumerate(plan.plans) if each.absent is not None]
        self._types = {name: number for number, name in enumerate(plan.rules.events)}
        self._lists = EntryLists(code_of)
        self._code = self._lists.code
        self._steps: list[StepLine] = []
        facts = [number for number, column in enumerate(plan.columns) if column.fact]
        begin = len(self._types) + len(self._waiting)
        self._fact_types = {number: type_ for type_, number in enumerate(facts, begin)}
        order = sorted(range(len(plan.columns)), key=self._type_of_column)
        self._columns = [order.index(number) for number in range(len(order))]
        self._in_order = [plan.columns[number] for number in order]
        self._banded = list(map(self._find_banded_cell, self._in_order))
        self._writer = StepWriter(self._lists, self._types, self._columns, self._banded, trex=trex)

    def build(self) -> RuleTables:
        """Return the tables."""
        plans, numbers = self._plan.plans, range(len(self._types) + len(self._waiting) + len(self._fact_types))
        rules = [self._rule(number, plan) for number, plan in enumerate(plans)]
        rules += [self._deciding_rule(number, rules[number]) for number in self._waiting]
        columns = list(map(self._column, self._in_order, self._banded))
        triggers = [rule["trigger"] for rule in rules]
        constants = find_constants(self._plan, self._code.word)
        always = sorted(set(range(len(rules))) - constants.keys(), key=triggers.__getitem__)
        tables = records.PlanTables(
            rules=records.build_table(rules, records.RULE),
            steps=records.build_table(self._steps, records.STEP),
            bounds=records.table(self._lists.bounds.entries, records.BOUND),
            actions=records.table(self._lists.actions.entries, records.ACTION),
            keys=records.table(self._lists.keys.entries, records.ACTION),
            code=records.table(self._code.instructions.entries, records.INSTRUCTION),
            slots=np.array([*self._lists.registers.entries, 0], np.int64),
            triggered=np.array([*always, 0], np.int64),
            rules_of_type=_starts([triggers[rule] for rule in always], numbers),
            columns=records.table(columns + [_WAITING_COLUMN] * len(self._waiting), records.INDEXED),
            columns_of_type=_starts([each[0] for each in columns], numbers),
            trees=records.table([(*tree, records.NONE, 0) for tree in self._writer.trees] or [_NO_TREE], records.TREE),
        )
        watched = {*triggers, *(each[0] for each in columns)}
        hierarchical = bool(watched & {self._types[plan.rule.emits] for plan in plans})
        tables = add_lookups(index_constants(tables, triggers, constants))
        return RuleTables(
            self._plan, tables, self._sizes(), self._columns, self._fact_types, self._consumers, hierarchical
        )

    def _type_of_column(self, number: int) -> int:
        """Return the type of the rows in a planned column; each column of facts has a type that no event has."""
        return self._fact_types.get(number, self._types.get(self._plan.columns[number].type, records.NONE))

    @cached_property
    def _cells(self) -> int:
        """The first register of the cells of a composite."""
        return 3 + max((slot for plan in self._plan.plans for slot in plan.layout.values()), default=0)

    @property
    def _width(self) -> int:
        """Cells of a row; at least two, for the operands of an aggregate."""
        return max(2, *(len(each.attributes) for each in self._plan.rules.declarations.values()))

    def _sizes(self) -> ScratchSizes:
        plans = self._plan.plans
        return ScratchSizes(
            self._width,
            self._cells + self._width,
            1 + self._code.deepest,
            max((2, *(2 * len(plan.steps) for plan in plans))),
            self._writer.ranges,
            max([1, *(len(plan.event_slots) for plan in plans)]),
            max([1, *(len(plan.rule.per) for plan in plans)]),
        )

    # --- rules ------------------------------------------------------------------------------------------

    def _rule(self, number: int, plan: RulePlan) -> dict[str, int]:
        entries, begin = (list_written_order if self._profiled else search_order)(self._plan, number), len(self._steps)
        bound_at = {each.step.number: index for index, each in enumerate(entries) if each.takes}
        lines = [self._line(number, plan, entries, index) for index in range(len(entries))]
        self._number_consumers(number, plan, entries, lines)
        self._add_all_actions(plan, entries, lines, bound_at)
        for index, slot in enumerate(plan.event_slots):
            lines[bound_at[plan.binding[slot].number]]["source"] = index
        for each in lines:
            each["whole"] = selects_window(each)
        lines[-1]["emits"] = self._emits_at_once(plan, lines[-1])
        self._steps += lines
        line = {
            "number": number, "trigger": self._types[plan.trigger.type], "emits": self._types[plan.rule.emits],
            "steps": begin, "steps_end": len(self._steps), "sources": len(plan.event_slots),
            "limit": records.NO_LIMIT if plan.rule.limit is None else plan.rule.limit,
            "pause": records.NONE if plan.pause is None else min(plan.pause, records.FOREVER),
            "cells": self._cells, "cells_end": self._cells + len(plan.emitted.attributes), "timeout": records.NONE,
            "lookup": records.NONE,
        }  # fmt: skip
        where = plan.rule.where_clause if self._profiled else ()
        line["where"], line["where_end"] = self._code.required(where, plan.layout)
        line["per"], line["per_end"] = self._lists.add_keys(
            self._code.silence(each, plan.layout) for each in plan.rule.per
        )
        consumed = (begin + bound_at[plan.binding[slot].number] for slot in plan.consumed_slots)
        line["consumed"], line["consumed_end"] = self._lists.registers.add(consumed)
        return line if plan.absent is None else line | self._waits(number, plan)

    def _line(self, number: int, plan: RulePlan, entries: Sequence[SearchEntry], index: int) -> StepLine:
        """Write the step at an index of the search order."""
        step, searches, takes = entries[index]
        if step is plan.trigger:
            line = self._writer.trigger(plan, list_remaining_constraints(self._plan, number))
        elif searches:
            line = self._writer.step(plan, self._plan.steps[number][step.number - 1]) | {"later": int(not takes)}
        else:
            line = self._writer.taking(step, next(k for k, each in enumerate(entries) if each.step is step))
        return line | {"rule": number}

    def _emits_at_once(self, plan: RulePlan, line: StepLine) -> bool:
        """Whether a last step only copies values of its row into the composite."""
        counts = plan.rule.limit is not None or plan.pause is not None or bool(plan.consumed_slots)
        if line["kind"] not in (StepKind.EACH, StepKind.TAKE) or plan.absent is not None or counts or self._profiled:
            return False
        actions = self._lists.actions.entries[line["actions"] : line["actions_end"]]
        return all(
            slot >= self._cells and end == code + 1 and self._copies(code, line["slot"]) for slot, code, end in actions
        )

    def _copies(self, at: int, register: int) -> bool:
        """Whether an instruction pushes a value of the row in a register, or of the candidate."""
        opcode, _, operand, *_ = self._code.instructions.entries[at]
        return opcode in (records.Opcode.CELL, records.Opcode.TIME) and operand in (register, records.OWN)

    def _waits(self, number: int, plan: RulePlan) -> dict[str, int]:
        """Return the fields of a rule whose matches wait for a deadline."""
        index, events = self._waiting.index(number), list(plan.event_slots)
        bound = [*events, *(slot for slot in plan.binding if slot not in events)]
        value_slots = [slot for slot in plan.layout.values() if slot not in bound]
        width = self._width
        line = {
            "limit": records.NO_LIMIT, "timeout": min(plan.timeout, records.FOREVER),
            "decider": len(self._plan.plans) + index, "waits": len(self._in_order) + index,
            "kept_rows": max(1, -(-len(value_slots) // width)),
        }  # fmt: skip
        line["bound"], line["bound_end"] = self._lists.registers.add(map(register_of, bound))
        line["kept"], line["kept_end"] = self._lists.registers.add(map(register_of, value_slots))
        return line

    def _deciding_rule(self, number: int, waiting: Mapping[str, int]) -> dict[str, int]:
        """Write the rule that the deadlines of another rule trigger, and that resumes its matches."""
        plan, absent, begin = self._plan.plans[number], self._plan.absent[number], len(self._steps)
        assert absent is not None
        first = {"kind": StepKind.WAITING, "slot": records.OWN, "cell": records.NONE, "source": records.NONE}
        steps = (first, self._writer.step(plan, absent) | {"consumer": records.NONE})
        self._steps += [step | {"rule": records.NONE} for step in steps]
        self._add_actions(self._steps[-1], self._emission(plan, 1, {})[0])
        return {
            **waiting, "trigger": len(self._types) + self._waiting.index(number), "steps": begin,
            "steps_end": len(self._steps), "timeout": records.NONE,
            "limit": records.NO_LIMIT if plan.rule.limit is None else plan.rule.limit,
        }  # fmt: skip

    # --- actions ----------------------------------------------------------------------------------------

    def _add_all_actions(
        self, plan: RulePlan, entries: Sequence[SearchEntry], lines: Sequence[StepLine], bound_at: Mapping[int, int]
    ) -> None:
        """Write the actions of the steps of a rule; one whose matches wait emits nothing yet."""
        nothing: list[list[TableEntry]] = [[]] * len(lines)
        emitted = nothing if plan.absent else self._emission(plan, len(lines), bound_at)
        conditions: list[list[t.Expression]] = [[] for _ in lines]
        for each in () if self._profiled else plan.rule.where_clause:
            conditions[_find_known_place(plan, bound_at, each)].append(each)
        for entry, line, requirements, values in zip(entries, lines, conditions, emitted, strict=True):
            assigned = self._build_assignments(plan, entry.step) if entry.takes else []
            condition = self._code.required(requirements, plan.layout)
            self._add_actions(line, [*assigned, (records.NONE, *condition), *values])

    def _add_actions(self, line: StepLine, actions: Iterable[TableEntry]) -> None:
        """Write the actions of a step after its binding, without empty conditions."""
        first = [(records.NONE, line["residual"], line["residual_end"])] if line["kind"] == StepKind.TRIGGER else []
        saying = (each for each in (*first, *actions) if each[0] != records.NONE or each[1] < each[2])
        line["actions"], line["actions_end"] = self._lists.actions.add(saying)

    def _build_assignments(self, plan: RulePlan, step: RuleStep) -> list[TableEntry]:
        """Return the parameters that a step binds."""
        return [
            (register_of(plan.layout[step.place, f"${each.name}"]),
             *self._code.value(expand_parameters(each.value, own=True), plan.layout))
            for each in (step.part.assignments if step.policy.binds else ())
        ]  # fmt: skip

    def _emission(self, plan: RulePlan, steps: int, bound_at: Mapping[int, int]) -> list[list[TableEntry]]:
        """Return, for each step, the values of the composite that are known from there on."""
        evaluations = {each.name: each.value for each in plan.rule.evaluations}
        entries: list[list[TableEntry]] = [[] for _ in range(steps)]
        for k, each in enumerate(plan.emitted.attributes):
            value = evaluations[each.name]
            entries[_find_known_place(plan, bound_at, value)].append(
                (self._cells + k, *self._code.value(value, plan.layout, each.domain))
            )
        return entries

    def _number_consumers(
        self, number: int, plan: RulePlan, entries: Sequence[SearchEntry], lines: Sequence[StepLine]
    ) -> None:
        """Write the consumers: one per rule, or one per step in the mode of T-Rex; other steps have none."""
        for step in plan.steps:
            asks = bool(plan.consumed_slots) and step.slot in plan.event_slots and step.policy.binds
            consumer = (len(self._consumers) if self._trex else number) if asks else records.NONE
            for entry, line in zip(entries, lines, strict=True):
                if entry.step is step:
                    line["consumer"] = consumer
            if asks and self._trex:
                self._consumers.append((number, step.slot))

    # --- columns ----------------------------------------------------------------------------------------

    def _find_banded_cell(self, column: PlannedColumn) -> int:
        """Return the attribute whose values are part of the key of a column, or `NONE`."""
        return find_banded_cell(self._plan, column) if self._plan.indexed else records.NONE

    def _column(self, column: PlannedColumn, banded: int) -> TableEntry:
        lookback = records.FOREVER if column.retention is None else min(column.retention, records.FOREVER)
        filter_ = self._code.required(column.filters, {})
        keys = self._lists.add_key(((each, each) for each in column.keys), {})
        type_, count = self._type_of_column(column.number), min(column.latest, records.FOREVER)
        return type_, *filter_, *keys, lookback, count, banded


_WAITING_COLUMN = (records.NONE, 0, 0, 0, 0, records.FOREVER, records.FOREVER, records.NONE)
"""A column of waiting matches: no event joins it."""
_NO_TREE = (records.NONE, records.NONE, 0, records.NONE, 0)


def _find_known_place(plan: RulePlan, bound_at: Mapping[int, int], expression: t.Expression) -> int:
    """Return the step of the search after which the value of an expression is known."""
    return max((bound_at.get(number, 0) for number in plan.binders(expression)), default=0)


def _starts(types_of: Sequence[int], types: Iterable[int]) -> Any:
    """Return the start of each type's entries in a table sorted by type, and the end of the last."""
    return np.array([*(sum(each < type_ for each in types_of) for type_ in types), len(types_of)], np.int64)
