"""Explanations of false quantifiers: the values for which they are false, and those of the quantifiers inside.

The rule of this module: it observes a run from outside. The values that make a quantifier false are recomputed only at
the fronts at which it is false.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import Value
from workbench.core.kinds import Push
from workbench.core.processor import Processor, State, Stepped, events_of
from workbench.executors.reference.cell import Cell
from workbench.executors.reference.executor import Reference
from workbench.processors.held.group import Group
from workbench.processors.held.quantifiers import ForAll

MAX_CULPRITS = 3
"""Maximum number of culprits in a text, at each level."""


@dataclass(frozen=True)
class Culprit:
    """A value for which a quantifier's processor is false.

    Attributes
    ----------
    name: its name in the processor.
    because: the culprits of the quantifiers in the processor.
    """

    name: str
    value: Value
    because: tuple[Culprit, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} = {self.value}" + (f" ({listed(self.because)})" if self.because else "")


@dataclass(frozen=True)
class Refutation:
    """A position at which a quantifier is false.

    Attributes
    ----------
    quantifier: the name of its processor in the pipeline.
    step: the step of the position, counted from 0.
    known: the step at which the verdict was known.
    culprits: the values, in order; none for `exists` where there are no values.
    """

    quantifier: str
    step: int
    known: int
    culprits: tuple[Culprit, ...]

    @property
    def heading(self) -> str:
        """The quantifier and the step, as a phrase."""
        later = f" (known at step {self.known})" if self.known > self.step else ""
        return f"step {self.step}: '{self.quantifier}' is false{later}"

    def __str__(self) -> str:
        return f"{self.heading}: {listed(self.culprits) or 'there are no values'}"


def listed(culprits: Sequence[Culprit]) -> str:
    """Format culprits, some of them."""
    more = f" and {len(culprits) - MAX_CULPRITS:,} more" if len(culprits) > MAX_CULPRITS else ""
    return ", ".join(map(str, culprits[:MAX_CULPRITS])) + more


class Refutations:
    """The refutations of the quantifiers of a running pipeline.

    Parameters
    ----------
    running: the executor; to be passed before it runs.
    limit: maximum number of refutations, and of values with reasons in each.
    tell: receives each refutation when it is found.
    """

    def __init__(
        self, running: Reference, limit: int | None = None, tell: Callable[[Refutation], object] = lambda _: None
    ) -> None:
        self.found: list[Refutation] = []
        self._running, self._most, self._tell = running, limit, tell
        running.observe(self._observe, counts=True)

    def _observe(self, cell: Cell) -> Push:
        holder, push = cell.processor, cell.step
        if not isinstance(holder, ForAll):
            return push
        came: deque[int] = deque()

        def step(state: State, front: tuple[Any, ...]) -> Stepped:
            after, (out,) = push(state, front)
            if not state:
                came.clear()
            came.append(self._running.steps)
            verdicts = events_of(out)
            if (False in verdicts or False in after) and (self._most is None or len(self.found) < self._most):
                for number, false in holder.list_refuted(state, front):
                    self._keep(cell.node.name, came[number], holder, false, front)
            for _ in verdicts:
                came.popleft()
            return after, (out,)

        return step

    def _keep(
        self, name: str, step: int, holder: ForAll, false: Sequence[tuple[Value, State]], front: tuple[Any, ...]
    ) -> None:
        inner = holder.inner_processor
        culprits = [
            _culprit(inner, value, before, front, reasons=self._most is None or number < self._most)
            for number, (value, before) in enumerate(sorted(false, key=_rank))
        ]
        refutation = Refutation(name, step, self._running.steps, tuple(culprits))
        self.found.append(refutation)
        self._tell(refutation)


def _rank(copy: tuple[Value, State]) -> tuple[str, int, str]:
    """Return a sort key for values: texts and numbers in order; maps iterate in a different order in each run."""
    text = str(copy[0])
    return type(copy[0]).__name__, len(text) if isinstance(copy[0], int) else 0, text


def _culprit(inner: Processor, value: Value, before: State, front: tuple[Any, ...], *, reasons: bool = True) -> Culprit:
    """Build the culprit for a value, with the culprits of inner quantifiers, if these have no earlier events."""
    if not isinstance(inner, Group):
        return Culprit("value", value)
    names = [name for name, _ in inner.body.inputs]
    inside: list[Refutation] = []
    fresh = reasons and before == inner.initial()
    if fresh and any(isinstance(processor, ForAll) for processor in inner.flat.typed.values()):
        running = Reference(inner.body)
        inside = Refutations(running).found
        running.step(dict(zip(names, (value, *front), strict=True)))
    return Culprit(names[0], value, tuple(culprit for each in inside for culprit in each.culprits))
