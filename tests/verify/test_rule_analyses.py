"""Questions about rule sets: answers that can be argued by hand, on streams that `meaning` and the engines confirm."""

import itertools
import random
from dataclasses import replace

import pytest

from workbench.budget import Budget
from workbench.cli.analyse_report import section
from workbench.core.domain import Enum, Range
from workbench.core.processor import NOTHING, event, events_of
from workbench.errors import Refused
from workbench.tesla.check import load_rules, parse_rules
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.model.swap import SwappedEvents
from workbench.verify import rules as r
from workbench.verify.analysis import analyses
from workbench.verify.answer.verdict import Outcome
from workbench.verify.finding import Finding, findings_in_turn
from workbench.verify.rules.problems import rule_problem
from workbench.verify.rules.rule_subject import WITH_TIME, RuleSubject

DECLARED = "declare A(x: int)\ndeclare B(x: int)\ndeclare C(x: int)\ndeclare D(x: int)\n"
EACH = "rule each_one: from B[$x = x] and each A(x == $x) within 2 from B emit C(x = $x)\n"
LAST = "rule last_one: from B[$x = x] and last A(x == $x) within 2 from B emit C(x = $x)\n"


def found(question, text, **options):
    """Of each part the answer, and how many events the shortest stream has that shows it."""
    answers = {}
    for each in question(RuleSubject(parse_rules(DECLARED + text, "asked"), **options)):
        assert each.decided
        assert all(stream.confirmed == ("meaning", "cdp", "aip", "compiled") for stream in each.runs.values())
        lengths = {len(stream.steps) for stream in each.runs.values()}
        answers[each.about] = (each.answer, *lengths)
    return answers


def test_a_rule_that_asks_for_what_cannot_be_never_fires():
    """The other needs an A and a B; of the last A alone, within a window of the trigger, no column overflows."""
    never = "rule odd: from B and last A(x > 1, x < 1) within 2 from B emit D(x = 0)\n"
    assert found(r.fires, LAST + never) == {"last_one": ("fires", 2), "odd": ("never",), "D": ("never",)}


def test_rules_are_asked_about_with_what_they_depend_on():
    """A rule needs those that emit what it looks at; a stream is shown with what all rules make of it."""
    text = "from D emit C(x = 1)\nfrom B and last A(x > 9) within 2 from B emit D(x = 0)\nfrom B(x > 5) emit E()"
    given = parse_rules(DECLARED + "declare E()\n" + text, "asked")
    kept = {name: RuleSubject(given).about([name]).rules for name in given.rule_names}
    assert {name: each.rule_names for name, each in kept.items()} == {
        "rule 1": ("rule 1", "rule 2"), "rule 2": ("rule 2",), "rule 3": ("rule 3",),
    }  # fmt: skip
    assert [kept[name].primitives for name in given.rule_names] == [("A", "B"), ("A", "B"), ("B",)]
    last = next(each for each in r.fires(RuleSubject(given)) if each.about == "rule 2")
    assert [each.type for each in last.runs[""].meant] == ["D", "C"]
    counted = parse_rules(
        DECLARED + text.replace("emit E()", "emit C(x = 2)").replace("within 2 from", "within 2 events from")
    )
    assert RuleSubject(counted).about(["rule 3"]).rules is counted


def test_each_covers_last_and_last_does_not_cover_each():
    """Of two equal events `each` makes two composites; after one it makes the same as `last`."""
    same = LAST.replace("last_one", "same").replace("x == $x", "x == B.x")
    assert found(r.covers, EACH + LAST + same, deepen=False) == {
        "each_one, last_one": ("not covered", 3),
        "last_one, each_one": ("covered",),
        "each_one, same": ("not covered", 3),
        "same, each_one": ("covered",),
        "last_one, same": ("equal",),
    }


def test_long_pauses_are_times():
    """`1 .. 12` from B: an A that came between 1 and 12 ticks before; one pause of many ticks is a time, too."""
    (each,) = r.fires(
        RuleSubject(parse_rules(DECLARED + "from B and last A within 9 .. 12 from B emit C(x = 1)", "late"))
    )
    (stream,) = each.runs.values()
    assert stream.confirmed == ("meaning", "cdp", "aip", "compiled")
    assert 9 <= stream.events[1].time - stream.events[0].time <= 12


def test_what_says_nothing_new_can_be_dropped():
    """More than 1 is more than 0; an A of 1 or less and a B tell the rest from the rule."""
    text = """rule loose: from B and each A(x > 1, x > 0) within 2 from B where A.x != 0 emit C(x = A.x)
    rule counted: from B and $n = COUNT(A within 2 from B) and not D within 2 from B emit C(x = B.x)"""
    assert found(r.droppable, text, deepen=False) == {
        "loose, 'x > 1' of A": ("needed", 2),
        "loose, 'x > 0' of A": ("droppable",),
        "loose, 'where A.x != 0'": ("droppable",),
        "counted, '$n = COUNT(A within 2 from B)'": ("droppable",),
        "counted, 'not D within 2 from B'": ("needed", 2),
    }


def test_of_a_rule_that_never_fires_no_part_is_said_to_be_needed_or_not():
    """What contradicts itself never fires, nor what needs what only such a rule emits; the third fires."""
    text = """rule never: from B and last A(x > 2, x < 1) within 2 from B emit C(x = B.x)
    rule after: from C and last A(x > 1) within 2 from C emit D(x = C.x)
    rule fires: from B and last A(x > 1) within 2 from B emit D(x = B.x)"""
    answers = found(r.droppable, text, deepen=False)
    assert {name: answer for name, answer in answers.items() if not name.startswith("fires")} == {
        "never": ("never",),
        "after": ("never",),
    }
    assert answers["fires, 'x > 1' of A"] == ("needed", 2)


@pytest.mark.parametrize(("consumed", "answer"), [("A", ("compete", 3)), ("B", ("do not compete",))])
def test_triggers_compete_for_what_one_of_them_consumes(consumed, answer):
    """An A, and two triggers that want it; that a trigger is consumed takes nothing from another."""
    text = f"rule pairs: from B and last A(x == B.x) within 2 from B emit C(x = A.x) consuming {consumed}"
    assert found(r.competition, text, deepen=False) == {"pairs": answer}


def test_an_order_that_matters_is_found():
    """A B after an A finds it, before it not; a rule that looks at nothing but its trigger does not care."""
    assert found(r.order, EACH, deepen=False) == {"simultaneous events": ("depends", 2)}
    alone = "rule one: from A emit C(x = A.x)\nrule two: from B emit C(x = B.x)"
    assert found(r.order, alone) == {"one, two": ("does not depend",), "simultaneous events": ("does not depend",)}


def test_rules_that_count_depend_on_their_order():
    """RepA of the thesis counts 1, 2, 3 and with its rules exchanged 1, 2, 1, 2: three values tell them apart."""
    counts = load_rules("models/tesla/iteration.tesla")
    both = replace(counts, rules=counts.rules[:2])
    swapped, _ = r.order(RuleSubject(both, RuleBounds(capacity=4), deepen=False))
    one, other = swapped.runs.values()
    assert (swapped.about, swapped.answer, len(one.events)) == ("rule 1, rule 2", "depends", 3)
    assert one.differs_from(other)
    assert [each.values[0] for each in one.meant] == [1, 1, 2, 1, 3]
    assert [each.values[0] for each in other.meant] == [1, 2, 1, 2, 1]


@pytest.mark.parametrize(
    ("back", "values", "answer"),
    [
        ("D.n", [1], ("do not end", 1)),  # C and D by turns
        ("D.n - 1", [0, 1, 2], ("long", 1)),  # from 2: C, D, C, D, C
        ("D.n - 1", [0, 1], ("end",)),  # from 1: C, D, C
    ],
)
def test_cascades_are_followed(back, values, answer):
    """Chains of five composites; the engines follow one that does not end as far as a thousand."""
    text = f"""declare A(x: int) declare C(n: int) declare D(n: int)
    rule start: from A emit C(n = A.x)
    rule on: from C(n > 0) emit D(n = C.n)
    rule back: from D emit C(n = {back})"""
    (found,) = r.cascade(RuleSubject(parse_rules(text, "asked"), RuleBounds(values={("A", "x"): values})))
    assert (found.answer, *(len(each.steps) for each in found.runs.values())) == answer
    assert all(each.confirmed == ("meaning", "cdp", "aip", "compiled") for each in found.runs.values())
    assert all((each.meant is None) == (back == "D.n") for each in found.runs.values())


def test_a_limit_ends_one_part_and_the_others_are_told():
    """One has no end, and comes first; what it had found before is kept, and the next has its share of the time."""

    def endless():
        yield Finding("first", "yes", "before")
        while True:
            pass

    def none():
        raise Refused("no finite model")

    with Budget(0.4):
        told = findings_in_turn(
            [("endless", endless), ("none", none), ("quick", lambda: [Finding("quick", "yes", "after")])]
        )
    known = [("first", True), ("endless", False), ("none", False), ("quick", True)]
    assert [(each.about, each.decided) for each in told] == known
    with pytest.raises(Refused):
        findings_in_turn([("none", none)])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("given", "comes"), [(None, True), ([None], False), ([None, 7], True)])
def test_facts_nulls_and_counts_bound_models(given, comes):
    """Nine before the last event: models have as many. 7 is a value of the fact alone; null equals nothing."""
    text = """declare fact F(x: int) declare A(x: int) declare B(n: int)
    from A as Now and each F(x == Now.x) and $n = COUNT(A(x == F.x) within 2 from Now) where $n >= 9 emit B(n = 0)"""
    values = {} if given is None else {("A", "x"): given}
    patient = replace(WITH_TIME, grow=120) if comes else WITH_TIME  # other work on the machine decides nothing
    bounds = RuleBounds(facts={"F": [(7,)]}, values=values)
    verdict = rule_problem(parse_rules(text, "asked"), "can(B)", bounds, patient).decide()
    assert (verdict.outcome is Outcome.HOLDS) is comes


def test_events_are_exchanged_as_the_specification_says():
    """Whatever comes, one event at a step: `step` against `denote`."""
    chosen, types = random.Random(7), (Enum(("comes",)), Range(1, 2), Range(0, 3), Range(0, 3))
    processor = SwappedEvents(("elapsed", "A", "B")).specialise(types)
    swapped = 0
    for _ in range(300):
        places = chosen.choices(range(4), weights=(3, 1, 4, 4), k=7)
        came = [(place, chosen.choice(list(types[place].values()))) for place in places]
        fronts = [tuple(event(value) if i == place else NOTHING for i in range(4)) for place, value in came]
        state, outputs = processor.initial(), [[] for _ in range(processor.out_arity)]
        for front in fronts:
            state, made = processor.step(state, front)
            for output, each in zip(outputs, made, strict=True):
                output += events_of(each)
        assert tuple(outputs) == processor.denote((fronts,))
        swapped += outputs[-1] == [1, 2, 3]
        counts = [len(list(itertools.chain(*outputs[i : i + 3]))) for i in (0, 3)]
        assert counts[0] == counts[1] or outputs[-1] != [1, 2, 3]
    assert swapped > 10


def test_an_engine_that_refuses_rules_says_why_once():
    """Machine code has numbers of 64 bits; the others find both rules' composites."""
    text = "from A(x > 9223372036854775808) emit C(x = 1)\nfrom A(x > 9223372036854775808) emit D(x = 1)"
    given = parse_rules(DECLARED + text, "large")
    streams = [stream for each in r.fires(RuleSubject(given)) for stream in each.runs.values()]
    assert [each.confirmed for each in streams] == [("meaning", "cdp", "aip")] * 2
    said = {reason for each in streams for reason in each.unconfirmed.values()}
    assert len(said) == 1
    text = section(analyses("rules")["fires"], r.fires(RuleSubject(given))).text()
    assert text.count(f"- compiled: {said.pop()}") == 1
    assert streams[0].to_json()["unconfirmed"].keys() == {"compiled"}


def test_an_engine_that_finds_something_else_is_told(monkeypatch):
    """One that says nothing to anything."""
    (found,) = r.fires(RuleSubject(parse_rules(DECLARED + "from A emit C(x = 1)", "one")))
    (stream,) = found.runs.values()
    right = type(stream).caused
    monkeypatch.setattr(type(stream), "caused", lambda self, name="cdp": [] if name == "aip" else right(self, name))
    assert stream.confirmed == ("meaning", "cdp", "compiled")
    assert "DEFECT" in stream.unconfirmed["aip"]
