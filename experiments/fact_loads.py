"""Loads of rules that ask for facts: section 5.4 of Di Pilla's thesis, and the requests that they make of a cache.

The rule of this module: requests and composites are computed from the events and the table by searching sorted columns,
and no engine is asked. The special event of the thesis, whose `y` and `z` bound what is asked for, is the oldest one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rule_loads import SEED, EventLog

SPREAD = 30
"""Standard deviation of `y`, whatever its distribution."""
ROWS = 10
"""Rows that a query finds, on average."""
Request = tuple[tuple[int, int], int]
"""The bounds that are asked for, and how many rows lie between them."""


@dataclass(frozen=True)
class FactLoad:
    """Events at a rate (1/s), windows of so many seconds, a second more or less, and a table of so many rows.

    Attributes
    ----------
    distribution: of `y`: normal, uniform, exponential or zipf.
    events: how many events a query depends on: both bounds are of one, or each of another.
    groups: of rules and their types of events, three for each.
    """

    rate: int = 2000
    window: int = 2
    seconds: float = 60.0
    rows: int = 1_000_000
    distribution: str = "normal"
    events: int = 1
    groups: int = 100
    seed: int = SEED

    # --- what there is ----------------------------------------------------------------------------------

    @cached_property
    def windows(self) -> Any:
        """int64[groups, 2], in microseconds: the special event before the second, the second before the trigger."""
        least, most = (self.window - 1) * 10**6, (self.window + 1) * 10**6
        return np.random.default_rng([self.seed, 0]).integers(least, most, (self.groups, 2), endpoint=True)

    @cached_property
    def log(self) -> EventLog:
        """The events; all have both bounds, which only some rules look at."""
        count, rng = int(self.rate * self.seconds), np.random.default_rng([self.seed, 1])
        kinds = rng.integers(0, 3 * self.groups, count)
        y = self._drawn(rng, count)
        bounds = {"y": y, "z": y + rng.integers(1, 2 * ROWS, count)}
        names = tuple(f"SE{group}_{i}" for group in range(self.groups) for i in (2, 1, 0))
        return EventLog(names, kinds, np.arange(count) * 10**6 // self.rate, {"x": np.ones(count, np.int64), **bounds})

    def _drawn(self, rng: Any, count: int) -> Any:
        if self.distribution == "normal":
            drawn = rng.normal(0, SPREAD, count)
        elif self.distribution == "uniform":
            drawn = rng.uniform(-SPREAD * 3**0.5, SPREAD * 3**0.5, count)
        elif self.distribution == "exponential":
            drawn = rng.exponential(SPREAD, count)
        else:
            weights = 1 / np.arange(1, 209)  # as many values as the normal distribution has within 3.5 deviations
            drawn = rng.choice(len(weights), count, p=weights / weights.sum()) - 104
        return np.rint(drawn).astype(np.int64)

    @cached_property
    def payload(self) -> Any:
        """int64[rows]: as many different values as there are rows, uniform."""
        half = self.rows // 2
        return np.random.default_rng([self.seed, 2]).integers(-half, half, self.rows)

    @cached_property
    def sorted_payload(self) -> Any:
        """The same in order."""
        return np.sort(self.payload)

    def found(self, low: Any, high: Any) -> Any:
        """How many rows lie from one bound to before another."""
        first, last = (np.searchsorted(self.sorted_payload, each) for each in (low, high))
        return (last - first).clip(0)

    def database(self, path: str | Path) -> None:
        """Write the table, with an index."""
        with sqlite3.connect(path, isolation_level=None) as made:
            made.execute("PRAGMA journal_mode = OFF")
            made.execute("PRAGMA synchronous = OFF")
            made.execute("CREATE TABLE SD (col_0 INTEGER PRIMARY KEY, col_1 INTEGER)")
            made.execute("BEGIN")
            made.executemany("INSERT INTO SD VALUES (?, ?)", enumerate(self.payload.tolist()))
            made.execute("CREATE INDEX payload ON SD (col_1, col_0)")
            made.execute("COMMIT")
        made.close()

    def text(self, source: str = "fact") -> str:
        """The rules: facts are in a database, or `rows`, events from before all others, or `any` of ten such events."""
        kind, number = ("declare fact", "") if source == "fact" else ("declare", " within 10000000000 from ")
        lines = [self.log.declarations, "declare CE(x: int)\n"]
        lines += [] if source == "any" else [f"{kind} SD(col_0: int, col_1: int)\n"]
        for group, (first, second) in enumerate(self.windows.tolist()):
            oldest, middle, trigger = (f"SE{group}_{i}" for i in (2, 1, 0))
            bound = ("", "[$p1 = y, $p2 = z]") if self.events == 1 else ("[$p2 = z]", "[$p1 = y]")
            table, asked = ("SD", "(col_1 >= $p1, col_1 < $p2)") if source != "any" else (f"SE{group}_3", "")
            lines += [f"declare {table}(col_0: int, col_1: int)\n"] if source == "any" else []
            lines.append(
                f"from {trigger}(x == 1)\n  and each {middle}{bound[0]}(x == 1) within {second} from {trigger}\n"
                f"  and each {oldest}{bound[1]}(x == 1) within {first} from {middle}\n"
                f"  and each {table}[$c0 = col_0]{asked}{number and number + oldest}\n  emit CE(x = $c0)\n"
            )
        return "".join(lines)

    # --- what comes of it -------------------------------------------------------------------------------

    def asked(self, group: int = 0) -> Iterator[list[Request]]:
        """What the rule of a group asks for, trigger by trigger: all pairs of events in its windows."""
        first, second = self.windows[group].tolist()
        oldest, middle, trigger = (np.flatnonzero(self.log.types == 3 * group + i) for i in range(3))
        times, y, z = self.log.times, self.log.attributes["y"], self.log.attributes["z"]
        for event in trigger:
            found = list[Request]()
            for other in middle[np.searchsorted(times[middle], times[event] - second) : np.searchsorted(middle, event)]:
                low = np.searchsorted(times[oldest], times[other] - first)
                own = oldest[low : np.searchsorted(oldest, other)]
                upper = z[own] if self.events == 1 else np.full(len(own), z[other])
                rows = self.found(y[own], upper)
                found += zip(zip(y[own].tolist(), upper.tolist(), strict=True), rows.tolist(), strict=True)
            yield found

    def composites(self) -> int:
        """How many composites all rules emit."""
        return sum(rows for group in range(self.groups) for found in self.asked(group) for _, rows in found)

    def drawn(self, count: int) -> list[Request]:
        """Requests that know nothing of windows: each of an event of its own."""
        rng = np.random.default_rng([self.seed, 3])
        low = self._drawn(rng, count)
        high = low + rng.integers(1, 2 * ROWS, count)
        return list(zip(zip(low.tolist(), high.tolist(), strict=True), self.found(low, high).tolist(), strict=True))
