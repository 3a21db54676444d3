"""Errors in steps keep their kind and fields when they are told where they came up."""

from dataclasses import dataclass, field
from typing import Any

import pytest

import workbench as wb
from workbench.builder import Builder
from workbench.core.domain import BOOL, INT
from workbench.core.processor import Processor, event
from workbench.errors import DomainError, LimitMet, Overflow, PipelineError, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.processors.held.window import Window
from workbench.processors.temporal import Globally


def around(processor, domain=INT):
    builder = Builder("p")
    return builder.build(builder.add(processor, [builder.input("x", domain)], name="it"))


@dataclass(frozen=True)
class Raises(Processor):
    error: Any = field(default=None, repr=False)

    def denote(self, streams: Any) -> Any:
        return (list(streams[0]),)

    def step(self, state: Any, front: Any) -> Any:
        raise self.error

    @classmethod
    def samples(cls) -> Any:
        return (cls(),)


@pytest.mark.parametrize(
    ("error", "name", "value"),
    [
        (DomainError("3 is too large", hint="take 4", needs=4), "needs", 4),
        (LimitMet("the limit of 2 s", "counting"), "limit", "the limit of 2 s"),
    ],
    ids=["domain", "limit"],
)
@pytest.mark.parametrize("hold", [lambda each: each, lambda each: Window(1, each)], ids=["plain", "held"])
def test_an_error_keeps_its_fields(error, name, value, hold):
    with pytest.raises(type(error), match=r"^step 0: processor 'it' .* on in = 7: ") as found:
        Reference(around(hold(Raises(error)))).push(7)
    assert getattr(found.value, name) == value
    assert found.value.hint == error.hint
    assert found.value.__cause__ is error
    assert "step 0" not in error.what  # it is another one


def test_an_overflow_names_the_queue_of_its_own_processor():
    running = Reference(around(Globally(1), BOOL))
    running.push(True)
    with pytest.raises(Overflow, match=r"queue 'it\.pending' overflows: its capacity is 1") as found:
        running.push(True)
    assert found.value.queue == "it.pending"


def test_what_a_step_gives_is_shown_where_it_is_no_state_and_emissions():
    class Bare(Raises):
        def step(self, state: Any, front: Any) -> Any:
            return event(front[0])

    class Fails(Raises):
        def step(self, state: Any, front: Any) -> Any:
            return state, (event(int("seven")),)

    given = r"its step does not return a state and emissions, each a tuple: Maybe\(present=True, value=7\)"
    with pytest.raises(PipelineError, match=given) as found:
        Reference(around(Bare())).push(7)
    assert "(emission, ...)" in found.value.hint
    with pytest.raises(PipelineError, match=given):
        list(Reference(around(Bare())).connect(x=[7]))
    with wb.executors.ThreadManager(1) as manager:
        pipelined = wb.executors.Pipelined(around(Bare()), manager, wb.executors.vouch(around(Bare()), 1, "the test"))
        with pytest.raises(PipelineError, match=given):
            list(pipelined.connect(x=[7]))
    with pytest.raises(WorkbenchError, match="failed: ValueError: invalid literal"):
        Reference(around(Fails())).push(7)


@pytest.mark.parametrize("backend", [wb.executors.Reference, wb.executors.Compiled])
def test_the_step_of_an_error_is_a_field(backend):
    """So nobody reads it out of the message, and it stays when the error is told again."""
    source = wb.parse("pipeline p(x: int) -> int { s = x + trim(x, 2)\n capacity queue(s.left) = 1\n return s }")
    running = backend(source.get().pipeline.with_capacities({"s.left": 1, "s.right": 0}))
    running.step({"x": 0})
    with pytest.raises(Overflow, match=r"^step 1: ") as full:
        running.step({"x": 1})
    assert full.value.step == 1
    assert full.value.retold("elsewhere", where="there").step == 1
    running.reset()
    running.step({"x": 1})
    with pytest.raises(DomainError, match=r"^step 1: ") as wrong:
        running.step({"x": "one"})
    assert wrong.value.step == 1
