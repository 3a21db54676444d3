"""Many traces through one pipeline: each on a thread of a GPU, or one after the other where there is none.

The rule of this module: every trace starts from the initial state and is independent of the others. A trace in which
something may have gone wrong is repeated by the compiled executor, which decides and reports the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from workbench.core.domain import BOOL, FLOAT, INT, Domain, Texts, Value
from workbench.core.fields import scalars
from workbench.core.program import Program
from workbench.errors import EngineMissing, PipelineError, Refused, WorkbenchError, refuse_unknown
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.gpu.available import gpu_name, libm_refusal
from workbench.executors.compiled.lower.input_tape import Taped, tape_system
from workbench.executors.compiled.lower.shape import shape, spare
from workbench.executors.compiled.lower.system import dense
from workbench.ir.system import Memory, instance_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Device = Literal["auto", "gpu", "cpu"]

SHARE = 0.4
"""The fraction of the GPU's free memory for one group of traces: two groups are in memory at a time."""


@dataclass(frozen=True)
class Traces:
    """The events of one output, of every trace.

    Attributes
    ----------
    fields: an array per scalar field, with a column per trace; in column t the first `counts[t]` entries are events
        (or changes, of maps that are not finite).
    """

    domain: Domain
    fields: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]

    def events(self, trace: int) -> list[Value]:
        """Return the events of one trace as Python values of the domain."""
        from workbench.executors.compiled.execute.columns import OutputColumn

        count = int(self.counts[trace])
        return OutputColumn(self.domain, tuple(field[:count, trace] for field in self.fields)).events()


class Batch:
    """A pipeline that runs many traces.

    Parameters
    ----------
    capacities: queue name to capacity; None takes the pipeline's own. On a GPU the other queues have the capacity that
        they need where all inputs come together, and a trace that needs more runs on the CPU.
    device: `gpu`, `cpu`, or `auto`, which uses a GPU if there is one.
    at_once: maximum number of traces on the GPU at a time; None for as many as fit.

    Raises
    ------
    Refused: as `Compiled`; a GPU supports no tables of slices, no queues that grow even where all inputs come
        together, and no `exp`, `log` and `pow`. EngineMissing: `gpu` is requested and there is none.
    """

    def __init__(
        self,
        pipeline: Program,
        capacities: Mapping[str, int] | None = None,
        *,
        device: Device = "auto",
        at_once: int | None = None,
    ) -> None:
        from workbench.executors.compiled.execute import columns

        refuse_unknown("device", device, get_args(Device))
        if at_once is not None and at_once < 1:
            raise PipelineError(f"there is at least one trace on a GPU at a time, not {at_once}")
        self._columns = columns
        self._one = Compiled(pipeline, capacities, maps=False)
        self._fields = dict(self._one.form.results)
        self._texts = self._one.texts
        self._at_once = at_once
        name = "" if device == "cpu" else gpu_name()
        if name and (refusal := libm_refusal(self._one.system)):
            if device == "gpu":
                raise refusal
            name = ""
        grows = name and next((memory for memory in self._one.system.memories if memory.domain.length is None), None)
        if grows:
            if device == "gpu":
                raise _ungrown(pipeline, grows)
            name = ""
        if device == "gpu" and not name:
            raise EngineMissing(
                "no NVIDIA GPU answers",
                hint="`workbench doctor` shows what was found; device='auto' falls back to the CPU",
            )
        self.device = name or ("the CPU" if device == "cpu" or gpu_name() else "the CPU, since no NVIDIA GPU answers")
        """The device that it runs on, in words."""
        self._on_gpu = bool(name)
        self._single = Compiled(pipeline, capacities, maps=False) if name and self._one.narrow else self._one
        """The executor of single traces; `_one` is the source of the kernels."""
        self._kernels: dict[tuple[str, bool], list[tuple[int, Any]]] = {}
        self._pool: tuple[Any, list[Any]] = ((), [])

    def run(
        self,
        streams: Any,
        present: Mapping[str, Any] | None = None,
        *,
        end: bool = True,
        keep: bool = False,
        reuse: bool = False,
    ) -> dict[str, Traces]:
        """Return the output of every trace, from the initial state to the end of its streams.

        Parameters
        ----------
        streams: per input an array with a row per step and a column per trace (a tuple of arrays for a tuple or
            record); by input name, or bare for a single input. Arrays that are on the GPU already (CuPy) stay there.
        present: arrays of bools of the same shape, for inputs that do not have an event in every step.
        end: whether the streams end after these steps.
        keep: whether the outputs stay on the GPU, if there is one.
        reuse: whether the next such run may overwrite outputs that stay there, which saves allocations.

        Raises
        ------
        Overflow, DomainError: in one of the traces, which it names; no outputs are returned then.
        """
        flat = self._one.flat
        named_streams = streams if isinstance(streams, Mapping) else flat.ports.streams(streams)
        arrays = {name: value if isinstance(value, tuple) else (value,) for name, value in named_streams.items()}
        arrays = {name: tuple(map(_array, parts)) for name, parts in arrays.items()}
        flags = {name: _array(flag) for name, flag in (present or {}).items()}
        for name in (*arrays, *flags):
            flat.ports.position(name)
        shapes = {array.shape for parts in (*arrays.values(), tuple(flags.values())) for array in parts}
        missing = [name for name, _ in flat.inputs if name not in arrays]
        if missing or len(shapes) != 1 or len(next(iter(shapes))) != 2:
            raise PipelineError(
                f"{flat.ports.of} needs arrays of one shape, steps by traces, for each of its inputs;"
                f" {f'none is given for {missing[0]}' if missing else f'these are given: {sorted(shapes)}'}"
            )
        ((steps, traces),) = shapes
        for name, domain in flat.inputs:
            array_count = len(list(scalars(domain)))
            if len(arrays[name]) != array_count:
                raise PipelineError(
                    f"input '{name}' carries {domain} and needs {array_count} arrays; {len(arrays[name])} are given"
                )
        work = _Work(arrays, flags, steps, traces, end)
        return self._by_gpu(work, keep, reuse) if self._on_gpu else self._by_cpu(work)

    def events(self, traces: Sequence[Sequence[Mapping[str, Value]]]) -> list[dict[str, list[Value]]]:
        """Return the output of each trace as Python values; a trace is a sequence of steps, from input name to event.

        Raises
        ------
        Overflow, DomainError: in one of the traces, which it names.
        """
        import numpy as np

        length = max(map(len, traces), default=0)
        streams, present = {}, {}
        for name, domain in self._one.flat.inputs:
            here: Any = np.zeros((length, len(traces)), np.bool_)
            kinds = [kind for _, kind in scalars(domain)]
            fields = tuple(np.zeros((length, len(traces)), _choose_output_type(self._columns, kind)) for kind in kinds)
            for number, trace in enumerate(traces):
                there = [name in step for step in trace]
                column = self._columns.column(name, domain, [step.get(name) for step in trace], there, self._texts)
                if column.wrong is not None:
                    step, error = column.wrong
                    failure = error.retold(f"trace {number}, step {step}: {error.what}", where=error.where)
                    raise failure.at(step=step, trace=number)
                here[: len(trace), number] = there
                arrays = self._columns.readable(kinds, column.fields, self._texts.reader())
                for field, values in zip(fields, arrays, strict=True):
                    field[: len(trace), number] = values
            streams[name] = fields
            if not here.all():
                present[name] = here
        outputs = self.run(streams, present)
        return [{name: output.events(i) for name, output in outputs.items()} for i in range(len(traces))]

    # --- the CPU --------------------------------------------------------------------------------------------

    def _by_cpu(self, work: _Work) -> dict[str, Traces]:
        import numpy as np

        rows_by_name: dict[str, list[list[Any]]] = {}
        for trace in range(work.traces):
            for name, pieces in self._trace(work, trace).items():
                rows_by_name.setdefault(name, []).append(pieces)
        outputs = {}
        for name, domain, _ in self._one.results:
            rows = rows_by_name.get(name, [])
            counts = np.array([len(pieces[0]) for pieces in rows], np.int64)
            fields = []
            for number, kind in enumerate(self._fields[name]):
                table = np.zeros((int(counts.max(initial=0)), work.traces), _choose_output_type(self._columns, kind))
                for trace, pieces in enumerate(rows):
                    table[: counts[trace], trace] = pieces[number]
                fields.append(table)
            outputs[name] = Traces(domain, tuple(fields), counts)
        return outputs

    def _trace(self, work: _Work, trace: int) -> dict[str, list[Any]]:
        """Run one trace with the compiled executor; return the fields of each output."""
        import numpy as np

        self._single.reset()
        streams = {name: tuple(_host(part)[:, trace] for part in parts) for name, parts in work.streams.items()}
        flags = {name: _host(flag)[:, trace] for name, flag in work.present.items()}
        single = {name: parts if len(parts) > 1 else parts[0] for name, parts in streams.items()}
        try:
            pieces = [self._single.feed(single, flags)] + ([self._single.finish()] if work.end else [])
        except WorkbenchError as error:
            raise error.retold(f"trace {trace}, {error.what}", where=error.where).at(trace=trace) from error
        fields = {name: zip(*(piece[name].fields for piece in pieces), strict=True) for name in self._fields}
        return {name: list(map(np.concatenate, parts)) for name, parts in fields.items()}

    # --- the GPU --------------------------------------------------------------------------------------------

    def _by_gpu(self, work: _Work, keep: bool, reuse: bool) -> dict[str, Traces]:
        import numpy as np

        waiting: list[tuple[int, Any]] = []
        done: list[tuple[list[Any], Any]] = []
        for first, last in self._groups(work):
            waiting.append((first, self._launch(work.part(first, last), keep and reuse)))
            if len(waiting) == 2:
                done.append(self._collect(work, *waiting.pop(0), keep))
        done += [self._collect(work, *each, keep) for each in waiting]
        if keep and len(done) > 1:
            raise PipelineError("outputs stay on the GPU only where all traces fit into it", hint="run fewer traces")
        counts = np.concatenate([counts for _, counts in done], axis=1)
        columns = [
            c[0] if keep else np.concatenate(c, axis=1) for c in zip(*(arrays for arrays, _ in done), strict=True)
        ]
        rest = iter(columns)
        texts = any(isinstance(kind, Texts) for fields in self._fields.values() for kind in fields)
        if texts and keep:
            raise PipelineError("texts cannot stay on the GPU, which has numbers for them", hint="leave out `keep`")
        return {
            name: Traces(domain, tuple(self._readable(kind, next(rest)) for kind in self._fields[name]), counts[j])
            for j, (name, domain, _) in enumerate(self._one.results)
        }

    def _readable(self, kind: Domain, table: Any) -> Any:
        """Decode text codes in a table; entries beyond the events are arbitrary."""
        if not isinstance(kind, Texts):
            return table
        return self._texts.decode_known(table.reshape(-1)).reshape(table.shape)

    def _groups(self, work: _Work) -> Iterator[tuple[int, int]]:
        """Yield ranges of traces, as many at a time as fit in the GPU's memory."""
        from workbench.executors.compiled.gpu import cuda

        size = self._at_once
        if size is None:
            size = max(1, int(cuda.free_bytes() * SHARE) // self._bytes(work.steps))
        for first in range(0, max(1, work.traces), size):
            yield first, min(first + size, work.traces)

    def _launch(self, work: _Work, reuse: bool) -> Any:
        """Start a group of traces, all of whose steps are queued."""
        from workbench.executors.compiled.gpu import cuda

        one = self._one
        one.reset()
        full = not work.present
        parts = [
            part for name, domain in one.flat.inputs for part in self._check_arrays(name, domain, work.streams[name])
        ]
        if work.end and not work.steps:  # the step that ends the streams reads the first row
            kinds = [kind for _, domain in one.flat.inputs for _, kind in scalars(domain)]
            parts = [self._columns.zeros(work.traces, kind).reshape(1, -1) for kind in kinds]
        flags = [] if full else [work.flag(name) for name, _ in one.flat.inputs]
        rows = [
            (work.steps * pipe.width + pipe.width + spare(pipe), self._fields[name]) for name, _, pipe in one.results
        ]
        outputs = [(size, self._columns.dtype(domain)) for size, domains in rows for domain in domains]
        capacity = [*outputs, work.traces]
        group = cuda.TraceGroup(
            [*parts, *flags],
            self._state(full),
            outputs,
            len(one.results),
            self._pool[1] if reuse and self._pool[0] == capacity else None,
        )
        if reuse:
            self._pool = capacity, group.outputs
        first, last = one.steady_part(work.steps) if full else (work.steps, work.steps)
        general, steps, columns = "dense" if full else "sparse", work.steps, len(parts) + len(flags)
        ranges = [(general, 0, first, columns), ("steady", first, last, columns), (general, last, steps, columns)]
        ranges += [("ending", steps, steps + 1, len(parts))] * work.end
        for kind, start, stop, column_count in ranges:
            for size, kernel in self._loops(kind, full) if start < stop else ():
                middle = start + (stop - start) // size * size
                group.launch(kernel, start, middle, column_count)
                start = middle
        return group

    @cached_property
    def _taped_system(self) -> Taped:
        """The system for traces in which every input has an event in every step."""
        return tape_system(self._one.system, dense(self._one.system))

    def _state(self, full: bool) -> list[tuple[Any, bool]]:
        """Return the initial arrays of one trace, each with whether its contents matter."""
        whole, real, *memories = self._one.state
        needed_names = {name for name, *_ in shape(self._taped_system.system).memories} if full else None
        named = zip(self._one.form.memories, memories, strict=True)
        needed = [(array, blank) for (name, *_, blank), array in named if needed_names is None or name in needed_names]
        return [(whole, True), (real, True), *needed]

    def _check_arrays(self, name: str, domain: Domain, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arrays of an input, with the right types and no value outside the domain."""
        from workbench.executors.compiled.gpu.cuda import is_there

        kinds = [kind for _, kind in scalars(domain)]
        if all(map(is_there, parts)):
            odd = next((k for k, part in zip(kinds, parts, strict=True) if part.dtype != self._columns.dtype(k)), None)
            odd = odd or next((kind for kind in kinds if kind not in (BOOL, INT, FLOAT)), None)
            if odd is None:
                return parts
            raise PipelineError(
                f"input '{name}' carries {odd}: an array that is on the GPU already is taken for int (int64), float"
                " (float64) and bool only",
                hint="pass a numpy array, whose values are checked",
            )
        shape = parts[0].shape
        flat = self._columns.column(name, domain, tuple(part.reshape(-1) for part in parts), None, self._texts)
        if flat.wrong is not None:
            position, error = flat.wrong
            step, trace = divmod(position, shape[1])
            failure = error.retold(f"trace {trace}, step {step}: {error.what}", where=error.where)
            raise failure.at(step=step, trace=trace)
        return tuple(field.reshape(shape) for field in flat.fields)

    def _bytes(self, steps: int) -> int:
        """Return the approximate memory of a trace on the GPU, in bytes."""
        form = self._one.form
        columns = len(form.values) + len(form.inputs)
        columns += sum(pipe.width * len(self._fields[name]) for name, _, pipe in self._one.results)
        return 8 * (
            columns * (steps + 2) + len(form.whole) + len(form.real) + sum(size for _, _, size, _ in form.memories)
        )

    def _collect(self, work: _Work, first: int, group: Any, keep: bool) -> tuple[list[Any], Any]:
        """Return the outputs of a group of traces, and their numbers of events."""
        from workbench.executors.compiled.gpu.cuda import send_array

        arrays, counts, bad = group.fetch(keep=keep)
        for trace in bad.nonzero()[0].tolist():
            fields = self._trace(work, first + trace)  # raises, except for a full queue or a false alarm
            if self._single is self._one:
                continue
            columns = iter(arrays)
            for j, parts in enumerate(fields.values()):
                counts[j, trace] = len(parts[0])
                for part, array in zip(parts, columns, strict=False):
                    array[: len(part), trace] = send_array(part) if keep else part
        return arrays, counts

    def _loops(self, kind: str, full: bool) -> list[tuple[int, Any]]:
        """Return the kernels for steps of this kind; `full`: every input has an event."""
        from workbench.executors.compiled.gpu import cuda

        if (kind, full) not in self._kernels:
            tape = self._taped_system if full else Taped(self._one.system)
            self._kernels[kind, full] = cuda.kernels(tape, self._one.phases(kind))
        return self._kernels[kind, full]


@dataclass(frozen=True)
class _Work:
    """A batch of traces to run."""

    streams: Mapping[str, tuple[Any, ...]]
    present: Mapping[str, Any]
    steps: int
    traces: int
    end: bool

    def part(self, first: int, last: int) -> _Work:
        """Return a range of the traces."""
        if (first, last) == (0, self.traces):
            return self
        streams = {name: tuple(part[:, first:last] for part in parts) for name, parts in self.streams.items()}
        present = {name: flag[:, first:last] for name, flag in self.present.items()}
        return _Work(streams, present, self.steps, last - first, self.end)

    def flag(self, name: str) -> Any:
        """Return whether this input has an event, in each step of each trace."""
        import numpy as np

        return self.present[name] if name in self.present else np.ones((self.steps, self.traces), np.bool_)


def _choose_output_type(columns: Any, kind: Domain) -> Any:
    """Return the array type of a scalar domain, with texts as Python objects."""
    return object if isinstance(kind, Texts) else columns.dtype(kind)


def _ungrown(pipeline: Program, memory: Memory) -> Refused:
    """Build the refusal of a pipeline with this memory on a GPU."""
    if memory.is_table:
        what = "has tables that grow (slices by keys of an infinite type, or maps)"
        hint = "run it on the CPU, or give the slices and what they emit finite types"
    else:
        what = f"has queues that grow also where all inputs come together, those of {instance_of(memory.name)}"
        hint = "run it on the CPU, or give its queues capacities"
    return Refused(f"{pipeline.ports.of} {what}: a GPU cannot", hint=hint)


def _array(values: Any) -> Any:
    """Convert to an array, on the GPU or not; lists of lists become one."""
    import numpy as np

    if hasattr(values, "shape"):
        return values
    try:
        return np.array(values)
    except ValueError as error:
        raise PipelineError("the traces differ in length", hint="use `Batch.events` for these") from error


def _host(array: Any) -> Any:
    """Copy an array to host memory."""
    if hasattr(array, "copy_to_host"):
        return array.copy_to_host()
    return array.get() if hasattr(array, "__cuda_array_interface__") else array
