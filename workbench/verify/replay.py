"""Counterexamples: from an engine's trace to a run over the user's names, replayed on the running pipeline.

From the engine only the inputs are taken; the transition system, evaluated in Python, gives what every pipe
carries, and its variables must agree with the engine's. Then the reference executor runs the same inputs. If all
agree the run is "confirmed by execution"; if not, it is a "model gap at step k", which is a defect of workbench.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.backends.reference import Reference
from workbench.backends.smv import SmvModel
from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow
from workbench.ir.compose import compose
from workbench.ir.simulate import Simulator
from workbench.ir.system import System
from workbench.verify.engines import RawTrace
from workbench.verify.environment import Environment
from workbench.verify.verdict import Trace, TraceStep

CONFIRMED = "confirmed by execution"


def decode(
    pipeline: Pipeline,
    capacity: int | Mapping[str, int],
    system: System,
    smv: SmvModel,
    raw: RawTrace,
    shows: str,
    shortest: bool,
    environment: Environment,
) -> Trace:
    """The engine's trace as a run of the pipeline, replayed.

    `pipeline` is flat and resolved; `system` is the one that was asked about, `smv` its printed cone.
    """
    inputs = [_inputs(system, smv, state, environment) for state in raw.steps]
    simulator = Simulator(compose(pipeline, capacity))
    simulated = simulator.trace_to_overflow(inputs)
    steps = tuple(
        TraceStep(given, step.pipes, step.queues, step.overflows)
        for given, step in zip(inputs, simulated, strict=False)
    )
    gap = _engine_gap(smv, raw, simulated)
    if gap is None:
        rounds = inputs if raw.loop is None else inputs + inputs[raw.loop :] * 2
        expected = simulator.trace_to_overflow(rounds)
        gap = execution_gap(pipeline, simulator.system, rounds, expected)
    if gap is None and raw.loop is not None:
        gap = _open_loop(smv, simulator, inputs, raw.loop)
    replay = CONFIRMED if gap is None else f"model gap at step {gap}"
    return Trace(steps, raw.loop, shows, shortest, replay, dict(pipeline.domains))


def _inputs(
    system: System, smv: SmvModel, state: Mapping[str, str], environment: Environment
) -> dict[str, Value]:
    """The events on the inputs in an engine state; what the property does not look at gets a default."""
    found: dict[str, Value] = {}
    seen: list[bool] = []
    unseen = []
    for source in system.inputs:
        name = source.present.name
        if name not in smv.names:
            unseen.append(source)
            continue
        present = bool(smv.value(name, state[smv.names[name]]))
        seen.append(present)
        if present:
            found[source.name] = _value(source.value, source.domain.default, smv, state)
    # inputs outside the cone: as the environment demands, else silent
    if environment.arrivals == "always" or (environment.arrivals == "synchronised" and any(seen)):
        found.update((source.name, source.domain.default) for source in unseen)
    return found


def _value(symbols: Any, default: Value, smv: SmvModel, state: Mapping[str, str]) -> Value:
    if isinstance(symbols, tuple):
        return tuple(_value(s, d, smv, state) for s, d in zip(symbols, default, strict=True))
    name = symbols.name
    return smv.value(name, state[smv.names[name]]) if name in smv.names else default


def _engine_gap(smv: SmvModel, raw: RawTrace, simulated: Sequence[Any]) -> int | None:
    """The first step at which a variable differs between the engine and the direct evaluation."""
    for position, (state, step) in enumerate(zip(raw.steps, simulated, strict=False)):
        for name, value in step.state.items():
            text = state.get(smv.names.get(name, ""))
            if text is not None and smv.value(name, text) != value:
                return position
    return None


def execution_gap(
    pipeline: Pipeline, system: System, inputs: Sequence[Mapping[str, Value]], expected: Sequence[Any]
) -> int | None:
    """The first step at which the reference executor and the transition system disagree; None if there is none."""
    capacities = {queue.name: queue.capacity for queue in system.queues.values()}
    executor = Reference(pipeline, capacities)
    for position, (given, model) in enumerate(zip(inputs, expected, strict=False)):
        try:
            record = executor.step(given)
        except Overflow as error:
            named = any(queue in error.what for queue in model.overflows)
            checked = not model.overflows and position == len(expected) - 1
            return None if named or checked else position
        if model.overflows:
            return position
        for pipe, value in model.pipes.items():
            maybe = record.pipes[pipe]
            if (maybe.value if maybe.present else None) != value or bool(maybe.present) != (
                value is not None
            ):
                return position
        if any(record.queues[queue] != length for queue, length in model.queues.items()):
            return position
    return None


def _open_loop(
    smv: SmvModel, simulator: Simulator, inputs: Sequence[Mapping[str, Value]], loop: int
) -> int | None:
    """A lasso must come back, in every variable the property depends on, to the state it loops to."""
    steps = simulator.trace_to_overflow([*inputs, {}])
    first, again = (
        {name: value for name, value in steps[i].state.items() if name in smv.names}
        for i in (loop, len(inputs))
    )
    return None if first == again else len(inputs) - 1
