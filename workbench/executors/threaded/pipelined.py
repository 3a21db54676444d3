"""Pipelined execution: a copy of a pipeline for each event, with results in order (Multiple Threads, section 4.4).

Implements the paper's pipelining, for pipelines without memory, and the two generalisations that it names: *bounded
history*, where a copy gets the last n events, and *adaptive*, where pipelining begins when the pipeline has settled. A
certificate states which one applies, and that it is correct.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Self

from workbench.core.domain import Value
from workbench.core.pipeline import Node, graph_of
from workbench.core.processor import Emission, Processor, events_of
from workbench.core.program import Program
from workbench.errors import PipelineError, check_count
from workbench.executors.backend import check_support
from workbench.executors.pending import Done, Pending
from workbench.executors.reference.cell import failure
from workbench.executors.reference.pull import PullPipe, PullSource
from workbench.executors.threaded.certificate import Certificate, vouch_for
from workbench.executors.threaded.launcher import Front, Launcher, Results
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.prefetch import CAPACITY, Prefetch, check_capacity
from workbench.executors.threaded.pulled_pipeline import PulledPipeline
from workbench.processors.held.group import Group, flatten


def as_processor(pipeline: Program) -> tuple[Node, Processor]:
    """Return the pipeline as one typed processor: its only one, or a group of one input.

    Raises
    ------
    PipelineError: it is neither, so the events of a copy are undefined.
    """
    pipeline = graph_of(pipeline)
    flat = flatten(pipeline)
    if len(flat.nodes) == 1 and flat.nodes[0].inputs == tuple(name for name, _ in flat.inputs):
        node = flat.nodes[0]
        if {pipe for _, pipe in flat.outputs} <= set(node.outputs) and not node.processor.is_timed:
            return node, flat.typed[node.name]
    if flat.is_clocked:
        raise PipelineError(f"{pipeline.ports.of} has faults, which may strike at any step: it cannot be pipelined")
    if flat.in_arity != 1:
        raise PipelineError(
            f"{pipeline.ports.of} has {flat.in_arity} inputs and several processors: it cannot be pipelined",
            hint="pipeline a part of it that has one input, or one processor",
        )
    outputs = tuple(name for name, _ in flat.outputs)
    node = Node(pipeline.name, Group(pipeline), tuple(name for name, _ in flat.inputs), outputs)
    return node, node.processor


def list_outputs(pipeline: Program, node: Node) -> list[tuple[str, str]]:
    """Return the outputs of the pipeline, each with the pipe of its only processor (`as_processor`) that it shows."""
    if isinstance(node.processor, Group):
        return [(name, name) for name in pipeline.ports.outputs_by_name]
    return list(flatten(pipeline).outputs)


def vouch(pipeline: Program, history: int, by: str) -> Certificate:
    """Return a certificate that rests on a person's word, without checks except that it is used for this pipeline.

    Parameters
    ----------
    pipeline: of one input, or of one processor.
    history: maximum number of latest events on which it depends, the present one included.
    by: the person who vouches for that, and the reason.
    """
    _, processor = as_processor(pipeline)
    return vouch_for(processor, pipeline.pipeline.input_domains, history, by)


class Pipelined(PulledPipeline):
    """A pipeline that is pulled, with a copy of it for each event.

    Parameters
    ----------
    pipeline: of one input, or of one processor.
    manager: grants a thread to read the sources, and one for each copy.
    certificate: `workbench.certify(pipeline)`.
    ahead: maximum number of copies whose results wait.
    batch: number of successive events per copy: more than one where they are too cheap for a thread each.

    Raises
    ------
    Refused: the certificate is for another processor or other domains, or was modified.
    """

    def __init__(
        self,
        pipeline: Program,
        manager: ThreadManager,
        certificate: Certificate,
        ahead: int = CAPACITY,
        batch: int = 1,
    ) -> None:
        super().__init__(pipeline, manager)
        check_support(pipeline, "threaded")
        check_count("the batch of a copy", batch, least=1)
        self.ahead, self.batch = check_capacity(ahead), batch
        self._node, processor = as_processor(pipeline)
        certificate.check(processor, self.pipeline.input_domains)
        pipes = self._node.outputs
        self._shown = [(name, pipes.index(pipe)) for name, pipe in list_outputs(pipeline, self._node)]
        self._copies = Launcher(processor, certificate, manager)

    def connect(self, **sources: Iterable[Value]) -> Self:
        missing = [name for name, _ in self.pipeline.inputs if name not in sources]
        if missing:
            raise PipelineError(f"input '{missing[0]}' of {self.pipeline.ports.of} has no source")
        streams = self.pipeline.ports.streams(sources)
        self.close()
        self._copies.start_from(self._copies.processor.initial())
        self._sources = [PullSource(name, domain, streams[name], PullPipe()) for name, domain in self.pipeline.inputs]
        self._buffers = [source.pipe.reader() for source in self._sources]
        self._fronts = 0
        self._held: Exception | None = None
        self._head: Pending[Results] | None = None
        self._ended = False
        self._ready: dict[str, deque[Value]] = {name: deque() for name in self._outputs}
        self._prefetch = Prefetch({"": self._launch}, self.manager, self.ahead)
        return self

    # --- reading the sources: by one thread at a time ---

    def _launch(self) -> Pending[Results]:
        """Read the next fronts and start a copy on them."""
        if self._held is not None:
            error, self._held = self._held, None
            raise error
        fronts: list[Front] = []
        while len(fronts) < self.batch:
            try:
                front = self._front()
            except Exception as error:
                if not fronts:
                    raise
                self._held = error  # an event outside of its domain is reported after the results of those before it
                break
            if front is None:
                break
            fronts.append(front)
        if not fronts:
            raise StopIteration
        before = self._fronts
        self._fronts += len(fronts)
        return self._copies.launch(
            fronts, lambda i, front, error: failure(f"front {before + i}", self._node, front, error)
        )

    def _front(self) -> Front | None:
        """Return the next complete front; None when there are no more."""
        for source, buffer in zip(self._sources, self._buffers, strict=True):
            if not buffer and not source.pipe.ended:
                source.advance()
        if not all(self._buffers):
            return None
        return tuple([buffer.popleft() for buffer in self._buffers])

    # --- collecting the results: by the reader ---

    def _next(self, output: str) -> Value:
        prefetch, ready = self._connected_prefetch, self._ready[output]
        while not ready:
            if self._ended:
                raise StopIteration
            self._collect(prefetch)
        return ready.popleft()

    def _collect(self, prefetch: Prefetch[Pending[Results]]) -> None:
        """Take the results of the next copy."""
        if self._head is None and self._held is None and prefetch.off:
            self._step()
            return
        if self._head is None:
            try:
                self._head = prefetch.pull("")
            except StopIteration:
                self._finish()
                return
        results = self._head.wait_for()
        for emitted in results.emitted:
            self._emit(emitted)
        if results.error is None:
            self._head = None
            return
        self._head = Done(lambda: Results([], results.error))  # a failed copy stays the next one: it fails again
        if not results.emitted:
            raise results.error

    def _step(self) -> None:
        """Process one front without a copy, where no thread would be granted."""
        front = self._front()
        if front is None:
            self._finish()
            return
        try:
            self._emit(self._copies.step(front))
        except Exception as error:
            for buffer, event in zip(self._buffers, front, strict=True):
                buffer.appendleft(event)  # it fails again
            raise failure(f"front {self._fronts}", self._node, front, error) from error
        self._fronts += 1

    def _finish(self) -> None:
        self._ended = True
        self._emit(self._copies.processor.finish(self._copies.state()))

    def _emit(self, emitted: tuple[Emission, ...]) -> None:
        for name, position in self._shown:
            self._ready[name].extend(events_of(emitted[position]))
