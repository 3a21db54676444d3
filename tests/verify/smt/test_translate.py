"""Terms in z3 and in columns of numpy have the values that the operators define, for random terms and values."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tests.examples import scaled
from workbench.core import ops
from workbench.core.domain import BOOL, Bool, Domain, Enum, Integer, Overflowing, Range, Value
from workbench.core.encoding import decode, encode
from workbench.core.evaluate import compile_terms
from workbench.core.ops import CAST, ESCAPES, OPERATORS, Conversion, escapes
from workbench.core.term import Term, const, var
from workbench.errors import DomainError, Refused, TypingError
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.decide.columns import NumpySource
from workbench.verify.decide.smt.bits import BitsTranslation
from workbench.verify.decide.smt.session import Z3Session
from workbench.verify.decide.smt.translate import Z3Translation

z3_installed = pytest.mark.skipif(find_spec("z3") is None, reason="z3 is not installed")
COLOURS = Enum(("red", "green", "blue"))
DOMAINS: tuple[Domain, ...] = (
    BOOL,
    COLOURS,
    Range(0, 7),
    Range(-5, 3),
    Range(-1000, 100000),
    Integer(5),
    Integer(8),
    Integer(2**32),
    Integer(6, Overflowing.SATURATING),
    Integer(6, Overflowing.CHECKED),
)
SYMBOLS = [var(f"{letter}{number}", domain) for number, domain in enumerate(DOMAINS) for letter in "ab"]

BOOLEANS = [symbol for symbol in SYMBOLS if symbol.domain == BOOL]
WANTED = {*OPERATORS, "cast", *(op.name for op in ESCAPES.values())}
"""The operators that occur among the random terms."""


def meaning(term: Term, values: dict[Term, Value]) -> Value:
    """The value of a term: the exact result of its operator, fitted to its domain."""
    if term.op is None:
        return values[term] if term.is_var else term.payload
    args = [meaning(arg, values) for arg in term.args]
    if term.op.escapes_from is not None:
        return term.op.escapes_from.exact(*args) not in term.args[0].domain
    exact = args[0] if term.op is CAST else term.op.exact(*args)
    return term.domain.fit(exact)


def grow(chosen: random.Random, count: int) -> list[Term]:
    """Random terms, each over earlier ones; those of earlier ones that do not type are left out."""
    terms: list[Term] = [*SYMBOLS]
    terms += [const(draw(chosen, domain), domain) for domain in DOMAINS for _ in range(2)]
    made = []
    while len(made) < count:
        try:
            op = chosen.choice([*OPERATORS.values(), CAST, ESCAPES["add"]])
            first = chosen.choice(terms)
            same = [term for term in terms if term.domain == first.domain or chosen.random() < 0.1]
            if op is CAST:
                term = Conversion.to(first, chosen.choice(DOMAINS[2:]))
            elif op in ESCAPES.values():
                exact = chosen.choice([ops.ADD, ops.SUB, ops.MUL])
                term = escapes(exact.build((first, chosen.choice(same))))
            else:
                more = [chosen.choice(same) for _ in range(op.arity - 1)]
                args = [chosen.choice(BOOLEANS), first, *more[1:]] if op is ops.ITE else [first, *more]
                term = op.build(tuple(args))
        except (TypingError, DomainError):
            continue
        wide = isinstance(term.domain, Range) and max(abs(term.domain.lo), abs(term.domain.hi)) > 2**40
        if term.op is not None and not wide and all(term is not each for each in terms):
            terms.append(term)
            made.append(term)
    return made


def draw(chosen: random.Random, domain: Domain) -> Value:
    """A value of a domain, often an extreme one."""
    if isinstance(domain, Range | Integer):
        ends = [domain.lo, domain.hi, min(domain.lo + 1, domain.hi), domain.default]
        return chosen.choice(ends) if chosen.random() < 0.5 else chosen.randint(domain.lo, domain.hi)
    return chosen.choice(list(domain.values()))


def valuations(chosen: random.Random, count: int) -> list[dict[Term, Value]]:
    return [{symbol: draw(chosen, symbol.domain) for symbol in SYMBOLS} for _ in range(count)]


TRANSLATIONS = [Z3Translation, BitsTranslation]


def translation(kind: type[Z3Translation], session: Z3Session, symbols: Sequence[Term]) -> Z3Translation:
    translate = kind(session.z3, session.context)
    translate.memo.update({symbol: translate.symbol(symbol.name, symbol.domain) for symbol in symbols})
    return translate


@z3_installed
@pytest.mark.parametrize("kind", TRANSLATIONS)
@pytest.mark.parametrize("seed", range(scaled(2, 40)))
def test_terms_in_z3_mean_what_operators_define(seed: int, kind: type[Z3Translation]) -> None:
    chosen = random.Random(seed)
    session = Z3Session(EngineLimits())
    z3 = session.z3
    translate, done = translation(kind, session, SYMBOLS), 0
    terms = grow(chosen, 150)
    for values in valuations(chosen, 12):
        pairs = [(translate(symbol), translate(const(value, symbol.domain))) for symbol, value in values.items()]
        for term in terms:
            try:
                expression = translate(term)
            except Refused:
                continue
            found = z3.simplify(z3.substitute(expression, *pairs))
            value = (
                z3.is_true(found)
                if isinstance(term.domain, Bool)
                else decode(term.domain, translate.read_number(found))
            )
            assert value == meaning(term, values), term
            done += 1
    assert done > 12 * (149 if kind is BitsTranslation else 60)  # few are refused


@pytest.mark.parametrize("seed", range(scaled(2, 40)))
def test_terms_in_columns_mean_what_operators_define(seed: int) -> None:
    chosen = random.Random(seed)
    rows = valuations(chosen, 64)
    columns = [
        np.array([encode(symbol.domain, row[symbol]) for row in rows], bool if symbol.domain == BOOL else np.int64)
        for symbol in SYMBOLS
    ]
    done = 0
    for term in grow(chosen, 150):
        try:
            (found,) = compile_terms([term], SYMBOLS, NumpySource)(*columns)
        except Refused:
            continue
        done += 1
        for row, value in zip(rows, np.broadcast_to(found, len(rows)), strict=True):
            assert decode(term.domain, value.item()) == meaning(term, row), term
    assert done > 100


@z3_installed
@pytest.mark.parametrize("kind", TRANSLATIONS)
@pytest.mark.parametrize(
    ("name", "exact"), [("div", lambda a, b: a // b if b else 0), ("mod", lambda a, b: a % b if b else a)]
)
def test_division_by_every_small_number(name: str, exact: Any, kind: type[Z3Translation]) -> None:
    """Quotients are rounded towards minus infinity, and remainders have the sign of the divisor."""
    session = Z3Session(EngineLimits())
    a, b = var("a", Range(-9, 9)), var("b", Range(-4, 4))
    translate = translation(kind, session, [a, b])
    expression = translate(OPERATORS[name].build((a, b)))
    for x, y in itertools.product(range(-9, 10), range(-4, 5)):
        pairs = [(translate(symbol), translate(const(value, symbol.domain))) for symbol, value in ((a, x), (b, y))]
        quotient = session.z3.simplify(session.z3.substitute(expression, *pairs))
        assert translate.read_number(quotient) == exact(x, y)


@z3_installed
@pytest.mark.parametrize(
    "term",
    [
        ops.MUL(var("a", Range(0, 99)), var("b", Range(0, 99))),
        ops.DIV(var("a", Range(0, 99)), var("b", Range(0, 99))),
    ],
    ids=operator.attrgetter("op.name"),
)
def test_what_is_not_linear_is_refused(term: Term) -> None:
    session = Z3Session(EngineLimits())
    translate = translation(Z3Translation, session, term.args)
    with pytest.raises(Refused, match="linear"):
        translate(term)


def test_random_terms_have_every_operator() -> None:
    found = {term.op.name for seed in range(4) for term in grow(random.Random(seed), 150) if term.op is not None}
    assert found >= WANTED
