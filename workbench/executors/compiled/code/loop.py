"""The loop of a compiled executor: the step of a transition system over whole columns of events, as generated code.

The result is one function over arrays (or lists), which runs as it is and which numba compiles. Its rules: the column
entry of an absent event is never read; outputs are written consecutively, and their arrays have one entry more than
events, which may be overwritten (an absent output is written and not counted, which needs no jump).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from workbench.core.domain import Domain, Integers, Overflowing
from workbench.core.memory import ROW
from workbench.core.ops import OR, Operator, as_term, disjunction
from workbench.core.range_escape import escape_condition
from workbench.core.term import FALSE, Term, var
from workbench.executors.compiled.code import body, ir, passes
from workbench.executors.compiled.code.lowering import ROW_VAR, Lowering
from workbench.executors.compiled.code.operators import add, op
from workbench.executors.compiled.code.placement import (
    BAD,
    COUNTS,
    FIRST,
    LAST,
    STEP,
    LoopParts,
    OneState,
    StatePlacement,
)
from workbench.executors.compiled.code.printer import print_function
from workbench.executors.compiled.lower.input_tape import Past
from workbench.executors.compiled.lower.shape import rows_of, shape
from workbench.executors.compiled.lower.system import Substitution, hazards
from workbench.executors.compiled.lower.tables import full
from workbench.ir.ring_buffer import ENDLESS
from workbench.ir.system import System

Target = Literal["python", "cpu", "gpu"]
"""The target of generated code: Python itself, or a CPU or a GPU by way of numba."""


def loop_source(system: System, phases: Sequence[Substitution], **options: Any) -> str:
    """Return the source of the loop of a system; the options are those of `loop_code`."""
    return print_function(loop_code(system, phases, **options))


def loop_code(
    system: System,
    phases: Sequence[Substitution],
    *,
    target: Target = "python",
    ahead: bool = False,
    **options: Any,
) -> ir.CodeFunction:
    """Return the loop of a system, after all passes.

    Parameters
    ----------
    phases, options: as `loop_function` has them.
    target: what runs the loop.
    ahead: whether the events of all phases are read before any output is written.
    """
    return passes.run_passes(loop_function(system, phases, **options), passes_for(target, system, ahead=ahead))


def passes_for(target: Target, system: System, *, ahead: bool = False) -> list[passes.Pass]:
    """Return the passes that a loop goes through before it is printed."""
    applied: list[passes.Pass] = [passes.fuse_row_loops, passes.drop_unused]
    if ahead:
        outputs = {array.name for arrays in body.output_vars(system, with_steps=True) for array in arrays}
        applied.append(partial(passes.read_ahead, outputs=outputs))
    applied.append(passes.inline_single_uses)
    if target == "cpu":
        arrays = body.array_vars(system)
        tables = [[arrays[column] for column in memory.columns] for memory in system.memories if memory.is_table]
        applied += [partial(passes.prefetch_rows, tables=tables), passes.select_without_jumps]
    return [*applied, passes.round_as_processors] if target == "gpu" else applied


def loop_function(
    system: System,
    phases: Sequence[Substitution],
    *,
    placement: StatePlacement | None = None,
    with_steps: bool = False,
    watch: bool = True,
    pasts: Sequence[Past] = (),
) -> ir.CodeFunction:
    """Build `run(first, last, whole, real, counts, memories..., values..., presents..., outputs..., steps...)`.

    It runs the steps `first` .. `last` - 1 and returns whether a hazard occurred, or an output, a table or a queue
    without a capacity had too little space; all that it has written is then void. `whole` and `real` hold the state,
    `counts` the number of events of each output, including those for which there was no space.

    Parameters
    ----------
    phases: constants of successive steps, in a cycle: `last` - `first` is a multiple of their number. A variable
        that is known here is neither read nor written. Inputs known to be present have no presence column.
    placement: where the state is stored; all but `OneState` need a single phase, and a system without tables.
    with_steps: whether to write the step of each output event.
    watch: whether to test for hazards at all.
    pasts: for a `tape_system`, its reads of earlier rows; the first row is then that of the first step.
    """
    placement = placement or OneState()
    hazard = _hazard(system, watch=watch)
    outputs = body.output_vars(system, with_steps=with_steps)
    columns = [each for name, each in body.column_vars(system).items() if _has_column(system, name, phases[0])]
    columns += [array for *fields, last in outputs for array in (fields if with_steps else (*fields, last))]
    columns += [arrays[-1] for arrays in outputs if with_steps]
    steps = list[ir.Statement]()
    start, single = ir.number("start"), len(phases) == 1
    for number, phase in enumerate(phases):
        step = STEP if single else ir.number(f"i_{number}")
        if not single:
            steps.append(ir.Let(step.name, add(start, ir.integer(number)), pinned=True))
        step_body = body.StepBody(system, phase, step, "" if single else f"_{number}", with_steps=with_steps)
        steps += step_body.statements(hazard, placement, pasts)
    counts = [(ir.number(f"n{j}"), ir.Load(COUNTS, (ir.integer(j),))) for j in range(len(outputs))]
    many = [j for j, (_, pipe) in enumerate(system.outputs) if rows_of(system.pipes[pipe]) is not None]
    return placement.function(
        LoopParts(
            shape(system),
            [(i, v) for i, v in enumerate(system.variables) if var(v.name, v.domain) not in phases[0]],
            list(body.array_vars(system).values()),
            columns,
            (
                *(ir.Let(name.name, entry) for name, entry in counts),
                *(ir.Let(body.name_capacity(j).name, op("output_capacity", outputs[j][0])) for j in many),
            ),
            ir.For(STEP.name if single else start.name, FIRST, LAST, tuple(steps), len(phases)),
            (
                *(ir.Store(entry, name) for name, entry in counts),
                *(ir.Store(BAD, op("or", BAD, op("gt", counts[j][0], body.name_capacity(j)))) for j in many),
            ),
        )
    )


def _has_column(system: System, name: str, phase: Substitution) -> bool:
    """Whether a loop has a column of the inputs: of events always, of their presence where that is not known."""
    return all(source.present.name != name or source.present not in phase for source in system.inputs)


def _hazard(system: System, *, watch: bool) -> Term:
    """Return the term that is true where an error ends the run, or more space is needed."""
    hazard: Term = FALSE
    for each in hazards(system) if watch else ():
        hazard = OR(hazard, each.happens)
    for memory in system.memories:
        hazard = OR(hazard, system.inline(full(memory)))
    for queue in system.queues.values():
        if queue.capacity == ENDLESS:
            hazard = OR(hazard, system.inline(queue.overflow))
    return hazard


def step_function(system: System, terms: Sequence[Term], *, row: bool = False, after: bool = False) -> ir.CodeFunction:
    """Build `step(variables..., inputs...)`, which returns the values of terms; with `row`, it also takes a row number.

    With `after`, the values of the variables after the step come first.
    """
    names = body.variable_names(system) | body.input_names(system)
    lowering = Lowering({**names, **({ROW: ROW_VAR} if row else {})})
    roots = [*(v.next for v in system.variables if after), *terms]
    results = tuple(map(lowering, system.inline(tuple(roots))))
    parameters = [each for each in names.values() if isinstance(each, ir.Var) and isinstance(each.type, ir.ScalarType)]
    arrays = [each for each in names.values() if isinstance(each, ir.Var) and isinstance(each.type, ir.ArrayType)]
    signature = (*arrays, *parameters, *([ROW_VAR] if row else []))
    return passes.run_passes(
        ir.CodeFunction("step", signature, (*lowering.block, ir.ReturnValues(results))),
        [passes.drop_unused, passes.inline_single_uses],
    )


def offset_function(domain: Domain, op: Operator) -> ir.CodeFunction:
    """Build `run(first, last, offset, y)`, which combines values with an offset and reports a hazard."""
    offset, value = var("offset", domain), var("value", domain)
    term: Term = as_term(op(offset, value), domain)
    bad = disjunction(escape_condition([term], kind) for kind in (Integers, Overflowing.CHECKED))
    offset_var, y = ir.Var("offset", ir.type_of(domain)), ir.array("y", ir.type_of(domain))
    entry = ir.Load(y, (STEP,))
    lowering = Lowering({offset: offset_var, value: entry})
    result, hazard = lowering(term), lowering(bad)
    statements = (*lowering.block, *OneState().on_hazard(hazard, STEP), ir.Store(entry, result))
    loop = (ir.Let(BAD.name, ir.FALSE), ir.For(STEP.name, FIRST, LAST, statements), ir.ReturnValues((BAD,)))
    return passes.run_passes(ir.CodeFunction("run", (FIRST, LAST, offset_var, y), loop), [passes.inline_single_uses])
