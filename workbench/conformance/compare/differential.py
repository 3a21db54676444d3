"""Differential checks: two executables of one pipeline must agree, step by step.

The rule of this module: values agree only if their types do (Python's `True == 1`), an Overflow of both sides ends the
comparison at that step (of one side, too, unless the terms are strict), and a disagreement is readable and repeatable:
it contains the pipeline as a program, the trace, and the first step and pipe that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.budget import Interrupt
from workbench.conformance.compare.executables import Executable, InputSequence, Seen, name_of, source_of
from workbench.conformance.generate.python_source import body
from workbench.core.determinism import EXACT, Determinism, same
from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow


@dataclass(frozen=True)
class Disagreement:
    """The first step and pipe, or queue, at which two executables differ."""

    pipeline: Pipeline
    steps: InputSequence
    step: int
    what: str
    """`pipe 'add'`, `queue 'add.left'`, or `the run` if one side fails."""
    left: tuple[str, Any]
    """The name of the executable and its value."""
    right: tuple[str, Any]
    sources: tuple[str, str] = ("", "")
    """The Python source that makes each executable from `pipeline`; empty where it is unknown."""
    observations: tuple[tuple[Seen, Seen], ...] = field(default=(), repr=False, compare=False)
    """The observations of both sides in each step, up to the first that is missing on one side."""
    strict: bool = False
    """Whether an Overflow on one side only is a disagreement."""
    imports: tuple[str, ...] = ()
    """The import lines of executables that are not ours, where their source is known."""

    def __str__(self) -> str:
        inputs = "\n".join(
            f"  {mark} step {i}: {events}"
            for i, events in enumerate(self.steps[: self.step + 1])
            for mark in ["→" if i == self.step else " "]
        )
        width = max(len(self.left[0]), len(self.right[0]))
        sides = "\n".join(f"  {name:{width}}  {value!r}" for name, value in (self.left, self.right))
        return (
            f"{self.left[0]} and {self.right[0]} differ at step {self.step}, {self.what}:\n{sides}\n"
            f"inputs:\n{inputs}\npipeline:\n{body(self.pipeline)}"
        )


@dataclass(frozen=True)
class Terms:
    """The terms on which two runs are compared.

    Parameters
    ----------
    contracts: the determinism contract of each pipe (`core.determinism`); exact for pipes that are missing.
    strict: whether an Overflow on one side only is a disagreement; else it ends the comparison.
    excused: whether an error on one side only is allowed nevertheless.
    """

    contracts: Mapping[str, Determinism] = field(default_factory=dict)
    strict: bool = False
    excused: Callable[[Exception], bool] = lambda _: False


LOOSE = Terms()


def agree(
    pipeline: Pipeline, steps: InputSequence, left: Executable, right: Executable, terms: Terms = LOOSE
) -> Disagreement | None:
    """Return the first disagreement of two executables on a trace of inputs; None if they agree on all of it.

    Pipes and queues that both sides show are compared; the outputs' pipes must be among them. Two errors at the same
    step end the comparison unless only one of them is an Overflow.
    """
    names = name_of(left), name_of(right)
    if names[0] == names[1]:
        names = f"{names[0]} (left)", f"{names[1]} (right)"
    runs = zip(_observe(left, steps), _observe(right, steps), strict=False)
    pairs: list[tuple[Seen, Seen]] = []
    for position, (ours, theirs) in zip(range(len(steps)), runs, strict=False):
        failures = [side for side in (ours, theirs) if isinstance(side, Exception)]
        lazily = isinstance(ours, Overflow) and not isinstance(theirs, Exception) and getattr(right, "lazy", False)
        if lazily or _ends_comparison(failures, terms):
            return None
        difference = _difference(pipeline, ours, theirs, terms)
        if not failures:
            pairs.append((ours, theirs))  # type: ignore[arg-type]  # neither is an error
        if difference is not None:
            what, a, b = difference
            sources = source_of(left), source_of(right)
            sides = (names[0], a), (names[1], b)
            return Disagreement(
                pipeline, steps, position, what, *sides, sources, tuple(pairs), terms.strict, _imports(left, right)
            )
    return None


def _imports(*executables: Executable) -> tuple[str, ...]:
    kinds = [type(getattr(each, "executable", each)) for each in executables]
    return tuple(f"from {kind.__module__} import {kind.__name__}" for kind in kinds if is_foreign(kind))


def is_foreign(kind: type) -> bool:
    """Whether a class is a user's own."""
    return not kind.__module__.startswith("workbench.")


def _ends_comparison(failures: list[Exception], terms: Terms) -> bool:
    """Whether these errors of one step end the comparison without a disagreement."""
    overflows = [error for error in failures if isinstance(error, Overflow)]
    if len(failures) == 2:
        return len(overflows) != 1
    return any((isinstance(error, Overflow) and not terms.strict) or terms.excused(error) for error in failures)


def check(pipeline: Pipeline, steps: InputSequence, left: Executable, right: Executable, terms: Terms = LOOSE) -> None:
    """Raise AssertionError with a readable account if two executables disagree."""
    disagreement = agree(pipeline, steps, left, right, terms)
    if disagreement is not None:
        raise AssertionError(str(disagreement))


def _observe(executable: Executable, steps: InputSequence) -> Iterator[Seen | Exception]:
    """Yield the observations; if the run ends early, then repeat the error for ever."""
    count = 0
    try:
        for observation in executable.trace(steps):
            count += 1
            yield observation
        reason: Exception = AssertionError(f"the trace ends after {count} of {len(steps)} steps")
    except Exception as error:
        if (interrupt := _interrupt(error)) is not None:
            raise interrupt from None
        reason = error
        if isinstance(error, Overflow) and count == 0 and len(steps) > 1:
            # an executable that builds its whole list at once: the steps before the overflow count too
            yield from _observe(executable, steps[:-1])
    while True:
        yield reason


def _interrupt(error: BaseException | None) -> BaseException | None:
    """Return the Ctrl-C or limit behind an error, if any: cleaning up after one fails where threads are scheduled."""
    while error is not None and not isinstance(error, KeyboardInterrupt | Interrupt):
        error = error.__cause__ or error.__context__
    return error


def _difference(
    pipeline: Pipeline, left: Seen | Exception, right: Seen | Exception, terms: Terms
) -> tuple[str, Any, Any] | None:
    if isinstance(left, Exception) or isinstance(right, Exception):
        sides = [side if isinstance(side, Exception) else "runs on" for side in (left, right)]
        return "the run", sides[0], sides[1]
    unseen = {pipe for _, pipe in pipeline.outputs} - (left.pipes.keys() & right.pipes.keys())
    if unseen:
        return f"pipe {sorted(unseen)[0]!r}", sorted(left.pipes), sorted(right.pipes)
    for kind, a, b in (("pipe", left.pipes, right.pipes), ("queue", left.queues, right.queues)):
        for name in a:
            if name in b and not same(a[name], b[name], terms.contracts.get(name, EXACT)):
                return f"{kind} {name!r}", a[name], b[name]
    return None
