"""Programs: what can be run and checked, seen from outside.

The rule of this module: a program is known by its ports. Whoever reads, writes or feeds events asks for these and for
nothing else; who is given one, and crawls a graph, asks it for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from workbench.core.domain import Domain, Value
from workbench.errors import Location, PipelineError, did_you_mean

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline


@dataclass(frozen=True)
class Port:
    """Where events of one domain go in or come out.

    Parameters
    ----------
    oracle: whether nothing arrives here unless the environment makes something happen (an input).
    optional: whether a log may go without it.
    clock: whether the time of each step comes in here, and what its numbers count: `us`; `numbers` where that is for
        the log to say, and nobody asks; `any` where it makes no difference. Empty: it is no clock.
    remedy, data_remedy: what to do where a file, or Python's data, has no column for it; empty: the usual.
    """

    name: str
    domain: Domain
    oracle: bool = False
    optional: bool = False
    clock: str = ""
    remedy: str = field(default="", compare=False)
    data_remedy: str = field(default="", compare=False)


class Ported(Protocol):
    """Whatever events go into and come out of."""

    @property
    def ports(self) -> Ports:
        """What goes in and comes out."""


class Program(Ported, Protocol):
    """A pipeline, or whatever else turns events on its inputs into events on its outputs."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def kind(self) -> str:
        """What it is, as messages say it: `pipeline`."""

    @property
    def pipeline(self) -> Pipeline:
        """The graph as which it is crawled, of the same name, kind and ports; that of a pipeline is itself."""


@dataclass(frozen=True)
class Ports:
    """The inputs and outputs of a program, in their order; to readers and writers they are the program.

    Parameters
    ----------
    name, kind: those of the program.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...] = ()
    kind: str = "pipeline"

    @property
    def ports(self) -> Ports:
        """These, for whoever takes what has some."""
        return self

    @property
    def of(self) -> str:
        """The program as messages call it: `pipeline squares`."""
        return f"{self.kind} {self.name}"

    @cached_property
    def domains(self) -> Mapping[str, Domain]:
        """The names of the inputs, and what they carry."""
        return {port.name: port.domain for port in self.inputs}

    @cached_property
    def shown(self) -> Mapping[str, Domain]:
        """The names of the outputs, and what they carry."""
        return {port.name: port.domain for port in self.outputs}

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {port.name: i for i, port in enumerate(self.inputs)}

    @cached_property
    def arrivals(self) -> tuple[str, ...]:
        """The names of the inputs without the oracles."""
        return tuple(port.name for port in self.inputs if not port.oracle)

    def position(self, name: str) -> int:
        """The position of an input; PipelineError with a suggestion if there is none of this name."""
        if name in self._positions:
            return self._positions[name]
        raise unknown(self.of, "input", name, self._positions)

    def received(self, steps: Iterable[Mapping[str, Value]]) -> dict[str, list[Value]]:
        """The stream on each input, oracles too, after these steps."""
        found: dict[str, list[Value]] = {port.name: [] for port in self.inputs}
        for step in steps:
            for name, event in step.items():
                found[name].append(event)
        return found

    def only(self, kind: str, name: str | None) -> str:
        """The `input` or `output` of this name, or the only one where none is given.

        Raises
        ------
        PipelineError: there is none of this name, or there are several.
        """
        names = [port.name for port in (self.inputs if kind == "input" else self.outputs)]
        if name is None and len(names) != 1:
            raise PipelineError(f"{self.of} has {len(names)} {kind}s", hint=f"say which: {', '.join(names)}")
        if name is not None and name not in names:
            raise unknown(self.of, kind, name, names)
        return name or names[0]

    def streams(self, given: Any) -> dict[str, Iterable[Value]]:
        """Streams by input, given as a mapping, as a sequence in the order of the inputs, or bare for a single input.

        Raises
        ------
        PipelineError: one is of no input, or there are too many or too few.
        """
        names = self.arrivals
        if isinstance(given, Mapping):
            for name in given:
                self.position(name)
            return {name: given.get(name, ()) for name in names}
        if len(names) == 1:
            return {names[0]: given}
        streams = list(given)
        if len(streams) != len(names):
            listed = ", ".join(names)
            raise PipelineError(f"{self.of} has {len(names)} inputs ({listed}), {len(streams)} streams were given")
        return dict(zip(names, streams, strict=True))


def unknown(
    of: str, kind: str, name: str, known: Iterable[str], where: Location | str = "", extra: str = ""
) -> PipelineError:
    """The error for a name that nothing of this kind in a program has."""
    hint = did_you_mean(name, known) or "there are: none"
    return PipelineError(f"{of} has no {kind} '{name}'{extra}", where=where, hint=hint)
