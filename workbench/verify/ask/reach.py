"""How far the numbers of a pipeline must reach, so that what it compares can come out both ways.

The rule of this module: it goes from the comparisons back to the inputs. Beyond its reach, whether a number makes a
comparison true depends at most on its remainder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import fields
from functools import partial
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


class NumberReach(NamedTuple):
    """The numbers that tell all cases: `low` to `high`, and as many beyond as there are remainders by `period`."""

    low: int
    high: int
    period: int = 1

    @property
    def top(self) -> int:
        """The largest of them; of remainders alone, with no constant between `low` and `high`, one less tells all."""
        return max(self.high, 0) + (self.period - (self.low == self.high) if self.period > 1 else 0)

    @property
    def whole(self) -> NumberReach:
        """The same numbers, told apart."""
        return NumberReach(self.low, self.top)

    def moved(self, by: float) -> NumberReach:
        """These numbers and a constant."""
        return NumberReach(math.floor(self.low + by), math.ceil(self.high + by), self.period)

    def times(self, by: float, period: float) -> NumberReach:
        """These numbers times a constant, which turns them round where it is negative."""
        low, high = sorted((self.low * by, self.high * by))
        return NumberReach(math.floor(low), math.ceil(high), max(1, math.ceil(period)))

    def add_to(self, found: dict[K, NumberReach], key: K) -> None:
        """Have `found` tell the cases of both, these and those that it knows."""
        low, high, period = found.get(key, self)
        found[key] = NumberReach(min(low, self.low), max(high, self.high), math.lcm(period, self.period))


class ConstantComparison(NamedTuple):
    """A comparison with a constant, the constant on the right, and what is compared."""

    symbol: str
    constant: float
    operand: Term

    @property
    def needs(self) -> NumberReach:
        """The least and the greatest whole number, from 0 on or below the constant, of which it says both."""
        least = math.floor(self.constant) if self.symbol in (">", "<=") else math.ceil(self.constant) - 1
        return NumberReach(least, least + 1)

    def settled(self, low: float, high: float) -> bool | None:
        """What it always says of the whole numbers from `low` to `high`; None where it says both."""
        below, above, _ = self.needs
        if self.symbol in ("=", "!="):
            return None if low <= self.constant <= high and above == self.constant else self.symbol == "!="
        return None if low <= below and above <= high else (low > below) == (self.symbol in (">", ">="))


def terms_in(body: Any) -> list[Term]:
    """The terms of a value, arguments first."""
    return list(postorder([leaf for leaf in leaves(body) if isinstance(leaf, Term)]))


def comparisons_in(terms: Iterable[Term]) -> Iterator[ConstantComparison]:
    """The comparisons with numbers among terms."""
    for term in terms:
        if term.op is not None and term.op.holds:
            for symbol, one, other in zip((term.op.symbol, term.op.mirror), term.args, term.args[::-1], strict=True):
                constant = number_of(other)
                if constant is not None and not one.is_const:
                    yield ConstantComparison(symbol, constant, one)


def number_of(term: Term) -> int | float | None:
    """The finite number that a term is, if it is one."""
    found = term.payload if term.is_const and type(term.payload) in (int, float) else math.inf
    return found if math.isfinite(found) else None


def bodies_in(item: object) -> Iterator[Any]:
    """The bodies of the functions in a typed processor, or in a part of one."""
    if isinstance(item, TypedFunction):
        yield item.body
    elif isinstance(item, Processor | Transition | tuple):
        for part in item if isinstance(item, tuple) else [getattr(item, field.name) for field in fields(item)]:
            yield from bodies_in(part)


def inputs_of(node: Node, variable: str) -> tuple[str, ...]:
    """The pipes whose values a variable of a function of a processor may be."""
    applied = isinstance(node.processor, ApplyFunction)
    return (node.inputs[int(variable[1:].partition(".")[0])],) if applied else node.inputs


Reaches = tuple[dict[str, NumberReach], dict[type[Domain], NumberReach]]
"""How far numbers must reach: by pipe, and by type with all that is computed."""


def reaches(flat: Pipeline, conditions: Iterable[Term] = (), cone: Container[str] | None = None) -> Reaches:
    """How far numbers must reach for `conditions` over pipes, and the nodes of a cone, or all of them."""
    pipes: dict[str, NumberReach] = {}
    spans: dict[type[Domain], NumberReach] = {}

    def go_back(body: Any, wanted: Iterable[NumberReach], stands_for: Callable[[str], Iterable[str]]) -> None:
        needs: dict[Term, NumberReach] = {}
        terms = terms_in(body)
        for reach in wanted:
            for leaf in leaves(body):
                reach.add_to(needs, leaf)
        for each in comparisons_in(terms):
            each.needs.add_to(needs, each.operand)
        for term in terms[::-1]:
            for arg, reach in _arguments(term, needs.get(term)):
                if not arg.is_const and arg.domain.numeric:
                    reach.add_to(needs, arg)
            for span in _computed(term, needs):
                span.whole.add_to(spans, type(term.domain))
            for pipe in stands_for(term.name) if term.is_var and term in needs else ():
                needs[term].add_to(pipes, pipe)

    for term in conditions:
        go_back(term, (), partial(_pipe_of, flat))
    for node in [node for node in flat.nodes[::-1] if cone is None or node.name in cone]:
        wanted = [pipes[pipe] for pipe in node.outputs if pipe in pipes]
        for body in bodies_in(flat.typed[node.name]):
            go_back(body, wanted, partial(inputs_of, node))
        for pipe in () if isinstance(node.processor, ApplyFunction) else node.inputs:
            for reach in wanted if any(part.numeric for part in within(flat.domains[pipe])) else ():
                reach.add_to(pipes, pipe)
    for pipe, reach in pipes.items():
        for part in within(flat.domains[pipe]):
            reach.whole.add_to(spans, type(part))
    return pipes, spans


def _pipe_of(flat: Pipeline, variable: str) -> tuple[str, ...]:
    """The pipe that a variable of a condition is, or is a part of, as of records."""
    while variable and variable not in flat.domains:
        variable = variable.rpartition(".")[0]
    return (variable,) if variable else ()


def _computed(term: Term, needs: dict[Term, NumberReach]) -> Iterator[NumberReach]:
    """The numbers that a term must be able to be: as needed, and what they come from makes of a constant."""
    if term in needs and not term.is_var:
        yield needs[term]
    real = isinstance(term.domain, Reals)
    compared = any(arg.is_const for arg in term.args) and (real or any(arg in needs for arg in term.args))
    if compared and term.op in (ops.ADD, ops.SUB, ops.MUL):
        tops = [needs[arg].top if arg in needs else abs(number_of(arg) or real) for arg in term.args]
        far = math.prod(tops) if term.op is ops.MUL else sum(tops) if real or term.op is ops.ADD else 0
        yield NumberReach(0, math.ceil(far))


def _arguments(term: Term, reach: NumberReach | None) -> Iterator[tuple[Term, NumberReach]]:
    """How far the arguments of an operation must reach, so that its result does."""
    op, args = term.op, term.args
    constant = next(filter(None, map(number_of, args)), None)
    if op in (ops.EVEN, ops.ODD) or (op is ops.MOD and args[1].is_const):
        yield args[0], NumberReach(0, 0, math.ceil(abs(constant or 2)))
    elif op is ops.DIV and reach and args[0].is_const:
        yield args[1], NumberReach(-1, 1).times(abs(constant or 0) + 1, 1)
    elif op is ops.SUB and reach:
        yield args[0], reach.moved(constant or 0)
        yield args[1], reach.times(-1, reach.period).moved(constant or 0)
    elif op in (ops.ADD, ops.MUL, ops.DIV) and reach and constant:
        shared = math.gcd(reach.period, int(constant)) if op is ops.MUL else 1 if op is ops.ADD else 1 / abs(constant)
        by = {ops.ADD: 1, ops.MUL: 1 / constant, ops.DIV: constant}[op]
        for arg in args:
            yield arg, reach.times(by, reach.period / shared).moved(-constant if op is ops.ADD else 0)
    elif reach and op is not None:
        for arg in args:
            yield arg, reach.moved(1) if op is ops.MOD else reach
