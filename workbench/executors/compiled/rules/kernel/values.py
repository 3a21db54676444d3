"""Expressions: postfix instructions, evaluated on the words of rows and registers.

The rule of this module: every operator is strict, so a null ends its expression. A result that does not fit in a word
sets the status `BEYOND`; this is tested before the operation, since compilers assume that signed words never overflow.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.reals import evaluate_real
from workbench.executors.compiled.rules.kernel.texts import compare_texts, join_texts
from workbench.executors.compiled.rules.records import GREATEST_WORD, LEAST_WORD, NONE, KernelStatus, Opcode

SAFE_PRODUCT = float(1 << 62)


def sum_fits(x, y):
    """Whether a sum fits in a word."""
    return x <= GREATEST_WORD - y if y >= 0 else x >= LEAST_WORD - y


def difference_fits(x, y):
    """Whether a difference fits in a word."""
    return x >= LEAST_WORD + y if y >= 0 else x <= GREATEST_WORD + y


def product_fits(x, y):
    """Whether a product certainly fits in a word; False for some very large ones that do."""
    return abs(float(x) * float(y)) < SAFE_PRODUCT


def result_fits(op, x, y):
    """Whether the result of arithmetic on two words fits in a word."""
    if op == Opcode.ADD:
        return sum_fits(x, y)
    if op == Opcode.SUB:
        return difference_fits(x, y)
    return op != Opcode.MUL or product_fits(x, y)


def combine(op, x, y):
    """Apply an operator to two words."""
    if op == Opcode.ADD:
        return x + y
    if op == Opcode.SUB:
        return x - y
    if op == Opcode.MUL:
        return x * y
    if op == Opcode.MOD:
        return 0 if y == -1 else x % y
    if op == Opcode.EQ:
        return int(x == y)
    if op == Opcode.NE:
        return int(x != y)
    if op == Opcode.LT:
        return int(x < y)
    if op == Opcode.LE:
        return int(x <= y)
    if op == Opcode.GT:
        return int(x > y)
    if op == Opcode.GE:
        return int(x >= y)
    return x & y if op == Opcode.AND else x | y


def evaluate(plan, history, scratch, state, begin, end):
    """Evaluate an expression onto the stack; return whether it is not null, and its required conditions hold."""
    if end - begin == 1:
        i = plan.code[begin]
        if i.op == i.leaf:  # most are a single cell, register, constant or time
            known, value = read_leaf(history, scratch, i)
            scratch.stack[0] = value
            return known
    return evaluate_code(plan, history, scratch, state, begin, end)


def evaluate_code(plan, history, scratch, state, begin, end):
    """Evaluate an expression instruction by instruction. The top of the stack is in a register, the rest in memory."""
    stack, top, value = scratch.stack, 0, 0
    for at in range(begin, end):
        i = plan.code[at]
        if i.leaf != NONE:
            known, other = read_leaf(history, scratch, i)
            if not known:
                return False
        else:  # the operands are the top two of the stack
            other = value
            top -= 1
            value = stack[top]
        if i.op <= Opcode.OR:
            if not result_fits(i.op, value, other):
                state.status = KernelStatus.BEYOND
                return False
            if i.op == Opcode.MOD and other == 0:
                return False
            value = combine(i.op, value, other)
        else:
            stack[top] = value
            top, value = top + 1, other
            if i.op > Opcode.CONST:
                stack[top] = value
                top = operate(history, scratch, state, top + 1, i.op) - 1
                if top < 0:
                    return False
                value = stack[top]
        if i.required:
            if value == 0:
                return False
            top -= 1
            value = stack[top]
    stack[0] = value
    return True


def operate(history, scratch, state, top, op):
    """Execute a rare instruction; return the new height of the stack, `NONE` where there is no result."""
    stack = scratch.stack
    if op == Opcode.REQUIRE:
        return top - 1 if stack[top - 1] != 0 else NONE
    if op == Opcode.NEGATE:
        stack[top - 1] = int(stack[top - 1] == 0)
    elif op == Opcode.TO_REAL:
        scratch.reals[top - 1] = float(stack[top - 1])
    elif op >= Opcode.COMPARE_TEXTS:
        top -= 1
        stack[top - 1] = combine_texts(history, scratch, state, op, stack[top - 1], stack[top])
    elif op > Opcode.TO_REAL:
        return evaluate_real(stack, scratch.reals, top, op)
    elif stack[top - 1] == LEAST_WORD:
        state.status = KernelStatus.BEYOND
    else:
        stack[top - 1] = -stack[top - 1]
    return top if state.status == KernelStatus.DONE else NONE


def combine_texts(history, scratch, state, op, one, other):
    """Apply an operator to two texts; the status says where data on them is missing."""
    if op == Opcode.JOIN_TEXTS:
        return join_texts(history, scratch, state, one, other)
    return compare_texts(history, scratch, state, one, other)


def read_leaf(history, scratch, i):
    """Return the value that an instruction pushes: whether it is not null, and its word."""
    if i.leaf == Opcode.CONST:
        return True, i.a
    slot = scratch.registers[i.a]
    if i.leaf == Opcode.CELL:
        return history.rows[slot].nulls >> i.b & 1 == 0, history.cells[slot, i.b]
    if i.leaf == Opcode.REGISTER:
        return scratch.null[i.a] == 0, slot
    return True, history.rows[slot].time


def evaluate_key(plan, history, scratch, state, begin, end):
    """Return whether the values of a key are known, and its word: a single value unchanged, several mixed."""
    key = 0
    for k in range(begin, end):
        value = plan.keys[k]
        if not evaluate(plan, history, scratch, state, value.code, value.code_end):
            return False, key
        key = mix(key, scratch.stack[0])
    return True, key


def mix(key, word):
    """Mix a value into the word of a key; a single value is its own word, and small values do not overlap."""
    return (key << 23) ^ (key >> 41) ^ word
