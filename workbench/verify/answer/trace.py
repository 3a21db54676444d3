"""Runs: what every pipe carries and every queue holds, step by step, and which steps can be repeated.

The contents of a queue are not copied for every step: they are a slice of all events that came to the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, overload

from workbench.core.domain import Domain, Value
from workbench.core.pipeline import Pipeline
from workbench.core.readable import plural
from workbench.display import Displayed, show_as_text
from workbench.events.values import to_json
from workbench.faults.unreliable import name_pipe, struck
from workbench.processors.held.group import flatten

MAX_WAITING = 100
"""Maximum number of events of a queue in JSON, oldest first."""


@dataclass(frozen=True)
class TraceStep:
    """One step of a run, over the user's names."""

    inputs: Mapping[str, Value]
    """Events on the inputs; an absent input carries none."""
    pipes: Mapping[str, Value | None]
    """Pipe to the value it carries; None if it carries no event."""
    queues: Mapping[str, int]
    """Queue to the number of events waiting at the end of the step."""
    overflows: tuple[str, ...] = ()
    """Full queues at which an event arrived."""
    contents: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """Queue to the events waiting in it at the end of the step, oldest first; for queues inside processors, columns."""
    ends: bool = False
    """All input streams end at this step."""
    outside: Mapping[str, str] = field(default_factory=dict)
    """For a monitor: the variables of the system that it watches, as the engine prints their values."""

    variables: Mapping[str, Value] = field(default_factory=dict)
    """Variable of a machine to its value at the end of the step, or the last one where the step ends the run."""

    def __repr__(self) -> str:
        carried = [f"{name} = {value}" for name, value in self.pipes.items() if value is not None]
        waiting = [f"{count} in {name}" for name, count in self.queues.items() if count]
        full = [f"full: {name}" for name in self.overflows]
        return f"<{', '.join([*carried, *waiting, *full]) or 'nothing comes'}>"


@dataclass(frozen=True)
class Trace(Displayed):
    """A run that shows something: a path, or a lasso whose last step is followed by step `loop`."""

    steps: tuple[TraceStep, ...]
    loop: int | None = None
    shows: str = ""
    """The fact that the last step (or the loop) shows."""
    shortest: bool = False
    """Whether no shorter run shows it."""
    replay: str = ""
    """`confirmed by execution`, or `model gap at step k`; empty when it was not replayed."""
    domains: Mapping[str, Domain] = field(default_factory=dict)
    capacities: Mapping[str, int] = field(default_factory=dict)
    """The bounded queues, with their capacities in events; all others are unbounded."""
    varies: tuple[str, ...] = ()
    """Pipes and queues that the property does not read and that change from one round of the loop to the next."""
    pipeline: Pipeline | None = field(default=None, compare=False, repr=False)
    """The pipeline that was run: over finite domains, its groups expanded."""
    remedy: str = field(default="", compare=False)
    """The remedies for the number that leaves its range, if the run ends with that."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the pipeline, which holds functions and cannot be sent to another process."""
        return {**self.__dict__, "pipeline": None}

    @property
    def length(self) -> str:
        """The number of steps, in words."""
        return plural(len(self.steps), "step")

    def __repr__(self) -> str:
        loop = "" if self.loop is None else f", repeated for ever from step {self.loop} on"
        return f"<a run of {self.length}{loop}{f': {self.shows}' if self.shows else ''}>"

    def __str__(self) -> str:
        return show_as_text(self)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the open inputs."""
        if self.pipeline is not None:
            return tuple(name for name, _ in self.pipeline.inputs)
        return tuple(dict.fromkeys(name for step in self.steps for name in step.inputs))

    @property
    def pipe_of_queue(self) -> dict[str, str]:
        """Queue to the pipe whose events wait in it."""
        return flatten(self.pipeline).sources if self.pipeline else {}

    @property
    def gap(self) -> bool:
        """Whether the running pipeline disagreed with the model."""
        return self.replay.startswith("model gap")

    def to_json(self) -> dict[str, Any]:
        """Return all data needed to show the run, as JSON data (docs/explanation/counterexamples.md has the schema)."""
        pipes = self.pipe_of_queue
        flat = flatten(self.pipeline) if self.pipeline else None
        steps = [
            {
                "pipes": {n: plain(v, self.domains.get(n)) for n, v in s.pipes.items()},
                "queues": dict(s.queues),
                "contents": {
                    queue: [plain(v, self.domains.get(pipes.get(queue, queue))) for v in values[:MAX_WAITING]]
                    for queue, values in s.contents.items()
                },
                "overflows": list(s.overflows),
                **({"ends": True} if s.ends else {}),
                **(
                    {"variables": {n: plain(v, self.domains.get(n)) for n, v in s.variables.items()}}
                    if s.variables
                    else {}
                ),
                **_list_strikes(flat, s.pipes),
                **({"system": dict(s.outside)} if s.outside else {}),
            }
            for s in self.steps
        ]
        return {
            "steps": steps,
            "loop": self.loop,
            "shows": self.shows,
            "shortest": self.shortest,
            "replay": self.replay,
            "inputs": list(self.inputs),
            "outputs": dict(flat.outputs) if flat else {},
            **({"oracles": {o: name_pipe(node) for o, node in flat.oracles.items()}} if flat and flat.oracles else {}),
            "capacities": dict(self.capacities),
            "varies": list(self.varies),
        }


def _list_strikes(flat: Pipeline | None, pipes: Mapping[str, Value | None]) -> dict[str, Any]:
    """Return the faults that strike at a step, if any."""
    strikes = [] if flat is None else struck(flat, pipes)
    faults = [{"pipe": each.pipe, "event": plain(each.event, each.domain), "what": each.what} for each in strikes]
    return {"faults": faults} if faults else {}


def plain(value: Value | None, domain: Domain | None) -> Any:
    """Return what a pipe carries as JSON data: nothing, an event, or a list of events on a wide pipe."""
    if isinstance(value, list):
        return [plain(event, domain) for event in value]
    return value if value is None or domain is None else to_json(value, domain)


# --- runs that can be repeated --------------------------------------------------------------------------------------


InputSteps = tuple[Mapping[str, Value], ...]
"""The events on the inputs at each step of a run."""
ROUNDS = 4
"""Number of repetitions that show growth."""


class Growth(NamedTuple):
    """A run, the part of it that can be repeated, and the least growth per repetition.

    Attributes
    ----------
    start, length: the first step of this part, and its number of steps.
    endless: whether the growth is proved to go on for ever.
    """

    inputs: InputSteps
    start: int
    by: int
    length: int = 1
    endless: bool = True

    @property
    def again(self) -> InputSteps:
        """The steps that are repeated."""
        return self.inputs[self.start : self.start + self.length]

    @property
    def types(self) -> str:
        """The inputs of the repeated steps."""
        return ", ".join(name for step in self.again for name in step)

    @property
    def round(self) -> str:
        """The repeated part, in words."""
        return self.types if self.length == 1 else f"round of {self.types}"

    def repeat(self, rounds: int = ROUNDS) -> InputSteps:
        """Return the run with this number of further repetitions."""
        return (*self.inputs[: self.start], *self.again * rounds, *self.inputs[self.start :])


# --- what waits in a queue ------------------------------------------------------------------------------------------


class Waiting(Sequence[Value]):
    """The events that wait in a queue at one moment, oldest first; equal to a tuple of them.

    Parameters
    ----------
    line: all events that came to the queue; those from `start` up to `stop` wait.
    """

    __slots__ = ("_line", "_start", "_stop")

    def __init__(self, line: list[Value], start: int = 0, stop: int | None = None) -> None:
        self._line, self._start, self._stop = line, start, len(line) if stop is None else stop

    def append(self, events: Iterable[Value]) -> Waiting:
        """Return these events followed by others. The list of events is shared with the previous moment."""
        if self._stop != len(self._line):  # an event was lost to overflow
            return Waiting([*self, *events])
        self._line.extend(events)
        return Waiting(self._line, self._start)

    def ends_as(self, line: Sequence[Value]) -> bool:
        """Whether a line has as many events, and the same first and last one."""
        return len(line) == len(self) and (not line or (line[0] == self[0] and line[-1] == self[-1]))

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> Value: ...

    @overload
    def __getitem__(self, index: slice) -> Waiting: ...

    def __getitem__(self, index: int | slice) -> Value | Waiting:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            assert step == 1, "a queue is read in its order"
            return Waiting(self._line, self._start + start, self._start + max(start, stop))
        return self._line[range(self._start, self._stop)[index]]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return islice(self._line, self._start, self._stop)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Waiting | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
