"""A copy of a processor for each event, each in a thread if one is granted: the core of pipelining.

The rule of this module: what a copy computes depends on nothing but the state it begins with and the fronts it is
given, so copies can be done in any order and at the same time; their results are kept in the order of the events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from workbench.core.pending import Done, Pending
from workbench.core.processor import Emission, Processor, State
from workbench.threads.certificate import Certificate
from workbench.threads.manager import ThreadManager

Front = tuple[Any, ...]
Results = list[tuple[Emission, ...]]
Failure = Callable[[int, Front, Exception], Exception]
"""What is raised for an error of the processor on a front, given also its position among those launched together."""


class Copies:
    """Launches the copies. Used by one thread at a time, in the order of the events.

    Parameters
    ----------
    processor: typed.
    certificate: says how many past fronts a copy is shown. Until it holds, there is one copy, and it sees all.
    """

    def __init__(self, processor: Processor, certificate: Certificate, manager: ThreadManager) -> None:
        certificate.check(processor)
        self.processor = processor
        self.certificate = certificate
        self.manager = manager
        self.start_from(processor.initial())

    def start_from(self, state: State) -> None:
        """Begin with a state of the processor."""
        self._base = state
        self._settled = self.certificate.has_settled(self._base)
        self._recent: deque[Front] = deque(maxlen=self.certificate.history)

    @property
    def pipelining(self) -> bool:
        """Whether there is a copy for each event now."""
        return self._settled

    def launch(self, fronts: Sequence[Front], fail: Failure) -> Pending[Results]:
        """Begin with what the processor emits on these fronts, which come after those of earlier launches."""
        if not self._settled:
            return Done(partial(self._next, fronts, fail))
        shown = list(self._recent)[-(self.certificate.history - 1) :] if self.certificate.history > 1 else []
        self._recent.extend(fronts)
        return self.manager.start(partial(self._copy, self._base, shown, fronts, fail))

    def state(self) -> State:
        """A state from which the processor goes on as if it had seen all fronts."""
        if not self._base and self.certificate.history == 1:
            return self._base  # there is none
        return self._run(self._base, self._recent, _as_it_is)[0]

    def _next(self, fronts: Sequence[Front], fail: Failure) -> Results:
        """The processor itself, before it has settled."""
        state, results = self._run(self._base, fronts, fail)
        self._base, self._settled = state, self.certificate.has_settled(state)
        return results

    def _copy(self, state: State, shown: Sequence[Front], fronts: Sequence[Front], fail: Failure) -> Results:
        return self._run(self._run(state, shown, _as_it_is)[0], fronts, fail)[1]

    def _run(self, state: State, fronts: Iterable[Front], fail: Failure) -> tuple[State, Results]:
        results: Results = []
        for position, front in enumerate(fronts):
            try:
                state, emitted = self.processor.step(state, front)
            except Exception as error:
                raise fail(position, front, error) from error
            results.append(emitted)
        return state, results


def _as_it_is(_position: int, _front: Front, error: Exception) -> Exception:
    return error
