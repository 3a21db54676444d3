"""NonBlocking: any processor, whose pushes may go on in a thread (Multiple Threads, section 4.2).

The rule of this module: in everything but `push_fast` the wrapper is what it wraps, so that pipelines, models and
drawings do not see it. Processors that keep copies of others (windows, slices) call `push_fast` on all copies before
they wait for the first one; that is all they do, and they need not know who answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Self

from workbench.core.determinism import Determinism
from workbench.core.domain import Domain
from workbench.core.pending import Pending
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Emission, Machine, Processor, State, Stepped, Stored, Stream
from workbench.errors import PipelineError
from workbench.processors.held.group import Group
from workbench.processors.passthrough import Passthrough
from workbench.run.threaded.manager import ThreadManager


@dataclass(frozen=True)
class NonBlocking(Processor):
    """`inner`, with a `push_fast` that asks `manager` for a thread.

    Parameters
    ----------
    inner: a processor, or a pipeline.
    manager: where it grants no thread, the push is done by whoever pushes.
    """

    inner: Processor | Pipeline
    manager: ThreadManager = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.inner, Pipeline):
            object.__setattr__(self, "inner", Group(self.inner))
        if not isinstance(self.inner, Processor):
            raise PipelineError(
                f"what is pushed into is a processor or a pipeline, not {self.inner!r}",
                hint="NonBlocking(wb.Cumulate(wb.ADD), manager)",
            )
        if self.processor.merges or self.processor.clocked:
            raise PipelineError(f"{self.inner} works on steps, and has no copies that could be pushed into")
        # those called for every event, without a detour; and those that are variables of the class
        for name in ("step", "finish", "initial", "keyword", "symbol", "lockstep", "constants"):
            object.__setattr__(self, name, getattr(self.inner, name))

    @property
    def processor(self) -> Processor:
        """What is wrapped."""
        assert isinstance(self.inner, Processor)
        return self.inner

    @property
    def unwrapped(self) -> Processor:
        return self.processor.unwrapped

    @property
    def overlaps(self) -> bool:
        return self.manager.grants

    def push_fast(self, state: State, front: tuple[Any, ...]) -> Pending[Stepped]:
        return self.manager.start(partial(self.processor.step, state, front))

    # --- as what is wrapped ---

    @property
    def in_arity(self) -> int:
        return self.processor.in_arity

    @property
    def out_arity(self) -> int:
        return self.processor.out_arity

    @property
    def joins(self) -> bool:
        return self.processor.joins

    @property
    def timed(self) -> bool:
        return self.processor.timed

    @property
    def inner_queues(self) -> tuple[str, ...]:
        return self.processor.inner_queues

    @property
    def lag(self) -> int | None:
        return self.processor.lag

    @property
    def inner_pipes(self) -> Mapping[str, Domain]:
        return self.processor.inner_pipes

    @property
    def ports(self) -> tuple[str, ...]:
        return self.processor.ports

    @property
    def label(self) -> str:
        return self.processor.label

    @property
    def determinism(self) -> Determinism:
        return self.processor.determinism

    @property
    def finishes(self) -> int:
        return self.processor.finishes

    def typed(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, inner=self.processor.typed(inputs))

    def typed_within(self, inputs: tuple[Domain, ...], horizon: int) -> Self:
        return replace(self, inner=self.processor.typed_within(inputs, horizon))

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return self.processor.results(inputs)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Any], ...]:
        return self.processor.denote(streams)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Any], ...]:
        return self.processor.denote_open(streams)

    def initial(self) -> State:
        return self.processor.initial()

    def step(self, state: State, front: tuple[Any, ...]) -> Stepped:
        return self.processor.step(state, front)

    def finish(self, state: State) -> tuple[Emission, ...]:
        return self.processor.finish(state)

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self.processor.burst(inputs)

    def refusal(self, backend: str) -> str:
        return self.processor.refusal(backend)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return self.processor.slots(inputs)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        return self.processor.machine(inputs, horizon)

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        return self.processor.stored(inputs)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(Passthrough(), ThreadManager(0)),)

    def __str__(self) -> str:
        return str(self.inner)  # so that errors read the same


def with_non_blocking_copies(processor: Processor, manager: ThreadManager) -> Processor:
    """The processor with what it keeps copies of wrapped; the processor itself where it keeps none."""
    held = {f.name: getattr(processor, f.name) for f in fields(processor)}
    inner = {name: NonBlocking(value, manager) for name, value in held.items() if isinstance(value, Processor)}
    return replace(processor, **inner) if inner else processor
