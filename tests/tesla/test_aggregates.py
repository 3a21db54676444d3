"""The rows of aggregates, held to definitions by fractions, and to what they say of themselves."""

import math
import random
from fractions import Fraction

import pytest

from workbench.core.domain import BOOL, FLOAT, INT, STR
from workbench.errors import TypingError
from workbench.executors.compiled.rules.refusals import AGGREGATES
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row, aggregate_rows

FINITE = (0.1, 1e16, 2.5, -3.75, 1e308, -1e308, 5e-324, 1e-9, 7.0, -0.0, 0.0, 2.0**53, 1.0)
POOLS = {
    INT: (None, 3, -7, 0, 2**53 + 1, 2**70, 10**400, 5),
    FLOAT: (None, *FINITE, *FINITE, math.inf, -math.inf, math.nan),
    STR: (None, "b", "a", "", "ab", "\u00e9", "a\0"),
    BOOL: (None, True, False),
}
KINDS = {INT: int, FLOAT: float, STR: str}
ROWS = aggregate_rows()


def rounded(number: Fraction) -> float:
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def added(values, parts=1):
    """A sum of numbers by its definition: in the order of the reals with two ends, inf - inf is NaN."""
    strange = {each for each in values if isinstance(each, float) and not math.isfinite(each)}
    if strange:
        return sum(strange)
    return rounded(sum(map(Fraction, values), Fraction(0)) / parts)


def extreme(values, choose):
    return math.nan if any(each != each for each in values) else choose(values, default=None)


def middle(values):
    """Of the values that as many are not below as above, the mean of the least and the greatest."""
    if not values or any(each != each for each in values):
        return math.nan if values else None
    half = len(values) / 2
    inner = [v for v in values if sum(x <= v for x in values) >= half <= sum(x >= v for x in values)]
    return added([min(inner), max(inner)], 2)


DEFINITIONS = {
    "COUNT": lambda values, _: len(values),
    "SUM": lambda values, domain: added(values) if domain == FLOAT else sum(values),
    "AVG": lambda values, _: added(values, len(values)) if values else None,
    "MIN": lambda values, _: extreme(values, min),
    "MAX": lambda values, _: extreme(values, max),
    "MEDIAN": lambda values, _: middle(values),
}


def exact(value):
    return f"{type(value).__name__} {value!r}"


def some_values(seed, domain):
    choose = random.Random(f"{seed} {domain}")
    pool = POOLS[domain] if seed % 2 else POOLS[domain][:12]
    return [choose.choice(pool) for _ in range(choose.choice((0, 1, 2, 3, 5, 12)))]


@pytest.mark.parametrize("domain", POOLS, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_an_aggregate_is_what_its_definition_says(name, domain):
    row = ROWS[name]
    if row.result(domain) is None:
        return
    for seed in range(300):
        values = some_values(seed, domain)
        there = [each for each in values if each is not None]
        meant = DEFINITIONS[name](there, domain)
        assert exact(row.over(values, domain)) == exact(meant), values
        assert meant is None or type(meant) is KINDS[row.result(domain) or INT]


@pytest.mark.parametrize("domain", POOLS, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_what_a_row_says_of_an_aggregate_is_so(name, domain):
    """Null only where it may be; the order does not matter; what selects selects of what it has selected of parts."""
    row = ROWS[name]
    if row.result(domain) is None:
        return
    assert (row.over([], domain) is None) == (row.over([None], domain) is None) == row.nullable
    for seed in range(100):
        values = [each for each in some_values(seed, domain) if each is not None]
        if values:
            assert row.over(values, domain) is not None
        if row.counts:
            assert row.over(values, domain) == len(values)
        if not row.ordered:
            found, backwards = row.over(values, domain), row.over(values[::-1], domain)
            assert found == backwards or (found != found and backwards != backwards)
        if row.selects and len(values) > 1:
            parts = [row.over(values[:1], domain), row.over(values[1:], domain)]
            assert exact(row.over(parts, domain)) == exact(row.over(values, domain))


def test_types_of_aggregates():
    """Over whole numbers, floats, texts, truth values, and without an attribute."""
    kinds = (INT, FLOAT, STR, BOOL, None)
    assert {name: tuple(map(row.result, kinds)) for name, row in ROWS.items()} == {
        "COUNT": (INT,) * 5,
        "SUM": (INT, FLOAT, None, None, None),
        "AVG": (FLOAT, FLOAT, None, None, None),
        "MIN": (INT, FLOAT, STR, None, None),
        "MAX": (INT, FLOAT, STR, None, None),
        "MEDIAN": (FLOAT, FLOAT, None, None, None),
    }


@pytest.mark.parametrize("domain", POOLS, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_what_is_kept_for_a_column_is_the_aggregate_of_every_slice(name, domain):
    row = ROWS[name]
    if row.result(domain) is None or (start := row.running(domain)) is None:
        return
    choose, kept, values = random.Random(f"{name} {domain}"), start(), list[object]()
    for _ in range(1000):
        values.append(choose.choice(POOLS[domain]))
        kept.add(values[-1])
        if choose.random() < 0.01:
            gone = choose.randrange(len(values))
            kept.forget(gone)
            del values[:gone]
        low = choose.randrange(len(values))
        high = choose.randrange(low, len(values) + 1)
        assert exact(kept.over(low, high)) == exact(row.over(values[low:high], domain))


ONLY_IN_PYTHON: set[str] = set()
"""Aggregates that machine code refuses."""


def test_machine_code_computes_all_aggregates_of_the_language():
    """Over values of every type over which they have a result."""
    for name in ROWS.keys() - ONLY_IN_PYTHON:
        assert AGGREGATES[name].keys() == {kind for kind in (*POOLS, None) if ROWS[name].result(kind) is not None}
    assert AGGREGATES.keys() == ROWS.keys() - ONLY_IN_PYTHON


def test_an_aggregate_that_is_not_there():
    with pytest.raises(TypingError, match="no aggregate 'SUN'") as raised:
        aggregate_row(t.Aggregate("n", "SUN", "A"))
    assert "SUM" in str(raised.value)
