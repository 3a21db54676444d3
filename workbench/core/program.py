"""The view of programs from outside: what can be run and checked.

The rule of this module: a program is known by its ports. Code that reads, writes or feeds events uses these and
nothing else; code that traverses the graph gets it from the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from workbench.core.domain import Domain, Value
from workbench.core.readable import plural
from workbench.errors import Location, PipelineError, did_you_mean

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline

TABLE = "table"


@dataclass(frozen=True)
class Port:
    """An input or output for events of one domain.

    Parameters
    ----------
    oracle: whether events on this input are choices of the environment, not arrivals.
    optional: whether a log may lack it.
    shared: whether a file of a log may lack it, as another file has a column for it.
    copied: whether it is not an input, but a time, a key or a copy for the output, so that an empty one is no missing
        event.
    clock: whether it carries the time of each step, and the unit of its numbers: `us`; `numbers` if the log
        determines the unit, which is not needed; `any` if the unit makes no difference. Empty: it is no clock.
    required: tests whether a row must have an event on it, as on a column of times; None: no row must.
    remedy, data_remedy: advice if a file, or Python's data, has no column for it; empty: the usual advice.
    """

    name: str
    domain: Domain
    oracle: bool = False
    optional: bool = False
    copied: bool = False
    clock: str = ""
    remedy: str = field(default="", compare=False)
    data_remedy: str = field(default="", compare=False)
    shared: bool = False
    required: Callable[[Mapping[str, Any]], bool] | None = field(default=None, compare=False, repr=False)


class Ported(Protocol):
    """An object with inputs and outputs for events."""

    @property
    def ports(self) -> Ports:
        """Its inputs and outputs."""


class Program(Ported, Protocol):
    """A pipeline, or another program that turns events on its inputs into events on its outputs."""

    @property
    def name(self) -> str:
        """The user's name for it."""

    @property
    def kind(self) -> str:
        """The kind of program in messages: `pipeline`."""

    @property
    def pipeline(self) -> Pipeline:
        """The graph to traverse, with the same name, kind and ports; for a pipeline, itself."""


@dataclass(frozen=True)
class Ports:
    """The inputs and outputs of a program, in their order; to readers and writers they are the program.

    Parameters
    ----------
    name, kind: those of the program; `TABLE`: of facts, to which no option about columns applies.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...] = ()
    kind: str = "pipeline"

    @property
    def ports(self) -> Ports:
        """These ports themselves, so that they are `Ported`."""
        return self

    @property
    def of(self) -> str:
        """The program in messages: `pipeline squares`."""
        return f"{self.kind} {self.name}"

    @cached_property
    def domains(self) -> Mapping[str, Domain]:
        """The domains of the inputs by name."""
        return {port.name: port.domain for port in self.inputs}

    @cached_property
    def outputs_by_name(self) -> Mapping[str, Domain]:
        """The domains of the outputs by name."""
        return {port.name: port.domain for port in self.outputs}

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {port.name: i for i, port in enumerate(self.inputs)}

    @cached_property
    def arrivals(self) -> tuple[str, ...]:
        """The names of the inputs without the oracles."""
        return tuple(port.name for port in self.inputs if not port.oracle)

    def position(self, name: str) -> int:
        """Return the position of an input; PipelineError with a suggestion if there is none of this name."""
        if name in self._positions:
            return self._positions[name]
        raise unknown(self.of, "input", name, self._positions)

    def received(self, steps: Iterable[Mapping[str, Value]]) -> dict[str, list[Value]]:
        """Return the stream on each input, oracles included, after these steps."""
        streams: dict[str, list[Value]] = {port.name: [] for port in self.inputs}
        for step in steps:
            for name, event in step.items():
                streams[name].append(event)
        return streams

    def only(self, kind: str, name: str | None) -> str:
        """Return the name of an `input` or `output`: the given one, or the only one if none is given.

        Raises
        ------
        PipelineError: there is none of this name, or there are several.
        """
        names = [port.name for port in (self.inputs if kind == "input" else self.outputs)]
        if name is None and len(names) != 1:
            raise PipelineError(f"{self.of} has {len(names)} {kind}s", hint=f"name one: {', '.join(names)}")
        if name is not None and name not in names:
            raise unknown(self.of, kind, name, names)
        return name or names[0]

    def streams(self, sources: Any) -> dict[str, Iterable[Value]]:
        """Return streams by input, given as a mapping, as a sequence in input order, or bare for a single input.

        Raises
        ------
        PipelineError: a stream has no input, or there are too many or too few.
        """
        names = self.arrivals
        if isinstance(sources, Mapping):
            for name in sources:
                self.position(name)
            return {name: sources.get(name, ()) for name in names}
        if len(names) == 1:
            return {names[0]: sources}
        streams = list(sources)
        if len(streams) != len(names):
            listed = ", ".join(names)
            streams_given = plural(len(streams), "stream")
            raise PipelineError(f"{self.of} has {len(names)} inputs ({listed}), {streams_given} given")
        return dict(zip(names, streams, strict=True))


def unknown(
    of: str, kind: str, name: str, known: Iterable[str], where: Location | str = "", extra: str = ""
) -> PipelineError:
    """Return the error for an unknown name of an object of this kind in a program."""
    hint = did_you_mean(name, known) or "there are: none"
    return PipelineError(f"{of} has no {kind} '{name}'{extra}", where=where, hint=hint)
