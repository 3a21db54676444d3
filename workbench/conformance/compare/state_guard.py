"""The reference executor with a check that processors do not change their states in place.

The rule of this module: a state is a value. A step that changes its state in place may go unnoticed in a run from the
first event to the last, but not where a state is saved: in a copy, a snapshot, a step that is undone. So the states
before each step are compared with themselves after it. Only processors that are not ours are watched, and those that
contain one.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.conformance.compare.differential import is_foreign
from workbench.conformance.compare.executables import InputSequence, Running, Seen, observe_step
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, Processor
from workbench.errors import PipelineError


class Watched(Running):
    """The reference executor that raises PipelineError at the step in which a state is changed in place."""

    def __init__(self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None) -> None:
        super().__init__(pipeline, capacities)
        self.names = foreign_processors(self.executor.flat)
        self.source = f"Watched(pipeline, {capacities!r})"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Run one step after the other."""
        self.executor.reset()
        for events in steps:
            states = self.executor.states
            before = {name: _dump(states[name]) for name in self.names}
            observation = observe_step(self.executor.step(events))
            changed = [name for name, picture in before.items() if picture != _dump(states[name])]
            if changed:
                when = "at the end of its stream" if events is END else "in a step"
                raise PipelineError(
                    f"'{changed[0]}' ({self.executor.flat.typed[changed[0]]}) changes its state in place {when}",
                    hint="leave its state as it is, and return a new one: (*state, x), not append(x)",
                )
            yield self.check_domains(observation)


def foreign_processors(flat: Pipeline) -> tuple[str, ...]:
    """Return the names of the processors of a flat pipeline that are not ours, or contain one that is not."""
    return tuple(node.name for node in flat.nodes if _not_ours(node.processor))


def _not_ours(value: object) -> bool:
    """Whether a value is, or contains, a processor of a user's own."""
    if isinstance(value, Pipeline):
        return any(_not_ours(node.processor) for node in value.nodes)
    if not isinstance(value, Processor):
        return False
    return is_foreign(type(value)) or any(_not_ours(getattr(value, field.name)) for field in dataclasses.fields(value))


def _dump(state: Any) -> bytes | None:
    """Return a representation of a state that differs after a change; None if the state cannot be pickled."""
    try:
        return pickle.dumps(state)
    except Exception:
        return None
