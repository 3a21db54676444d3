"""Floats in expressions: arithmetic and comparisons as Python has them, and floats as values of keys.

The rule of this module: its functions take numbers and the two views of the stack, nothing of the rest of the kernel.
Division by zero is null. Python's floats compute, since numpy's warn.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import NONE, Opcode

LEAST_REAL, GREATEST_REAL = -float(1 << 63), float(1 << 63)
"""The words lie from the first to below the second."""
NAN = float("nan")
"""It has the bits that it has everywhere in Python."""


def evaluate_real(stack, reals, top, op):
    """Carry out an instruction on floats; how high the stack is then, `NONE` where the result is null."""
    if op == Opcode.NEG_REAL:
        reals[top - 1] = -reals[top - 1]
        return top
    if op == Opcode.SAME_REAL:
        reals[top - 1] = NAN if reals[top - 1] != reals[top - 1] else reals[top - 1] + 0.0
        return top
    if op == Opcode.KEY_REAL or op == Opcode.KEY_WHOLE:
        return top if make_key(stack, reals, top - 1, op) else NONE
    top -= 1
    y = float(reals[top])
    if op == Opcode.COMPARE_MIXED:
        reals[top - 1] = compare_mixed(stack[top - 1], y)
        return top
    x = float(reals[top - 1])
    if op >= Opcode.EQ_REAL:
        stack[top - 1] = compare_reals(op, x, y)
        return top
    if op >= Opcode.DIV_REAL and y == 0.0:
        return NONE
    reals[top - 1] = combine_reals(op, x, y)
    return top


def combine_reals(op, x, y):
    """What an operator makes of two floats, the second of which is not 0 where it divides."""
    if op == Opcode.ADD_REAL:
        return x + y
    if op == Opcode.SUB_REAL:
        return x - y
    if op == Opcode.MUL_REAL:
        return x * y
    return x / y if op == Opcode.DIV_REAL else x % y


def compare_reals(op, x, y):
    """Whether a comparison of two floats holds, as a word."""
    if op == Opcode.EQ_REAL:
        return int(x == y)
    if op == Opcode.NE_REAL:
        return int(x != y)
    if op == Opcode.LT_REAL:
        return int(x < y)
    if op == Opcode.LE_REAL:
        return int(x <= y)
    return int(x > y) if op == Opcode.GT_REAL else int(x >= y)


def compare_mixed(x, y):
    """How a whole number stands to a float, exactly: what stands so to 0; NaN where the float is NaN."""
    if y != y:
        return y
    if y >= GREATEST_REAL:
        return -1.0
    if y < LEAST_REAL:
        return 1.0
    whole = int(y)
    if x != whole:
        return -1.0 if x < whole else 1.0
    return float(whole) - y


def make_key(stack, reals, place, op):
    """Make a float one word for all that is equal to it, as a float or a whole number; False if nothing is."""
    x = float(reals[place])
    if op == Opcode.KEY_REAL:
        reals[place] = x + 0.0  # of -0.0 and 0.0 this makes one
        return x == x
    if not LEAST_REAL <= x < GREATEST_REAL or float(int(x)) != x:
        return False
    stack[place] = int(x)
    return True
