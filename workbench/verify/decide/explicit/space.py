"""What is explored: states packed into words, and the steps out of them.

A state is one integer, a field of bits per variable. A move is one choice of all inputs that the environment's
assumptions allow in some state; an input that is absent carries the default of its domain, since nothing looks at it.
A move that they do not allow in a certain state is void there: it leads back to the state, with no label but `void`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from workbench.core.domain import BOOL, Domain, Range, Value
from workbench.core.fold import variables
from workbench.core.ops import AND, NOT, as_term, conjunction, ite
from workbench.core.term import FALSE, Term, var
from workbench.executors.compiled.code.step import StepCode, decode, encode, step_code
from workbench.ir.system import StateVariable, System
from workbench.verify.decide.explicit.moves import Moves, list_moves

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
    Refused: a state has too many moves, or the system has no code (`step_code`).
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
        self.code = step_code(self.system, self.seen)

    @cached_property
    def steps(self) -> Callable[[int], list[tuple[int, int]]]:
        """Given a state: per move, the next state and the labels, one bit each; in plain Python."""
        scope: dict[str, Any] = {}
        exec(compile(expand_source(self.layout, self.code, self.moves), "<step>", "exec"), scope)
        return partial(scope["expand"], self.moves.columns())

    def move(self, word: int, after: int, labels: int | None = None) -> int:
        """The first move from one state to another that is not void; with exactly these labels, if they are given."""
        return next(
            move
            for move, (found, flags) in enumerate(self.steps(word))
            if found == after and not flags >> self.void & 1 and labels in (None, flags)
        )


def expand_source(layout: StateLayout, code: StepCode, moves: Moves) -> str:
    """Source of `expand(inputs, w)`: per move, the state after w and the labels, one bit each.

    `inputs` has a column per leaf.
    """
    lines = ["def expand(inputs, w):", "    steps = []"]
    lines += [f"    column{i} = inputs[{i}]" for i in range(len(code.inputs))]
    fields = zip(code.state, layout.variables, layout.fields, strict=True)
    for name, variable, (shift, mask, low) in fields:
        lines.append(f"    {name} = {_read(f'(w >> {shift} & {mask})', variable.domain, low)}")
    lines += [f"    {line}" for line in code.early]
    lines.append(f"    for m in range({len(moves.chosen)}):")
    for i, (name, domain) in enumerate(zip(code.inputs, moves.domains, strict=True)):
        lines.append(f"        {name} = {_read(f'column{i}[m]', domain, 0)}")
    lines += [f"        {line}" for line in code.late]
    packed = [
        f"(int({value}){f' - {low}' if low else ''}) << {shift}"
        for value, (shift, mask, low) in zip(code.after, layout.fields, strict=True)
        if mask
    ]
    flags = [f"int({label}) << {bit}" for bit, label in enumerate(code.labels) if label != "False"]
    lines.append(f"        steps.append(({' | '.join(packed) or 0}, {' | '.join(flags) or 0}))")
    return "\n".join((*lines, "    return steps", ""))


def _read(field: str, domain: Domain, low: int) -> str:
    if domain == BOOL:
        return f"{field} != 0"
    return f"{field} + {low}" if low else field


def _lowest(domain: Domain) -> int:
    return domain.lo if isinstance(domain, Range) else 0
