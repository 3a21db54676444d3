"""The events on every pipe, step by step, as the denotations define them: the specification of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.core.determinism import same
from workbench.core.domain import Value
from workbench.core.kinds import Clocked, Happening, Listening
from workbench.core.processor import END, Stream
from workbench.errors import PipelineError

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline


class Unfolding:
    """The streams on every pipe of a pipeline without groups, step by step, as the denotations define them.

    Raises
    ------
    PipelineError: a group in it has outputs that depend on the steps. AssertionError: a denotation is not monotone.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        for node in pipeline.nodes:
            if pipeline.typed[node.name].is_timed and not (
                node.processor.merges or isinstance(node.processor, Clocked)
            ):
                what = f"the output of '{node.name}' depends on the steps at which its events arrive"
                raise PipelineError(what, where=node.where, hint="take the pipeline without groups: flatten(pipeline)")
        self.pipeline = pipeline
        self.streams: dict[str, list[Value]] = {pipe: [] for pipe in pipeline.domains}
        self._merged: dict[str, list[Value]] = {node.name: [] for node in pipeline.nodes}
        self._happened: dict[str, list[Happening]] = {node.name: [] for node in pipeline.nodes}
        self._ended = False

    def step(self, events: Mapping[str, Value]) -> dict[str, list[Value]]:
        """Take one step with these events, or `END`, and return the events that it adds to each pipe."""
        self._ended = self._ended or events is END
        oracles = self.pipeline.oracles  # only their effective events are shown
        added = {
            name: [events[name]] if name in events and name not in oracles else [] for name, _ in self.pipeline.inputs
        }
        for name, arrived in added.items():
            self.streams[name] = [*self.streams[name], *arrived]
        for node in self.pipeline.nodes:
            processor = self.pipeline.typed[node.name]
            inputs: tuple[Stream, ...] = tuple(self.streams[pipe] for pipe in node.inputs)
            results: tuple[Stream, ...]
            if isinstance(processor, Clocked):
                happened = self._happened[node.name]
                happened.append((added[node.inputs[0]], [events.get(oracle) for oracle in node.inputs[1:]]))
                results = (processor.unfold(happened, ended=self._ended),)
                for oracle, event in zip(node.inputs[1:], processor.heard(happened), strict=True):
                    added[oracle] = added[oracle] if event is None else [event]
            else:
                if processor.merges:
                    fronts = processor.merge_arrivals([added[pipe] for pipe in node.inputs])
                    whole = processor.marks or isinstance(processor, Listening)
                    self._merged[node.name] += fronts if whole else [value for (value,) in fronts]
                    inputs = (self._merged[node.name],)
                results = processor.denote(inputs) if self._ended else processor.denote_open(inputs)
            for pipe, after in zip(node.outputs, results, strict=True):
                before = self.streams[pipe]
                if not same(list(after[: len(before)]), before):
                    raise AssertionError(f"pipe '{pipe}' is not monotone: {before} became {after}")
                added[pipe], self.streams[pipe] = after[len(before) :], list(after)
        return added
