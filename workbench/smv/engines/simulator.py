"""Simulation by NuSMV's own semantics: follow given values through a loaded model.

Rule: a model is loaded once and serves many runs; formulas that fix values are built once each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .bindings import LoadedModel
from .checker import Emit
from .confinement import insert_into_main
from .rejected import RejectedError

_WATCH = "workbench_watch_{}"

SmvSteps = Sequence[Mapping[str, str]]


def simulate(text: str, order: Sequence[str], runs: Sequence[SmvSteps], watch: Sequence[str], emit: Emit) -> None:
    """Run every list of steps and emit one frame for each: the watched values, the ambiguous steps.

    Raises
    ------
    RejectedError: the model, a watched expression or a given value is defective, or no state matches.
    """
    model = LoadedModel(_with_watches(text, watch), order)
    emit({"phase": "search"})
    names = [_WATCH.format(index) for index in range(len(watch))]
    simulator = _Simulator(model, model.symbols(names))
    for index, steps in enumerate(runs):
        values, ambiguous = simulator.run(index, steps)
        emit({"run": index, "values": values, "ambiguous": ambiguous})


def _with_watches(text: str, watch: Sequence[str]) -> str:
    """The model with one DEFINE per watched expression, so that NuSMV evaluates them like any other."""
    if not watch:
        return text
    defines = " ".join(f"{_WATCH.format(index)} := ({expression});" for index, expression in enumerate(watch))
    return insert_into_main(text, f"DEFINE {defines}")


class _Simulator:
    def __init__(self, model: LoadedModel, symbols: Any) -> None:
        self.model = model
        self.symbols = symbols
        self.initial = model.initial
        self.fixed: dict[tuple[tuple[str, str], ...], Any] = {}

    def run(self, index: int, steps: SmvSteps) -> tuple[list[list[str]], list[int]]:
        """The watched values at each step, and the steps at which more than one state matched."""
        values, ambiguous, states = [], [], self.initial
        for number, step in enumerate(steps):
            matching = states & self.constraint(step) & self.model.mask
            if matching.is_false():
                given = ", ".join(f"{name} = {value}" for name, value in step.items())
                raise RejectedError(f"run {index}: no state matches step {number}", where=given)
            state = self.model.pick(matching)
            if state != matching:
                ambiguous.append(number)
            seen = self.model.look(state, self.symbols)
            if failed := next((value for value in seen if value.startswith("FAILURE(")), ""):
                raise RejectedError(f"run {index}, step {number}: a watched expression has no value: {failed}")
            values.append(seen)
            states = self.model.post(state)
        return values, ambiguous

    def constraint(self, step: Mapping[str, str]) -> Any:
        """The states with the given values; remembered, since the runs of a test repeat them."""
        key = tuple(sorted(step.items()))
        if key not in self.fixed:
            formula = " & ".join(f"({name} = ({value}))" for name, value in key) or "TRUE"
            self.fixed[key] = self.model.expression(formula)
        return self.fixed[key]
