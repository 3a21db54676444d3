"""Events told apart by their keys, for threads that have keys of their own.

The rule of this module: values that an equation finds equal are in one bucket. Events without a key may be in any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, STR, Domain
from workbench.executors.compiled.code import llvm_program
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.rules import dealing
from workbench.executors.compiled.rules.program import program_head
from workbench.tesla.engines.rule_split import balance_work
from workbench.tesla.event_block import AttributeColumn, CodesOfTexts, EventBlock, join_blocks
from workbench.tesla.key_hash import hash_keys
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.operators import as_float
from workbench.tesla.rule_set import RuleSet

BUCKETS = 1 << 10
"""Keys are told apart so far, and shared out by how many events they have."""
COUNTED = 1 << 15
"""Of so many events it is counted."""

Together = Callable[[Callable[[int, int], None]], None]
"""What calls a function for each of some parts: with its place, and how many they are."""


def in_turn(function: Callable[[int, int], None]) -> None:
    """All at once, as one part."""
    function(0, 1)


class KeyBuckets:
    """The buckets of events.

    Parameters
    ----------
    keys: of types of events the attribute by which they are told apart.
    codes: the numbers of texts.
    plain: whether Python deals them out.
    """

    def __init__(self, rules: RuleSet, keys: Mapping[str, str], codes: CodesOfTexts, *, plain: bool = False) -> None:
        self.rules, self.keys, self._codes = rules, keys, codes
        self._deal = dealing.deal if plain else _machine_deal()
        self._columns: Any = None
        """Those of the last block, of which others may be parts."""

    def look(self, block: EventBlock, together: Together = in_turn) -> None:
        """Find the buckets of all that stands in the columns of a block: those of parts of it are told faster then.

        Parameters
        ----------
        together: what calls functions at the same time.
        """
        if block.columns is self._columns:
            return
        given, firsts, size = list[tuple[int, AttributeColumn, Domain]](), [], 1
        for name, columns in zip(block.names, block.columns, strict=True):
            firsts.append(size if name in self.keys else 0)
            if name in self.keys:
                declared = self.rules.declarations[name]
                place = declared.positions[self.keys[name]]
                given.append((size, columns[place], declared.domains[self.keys[name]]))
                size += len(columns[place].values)
        rows: Any = np.zeros(size, np.int16)

        def found(part: int, parts: int) -> None:
            for first, column, domain in given:
                many = len(column.values)
                some = slice(many * part // parts, many * (part + 1) // parts)
                nulls = None if column.nulls is None else column.nulls[some]
                rows[first : first + many][some] = _buckets(column.values[some], nulls, domain)

        together(found)
        self._columns, self._rows, self._firsts = block.columns, rows, np.array(firsts, np.int64)

    def of(self, block: EventBlock) -> Any:
        """The bucket of each event."""
        self.look(block)
        places: Any = self._firsts[block.types]
        places += block.places if self._firsts.all() else np.where(places, block.places, 0)
        return self._rows[places]

    def of_event(self, event: Occurrence) -> int:
        """The bucket of one, whose numbers may be large."""
        declared, key = self.rules.declarations[event.type], self.keys.get(event.type)
        value = None if key is None else event.values[declared.positions[key]]
        if isinstance(value, str):
            value = self._codes([value])[0]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = as_float(value)
        domain = FLOAT if isinstance(value, float) else STR
        return 0 if value is None else int(_buckets(np.array([value]), None, domain)[0])

    def dealt(self, block: EventBlock, owners: Any, threads: int, first: int, last: int) -> list[Any]:
        """The places of the events of each thread, of those from one place to before another.

        Parameters
        ----------
        owners: int8, of each bucket the thread that has it.
        """
        self.look(block)
        orders: Any = np.empty((threads, last - first), np.int64)
        counts: Any = np.zeros(threads, np.int64)
        some = block.types[first:last], block.places[first:last]
        self._deal(*some, self._firsts, self._rows, owners, first, orders, counts)
        return [order[:count] for order, count in zip(orders, counts.tolist(), strict=True)]

    def owners(self, block: EventBlock | None, threads: int) -> tuple[Any, float]:
        """Of each bucket the thread that has it, and the largest part of all events that one has."""
        some = None if block is None else join_blocks([block.part(0, COUNTED)])
        counts = np.zeros(BUCKETS) if some is None else np.bincount(self.of(some), minlength=BUCKETS)
        counts = counts + (1 + counts.sum()) / BUCKETS / 10
        owners: Any = np.zeros(BUCKETS, np.int8)
        shares = balance_work(counts.tolist(), threads)
        for i, share in enumerate(shares):
            owners[share] = i
        return owners, float(max(counts[share].sum() for share in shares) / counts.sum())


@cache
def _machine_deal() -> MachineLoop:
    names = ", ".join(signature(dealing.deal).parameters)
    source = f"{program_head(dealing)}def run({names}):\n    return deal({names})\n"
    return MachineLoop(source, llvm_program.__name__)


def _buckets(values: Any, nulls: Any | None, domain: Domain) -> Any:
    """The buckets of keys."""
    return hash_keys(values, nulls, domain) >> np.uint64(64 - BUCKETS.bit_length() + 1)
