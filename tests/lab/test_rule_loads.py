"""The loads of the engines of rules: what is expected of them is what several engines, and the formulas, tell."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from experiments import rule_timing, static2016
from experiments.fact_loads import FactLoad
from experiments.rule_loads import (
    EventChain,
    EventLog,
    RuleLoad,
    Scenario,
    ThesisLoad,
    anchor_r5,
    anchor_w1,
    anchor_w2,
    banded,
)
from experiments.rule_timing import SCANNING, cost, queued, started
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.errors import EngineMissing
from workbench.executors.table import engines_here
from workbench.tesla.caches.table import FactCaching
from workbench.tesla.meaning import meaning


def test_the_counts_that_several_engines_agree_on():
    """Of Flink, CORE, Siddhi, Esper and DuckDB, as far as they can run a workload."""
    w1, w2 = anchor_w1(300_000).expected, anchor_w2(300_000).expected
    assert (w1[:100_000].sum(), w1.sum()) == (2_492, 17_264)
    assert (w2[:100_000].sum(), w2.sum()) == (18_272, 53_503)
    assert anchor_w2(100_000, 1000).expected.sum() == 1_814_217
    r5 = anchor_r5(100_000)
    sums = EventChain((0, 1, 2), (100_000, 100_000), "last", "att").sums(r5.log)
    assert (r5.expected.sum(), sums.sum()) == (1_823, 54_544_225)


LOADS: dict[str, Callable[[], RuleLoad]] = {
    **{policy: partial(Scenario(policy, window=40, values=5).load, 40) for policy in ("each", "first", "last")},
    "two states, three aggregates": partial(Scenario(states=2, window=40, values=5, aggregates=3).load, 40),
    "five states": partial(Scenario(states=5, window=20, values=2, aggregates=0).load, 20),
    "rules": partial(Scenario(window=40, values=3, rules=6, groups=4).load, 80),
    "a filter": partial(Scenario(window=60, values=4, accepted=0.1).load, 60),
    "w1": partial(anchor_w1, 200, 60, 5), "w2": partial(anchor_w2, 900, 200),
    "bands": partial(banded, 120, 60, "each", 5000), "groups": partial(banded, 200, 60, "last", 20_000, 3),
    "r5": partial(anchor_r5, 100, 50, values=5),
    "thesis": ThesisLoad(30, 2, seconds=2, copies=2, groups=2).load,
}  # fmt: skip
"""What makes each: not made where tests are collected, which every process does."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", LOADS)
def test_what_is_counted_is_what_rules_mean(name):
    load = LOADS[name]()
    rules, events = load.rules, list(load.log.occurrences())
    times = [each.time for each in meaning(rules, events)]
    assert np.bincount(np.searchsorted(load.log.times, times), minlength=len(events)).tolist() == load.expected.tolist()
    assert load.expected.any()
    again = load.log.block(rules).occurrences(rules)
    same = [same_occurrence(one, other) for one, other in zip(again, events, strict=True)]
    assert all(same)


def test_sums_of_matches():
    load = anchor_r5(100, 50, "each", values=5)
    sums = EventChain((0, 1, 2), (50, 50), "each", "att").sums(load.log)
    found = [each.values[1] for each in meaning(load.rules, list(load.log.occurrences()))]
    assert np.sum(found) == sums.sum() > 0


def test_composites_of_the_thesis_on_average():
    """The mean of streams is near what is computed, and T-Rex's own stream, at five rates, near that of the thesis."""
    few = [ThesisLoad(100, 3, 20, copies=1, groups=4, seed=seed).load().expected.sum() for seed in range(100)]
    error = np.std(few) / len(few) ** 0.5
    assert abs(np.mean(few) - ThesisLoad(100, 3, 20, copies=1, groups=4).mean()) < 4 * error
    of_trex = {600: 94_182_090, 1000: 0.437e9, 1500: 1.47e9, 2000: 3.49e9, 4000: 27.9e9}
    for rate, found in of_trex.items():
        assert ThesisLoad(rate).mean() == pytest.approx(found, rel=0.01)


@pytest.mark.parametrize("name", ["cdp", "aip", "cdp" + SCANNING, "aip" + SCANNING])
def test_what_an_event_costs_is_measured_when_windows_are_full(name):
    """That what comes before is filled without the triggers changes no count: `cost` compares them."""
    found = cost(Scenario("last", window=60, values=9).load(100), name, budget=10)
    assert found["events"] == 100
    assert found["composites"] > 0
    assert found["us"] > 0


class Slow:
    """An engine that takes 20 milliseconds whenever it is asked."""

    rules = LOADS["r5"]().rules

    def __init__(self, monkeypatch):
        self.clock = 0.0
        monkeypatch.setattr(rule_timing, "process_time", lambda: self.clock)

    def process(self, _):
        self.clock += 0.02
        return []

    process_block = process


@pytest.mark.parametrize("most", [None, 600])
def test_a_queue_that_gets_twice_as_much_as_can_be_served_drops_half(monkeypatch, most):
    """Ten wait at most at 100 a second: of ten seconds' events what is served or waits in the end is not dropped."""
    log = EventLog(("A", "B", "C"), np.zeros(1000, int), np.arange(1000) * 10_000, {
        "att": np.ones(1000, int), "value": np.ones(1000, int)})  # fmt: skip
    slow: Any = Slow(monkeypatch)
    found = queued(slow, log, 100, steady=400, most=most)
    assert found["dropped"] == pytest.approx(100 * (1000 - 500 - 10) / 1000, abs=0.3)
    assert found["busy"] == pytest.approx(100, abs=0.5)
    slow = Slow(monkeypatch)
    found = queued(slow, log, 100, steady=400, most=most, blocks=True)
    assert found["dropped"] == 0
    assert found["busy"] == pytest.approx(100, abs=0.5)


@pytest.mark.skipif("gpu" in engines_here(), reason="there is a device")
def test_without_a_device():
    with pytest.raises(EngineMissing, match="needs an NVIDIA GPU"):
        started(LOADS["r5"]().rules, "gpu")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("source", "events"), [("fact", 1), ("fact", 2), ("rows", 2), ("any", 1)])
def test_rules_with_facts_emit_what_their_load_has(source, events):
    load = FactLoad(rate=30, seconds=4, rows=100, events=events, groups=2)
    with static2016.running(load, source, FactCaching("gds", 20)) as engine:
        made = sum(len(engine.process(each)) for each in load.log.occurrences())
    due = load.composites()
    if source == "any":
        due = 10 * sum(len(found) for group in range(2) for found in load.asked(group))
    assert made == due > 100
