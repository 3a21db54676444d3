"""Linear temporal logic on streams of truth values (Event Stream Processing with Multiple Threads, section 4.2).

The streaming operators emit the verdict of every position, in order, as soon as it is known, and none at the end of the
stream. The three-valued operators (`globally3`, ...) emit, for each event, the verdict on the first position so far.

The rule of this module: an event decides all positions that wait, or none. So it is enough to count the waiting
positions, and a step costs as much as its output. `spawn` has the form of the paper, with a copy for each position.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from workbench.core.domain import BOOL, Anything, Bool, Domain, Enum, Integer, Overflowing, Range, Value
from workbench.core.form import Form
from workbench.core.kinds import PendingVerdicts
from workbench.core.ops import EQ, GE, GT, both, either, ite, negate
from workbench.core.processor import (
    NOTHING,
    Burst,
    Emission,
    Events,
    Machine,
    Maybe,
    Processor,
    Repeated,
    Share,
    Slot,
    State,
    Stored,
    Stream,
    event,
)
from workbench.core.term import FALSE, const, is_symbolic
from workbench.core.typing_rules import advise_condition
from workbench.errors import TypingError

VERDICT = Enum(("unknown", "holds", "fails"))
"""The outputs of three-valued operators."""


WAITING = Range(0, 2**62)
"""The number of waiting positions where it is unbounded: more than there can be events."""


class TemporalRule(NamedTuple):
    """A temporal operator, defined twice: on a suffix of the streams, and on one front."""

    suffix: Callable[..., bool | None]
    """The verdict on a suffix; None while it is unknown."""
    decided: Callable[..., Any]
    """Whether a front decides all positions that wait."""
    verdict: Callable[..., Any]
    """The verdict of a front that decides."""


def _until(left: Sequence[bool], right: Sequence[bool]) -> bool | None:
    for a, b in zip(left, right, strict=False):
        if b or not a:
            return b
    return None


def _release(left: Sequence[bool], right: Sequence[bool]) -> bool | None:
    for a, b in zip(left, right, strict=False):
        if a or not b:
            return b
    return None


GLOBALLY = TemporalRule(lambda x: False if False in x else None, negate, lambda x: x)
EVENTUALLY = TemporalRule(lambda x: True if True in x else None, lambda x: x, lambda x: x)
UNTIL = TemporalRule(_until, lambda a, b: either(b, negate(a)), lambda _, b: b)
RELEASE = TemporalRule(_release, lambda a, b: either(a, negate(b)), lambda _, b: b)


class Truth(Processor):
    """Base of the processors on streams of truth values."""

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        odd = next((domain for domain in inputs if not isinstance(domain, Bool)), None)
        if odd is not None:
            hint = "compare it, e.g. NAME = true" if isinstance(odd, Anything) else advise_condition(odd)
            raise TypingError(f"'{self.keyword}' takes bool, not {odd}", hint=hint)
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (BOOL,)

    @property
    @abstractmethod
    def rule(self) -> Any:
        """The rule by which the operators differ."""


@dataclass(frozen=True)
class Streaming(Truth, PendingVerdicts):
    """Base of the operators that emit the verdict of every position as soon as it is known."""

    pending: int | None = None

    shift: ClassVar[int] = 0

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self.bound_events(inputs, 1)

    def bound_events(self, inputs: tuple[Domain, ...], fronts: int) -> int | None:
        return None if self.pending is None else self.pending + fronts

    def verdict(self, streams: tuple[Stream, ...]) -> bool | None:
        verdict: bool | None = self.rule.suffix(*streams)
        return verdict

    def first(self, max_fronts: int) -> Processor:
        return FirstVerdict(self)

    def initial(self) -> State:
        return (0,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        assert self.pending is not None
        return (("waiting", Integer(self.pending + 1, Overflowing.CHECKED)),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        (waiting,) = state
        decided = self.rule.decided(*front)
        if not isinstance(waiting, int):
            assert self.pending is not None
            verdict = self.rule.verdict(*front)
            verdicts = Burst(Maybe(both(decided, GE(waiting, i)), verdict) for i in range(self.pending + 1))
            return (ite(decided, 0, waiting + 1),), (verdicts,)
        if decided:
            verdict = self.rule.verdict(*front)
            return (0,), (Events((verdict,) * (waiting + 1)) if waiting else event(verdict),)
        self.check_capacity(waiting + 1)
        return (waiting + 1,), (NOTHING,)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        return super().machine(inputs, horizon)._replace(emits=self._emit)

    def _emit(self, state: State, rounds: Sequence[tuple[Any, tuple[Any, ...]]], share: Share) -> tuple[Emission, ...]:
        """Return the verdicts on the fronts' and on waiting positions: each is that of the next deciding front."""
        assert self.pending is not None
        (waiting,), positions, known, verdict = state, list[Maybe](), FALSE, FALSE
        for number, (fires, front) in reversed(list(enumerate(rounds, 1))):
            decided = both(fires, self.rule.decided(*front))
            verdict = share(f"verdict{number}", ite(decided, self.rule.verdict(*front), verdict))
            known = share(f"known{number}", either(decided, known))
            positions.append(Maybe(both(fires, known), verdict))
        waits = (Maybe(both(known, GT(waiting, i)), verdict) for i in range(self.pending))
        return (Burst([*waits, *reversed(positions)]),)

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        """Return a machine without a bound on waiting positions: all get their verdict as one repeated event."""
        return (
            Stored({}, lambda _: Machine((Slot("waiting", WAITING, 0),), self._counting)) if not self.pending else None
        )

    def _counting(self, state: State, front: tuple[Any, ...]) -> tuple[State, Any]:
        (waiting,) = state
        decided = self.rule.decided(*front)
        return (ite(decided, 0, waiting + 1),), (Repeated(decided, self.rule.verdict(*front), waiting),)

    def refusal(self, form: Form) -> str:
        if self.pending is None and form == Form.MODEL:
            return f"nothing bounds how many positions wait; write {self.keyword}(..., pending = 4)"
        return ""

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(), cls(1), cls(3))


@dataclass(frozen=True)
class FirstVerdict(Truth):
    """The verdict that `of` has on the first position, and nothing after it."""

    of: Streaming

    @property
    def label(self) -> str:
        return self.of.label

    @property
    def in_arity(self) -> int:
        return self.of.in_arity

    @property
    def rule(self) -> TemporalRule:
        rule: TemporalRule = self.of.rule
        return rule

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (self.of.denote(streams)[0][:1],)

    def initial(self) -> State:
        return (False,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("known", BOOL),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (known,), decided = state, self.rule.decided(*front)
        return (either(known, decided),), (Maybe(both(decided, negate(known)), self.rule.verdict(*front)),)

    def refusal(self, form: Form) -> str:
        return ""  # it counts no positions

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return cls(Globally()), cls(Until())


@dataclass(frozen=True)
class Globally(Streaming):
    """Emits false for each position from which on some event is false, as soon as it comes."""

    keyword: ClassVar[str] = "globally"
    symbol: ClassVar[str] = "□"
    rule: ClassVar[TemporalRule] = GLOBALLY


@dataclass(frozen=True)
class Eventually(Streaming):
    """Emits true for each position from which on some event is true, as soon as it comes."""

    keyword: ClassVar[str] = "eventually"
    symbol: ClassVar[str] = "◇"
    rule: ClassVar[TemporalRule] = EVENTUALLY


@dataclass(frozen=True)
class Until(Streaming):
    """Emits, for each position, whether left is true from there on up to a front at which right is true."""

    keyword: ClassVar[str] = "until"
    symbol: ClassVar[str] = "U"
    streams: ClassVar[int] = 2
    rule: ClassVar[TemporalRule] = UNTIL


@dataclass(frozen=True)
class Release(Streaming):
    """Emits, for each position, whether right is true from there on for ever, or up to a front at which both are."""

    keyword: ClassVar[str] = "release"
    symbol: ClassVar[str] = "R"
    streams: ClassVar[int] = 2
    rule: ClassVar[TemporalRule] = RELEASE


@dataclass(frozen=True)
class Next(Truth):
    """Emits, for each position, the event after it."""

    keyword: ClassVar[str] = "next"
    symbol: ClassVar[str] = "X"
    rule: ClassVar[None] = None
    lag: ClassVar[int] = 1
    shift: ClassVar[int] = 0

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (list(streams[0][1:]),)

    def initial(self) -> State:
        return (False,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("started", BOOL),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        return (True,), (Maybe(state[0], front[0]),)


# --- three values -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Latched(Truth):
    """Base of the operators that emit, for each event, the verdict on the first position so far."""

    lockstep: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = VERDICT.labels

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (VERDICT,)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        words = {None: "unknown", True: "holds", False: "fails"}
        lengths = range(1, min(map(len, streams)) + 1)
        return ([words[self.rule.suffix(*(stream[:n] for stream in streams))] for n in lengths],)

    def initial(self) -> State:
        return ("unknown",)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("verdict", VERDICT),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (known,) = state
        known = _conclude(known, self.rule.decided(*front), self.rule.verdict(*front))
        return (known,), (event(known),)


def _conclude(known: Any, decided: Any, verdict: Any) -> Any:
    """Return the verdict, which does not change once it is known."""
    if type(known) is str and known != "unknown":
        return known
    now = both(EQ(known, "unknown"), decided)
    holds, fails = (const(word, VERDICT) if is_symbolic((known, now)) else word for word in ("holds", "fails"))
    return ite(both(now, verdict), holds, ite(both(now, negate(verdict)), fails, known))


@dataclass(frozen=True)
class Globally3(Latched):
    """Emits `unknown`, and `fails` from the first false event on."""

    keyword: ClassVar[str] = "globally3"
    symbol: ClassVar[str] = "□?"
    rule: ClassVar[TemporalRule] = GLOBALLY


@dataclass(frozen=True)
class Eventually3(Latched):
    """Emits `unknown`, and `holds` from the first true event on."""

    keyword: ClassVar[str] = "eventually3"
    symbol: ClassVar[str] = "◇?"
    rule: ClassVar[TemporalRule] = EVENTUALLY


@dataclass(frozen=True)
class Until3(Latched):
    """Emits `unknown` while only left is true, then for ever `holds` if right is, or `fails` if neither is."""

    keyword: ClassVar[str] = "until3"
    symbol: ClassVar[str] = "U?"
    streams: ClassVar[int] = 2
    rule: ClassVar[TemporalRule] = UNTIL


@dataclass(frozen=True)
class Release3(Latched):
    """Emits `unknown` while only right is true, then for ever `holds` if both are, or `fails` if right is not."""

    keyword: ClassVar[str] = "release3"
    symbol: ClassVar[str] = "R?"
    streams: ClassVar[int] = 2
    rule: ClassVar[TemporalRule] = RELEASE


@dataclass(frozen=True)
class Next3(Latched):
    """Emits `unknown` at the first event, and for ever after whether the second one is true: `holds` or `fails`."""

    keyword: ClassVar[str] = "next3"
    symbol: ClassVar[str] = "X?"
    rule: ClassVar[None] = None

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        (stream,) = streams
        second = ["holds" if stream[1] else "fails"] if len(stream) > 1 else []
        return (["unknown"] * min(1, len(stream)) + second * (len(stream) - 1),)

    def initial(self) -> State:
        return (False, "unknown")

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("started", BOOL), ("verdict", VERDICT))

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        started, known = state
        known = _conclude(known, started, front[0])
        return (True, known), (event(known),)
