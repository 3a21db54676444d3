"""What a verdict rests on: the bounds, the numbers, and what was found out about them, as data and in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.core.domain import Integer, Overflowing, SomeFloats, SomeTexts
from workbench.core.term import FALSE
from workbench.faults.unreliable import Unreliable
from workbench.ir.reduce import Model
from workbench.ir.system import System
from workbench.verify.answer.verdict import Outcome


class EngineRemarks(NamedTuple):
    """What the engine said beside the property; None where it was not decided.

    Attributes
    ----------
    overflow: whether a queue can overflow, or a checked number leave its domain.
    wraps, clamps: whether modular arithmetic can wrap, saturating arithmetic be clamped.
    late: the length of a run after which no output comes before an overflow.
    about_overflow: the property itself is about overflow.
    trivial: the property is the constant true.
    """

    outcome: Outcome
    overflow: bool | None
    wraps: bool | None
    clamps: bool | None
    late: int | None
    about_overflow: bool
    trivial: bool


@dataclass(frozen=True)
class Grounds:
    """What a verdict rests on, as data; the sentences of `explain` say the same.

    Attributes
    ----------
    trivial: it is true by construction, and rests on nothing.
    queues: the capacities of the queues in its way.
    overflow: whether one of them can overflow, or a checked number leave its domain; None where undecided.
    asked: whether the property itself asks that.
    for_every_n: it does not depend on values of type `int`.
    wraps, clamps: whether modular arithmetic wraps, saturating arithmetic is clamped; None where undecided.
    domains: the pipeline's own integer domains that it depends on.
    counts: it depends on values of type `int`.
    floats: what stands for `float`, where it depends on that.
    """

    trivial: bool
    queues: Mapping[str, int]
    overflow: bool | None
    asked: bool
    for_every_n: bool
    wraps: bool | None
    clamps: bool | None
    domains: tuple[str, ...]
    counts: bool = True
    floats: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "trivial": self.trivial,
            "queues": dict(self.queues),
            "overflow": self.overflow,
            "for_every_N": self.for_every_n,
            "wraps": self.wraps,
            "saturates": self.clamps,
            "domains": list(self.domains),
        }


def grounds(model: Model, findings: EngineRemarks, chosen: Integer) -> Grounds:
    """The data of `explain`."""
    return Grounds(
        findings.trivial,
        {queue.name: queue.capacity for queue in model.queues},
        findings.overflow or (findings.about_overflow and findings.outcome is Outcome.FAILS),
        findings.about_overflow,
        depends_on_no_n(model, chosen),
        findings.wraps,
        findings.clamps,
        _own(model, chosen),
        chosen in model.integers,
        next((str(each) for each in model.instead if isinstance(each, SomeFloats)), ""),
    )


def beyond(model: Model) -> str:
    """What the overflow flag of a model means."""
    if model.queues and model.escapes is not FALSE:
        return "a queue overflows, or a number leaves its checked domain"
    return "a queue overflows" if model.queues else "a number leaves its checked domain"


def explain(model: Model, findings: EngineRemarks, chosen: Integer) -> tuple[str, ...]:
    """One sentence per bound the outcome depends on, most important first.

    `chosen` is the domain that `int` stands for.
    """
    if findings.trivial:
        return ("nothing: it is true by construction",)
    found = _bounds(model, findings)
    if findings.late and findings.outcome is Outcome.WITHIN_BOUNDS:
        found.append(f"not live within these bounds: after some {findings.late} steps no output comes before that")
    return (*found, *explain_numbers(model, findings.wraps, findings.clamps, chosen))


def _bounds(model: Model, findings: EngineRemarks) -> list[str]:
    said = {
        True: f"{beyond(model)} on some input, and nothing is concluded from what follows",
        None: f"it was not decided whether {beyond(model)}",
        False: f"no run on which {beyond(model)}",
    }[findings.overflow]
    if not model.queues:
        return [said] if findings.overflow is not False else []
    sizes = {queue.capacity for queue in model.queues}
    named = ", ".join(f"{queue.name}: {queue.capacity}" for queue in model.queues)
    shown = f"Q = {sizes.pop()}" if len(sizes) == 1 else f"queues {named}"
    if findings.about_overflow and model.escapes is FALSE:
        return [shown]
    return [f"{shown}: {said}"]


def _own(model: Model, chosen: Integer) -> tuple[str, ...]:
    """The pipeline's own domains of integers."""
    return tuple(sorted(str(domain) for domain in model.integers - {chosen}))


FOR_EVERY_N = "every N: it does not depend on values of type int"


def depends_on_no_n(model: Model, chosen: Integer) -> bool:
    """Whether nothing in the model stands for a type without a bound."""
    return chosen not in model.integers and not model.instead


def _meant(domain: SomeTexts | SomeFloats) -> str:
    if isinstance(domain, SomeFloats):
        return f"float is a whole number from {domain.lo} to {domain.hi}: this says nothing about others"
    texts = ", ".join(text or "the empty text" for text in domain.labels)
    return f"str is one of {texts}: this says nothing about more texts"


def explain_numbers(model: Model, wraps: bool | None, clamps: bool | None, chosen: Integer) -> list[str]:
    """Which integers there are, and what the ends of their domains did; the parameters are as above."""

    def sizes(kind: Overflowing, less: int) -> str:
        return " or ".join(str(n - less) for n in sorted(d.n for d in model.integers if d.overflow is kind))

    found = [FOR_EVERY_N] if depends_on_no_n(model, chosen) else []
    if chosen in model.integers:
        found.append(f"N = {chosen.n}, {chosen.overflow} integers")
    found += sorted(map(_meant, model.instead))
    if own := _own(model, chosen):
        found.append(f"the pipeline's own domains: {', '.join(own)}")
    unbounded = "on some input: this says nothing about unbounded integers"
    if wraps:
        found.append(f"arithmetic wraps modulo {sizes(Overflowing.MODULAR, 0)} {unbounded}")
    elif wraps is None:
        found.append("it was not decided whether arithmetic wraps")
    if clamps:
        found.append(f"arithmetic saturates at {sizes(Overflowing.SATURATING, 1)} {unbounded}")
    return found


def misfortunes(system: System) -> tuple[str, ...]:
    """One sentence per fault that a system leaves open."""
    oracles = [each for each in system.inputs if each.heard is not None and each.present.name in system.domains]
    found = dict(each.of for each in oracles if each.of is not None)
    return tuple(
        f"fault: events of {name.rpartition('.')[0]} {processor.words}"
        for name, processor in found.items()
        if isinstance(processor, Unreliable)
    )


def ending(system: System, *, may: bool) -> list[str]:
    """Whether the input streams may end, where that makes a difference."""
    if system.end is None or system.end.now.name not in system.domains:
        return []
    return [f"the input streams {'may end at any step' if may else 'do not end'}"]
