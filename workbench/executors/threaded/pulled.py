"""What the wrappers that are pulled have in common: sources at one end, events at the other.

Each looks like a pipeline connected for pulling (`Reference.connect`), so it can be the source of another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Self

from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.program import Program
from workbench.errors import PipelineError
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.prefetch import Prefetch


def graph_of(pipeline: object) -> Pipeline:
    """The graph of a program; PipelineError where it has none: a processor alone does not say what it is given."""
    found = getattr(pipeline, "pipeline", None)
    if not isinstance(found, Pipeline):
        kind = "a processor" if isinstance(pipeline, Processor) else "something else"
        raise PipelineError(
            f"a pipeline is wanted, and {pipeline} is {kind}",
            hint="say what comes in: @wb.pipeline(x=wb.INT) above def name(x): return processor(x)",
        )
    return found


class PulledPipeline(ABC):
    """A pipeline that is pulled, with some of the work done in threads of the manager's."""

    _prefetch: Prefetch[Any] | None = None
    """What is computed ahead, once it is connected."""

    def __init__(self, pipeline: Program, manager: ThreadManager) -> None:
        self.pipeline = graph_of(pipeline)
        self.manager = manager
        self._outputs = [name for name, _ in self.pipeline.outputs]

    @abstractmethod
    def connect(self, **sources: Iterable[Value]) -> Self:
        """Connect every input to a source; returns the wrapper itself. Connecting again starts afresh."""

    @abstractmethod
    def _next(self, output: str) -> Value:
        """The next event of an output."""

    @property
    def _connected(self) -> Prefetch[Any]:
        if self._prefetch is None:
            raise PipelineError(f"{self.pipeline.ports.of} has no sources", hint="call connect(x=iterable) first")
        return self._prefetch

    def close(self) -> None:
        """Stop, and wait for what is being computed, also where that waits for an event of a source."""
        if self._prefetch is not None:
            self._prefetch.close()

    def pull(self, output: str | None = None) -> Value:
        """The next event of an output; StopIteration when no more can come, and the errors of the pipeline."""
        return self._next(self.pipeline.ports.only("output", output))

    def __iter__(self) -> Iterator[Value]:
        return self

    def __next__(self) -> Value:
        return self.pull()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
