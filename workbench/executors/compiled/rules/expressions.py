"""Compilation of expressions of rules to postfix instructions, for the kernel's stack.

The rule of this module: it compiles only expressions that `refusals` has accepted, and refuses none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np

from workbench.core.domain import FLOAT, INT, STR, Domain
from workbench.executors.compiled.rules.records import NONE, OWN, Opcode
from workbench.tesla import tree as t
from workbench.tesla.engines.expressions import EVENT, MatchLayout
from workbench.tesla.operators import is_comparison, readings
from workbench.tesla.resolved import OWN as OWN_PLACE
from workbench.tesla.resolved import TIME, RuleSlot, domain_of
from workbench.tesla.rule_set import RuleSet

T = TypeVar("T")
ListPart = tuple[int, int]
"""The start and end of a part of a list."""
PostfixLine = tuple[int, int, int]
"""An operand to push and its source; or an operation."""
LEAVES = (Opcode.CELL, Opcode.REGISTER, Opcode.TIME, Opcode.CONST)
OPCODES: Mapping[tuple[str, int], Opcode] = {
    ("+", 2): Opcode.ADD, ("-", 2): Opcode.SUB, ("*", 2): Opcode.MUL, ("%", 2): Opcode.MOD, ("neg", 1): Opcode.NEG,
    ("==", 2): Opcode.EQ, ("!=", 2): Opcode.NE, ("<", 2): Opcode.LT, ("<=", 2): Opcode.LE, (">", 2): Opcode.GT,
    (">=", 2): Opcode.GE, ("and", 2): Opcode.AND, ("or", 2): Opcode.OR, ("not", 1): Opcode.NEGATE,
}  # fmt: skip
"""The instructions of operators, by sign and number of operands."""
REAL_OPCODES: Mapping[tuple[str, int], Opcode] = {
    ("+", 2): Opcode.ADD_REAL, ("-", 2): Opcode.SUB_REAL, ("*", 2): Opcode.MUL_REAL, ("/", 2): Opcode.DIV_REAL,
    ("%", 2): Opcode.MOD_REAL, ("neg", 1): Opcode.NEG_REAL, ("==", 2): Opcode.EQ_REAL, ("!=", 2): Opcode.NE_REAL,
    ("<", 2): Opcode.LT_REAL, ("<=", 2): Opcode.LE_REAL, (">", 2): Opcode.GT_REAL, (">=", 2): Opcode.GE_REAL,
}  # fmt: skip
"""Instructions of operators with float operands, and of division."""


def register_of(slot: int) -> int:
    """Return the register of a slot of a partial match: the first register is that of the candidate."""
    return slot + 1


class SharedParts(Generic[T]):
    """A list under construction, of which table entries refer to parts; equal parts are shared.

    Rules are often alike, and shared parts stay in the processor's cache.

    Attributes
    ----------
    entries: the concatenated parts.
    """

    def __init__(self) -> None:
        self.entries: list[T] = []
        self._known: dict[tuple[T, ...], ListPart] = {}

    def add(self, part: Iterable[T]) -> ListPart:
        """Add a part, unless there is an equal one; return its start and end."""
        entries, begin = tuple(part), len(self.entries)
        if entries not in self._known:
            self.entries += entries
            self._known[entries] = begin, len(self.entries)
        return self._known[entries]


class PostfixCode:
    """A writer of expressions, one after another.

    Parameters
    ----------
    code_of: returns the code of a text.

    Attributes
    ----------
    instructions: instructions of all expressions, as `records.INSTRUCTION`.
    deepest: maximum size of the stack that they need.
    """

    def __init__(self, code_of: Callable[[str], int]) -> None:
        self._code_of = code_of
        self.instructions = SharedParts[tuple[int, ...]]()
        self.deepest = 1

    def value(self, expression: t.Expression, layout: MatchLayout, target: Domain | None = None) -> ListPart:
        """Write the value of an expression; an integer as a float where the target is one."""
        lines = self._lines(expression, layout)
        real = target == FLOAT and domain_of(expression) == INT
        return self._write([*lines, (Opcode.TO_REAL, 0, 0)] if real else lines)

    def own_cell(self, cell: int, *, real: bool) -> ListPart:
        """Write an attribute of the candidate; `real`: an integer as a float."""
        return self._write([(Opcode.CELL, OWN, cell), *([(Opcode.TO_REAL, 0, 0)] if real else [])])

    def key(self, value: t.Expression, layout: MatchLayout, own: Domain) -> ListPart:
        """Write the key word by which attributes of the domain `own` that equal a value are found."""
        lines, domain = self._lines(value, layout), domain_of(value)
        if own == FLOAT:
            lines += [*([(Opcode.TO_REAL, 0, 0)] if domain == INT else []), (Opcode.KEY_REAL, 0, 0)]
        elif domain == FLOAT:
            lines.append((Opcode.KEY_WHOLE, 0, 0))
        return self._write(lines)

    def silence(self, value: t.Expression, layout: MatchLayout) -> ListPart:
        """Write the word of a value for which a rule is silent separately; NaNs are equal, and so are -0.0 and 0.0."""
        lines = self._lines(value, layout)
        return self._write([*lines, (Opcode.SAME_REAL, 0, 0)] if domain_of(value) == FLOAT else lines)

    def required(self, conditions: Sequence[t.Expression], layout: MatchLayout) -> ListPart:
        """Write code that fails unless all conditions hold."""
        lines = list[PostfixLine]()
        for each in conditions:
            lines += [*self._lines(each, layout), (Opcode.REQUIRE, 0, 0)]
        return self._write(lines)

    def _write(self, lines: Sequence[PostfixLine]) -> ListPart:
        self.deepest = max(self.deepest, len(lines))
        return self.instructions.add(_join_lines(lines))

    def _lines(self, expression: t.Expression, layout: MatchLayout) -> list[PostfixLine]:
        if isinstance(expression, t.Literal):
            return [(Opcode.CONST, self.word(expression.value), 0)]
        if isinstance(expression, RuleSlot):
            return [self._leaf(expression, layout)]
        assert isinstance(expression, t.Operation)
        operands = [self._lines(each, layout) for each in expression.operands]
        if expression.operator == "/" or FLOAT in map(domain_of, expression.operands):
            return self._real_lines(expression, operands)
        if expression.operator not in ("==", "!=") and STR in map(domain_of, expression.operands):
            return [*chain.from_iterable(operands), *self._text_lines(expression.operator)]
        return [*chain.from_iterable(operands), (OPCODES[expression.operator, len(operands)], 0, 0)]

    def _real_lines(self, expression: t.Operation, operands: Sequence[list[PostfixLine]]) -> list[PostfixLine]:
        """Return the instructions of an operation on floats; integers are converted, except in exact comparisons."""
        kinds = list(map(domain_of, expression.operands))
        if INT in kinds and is_comparison(expression):
            sign, mirrored = (reading[0] for reading in readings(expression))
            if kinds[0] == FLOAT:
                sign, operands = mirrored, operands[::-1]
            compared = [(Opcode.COMPARE_MIXED, 0, 0), (Opcode.CONST, self.word(0.0), 0), (REAL_OPCODES[sign, 2], 0, 0)]
            return [*chain.from_iterable(operands), *compared]
        reals = [
            [*lines, (Opcode.TO_REAL, 0, 0)] if kind == INT else lines
            for lines, kind in zip(operands, kinds, strict=True)
        ]
        return [*chain.from_iterable(reals), (REAL_OPCODES[expression.operator, len(operands)], 0, 0)]

    @staticmethod
    def _text_lines(operator: str) -> list[PostfixLine]:
        """Return the instructions that concatenate two texts, or compare their order."""
        if operator == "+":
            return [(Opcode.JOIN_TEXTS, 0, 0)]
        return [(Opcode.COMPARE_TEXTS, 0, 0), (Opcode.CONST, 0, 0), (OPCODES[operator, 2], 0, 0)]

    @staticmethod
    def _leaf(slot: RuleSlot, layout: MatchLayout) -> PostfixLine:
        if slot.is_parameter:
            return Opcode.REGISTER, register_of(layout[slot.part, slot.name]), 0
        register = OWN if slot.part == OWN_PLACE else register_of(layout[slot.part, EVENT])
        return (Opcode.TIME, register, 0) if slot.name == TIME else (Opcode.CELL, register, slot.index)

    def word(self, value: Any) -> int:
        """Return the word of a value."""
        if isinstance(value, str):
            return self._code_of(value)
        return int(np.float64(value).view(np.int64)) if isinstance(value, float) else int(value)


def _join_lines(lines: Iterable[PostfixLine]) -> list[tuple[int, ...]]:
    """Fuse a push, the operation after it, and a requirement of its result into one instruction."""
    instructions = list[tuple[int, ...]]()
    for op, a, b in lines:
        last = instructions[-1] if instructions else (NONE,)
        if op in LEAVES:
            instructions.append((op, op, a, b, 0))
        elif last[0] in LEAVES:
            instructions[-1] = (op, *last[1:])
        elif op == Opcode.REQUIRE:
            instructions[-1] = (*last[:4], 1)
        else:
            instructions.append((op, NONE, 0, 0, 0))
    return instructions


def text_literals(rules: RuleSet) -> list[str]:
    """Return the text literals in rules."""
    leaves = (leaf for rule in rules.rules for each in rule.expressions for leaf in t.within(each))
    return [leaf.value for leaf in leaves if isinstance(leaf, t.Literal) and isinstance(leaf.value, str)]
