"""Processors in lockstep as one: the steps of all of them written out as a single Python function.

Where every pipe carries exactly one event at each front, nothing ever waits, and there is nothing to decide: the
processors step one after the other. A processor that holds a pipeline runs it for every event, often for every slice.
The function of `x + cumulate(x, *)`, where `s` is the state of a processor, `q` its queues, `p` what a pipe carries:

    def step(state, front):
        [p0] = front
        [(s0, q0), (s1, q1)] = state
        s0, [e1] = step0(s0, (p0,))
        p1 = e1.value
        s1, [e2] = step1(s1, (p0, p1))
        p2 = e2.value
        return ((s0, q0), (s1, q1)), (e2,)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from workbench.core.pipeline import Node
from workbench.core.processor import Processor, State, Stepped, event


class Member(NamedTuple):
    """A typed processor in a pipeline, and the numbers of the pipes that it reads and writes."""

    processor: Processor
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    node: Node

    @property
    def queues(self) -> tuple[tuple[()], ...]:
        """Its queues when nothing waits."""
        return ((),) * len(self.node.queues)


def together(
    members: Sequence[Member], inputs: int, shown: Sequence[int]
) -> Callable[[State, tuple[Any, ...]], Stepped] | None:
    """The step of all, from a front of so many inputs to the events on the pipes shown.

    Its state is, for each processor, its own and its empty queues. None if they are not all in lockstep.
    """
    if not all(member.processor.lockstep and not member.processor.merges for member in members):
        return None
    made = {pipe for member in members for pipe in member.targets}
    lines = [f"[{_listed('p{}', range(inputs))}] = front", f"[{_listed('(s{0}, q{0})', range(len(members)))}] = state"]
    for i, member in enumerate(members):
        lines.append(f"s{i}, [{_listed('e{}', member.targets)}] = step{i}(s{i}, ({_listed('p{}', member.sources)}))")
        lines += [f"p{pipe} = e{pipe}.value" for pipe in member.targets]
    results = "".join(f"e{pipe}, " if pipe in made else f"event(p{pipe}), " for pipe in shown)
    lines.append(f"return ({_listed('(s{0}, q{0})', range(len(members)))}), ({results})")
    scope: dict[str, Any] = {"event": event, **{f"step{i}": member.processor.step for i, member in enumerate(members)}}
    exec(compile("def step(state, front):\n" + "".join(f"    {line}\n" for line in lines), "<group>", "exec"), scope)
    found: Callable[[State, tuple[Any, ...]], Stepped] = scope["step"]
    return found


def _listed(form: str, numbers: Sequence[int]) -> str:
    return "".join(form.format(number) + ", " for number in numbers)
