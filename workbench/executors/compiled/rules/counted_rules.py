"""Rules whose matches are counted by sums, without a look at any match: what an event costs hangs on no window.

The rule of this module: sums are exact, or it is said that they cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from workbench.errors import Refused
from workbench.executors.compiled.rules import counting as at
from workbench.executors.compiled.rules.count_source import PRIMES, TOTALS, CountSource, told_total
from workbench.executors.compiled.rules.early import EarlyLoop
from workbench.executors.compiled.rules.lines import WORD
from workbench.executors.compiled.rules.running import NO_INPUT, input_of
from workbench.tesla.engines.match_counts import MatchCount
from workbench.tesla.event_block import CodesOfTexts, EventBlock, event_block
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

FIRST_GROUPS = 64
"""Groups, and events that become too old, that there is room for at first: a power of two."""


class CountedRules:
    """The numbers of matches of rules.

    Parameters
    ----------
    counts: how they are counted.
    rules: with the types of events, in whose order blocks have them.
    code: whether there is machine code from the beginning, or never; None: when it is worth while.

    Attributes
    ----------
    counts: how many matches each rule has had.
    """

    def __init__(self, counts: Sequence[MatchCount], rules: RuleSet, code: bool | None = None) -> None:
        self.source, self._rules = CountSource(counts, rules), rules
        self.counts = [0] * len(counts)
        self._early = EarlyLoop(self.source.machine, self.source.plain(), code)
        self._primes: Any = np.array([0, *PRIMES[: self.source.parts - 1]], np.int64)
        most = max((len(rules.declarations[name].attributes) for name in rules.events), default=0)
        self._row: Any = np.zeros(3 + most, np.int64)
        keys = max((len(each.step.keys) for each in self.source.columns), default=0)
        self._scratch: Any = np.zeros(at.KEY + keys + 1, np.int64)
        self._words: Any = np.zeros(TOTALS + len(counts) * self.source.parts, np.int64)
        self._state: Any = np.zeros(1, np.int64)
        self._used = 0
        self._columns: Any = np.zeros((len(self.source.columns) + 1, at.COLUMN_WORDS), np.int64)
        for each in self.source.columns:
            row = self._columns[each.number]
            row[at.KEYS], row[at.SUMS] = len(each.step.keys), len(each.step.weights) * self.source.parts
            row[at.GROUP_WIDTH] = row[at.KEYS] + row[at.SUMS] + 1
            row[at.AGED] = each.aged
            least, most_aged = each.step.window or (0, None)
            row[at.LEAST], row[at.MOST] = least, -1 if most_aged is None else most_aged
            self._groups(each.number, FIRST_GROUPS)
            if each.aged:
                self._ring(each.number, FIRST_GROUPS)

    def take(self, block: EventBlock) -> None:
        """Count what comes of a block of events, whose times have been looked at.

        Raises
        ------
        Refused: there are more matches than can be told.
        """
        given = [block.types, block.times, block.places, _inputs(block)]
        begun = self._columns[:, at.START].copy()
        first, last = 0, len(block)
        while first < last:
            code = self._early.run(first, last, [*given, *self._arrays()])
            first = int(self._words[at.REACHED_EVENT])
            if code:
                self._grow(code, int(self._words[at.WANTED_COLUMN]), int(block.times[first]))
        self._total(block, begun)

    def block_of(self, events: Sequence[Occurrence], codes: CodesOfTexts) -> EventBlock:
        """Events as a block, without numbers of more than 64 bits that no sum hangs on.

        Raises
        ------
        Refused: one does.
        """
        rules, asked = self._rules, self.source.asked
        shorter = []
        for each in events:
            values = list(each.values)
            for i, (name, value) in enumerate(zip(rules.declarations[each.type].domains, values, strict=True)):
                if isinstance(value, int) and not -WORD <= value < WORD:
                    if name in asked.get(each.type, ()):
                        what = f"{value}, the {name} of an event {each.type}, has more than 64 bits"
                        raise Refused(what, hint="--engine cdp counts such events, too")
                    values[i] = None
            shorter.append(replace(each, values=tuple(values)))
        return event_block(rules, shorter, codes)

    def _total(self, block: EventBlock, begun: Any) -> None:
        """Add what a block has brought."""
        parts = self.source.parts
        found = self._words[TOTALS:].reshape(-1, parts).tolist()
        self._words[TOTALS:] = 0
        live = np.where(
            self._columns[:, at.MOST] >= 0, self._columns[:, at.END] - begun, self._columns[:, at.SEEN]
        ).tolist()
        for rule, each in enumerate(found):
            if not any(each):
                continue
            most = len(block) * prod(live[column.number] for column in self.source.columns if column.rule == rule)
            total = told_total(each, most)
            if total is None:
                name = self.source.counts[rule].name
                what = f"rule '{name}' may have more matches than can be told: up to {most:.0e} in {len(block)} events"
                raise Refused(what, hint="shorter windows have fewer; --engine cdp looks at each of them")
            self.counts[rule] += total

    # --- room -------------------------------------------------------------------------------------------

    def _arrays(self) -> list[Any]:
        def real(array: Any) -> Any:
            return array.view(np.float64)

        constants = self.source.constants
        return [
            self._primes, self._columns, constants, real(constants), self._row, real(self._row), self._state,
            self._scratch, real(self._scratch), self._words,
        ]  # fmt: skip

    def _place(self, size: int) -> int:
        """Where so many words begin."""
        used = self._used
        if used + size > len(self._state):
            longer: Any = np.zeros(max(2 * len(self._state), used + size), np.int64)
            longer[:used] = self._state[:used]
            self._state = longer
        self._used = used + size
        return used

    def _groups(self, number: int, room: int) -> None:
        """Room for groups, and a table for them that is empty."""
        row = self._columns[number]
        width, count, old = int(row[at.GROUP_WIDTH]), int(row[at.GROUP_COUNT]), int(row[at.GROUPS])
        place = self._place(room * width)
        self._state[place : place + count * width] = self._state[old : old + count * width]
        row[at.GROUPS], row[at.GROUP_ROOM] = place, room
        row[at.TABLE], row[at.TABLE_MASK] = self._place(2 * room), 2 * room - 1
        self._state[row[at.TABLE] : row[at.TABLE] + 2 * room] = -1

    def _ring(self, number: int, room: int) -> None:
        row = self._columns[number]
        width = 2 + int(row[at.SUMS])
        places = np.arange(row[at.START], row[at.END])
        old = self._state[row[at.RING] :][: (row[at.RING_MASK] + 1) * width].reshape(-1, width)
        there = old[places & row[at.RING_MASK]] if len(places) else old[:0]
        row[at.RING], row[at.RING_MASK] = self._place(room * width), room - 1
        ring = self._state[row[at.RING] :][: room * width].reshape(room, width)
        ring[places & (room - 1)] = there

    def _grow(self, code: int, number: int, now: int) -> None:
        row = self._columns[number]
        if code == at.GROW_EVENTS:
            self._ring(number, 2 * (int(row[at.RING_MASK]) + 1))
        else:
            kept = self._kept(number, now)
            self._groups(number, int(row[at.GROUP_ROOM]) * (2 if 2 * kept > row[at.GROUP_ROOM] else 1))
            self._early.loop(1, number, 0, *_NOTHING, *self._arrays())
        if self._used > 4 * self._needed():
            self._compact()

    def _kept(self, number: int, now: int) -> int:
        """Let groups go that no event knows any more, for all have become too old; how many there are now."""
        row, step = self._columns[number], self.source.columns[number].step
        count, width = int(row[at.GROUP_COUNT]), int(row[at.GROUP_WIDTH])
        groups = self._state[row[at.GROUPS] :][: count * width].reshape(count, width)
        if step.window is None and step.reach is not None:
            there = groups[:, -1] >= now - step.reach
            kept = groups[there]
            groups[: len(kept)] = kept
            row[at.GROUP_COUNT] = len(kept)
            return len(kept)
        if row[at.MOST] < 0:
            return count
        ring = self._state[row[at.RING] :][: (row[at.RING_MASK] + 1) * (2 + row[at.SUMS])]
        ring = ring.reshape(-1, 2 + int(row[at.SUMS]))
        places = np.arange(row[at.START], row[at.END]) & row[at.RING_MASK]
        there = np.zeros(count, bool)
        there[ring[places, 1]] = True
        kept = groups[there]
        groups[: len(kept)] = kept
        ring[places, 1] = (there.cumsum() - 1)[ring[places, 1]]
        row[at.GROUP_COUNT] = len(kept)
        return len(kept)

    def _needed(self) -> int:
        """The words that are in use."""
        found = 0
        for row in self._columns[:-1].tolist():
            found += row[at.GROUP_ROOM] * (row[at.GROUP_WIDTH] + 2)
            found += (row[at.RING_MASK] + 1) * (2 + row[at.SUMS]) if row[at.AGED] else 0
        return found

    def _compact(self) -> None:
        """Put all that is in use together."""
        old, self._state, self._used = self._state, np.zeros(self._needed(), np.int64), 0
        for row in self._columns[:-1]:
            sizes = {at.GROUPS: row[at.GROUP_ROOM] * row[at.GROUP_WIDTH], at.TABLE: 2 * row[at.GROUP_ROOM]}
            if row[at.AGED]:
                sizes[at.RING] = (row[at.RING_MASK] + 1) * (2 + row[at.SUMS])
            for word, size in sizes.items():
                place = self._place(int(size))
                self._state[place : place + size] = old[row[word] : row[word] + size]
                row[word] = place


def _inputs(block: EventBlock) -> Any:
    """The columns of a block as addresses: of values, whether these are truth values, and of nulls."""
    rows = [input_of(column) for columns in block.columns for column in columns]
    return np.array([*rows, NO_INPUT], np.int64)


_NOTHING: Any = (np.zeros(1, np.uint16), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 3), np.int64))
