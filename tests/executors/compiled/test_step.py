"""The generator of compiled code: its function does what the transition system, evaluated by itself, does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.conformance.compare.models import compose_whole
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import BOOL, Enum, Integer, Overflowing, Range
from workbench.core.encoding import decode, encode
from workbench.core.ops import ADD, EVEN, MUL, SUB
from workbench.core.processor import END
from workbench.core.term import leaves, var
from workbench.errors import Refused
from workbench.executors.compiled.code.loop import step_function
from workbench.executors.compiled.code.plain import plain_function
from workbench.ir.ends import END_NAME
from workbench.ir.simulate import Simulator
from workbench.ir.system import StateVariable, System


def step_of(system: System, *terms: Any) -> Any:
    """The code of a step, as Python runs it."""
    return plain_function(step_function(system, terms, after=True))


@given(data=st.data(), q=st.integers(0, 2))
@examples(150)
def test_a_step_is_that_of_the_system(data: st.DataObject, q: int) -> None:
    pipeline = data.draw(pipelines(max_bits=40))
    model = compose_whole(pipeline, q)
    system = model.system
    simulator = Simulator(system, [model.overflow])
    step = step_of(system, model.overflow)
    for events in data.draw(traces(pipeline)):
        given_values: dict[str, Any] = {f"{END_NAME}:now": events is END}
        for source in system.inputs:
            value = events.get(source.name, source.domain.default)
            given_values[source.present.name] = source.name in events
            given_values |= zip((leaf.name for leaf in leaves(source.value)), leaves(value), strict=True)
        if system.end:
            given_values[system.end.now.name] = events is END
        before = [encode(v.domain, value) for v, value in zip(system.variables, simulator.state, strict=True)]
        inputs = [encode(domain, given_values[name]) for name, domain in system.free.items()]
        found = step(*before, *inputs)
        *after, overflow = found if isinstance(found, tuple) else (found,)
        shown = simulator.step(events)
        assert [decode(v.domain, int(n)) for v, n in zip(system.variables, after, strict=True)] == [*simulator.state]
        assert bool(overflow) == shown.labels[0]


def one(domain: Any, following: Any, initial: Any = 0) -> System:
    """A system of one variable `s:v`."""
    return System("one", (), (StateVariable("s:v", domain, initial, following),), (), (), {}, ())


@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("overflow", Overflowing)
@pytest.mark.parametrize("op", [ADD, SUB, MUL])
def test_arithmetic_stays_in_its_domain_as_the_domain_says(n: int, overflow: Overflowing, op: Any) -> None:
    domain = Integer(n, overflow)
    v = var("s:v", domain)
    step = step_of(one(domain, op(op(v, n - 1), v)))
    for value in range(n):
        assert step(value) == domain.fit(op.exact(domain.fit(op.exact(value, n - 1)), value))


def test_labels_of_enumerations_are_their_positions() -> None:
    light = Enum(("red", "green", "blue"))
    assert [encode(light, label) for label in light.labels] == [0, 1, 2]
    assert [decode(light, number) for number in range(3)] == ["red", "green", "blue"]
    assert decode(BOOL, 1) is True
    assert step_of(one(light, var("s:v", light), "red"))(2) == 2


@pytest.mark.parametrize(
    "domain", [Integer(2**32), Range(-(2**62), 2**62)], ids=["a product of 64 bits", "a product of a wide range"]
)
def test_what_64_bits_do_not_hold_is_refused(domain: Any) -> None:
    v = var("s:v", domain)
    with pytest.raises(Refused, match="64 bits"):
        step_of(one(BOOL, EVEN(MUL(v, v)), False))


def test_31_bits_can_be_multiplied() -> None:
    domain = Integer(2**31)
    v = var("s:v", domain)
    step = step_of(one(domain, v * v))
    assert step(2**31 - 1) == (2**31 - 1) ** 2 % 2**31
