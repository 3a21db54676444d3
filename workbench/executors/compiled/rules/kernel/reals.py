"""Floats in expressions: arithmetic and comparisons as in Python, and floats as values of keys.

The rule of this module: its functions take numbers and the two views of the stack, nothing else of the kernel. Division
by zero is null. Python's floats compute, since numpy's warn.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import NONE, Opcode

LEAST_REAL, GREATEST_REAL = -float(1 << 63), float(1 << 63)
"""The range of floats that fit in a word; the second is excluded."""
NAN = float("nan")
"""The canonical NaN of Python."""


def evaluate_real(stack, reals, top, op):
    """Execute an instruction on floats; return the new height of the stack, `NONE` where the result is null."""
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
    """Apply an operator to two floats; a divisor is not 0."""
    if op == Opcode.ADD_REAL:
        return x + y
    if op == Opcode.SUB_REAL:
        return x - y
    if op == Opcode.MUL_REAL:
        return x * y
    return x / y if op == Opcode.DIV_REAL else x % y


def compare_reals(op, x, y):
    """Return whether a comparison of two floats holds, as a word."""
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
    """Compare an integer with a float exactly: return a float whose sign is the result; NaN for NaN."""
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


def make_key(stack, reals, index, op):
    """Replace a float by the key word of all values equal to it, as float or integer; False if there are none."""
    x = float(reals[index])
    if op == Opcode.KEY_REAL:
        reals[index] = x + 0.0  # -0.0 becomes 0.0
        return x == x
    if not LEAST_REAL <= x < GREATEST_REAL or float(int(x)) != x:
        return False
    stack[index] = int(x)
    return True
