"""Kinds of processors: the properties that only some have, beyond `Processor`.

The rule of this module: code that needs such a property tests for the kind (`isinstance`), and for nothing else.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from workbench.core.domain import Domain, Value
from workbench.core.function import Function, TypedFunction, as_function, remove_types, require_typed
from workbench.core.ops import both, disjunction, either, ite, negate
from workbench.core.processor import NOTHING, Maybe, Processor, State, Stepped, Stream, event
from workbench.core.term import TRUE
from workbench.errors import Overflow, PipelineError

T = TypeVar("T")

Push = Callable[[State, Any], Stepped]
"""`Processor.step`, or the step that an executor uses instead."""


# --- on steps ---------------------------------------------------------------------------------------------------

Happening = tuple[Sequence[Value], Sequence[Value | None]]
"""One step of a clocked processor: the events of its first input, and for each oracle its event, if any."""


class Tick(NamedTuple):
    """The input of a clocked processor in one step."""

    events: tuple[Maybe, ...]
    """The events of its first input: as many slots as events can come, the absent ones last."""
    strike: Callable[[int, Any], Maybe]
    """Queries an oracle, by its number from 0, about this step; its second argument: whether a strike is possible."""
    ends: Any
    """Whether the input streams end with this step."""


class Clocked(Processor):
    """A processor on steps, not on fronts: it is stepped once in every step, and its front is a `Tick`.

    `unfold` specifies it; `denote` is its behaviour when its oracles are silent.
    """

    joins: ClassVar[bool] = False
    is_timed: ClassVar[bool] = True

    @property
    @abstractmethod
    def oracles(self) -> int:
        """The number of oracles, its last inputs: an event there is a choice of the environment, not an arrival."""

    @abstractmethod
    def unfold(self, steps: Sequence[Happening], *, ended: bool) -> list[Value]:
        """Specify the processor: return the whole output stream after these steps.

        If the streams have `ended`, they do so with the last step.
        """

    @abstractmethod
    def heard(self, steps: Sequence[Happening]) -> list[Value | None]:
        """Return what each oracle decides at the last of these steps, if that has an effect."""


def pack_slots(slots: Sequence[Maybe]) -> list[Maybe]:
    """Return the events in the same order, with no absent slot before a present one."""
    done: list[Maybe] = []
    for slot in slots:
        before: Any = TRUE
        after = []
        for target in done:
            here = both(slot.present, both(before, negate(target.present)))
            after.append(Maybe(either(target.present, here), ite(here, slot.value, target.value)))
            before = target.present
        done = [*after, Maybe(both(slot.present, before), slot.value)]
    return done


def latest(before: Maybe, now: Maybe) -> Maybe:
    """Return the held event after `now`, which may be absent."""
    return Maybe(either(now.present, before.present), ite(now.present, now.value, before.value))


class Listening(Processor):
    """A processor that waits for none of its inputs, and receives the events of all of them at once.

    Its front has a `Maybe` for each input, and at least one event. Where inputs carry several events in a step, the
    first of each come together, then the second. The fronts are the stream of its denotation.
    """

    merges: ClassVar[bool] = True

    def merge_arrivals(self, arrivals: Sequence[Sequence[Value]]) -> list[tuple[Any, ...]]:
        return list(itertools.zip_longest(*(map(event, values) for values in arrivals), fillvalue=NOTHING))

    def rounds(self, arrivals: Sequence[Sequence[Maybe]]) -> list[tuple[Any, tuple[Any, ...]]]:
        fronts = itertools.zip_longest(*map(pack_slots, arrivals), fillvalue=NOTHING)
        return [(disjunction(each.present for each in front), front) for front in fronts]

    def bound_fronts(self, widths: Sequence[int]) -> int:
        return max(widths)


# --- of a function ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Functional(Processor):
    """A processor whose first parameter is a function, which is typed when it is."""

    function: Function | TypedFunction

    def __post_init__(self) -> None:
        if not isinstance(self.function, TypedFunction):
            object.__setattr__(self, "function", as_function(self.function))

    @property
    def _function(self) -> Function:
        return remove_types(self.function)

    @property
    def _typed(self) -> TypedFunction:
        return require_typed(self.function)

    @property
    def label(self) -> str:
        return f"{self.symbol} {self._function.name}"


# --- with queues inside -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lacking:
    """A value that a model lacks, emitted in the replay of a model's run."""

    value: Value | None


class Keeping(Processor):
    """A processor with queues inside it, whose names begin with its own: `queue(NAME.QUEUE)`.

    Class attributes
    ----------------
    holds: the noun for what waits there.
    """

    holds: ClassVar[str] = "positions"

    @property
    @abstractmethod
    def capacities(self) -> Mapping[str, int | None]:
        """The queues inside, with their capacities; more is an overflow. None: unbounded."""

    @abstractmethod
    def with_capacities(self, capacities: Mapping[str, int]) -> Self:
        """Return the processor with other capacities; those that are not named are unchanged."""

    @abstractmethod
    def waiting(self, state: State) -> tuple[int, ...]:
        """Return the length of each queue in a state."""

    @property
    def queue_domains(self) -> tuple[Domain, ...]:
        """The domains in which the first of the queues show their content; the other queues show none."""
        return ()

    def queue_contents(self, state: State) -> tuple[Sequence[Value], ...]:
        """Return the content of these queues in a state, oldest first."""
        return ()

    def for_replay(self) -> Self:
        """Return the processor that goes on where its model lacks a value of an output: there it emits a `Lacking`."""
        return self

    def growing(self, steps: Sequence[Mapping[str, Value]]) -> Mapping[str, Sequence[str]]:
        """Return the growth inside at each step of a run, by name, as text; a step is the events on its ports."""
        return {}


class Deferring(Keeping):
    """A processor in which positions wait, as events do in a queue: in `queue(NAME.pending)`."""

    @property
    def capacities(self) -> Mapping[str, int | None]:
        return {"pending": self.capacity} if self.defers else {}

    def with_capacities(self, capacities: Mapping[str, int]) -> Self:
        return self.with_capacity(capacities["pending"]) if "pending" in capacities else self

    def waiting(self, state: State) -> tuple[int, ...]:
        return (state[0],)

    @property
    def defers(self) -> bool:
        """Whether a position ever waits."""
        return True

    @property
    def boundless(self) -> bool:
        """Whether an unbounded number of positions can wait."""
        return self.defers and self.capacity is None

    def first(self, max_fronts: int) -> Processor:
        """Return a replacement for at most `max_fronts` fronts of which only its first event counts."""
        return self.with_capacity(max_fronts)

    def check_capacity(self, waiting: int) -> None:
        """Raise Overflow if more positions wait than the capacity."""
        if self.capacity is not None and waiting > self.capacity:
            raise Overflow(
                f"queue 'pending' overflows: its capacity is {self.capacity} and {waiting} positions would wait",
                hint="let more wait: pending = ...",
                queue="pending",
            )

    @property
    @abstractmethod
    def capacity(self) -> int | None:
        """The capacity of that queue; more positions are an overflow. None: unbounded."""

    @abstractmethod
    def with_capacity(self, capacity: int) -> Self:
        """Return the processor with another capacity."""


class PendingVerdicts(Deferring):
    """A processor that emits the verdict of every position, in order, as soon as it is known.

    Its parameter `pending` is the maximum number of positions that wait for their verdict: more are an overflow. A
    model needs it where positions wait.
    """

    pending: int | None

    def __post_init__(self) -> None:
        if self.pending is not None and self.pending < 1:
            raise PipelineError(f"at least one position has to be able to wait, not {self.pending}")

    @property
    def capacity(self) -> int | None:
        return self.pending

    def with_capacity(self, capacity: int) -> Self:
        change: dict[str, Any] = {"pending": capacity}
        return replace(self, **change)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        length = min(map(len, streams))
        if self.pending is not None and self.defers:
            for n in range(length + 1):
                self.check_capacity(n - len(self._list_known_verdicts([stream[:n] for stream in streams])))
        return (self._list_known_verdicts([stream[:length] for stream in streams]),)

    def _list_known_verdicts(self, streams: Sequence[Stream]) -> list[Value]:
        """Return the verdicts of the positions up to the first unknown one."""
        verdicts = (self.verdict(tuple(stream[i:] for stream in streams)) for i in range(len(streams[0])))
        return list(itertools.takewhile(lambda verdict: verdict is not None, verdicts))

    @abstractmethod
    def verdict(self, streams: tuple[Stream, ...]) -> bool | None:
        """Return the verdict on the first position of these streams; None while it is unknown."""


# --- read from a file ----------------------------------------------------------------------------------------------


class FileProcessor(Processor):
    """A processor that is read from a file, named before its streams: `rules("fire.tesla", temp, Smoke = smoke)`."""

    @classmethod
    @abstractmethod
    def of_file(cls, path: str, ordered: int, named: Sequence[str]) -> tuple[Self, Sequence[int]]:
        """Return the processor, and the index of the given stream, in order and then by name, that each input reads.

        The inputs of the time are left out.

        Raises
        ------
        InputError, LanguageError: the file is invalid. PipelineError: it has other inputs.
        """


# --- with processors inside -------------------------------------------------------------------------------------


class Each(Protocol):
    """A way to step the copies of a held processor: it does the same work for each job.

    It yields the results in the order of the jobs; an error is raised where its result would come.
    """

    def __call__(self, work: Callable[..., T], jobs: Iterable[tuple[Any, ...]], /) -> Iterator[T]:
        """Yield the results of calling `work` with the arguments of each job."""


in_turn: Each = itertools.starmap
"""Steps the copies one after the other, as the results are taken."""


class Holder(Processor):
    """A processor that holds others."""

    @property
    def inner_pipes(self) -> Mapping[str, Domain]:
        """The pipes between the processors inside it, on which a pipeline may declare faults."""
        return {}

    @property
    def inner_queues(self) -> tuple[str, ...]:
        """The names of the queues of the processors inside it, to which a pipeline may give capacities."""
        return ()

    @property
    def copies(self) -> bool:
        """Whether the typed processor steps several copies of its inner processor at one front, with equal work.

        An executor then passes its `step` a way to do that, as `each`; `in_turn` is the default.
        """
        return False


Answers = tuple[Any, ...]
"""The answers of the copies in one place to a front."""
PlacePart = tuple[State, Callable[[State, tuple[Any, ...]], tuple[State, Answers]]]
"""The first state of the copies in one place, and their step."""
PlacesJoined = tuple[State, Callable[[State, Sequence[Answers]], Stepped]]
"""The first state of the joining part, and its step: from the answers of all places to what a holder emits."""


class FailedCopy(Exception):
    """The error for a failed copy in a share, with its reason as the cause; `order` is its place among the others."""

    def __init__(self, order: Any) -> None:
        self.order = order


class Divisible(Holder):
    """A holder whose copies are independent, so that they may lie in several places.

    Each place gets every front, and steps its own copies. Executors need nothing else: the cost of a share is the
    work on its copies.
    """

    @property
    @abstractmethod
    def undivided(self) -> str:
        """The reason why a (typed) one is not divided; empty if it can be."""

    @abstractmethod
    def share(self, index: int, count: int) -> PlacePart:
        """Return the part of place `index` of `count`, from 0. Its step raises `FailedCopy` if a copy fails."""

    @abstractmethod
    def joint(self, count: int) -> PlacesJoined:
        """Return the part that joins the answers of all places."""

    def first_failed(self, orders: Sequence[Any]) -> Any:
        """Return the first, in the order of `step`, of the copies that failed at one front."""
        return min(orders)


def keeps_copies(processor: Processor) -> bool:
    """Whether a (typed) processor, or one inside it, has copies to step."""
    return isinstance(processor, Holder) and processor.copies


def stepping(processor: Processor, each: Each) -> Push:
    """Return the step of a (typed) processor in which all copies are stepped in this way."""
    step: Callable[..., Stepped] = processor.step
    return partial(step, each=each) if keeps_copies(processor) else step


def begin_stepping(processor: Processor, each: Each, jobs: Iterable[tuple[State, tuple[Any, ...]]]) -> Push:
    """Begin to step the copies for these jobs, and return a replacement of the processor's step for them."""
    results = each(stepping(processor, each), jobs)
    return lambda *_: next(results)
