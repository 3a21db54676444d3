"""Grounds of a verdict: the bounds, the numbers, and what is known about them, each as a sentence and data."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.core.contract import Contract
from workbench.core.domain import Integer, Overflowing, SomeFloats, SomeTexts
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE
from workbench.faults.unreliable import Unreliable
from workbench.ir.reduce import Model
from workbench.ir.system import System
from workbench.verify.answer.verdict import Ground
from workbench.verify.ask.properties import LEAVES_RANGE


def beyond(model: Model, *, about_ranges: bool = False) -> str:
    """Describe the event that the overflow flag of a model stands for, for a property that is not about overflow."""
    if model.queues and model.escapes is not FALSE and not about_ranges:
        return f"a queue overflows, or {LEAVES_RANGE}"
    return "a queue overflows" if model.queues or about_ranges else LEAVES_RANGE


def deny(end: str) -> str:
    """Return the sentence that no run has such an end."""
    return f"{end.replace('a ', 'no ').replace(', or ', ' and ')} on any run"


FOR_EVERY_N = "every N: no value of type int matters"


def depends_on_no_n(model: Model, int_domain: Integer) -> bool:
    """Whether nothing in the model stands for an unbounded type."""
    return int_domain not in model.integers and not model.instead


def _describe_meaning(domain: SomeTexts | SomeFloats) -> str:
    if isinstance(domain, SomeFloats):
        return f"float is a whole number from {domain.lo} to {domain.hi}: this shows nothing about others"
    texts = ", ".join(text or "the empty text" for text in domain.labels)
    return f"str is one of {texts}: this shows nothing about more texts"


def find_number_grounds(
    model: Model, wraps: bool | None, clamps: bool | None, int_domain: Integer, *, every_n: bool
) -> Iterator[Ground]:
    """Yield the grounds about numbers, and about the ends of their domains.

    Kinds: `for_every_N`, `N` (the outcome depends on `int`), `floats` (what stands for them), `texts`, `domains` (the
    pipeline's own), `wraps` and `saturates` (None: undecided).

    Parameters
    ----------
    wraps, clamps: whether modular arithmetic can wrap, or saturating arithmetic clamp; None: undecided.
    int_domain: the domain that `int` stands for.
    every_n: the outcome does not depend on N.
    """

    def sizes(kind: Overflowing, less: int) -> str:
        return " or ".join(str(n - less) for n in sorted(d.n for d in model.integers if d.overflow is kind))

    yield Ground("for_every_N", FOR_EVERY_N if every_n else "", every_n)
    if int_domain in model.integers:
        yield Ground("N", f"N = {int_domain.n}, {int_domain.overflow} integers", True)
    for domain in sorted(model.instead, key=_describe_meaning):
        yield Ground("floats" if isinstance(domain, SomeFloats) else "texts", _describe_meaning(domain), str(domain))
    own = sorted(str(domain) for domain in model.integers - {int_domain})
    yield Ground("domains", f"the pipeline's own domains: {', '.join(own)}" if own else "", own)
    unbounded = "on some input: this shows nothing about unbounded integers"
    words = f"arithmetic wraps modulo {sizes(Overflowing.MODULAR, 0)} {unbounded}"
    yield Ground("wraps", "it was not decided whether arithmetic wraps" if wraps is None else words * wraps, wraps)
    words = f"arithmetic saturates at {sizes(Overflowing.SATURATING, 1)} {unbounded}"
    yield Ground("saturates", words * bool(clamps), clamps)


def misfortunes(system: System) -> tuple[str, ...]:
    """Return a sentence for each fault that may strike in a system."""
    oracles = [each for each in system.inputs if each.heard is not None and each.present.name in system.domains]
    processors = dict(each.of for each in oracles if each.of is not None)
    return tuple(
        f"fault: events of {name.rpartition('.')[0]} {processor.words}"
        for name, processor in processors.items()
        if isinstance(processor, Unreliable)
    )


def list_assumptions(pipeline: Pipeline, system: System) -> list[Contract]:
    """Return the assumptions of a pipeline that restrict the runs of its system."""
    known = system.restrictions
    return [each for each in pipeline.contracts if each.name in known]


def ending(system: System, *, may: bool) -> list[str]:
    """Return a sentence on whether the input streams may end; empty if that makes no difference."""
    if system.end is None or system.end.now.name not in system.domains:
        return []
    return [f"the input streams {'may end at any step' if may else 'do not end'}"]
