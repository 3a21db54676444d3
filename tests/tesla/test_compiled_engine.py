"""The engine `compiled`: it emits what rules mean, or refuses them; every array grows, and nothing is lost with it."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("numba")

import numpy as np

import workbench as wb
from tests.examples import scaled
from tests.tesla.events import A, C, rule_engine
from tests.tesla.test_meaning import TYPES
from tests.tesla.test_rule_threads import APART, JOINED, drawn
from workbench.conformance.compare.rule_engines import compare_to_meaning
from workbench.conformance.generate import rule_cases as generator
from workbench.conformance.generate.rule_streams import stream_case
from workbench.core.domain import INT
from workbench.errors import EndlessChain, InputError, Refused
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules import engine as engine_module
from workbench.executors.compiled.rules import memory
from workbench.executors.compiled.rules.compiling import PLAIN, KernelFunctions, compile_functions
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.records import KernelStatus, Records
from workbench.executors.compiled.rules.refusals import CONSTRUCTS
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.engine import EngineSettings, MakesEngine
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.event_block import event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

PLAIN_CASES, CHECKED_CASES, COMPILED_CASES = scaled(60, 100), scaled(10, 30), 5000

# --- random rules ---------------------------------------------------------------------------------------


@pytest.fixture
def own_cases(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], generator.RuleCase]:
    """Random cases, longer than others are, whose numbers seldom leave 64 bits."""
    monkeypatch.setattr(generator, "VALUES", {**generator.VALUES, INT: (1, 0, 2, 1, 0, 2, -1, 3, None)})
    monkeypatch.setattr(generator, "MAX_HAPPENING", 16)
    return generator.random_case


def from_capacity_one(functions: KernelFunctions = PLAIN) -> MakesEngine:
    """Starts the engine with arrays of one entry."""

    def start(rules: RuleSet, facts: Facts, settings: EngineSettings) -> CompiledRules:
        made = CompiledRules(rules, facts, settings, capacity=1)
        made.memory.functions = functions
        return made

    return start


def test_it_emits_what_rules_mean_while_every_array_grows(own_cases, monkeypatch):
    grown, grow = Counter[KernelStatus](), KernelMemory.grow
    monkeypatch.setattr(KernelMemory, "grow", lambda self, status: (grown.update([status]), grow(self, status)))
    consuming = parse_rules(
        TYPES + "from C and each A within 9 from C emit D(x = A.x) consuming A\n"
        "from C and $s = SUM(A().x within 9 from C) emit D(x = $s)"
    )
    stream = [A(0, 1), A(0, 2), A(1, 3), C(2, 0), C(3, 0)]
    for seed, case in enumerate([*map(own_cases, range(PLAIN_CASES)), generator.RuleCase(consuming, stream)]):
        assert compare_to_meaning(case, {"compiled": from_capacity_one()}) is None, seed
    full = {each for each in KernelStatus if each.name.startswith("FULL")}
    assert grown.keys() == full


class Checked:
    """An array that refuses negative indices, which Python counts from the end and machine code does not."""

    def __getitem__(self, key: Any) -> Any:
        check_index(key)
        return super().__getitem__(key)  # type: ignore[misc]

    def __setitem__(self, key: Any, value: Any) -> None:
        check_index(key)
        super().__setitem__(key, value)  # type: ignore[misc]


class CheckedRecords(Checked, Records): ...


class CheckedWords(Checked, np.ndarray): ...


def check_index(key: Any) -> None:
    for each in key if isinstance(key, tuple) else (key,):
        if isinstance(each, int | np.integer) and each < 0:
            raise IndexError(f"index {each} is negative")


def checked_run(*arguments: Any) -> None:
    """The kernel in plain Python over arrays that check."""
    PLAIN.run(*(_checked(each) for each in arguments))


def _checked(array: Any) -> Any:
    if isinstance(array, tuple):
        return type(array)(*map(_checked, array))
    return array.view(CheckedRecords if isinstance(array, Records) else CheckedWords)


def test_no_index_is_negative(own_cases):
    with pytest.raises(IndexError, match="-1 is negative"):
        np.zeros(2).view(CheckedWords)[-1]
    start = from_capacity_one(PLAIN._replace(run=checked_run))
    for seed in range(CHECKED_CASES):
        assert compare_to_meaning(own_cases(seed), {"compiled": start}) is None, seed


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_machine_code_emits_what_rules_mean(own_cases):
    """Mistakes of a compiler's making have shown in one case of thousands."""
    start = from_capacity_one(compile_functions())
    for seed in range(COMPILED_CASES):
        assert compare_to_meaning(own_cases(seed), {"compiled": start}) is None, seed


def test_numbers_beyond_words_come_at_any_time(own_cases, monkeypatch):
    """What has been consumed and retained by then goes along to `cdp`, and comes back with a snapshot."""
    monkeypatch.setitem(generator.VALUES, INT, (1, 0, 2, 1, 0, 2, -1, 3, None, 2**63 - 1, -(2**63), 2**70))
    for seed in range(20):
        assert compare_to_meaning(own_cases(seed), {"compiled": from_capacity_one()}) is None, seed


# --- blocks ---------------------------------------------------------------------------------------------

MIXED = """
declare S(name: string, level: float, on: bool)
declare T(name: string)
declare U(name: string, level: float, on: bool, n: int)
rule same: from T and each S(name == T.name) within 9 from T and $n = COUNT(S within 9 from T)
  emit U(name = S.name, level = S.level, on = S.on, n = $n)
"""


def readings(count: int) -> Iterator[Occurrence]:
    for at in range(count):
        name = ("a", "a longer name than a word has room for", None)[at % 3]
        row = (name, (0.5, math.nan, None)[at % 4 % 3], at % 2 == 0)
        yield Occurrence("S", at // 2, row) if at % 5 else Occurrence("T", at // 2, (name,))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("sources", [False, True])
@pytest.mark.parametrize("size", [1, 7, 90])
def test_blocks_are_events_one_by_one(size, sources):
    """Floats, texts, truth values and nulls come out as they went in, however many composites fit the output."""
    made, stream = parse_rules(MIXED), list(readings(90))
    cdp = rule_engine(made, "cdp")
    expected = [each for event in stream for each in cdp.process(event)]
    engine = CompiledRules(made, {}, EngineSettings(plain=True), capacity=2)
    found = list[Occurrence]()
    for at in range(0, len(stream), size):
        block = event_block(made, stream[at : at + size], TextCodes([]).put)  # who reads a log knows no engine
        for part in engine.process_block(block, sources=sources):
            found += part if isinstance(part, list) else part.occurrences(made)
    assert len(expected) > 50
    kept = [each if sources else replace(each, sources=()) for each in expected]
    assert list(map(repr, found)) == list(map(repr, kept))


ROWS = """
declare A(x: int, s: string)
declare B(x: int)
declare fact F(x: int)
declare Q(x: int, y: int, s: string, at: int)
"""
LAST_STEPS = {
    "each A(x > B.x) as A2 within 9 from B emit Q(x = A2.x, y = B.x, s = A2.s, at = TIME(A2))": True,
    "each A[$x = x] within 9 from B emit Q(x = $x, y = B.x, s = A.s, at = TIME(A))": False,
    "each A within 9 from B and each A as A2 between A and B emit Q(x = A.x, y = A2.x, s = A2.s, at = 1)": True,
    "each A within 9 from B and each F emit Q(x = F.x, y = A.x, s = A.s, at = 1)": True,
    "each A within 9 from B where A.x > 1 emit Q(x = A.x, y = B.x, s = A.s, at = 1)": False,
    "each A within 9 from B emit Q(x = A.x + 1, y = B.x, s = A.s, at = 1)": False,
    "each A within 9 from B limit 2 emit Q(x = A.x, y = B.x, s = A.s, at = 1)": False,
    "each A within 9 from B emit Q(x = A.x, y = B.x, s = A.s, at = 1) consuming A": False,
}
"""What follows a trigger, and whether all matches of its last step are emitted at once."""


@pytest.mark.parametrize("rule", LAST_STEPS)
def test_matches_of_a_last_step_are_emitted_at_once_where_values_are_copied(rule):
    made = parse_rules(ROWS + f"from B and {rule}")
    values = itertools.product((0, None, 2, 3), ("a", None))
    stream = [Occurrence("A", time, row) for time, row in enumerate(values)]
    stream += [Occurrence("B", 8, (1,)), Occurrence("A", 8, (5, "b")), Occurrence("B", 9, (None,))]
    cdp, facts = list[Occurrence](), {"F": [(7,), (None,)]}
    engine = CompiledRules(made, facts, EngineSettings(plain=True), capacity=1)
    steps = engine.memory.plan.steps
    assert bool(steps[engine.memory.plan.rules[0].steps_end - 1].emits) == LAST_STEPS[rule]
    reference = rule_engine(made, "cdp", facts)
    for event in stream:
        cdp += reference.process(event)
    found = [each for event in stream for each in engine.process(event)]
    assert len(found) > 1
    assert list(map(repr, found)) == list(map(repr, cdp))


def test_a_limit_counts_no_match_of_which_a_text_is_missing():
    """What it is silent for is null until the text is known, and for null it is silent already."""
    made = parse_rules(ROWS + 'from A limit 1 emit Q(x = A.x, y = 0, s = A.s, at = 1) at most once in 9 per A.s + "b"')
    stream = [Occurrence("A", 0, (1, None)), Occurrence("A", 1, (2, "a")), Occurrence("A", 2, (3, "a"))]
    engine = CompiledRules(made, {}, EngineSettings(plain=True), capacity=1)
    assert [each.values[0] for event in stream for each in engine.process(event)] == [1, 2]


def test_an_event_that_comes_late_ends_a_block_behind_what_came_before():
    made = parse_rules(TYPES + "from A emit D(x = A.x)")
    engine, found = CompiledRules(made, {}, EngineSettings(plain=True)), list[Any]()
    block = event_block(made, [A(3, 1), A(4, 2), A(2, 3)], engine.texts.put)
    with pytest.raises(InputError, match="goes back from 4 to 2"):
        found.extend(engine.process_block(block))
    assert [each.values for part in found for each in part.occurrences(made)] == [(1,), (2,)]
    assert [each.values for each in engine.process(A(4, 5))] == [(5,)]


def test_an_endless_chain_is_reported_as_by_cdp(monkeypatch):
    monkeypatch.setattr(memory, "LONGEST_CHAIN", 10)  # and from there on it is `cdp` that follows the chain
    text = TYPES + "from A(x > 0) emit A(x = A.x + 1)"
    errors = []
    for name in ("cdp", "compiled"):
        engine = rule_engine(parse_rules(text), name)
        assert engine.process(A(0, 0)) == []
        with pytest.raises(EndlessChain) as raised:
            engine.process(A(1, 1))
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


def test_rules_that_come_later_know_what_has_been_retained():
    engine = rule_engine(parse_rules(TYPES + "rule all: from C and each A within 9 from C emit D(x = A.x)"), "compiled")
    assert engine.process(A(0, 1)) == engine.process(A(5, 2)) == engine.advance(6) == []
    assert engine.add("rule last: from C and last A within 9 from C emit B(x = A.x)") == {"last": -math.inf}
    engine.remove("all")
    assert [each.values for each in engine.process(C(8, 0))] == [(2,)]


def start_publisher(rules: RuleSet, facts: Facts, settings: EngineSettings) -> Publisher:
    """What wrote the states of compiled rules before there were tables."""
    return Publisher("compiled", rules, facts, settings, CDPMatcher)


@pytest.mark.parametrize(
    ("saved", "resumed"),
    [(CompiledRules, CompiledRules), (start_publisher, CompiledRules), (CompiledRules, start_publisher)],
    ids=["its own", "from objects", "to objects"],
)
def test_a_state_is_resumed(saved, resumed):
    """Whatever is retained in the middle; states have the form of those of `cdp`."""
    resumptions = 0
    for seed in range(10):
        rng = random.Random(seed)
        made = drawn((*JOINED, *APART), rng, 8)
        case, settings = stream_case(made, seed, 60), EngineSettings(plain=True)
        first, second = (start(made, case.facts, settings) for start in (saved, resumed))
        cdp = rule_engine(made, "cdp", case.facts, settings)
        middle = len(case.events) // 2
        for event in case.events[:middle]:
            assert len(first.process(event)) == len(cdp.process(event))
        second.restore(first.snapshot())
        before = cdp.count
        for event in case.events[middle:]:
            expected = cdp.process(event)
            assert list(map(repr, second.process(event))) == list(map(repr, expected)), seed
            resumptions += any(min(each.sources) < before for each in expected)
        assert list(map(repr, second.advance(99))) == list(map(repr, cdp.advance(99))), seed
    assert resumptions > 10


def test_the_kernel_takes_the_state_back_from_cdp(own_cases, monkeypatch):
    """After each event that was not for it, and after each change of rules."""
    monkeypatch.setitem(generator.VALUES, INT, (1, 0, 2, 1, 0, 2, -1, 3, None, 2**63 - 1, -(2**63), 2**70))
    monkeypatch.setattr(engine_module, "EXACT_EVENTS", 1)
    monkeypatch.setattr(engine_module, "list_held_events", lambda exact: [])
    taken, take_back = Counter[bool](), CompiledRules._take_back
    monkeypatch.setattr(CompiledRules, "_take_back", lambda self: _counted(taken, take_back(self)))
    for seed in range(20):
        assert compare_to_meaning(own_cases(seed), {"compiled": from_capacity_one()}) is None, seed
    assert min(taken[True], taken[False]) > 5


def _counted(counts: Counter[bool], value: bool) -> bool:
    counts[value] += 1
    return value


def test_rules_that_change_run_on_the_kernel_again(monkeypatch):
    """One whose events nobody has retained does so once its window has passed."""
    monkeypatch.setattr(engine_module, "EXACT_EVENTS", 1)
    text = TYPES + "rule all: from C and each A within 9 from C emit D(x = A.x)"
    engines = [rule_engine(parse_rules(text), name) for name in ("cdp", "compiled")]
    changes: dict[int, Callable[[Any], Any]] = {
        5: lambda engine: engine.add("rule last: from C and last A within 9 from C emit B(x = A.x)"),
        9: lambda engine: engine.remove("all"),
        20: lambda engine: engine.replace("last", "rule last: from C and first A within 9 from C emit D(x = A.x)"),
        30: lambda engine: engine.add("rule new: from C and each B within 12 from C emit D(x = B.x)"),
    }
    on_kernel = []
    for time in range(60):
        event = C(time, 0) if time % 4 == 3 else Occurrence("B", time, (time,)) if time % 5 else A(time, time)
        found = [[changes[time](each)] if time in changes else [] for each in engines]
        assert found[0] == found[1]
        assert engines[0].process(event) == engines[1].process(event), time
        on_kernel.append(engines[1].takes_block(1))
    assert all(on_kernel[:30])
    assert not any(on_kernel[30:42])
    assert on_kernel[59]


def test_a_state_is_read_whose_columns_ask_for_the_order_of_texts():
    made = parse_rules(
        MIXED + 'rule late: from T and each S(name > "a", name + "!" == T.name) within 9 from T emit T(name = "")'
    )
    before = rule_engine(made, "compiled")
    assert before.process(Occurrence("S", 0, ("b", 1.0, True))) == []
    after = rule_engine(made, "compiled")
    after.restore(before.snapshot())
    assert [each.type for each in after.process(Occurrence("T", 1, ("b!",)))] == ["T"]


def test_a_log_is_run():
    made = parse_rules(TYPES + "from B and each A within 5 from B emit D(x = A.x + B.x)")
    rows = [{"type": "A", "time": 0, "x": 1}, {"type": "A", "time": 3, "x": 2}, {"type": "B", "time": 6, "x": 10}]
    found = [list(wb.run(made, rows, backend=name)) for name in ("cdp", "compiled")]
    assert len(found[0]) == 1
    assert found[0] == found[1]


# --- refusals -------------------------------------------------------------------------------------------

WIDE = ", ".join(f"x{k}: int" for k in range(63))
BEGIN = TYPES + "declare F(f: float, s: string)\ndeclare G0(f: float)\ndeclare fact G(x: int)\n"
GCD = {"GCD": (math.gcd, 0)}
REFUSED = {
    "aggregates that are functions of Python": (
        "from B and $m = GCD(A().x within 5 from B) emit D(x = $m)",
        "from B and $m = MAX(A().x within 5 from B) emit D(x = $m)", "GCD",
    ),
    "whole numbers of more than 64 bits in expressions": (
        f"from A(x < {2**63}) emit D(x = 1)", f"from A(x < {2**63 - 1}) emit D(x = 1)", f"{2**63}",
    ),
    "types with more than 62 attributes": (
        f"declare Wide({WIDE})\nfrom Wide emit D(x = Wide.x0)",
        f"declare Wide({WIDE.replace(', x62: int', '')})\nfrom Wide emit D(x = Wide.x0)", "Wide",
    ),
}  # fmt: skip
"""Constructs of `CONSTRUCTS`, each with a rule that has it, one like it that is taken, and what is named."""


def test_every_refusal_has_a_test():
    assert {*REFUSED, "policy"} == CONSTRUCTS.keys()


@pytest.mark.parametrize("construct", REFUSED)
def test_what_is_refused_is_named(construct):
    refused, taken, named = REFUSED[construct]
    with pytest.raises(Refused, match=f"backend 'compiled' has no {construct}: {named} \\("):
        CompiledRules(parse_rules(BEGIN + refused, aggregates=GCD), {}, EngineSettings())
    CompiledRules(parse_rules(BEGIN + taken), {}, EngineSettings())


def test_what_rules_cost_is_counted_as_by_cdp(own_cases):
    """However often an event is processed again, since something was full."""
    settings = EngineSettings(profiled=True)
    for seed in range(30):
        case = own_cases(seed)
        cdp = rule_engine(case.rules, "cdp", case.facts, settings)
        engine = CompiledRules(case.rules, case.facts, settings, capacity=1)
        for event in case.events:
            assert len(engine.process(event)) == len(cdp.process(event))
        engine.advance(99)
        cdp.advance(99)
        expected = [replace(each, seconds=0) for each in cdp.profile()]
        assert [replace(each, seconds=0) for each in engine.profile()] == expected, seed
