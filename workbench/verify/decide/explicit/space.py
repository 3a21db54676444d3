"""State spaces: states packed into words, and the steps out of them.

A state is one integer, a field of bits per variable. A move is one choice of all inputs that the environment's
assumptions allow in some state; an absent input carries the default of its domain, since nothing reads it.
A move that they forbid in a certain state is void there: it leads back to the state, with no label but `void`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workbench.core.domain import BOOL, Domain, Range, Value
from workbench.core.encoding import decode, encode
from workbench.core.evaluate import compile_terms
from workbench.core.fold import variables
from workbench.core.ops import AND, NOT, as_term, conjunction, ite
from workbench.core.term import FALSE, Term, leaves, var
from workbench.errors import Refused
from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.body import input_names, variable_names
from workbench.executors.compiled.code.lowering import Lowering
from workbench.executors.compiled.code.operators import op
from workbench.executors.compiled.code.passes import drop_unused, hoist_invariants, inline_single_uses, run_passes
from workbench.executors.compiled.code.placement import state_var
from workbench.executors.compiled.code.plain import plain_function
from workbench.ir.system import StateVariable, System

MAX_MOVES = 2**16
"""Maximum number of moves per state; beyond it, sets of states (BDDs) are better suited."""
MAX_CASES = 64
"""Maximum number of combinations of values in a state that the assumptions read."""


@dataclass(frozen=True)
class Moves:
    """The choices of the environment.

    Attributes
    ----------
    names: the input leaves.
    chosen: the value of each leaf, per move.
    valuations: per move, the number of ways in which NuSMV can choose the inputs, with any values of absent ones.
    """

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    chosen: tuple[tuple[Value, ...], ...]
    valuations: tuple[int, ...]

    def columns(self) -> list[list[int]]:
        """Return the encoded value of each leaf in each move, per leaf."""
        return [[encode(domain, move[i]) for move in self.chosen] for i, domain in enumerate(self.domains)]

    def values(self, move: int) -> dict[str, Value]:
        """Return the value of each leaf in a move."""
        return dict(zip(self.names, self.chosen[move], strict=True))


def list_moves(system: System, assume: Sequence[Term]) -> Moves:
    """List every move that the assumptions allow in some state, reachable or not.

    Raises
    ------
    Refused: there are too many moves.
    """
    choices, other = [], dict(system.free)
    for source in system.inputs:
        values = {leaf.name: other.pop(leaf.name) for leaf in leaves(source.value) if leaf.name in other}
        present = source.present.name
        choices.append(_Choice(present if other.pop(present, None) is not None else None, values))
    choices += [_Choice(None, {name: domain}) for name, domain in other.items()]  # no events
    count = math.prod(each.count for each in choices)
    if count > MAX_MOVES:
        raise Refused(f"a state has {count} choices of inputs; more than {MAX_MOVES} are too many to try one by one")
    allowed = _find_allowed(system, assume)
    moves, valuations = [], []
    for options in itertools.product(*(each.options() for each in choices)):
        assignment = {name: value for values, _ in options for name, value in values.items()}
        move = tuple(assignment[name] for name in system.free)
        if allowed(move):
            moves.append(move)
            valuations.append(math.prod(weight for _, weight in options))
    return Moves(tuple(system.free), tuple(system.free.values()), tuple(moves), tuple(valuations))


def _find_allowed(system: System, assume: Sequence[Term]) -> Callable[[tuple[Value, ...]], bool]:
    """Return a test whether a move is allowed in some state, by the values there that the assumptions read.

    Assumptions about definitions, which each step makes anew, forbid none here: they make moves void where they fail.
    """
    definition_names = {definition.name for definition in system.definitions}
    assume = [each for each in assume if not definition_names & variables([each]).keys()]
    inputs = [var(name, domain) for name, domain in system.free.items()]
    looked_at = {name: domain for name, domain in variables(assume).items() if name not in system.free}
    unknown = looked_at.keys() - {variable.name for variable in system.variables}
    cases = math.prod(domain.size or MAX_CASES + 1 for domain in looked_at.values())
    if unknown or cases > MAX_CASES:
        raise Refused(f"the possible events depend on too many variables: {', '.join(looked_at)}")
    states = [var(name, domain) for name, domain in looked_at.items()]
    condition: Any = compile_terms([as_term(conjunction(assume), BOOL)], [*inputs, *states])
    choices = list(itertools.product(*(list(domain.values()) for domain in looked_at.values())))
    return lambda move: any(condition(*move, *case)[0] for case in choices)


class _Choice:
    """One choice of the environment: whether an event is `present`, if that is read, and the values of leaves."""

    def __init__(self, present: str | None, values: Mapping[str, Domain]) -> None:
        self.present, self.values = present, values
        self.size = math.prod(domain.size or MAX_MOVES + 1 for domain in values.values())
        self.count = self.size + (present is not None)

    def options(self) -> Iterator[tuple[dict[str, Value], int]]:
        """Yield each option, and the number of valuations that it stands for."""
        there = {} if self.present is None else {self.present: True}
        if self.present is not None:
            absent = {name: domain.default for name, domain in self.values.items()}
            yield {self.present: False, **absent}, self.size
        for combination in itertools.product(*(domain.values() for domain in self.values.values())):
            yield there | dict(zip(self.values, combination, strict=True)), 1


WORD = 64
"""Bits of a machine word."""


class StateLayout:
    """The layout of variables in a packed state. No field crosses the border between two machine words."""

    def __init__(self, stored: Sequence[StateVariable]) -> None:
        self.variables = tuple(stored)
        self.fields: list[tuple[int, int, int]] = []
        """Per variable: shift, mask, and the number that is stored as 0."""
        self.bits = 0
        for variable in self.variables:
            width = ((variable.domain.size or 1) - 1).bit_length()
            if self.bits % WORD + width > WORD:
                self.bits = -(-self.bits // WORD) * WORD
            self.fields.append((self.bits, (1 << width) - 1, _lowest(variable.domain)))
            self.bits += width

    @property
    def words(self) -> int:
        """The number of machine words of a state."""
        return max(1, math.ceil(self.bits / WORD))

    def pack(self, values: Sequence[Value]) -> int:
        """Pack the values of a state into a number."""
        word = 0
        for variable, value, (shift, _, low) in zip(self.variables, values, self.fields, strict=True):
            word |= (encode(variable.domain, value) - low) << shift
        return word

    def unpack(self, word: int) -> dict[str, Value]:
        """Return the value of each variable in a state."""
        return {
            variable.name: decode(variable.domain, (word >> shift & mask) + low)
            for variable, (shift, mask, low) in zip(self.variables, self.fields, strict=True)
        }


class Space:
    """A system prepared for exploration.

    Parameters
    ----------
    assume: conditions on the inputs that hold at every step.
    labels: terms to evaluate in each step.

    Attributes
    ----------
    void: the number of the label of void steps; there are `labels` others before it.

    Raises
    ------
    Refused: a state has too many moves, or the system has no code (`code.lowering`).
    """

    def __init__(self, system: System, assume: Sequence[Term], labels: Sequence[Term]) -> None:
        self.labels = self.void = len(labels)
        self.moves = list_moves(system, assume)
        changing = [a for a in assume if not variables([a]).keys() <= system.free.keys()]
        void: Term = NOT(as_term(conjunction(changing), BOOL)) if changing else FALSE
        stays = [v._replace(next=ite(void, var(v.name, v.domain), v.next)) for v in system.variables]
        self.system = replace(system, variables=tuple(stays))
        self.seen = (*(AND(as_term(label, BOOL), NOT(void)) for label in labels), void)
        self.layout = StateLayout(system.variables)
        self.initial = self.layout.pack([v.initial for v in system.variables])
        self.code = expand_function(self)
        """The steps as a function, which `steps` compiles to plain Python."""

    @cached_property
    def steps(self) -> Callable[[int], list[tuple[int, int]]]:
        """A function that gives, for a state, the next state and the labels (one bit each) per move; in Python."""
        expand, columns, count = plain_function(self.code), self.moves.columns(), len(self.moves.chosen)
        after, flags = [0] * count, [0] * count

        def steps(word: int) -> list[tuple[int, int]]:
            expand(*columns, word, after, flags)
            return list(zip(after, flags, strict=True))

        return steps

    def move(self, word: int, after: int, labels: int | None = None) -> int:
        """Return the first move from one state to another that is not void; with exactly these labels, if given."""
        return next(
            move
            for move, (successor, flags) in enumerate(self.steps(word))
            if successor == after and not flags >> self.void & 1 and labels in (None, flags)
        )


def expand_function(space: Space) -> ir.CodeFunction:
    """Build `expand(inputs..., w, after, flags)`: for each move the state after w, and the labels, one bit each.

    `inputs` has an array per leaf, with an entry per move; `after` and `flags` are filled.
    """
    system, moves = space.system, space.moves
    move, word = ir.number("m"), ir.number("w")
    columns = [ir.array(f"column{i}", ir.INTEGER) for i in range(len(moves.names))]
    after, flags = ir.array("after", ir.INTEGER), ir.array("flags", ir.INTEGER)
    state = [state_var(i, v) for i, v in enumerate(system.variables)]
    names, inputs = variable_names(system), input_names(system)
    lets = [
        ir.Let(
            each.name,
            _read(op("bit_and", op("shift_right", word, ir.integer(shift)), ir.integer(mask)), variable.domain, low),
        )
        for each, variable, (shift, mask, low) in zip(state, system.variables, space.layout.fields, strict=True)
    ]
    arrivals = [
        ir.Let(name.name, _read(ir.Load(column, (move,)), domain, 0))
        for name, column, domain in zip(inputs.values(), columns, moves.domains, strict=True)
    ]
    lowering = Lowering({**names, **inputs})
    roots = system.inline((*(v.next for v in system.variables), *space.seen))
    values = [_whole(lowering(root)) for root in roots]
    count = len(system.variables)
    packed = [
        op("shift_left", op("sub", value, ir.integer(low)) if low else value, ir.integer(shift))
        for value, (shift, mask, low) in zip(values, space.layout.fields, strict=False)
        if mask
    ]
    label_bits = [
        op("shift_left", label, ir.integer(bit)) for bit, label in enumerate(values[count:]) if label != ir.integer(0)
    ]
    stores = (
        ir.Store(ir.Load(after, (move,)), _join_fields(packed)),
        ir.Store(ir.Load(flags, (move,)), _join_fields(label_bits)),
    )
    loop = ir.For(move.name, ir.integer(0), ir.integer(len(moves.chosen)), (*arrivals, *lowering.block, *stores))
    function = ir.CodeFunction("expand", (*columns, word, after, flags), (*lets, loop))
    return run_passes(function, [hoist_invariants, drop_unused, inline_single_uses])


def _join_fields(fields: Sequence[ir.Expr]) -> ir.Expr:
    """Join the bits of all fields in a balanced expression: Python refuses source that is nested 200 deep."""
    if len(fields) < 2:
        return fields[0] if fields else ir.integer(0)
    middle = len(fields) // 2
    return op("bit_or", _join_fields(fields[:middle]), _join_fields(fields[middle:]))


def _whole(value: ir.Expr) -> ir.Expr:
    if isinstance(value, ir.Const):
        return ir.integer(int(value.value))
    return op("word", value) if value.type == ir.BOOLEAN else value


def _read(field: ir.Expr, domain: Domain, low: int) -> ir.Expr:
    if domain == BOOL:
        return op("truth", field)
    return op("add", field, ir.integer(low)) if low else field


def _lowest(domain: Domain) -> int:
    return domain.lo if isinstance(domain, Range) else 0
