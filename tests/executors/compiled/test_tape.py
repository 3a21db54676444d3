"""Loops that read earlier rows of their inputs instead of queues and windows: what they do, and where they may."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.term import var
from workbench.executors.compiled.code.loop import loop_source
from workbench.executors.compiled.code.plain import SCOPE
from workbench.executors.compiled.code.printer import executable
from workbench.executors.compiled.lower.input_tape import Taped, tape_system
from workbench.executors.compiled.lower.shape import shape
from workbench.executors.compiled.lower.system import dense
from workbench.processors.held.group import flatten

PIPELINES = {
    "sum": ("window(x, 12, cumulate(+))", 0, 0),
    "greatest": ("window(x, 21, cumulate(max))", 0, 4),  # folds of 2, 4, 8 and 5 events are not read anew
    "computed": ("window(x * x + 1, 10, cumulate(+))", 0, 0),
    "long way": ("window(x * x * x - x * x + x * 3 - x * 4 + 2 * x, 10, cumulate(+))", 0, 1),
    "state": ("window(cumulate(x, +), 10, cumulate(+))", 0, 1),
    "not always": ("window(trim(x, 3), 10, cumulate(+))", 0, 1),
    "queue": ("decimate(x, 3) + x", 41, 1),
    "lag": ("trim(x, 7) - x", 41, 1),
    "several": ("trim(x, 5) + window(x, 9, cumulate(+))", 41, 2),
    "pairs": ("(x, trim(x, 6))", 41, 1),
}
"""Each with the capacity of its queues, and how many memories are left."""


class Column(list[Any]):
    """A list that has nothing before its first entry, as the memory of a GPU."""

    def __getitem__(self, position: Any) -> Any:
        assert position >= 0
        return super().__getitem__(position)

    def __setitem__(self, position: Any, value: Any) -> None:
        assert position >= 0
        super().__setitem__(position, value)


def run(one: wb.executors.Compiled, tape: Taped, x: list[int]) -> list[list[Any]]:
    """What comes out of a trace and its end, in the loops that a GPU would run."""
    form = shape(tape.system)
    kept = {name for name, *_ in form.memories}
    whole, real, *memories = (array.tolist() for array in one.state)
    memories = [Column(m) for (name, *_), m in zip(one.form.memories, memories, strict=True) if name in kept]
    counts, outs = [0], [Column([0] * (len(x) + 2)) for _ in form.results[0][1]]
    first, last = one.steady_part(len(x))
    scope = {**SCOPE, "rounded_product": None}
    for kind, a, b in (
        ("dense", 0, first),
        ("steady", first, last),
        ("dense", last, len(x)),
        ("ending", len(x), len(x) + 1),
    ):
        source = loop_source(tape.system, one.phases(kind), target="gpu", ahead=True, pasts=tape.pasts)
        assert not executable(source, scope)(a, b, whole, real, counts, *memories, Column(x or [0]), *outs)
    return [list(out)[: counts[0]] for out in outs]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PIPELINES)
def test_the_same_comes_out(name: str) -> None:
    body, capacity, memories = PIPELINES[name]
    pipeline = (
        wb.parse(f"pipeline p(x: int) -> {'(int, int)' if name == 'pairs' else 'int'} {{ return {body} }}")
        .get()
        .pipeline
    )
    one = wb.executors.Compiled(pipeline, dict.fromkeys(flatten(pipeline).queues, capacity))
    tape = tape_system(one.system, dense(one.system))
    assert len({name for name, *_ in shape(tape.system).memories}) == memories
    for length in (0, 1, 8, 9, 10, 11, 12, 13, 25, 40, 61):
        x = np.random.default_rng(length).integers(-9, 10, length).tolist()
        reference = wb.executors.Reference(pipeline)
        expected = [value for each in x for value in reference.step({"x": each}).outputs["out"]]
        expected += reference.end()["out"]
        made = run(one, tape, x)
        assert (list(zip(*made, strict=True)) if len(made) > 1 else made[0]) == expected, length


def test_it_stands_still_where_nothing_depends_on_it() -> None:
    one = wb.executors.Compiled(
        wb.parse("pipeline p(x: int) -> int { return window(x, 12, cumulate(+)) }").get().pipeline
    )
    tape = tape_system(one.system, dense(one.system))
    still = [v.name for v in tape.system.variables if v.next is var(v.name, v.domain)]
    assert still == ["window:oldest"]  # where it lay in the memory that is gone


def test_slices_by_any_key_have_tables_that_stay() -> None:
    text = "function key(e) = e pipeline sum(x: int) -> int { return cumulate(x, +) }"
    text += "pipeline p(x: int) -> map(int, int) { return slice(x, key, sum) }"
    one = wb.executors.Compiled(wb.parse(text).get("p").pipeline)
    assert tape_system(one.system, dense(one.system)) == Taped(one.system)
