"""Comparing two pipelines (TIME 2021, section 4.1): both are fed the same inputs, side by side.

- stepwise: at every step both emit the same event, or none;
- sequence: the i-th output of one equals the i-th output of the other, whenever both have come; the outputs meet
  in an equality processor whose queues hold the difference in pace, so the verdict is bounded by their capacity;
- approximates: stepwise, with implication for equality: where the second Boolean pipeline says true, so does the first.

Where a processor acts at the end of its stream, the streams may end, and whole outputs have the same length. Else,
as in the paper, a pipeline that falls behind for ever is sequence equivalent to any that agrees with what it emitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.core import function as f
from workbench.core.domain import Bool
from workbench.core.function import same_domain
from workbench.core.ops import EQ, both, conjunction, either, negate
from workbench.core.pipeline import Node, Pipeline
from workbench.core.program import Program
from workbench.core.term import Term
from workbench.errors import PipelineError, TypingError, refuse_unknown
from workbench.ir.system import System
from workbench.language import Loaded
from workbench.language.faults import faultless
from workbench.language.properties import PROPERTIES
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import Group
from workbench.verify.ask.formula import atom
from workbench.verify.ask.properties import OverDomains, Property, Question, conjoined, stepwise_equal

EquivalenceMode = Literal["sequence", "stepwise", "approximates"]
COMPARISONS = {row.mode: row for row in PROPERTIES.values() if row.mode and row.argument}
"""The properties that compare a pipeline with another one, by the sense in which they do."""


@dataclass(frozen=True)
class Equivalence:
    """The property of a pipeline that it compares with another; made by `equivalent_to` and `tolerating`.

    Attributes
    ----------
    name: as it is written.
    other: what it is compared with; None: the pipeline itself, without its faults.
    """

    name: str
    mode: EquivalenceMode
    other: Program | None = None

    def __post_init__(self) -> None:
        refuse_unknown("sense of equivalence", self.mode, COMPARISONS)

    def __str__(self) -> str:
        return self.name

    def sides(self, subject: Program) -> tuple[Program, Program]:
        """Both pipelines as `side_by_side` takes them: what approximates comes second there."""
        other = self.other or (subject.faultless() if isinstance(subject, Loaded) else faultless(subject))
        return (other, subject) if self.mode == "approximates" else (subject, other)

    def pose(self, subject: Program, over: OverDomains) -> tuple[Pipeline, Property]:
        """One pipeline that runs both on the same inputs, and the property that says they agree."""
        left, right = over(*self.sides(subject))
        return side_by_side(left, right, self.mode)


def equivalent_to(other: Program, mode: EquivalenceMode = "sequence") -> Equivalence:
    """The property of a pipeline that it computes the same as another: `check(a, equivalent_to(b))`.

    Parameters
    ----------
    other: a pipeline, or one of a file, with as many inputs and outputs, of the same domains.
    mode: `sequence`: the i-th outputs are equal, whenever both have come. `stepwise`: at every step both emit the
        same event, or none. `approximates`: stepwise, and where the pipeline says true so does the other.
    """
    refuse_unknown("sense of equivalence", mode, COMPARISONS)
    return Equivalence(f"{COMPARISONS[mode].name}({other.pipeline.name})", mode, other)


def tolerating(mode: EquivalenceMode = "sequence") -> Equivalence:
    """The property of a pipeline that with its faults it computes the same as without them.

    As of any two pipelines, sequence equivalence says that no output is wrong, not that all of them come: ask for
    `response` besides.
    """
    return Equivalence("tolerates", mode)


def side_by_side(left: Program, right: Program, mode: EquivalenceMode) -> tuple[Pipeline, Property]:
    """One pipeline that runs both on the same inputs, and the property that says they agree."""
    left, right = left.pipeline, right.pipeline
    _comparable(left, right, mode)
    names = _fresh([left.name, right.name], {name for name, _ in left.inputs})
    inputs = tuple(name for name, _ in left.inputs)
    nodes = [
        Node(name, Group(body), inputs, _pipes(name, body)) for name, body in zip(names, (left, right), strict=True)
    ]
    pairs = list(zip(nodes[0].outputs, nodes[1].outputs, strict=True))
    title = f"{names[0]}_and_{names[1]}"
    if mode == "sequence":
        return _sequence(title, left, nodes, pairs)
    outputs = tuple((pipe, pipe) for pair in pairs for pipe in pair)
    parts = [stepwise_equal(a, b, approximates=mode == "approximates") for a, b in pairs]
    return Pipeline(title, left.inputs, tuple(nodes), outputs), conjoined(COMPARISONS[mode].compared, parts)


def _sequence(title: str, left: Pipeline, nodes: list[Node], pairs: list[tuple[str, str]]) -> tuple[Pipeline, Property]:
    taken = {n.name for n in nodes} | {name for name, _ in left.inputs}
    names = _fresh([f"same{i}" if len(pairs) > 1 else "same" for i in range(1, len(pairs) + 1)], taken)
    compare = [Node(name, ApplyFunction(f.EQ), pair, (name,)) for name, pair in zip(names, pairs, strict=True)]
    outputs = tuple((name, name) for name in names)

    def agrees(name: str) -> Property:
        def term(system: System) -> Term:
            found: Term = conjunction(either(negate(same.present), same.value) for same in system.pipes[name].slots)
            if system.end is None:
                return found
            # whole streams have the same length
            waiting = (system.queues[f"{name}.{port}"].length for port in ("left", "right"))
            complete: Term = either(negate(system.end.now), conjunction(EQ(length, 0) for length in waiting))
            whole: Term = both(found, complete)
            return whole

        def question(system: System) -> Question:
            ends = " or, when the streams have ended, in length" if system.end else ""
            cases = ((f"'{name}' compares two events", system.pipes[name].present),)
            failure = f"the outputs differ in a value{ends}"
            return Question(system, "invar", atom(term(system)), failure=failure, compares=True, exercised=cases)

        return Property(f"{name}.present -> {name}.value", question)

    parts = [agrees(name) for name in names]
    return Pipeline(title, left.inputs, (*nodes, *compare), outputs), conjoined(COMPARISONS["sequence"].compared, parts)


def _comparable(left: Pipeline, right: Pipeline, mode: EquivalenceMode) -> None:
    if (left.in_arity, left.out_arity) != (right.in_arity, right.out_arity):
        raise PipelineError(
            f"{left.name} has {left.in_arity} inputs and {left.out_arity} outputs,"
            f" {right.name} has {right.in_arity} and {right.out_arity}",
            hint="only pipelines of the same arity can be compared",
        )
    for what, ours, theirs in (
        ("input", left.input_domains, right.input_domains),
        ("output", left.output_domains, right.output_domains),
    ):
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True), 1):
            if not same_domain(a, b):
                raise TypingError(f"{what} {number} carries {a} in {left.name} and {b} in {right.name}")
            if mode == "approximates" and what == "output" and not isinstance(a, Bool):
                raise TypingError(f"approximation compares bool outputs, {left.name} emits {a}")


def _pipes(name: str, body: Pipeline) -> tuple[str, ...]:
    if body.out_arity == 1:
        return (name,)
    return tuple(f"{name}_{output}" for output, _ in body.outputs)


def _fresh(names: list[str], taken: set[str]) -> list[str]:
    """The names, told apart by numbers where they are equal or taken."""
    found: list[str] = []
    for name in names:
        twice = names.count(name) > 1
        candidates = (f"{name}_{i}" if twice or i > 1 else name for i in range(1, len(names) + len(taken) + 3))
        found.append(next(c for c in candidates if c not in taken and c not in found))
    return found
