"""What is explored: states packed into words, and the steps out of them.

A state is one integer, a field of bits per variable. A move is one choice of all inputs that the environment's
assumptions allow in some state; an input that is absent carries the default of its domain, since nothing looks at it.
A move that they do not allow in a certain state is void there: it leads back to the state, with no label but `void`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from workbench.core.domain import BOOL, Domain, Range, Value
from workbench.core.fold import variables
from workbench.core.ops import AND, NOT, as_term, conjunction, ite
from workbench.core.term import FALSE, Term, var
from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.body import input_names, variable_names
from workbench.executors.compiled.code.lowering import Lowering
from workbench.executors.compiled.code.numbers import decode, encode
from workbench.executors.compiled.code.operators import op
from workbench.executors.compiled.code.passes import drop_unused, hoist_invariants, inline_single_uses, run_passes
from workbench.executors.compiled.code.placement import state_var
from workbench.executors.compiled.code.plain import plain_function
from workbench.ir.system import StateVariable, System
from workbench.verify.decide.explicit.moves import list_moves

WORD = 64
"""Bits of a word of the machine."""


class StateLayout:
    """Where each variable lies in a packed state. No field crosses the border between two words of the machine."""

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
        """How many words of the machine a state takes."""
        return max(1, math.ceil(self.bits / WORD))

    def pack(self, values: Sequence[Value]) -> int:
        """The number of a state."""
        word = 0
        for variable, value, (shift, _, low) in zip(self.variables, values, self.fields, strict=True):
            word |= (encode(variable.domain, value) - low) << shift
        return word

    def unpack(self, word: int) -> dict[str, Value]:
        """The value of each variable in a state."""
        return {
            variable.name: decode(variable.domain, (word >> shift & mask) + low)
            for variable, (shift, mask, low) in zip(self.variables, self.fields, strict=True)
        }


class Space:
    """A system, ready to be explored.

    Parameters
    ----------
    assume: conditions on the inputs that hold at every step.
    labels: terms to look at in each step.

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
        """The steps in plain Python."""

    @cached_property
    def steps(self) -> Callable[[int], list[tuple[int, int]]]:
        """Given a state: per move, the next state and the labels, one bit each; in plain Python."""
        expand, columns, count = plain_function(self.code), self.moves.columns(), len(self.moves.chosen)
        after, flags = [0] * count, [0] * count

        def steps(word: int) -> list[tuple[int, int]]:
            expand(*columns, word, after, flags)
            return list(zip(after, flags, strict=True))

        return steps

    def move(self, word: int, after: int, labels: int | None = None) -> int:
        """The first move from one state to another that is not void; with exactly these labels, if they are given."""
        return next(
            move
            for move, (found, flags) in enumerate(self.steps(word))
            if found == after and not flags >> self.void & 1 and labels in (None, flags)
        )


def expand_function(space: Space) -> ir.CodeFunction:
    """`expand(inputs..., w, after, flags)`: for each move the state after w, and the labels, one bit each.

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
            _read(op("bits", op("shift_right", word, ir.integer(shift)), ir.integer(mask)), variable.domain, low),
        )
        for each, variable, (shift, mask, low) in zip(state, system.variables, space.layout.fields, strict=True)
    ]
    arrivals = [
        ir.Let(name.name, _read(ir.Load(column, (move,)), domain, 0))
        for name, column, domain in zip(inputs.values(), columns, moves.domains, strict=True)
    ]
    lowering = Lowering({**names, **inputs})
    roots = system.inlined((*(v.next for v in system.variables), *space.seen))
    values = [_whole(lowering(root)) for root in roots]
    count = len(system.variables)
    packed = [
        op("shift_left", op("sub", value, ir.integer(low)) if low else value, ir.integer(shift))
        for value, (shift, mask, low) in zip(values, space.layout.fields, strict=False)
        if mask
    ]
    seen = [
        op("shift_left", label, ir.integer(bit)) for bit, label in enumerate(values[count:]) if label != ir.integer(0)
    ]
    stores = (ir.Store(ir.Load(after, (move,)), _joined(packed)), ir.Store(ir.Load(flags, (move,)), _joined(seen)))
    loop = ir.For(move.name, ir.integer(0), ir.integer(len(moves.chosen)), (*arrivals, *lowering.block, *stores))
    function = ir.CodeFunction("expand", (*columns, word, after, flags), (*lets, loop))
    return run_passes(function, [hoist_invariants, drop_unused, inline_single_uses])


def _joined(fields: Sequence[ir.Expr]) -> ir.Expr:
    """The bits of all fields, as a balanced expression: Python refuses source that is nested 200 deep."""
    if len(fields) < 2:
        return fields[0] if fields else ir.integer(0)
    middle = len(fields) // 2
    return op("join", _joined(fields[:middle]), _joined(fields[middle:]))


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
