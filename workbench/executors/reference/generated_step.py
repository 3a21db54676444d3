"""Steps through a whole pipeline as one generated Python function, for steps in which every input has an event.

Where a join reads only pipes that carry an event in each of these steps, nothing ever waits. The function of `filter(x
+ cumulate(x, *), even(x))`, where `s` is the state of a processor, `t` the one after the step, and `p` the content of a
pipe:

    def advance(network, fronts, sinks):
        [s0, s1, s2, s3] = network._states
        [keep0] = sinks
        count = 0
        try:
            for [p0] in fronts:
                p1 = function0(s0[0], p0)
                t0 = (p1,)
                p2 = function1(p0, p1)
                p3 = function2(p0)
                t3, [e4] = step3(s3, (p2, p3))
                p4 = e4[1] if e4[0] else absent
                s0, s3 = t0, t3
                count += 1
                if p4 is not absent:
                    keep0(p4)
        finally:
            network._states[:] = [s0, s1, s2, s3]
            network.steps += count
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from workbench.core.processor import events_of
from workbench.executors.reference.cell import ABSENT, Cell
from workbench.processors.held.lockstep_group import statement

WrittenOut = Callable[[Any, Iterable[tuple[Any, ...]], Sequence[Callable[[Any], None]]], None]
"""Runs a network on fronts with an event of each input; each output's events are passed to its sink.

A step that fails has no effect, earlier steps have."""


def write_out(
    cells: Sequence[Cell], wide: Sequence[bool], inputs: int, output_pipes: Sequence[int]
) -> WrittenOut | None:
    """Generate the function; None where an event could wait, or a processor reads several events a step."""
    certain = set(range(inputs))
    body: list[str] = []
    scope: dict[str, Any] = {"absent": ABSENT, "events_of": events_of}
    changed: list[int] = []
    for number, cell in enumerate(cells):
        met = certain.issuperset(cell.sources)
        if cell.clocked or cell.processor.merges or not (met or len(cell.sources) == 1):
            return None
        if any(wide[source] for source in cell.sources):
            return None
        if met and cell.processor.lockstep:
            certain |= {target for target in cell.targets if not wide[target]}
        front_lines = _write_front(number, cell, wide, scope)
        if len(front_lines) > 1:
            changed.append(number)
        if not met:
            before = [f"t{number} = s{number}"] if len(front_lines) > 1 else []
            body += [*before, f"{_list_variables('p', cell.targets)} = {'absent, ' * len(cell.targets)}"]
            body.append(f"if p{cell.sources[0]} is not absent:")
            front_lines = [f"    {line}" for line in front_lines]
        body += front_lines
    if changed:
        body.append(f"{_list_variables('s', changed)} = {_list_variables('t', changed)}")
    body.append("count += 1")
    for number, pipe in enumerate(output_pipes):
        body += [] if pipe in certain else [f"if p{pipe} is not absent:"]
        body.append(f"{'' if pipe in certain else '    '}keep{number}(p{pipe})")
    states = _list_variables("s", range(len(cells)))
    lines = [
        f"[{states}] = network._states",
        f"[{_list_variables('keep', range(len(output_pipes)))}] = sinks",
        "count = 0",
        "try:",
    ]
    lines += [f"    for [{_list_variables('p', range(inputs))}] in fronts:", *(f"        {line}" for line in body)]
    lines += ["finally:", f"    network._states[:] = [{states}]", "    network.steps += count"]
    text = "def advance(network, fronts, sinks):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(text, "<pipeline>", "exec"), scope)
    advance: WrittenOut = scope["advance"]
    return advance


def _write_front(number: int, cell: Cell, wide: Sequence[bool], scope: dict[str, Any]) -> Sequence[str]:
    """Return the lines that process a front; a single line where there is no state."""
    processor = cell.processor
    if cell.step == processor.step and (lines := statement(processor, number, cell.sources, cell.targets, scope)):
        return lines
    scope[f"step{number}"] = cell.step
    front = _list_variables("p", cell.sources)
    lines = [f"t{number}, [{_list_variables('e', cell.targets)}] = step{number}(s{number}, ({front}))"]
    for pipe in cell.targets:
        if wide[pipe]:
            lines.append(f"p{pipe} = list(events_of(e{pipe})) or absent")
        else:
            lines.append(f"p{pipe} = e{pipe}[1]" + ("" if processor.lockstep else f" if e{pipe}[0] else absent"))
    return lines


def _list_variables(letter: str, numbers: Iterable[int]) -> str:
    return "".join(f"{letter}{number}, " for number in numbers)
