"""Windows over cumulations, wide enough for the ways that do not fold them anew."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.processors.common import stepped, typed
from workbench.builder import Builder
from workbench.core import function as f
from workbench.core.domain import BOOL, FLOAT, INT, Domain, Integer, Overflowing, Range
from workbench.core.pipeline import Pipeline
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import Group
from workbench.processors.held.sliding import NARROW, sliding
from workbench.processors.held.window import Window

CASES: tuple[tuple[f.Function, Domain], ...] = (
    (f.ADD, INT), (f.MUL, INT), (f.MIN, INT), (f.MAX, INT), (f.ADD, Integer(7)), (f.MUL, Integer(7)),
    (f.MAX, Integer(5, Overflowing.SATURATING)), (f.MIN, Range(-3, 3)), (f.AND, BOOL), (f.OR, BOOL),
)  # fmt: skip
NOT_ASSOCIATIVE: tuple[tuple[f.Function, Domain], ...] = (
    (f.ADD, FLOAT), (f.MAX, FLOAT), (f.SUB, INT),
    (f.ADD, Integer(7, Overflowing.SATURATING)), (f.ADD, Integer(7, Overflowing.CHECKED)),
)  # fmt: skip


def events(domain: Domain) -> st.SearchStrategy[Any]:
    if domain.finite:
        return st.sampled_from(list(domain.values()))
    return st.floats(-9, 9) if domain == FLOAT else st.integers(-2, 2)


def window(width: int, function: f.Function, domain: Domain) -> Pipeline:
    builder = Builder("p")
    return builder.build(builder.add(Window(width, Cumulate(function)), [builder.input("x", domain)]))


@pytest.mark.parametrize(("function", "domain"), CASES, ids=str)
@examples(25)
@given(data=st.data())
def test_a_window_is_the_fold_of_its_events(function: f.Function, domain: Domain, data: st.DataObject) -> None:
    """By the definition, in the reference executor, and in compiled code."""
    width = data.draw(st.sampled_from([5, NARROW + 1, 16, 21, 100]))
    stream = data.draw(st.lists(events(domain), max_size=3 * width, min_size=width - 1))
    pipeline = window(width, function, domain)
    node = pipeline.typed[pipeline.nodes[0].name]
    start = node.inner.start  # type: ignore[attr-defined]
    apply = node.inner.function  # type: ignore[attr-defined]
    expected = [reduce(apply, stream[i : i + width], start) for i in range(len(stream) - width + 1)]
    assert stepped(node, [stream]) == (expected,)
    executor = Compiled(pipeline, warm_up_steps=-1, machine=False)
    assert executor.run(stream) == {"out": expected}
    whole = function is not f.MUL or domain != INT  # a part of a product may have too many digits, and 0 behind it
    assert (sliding(width, node.inner, (domain,)) is not None) == (width > NARROW and whole)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("function", "domain"), NOT_ASSOCIATIVE, ids=str)
def test_what_is_not_associative_is_folded_anew(function: f.Function, domain: Domain) -> None:
    node = typed(Window(20, Cumulate(function)), domain)
    assert not node._fold.stacks
    assert node.stored((domain,)) is None


def test_floats_among_integers_are_added_in_their_order() -> None:
    """0.1 + (0.2 + 0.3) is not (0.1 + 0.2) + 0.3, so as long as a float is in the window its events are folded."""
    stream = [1, 0.1, 0.2, 0.3, 4, 5, 6, 7, 8, 9, 10, 11, 0.7, 0.1, 2, 2, 2, 2, 2, 2, 2, 2]
    node = typed(Window(6, Cumulate(f.ADD)), INT)
    assert node._fold.stacks
    (shown,) = stepped(node, [stream])
    assert shown == [sum(stream[i : i + 6]) for i in range(len(stream) - 5)]
    assert [type(value) for value in shown] == [type(sum(stream[i : i + 6])) for i in range(len(stream) - 5)]


def test_a_group_of_one_cumulation_is_one() -> None:
    builder = Builder("sum")
    body = builder.build(Cumulate(f.ADD)(builder.input("x", INT)))
    assert typed(Window(20, Group(body)), INT)._fold.stacks


def test_a_start_that_is_not_neutral_counts_once() -> None:
    stream = list(range(40))
    builder = Builder("p")
    pipeline = builder.build(builder.add(Window(12, Cumulate(f.ADD, 1000)), [builder.input("x", INT)]))
    expected = [1000 + sum(stream[i : i + 12]) for i in range(29)]
    assert Reference(pipeline).run(stream)["out"] == expected
    assert Compiled(pipeline, warm_up_steps=-1, machine=False).run(stream)["out"] == expected
