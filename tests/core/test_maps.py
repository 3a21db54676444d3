"""Functions on maps: what they say of Python's own dictionaries, on values and in terms."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.conformance.generate.domains import values
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, STR, Enum, Integer, Overflowing, Range
from workbench.core.fields import FrozenMap, Map, Record, Tuple, join_parts, resolve, scalars, split
from workbench.core.term import const, domain_of, var
from workbench.errors import DomainError, Overflow, TypingError
from workbench.executors.reference.executor import Reference
from workbench.language import parse

COLOURS = Enum(("red", "green", "blue"))
PRICES = Map(COLOURS, Range(0, 2))
FLAGS = Map(Range(-1, 1), BOOL)


@given(values(PRICES), st.sampled_from(COLOURS.labels), st.integers(0, 2))
def test_numbers(m, key, default):
    plain = dict(m)
    for domain in (PRICES, Map(STR, INT)):  # written out over the keys, and as Python runs it
        assert f.GET.specialise((domain, domain.key, domain.value))(m, key, default) == plain.get(key, default)
        assert f.HAS.specialise((domain, domain.key))(m, key) == (key in plain)
        assert f.SIZE.specialise((domain,))(m) == len(plain)
        assert f.SUM_VALUES.specialise((domain,))(m) == sum(plain.values())
        assert f.EQ.specialise((domain, domain))(m, FrozenMap(plain)) is True
        assert f.PUT.specialise((domain, domain.key, domain.value))(m, key, default) == FrozenMap(
            {**plain, key: default}
        )
        left = FrozenMap({k: v for k, v in plain.items() if k != key})
        assert f.REMOVE.specialise((domain, domain.key))(m, key) == left


def test_a_sum_of_checked_values_that_leaves_their_domain():
    few = Integer(5, Overflowing.CHECKED)
    for domain in (Map(COLOURS, few), Map(STR, few)):  # written out over the keys, and as Python runs it
        total = f.SUM_VALUES.specialise((domain,))
        assert total(FrozenMap({"red": 1, "blue": 3})) == 4
        with pytest.raises(Overflow, match="leaves the checked domain"):
            total(FrozenMap({"red": 2, "blue": 3}))


@given(values(FLAGS))
def test_truth(m):
    for domain in (FLAGS, Map(INT, BOOL)):
        assert f.ALL_VALUES.specialise((domain,))(m) == all(m.values())
        assert f.ANY_VALUE.specialise((domain,))(m) == any(m.values())


def test_functions_may_give_maps():
    for domain in (PRICES, Map(STR, INT)):
        typed = f.IF.specialise((BOOL, domain, domain))
        assert typed.result == domain
        maps = FrozenMap({"red": 1}), FrozenMap()
        assert [typed(True, *maps), typed(False, *maps)] == [*maps]


@given(values(Map(BOOL, Tuple((BOOL, Integer(2))))))
def test_a_map_is_split_into_scalars_and_joined_again(m):
    domain = Map(BOOL, Tuple((BOOL, Integer(2))))
    flat = list(split(domain, m))
    assert [d for _, d in scalars(domain)] == [BOOL, BOOL, Integer(2)] * 2
    assert join_parts(domain, iter(flat)) == m
    assert all(value == False for value in flat) == (not m)  # noqa: E712  absent keys hold defaults
    assert domain_of(const(m, domain)) == domain


def test_sizes_and_values():
    assert PRICES.size == 4**3 == len(set(PRICES.values()))
    assert all(value in PRICES for value in PRICES.values())
    assert FrozenMap({"red": 3}) not in PRICES
    assert FrozenMap({"pink": 1}) not in PRICES
    assert {"red": 1} not in PRICES
    assert PRICES.default == FrozenMap()
    assert not Map(INT, BOOL).finite
    assert not Map(Range(0, 64), BOOL).finite
    assert Map(Range(0, 63), BOOL).finite
    assert resolve(Map(INT, Tuple((INT,))), Integer(3)) == Map(Integer(3), Tuple((Integer(3),)))
    assert str(PRICES) == "map({red, green, blue}, 0..2)"


def test_keys_are_shown_in_the_order_of_their_domain():
    assert PRICES.list_text_items(FrozenMap({"blue": 1, "red": 2})) == [("red", 2), ("blue", 1)]
    assert Map(STR, INT).list_text_items(FrozenMap({"b": 1, "a": 2})) == [("a", 2), ("b", 1)]
    assert Map(BOOL, BOOL).list_text_items(FrozenMap({True: False})) == [("true", False)]
    assert next(path for path, _ in scalars(Map(Range(-1, 0), BOOL))) == ("minus1", "present")


def test_mistakes():
    for function, domains in [
        (f.SIZE, (INT,)),
        (f.SIZE, (Tuple((BOOL,)),)),
        (f.GET, (PRICES, INT, Range(0, 1))),
        (f.GET, (Map(INT, INT), STR, INT)),
        (f.GET, (Map(INT, INT), INT, STR)),
        (f.ALL_VALUES, (PRICES,)),
        (f.ANY_VALUE, (Map(INT, INT),)),
        (f.SUM_VALUES, (FLAGS,)),
        (f.GET, (Map(INT, Record((INT,), ("a",))), INT, INT)),
    ]:
        with pytest.raises((TypingError, DomainError)):
            function.specialise(domains)
    with pytest.raises(TypingError, match="slice"):
        f.SIZE.build(3)
    assert not var("m", Map(INT, BOOL)).args


def test_tuples_and_maps_in_maps_of_any_size():
    """Keys that are tuples, and values that are records or maps, as on finite maps."""
    text = """
    function seen(m, e) = put(m, (e.a, e.b), put(get(m, (e.a, e.b), e.none), e.c, (e.a + e.b, e.c)))
    pipeline p(e: {a: K, b: K, c: K, none: map(K, (K, K))}, m: map((K, K), map(K, (K, K))))
        -> bool, K, map((K, K), map(K, (K, K))) {
        after = apply(m, e, seen)
        found = get(get(after, (e.a, e.b), e.none), e.c, (0, 0))
        return has(after, (e.b, e.a)), found.0, remove(after, (e.b, e.a))
    }
    """
    given = [((a, b, c, FrozenMap()), FrozenMap()) for a, b, c in itertools.product((0, 1), repeat=3)]
    streams = {"e": [e for e, _ in given], "m": [m for _, m in given]}
    runs = [Reference(parse(text.replace("K", kind)).get("p").pipeline).run(streams) for kind in ("int mod 2", "int")]
    assert runs[0]["out1"] == runs[1]["out1"] == [a == b for (a, b, *_), _ in given]
    assert runs[1]["out2"] == [a + b for (a, b, *_), _ in given]
    assert runs[0]["out2"] == [(a + b) % 2 for (a, b, *_), _ in given]
    kept = [{} if a == b else {(a, b): {c: (a + b, c)}} for (a, b, c, _), _ in given]
    assert [{k: dict(v) for k, v in each.items()} for each in runs[1]["out3"]] == kept
