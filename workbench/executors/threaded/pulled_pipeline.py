"""Pipelines that are pulled, with work in threads: sources at one end, events at the other.

Each has the interface of a pipeline connected for pulling (`Reference.connect`), so it can be the source of another
one. A `PullGroup` computes its output events in advance (Multiple Threads, section 4.3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from workbench.core.domain import Value
from workbench.core.pipeline import graph_of
from workbench.core.program import Program
from workbench.errors import PipelineError
from workbench.executors.threaded.executor import Threaded
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.placement import Copying, Placement
from workbench.executors.threaded.prefetch import CAPACITY, Prefetch, check_capacity


class PulledPipeline(ABC):
    """A pipeline that is pulled, with some of the work in threads of a manager."""

    _prefetch: Prefetch[Any] | None = None
    """The prefetch, once connected."""

    def __init__(self, pipeline: Program, manager: ThreadManager) -> None:
        self.pipeline = graph_of(pipeline)
        self.manager = manager
        self._outputs = [name for name, _ in self.pipeline.outputs]

    @abstractmethod
    def connect(self, **sources: Iterable[Value]) -> Self:
        """Connect every input to a source; returns the pipeline itself. Connecting again starts afresh."""

    @abstractmethod
    def _next(self, output: str) -> Value:
        """Return the next event of an output."""

    @property
    def _connected_prefetch(self) -> Prefetch[Any]:
        if self._prefetch is None:
            raise PipelineError(f"{self.pipeline.ports.of} has no sources", hint="call connect(x=iterable) first")
        return self._prefetch

    def close(self) -> None:
        """Stop, and wait for the computation in progress, even if that waits for an event of a source."""
        if self._prefetch is not None:
            self._prefetch.close()

    def pull(self, output: str | None = None) -> Value:
        """Return the next event of an output; StopIteration at its end, or an error of the pipeline."""
        return self._next(self.pipeline.ports.only("output", output))

    def __iter__(self) -> Iterator[Value]:
        return self

    def __next__(self) -> Value:
        return self.pull()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PullGroup(PulledPipeline):
    """A pipeline that is pulled ahead of its reader, in a thread if the manager grants one.

    It takes from its sources only the events that it needs to prefetch at most `capacity` events per output. Different
    outputs may be pulled by different threads.

    Parameters
    ----------
    pipeline: the group.
    manager: grants the thread; without one, events are computed on demand.
    capacity: maximum number of events that wait at each output.
    copies: processors whose copies are stepped in threads (see `Placement`).
    """

    def __init__(
        self, pipeline: Program, manager: ThreadManager, capacity: int = CAPACITY, *, copies: Copying = ()
    ) -> None:
        super().__init__(pipeline, manager)
        self.capacity = check_capacity(capacity)
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
        # directly, where no other thread can be pulling
        if len(self._outputs) == 1 and self._prefetch is not None and self._prefetch.off:
            return self._inner.pull(output)
        return super().pull(output)

    def __iter__(self) -> Iterator[Value]:
        """Yield the events of the only output. A generator costs less per event than calls of `__next__`."""
        output, connected = self.pipeline.ports.only("output", None), self._connected_prefetch
        pull = self._pullers[output]
        try:
            while True:
                yield pull() if connected.off else connected.pull(output)
        except StopIteration:
            return

    def start(self) -> Self:
        """Start before the first event is requested."""
        self._connected_prefetch.start()
        return self

    def _next(self, output: str) -> Value:
        return self._connected_prefetch.pull(output)
