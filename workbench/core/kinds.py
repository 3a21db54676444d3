"""Kinds of processors: what only some have, beside what `Processor` asks of all.

The rule of this module: whoever needs what a kind has asks for the kind (`isinstance`); nothing else tells it.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from workbench.core.domain import Domain, Value
from workbench.core.function import Function, TypedFunction, as_function
from workbench.core.ops import both, disjunction, either, ite, negate
from workbench.core.processor import NOTHING, Maybe, Processor, State, Stepped, event
from workbench.core.term import TRUE
from workbench.errors import Overflow

T = TypeVar("T")

Push = Callable[[State, Any], Stepped]
"""`Processor.step`, or what an executor has in its place."""


# --- on steps ---------------------------------------------------------------------------------------------------

Happening = tuple[Sequence[Value], Sequence[Value | None]]
"""One step of a clocked processor: the events of its first input, and per oracle what it carries, if anything."""


class Tick(NamedTuple):
    """What a clocked processor consumes: all that one step brings."""

    events: tuple[Maybe, ...]
    """What its first input carries: as many slots as events can come, the absent ones last."""
    strike: Callable[[int, Any], Maybe]
    """Asks an oracle, by its number from 0, whether it lets something happen now; told whether that is possible."""
    ends: Any
    """Whether the input streams end with this step."""


class Clocked(Processor):
    """A processor on steps, not on fronts: it is stepped once in every step, and its front is a `Tick`.

    It says what it does in `unfold`; `denote` is what it does when its oracles are silent.
    """

    joins: ClassVar[bool] = False
    is_timed: ClassVar[bool] = True

    @property
    @abstractmethod
    def oracles(self) -> int:
        """How many of its last inputs are oracles: an event on one is a choice of the environment, not an arrival."""

    @abstractmethod
    def unfold(self, steps: Sequence[Happening], *, ended: bool) -> list[Value]:
        """The specification: the whole output stream after these steps.

        Where the streams have `ended`, the last step is the one with which they do.
        """

    @abstractmethod
    def heard(self, steps: Sequence[Happening]) -> list[Value | None]:
        """Of the specification: per oracle, what it says at the last of these steps, if that counts."""


def pack_slots(slots: Sequence[Maybe]) -> list[Maybe]:
    """The same events in the same order, with no absent slot before a present one."""
    done: list[Maybe] = []
    for slot in slots:
        before: Any = TRUE
        after = []
        for place in done:
            here = both(slot.present, both(before, negate(place.present)))
            after.append(Maybe(either(place.present, here), ite(here, slot.value, place.value)))
            before = place.present
        done = [*after, Maybe(both(slot.present, before), slot.value)]
    return done


def latest(before: Maybe, now: Maybe) -> Maybe:
    """The event that is held after `now`, which may be none."""
    return Maybe(either(now.present, before.present), ite(now.present, now.value, before.value))


class Listening(Processor):
    """A processor that waits for none of its inputs, and hears at once what all of them bring.

    Its front has a `Maybe` of each input, and at least one event. Where inputs bring several events in a step, the
    first of each come together, then the second. The fronts are the stream of its denotation.
    """

    merges: ClassVar[bool] = True

    def merge_arrivals(self, arrivals: Sequence[Sequence[Value]]) -> list[tuple[Any, ...]]:
        return list(itertools.zip_longest(*(map(event, values) for values in arrivals), fillvalue=NOTHING))

    def rounds(self, arrivals: Sequence[Sequence[Maybe]]) -> list[tuple[Any, tuple[Any, ...]]]:
        fronts = itertools.zip_longest(*map(pack_slots, arrivals), fillvalue=NOTHING)
        return [(disjunction(each.present for each in front), front) for front in fronts]

    def most_fronts(self, widths: Sequence[int]) -> int:
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
        return self.function.function if isinstance(self.function, TypedFunction) else self.function

    @property
    def label(self) -> str:
        return f"{self.symbol} {self._function.name}"


# --- with queues inside -----------------------------------------------------------------------------------------


class Keeping(Processor):
    """A processor with queues inside it, which are called after it: `queue(NAME.QUEUE)`.

    Class attributes
    ----------------
    holds: what waits there.
    """

    holds: ClassVar[str] = "positions"

    @property
    @abstractmethod
    def rooms(self) -> Mapping[str, int | None]:
        """The queues, and how much each can hold; more is an overflow. None: any number."""

    @abstractmethod
    def with_rooms(self, rooms: Mapping[str, int]) -> Self:
        """The same processor with other capacities; of queues not named they are as before."""

    @abstractmethod
    def waiting(self, state: State) -> tuple[int, ...]:
        """How much each of the queues holds in a state."""

    @property
    def queue_domains(self) -> tuple[Domain, ...]:
        """As what the first of the queues show what they hold; the others show nothing of it."""
        return ()

    def queue_contents(self, state: State) -> tuple[Sequence[Value], ...]:
        """What these queues hold in a state, oldest first."""
        del state
        return ()

    def growing(self, steps: Sequence[Mapping[str, Value]]) -> Mapping[str, Sequence[str]]:
        """By name what grows inside at each step of a run, as people read it; a step is what comes on its ports."""
        del steps
        return {}


class Deferring(Keeping):
    """A processor in which positions wait, as events do in a queue: in `queue(NAME.pending)`."""

    @property
    def rooms(self) -> Mapping[str, int | None]:
        return {"pending": self.room} if self.defers else {}

    def with_rooms(self, rooms: Mapping[str, int]) -> Self:
        return self.with_room(rooms["pending"]) if "pending" in rooms else self

    def waiting(self, state: State) -> tuple[int, ...]:
        return (state[0],)

    @property
    def defers(self) -> bool:
        """Whether a position ever waits."""
        return True

    @property
    def boundless(self) -> bool:
        """Whether positions wait, and any number may."""
        return self.defers and self.room is None

    def first(self, most: int) -> Processor:
        """What may stand in its place where no more than `most` fronts come and only its first event counts."""
        return self.with_room(most)

    def check_room(self, waiting: int) -> None:
        """Overflow if more positions wait than may."""
        if self.room is not None and waiting > self.room:
            raise Overflow(
                f"queue 'pending' overflows: its capacity is {self.room} and {waiting} positions would wait",
                hint="let more wait: pending = ...",
                queue="pending",
            )

    @property
    @abstractmethod
    def room(self) -> int | None:
        """How many may wait, the capacity of that queue; more are an overflow. None: any number."""

    @abstractmethod
    def with_room(self, room: int) -> Self:
        """The same processor with another `room`."""


# --- made of a file ----------------------------------------------------------------------------------------------


class FileProcessor(Processor):
    """A processor that a text makes of a file, in front of its streams: `rules("fire.tesla", temp, Smoke = smoke)`."""

    @classmethod
    @abstractmethod
    def of_file(cls, path: str, ordered: int, named: Sequence[str]) -> tuple[Self, Sequence[int]]:
        """The processor, and which of the streams given, those in order and then those by name, each input reads.

        The inputs on which it has the time are left out.

        Raises
        ------
        InputError, LanguageError: of the file. PipelineError: it has other inputs.
        """


# --- with processors inside -------------------------------------------------------------------------------------


class Each(Protocol):
    """How the copies of a held processor are stepped: does the same work for each of some jobs.

    It gives the results in the order of the jobs; an error is raised where its result would come.
    """

    def __call__(self, work: Callable[..., T], jobs: Iterable[tuple[Any, ...]], /) -> Iterator[T]:
        """The results of calling `work` with the arguments that each job is."""


in_turn: Each = itertools.starmap
"""One after the other, as the results are taken."""


class Holder(Processor):
    """A processor that holds others."""

    @property
    def inner_pipes(self) -> Mapping[str, Domain]:
        """The pipes between the processors inside it, where a pipeline may say that they are faulty."""
        return {}

    @property
    def inner_queues(self) -> tuple[str, ...]:
        """The names of the queues of the processors inside it, where a pipeline may give them capacities."""
        return ()

    @property
    def copies(self) -> bool:
        """Whether it (typed) steps several copies of what it holds at one front, for as much work each.

        Then its `step` is given, as `each`, how an executor wants that done; `in_turn` where nothing is said.
        """
        return False


Said = tuple[Any, ...]
"""What the copies in one place say of a front."""
PlacePart = tuple[State, Callable[[State, tuple[Any, ...]], tuple[State, Said]]]
"""The first state of the copies in one place, and their step."""
PlacesJoined = tuple[State, Callable[[State, Sequence[Said]], Stepped]]
"""The first state of what joins them, and its step: what a holder emits, given what each place says of a front."""


class FailedCopy(Exception):
    """A copy in a share has failed, for the reason that is the cause; `order` is its place among the others."""

    def __init__(self, order: Any) -> None:
        self.order = order


class Divisible(Holder):
    """A holder whose copies need nothing of each other, so that they may lie in several places.

    Each place is given every front, and steps the copies that are its own. Nothing else is asked of an executor: what
    a share costs is the work on its copies.
    """

    @property
    @abstractmethod
    def undivided(self) -> str:
        """Why a (typed) one is not divided; empty if it can be."""

    @abstractmethod
    def share(self, place: int, places: int) -> PlacePart:
        """What one of `places` places does, counted from 0. Its step raises `FailedCopy` where a copy fails."""

    @abstractmethod
    def joint(self, places: int) -> PlacesJoined:
        """What makes one of what all of them say."""

    def first_failed(self, orders: Sequence[Any]) -> Any:
        """Of copies that failed at one front, the one that `step` comes to first."""
        return min(orders)


def keeps_copies(processor: Processor) -> bool:
    """Whether a (typed) processor, or one inside it, has copies to step."""
    return isinstance(processor, Holder) and processor.copies


def stepping(processor: Processor, each: Each) -> Push:
    """The step of a (typed) processor, in which all copies are stepped in this way."""
    step: Callable[..., Stepped] = processor.step
    return partial(step, each=each) if keeps_copies(processor) else step


def begin_stepping(processor: Processor, each: Each, jobs: Iterable[tuple[State, tuple[Any, ...]]]) -> Push:
    """In place of the step of a (typed) processor, for these jobs in this order: its copies are stepped in this way."""
    results = each(stepping(processor, each), jobs)
    return lambda *_: next(results)
