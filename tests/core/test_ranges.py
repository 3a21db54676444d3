"""Ranges under conditions: worked out by hand, and against all values."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.core import ops
from workbench.core.domain import BOOL, INT, Enum, Integer, Range, SomeFloats
from workbench.core.evaluate import compile_value
from workbench.core.ops import ADD, AND, DIV, EQ, GE, GT, IMPLIES, LE, LT, MAX, MIN, MOD, MUL, NE, NOT, OR, SUB, ite
from workbench.core.ranges import range_of
from workbench.core.term import TRUE, const, var

N, M, X = var("n", Range(0, 3)), var("m", Range(0, 3)), var("x", Range(1, 5))
B, C = var("b", BOOL), var("c", Enum(("red", "green")))
FREE, MODULAR, REAL = var("i", INT), var("k", Integer(4)), var("r", SomeFloats(0, 3))
HUGE = 10**400

CASES = [
    (N + 1, [], (1, 4)),
    (N + 1, [LT(N, 3)], (1, 3)),
    (N + 1, [NOT(GE(N + 1, 3))], (1, 2)),
    (N + 1, [NE(N, 3)], (1, 3)),
    (N - 1, [GT(N, 0)], (0, 2)),
    (N - 1, [NOT(EQ(N, 0))], (0, 2)),
    (N - X, [GE(N, X)], (0, 2)),
    (N - X, [NOT(LT(N, X))], (0, 2)),
    (N + M, [LE(M + N, 3)], (0, 3)),
    (N + 1, [LT(N, M)], (1, 3)),
    (N + X, [LT(N, M), LE(M + X, 6)], (1, 5)),  # n + x < m + x <= 6
    (2 * N - X, [LE(N, 1), GE(X, 4)], (-5, -2)),
    (N, [AND(GE(N, 1), LE(N, 2))], (1, 2)),
    (N, [OR(EQ(N, 0), EQ(N, 1))], (0, 1)),
    (N, [NOT(OR(EQ(N, 0), EQ(N, 3)))], (1, 2)),
    (N, [IMPLIES(LT(M, 9), GE(N, 2))], (2, 3)),
    (N, [LT(N, 2), GT(N, 1)], (math.inf, -math.inf)),
    (N, [NOT(AND(B, EQ(N, 3))), B], (0, 2)),
    (N, [OR(EQ(N, 3), EQ(C, "red")), NOT(EQ(C, "red"))], (3, 3)),
    (ite(LT(N, 3), N + 1, N), [], (1, 3)),
    (ite(LT(N, 3), N + 1, 0), [GE(N, 2)], (0, 3)),
    (ite(LE(N - M, 0), M - N, N - M), [], (0, 3)),
    (MIN(N + 1, M), [LE(M, 1)], (0, 1)),
    (MAX(N - 1, 0), [], (0, 2)),
    (DIV(X, 2), [GE(X, 4)], (2, 2)),
    (MOD(X, 4), [LE(X, 3)], (1, 3)),
    (MUL(N, N), [LE(N, 2)], (0, 4)),
    (FREE, [], (-math.inf, math.inf)),
    (FREE - HUGE, [GE(FREE, 2)], (2 - HUGE, math.inf)),
    (FREE, [GE(FREE, 0), LT(FREE, 3)], (0, 2)),
    (MODULAR, [GE(MODULAR, 2)], (2, 3)),
    (MODULAR + 1, [LE(MODULAR, 1)], (0, 3)),  # arithmetic that wraps is not taken apart
    (N + 1, [LT(N, REAL), GE(N, 2)], (3, 4)),  # nothing is known of what stands for a float
]


@pytest.mark.parametrize(("term", "given", "expected"), CASES, ids=range(len(CASES)))
def test_by_hand(term, given, expected):
    assert range_of(term, given) == expected


SMALL = (N, M, X)


def numbers(conditions):
    leaf = st.one_of(st.sampled_from(SMALL), st.integers(-3, 5).map(lambda n: const(n, Range(n, n))))

    def wider(inner):
        two = st.tuples(st.sampled_from([ADD, SUB, MUL, MIN, MAX, DIV, MOD]), inner, inner)
        return two.map(lambda t: t[0].build(t[1:])) | st.tuples(conditions, inner, inner).map(lambda t: ite(*t))

    return st.recursive(leaf, wider, max_leaves=4)


COMPARED = st.tuples(
    st.sampled_from([LT, LE, GT, GE, EQ, NE]),
    st.sampled_from([N, M, X, N + M, N - X, 2 * N, M + 1]),
    st.sampled_from([N, M, X, const(2, Range(2, 2)), X - 1]),
).map(lambda t: t[0].build(t[1:]))
CONDITIONS = st.recursive(
    COMPARED,
    lambda inner: (
        st.tuples(st.sampled_from([AND, OR, IMPLIES]), inner, inner).map(lambda t: t[0].build(t[1:])) | inner.map(NOT)
    ),
    max_leaves=4,
)


@examples(300)
@given(numbers(CONDITIONS), st.lists(CONDITIONS, max_size=3))
def test_all_values_are_in_the_range(term, conditions):
    lo, hi = range_of(term, conditions)
    value = compile_value((term, ops.conjunction([TRUE, *conditions])), SMALL)
    for values in itertools.product(*(each.domain.values() for each in SMALL)):
        number, true = value(*values)
        assert not true or lo <= number <= hi


def test_it_takes_no_time():
    """Conditions with many cases and sums with many terms end in a wider range, not in a long search."""
    many = [OR(EQ(var(f"v{i}", Range(0, 9)), 1), LT(N, i)) for i in range(60)]
    total, nested = N, N
    for i in range(400):
        total = total + var(f"v{i}", Range(0, 9))
        nested = ite(LT(var(f"v{i}", Range(0, 9)), N), nested + 1, nested)
    assert range_of(total, many) == (0, 3 + 9 * 400)
    lo, hi = range_of(nested, many)
    assert lo <= 0
    assert hi >= 3
