"""A rule set becomes tables: rules, their steps, the columns of events that steps look into, and code.

The rule of this module: which columns there are, what is indexed, and when a condition is evaluated is decided by the
plan of the rule set (`tesla/engines/set_plan`); this writes it down as records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.core.domain import BOOL, FLOAT, INT, STR
from workbench.executors.compiled.rule_tables import records
from workbench.executors.compiled.rule_tables.constants import find_constants, index_constants
from workbench.executors.compiled.rule_tables.expressions import OPCODES, PostfixCode, register_of
from workbench.executors.compiled.rule_tables.lookups import add_lookups
from workbench.executors.compiled.rule_tables.records import StepKind, WindowKind
from workbench.executors.compiled.rule_tables.refusals import AGGREGATES, combined_value
from workbench.tesla import tree as t
from workbench.tesla.engines.expressions import MatchLayout
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan
from workbench.tesla.operators import readings
from workbench.tesla.resolved import OWN, RuleSlot, domain_of, expanded, slots

POLICIES = {
    t.Policy.TRIGGER: StepKind.TRIGGER, t.Policy.EACH: StepKind.EACH, t.Policy.FIRST: StepKind.FIRST,
    t.Policy.LAST: StepKind.LAST, t.Policy.NOT: StepKind.NOT, t.Policy.ABSENT: StepKind.NOT,
}  # fmt: skip


class ScratchSizes(NamedTuple):
    """The room that one event needs at most, whatever comes.

    Attributes
    ----------
    width: attributes of a type; the others are registers, entries of the stack, steps of a rule, ranges of a step, and
        sources of a composite, and values for which a rule is silent on its own.
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
    columns: of each planned column, the number of its table entry; those of events come first.
    fact_types: of each planned column of facts, the type of event that they are of.
    consumers: who may consume: the number of a rule, and the slot of its match.
    hierarchical: whether rules look at what others emit.
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
        """How many columns have events."""
        return len(self.columns) - len(self.fact_types)


def build_tables(
    plan: SetPlan, code_of: Callable[[str], int], *, trex: bool = False, profiled: bool = False
) -> RuleTables:
    """Write the tables of a rule set.

    Parameters
    ----------
    code_of: the number of a text.
    trex: windows and consumption are as T-Rex has them.
    profiled: matches are counted before `where`, which is evaluated behind all steps.
    """
    return _TableBuilder(plan, code_of, trex, profiled).build()


class _TableBuilder:
    """Tables under construction."""

    def __init__(self, plan: SetPlan, code_of: Callable[[str], int], trex: bool, profiled: bool) -> None:
        self._plan, self._trex, self._profiled = plan, trex, profiled
        self._consumers: list[tuple[int, int]] = [] if trex else [(number, 0) for number in range(len(plan.plans))]
        self._waiting = [number for number, each in enumerate(plan.plans) if each.absent is not None]
        self._types = {name: number for number, name in enumerate(plan.rules.events)}
        self._code = PostfixCode(code_of)
        self._steps: list[dict[str, int]] = []
        self._bounds, self._actions, self._keys = list[Any](), list[Any](), list[Any]()
        self._slots: list[int] = []
        self._ranges = 1
        facts = [number for number, column in enumerate(plan.columns) if column.fact]
        begin = len(self._types) + len(self._waiting)
        self._fact_types = {number: type_ for type_, number in enumerate(facts, begin)}
        order = sorted(range(len(plan.columns)), key=self._type_of_column)
        self._columns = [order.index(number) for number in range(len(order))]
        self._in_order = [plan.columns[number] for number in order]

    def build(self) -> RuleTables:
        """The tables."""
        plans, numbers = self._plan.plans, range(len(self._types) + len(self._waiting) + len(self._fact_types))
        rules = [self._rule(number, plan) for number, plan in enumerate(plans)]
        rules += [self._deciding_rule(number, rules[number]) for number in self._waiting]
        columns = [self._column(number) for number in range(len(self._in_order))]
        triggers = [rule["trigger"] for rule in rules]
        constants = find_constants(self._plan, self._code.word)
        always = sorted(set(range(len(rules))) - constants.keys(), key=triggers.__getitem__)
        tables = records.PlanTables(
            rules=records.table([_entry(rule, records.RULE) for rule in rules], records.RULE),
            steps=records.table([_entry(step, records.STEP) for step in self._steps], records.STEP),
            bounds=records.table(self._bounds, records.BOUND),
            actions=records.table(self._actions, records.ACTION),
            keys=records.table(self._keys, records.ACTION),
            code=records.table(self._code.instructions, records.INSTRUCTION),
            slots=np.array([*self._slots, 0], np.int64),
            triggered=np.array([*always, 0], np.int64),
            rules_of_type=_starts([triggers[rule] for rule in always], numbers),
            columns=records.table(columns + [_WAITING_COLUMN] * len(self._waiting), records.INDEXED),
            columns_of_type=_starts([each[0] for each in columns], numbers),
        )
        watched = {*triggers, *(each[0] for each in columns)}
        hierarchical = bool(watched & {self._types[plan.rule.emits] for plan in plans})
        tables = add_lookups(index_constants(tables, triggers, constants))
        return RuleTables(
            self._plan, tables, self._sizes(), self._columns, self._fact_types, self._consumers, hierarchical
        )

    def _type_of_column(self, number: int) -> int:
        """The type of the events in a planned column; facts are of types that no event has, one for each column."""
        return self._fact_types.get(number, self._types.get(self._plan.columns[number].type, records.NONE))

    @cached_property
    def _cells(self) -> int:
        """The first of the registers that hold the cells of a composite."""
        return 3 + max((slot for plan in self._plan.plans for slot in plan.layout.values()), default=0)

    @property
    def _width(self) -> int:
        """Cells of a row, of which an aggregate needs two for its operands."""
        return max(2, *(len(each.attributes) for each in self._plan.rules.declarations.values()))

    def _sizes(self) -> ScratchSizes:
        plans = self._plan.plans
        return ScratchSizes(
            self._width,
            self._cells + self._width,
            1 + self._code.deepest,
            max((2, *(len(plan.steps) for plan in plans))),
            self._ranges,
            max([1, *(len(plan.event_slots) for plan in plans)]),
            max([1, *(len(plan.rule.per) for plan in plans)]),
        )

    # --- rules ------------------------------------------------------------------------------------------

    def _rule(self, number: int, plan: RulePlan) -> dict[str, int]:
        begin = len(self._steps)
        self._steps += [self._trigger(plan), *(self._step(plan, each) for each in self._plan.steps[number])]
        self._number_consumers(number, plan, self._steps[begin:])
        self._add_all_actions(number, plan, self._steps[begin:])
        for place, slot in enumerate(plan.event_slots):
            self._steps[begin + plan.binding[slot].number]["source"] = place
        line = {
            "number": number, "trigger": self._types[plan.trigger.type], "emits": self._types[plan.rule.emits],
            "steps": begin, "steps_end": len(self._steps), "sources": len(plan.event_slots),
            "limit": records.NO_LIMIT if plan.rule.limit is None else plan.rule.limit,
            "pause": records.NONE if plan.pause is None else min(plan.pause, records.FOREVER),
            "cells": self._cells, "cells_end": self._cells + len(plan.emitted.attributes), "timeout": records.NONE,
        }  # fmt: skip
        where = plan.rule.where_clause if self._profiled else ()
        line["where"], line["where_end"] = self._code.required(where, plan.layout)
        line["per"], line["per_end"] = self._added_keys(self._code.silence(each, plan.layout) for each in plan.rule.per)
        consumed = (begin + plan.binding[slot].number for slot in plan.consumed_slots)
        line["consumed"], line["consumed_end"] = self._listed(consumed)
        return line if plan.absent is None else line | self._waits(number, plan)

    def _waits(self, number: int, plan: RulePlan) -> dict[str, int]:
        """The fields of a rule whose matches wait for a deadline."""
        place, events = self._waiting.index(number), list(plan.event_slots)
        bound = [*events, *(slot for slot in plan.binding if slot not in events)]
        kept = [slot for slot in plan.layout.values() if slot not in bound]
        width = self._width
        line = {
            "limit": records.NO_LIMIT, "timeout": min(plan.timeout, records.FOREVER),
            "decider": len(self._plan.plans) + place, "waits": len(self._in_order) + place,
            "kept_rows": max(1, -(-len(kept) // width)),
        }  # fmt: skip
        line["bound"], line["bound_end"] = self._listed(map(register_of, bound))
        line["kept"], line["kept_end"] = self._listed(map(register_of, kept))
        return line

    def _deciding_rule(self, number: int, waiting: Mapping[str, int]) -> dict[str, int]:
        """The rule that is triggered by the deadlines of another one, and goes on with its matches."""
        plan, absent, begin = self._plan.plans[number], self._plan.absent[number], len(self._steps)
        assert absent is not None
        first = {"kind": StepKind.WAITING, "slot": records.OWN, "cell": records.NONE, "source": records.NONE}
        steps = (first, self._step(plan, absent) | {"consumer": records.NONE})
        self._steps += [step | {"rule": records.NONE} for step in steps]
        self._add_actions(self._steps[-1], self._emission(plan, 1)[0])
        return {
            **waiting, "trigger": len(self._types) + self._waiting.index(number), "steps": begin,
            "steps_end": len(self._steps), "timeout": records.NONE,
            "limit": records.NO_LIMIT if plan.rule.limit is None else plan.rule.limit,
        }  # fmt: skip

    # --- actions ----------------------------------------------------------------------------------------

    def _add_all_actions(self, number: int, plan: RulePlan, lines: Sequence[dict[str, int]]) -> None:
        """Write what the steps of a rule do; one whose matches wait emits nothing yet."""
        nothing: list[list[tuple[int, int, int]]] = [[]] * len(lines)
        emitted = nothing if plan.absent else self._emission(plan, len(lines))
        conditions = self._plan.conditions(number)
        for step, line, asked, values in zip(plan.steps, lines, conditions, emitted, strict=True):
            line["rule"] = number
            condition = self._code.required([] if self._profiled else asked, plan.layout)
            self._add_actions(line, [*self._assigned(plan, step), (records.NONE, *condition), *values])

    def _add_actions(self, line: dict[str, int], actions: Iterable[tuple[int, int, int]]) -> None:
        """Write what a step does once it has bound something, without conditions that say nothing."""
        first = [(records.NONE, line["residual"], line["residual_end"])] if line["kind"] == StepKind.TRIGGER else []
        line["actions"] = len(self._actions)
        self._actions += [each for each in (*first, *actions) if each[0] != records.NONE or each[1] < each[2]]
        line["actions_end"] = len(self._actions)

    def _assigned(self, plan: RulePlan, step: RuleStep) -> list[tuple[int, int, int]]:
        """The parameters of what a step binds."""
        return [
            (register_of(plan.layout[step.place, f"${each.name}"]),
             *self._code.value(expanded(each.value, own=True), plan.layout))
            for each in (step.part.assignments if step.policy.binds else ())
        ]  # fmt: skip

    def _emission(self, plan: RulePlan, steps: int) -> list[list[tuple[int, int, int]]]:
        """The values of the composite, each at that of so many steps by which it is known, or at the last one."""
        given = {each.name: each.value for each in plan.rule.evaluations}
        found: list[list[tuple[int, int, int]]] = [[] for _ in range(steps)]
        for k, each in enumerate(plan.emitted.attributes):
            value = given[each.name]
            at = min(max(plan.binders(value), default=0), steps - 1)
            found[at].append((self._cells + k, *self._code.value(value, plan.layout, each.domain)))
        return found

    def _number_consumers(self, number: int, plan: RulePlan, steps: Sequence[dict[str, int]]) -> None:
        """Write who consumes: each rule, or each of its steps where T-Rex is followed; the others ask for nothing."""
        for step, line in zip(plan.steps, steps, strict=True):
            asks = bool(plan.consumed_slots) and step.slot in plan.event_slots and step.policy.binds
            line["consumer"] = (len(self._consumers) if self._trex else number) if asks else records.NONE
            if asks and self._trex:
                self._consumers.append((number, step.slot))

    def _trigger(self, plan: RulePlan) -> dict[str, int]:
        line, constraints = self._bound_line(plan, plan.trigger), plan.trigger.part.constraints
        line["residual"], line["residual_end"] = self._residual(plan, constraints)
        return line

    def _step(self, plan: RulePlan, planned: PlannedStep) -> dict[str, int]:
        step = planned.step
        line = self._bound_line(plan, step) | _window(step, self._trex)
        line["column"] = self._columns[planned.column]
        line["keys"], line["keys_end"] = self._key(planned.equations, plan.layout)
        rest = self._bounds_of(line, plan, step, _unkeyed(planned))
        line["residual"], line["residual_end"] = self._residual(plan, rest)
        if step.selects:
            rivals = [each for each in plan.steps[1 : step.number] if each.selects and each.type == step.type]
            line["rivals"], line["rivals_end"] = self._listed(register_of(each.slot) for each in rivals)
        return line

    def _bound_line(self, plan: RulePlan, step: RuleStep) -> dict[str, int]:
        """The entry of a step: what it is, and what it binds."""
        part = step.part
        line = {
            "kind": POLICIES.get(part.policy, 0), "type": self._types.get(step.type, records.NONE),
            "slot": register_of(step.slot),
            "cell": records.NONE if step.attribute is None else step.attribute,
            "source": records.NONE,
        }  # fmt: skip
        return line | self._aggregate(step, part) if isinstance(part, t.Aggregate) else line

    def _aggregate(self, step: RuleStep, part: t.Aggregate) -> dict[str, int]:
        """The fields of an aggregate."""
        declared = part.declared
        if declared is None:
            return {"kind": AGGREGATES[part.function][step.values]}
        line, domain, cell = {"kind": int(StepKind.COMBINE)}, declared.domain, step.attribute
        assert cell is not None
        real = domain == FLOAT and step.values == INT
        line["initial"], line["initial_end"] = self._code.value(t.Literal(declared.first), {})
        line["value"], line["value_end"] = self._code.own_cell(cell, real=real)
        line["combine"], line["combine_end"] = self._code.value(combined_value(declared), {}, domain)
        return line

    def _bounds_of(
        self, line: dict[str, int], plan: RulePlan, step: RuleStep, constraints: Sequence[t.Expression]
    ) -> list[t.Expression]:
        """Write comparisons of an own attribute with what is bound before as bounds; the other constraints."""
        rest, ranges, begin = list[t.Expression](), dict[int, int](), len(self._bounds)
        for each in constraints:
            found = _attribute_bound(expanded(each, own=True))
            if found is None:
                rest.append(each)
                continue
            cell, relation, bound = found
            place = ranges.setdefault(cell, len(ranges))
            self._bounds.append((place, cell, relation, *self._code.value(bound, plan.layout)))
        line["bounds"], line["bounds_end"], line["ranges"] = begin, len(self._bounds), len(ranges)
        line["not_null"] = sum(1 << cell for cell in ranges)
        self._ranges = max(self._ranges, len(ranges))
        return rest

    def _residual(self, plan: RulePlan, constraints: Iterable[t.Expression]) -> tuple[int, int]:
        return self._code.required([expanded(each, own=True) for each in constraints], plan.layout)

    def _key(self, equations: Iterable[tuple[t.Expression, t.Expression]], layout: MatchLayout) -> tuple[int, int]:
        """Write what the keys of a column, the first of each pair, have to be equal to."""
        return self._added_keys(self._code.key(value, layout, domain_of(own)) for own, value in equations)

    def _added_keys(self, codes: Iterable[tuple[int, int]]) -> tuple[int, int]:
        begin = len(self._keys)
        self._keys += [(0, *code) for code in codes]
        return begin, len(self._keys)

    def _listed(self, registers: Iterable[int]) -> tuple[int, int]:
        begin = len(self._slots)
        self._slots += registers
        return begin, len(self._slots)

    # --- columns ----------------------------------------------------------------------------------------

    def _column(self, number: int) -> tuple[int, ...]:
        column = self._in_order[number]
        reach = records.FOREVER if column.reach is None else min(column.reach, records.FOREVER)
        filter_ = self._code.required(column.filters, {})
        return (
            self._type_of_column(column.number),
            *filter_,
            *self._key(((each, each) for each in column.keys), {}),
            reach,
            min(column.latest, records.FOREVER),
        )


_WAITING_COLUMN = (records.NONE, 0, 0, 0, 0, records.FOREVER, records.FOREVER)
"""A column whose rows are matches that wait: no event joins it."""


def _entry(fields: Mapping[str, int], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """An entry of a table; what it does not use is 0."""
    return tuple(fields.get(name, 0) for name in dtype.names or ())


def _unkeyed(planned: PlannedStep) -> list[t.Expression]:
    """The constraints of candidates: an equation that is the whole key holds of all rows of a chain."""
    pairs = planned.step.code.equations
    if len(planned.equations) != 1 or len(pairs) != 1:
        return planned.constraints  # several values are mixed into one word
    if list(map(domain_of, pairs[0])) == [FLOAT, INT]:
        return planned.constraints  # a whole number may be no float
    return [each for each in planned.constraints if not _is_equation(each, pairs[0])]


def _is_equation(constraint: t.Expression, pair: tuple[t.Expression, t.Expression]) -> bool:
    """Whether a constraint is the one whose sides these are."""
    return isinstance(constraint, t.Operation) and set(map(id, constraint.operands)) == set(map(id, pair))


def _attribute_bound(constraint: t.Expression) -> tuple[int, int, t.Expression] | None:
    """An attribute of the candidate, a relation, and what it is compared with, which the candidate has no part in."""
    for operator, mine, bound in readings(constraint):
        if not isinstance(mine, RuleSlot) or mine.place != OWN or not mine.is_attribute:
            continue
        if operator == "!=" or any(leaf.place == OWN for leaf in slots(bound)):
            continue
        domains = {domain_of(mine), domain_of(bound)}
        if domains == {INT} or (operator == "==" and domains in ({BOOL}, {STR})):
            return mine.index, OPCODES[operator, 2], bound
    return None


def _window(step: RuleStep, trex: bool) -> dict[str, int]:
    """The fields of a step's window."""
    window = step.window
    if window is None:
        return {"window": WindowKind.ALL}
    anchors = {"anchor": register_of(window.anchors[0]), "other": register_of(window.anchors[-1])}
    least, most = min(window.least, records.FOREVER), window.most
    if window.between:
        return anchors | {"window": WindowKind.BETWEEN_TIMES if trex else WindowKind.BETWEEN}
    if window.after:
        return anchors | {"window": WindowKind.AFTER, "most": min(most or 0, records.FOREVER)}
    if trex and not window.counted:  # both ends are open, and times whole numbers
        least, most = least + 1, None if most is None else most - 1
        if most is not None and most < least:
            least, most = 1, 0
    kind = WindowKind.BY_ORDER if window.counted else WindowKind.BY_TIME
    endless = most is None or most >= records.FOREVER
    return anchors | {"window": kind, "least": least, "most": records.NONE if endless else int(most or 0)}


def _starts(types_of: Sequence[int], types: Iterable[int]) -> Any:
    """Where the entries of each type begin in a table that is ordered by type, and where the last end."""
    return np.array([*(sum(each < type_ for each in types_of) for type_ in types), len(types_of)], np.int64)
