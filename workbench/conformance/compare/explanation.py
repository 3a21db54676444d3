"""Readable accounts of disagreements: a timeline up to the step at which two runs differ, and both values there."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.conformance.compare.differential import Disagreement
from workbench.core.domain import Domain
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.readable import show_value
from workbench.processors.held.group import flatten
from workbench.show.timeline import ENDED, NO_EVENT, Row, Timeline, render


def account(disagreement: Disagreement, width: int | None = None) -> str:
    """Return a timeline of inputs and both sides' outputs, then the difference if it is not in an output."""
    flat = flatten(disagreement.pipeline)
    table = Timeline(
        (*_inputs(disagreement, flat), *_outputs(disagreement, flat)),
        disagreement.step + 1,
        None,
        f"{disagreement.what} differs",
    )
    text = render(table, width)
    sides = (disagreement.left, disagreement.right)
    if disagreement.what in {f"pipe {pipe!r}" for _, pipe in flat.outputs}:
        return text
    wide = max(len(name) for name, _ in sides)
    return "\n".join([text, *(f"{name.ljust(wide)}  {_side(value)}" for name, value in sides)])


def _side(value: object) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}".replace("\n", "\n    ")
    return NO_EVENT if value is None else str(value)


def _inputs(disagreement: Disagreement, flat: Pipeline) -> Iterator[Row]:
    steps = disagreement.steps[: disagreement.step + 1]
    for name, domain in flat.inputs:
        cells = (show_value(events[name], domain) if name in events else NO_EVENT for events in steps)
        yield Row("in", name, tuple(cells))
    if any(events is END for events in steps):
        yield Row("in", "end of streams", tuple(ENDED if events is END else NO_EVENT for events in steps))


def _outputs(disagreement: Disagreement, flat: Pipeline) -> Iterator[Row]:
    for output, pipe in flat.outputs:
        sides = [tuple(_cells(disagreement, side, pipe, flat.domains[pipe])) for side in (0, 1)]
        if sides[0] == sides[1]:
            yield Row("out", output, sides[0])
            continue
        for (name, _), cells in zip((disagreement.left, disagreement.right), sides, strict=True):
            yield Row("out", f"{output} ({name})", cells)


def _cells(disagreement: Disagreement, side: int, pipe: str, domain: Domain) -> Iterator[str]:
    """Yield the values of a side on a pipe; unknown in a step in which a run fails."""
    for records in disagreement.observations:
        value = records[side].pipes.get(pipe)
        yield NO_EVENT if value is None else show_value(value, domain)
    if len(disagreement.observations) <= disagreement.step:
        yield "error" if isinstance((disagreement.left, disagreement.right)[side][1], Exception) else "?"
