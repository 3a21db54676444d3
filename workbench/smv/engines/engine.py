"""The input and output of engines: plain data, shared by every engine.

The rule of this module: this folder knows SMV text and nothing about pipelines. An engine never harms its caller:
a limit or a crash is an `Answer` without a truth value, a defective model is an `EngineError`,
and nothing else comes out of `check`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from workbench.budget import memory_limit, time_limit

QueryKind = Literal["invar", "ctl", "ltl", "longest"]
SmvState = Mapping[str, str]
"""A full valuation: variable name to value text, as NuSMV prints it (`TRUE`, `3`, `0ud4_7`, `idle`)."""


@dataclass(frozen=True)
class Query:
    """One question about a model.

    A `side` question is optional: it comes after the required ones, and is given
    up, undecided, if it takes much longer than all of them together.

    `invar` asks whether the formula (no temporal operator, no `next`) is true in every reachable
    state; `ctl` and `ltl` ask whether it is true in every initial state, over fair paths. `longest` asks
    for the maximum number of consecutive states, on any path, at which a CTL formula is true: the answer is true if
    there is a maximum, which is its `length`, and false if some path stays there for ever.
    """

    kind: QueryKind
    formula: str
    side: bool = False


@dataclass(frozen=True)
class Task:
    """A model and the questions to answer on it in one run: they share the reachable states.

    Parameters
    ----------
    model: SMV text with a `MODULE main` and no specifications in it.
    order: BDD variable order, first variable on top. One entry is one bit, named as NuSMV names it:
        `b` for a boolean, `v.2`, `v.1`, `v.0` for the bits of a word, range or enumeration `v`,
        the most significant first; also inside modules (`m.v.0`) and arrays (`a[1].0`). A name
        without a bit number stands for all bits of its variable. NuSMV places the bits that are
        missing, and ignores names that do not exist. () leaves the whole order to NuSMV.
    count_states: also report the number of reachable states.
    watch: DEFINEs of the module main (or of its instances) whose values traces show beside those of the VARs.
    """

    model: str
    queries: tuple[Query, ...] = ()
    order: tuple[str, ...] = ()
    count_states: bool = False
    watch: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sides = [query.side for query in self.queries]
        if sides != sorted(sides):
            raise ValueError("side questions come last")

    @property
    def required(self) -> int:
        """The number of required queries, which are not side questions."""
        return sum(not query.side for query in self.queries)


@dataclass(frozen=True)
class EngineLimits:
    """The limits of one check: wall-clock seconds, and megabytes (2**20 bytes) of memory. None: no limit.

    `of` are the original limits, if these are what is left of them; messages report the original ones.
    """

    seconds: float | None = None
    memory_mb: int | None = None
    of: EngineLimits | None = None

    def within(self, seconds: float | None) -> EngineLimits:
        """Return the limits of a turn of this length, which is a limit of its own."""
        whole = self.seconds is not None and seconds is not None and seconds >= self.seconds
        return EngineLimits(seconds, self.memory_mb, self.of if whole else None)

    def seconds_left(self, begin: float) -> float | None:
        """Return the seconds left, counted from `begin`, a moment of `time.monotonic`."""
        return None if self.seconds is None else max(0.0, self.seconds - (time.monotonic() - begin))

    @property
    def time(self) -> str:
        """The time limit in words; empty if there is none."""
        seconds = (self.of or self).seconds
        return "" if seconds is None else time_limit(seconds)

    @property
    def memory(self) -> str:
        """The memory limit in words; empty if there is none."""
        megabytes = (self.of or self).memory_mb
        return "" if megabytes is None else memory_limit(megabytes)


def limit_side_questions(seconds: float) -> float:
    """Return the seconds for side questions, after the required ones took `seconds`."""
    return max(2.0, 4 * seconds)


@dataclass(frozen=True)
class RawTrace:
    """A counterexample: the value of every VAR, and of what the task watches, at every step.

    An IVAR has, in step k + 1, the value that it had on the way from k to k + 1 (as NuSMV numbers
    inputs), and none in step 0. `loop` is the index of the step that follows the last one when the
    trace is a lasso (the repeated state is not listed twice), None when it is a finite path.
    """

    steps: tuple[SmvState, ...]
    loop: int | None = None


class Reached(NamedTuple):
    """The progress of an engine with a query that it left undecided.

    `further`: whether more time would help. `steps`: no run of up to this number of steps (states of the model) makes
    an `invar` query false; 0 if unknown. `bits`: the size of a state, if this is about the model.
    """

    engine: str
    text: str
    further: bool = True
    steps: int = 0
    bits: int = 0

    def __str__(self) -> str:
        return f"{self.engine}: {self.text}"


@dataclass(frozen=True)
class Answer:
    """The answer to one query.

    `truth` is None if the query is undecided; then `reason` names the limit that was met or the crash, with the
    engine's last words. `trace` accompanies a false answer if one path shows it; if it could not be built, `reason` is
    why (`unshown`). `shortest`: whether no shorter path shows it. `length` is the number that a query of the kind
    `longest` asks for. `reached` is the progress of each engine with an undecided query.
    """

    truth: bool | None
    trace: RawTrace | None = None
    reason: str = ""
    length: int | None = None
    shortest: bool = False
    reached: tuple[Reached, ...] = ()

    @property
    def depth(self) -> int:
        """The maximum number of steps up to which no run is known to be a counterexample."""
        return max((each.steps for each in self.reached), default=0)

    @property
    def open(self) -> bool:
        """Whether another engine may know more: the query is undecided, or false and its trace could not be built."""
        return self.truth is None or (self.truth is False and self.trace is None and bool(self.reason))


def unshown(reason: str) -> Answer:
    """Return the answer to a false query whose trace could not be built, because of a limit or a crash."""
    return Answer(False, reason=f"no counterexample could be built: {reason}")


def slowest_last(kinds: Sequence[str], first: int, last: int) -> list[int]:
    """Return the order in which to decide queries of these kinds: LTL last, since counterexamples may meet a limit."""
    return sorted(range(first, last), key=lambda index: kinds[index] == "ltl")


@dataclass(frozen=True)
class TaskResult:
    """The answers to a task, in the order of its queries, and the cost.

    `cpu_seconds` and `peak_mb` are those of the process that did the work, `wall_seconds` is the time that the caller
    waited for it (without the start of a cold worker).
    """

    answers: tuple[Answer, ...]
    engine: str
    cpu_seconds: float
    wall_seconds: float
    reachable_states: int | None = None
    peak_mb: float = 0.0


@dataclass(frozen=True)
class Availability:
    """The availability of an engine (`find_engines`): its version if usable, else the reason."""

    name: str
    version: str = ""
    path: str = ""
    reason: str = ""
    hint: str = ""

    @property
    def usable(self) -> bool:
        """Whether `get_engine(name)` returns it."""
        return not self.reason


class Engine(Protocol):
    """A model checker. Instances may be used from several threads at once."""

    @property
    def name(self) -> str:
        """The name of the engine in `get_engine`."""

    @property
    def path(self) -> str:
        """The executable that does the work; empty if it is a Python package."""

    def start(self) -> None:
        """Start the process that does the work, if it survives checks.

        Raises
        ------
        EngineError: it is installed, but cannot start.
        """

    def version(self) -> str:
        """Return the name and version of the program that does the work."""

    def check(self, task: Task, limits: EngineLimits = ...) -> TaskResult:
        """Answer every query of `task`.

        Raises
        ------
        EngineError: the model or a formula is defective, or the model has no meaning: no initial
            state, a reachable state without successor, or no fair path from an initial state.
        """
