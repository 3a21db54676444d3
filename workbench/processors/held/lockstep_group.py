"""Processors in lockstep as one: all their steps as a single Python function.

If every pipe carries exactly one event at each front, nothing ever waits, and nothing has to be decided: the
processors step one after the other. A processor with an inner pipeline runs it for every event, often for every slice.
The function of `x + cumulate(x, *)`, where `s` is the state of a processor, `t` its next state, `q` its queues
and `p` the event of a pipe:

    def step(state, front):
        [p0] = front
        [(s0, q0), (s1, q1)] = state
        p1 = function0(s0[0], p0)
        t0 = (p1,)
        p2 = function1(p0, p1)
        return ((t0, q0), (s1, q1)), (event(p2),)
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
        """Its empty queues."""
        return ((),) * len(self.node.queues)


def together(
    members: Sequence[Member], inputs: int, output_pipes: Sequence[int]
) -> Callable[[State, tuple[Any, ...]], Stepped] | None:
    """Compile the step of all members, from a front of `inputs` inputs to the events on the pipes `output_pipes`.

    Its state has, for each processor, its own and its empty queues. None if they are not all in lockstep.
    """
    if not all(member.processor.lockstep and not member.processor.merges for member in members):
        return None
    lines = [
        f"[{_list_numbers('p{}', range(inputs))}] = front",
        f"[{_list_numbers('(s{0}, q{0})', range(len(members)))}] = state",
    ]
    scope: dict[str, Any] = {"event": event}
    after = []
    for i, member in enumerate(members):
        member_lines = statement(member.processor, i, member.sources, member.targets, scope)
        if not member_lines:
            scope[f"step{i}"] = member.processor.step
            emitted, front = _list_numbers("e{}", member.targets), _list_numbers("p{}", member.sources)
            member_lines = [f"t{i}, [{emitted}] = step{i}(s{i}, ({front}))"]
            member_lines += [f"p{pipe} = e{pipe}[1]" for pipe in member.targets]
        lines += member_lines
        after.append(f"({'t' if len(member_lines) > 1 else 's'}{i}, q{i}), ")
    lines.append(f"return ({''.join(after)}), ({_list_numbers('event(p{}), ', output_pipes, '')})")
    exec(compile("def step(state, front):\n" + "".join(f"    {line}\n" for line in lines), "<group>", "exec"), scope)
    step: Callable[[State, tuple[Any, ...]], Stepped] = scope["step"]
    return step


def at_once(members: Sequence[Member], inputs: int, output_pipes: Sequence[int]) -> Callable[..., Any] | None:
    """Compile a function from a front's values to the event; None unless all members are functions, with one output."""
    if len(output_pipes) > 1 or any(
        member.processor.on_values is None or member.processor.merges for member in members
    ):
        return None
    scope: dict[str, Any] = {}
    lines = [statement(each.processor, i, each.sources, each.targets, scope)[0] for i, each in enumerate(members)]
    lines.append(f"return p{output_pipes[0]}")
    head = f"def made({_list_numbers('p{}', range(inputs))}):\n"
    exec(compile(head + "".join(f"    {line}\n" for line in lines), "<group>", "exec"), scope)
    function: Callable[..., Any] = scope["made"]
    return function


def statement(
    processor: Processor, number: int, sources: Sequence[int], targets: Sequence[int], scope: dict[str, Any]
) -> list[str]:
    """Return the code of a processor for a front, if a function on values computes its event; else nothing.

    The next state is in the last of two lines, if there is a state.
    """
    for before, function in (("", processor.on_values), (f"s{number}[0], ", processor.on_total)):
        if function is not None:
            scope[f"function{number}"] = function
            (pipe,) = targets
            assignment = f"p{pipe} = function{number}({before}{_list_numbers('p{}', sources)})"
            return [assignment, f"t{number} = (p{pipe},)"] if before else [assignment]
    return []


def _list_numbers(form: str, numbers: Sequence[int], between: str = ", ") -> str:
    return "".join(form.format(number) + between for number in numbers)
