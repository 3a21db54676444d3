"""Aggregates over long windows: what nodes say of a part of a chain is what its rows say one by one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("numpy")

from tests.executors.compiled.test_rule_kernel import fed, memory
from tests.tesla.events import rule_engine
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.kernel import nodes, undo
from workbench.executors.compiled.rules.kernel.search import ScanWindow
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.records import GREATEST_WORD, LEAST_WORD, KernelStatus
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.occurrence import Occurrence

Ends = tuple[int, int]
FOLDS: dict[str, Callable[[list[int]], int]] = {"COUNT": lambda _: 0, "SUM": sum, "MIN": min, "MAX": max}
EVERYTHING = LEAST_WORD, GREATEST_WORD


def with_tree(function: str, rows: Sequence[tuple[int, int, int, int | None]], capacity: int = 256) -> KernelMemory:
    """A column of events by key, in which an aggregate has a tree."""
    running = memory(f"from B[$k = x] and $s = {function}(A(x == $k).y within 9 from B) emit Q(x = $k)", capacity)
    assert fed(running, *rows) == KernelStatus.DONE
    running.state.full_tree = 0
    running.grow(KernelStatus.FULL_NODES)
    return running


def folded(running: KernelMemory, key: int, times: Ends, orders: Ends) -> tuple[int, int]:
    """How many values nodes say there are in a window, and what comes of them."""
    step = running.plan.steps[1]
    newest = int(running.history.columns[0].appended) - 1
    at = next((n for n in range(newest, -1, -1) if running.history.rows[running.slots_of(0)[n]].key == key), -1)
    window = ScanWindow(*times, *orders)
    nodes.fold_nodes(running.history, running.scratch, running.state, step, key, window, at)
    assert running.state.status == KernelStatus.DONE
    return int(running.scratch.fold[0].count), int(running.scratch.fold[0].total)


def drawn(rng: random.Random, count: int) -> list[tuple[int, int, int, int | None]]:
    times = sorted(rng.randrange(1 + count // 2) for _ in range(count))
    return [(0, time, rng.randrange(3), rng.choice((None, *range(-9, 10)))) for time in times]


def drawn_ends(rng: random.Random, count: int) -> Ends:
    one, other = (rng.randrange(-1, count + 1) for _ in range(2))
    return min(one, other), max(one, other)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", FOLDS)
def test_nodes_say_of_any_window_what_its_rows_say(function):
    rng = random.Random(1)
    for count in (1, 2, 7, 40, 200):
        rows = drawn(rng, count)
        running = with_tree(function, rows)
        for _ in range(30):
            key = rng.randrange(3)
            times, orders = drawn_ends(rng, count), drawn_ends(rng, count)
            values = [
                y for order, (_, time, x, y) in enumerate(rows)
                if x == key and times[0] <= time <= times[1] and orders[0] <= order <= orders[1] and y is not None
            ]  # fmt: skip
            expected = len(values), FOLDS[function](values) if values else 0
            assert folded(running, key, times, orders) == expected


def counted(name: str, called: Callable[..., Any], calls: list[str]) -> Callable[..., Any]:
    """The same function, whose calls are noted."""

    def call(*given: Any) -> Any:
        calls.append(name)
        return called(*given)

    return call


def test_a_long_chain_takes_few_nodes(monkeypatch):
    running = with_tree("SUM", [(0, time, 0, time) for time in range(1000)], 1024)
    assert folded(running, 0, EVERYTHING, EVERYTHING) == (1000, sum(range(1000)))
    calls = list[str]()
    for name in ("accumulate", "merge_node"):
        monkeypatch.setattr(nodes, name, counted(name, getattr(nodes, name), calls))
    for low in range(0, 1000, 97):
        for high in range(low, 1000, 89):
            calls.clear()
            assert folded(running, 0, (low, high), EVERYTHING) == (high - low + 1, sum(range(low, high + 1)))
            assert len(calls) <= 4 * math.log2(1000)


def test_a_sum_that_is_no_word_is_not_written_down():
    """Nobody may ask for it; who asks for a part of it gets that."""
    running = with_tree("SUM", [(0, time, 0, GREATEST_WORD if time % 2 else -5) for time in range(20)])
    assert folded(running, 0, (2, 3), EVERYTHING) == (2, GREATEST_WORD - 5)
    assert folded(running, 0, (4, 4), EVERYTHING) == (1, -5)


def test_a_row_that_takes_the_place_of_one_undone_has_no_node():
    running = with_tree("SUM", [(0, 0, 0, 1)])
    before = int(running.history.buckets[0])
    assert fed(running, (0, 1, 0, 10)) == KernelStatus.DONE
    assert folded(running, 0, EVERYTHING, EVERYTHING) == (2, 11)
    assert running.state.undos == 2
    undo.roll_back(running.history, running.state)
    assert running.history.buckets[0] == before
    assert fed(running, (0, 1, 0, 100)) == KernelStatus.DONE
    assert folded(running, 0, EVERYTHING, EVERYTHING) == (2, 101)


TYPED = """
declare S(k: string, x: int, f: float, s: string)
declare T(k: string)
declare O({outputs})
from T and {parts} emit O({values})
"""
AGGREGATES = {
    "c": ("COUNT(S({asked}) {within})", "int"), "d": ("COUNT(S({asked}).x {within})", "int"),
    "e": ("SUM(S({asked}).x {within})", "int"), "f": ("AVG(S({asked}).x {within})", "float"),
    "g": ("MIN(S({asked}).x {within})", "int"), "h": ("MAX(S({asked}).x {within})", "int"),
    "i": ("MIN(S({asked}).f {within})", "float"), "j": ("MAX(S({asked}).f {within})", "float"),
    "k": ("MIN(S({asked}).s {within})", "string"), "l": ("MAX(S({asked}).s {within})", "string"),
    "m": ("SUM(S({asked}).f {within})", "float"), "n": ("MEDIAN(S({asked}).x {within})", "float"),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("within", ["within 30 from T", "within 3 .. 20 from T", "within forever from T"])
@pytest.mark.parametrize("asked", ["", "k == T.k"])
def test_rules_aggregate_over_long_windows(asked, within):
    parts = " and ".join(f"${n} = {text.format(asked=asked, within=within)}" for n, (text, _) in AGGREGATES.items())
    outputs = ", ".join(f"{name}: {type_}" for name, (_, type_) in AGGREGATES.items())
    made = parse_rules(TYPED.format(outputs=outputs, parts=parts, values=", ".join(f"{n} = ${n}" for n in AGGREGATES)))
    rng, stream = random.Random(3), list[Occurrence]()
    floats = (0.5, -0.0, 0.0, 1e300, math.nan, math.inf, -1.25, None)
    for at in range(80):
        row = (rng.choice((*"ab", None)), rng.choice((None, 1, -7, 3)), rng.choice(floats[: 4 + at // 20]),
               rng.choice((None, "x", "yy", "")))  # fmt: skip
        stream.append(Occurrence("S", at // 2, row) if at % 6 else Occurrence("T", at // 2, row[:1]))
    cdp, engine = rule_engine(made, "cdp"), CompiledRules(made, {}, EngineSettings(plain=True), capacity=2)
    for event in stream:
        assert repr(engine.process(event)) == repr(cdp.process(event))
    trees = engine.memory.history.trees
    assert len(trees) == 10
    assert all(trees.start >= 0)
