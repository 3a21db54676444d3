"""The order of arrival: the theorem on random pipelines and orders, and the queues that notice it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from workbench import Pipeline, Settings, parse
from workbench.conformance.generate.domains import values
from workbench.conformance.generate.pipelines import pipelines
from workbench.core.pipeline import Node
from workbench.errors import Overflow
from workbench.executors import Reference
from workbench.processors.apply import ApplyFunction
from workbench.verify.analyses import order
from workbench.verify.analyses.order import Overflows
from workbench.verify.finding import Finding


def of(text: str, **options: Any) -> Finding:
    return order(parse(text).get().pipeline, Settings(**options))


@given(st.data())
@examples(30)
def test_outputs_do_not_depend_on_the_order(data: st.DataObject) -> None:
    """The same streams in any interleaving give what the specification says of them."""
    pipeline = data.draw(pipelines(max_inputs=3))
    assume(order(pipeline)["determined"])
    assert order(Pipeline("p", pipeline.inputs[:1], (), (("out", pipeline.inputs[0][0]),)))["determined"]
    streams = {name: data.draw(st.lists(values(domain), max_size=5)) for name, domain in pipeline.inputs}
    coming = data.draw(st.permutations([name for name, stream in streams.items() for _ in stream]))
    running, left = Reference(pipeline), {name: list(stream) for name, stream in streams.items()}
    emitted: dict[str, list[object]] = {name: [] for name, _ in pipeline.outputs}
    for name in coming:
        try:
            record = running.step({name: left[name].pop(0)})
        except Overflow:  # a checked number leaves its domain
            return
        for output, events in record.outputs.items():
            emitted[output] += events
    assert tuple(emitted.values()) == pipeline.denote(list(streams.values()), ended=False)


def test_which_queues_notice() -> None:
    """x + y: with both in the same step nothing waits; one of them first fills its queue."""
    found = of("pipeline p(x: int, y: int) -> int { return x + y }")
    assert found["determined"]
    assert {q.about: q.answer for q in found["queues"]} == dict.fromkeys(("add.left", "add.right"), "in some orders")
    for queue in found["queues"]:
        assert queue["witness"] is not None
        assert len(queue["witness"].steps) == 3  # two wait, the third has no room
        assert queue["witness"].replay == "confirmed by execution"


def test_what_overflows_in_any_order() -> None:
    """y comes twice as often to its sum as its decimated self."""
    found = of("pipeline p(x: int, y: int) -> int, int { return decimate(y, 2) + y, x }")
    assert {q.about: q.answer for q in found["queues"]} == {
        "add.left": Overflows.NOT_FIRST,
        "add.right": Overflows.ANY_ORDER,
    }


def test_one_input_has_one_order() -> None:
    assert of("pipeline p(x: int) -> int { return x + trim(x, 1) }")["queues"] == ()


def test_a_processor_that_does_not_wait_is_not_covered() -> None:
    @dataclass(frozen=True)
    class Eager(ApplyFunction):
        @property
        def joins(self) -> bool:
            return False

    found = parse("pipeline p(x: int, y: int) -> int { return x + y }").get().pipeline
    (node,) = found.nodes
    assert isinstance(node.processor, ApplyFunction)
    eager = Node(node.name, Eager(node.processor.function), node.inputs, node.outputs)
    assert order(Pipeline("p", found.inputs, (eager,), found.outputs))["unsure"] == ("add",)
