"""Parts of a pipeline, and the smallest one that shows a difference."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench.conformance.compare.conform import conform
from workbench.conformance.compare.contenders import Contender
from workbench.conformance.compare.executables import Running, Seen
from workbench.conformance.compare.reduction import part
from workbench.conformance.compare.search import Search
from workbench.processors.held.group import flatten

SEARCH = Search(examples=40, steps=10)


@wb.pipeline(x=wb.INT, y=wb.INT)
def chain(x, y):
    doubled = (x * 2).named("doubled")
    late = wb.processors.Trim(2)(doubled).named("late")
    total = wb.processors.Cumulate(wb.functions.ADD)(late + y).named("total")
    return wb.processors.Passthrough()(total)


BOUNDED = chain.with_capacities({"add.left": 1, "add.right": 3})


def test_a_part_reads_what_others_write_and_shows_what_nobody_reads() -> None:
    found = part(BOUNDED, ("late", "add"))
    assert found.inputs == (("doubled", wb.INT), ("y", wb.INT))
    assert found.outputs == (("add", "add"),)
    assert found.capacities == {"add.left": 1, "add.right": 3}
    assert part(chain, ("doubled",)).outputs == (("doubled", "doubled"),)


def test_a_part_of_all_is_the_whole() -> None:
    names = tuple(node.name for node in flatten(chain).nodes)
    assert part(chain, names).inputs == chain.inputs
    assert {node.name for node in part(chain, names).nodes} == set(names)


class Wrong:
    """Shows another event on a pipe, once a processor has read as many events as the given pipes say."""

    name = "wrong"

    def __init__(self, pipeline: wb.Pipeline, where: str, needs: frozenset[str]) -> None:
        self.running = Running(pipeline)
        self.broken = needs <= {node.name for node in flatten(pipeline).nodes}
        self.where = where

    def trace(self, steps: Any) -> Any:
        for seen in self.running.trace(steps):
            value = seen.pipes.get(self.where)
            wrong = {self.where: value + 1} if self.broken and value is not None else {}
            yield Seen({**seen.pipes, **wrong}, seen.queues)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("needs", [("total",), ("doubled", "total"), ("late", "add", "total")])
def test_the_processors_that_are_left_are_those_that_are_needed(needs: tuple[str, ...]) -> None:
    broken = Contender("wrong", "mine", lambda r: Wrong(r.pipeline, "total", frozenset(needs)))
    (outcome,) = conform(BOUNDED, [broken], SEARCH)
    assert outcome.failure
    assert set(outcome.part) == set(needs)
    inputs = dict(outcome.failure.pipeline.inputs)
    assert all(set(events) <= set(inputs) for events in outcome.failure.steps)


def test_where_all_are_needed_the_whole_is_shown() -> None:
    every = frozenset(node.name for node in flatten(chain).nodes)
    broken = Contender("wrong", "mine", lambda r: Wrong(r.pipeline, "total", every))
    (outcome,) = conform(chain, [broken], SEARCH)
    assert outcome.failure
    assert outcome.part == ()
    assert outcome.failure.pipeline == chain
