"""What is asked of some of the rules says of all of them what asking all of them says."""

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.errors import WorkbenchError
from workbench.tesla.check import parse_rules
from workbench.tesla.model.build import RuleBounds, align_types, build_models, settle_bounds
from workbench.tesla.model.rates import RuleRate
from workbench.verify.answer.examine import examine
from workbench.verify.answer.problem import comparison, problem
from workbench.verify.answer.verdict import Outcome
from workbench.verify.rules.problems import SplitProblem, rule_comparison, rule_problem, shortest_of
from workbench.verify.rules.rule_subject import WITH_TIME, RuleSubject, slice_difference, split_difference
from workbench.verify.rules.variants import shorter_rules, with_rule

TYPES = ("A", "B", "P", "Q", "R")
"""In the order in which one may cause the other."""
DECLARED = "".join(f"declare {name}(x: int)\n" for name in TYPES)
SETTINGS = replace(WITH_TIME, seconds=1)


def random_rule(rng, number):
    emits = rng.choice(TYPES[2 : 3 + number])
    trigger, other = rng.choices((*TYPES[: TYPES.index(emits)], *TYPES[2 : TYPES.index(emits)] * 2), k=2)
    policy, key = rng.choice(("each", "last", "first", "not", "absent", "")), rng.choice(("(x == T.x)", "(x > 0)", ""))
    binds = policy in ("each", "last", "first")
    part = f" and {policy} {other}{key}{' as O' * binds} within 1"
    return "".join((
        f"rule r{number}: from {trigger}{rng.choice(('', '(x > 0)'))} as T",
        f"{part} {'after' if policy == 'absent' else 'from'} T" if policy else "",
        f" emit {emits}(x = {rng.choice(('T.x', '1', 'O.x' if binds else '0'))})",
        " consuming O" if binds and rng.random() < 0.3 else "",
    ))  # fmt: skip


def random_rules(rng, count):
    while True:
        text = "\n".join(random_rule(rng, number) for number in range(count))
        try:
            return parse_rules(DECLARED + text, "random")
        except WorkbenchError:  # a window from an event that waits
            continue


def shown(verdict):
    """The outcome, and how long the run is that shows it."""
    return str(verdict.outcome), len(verdict.counterexample.steps) if verdict.counterexample else None


def decided_alike(some, whole):
    """Some need no more room than all; what is decided of both is the same, and shown by runs of one length.

    Where some of the rules wait and others do not, time passes in more steps for all.
    """
    if whole.outcome is Outcome.WITHIN_BOUNDS:
        return True
    if "unknown" in (str(some.outcome), str(whole.outcome)):
        return True
    found = [shown(each) for each in (some, whole)]
    long_pauses = {any("longer pauses" in said for said in each.rests_on) for each in (some, whole)}
    return found[0][0] == found[1][0] and (
        found[0] == found[1] or None in (found[0][1], found[1][1]) or len(long_pauses) > 1
    )


@given(st.integers(0, 2**32))
@examples(2, deadline=None)
def test_random_rules_are_told_apart_by_those_that_differ(seed):
    rng = random.Random(seed)
    while True:
        given = random_rules(rng, 3)
        shorter = [(number, each) for number, rule in enumerate(given.resolved) for _, each in shorter_rules(rule)]
        if not shorter:
            continue
        sides = align_types(given, with_rule(given, *rng.choice(shorter)))
        bounds = settle_bounds(sides, RuleBounds(capacity=1))
        asked, _ = slice_difference(dict(zip("ab", sides, strict=True)), bounds, ordered=True)
        if asked["a"] is not sides[0]:
            break
    one, other = build_models(sides, bounds)
    whole = comparison(one, other, "stepwise", SETTINGS).decide()
    assert decided_alike(rule_comparison(*sides, bounds, SETTINGS).decide(), whole)


@given(st.integers(0, 2**32))
@examples(2, deadline=None)
def test_random_rules_of_which_several_differ_are_compared_one_by_one(seed):
    rng = random.Random(seed)
    while True:
        one = other = random_rules(rng, 3)
        for _ in range(2):
            shorter = [(number, each) for number, rule in enumerate(other.resolved) for _, each in shorter_rules(rule)]
            other = with_rule(other, *rng.choice(shorter)) if shorter else other
        sides = align_types(one, other)
        bounds = settle_bounds(sides, RuleBounds(capacity=1))
        if len(split_difference(dict(zip("ab", sides, strict=True)), bounds)) > 1:
            break
    left, right = build_models(sides, bounds)
    parts = rule_comparison(*sides, bounds, SETTINGS)
    assert isinstance(parts, SplitProblem)
    assert decided_alike(parts.decide(), comparison(left, right, "stepwise", SETTINGS).decide())


@given(st.integers(0, 2**32))
@examples(2, deadline=None)
def test_what_random_rules_can_emit_is_what_one_of_them_can(seed):
    rng = random.Random(seed)
    given = random_rules(rng, 3)
    bounds = settle_bounds([given], RuleBounds(capacity=1))
    (model,) = build_models([given], bounds)
    for text in (f"{rng.choice(('can', 'never'))}({name})" for name in given.composites):
        some = rule_problem(given, text, RuleBounds(capacity=1), SETTINGS, deepen=False).decide()
        assert decided_alike(some, problem(model, text, SETTINGS).decide())


SEVERAL = """rule plain: from A emit P(x = 0)
rule paired: from B and last A(x > 0) within 2 from B emit P(x = 1)
rule next: from P and last A(x > 0) within 2 from P emit Q(x = 0)
rule other: from B emit R(x = 0)"""


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("emit R(x = 0)", "emit R(x = 1)", ["other"]),
        ("2 from B", "1 from B", ["paired"]),  # what is next differs where P does
        ("2 from P", "1 from P", SEVERAL),  # where among composites of a step it comes is not its own matter
        ("other", "another", SEVERAL),  # which rules are the same is told by their names
        ("from B emit R", "from A emit R", ["other"]),
        ("", "", SEVERAL),
    ],
)
def test_rules_that_differ_are_asked_about(old, new, asked):
    sides = {
        "one": parse_rules(DECLARED + SEVERAL, "one"),
        "two": parse_rules(DECLARED + SEVERAL.replace(old, new, 1), "two"),
    }
    found, _ = slice_difference(sides, RuleBounds(), ordered=True)
    names = list(sides["one"].rule_names) if asked is SEVERAL else asked
    assert [list(each.rule_names) for each in found.values()] == [names] * 2 or new == "another"
    assert found == sides or asked is not SEVERAL


@pytest.mark.slow
def test_the_shortest_stream_is_that_of_the_rule_with_the_shortest():
    """An A is enough for one of the rules; nothing is P for values of which no A is."""
    given = parse_rules(DECLARED + "\n".join(reversed(SEVERAL.splitlines())), "several")
    found = rule_problem(given, "can(P)").decide()
    assert (*shown(found), found.counterexample.shortest) == ("holds", 1, True)
    assert shown(rule_problem(given, "can(Q)").decide()) == ("holds", 1)  # by the same A
    assert shown(rule_problem(given, "never(P)", RuleBounds(values={("A", "x"): [0]})).decide()) == ("fails", 1)
    silent = parse_rules(DECLARED + SEVERAL.replace("from A emit", "from A(x > 9, x < 9) emit"), "silent")
    nowhere = RuleBounds(values={("A", "x"): [0]})
    vacuous = rule_problem(silent, "can(P)", nowhere).decide()
    assert (*shown(vacuous), vacuous.vacuity.bound) == ("unknown", None, "--values")
    silent = parse_rules(
        DECLARED + SEVERAL.replace("x > 0", "x > 9").replace("from A emit", "from A(x > 9, x < 9) emit")
    )
    assert shown(rule_problem(silent, "can(Q)", RuleBounds(values={("A", "x"): [0, 9]})).decide()) == ("unknown", None)
    silent = parse_rules(
        DECLARED + SEVERAL.replace("x > 0", "x > 9, x < 9").replace("from A emit", "from A(x != x) emit")
    )
    assert shown(rule_problem(silent, "can(P)").decide()) == ("fails", None)


def test_nothing_follows_where_one_of_several_is_not_known():
    """It can if one can, and no run of that is a shortest one; that one cannot says nothing of the other."""
    given = parse_rules(DECLARED + SEVERAL, "several")
    can, cannot = (rule_problem(given, text).decide() for text in ("can(P)", "can(R.x > 0)"))
    unknown = replace(cannot, outcome=Outcome.UNKNOWN)
    assert shortest_of([unknown, can], Outcome.HOLDS).counterexample.shortest is False
    assert shortest_of([unknown, cannot], Outcome.HOLDS) is None
    assert shortest_of([cannot, cannot], Outcome.HOLDS) is cannot
    unshown = replace(can, counterexample=None)
    assert shortest_of([cannot, unshown], Outcome.HOLDS).outcome is Outcome.HOLDS


def test_types_that_no_rule_of_a_model_reads_are_left_out():
    rules = parse_rules(DECLARED + SEVERAL, "several")
    subject = RuleSubject(rules, RuleBounds(rates={"A": RuleRate(1, 2, united=False)}))
    assert subject.about(["other"]).rules.events == ("B", "R")
    assert not subject.about(["other"]).bounds.rates
    mentioned = subject.about(["other"], ["A", "Q"])  # only other rules emit Q
    assert mentioned.rules.events == ("A", "B", "R")
    assert mentioned.bounds.rates == subject.bounds.rates


@pytest.mark.parametrize("text", ["always (R.x = 0 or A.x > 0)", "always (R.x = 1 or A.x > 0)", "always (A.x > 0)"])
def test_a_property_may_mention_events_that_its_rules_do_not_read(text):
    rules = parse_rules(DECLARED + SEVERAL, "several")
    bounds = settle_bounds([rules], RuleBounds(capacity=1))
    (model,) = build_models([rules], bounds)
    some = rule_problem(rules, text, RuleBounds(capacity=1), SETTINGS, deepen=False).decide()
    assert shown(some) == shown(problem(model, text, SETTINGS).decide())


def test_of_two_rules_one_may_read_a_type_that_the_other_does_not():
    one, other = (parse_rules(DECLARED + f"rule same: from {name} emit P(x = 0)", name) for name in "AB")
    verdict = rule_comparison(one, other).decide()
    assert shown(verdict) == ("fails", 1)


def test_rules_that_all_differ_are_compared_one_by_one():
    """Thresholds over whole numbers: `x > n` is `x >= n + 1`; each comparison has the values of its own rule only."""
    texts = ["", "", ""]
    for n in range(3):
        rule = f"declare A{n}(x: int)\ndeclare B{n}(x: int)\nrule r{n}: from A{n}(x LIMIT) emit B{n}(x = A{n}.x)\n"
        for i, limit in enumerate((f"> {n}", f">= {n + 1}", f">= {n + 1 + (n == 1)}")):
            texts[i] += rule.replace("LIMIT", limit)
    one, same, other = map(parse_rules, texts)
    verdict = rule_comparison(one, same).decide()
    assert verdict.outcome is Outcome.HOLDS
    values = [text for text in verdict.rests_on if "none is null" in text]
    assert [re.sub(r" is .*;", ":", text) for text in values] == [f"A{n}.x: none is null (rule r{n})" for n in range(3)]
    assert examine(verdict) is verdict  # its grounds are those of three models
    verdict = rule_comparison(one, other).decide()
    assert shown(verdict) == ("fails", 1)
    assert {name for step in verdict.counterexample.steps for name in step.inputs} <= {"A1", "elapsed"}
