"""Processors of a user's own that are wrong: each is told what is wrong with it, and no backend is skipped for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

import workbench as wb
from workbench.conformance.compare.conform import conform
from workbench.conformance.compare.conformity import Conformity
from workbench.conformance.compare.search import Search
from workbench.core.function import Function, TypedFunction
from workbench.core.processor import NOTHING, Processor, event, specialise_function
from workbench.errors import PipelineError, Refused

BACKENDS = ("specification", "pull", "threaded", "compiled, step by step", "model")


@dataclass(frozen=True)
class Own(Processor):
    """What they have in common: the stream as it is."""

    def denote(self, streams: Any) -> Any:
        return ([self.of(x) for x in streams[0]],)

    def of(self, x: Any) -> Any:
        return x

    def step(self, state: Any, front: Any) -> Any:
        return state, (event(self.of(front[0])),)

    @classmethod
    def samples(cls) -> Any:
        return (cls(),)


class WithoutSlots(Own):
    """It has a state, and does not say of what kind."""

    def initial(self) -> Any:
        return (0,)


class PythonIf(Own):
    def denote(self, streams: Any) -> Any:
        return ([x for x in streams[0] if x > 1],)

    def step(self, state: Any, front: Any) -> Any:
        return state, (event(front[0]) if front[0] > 1 else NOTHING,)


class PlainPlus(Own):
    def of(self, x: Any) -> Any:
        return x + 1


class BareMaybe(Own):
    def step(self, state: Any, front: Any) -> Any:
        return state, event(front[0])


class WithoutState(Own):
    def step(self, state: Any, front: Any) -> Any:
        return (event(front[0]),)


class TwoOutputs(Own):
    def step(self, state: Any, front: Any) -> Any:
        return state, (event(front[0]), event(front[0]))


class PythonCall(Own):
    """What it calls is no operator."""

    def of(self, x: Any) -> Any:
        return x.bit_length()


class PythonNumber(Own):
    def of(self, x: Any) -> Any:
        return x if isinstance(x, int) else int(float(x))


@dataclass(frozen=True)
class TypedPlus(Own):
    """How to do what `PlainPlus` does: with a function that is typed for the domain of the input."""

    add: Function | TypedFunction = wb.functions.ADD

    def specialise(self, inputs: Any) -> Any:
        return replace(self, add=specialise_function(self.add, (inputs[0], inputs[0])))

    def of(self, x: Any) -> Any:
        return self.add(x, 1)


def compared(processor: Processor) -> dict[str, Conformity]:
    @wb.pipeline(x=wb.INT)
    def mine(x: Any) -> Any:
        return processor(x).named("out")

    found = conform(mine, BACKENDS, Search(examples=30, steps=8))
    assert {each.backend for each in found} >= set(BACKENDS)
    return {each.backend: each for each in found}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("processor", "reason", "hint"),
    [
        (WithoutSlots(), "a state of 1, and `slots` names 0", "`slots`"),
        (PythonIf(), "is a symbolic term", "wb.functions.ite"),
        (PythonNumber(), "is a symbolic term, whose number is not known", "compute with it"),
        (PythonCall(), "cannot be run on symbols: AttributeError", "write it in operators"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Processor) else "",
)
def test_what_only_python_can_run_is_refused_by_the_others(processor: Processor, reason: str, hint: str) -> None:
    found = compared(processor)
    for backend in BACKENDS[:3]:
        assert found[backend].holds, backend
        assert not found[backend].refused, backend
    for backend in BACKENDS[3:]:
        assert reason in found[backend].refused, backend
        assert hint in found[backend].hint, backend


@pytest.mark.sampled(1)
@pytest.mark.parametrize("processor", [BareMaybe(), WithoutState(), TwoOutputs()], ids=lambda p: type(p).__name__)
def test_a_step_that_gives_something_else_is_told_what_a_step_gives(processor: Processor) -> None:
    found = compared(processor)
    (error,) = (side for side in (found["specification"].failure.left[1],) if side is not None)
    assert isinstance(error, PipelineError)
    assert "its step does not return a state and emissions" in error.what
    assert "(emission, ...)" in error.hint
    for backend in BACKENDS[3:]:
        assert "its step does not return" in found[backend].refused, backend
        assert "(emission, ...)" in found[backend].hint, backend


def test_results_outside_their_domain_are_told() -> None:
    found = compared(PlainPlus())
    assert all(found[backend].holds for backend in BACKENDS[:4])  # whole numbers without bounds
    error = found["model"].failure.left[1]
    assert isinstance(error, PipelineError)
    assert "emits 4, which is not a value of int mod 4" in error.what
    assert "specialise" in error.hint


def test_typed_functions_stay_inside_their_domain() -> None:
    for backend, outcome in compared(TypedPlus()).items():
        assert outcome.holds, backend
        assert outcome.agreements, backend


def test_a_wrong_step_is_refused_by_the_model_outside_conformance_too() -> None:
    @wb.pipeline(x=wb.INT)
    def mine(x: Any) -> Any:
        return PythonIf()(x).named("out")

    with pytest.raises(Refused, match=r"PythonIf.*is a symbolic term"):
        wb.check(mine, wb.properties.liveness())


def test_terms_divide_whole_numbers() -> None:
    @dataclass(frozen=True)
    class Shares(Own):
        def of(self, x: Any) -> Any:
            return 7 // (x + 1) + 7 % (x + 1)

    @wb.pipeline(x=wb.INT)
    def mine(x: Any) -> Any:
        return Shares()(x).named("out")

    assert wb.executors.Compiled(mine, warm_up_steps=-1).run([0, 1, 2, 6]) == {"out": [7, 4, 3, 1]}
