"""Rules begin in Python, and go on as machine code where that pays: after many events, or after few that take long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from workbench.executors.compiled.rules import early


class Clock:
    """CPU time that passes only when somebody says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Made:
    """Machine code that is there when it has been fetched."""

    def __init__(self) -> None:
        self.events = 0
        self.fetched = False

    def ready(self, given: Sequence[Any]) -> bool:
        return self.fetched

    def fetch(self, given: Sequence[Any]) -> None:
        self.fetched = True

    def __call__(self, question: int, first: int, last: int) -> int:
        self.events += last - first
        return 0


@pytest.mark.parametrize(
    ("events", "seconds", "compiled"), [(1000, 0.0001, False), (1000, 0.01, True), (9000, 0, True)]
)
def test_machine_code_is_made_after_many_events_or_much_time(
    monkeypatch: pytest.MonkeyPatch, events: int, seconds: float, compiled: bool
) -> None:
    clock, made, seen = Clock(), Made(), 0

    def plain(question: int, first: int, last: int) -> int:
        nonlocal seen
        seen += last - first
        clock.now += (last - first) * seconds
        return 0

    monkeypatch.setattr(early, "process_time", clock)
    loop, first = early.EarlyLoop(lambda: made, plain), 0  # type: ignore[arg-type, return-value]
    while first < events:
        before = seen + made.events
        loop.run(first, events, ())
        first += seen + made.events - before
        if loop._making is not None:
            loop._making.join()
    assert seen + made.events == events
    assert (made.events > 0) == compiled
    if seconds == 0.01:
        assert seen < 100  # half a second of events, and the stretch in which it is noticed
