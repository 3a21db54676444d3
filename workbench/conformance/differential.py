"""Differential checks: two executables of one pipeline must show the same, step by step.

The rule of this module: values agree only if their types do (Python's `True == 1`), an Overflow on either
side ends the comparison at that step, and a disagreement can be read and run again: it carries the pipeline
as a program, the trace, and the first step and pipe that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.backends.reference import Reference
from workbench.conformance.executables import Executable, Observation, Steps, source_of
from workbench.conformance.source import body
from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import Overflow
from workbench.processors.group import flatten


@dataclass(frozen=True)
class Disagreement:
    """The first place where two executables differ."""

    pipeline: Pipeline
    steps: Steps
    step: int
    what: str
    """`pipe 'add'`, `queue 'add.left'`, or `the run` where one side fails."""
    left: tuple[str, Any]
    """The name of the executable and what it shows."""
    right: tuple[str, Any]
    made: tuple[str, str] = ("", "")
    """How each executable is made from `pipeline`, as Python source; empty where that is not known."""

    def to_test(self) -> str:
        """The text of a pytest file that compares them again: it fails for as long as they differ.

        An executable that cannot be made again gives way to the specification, or to the reference executor.
        """
        from workbench.conformance.regression import disagreement

        return disagreement(self)

    def __str__(self) -> str:
        shown = "\n".join(
            f"  {mark} step {i}: {events}"
            for i, events in enumerate(self.steps[: self.step + 1])
            for mark in ["→" if i == self.step else " "]
        )
        width = max(len(self.left[0]), len(self.right[0]))
        sides = "\n".join(f"  {name:{width}}  {value!r}" for name, value in (self.left, self.right))
        return (
            f"{self.left[0]} and {self.right[0]} differ at step {self.step}, {self.what}:\n{sides}\n"
            f"inputs:\n{shown}\npipeline:\n{body(self.pipeline)}"
        )


def agree(pipeline: Pipeline, steps: Steps, left: Executable, right: Executable) -> Disagreement | None:
    """The first disagreement of two executables on a trace of inputs; None if they agree on all of it.

    Pipes and queues that both sides show are compared; the outputs' pipes must be among them.
    """
    names = type(left).__name__, type(right).__name__
    if names[0] == names[1]:
        names = f"{names[0]} (left)", f"{names[1]} (right)"
    runs = _observed(left, steps), _observed(right, steps)
    for position in range(len(steps)):
        seen = next(runs[0]), next(runs[1])
        if any(isinstance(side, Overflow) for side in seen):
            return None
        found = _difference(pipeline, *seen)
        if found is not None:
            what, a, b = found
            made = source_of(left), source_of(right)
            return Disagreement(pipeline, steps, position, what, (names[0], a), (names[1], b), made)
    return None


def check(pipeline: Pipeline, steps: Steps, left: Executable, right: Executable) -> None:
    """AssertionError with a readable account if two executables disagree."""
    found = agree(pipeline, steps, left, right)
    if found is not None:
        raise AssertionError(str(found))


def _observed(executable: Executable, steps: Steps) -> Iterator[Observation | Exception]:
    """The observations; then, where the run ends early, the reason, again and again."""
    count = 0
    reason: Exception = AssertionError(f"the trace ends after {count} of {len(steps)} steps")
    try:
        for observation in executable.trace(steps):
            count += 1
            yield observation
        reason = AssertionError(f"the trace ends after {count} of {len(steps)} steps")
    except Overflow as error:
        reason = error
        if count == 0 and len(steps) > 1:
            # an executable that makes its list at once: what it shows before the overflow counts too
            yield from _observed(executable, steps[:-1])
    except Exception as error:
        reason = error
    while True:
        yield reason


def _difference(
    pipeline: Pipeline, left: Observation | Exception, right: Observation | Exception
) -> tuple[str, Any, Any] | None:
    if isinstance(left, Exception) or isinstance(right, Exception):
        shown = [side if isinstance(side, Exception) else "runs on" for side in (left, right)]
        return "the run", shown[0], shown[1]
    unseen = {pipe for _, pipe in pipeline.outputs} - (left.pipes.keys() & right.pipes.keys())
    if unseen:
        return f"pipe {sorted(unseen)[0]!r}", sorted(left.pipes), sorted(right.pipes)
    for kind, a, b in (("pipe", left.pipes, right.pipes), ("queue", left.queues, right.queues)):
        for name in a:
            if name in b and not same(a[name], b[name]):
                return f"{kind} {name!r}", a[name], b[name]
    return None


def same(a: Value, b: Value) -> bool:
    """Equality that tells `True` from `1`."""
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


# --- checks of the reference executor by itself ------------------------------------------------------------


def received(pipeline: Pipeline, steps: Steps) -> dict[str, list[Value]]:
    """The stream on each input after these steps."""
    return {name: [s[name] for s in steps if name in s] for name, _ in pipeline.inputs}


def pushed(pipeline: Pipeline, steps: Steps, executor: Reference | None = None) -> dict[str, list[Value]]:
    """The output streams of the steps, with what comes at the end."""
    executor = executor or Reference(pipeline)
    shown: dict[str, list[Value]] = {name: [] for name, _ in pipeline.outputs}
    for outputs in [*(executor.step(events).outputs for events in steps if events is not END), executor.end()]:
        for name, values in outputs.items():
            shown[name] += values
    return shown


def pulled(pipeline: Pipeline, streams: Mapping[str, Sequence[Value]]) -> dict[str, list[Value]]:
    """The output streams in pull mode, one event of each output in turn."""
    executor = Reference(pipeline, capacities={}).connect(**streams)
    shown: dict[str, list[Value]] = {name: [] for name, _ in pipeline.outputs}
    open_ = list(shown)
    while open_:
        for name in list(open_):
            try:
                shown[name].append(executor.pull(name))
            except StopIteration:
                open_.remove(name)
    return shown


def check_streams(pipeline: Pipeline, steps: Steps) -> None:
    """Denotation, push mode, pull mode and a second run after `reset` give the same output streams.

    Where a checked domain is left, the denotation and push mode both say so (pull mode need not come there).
    """
    if any(processor.timed for processor in flatten(pipeline).typed.values()):
        return  # what it emits depends on the steps
    streams = received(pipeline, steps)
    executor = Reference(pipeline)
    specified = _unless_overflow(lambda: pipeline.denote(list(streams.values())))
    found: dict[str, Any] = {"push mode": _unless_overflow(lambda: pushed(pipeline, steps, executor))}
    if specified is not None:
        specified = dict(zip(dict(pipeline.outputs), specified, strict=True))
        found["pull mode"] = pulled(pipeline, streams)
        executor.reset()
        found["push mode after reset"] = pushed(pipeline, steps, executor)
        found["a run in lockstep"] = Reference(pipeline).run(streams)
    for how, outputs in found.items():
        if not _same_streams(specified, outputs):
            raise AssertionError(
                f"the denotation gives {_shown(specified)}, {how} gives {_shown(outputs)}\n"
                f"inputs: {streams}\npipeline:\n{body(pipeline)}"
            )


def _unless_overflow(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Overflow:
        return None


def _same_streams(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return a.keys() == b.keys() and all(same(tuple(a[name]), tuple(b[name])) for name in a)


def _shown(streams: Any) -> str:
    return "an overflow" if streams is None else str(streams)
