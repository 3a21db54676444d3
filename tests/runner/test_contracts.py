"""Contracts that are watched in a run: the first step that breaks one ends it, on every backend."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import workbench as wb
from tests.examples import scaled
from workbench.conformance.generate.pipelines import long_traces
from workbench.core.processor import END
from workbench.errors import Overflow
from workbench.processors.held.contracts import monitored

PROGRAM = wb.parse("""
pipeline inner(x: int) -> int { assume x <= 10  guarantee out >= 0  return cumulate(x, +) }
pipeline p(y: int) -> int { assume y - trim(y, 1) < 5  i = inner(y)  return i }
""").get("p")
LEGAL = [1, 2, 3, 4, 5]
BROKEN = [  # the events, the first step that breaks a contract, which it is, and the values that it read
    ([1, 2, 3, 20, 5], 3, "assume x <= 10 of inner (call 'i', line 3)", "x = 20"),  # 20 follows 3, but falls to 5 later
    ([5, 8, 11, 7], 2, "assume x <= 10 of inner (call 'i', line 3)", "x = 11"),
    ([1, -5, -1], 1, "assume y - trim(y, 1) < 5", "y = 1, trim(y, 1) = -5"),
    ([1, -2, 5], 1, "guarantee out >= 0 of inner (call 'i', line 3)", "out = -1"),
]
BACKENDS = ("auto", "reference", "threaded", "dataflow", "compiled")


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_broken_contract_ends_a_run(backend: str) -> None:
    assert wb.run(PROGRAM, {"y": LEGAL}, backend=backend, check_contracts=True) == {"out": [1, 3, 6, 10, 15]}
    for events, step, which, values in BROKEN:
        for data in ({"y": events}, {"y": np.array(events)}, [{"y": event} for event in events]):
            with pytest.raises(Overflow) as caught:
                wb.run(PROGRAM, data, backend=backend, check_contracts=True)
            assert caught.value.step == step
            shown = "" if backend == "compiled" else f", with {values}"
            assert caught.value.what == f"step {step}: {which} is broken{shown}"
        assert wb.run(PROGRAM, {"y": events}, backend=backend)["out"] == list(np.cumsum(events))


VALUES = [  # the inputs, the condition, the events, and the values that it read at the last one
    ("x: int, y: int", "x + 1 <= y", {"x": [1, 9], "y": [2, 4]}, "x = 9, y = 4"),
    ("x: int, y: int", "x <= y and (y < x or y <= 3)", {"x": [1, 4], "y": [2, 4]}, "x = 4, y = 4"),
    ("x: int, b: bool", "filter(x, b) < 3", {"x": [5, 6], "b": [False, True]}, "filter(x, b) = 6"),
    ("x: int", "window(x, 2, cumulate(+)) < 10", {"x": [5, 6]}, "window(x, 2, cumulate(+)) = 11"),
    ("x: int", "not once(x > 5)", {"x": [5, 6]}, "once(x > 5) = true"),
    ("x: {red, green}", "x = red", {"x": ["red", "green"]}, "x = green"),
    ("x: bool", "x", {"x": [True, False]}, "x = false"),
    ("x: {a: int, b: int}", "x.a <= x.b", {"x": [(1, 2), (4, 3)]}, "x.a = 4, x.b = 3"),
    ("x: {a: int, b: int}", "ordered(x)", {"x": [(1, 2), (4, 3)]}, "x = {a: 4, b: 3}"),
]


@pytest.mark.parametrize("backend", ["reference", "threaded", "dataflow"])
@pytest.mark.parametrize(("inputs", "condition", "events", "values"), VALUES)
def test_the_values_that_broke_a_contract(backend: str, inputs: str, condition: str, events: dict, values: str) -> None:
    text = f"function ordered(e) = e.a <= e.b\npipeline p({inputs}) -> any {{ assume {condition}  return x }}"
    rows = [dict(zip(events, row, strict=True)) for row in zip(*events.values(), strict=True)]
    with pytest.raises(Overflow) as caught:
        wb.run(wb.parse(text).get(), rows, backend=backend, check_contracts=True)
    assert caught.value.what == f"step 1: assume {condition} is broken, with {values}"


def test_the_values_are_those_of_one_front() -> None:
    text = "pipeline p(x: int, y: int) -> int { assume x <= y  return x }"
    rows = [{"x": 5}, {"x": 1}, {"y": 3}]  # 5 waits for 3, and 1 is no part of it
    with pytest.raises(Overflow, match="step 2: assume x <= y is broken, with x = 5, y = 3"):
        wb.run(wb.parse(text).get(), rows, check_contracts=True)


def test_far_down_a_log() -> None:
    events = np.ones(scaled(20_000, 100_000), dtype=np.int64)
    events[broken := len(events) * 7 // 10] = 30
    with pytest.raises(Overflow) as caught:
        wb.run(PROGRAM, {"y": events}, backend="compiled", check_contracts=True)
    assert caught.value.step == broken


def test_by_key_the_row_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("y,k\n1,a\n2,b\n3,a\n20,a\n4,b\n")
    with pytest.raises(Overflow, match=r"k 'a', row 4 of .* assume x <= 10 .* is broken"):
        wb.run(PROGRAM, log, key="k", check_contracts=True, output=tmp_path / "out.csv")


def test_the_meaning_of_a_monitored_pipeline() -> None:
    watched = monitored(PROGRAM)
    assert [name for name, _ in watched.outputs] == ["out"]
    assert watched.denote([LEGAL]) == ([1, 3, 6, 10, 15],)
    with pytest.raises(Overflow, match=r"guarantee out >= 0 .* is broken"):
        watched.denote([[1, -2, 5]])


@settings(max_examples=60, deadline=None)
@given(long_traces(PROGRAM.pipeline, 12))
def test_random_traces_are_legal(steps: list[dict[str, int]]) -> None:
    given = [step["y"] for step in steps if step is not END and "y" in step]
    assert all(later < earlier or earlier - later < 5 for earlier, later in itertools.pairwise(given))


@pytest.mark.slow
def test_conform_takes_legal_traces_only() -> None:
    loaded = wb.parse("pipeline p(x: int) -> 0..3 { assume 0 <= x and x <= 3  return cast(x, 0..3) }").get()
    for each in wb.conform(loaded, ["reference", "compiled"]):
        assert each.failure is None
