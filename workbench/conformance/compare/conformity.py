"""The outcomes of a search for disagreements, of pipelines and of rules, as text and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.core.readable import plural

if TYPE_CHECKING:
    from workbench.conformance.compare.differential import Disagreement
    from workbench.conformance.compare.rule_engines import RuleDisagreement
    from workbench.core.domain import Integer

RANDOM_PIPELINES = "random pipelines"
"""The name that stands for a pipeline where random ones are compared."""


@dataclass(frozen=True)
class Conformity:
    """The outcome of comparing a pipeline on a backend.

    Attributes
    ----------
    pipeline: its name; `random pipelines` where random ones are compared.
    backend: the name of the contender that was compared with the reference executor.
    agreements: the number of traces on which both agreed.
    refused, hint: why it cannot run the pipeline, and what to do about it; empty if it can.
    failure: the simplest disagreement found.
    part: the names of the processors that differ by themselves, if those are not all; `failure` is theirs.
    integers: the domain of `int`; None for ordinary numbers.
    repeatable: whether two runs of the reference executor on the trace of the failure agree.
    """

    pipeline: str
    backend: str
    agreements: int = 0
    refused: str = ""
    hint: str = ""
    failure: Disagreement | None = None
    part: tuple[str, ...] = ()
    integers: Integer | None = None
    repeatable: bool = True

    @property
    def holds(self) -> bool:
        """Whether no disagreement was found."""
        return self.failure is None

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return {
            "pipeline": self.pipeline,
            "backend": self.backend,
            "outcome": "refused" if self.refused else "agrees" if self.holds else "differs",
            "agreements": self.agreements,
            "refused": self.refused,
            "hint": self.hint,
            "part": list(self.part),
            "integers": None if self.integers is None else self.integers.n,
            "repeatable": self.repeatable,
            "failure": None if self.failure is None else _failure_data(self.failure),
        }

    def __str__(self) -> str:
        within = f"{', '.join(self.part)} in " if self.part else ""
        head = f"{self.backend}  of {within}{self.pipeline}"
        over = f", int is 0..{self.integers.n - 1}" if self.integers else ""
        if self.refused:
            return f"– refused  {head}: {self.refused}" + (f"\n    hint: {self.hint}" if self.hint else "")
        if self.failure is None:
            kind = "pipeline" if self.pipeline == RANDOM_PIPELINES else "trace"
            return f"✓ agrees   {head}: {plural(self.agreements, kind)}{over}"
        failure, text = self.failure, "\n".join(self._account(self.failure))
        return f"✗ differs  {head}{over}: {failure.what} at step {failure.step}\n\n{textwrap.indent(text, '    ')}\n"

    __repr__ = __str__

    def _account(self, disagreement: Disagreement) -> Iterator[str]:
        """Yield the lines of an account of a disagreement."""
        from workbench.conformance.compare.explanation import account

        yield account(disagreement)
        if self.pipeline == RANDOM_PIPELINES:
            from workbench.conformance.generate.python_source import body

            yield f"\n{body(disagreement.pipeline)}"
        if disagreement.sources[1]:
            yield f"by {disagreement.sources[1]}"
        if not self.repeatable:
            yield "two runs of the reference executor differ: a processor depends on more than state and events"


def _failure_data(disagreement: Disagreement) -> dict[str, Any]:
    steps = disagreement.steps[: disagreement.step + 1]
    return {
        "step": disagreement.step,
        "what": disagreement.what,
        "steps": [{name: _plain(value) for name, value in events.items()} for events in steps],
        "left": {"name": disagreement.left[0], "shows": repr(disagreement.left[1]), "made": disagreement.sources[0]},
        "right": {"name": disagreement.right[0], "shows": repr(disagreement.right[1]), "made": disagreement.sources[1]},
    }


def _plain(value: Any) -> Any:
    """Convert a value for JSON: maps and floats that are not finite become texts."""
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    whole = isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if whole or value is None else str(value)


@dataclass(frozen=True)
class RuleConformity:
    """The outcome of comparing engines on rules.

    Attributes
    ----------
    rules: the file of the rules; `random rules` where random ones are compared.
    streams: the number of streams of events compared, up to the first disagreement.
    engines: the names of the engines.
    named: whether the user has chosen the engines; else all are compared.
    refused: the number of streams on which each engine refused the rules.
    failure: the simplest disagreement found between an engine and the meaning of the rules.
    """

    rules: str
    streams: int
    engines: Sequence[str]
    named: bool = False
    refused: Mapping[str, int] = field(default_factory=dict)
    failure: RuleDisagreement | None = None

    @property
    def holds(self) -> bool:
        """Whether no disagreement was found."""
        return self.failure is None

    @property
    def outcome(self) -> str:
        """`agrees`, `differs`, or `refused` where no engine has run the rules of any stream."""
        if self.failure is not None:
            return "differs"
        ran = any(self.refused.get(name, 0) < self.streams for name in self.engines)
        return "agrees" if ran else "refused"

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        data = {
            "rules": self.rules, "outcome": self.outcome, "streams": self.streams, "engines": list(self.engines),
            "refused": dict(self.refused),
        }  # fmt: skip
        return data if self.failure is None else {**data, "failure": str(self.failure)}

    def __str__(self) -> str:
        among = ", ".join(self.engines) if self.named else "all engines"
        if self.outcome == "refused":
            return f"– refused  {among}  on {self.rules}"
        if self.failure is None:
            refused = (f"; {name} refused {self._share(count)}" for name, count in self.refused.items())
            return f"✓ agree    {among}  on {self.rules}: {plural(self.streams, 'stream')}{''.join(refused)}"
        rules = textwrap.indent(str(self.failure.case.rules), "    ")
        return f"✗ differs  {self.failure.engine}  on {self.rules}: {self.failure}\n\n{rules}"

    __repr__ = __str__

    def _share(self, count: int) -> str:
        return "the rules" if count == self.streams else f"the rules of {plural(count, 'stream')}"
