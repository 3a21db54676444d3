"""The statements of one step of a transition system: inputs, hazards, outputs and writes to the state.

The rule of this module: a step reads all that it needs before it writes any of its state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.fold import Substitute
from workbench.core.memory import Array as Cells
from workbench.core.term import FALSE as NEVER
from workbench.core.term import Others, Term, leaves, var
from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.lowering import ROW_VAR, Lowering, entry
from workbench.executors.compiled.code.operators import add, increase, op
from workbench.executors.compiled.code.placement import StatePlacement, state_var
from workbench.executors.compiled.lower.input_tape import Past
from workbench.executors.compiled.lower.shape import AHEAD, rows_of, shape
from workbench.executors.compiled.lower.tables import array_names
from workbench.ir.system import Pipe, System


def array_vars(system: System) -> dict[Term, ir.Var]:
    """Map the arrays of the memories to names in code, in order."""
    arrays = {}
    for column, name in array_names(system).items():
        assert isinstance(column.domain, Cells)
        arrays[column] = ir.array(name, ir.type_of(column.domain.element))
    return arrays


def variable_names(system: System) -> dict[Term, ir.Expr]:
    """Map the variables and arrays of a system to expressions in code."""
    state = {var(v.name, v.domain): state_var(i, v) for i, v in enumerate(system.variables)}
    return {**state, **array_vars(system)}


def input_names(system: System, suffix: str = "") -> dict[Term, ir.Var]:
    """Map the leaves of the inputs (`System.free`) to names in code."""
    free = enumerate(system.free.items())
    return {var(name, domain): ir.Var(f"i{k}{suffix}", ir.type_of(domain)) for k, (name, domain) in free}


def column_vars(system: System) -> dict[str, ir.Var]:
    """Return the columns of the inputs: the leaves of events, and their presence."""
    form = shape(system)
    columns = {name: ir.array(f"x{k}", ir.type_of(domain)) for k, (name, domain) in enumerate(form.values)}
    presents = {s.present.name: ir.array(f"p{k}", ir.type_of(s.present.domain)) for k, s in enumerate(system.inputs)}
    return columns | presents


def output_vars(system: System, *, with_steps: bool) -> list[list[ir.Var]]:
    """Return, for each output, the columns of its fields; with `with_steps`, followed by the column of steps."""
    steps = [[ir.array(f"z{j}", ir.INTEGER)] if with_steps else [] for j in range(len(system.outputs))]
    return [
        [*(ir.array(f"y{j}_{k}", ir.type_of(domain)) for k, domain in enumerate(fields)), *steps[j]]
        for j, (_, fields) in enumerate(shape(system).results)
    ]


class StepBody:
    """The statements of a step.

    Parameters
    ----------
    constants: the known values of variables and inputs.
    step: the name of its number.
    suffix: end of the names that are bound in it.
    with_steps: whether to write the step of each output event.
    """

    def __init__(
        self,
        system: System,
        constants: Mapping[Term, Term],
        step: ir.Var,
        suffix: str = "",
        *,
        with_steps: bool = False,
    ) -> None:
        self.system, self._given, self._step, self._with_step = system, constants, step, with_steps
        self._suffix = suffix
        known: dict[Term, Term] = dict(constants)
        self._known = Substitute(known)
        for name, term in system.definitions:
            known[var(name, term.domain)] = self._known(term)
        self._inputs = input_names(system, suffix)
        self._lowering = Lowering({**variable_names(system), **self._inputs}, suffix)
        self._arrays = array_vars(system)
        self._outputs = output_vars(system, with_steps=with_steps)
        self._state = {state_var(i, v) for i, v in enumerate(system.variables)}

    def statements(self, hazard: Term, placement: StatePlacement, pasts: Sequence[Past] = ()) -> list[ir.Statement]:
        """Return all statements of the step."""
        block = self._lowering.block
        block += self._arrivals(pasts)
        condition = self._lower(hazard)
        if condition != ir.FALSE:
            block += placement.on_hazard(condition, self._step)
        for j, (_, name) in enumerate(self.system.outputs):
            self._emit(j, self.system.pipes[name])
        writes, state = self._writes(), self._next_state()
        self._update_rows()
        block += [*state, *writes]
        return block

    def _lower(self, term: Term) -> ir.Expr:
        return self._lowering(self._known(term))

    def _before(self, term: Term) -> ir.Expr:
        """Lower a term whose value is used after the state may have been written."""
        value = self._lower(term)
        return self._lowering.bind(value) if value in self._state else value

    # --- inputs -------------------------------------------------------------------------------------------

    def _arrivals(self, pasts: Sequence[Past]) -> list[ir.Statement]:
        """Bind the inputs that a step reads, in this row and in earlier ones."""
        columns = column_vars(self.system)
        over = has_no_rows(self.system, self._given)
        reads: dict[str, tuple[ir.Expr, bool]] = {
            name: (ir.Load(column, (ir.integer(0) if over else self._step,)), True) for name, column in columns.items()
        }
        state = {v.name: state_var(i, v) for i, v in enumerate(self.system.variables)}
        for past in pasts:
            back = self._given.get(past.back, past.back)
            rows: ir.Expr = ir.integer(back.payload) if back.is_const else state[back.name]
            rows = op("max", rows, ir.integer(1)) if over and not back.is_const else rows
            if past.leaf:
                read: ir.Expr = ir.Load(columns[past.leaf], (op("max", op("sub", self._step, rows), ir.integer(0)),))
            else:
                read = op("ge", self._step, rows)
            reads[past.symbol.name] = read, back.is_const
        return [
            ir.Let(each.name, reads[leaf.name][0], pinned=reads[leaf.name][1])
            for leaf, each in self._inputs.items()
            if leaf.name in reads and leaf not in self._given
        ]

    # --- outputs ------------------------------------------------------------------------------------------

    def _emit(self, j: int, pipe: Pipe) -> None:
        """Write the events of an output."""
        rows = rows_of(pipe)
        for slot in pipe.slots:
            present, *values = map(self._lower, (slot.present, *leaves(slot.value)))
            if self._with_step:
                values.append(self._step)
            if pipe.more is not None:
                self._emit_repeated(j, present, self._lower(pipe.more), values)
            elif rows is not None:
                self._emit_rows(j, present, values, rows, events=pipe.rows is not None)
            elif present != ir.FALSE:
                self._lowering.block.extend(self._stores(j, _count(j), values))
                self._lowering.block.append(ir.Store(_count(j), increase(_count(j), present)))

    def _stores(self, j: int, at: ir.Expr, values: Sequence[ir.Expr]) -> list[ir.Statement]:
        """Return the statements that write an event's fields, and its step, at an offset of an output."""
        arrays = self._outputs[j]
        fields = [*arrays[: len(values) - self._with_step], *arrays[len(arrays) - self._with_step :]]
        return [ir.Store(ir.Load(array, (at,)), value) for array, value in zip(fields, values, strict=True)]

    def _emit_repeated(self, j: int, present: ir.Expr, more: ir.Expr, values: Sequence[ir.Expr]) -> None:
        """Write an event repeatedly; the first copies are written unconditionally, which saves jumps."""
        block, count, k = self._lowering.block, _count(j), ir.number(f"k{j}{self._suffix}")
        for ahead in range(AHEAD):
            block += self._stores(j, add(count, ir.integer(ahead)), values)
        times = ir.Select(present, op("add", ir.integer(1), more), ir.integer(0))
        end = self._lowering.bind(op("add", count, times))
        block.append(ir.For(k.name, add(count, ir.integer(AHEAD)), end, tuple(self._stores(j, k, values))))
        block.append(ir.Store(count, end))

    def _emit_rows(self, j: int, present: ir.Expr, values: Sequence[ir.Expr], rows: Others, *, events: bool) -> None:
        """Write an event, and the results of many rows, as far as there is space.

        The results are either events, too, in the order of keys; or all are changes of one map, and each but the first
        is marked as a continuation.
        """
        block, count = self._lowering.block, _count(j)
        here = op("min", count, name_capacity(j))
        last = self._outputs[j][-1 - self._with_step]

        def changes(more: ir.Expr) -> list[ir.Statement]:
            return [] if events else [ir.Store(ir.Load(last, (here,)), more)]

        def fill(body: list[ir.Statement]) -> None:
            which, *fields = map(self._lower, (rows.which, *leaves(rows.value)))
            stores = self._stores(j, here, [*fields, *([self._step] if self._with_step else [])])
            body.append(ir.If(which, (*stores, *changes(ir.TRUE), ir.Store(count, add(count, ir.integer(1))))))

        block += [*self._stores(j, here, values), *changes(ir.FALSE)]
        block.append(ir.Store(count, increase(count, present)))
        rows_condition, used = self._lower(rows.happens), self._arrays[rows.used]
        keys = self._arrays[rows.keys] if events else None
        condition = rows_condition if events else op("and", present, rows_condition)
        block.append(self._lowering.for_rows(used, condition, fill, keys))

    # --- the state ----------------------------------------------------------------------------------------

    def _writes(self) -> list[ir.Statement]:
        """Return the statements that write the computed values to memory."""
        written = list[ir.Statement]()
        for memory in self.system.memories:
            for write in memory.writes:
                condition = self._before(write.happens)
                if condition == ir.FALSE:
                    continue
                position = self._before(write.position)
                values = [self._before(value) for value in leaves(write.value)]
                arrays = (self._arrays[column] for column in memory.columns[write.first :])
                stores = tuple(
                    ir.Store(entry(array, memory.domain, position), value)
                    for array, value in zip(arrays, values, strict=False)
                )
                written += stores if condition == ir.TRUE else [ir.If(condition, stores)]
        return written

    def _update_rows(self) -> None:
        """Write the rows of tables that a step updates together."""
        for memory in self.system.memories:
            for update in memory.updates:
                condition = self._lower(update.happens)
                arrays = [self._arrays[column] for column in memory.columns[update.first :]]

                def fill(body: list[ir.Statement], update: Any = update, arrays: Sequence[ir.Var] = arrays) -> None:
                    which, *values = map(self._lower, (update.which, *leaves(update.value)))
                    stores = (ir.Store(ir.Load(a, (ROW_VAR,)), v) for a, v in zip(arrays, values, strict=True))
                    body.append(ir.If(which, tuple(stores)))

                if condition != ir.FALSE:
                    loop = self._lowering.for_rows(self._arrays[memory.columns[0]], condition, fill)
                    self._lowering.block.append(loop)

    def _next_state(self) -> list[ir.Statement]:
        """Return the statements that write the variables that change."""
        stores = list[ir.Statement]()
        for i, variable in enumerate(self.system.variables):
            name = state_var(i, variable)
            if var(variable.name, variable.domain) not in self._given and self._lower(variable.next) != name:
                stores.append(ir.Store(name, self._before(variable.next)))
        return stores


def _count(j: int) -> ir.Var:
    """Return the name of the number of events of an output."""
    return ir.number(f"n{j}")


def name_capacity(j: int) -> ir.Var:
    """Return the name of the capacity of an output."""
    return ir.number(f"r{j}")


def has_no_rows(system: System, constants: Mapping[Term, Term]) -> bool:
    """Whether steps take no rows of the inputs."""
    return all(constants.get(source.present) is NEVER for source in system.inputs)
