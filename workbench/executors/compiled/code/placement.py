"""The storage of a loop's state, and the code around its steps: one state, a row per key, or a column per trace.

The rule of this module: all placements get the same parts of a loop; nothing else depends on the placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from workbench.core.domain import BOOL, Reals
from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.operators import add, op
from workbench.executors.compiled.code.passes import EARLIER
from workbench.executors.compiled.lower.shape import Shape
from workbench.ir.system import StateVariable

FIRST, LAST, STEP, BAD = *map(ir.number, ("first", "last", "i")), ir.Var("bad", ir.BOOLEAN)
WHOLE, REAL, COUNTS = (
    ir.array("whole", ir.INTEGER),
    ir.array("real", ir.FLOAT),
    ir.array("counts", ir.INTEGER),
)
PART, PARTS, STOP, OWN, TRACE = map(ir.number, ("part", "parts", "stop", "own", "trace"))
CODES = ir.array("codes", ir.INTEGER)


@dataclass(frozen=True)
class LoopParts:
    """A loop over steps without the state around it.

    Attributes
    ----------
    variables: the variables of the system that are read and written, with their numbers.
    memories: the arrays of the memories.
    columns: the parameters after them: columns of inputs and outputs.
    before, after: statements before and after the loop, without the state.
    """

    form: Shape
    variables: Sequence[tuple[int, StateVariable]]
    memories: Sequence[ir.Var]
    columns: Sequence[ir.Var]
    before: ir.CodeBlock
    loop: ir.For
    after: ir.CodeBlock

    def state(self, *own: ir.Expr) -> tuple[list[ir.Statement], list[ir.Statement]]:
        """Return the statements that read the variables from their arrays, and those that write them back."""
        loads, saves = list[ir.Statement](), list[ir.Statement]()
        for i, variable in self.variables:
            real = isinstance(variable.domain, Reals)
            index = (self.form.real if real else self.form.whole).index(i)
            array = REAL if real else WHOLE
            home = ir.Load(_with_axes(array, len(own)), (*own, ir.integer(index)))
            name, truth = state_var(i, variable), variable.domain == BOOL
            loads.append(ir.Let(name.name, op("truth", home) if truth else home))
            saves.append(ir.Store(home, op("word", name) if truth else name))
        return loads, saves


def state_var(number: int, variable: StateVariable) -> ir.Var:
    """Return the name of a variable of the system in generated code."""
    return ir.Var(f"s{number}", ir.type_of(variable.domain))


def _with_axes(array: ir.Var, more: int, name: str = "") -> ir.Var:
    kind = array.type
    assert isinstance(kind, ir.ArrayType)
    return ir.Var(name or array.name, ir.ArrayType(kind.item, kind.axes + more))


class StatePlacement(Protocol):
    """A way to store the state of a loop."""

    def on_hazard(self, condition: ir.Expr, step: ir.Var) -> list[ir.Statement]:
        """Return what to do if a hazard may occur in a step."""

    def function(self, parts: LoopParts) -> ir.CodeFunction:
        """Build the function of a loop."""


@dataclass(frozen=True)
class OneState:
    """A single state, kept in registers across the loop, which returns whether there was a hazard."""

    def on_hazard(self, condition: ir.Expr, step: ir.Var) -> list[ir.Statement]:
        del step
        return [ir.Store(BAD, op("or", BAD, condition))]

    def function(self, parts: LoopParts) -> ir.CodeFunction:
        loads, saves = parts.state()
        body = (
            *loads,
            *parts.before,
            ir.Let(BAD.name, ir.FALSE),
            parts.loop,
            *saves,
            *parts.after,
            ir.ReturnValues((BAD,)),
        )
        return ir.CodeFunction("run", (FIRST, LAST, WHOLE, REAL, COUNTS, *parts.memories, *parts.columns), body)


@dataclass(frozen=True)
class RowPerKey:
    """A state for each key: a row of arrays with a further axis, followed by the number of its steps.

    The last parameter, `codes`, has the key of each step; steps of keys other than `part` modulo `parts` are skipped.
    The loop stops before the first step in which a hazard occurs, and returns its number, or `last`.
    """

    def on_hazard(self, condition: ir.Expr, step: ir.Var) -> list[ir.Statement]:
        return [ir.If(condition, (ir.Store(STOP, step), ir.Break()))]

    def function(self, parts: LoopParts) -> ir.CodeFunction:
        whole, real = _with_axes(WHOLE, 1), _with_axes(REAL, 1)
        loads, saves = parts.state(OWN)
        step_count = ir.Load(whole, (OWN, ir.integer(len(parts.form.whole))))
        later = op("min", add(STEP, ir.integer(EARLIER)), op("sub", LAST, ir.integer(1)))
        others = op("and", op("gt", PARTS, ir.integer(1)), op("ne", op("remainder", OWN, PARTS), PART))
        rows = [_with_axes(array, 1, f"{array.name}_of") for array in parts.memories]
        body: list[ir.Statement] = [
            ir.Do(op("soon", whole, ir.Load(CODES, (later,)))),
            ir.Let(OWN.name, ir.Load(CODES, (STEP,))),
            ir.If(others, (ir.Continue(),)),
            *loads,
            *(ir.Let(array.name, ir.Load(row, (OWN,))) for array, row in zip(parts.memories, rows, strict=True)),
            *parts.loop.body,
            *saves,
            ir.Store(step_count, add(step_count, ir.integer(1))),
        ]
        loop = ir.For(STEP.name, FIRST, LAST, tuple(body))
        parameters = (PART, PARTS, FIRST, LAST, whole, real, COUNTS, *rows, *parts.columns, CODES)
        return ir.CodeFunction(
            "run", parameters, (*parts.before, ir.Let(STOP.name, LAST), loop, *parts.after, ir.ReturnValues((STOP,)))
        )


@dataclass(frozen=True)
class ColumnPerTrace:
    """A state for each trace, and a thread of a device: all arrays have a column for each.

    `bad_of` has whether there was a hazard, for each trace.
    """

    def on_hazard(self, condition: ir.Expr, step: ir.Var) -> list[ir.Statement]:
        return OneState().on_hazard(condition, step)

    def function(self, parts: LoopParts) -> ir.CodeFunction:
        one = OneState().function(parts)
        bad, arrays = ir.Load(ir.array("bad_of", ir.BOOLEAN), (TRACE,)), one.parameters[2:]
        tables = [_with_axes(array, 1, f"{array.name}_of") for array in arrays]
        columns = [ir.Let(array.name, op("column", table, TRACE)) for array, table in zip(arrays, tables, strict=True)]
        body = (*columns, *one.body[:-1], ir.Store(bad, op("or", bad, BAD)))
        inside = ir.If(op("lt", TRACE, op("len", bad.array)), body)
        return ir.CodeFunction("kernel", (FIRST, LAST, *tables, bad.array), (ir.Let(TRACE.name, op("thread")), inside))
