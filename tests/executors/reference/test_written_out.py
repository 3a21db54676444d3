"""Whole streams through one function: as step by step, to the last event, state and word of an error."""

from typing import Any

import pytest

import workbench as wb
from workbench.builder import pipeline
from workbench.core import function as f
from workbench.core.domain import INT
from workbench.core.function import user_function
from workbench.errors import WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter

TEXT = """
function parity(x) = x mod 2
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline forms(x: int, y: int) -> int, bool, int {
    return filter(x + cumulate(y, *), even(x)), since(x < y, once(x = 3)), window(x, 3, cumulate(+))
}
pipeline slices(x: int, y: int) -> map(int, int) { return slice(x + y, parity, total) }
pipeline after(x: int, y: int) -> int { return window(filter(x, y > 1), 2, total) * 2 }
pipeline waits(x: int, y: int) -> int { return filter(x, even(x)) + y }
"""
X, Y = [4, 3, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]


@pipeline(x=INT, y=INT)
def fails(x: Any, y: Any) -> Any:
    def inverse(x: int) -> int:
        return 36 // (x - 9)

    return {"sum": Cumulate(f.ADD)(x + y), "out": ApplyFunction(user_function(inverse, result=INT))(Filter()(x, y > 1))}


def stepwise(running: Reference, streams: dict[str, list[Any]], shown: dict[str, list[Any]]) -> None:
    for i in range(max(map(len, streams.values()))):
        record = running.step({name: values[i] for name, values in streams.items() if i < len(values)})
        for name, events in record.outputs.items():
            shown[name] += events


def ending(run: Any, running: Reference, *streams: dict[str, list[Any]]) -> tuple[Any, ...]:
    """What comes out, the error at the end, and all that a run leaves behind."""
    shown: dict[str, list[Any]] = {name: [] for name, _ in running.flat.outputs}
    said = ""
    for each in streams:
        try:
            run(running, each, shown)
        except WorkbenchError as error:
            said += str(error)
    return shown, said, running.steps, running.states, running.contents()


@pytest.mark.parametrize("name", ["forms", "slices", "after", "waits", "fails"])
@pytest.mark.parametrize(
    ("x", "y", "error"),
    [(X, Y, ""), (X, Y[:5], ""), ([*X[:6], True, 1], Y, "step 6: True on input 'x' is not"), ([], [], "")],
    ids=["all", "one is shorter", "no value of the domain", "nothing"],
)
def test_it_is_what_steps_do(name: str, x: list[Any], y: list[Any], error: str) -> None:
    program = fails if name == "fails" else wb.parse(TEXT).get(name).pipeline
    streams = [{"x": x, "y": y}, {"x": Y, "y": X}]
    expected = ending(stepwise, Reference(program), *streams)
    running = Reference(program)
    found = ending(Reference.lockstep, running, *streams)
    assert found == expected
    assert ("step 5: processor 'inverse'" if name == "fails" and len(y) == len(x) > 0 else error) in expected[1]
    assert (running._whole is None) == (name == "waits")


def test_what_looks_on_from_outside_sees_every_front() -> None:
    running, seen = Reference(wb.parse(TEXT).get("forms").pipeline), []

    def observed(cell: Any) -> Any:
        def step(state: Any, front: Any) -> Any:
            seen.append(cell.node.name)
            return cell.processor.step(state, front)

        return step

    running.run({"x": X, "y": Y})
    running.reset()
    running.observe(observed)
    running.run({"x": X, "y": Y}, end=False)
    assert len(seen) == 8 * len(running.flat.nodes)
