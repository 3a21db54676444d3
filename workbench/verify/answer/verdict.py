"""Verdicts: what was decided, what it rests on, a ground each, and the run that shows it.

Where a verdict says little, the question is asked again of models with larger bounds as long as there is time (`grow`).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from workbench.core.readable import plural
from workbench.display import Displayed
from workbench.errors import LimitMet
from workbench.verify.answer.trace import Trace

if TYPE_CHECKING:
    from workbench.smv.engines.engine import Reached
    from workbench.verify.answer.problem import Problem
import time
from collections.abc import Callable

from workbench.budget import Budget, phase
from workbench.errors import Refused


class Outcome(StrEnum):
    """The four outcomes and the exit code of each."""

    HOLDS = "holds"
    FAILS = "fails"
    WITHIN_BOUNDS = "holds-within-bounds"
    UNKNOWN = "unknown"

    @property
    def sign(self) -> str:
        """One character for it."""
        return {Outcome.HOLDS: "✓", Outcome.WITHIN_BOUNDS: "≈", Outcome.FAILS: "✗", Outcome.UNKNOWN: "?"}[self]

    @property
    def exit_code(self) -> int:
        """0 holds (also within bounds), 1 fails, 3 unknown."""
        return {Outcome.FAILS: 1, Outcome.UNKNOWN: 3}.get(self, 0)

    @property
    def is_proved(self) -> bool:
        """Whether there is no counterexample, within bounds at least."""
        return self in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS)

    @property
    def opposite(self) -> Outcome:
        """That of a question that wants a run, where this is that of the formula which no such run satisfies."""
        return {Outcome.FAILS: Outcome.HOLDS, Outcome.HOLDS: Outcome.FAILS}.get(self, Outcome.UNKNOWN)


def worst_exit_code(codes: Iterable[int]) -> int:
    """The exit code of several answers: 1 where one fails, else 3 where one is not known, else 0."""
    found = set(codes)
    return next((code for code in (1, 3) if code in found), 0)


class Reliance(StrEnum):
    """How far a verdict can be relied on in one respect, as examining it found."""

    CONFIRMED = "confirmed"
    WEAK = "weak"
    UNKNOWN = "unknown"

    @property
    def sign(self) -> str:
        """One character for it."""
        return {Reliance.CONFIRMED: "✓", Reliance.WEAK: "!", Reliance.UNKNOWN: "?"}[self]


@dataclass(frozen=True)
class Ground:
    """Something that a verdict rests on, or one respect in which it was examined.

    Attributes
    ----------
    kind: what it is about, for programs: `queues`, `wraps`, ... (`answer.grounds`); where it was examined `vacuity`,
        `arithmetic`, `queues`, `N + 1`, `every N`, `Q + 1` or `every Q`.
    text: a sentence; empty where nothing is to be said.
    data: the same as data.
    finding: `confirmed`: the verdict can be relied on in this respect; `weak`: it says less than it seems to.
    witness: a run that shows what was found.
    """

    kind: str
    text: str = ""
    data: Any = None
    finding: Reliance | None = None
    witness: Trace | None = None

    def __str__(self) -> str:
        return f"{self.finding.sign if self.finding else '-'} {self.kind}: {self.text or self.data}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data of one that was examined."""
        witness = None if self.witness is None else self.witness.to_json()
        return {"aspect": self.kind, "finding": str(self.finding), "text": self.text, "witness": witness}


@dataclass(frozen=True)
class Depth:
    """How far a question was decided that was not decided for all runs.

    Attributes
    ----------
    steps: what is said is so of all runs of up to so many steps.
    wanted: no such run is the one that was looked for; else none refutes the property.
    unless: what such a run may not do for that; empty where it may do anything.
    """

    steps: int
    wanted: bool = False
    unless: str = ""

    def __str__(self) -> str:
        runs = f"of up to {plural(self.steps, 'step')}"
        said = f"no run {runs} shows it" if self.wanted else f"holds for all runs {runs}"
        return f"{said}{' before ' * bool(self.unless)}{self.unless}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"steps": self.steps, "unless": self.unless}


@dataclass(frozen=True)
class Vacuity:
    """What never happens in a model, and without which its verdict says less than it seems to.

    Attributes
    ----------
    never: in words: `out is never true`.
    bound: the bound that prevents it, as `Q = 2`; empty where none is known to.
    certain: whether it is known that this bound prevents it.
    """

    never: str
    bound: str = ""
    certain: bool = True

    def __str__(self) -> str:
        return self.never + (f" ({self.bound} {'prevents it' if self.certain else 'may be why'})" if self.bound else "")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"never": self.never, "bound": self.bound}


GROUNDS_IN_JSON = ("trivial", "queues", "overflow", "for_every_N", "wraps", "saturates", "domains")
"""The kinds of grounds of which JSON has the data."""


@dataclass(frozen=True)
class Verdict(Displayed):
    """The answer to one property of one pipeline.

    Attributes
    ----------
    grounds: the assumptions and bounds that the outcome depends on, most important first; `rests_on`: their sentences.
    witness: a run to an overflow, where the outcome is `holds-within-bounds`.
    length: the number of steps, where the property asks for the longest of something.
    depth: where it was not decided, for how many steps it was; None: not for one.
    reached: where it was not decided, how far each engine got.
    vacuity: what never happens in the model, where that makes the verdict vacuous.
    examined: what was found when the verdict's grounds were examined (`verify.examine`).
    """

    pipeline: str
    property: str
    outcome: Outcome
    engine: str
    seconds: float
    cpu_seconds: float
    q: int | Mapping[str, int]
    n: int | None
    integers: str
    grounds: tuple[Ground, ...]
    counterexample: Trace | None = None
    witness: Trace | None = None
    reason: str = ""
    reachable_states: int | None = None
    phase: str = ""
    """What was being done when it was given up, where the outcome is `unknown`."""
    system: str = ""
    """The file of the SMV system that the pipeline monitors, if it does."""
    length: int | None = None
    examined: tuple[Ground, ...] = ()
    depth: Depth | None = None
    reached: tuple[Reached, ...] = ()
    vacuity: Vacuity | None = None
    problem: Problem | None = field(default=None, compare=False, repr=False)
    """What was asked."""

    def __getstate__(self) -> dict[str, Any]:
        """A verdict can be sent to another process; what was asked cannot, since it holds functions."""
        return {**self.__dict__, "problem": None}

    def ground(self, kind: str) -> Any:
        """The data of the grounds of this kind; None where there are none."""
        return next((each.data for each in self.grounds if each.kind == kind), None)

    @builtins.property  # the class has a field of that name
    def rests_on(self) -> tuple[str, ...]:
        """One sentence per assumption or bound the outcome depends on, most important first."""
        return tuple(each.text for each in self.grounds if each.text)

    @builtins.property
    def wraps(self) -> bool | None:
        """Whether a reachable run wraps modular arithmetic that the property sees; None when not known."""
        found: bool | None = self.ground("wraps")
        return found

    @builtins.property
    def for_every_n(self) -> bool:
        """Whether the property does not look at data, so that the outcome is the same for every N."""
        return bool(self.ground("for_every_N"))

    @builtins.property
    def trivial(self) -> bool | None:
        """Whether it is true by construction, and rests on nothing; None where it is not decided."""
        found: bool | None = self.ground("trivial")
        return found

    @builtins.property
    def advice(self) -> tuple[str, ...]:
        """What to try next, where it was not decided: two or three hints that lead somewhere."""
        if self.outcome is not Outcome.UNKNOWN or self.problem is None:
            return ()
        from workbench.verify.answer.advice import advise  # which knows problems

        return advise(self, self.problem)

    @builtins.property
    def run(self) -> Trace | None:
        """The run that shows it, if there is one: a counterexample, or a witness of the bound."""
        return self.counterexample or self.witness

    @builtins.property
    def within_bounds(self) -> bool:
        """Whether it says what is so before bounds are met, and nothing of what is beyond."""
        wanted = self.outcome is Outcome.UNKNOWN and self.witness is not None and self.vacuity is None
        return wanted or self.outcome is Outcome.WITHIN_BOUNDS

    @builtins.property
    def meets_bounds(self) -> bool:
        """Whether bounds are met on some run, before which it says something, or is vacuous."""
        return self.within_bounds or self.witness is not None

    @builtins.property
    def count_known_steps(self) -> int | None:
        """For how many steps of every run it says something, where a shortest run is known on which bounds are met."""
        shortest = self.witness is not None and self.witness.shortest and self.within_bounds
        return len(self.witness.steps) - 1 if self.witness is not None and shortest else None

    @builtins.property
    def words(self) -> str:
        """The outcome, and that it is vacuous."""
        if self.vacuity is None or self.outcome is Outcome.UNKNOWN:  # the reason says it
            return str(self.outcome)
        return f"{self.outcome}, vacuously: {self.vacuity}"

    @builtins.property
    def exit_code(self) -> int:
        """That of the outcome; 3 where the settings are strict about bounds, or vacuity, and it has them."""
        settings = self.problem and self.problem.settings
        bounded = settings and settings.strict and self.outcome is Outcome.WITHIN_BOUNDS
        vacuous = settings and settings.strict_vacuity and self.vacuity and self.outcome is not Outcome.FAILS
        return Outcome.UNKNOWN.exit_code if bounded or vacuous else self.outcome.exit_code

    def mark_vacuous(self, vacuity: Vacuity, *, unknown: bool = False) -> Verdict:
        """The verdict with what never happens; `unknown` where it then says nothing at all."""
        if not unknown:
            return replace(self, vacuity=vacuity)
        return replace(self, outcome=Outcome.UNKNOWN, reason=f"vacuous: {vacuity}", vacuity=vacuity, depth=None)

    def __repr__(self) -> str:
        said = f"<{self.outcome.sign} {self.words}: {self.property} of {self.pipeline}"
        steps = "" if self.run is None else f", shown by a run of {self.run.length}"
        return f"{said}{steps}{f': {self.reason}' if self.reason else ''}>"

    def give_up(self, met: LimitMet) -> Verdict:
        """This, of what is undecided because a limit was met."""
        return replace(self, reason=met.what, phase=met.phase)

    def to_json(self) -> dict[str, Any]:
        """The object `--json` prints."""
        trace = self.counterexample and self.counterexample.to_json()
        undecided = self.outcome is Outcome.UNKNOWN
        where_known = {
            "system": self.system or None,
            "rests_on": None if self.trivial is None else {kind: self.ground(kind) for kind in GROUNDS_IN_JSON},
            "rests_on_checked": [item.to_json() for item in self.examined] or None,
            "reason": self.reason or None,
            "vacuous": self.vacuity and self.vacuity.to_json(),
            "phase": self.phase or None,
            "depth": self.depth and self.depth.to_json(),
            "known_steps": self.count_known_steps,
            "reached": [str(each) for each in self.reached] if undecided else None,
            "advice": list(self.advice) if undecided else None,
            "length": self.length,
            "reachable_states": self.reachable_states,
            "counterexample": trace and [step["pipes"] for step in trace["steps"]],
            "trace": trace,
            "witness": self.witness and self.witness.to_json(),
        }
        return {
            "pipeline": self.pipeline,
            "property": self.property,
            "verdict": str(self.outcome),
            "engine": self.engine,
            "seconds": round(self.seconds, 4),
            "cpu_seconds": round(self.cpu_seconds, 4),
            "Q": self.q if isinstance(self.q, int) else dict(self.q),
            "N": self.n,
            "integers": self.integers,
            "for_every_N": self.for_every_n,
            "wraps": self.wraps,
            "assumptions": list(self.rests_on),
            **{name: value for name, value in where_known.items() if value is not None},
        }


EARLY = 8
"""Where no queue overflows in so many steps, bounds are not met in the first ones."""
BOUNDS_EARLY = "queues overflow in the first steps: too little is known; choose a larger Q"


def grow(verdict: Verdict, larger: Iterable[Callable[[], Verdict]], seconds: float) -> Verdict:
    """The verdict of the first model that says enough, else of the largest one that is decided in time.

    Parameters
    ----------
    larger: the same question of larger and larger models.
    seconds: for all of them together.
    """
    end = time.monotonic() + seconds
    for number, decide in enumerate(larger, 1):
        left = end - time.monotonic()
        if says_enough(verdict) or left <= 0:
            break
        try:
            with Budget(left, soft=True), phase(f"larger model {number}", part=True):
                found = decide()
        except (LimitMet, Refused):  # with larger bounds there may be too many values
            break
        if found.outcome is Outcome.UNKNOWN and not found.within_bounds and found.vacuity is None:  # a limit was met
            return replace(verdict, depth=deeper(verdict.depth, found.depth))
        verdict = found
    return verdict


def says_enough(verdict: Verdict) -> bool:
    """Whether nothing is to be expected of longer queues."""
    known = verdict.count_known_steps
    return not verdict.meets_bounds or (verdict.vacuity is None and known is not None and known >= EARLY)


def discount_early(verdict: Verdict) -> Verdict:
    """The verdict; unknown where it holds for want of what bounds prevent, or within bounds met in the first steps."""
    if verdict.vacuity and verdict.vacuity.bound and verdict.outcome.is_proved:
        return verdict.mark_vacuous(verdict.vacuity, unknown=True)
    early = verdict.outcome is Outcome.WITHIN_BOUNDS and not says_enough(verdict)
    return replace(verdict, outcome=Outcome.UNKNOWN, reason=BOUNDS_EARLY) if early else verdict


def deeper(*found: Depth | None) -> Depth | None:
    """What says something of the longest runs."""
    return max(filter(None, found), key=lambda each: each.steps, default=None)
