"""SliceLast: the emissions of slices, beside their keys, as they come (BeepBeep, `SliceLast`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.core.domain import Domain, Value
from workbench.core.fields import FrozenMap, Record
from workbench.core.processor import State, Stepped, emission
from workbench.processors.slices.slice import Slice, SliceEvent
from workbench.processors.slices.slice_machine import LastMachine, SliceMachine


@dataclass(frozen=True)
class SliceLast(Slice):
    """Emits, at each front, a record of key and value for each slice that emits something at it, in the order of keys.

    The parameters are those of `Slice`. The cost of a step is that of the slices that are fed, not of all.
    """

    forget: bool = field(default=False, init=False, repr=False)

    keyword: ClassVar[str] = "slice_last"
    lockstep: ClassVar[bool] = False
    copied: ClassVar[type[SliceMachine]] = LastMachine

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        map_domain = self.map_of(inputs)
        return (Record((map_domain.key, map_domain.value), ("key", "value")),)

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        map_domain = self.map_of(inputs)
        if self.to_all is None and not self._inner.finishes:
            return 1
        return len(map_domain.slots) if map_domain.key.finite and map_domain.finite else None

    @property
    def finishes(self) -> int:
        keys = self.key.result
        return self._inner.finishes and max(1, (keys.size if isinstance(keys, Domain) else None) or 1)

    def _show(self, emissions: Sequence[Sequence[SliceEvent]]) -> list[Value]:
        return [pair for events in emissions for pair in self._sort(events)]

    def _sort(self, events: Iterable[SliceEvent]) -> list[tuple[Value, Value]]:
        """Return keys and values in the order of the keys' domain, or of the keys themselves if it is infinite."""
        pairs = [(key, value) for key, value, _ in events]
        domain = None if len(pairs) < 2 else getattr(self.key, "result", None)
        if domain is None:
            return pairs
        if domain.finite:
            rank = {key: i for i, key in enumerate(domain.values())}
            return sorted(pairs, key=lambda pair: rank[pair[0]])
        return sorted(pairs, key=lambda pair: (type(pair[0]).__name__, pair[0]))

    def initial(self) -> State:
        return (FrozenMap(),)

    def _emit(self, inner: Any, state: State, events: Iterable[SliceEvent]) -> Stepped:
        return (inner,), (emission(self._sort(events)),)
