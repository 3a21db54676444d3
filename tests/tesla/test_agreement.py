"""Random rules on random streams: all engines tell what the formulas tell, order included; and the axioms on labels."""

import ast
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given

import workbench.tesla
from tests.examples import examples, scaled
from tests.tesla.events import ENGINES
from tests.tesla.rule_cases import rule_cases
from workbench.conformance.compare.rule_engines import (
    RuleDisagreement,
    compare_to_meaning,
    evaluate_meaning,
    smallest_disagreement,
)
from workbench.conformance.generate.rule_cases import RuleCase, random_case
from workbench.conformance.written_tests.disagreements import rule_disagreement
from workbench.executors.table import engines_here, rule_engines
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_rows
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.occurrence import Occurrence

ROOT = Path(workbench.tesla.__file__).parent
SOME = scaled(50, 400)
"""Cases by their numbers, which take a fraction of the time of drawn ones; those do not shrink to smaller ones."""
WINDOWS = ("before", "after", "between")


def agrees(case: RuleCase) -> None:
    """Raise AssertionError with a small test if an engine does not tell what the rules mean."""
    if (found := smallest_disagreement(case)) is not None:
        raise AssertionError(f"keep this as a test:\n{rule_disagreement(found)}")


@given(rule_cases())
@examples(60)
def test_engines_tell_what_rules_mean(case):
    agrees(case)


def test_engines_tell_what_rules_mean_in_many_cases():
    for seed in range(SOME):
        agrees(random_case(seed))


def test_rules_that_are_alike_tell_what_they_mean():
    """What they have in common is the same for each of them: with consumption, hierarchies, limits and snapshots."""
    for case in (random_case(seed, alike=True) for seed in range(scaled(50, 140))):
        assert compare_to_meaning(case, {"compiled": rule_engines()["compiled"]}) is None


def test_engines_that_scan_tell_what_rules_mean():
    """Without indexes, as in the papers; cases that equations do not tell apart are those above."""

    def scanning(engine, given_rules, facts, settings):
        return rule_engines()[engine](given_rules, facts, replace(settings, indexed=False))

    cases = [case for case in map(random_case, range(SOME)) if "==" in str(case.rules)]
    assert len(cases) > SOME / 4
    plans = [SetPlan(case.rules, indexed=False) for case in cases]
    assert not any(column.keys for plan in plans for column in plan.columns)
    for case in cases[: SOME // 4]:
        assert compare_to_meaning(case, {name: partial(scanning, name) for name in ENGINES}) is None


@given(rule_cases())
@examples(40)
def test_random_rules_read_back(case):
    again = parse_rules(str(case.rules))
    assert (again.declarations, again.rules) == (dict(case.rules.declarations), case.rules.rules)


def composites(case: RuleCase) -> list[Occurrence]:
    """What the formulas tell, where no error ends it."""
    told = evaluate_meaning(case)
    assert not isinstance(told, str)
    return list(told)


# --- the axioms (thesis, 2.3.2) -------------------------------------------------------------------------


@given(rule_cases())
@examples(60)
def test_labels_are_unique(case):
    """Every event has a place of its own, and what a composite is made of comes before it."""
    told = composites(case)
    numbers = [each.number for each in told]
    assert len(set(numbers)) == len(numbers)
    assert numbers == sorted(numbers)
    assert all(source < each.number for each in told for source in each.sources)
    assert all(one.time <= other.time for one, other in pairwise(told))


@given(rule_cases())
@examples(60)
def test_a_rule_applies_to_a_list_of_events_once(case):
    """lab(r, s) is injective: a rule that looks at no facts emits once for a list of events."""
    static = {"F", "G"}
    plain = {rule.name for rule in case.rules.rules if not static & {p.type for p in rule.predicates}}
    applied = Counter((each.rule, each.sources) for each in composites(case) if each.rule in plain)
    assert set(applied.values()) <= {1}
    for each in composites(case):
        assert len(set(each.sources)) == len(each.sources)


# --- the comparison itself ------------------------------------------------------------------------------


class Forgetful:
    """An engine that forgets the last composite of every event."""

    def __init__(self, *given):
        self.engine = engines_here()["cdp"](*given)

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def process(self, event):
        return self.engine.process(event)[:-1]


TEXT = """
declare A(x: int, f: float) declare B(x: int) declare D(x: float) declare fact G(x: int)
rule one: from A(x > 0) and each B(x > 1) within 5 from A and each G where B.x > 0 emit D(x = A.f) consuming B
rule two: from B emit D(x = B.x)
"""
EVENTS = [Occurrence("B", 0, (2,)), Occurrence("A", 1, (1, float("nan")))]


def test_a_disagreement_shrinks_to_a_test(monkeypatch):
    case = RuleCase(parse_rules(TEXT), EVENTS, {"G": [(1,), (2,)]}, until=9, trex=True, saved=1)
    assert compare_to_meaning(case) is None
    differs = {"forgetful": Forgetful}
    found = smallest_disagreement(case, differs)
    assert isinstance(found, RuleDisagreement)
    small = found.case
    assert "forgetful differs from the formulas at composite 0: it has nothing" in str(found)
    # One event and one rule that it triggers are enough.
    assert [len(small.events), len(small.rules.rules), len(small.rules.declarations)] == [1, 1, 2]
    assert (small.until, small.trex, small.saved) == (None, False, None)
    text = rule_disagreement(found)
    known = {}
    exec(text, known)
    known["test_engines_emit_what_the_rules_mean"]()
    monkeypatch.setattr("workbench.conformance.compare.rule_engines.engines_here", lambda: differs)
    with pytest.raises(AssertionError):
        known["test_engines_emit_what_the_rules_mean"]()


def test_a_written_test_has_all_that_it_needs():
    case = RuleCase(parse_rules(TEXT), EVENTS, {"G": [(1,), (2,)]}, until=9, trex=True, saved=1)
    known = {}
    exec(rule_disagreement(RuleDisagreement(case, "cdp", [], [], 0)), known)
    shown = rule_disagreement(RuleDisagreement(case, "cdp", [], [], 0))
    assert all(each in shown for each in ("until=9", "trex=True", "saved=1", 'float("nan")', '{"G": [(1,), (2,)]}'))
    known["test_engines_emit_what_the_rules_mean"]()


@pytest.mark.parametrize(
    "change", [{"values": (1.0,)}, {"values": (True,)}, {"number": 2}, {"sources": ()}, {"rule": "two"}, {"time": 1}]
)
def test_composites_agree_in_everything(change, monkeypatch):
    case = RuleCase(parse_rules("declare A() declare D(x: int) rule one: from A emit D(x = 1)"), [Occurrence("A", 0)])

    class Other(Forgetful):
        def process(self, event):
            return [replace(each, **change) for each in self.engine.process(event)]

    assert compare_to_meaning(case, {"other": Other}) is not None


def test_every_operator_is_among_random_rules():
    """What the property above says of no operator that never comes, it does not say."""
    met = Counter()
    for seed in range(400):
        for rule in random_case(seed).rules.rules:
            met.update(part.policy for part in rule.parts)
            met.update(part.function for part in rule.parts if isinstance(part, t.Aggregate))
            met.update(kind for part in rule.parts for kind in WINDOWS if getattr(part.window, kind, False))
            met.update(t.EVENTS for part in rule.parts if getattr(part.window, "counts_events", False))
            met.update(name for name in ("limit", "pause", "per", "consuming", "where_clause") if getattr(rule, name))
    expected = {
        *t.Policy, *aggregate_rows(), "PRODUCT", "TOTAL", *WINDOWS, t.EVENTS,
        "limit", "pause", "per", "consuming", "where_clause",
    }  # fmt: skip
    assert {each for each in expected if met[each] < 10} == set()
    told = [evaluate_meaning(random_case(seed)) for seed in range(400)]
    assert sum(map(bool, told)) > 100


def test_meaning_shares_nothing_with_engines():
    """Two who copy from each other agree on mistakes."""
    meant = {"meaning", "formulas", "values"}
    for path in (*ROOT.glob("engines/**/*.py"), *(ROOT / f"{name}.py" for name in meant)):
        inside = path.is_relative_to(ROOT / "engines")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            forbidden = {f"workbench.tesla.{name}" for name in meant} if inside else {"workbench.tesla.engines"}
            assert not any(module == each or module.startswith(f"{each}.") for each in forbidden), path
