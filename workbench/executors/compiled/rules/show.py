"""The tables of a rule set as text, for comparison with the rules.

The rule of this module: registers are `r1`, `r2`, ...; `own` is the candidate; `r1.0` is the first attribute of the
event in `r1`. Code is postfix, as in its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.executors.compiled.code.text_number import text_code
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.constants import constant_index
from workbench.executors.compiled.rules.expressions import OPCODES, REAL_OPCODES
from workbench.executors.compiled.rules.plan import RuleTables, build_tables
from workbench.executors.compiled.rules.refusals import refuse_unsupported
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.rule_set import RuleSet

SIGNS = (
    {opcode: sign for (sign, _), opcode in OPCODES.items()}
    | {opcode: f"{sign}." for (sign, _), opcode in REAL_OPCODES.items()}
    | {
        records.Opcode.REQUIRE: "require", records.Opcode.TO_REAL: "real", records.Opcode.COMPARE_MIXED: "compare",
        records.Opcode.KEY_REAL: "key", records.Opcode.KEY_WHOLE: "whole", records.Opcode.SAME_REAL: "same",
        records.Opcode.COMPARE_TEXTS: "compare-texts", records.Opcode.JOIN_TEXTS: "join",
    }
)  # fmt: skip
"""The notation of instructions; a dot marks those on floats."""


def format_rules(rules: RuleSet) -> str:
    """Format the tables of a rule set.

    Raises
    ------
    Refused: the kernel does not support a construct.
    """
    plan = SetPlan(rules)
    refuse_unsupported(plan.plans)
    return format_tables(build_tables(plan, text_code))


def format_tables(rule_tables: RuleTables) -> str:
    """Format the tables: the columns, then each rule with its steps and the composite that it emits."""
    lines = ["columns"]
    for number in range(len(rule_tables.columns)):
        lines.append(f"  {number}: {_format_column(rule_tables, number)}")
    names = [rule.name for rule in rule_tables.plan.rules.rules]
    for number in range(len(names) and len(rule_tables.tables.rules)):
        rule = rule_tables.tables.rules[number]
        title = f"rule {names[rule.number]}" + (" when its deadline has passed" if rule.number != number else "")
        lines += [title, *(f"  {line}" for line in _format_rule(rule_tables, number))]
    return "\n".join(lines) + "\n"


def _format_column(rule_tables: RuleTables, number: int) -> str:
    index = rule_tables.tables.columns[number]
    text = _type_in(rule_tables, number)
    if index.filter < index.filter_end:
        text += f" if {format_code(rule_tables.tables, index.filter, index.filter_end)}"
    text += _format_key(rule_tables.tables, index)
    text += f" banded by own.{index.banded}" if index.banded != records.NONE else ""
    lookback = "forever" if index.lookback == records.FOREVER else f"for {index.lookback}"
    return f"{text}, retained {lookback}" + (f" or {index.count} events" if index.count else "")


def _type_in(rule_tables: RuleTables, number: int) -> str:
    """Return the type of the events or facts in a column."""
    return rule_tables.plan.columns[rule_tables.columns.index(number)].type


def _format_key(tables: records.PlanTables, entry: Any) -> str:
    keys = (tables.keys[k] for k in range(entry.keys, entry.keys_end))
    text = " and ".join(format_code(tables, each.code, each.code_end) for each in keys)
    return f" by {text}" if text else ""


def _format_rule(rule_tables: RuleTables, number: int) -> Iterator[str]:
    tables, rule = rule_tables.tables, rule_tables.tables.rules[number]
    for at in range(rule.steps, rule.steps_end):
        yield _format_step(rule_tables, rule, tables.steps[at])
    if rule.timeout != records.NONE:
        yield f"wait for {rule.timeout}"
        return
    steps = tables.steps[rule.steps : rule.steps_end]
    actions = [action for step in steps for action in tables.actions[step.actions : step.actions_end]]
    emits = [
        f"{value.slot - rule.cells} = {format_code(tables, value.code, value.code_end)}"
        for value in sorted(actions, key=lambda each: int(each.slot))
        if value.slot >= rule.cells
    ]
    consumed = [f"r{tables.steps[tables.slots[k]].slot}" for k in range(rule.consumed, rule.consumed_end)]
    text = f"emit {rule_tables.plan.rules.events[int(rule.emits)]}({', '.join(emits)})"
    text += f" consuming {', '.join(consumed)}" if consumed else ""
    if rule.pause != records.NONE:
        per = ", ".join(format_code(tables, each.code, each.code_end) for each in tables.keys[rule.per : rule.per_end])
        text += f" at most once in {rule.pause}" + (f" per {per}" if per else "")
    yield text + (f" limit {rule.limit}" if rule.limit != records.NO_LIMIT else "")


def _format_step(rule_tables: RuleTables, rule: Any, step: Any) -> str:
    tables, kind = rule_tables.tables, records.StepKind(int(step.kind))
    if kind == records.StepKind.WAITING:
        return "each match that waits"
    if kind == records.StepKind.TAKE:
        return f"take what step {step.list} has stored -> r{step.slot}{_format_actions(tables, rule, step)}"
    triggers = kind == records.StepKind.TRIGGER
    name = rule_tables.plan.rules.events[int(step.type)] if triggers else _type_in(rule_tables, int(step.column))
    text = f"{kind.name.lower()} {name}" + (f".{step.cell}" if step.cell != records.NONE else "")
    if not triggers:
        text += f" in column {step.column}{_format_key(tables, step)} {_format_window(step)}"
    for k in range(step.bounds, step.bounds_end):
        bound = tables.bounds[k]
        code = format_code(tables, bound.code, bound.code_end)
        text += f", own.{bound.cell} {SIGNS[records.Opcode(int(bound.relation))]} {code}"
    index = constant_index(rule_tables.plan, int(rule.number)) if triggers else None
    if index is not None:
        text += f", found by own.{index.attribute} == {index.constant}"
    if step.residual < step.residual_end:
        text += f", if {format_code(tables, step.residual, step.residual_end)}"
    if step.combine < step.combine_end:
        text += f", from {format_code(tables, step.initial, step.initial_end)} on"
        text += f" by {format_code(tables, step.combine, step.combine_end)}"
    if step.later:
        return f"{text}, stored"
    text += f" -> r{step.slot}" if kind != records.StepKind.NOT else ""
    return text + _format_actions(tables, rule, step)


def _format_actions(tables: records.PlanTables, rule: Any, step: Any) -> str:
    """Format the actions of a step."""
    text = ""
    for action in tables.actions[step.actions : step.actions_end]:
        code = format_code(tables, action.code, action.code_end)
        if action.slot == records.NONE and (action.code, action.code_end) != (step.residual, step.residual_end):
            text += f", where {code}"
        elif records.NONE < action.slot < rule.cells:
            text += f", r{action.slot} = {code}"
    return text


def _format_window(step: Any) -> str:
    kind = records.WindowKind(int(step.window))
    if kind == records.WindowKind.ALL:
        return "of all"
    if kind == records.WindowKind.AFTER:
        return f"up to {step.most} after r{step.anchor}"
    if kind in (records.WindowKind.BETWEEN, records.WindowKind.BETWEEN_TIMES):
        times = "the times of " if kind == records.WindowKind.BETWEEN_TIMES else ""
        return f"between {times}r{step.anchor} and r{step.other}"
    upper = "forever" if step.most == records.NONE else step.most
    unit = " events" if kind == records.WindowKind.BY_ORDER else ""
    return f"{step.least} to {upper}{unit} before r{step.anchor}"


def format_code(tables: records.PlanTables, begin: int, end: int) -> str:
    """Format a part of the code."""
    return " ".join(word for at in range(begin, end) for word in _format_instruction(tables.code[at]))


def _format_instruction(instruction: Any) -> Iterator[str]:
    if instruction.leaf != records.NONE:
        yield _format_leaf(records.Opcode(int(instruction.leaf)), instruction)
    if instruction.op != instruction.leaf:
        yield SIGNS[records.Opcode(int(instruction.op))]
    if instruction.required:
        yield SIGNS[records.Opcode.REQUIRE]


def _format_leaf(leaf: records.Opcode, instruction: Any) -> str:
    register = f"r{instruction.a}" if instruction.a else "own"
    if leaf == records.Opcode.CELL:
        return f"{register}.{instruction.b}"
    if leaf == records.Opcode.REGISTER:
        return register
    return f"time({register})" if leaf == records.Opcode.TIME else str(instruction.a)
