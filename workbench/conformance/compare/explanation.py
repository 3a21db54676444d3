"""Disagreements as people read them: a timeline up to the step at which two runs differ, and what each shows there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.conformance.compare.differential import Disagreement
from workbench.conformance.compare.executables import Observation
from workbench.core.processor import END
from workbench.core.readable import show_value
from workbench.processors.held.group import flatten
from workbench.show.timeline import ENDED, NO_EVENT, Row, RowKind, Timeline, render


def account(found: Disagreement, width: int | None = None) -> str:
    """The inputs, and the outputs of both sides, a column per step; then what differs, where it is not an output."""
    steps = found.steps[: found.step + 1]
    table = Timeline((*_inputs(found), *_outputs(found)), len(steps), None, f"{found.what} differs")
    text = render(table, width)
    if found.what.startswith("pipe") and not any(isinstance(side[1], Exception) for side in (found.left, found.right)):
        shown = {pipe for _, pipe in flatten(found.pipeline).outputs}
        if found.what.split("'")[1] in shown:
            return text
    wide = max(len(name) for name, _ in (found.left, found.right))
    return "\n".join([text, *(f"{name.ljust(wide)}  {_side(value)}" for name, value in (found.left, found.right))])


def _side(value: object) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}".replace("\n", "\n    ")
    return NO_EVENT if value is None else str(value)


def _inputs(found: Disagreement) -> Iterator[Row]:
    steps = found.steps[: found.step + 1]
    for name, domain in flatten(found.pipeline).inputs:
        yield Row(
            "in", name, tuple(show_value(events[name], domain) if name in events else NO_EVENT for events in steps)
        )
    if any(events is END for events in steps):
        yield Row("in", "end of streams", tuple(ENDED if events is END else NO_EVENT for events in steps))


def _outputs(found: Disagreement) -> Iterator[Row]:
    flat = flatten(found.pipeline)
    for output, pipe in flat.outputs:
        sides = [tuple(_cells(found, side, pipe)) for side in (0, 1)]
        names = (found.left[0], found.right[0])
        if sides[0] == sides[1]:
            yield _row(output, sides[0])
            continue
        for name, cells in zip(names, sides, strict=True):
            yield _row(f"{output} ({name})", cells)


def _row(name: str, cells: Sequence[str]) -> Row:
    kind: RowKind = "out"
    return Row(kind, name, tuple(cells))


def _cells(found: Disagreement, side: int, pipe: str) -> Iterator[str]:
    """What a side shows on a pipe; nothing is known of a step in which a run fails."""
    domain = flatten(found.pipeline).domains[pipe]
    for step in range(found.step + 1):
        if step >= len(found.shown):
            yield "error" if isinstance((found.left, found.right)[side][1], Exception) else "?"
            continue
        seen: Observation = found.shown[step][side]
        value = seen.pipes.get(pipe)
        yield NO_EVENT if value is None else show_value(value, domain)
