"""A row says of an operator what another part of the row says: type, meaning, Python, SQL, and other comparisons."""

import itertools
import math
import sqlite3

import pytest

from workbench.conformance.generate.rule_cases import VALUES
from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.core.floats import as_float
from workbench.core.term import var
from workbench.errors import TypingError
from workbench.tesla import tree as t
from workbench.tesla.operators import (
    RULE_OPERATORS,
    apply_operator,
    is_comparison,
    may_divide_by_zero,
    operator_of,
    readings,
)

MORE: dict[Domain, list[float]] = {INT: [2**53], FLOAT: [-0.0, 2.0**53]}
SAMPLES = {
    domain: [each for each in dict.fromkeys([*values, *MORE.get(domain, [])]) if each is not None]
    for domain, values in VALUES.items()
}
PYTHON = {INT: int, FLOAT: float, STR: str, BOOL: bool}
ROWS = list(RULE_OPERATORS.values())
COMPARING = [row for row in ROWS if row.holds]


def typed(row, domains):
    """The type of the result; None where the operator is not defined."""
    try:
        return row.result(row, tuple(var("x", domain) for domain in domains))
    except TypingError:
        return None


def same(one, other) -> bool:
    return type(one) is type(other) and (repr(one) == repr(other))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_meaning_type_and_python_of_a_row(row):
    """Python has whole numbers that meet floats as floats, and is not asked where a division is by zero."""
    defined = 0
    for domains in itertools.product(SAMPLES, repeat=row.arity):
        result = typed(row, domains)
        if result is None:
            continue
        defined += 1
        for operands in itertools.product(*map(SAMPLES.__getitem__, domains)):
            found = apply_operator(row, operands)
            if found is None:
                assert row.null == "may"
                assert operands[-1] == 0
                continue
            assert type(found) is PYTHON[result], (operands, found)
            given = list(map(as_float, operands)) if result == FLOAT else operands
            names = {f"v{i}": each for i, each in enumerate(given)}
            assert same(eval(row.python.format(*names), names), found), operands
            for place in range(row.arity):
                nulls = [None if i == place else each for i, each in enumerate(operands)]
                assert apply_operator(row, nulls) is None
    assert defined


def test_types_are_those_of_the_language():
    """The pairs of types on which operators are defined, counted by hand.

    Arithmetic on two types of numbers, `+` on texts too; equality on numbers and of one type; order on numbers, texts.
    """
    pairs = {
        row.symbol: [(a, b) for a in SAMPLES for b in SAMPLES if typed(row, (a, b)) is not None]
        for row in ROWS
        if row.arity == 2
    }
    numbers = set(itertools.product((INT, FLOAT), repeat=2))
    texts, truths = {(STR, STR)}, {(BOOL, BOOL)}
    expected = {"+": numbers | texts} | dict.fromkeys("-*/%", numbers) | dict.fromkeys(("and", "or"), truths)
    expected |= dict.fromkeys(("==", "!="), numbers | texts | truths) | dict.fromkeys(
        ("<", "<=", ">", ">="), numbers | texts
    )
    assert {sign: set(found) for sign, found in pairs.items()} == expected
    assert [typed(operator_of("neg", 1), (each,)) for each in (INT, FLOAT, STR, BOOL)] == [INT, FLOAT, None, None]
    assert [typed(operator_of("not", 1), (each,)) for each in (INT, FLOAT, STR, BOOL)] == [None, None, None, BOOL]
    assert typed(operator_of("/"), (INT, INT)) == FLOAT


def ordered_pairs():
    for kinds in ((INT, FLOAT), (STR,)):
        values = [each for kind in kinds for each in SAMPLES[kind]]
        yield from itertools.product(values, repeat=2)


@pytest.mark.parametrize("row", COMPARING, ids=str)
def test_what_a_comparison_says_of_another(row):
    """By their definitions, over all pairs of values; a row that says nothing does not pass."""
    truth = {other.symbol: [other.exact(a, b) for a, b in ordered_pairs()] for other in COMPARING}
    assert truth[row.symbol] == [operator_of(row.mirror).exact(b, a) for a, b in ordered_pairs()]
    ordered = [a == a and b == b for a, b in ordered_pairs()]
    for other in COMPARING:
        pairs = list(zip(truth[row.symbol], truth[other.symbol], ordered, strict=True))
        assert row.implies(other) == all(second for first, second, _ in pairs if first), other
        assert row.excludes(other) == (not any(first and second for first, second, _ in pairs)), other


@pytest.mark.parametrize("row", [row for row in COMPARING if row.sql], ids=str)
def test_a_database_compares_likewise(row):
    with sqlite3.connect(":memory:") as database:
        for a, b in ordered_pairs():
            large = any(isinstance(each, int) and abs(each) >= 2**63 for each in (a, b))
            if large or a != a or b != b:  # SQLite has neither
                continue
            ((found,),) = database.execute(f"SELECT ? {row.sql} ?", (a, b))
            assert bool(found) is row.exact(a, b), (a, b)


def test_comparisons_are_read_from_both_sides():
    one, other = t.OwnAttribute("x"), t.Literal(1)
    assert list(readings(t.Operation("<=", (one, other)))) == [("<=", one, other), (">=", other, one)]
    assert list(readings(t.Operation("==", (one, other)))) == [("==", one, other), ("==", other, one)]
    assert list(readings(t.Operation("+", (one, other)))) == list(readings(one)) == []
    assert is_comparison(t.Operation("!=", (one, other)))
    assert not is_comparison(t.Operation("and", (one, other)))
    assert [row.symbol for row in ROWS if may_divide_by_zero(t.Operation(row.symbol, (one,) * row.arity))] == ["/", "%"]


def test_an_unknown_operator_is_an_error_where_it_is_looked_up():
    with pytest.raises(TypingError, match="rules have no operator '~' of 2 operands"):
        operator_of("~")
    with pytest.raises(TypingError, match="no operator 'not' of 2 operands"):
        apply_operator(operator_of("not"), (True, math.nan))
