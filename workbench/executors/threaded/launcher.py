"""A copy of a processor for each event, in a thread if one is granted: the core of pipelining.

The rule of this module: the result of a copy depends only on its initial state and its fronts, so copies can run in any
order and concurrently; their results are stored in the order of the events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from workbench.core.processor import SHAPE, Emission, Processor, State, Stepped, misshapen
from workbench.errors import PipelineError
from workbench.executors.pending import Done, Pending
from workbench.executors.threaded.certificate import Certificate
from workbench.executors.threaded.manager import ThreadManager

Front = tuple[Any, ...]


class Results(NamedTuple):
    """The emissions of a processor on fronts that were launched together."""

    emitted: list[tuple[Emission, ...]]
    """One entry for each front before the one that failed."""
    error: Exception | None = None
    state: State = ()
    """The state after these fronts."""


FailureOf = Callable[[int, Front, Exception], Exception]
"""Builds the error of the processor on a front, given also its position among those launched together."""


class Launcher:
    """A launcher of copies. Used by one thread at a time, in the order of the events.

    Parameters
    ----------
    processor: typed.
    certificate: checked; gives the number of past fronts for a copy. Until it holds, one copy gets all fronts.
    """

    def __init__(self, processor: Processor, certificate: Certificate, manager: ThreadManager) -> None:
        self.processor = processor
        self.certificate = certificate
        self.manager = manager
        self.start_from(processor.initial())

    def start_from(self, state: State) -> None:
        """Start from a state of the processor."""
        self._base = state
        self._settled = self.certificate.has_settled(self._base)
        self._recent: deque[Front] = deque(maxlen=self.certificate.history)

    @property
    def pipelining(self) -> bool:
        """Whether each event gets a copy now: not before the state has settled, nor with a limit of 0."""
        return self._settled and self.manager.grants

    def launch(self, fronts: Sequence[Front], fail: FailureOf) -> Pending[Results]:
        """Start to process these fronts, which follow those of earlier launches."""
        if not self.pipelining:
            return Done(lambda: _results(self.step, fronts, fail)._replace(state=self._base))
        recent = list(self._recent)[-(self.certificate.history - 1) :] if self.certificate.history > 1 else []
        self._recent.extend(fronts)
        return self.manager.start(partial(self._copy, self._base, recent, fronts, fail))

    def step(self, front: Front) -> tuple[Emission, ...]:
        """Process the next front without a copy; return its emissions."""
        if self._recent:
            self._base = self.state()
            self._recent.clear()
        self._base, emitted = self._step(self._base, front)
        self._settled = self._settled or self.certificate.has_settled(self._base)
        return emitted

    def state(self) -> State:
        """Return a state from which the processor continues as if it had seen all fronts."""
        if not self._base and self.certificate.history == 1:
            return self._base  # it has no state
        return self._after(self._base, self._recent)

    def _copy(self, state: State, recent: Sequence[Front], fronts: Sequence[Front], fail: FailureOf) -> Results:
        state = self._after(state, recent)

        def step(front: Front) -> tuple[Emission, ...]:
            nonlocal state
            state, emitted = self._step(state, front)
            return emitted

        return _results(step, fronts, fail)._replace(state=state)

    def _step(self, state: State, front: Front) -> Stepped:
        outcome: Any = self.processor.step(state, front)
        if isinstance(outcome, tuple) and len(outcome) == 2 and isinstance(outcome[1], tuple):
            return outcome
        raise PipelineError(misshapen(outcome, None, self.processor.out_arity), hint=SHAPE)

    def _after(self, state: State, fronts: Iterable[Front]) -> State:
        for front in fronts:
            state, _ = self.processor.step(state, front)
        return state


def _results(step: Callable[[Front], tuple[Emission, ...]], fronts: Sequence[Front], fail: FailureOf) -> Results:
    """Process the fronts in order, up to an error."""
    emitted: list[tuple[Emission, ...]] = []
    for position, front in enumerate(fronts):
        try:
            emitted.append(step(front))
        except Exception as error:
            step_error = fail(position, front, error)
            step_error.__cause__ = error
            return Results(emitted, step_error)
    return Results(emitted)
