"""Terms over floats mean what Python says, also where they are made simpler: NaN, infinities and signed zeros."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.core import ops
from workbench.core.domain import ANY, BOOL, FLOAT, INT, Domain, Range, Reals, SomeFloats
from workbench.core.evaluate import compile_terms
from workbench.core.fields import Map, Record, Tuple
from workbench.core.fold import postorder, substitute
from workbench.core.function import LIBRARY
from workbench.core.term import const, var

NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308)

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def exactly(value: Any) -> Any:
    """What tells -0.0 from 0.0 and True from 1, and takes NaN for NaN."""
    return type(value), repr(value)


@pytest.mark.parametrize("symbol", PYTHON)
def test_an_operator_on_floats_is_pythons_however_its_operands_are_known(symbol: str) -> None:
    function, python = LIBRARY[symbol], PYTHON[symbol]
    x, y = var("x", FLOAT), var("y", FLOAT)
    both, same = compile_terms([function(x, y)], [x, y]), compile_terms([function(x, x)], [x])
    for a in NUMBERS:
        (found,) = same(a)
        assert exactly(found) == exactly(python(a, a)), a
        right, left = compile_terms([function(x, a)], [x]), compile_terms([function(a, x)], [x])
        for b in NUMBERS:
            assert exactly(both(a, b)[0]) == exactly(python(a, b)), (a, b)
            assert exactly(right(b)[0]) == exactly(python(b, a)), (b, a)
            assert exactly(left(b)[0]) == exactly(python(a, b)), (a, b)
            (folded,) = compile_terms([function(const(a, FLOAT), const(b, FLOAT))], [])()
            assert exactly(folded) == exactly(python(a, b)), (a, b)


@pytest.mark.parametrize("whole", [0, 1, -1])
@pytest.mark.parametrize("symbol", ["+", "-", "*"])
def test_whole_constants_beside_floats(symbol: str, whole: int) -> None:
    x = var("x", FLOAT)
    function = compile_terms([LIBRARY[symbol](x, whole), LIBRARY[symbol](whole, x)], [x])
    for a in NUMBERS:
        wanted = PYTHON[symbol](a, float(whole)), PYTHON[symbol](float(whole), a)
        assert tuple(map(exactly, function(a))) == tuple(map(exactly, wanted)), a


@pytest.mark.parametrize(("name", "python"), [("neg", operator.neg), ("abs", abs)])
def test_signs(name: str, python: Callable[[Any], Any]) -> None:
    x = var("x", FLOAT)
    function = compile_terms([LIBRARY[name](x)], [x])
    for a in NUMBERS:
        assert exactly(function(a)[0]) == exactly(python(a)), a
        assert exactly(LIBRARY[name](a)) == exactly(python(a)), a
        assert exactly(LIBRARY[name].specialise([ANY])(a)) == exactly(python(a)), a


def test_constants_that_are_equal_and_not_the_same() -> None:
    assert const(0.0, FLOAT) is not const(-0.0, FLOAT)
    assert const(math.nan, FLOAT) is const(float("nan"), FLOAT)
    assert const((0.0, True), ANY) is not const((-0.0, 1), ANY)


def test_a_choice_between_zeros_is_a_choice() -> None:
    c = var("c", BOOL)
    choose = compile_terms([ops.ite(c, const(-0.0, FLOAT), const(0.0, FLOAT))], [c])
    assert [repr(choose(value)[0]) for value in (True, False)] == ["-0.0", "0.0"]


@pytest.mark.parametrize(
    ("domain", "reflexive"),
    [
        (BOOL, True),
        (INT, True),
        (Range(0, 3), True),
        (FLOAT, False),
        (ANY, False),
        (Tuple((INT, FLOAT)), False),
        (Record((INT, BOOL), ("a", "b")), True),
        (Map(INT, FLOAT), False),
        (Map(INT, INT), True),
    ],
    ids=str,
)
def test_what_need_not_equal_itself(domain: Domain, reflexive: bool) -> None:
    assert domain.reflexive == reflexive


@pytest.mark.parametrize("same", [ops.EQ, ops.equal, LIBRARY["="]], ids=["EQ", "equal", "="])
def test_tuples_are_equal_where_their_fields_are(same: Callable[[Any, Any], Any]) -> None:
    for a, b in itertools.product(NUMBERS, repeat=2):
        pair, other = (1, (a, 2)), (1, (b, 2))
        assert same(pair, other) is (a == b), (a, b)
        assert LIBRARY["!="](pair, other) is (a != b), (a, b)


LOOKS = """
function differs(v) = v != v

pipeline looks(g: float) -> differs: bool, shifted: bool, pair: bool, called: bool, plus: float, sign: float {
    two = (g, 1)
    return g != g, g + 1 = g + 1, two = two, differs(g), g + 0, -g
}
"""


@pytest.mark.parametrize("backend", [wb.executors.Reference, wb.executors.Compiled])
def test_executors_look_at_extreme_floats_as_python_does(backend: Any) -> None:
    found = backend(wb.parse(LOOKS).get().pipeline).run({"g": NUMBERS})
    nan = [value != value for value in NUMBERS]
    assert found["differs"] == found["called"] == nan
    assert found["shifted"] == found["pair"] == [not wrong for wrong in nan]
    assert [*map(repr, found["plus"])] == [repr(value + 0) for value in NUMBERS]
    assert [*map(repr, found["sign"])] == [repr(-value) for value in NUMBERS]


@pytest.mark.parametrize("made", [ops.LT, ops.LE, ops.GT, ops.GE, ops.EQ, ops.NE], ids=str)
def test_whole_numbers_beside_fractions_are_compared_with_whole_numbers(made):
    """As Python compares them, from either side; in the terms of a model there is no float."""
    for domain, number in itertools.product((Range(-2, 2), SomeFloats(-2, 2)), (0.0, -0.0, 0.5, -0.5, 2.0, -2.5, 9.0)):
        x = var("x", domain)
        right, left = made(x, number), made(number, x)
        assert not any(isinstance(each.domain, Reals) for each in postorder([right, left]))
        for value in domain.values():
            bound = {x: const(value, domain)}
            assert substitute(right, bound) is const(PYTHON[made.symbol](value, number), BOOL)
            assert substitute(left, bound) is const(PYTHON[made.symbol](number, value), BOOL)
