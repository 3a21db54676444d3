"""Instructions for terms: they compute what the operators' definitions say, in every lane."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from workbench.core.domain import BOOL, Domain, Enum, Integer, Overflowing, Range, Value
from workbench.core.ops import ADD, DIV, ITE, MAX, MIN, MOD, MUL, OPERATORS, SUB, Conversion, escapes, ite
from workbench.core.term import Term, var

pytest.importorskip("llvmlite")
pytest.importorskip("numba")

from workbench.core.encoding import decode
from workbench.ir.system import StateVariable, System
from workbench.verify.decide.explicit import native
from workbench.verify.decide.explicit.machine import search_loop
from workbench.verify.decide.explicit.space import Space


def computed(term: Term, given: dict[str, Domain], values: Sequence[tuple[Value, ...]]) -> list[Value]:
    """The term for each choice of values of its variables, which are state; it is what a variable holds next."""
    np: Any = pytest.importorskip("numpy")
    held = [StateVariable(name, domain, domain.default, var(name, domain)) for name, domain in given.items()]
    result = StateVariable("result", term.domain, term.domain.default, term)
    space = Space(System("one", (), (*held, result), (), (), {}, ()), [], [])
    code = native.compile_steps(space)
    words = [space.layout.pack([*each, term.domain.default]) for each in values]
    states = np.array([[*words, *[0] * 8]], np.int64)
    after, flags = np.zeros((1, len(words) + 8), np.int64), np.zeros(len(words) + 8, np.int64)
    inputs = np.zeros((0, 1), np.int64)
    search_loop("expand")(code.expand, states, 0, len(words), inputs, after, flags)
    shift, mask, low = space.layout.fields[-1]
    return [decode(term.domain, (int(word) >> shift & mask) + low) for word in after[0, : len(words)]]


def pairs(left: Domain, right: Domain) -> list[tuple[Value, ...]]:
    return list(itertools.product(left.values(), right.values()))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("overflow", Overflowing)
@pytest.mark.parametrize("op", [ADD, SUB, MUL, DIV, MOD, MIN, MAX], ids=str)
def test_arithmetic_of_finite_integers(n: int, overflow: Overflowing, op: Any) -> None:
    domain = Integer(n, overflow)
    a, b = var("a", domain), var("b", domain)
    values = pairs(domain, domain)
    assert computed(op(a, b), {"a": domain, "b": domain}, values) == [domain.fit(op.exact(*each)) for each in values]
    if op in (ADD, SUB, MUL):
        outside = [op.exact(*each) not in domain for each in values]
        assert computed(escapes(op(a, b)), {"a": domain, "b": domain}, values) == outside


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "mod", "min", "max", "eq", "ne", "lt", "le", "gt", "ge"])
def test_ranges_with_negative_numbers(name: str) -> None:
    left, right = Range(-5, 3), Range(-3, 4)
    op = OPERATORS[name]
    values = pairs(left, right)
    term = op(var("a", left), var("b", right))
    assert computed(term, {"a": left, "b": right}, values) == [op.exact(*each) for each in values]


@pytest.mark.parametrize("name", ["xor", "bit_and", "bit_or"])
@pytest.mark.parametrize("domain", [Range(0, 9), Integer(8)], ids=str)
def test_bits(name: str, domain: Domain) -> None:
    op, values = OPERATORS[name], pairs(domain, domain)
    term = op(var("a", domain), var("b", domain))
    assert computed(term, {"a": domain, "b": domain}, values) == [op.exact(*each) for each in values]


@pytest.mark.parametrize("name", ["and", "or", "implies", "eq", "ne"])
def test_truth(name: str) -> None:
    op, values = OPERATORS[name], pairs(BOOL, BOOL)
    term = op(var("a", BOOL), var("b", BOOL))
    assert computed(term, {"a": BOOL, "b": BOOL}, values) == [op.exact(*each) for each in values]


@pytest.mark.parametrize("name", ["even", "odd"])
def test_parity_of_negative_numbers(name: str) -> None:
    domain, op = Range(-4, 5), OPERATORS[name]
    values = [(value,) for value in domain.values()]
    assert computed(op(var("a", domain)), {"a": domain}, values) == [op.exact(*each) for each in values]


@pytest.mark.parametrize("domain", [BOOL, Enum(("red", "green", "blue")), Integer(5), Range(-2, 1)], ids=str)
def test_choice(domain: Domain) -> None:
    values = [(c, *each) for c in (False, True) for each in pairs(domain, domain)]
    term = ITE(var("c", BOOL), var("a", domain), var("b", domain))
    given = {"c": BOOL, "a": domain, "b": domain}
    assert computed(term, given, values) == [a if c else b for c, a, b in values]


@pytest.mark.parametrize("overflow", Overflowing)
@pytest.mark.parametrize("n", [4, 3])
def test_conversion(n: int, overflow: Overflowing) -> None:
    source, target = Range(-9, 9), Integer(n, overflow)
    values = [(value,) for value in source.values()]
    assert computed(Conversion.to(var("a", source), target), {"a": source}, values) == [
        target.fit(v) for (v,) in values
    ]


def test_a_constant_is_the_same_in_every_lane() -> None:
    domain = Integer(16)
    values = [(value,) for value in domain.values()]
    assert computed(ite(var("a", domain) > 7, 9, var("a", domain)), {"a": domain}, values) == [
        9 if value > 7 else value for (value,) in values
    ]
