"""The range of numbers in a pipeline in which its comparisons have both results.

The rule of this module: propagate from the comparisons back to the inputs, and from there forward to computed values.
Beyond the reach, whether a number makes a comparison true depends at most on its remainder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from workbench.core import ops
from workbench.core.domain import Domain, Reals
from workbench.core.fields import within
from workbench.core.fold import postorder
from workbench.core.function import TypedFunction
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Processor
from workbench.core.term import Term, leaves
from workbench.processors.apply import ApplyFunction
from workbench.processors.moore import Transition

K = TypeVar("K")


class NumberCoverage(NamedTuple):
    """The numbers that cover all cases: `low` to `high`, and as many beyond as there are remainders by `period`.

    A single equality needs no number above its constant (`alone`) if there is one below it that is not negative.
    """

    low: int
    high: int
    period: int = 1
    alone: bool = False

    @property
    def top(self) -> int:
        """The largest number; for remainders alone, without a constant between `low` and `high`, one less is enough."""
        high = max(self.high - (self.alone and self.low >= 0), 0)
        return high + (self.period - (self.low == self.high) if self.period > 1 else 0)

    @property
    def whole(self) -> NumberCoverage:
        """A reach of the same numbers, all distinguished."""
        return NumberCoverage(self.low, self.top)

    def shift(self, by: float) -> NumberCoverage:
        """Return the reach of these numbers plus a constant."""
        return self._replace(low=math.floor(self.low + by), high=math.ceil(self.high + by))

    def times(self, by: float, period: float) -> NumberCoverage:
        """Return the reach of these numbers times a constant; a negative one reverses them."""
        low, high = sorted((self.low * by, self.high * by))
        return NumberCoverage(math.floor(low), math.ceil(high), max(1, math.ceil(period)), alone=self.alone and by > 0)

    def add_to(self, reach_by_key: dict[K, NumberCoverage], key: K) -> None:
        """Extend the reach of `key` in `reach_by_key` to cover the cases of both."""
        known = reach_by_key.get(key, self)
        low, high, period = min(known.low, self.low), max(known.high, self.high), math.lcm(known.period, self.period)
        reach_by_key[key] = NumberCoverage(low, high, period, alone=self.alone and known == self)


class ConstantComparison(NamedTuple):
    """A comparison of an operand with a constant on the right."""

    symbol: str
    constant: float
    operand: Term

    @property
    def needs(self) -> NumberCoverage:
        """The whole numbers around the constant that the comparison distinguishes."""
        low = math.floor(self.constant) if self.symbol in (">", "<=") else math.ceil(self.constant) - 1
        high = math.ceil(self.constant) if self.symbol in ("<", ">=") else math.floor(self.constant) + 1
        return NumberCoverage(low, high, alone=self.symbol in ("=", "!="))

    def find_truth(self, low: float, high: float) -> bool | None:
        """Return the result for all whole numbers from `low` to `high`; None if both results occur."""
        if self.symbol in ("=", "!="):
            return None if low <= self.constant <= high and self.constant % 1 == 0 else self.symbol == "!="
        least, greatest, *_ = self.needs
        return None if low <= least and greatest <= high else (low > least) == (self.symbol in (">", ">="))


def terms_in(body: Any) -> list[Term]:
    """Return the terms of a value, arguments first."""
    return list(postorder([leaf for leaf in leaves(body) if isinstance(leaf, Term)]))


def comparisons_in(terms: Iterable[Term]) -> Iterator[ConstantComparison]:
    """Yield the comparisons with numbers among terms."""
    for term in terms:
        if term.op is not None and term.op.holds:
            for symbol, one, other in zip((term.op.symbol, term.op.mirror), term.args, term.args[::-1], strict=True):
                constant = number_of(other)
                if constant is not None and not one.is_const:
                    yield ConstantComparison(symbol, constant, one)


def number_of(term: Term) -> int | float | None:
    """Return the finite number that a term denotes, if it does."""
    number = term.payload if term.is_const and type(term.payload) in (int, float) else math.inf
    return number if math.isfinite(number) else None


def bodies_in(item: object) -> Iterator[Any]:
    """Yield the bodies of the functions in a typed processor, or in a part of one."""
    if isinstance(item, TypedFunction):
        yield item.body
    elif isinstance(item, Processor | Transition | tuple):
        for part in item if isinstance(item, tuple) else [getattr(item, field.name) for field in fields(item)]:
            yield from bodies_in(part)


def inputs_of(node: Node, variable: str) -> tuple[str, ...]:
    """Return the pipes whose values a variable of a processor's function may have."""
    applied = isinstance(node.processor, ApplyFunction)
    return (node.inputs[int(variable[1:].partition(".")[0])],) if applied else node.inputs


class Reaches(NamedTuple):
    """The reach of numbers: by pipe, by type, and by type including everything computed from them."""

    pipes: dict[str, NumberCoverage]
    compared: dict[type[Domain], NumberCoverage]
    computed: dict[type[Domain], NumberCoverage]


StandsFor = Callable[[str], Iterable[str]]
"""Maps a variable to the pipes whose values it may have."""


def reaches(
    flat: Pipeline,
    conditions: Iterable[Term] = (),
    cone: Container[str] | None = None,
    greatest: Mapping[str, float] = MappingProxyType({}),
) -> Reaches:
    """Compute how far numbers must reach for `conditions` over pipes, and the nodes of a cone, or all nodes.

    `greatest` is how far float pipes reach in a model. A result computed from several pipes that reaches far enough
    makes no further demand on them.
    """
    nodes = [node for node in flat.nodes if cone is None or node.name in cone]
    bodies = {node.name: list(bodies_in(flat.typed[node.name])) for node in nodes}
    terms = list(conditions)
    bounds, needed, condition_terms = _trace_comparisons(flat, nodes, bodies, terms, {}, greatest)
    if bounds.pipes:  # once more, for comparisons with these pipes
        bounds, needed, condition_terms = _trace_comparisons(flat, nodes, bodies, terms, bounds.pipes, greatest)
    bounds.computed.update(bounds.compared)
    tops = {pipe: extent.top for pipe, extent in bounds.pipes.items()}
    for node in nodes:
        top = _go_forward(bounds, needed[node.name], tops, partial(inputs_of, node))
        if not isinstance(node.processor, ApplyFunction):
            top = max((tops.get(pipe, 0) for pipe in node.inputs), default=0)
        tops.update((pipe, max(tops[pipe], top)) for pipe in node.outputs if pipe in tops)
    for each in condition_terms:
        _go_forward(bounds, each, tops, partial(_pipe_of, flat))
    return bounds


def _trace_comparisons(
    flat: Pipeline,
    nodes: Sequence[Node],
    bodies: Mapping[str, Sequence[Any]],
    conditions: Sequence[Term],
    known: Mapping[str, NumberCoverage],
    greatest: Mapping[str, float],
) -> tuple[Reaches, dict[str, list[Term]], list[list[Term]]]:
    """Compute the reach from comparisons back to inputs; also return the terms that matter, by node and by condition.

    `known` is the reach of pipes without the comparisons between two varying numbers.
    """
    bounds = Reaches({}, {}, {})
    condition_terms = [_go_back(bounds, term, (), partial(_pipe_of, flat), known) for term in conditions]
    needed: dict[str, list[Term]] = {}
    for node in nodes[::-1]:
        enough = greatest if greatest and _combines(node, bodies[node.name]) else {}
        asking = ((pipe, bounds.pipes[pipe]) for pipe in node.outputs if pipe in bounds.pipes)
        demands = [extent for pipe, extent in asking if extent.top > enough.get(pipe, -math.inf)]
        each = [_go_back(bounds, body, demands, partial(inputs_of, node), known) for body in bodies[node.name]]
        needed[node.name] = list(chain.from_iterable(each))
        for pipe in () if isinstance(node.processor, ApplyFunction) else node.inputs:
            for extent in demands if any(part.numeric for part in within(flat.domains[pipe])) else ():
                extent.add_to(bounds.pipes, pipe)
    for pipe, extent in bounds.pipes.items():
        for part in within(flat.domains[pipe]):
            extent.whole.add_to(bounds.compared, type(part))
    return bounds, needed, condition_terms


def multiplies_floats(flat: Pipeline) -> bool:
    """Whether a pipeline multiplies varying floats with each other, so that zero and one may hide a difference."""
    bodies = (body for node in flat.nodes for body in bodies_in(flat.typed[node.name]))
    products = (term for body in bodies for term in terms_in(body) if term.op is ops.MUL)
    return any(isinstance(each.domain, Reals) and not any(arg.is_const for arg in each.args) for each in products)


def _combines(node: Node, bodies: Iterable[Any]) -> bool:
    """Whether a processor combines several varying numbers."""
    terms = (term for body in bodies for term in terms_in(body) if term.op in (ops.ADD, ops.SUB, ops.MUL))
    return not isinstance(node.processor, ApplyFunction) or any(
        not any(arg.is_const for arg in term.args) for term in terms
    )


def _go_back(
    bounds: Reaches,
    body: Any,
    demands: Iterable[NumberCoverage],
    stands_for: StandsFor,
    known: Mapping[str, NumberCoverage],
) -> list[Term]:
    """Extend `bounds` by what a body and its result need; return the terms that matter there, arguments first."""
    needs: dict[Term, NumberCoverage] = {}
    terms = terms_in(body)
    for extent in demands:
        for leaf in leaves(body):
            extent.add_to(needs, leaf)
    for each in comparisons_in(terms):
        each.needs.add_to(needs, each.operand)
    for term, extent in _compare_pipes(terms, stands_for, known):
        extent.add_to(needs, term)
    for term in terms[::-1]:
        for arg, extent in _arguments(term, needs.get(term)):
            if not arg.is_const and arg.domain.numeric:
                extent.add_to(needs, arg)
        if term in needs and not term.is_var:
            needs[term].whole.add_to(bounds.compared, type(term.domain))
        for pipe in stands_for(term.name) if term.is_var and term in needs else ():
            needs[term].add_to(bounds.pipes, pipe)
    return [term for term in terms if term in needs or term.is_const or isinstance(term.domain, Reals)]


def _compare_pipes(
    terms: Iterable[Term], stands_for: StandsFor, known: Mapping[str, NumberCoverage]
) -> Iterator[tuple[Term, NumberCoverage]]:
    """Yield numbers that are compared with pipes, and their reach: past what makes a difference there."""
    for term in terms:
        if term.op is not None and term.op.holds and not any(arg.is_const for arg in term.args):
            for one, other in (term.args, term.args[::-1]):
                for pipe in stands_for(other.name) if other.is_var and one.domain.numeric else ():
                    if pipe in known:
                        low, top = known[pipe].low, known[pipe].top
                        yield one, NumberCoverage(low - 1, top + 1, known[pipe].period)


def _go_forward(bounds: Reaches, terms: Iterable[Term], pipes: Mapping[str, int], stands_for: StandsFor) -> int:
    """Extend `bounds` by what is computed from pipes, given their reach; return the reach of the last term."""
    tops: dict[Term, float] = {}
    top = 0
    for term in terms:
        arg_tops = [tops.get(arg, 0) for arg in term.args]
        if term.is_var:
            tops[term] = max((pipes.get(pipe, 1) for pipe in stands_for(term.name)), default=0)
        elif term.is_const:
            tops[term] = abs(number_of(term) or 0)
        elif not any(arg.is_const for arg in term.args):
            tops[term] = max(arg_tops, default=0)  # for a sum, smaller numbers give the same cases
        elif term.op in (ops.ADD, ops.XOR, ops.BIT_OR) or (term.op is ops.SUB and isinstance(term.domain, Reals)):
            tops[term] = sum(arg_tops)
        elif term.op is ops.MUL:
            tops[term] = math.prod(arg_tops)
        else:
            tops[term] = arg_tops[0] if term.op in (ops.SUB, ops.DIV) else max(arg_tops)
        top = math.ceil(tops[term])
        if term.op in (ops.ADD, ops.SUB, ops.MUL):
            NumberCoverage(0, top).add_to(bounds.computed, type(term.domain))
    return top


def _pipe_of(flat: Pipeline, variable: str) -> tuple[str, ...]:
    """Return the pipe that a variable of a condition denotes, or is a part of (for records)."""
    while variable and variable not in flat.domains:
        variable = variable.rpartition(".")[0]
    return (variable,) if variable else ()


def _arguments(term: Term, extent: NumberCoverage | None) -> Iterator[tuple[Term, NumberCoverage]]:
    """Yield how far the arguments of an operation must reach for its result."""
    op, args = term.op, term.args
    constant = next(filter(None, map(number_of, args)), None)
    if op in (ops.EVEN, ops.ODD) or (op is ops.MOD and args[1].is_const):
        yield args[0], NumberCoverage(0, 0, math.ceil(abs(constant or 2)))
    elif op is ops.DIV and extent and args[0].is_const:
        yield args[1], NumberCoverage(-1, 1).times(abs(constant or 0) + 1, 1)
    elif op is ops.SUB and extent:
        yield args[0], extent.shift(constant or 0)
        yield args[1], extent.times(-1, extent.period).shift(constant or 0)
    elif op in (ops.ADD, ops.MUL, ops.DIV) and extent and constant:
        shared = math.gcd(extent.period, int(constant)) if op is ops.MUL else 1 if op is ops.ADD else 1 / abs(constant)
        by = {ops.ADD: 1, ops.MUL: 1 / constant, ops.DIV: constant}[op]
        for arg in args:
            yield arg, extent.times(by, extent.period / shared).shift(-constant if op is ops.ADD else 0)
    elif extent and op is not None:
        for arg in args:
            yield arg, extent.shift(1) if op is ops.MOD else extent
