"""PullGroup: a pipeline whose output events are computed before they are asked for (Multiple Threads, section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self

from workbench.core.domain import Value
from workbench.core.program import Program
from workbench.executors.threaded.executor import Threaded
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.placement import Copying, Placement
from workbench.executors.threaded.prefetch import CAPACITY, Prefetch, check_room
from workbench.executors.threaded.pulled import PulledPipeline


class PullGroup(PulledPipeline):
    """A pipeline that is pulled ahead of its reader, in a thread if the manager grants one.

    It takes from its sources what it needs for the events that it keeps ready: at most `capacity` at each output.
    Different outputs may be pulled by different threads.

    Parameters
    ----------
    pipeline: the group.
    manager: where it grants no thread, events are computed when they are asked for.
    capacity: most events that wait at each output.
    copies: processors whose copies are stepped in threads (see `Placement`).
    """

    def __init__(
        self, pipeline: Program, manager: ThreadManager, capacity: int = CAPACITY, *, copies: Copying = ()
    ) -> None:
        super().__init__(pipeline, manager)
        self.capacity = check_room(capacity)
        self._inner = Threaded(pipeline, manager, Placement(copies=copies), capacities={})
        self._pullers: dict[str, Callable[[], Value]] = {}

    def connect(self, **sources: Iterable[Value]) -> Self:
        self.close()
        self._inner.reset()
        self._inner.connect(**sources)
        self._pullers = {name: self._inner.puller(name) for name in self._outputs}
        self._prefetch = Prefetch(self._pullers, self.manager, self.capacity)
        return self

    def pull(self, output: str | None = None) -> Value:
        # without a detour where nobody else can be pulling
        if len(self._outputs) == 1 and self._prefetch is not None and self._prefetch.off:
            return self._inner.pull(output)
        return super().pull(output)

    def __iter__(self) -> Iterator[Value]:
        """The events of the only output. A generator, which costs less for each than a call of `__next__`."""
        output, connected = self.pipeline.ports.only("output", None), self._connected
        pull = self._pullers[output]
        try:
            while True:
                yield pull() if connected.off else connected.pull(output)
        except StopIteration:
            return

    def start(self) -> Self:
        """Begin before the first event is asked for."""
        self._connected.start()
        return self

    def _next(self, output: str) -> Value:
        return self._connected.pull(output)
