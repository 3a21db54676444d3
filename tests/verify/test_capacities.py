"""How much rules keep where events come at rates: as argued by hand, and no more on any stream."""

import random
from dataclasses import replace

import pytest

from workbench.core.processor import events_of
from workbench.errors import InputError, Overflow
from workbench.tesla.check import load_rules, parse_rules
from workbench.tesla.meaning import meaning
from workbench.tesla.model.build import RuleBounds, build_models
from workbench.tesla.model.rates import RuleRate
from workbench.verify import rules as r
from workbench.verify.rules.measurement import MeasuredRules
from workbench.verify.rules.problems import rule_comparison, rule_problem
from workbench.verify.rules.rule_subject import WITH_TIME, RuleSubject
from workbench.verify.rules.stream import find_modelled

DECLARED = "declare A(x: int)\ndeclare B(x: int)\ndeclare C(x: int)\ndeclare D(x: int)\n"
EACH = "rule each_one: from B and each A within 4 from B emit C(x = A.x)\n"
EXPLICIT = replace(WITH_TIME, engine="explicit")
CASES = {
    # at 0, 0, 3, 3 come A's that are 4 ticks old at most at 4; each is a match
    "each": (EACH, {"A": (2, 3), "B": (1, 1)}, {"A": 4, "one B": 4}),
    # equal A's count once: of two values the newest ones are kept, and one of them is found
    "newest": (
        "from B and last A(x == B.x) within 9 from B emit C(x = A.x)",
        {"A": (1, 1), "B": (1, 1)},
        {"A": 2, "one B": 1},
    ),
    # two of any three B's find an A, at 0 and at 1, though counting alone says three; the next A comes at 3
    "caused": (
        "from B and each A within 1 from B emit C(x = 1)\nfrom A and each C within 2 from A emit D(x = 1)",
        {"A": (1, 3), "B": (1, 1)},
        {"A": 1, "C": 2, "one A": 1, "one B": 1},
    ),
    # a B is one or the other
    "told apart": ("from B(x == 0) emit C(x = 1)\nfrom B(x > 0) emit C(x = 2)", {"B": (1, 1)}, {"one B": 1}),
    # two in two ticks: beside the trigger one more
    "others": ("from A and each A as Other within 1 from A emit C(x = 1)", {"A": (2, 2)}, {"A": 2, "one A": 1}),
    # the first of five matches silences it
    "paused": (
        "from B and each A within 4 from B emit C(x = 1) at most once in 2 per B.x",
        {"A": (1, 1), "B": (1, 1)},
        {"A": 5, "one B": 1},
    ),
    # of the last three events, of any type
    "counted": ("from B and each A within 3 events from B limit 2 emit C(x = 1)", {}, {"A": 3, "one B": 2}),
    # those that began 2 ticks ago still wait, for what comes at their deadline counts
    "waiting": (
        "rule late: from A as Start and absent B within 2 after Start emit C(x = 1)",
        {"A": (1, 1), "B": (1, 1)},
        {"absent_late": 3, "a moment": 1},
    ),
    # the C of 3 comes when it is 4: it finds those of 1 and 2, of which the first is too old at 4
    "told late": (
        "rule one: from A as Start and absent B within 1 after Start emit C(x = 1)\n"
        "from C and each C as Other within 2 from C limit 1 emit D(x = 1)",
        {"A": (1, 1), "B": (1, 1)},
        {"C": 3, "absent_one": 2, "a moment": 2},
    ),
    # of each of two values, what is told at 1 and at 3, for what comes at 1 would be no silence
    "again": (
        "rule late: from A as Start and absent A(x == Start.x) within 1 after Start emit C(x = 1)\n"
        "from C and each C as Other within 2 from C limit 1 emit D(x = 1)",
        {},
        {"C": 4, "absent_late": 2, "a moment": 4},
    ),
    # a C pushes the A before it out of the last two; one that comes twice causes none the second time, and both stay
    "pushed out": (
        "from A as Now and not A(x == Now.x) within 2 events from Now emit C(x = 1)",
        {"A": (1, 1)},
        {"A": 2, "one A": 1},
    ),
    # C finds the B that causes it, which nothing asks for behind the D
    "in passing": (
        "from A emit B(x = 1)\nfrom B emit C(x = 1)\nfrom C and last B within 1 events from C emit D(x = 1)",
        {"A": (1, 1)},
        {"B": 1, "one A": 3},
    ),
}


def asked(text, *options, **named):
    return RuleSubject(parse_rules(DECLARED + text, "asked"), *options, **named)


def rated(rates):
    return RuleBounds(rates={name: RuleRate(each[0], each[1], united=False) for name, each in rates.items()})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_capacities_are_the_least_that_are_enough(case):
    """On both sides: as argued by hand; and random streams that keep the rates hold, and cause, no more."""
    text, rates, expected = CASES[case]
    rule_set, bounds = parse_rules(DECLARED + text, "asked"), rated(rates)
    found = {
        each.about.removeprefix("asked."): each
        for ask in (r.capacities, r.effects)
        for each in ask(RuleSubject(rule_set, bounds, EXPLICIT))
    }
    assert {name: each.to_json()["capacity"] for name, each in found.items()} == expected
    for name, each in found.items():
        (stream,) = each.runs.values()
        assert stream.confirmed == ("meaning", "cdp", "aip", "compiled")
        if name.startswith("one"):
            assert len(stream.caused()[-1]) == expected[name] == len(told_last(stream))
        assert name not in rates or name not in rule_set.primitives or keeps(stream, name, *rates[name])
    model = MeasuredRules(find_modelled(*build_models([rule_set], bounds))).model
    model = model.with_capacities({name: expected.get(name, 50) for name in model.capacities})
    chosen = random.Random(1)
    for _ in range(100):
        caused = random_run(model, chosen)
        assert all(caused[name] <= expected.get(name, 50) for name in caused)


def told_last(stream):
    """What is meant of the last event alone."""
    before = meaning(stream.rules, stream.events[:-1], stream.facts)
    return stream.meant[len(list(before)) :]


def keeps(stream, type, most, time):
    times = [each.time for each in stream.events if each.type == type]
    return all(later - one >= time for one, later in zip(times, times[most:], strict=False))


def random_run(model, chosen):
    """The most that an event of each type causes, on a stream that keeps the rates; or more than a column holds."""
    state, now, times, caused = model.initial(), 0, {}, {}
    for _ in range(14):
        name = chosen.choice([*model.fed, "elapsed"])
        before, rate = times.setdefault(name, []), model.frame.rates.get(name)
        if name == "elapsed" or (
            rate and len(before) >= rate.max_events and before[-rate.max_events] + rate.ticks > now
        ):
            name, given = "elapsed", 1
            now += given
        else:
            given = chosen.choice(list(model.shapes[model.ports.index(name)].values()))
            before.append(now)
        try:
            state, made = model.step(state, (model.ports.index(name), given))
        except Overflow as full:
            caused[full.queue] = model.frame.capacities.get(full.queue, 0) + 1
            break
        about = "a moment" if name == "elapsed" else f"one {name}"
        caused[about] = max(caused.get(about, 0), len(events_of(made[model.results_named.index("all")])))
    return caused


def test_without_a_rate_columns_grow_and_what_grows_is_shown():
    """The clock may stand still: each further A is kept and found, each further B is told of once more."""
    text = EACH + "rule again: from D and each C within 1 from D limit 1 emit D(x = 2)\n"
    found = {each.about: each for ask in (r.capacities, r.effects) for each in ask(asked(text))}
    assert {name: each.answer for name, each in found.items() if name != "one D"} == dict.fromkeys(
        ["asked.A", "asked.C", "one B"], "unbounded"
    )
    (stream,) = found["one B"].runs.values()
    assert stream.confirmed == ("meaning", "cdp", "aip", "compiled")
    assert len(stream.caused()[-1]) > 4


def test_rules_bound_what_they_make():
    """No rate bounds what a rule makes that stops when there are three; the model proves it."""
    text = "rule pairs: from A as Now and $n = COUNT(C within 3 from Now) where $n < 3 emit C(x = 1)\n"
    (each,) = r.capacities(asked(text, settings=EXPLICIT))
    assert (each.decided, each.to_json()["capacity"]) == (True, 3)


def test_what_asks_for_more_than_comes_makes_nothing():
    """Three A's at most within two ticks."""
    text = "from B and $n = COUNT(A within 2 from B) where $n > 3 emit C(x = 1)\n"
    (each,) = r.effects(asked(text, rated({"A": (1, 1)}), EXPLICIT))
    assert (each.decided, each.to_json()["capacity"]) == (True, 0)


def test_a_round_of_events_that_comes_again_makes_a_column_grow():
    """A C for each A of 1 behind one of 0, and none for a second one; the last three rounds are as the first."""
    text = """from A as Now and last A(x != Now.x) as Before within 2 from Now and not C between Before and Now
    emit C(x = 1)
    from B and each C within 1 from B limit 1 emit D(x = 1)"""
    found = {each.about: each for each in r.capacities(asked(text, settings=EXPLICIT))}
    assert found["asked.C"].says == "grows without end, with each further round of A, A"
    (stream,) = found["asked.C"].runs.values()
    assert stream.confirmed == ("meaning", "cdp", "aip", "compiled")
    assert [each.type for each in stream.meant or ()] == ["C"] * (len(stream.events) // 2)


def test_numbers_that_hang_on_values_say_so():
    """As many A's as values, of which there are two here; one is enough where none is compared, whatever comes."""
    texts = {"x == B.x": ", with these values", "x > 0": ""}
    for constraint, said in texts.items():
        text = f"from B and last A({constraint}) within 2 from B emit C(x = 1)"
        (each,) = r.capacities(asked(text, settings=EXPLICIT))
        assert each.says.endswith(f" at most{said}")


def test_rates_are_kept_by_models():
    """One A in two ticks is not two at a time; columns have the room that is enough, so that verdicts need none."""
    rule_set, bounds = parse_rules(DECLARED + EACH, "asked"), rated({"A": (1, 2), "B": (1, 1)})
    asked = {"no-overflow": "holds", "always (queue(asked.A).length <= 2)": "fails"}
    for engine in ("pynusmv", "explicit"):
        settings = replace(WITH_TIME, engine=engine)
        for text, outcome in asked.items():
            verdict = rule_problem(rule_set, text, bounds, settings).decide()
            assert str(verdict.outcome) == outcome
    assert verdict.counterexample.replay == "confirmed by execution"
    same = parse_rules(DECLARED + EACH.replace("each A", "last A").replace("within 4", "within 1"), "same")
    shorter = parse_rules(DECLARED + EACH.replace("within 4", "within 1"), "shorter")
    assert str(rule_comparison(shorter, same, bounds).decide().outcome) == "holds"  # never two A's in a tick


def test_rates_that_say_nothing_are_refused():
    kitchen = load_rules("models/tesla/kitchen.tesla")
    with pytest.raises(InputError, match="has no unit of time, but windows do"):
        rule_problem(kitchen, "can(Fire)", rated({"": (1, 3)}))
    with pytest.raises(InputError, match="'Fire' is caused by others"):
        rule_problem(kitchen, "can(Fire)", RuleBounds(rates={"Fire": RuleRate(1, 10**6, united=True)}))
