"""Verdicts: what was decided, what it rests on, and the run that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Domain, Record, Tuple, Value

if TYPE_CHECKING:
    from workbench.verify.examine import Examined
    from workbench.verify.rests_on import Grounds


class Outcome(StrEnum):
    """The four outcomes (design section 2) and the exit code of each."""

    HOLDS = "holds"
    FAILS = "fails"
    WITHIN_BOUNDS = "holds-within-bounds"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """0 holds (also within bounds), 1 fails, 3 unknown."""
        return {Outcome.FAILS: 1, Outcome.UNKNOWN: 3}.get(self, 0)


@dataclass(frozen=True)
class TraceStep:
    """One step of a run, over the user's names."""

    inputs: Mapping[str, Value]
    """Events on the inputs; an input that is absent carries none."""
    pipes: Mapping[str, Value | None]
    """Pipe to the value it carries, None when it carries no event."""
    queues: Mapping[str, int]
    """Queue to the number of events waiting at the end of the step."""
    overflows: tuple[str, ...] = ()
    """Queues at which an event arrived and found no room."""


@dataclass(frozen=True)
class Trace:
    """A run that shows something: a path, or a lasso whose last step is followed by step `loop`."""

    steps: tuple[TraceStep, ...]
    loop: int | None = None
    shows: str = ""
    """What the last step (or the loop) shows."""
    shortest: bool = False
    """Whether no shorter run shows it."""
    replay: str = ""
    """`confirmed by execution`, or `model gap at step k`; empty when it was not replayed."""
    domains: Mapping[str, Domain] = field(default_factory=dict)

    @property
    def gap(self) -> bool:
        """Whether the running pipeline disagreed with the model."""
        return self.replay.startswith("model gap")

    def to_json(self) -> dict[str, Any]:
        """Plain data: a list of steps, pipe name to value or null."""
        steps = [
            {
                "pipes": {n: plain(v, self.domains.get(n)) for n, v in s.pipes.items()},
                "queues": dict(s.queues),
                "overflows": list(s.overflows),
            }
            for s in self.steps
        ]
        return {
            "steps": steps,
            "loop": self.loop,
            "shows": self.shows,
            "shortest": self.shortest,
            "replay": self.replay,
        }


def plain(value: Value | None, domain: Domain | None) -> Any:
    """A value as JSON data: records become objects, tuples lists."""
    if value is None:
        return None
    if isinstance(domain, Record):
        fields = zip(domain.labels, value, domain.fields, strict=True)
        return {label: plain(v, d) for label, v, d in fields}
    if isinstance(domain, Tuple):
        return [plain(v, d) for v, d in zip(value, domain.fields, strict=True)]
    return value


@dataclass(frozen=True)
class Verdict:
    """The answer to one property of one pipeline.

    Attributes
    ----------
    rests_on: one sentence per assumption or bound the outcome depends on, most important first.
    witness: a run to an overflow, where the outcome is `holds-within-bounds`.
    wraps: whether a reachable run wraps modular arithmetic that the property sees; None when not known.
    for_every_n: the property does not look at data, so the outcome is the same for every N.
    length: the number of steps, where the property asks for the longest of something.
    grounds: what `rests_on` says, as data.
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
    rests_on: tuple[str, ...]
    counterexample: Trace | None = None
    witness: Trace | None = None
    reason: str = ""
    wraps: bool | None = None
    for_every_n: bool = False
    reachable_states: int | None = None
    length: int | None = None
    grounds: Grounds | None = None
    examined: tuple[Examined, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object `--json` prints (design section 9)."""
        trace = self.counterexample
        found: dict[str, Any] = {
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
        }
        if self.grounds is not None:
            found["rests_on"] = self.grounds.to_json()
        if self.examined:
            found["rests_on_checked"] = [item.to_json() for item in self.examined]
        if self.reason:
            found["reason"] = self.reason
        if self.length is not None:
            found["length"] = self.length
        if self.reachable_states is not None:
            found["reachable_states"] = self.reachable_states
        if trace is not None:
            whole = trace.to_json()
            found["counterexample"] = [step["pipes"] for step in whole["steps"]]
            found["trace"] = whole
        if self.witness is not None:
            found["witness"] = self.witness.to_json()
        return found
