"""Capacities and effects of random small rule sets: never less than what a stream needs by what the rules mean."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, scaled
from workbench.budget import Budget
from workbench.errors import EndlessChain, Refused
from workbench.tesla.check import parse_rules
from workbench.tesla.meaning import meaning
from workbench.tesla.model.build import RuleBounds, build_models
from workbench.tesla.model.column_bounds import RuleCounting
from workbench.tesla.model.rates import RuleRate
from workbench.tesla.model.run_constants import waiting_of
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.values import Selected, value
from workbench.verify import rules as r
from workbench.verify.rules.rule_subject import WITH_TIME, RuleSubject
from workbench.verify.rules.stream import find_modelled

DECLARED = "declare A(x: int)\ndeclare B(x: int)\ndeclare C(x: int)\ndeclare D(x: int)\n"
EXPLICIT = replace(WITH_TIME, engine="explicit", seconds=5)
LATER = 100


def random_rules(chosen):
    """One to three rules over A and B; what they emit, C or D, others may look at."""
    return DECLARED + "\n".join(random_rule(chosen, f"r{number}") for number in range(chosen.choice([1, 2, 2, 3])))


def random_rule(chosen, name):
    trigger, emitted = chosen.choice(["A", "B", "B", "C"]), chosen.choice(["C", "D", "D"])
    lines = [f"rule {name}: from {trigger}{chosen.choice(['', '', '(x == 0)', '(x > 0)'])} as Now"]
    names = ["Now"]
    for number in range(chosen.choice([0, 1, 1, 2])):
        policy, type = chosen.choice(["each", "each", "last", "first", "not"]), chosen.choice("AABC")
        constraint = chosen.choice(["", "", "(x == Now.x)", "(x == 1)", "(x != Now.x)"])
        named = f" as P{number}" if policy != "not" else ""
        lines.append(f"and {policy} {type}{constraint}{named} {random_window(chosen, names)}")
        names += [f"P{number}"] if named else []
    waits = trigger in "AB" and chosen.random() < 0.3
    if waits:
        lines.append(f"and absent {chosen.choice('AB')}{chosen.choice(['', '(x == Now.x)'])} within 1 after Now")
    last = names[-1]
    lines.append(chosen.choice(["", "", "", "limit 1", "limit 2"]) * (not waits))
    pause = chosen.choice(["", "", "", " at most once in 2", f" at most once in 2 per {last}.x"]) * (not waits)
    lines.append(f"emit {emitted}(x = {chosen.choice(['0', 'Now.x', f'{last}.x'])}){pause}")
    lines.append(f"consuming {last}" if len(names) > 1 and chosen.random() < 0.2 else "")
    return " ".join(filter(None, lines))


def random_window(chosen, names):
    of = chosen.choice(names)
    if len(names) > 1 and chosen.random() < 0.2:
        return f"between {names[-1]} and Now"
    return f"within {chosen.choice(['0', '1', '1', '2', '3', '1 .. 2', '2 events'])} from {of}"


def random_rates(chosen, types):
    """Of all types, or of all but one."""
    rates = {name: RuleRate(chosen.choice([1, 1, 2]), chosen.choice([1, 2]), united=False) for name in types}
    if chosen.random() < 0.2:
        del rates[chosen.choice(types)]
    return rates


def streams(types, rates, length, so_far=()):
    """All streams of so many steps that keep the rates."""
    if length == 0:
        yield so_far
        return
    for step in steps_behind(so_far, types, rates):
        yield from streams(types, rates, length - 1, (*so_far, step))


def random_stream(types, rates, length, chosen):
    found: tuple[Occurrence | int, ...] = ()
    while len(found) < length:
        found = (*found, chosen.choice(steps_behind(found, types, rates)))
    return found


def steps_behind(stream, types, rates):
    """What may come next: an event, or the clock, which goes on by one."""
    now = time_of(stream)
    steps = [now + 1, *(Occurrence(name, now, (x,)) for name in types for x in (0, 1))]
    return [step for step in steps if keeps(rates, (*stream, step))]


def time_of(stream):
    last = stream[-1] if stream else 0
    return last if isinstance(last, int) else last.time


def keeps(rates, stream):
    """Whether the last event keeps the rate of its type, where those before do."""
    last = stream[-1]
    if isinstance(last, int) or last.type not in rates:
        return True
    rate = rates[last.type]
    times = [each.time for each in stream if not isinstance(each, int) and each.type == last.type]
    return len(times) <= rate.max_events or last.time - times[-1 - rate.max_events] >= rate.time


class Needed:
    """What streams need, by what the rules mean of them: of each column, and composites of one event."""

    def __init__(self, rule_set, frame):
        self.rules, self.frame = in_units(rule_set), frame
        self.most = Counter()
        self.counted = {}

    def of(self, stream):
        """Take in a stream; the composites of it."""
        if stream not in self.counted:
            self.counted[stream] = list(meaning(self.rules, stream))
            if stream:
                self.see(stream, self.counted[stream])
        return self.counted[stream]

    def see(self, stream, made):
        last = stream[-1]
        about = "a moment" if isinstance(last, int) else f"one {last.type}"
        self.take(about, len(made) - len(self.of(stream[:-1])))
        by_number = {each.number: each for each in made}
        outside = (each for each in stream if not isinstance(each, int))
        numbers = range(len(made) + sum(not isinstance(each, int) for each in stream))
        history = [by_number[i] if i in by_number else next(outside) for i in numbers]
        for column in self.frame.layout.columns.values():
            self.take(column.type, max((self.kept(column, history[:end]) for end in numbers_to(history)), default=0))
        for rule in self.frame.absences:
            told = [
                sum(each.rule == rule.name for each in meaning(self.rules, (*stream, time)))
                for time in (time_of(stream), LATER)
            ]
            self.take(waiting_of(rule), told[1] - told[0])

    def kept(self, column, history):
        """How many events of a column may still be asked for: of alike ones, of which one counts, that one."""
        now, found = history[-1].time, {}
        for place, event in enumerate(history):
            recent = now - event.time <= column.limit or len(history) - place <= column.distance
            own = {"x": event.values[0]}
            wanted = any(all(value(each, Selected(), own) is True for each in asked) for asked in column.filters)
            if event.type == column.type and recent and wanted:
                found[place if column.newest is None else tuple(own[name] for name in column.newest)] = event
        return len(found)

    def take(self, about, number):
        self.most[about] = max(self.most[about], number)


def numbers_to(history):
    return range(1, len(history) + 1)


def attacked(seed, steps, longer, *, asked):
    """Whether a rule set could be asked about: what is said of it, and what streams need."""
    chosen = random.Random(seed)
    rule_set = parse_rules(text := random_rules(chosen), "asked")
    types = [name for name in "ABC" if name in rule_set.primitives]
    rates = random_rates(chosen, types)
    bounds = RuleBounds(tick=1, rates=rates, values={(name, "x"): [0, 1] for name in types})
    try:
        frame = find_modelled(*build_models([rule_set], bounds)).frame
        needed = Needed(rule_set, frame)
        for stream in streams(types, rates, steps):
            for end in range(len(stream) + 1):
                needed.of(stream[:end])
        for _ in range(longer):
            stream = random_stream(types, rates, 10, chosen)
            for end in range(len(stream) + 1):
                needed.of(stream[:end])
    except (Refused, EndlessChain):
        return False
    for valued in (True, False):
        counting = RuleCounting(frame, valued)
        counted = counting.count_capacities() | {f"one {name}": counting.count_caused(name) for name in types}
        counted["a moment"] = counting.count_due()
        assert all(counted[name] >= most for name, most in needed.most.items()), text
    if asked:
        compare(rule_set, bounds, needed, text)
    return True


def compare(rule_set, bounds, needed, text):
    for each in itertools.chain(*(ask(RuleSubject(rule_set, bounds, EXPLICIT)) for ask in (r.capacities, r.effects))):
        name, said = each.about.removeprefix("asked."), each.to_json()
        if each.answer == "unbounded":
            assert not all(bounds.rates.get(type) for type, _ in bounds.values), text
        elif each.decided:
            assert said["capacity"] >= needed.most[name], (text, name)
        for stream in each.runs.values():
            assert stream.confirmed[0] == "meaning"
            assert all(keeps(bounds.rates, stream.steps[:end]) for end in numbers_to(stream.steps)), (text, name)
            alone = Needed(rule_set, needed.frame)
            for end in range(len(stream.steps) + 1):
                alone.of(stream.steps[:end])
            if each.answer != "unbounded":
                assert alone.most[name] == said["at_least"], (text, name)


def test_what_is_counted_is_never_too_little():
    """Of all streams of three steps, and some of ten, on what is told by counting alone."""
    assert sum(attacked(seed, 3, 4, asked=False) for seed in range(scaled(10, 24))) > scaled(8, 20)


@given(st.integers(0, 2**32))
@examples(4)
def test_capacities_of_random_rules_are_never_too_small(seed):
    """A stream that needs more is a wrong proof; the stream that is shown needs as much as is said."""
    with Budget(60):
        attacked(seed, 3, 4, asked=True)


@pytest.mark.slow
def test_many_capacities():
    """Of all streams of four steps."""
    assert sum(attacked(seed, 4, 30, asked=True) for seed in range(1000, 1040)) > 30
