"""Rules that look for predicates in other orders than is written: which there are, which is chosen, that none tells."""

from bisect import bisect_left
from itertools import permutations, product

import numpy as np
import pytest

from tests.examples import scaled
from workbench.conformance.compare.rule_engines import held_to_meaning
from workbench.conformance.generate.rule_cases import RuleCase, random_case
from workbench.errors import Refused
from workbench.executors.compiled.rules import searching
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.matching_rules import MatchingRules
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.search_sample import sampled_orders
from workbench.executors.compiled.rules.search_source import SearchSource
from workbench.executors.table import rule_engines
from workbench.show.rule_set_plan import plan_text
from workbench.tesla.check import rules
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.engines.rule_sample import sample_rules
from workbench.tesla.engines.search_order import RuleSearches
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.occurrence import Occurrence

COMPILED = {"compiled": rule_engines()["compiled"]}
HEAD = "declare A(x: int, y: int) declare B(x: int) declare C(x: int) declare X(x: int) declare D(x: int)\n"
HEAD += "declare fact F(x: int)\n"


def groups_of(text):
    plan = SetPlan(rules(HEAD + text))
    return [(each.level, each.orders) for each in RuleSearches(plan, 0).groups.values()]


def reordered(case):
    """How many orders the rules of a case have at most, where any has several."""
    plan = SetPlan(case.rules)
    found = [group for i in range(len(plan.plans)) for group in RuleSearches(plan, i).groups.values()]
    try:
        RuleProgram(plan, EngineSettings())
    except Refused:
        return 0
    return max((len(each.orders) for each in found), default=0)


@pytest.fixture(scope="module")
def cases():
    """Random rules that have several orders."""
    return [case for case in map(random_case, range(scaled(300, 900))) if reordered(case) > 1]


def one_of(orders, number):
    return orders[number % len(orders)]


def test_no_order_changes_anything(cases, monkeypatch):
    """All legal ones, with first and last, consumption, limits, negations, aggregates and conditions."""
    assert len(cases) > scaled(300, 900) / 18
    for number in range(scaled(2, 6)):
        monkeypatch.setattr(SearchSource, "_orders_of", lambda _, group, n=number: [one_of(group.orders, n)])
        for case in cases:
            if number < reordered(case):
                assert held_to_meaning(case, COMPILED) is None


def another_order(at, size, count, C):
    """Each time the next one; it stands for `least_order` in the code of rules."""
    # Its names are those of the module in whose place its text is compiled; here they are not defined.
    return C[at + OF_SEARCHES + SEARCH_WORDS * size + C[at + ENTERED] % count]  # type: ignore[name-defined]  # noqa: F821


def test_learning_changes_nothing(cases, monkeypatch):
    """Another order for each trigger, whichever it is, and all is looked for each time."""
    another_order.__module__ = searching.__name__
    monkeypatch.setattr(searching, "least_order", another_order)
    monkeypatch.setattr(searching, "HALVED", 2)
    for name in ("LEARNED_EACH", "VAIN_SHARE"):
        monkeypatch.setattr(searching, name, 1)
    for case in cases:
        assert held_to_meaning(case, COMPILED) is None
    plan = SetPlan(cases[0].rules)
    assert "learn_order(c" in RuleProgram(plan, EngineSettings()).source


# --- which orders there are -----------------------------------------------------------------------------


def test_what_hangs_on_nothing_but_the_trigger_is_looked_for_in_any_order():
    found = groups_of(
        "from C and each B within 5 from C and each A within 9 from C and not X within 5 from C emit D(x=1)"
    )
    assert found == [(0, tuple(permutations((1, 2, 3))))]


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("last A within 5 from C and last B within 5 from A and not X within 5 from C",
         [(1, 2, 3), (1, 3, 2), (3, 1, 2)]),
        ("last A within 5 from C and last B(x == A.x) within 5 from C", []),
        ("first A within 5 from C and last A as E within 9 from C", []),  # which is not the first
        ("first A within 5 from C and each A as E within 9 from C", []),
        ("$n = COUNT(A within 5 from C) and last B(x > $n) within 5 from C and not X within 5 from C",
         [(1, 2, 3), (1, 3, 2), (3, 1, 2)]),
        ("$n = COUNT(A within 5 from C) and last B within 5 from C", []),  # a number ends nothing
        ("each F and last B within 5 from C and last X within 5 from C", []),  # facts may be none
    ],
)  # fmt: skip
def test_orders_are_those_in_which_nothing_comes_before_what_it_hangs_on(text, orders):
    assert groups_of(f"from C and {text} emit D(x = 1)") == ([(0, tuple(orders))] if orders else [])


def test_an_aggregate_that_a_condition_is_about_may_end_a_match():
    text = "from C and last B within 5 from C and $n = COUNT(A within 5 from C) {} emit D(x = 1)"
    assert groups_of(text.format("")) == []
    assert groups_of(text.format("where $n > 3")) == [(0, ((1, 2), (2, 1)))]
    assert groups_of(text.format("where $n > B.x")) == []  # it is asked as soon as both are known


def test_what_all_share_of_a_loop_is_looked_for_before_the_next():
    text = "from C and each B within 5 from C and each A within 5 from C and last X within 5 from B emit D(x = 1)"
    assert groups_of(text) == [(0, ((1, 2), (2, 1))), (1, ((3,),))]


def test_what_a_limit_may_spare_is_not_looked_for_before():
    text = "from C and each B within 5 from C and not X within 5 from C limit 1 emit D(x = 1)"
    assert groups_of(text) == []
    assert len(groups_of(text.replace("each B", "each B(x == C.x)"))) == 1  # a chain is looked through in any case


def test_what_hangs_on_a_fact_that_is_written_in_a_loop_waits_for_it():
    text = "from C and each B within 5 from C and $p = SUM(F.x) and not X(x > $p) between B and C {} emit D(x = 1)"
    assert groups_of(text.format("and not A between B and C")) == []
    assert held_to_meaning(random_case(3457), COMPILED) is None  # such a rule


def test_what_may_never_be_asked_for_is_not_looked_for_before():
    text = (
        "from C and each B within 5 from C and each A(x == B.x) within 5 from B and not X within 5 from C emit D(x=1)"
    )
    assert groups_of(text) == []


# --- which is chosen ------------------------------------------------------------------------------------


def stream(count=3000):
    """X is rare, and never before a C in time; so is a B."""
    rng = np.random.default_rng(3)
    found = []
    for time in range(count):
        name = "ABCX"[rng.choice(4, p=[0.6, 0.19, 0.2, 0.01])]
        values = (int(rng.integers(0, 50)), int(rng.integers(0, 50)))
        found.append(Occurrence(name, time, values if name == "A" else values[:1]))
    return found


RARE = "from C and each A(x + C.x == 7) within 500 from C and last X(x == C.x) within 500 from C emit D(x = A.y)"


def told(engine, events):
    return [each for event in events for each in engine.process(event)]


@pytest.mark.parametrize("text", [RARE, RARE.replace("last X", "not X"), RARE.replace("last X", "each X")])
def test_what_ends_most_for_least_comes_first_and_says_the_same(text):
    given, events = rules(HEAD + text), stream()
    meant = told(Publisher("cdp", given, {}, EngineSettings(), CDPMatcher), events)
    assert told(CompiledRules(given, {}, EngineSettings(plain=True)), events) == meant
    (found,) = sampled_orders(given, {}, events).values()
    assert found.order == ((1, 2) if "not X" in text else (2, 1))
    asked, missed, taken = found.searches[1]
    assert 100 * asked < taken  # the A's of a window
    assert meant or missed


def test_matches_alone_are_the_same():
    given, events = rules(HEAD + RARE.replace("last X", "each X")), stream()
    meant = told(Publisher("cdp", given, {}, EngineSettings(), CDPMatcher), events)
    for numbers in (False, True):
        engine = MatchingRules(given, {}, EngineSettings(plain=True), numbers=numbers)
        found = [match for part in engine.matches_singly(events) for match in part]
        assert (len(found) if numbers else sum(engine.counts)) == len(meant)
        if numbers:
            made = [each.number for each in meant]  # which are no rows of the log
            rows = [tuple(n - bisect_left(made, n) + 1 for n in each.sources) for each in meant]
            assert [match for _, match in found] == rows


def test_what_is_looked_at_in_vain_is_a_tenth_at_most(monkeypatch):
    """Where what is cheap and rare is written first, nothing but learning looks for the rest."""
    monkeypatch.setattr(searching, "VAIN_FREE", 0)
    monkeypatch.setattr(searching, "FIRST_LEARNED", 0)
    text = "from C and last X(x == C.x) within 500 from C and each A(x + C.x == 7) within 500 from C emit D(x = 1)"
    given = rules(HEAD + text)
    engine = CompiledRules(given, {}, EngineSettings(plain=True))
    told(engine, stream())
    ((_, at),) = engine.program.learning.items()
    words = engine.program.C[at:]
    most = 400  # candidates of one trigger
    assert searching.VAIN_SHARE * (words[searching.IN_VAIN] - most) <= words[searching.LOOKED]


def test_the_cost_of_an_order_is_what_is_expected():
    """Summed over all that may happen, where each predicate finds something or not on its own."""
    seen = [(10**6, 250_000, 8 * 10**6), (10**6, 900_000, 30 * 10**6), (10**6, 500_000, 2 * 10**6)]
    words = [0] * searching.OF_SEARCHES + [word for each in seen for word in each]

    def expected(order):
        total = 0.0
        for outcome in product((True, False), repeat=3):
            chance = np.prod([1 - m / s if found else m / s for found, (s, m, _) in zip(outcome, seen, strict=True)])
            ends = next((turn for turn, place in enumerate(order) if not outcome[place]), 2)
            total += chance * sum(seen[place][2] / seen[place][0] for place in order[: ends + 1])
        return total

    orders = list(permutations(range(3)))
    for order in orders:
        packed = searching.packed_order(order)
        assert searching.placed_order(packed, 3) == list(order)
        assert searching.order_takes(0, 3, packed, words) == pytest.approx(expected(order), rel=1e-4)
    known = searching.search_words(3, [*map(searching.packed_order, orders)])
    known[searching.OF_SEARCHES : searching.OF_SEARCHES + 9] = words[searching.OF_SEARCHES :]
    assert searching.least_order(0, 3, 6, known) == searching.packed_order(min(orders, key=expected))


def test_the_plan_says_what_is_looked_for_first_and_why():
    given, events = rules(HEAD + RARE), stream()
    sample = sample_rules(given, {}, events)._replace(orders=sampled_orders(given, {}, events))
    shown = plan_text(SetPlan(given), given, timed=False, sample=sample)
    assert "behind the trigger compiled looks for each A, last X: the order of 2 that takes least" in shown
    assert "comes to this order: last X, each A" in shown
    given = rules(HEAD + "from C and last A within 5 from C and last B(x == A.x) within 5 from C emit D(x = 1)")
    shown = plan_text(SetPlan(given), given, timed=False)
    assert "looked for in the order that is written: each hangs on what another one finds" in shown


def test_an_event_that_another_predicate_has_is_not_taken_twice():
    """Both find the same events before a loop tells them; a match has each once."""
    text = HEAD + "from C and each A within 9 from C and each A as E within 9 from C emit D(x = E.y)"
    events = [Occurrence("A", i, (0, i)) for i in range(3)] + [Occurrence("C", 3, (0,))]
    case = RuleCase(rules(text), events)
    assert reordered(case) == 2
    assert held_to_meaning(case, COMPILED) is None
    engine = CompiledRules(case.rules, {}, EngineSettings(plain=True))
    assert [each.values[0] for each in told(engine, events)] == [1, 2, 0, 2, 0, 1]
