"""The memory of rules in a pipeline: an engine, as a value.

The rule of this module: a state never changes, even if shared. The newest state of a run owns the engine; to continue
from an older state, an engine is rebuilt from the last saved state and the events since.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from workbench.core.processor import Remembered
from workbench.tesla.engines.engine import RuleEngine
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.occurrence import Facts, Occurrence

LEAST = 256
"""Minimum number of events between saved states, which bounds the events kept; large states are saved less often."""
MakesRuleEngine = Callable[[], RuleEngine]
Happens = Occurrence | int
"""An event, or a time that the clock has reached."""
HappensOrFacts = Happens | Facts
"""An event, a time that the clock has reached, or new facts that replace the old ones."""
_LOCK = Lock()


class RuleMemory(Remembered):
    """A state of rules in the middle of a run.

    Parameters
    ----------
    make: creates an engine in its initial state.
    base: the last saved state, as text; empty at the beginning.
    since: the events and times since then, as nested pairs with the latest outermost.
    """

    __slots__ = ("_base", "_count", "_engine", "_make", "_since", "_text")

    def __init__(
        self, make: MakesRuleEngine, base: str = "", since: Any = None, count: int = 0, engine: RuleEngine | None = None
    ) -> None:
        self._make, self._base, self._since, self._count, self._engine = make, base, since, count, engine
        self._text: str | None = base if since is None else None

    def after(self, event_or_time: Happens) -> tuple[RuleMemory, list[Occurrence]]:
        """Return the state after an event or time, and the composites that it causes."""
        engine = self._take()
        composites = feed(engine, event_or_time)
        if self._count + 1 < max(LEAST, len(self._base) // 32):
            return RuleMemory(self._make, self._base, (self._since, event_or_time), self._count + 1, engine), composites
        return RuleMemory(self._make, _save(engine), None, 0, engine), composites

    @property
    def awaiting(self) -> Mapping[str, int]:
        """The number of matches of each rule that wait for the deadline of `absent`."""
        engine = self._take()
        assert isinstance(engine, Publisher)
        counts = engine.awaiting()
        with _LOCK:
            self._engine = engine
        return counts

    def _take(self) -> RuleEngine:
        """Take an engine in this state, for exclusive use."""
        with _LOCK:
            engine, self._engine = self._engine, None
        return self._rebuild() if engine is None else engine

    def _rebuild(self) -> RuleEngine:
        engine = self._make()
        if self._base:
            engine.restore(base64.b64decode(self._base))
        happened: list[Happens] = []
        since = self._since
        while since is not None:
            since, event_or_time = since
            happened.append(event_or_time)
        for event_or_time in reversed(happened):
            feed(engine, event_or_time)
        return engine

    def saved(self) -> str:
        if self._text is None:
            engine = self._take()
            self._text = _save(engine)
            with _LOCK:
                self._engine = engine
        return self._text

    def __eq__(self, other: object) -> bool:
        return (other.saved() if isinstance(other, RuleMemory) else other) == self.saved()

    def __hash__(self) -> int:
        return hash(self.saved())

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (self.saved(),)

    def __repr__(self) -> str:
        return f"RuleMemory({self.saved()!r})"


def feed(engine: RuleEngine, event_or_time: Happens) -> list[Occurrence]:
    """Return the composites caused by an event, or by the clock: those of deadlines before its time."""
    return engine.advance(event_or_time - 1) if isinstance(event_or_time, int) else engine.process(event_or_time)


def on_other_facts(engine: RuleEngine, other: RuleEngine) -> RuleEngine:
    """Transfer an engine's state to another engine, which has new facts, and return that one."""
    other.restore(engine.snapshot())
    return other


def _save(engine: RuleEngine) -> str:
    return base64.b64encode(engine.snapshot()).decode()
