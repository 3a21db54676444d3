"""Findings: what an analysis answers of a part of a pipeline or of rules, in one form.

The rule of this module: an answer is data. Under which names JSON has its parts is the `form` that its analysis gives.
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
"""Seconds that are kept for reporting what has been found, at most a tenth of those that there are."""
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
    verdict: what it rests on; None where a run or the text itself shows it.
    runs: the shortest that show it (a `Trace`, or a `RuleStream`), by what they are called: one, or two that differ.
    decided: no limit was met.
    grounds: what it rests on, a sentence each, where that is not what the verdict rests on.
    data: what only this analysis has.
    form: the names in JSON, each with that of an attribute or of a part of `data`. One that ends in `?` is there only
        where there is something to say.
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
        """What JSON has by this name, before it becomes plain data."""
        return self._value(self.form.get(name, name))

    def _value(self, attribute: str) -> Any:
        return self.data[attribute] if attribute in self.data else getattr(self, attribute)

    @property
    def outcome(self) -> Outcome | None:
        """That of the verdict."""
        return None if self.verdict is None else self.verdict.outcome

    @property
    def counterexample(self) -> Trace | None:
        """That of the verdict."""
        return None if self.verdict is None else self.verdict.counterexample

    @property
    def depth(self) -> Any:
        """For how many steps something is known, where it is not for all."""
        return None if self.verdict is None else self.verdict.depth

    @property
    def within_bounds(self) -> bool:
        """Whether larger capacities could change it."""
        return self.verdict is not None and self.verdict.within_bounds

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What it rests on, a sentence each."""
        return self.grounds or (() if self.verdict is None else self.verdict.rests_on)

    def parts(self) -> Iterator[Finding]:
        """This finding, and those among its data."""
        yield self
        for value in self.data.values():
            values = tuple(value.values()) if isinstance(value, Mapping) else value
            for each in values if isinstance(values, tuple | list) else (values,):
                if isinstance(each, Finding):
                    yield from each.parts()

    @property
    def line(self) -> str:
        """It in one line, with a sign where it is not decided."""
        return f"{' ' if self.decided else '?'} {self.about}: {self.says}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = {name: plain_form(self._value(attribute)) for name, attribute in self.form.items()}
        return {name.removesuffix("?"): value for name, value in found.items() if value or not name.endswith("?")}


def plain_form(value: Any) -> Any:
    """What an analysis has found as JSON data."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: plain_form(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_form(part) for part in value]
    return str(value) if isinstance(value, str) else value


def limits(verdict: Verdict) -> str:
    """The words that more room could change a verdict on rules, and the room that there was; empty where none could."""
    room = f" (Q = {verdict.q})" if isinstance(verdict.q, int) else ""
    return f", within these bounds{room}" if verdict.within_bounds else ""


def lines_of(findings: Iterable[Finding]) -> Iterator[str]:
    """The lines that people read."""
    return (each.line for each in findings)


def report_unknown(about: str, verdict: Verdict) -> Finding:
    """Nothing was found: a limit was met."""
    far = "; ".join([*([str(verdict.depth)] if verdict.depth else []), verdict.reason, *map(str, verdict.reached)])
    return Finding(about, "unknown", f"not known: {far}", verdict, decided=False)


def findings_in_turn(questions: Sequence[tuple[str, Callable[[], Iterable[Finding]]]]) -> tuple[Finding, ...]:
    """What is found of each of these parts within its share of the time: a limit that one meets ends that one.

    Raises
    ------
    Refused: none of them has a finite model.
    """
    found, kept = list[Finding](), min(TELLING, (remaining().seconds or 0.0) / 10)
    refused = list[Refused]()
    for number, (about, findings) in enumerate(questions):
        try:
            part = phase(f"{about} ({number + 1} of {len(questions)})", part=True)
            with share(len(questions) - number, kept), part:
                for each in findings():
                    found.append(each)
        except (LimitMet, Refused) as met:  # a variant may be more than a model can hold, where others are not
            refused += [met] if isinstance(met, Refused) else []
            found.append(Finding(about, "unknown", f"not known: {met.what}", decided=False))
    if refused and len(refused) == len(questions):
        raise refused[0]
    return tuple(found)
