"""The stages of the loop of a compiled pipeline as text: its system, its layout, the code after each pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from workbench.core.term import leaves
from workbench.errors import refuse_unknown
from workbench.executors.compiled.code.loop import Target, loop_function, passes_for
from workbench.executors.compiled.code.passes import Pass, run_passes
from workbench.executors.compiled.code.printer import print_function
from workbench.executors.compiled.lower.shape import shape
from workbench.executors.compiled.lower.system import Substitution
from workbench.executors.compiled.lower.tables import array_names
from workbench.ir.system import System


def format_stage(system: System, phases: Sequence[Substitution], stage: str, target: Target = "cpu") -> str:
    """Format a stage of a loop: `system`, `layout`, `lowered`, the name of a pass, or `python`.

    Raises
    ------
    InputError: there is no such stage.
    """
    if stage in ("system", "layout"):
        lines = _describe_system(system) if stage == "system" else _describe_layout(system)
        return "".join(f"{line}\n" for line in lines)
    passes = passes_for(target, system)
    names = ["lowered", *map(_name, passes)]
    refuse_unknown("stage", stage, ["system", "layout", *names, "python"])
    count = len(passes) if stage == "python" else names.index(stage)
    function = run_passes(loop_function(system, phases), passes[:count])
    return print_function(function, typed=stage != "python")


def _name(code_pass: Pass) -> str:
    function = code_pass.func if isinstance(code_pass, partial) else code_pass
    return function.__name__.replace("_", "-")


def _describe_system(system: System) -> Iterator[str]:
    """Yield the step of a system as terms."""
    for variable in system.variables:
        yield f"{variable.name}: {variable.domain} = {variable.initial}"
        yield f"    next: {variable.next}"
    for name, term in system.definitions:
        yield f"{name} := {term}"
    for memory in system.memories:
        for write in memory.writes:
            values = ", ".join(map(str, leaves(write.value)))
            yield f"{memory.name}[{write.position}] := {values} if {write.happens}"


def _describe_layout(system: System) -> Iterator[str]:
    """Yield where the variables, memories, inputs and outputs of a system are stored, and their names in code."""
    form = shape(system)
    for array, indices in (("whole", form.whole), ("real", form.real)):
        for index, i in enumerate(indices):
            yield f"s{i} = {array}[{index}]: {system.variables[i].name}: {system.variables[i].domain}"
    for column, name in array_names(system).items():
        yield f"{name}: {column.name}: {column.domain.element}[]"  # type: ignore[attr-defined]
    for k, (name, domain) in enumerate(form.values):
        yield f"x{k}: {name}: {domain}[]"
    for j, (name, fields) in enumerate(form.results):
        yield f"y{j}: output {name}: {', '.join(map(str, fields))}"
