"""Findings: the answer of an analysis about a part of a pipeline or of rules, in one form.

The rule of this module: an answer is data. The `form` that its analysis gives names its parts in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.budget import phase, remaining, share
from workbench.errors import LimitMet, Refused
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import Outcome, Verdict

BEFORE_OVERFLOW = " (within bounds: before a queue overflows)"
TELLING = 2.0
"""Seconds reserved for reporting findings, at most a tenth of the time available."""
RULES = {name: name for name in ("about", "answer", "says", "within_bounds", "decided")}
RULES |= {"streams": "runs", "assumptions": "rests_on", "depth?": "depth"}
"""The form of findings about rules."""


@dataclass(frozen=True)
class Finding:
    """An answer about a part of a pipeline, or of rules.

    Attributes
    ----------
    about: the part.
    answer: the answer in a word or two, for programs; `says`: for people.
    verdict: the verdict it rests on; None if a run or the text itself shows it.
    runs: the shortest runs that show it (a `Trace`, or a `RuleStream`), by name: one, or two that differ.
    decided: whether no limit was met.
    grounds: what it rests on, a sentence each, if they differ from those of the verdict.
    data: data that only this analysis has.
    form: the names in JSON, each with that of an attribute or of a part of `data`. A name that ends in `?` is left
        out if its value is empty.
    """

    about: str
    answer: str
    says: str
    verdict: Verdict | None = None
    runs: Mapping[str, Any] = field(default_factory=dict)
    decided: bool = True
    grounds: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=lambda: RULES, repr=False)

    def __repr__(self) -> str:
        return f"<{'' if self.decided else '? '}{self.about}: {self.says or self.answer}>"

    def __getitem__(self, name: str) -> Any:
        """Return the value that JSON has by this name, before it becomes plain data."""
        return self._value(self.form.get(name, name))

    def _value(self, attribute: str) -> Any:
        return self.data[attribute] if attribute in self.data else getattr(self, attribute)

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the verdict."""
        return None if self.verdict is None else self.verdict.outcome

    @property
    def counterexample(self) -> Trace | None:
        """The counterexample of the verdict."""
        return None if self.verdict is None else self.verdict.counterexample

    @property
    def depth(self) -> Any:
        """The number of steps up to which something is known, if not for all."""
        return None if self.verdict is None else self.verdict.depth

    @property
    def within_bounds(self) -> bool:
        """Whether larger capacities could change the answer."""
        return self.verdict is not None and self.verdict.within_bounds

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The grounds, a sentence each."""
        return self.grounds or (() if self.verdict is None else self.verdict.rests_on)

    def parts(self) -> Iterator[Finding]:
        """Yield this finding, and the findings among its data."""
        yield self
        for value in self.data.values():
            values = tuple(value.values()) if isinstance(value, Mapping) else value
            for each in values if isinstance(values, tuple | list) else (values,):
                if isinstance(each, Finding):
                    yield from each.parts()

    @property
    def line(self) -> str:
        """The finding in one line, with a sign if it is not decided."""
        return f"{' ' if self.decided else '?'} {self.about}: {self.says}"

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        entries = {name: plain_form(self._value(attribute)) for name, attribute in self.form.items()}
        return {name.removesuffix("?"): value for name, value in entries.items() if value or not name.endswith("?")}


def plain_form(value: Any) -> Any:
    """Return what an analysis has found as JSON data."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: plain_form(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_form(part) for part in value]
    return str(value) if isinstance(value, str) else value


def limits(verdict: Verdict) -> str:
    """Return a note that larger capacities could change a verdict on rules, with the capacity; empty if none could."""
    capacity = f" (Q = {verdict.q})" if isinstance(verdict.q, int) else ""
    return f", within these bounds{capacity}" if verdict.within_bounds else ""


def lines_of(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the lines that people read."""
    return (each.line for each in findings)


def report_unknown(about: str, verdict: Verdict) -> Finding:
    """Return the finding that a limit was met before anything was found."""
    far = "; ".join([*([str(verdict.depth)] if verdict.depth else []), verdict.reason, *map(str, verdict.reached)])
    return Finding(about, "unknown", f"not known: {far}", verdict, decided=False)


def findings_in_turn(questions: Sequence[tuple[str, Callable[[], Iterable[Finding]]]]) -> tuple[Finding, ...]:
    """Collect the findings about each of these parts; a limit that one part meets ends that part only.

    Raises
    ------
    Refused: no part has a finite model.
    """
    all_findings, reserve = list[Finding](), min(TELLING, (remaining().seconds or 0.0) / 10)
    refused = list[Refused]()
    for number, (about, findings) in enumerate(questions):
        try:
            part = phase(f"{about} ({number + 1} of {len(questions)})", part=True)
            with share(len(questions) - number, reserve), part:
                for each in findings():
                    all_findings.append(each)
        except (LimitMet, Refused) as met:  # a variant may be too large for a model where others are not
            refused += [met] if isinstance(met, Refused) else []
            all_findings.append(Finding(about, "unknown", f"not known: {met.what}", decided=False))
    if refused and len(refused) == len(questions):
        raise refused[0]
    return tuple(all_findings)
