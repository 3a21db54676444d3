"""The steps of a space as machine code: what `expand_function` says in Python, for blocks of states."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from workbench.core.term import Term, var
from workbench.executors.compiled.code.llvm import (
    LANES,
    NUMBER,
    VECTOR,
    Instructions,
    MachineCode,
    loop,
    number,
    same,
    spread,
)
from workbench.verify.decide.explicit.space import WORD, Space

NUMBERS = ir.PointerType()


def compile_steps(space: Space) -> MachineCode:
    """Machine code with the function `expand`.

    `expand(words, stride, count, inputs, moves, after, plane, flags)` takes a block of `count` states, a multiple of
    `LANES`, whose words lie `stride` apart, through every move. For move m of state j it writes the next state to
    `after`, its words `plane` apart, and the labels to `flags`, at m * count + j. `inputs` has the values of each leaf,
    one move after the other.
    """
    module = ir.Module("step")
    kinds = [NUMBERS, NUMBER, NUMBER, NUMBERS, NUMBER, NUMBERS, NUMBER, NUMBERS]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), "expand")
    for argument in function.args:
        if argument.type is NUMBERS:
            argument.add_attribute("noalias")
    _Body(space, function).write()
    return MachineCode(module)


class _Body:
    """The two loops of `expand`: over states, as many as a vector has lanes together, and over moves."""

    def __init__(self, space: Space, function: Any) -> None:
        self.space = space
        self.early, self.late = ir.IRBuilder(function.append_basic_block()), ir.IRBuilder()
        self.words, self.stride, self.count, self.inputs, self.moves, self.after, self.plane, self.flags = function.args

    def write(self) -> None:
        """All of it."""
        loop(self.early, self.early.sdiv(self.count, number(LANES)), self._states)
        self.early.ret_void()

    def _states(self, group: Any) -> None:
        """What needs the states only is computed before the loop over moves."""
        make, layout = self.early, self.space.layout
        j = make.mul(group, number(LANES))
        starts = [make.add(make.mul(number(i), self.stride), j) for i in range(layout.words)]
        words = [make.load(self._place(make, self.words, start), align=8, typ=VECTOR) for start in starts]
        given = {}
        for variable, (shift, mask, low) in zip(layout.variables, layout.fields, strict=True):
            field = make.lshr(words[min(shift // WORD, layout.words - 1)], same(shift % WORD))
            given[var(variable.name, variable.domain)] = make.add(make.and_(field, same(mask)), same(low))
        self.late.position_at_end(make.block)
        loop(self.late, self.moves, lambda move: self._move(move, j, given))
        make.position_at_end(self.late.block)

    def _move(self, move: Any, j: Any, given: dict[Term, Any]) -> None:
        make, layout = self.late, self.space.layout
        self.early.position_before(self.early.block.terminator)
        chosen = {}
        for i, (name, domain) in enumerate(zip(self.space.moves.names, self.space.moves.domains, strict=True)):
            place = make.add(make.mul(number(i), self.moves), move)
            chosen[var(name, domain)] = spread(make, make.load(self._place(make, self.inputs, place), typ=NUMBER))
        instructions = Instructions(self.early, make, given | chosen, chosen)
        roots = [*(v.next for v in self.space.system.variables), *self.space.seen]
        results = [instructions(root) for root in self.space.system.inlined(tuple(roots))]
        packed = [same(0)] * layout.words
        for value, (shift, mask, low) in zip(results, layout.fields, strict=False):
            if mask:
                field = make.shl(make.sub(value, same(low)), same(shift % WORD))
                packed[shift // WORD] = make.or_(packed[shift // WORD], field)
        k = make.add(make.mul(move, self.count), j)
        for i, word in enumerate(packed):
            place = self._place(make, self.after, make.add(make.mul(number(i), self.plane), k))
            make.store(word, place, align=8)
        flags = same(0)
        for bit, label in enumerate(results[len(layout.fields) :]):
            flags = make.or_(flags, make.shl(label, same(bit)))
        make.store(flags, self._place(make, self.flags, k), align=8)

    def _place(self, make: Any, array: Any, index: Any) -> Any:
        return make.gep(array, [index], source_etype=NUMBER)
