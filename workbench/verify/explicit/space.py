"""What is explored: states packed into words, the moves of the environment, and the code that expands states.

A state is one integer, a field of bits per variable. A move is one choice of all inputs that the environment's
assumptions allow; an input that is absent carries the default of its domain, since nothing looks at it. The
generated `expand` is one source for both searches: plain Python on lists, and compiled on arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.backends.compiled import StepCode, decode, encode, step_code
from workbench.core.domain import BOOL, Domain, Range, Value
from workbench.core.evaluate import compile_terms
from workbench.core.fold import variables
from workbench.core.ops import as_term, conjunction
from workbench.core.term import Term, leaves, var
from workbench.errors import Refused
from workbench.ir.system import Input, System, Variable

MOST_MOVES = 2**16
"""Most moves per state; with more of them, sets of states (BDDs) are the better means."""


class Layout:
    """Where each variable lies in a packed state."""

    def __init__(self, stored: Sequence[Variable]) -> None:
        self.variables = tuple(stored)
        self.fields: list[tuple[int, int, int]] = []
        """Per variable: shift, mask, and the number that is stored as 0."""
        self.bits = 0
        for variable in self.variables:
            width = ((variable.domain.size or 1) - 1).bit_length()
            self.fields.append((self.bits, (1 << width) - 1, _lowest(variable.domain)))
            self.bits += width

    def pack(self, values: Sequence[Value]) -> int:
        """The word of a state."""
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


@dataclass(frozen=True)
class Moves:
    """The choices of the environment.

    Attributes
    ----------
    names: the input leaves.
    chosen: per move, the value of each leaf.
    valuations: per move, how many ways to choose the inputs it stands for: NuSMV counts the values of absent ones, too.
    """

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    chosen: tuple[tuple[Value, ...], ...]
    valuations: tuple[int, ...]

    def columns(self) -> list[list[int]]:
        """Per leaf, its number in each move."""
        return [[encode(domain, move[i]) for move in self.chosen] for i, domain in enumerate(self.domains)]

    def values(self, move: int) -> dict[str, Value]:
        """The value of each leaf in a move."""
        return dict(zip(self.names, self.chosen[move], strict=True))


class Space:
    """A system, ready to be explored.

    Parameters
    ----------
    assume: conditions on the inputs that hold at every step.
    labels: terms to look at in each step.

    Raises
    ------
    Refused: a state has too many moves, or the system has no code (`step_code`).

    What is assumed may depend on the state (that streams have ended, that an event waits). A move that is not allowed
    in a state is taken for one that changes nothing and has no label but `barred`, a last one.
    """

    def __init__(self, system: System, assume: Sequence[Term], labels: Sequence[Term]) -> None:
        self.layout = Layout(system.variables)
        given = [term for term in assume if all(name in system.free for name in variables([term]))]
        sometimes = [term for term in assume if term not in given]
        self.moves = moves(system, given)
        self.labels = len(labels)
        self.initial = self.layout.pack([v.initial for v in system.variables])
        code = step_code(system, [*labels, as_term(conjunction(sometimes), BOOL)])
        self.barred = 1 << self.labels
        """The flag of a move that is not allowed."""
        self.steady = code.labels[-1] == "True"
        """Whether every move is allowed in every state."""
        self.source = expand_source(self.layout, code, self.moves)


def moves(system: System, assume: Sequence[Term]) -> Moves:
    """Every move that the assumptions, which are about inputs alone, allow."""
    leaves_of: list[_Leaves | _Other] = [_Leaves(source, system.free) for source in system.inputs]
    covered = {leaf.name for source in system.inputs for leaf in leaves((source.present, source.value))}
    leaves_of += [_Other(name, domain) for name, domain in system.free.items() if name not in covered]
    count = math.prod(each.count for each in leaves_of)
    if count > MOST_MOVES:
        raise Refused(f"a state has {count} choices of inputs; more than {MOST_MOVES} are too many to try one by one")
    symbols = [var(name, domain) for name, domain in system.free.items()]
    allowed = compile_terms([as_term(conjunction(assume), BOOL)], symbols)
    chosen, valuations = [], []
    for options in itertools.product(*(each.options() for each in leaves_of)):
        given = {name: value for values, _ in options for name, value in values.items()}
        move = tuple(given[name] for name in system.free)
        if allowed(*move)[0]:
            chosen.append(move)
            valuations.append(math.prod(weight for _, weight in options))
    return Moves(tuple(system.free), tuple(system.free.values()), tuple(chosen), tuple(valuations))


class _Other:
    """A choice of the environment that is no event: each value stands for itself."""

    def __init__(self, name: str, domain: Domain) -> None:
        self.name, self.domain = name, domain
        self.count = domain.size or MOST_MOVES + 1

    def options(self) -> Iterator[tuple[dict[str, Value], int]]:
        """Each choice, and the number of valuations that it stands for."""
        return (({self.name: value}, 1) for value in self.domain.values())


class _Leaves:
    """The leaves of one input that the system looks at."""

    def __init__(self, source: Input, free: Mapping[str, Domain]) -> None:
        self.present = source.present.name if source.present.name in free else None
        names = [leaf.name for leaf in leaves(source.value) if leaf.name in free]
        self.values = {name: free[name] for name in names}
        self.size = math.prod(domain.size or MOST_MOVES + 1 for domain in self.values.values())
        self.count = self.size + (self.present is not None)

    def options(self) -> Iterator[tuple[dict[str, Value], int]]:
        """Each choice, and the number of valuations that it stands for."""
        there = {} if self.present is None else {self.present: True}
        if self.present is not None:
            absent = {name: domain.default for name, domain in self.values.items()}
            yield {self.present: False, **absent}, self.size
        for chosen in itertools.product(*(domain.values() for domain in self.values.values())):
            yield there | dict(zip(self.values, chosen, strict=True)), 1


def expand_source(layout: Layout, code: StepCode, moves: Moves) -> str:
    """Source of `expand(words, count, inputs, after, flags)`.

    It writes, for the first `count` states in `words` and each of the moves in turn, the next state to `after`
    and the labels, one bit each, to `flags`. `inputs` has a column per leaf. The last label of the code says whether
    the move is allowed.
    """
    lines = ["def expand(words, count, inputs, after, flags):", "    k = 0"]
    lines += [f"    column{i} = inputs[{i}]" for i in range(len(code.inputs))]
    lines += ["    for j in range(count):", "        w = words[j]"]
    fields = zip(code.state, layout.variables, layout.fields, strict=True)
    for name, variable, (shift, mask, low) in fields:
        lines.append(f"        {name} = {_read(f'(w >> {shift} & {mask})', variable.domain, low)}")
    lines += [f"        {line}" for line in code.early]
    lines.append(f"        for m in range({len(moves.chosen)}):")
    for i, (name, domain) in enumerate(zip(code.inputs, moves.domains, strict=True)):
        lines.append(f"            {name} = {_read(f'column{i}[m]', domain, 0)}")
    lines += [f"            {line}" for line in code.late]
    packed = [
        f"(int({value}){f' - {low}' if low else ''}) << {shift}"
        for value, (shift, mask, low) in zip(code.after, layout.fields, strict=True)
        if mask
    ]
    *labels, allowed = code.labels
    flags = [f"int({label}) << {bit}" for bit, label in enumerate(labels) if label != "False"]
    after, seen = " | ".join(packed) or "0", " | ".join(flags) or "0"
    if allowed != "True":
        after, seen = f"{after} if {allowed} else w", f"{seen} if {allowed} else {1 << len(labels)}"
    lines.append(f"            after[k] = {after}")
    lines.append(f"            flags[k] = {seen}")
    lines.append("            k += 1")
    return "\n".join(lines) + "\n"


def _read(field: str, domain: Domain, low: int) -> str:
    if domain == BOOL:
        return f"{field} != 0"
    return f"{field} + {low}" if low else field


def _lowest(domain: Domain) -> int:
    return domain.lo if isinstance(domain, Range) else 0
