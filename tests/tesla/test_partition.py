"""Which rule sets can be split by a key, and that nothing is lost where they can."""

import random
from dataclasses import replace

import pytest

from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.conformance.generate.rule_cases import RuleCase, random_case
from workbench.core.domain import Value
from workbench.core.floats import as_float
from workbench.errors import InputError, LanguageError, Refused
from workbench.tesla import tree as t
from workbench.tesla.check import check_rule_set, parse_rules
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.engines.partial_run import PartialRun
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.partition import rule_partition

TYPES = """
declare A(x: int, y: int)
declare B(x: int, f: float)
declare P(x: int, f: float)
declare Q(y: int)
declare fact F(x: int, y: int)
"""
SPLIT = {
    "from A and each B(x == A.x) within 1 from A emit P(x = A.x, f = 0.0)": {"A": "x", "B": "x"},
    "from A[$a = y] and each B[$b = f](x == $a) within 1 from A and not B(f == $b, x == A.y) within 1 from B"
    " emit P(x = 0, f = 0.0)": {"A": "y", "B": "x"},
    # through another part, a fact, or a literal, and within an `and`
    "from A and last B(x == A.y) as L within 1 from A and $n = COUNT(B(L.x == x) within 1 from A) emit Q(y = $n)":
        {"A": "y", "B": "x"},
    "from A and each F(x == A.y) and each B(F.x == x and f > 1.0) within 1 from A emit Q(y = F.y)":
        {"A": "y", "B": "x"},
    "from A(x == 5) and absent B(x == 5) within 1 after A emit Q(y = 5)": {"A": "x", "B": "x"},
    # a rule of one part may be anywhere, but for what others ask of what it emits, and for silence
    "from A emit Q(y = 1)": {},
    "from A emit Q(y = 1) at most once in 5 per A.x + 1, A.y": {"A": "y"},
    "from A emit P(x = 1, f = A.y) from P and each B(f == P.f) within 1 from P emit Q(y = 1)":
        {"P": "f", "B": "f", "A": "y"},
    "from A and each P as O within 1 from A where O.x == A.x emit Q(y = 1)": "`each P as O within 1 from A` n",
    "from A and each B(x == A.x) within 1 from A where A.y == A.x emit P(x = A.y, f = 1.0)"
    " from P and each B(x == P.x) within 1 from P emit Q(y = 1)": {"A": "x", "B": "x", "P": "x"},
    # two that fit one type: what another rule asks for decides
    "from A and each B(x == A.x, x == A.y) within 1 from A emit Q(y = 1)"
    " from A emit Q(y = 2) at most once in 5 per A.y":
        {"A": "y", "B": "x"},
    # what is not there says nothing of the trigger
    "from A and not B(x == A.x, A.x == A.y) within 1 from A emit P(x = A.y, f = 1.0)"
    " at most once in 1 per A.x from P and not B(x == P.x) within 1 from P emit Q(y = 1)":
        "rule 'rule 1': `at most once in 1` needs A by x, and the part before it needs it by y",
    # what is no equation of what is there when a candidate is taken
    "from A and each B within 1 from A where B.x == A.x emit Q(y = 1)": "as in (x == A.x)",
    "from A and each B(x == A.x or f > 0.0) within 1 from A emit Q(y = 1)": "needs an equation with an attribute of",
    "from A and each B(x == A.x + 0) within 1 from A emit Q(y = 1)": "needs an equation with an attribute of",
    "from A and not B(x == A.x) within 1 from A and last B(x > 0) within 1 from A emit Q(y = 1)": "`last B(x > 0) with",
    "from A and each A(y == A.x) as Z within 1 from A emit Q(y = 1)": "on the same attribute, as in (x == A.x)",
    "from A and each B(x == A.x) within 1 from A emit P(x = 0, f = 0.0) from P and not B(x == P.x) within 1 from P"
    " emit Q(y = 1)":
        "rule 'rule 1': P, which others are joined with, has no attribute of its trigger A",
    "from A and each B(x == A.x) within 9 events from A emit Q(y = 1)": "counts the events of all keys",
    "from A emit Q(y = A.y) at most once in 5": "rule 'rule 1': `at most once in 5` is for all keys together",
    "from A and each B(x == A.x) within 1 from A emit Q(y = 1)"
    " from A and each B(x == A.y) within 1 from A emit Q(y = 2)":
        "rule 'rule 2': `each B(x == A.y) within 1 from A` needs A by y, and the part before it needs it by x",
}  # fmt: skip


def test_by_what_rules_can_be_split():
    for text, wanted in SPLIT.items():
        found = rule_partition(parse_rules(TYPES + text))
        if isinstance(wanted, str):
            assert wanted in "; ".join(found.reasons), (text, found)
            assert not found.keys
        else:
            assert found.keys == wanted, (text, found)
            assert not found.reasons
    with pytest.raises(Refused, match=r"Spark has no use for it: rule 'rule 1': `each B.*\(and 1 more\)"):
        rule_partition(parse_rules(TYPES + "from A and each B within 1 from A emit Q(y = 1) at most once in 5")).see(
            "Spark has no use for it"
        )


def key_value(value: Value | None) -> Value | None:
    """What keys that are equal have in common: a whole number is the float it is rounded to, as in what is emitted.

    Other keys may share it. NaN is null here, which is the same as null for `at most once ... per`.
    """
    if isinstance(value, bool | str) or value is None:
        return value
    found = as_float(value) + 0.0  # which makes 0.0 of -0.0
    return found if found == found else None


def test_keys_that_are_equal_are_one():
    equal = [(1, 1.0), (0.0, -0.0), (2**53 + 1, float(2**53)), (2**1100, float("inf")), (float("nan"), None)]
    for one, other in equal:
        assert str(key_value(one)) == str(key_value(other))
    assert key_value(True) is True


# --- nothing is lost ----------------------------------------------------------------------------------------


def joined(case: RuleCase, chance: random.Random) -> RuleCase | None:
    """The same where most parts are joined with the trigger, and most composites have what joins."""
    declared = case.rules.declarations

    def one(type: str) -> str | None:
        return chance.choice([name for name in declared[type].domains if name in ("x", "f")] or [None])

    def join(part: t.Predicate | t.Aggregate, trigger: t.Predicate, key: str | None) -> t.Predicate | t.Aggregate:
        own = one(part.type)
        if declared[part.type].fact or own is None or key is None or chance.random() < 0.03:
            return part
        joins = t.Operation("==", (t.OwnAttribute(own), t.OtherAttribute(trigger.name, key)))
        return replace(part, constraints=(*part.constraints, joins))

    found = []
    for rule in case.rules.rules:
        key = one(rule.trigger.type)
        value = t.OtherAttribute(rule.trigger.name, key or "")
        fitting = [n for n in declared[rule.emits].domains if n == "f" or n == key == "x"]
        fitting = fitting if rule.emits != rule.trigger.type else []  # such a rule counts up to an end
        carries = chance.choice(fitting) if fitting and key and chance.random() < 0.95 else ""
        found.append(replace(
            rule, predicates=tuple(join(part, rule.trigger, key) for part in rule.predicates),
            evaluations=tuple(replace(e, value=value) if e.name == carries else e for e in rule.evaluations),
            per=(*rule.per, value) if rule.pause is not None and key is not None else rule.per,
        ))  # fmt: skip
    try:
        return replace(case, rules=check_rule_set(t.RuleFile(tuple(declared.values()), tuple(found)), "joined"))
    except LanguageError:  # two parts are called the same, and neither can be named
        return None


def split(case: RuleCase, chance: random.Random) -> list[tuple[bytes, Occurrence]] | None:
    """What runs of each key tell, in order; None where the rules cannot be split."""
    found = rule_partition(case.rules)
    if found.reasons:
        return None
    runs: dict[object, PartialRun] = {}
    made = []
    settings = EngineSettings(trex=case.trex)
    for number, event in enumerate(case.events):
        values = dict(zip(case.rules.declarations[event.type].positions, event.values, strict=True))
        name = found.keys.get(event.type)
        key = chance.choice([None, 1.0]) if name is None else key_value(values[name])
        if key not in runs:
            runs[key] = PartialRun(rule_engine(case.rules, "cdp", case.facts, settings))
        made += runs[key].process(event, number.to_bytes(4))
    for run in runs.values():
        made += run.advance(case.events[-1].time - 1) + (run.advance(case.until) if case.until is not None else [])
    return sorted(made, key=lambda each: each[0])


def told(seed: int) -> str:
    """What becomes of a case: whether it is split, has composites."""
    chance = random.Random(seed)
    case = joined(random_case(seed), chance)
    if case is None or not case.events:
        return "none"
    engine = rule_engine(case.rules, "cdp", case.facts, EngineSettings(trex=case.trex))
    try:
        whole = [each for event in case.events for each in engine.process(event)]
        whole += engine.advance(case.until) if case.until is not None else []
    except InputError:
        return "endless"
    parts = split(case, chance)
    if parts is None:
        return "refused"
    plain = [replace(each, number=0, sources=()) for each in whole]
    single = [replace(each, number=0, sources=()) for _, each in parts]
    assert len(plain) == len(single), (seed, str(case.rules), plain, single)
    assert all(map(same_occurrence, plain, single)), (seed, str(case.rules), case.events, plain, single)
    return "split" if plain else "silent"


def test_runs_of_each_key_tell_what_one_run_tells():
    found = [told(seed) for seed in range(250)]
    assert found.count("split") > 25
    assert found.count("refused") > 10


def test_deadlines_of_one_time_come_in_the_order_of_one_run():
    """Worked by hand: 2 and 1 are triggers in this order; what 2 brings about at once comes before the deadline of 1.

    At 5 the rule `slow` is judged for 2, then for 1, by the order of their triggers. The composite of 2 triggers
    `quick`, whose deadline is 5, too, and which is the first of the rules: it is told before the composite of 1.
    """
    text = """
    declare A(x: int) declare P(x: int) declare Q(x: int)
    rule quick: from P as S and absent A(x == S.x) within 0 after S emit Q(x = S.x)
    rule slow: from A as S and absent A(x == S.x) as Z within 5 after S emit P(x = S.x)
    """
    case = RuleCase(parse_rules(text), [Occurrence("A", time, (x,)) for time, x in [(0, 2), (0, 1), (9, 3)]])
    parts = split(case, random.Random(0))
    engine = rule_engine(case.rules)
    whole = [each for event in case.events for each in engine.process(event)]
    for found in (whole, [each for _, each in parts or []]):
        assert [(each.type, *each.values) for each in found] == [("P", 2), ("Q", 2), ("P", 1), ("Q", 1)]


def test_the_name_of_a_trigger_is_not_that_of_a_part_called_like_it():
    text = "declare A(k: int) declare B(k: int) from A() and not A(k == A.k) within 5 from A emit B(k = A.k)"
    assert rule_partition(parse_rules(text)).keys == {"A": "k"}
