"""What is found of a part of rules: an answer, the verdict that it rests on, and the streams that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.budget import remaining, share
from workbench.errors import LimitMet, Refused
from workbench.verify.answer.verdict import Verdict
from workbench.verify.rules.stream import RuleStream

TELLING = 2.0
"""Seconds that are kept for telling what has been found, at most a tenth of those that there are."""


@dataclass(frozen=True)
class RuleFinding:
    """An answer about a part of rules.

    Attributes
    ----------
    about: the part.
    answer: the answer in a word or two, for programs; `says`: for people.
    verdict: what it rests on; None where the text of the rules tells it.
    streams: the shortest that show it, by what is told of them: one, or two that differ.
    decided: no limit was met.
    """

    about: str
    answer: str
    says: str
    verdict: Verdict | None = None
    streams: Mapping[str, RuleStream] = field(default_factory=dict)
    decided: bool = True

    @property
    def within_bounds(self) -> bool:
        """Whether more room could change it."""
        return self.verdict is not None and self.verdict.within_bounds

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What it rests on, a sentence each."""
        return () if self.verdict is None else self.verdict.rests_on

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "about": self.about,
            "answer": self.answer,
            "says": self.says,
            "within_bounds": self.within_bounds,
            "decided": self.decided,
            "streams": {name: each.to_json() for name, each in self.streams.items()},
            "assumptions": list(self.rests_on),
            **({"depth": self.verdict.depth.to_json()} if self.verdict and self.verdict.depth else {}),
        }


def limits_of(verdict: Verdict) -> str:
    """That more room could change a finding, and the room that there was; empty where none could."""
    room = f" (Q = {verdict.q})" if isinstance(verdict.q, int) else ""
    return f", within these bounds{room}" if verdict.within_bounds else ""


def not_known(about: str, verdict: Verdict) -> RuleFinding:
    """Nothing was found: a limit was met."""
    far = "; ".join([*([str(verdict.depth)] if verdict.depth else []), verdict.reason, *map(str, verdict.reached)])
    return RuleFinding(about, "unknown", f"not known: {far}", verdict, decided=False)


def in_turn(asked: Sequence[tuple[str, Callable[[], Iterable[RuleFinding]]]]) -> tuple[RuleFinding, ...]:
    """What is found of each of these parts, each within its share of the time: a limit that one meets ends that one.

    Raises
    ------
    Refused: none of them has a finite model.
    """
    found, kept = list[RuleFinding](), min(TELLING, (remaining().seconds or 0.0) / 10)
    refused = list[Refused]()
    for number, (about, findings) in enumerate(asked):
        try:
            with share(len(asked) - number, kept):
                for each in findings():
                    found.append(each)
        except (LimitMet, Refused) as met:  # a variant may be more than a model can hold, where others are not
            refused += [met] if isinstance(met, Refused) else []
            found.append(RuleFinding(about, "unknown", f"not known: {met.what}", decided=False))
    if refused and len(refused) == len(asked):
        raise refused[0]
    return tuple(found)
