"""The engine `compiled` in several threads: what comes out, its order, its numbers and sources are those of one."""

import random
from collections import Counter

import pytest

pytest.importorskip("numba")

from tests.examples import scaled
from tests.tesla.events import A, B
from tests.tesla.test_rule_threads import FAR, FAR_EVENTS, JOINED, ONE, STRETCHED, TWO, TYPES, N, drawn, fed
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.conformance.generate.rule_cases import RuleCase
from workbench.conformance.generate.rule_streams import stream_case
from workbench.errors import InputError, Refused
from workbench.executors.compiled.rules import by_time
from workbench.executors.compiled.rules.by_key import RulesByKey
from workbench.executors.compiled.rules.by_time import RulesByTime
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.threads import ThreadedRules, make_compiled_rules
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.rule_split import RuleSplit, TimeSplit, rule_split, time_split
from workbench.tesla.event_block import LargeNumberError, event_block
from workbench.tesla.occurrence import Occurrence

KEYED_CASES, SLICED_CASES = scaled(4, 12), scaled(8, 24)


def in_threads(made, facts, threads, split):
    return ThreadedRules(made, facts, EngineSettings(threads=threads, plain=True), split)


def by_slices(made, facts, threads):
    """In threads by time."""
    split = RuleSplit([range(len(made.rules))], time=time_split(made))
    assert not split.time.reason
    return in_threads(made, facts, threads, split)


def one_thread(made, facts=None):
    return CompiledRules(made, facts or {}, EngineSettings(plain=True))


def check_same(found, expected, what):
    assert len(found) == len(expected), what
    assert all(map(same_occurrence, found, expected)), what


def test_keys_in_threads_publish_what_one_thread_publishes():
    composites = 0
    for seed in range(KEYED_CASES):
        rng = random.Random(seed)
        made = drawn(JOINED, rng, len(JOINED) - 1)
        case = stream_case(made, seed, 60)
        cuts = sorted(rng.choices(range(len(case.events) + 1), k=rng.choice((1, 4))))
        several = in_threads(made, case.facts, rng.choice((2, 3)), RuleSplit([], rule_split(made).keys))
        singly = [place for place in range(5) if rng.random() < 0.3]
        found = fed(several, case, cuts, singly)
        assert isinstance(several.partition, RulesByKey | None)
        check_same(found, fed(one_thread(made, case.facts), case, cuts, singly), seed)
        composites += len(found)
    assert composites > 10 * KEYED_CASES


def test_slices_in_threads_publish_what_one_thread_publishes(monkeypatch):
    """Wherever they begin, whether the reach before them is in their block or not."""
    begun, start = Counter[bool](), RulesByTime._start
    monkeypatch.setattr(
        RulesByTime, "_start", lambda self, thread, within: (begun.update([within]), start(self, thread, within))
    )
    for seed in range(SLICED_CASES):
        rng = random.Random(seed)
        made = drawn(STRETCHED, rng, rng.randint(1, 6))
        case = stream_case(made, seed, 80)
        cuts = sorted(rng.choices(range(len(case.events) + 1), k=rng.choice((0, 1, 6))))
        monkeypatch.setattr(by_time, "MIN_SLICE", rng.choice((2, 5, 20)))
        monkeypatch.setattr(by_time, "MAX_REPLAY_COST", rng.choice((0.1, 1.0)))
        several = by_slices(made, case.facts, rng.choice((2, 3)))
        singly = [place for place in range(7) if rng.random() < 0.2]
        found = fed(several, case, cuts, singly)
        assert isinstance(several.partition, RulesByTime | None)
        check_same(found, fed(one_thread(made, case.facts), case, cuts, singly), seed)
    assert min(begun[True], begun[False]) > SLICED_CASES / 5, begun


@pytest.mark.parametrize(
    ("texts", "events", "sources"),
    [
        ([ONE], [A(0, 1, 1.0), A(1, 2, 1.0), B(5, 1, "b"), B(6, 2, "b")], [(2, 0), (2, 1), (5, 1)]),
        ([ONE, TWO], [A(0, 1, 1.0), B(5, 1, "b"), N(9), N(10)], [(1, 0), (3, 2)]),
    ],
    ids=["window", "windows of two rules"],
)  # fmt: skip
def test_a_slice_knows_what_lies_at_the_end_of_its_reach(texts, events, sources, monkeypatch):
    """An event as old as the window is long is in it. The second thread begins with the trigger."""
    monkeypatch.setattr(RulesByTime, "cut", lambda self, times: [2, len(times)])
    several = by_slices(parse_rules(TYPES + " ".join(texts)), {}, 2)
    found = fed(several, RuleCase(several.rules, events, {}, None), [])
    assert [each.sources for each in found] == sources


def test_what_is_repeated_has_the_numbers_of_all_that_an_event_causes(monkeypatch):
    monkeypatch.setattr(RulesByTime, "cut", lambda self, times: [3, len(times)])
    found = fed(
        by_slices(parse_rules(TYPES + FAR), {}, 2), RuleCase(parse_rules(TYPES + FAR), FAR_EVENTS, {}, None), []
    )
    assert [each.sources for each in found] == [(2, 0), (2, 1), (5, 4)]


def test_a_number_of_more_than_64_bits_is_left_to_cdp_in_its_part(monkeypatch):
    """By key where no composite has one; by time in any case."""
    monkeypatch.setattr(by_time, "MIN_SLICE", 2)
    keyed = parse_rules(TYPES + "from B[$x = x] and each A(x == $x) within 9 from B emit Z(n = $x % 7)")
    events = [A(0, 2**70, 1.0), A(1, 3, 1.0), B(2, 2**70, "b"), B(3, 3, "b"), A(4, 3, 1.0), B(5, 3, "c")]
    case = RuleCase(keyed, events, {}, None)
    cuts = list(range(1, len(events)))
    expected = fed(one_thread(keyed), case, cuts)
    assert len(expected) == 4
    check_same(fed(in_threads(keyed, {}, 2, RuleSplit([], rule_split(keyed).keys)), case, cuts), expected, "key")
    grown = parse_rules(TYPES + "from B and each A within 9 from B emit Z(n = A.x * B.x)")
    case = RuleCase(grown, [A(i, 2**40 + i, 1.0) if i % 3 else B(i, 2 ** (i + 10), "b") for i in range(30)], {}, None)
    expected = fed(one_thread(grown), case, [9, 20])
    assert any(each.values[0] > 2**64 for each in expected)
    check_same(fed(by_slices(grown, {}, 3), case, [9, 20]), expected, "time")
    named = parse_rules(TYPES + "from B[$x = x] and each A(x == $x) within 9 from B emit Z(n = $x)")
    several = in_threads(named, {}, 2, RuleSplit([], rule_split(named).keys))
    with pytest.raises(LargeNumberError, match="leave out --threads"):
        fed(several, RuleCase(named, events, {}, None), cuts)


def test_what_came_before_a_late_event_is_published(monkeypatch):
    monkeypatch.setattr(by_time, "MIN_SLICE", 2)
    made = parse_rules(TYPES + "from A emit R(x = A.x)")
    several, found = by_slices(made, {}, 2), []
    block = event_block(made, [A(0, 1, 1.0), A(3, 2, 1.0), A(4, 3, 1.0), A(5, 4, 1.0), A(2, 5, 1.0)], several.texts.put)
    with pytest.raises(InputError, match="goes back from 5 to 2"):
        found.extend(each for part in several.process_block(block) for each in part.occurrences(made))
    assert [each.values for each in found] == [(1,), (2,), (3,), (4,)]
    assert [each.values for each in several.process(A(6, 9, 1.0))] == [(9,)]


def test_events_that_are_not_divided_are_for_one_thread():
    settings = EngineSettings(threads=2, plain=True)
    consuming = parse_rules(TYPES + "from A and each B within 2 from A emit Z(n = B.x) consuming B")
    assert isinstance(make_compiled_rules(consuming, {}, settings), CompiledRules)
    sliced = parse_rules(TYPES + ONE)
    assert isinstance(make_compiled_rules(sliced, {}, EngineSettings(threads=2, profiled=True)), CompiledRules)
    several = make_compiled_rules(sliced, {}, settings)
    assert isinstance(several, ThreadedRules)
    with pytest.raises(Refused, match="not changed or saved"):
        several.snapshot()


def test_the_costs_of_threads_are_those_of_one():
    made = parse_rules(TYPES + "from B[$x = x] and each A(x == $x) within 5 from B emit Z(n = $x)")
    settings, found = EngineSettings(threads=2, profiled=True, plain=True), []
    for engine in (make_compiled_rules(made, {}, settings), CompiledRules(made, {}, settings)):
        fed(engine, RuleCase(made, [A(i, i % 3, 1.0) if i % 2 else B(i, i % 3, "b") for i in range(20)], {}, None), [7])
        found.append([(each.rule, each.events, each.partial, each.matches) for each in engine.profile()])
    assert found[0] == found[1]


def test_slices_take_the_same_time(monkeypatch):
    """What is repeated costs half of what it costs to process an event."""
    monkeypatch.setattr(by_time, "MIN_SLICE", 10)
    several = by_slices(parse_rules(TYPES + "from B and each A within 20 from B emit Z(n = A.x)"), {}, 2)
    block = event_block(several.rules, [Occurrence("N", time, ()) for time in range(100)], several.texts.put)
    sliced = several._choose(block)
    assert isinstance(sliced, RulesByTime)
    assert several.split.time == TimeSplit(20)
    first, last = sliced.cut(block.times)
    assert (first, last) == (55, 100)  # 55 of its own against 45 and half of 20
    assert sliced.cut(block.times[:19]) == [19]


@pytest.mark.parametrize(("window", "chosen"), [(1, RulesByTime), (60, RulesByKey)])
def test_events_are_divided_by_time_unless_much_is_repeated(window, chosen):
    made = parse_rules(TYPES + f"from B[$x = x] and each A(x == $x) within {window} from B emit Z(n = $x)")
    several = make_compiled_rules(made, {}, EngineSettings(threads=2, plain=True))
    events = [A(time, time, 1.0) if time % 2 else B(time, time, "b") for time in range(100)]
    assert isinstance(several, ThreadedRules)
    assert list(several.process_block(event_block(made, events, several.texts.put))) == []
    assert isinstance(several.partition, chosen)
