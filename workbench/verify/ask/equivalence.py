"""Comparing two pipelines (TIME 2021, section 4.1): both are fed the same inputs, side by side.

- stepwise: at every step both emit the same event, or none;
- sequence: the i-th output of one equals the i-th output of the other, whenever both have come; the outputs meet
  in an equality processor whose queues hold the difference in pace, so the verdict is bounded by their capacity;
- approximates: stepwise, with implication for equality: where the second Boolean pipeline is true, so is the first.

Where a processor acts at the end of its stream, the streams may end, and whole outputs have the same length. Else,
as in the paper, a pipeline that falls behind for ever is sequence equivalent to any that agrees with what it emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from workbench.core import function as f
from workbench.core.contract import Contract
from workbench.core.domain import Bool, Domain, Range
from workbench.core.fields import Tuple
from workbench.core.function import same_domain
from workbench.core.ops import EQ, both, conjunction, either, negate
from workbench.core.pipeline import Node, Pipeline
from workbench.core.program import Program
from workbench.core.readable import plural
from workbench.core.term import Term
from workbench.errors import PipelineError, TypingError, refuse_unknown
from workbench.ir.system import System
from workbench.language import AnyProgram, Loaded, program_of
from workbench.language.faults import faultless
from workbench.language.properties import PROPERTIES, PropertyRow
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import Group
from workbench.verify.ask.formula import atom
from workbench.verify.ask.properties import OverDomains, Property, Question, conjoin, stepwise_equal, under_assumptions

EquivalenceMode = Literal["sequence", "stepwise", "approximates"]
Compared = tuple[list[Node], list[str], list[Property]]
"""The comparison of outputs: additional processors, the pipes that come out, and the properties that must hold."""


@dataclass(frozen=True)
class ComparisonRow:
    """A sense in which two pipelines are compared.

    Attributes
    ----------
    written: the property in the language.
    compare: makes the comparison of the outputs, in pairs, of two pipelines side by side; takes the names in use.
    implies: where the second is true, so is the first; so outputs are Boolean, and the approximating side is second.
    """

    written: PropertyRow
    compare: Callable[[Sequence[tuple[str, str]], set[str]], Compared]
    implies: bool = False


@dataclass(frozen=True)
class Equivalence:
    """The property that a pipeline is equivalent to another; `equivalent_to` and `tolerating` make it.

    Attributes
    ----------
    name: the property as text.
    other: the other pipeline; None: the pipeline itself, without its faults.
    """

    name: str
    mode: EquivalenceMode
    other: Program | None = None

    def __post_init__(self) -> None:
        refuse_unknown("sense of equivalence", self.mode, COMPARISONS)

    def __str__(self) -> str:
        return self.name

    def sides(self, subject: Program) -> tuple[Program, Program]:
        """Return both pipelines in the order of `side_by_side`: the approximating one is second."""
        other = self.other or (subject.faultless() if isinstance(subject, Loaded) else faultless(subject))
        return (other, subject) if COMPARISONS[self.mode].implies else (subject, other)

    def pose(self, subject: Program, over: OverDomains) -> tuple[Pipeline, Property]:
        """Return one pipeline that runs both on the same inputs, and the property that they agree."""
        left, right = over(*self.sides(subject))
        whole, same = side_by_side(left, right, self.mode)
        return under_assumptions(whole), same


def equivalent_to(other: AnyProgram, mode: EquivalenceMode = "sequence") -> Equivalence:
    """Return the property that a pipeline computes the same as another: `check(a, equivalent_to(b))`.

    Parameters
    ----------
    other: a pipeline, or one of a file, with as many inputs and outputs, of the same domains.
    mode: `sequence`: the i-th outputs are equal whenever both have been emitted. `stepwise`: at every step both emit
        the same event, or none. `approximates`: stepwise, and where the pipeline is true so is the other.
    """
    refuse_unknown("sense of equivalence", mode, COMPARISONS)
    other = program_of(other)
    return Equivalence(f"{COMPARISONS[mode].written.name}({other.pipeline.name})", mode, other)


def tolerating(mode: EquivalenceMode = "sequence") -> Equivalence:
    """Return the property that a pipeline computes the same with its faults as without them.

    As for any two pipelines, sequence equivalence means that no output is wrong, not that all of them come: check
    `response` besides.
    """
    return Equivalence("tolerates", mode)


def side_by_side(left: Program, right: Program, mode: EquivalenceMode) -> tuple[Pipeline, Property]:
    """Return one pipeline that runs both on the same inputs, and the property that they agree."""
    left, right = left.pipeline, right.pipeline
    _comparable(left, right, mode)
    names = _fresh([left.name, right.name], {name for name, _ in left.inputs})
    inputs = tuple(name for name, _ in left.inputs)
    nodes = [
        Node(name, Group(body), inputs, _pipes(name, body)) for name, body in zip(names, (left, right), strict=True)
    ]
    pairs, row = list(zip(nodes[0].outputs, nodes[1].outputs, strict=True)), COMPARISONS[mode]
    besides, outputs, parts = row.compare(pairs, {*names, *inputs})
    named_outputs = tuple((pipe, pipe) for pipe in outputs)
    contracts = (*_list_assumptions(names[0], left, inputs), *_list_assumptions(names[1], right, inputs))
    whole = Pipeline(f"{names[0]}_and_{names[1]}", left.inputs, (*nodes, *besides), named_outputs, contracts=contracts)
    return whole, conjoin(row.written.compared, parts)


def _list_assumptions(name: str, side: Pipeline, inputs: Sequence[str]) -> Iterator[Contract]:
    """Yield the assumptions of one of two pipelines on the inputs of both."""
    shared = dict(zip((port for port, _ in side.inputs), inputs, strict=True))
    for each in side.contracts:
        if each.is_own_assumption:
            yield replace(each, name=f"{name}_{each.name}", reads=tuple(shared[port] for port in each.reads))


def _step_by_step(pairs: Sequence[tuple[str, str]], _: set[str], *, implies: bool = False) -> Compared:
    """Compare pipes step by step: at every step both carry the same."""
    parts = [stepwise_equal(a, b, approximates=implies) for a, b in pairs]
    return [], [pipe for pair in pairs for pipe in pair], parts


def _one_by_one(pairs: Sequence[tuple[str, str]], other_names: set[str]) -> Compared:
    """Compare the i-th events of each pair of pipes, which meet in an equality processor."""
    names = _fresh([f"same{i}" if len(pairs) > 1 else "same" for i in range(1, len(pairs) + 1)], other_names)
    besides = [Node(name, ApplyFunction(f.EQ), pair, (name,)) for name, pair in zip(names, pairs, strict=True)]
    return besides, names, [_always_equal(name) for name in names]


def _always_equal(name: str) -> Property:
    """Return the property that an equality processor always emits true, and compares all events where streams end."""

    def term(system: System) -> Term:
        equal: Term = conjunction(either(negate(same.present), same.value) for same in system.pipes[name].slots)
        if system.end is None:
            return equal
        # whole streams have the same length
        waiting = (system.queues[f"{name}.{port}"].length for port in ("left", "right"))
        complete: Term = either(negate(system.end.now), conjunction(EQ(length, 0) for length in waiting))
        whole: Term = both(equal, complete)
        return whole

    def question(system: System) -> Question:
        ends = " or, when the streams have ended, in length" if system.end else ""
        cases = ((f"'{name}' compares two events", system.pipes[name].present),)
        failure = f"the outputs differ in a value{ends}"
        return Question(system, "invar", atom(term(system)), failure=failure, compares=True, exercised=cases)

    return Property(f"{name}.present -> {name}.value", question)


COMPARISONS = {
    "sequence": ComparisonRow(PROPERTIES["equivalent"], _one_by_one),
    "stepwise": ComparisonRow(PROPERTIES["stepwise-equivalent"], _step_by_step),
    "approximates": ComparisonRow(PROPERTIES["approximates"], partial(_step_by_step, implies=True), implies=True),
}
"""All senses in which two pipelines are compared."""


def _comparable(left: Pipeline, right: Pipeline, mode: EquivalenceMode) -> None:
    one, other = left.name, right.name
    if one == other:
        one, other = f"the first {one}", f"the second {other}"
    if (left.in_arity, left.out_arity) != (right.in_arity, right.out_arity):
        arities = (
            f"{name} has {plural(each.in_arity, 'input')} and {plural(each.out_arity, 'output')}"
            for name, each in ((one, left), (other, right))
        )
        raise PipelineError(", ".join(arities), hint="only pipelines of the same arity can be compared")
    for what, ours, theirs in (
        ("input", left.input_domains, right.input_domains),
        ("output", left.output_domains, right.output_domains),
    ):
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True), 1):
            if not (same_domain(a, b) or (what == "output" and _has_equality(a, b))):
                hint = "give it the same type in both; cast(x, TYPE) converts numbers"
                raise TypingError(f"{what} {number} carries {a} in {one} and {b} in {other}", hint=hint)
            if COMPARISONS[mode].implies and what == "output" and not isinstance(a, Bool):
                raise TypingError(f"approximation compares bool outputs, {one} emits {a}")


def _has_equality(a: Domain, b: Domain) -> bool:
    """Whether values of two domains can be compared: equal domains, ranges of numbers, and records of such values."""
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.fields) == len(b.fields) and all(map(_has_equality, a.fields, b.fields))
    return same_domain(a, b) or (isinstance(a, Range) and isinstance(b, Range))


def _pipes(name: str, body: Pipeline) -> tuple[str, ...]:
    if body.out_arity == 1:
        return (name,)
    return tuple(f"{name}_{output}" for output, _ in body.outputs)


def _fresh(names: list[str], other_names: set[str]) -> list[str]:
    """Return the names, with numbers added where they are equal or taken."""
    distinct_names: list[str] = []
    for name in names:
        twice = names.count(name) > 1
        candidates = (f"{name}_{i}" if twice or i > 1 else name for i in range(1, len(names) + len(other_names) + 3))
        distinct_names.append(next(c for c in candidates if c not in other_names and c not in distinct_names))
    return distinct_names
