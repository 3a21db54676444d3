"""Vacuity: cases that never occur in a model, so that a verdict holds for want of cases."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core import ops
from workbench.core.domain import FLOAT, INT, Domain, Integer, Integers, ModelScope, Reals, SomeFloats
from workbench.core.fold import postorder
from workbench.core.kinds import Holder
from workbench.core.pipeline import Pipeline
from workbench.core.term import Term
from workbench.errors import WorkbenchError
from workbench.ir.reduce import Model
from workbench.ir.system import instance_of
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import flatten
from workbench.verify.answer.grounds import depends_on_no_n
from workbench.verify.answer.verdict import Outcome, Vacuity
from workbench.verify.ask.number_bounds import (
    ConstantComparison,
    bodies_in,
    comparisons_in,
    inputs_of,
    number_of,
    reaches,
    terms_in,
)
from workbench.verify.ask.scope import Adjustable

if TYPE_CHECKING:
    from workbench.verify.answer.settings import Settings

Conditions = Callable[[Pipeline], Iterable[Any]]
"""The conditions of a property, as terms over the pipes of a pipeline."""


def find_vacuity(
    pipeline: Pipeline, model: Model, settings: Settings, never: Sequence[str], outcome: Outcome, compare: Conditions
) -> Vacuity | None:
    """Return why a verdict is vacuous: a condition of the property, or a comparison in its cone, is never true.

    Parameters
    ----------
    never: the words of the conditions that never come true.
    """
    branches = [] if depends_on_no_n(model, settings.domain) else [*_find_branches(pipeline, model, settings, compare)]
    if never:
        # for a condition beside `x < 0` it is not known whether numbers below zero would make it true
        known = [each.bound for each in branches if not each.bound.startswith("int")]
        capacity = _name_capacities(model) if outcome is Outcome.WITHIN_BOUNDS else ""
        return Vacuity(_write_sentence(never[0]), next(iter(known), capacity), certain=bool(known))
    return branches[0] if branches else None


def _write_sentence(words: str) -> str:
    condition = words.startswith("'") and words.endswith("'")
    return f"{words.replace(chr(39), '')} is never true" if condition else f"no run on which {words}"


def _name_capacities(model: Model) -> str:
    """Name the capacities that limit the model."""
    sizes = {queue.capacity for queue in model.queues}
    return f"Q = {sizes.pop()}" if len(sizes) == 1 else ", ".join(f"{q.name} = {q.capacity}" for q in model.queues)


@dataclass(frozen=True)
class _Unbounded(ModelScope):
    """A scope that turns the finite domains of a model back into the unbounded types."""

    chosen: Integer = Integer(1)

    def of(self, domain: Domain) -> Domain:
        return INT if domain == self.chosen else FLOAT if isinstance(domain, SomeFloats) else domain


MAXIMUM = 2**62
"""A number larger than all numbers of a model."""


NumberRange = tuple[float, float]
"""The least and the greatest possible number."""


class _Ranges:
    """The possible numbers of pipes, and of terms over them, given the bounds of numbers.

    Parameters
    ----------
    computed: the ranges of float pipes as a model has computed them: floats neither wrap nor stop at a bound.
    """

    def __init__(
        self,
        flat: Pipeline,
        bounds: Mapping[type[Domain], NumberRange],
        computed: Mapping[str, NumberRange] | None = None,
    ) -> None:
        self.bounds = bounds
        self.pipes: dict[str, NumberRange] = {**(computed or {})}
        for node in flat.nodes:
            bodies = list(bodies_in(flat.typed[node.name])) if isinstance(node.processor, ApplyFunction) else []
            if len(bodies) == len(node.outputs) == 1 and isinstance(bodies[0], Term):
                self.pipes[node.outputs[0]] = self.of(bodies[0], partial(inputs_of, node))

    def of(self, term: Term, stands_for: Callable[[str], Sequence[str]]) -> NumberRange:
        """Return the range of a term whose variables are these pipes; shared terms are computed once."""
        ranges: dict[Term, NumberRange] = {}
        for each in postorder([term]):
            whole, number = self.bounds.get(type(each.domain), (-MAXIMUM, MAXIMUM)), number_of(each)
            if number is not None:
                ranges[each] = number, number
            elif each.is_var:
                pipes = stands_for(each.name)
                ranges[each] = self.pipes.get(pipes[0], whole) if len(pipes) == 1 else whole
            else:
                ranges[each] = _compute_range(each, [ranges[arg] for arg in each.args], whole)
        return ranges[term]


def _compute_range(term: Term, arg_ranges: Sequence[NumberRange], whole: NumberRange) -> NumberRange:
    """Return the range of an operation, given the ranges of its arguments."""
    if term.op is ops.ITE:
        (one, two), (three, four) = arg_ranges[1:]
        return min(one, three), max(two, four)
    if term.op is ops.MOD and arg_ranges[1][0] == arg_ranges[1][1] > 0:
        return 0, min(arg_ranges[1][0] - 1, arg_ranges[0][1] if arg_ranges[0][0] >= 0 else MAXIMUM)
    real = isinstance(term.domain, Reals | SomeFloats)
    if real and term.op is ops.CAST:
        return arg_ranges[0]
    monotone = term.op in _MONOTONE or (term.op is ops.DIV and arg_ranges[1][0] == arg_ranges[1][1])
    if not monotone or term.op is None:
        return whole
    corners = [term.op.exact(*each) for each in product(*arg_ranges)]
    low, high = min(corners), max(corners)
    return (low, high) if real or (whole[0] <= low and high <= whole[1]) else whole  # what wraps can be any number


_MONOTONE = (ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX)
"""Operators whose extreme results are those of the extremes of their operands."""


class _PlacedComparison(NamedTuple):
    """A comparison with a constant, the name of its operand, and the pipes of the variables in the operand."""

    each: ConstantComparison
    name: str
    pipes_of: Callable[[str], Sequence[str]]

    @property
    def kind(self) -> type[Domain]:
        """The type of the operand."""
        return type(self.each.operand.domain)


class _Bounds(NamedTuple):
    """The numbers of a model, by type; those of `whole` are called N."""

    whole: type[Domain]
    numbers: Mapping[type[Domain], NumberRange]

    def words(self, kind: type[Domain], *, above: bool) -> str:
        """Describe the bound that would have to be larger, or smaller."""
        low, high = self.numbers[kind]
        name = "int" if kind is self.whole else "float"
        return f"N = {high + 1}" if name == "int" and above else f"{name} = {low}..{high}"


def _find_branches(pipeline: Pipeline, model: Model, settings: Settings, compare: Conditions) -> Iterator[Vacuity]:
    """Yield comparisons with constants in the cone that are never true, or never false, and the bound that causes it.

    Last comes a number that makes a difference and is not reached.
    """
    flat, cone = flatten(pipeline), {*map(instance_of, model.system.domains)}
    computed = {pipe: (each.lo, each.hi) for pipe, each in flat.domains.items() if isinstance(each, SomeFloats)}
    whole: type[Domain] = Integer
    real: type[Domain] = SomeFloats
    with contextlib.suppress(WorkbenchError):  # rules in a model have its numbers only
        flat, whole, real = flat.resolve(_Unbounded(chosen=settings.domain)), Integers, Reals
    floats = {} if settings.floats is None else {real: settings.floats}
    bounds = _Bounds(whole, {whole: (0, settings.n - 1), **floats})
    conditions = list(compare(flat))
    placed = [each for each in _place_comparisons(flat, cone, conditions) if each.kind in bounds.numbers]
    yield from _settle_comparisons(flat, placed, bounds, computed)
    yield from _find_gaps(placed, real, bounds)
    yield from _find_fractions(flat, placed, real, bounds)
    # a user who has chosen N may know why
    kinds = [kind for kind in bounds.numbers if kind is not whole or isinstance(settings.n, Adjustable)]
    yield from _find_unreached(
        flat, conditions, cone, kinds, bounds, {pipe: high for pipe, (_, high) in computed.items()}
    )


def _place_comparisons(flat: Pipeline, cone: set[str], conditions: Sequence[Any]) -> Iterator[_PlacedComparison]:
    """Yield the comparisons of processors in the cone, and those of the property."""
    bodies: list[tuple[Any, Callable[[str], Sequence[str]]]] = []
    for node in flat.nodes:
        if node.name in cone:
            bodies += ((body, partial(inputs_of, node)) for body in bodies_in(flat.typed[node.name]))
    for body, pipes_of in (*bodies, (tuple(conditions), lambda name: (name,))):
        for each in comparisons_in(terms_in(body)):
            pipes = pipes_of(each.operand.name) if each.operand.is_var else ()
            yield _PlacedComparison(each, pipes[0] if len(pipes) == 1 else "a value", pipes_of)


def _settle_comparisons(
    flat: Pipeline, placed: Iterable[_PlacedComparison], bounds: _Bounds, computed: Mapping[str, NumberRange]
) -> Iterator[Vacuity]:
    """Yield the comparisons that have one result within the bounds, and could have both with larger ones."""
    ranges, eased = _Ranges(flat, bounds.numbers, computed), _Ranges(flat, dict.fromkeys(bounds.numbers, (0, MAXIMUM)))
    for each, name, pipes_of in placed:
        kind = type(each.operand.domain)
        low, high = ranges.of(each.operand, pipes_of)
        settled = each.find_truth(low, high)
        if (low, high) != bounds.numbers[kind] and each.find_truth(*eased.of(each.operand, pipes_of)) is not None:
            continue  # for example `x mod 3 = 5`
        above = high < each.needs.top
        if settled is None or (settled and not above and kind is bounds.whole):
            continue  # for example `x >= 0`: no larger domain helps
        words = f"{name} {each.symbol} {each.constant:g} is never {'false' if settled else 'true'}"
        yield Vacuity(words, bounds.words(kind, above=above))


def _find_gaps(placed: Sequence[_PlacedComparison], kind: type[Domain], bounds: _Bounds) -> Iterator[Vacuity]:
    """Yield cases that comparisons of floats with constants distinguish, and for which the model has no number.

    A case is a gap between two constants, or a constant itself, if one comparison counts it to the numbers below and
    another one to those above.
    """
    for name in dict.fromkeys(item.name for item in placed if item.kind is kind):
        comparisons = [item.each for item in placed if item.name == name]
        constants = sorted({each.constant for each in comparisons})
        gaps = [f"between {low:g} and {high:g}" for low, high in pairwise(constants) if math.floor(low) + 1 >= high]
        below = {each.constant for each in comparisons if each.symbol in ("<=", ">")}
        above = {each.constant for each in comparisons if each.symbol in ("<", ">=")}
        gaps += [f"{constant:g}" for constant in constants if constant % 1 and constant in below & above]
        for gap in gaps:
            yield Vacuity(f"no run on which {name} is {gap}", bounds.words(kind, above=False))


def _find_fractions(
    flat: Pipeline, placed: Iterable[_PlacedComparison], kind: type[Domain], bounds: _Bounds
) -> Iterator[Vacuity]:
    """Yield numbers that are compared with a fraction, and computed from whole numbers in a way that gives none."""
    computed = set[str]()
    for node in flat.nodes:
        if isinstance(node.processor, ApplyFunction | Cumulate | Holder) or not computed.isdisjoint(node.inputs):
            computed.update(node.outputs)
    for each, name, pipes_of in placed:
        if type(each.operand.domain) is not kind or each.constant % 1 == 0:
            continue
        terms = [term for term in postorder([each.operand]) if not (term.is_const or term.is_var)]
        whole = all(term.op in _MONOTONE for term in terms)
        if whole and (terms or not computed.isdisjoint(pipes_of(each.operand.name))):
            yield Vacuity(f"no run on which {name} is a fraction", bounds.words(kind, above=False))


def _find_unreached(
    flat: Pipeline,
    conditions: Sequence[Any],
    cone: set[str],
    kinds: Sequence[type[Domain]],
    bounds: _Bounds,
    greatest: Mapping[str, float],
) -> Iterator[Vacuity]:
    """Yield numbers above the bounds of these types that make a difference: for floats, above those of their pipe."""
    reached = reaches(flat, conditions, cone, greatest)
    for kind in kinds:
        of_kind = {pipe: extent.top for pipe, extent in reached.pipes.items() if type(flat.domains[pipe]) is kind}
        if kind is bounds.whole:
            top = reached.computed[kind].top if kind in reached.computed else 0
            beyond = top > bounds.numbers[kind][1]
            far = next((pipe for pipe in of_kind if of_kind[pipe] == top), "a number") if beyond else ""
        else:
            far = next((pipe for pipe, top in of_kind.items() if top > greatest.get(pipe, bounds.numbers[kind][1])), "")
            top = of_kind.get(far, 0)
        if far:
            words = f"no run on which {far} is {top}, and numbers up to that make a difference"
            yield Vacuity(words, bounds.words(kind, above=True))
