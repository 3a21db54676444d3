"""Verdicts: the outcome of a check, its grounds, and the run that shows it.

If a verdict says little, larger bounds are tried as long as there is time (`grow`).
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from workbench.budget import Budget, phase
from workbench.core.readable import plural
from workbench.display import Displayed, show_as_text
from workbench.errors import LimitMet, Refused, check_kind
from workbench.verify.answer.trace import Trace

if TYPE_CHECKING:
    from workbench.smv.engines.engine import Reached
    from workbench.verify.answer.problem import Problem

FROM_CHECK = "pass the result of wb.check or wb.equiv"
"""The hint that names the functions which return verdicts."""


class Outcome(StrEnum):
    """The four outcomes and the exit code of each."""

    HOLDS = "holds"
    FAILS = "fails"
    WITHIN_BOUNDS = "holds-within-bounds"
    UNKNOWN = "unknown"

    @property
    def sign(self) -> str:
        """The outcome as one character."""
        return {Outcome.HOLDS: "✓", Outcome.WITHIN_BOUNDS: "≈", Outcome.FAILS: "✗", Outcome.UNKNOWN: "?"}[self]

    @property
    def exit_code(self) -> int:
        """The exit code: 0 holds (also within bounds), 1 fails, 3 unknown."""
        return {Outcome.FAILS: 1, Outcome.UNKNOWN: 3}.get(self, 0)

    @property
    def is_proved(self) -> bool:
        """Whether there is no counterexample, at least within bounds."""
        return self in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS)

    @property
    def opposite(self) -> Outcome:
        """The outcome of a question that wants a run, if this is the outcome of the formula that excludes such runs."""
        return {Outcome.FAILS: Outcome.HOLDS, Outcome.HOLDS: Outcome.FAILS}.get(self, Outcome.UNKNOWN)


def worst_exit_code(codes: Iterable[int]) -> int:
    """Return the exit code of several answers: 1 if one fails, else 3 if one is unknown, else 0."""
    code_set = set(codes)
    return next((code for code in (1, 3) if code in code_set), 0)


class Reliance(StrEnum):
    """The reliability of a verdict in one respect, according to its examination."""

    CONFIRMED = "confirmed"
    WEAK = "weak"
    UNKNOWN = "unknown"

    @property
    def sign(self) -> str:
        """The finding as one character."""
        return {Reliance.CONFIRMED: "✓", Reliance.WEAK: "!", Reliance.UNKNOWN: "?"}[self]


@dataclass(frozen=True)
class Ground:
    """A ground of a verdict, or one respect in which it was examined.

    Attributes
    ----------
    kind: the subject, for programs: `queues`, `wraps`, ... (`answer.grounds`); if examined, one of `vacuity`,
        `arithmetic`, `queues`, `N + 1`, `every N`, `Q + 1` or `every Q`.
    text: a sentence; empty if there is nothing to say.
    data: the same information as data.
    finding: `confirmed`: the verdict is reliable in this respect; `weak`: it says less than it seems to.
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
        """Return an examined ground as plain data."""
        witness = None if self.witness is None else self.witness.to_json()
        return {"aspect": self.kind, "finding": str(self.finding), "text": self.text, "witness": witness}


@dataclass(frozen=True)
class Depth:
    """The depth up to which a question was decided that was not decided for all runs.

    Attributes
    ----------
    steps: the result applies to all runs of up to this number of steps.
    wanted: no such run is a wanted run; otherwise none refutes the property.
    unless: the event before which the result applies; empty if there is no such restriction.
    """

    steps: int
    wanted: bool = False
    unless: str = ""

    def __str__(self) -> str:
        runs = f"of up to {plural(self.steps, 'step')}"
        text = f"no run {runs} shows it" if self.wanted else f"holds for all runs {runs}"
        return f"{text}{' before ' * bool(self.unless)}{self.unless}"

    def to_json(self) -> dict[str, Any]:
        """Return the depth as plain data."""
        return {"steps": self.steps, "unless": self.unless}


@dataclass(frozen=True)
class Vacuity:
    """An event that never happens in a model, without which a verdict says less than it seems to.

    Attributes
    ----------
    never: in words: `out is never true`.
    bound: the bound that prevents it, such as `Q = 2`; empty if no such bound is known.
    certain: whether it is known that this bound prevents it.
    """

    never: str
    bound: str = ""
    certain: bool = True

    def __str__(self) -> str:
        return self.never + (f" ({self.bound} {'prevents it' if self.certain else 'may be why'})" if self.bound else "")

    def to_json(self) -> dict[str, Any]:
        """Return the vacuity as plain data."""
        return {"never": self.never, "bound": self.bound}


GROUNDS_IN_JSON = ("trivial", "queues", "overflow", "for_every_N", "wraps", "saturates", "domains")
"""The kinds of grounds whose data is in JSON."""


@dataclass(frozen=True)
class Verdict(Displayed):
    """The answer to one property of one pipeline.

    Attributes
    ----------
    grounds: the assumptions and bounds that the outcome depends on, most important first; `rests_on`: their sentences.
    witness: a run to an overflow, if the outcome is `holds-within-bounds`.
    length: the number of steps, if the property asks for the longest run of something.
    depth: the number of steps for which an undecided property was decided; None: no step.
    reached: the progress of each engine, if the property was not decided.
    vacuity: the event that never happens in the model, if that makes the verdict vacuous.
    examined: the findings about the verdict's grounds (`answer.examine`).
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
    """The work that was interrupted, if the outcome is `unknown`."""
    system: str = ""
    """The file of the SMV system that the pipeline monitors, if any."""
    length: int | None = None
    examined: tuple[Ground, ...] = ()
    depth: Depth | None = None
    reached: tuple[Reached, ...] = ()
    vacuity: Vacuity | None = None
    problem: Problem | None = field(default=None, compare=False, repr=False)
    """The question."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the problem, which holds functions and cannot be sent to another process."""
        return {**self.__dict__, "problem": None}

    def ground(self, kind: str) -> Any:
        """Return the data of the ground of this kind; None if there is none."""
        return next((each.data for each in self.grounds if each.kind == kind), None)

    @builtins.property  # the class has a field named `property`
    def rests_on(self) -> tuple[str, ...]:
        """The sentences of the assumptions and bounds the outcome depends on, most important first."""
        return tuple(each.text for each in self.grounds if each.text)

    @builtins.property
    def wraps(self) -> bool | None:
        """Whether a reachable run wraps modular arithmetic that the property sees; None if not known."""
        has_wraps: bool | None = self.ground("wraps")
        return has_wraps

    @builtins.property
    def for_every_n(self) -> bool:
        """Whether the property reads no data, so that the outcome is the same for every N."""
        return bool(self.ground("for_every_N"))

    @builtins.property
    def trivial(self) -> bool | None:
        """Whether the property is true by construction and rests on nothing; None if undecided."""
        is_trivial: bool | None = self.ground("trivial")
        return is_trivial

    @builtins.property
    def advice(self) -> tuple[str, ...]:
        """Two or three hints on what to try next, if the property was not decided, or a number leaves its range."""
        from workbench.core.processor import advise_range
        from workbench.verify.ask.properties import LEAVES_RANGE

        if self.outcome is not Outcome.UNKNOWN and self.run is not None and LEAVES_RANGE in self.run.shows:
            return (self.run.remedy or advise_range(),)
        if self.outcome is not Outcome.UNKNOWN or self.problem is None:
            return ()
        from workbench.verify.answer.advice import advise  # it imports `problem`

        return advise(self, self.problem)

    @builtins.property
    def run(self) -> Trace | None:
        """The run that shows the outcome, if there is one: a counterexample, or a witness of the bound."""
        return self.counterexample or self.witness

    @builtins.property
    def within_bounds(self) -> bool:
        """Whether the verdict applies only before bounds are met."""
        has_witness = self.outcome is Outcome.UNKNOWN and self.witness is not None and self.vacuity is None
        return has_witness or self.outcome is Outcome.WITHIN_BOUNDS

    @builtins.property
    def meets_bounds(self) -> bool:
        """Whether some run meets bounds, and the verdict applies before them, or is vacuous."""
        return self.within_bounds or self.witness is not None

    @builtins.property
    def count_known_steps(self) -> int | None:
        """The number of steps of every run that the verdict covers, if a shortest run that meets bounds is known."""
        shortest = self.witness is not None and self.witness.shortest and self.within_bounds
        return len(self.witness.steps) - 1 if self.witness is not None and shortest else None

    @builtins.property
    def size(self) -> str:
        """The number of reachable states in words, if an engine counted them."""
        return "" if self.reachable_states is None else plural(self.reachable_states, "reachable state")

    @builtins.property
    def words(self) -> str:
        """The outcome, and whether it is vacuous."""
        is_vacuous = self.vacuity is not None and self.outcome is not Outcome.UNKNOWN
        return f"{self.outcome} vacuously" if is_vacuous else str(self.outcome)

    @builtins.property
    def explanation(self) -> str:
        """The reason why it is undecided, or why it is vacuous; empty for other verdicts."""
        return self.reason or (str(self.vacuity) if self.vacuity is not None else "")

    @builtins.property
    def has_sampled_values(self) -> bool:
        """Whether it holds for some values only: whole numbers for floats, or those that rules distinguish."""
        is_shown = self.counterexample is not None  # a run shows that something can happen
        return self.outcome.is_proved and not is_shown and bool(self.ground("sampled") or self.ground("floats"))

    @builtins.property
    def exit_code(self) -> int:
        """The exit code of the outcome; 3 if the settings are strict about what it rests on."""
        settings = self.problem and self.problem.settings
        is_bounded = self.outcome is Outcome.WITHIN_BOUNDS or self.has_sampled_values
        bounded = settings and settings.strict and is_bounded
        vacuous = settings and settings.strict_vacuity and self.vacuity and self.outcome is not Outcome.FAILS
        return Outcome.UNKNOWN.exit_code if bounded or vacuous else self.outcome.exit_code

    def mark_vacuous(self, vacuity: Vacuity, *, unknown: bool = False) -> Verdict:
        """Return the verdict marked as vacuous; `unknown` if it then says nothing at all."""
        if not unknown:
            return replace(self, vacuity=vacuity)
        return replace(self, outcome=Outcome.UNKNOWN, reason=f"vacuous: {vacuity}", vacuity=vacuity, depth=None)

    def __repr__(self) -> str:
        text = f"<{self.outcome.sign} {self.words}: {self.property} of {self.pipeline}"
        steps = "" if self.run is None else f", shown by a run of {self.run.length}"
        return f"{text}{steps}{f': {self.explanation}' if self.explanation else ''}>"

    def __str__(self) -> str:
        return show_as_text(self)

    def give_up(self, met: LimitMet) -> Verdict:
        """Return the verdict with a limit as the reason why it is undecided."""
        return replace(self, reason=met.what, phase=met.phase)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
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
"""Number of steps without overflow from which on bounds do not count as met in the first steps."""
BOUNDS_EARLY = "queues overflow in the first steps: too little is known; choose a larger Q"


def verdicts_of(verdicts: Iterable[Verdict] | Verdict) -> list[Verdict]:
    """Return one verdict, or several, as a list; InputError for anything else."""
    listed = list(verdicts) if isinstance(verdicts, Iterable) else [verdicts]
    for each in listed:
        check_kind(each, Verdict, FROM_CHECK)
    return listed


def grow(verdict: Verdict, larger: Iterable[Callable[[], Verdict]], seconds: float) -> Verdict:
    """Return the verdict of the first model whose verdict is strong enough, else of the largest one decided in time.

    Parameters
    ----------
    larger: the same question about larger and larger models.
    seconds: time limit of all larger models together.
    """
    end = time.monotonic() + seconds
    for number, decide in enumerate(larger, 1):
        left = end - time.monotonic()
        if says_enough(verdict) or left <= 0:
            break
        try:
            with Budget(left, soft=True), phase(f"larger model {number}", part=True):
                other = decide()
        except (LimitMet, Refused):  # larger bounds may mean too many values
            break
        if other.outcome is Outcome.UNKNOWN and not other.within_bounds and other.vacuity is None:  # a limit was met
            return replace(verdict, depth=deeper(verdict.depth, other.depth))
        if verdict.witness is not None and other.witness is None and other.within_bounds:  # less is known than before
            return verdict
        verdict = other
    return verdict


def says_enough(verdict: Verdict) -> bool:
    """Whether longer queues would add nothing to a verdict."""
    known = verdict.count_known_steps
    return not verdict.meets_bounds or (verdict.vacuity is None and known is not None and known >= EARLY)


def discount_early(verdict: Verdict) -> Verdict:
    """Return the verdict; unknown if bounds make it vacuous, or if bounds are met in the first steps."""
    if verdict.vacuity and verdict.vacuity.bound and verdict.outcome.is_proved:
        return verdict.mark_vacuous(verdict.vacuity, unknown=True)
    early = verdict.outcome is Outcome.WITHIN_BOUNDS and not says_enough(verdict)
    return replace(verdict, outcome=Outcome.UNKNOWN, reason=BOUNDS_EARLY) if early else verdict


def deeper(*depths: Depth | None) -> Depth | None:
    """Return the greatest depth."""
    return max(filter(None, depths), key=lambda each: each.steps, default=None)
