"""Matches without composites: as columns of the numbers of their events, one after the other, and counted."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.examples import scaled
from workbench.conformance.compare.rule_engines import evaluate_meaning
from workbench.conformance.generate.rule_cases import RuleCase, random_case
from workbench.errors import InputError
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules.matches import CompiledMatches
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.event_block import LargeNumberError, event_block
from workbench.tesla.match_block import MatchLabels, block_of_matches, join_matches
from workbench.tesla.occurrence import Occurrence


def test_columns_say_what_the_matches_say():
    names, roles = ("pair", "alone"), (("C", "A", "rule"), ("A",))
    found = block_of_matches(names, roles, [(0, (3, 1, -2)), (1, (4,)), (0, (5, 1, 2))])
    both = join_matches([found.part(0, 1), found.part(1, 3)])
    assert list(both) == list(found) == [("pair", (3, 1, -2)), ("alone", (4,)), ("pair", (5, 1, 2))]
    assert both.counts() == {"pair": 2, "alone": 1}
    assert both.to_arrow().to_pylist() == [
        {"rule": "pair", "trigger": 3, "A": 1, "rule_": -2},
        {"rule": "alone", "trigger": 4, "A": None, "rule_": None},
        {"rule": "pair", "trigger": 5, "A": 1, "rule_": 2},
    ]


def test_events_are_called_by_their_rows_and_composites_by_their_ids():
    """Row 1, row 2, the composite of the first match, row 3: numbers from 0 on in the order of all events."""
    labels = MatchLabels(("pair", "alone"), (("C", "A"), ("E",)))
    first = labels.of_composites([Occurrence("E", 2, (), 2, (1, 0), "pair")])
    assert list(first) == [("pair", (2, 1))]
    assert list(labels.of_composites([Occurrence("X", 3, (), 4, (2,), "alone")])) == [("alone", (-1,))]
    later = labels.of_columns(np.array([0, 1]), [np.array([5, 4]), np.array([3, 98])])
    assert list(later) == [("pair", (4, 3)), ("alone", (-2,))]


# --- held to what rules mean ----------------------------------------------------------------------------


def meant(case: RuleCase) -> list[tuple[str, tuple[int, ...]]]:
    """The matches of the formulas' composites: rows are counted from 1 on, composites are told by their place."""
    told = evaluate_meaning(case)
    assert not isinstance(told, str)
    ids = {each.number: -place for place, each in enumerate(told, 1)}
    rows = itertools.count(1)
    labels = [ids.get(number) or next(rows) for number in range(len(case.events) + len(told))]
    return [(each.rule, tuple(labels[number] for number in each.sources)) for each in told]


def table_matches(case: RuleCase, *, numbers: bool) -> CompiledMatches:
    """All that grows, or is given in parts, does so soon."""
    return CompiledMatches(case.rules, case.facts, EngineSettings(trex=case.trex, plain=True), 1, numbers=numbers)


def found(case: RuleCase, *, numbers: bool) -> Any:
    """The matches that the engine finds, or the engine that has counted them."""
    engine, texts = table_matches(case, numbers=numbers), TextCodes([])
    parts = []
    for first in range(0, len(case.events), 5):
        some = case.events[first : first + 5]
        try:
            block = event_block(case.rules, some, texts.put)
        except LargeNumberError:
            block = None
        parts += engine.matches_singly(some) if block is None or first % 3 == 1 else engine.matches(block)
    if case.until is not None:
        parts += engine.matches_until(case.until)
    return list(itertools.chain.from_iterable(parts)) if numbers else engine


def agrees(case: RuleCase) -> None:
    """Whether matches are those that are meant, and as many."""
    expected = meant(case)
    assert found(case, numbers=True) == expected
    engine = found(case, numbers=False)
    counts = [sum(rule == each.name for rule, _ in expected) for each in case.rules.rules]
    assert engine.counts == counts


def test_matches_of_random_rules_are_those_that_are_meant():
    for seed in range(30):
        agrees(random_case(seed))


CONSTRAINTS = (
    "x == {0}.x",
    "x == $k",
    "y == {0}.y",
    "x == {0}.y",
    "y > 0",
    "x != 1 or y == 2",
    "f == {0}.f",
    "f > 0.5",
)


def chain(seed: int) -> RuleCase:
    """A rule of `each`, windows and equations, and events that share values."""
    rng = random.Random(seed)
    text = "".join(f"declare {name}(x: int, y: int, f: float)\n" for name in "ABC") + "declare E()\n"
    text, names = text + f"from {rng.choice('ABC')}[$k = x] as t\n", ["t"]
    for i in range(rng.randint(1, 3)):
        asked = [rng.choice(CONSTRAINTS).format(rng.choice(names)) for _ in range(rng.choice((0, 0, 1, 2)))]
        anchor, far = rng.choice(names), rng.randint(4, 12)
        window = rng.choice(
            (f"within {far}", f"within {far}", f"within {rng.randint(1, 4)} .. {far}", "within forever")
        )
        window = f"{window} from {anchor}"
        if len(names) > 1 and rng.random() < 0.5:
            window = "between {} and {}".format(*rng.sample(names, 2))
        constraints = f"({', '.join(asked)})" if asked else ""
        text += f"  and each {rng.choice('ABC')}{constraints} as p{i} {window}\n"
        names.append(f"p{i}")
    text += f"where {rng.choice(names)}.y > 0\n" if rng.random() < 0.2 else ""
    times = itertools.accumulate(rng.choice((0, 0, 1, 1, 2, 5)) for _ in range(rng.randint(5, 20)))
    floats = (0.0, -0.0, 1.0, float("nan"), None)
    events = [
        Occurrence(rng.choice("ABC"), time, (rng.choice((0, 1, 2, None)), rng.choice((0, 1, 2)), rng.choice(floats)))
        for time in times
    ]
    return RuleCase(wb.rules.parse_rules(text + "emit E"), events)


def test_matches_of_chains_are_those_that_are_meant():
    for seed in range(scaled(25, 50)):
        agrees(chain(seed))


# --- large numbers --------------------------------------------------------------------------------------

SEQUENCE = """
declare A(k: int)
declare B(k: int)
declare C(k: int)
declare E(k: int)
rule all:
from C[$k = k] and each A(k == $k) within 100000 from C and each B(k == $k) between A and C
emit E(k = $k)
"""


def log(counts: dict[str, int]) -> list[dict[str, object]]:
    """So many events of a type, type after type, one a tick."""
    types = [name for name, count in counts.items() for _ in range(count)]
    return [{"type": name, "time": time, "k": 1} for time, name in enumerate(types)]


def test_the_first_matches_are_told_without_the_others():
    rules, events = wb.rules.parse_rules(SEQUENCE), log({"A": 400, "B": 400, "C": 400})
    assert rules.count(events) == {"all": 400**3}
    expected = [("all", (c, a, b)) for c in (801,) for a in range(1, 401) for b in range(401, 801)]
    assert rules.matches(events).first(3000) == expected[:3000]
    assert list(itertools.islice(rules.matches(events), 3)) == expected[:3]


def test_logs_that_can_be_read_once_are():
    found = wb.rules.parse_rules(SEQUENCE).matches(iter(log({"A": 1, "B": 2, "C": 1})))
    assert list(found) == [("all", (4, 1, 2)), ("all", (4, 1, 3))]
    with pytest.raises(InputError, match="has been read"):
        found.count()


def test_an_engine_that_makes_composites_tells_the_same():
    rules, events = wb.rules.parse_rules(SEQUENCE), log({"A": 2, "B": 2, "C": 2})
    rows = wb.run(rules, events, matches="rows")
    assert rows == rules.matches(events).to_arrow().to_pylist()
    assert wb.run(rules, events, matches="count") == [{"rule": "all", "type": "E", "matches": 8}]
    for backend in ("cdp", "compiled"):
        assert wb.run(rules, events, matches="rows", backend=backend) == rows
        assert wb.run(rules, events, matches="count", backend=backend) == [{"rule": "all", "type": "E", "matches": 8}]


@pytest.mark.slow  # machine code is made
def test_machine_code_finds_the_same():
    from experiments.rule_loads import anchor_w1, anchor_w2

    for load, numbers in ((anchor_w2(30_000, 1000), True), (anchor_w1(30_000), False)):
        engine = CompiledMatches(load.rules, {}, EngineSettings(), numbers=numbers)
        told = sum(map(len, engine.matches(load.log.block(load.rules))))
        assert told + sum(engine.counts) == int(load.expected.sum())
