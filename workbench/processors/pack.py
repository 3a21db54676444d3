"""Pack: the events of a batch as one tuple (BeepBeep, `Lists.Pack`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import ANY, Anything, Bool, Domain, Value
from workbench.core.form import Form
from workbench.core.processor import NOTHING, Maybe, Processor, State, Stream, event
from workbench.errors import TypingError


@dataclass(frozen=True)
class Pack(Processor):
    """Emits a tuple of the events since the last one, where the second input is true; that event begins the next tuple.

    The tuple may be empty. At the end of the stream come the events that are left, unless there are none.
    """

    keyword: ClassVar[str] = "pack"
    symbol: ClassVar[str] = "→▤"
    streams: ClassVar[int] = 2

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        if not isinstance(inputs[1], Bool | Anything):
            raise TypingError(f"the second stream of 'pack' carries {inputs[1]}, not bool: whether a tuple begins")
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (ANY,)

    finishes: ClassVar[int] = 1

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        length = min(map(len, streams))
        whole, (complete,) = list(streams[0][:length]), self.denote_open(streams)
        left = whole[sum(map(len, complete)) :]
        return ([*complete, tuple(left)] if left else complete,)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        length = min(map(len, streams))
        starts = [i for i in range(length) if streams[1][i]]
        return ([tuple(streams[0][a:b]) for a, b in zip([0, *starts], starts, strict=False)],)

    def initial(self) -> State:
        return (None,)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        """Take one front. The state is a linked list of the events so far, the last first: a step costs O(1)."""
        (packed,), (value, begins) = state, front
        if not begins:
            return ((packed, value),), (NOTHING,)
        return ((None, value),), (event(_list_events(packed)),)

    def finish(self, state: State) -> tuple[Maybe, ...]:
        (packed,) = state
        return (Maybe(packed is not None, _list_events(packed)),)

    def refusal(self, form: Form) -> str:
        return "" if form == Form.VALUES else "its tuples have no bounded length"


def _list_events(packed: Any) -> tuple[Value, ...]:
    """Return the events of the linked list, the oldest first."""
    events = []
    while packed is not None:
        packed, value = packed
        events.append(value)
    return tuple(reversed(events))
