"""How compiled rules search: orders, and bounds that lie in two bands of a column, change nothing of matches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("numba")

from tests.tesla.events import rule_engine
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.range_constraints import attribute_bound
from workbench.executors.compiled.rules.records import NONE
from workbench.executors.compiled.rules.search_order import list_written_order, search_order
from workbench.show.rule_set_plan import plan_text
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

TYPES = "".join(f"declare {name}(k: int, x: int, y: int)\n" for name in "ABX") + "declare O(x: int, y: int)\n"


def drawn(seed: int, count: int) -> Iterator[Occurrence]:
    """Events of few keys, most of whose values lie together; some are null."""
    rng = random.Random(seed)
    for at in range(count):
        row = (rng.randrange(3), rng.randrange(-20, 20) << rng.choice((0, 0, 0, 0, 0, 0, 0, 20)), rng.randrange(5))
        yield Occurrence(
            "ABX"[rng.choice((0, 0, 1, 2))], at // 2, tuple(None if rng.random() < 0.04 else v for v in row)
        )


def held_to_cdp(made: RuleSet, seed: int, count: int = 150) -> CompiledRules:
    """The engine behind events of which it has found what `cdp` finds, and something."""
    cdp, engine, found = rule_engine(made, "cdp"), CompiledRules(made, {}, EngineSettings(plain=True), capacity=2), 0
    for event in drawn(seed, count):
        expected = cdp.process(event)
        assert engine.process(event) == expected
        found += len(expected)
    assert found
    return engine


# --- bands ----------------------------------------------------------------------------------------------

BANDS = {
    "both sides": "{policy} A(x >= B.x - 2, x <= B.x + B.y)",
    "terms moved": "{policy} A(x - B.x > -3, B.x - x > -3)",
    "keyed": "{policy} A(x >= B.x - 2, x <= B.x + 2, k == B.k)",
    "more": "{policy} A(x >= B.x - B.y, x < B.x, y > B.y)",
    "twice": "each X(x >= B.x - B.y, x < B.x + 2) within 40 from B and {policy} A(x > X.x - 2, x < B.x + 1)",
    "not": "not X(x > B.x, x < B.x + 5) within 20 from B and {policy} A(x >= B.x, x < B.x + 5)",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("policy", ["each", "first", "last"])
@pytest.mark.parametrize("name", BANDS)
def test_bounds_on_both_sides_are_bands(name, policy):
    parts = BANDS[name].format(policy=policy)
    made = parse_rules(f"{TYPES}from B and {parts} within 3 .. 40 from B emit O(x = A.x, y = A.y) consuming A")
    engine = held_to_cdp(made, len(parts))
    columns = engine.memory.plan.columns
    assert set(columns.banded.tolist()) == {1}
    assert all(engine.memory.history.columns.shift > 1)


@pytest.mark.parametrize("other", ["$s = SUM(A(y > B.y).x within 9 from B)", "last A(x > B.x) as A2 within 9 from B"])
def test_a_column_is_banded_for_all_who_look_there_or_for_nobody(other):
    band = "each A(x >= B.x, x < B.x + 2) within 9 from B"
    engine = held_to_cdp(parse_rules(f"{TYPES}from B and {other} and {band} emit O(x = A.x, y = A.y)"), 1)
    assert set(engine.memory.plan.columns.banded.tolist()) == {NONE}


def test_a_band_of_all_numbers_is_one():
    """Its ends are as far from one another as words can be."""
    made = parse_rules(f"{TYPES}from B and each A(x >= B.x, x <= B.y) within 9 from B emit O(x = A.x, y = A.y)")
    engine = CompiledRules(made, {}, EngineSettings(plain=True), capacity=2)
    far = -(1 << 63), (1 << 63) - 1
    for x in (*far, 0, -1):
        engine.process(Occurrence("A", 0, (0, x, 0)))
    found = engine.process(Occurrence("B", 1, (0, *far)))
    assert [each.values[0] for each in found] == [*far, 0, -1]


@pytest.mark.parametrize(
    ("constraint", "bound"),
    [("x > B.x", (1, ">", "B.x")), ("B.y <= x", (1, ">=", "B.y")), ("x - B.x < 3", (1, "<", "3 + B.x")),
     ("B.x - x < 3", (1, ">", "B.x - 3")), ("B.k + x - 1 == B.y", (1, "==", "B.y + 1 - B.k")), ("x - y < B.x", None),
     ("x * 2 < B.x", None), ("x != B.x", None)],
)  # fmt: skip
def test_terms_of_others_are_moved_to_the_other_side(constraint, bound):
    (rule,) = parse_rules(f"{TYPES}from B and each A({constraint}) within 9 from B emit O(x = 0, y = 0)").resolved
    found: Any = attribute_bound(rule.parts[1].constraints[0])
    assert (found if bound is None else (found.cell, found.sign, str(found.value))) == bound


# --- orders ---------------------------------------------------------------------------------------------

SEARCHES = {
    "each A(x > B.y) within 30 from B and last X(k == B.k) within 30 from B": "0 2 1",
    "each A(x > B.y) within 30 from B and each X(k == B.k) within 9 from B": "0 2s 1 2t",
    "each A(k == B.k) within 20 from B and each X(x > A.x) within 20 from B": "0 1 2",
    "each A(k == B.k) within 20 from B and $n = COUNT(X(k == B.k) within 20 from B)": "0 1s 2 1t",
    "each A(k == B.k) as A within 9 from B and each X(y > A.y) within 20 from B and $n = COUNT(A(k == B.k) "
    "within 20 from A) where $n < 2": "0 1 3 2",
    "each A(y > B.y) within 9 from B and each A(k == B.k) as A2 within 9 from B": "0 1 2",
    "last A within 9 from B and not X(k == B.k) between A and B and $m = MAX(X(y > B.y).x within 9 from B) "
    "where $m < 9": "0 1 2 3",
}
"""What a rule selects, and the order in which that is searched: `s` where it is put aside, `t` where it is taken."""


def test_what_is_named_in_a_rule_is_searched_before():
    for parts, expected in SEARCHES.items():
        made = parse_rules(f"{TYPES}rule one: from B and {parts} emit O(x = 0, y = 0)")
        found = search_order(SetPlan(made), 0)
        words = [f"{each.step.number}{'' if each.takes and each.searches else 'ts'[each.searches]}" for each in found]
        assert " ".join(words) == expected, parts
        assert [each.step.number for each in list_written_order(SetPlan(made), 0)] == sorted({int(w[0]) for w in words})


@pytest.mark.sampled(7)
@pytest.mark.parametrize("parts", SEARCHES)
@pytest.mark.parametrize("emission", ["emit {}", "limit 3 emit {}", "emit {} consuming A"])
def test_orders_of_searches_are_none_of_matches(parts, emission):
    bound = [name for name in ("$n", "$m", "X.x", "B.y") if name.split(".")[0] in parts]
    held_to_cdp(parse_rules(f"{TYPES}from B and {parts} {emission.format(f'O(x = A.x, y = {bound[0]})')}"), len(parts))


def test_the_plan_says_what_is_searched_first_and_where_bands_are():
    parts = "each A(x >= B.x, x < B.y) within 30 from B and last X(k == B.k) within 30 from B"
    backwards = " and ".join(reversed(parts.split(" and ")))
    shown = []
    for text in (parts, backwards):
        made = parse_rules(f"{TYPES}rule one: from B and {text} emit O(x = A.x, y = X.y)")
        shown.append(plan_text(SetPlan(made), made, timed=False))
        assert ": A in bands of x, retained for 30; for one: each A\n" in shown[-1]
    assert "\n  order in which compiled searches: last X, each A\n" in shown[0]
    assert "order in which" not in shown[1]
