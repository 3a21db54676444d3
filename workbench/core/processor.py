"""Processors: frozen parameters, explicit state, one step.

A processor is defined twice, independently: `denote` is the specification (whole streams in, whole streams
out, as the papers define it) and `initial`/`step` the operation. `step` consumes one *front* (one event from
each input) and is written in overloaded terms: run on Python values it executes, run once on symbols it is the
transition system (`machine`). Queues in front of joins belong to the pipeline, not to the processor.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from workbench.core.determinism import Determinism
from workbench.core.domain import Domain, ModelScope, Value
from workbench.core.fields import resolve
from workbench.core.function import Function, TypedFunction
from workbench.errors import PipelineError, Refused, WorkbenchError

if TYPE_CHECKING:
    from workbench.core.memory import Array, Cells
    from workbench.core.term import Others


class Form(StrEnum):
    """In which form a processor runs. Each is called as a `refusal` may know it that is not part of this package."""

    VALUES = "reference"
    """Its `step` on Python values, in which any Python function is called as it is."""
    MODEL = "smv"
    """Its `machine`, whose domains are finite."""
    ARRAYS = "numba"
    """The same with numbers without bounds, and with state that is `stored` in arrays."""


Stream = Sequence[Value]
S = TypeVar("S")
State = tuple[Any, ...]


class Maybe(NamedTuple):
    """What a pipe carries at a step: one event if `present` (a bool or a Boolean term), else none."""

    present: Any
    value: Any


class Burst(tuple[Maybe, ...]):
    """What a processor emits on one output where it can emit several events at once: in order, absent ones skipped."""

    __slots__ = ()


class Events(tuple[Value, ...]):
    """What a step on values emits on one output where these are several events at once: in order, all of them there."""

    __slots__ = ()


class Remembered(ABC):
    """A part of a state that is no plain data; a step takes in its place what it is saved as."""

    __slots__ = ()

    @abstractmethod
    def saved(self) -> Value:
        """The same as plain data."""


class Repeated(NamedTuple):
    """What a machine emits (see `Stored`) where nothing bounds how often: an event, and it again `more` times."""

    present: Any
    value: Any
    more: Any
    """A variable of the machine's state, and so known before the step."""


class Scattered(NamedTuple):
    """What a machine emits (see `Stored`) where rows of a table do: an event, or one of each, by their keys."""

    present: Any
    value: Any
    rows: Others


Emission = Maybe | Burst | Events
"""What a processor emits on one output."""

OBLIGATION_HINT = "`workbench check -p stays-in-range` finds such runs; add a condition, or choose a larger range"
"""What to do where a number leaves its range, in a processor that `has_obligations`."""
NOTHING = Maybe(False, None)

END: Mapping[str, Value] = MappingProxyType({})
"""The step at which all input streams end (this object itself, not another empty mapping)."""


def event(value: Any) -> Maybe:
    """An event that is certainly there."""
    return _new(Maybe, (True, value))  # what `Maybe(True, value)` does, without the detour: it is in every inner loop


_new = tuple.__new__


def slots_of(emission: Any) -> tuple[Maybe, ...]:
    """An emission as a sequence of at most one event each; what is repeated stands there once."""
    if isinstance(emission, Events):
        return tuple(map(event, emission))
    return emission if isinstance(emission, Burst) else (emission,)


def events_of(emission: Emission) -> Sequence[Value]:
    """The events that a step on values emits on one output."""
    if isinstance(emission, Maybe):
        return (emission[1],) if emission[0] else ()
    return emission if isinstance(emission, Events) else [value for present, value in emission if present]


def emission(events: Sequence[Value]) -> Emission:
    """These events, as a step on values emits them."""
    if len(events) == 1:
        return event(events[0])
    return Events(events) if events else NOTHING


def show_carried(events: list[Value], width: int | None) -> Value | None:
    """How what a pipe carries in a step is shown: None, the event, or a list on a pipe of another width than one."""
    if not events:
        return None
    return events[0] if width == 1 else events


SHAPE = "a step gives `state, (emission, ...)`: an emission for each output, each a Maybe, a Burst or Events"


def misshapen(found: Any, parts: int | None, outs: int) -> str:
    """What is wrong with the shape of what a step gave; empty where nothing is.

    Parameters
    ----------
    parts: how many a state has, where that is known.
    outs: the number of outputs.
    """
    if not isinstance(found, tuple) or len(found) != 2 or not all(isinstance(part, tuple) for part in found):
        return f"its step gives no state and emissions, each a tuple: {found!r}"
    state, emissions = found
    if parts is not None and len(state) != parts:
        return f"its step gives a state of {len(state)}, where `slots` names {parts}"
    kinds = Maybe | Burst | Events | Repeated | Scattered
    if len(emissions) != outs or not all(isinstance(each, kinds) for each in emissions):
        return f"its step gives no state and emissions for its outputs, of which it has {outs}: {found!r}"
    return ""


Stepped = tuple[State, tuple[Emission, ...]]
"""What a step gives: the next state, and what is emitted on each output."""


Share = Callable[[str, Any], Any]
"""Gives a term a name, and returns what to use in its place."""


class Slot(NamedTuple):
    """One state variable of a finite machine."""

    name: str
    domain: Domain
    initial: Value


class Machine(NamedTuple):
    """A processor with finite state: its variables and its step from terms to terms.

    `step(state, front)` returns the next state (one term per slot) and one emission per output, always with as many
    slots as `Processor.burst` says.
    """

    slots: tuple[Slot, ...]
    step: Callable[[State, tuple[Any, ...]], tuple[State, tuple[Emission, ...]]]
    finish: Callable[[State], tuple[Emission, ...]] | None = None
    """What is emitted at the end of the stream, where something can be."""
    pending: Callable[[State], Any] | None = None
    """Whether a step that brings nothing can change something, where it ever can."""
    queues: tuple[str, ...] = ()
    """The queues inside it: after the next state `step` gives for each whether there is no room for what comes."""
    lengths: Callable[[State], tuple[Any, ...]] = lambda _: ()
    """How much each of them holds."""
    shares: bool = False
    """Whether its terms have so much in common that they are written with names for it."""
    comes: Callable[[State, tuple[Any, ...]], Mapping[int, Any]] | None = None
    """Of inputs by place, where it is assumed that events come only in some states, and with some others: whether one
    may come now. It is given a front as `step` is."""
    emits: Callable[[State, Sequence[tuple[Any, tuple[Any, ...]]], Share], tuple[Emission, ...]] | None = None
    """What several fronts of a step, of which each may be there, make it emit from a state.

    For one whose `most_events` are fewer than what `step` emits, front by front.
    """

    def on_symbols(self, state: State, front: Any, outs: int) -> Stepped:
        """Its step, of which it is not known that it can be run on terms; Refused where it cannot."""
        try:
            found = self.step(state, front)
            wrong = misshapen(found, len(self.slots) + len(self.queues), outs)
        except WorkbenchError:
            raise
        except Exception as error:
            raise Refused(
                f"its step cannot be run on symbols: {type(error).__name__}: {error}",
                hint="write it in operators, & | and wb.functions.NOT, wb.functions.ite, or refuse it in `refusal`",
            ) from error
        if wrong:
            raise Refused(wrong, hint=SHAPE)
        return found


class Stored(NamedTuple):
    """A machine some of whose state lies in arrays: their names and domains, and the machine once they are there."""

    arrays: Mapping[str, Array]
    machine: Callable[[Sequence[Cells]], Machine]


@dataclass(frozen=True)
class Processor(ABC):
    """Base class of all processors; a subclass is a frozen dataclass of its parameters.

    Attributes
    ----------
    keyword: the name in the language; unique among processors.
    symbol: the pictogram's text in drawings.
    streams, outs: input and output arity (instances with a variable arity override the properties).
    merges: it takes the events of all its inputs as they come, as if on one (those of a step in the order of the
        inputs), and waits for none. Its front is a single event, and so are the streams of its denotation.
    marks: (of one that merges several inputs) its front is the number of an input and the event, and so is what stands
        in the stream of its denotation.
    lockstep: every front makes every output carry exactly one event.
    singly: its machine is that of steps in which one of its inputs carries an event, and has no meaning for others.
    shifts: whoever writes it means the shift that it makes.
    constants: the labels of enumerations that it makes itself; a text that calls it may use them.
    """

    keyword: ClassVar[str] = ""
    symbol: ClassVar[str] = ""
    streams: ClassVar[int] = 1
    outs: ClassVar[int] = 1
    merges: ClassVar[bool] = False
    marks: ClassVar[bool] = False
    lockstep: ClassVar[bool] = False
    singly: ClassVar[bool] = False
    shifts: ClassVar[bool] = False
    constants: ClassVar[tuple[str, ...]] = ()

    # --- shape ---

    @property
    def in_arity(self) -> int:
        """Number of input pipes."""
        return type(self).streams

    @property
    def out_arity(self) -> int:
        """Number of output pipes."""
        return type(self).outs

    @property
    def on_values(self) -> Callable[..., Any] | None:
        """Of one without state and with one output: the event that the values of a front make."""
        return None

    @property
    def on_total(self) -> Callable[..., Any] | None:
        """Of one in lockstep whose state is its last event: the event that this and the values of a front make."""
        return None

    @property
    def joins(self) -> bool:
        """Whether it waits for an event on every input, and so has queues."""
        return self.in_arity > 1 and not self.merges

    @property
    def is_timed(self) -> bool:
        """Whether its output depends on the steps at which events arrive, not only on its input streams."""
        return self.merges

    @property
    def ports(self) -> tuple[str, ...]:
        """The names of the inputs; a queue is called after its processor and input: `queue(add.left)`."""
        if self.in_arity == 1:
            return ("in",)
        if self.in_arity == 2:
            return ("left", "right")
        return tuple(f"in{i}" for i in range(1, self.in_arity + 1))

    @property
    def clocks(self) -> Mapping[int, str]:
        """The inputs that the time of the step comes in on, by number, and what it counts (`Port.clock`).

        Who builds a pipeline need not connect them: they read its stream `time`, which is an input unless it is made.
        """
        return {}

    @property
    def pauses(self) -> tuple[int, ...]:
        """Differences of times at which it changes what it does, for who tries it."""
        return ()

    @property
    def landmarks(self) -> tuple[Value, ...]:
        """Values at which it changes what it does, for who tries it."""
        return ()

    @property
    def results_named(self) -> tuple[str, ...]:
        """What its outputs are called, where they have names."""
        return ()

    def merge_arrivals(self, arrivals: Sequence[Sequence[Value]]) -> list[tuple[Any, ...]]:
        """The fronts that events on its inputs are, where it takes them as they come."""
        if self.marks:
            return [(i, value) for i, values in enumerate(arrivals) for value in values]
        return [(value,) for values in arrivals for value in values]

    def rounds(self, arrivals: Sequence[Sequence[Maybe]]) -> list[tuple[Any, tuple[Any, ...]]]:
        """The same of events that may be there: whether there is a front, and the front."""
        return [(arrival.present, (arrival.value,)) for slots in arrivals for arrival in slots]

    def most_fronts(self, widths: Sequence[int]) -> int:
        """The most fronts that a step brings, where its inputs carry so many events at most."""
        return sum(widths) if self.merges else max(widths)

    @property
    def label(self) -> str:
        """What drawings write in the processor's box."""
        return self.symbol or self.keyword

    # --- typing ---

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        """This processor with its functions typed for the given input domains; TypingError if it cannot be."""
        return self

    def specialise_within(self, inputs: tuple[Domain, ...], horizon: int) -> Self:
        """The same where it starts afresh after `horizon` fronts, as in a window: its numbers grow only so far."""
        return self.specialise(inputs)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        """The output domains, by default those of the inputs; called on a typed processor."""
        return inputs

    def resolve(self, over: Domain | ModelScope) -> Self:
        """This (untyped) processor over the domains that stand for types without a bound; one alone is for `int`."""
        changed: dict[str, Any] = {}
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Function | Processor):
                changed[item.name] = value.resolve(over)
            elif isinstance(value, Domain):
                changed[item.name] = resolve(value, over)
        return dataclasses.replace(self, **changed) if changed else self

    @property
    def determinism(self) -> Determinism:
        """What this (typed) processor leaves open of its output (see `core.determinism`); by default nothing."""
        return Determinism.EXACT

    # --- meaning ---

    @abstractmethod
    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        """The specification: whole output streams of whole input streams. Called on a typed processor."""

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        """What has been emitted after these events when the streams go on: `denote` without the end's events."""
        return self.denote(streams)

    def initial(self) -> State:
        """The state before the first event, and after a reset."""
        return ()

    @abstractmethod
    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        """Consume one front: the next state and what is emitted on each output pipe."""

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        """The most events that one front makes any output carry; None where nothing bounds them."""
        return 1

    def most_events(self, inputs: tuple[Domain, ...], fronts: int) -> int | None:
        """The most events that so many fronts of one step make any output carry; None where nothing bounds them."""
        burst = self.burst(inputs)
        return None if burst is None else burst * fronts

    @property
    def finishes(self) -> int:
        """The most events that the end of the stream makes any output carry."""
        return 0

    @property
    def lag(self) -> int | None:
        """How many fronts it consumes before, from then on, each makes every output carry exactly one event.

        None where that is not known. It says how long queues behind it can get.
        """
        return 0 if self.lockstep else None

    @property
    def shift(self) -> int | None:
        """How many events of its input come before the one that its first output belongs to; None: not known."""
        return self.lag

    @property
    def prompt(self) -> bool:
        """Whether a stream of one front makes it emit, at its end at the latest."""
        return self.lag == 0

    def finish(self, state: State) -> tuple[Emission, ...]:
        """What is emitted when the stream ends (nothing, by default)."""
        return (NOTHING,) * self.out_arity

    # --- the finite machine ---

    def refusal(self, form: str) -> str:
        """Why this (typed) processor cannot run in a `Form`, or an empty string; by default what its parameters say."""
        values = [getattr(self, item.name) for item in dataclasses.fields(self)]
        reasons = [v.obstacle for v in values if isinstance(v, TypedFunction)] if form != Form.VALUES else []
        return next(filter(None, [*reasons, *(v.refusal(form) for v in values if isinstance(v, Processor))]), "")

    @property
    def has_obligations(self) -> bool:
        """Whether types alone do not show that its numbers stay in their ranges: `stays-in-range` asks whether they do.

        That of what is inside, by default.
        """
        inner = getattr(self, "inner", None)
        return isinstance(inner, Processor) and inner.has_obligations

    @property
    def assumes(self) -> tuple[str, ...]:
        """What its machine takes for granted of what happens, a sentence each, for verdicts."""
        return ()

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        """Names and finite domains of the parts of the state, in the order of `initial()`."""
        return ()

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        """The finite machine over given input domains; Refused when there is none.

        `horizon` promises that at most that many fronts come before the state is reset (inside a window).
        """
        reason = self.refusal(Form.MODEL)
        if reason:
            raise Refused(f"{self} is not supported by the model: {reason}")
        named, values = self.slots(inputs), self.initial()
        if len(named) != len(values):
            raise Refused(
                f"{self}: `initial` gives a state of {len(values)}, and `slots` names {len(named)}",
                hint="give the name and the finite domain of each part of `initial()` in `slots`",
            )
        slots = tuple(Slot(name, domain, value) for (name, domain), value in zip(named, values, strict=True))
        return Machine(slots, self.step, self.finish if self.finishes else None)

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        """A machine some of whose state lies in arrays, as no model has it, if that is better than `machine`."""
        return None

    # --- use ---

    def __call__(self, *streams: S) -> S:
        """The output stream on streams of a pipeline under construction; where it has several, a tuple of them."""
        for stream in streams:
            if hasattr(stream, "feed"):
                found: S = stream.feed(self, streams)
                return found
        raise PipelineError(f"{self} is applied to {streams!r}", hint="apply processors to streams")

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        """Instances that the conformance suite uses; by default the one without arguments."""
        return (cls(),)

    def __str__(self) -> str:
        shown = [f for f in dataclasses.fields(self) if f.repr and getattr(self, f.name) != f.default]
        values = ", ".join(_show(getattr(self, f.name)) for f in shown)
        return f"{type(self).__name__}({values})" if shown else type(self).__name__


def _show(value: Any) -> str:
    if isinstance(value, TypedFunction):
        return value.name
    return str(value)


def specialise_function(function: Function | TypedFunction, inputs: Sequence[Domain]) -> TypedFunction:
    """A parameter function typed for the given domains (again, if it was typed for others)."""
    plain = function.function if isinstance(function, TypedFunction) else function
    return plain.specialise(inputs)
