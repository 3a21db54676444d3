"""Triggers that are matched together, as on a GPU: what is published is what the kernel publishes one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

pytest.importorskip("numba")

from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.conformance.generate import rule_cases as generator
from workbench.core.domain import INT
from workbench.errors import InputError, Refused
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.kernel.trigger_batch import match_triggers
from workbench.executors.compiled.rules.trigger_batches import BatchedRules
from workbench.show.rule_set_plan import plan_text
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.set_plan import SetPlan, find_dependences
from workbench.tesla.event_block import event_block
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet


class PlainDevice:
    """Python, which matches the triggers of one thread after those of the other."""

    def __init__(self, threads: int = 3) -> None:
        self.threads = threads

    def match(self, plan: Any, history: Any, scratches: Any, states: Any, triggers: Any, output: Any) -> None:
        for thread in reversed(range(self.threads)):
            match_triggers(plan, history, scratches, states, triggers, output, thread, self.threads)


PLAIN = EngineSettings(plain=True)
TYPES = """
declare A(x: int, s: string) declare B(x: int, s: string) declare P(x: int) declare Q(x: int) declare fact G(x: int)
declare aggregate PRODUCT(a: int, b: int) = a * b from 1
"""
TAKEN = (
    "from A and each B(x > A.x) within 5 from A emit P(x = B.x)",
    "from A and first B(s == A.s) within 2 .. 5 from A and not A(s < B.s) as A2 between B and A emit P(x = B.x)",
    "from A and $s = SUM(B(x > A.x).x within forever from A) where $s > 1 emit P(x = $s)",
    "from A and last G(x % 2 == 0) ordered by x desc limit 1 emit P(x = G.x)",
)
LEFT = {
    "from A and each B within 5 from A emit P(x = B.x) consuming B": "r: it consumes events",
    "from A emit P(x = A.x) at most once in 3 per A.x": "r: it emits composites at most once in a time",
    "from A and absent B within 5 after A emit P(x = A.x)": "r: 'absent' waits for a clock",
    "from A and each B within 9 events from A emit P(x = B.x)": "r: it counts events in a window",
    "from A and each P within 5 from A emit P(x = A.x)": "r: 'r' reads its composites",
    "from A and $p = PRODUCT(B.x within 5 from A) emit P(x = $p)": "r: a declared aggregate needs a row",
}


def published(engine: CompiledRules, events: Sequence[Occurrence], cuts: Sequence[int] = ()) -> list[Occurrence]:
    """What comes of events in blocks that end at these places."""
    found, first = list[Occurrence](), 0
    for last in (*cuts, len(events)):
        for part in engine.process_block(event_block(engine.rules, events[first:last], engine.texts.put), sources=True):
            found += part if isinstance(part, list) else part.occurrences(engine.rules)
        first = last
    return found


def independent(of: RuleSet) -> RuleSet:
    """The rules of a set whose triggers do not depend on each other."""
    dependences = find_dependences(SetPlan(of))
    return replace(of, rules=tuple(rule for rule in of.rules if rule.name not in dependences))


def see_stretches(seed: int, settings: EngineSettings = PLAIN) -> int:
    """Compare the engines on a random case; how many composites there were."""
    case, random = generator.random_case(seed), Random(seed)
    made = independent(case.rules)
    if case.trex or not made.rules:
        return 0
    device, stretch = PlainDevice(random.choice([1, 2, 5])), random.choice([1, 3, 7, 100])
    cuts = sorted(random.randint(0, len(case.events)) for _ in range(random.randint(0, 3)))
    try:
        one = CompiledRules(made, case.facts, settings)
    except Refused:
        return 0
    expected = published(one, case.events, cuts)
    together = BatchedRules(made, case.facts, settings, device, batch_size=stretch, candidates=1)
    saved = random.randint(0, len(case.events))
    found = published(together, case.events[:saved], [cut for cut in cuts if cut < saved])
    resumed = BatchedRules(made, case.facts, settings, device, batch_size=stretch)
    resumed.restore(together.snapshot())
    found += published(resumed, case.events[saved:])
    assert len(found) == len(expected), seed
    assert all(map(same_occurrence, found, expected)), seed
    return len(found)


@pytest.fixture
def small_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random cases are longer than others are, and their numbers do not leave 64 bits."""
    monkeypatch.setattr(generator, "VALUES", {**generator.VALUES, INT: (1, 0, 2, 1, 0, 2, -1, 3, None)})
    monkeypatch.setattr(generator, "MAX_HAPPENING", 16)


@pytest.mark.usefixtures("small_numbers")
@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 2000), marks=pytest.mark.slow)], ids=str)
def test_together_is_one_by_one(seeds: range) -> None:
    assert sum(map(see_stretches, seeds)) > len(seeds) // 4


@pytest.mark.slow
@pytest.mark.usefixtures("small_numbers")
def test_events_join_the_history_by_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.executors.compiled.rules.engine.SHORT_RUN", 0)
    assert sum(see_stretches(seed, EngineSettings()) for seed in range(300)) > 75


@pytest.mark.parametrize("text", TAKEN)
def test_triggers_of_a_rule_are_matched_together(text: str) -> None:
    made = parse_rules(f"{TYPES}rule r: {text}")
    BatchedRules(made, {"G": [(1,)]}, PLAIN, PlainDevice())
    assert "on a GPU: a thread for each trigger" in plan_text(SetPlan(made), made, timed=False)


@pytest.mark.parametrize("text", LEFT)
def test_triggers_of_a_rule_depend_on_each_other(text: str) -> None:
    made = parse_rules(f"{TYPES}rule r: {text}")
    with pytest.raises(Refused, match=f"triggers cannot be matched together: {LEFT[text]}"):
        BatchedRules(made, {}, PLAIN, PlainDevice())
    assert f"on a GPU: refused, since {LEFT[text][3:]}" in plan_text(SetPlan(made), made, timed=False)


def test_numbers_beyond_words_take_a_stretch_back() -> None:
    made = parse_rules(f"{TYPES}from A and $s = SUM(B.x within 9 from A) emit P(x = $s)")
    engine = BatchedRules(made, {}, PLAIN, PlainDevice(), batch_size=4)
    large = 2**63 - 1
    events = [("B", 0, 1), ("A", 1, 0), ("B", 2, large), ("A", 2, 0), ("A", 3, 1)]
    found = published(engine, [Occurrence(type, time, (x, "")) for type, time, x in events], [2])
    assert [each.values for each in found] == [(1,), (large + 1,), (large + 1,)]


def test_threads_widen_bands() -> None:
    made = parse_rules(f"{TYPES}from A and each B(x >= A.x - 9, x < A.x + 90) within 9 from A emit P(x = B.x)")
    engine = BatchedRules(made, {}, PLAIN, PlainDevice(), batch_size=4)
    events = [Occurrence("AB"[at % 2], at, (at * 7 % 50, "")) for at in range(12)]
    assert published(engine, events) == published(CompiledRules(made, {}, PLAIN), events)
    assert engine.takes_block(1)
    assert engine.memory.history.columns[0].shift == 7


def test_a_late_event_ends_a_block_behind_what_came_before() -> None:
    made = parse_rules(f"{TYPES}from A emit P(x = A.x)")
    engine = BatchedRules(made, {}, PLAIN, PlainDevice())
    events = [Occurrence("A", time, (time, "")) for time in (3, 4, 2)]
    parts = iter(engine.process_block(event_block(made, events, engine.texts.put)))
    first = next(parts)
    assert not isinstance(first, list)
    assert [each.time for each in first.occurrences(made)] == [3, 4]
    with pytest.raises(InputError, match="2"):
        next(parts)
