"""Expressions: instructions in postfix, evaluated on the words of rows and registers.

The rule of this module: every operator is strict, so a null ends its expression. A result that is no word sets the
status `BEYOND`; it is tested for before the operation, since compilers take for granted that signed words never
overflow.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rule_tables.kernel.reals import evaluate_real
from workbench.executors.compiled.rule_tables.kernel.texts import compare_texts, join_texts
from workbench.executors.compiled.rule_tables.records import GREATEST_WORD, LEAST_WORD, NONE, KernelStatus, Opcode

SAFE_PRODUCT = float(1 << 62)


def sum_fits(x, y):
    """Whether a sum is a word."""
    return x <= GREATEST_WORD - y if y >= 0 else x >= LEAST_WORD - y


def difference_fits(x, y):
    """Whether a difference is a word."""
    return x >= LEAST_WORD + y if y >= 0 else x <= GREATEST_WORD + y


def product_fits(x, y):
    """Whether a product is surely a word; of very large ones it is not said."""
    return abs(float(x) * float(y)) < SAFE_PRODUCT


def result_fits(op, x, y):
    """Whether arithmetic on two words gives a word."""
    if op == Opcode.ADD:
        return sum_fits(x, y)
    if op == Opcode.SUB:
        return difference_fits(x, y)
    return op != Opcode.MUL or product_fits(x, y)


def combine(op, x, y):
    """What an operator makes of two words."""
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
    """Evaluate an expression onto the stack; whether it is not null, and all that it requires holds."""
    if end - begin == 1:  # most are a single cell, register, constant or time
        i = plan.code[begin]
        if i.op == Opcode.CELL:
            slot = scratch.registers[i.a]
            scratch.stack[0] = history.cells[slot, i.b]
            return history.rows[slot].nulls >> i.b & 1 == 0
        if i.op == Opcode.REGISTER:
            scratch.stack[0] = scratch.registers[i.a]
            return scratch.null[i.a] == 0
        if i.op == Opcode.CONST:
            scratch.stack[0] = i.a
            return True
        if i.op == Opcode.TIME:
            scratch.stack[0] = history.rows[scratch.registers[i.a]].time
            return True
    return evaluate_code(plan, history, scratch, state, begin, end)


def evaluate_code(plan, history, scratch, state, begin, end):
    """Evaluate an expression instruction by instruction."""
    stack, top = scratch.stack, 0
    for at in range(begin, end):
        i = plan.code[at]
        if i.leaf != NONE:
            if not push(history, scratch, top, i):
                return False
            top += 1
        if i.op <= Opcode.OR:
            top -= 1
            x, y = stack[top - 1], stack[top]
            if not result_fits(i.op, x, y):
                state.status = KernelStatus.BEYOND
                return False
            if i.op == Opcode.MOD and y == 0:
                return False
            stack[top - 1] = combine(i.op, x, y)
        elif i.op <= Opcode.CONST:
            continue
        elif i.op == Opcode.REQUIRE:
            top -= 1
            if stack[top] == 0:
                return False
        else:
            top = operate(history, scratch, state, top, i.op)
            if top == NONE:
                return False
        if i.required:
            top -= 1
            if stack[top] == 0:
                return False
    return True


def operate(history, scratch, state, top, op):
    """Carry out an instruction that is for few rules; how high the stack is then, `NONE` where there is no result."""
    stack = scratch.stack
    if op == Opcode.NEGATE:
        stack[top - 1] = int(stack[top - 1] == 0)
    elif op == Opcode.TO_REAL:
        scratch.reals[top - 1] = float(stack[top - 1])
    elif op >= Opcode.COMPARE_TEXTS:
        top -= 1
        stack[top - 1] = combine_texts(history, state, op, stack[top - 1], stack[top])
    elif op > Opcode.TO_REAL:
        return evaluate_real(stack, scratch.reals, top, op)
    elif stack[top - 1] == LEAST_WORD:
        state.status = KernelStatus.BEYOND
    else:
        stack[top - 1] = -stack[top - 1]
    return top if state.status == KernelStatus.DONE else NONE


def combine_texts(history, state, op, one, other):
    """What an operator makes of two texts; the status says where something about them is missing."""
    if op == Opcode.JOIN_TEXTS:
        return join_texts(history.joins, state, one, other)
    return compare_texts(history.texts, history.letters, state, one, other)


def push(history, scratch, top, i):
    """Push what an instruction names; whether it is not null."""
    slot = scratch.registers[i.a] if i.leaf != Opcode.CONST else 0
    if i.leaf == Opcode.CELL:
        if history.rows[slot].nulls >> i.b & 1:
            return False
        scratch.stack[top] = history.cells[slot, i.b]
    elif i.leaf == Opcode.REGISTER:
        scratch.stack[top] = slot
        return scratch.null[i.a] == 0
    else:
        scratch.stack[top] = i.a if i.leaf == Opcode.CONST else history.rows[slot].time
    return True


def evaluate_key(plan, history, scratch, state, begin, end):
    """Whether the values of a key are known; and their word: a single value as it is, several ones mixed."""
    key = 0
    for k in range(begin, end):
        value = plan.keys[k]
        if not evaluate(plan, history, scratch, state, value.code, value.code_end):
            return False, key
        key = mix(key, scratch.stack[0])
    return True, key


def mix(key, word):
    """The word of a key with one more value; a single value is its own word, and small ones stand side by side."""
    return (key << 23) ^ (key >> 41) ^ word
