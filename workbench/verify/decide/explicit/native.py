"""The steps of a space as machine code: the function of `expand_function`, for blocks of states.

Terms become LLVM instructions in a fraction of a second, without a compiler in between. Every value is a vector of
`LANES` integers of 64 bits, one for each of as many states that are stepped together. The encoding is that of
compiled pipelines, and a bool is 0 or 1, so that truth is computed like all else. Both sides of a conditional are
computed and one is selected: the code has no jumps. `refuse_large` refuses values that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from llvmlite import binding, ir

from workbench.core.domain import Bool, Integer, Overflowing
from workbench.core.encoding import encode, exact_ends
from workbench.core.fold import Fold
from workbench.core.term import Term, var
from workbench.executors.compiled.code.objects import host_machine, optimise_module
from workbench.executors.compiled.lower.words import never_negative
from workbench.verify.decide.explicit.space import WORD, Space

LANES = 8
NUMBER = ir.IntType(64)
VECTOR = ir.VectorType(NUMBER, LANES)
NUMBERS = ir.PointerType()
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
INSTRUCTIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and_", "or": "or_", "xor": "xor", "bit_and": "and_",
    "bit_or": "or_",
}  # fmt: skip
"""The operators that are one instruction (apart from fitting the result), and their names in llvmlite."""


class MachineCode(NamedTuple):
    """The function `expand` compiled for this machine: its address, and the engine that keeps it alive."""

    expand: int
    engine: Any


def compile_steps(space: Space) -> MachineCode:
    """Compile the function `expand` to machine code.

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
    _write_loops(space, function)
    machine = host_machine()
    parsed = binding.parse_assembly(str(module))
    parsed.verify()
    optimise_module(parsed, machine)
    engine = binding.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return MachineCode(int(engine.get_function_address("expand")), engine)


def _write_loops(space: Space, function: Any) -> None:
    """Write the two loops of `expand`: over states, as many as a vector has lanes together, and over moves.

    Values that depend on the states only are computed before the loop over moves (`early`).
    """
    early, late, layout = ir.IRBuilder(function.append_basic_block()), ir.IRBuilder(), space.layout
    words, stride, count, inputs, moves, after, plane, flags = function.args

    def address(make: Any, array: Any, index: Any) -> Any:
        return make.gep(array, [index], source_etype=NUMBER)

    def step_states(group: Any) -> None:
        j = early.mul(group, number(LANES))
        starts = [early.add(early.mul(number(i), stride), j) for i in range(layout.words)]
        loaded = [early.load(address(early, words, start), align=8, typ=VECTOR) for start in starts]
        state_values = {}
        for variable, (shift, mask, low) in zip(layout.variables, layout.fields, strict=True):
            field = early.lshr(loaded[min(shift // WORD, layout.words - 1)], same(shift % WORD))
            state_values[var(variable.name, variable.domain)] = early.add(early.and_(field, same(mask)), same(low))
        late.position_at_end(early.block)
        loop(late, moves, lambda move: step_move(move, j, state_values))
        early.position_at_end(late.block)

    def step_move(move: Any, j: Any, state_values: dict[Term, Any]) -> None:
        early.position_before(early.block.terminator)
        input_values = {}
        for i, (name, domain) in enumerate(zip(space.moves.names, space.moves.domains, strict=True)):
            index = late.add(late.mul(number(i), moves), move)
            input_values[var(name, domain)] = spread(late, late.load(address(late, inputs, index), typ=NUMBER))
        instructions = Instructions(early, late, state_values | input_values, input_values)
        roots = [*(v.next for v in space.system.variables), *space.seen]
        results = [instructions(root) for root in space.system.inline(tuple(roots))]
        packed = [same(0)] * layout.words
        for value, (shift, mask, low) in zip(results, layout.fields, strict=False):
            if mask:
                field = late.shl(late.sub(value, same(low)), same(shift % WORD))
                packed[shift // WORD] = late.or_(packed[shift // WORD], field)
        k = late.add(late.mul(move, count), j)
        for i, word in enumerate(packed):
            late.store(word, address(late, after, late.add(late.mul(number(i), plane), k)), align=8)
        labels = same(0)
        for bit, label in enumerate(results[len(layout.fields) :]):
            labels = late.or_(labels, late.shl(label, same(bit)))
        late.store(labels, address(late, flags, k), align=8)

    loop(early, early.sdiv(count, number(LANES)), step_states)
    early.ret_void()


class Instructions(Fold[Any]):
    """A translation of terms into instructions.

    Parameters
    ----------
    early, late: the builders; `late` is for what needs one of the variables in `inputs`.
    leaf_values: the values of the variables.
    """

    def __init__(self, early: Any, late: Any, leaf_values: Mapping[Term, Any], inputs: Collection[Term]) -> None:
        super().__init__()
        self.builders = early, late
        self.builder = late
        self.memo.update(leaf_values)
        self.fed = set(inputs)

    def visit(self, term: Term) -> Any:
        if not self.fed.isdisjoint(term.args):
            self.fed.add(term)
        self.builder = self.builders[term in self.fed]
        return super().visit(term)

    def on_const(self, term: Term) -> Any:
        return same(encode(term.domain, term.payload))

    def default(self, term: Term, *args: Any) -> Any:
        if term.op is None:
            return super().default(term)
        name = term.op.name
        if name in INSTRUCTIONS:
            return self._fit(term, self._exact(name, *args))
        if name in COMPARISONS:
            return self.builder.zext(self._compare(COMPARISONS[name], *args), VECTOR)
        return super().default(term, *args)

    def on_escapes(self, term: Term, a: Any, b: Any) -> Any:
        domain = term.args[0].domain
        assert term.op is not None
        assert term.op.escapes_from is not None
        assert isinstance(domain, Integer)
        exact = self._exact(term.op.escapes_from.name, a, b)
        above = self.builder.icmp_unsigned(">", exact, same(domain.hi))  # a negative number is above, too
        return self.builder.zext(above, VECTOR)

    def on_not(self, _: Term, a: Any) -> Any:
        return self.builder.xor(a, same(1))

    def on_implies(self, _: Term, a: Any, b: Any) -> Any:
        return self.builder.or_(self.builder.xor(a, same(1)), b)

    def on_ite(self, term: Term, c: Any, a: Any, b: Any) -> Any:
        make = self.builder
        if isinstance(term.domain, Bool):
            return make.xor(b, make.and_(c, make.xor(a, b)))
        return make.select(self._compare("!=", c, same(0)), a, b)

    def on_min(self, _: Term, a: Any, b: Any) -> Any:
        return self.builder.select(self._compare("<", a, b), a, b)

    def on_max(self, _: Term, a: Any, b: Any) -> Any:
        return self.builder.select(self._compare(">", a, b), a, b)

    def on_even(self, _: Term, a: Any) -> Any:
        return self.builder.xor(self.builder.and_(a, same(1)), same(1))

    def on_odd(self, _: Term, a: Any) -> Any:
        return self.builder.and_(a, same(1))

    def on_cast(self, term: Term, a: Any) -> Any:
        return self._fit(term, a)

    def on_div(self, term: Term, a: Any, b: Any) -> Any:
        zero = self._compare("==", b, same(0))
        quotient, _ = self._divide(term, a, self.builder.select(zero, same(1), b))
        return self._fit(term, self.builder.select(zero, same(0), quotient))

    def on_mod(self, term: Term, a: Any, b: Any) -> Any:
        zero = self._compare("==", b, same(0))
        _, remainder = self._divide(term, a, self.builder.select(zero, same(1), b))
        return self._fit(term, self.builder.select(zero, a, remainder))

    def _exact(self, name: str, a: Any, b: Any) -> Any:
        return getattr(self.builder, INSTRUCTIONS[name])(a, b)

    def _compare(self, sign: str, a: Any, b: Any) -> Any:
        return self.builder.icmp_signed(sign, a, b)

    def _divide(self, term: Term, a: Any, b: Any) -> tuple[Any, Any]:
        if all(map(never_negative, term.args)):
            return self.builder.udiv(a, b), self.builder.urem(a, b)
        return self._divide_floored(a, b)

    def _divide_floored(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return the quotient rounded towards minus infinity, and the remainder with the sign of `b` (not 0)."""
        make = self.builder
        quotient, remainder = make.sdiv(a, b), make.srem(a, b)
        differ = self._compare("<", make.xor(remainder, b), same(0))
        down = make.and_(self._compare("!=", remainder, same(0)), differ)
        return (
            make.select(down, make.sub(quotient, same(1)), quotient),
            make.select(down, make.add(remainder, b), remainder),
        )

    def _fit(self, term: Term, exact: Any) -> Any:
        """Return `term.domain.fit(exact)`."""
        domain = term.domain
        if not isinstance(domain, Integer):
            return exact
        ends = exact_ends(term)
        if ends and min(ends) >= 0 and max(ends) <= domain.hi:
            return exact
        if domain.overflow is not Overflowing.MODULAR:
            return self.on_min(term, self.on_max(term, exact, same(0)), same(domain.hi))
        if domain.n & domain.hi == 0:
            return self.builder.and_(exact, same(domain.hi))
        if ends and min(ends) >= -domain.n and max(ends) < 2 * domain.n:
            return self._once_around(exact, domain.n)
        _, remainder = self._divide_floored(exact, same(domain.n))
        return remainder

    def _once_around(self, exact: Any, n: int) -> Any:
        """Return `exact` modulo n if it lies between -n and 2n - 1: a division costs far more."""
        make = self.builder
        low = make.select(self._compare("<", exact, same(0)), make.add(exact, same(n)), exact)
        return make.select(self._compare(">=", exact, same(n)), make.sub(exact, same(n)), low)


def number(value: int) -> Any:
    """Return a constant."""
    return ir.Constant(NUMBER, value)


def same(value: int) -> Any:
    """Return a constant in every lane."""
    return ir.Constant(VECTOR, [value] * LANES)


def spread(builder: Any, value: Any) -> Any:
    """Return one integer in every lane."""
    first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, number(0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), lanes)


def loop(builder: Any, count: Any, body: Callable[[Any], None]) -> None:
    """Append a loop that runs `body` for 0 .. count - 1; the builder continues after it."""
    before = builder.block
    head, inside, behind = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    turn = builder.phi(NUMBER)
    turn.add_incoming(number(0), before)
    builder.cbranch(builder.icmp_signed("<", turn, count), inside, behind)
    builder.position_at_end(inside)
    body(turn)
    turn.add_incoming(builder.add(turn, number(1)), builder.block)
    builder.branch(head)
    builder.position_at_end(behind)
