"""Machine code of Python on numbers and arrays says what Python says; what it is not for it refuses."""

import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.errors import UnsupportedNode
from workbench.executors.compiled.code import comparisons, llvm_program
from workbench.executors.compiled.code.machine import MachineLoop

NUMBERS = [0, 1, 2, 3, 7, 8, 63, -1, -2, -3, -8, 10**6, -(10**6) - 1, 2**30 + 3, -(2**30) - 1]
REALS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -3.75, 1e300, -1e-300, math.inf, -math.inf, math.nan]
WORD = 2**63


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where code is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def machine(source: str) -> MachineLoop:
    return MachineLoop(source, llvm_program.__name__)


def python(source: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(source, "<test>", "exec"), scope)
    return scope["run"]


def expression(text: str) -> str:
    """A program that writes one value for each row."""
    return f"""
def value(a, b, c, x, y, z):
    return {text}
def run(A, F, out):
    for i in range(len(A)):
        out[i] = value(A[i, 0], A[i, 1], A[i, 2], F[i, 0], F[i, 1], F[i, 2])
    return len(A)
"""


@pytest.mark.sampled(15)
@pytest.mark.parametrize(
    "text",
    [
        "a + b * c - a", "a & b | c", "a ^ b", "a >> (b & 31)", "(a & 0xFFFF) << (b & 15)", "-a", "a < b",
        "a < b < c", "a != b == c", "a // 8 + a % 8", "(b % 16) * 3", "a // (b * b + 1)", "a % (b * b + 1)",
        "a // -(b * b + 1)", "a % -(b * b + 1)", "a if a > b else c", "(a if a > b else x) + 1",
        "max(a, b, c) - min(a, b)", "max(x, y)", "min(a, x)", "x + y * z", "x - a", "-x", "x < y", "x <= a",
        "x == x", "not (x != x)", "x > y or a > b and not (b > c)", "(a > b) & (b > c)", "(a > b) + (b > c)",
        "1.5 if a else 2.5", "float(a) / 4.0", "a / 4", "x % 2.5", "x % -2.5", "int(y) if -1e15 < y < 1e15 else 0",
        "True", "(a > 0) == (b > 0)",
    ],
)  # fmt: skip
def test_expressions_are_what_python_says(text: str) -> None:
    random = np.random.default_rng(5)
    A: Any = random.choice(NUMBERS, (300, 3))
    F: Any = random.choice(REALS, (300, 3))
    found: Any = np.zeros(300)
    assert machine(expression(text))(A, F, found) == 300
    names = ("a", "b", "c", "x", "y", "z")
    for i in range(300):
        given = dict(zip(names, [*A[i].tolist(), *F[i].tolist()], strict=True))
        if "%" in text and "x" in text and math.isinf(given["x"]):
            continue  # an error in Python
        assert repr(float(eval(text, given))) == repr(float(found[i])), given


STATEMENTS = """
def both(a, b):
    return a + b, a > b
def nothing(out, place):
    if place < 0:
        return
    out[place] += 100
def late(a):
    found = 0
    if a > 2:
        found = 0.5
    return found * 2
def ends(a):
    while True:
        if a > 10:
            return a
        a += a * a + 1
def run(n, truth, A, out):
    total, flags = 0, 0
    for i in range(n):
        if i == 2:
            continue
        if i > 6:
            break
        total += i
    for i in range(n, -1, -2):
        total = total * 3 + i
    step = 2 if truth else -3
    for i in range(0, step * 4, step):
        total += i
    k = 0
    while k < n:
        k += 1
        if k == 4 and truth:
            break
    else:
        total -= 1000
    sum, more = both(total, k)
    if more and not truth: flags |= 1
    elif more: flags |= 2
    else: flags |= 4
    sum, k = k, sum
    out[0], out[1], out[2], out[3] = total, sum, k, flags
    nothing(out, 4); nothing(out, -1)
    out[5] = late(n)
    out[6] = ends(n)
    A[1] //= 2
    out[7] = A[1] if A[0] > 0 and A[1] > 0 else -A[0]
    for i in range(3):
        i += 5
        out[8] += i
    return total
"""


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("n", [0, 1, 3, 5, 9, 12])
def test_statements_are_what_python_says(n: int, truth: bool) -> None:
    one: Any = np.array([n - 2, 9, 4])
    other, made, expected = one.copy(), np.zeros(9), np.zeros(9)
    assert machine(STATEMENTS)(n, truth, one, made) == python(STATEMENTS)(n, truth, other, expected)
    assert made.tolist() == expected.tolist()
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "f8", "b1"])
def test_all_kinds_of_arguments_arrive(kind: str) -> None:
    source = """
def run(number, real, truth, line, gaps, table, out):
    out[0], out[1], out[2] = number, real, truth
    for i in range(3):
        out[3 + i], out[6 + i] = line[i], gaps[i]
        for k in range(2):
            out[9 + 2 * i + k] = table[i, k]
    gaps[1] = line[0]
    return len(line) * 10 + len(table)
"""
    low = -1 if kind in ("i1", "i2", "i4", "i8") else 1
    line: Any = np.array([low, 0, 1]).astype(kind)
    table: Any = np.array([[0, 1], [1, low], [1, 0]]).astype(kind)
    spread: Any = np.array([7, 1, 7, 0, 7, low]).astype(kind)
    out = np.zeros(15)
    assert machine(source)(-WORD, -0.1, True, line, spread[1::2], table, out) == 33
    assert out.tolist() == [-float(WORD), -0.1, 1, low, 0, 1, 1, 0, low, 0, 1, 1, low, 1, 0]
    assert spread[3] == low


def test_a_division_that_has_no_result_ends_nothing() -> None:
    loop = machine("def run(a, b, out):\n    out[0], out[1] = a // b, a % b\n    return 0\n")
    for a, b, expected in (7, 0, [0, 0]), (-WORD, -1, [-WORD, 0]), (-WORD, 1, [-WORD, 0]), (5, -1, [-5, 0]):
        out: Any = np.zeros(2, np.int64)
        loop(a, b, out)
        assert out.tolist() == expected


def test_overflow_is_told_and_sums_wrap_around() -> None:
    loop = machine(
        "def run(a, b, out):\n    out[0], out[1] = sum_overflows(a, b), difference_overflows(a, b)\n"
        "    out[2] = product_overflows(a, b)\n    return wrapped(a + b)\n"
    )
    ends = [0, 1, -1, 2**31, -(2**32), WORD - 1, -WORD, WORD // 2]
    for a in ends:
        for b in ends:
            out: Any = np.zeros(3, np.int64)
            assert loop(a, b, out) == (a + b + WORD) % (2 * WORD) - WORD
            assert out.tolist() == [not -WORD <= f(a, b) < WORD for f in (operator.add, operator.sub, operator.mul)]


def test_whole_numbers_and_floats_are_compared_exactly() -> None:
    loop = machine("def run(a, x):\n    return int_same(a, x) + 2 * int_below(a, x) + 4 * int_above(a, x)\n")
    for a in (0, 1, 2**53, 2**53 + 1, -(2**53) - 1, WORD - 1, -WORD, -WORD + 1):
        for x in (*REALS, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**63, -(2.0**63), 0.1):
            told = (a == x) + 2 * (a < x) + 4 * (a > x)
            assert loop(a, x) == told
            assert (
                comparisons.int_same(a, x) + 2 * comparisons.int_below(a, x) + 4 * comparisons.int_above(a, x) == told
            )


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("return [1]", "List: [1]"), ("return a ** 2", "BinOp: a ** 2"),
        ("return unknown(a)", "function: unknown(a)"), ("return nobody", "name: nobody"), ("with a: pass", "With"),
        ("return a[0]", "Subscript: a[0]"), ("return ~a", "UnaryOp: ~a"),
        ("if a: return 1", "an end without a value"),
        ("if a: return 1, 2\n    return 3", "results of several forms"), ("return B[0, 0]", "Subscript: B[0, 0]"),
        ("return a in B", "Compare: a in B"), ("b = c = 3\n    return b", "Assign"),
        ("return len(a)", "function: len(a)"), ("return int(a, 2)", "function: int(a, 2)"),
        ("for i in B: pass", "For"),
    ],
)  # fmt: skip
def test_what_it_is_not_for_is_refused_by_name_and_line(body: str, what: str) -> None:
    with pytest.raises(UnsupportedNode) as error:
        machine(f"def run(a, B):\n    {body}\n")(1, np.zeros(1))
    assert what in error.value.what
    assert str(error.value.where).startswith("run:")
