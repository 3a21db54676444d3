"""Extreme numbers in conformance: they are drawn, what they show is found and made small, and little else is lost."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.conformance.test_conform import only, sums, total
from workbench.conformance.compare.conform import conform
from workbench.conformance.compare.contenders import CONTENDERS, Contender, Match, is_excused
from workbench.conformance.compare.executables import OnGpu, Running, Seen
from workbench.conformance.compare.search import Search
from workbench.conformance.compare.shrinking import smallest
from workbench.conformance.compare.threaded import Plan
from workbench.conformance.generate.pipelines import long_traces
from workbench.conformance.written_tests.disagreements import disagreement
from workbench.errors import WorkbenchError
from workbench.processors.held.group import flatten


class Changed:
    """A backend that shows some values otherwise."""

    name = "changed"

    def __init__(self, pipeline: wb.Pipeline, change: Any) -> None:
        self.running, self.change = Running(pipeline), change

    def trace(self, steps: Any) -> Any:
        for seen in self.running.trace(steps):
            yield Seen({pipe: self.change(value) for pipe, value in seen.pipes.items()}, seen.queues)


@wb.pipeline(x=wb.INT)
def same_number(x):
    return wb.processors.Passthrough()(x)


EXTREMES: dict[str, tuple[wb.Pipeline, Any, Any]] = {
    "a word of 64 bits": (
        same_number,
        lambda v: v and (v + 2**63) % 2**64 - 2**63,
        lambda v: abs(v) >= 2**63,
    ),
    "a word of 32 bits": (
        same_number,
        lambda v: v and (v + 2**31) % 2**32 - 2**31,
        lambda v: abs(v) >= 2**31,
    ),
    "whole numbers as doubles": (same_number, lambda v: v and int(float(v)), lambda v: int(float(v)) != v),
    "NaN": (total, lambda v: 0.0 if v is not None and v != v else v, lambda v: v != v),
    "numbers that underflow": (total, lambda v: 0.0 if v and abs(v) < 1e-307 else v, lambda v: abs(v) < 1e-307),
    "infinities": (total, lambda v: v and max(min(v, sys.float_info.max), -sys.float_info.max), math.isinf),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", EXTREMES)
def test_what_is_wrong_of_extreme_numbers_only_is_found_and_made_small(name: str, tmp_path: Path) -> None:
    pipeline, change, extreme = EXTREMES[name]
    contender = Contender("changed", "mine", lambda r: Changed(r.pipeline, change))
    found = only(conform(pipeline, [contender], Search(examples=1000, steps=8))).failure
    assert found
    (events,) = found.steps
    assert extreme(events["x"])
    names: dict[str, Any] = {}
    exec(disagreement(found), names)
    names["test_they_agree"]()  # the file can be read, NaN and infinities too; the reference executor is right


def test_what_is_wrong_of_usual_numbers_is_still_made_small() -> None:
    contender = Contender("changed", "mine", lambda r: Changed(r.pipeline, lambda v: min(v, 9) if v else v))
    for seed in range(5):
        failure = only(conform(same_number, [contender], Search(examples=100, seed=seed, steps=8))).failure
        assert failure
        assert failure.steps == [{"x": 10}]


def overflow(compiled: Any, steps: Any) -> WorkbenchError | None:
    try:
        list(compiled.trace(steps))
    except WorkbenchError as error:
        return error
    return None


@pytest.mark.slow
def test_most_traces_end_without_an_overflow_of_compiled_numbers() -> None:
    (numba,) = [each for each in CONTENDERS if each.name == "compiled, step by step"]
    match = Match(numba, sums, 4, 4)
    _, compiled = match.executables(Plan())
    ended: list[bool] = []

    def run(steps: Any) -> None:
        error = overflow(compiled, steps)
        assert error is None or is_excused(error)
        ended.append(error is None)

    for seed in range(6):  # a search prefers what it has seen: one alone may have few extreme numbers, or many
        smallest(long_traces(match.flat, 24), run, 100, seed)
    assert 0.8 < sum(ended) / len(ended) < 1


def test_a_gpu_is_not_given_what_no_word_holds() -> None:
    gpu = object.__new__(OnGpu)  # without the device it would look for: the error comes before anything is run
    gpu.pipeline = flatten(sums)
    with pytest.raises(WorkbenchError, match="is not an integer of 64 bits") as raised:
        list(gpu.trace([{"x": 2**63}]))
    assert is_excused(raised.value)
