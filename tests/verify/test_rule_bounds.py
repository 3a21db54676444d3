"""Bounds of models of rules: what rules need to fire, and no verdict on what cannot happen within them."""

import random
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples, scaled
from tests.verify.counting import another, counting_rules, fired
from workbench.budget import Budget, remaining
from workbench.cli.output import block
from workbench.errors import LimitMet, Refused
from workbench.tesla.check import load_rules, parse_rules
from workbench.tesla.model import build
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.model.needs import chain_needed, needs
from workbench.verify import rules as r
from workbench.verify.answer import check, replay
from workbench.verify.answer.check_all import check_all
from workbench.verify.answer.verdict import Outcome
from workbench.verify.rules.growing_question import GrowingQuestion
from workbench.verify.rules.problems import RuleProblem, rule_comparison, rule_problem
from workbench.verify.rules.rule_subject import WITH_TIME, RequiredFiring, RuleSubject

DECLARED = "".join(f"declare {name}(x: int)\n" for name in "ABTDEF")
FRAUD = """declare Failed(user: string) declare Login(user: string) declare Takeover(user: string)
from Login[$u = user] and $n = COUNT(Failed(user == $u) within 5 min from Login) where $n >= 3
emit Takeover(user = $u)"""
BOUNDS = RuleBounds()
TWICE = """declare A(x: int) declare B(x: int) declare Takeover(x: int)
from A and each B(x > 3) as One within 10 from A and last B(x < One.x - 9) as Two within 10 from A
where One.x < Two.x emit Takeover(x = 1)"""
COUNTS = "from T and $n = COUNT(A within 10 from T) where $n {} emit D(x = {})"
MODELS = {path.stem: path for path in Path("models/tesla").glob("*.tesla")}
FACTS = {
    "base": {"SD": 1}, "limits": {"Zone": 1}, "buses": {"Runs": 1, "Stop": 1},
    "transfers": {"Account": 1, "Fee": 1, "Watched": 1},
}  # fmt: skip


def asked(text, *properties, bounds=None, **options):
    """Of each property the outcome, and how many steps the run has that shows it."""
    found = [rule_problem(parse_rules(text, "asked"), each, bounds, **options).decide() for each in properties]
    return [(str(each.outcome), len(each.counterexample.steps) if each.counterexample else None) for each in found]


def compared(left, right, **options):
    return rule_comparison(
        parse_rules(DECLARED + left, "one"), parse_rules(DECLARED + right, "two"), **options
    ).decide()


@pytest.mark.parametrize(("most", "advice"), [(12, "leave -Q out, or -Q 14"), (100, "-Q 102")])
def test_the_capacity_that_rules_need_is_proposed(most, advice):
    """Those that are counted, and the one that triggers; where no model without `-Q` is so large, that is no advice."""
    rules = parse_rules(
        f"declare A(x: int) declare D(x: int)\n"
        f"from A and $n = COUNT(A within 10 from A) where $n > {most} emit D(x = 1)", "asked"
    )  # fmt: skip
    bounds = replace(BOUNDS, capacity=2)
    assert rule_problem(rules, "never(D)", bounds, deepen=False).decide().advice == (
        f"the capacity that the rules need: {advice} (2 now)",
    )
    if most == 12:
        for followed in (BOUNDS, replace(BOUNDS, capacity=14)):
            assert rule_problem(rules, "never(D)", followed).decide().outcome is Outcome.FAILS
        assert (
            rule_problem(rules, "never(D)", replace(BOUNDS, capacity=13), deepen=False).decide().outcome
            != Outcome.FAILS
        )


def test_three_failed_logins_come():
    """Three that fail, and a login; the question whether that never is, and whether it can be, have one answer."""
    assert asked(FRAUD, "never(Takeover)", "can(Takeover)") == [("fails", 4), ("holds", 4)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("text", "bounds", "settings"),
    [
        (FRAUD, BOUNDS, WITH_TIME),  # a run shows it
        (FRAUD, RuleBounds(capacity=2), WITH_TIME),  # vacuous
        ("declare A(x: int) declare Takeover(x: int) from A(x > 3, x < 2) emit Takeover(x = 1)", BOUNDS, WITH_TIME),
        pytest.param(TWICE, RuleBounds(capacity=2), WITH_TIME, marks=pytest.mark.slow),  # within bounds
        (FRAUD, BOUNDS, replace(WITH_TIME, seconds=0.001)),  # no time
    ],
)  # fmt: skip
def test_never_and_can_are_one_question(text, bounds, settings, jobs):
    """Each is the opposite of the other, whichever comes first, and says what it says when it is asked alone."""
    program, texts = parse_rules(text, "one"), ["can(Takeover)", "never(Takeover)", "can(Takeover)"]
    problems = [rule_problem(program, each, bounds, settings, deepen=False) for each in texts]
    for some in (problems, problems[1:]):
        found = [(item.text, verdict) for item, verdict in wb.check_all(some, jobs=jobs, ordered=True)]
        assert [name for name, _ in found] == [each.text for each in some]
        alone = {each.text: each.decide() for each in problems[:2]}
        for name, verdict in found:
            own = alone[name]
            assert (verdict.outcome, verdict.property) == (own.outcome, name)
            assert verdict.vacuity == own.vacuity
            assert verdict.reason == own.reason or settings.seconds  # where it was when the time was over
            assert verdict.exit_code == own.exit_code
            assert (verdict.counterexample is None) == (own.counterexample is None)


@pytest.mark.parametrize("prop", ["never(Takeover)", "can(Takeover)", "ltl(G (not Takeover.present))"])
def test_what_cannot_happen_for_want_of_room_is_not_decided(prop):
    """With room for two nothing is known of what takes three, and the bound is named; in Python as in the command."""
    verdict = rule_problem(parse_rules(FRAUD, "fraud"), prop, RuleBounds(capacity=2), deepen=False).decide()
    assert (verdict.outcome, verdict.exit_code) == (Outcome.UNKNOWN, 3)
    assert str(verdict.vacuity) == "no Takeover comes (Q = 2 of fraud.Failed prevents it)"
    assert verdict.to_json()["vacuous"] == {"never": "no Takeover comes", "bound": "Q = 2 of fraud.Failed"}
    assert not verdict.within_bounds


OPPOSITES = [
    (FRAUD, "Takeover", RuleBounds(), "fails"),
    (FRAUD, "Takeover", RuleBounds(capacity=2), "unknown"),  # for want of room
    (FRAUD, "Failed.user != Failed.user", RuleBounds(), "holds"),
    (DECLARED + COUNTS.format(">= 0", "$n"), "D.x > 3", RuleBounds(capacity=2), "holds-within-bounds"),  # 2 fit
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("text", "condition", "bounds", "outcome"), OPPOSITES)
def test_what_never_happens_is_what_cannot_happen(text, condition, bounds, outcome, jobs):
    """Asked together they are one question, and each has the verdict that it has when it is asked alone."""
    given = parse_rules(text, "asked")
    problems = [rule_problem(given, f"{each}({condition})", bounds, deepen=False) for each in ("never", "can")]
    never, can = (verdict for _, verdict in check_all(problems, jobs=jobs, ordered=True))
    for found, alone in ((never, problems[0].decide()), (can, problems[1].decide())):
        told = [
            {**each.to_json(), "engine": "", "seconds": 0, "cpu_seconds": 0, "depth": {}, "reached": []}
            for each in (found, alone)
        ]
        assert told[0] == told[1]
        assert str(found.vacuity) == str(alone.vacuity)
    assert (str(never.outcome), never.property) == (outcome, f"never({condition})")


def test_opposites_are_decided_once(monkeypatch):
    """So that the time for larger models cannot be over for one of them only."""
    given, begun = parse_rules(FRAUD, "fraud"), []
    decide = RuleProblem.decide

    def decided(problem):
        begun.append(problem.text)
        return decide(problem)

    monkeypatch.setattr(RuleProblem, "decide", decided)
    texts = ["never(Takeover)", "can(Failed)", "can(Takeover)", "never(Login)"]
    found = dict(check_all([rule_problem(given, text) for text in texts], jobs=1))
    assert begun == ["can(Takeover)", "can(Failed)", "never(Login)"]
    assert [str(verdict.outcome) for verdict in found.values()] == ["fails", "holds", "holds", "fails"]
    assert [problem.text for problem in found] == texts


@pytest.mark.parametrize("least", [3, 6])
def test_what_is_asked_of_composites_that_are_rare_has_a_type(least):
    """Where none comes with little room its attributes have no values; what they are compared with are some."""
    text = FRAUD.replace(">= 3", f">= {least}")
    assert asked(text, "never(Takeover.user = a)", "can(Takeover.user = a)") == [
        ("fails", least + 1), ("holds", least + 1),
    ]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("condition", "other", "steps"), [(">= 5", ">= 5", 6), ("<= 9", "<= 10", 11)])
def test_rules_that_differ_behind_a_count_are_told_apart(condition, other, steps):
    """As many as they count, and the trigger: also where one of them stops an event later than the other."""
    found = compared(COUNTS.format(condition, 1), COUNTS.format(other, 1 if condition != other else 2))
    assert (str(found.outcome), len(found.counterexample.steps)) == ("fails", steps)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("least", [20, 10**6])
def test_what_takes_more_than_there_is_time_for_is_vacuous(least):
    """Nothing says that a rule that counts to a million emits one thing or the other, whichever limit is met first."""
    settings = replace(WITH_TIME, grow=0.2)
    found = compared(*(COUNTS.format(f">= {least}", each) for each in (1, 2)), settings=settings)
    assert (found.outcome, found.exit_code) == (Outcome.UNKNOWN, 3)
    assert found.reason.startswith(("vacuous: no D comes (", "time limit of 0.2 s"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seconds", [0.05, 0.5, 1.5])
def test_a_limit_of_time_leaves_no_verdict_on_nothing(seconds):
    """Wherever the time ends: in the first model, in a larger one, or while it is asked whether anything happens."""
    settings = replace(WITH_TIME, seconds=seconds)
    found = compared(*(COUNTS.format(">= 1000", each) for each in (1, 2)), settings=settings)
    assert (found.outcome, found.exit_code) == (Outcome.UNKNOWN, 3)
    assert found.reason


SILENT = "from T and last A(x > {}) within 1 from T emit D(x = {})"


def test_what_another_model_shows_is_not_denied():
    """Whether a rule fires is not known where the search of this model met a limit; it may fire in another one."""
    rules = parse_rules(DECLARED + SILENT.format(5, 1))
    verdict = replace(rule_problem(rules, "never(D)", RuleBounds(values={("A", "x"): [0, 1]})).decide(), vacuity=None)
    verdict = replace(verdict, outcome=Outcome.HOLDS)
    required = RequiredFiring.of_each([rules], ["rule 1"], WITH_TIME)
    question = GrowingQuestion(lambda _: verdict, RuleSubject(rules), required)
    assert question.vacuous(verdict, dict.fromkeys(required, Outcome.FAILS)).vacuity.never == "no D comes"
    assert question.vacuous(verdict).vacuity.never == "no D comes, as far as the model of this question was searched"


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        (RuleBounds(values={("A", "x"): [0, 1]}), "--values"),
        (RuleBounds(values={("A", "x"): [7]}), None),
    ],
)
def test_values_that_prevent_a_rule_are_named(bounds, told):
    """Of an x of 0 or 1 none is greater than 5; the rules are asked about with others, too."""
    found = compared(SILENT.format(5, 1), SILENT.format(5, 2), bounds=bounds)
    assert str(found.outcome) == ("unknown" if told else "fails")
    assert (found.vacuity and found.vacuity.bound) == told
    can, never = asked(DECLARED + SILENT.format(5, 1), "can(D)", "never(D)", bounds=bounds)
    assert (can[0], never[0]) == (("unknown", "unknown") if told else ("holds", "fails"))


@pytest.mark.parametrize("condition", ["A.x - T.x > 10", "A.x * T.x == 35", "A.x > 45, T.x > A.x"])
def test_values_are_those_that_conditions_ask_for(condition):
    """Rules compute with what they compare: differences, products, and what is greater than what is great."""
    text = f"{DECLARED}from T and last A within 1 from T where {condition} emit D(x = 1)"
    assert asked(text, "can(D)", "never(D)") == [("holds", 2), ("fails", 2)]


@pytest.mark.parametrize(("condition", "steps"), [("$a - $b > 20", 3), ("$b - $a < -20", 3), ("$a + $b < 3", 2)])
def test_values_are_as_far_apart_as_what_is_computed_asks_for(condition, steps):
    """Two of A that are 21 apart, and the trigger; or one of 1 or less: in the first model, whatever its room."""
    text = f"""{DECLARED}from T and $a = MAX(A.x within 10 from T) and $b = MIN(A.x within 10 from T)
    where {condition} emit D(x = 1)"""
    assert asked(text, "can(D)", "never(D)", deepen=False) == [("holds", steps), ("fails", steps)]


@pytest.mark.parametrize(
    ("condition", "values", "said"),
    [
        ("$a - $b > 20", range(19, 22), "--values prevents it"),  # of 19 to 21 none are so far apart, of others some
        ("$a - $b < 0", range(3), "may be why"),  # no values are, and no room helps
    ],
)
def test_a_bound_prevents_only_what_happens_without_it(condition, values, said):
    text = f"""{DECLARED}from T and $a = MAX(A.x within 10 from T) and $b = MIN(A.x within 10 from T)
    where {condition} emit D(x = 1)"""
    bounds = RuleBounds(capacity=2, values={("A", "x"): values})
    verdict = rule_problem(parse_rules(text, "asked"), "never(D)", bounds, deepen=False).decide()
    assert verdict.outcome is Outcome.UNKNOWN
    assert str(verdict.vacuity).endswith(f"{said})")


def test_the_order_of_events_is_asked_of_models_in_which_rules_fire():
    """Five events, and whether a B is before the last of them: with room for four nothing would be said of it."""
    text = f"""{DECLARED}rule one: from A as T and $n = COUNT(A within 10 from T) where $n >= 5 emit D(x = 1)
    rule two: from D as T and last B within 10 from T emit F(x = 1)"""
    found = r.order(RuleSubject(parse_rules(text, "ordered"), settings=replace(WITH_TIME, grow=30)))
    assert [each.answer for each in found if each.about == "simultaneous events"] == ["depends"]


@pytest.mark.parametrize("soft", [True, False])
def test_a_run_that_was_found_has_time_to_be_shown(monkeypatch, soft):
    """Where the time for larger models is over when it is found; a limit that people give stays what it is."""
    left, limit = list[float](), Budget(600, soft=soft)
    asked, decode = check._query_engines, replay.decode

    def ask(*given):
        found = asked(*given)
        limit.deadline = time.monotonic() + 0.5
        return found

    def show(*given):
        left.append(remaining().seconds or 0.0)
        return decode(*given)

    monkeypatch.setattr(check, "_query_engines", ask)
    monkeypatch.setattr(replay, "decode", show)
    with suppress(LimitMet), limit:
        rule_problem(parse_rules(DECLARED + "from A emit D(x = 1)", "asked"), "never(D)", deepen=False).decide()
    assert (left[0] > 1) is soft


def test_what_computing_leaves_open_is_vacuous():
    """No whole number has the square 122; that the values of a model have not says nothing of that."""
    text = DECLARED + "from T where T.x * T.x == 122 emit D(x = 1)"
    verdict = rule_problem(parse_rules(text, "square"), "never(D)").decide()
    assert (verdict.outcome, verdict.vacuity.bound.startswith("A.x is 0..0")) == (Outcome.UNKNOWN, True)


def test_what_no_bound_prevents_never_happens():
    """A rule that contradicts itself: `never` holds; a comparison of two such holds for want of cases."""
    odd = "from T(x > 3, x < 3) emit D(x = {})"
    assert asked(DECLARED + odd.format(1), "never(D)", "can(D)") == [("holds", None), ("fails", None)]
    found = compared(odd.format(1), odd.format(2))
    assert (found.words, found.explanation, found.exit_code) == ("holds vacuously", "no D comes", 0)


@pytest.mark.slow
def test_analyses_say_nothing_of_rules_that_do_not_fire():
    """With room for two a rule that counts to three is neither known to fire, nor to compete, nor to cover another."""
    text = DECLARED + "".join(
        f"rule r{n}: from T and each A as O within 2 from T and $n = COUNT(A within 2 from T) where $n >= 3 "
        f"emit D(x = {n}) consuming O\n"
        for n in (1, 1)
    ).replace("r1", "r2", 1)
    given = parse_rules(text, "asked")
    for question in (r.fires, r.covers, r.competition):
        found = question(RuleSubject(given, RuleBounds(capacity=2), deepen=False))
        assert {(each.answer, each.decided) for each in found} == {("unknown", False)}
        assert all("vacuous" in each.says for each in found)
    assert {each.answer for each in r.fires(RuleSubject(given))} == {"fires"}


def test_what_rules_need():
    """Counts, predicates, the trigger that is kept itself, and as often as others need what a rule emits."""
    text = """rule one: from T and $n = COUNT(A within 2 from T) and each A(x > 1) within 2 from T where $n > 3
    emit D(x = 1)
    rule two: from D and $n = COUNT(D(x > 0) within 2 from D) where 3 <= $n emit E(x = 1)
    rule three: from T and each B as O within 2 from T emit F(x = 1) consuming O
    rule four: from T and last F as P within 1 from T and $n = COUNT(F within 1 from T) where $n < 9, $n == 2
    emit E(x = 2)
    rule five: from B as Now and absent A within 1 after Now emit F(x = 2)"""
    given = parse_rules(DECLARED + text, "needing")
    assert needs(given) == {"A": 5, "D": 5, "B": 11, "F": 11, "absent_five": 11}
    assert chain_needed(given) == 1


def test_chains_are_as_long_as_types_need():
    """Six rules in a circle: the last is six composites behind what comes from outside."""
    names = [f"C{number}" for number in range(7)]
    pairs = zip(names, names[1:] + names[1:2], strict=True)
    text = "".join(f"declare {name}(x: int)\n" for name in names)
    text += "".join(f"from {one}({one[1:]} >= 0) emit {other}(x = 1)\n" for one, other in pairs).replace(
        "C6(6", "C6(-6"
    )
    assert asked(text, "can(C6)", "never(C6)") == [("holds", 1), ("fails", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_rules_of_the_models_fire_or_it_is_said_what_prevents_it(name):
    """Each question has its own time, so a slow machine may decide one of the two only."""
    given, settings = load_rules(str(MODELS[name])), replace(WITH_TIME, grow=3.0, seconds=20)
    bounds = RuleBounds(any_facts=FACTS.get(name, {}))
    for type in given.composites:
        can, never = (rule_problem(given, f"{one}({type})", bounds, settings).decide() for one in ("can", "never"))
        decided = [each.outcome for each in (can, never) if each.outcome is not Outcome.UNKNOWN]
        assert len(set(decided)) == len(decided)
        assert all(each.vacuity.bound for each in (can, never) if each.outcome is Outcome.UNKNOWN)


@given(st.integers(0, 2**32))
@examples(4, deadline=None)
def test_nothing_is_said_of_random_rules_that_a_stream_refutes(seed):
    """`can` and `never` have one answer; neither denies a stream; what emits something else is never the same."""
    settings, asked = replace(WITH_TIME, grow=0.3, seconds=scaled(2, 5)), counting_rules(random.Random(seed))
    firing = fired(asked)
    for rule in asked.rules:
        try:
            can, never = (
                str(rule_problem(asked, f"{one}({rule.emits})", None, settings).decide().outcome)
                for one in ("can", "never")
            )
            same = rule_comparison(asked, another(asked, rule), None, settings).decide()
        except Refused:
            continue
        assert (can, never) in (("holds", "fails"), ("unknown", "unknown"), ("fails", "holds")) or "unknown" in (
            can,
            never,
        )
        assert never not in ("holds", "holds-within-bounds") or rule.name not in firing
        assert same.outcome in (Outcome.FAILS, Outcome.UNKNOWN) or (rule.name not in firing and same.vacuity)


@pytest.mark.parametrize(
    "rule",
    [
        "from A[$x = x] and last B(x == $x) within 1 min from A where $x == 1 and $x == 2 emit C(x = $x)",
        "from A and last B(x > 5, x < 4) within 1 min from A emit C(x = B.x)",
        "from A(x > 5, x < 4) and $n = COUNT(B() within 1 min from A) where $n > 2 emit C(x = $n)",
        "from A[$x = x] and not B(x == $x) within 1 min from A where $x > 3 and $x < 2 emit C(x = $x)",
    ],
)
def test_conditions_that_exclude_each_other_need_no_bound(rule: str) -> None:
    """No event satisfies them, however long windows and queues are: what is never emitted is known."""
    rules = parse_rules(f"declare A(x: int) declare B(x: int) declare C(x: int) rule r: {rule}", "r")
    assert str(rule_problem(rules, "can(C)").decide().outcome) == "fails"
    assert str(rule_problem(rules, "never(C)").decide().outcome) == "holds"


def test_conditions_of_what_must_not_come_exclude_nothing() -> None:
    text = "from A and not B(x > 5, x < 4) within 1 min from A emit C(x = 1)"
    rules = parse_rules(f"declare A(x: int) declare B(x: int) declare C(x: int) rule r: {text}", "r")
    assert str(rule_problem(rules, "can(C)").decide().outcome) == "holds"


TENS = "declare A(x: int, y: int) declare D(z: int) from A emit D(z = 10 * A.x + A.y)"


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [("D.z = 0", "fails"), ("D.z = 99", ""), ("D.z > 60", ""), ("D.z < 100", "fails"), ("D.z > 99", "within")],
)
def test_what_a_value_that_the_model_lacks_would_show_is_not_proved(monkeypatch, condition, outcome):
    """A hundred values are more than the model has; it ends where another one comes that the property reads."""
    monkeypatch.setattr(build, "MAX_EMITTED", 64)
    digits = list(range(10))
    bounds = RuleBounds(values={("A", "x"): digits, ("A", "y"): digits})
    verdict = rule_problem(parse_rules(TENS, "tens"), f"never({condition})", bounds, deepen=False).decide()
    expected = {
        "fails": {Outcome.FAILS}, "within": {Outcome.WITHIN_BOUNDS}, "": {Outcome.FAILS, Outcome.WITHIN_BOUNDS},
    }  # fmt: skip
    assert verdict.outcome in expected[outcome]
    assert verdict.counterexample is None or not verdict.counterexample.gap


def test_what_comes_at_the_end_of_a_long_chain_is_not_excluded():
    """From 0 to 20, each caused by the one before; the model follows chains of four."""
    text = "declare A(x: int) declare C(n: int) from A emit C(n = A.x) from C(n < 20) emit C(n = C.n + 1)"
    given, bounds = parse_rules(text, "chain"), RuleBounds(values={("A", "x"): [0, 1]})
    for condition in ("C.n > 15", "C.n = 20"):
        verdict = rule_problem(given, f"never({condition})", bounds, deepen=False).decide()
        assert verdict.outcome in (Outcome.WITHIN_BOUNDS, Outcome.UNKNOWN)


@pytest.mark.parametrize("condition", ["D.x = 7", "D.x > 6", "D.x != 1 and D.x = 9"])
def test_a_count_beyond_the_capacity_is_not_excluded(condition):
    """Seven A's make a 7; with capacity for two the model has none, and knows of no more than two."""
    text = DECLARED + COUNTS.format(">= 0", "$n")
    verdict = rule_problem(parse_rules(text, "asked"), f"never({condition})", RuleBounds(capacity=2), deepen=False)
    assert str(verdict.decide().outcome) == "holds-within-bounds"


TWO = (
    "rule often: from T and $n = COUNT(A within 10 from T) where $n {} emit D(x = 1)\nrule each: from B emit E(x = {})"
)


@pytest.mark.parametrize("capacity", [3, None])
def test_a_comparison_is_about_each_rule_that_differs(capacity):
    """Each rule differs in the text only; of the one that counts to four nothing is known with capacity for three."""
    sides = [TWO.format(">= 4", "B.x + 0"), TWO.format("> 3", "B.x")]
    found = compared(*sides, bounds=RuleBounds(capacity=capacity), deepen=capacity is None)
    if capacity is None:
        assert (found.outcome, found.vacuity) == (Outcome.WITHIN_BOUNDS, None)
    else:
        assert (found.outcome, found.exit_code) == (Outcome.UNKNOWN, 3)
        assert found.vacuity.never == "no D comes"
        assert found.vacuity.bound.startswith("Q = 3 of ")


def test_a_rule_that_fires_in_one_of_two_rule_sets_only_is_named_with_it():
    """The names of the two rules are exchanged, so that each fires on one side; the other of that name needs nine."""
    left = f"rule one: from B emit D(x = 1)\nrule two: {COUNTS.format('>= 9', 2)}"
    right = left.replace("one:", "three:").replace("two:", "one:").replace("three:", "two:")
    found = compared(left, right, bounds=RuleBounds(capacity=2), deepen=False)
    assert (found.outcome, found.exit_code) == (Outcome.UNKNOWN, 3)
    assert found.vacuity.never == "two never fires in one and one never fires in two"


def test_a_rule_that_never_fires_is_no_lack_of_a_comparison():
    """What contradicts itself is settled for all bounds, and the others are compared."""
    odd = "\nrule odd: from T(x > 3, x < {}) emit F(x = 1)"
    found = compared(*(TWO.format(">= 2", x) + odd.format(n) for x, n in (("B.x + 0", 3), ("B.x", 2))))
    assert found.outcome.is_proved
    assert found.vacuity is None


def test_a_property_is_about_each_rule_that_emits_what_it_mentions():
    """One of them counts to four, with capacity for three; that the type comes at all is another question."""
    text = DECLARED + TWO.format(">= 4", "1").replace("emit E", "emit D")
    given, bounds = parse_rules(text, "asked"), RuleBounds(capacity=3)
    always, never = (rule_problem(given, each, bounds, deepen=False) for each in ("always (D.x = 1)", "never(D)"))
    found = always.decide()
    assert (found.outcome, found.vacuity.never) == (Outcome.UNKNOWN, "often never fires")
    assert never.decide().outcome is Outcome.FAILS
    assert str(rule_problem(given, "always (D.x = 1)").decide().outcome) == "holds-within-bounds"


@pytest.mark.parametrize(
    ("text", "condition", "shown"),
    [
        (TENS, "A.x = 9 and D.present", lambda x, y: 10 * x + y),
        (TENS.replace("10 * A.x", "10000 * A.x"), "A.x = 9 and D.present", lambda x, y: str(10000 * x + y)),  # by name
        (TENS.replace("A.y", "A.y + 0.5").replace("z: int", "z: float"), "A.x > 8 and D.present",
         lambda x, y: str(10 * x + y + 0.5)),
    ],
)  # fmt: skip
def test_a_run_shows_the_values_of_the_rules_where_the_model_has_none(text, condition, shown):
    """The model has the first of a hundred values; the property sees whether a D comes, not which."""
    digits = list(range(10))
    bounds = RuleBounds(values={("A", "x"): digits, ("A", "y"): digits})
    verdict = rule_problem(parse_rules(text, "tens"), f"can({condition})", bounds, deepen=False).decide()
    (step,) = verdict.counterexample.steps
    assert verdict.counterexample.replay == "confirmed by execution"
    value = shown(*step.inputs["A"])
    assert step.pipes["tens_D"] == (value,)
    assert verdict.to_json()["trace"]["steps"][0]["pipes"]["tens_D"] == {"z": value}
    assert f"z: {value}}}" in block(verdict)


def test_a_run_shows_what_becomes_of_values_that_the_model_lacks():
    """A D stays in its column for the next A, at which an E tells of it: what the rules compute is shown of both."""
    text = TENS + " declare E(n: int) from A and last D within 5 from A emit E(n = D.z)"
    digits = list(range(10))
    bounds = RuleBounds(values={("A", "x"): digits, ("A", "y"): digits})
    verdict = rule_problem(parse_rules(text, "tens"), "can(A.x = 9 and E.present)", bounds, deepen=False).decide()
    run = verdict.counterexample
    sums = [10 * x + y for x, y in (step.inputs["A"] for step in run.steps)]
    assert run.replay == "confirmed by execution"
    assert [step.pipes["tens_D"] for step in run.steps] == [[(each,)] for each in sums]
    assert [step.pipes["tens_E"] for step in run.steps] == [None, [(sums[0],)]]
    assert [[*step.contents["tens.D"]] for step in run.steps] == [[(0, each)] for each in sums]
