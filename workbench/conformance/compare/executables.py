"""Executables: objects that run a pipeline step by step and show the contents of every pipe.

The rule of this module: an executable is built from a pipeline alone and starts afresh at every `trace`. It
raises Overflow at the step in which a value leaves a checked domain or a queue overflows, after showing the
steps before it (`trace` is a generator, or a list if nothing can overflow).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workbench.core.determinism import same
from workbench.core.domain import Value
from workbench.core.fields import scalars
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, show_carried
from workbench.core.unfolding import Unfolding
from workbench.errors import PipelineError, WorkbenchError
from workbench.executors.backend import StepRecord
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.gpu.batch import Batch
from workbench.executors.compiled.parallel.executor import Parallel
from workbench.executors.reference.executor import Reference
from workbench.executors.table import Start, backend_row, refuse_kind
from workbench.processors.held.group import flatten

InputSequence = Sequence[Mapping[str, Value]]
OutputStreams = Mapping[str, Sequence[Value]]
"""The whole output streams, by the pipe that carries them."""


class Seen(NamedTuple):
    """An observation of one step.

    Attributes
    ----------
    pipes: pipe name to its event, None if it carries none. Pipes that cannot be observed are missing.
    queues: queue name to the number of events waiting at the end of the step.
    """

    pipes: dict[str, Value | None]
    queues: dict[str, int]


class Executable(Protocol):
    """A pipeline that can be run.

    An executable with a true attribute `lazy` computes only what its outputs need, and overflows only there.
    """

    def trace(self, steps: InputSequence) -> Iterable[Seen]:
        """Return the observations of these steps, from the initial state."""


def source_of(executable: Executable) -> str:
    """Return the Python source that makes the executable again from `pipeline`; empty if it is unknown."""
    return str(getattr(executable, "source", ""))


def name_of(executable: Executable) -> str:
    """Return the name of the executable in reports."""
    return str(getattr(executable, "name", "") or type(executable).__name__)


class Running:
    """The reference executor; raises PipelineError if a pipe carries a value outside its domain."""

    name = "reference"

    def __init__(self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None) -> None:
        self.executor = Reference(pipeline, capacities)
        self.source = f"Running(pipeline, {capacities!r})"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Run one step after the other."""
        return map(self.check_domains, _step_through(self.executor, steps))

    def check_domains(self, observation: Seen) -> Seen:
        """Return the observation unchanged; raise PipelineError for a value outside the domain of its pipe."""
        flat = self.executor.flat
        for pipe, content in observation.pipes.items():
            domain, events = flat.domains[pipe], content if isinstance(content, list) else [content]
            wrong = [each for each in events if each is not None and each not in domain]
            if wrong:
                node = next((each for each in flat.nodes if pipe in each.outputs), None)
                whose = f"'{node.name}' ({flat.typed[node.name]})" if node else f"input '{pipe}'"
                raise PipelineError(
                    f"{whose} emits {wrong[0]!r}, which is not a value of {domain}",
                    hint="Python's operators ignore domains: use functions that `specialise` has typed",
                )
        return observation


class CompiledRun:
    """The compiled executor, one step at a time in plain Python."""

    name = "compiled, step by step"

    def __init__(self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None) -> None:
        self.executor = Compiled(pipeline, capacities, machine=False)
        self.source = f"CompiledRun(pipeline, {capacities!r})"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Run one step after the other."""
        return _step_through(self.executor, steps)


class Started:
    """Any backend, started as by `workbench run`, one step at a time."""

    def __init__(self, name: str, pipeline: Pipeline, capacities: Mapping[str, int]) -> None:
        row = backend_row(name)
        refuse_kind(row, pipeline)
        assert row.make is not None
        self.name = name
        self.pipeline = flatten(pipeline)
        self.running = row.make(pipeline.with_capacities(capacities), Start())
        self.source = f"Started({name!r}, pipeline, {capacities!r})"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Run one step after the other; at the end of streams, show the outputs."""
        self.running.reset()
        for events in steps:
            if events is END:
                last, widths = self.running.end(), self.pipeline.widths
                yield Seen({pipe: show_carried(last[name], widths[pipe]) for name, pipe in self.pipeline.outputs}, {})
            else:
                yield observe_step(self.running.step(events))


def _step_through(executor: Reference | Compiled, steps: InputSequence) -> Iterator[Seen]:
    executor.reset()
    for events in steps:
        yield observe_step(executor.step(events))


def observe_step(record: StepRecord) -> Seen:
    """Convert the record of an executor's step into an observation."""
    pipes = {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()}
    return Seen(pipes, dict(record.queues))


class Denoting:
    """The specification: the events that each step adds to the denotations of the prefixes."""

    name = "specification"

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = flatten(pipeline)
        self.source = "Denoting(pipeline)"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Evaluate one prefix after the other."""
        unfolding = Unfolding(self.pipeline)
        for events in steps:
            added = unfolding.step(events)
            pipes = {pipe: _within(pipe, events, self.pipeline.widths[pipe]) for pipe, events in added.items()}
            yield Seen(pipes, self.queues(unfolding.streams))

    def queues(self, streams: Mapping[str, Sequence[Value]]) -> dict[str, int]:
        """Return the length of each queue: the events that arrived in excess of the shortest stream."""
        queue_lengths: dict[str, int] = {}
        for node in self.pipeline.nodes:
            lengths = [len(streams[pipe]) for pipe in node.inputs]
            queue_lengths.update(zip(node.queues, (n - min(lengths) for n in lengths), strict=False))
            if node.pending in self.pipeline.inner_capacities:
                queue_lengths[node.pending] = min(lengths) - len(streams[node.outputs[0]])
        return queue_lengths


def _within(pipe: str, events: list[Value], width: int | None) -> Value | None:
    if width is not None and len(events) > width:
        raise AssertionError(f"pipe '{pipe}' carries {len(events)} events in one step, not {width} at most: {events}")
    return show_carried(events, width)


class Streams:
    """Another executable without its steps: the whole output at the last step."""

    def __init__(self, executable: Executable, pipeline: Pipeline) -> None:
        self.executable, self.pipeline = executable, pipeline
        self.name = name_of(executable)
        inner = source_of(executable)
        self.source = inner and f"Streams({inner}, pipeline)"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Yield nothing at every step but the last; then the whole streams, or the error on the way."""
        yield from [Seen({pipe: None for _, pipe in self.pipeline.outputs}, {})] * (len(steps) - 1)
        if steps:
            yield Seen(dict(self.streams(steps)), {})

    def streams(self, steps: InputSequence) -> OutputStreams:
        """Return the whole output streams, by the pipe that carries them."""
        outputs: dict[str, list[Value]] = {pipe: [] for _, pipe in self.pipeline.outputs}
        for record in self.executable.trace(steps):
            for pipe, events in outputs.items():
                content = record.pipes[pipe]
                events += content if isinstance(content, list) else [] if content is None else [content]
        return outputs


class Pulled(Streams):
    """The reference executor in pull mode, one event of each output in turn; for traces that end."""

    lazy = True

    def __init__(self, pipeline: Pipeline) -> None:
        self.executor = Reference(pipeline, capacities={})
        self.executor.connect(**{name: () for name, _ in pipeline.inputs})  # refuses early if it cannot pull
        self.pipeline = pipeline
        self.name, self.source = "pull", "Pulled(pipeline)"

    def streams(self, steps: InputSequence) -> OutputStreams:
        """Return the whole output streams, by the pipe that carries them."""
        self.executor.reset()
        self.executor.connect(**self.pipeline.ports.received(steps))
        outputs: dict[str, list[Value]] = {name: [] for name, _ in self.pipeline.outputs}
        waiting = list(outputs)
        while waiting:
            for name in list(waiting):
                try:
                    outputs[name].append(self.executor.pull(name))
                except StopIteration:
                    waiting.remove(name)
        return {pipe: outputs[name] for name, pipe in self.pipeline.outputs}


class Pieces:
    """The compiled executor on columns of events, with a trace cut into two pieces.

    Parameters
    ----------
    machine: whether the loops are compiled to machine code; else Python runs them.
    """

    name = "compiled"

    def __init__(
        self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None, *, machine: bool = True
    ) -> None:
        self.executor = Compiled(pipeline, capacities, warm_up_steps=-1, machine=machine)
        self.source = f"Pieces(pipeline, {capacities!r}, machine={machine})"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Yield the outputs of each step; other pipes and queues cannot be observed."""
        self.executor.reset()
        ends = len(steps) - 1 if steps and steps[-1] is END else len(steps)
        cut = ends // 2
        for piece in (steps[:cut], steps[cut:ends]):
            yield from map(self._observation, self._outputs(piece))
        if ends < len(steps):
            yield self._observation({name: output.events() for name, output in self.executor.finish().items()})

    def _outputs(self, piece: InputSequence) -> Iterable[Mapping[str, list[Value]]]:
        try:
            return self.executor.outputs(piece)
        except WorkbenchError:  # no step has taken effect: run those before the error one by one
            return (self.executor.outputs([events])[0] for events in piece)

    def _observation(self, outputs: Mapping[str, list[Value]]) -> Seen:
        flat = self.executor.flat
        return Seen({pipe: show_carried(outputs[name], flat.widths[pipe]) for name, pipe in flat.outputs}, {})


class Blocks(Pieces):
    """The compiled executor, with each piece in three threads, as far as it can be cut into blocks.

    Parameters
    ----------
    reassociate: whether sums and products of floats may be grouped by block.
    """

    name = "compiled in blocks"

    def __init__(
        self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None, *, reassociate: bool = False
    ) -> None:
        self.parallel = Parallel(
            pipeline, capacities, threads=3, shortest=2, reassociate=reassociate, warm_up_steps=-1, machine=True
        )
        self.executor = self.parallel
        self.source = f"Blocks(pipeline, {capacities!r}, reassociate={reassociate})"


class OnGpu(Streams):
    """The compiled executor on a GPU, which runs the trace in two threads that must agree."""

    def __init__(self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None) -> None:
        self.batch = Batch(pipeline, capacities, device="gpu")
        self.pipeline = flatten(pipeline)
        self.name, self.source = "gpu", f"OnGpu(pipeline, {capacities!r})"

    def streams(self, steps: InputSequence) -> OutputStreams:
        """Return the whole output streams, by the pipe that carries them."""
        import numpy as np

        from workbench.executors.compiled.execute.columns import column, readable
        from workbench.executors.compiled.execute.text_codes import TextCodes

        ends = bool(steps) and steps[-1] is END
        events = steps[:-1] if ends else steps
        streams, present = {}, {}
        for name, domain in self.pipeline.inputs:
            here = [name in each for each in events]
            texts = TextCodes(())
            input_column = column(name, domain, [each.get(name) for each in events], here, texts)
            if input_column.wrong is not None:  # arrays hold words of 64 bits
                raise input_column.wrong[1]
            fields = readable([part for _, part in scalars(domain)], input_column.fields, texts.reader())
            streams[name] = tuple(_double(np.asarray(part)) for part in fields)
            if not all(here):  # without `present`, the loops for streams without gaps run
                present[name] = _double(input_column.present)
        traces = self.batch.run(streams, present, end=ends)
        outputs = [{pipe: traces[name].events(trace) for name, pipe in self.pipeline.outputs} for trace in (0, 1)]
        if not all(same(events, outputs[1][pipe]) for pipe, events in outputs[0].items()):  # NaN is not equal to itself
            raise AssertionError(f"two threads with one trace differ: {outputs}")
        return outputs[0]


def _double(part: Any) -> Any:
    return part.reshape(-1, 1).repeat(2, axis=1)
