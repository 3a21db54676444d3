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
BROKEN = [  # the events, the first step that breaks a contract, and which it is
    ([1, 2, 3, 20, 5], 3, "assume x <= 10 of inner (call 'i', line 3)"),  # 20 follows 3, but falls to 5 later
    ([5, 8, 11, 7], 2, "assume x <= 10 of inner (call 'i', line 3)"),
    ([1, -5, -1], 1, "assume y - trim(y, 1) < 5"),
    ([1, -2, 5], 1, "guarantee out >= 0 of inner (call 'i', line 3)"),
]
BACKENDS = ("auto", "reference", "threaded", "dataflow", "compiled")


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_broken_contract_ends_a_run(backend: str) -> None:
    assert wb.run(PROGRAM, {"y": LEGAL}, backend=backend, check_contracts=True) == {"out": [1, 3, 6, 10, 15]}
    for events, step, which in BROKEN:
        for data in ({"y": events}, {"y": np.array(events)}, [{"y": event} for event in events]):
            with pytest.raises(Overflow) as caught:
                wb.run(PROGRAM, data, backend=backend, check_contracts=True)
            assert caught.value.step == step
            assert caught.value.what == f"step {step}: it breaks: {which}"
        assert wb.run(PROGRAM, {"y": events}, backend=backend)["out"] == list(np.cumsum(events))


def test_far_down_a_log() -> None:
    events = np.ones(scaled(20_000, 100_000), dtype=np.int64)
    events[broken := len(events) * 7 // 10] = 30
    with pytest.raises(Overflow) as caught:
        wb.run(PROGRAM, {"y": events}, backend="compiled", check_contracts=True)
    assert caught.value.step == broken


def test_by_key_the_row_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("y,k\n1,a\n2,b\n3,a\n20,a\n4,b\n")
    with pytest.raises(Overflow, match=r"k 'a', row 4 of .* it breaks: assume x <= 10"):
        wb.run(PROGRAM, log, key="k", check_contracts=True, output=tmp_path / "out.csv")


def test_the_meaning_of_a_monitored_pipeline() -> None:
    watched = monitored(PROGRAM)
    assert [name for name, _ in watched.outputs] == ["out"]
    assert watched.denote([LEGAL]) == ([1, 3, 6, 10, 15],)
    with pytest.raises(Overflow, match="it breaks: guarantee"):
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
