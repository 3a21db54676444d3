"""A step through a whole pipeline, written out as one Python function, for steps in which every input has an event.

Where a join reads only pipes that carry an event in each of these steps, nothing ever waits. The function of
`filter(x + cumulate(x, *), even(x))`, where `s` is the state of a processor and `p` what a pipe carries:

    def advance(states, front):
        [p0] = front
        [s0, s1, s2, s3] = states
        s0, [e1] = step0(s0, (p0,))
        p1 = e1[1]
        p2 = function1(p0, p1)
        p3 = function2(p0)
        s3, [e4] = step3(s3, (p2, p3))
        p4 = e4[1] if e4[0] else absent
        states[:] = (s0, s1, s2, s3)
        return (p4,)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.processor import State, events_of
from workbench.executors.reference.cell import ABSENT, Cell

WrittenOut = Callable[[list[State], tuple[Any, ...]], tuple[Any, ...]]
"""From the states, which it changes unless it fails, and an event of each input to what the outputs carry."""


def written_out(cells: Sequence[Cell], wide: Sequence[bool], inputs: int, shown: Sequence[int]) -> WrittenOut | None:
    """The function; None where something could wait, or reads several events a step."""
    certain = set(range(inputs))
    lines = [f"[{_listed('p', certain)}] = front", f"[{_listed('s', range(len(cells)))}] = states"]
    scope: dict[str, Any] = {"absent": ABSENT, "events_of": events_of}
    for number, cell in enumerate(cells):
        met = certain.issuperset(cell.sources)
        if cell.clocked or cell.processor.merges or not (met or len(cell.sources) == 1):
            return None
        if any(wide[source] for source in cell.sources):
            return None
        if met and cell.processor.lockstep:
            certain |= {target for target in cell.targets if not wide[target]}
        made = list(_made(number, cell, wide, scope))
        if not met:
            lines += [f"{_listed('p', cell.targets)} = {'absent, ' * len(cell.targets)}"]
            lines.append(f"if p{cell.sources[0]} is not absent:")
            made = [f"    {line}" for line in made]
        lines += made
    lines += [f"states[:] = ({_listed('s', range(len(cells)))})", f"return ({_listed('p', shown)})"]
    text = "def advance(states, front):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(text, "<pipeline>", "exec"), scope)
    found: WrittenOut = scope["advance"]
    return found


def _made(number: int, cell: Cell, wide: Sequence[bool], scope: dict[str, Any]) -> Sequence[str]:
    """What a processor does with a front."""
    processor, front = cell.processor, _listed("p", cell.sources)
    if cell.step == processor.step and processor.on_values is not None:
        scope[f"function{number}"] = processor.on_values
        return [f"p{cell.targets[0]} = function{number}({front})"]
    scope[f"step{number}"] = cell.step
    made = [f"s{number}, [{_listed('e', cell.targets)}] = step{number}(s{number}, ({front}))"]
    for pipe in cell.targets:
        if wide[pipe]:
            made.append(f"p{pipe} = list(events_of(e{pipe})) or absent")
        else:
            made.append(f"p{pipe} = e{pipe}[1]" + ("" if processor.lockstep else f" if e{pipe}[0] else absent"))
    return made


def _listed(letter: str, numbers: Sequence[int] | set[int]) -> str:
    return "".join(f"{letter}{number}, " for number in numbers)
