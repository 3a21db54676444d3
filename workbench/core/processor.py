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
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from workbench.core.determinism import Determinism
from workbench.core.domain import Domain, ModelScope, Range, Value
from workbench.core.fields import IndexedTuple, resolve
from workbench.core.form import Form
from workbench.core.function import Function, TypedFunction, on_values, remove_types
from workbench.errors import Location, Overflow, PipelineError, Refused, WorkbenchError

if TYPE_CHECKING:
    from workbench.core.memory import Array, Cells
    from workbench.core.term import Others


Stream = Sequence[Value]
S = TypeVar("S")
State = tuple[Any, ...]


class Maybe(NamedTuple):
    """The content of a pipe at a step: one event if `present` (a bool or a Boolean term), else none."""

    present: Any
    value: Any


class Burst(tuple[Maybe, ...]):
    """The emission on an output that can carry several events at once: in order, absent ones skipped."""

    __slots__ = ()


class Events(tuple[Value, ...]):
    """The emission of a step on values with several events at once: in order, all of them present."""

    __slots__ = ()


class Remembered(ABC):
    """A part of a state that is not plain data; a step also accepts its saved form."""

    __slots__ = ()

    @abstractmethod
    def saved(self) -> Value:
        """Return the part as plain data."""


class Repeated(NamedTuple):
    """The emission of a machine (see `Stored`) that repeats an event `more` times, without a bound."""

    present: Any
    value: Any
    more: Any
    """A variable of the machine's state, so known before the step."""


class Scattered(NamedTuple):
    """The emission of a machine (see `Stored`) by rows of a table: an event, or one of each row, by their keys."""

    present: Any
    value: Any
    rows: Others


Emission = Maybe | Burst | Events
"""The emission of a processor on one output."""

FIND_ESCAPES = "`workbench check -p stays-in-range` finds such runs; try "
"""The beginning of the advice for a number that leaves its range, in a processor that `has_obligations`."""
NOTHING = Maybe(False, None)

END: Mapping[str, Value] = MappingProxyType({})
"""The step at which all input streams end (this object itself, not another empty mapping)."""


def advise_range(text: str = "", domain: Domain | None = None, got: Value = 0) -> str:
    """Return the remedies for a number that leaves its range; `text`: how it is computed."""
    bound = "min(n + 1, 9)"
    if text and isinstance(domain, Range) and type(got) is int:
        bound = f"max({text}, {domain.lo})" if got < domain.lo else f"min({text}, {domain.hi})"
    return f"a bound where the number is computed, as in {bound}, a condition (when, if), or a larger range"


def event(value: Any) -> Maybe:
    """Return an event that is certainly present."""
    return _new(Maybe, (True, value))  # `Maybe(True, value)` without the detour: it is in every inner loop


_new = tuple.__new__


def slots_of(emission: Any) -> tuple[Maybe, ...]:
    """Return an emission as a sequence of at most one event each; a repeated event occurs once."""
    if isinstance(emission, Events):
        return tuple(map(event, emission))
    return emission if isinstance(emission, Burst) else (emission,)


def events_of(emission: Emission) -> Sequence[Value]:
    """Return the events that a step on values emits on one output."""
    if isinstance(emission, Maybe):
        return (emission[1],) if emission[0] else ()
    return emission if isinstance(emission, Events) else [value for present, value in emission if present]


def emission(events: Sequence[Value]) -> Emission:
    """Return these events in the form in which a step on values emits them."""
    if len(events) == 1:
        return event(events[0])
    return Events(events) if events else NOTHING


def show_carried(events: list[Value], width: int | None) -> Value | None:
    """Return the shown form of a pipe's events in a step: None, the event, or a list if the width is not one."""
    if not events:
        return None
    return events[0] if width == 1 else events


SHAPE = "a step returns `state, (emission, ...)`: an emission for each output, each a Maybe, a Burst or Events"


def misshapen(result: Any, parts: int | None, outs: int) -> str:
    """Describe the error in the shape of a step's result; empty if there is none.

    Parameters
    ----------
    parts: the number of parts of a state, if it is known.
    outs: the number of outputs.
    """
    if not isinstance(result, tuple) or len(result) != 2 or not all(isinstance(part, tuple) for part in result):
        return f"its step does not return a state and emissions, each a tuple: {result!r}"
    state, emissions = result
    if parts is not None and len(state) != parts:
        return f"its step returns a state of {len(state)}, where `slots` names {parts}"
    kinds = Maybe | Burst | Events | Repeated | Scattered
    if len(emissions) != outs or not all(isinstance(each, kinds) for each in emissions):
        return f"its step does not return a state and emissions for its outputs, of which it has {outs}: {result!r}"
    return ""


Stepped = tuple[State, tuple[Emission, ...]]
"""The result of a step: the next state, and the emission on each output."""


Share = Callable[[str, Any], Any]
"""Names a term, and returns what to use in its place."""


class Slot(NamedTuple):
    """One state variable of a finite machine."""

    name: str
    domain: Domain
    initial: Value


class Machine(NamedTuple):
    """A processor with finite state: its variables and its step from terms to terms.

    `step(state, front)` returns the next state (one term per slot) and one emission per output, always with as many
    slots as `Processor.burst` states.
    """

    slots: tuple[Slot, ...]
    step: Callable[[State, tuple[Any, ...]], tuple[State, tuple[Emission, ...]]]
    finish: Callable[[State], tuple[Emission, ...]] | None = None
    """Returns the emission at the end of the stream, if there can be one."""
    pending: Callable[[State], Any] | None = None
    """Returns whether a step without events can have an effect, if it ever can."""
    queues: tuple[str, ...] = ()
    """The queues inside it: behind the next state, `step` returns for each whether it overflows."""
    lengths: Callable[[State], tuple[Any, ...]] = lambda _: ()
    """Returns the length of each of these queues."""
    shares: bool = False
    """Whether its terms share so much that shared parts are written with names."""
    comes: Callable[[State, tuple[Any, ...]], Mapping[int, Any]] | None = None
    """Returns, for inputs that are assumed to carry events only in some states, and with some others, whether one may
    come now, by position; it gets a front as `step` does."""
    emits: Callable[[State, Sequence[tuple[Any, tuple[Any, ...]]], Share], tuple[Emission, ...]] | None = None
    """Returns the emission of several fronts of a step, each of which may be absent, from a state.

    It is for processors whose `bound_events` are fewer than what `step` emits, front by front.
    """

    def on_symbols(self, state: State, front: Any, outs: int) -> Stepped:
        """Run its step, which may not be defined on terms; Refused if it is not."""
        try:
            result = self.step(state, front)
            wrong = misshapen(result, len(self.slots) + len(self.queues), outs)
        except WorkbenchError:
            raise
        except Exception as error:
            raise Refused(
                f"its step cannot be run on symbols: {type(error).__name__}: {error}",
                hint="write it in operators, & | and wb.functions.NOT, wb.functions.ite, or refuse it in `refusal`",
            ) from error
        if wrong:
            raise Refused(wrong, hint=SHAPE)
        return result


class Stored(NamedTuple):
    """A machine with some state in arrays: their names and domains, and a function from the arrays to the machine."""

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
    merges: whether it takes the events of all its inputs as they come, as if on one (those of a step in input
        order), and waits for none. Its front is a single event, and so are the streams of its denotation.
    marks: (for one that merges several inputs) whether its front is the number of an input and the event, as are the
        entries of the streams of its denotation.
    lockstep: whether every front makes every output carry exactly one event.
    singly: whether its machine is defined only for steps in which one of its inputs carries an event.
    shifts: whether the user intends its shift.
    constants: the labels of enumerations that it creates itself; a text that calls it may use them.
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
        """For a processor without state and with one output: the function from a front's values to its event."""
        return None

    @property
    def on_total(self) -> Callable[..., Any] | None:
        """For a processor in lockstep whose state is its last event: the function from it and a front to the next."""
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
        """The names of the inputs; a queue is named after its processor and input: `queue(add.left)`."""
        if self.in_arity == 1:
            return ("in",)
        if self.in_arity == 2:
            return ("left", "right")
        return tuple(f"in{i}" for i in range(1, self.in_arity + 1))

    @property
    def clocks(self) -> Mapping[int, str]:
        """The inputs that carry the time of the step, by number, and its unit (`Port.clock`).

        A builder need not connect them: by default they read the stream `time`, an input unless a node emits it.
        """
        return {}

    @property
    def pauses(self) -> tuple[int, ...]:
        """Differences of times at which its behaviour changes, for tests."""
        return ()

    @property
    def landmarks(self) -> tuple[Value, ...]:
        """Values at which its behaviour changes, for tests."""
        return ()

    @property
    def results_named(self) -> tuple[str, ...]:
        """The names of its outputs, where they have some."""
        return ()

    @property
    def fact_types(self) -> tuple[str, ...]:
        """The types of facts that it queries, which a run must provide."""
        return ()

    def merge_arrivals(self, arrivals: Sequence[Sequence[Value]]) -> list[tuple[Any, ...]]:
        """Return the fronts of the events on its inputs, if it takes these as they come."""
        if self.marks:
            return [(i, value) for i, values in enumerate(arrivals) for value in values]
        return [(value,) for values in arrivals for value in values]

    def rounds(self, arrivals: Sequence[Sequence[Maybe]]) -> list[tuple[Any, tuple[Any, ...]]]:
        """Return the fronts of events that may be absent: whether there is a front, and the front."""
        return [(arrival.present, (arrival.value,)) for slots in arrivals for arrival in slots]

    def bound_fronts(self, widths: Sequence[int]) -> int:
        """Return the maximum number of fronts of a step, given those of events on its inputs."""
        return sum(widths) if self.merges else max(widths)

    @property
    def label(self) -> str:
        """The text of the processor's box in drawings."""
        return self.symbol or self.keyword

    # --- typing ---

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        """Return this processor with its functions typed for the given input domains; TypingError if it cannot be."""
        return self

    def specialise_within(self, inputs: tuple[Domain, ...], horizon: int) -> Self:
        """Return the typed processor for restarts after `horizon` fronts, as in a window, which bounds its numbers."""
        return self.specialise(inputs)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        """Return the output domains, by default those of the inputs; called on a typed processor."""
        return inputs

    def resolve(self, over: Domain | ModelScope) -> Self:
        """Return this (untyped) processor with unbounded types replaced; a domain alone is for `int`."""
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
        """The properties of its (typed) output that it leaves open (see `core.determinism`); by default none."""
        return Determinism.EXACT

    # --- meaning ---

    @abstractmethod
    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        """Specify the processor: return whole output streams for whole input streams. Called on a typed processor."""

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        """Return the output after these events when the streams continue: `denote` without the end's events."""
        return self.denote(streams)

    def initial(self) -> State:
        """Return the state before the first event, and after a reset."""
        return ()

    @abstractmethod
    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        """Consume one front, and return the next state and the emission on each output pipe."""

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        """Return the maximum number of events of an output for one front; None if it is unbounded."""
        return 1

    def bound_events(self, inputs: tuple[Domain, ...], fronts: int) -> int | None:
        """Return the maximum number of events of an output for `fronts` fronts of a step; None if it is unbounded."""
        burst = self.burst(inputs)
        return None if burst is None else burst * fronts

    @property
    def finishes(self) -> int:
        """The maximum number of events of an output at the end of the stream."""
        return 0

    @property
    def lag(self) -> int | None:
        """The number of fronts after which each further front makes every output carry exactly one event.

        None if it is unknown. It determines the length of queues behind the processor.
        """
        return 0 if self.lockstep else None

    @property
    def shift(self) -> int | None:
        """The number of input events before the one that the first output belongs to; None: unknown."""
        return self.lag

    @property
    def prompt(self) -> bool:
        """Whether a stream of one front makes it emit, at its end at the latest."""
        return self.lag == 0

    def finish(self, state: State) -> tuple[Emission, ...]:
        """Return the emission at the end of the stream (by default nothing)."""
        return (NOTHING,) * self.out_arity

    # --- the finite machine ---

    def refusal(self, form: Form) -> str:
        """Return why this (typed) processor cannot run in a `Form`, or ""; by default the reasons of its parameters."""
        values = [getattr(self, item.name) for item in dataclasses.fields(self)]
        reasons = [v.obstacle for v in values if isinstance(v, TypedFunction)] if form != Form.VALUES else []
        return next(filter(None, [*reasons, *(v.refusal(form) for v in values if isinstance(v, Processor))]), "")

    @property
    def has_obligations(self) -> bool:
        """Whether types alone do not prove that its numbers stay in their ranges: `stays-in-range` then checks it.

        By default, whether this holds for its inner processor.
        """
        inner = getattr(self, "inner", None)
        return isinstance(inner, Processor) and inner.has_obligations

    @property
    def sampling(self) -> tuple[str, ...]:
        """What its model has only some of, so that the others may give other results, a sentence each."""
        return ()

    @property
    def assumes(self) -> tuple[str, ...]:
        """The assumptions of its machine about its inputs, a sentence each, for verdicts."""
        return ()

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        """Return names and finite domains of the parts of the state, in the order of `initial()`."""
        return ()

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        """Return the finite machine over given input domains; Refused when there is none.

        `horizon` promises that at most that many fronts come before the state is reset (inside a window).
        """
        reason = self.refusal(Form.MODEL)
        if reason:
            raise Refused(f"{self} is not supported by the model: {reason}")
        named, values = self.slots(inputs), self.initial()
        if len(named) != len(values):
            raise Refused(
                f"{self}: `initial` returns a state of {len(values)}, and `slots` names {len(named)}",
                hint="list the name and the finite domain of each part of `initial()` in `slots`",
            )
        slots = tuple(Slot(name, domain, value) for (name, domain), value in zip(named, values, strict=True))
        return Machine(slots, self.step, self.finish if self.finishes else None)

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        """Return a machine with some state in arrays, which models do not support, if that is better than `machine`."""
        return None

    # --- use ---

    def __call__(self, *streams: S) -> S:
        """Apply the processor to streams of a pipeline under construction: return its output, or a tuple of several."""
        for stream in streams:
            if hasattr(stream, "feed"):
                output: S = stream.feed(self, streams)
                return output
        raise PipelineError(f"{self} is applied to {streams!r}", hint="apply processors to streams")

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite; by default the one without arguments."""
        return (cls(),)

    def __str__(self) -> str:
        parameters = [f for f in dataclasses.fields(self) if f.repr and getattr(self, f.name) != f.default]
        values = ", ".join(_show(getattr(self, f.name)) for f in parameters)
        return f"{type(self).__name__}({values})" if parameters else type(self).__name__


def _show(value: Any) -> str:
    if isinstance(value, TypedFunction):
        return value.name
    return str(value)


def specialise_function(function: Function | TypedFunction, inputs: Sequence[Domain]) -> TypedFunction:
    """Return a parameter function typed for the given domains (again, if it was typed for others)."""
    return remove_types(function).specialise(inputs)


def run_in_range(
    action: Function | TypedFunction | None, gives: str = "", where: Location | str = "", text: str = ""
) -> Callable[..., Value] | None:
    """Return an action on values.

    Parameters
    ----------
    gives: the beginning of the message about a result that leaves its range.
    text: the expression of the result, for the hint.
    """
    if not (isinstance(action, TypedFunction) and action.obliged):
        return None if action is None else on_values(action)

    def run(*args: Value) -> Value:
        try:
            return action.plain(*args)
        except Overflow as error:
            exact = specialise_function(action.function, action.domains)  # typed, so that it reads fields by name
            got, index = exact(*args), ""
            if isinstance(action.result, IndexedTuple):
                first, items = action.result.first, zip(got, action.result.fields, strict=True)
                index, got = next((f" at {first + i}", item) for i, (item, own) in enumerate(items) if item not in own)
            hint = FIND_ESCAPES + advise_range(text, action.result, got)
            raise Overflow(f"{gives} {got}{index}", where=where, hint=hint) from error

    return run
