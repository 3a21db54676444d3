"""Buckets of events by the hash of their key, for the partitioning of events among threads.

The rule of this module: values that an equation of a rule finds equal are in the same bucket. An event without a key
may be in any bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, STR, Domain
from workbench.core.floats import as_float
from workbench.tesla.engines.rule_split import balance_work
from workbench.tesla.event_block import AttributeColumn, CodesOfTexts, EventBlock, join_blocks
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.partition import hash_keys
from workbench.tesla.rule_set import RuleSet

BUCKETS = 1 << 10
"""Number of buckets; whole buckets are assigned to threads, by their number of events."""
MAX_COUNTED = 1 << 15
"""Maximum number of events from which the load of buckets is estimated."""

Together = Callable[[Callable[[int, int], None]], None]
"""A function that calls another one concurrently for some parts, with each part's number and their total number."""


def in_turn(function: Callable[[int, int], None]) -> None:
    """Call a function for the whole as one part."""
    function(0, 1)


class KeyBuckets:
    """The assignment of events to buckets.

    Parameters
    ----------
    keys: for each type of events the attribute that is its key.
    codes: the numbers of texts.
    """

    def __init__(self, rules: RuleSet, keys: Mapping[str, str], codes: CodesOfTexts) -> None:
        self.rules, self.keys, self._codes = rules, keys, codes
        self._columns: Any = None
        """The columns that are already hashed: blocks that are parts of one block share them."""

    def hash_columns(self, block: EventBlock, together: Together = in_turn) -> None:
        """Find the bucket of each value in the key columns of a block."""
        if block.columns is self._columns:
            return
        key_columns, firsts, size = list[tuple[int, AttributeColumn, Domain]](), [], 1
        for name, columns in zip(block.names, block.columns, strict=True):
            firsts.append(size if name in self.keys else 0)
            if name in self.keys:
                declared = self.rules.declarations[name]
                index = declared.positions[self.keys[name]]
                key_columns.append((size, columns[index], declared.domains[self.keys[name]]))
                size += len(columns[index].values)
        rows: Any = np.zeros(size, np.int16)

        def hash_part(part: int, parts: int) -> None:
            for first, column, domain in key_columns:
                many = len(column.values)
                some = slice(many * part // parts, many * (part + 1) // parts)
                nulls = None if column.nulls is None else column.nulls[some]
                rows[first : first + many][some] = _buckets(column.values[some], nulls, domain)

        together(hash_part)
        self._columns, self._rows, self._firsts = block.columns, rows, np.array(firsts, np.int64)

    def buckets_of(self, block: EventBlock) -> Any:
        """Return the bucket of each event."""
        self.hash_columns(block)
        indices: Any = self._firsts[block.types]
        indices += block.type_rows if self._firsts.all() else np.where(indices, block.type_rows, 0)
        return self._rows[indices]

    def bucket_of_event(self, event: Occurrence) -> int:
        """Return the bucket of one event, whose numbers may have more than 64 bits."""
        declared, key = self.rules.declarations[event.type], self.keys.get(event.type)
        value = None if key is None else event.values[declared.positions[key]]
        if isinstance(value, str):
            value = self._codes([value])[0]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = as_float(value)
        domain = FLOAT if isinstance(value, float) else STR
        return 0 if value is None else int(_buckets(np.array([value]), None, domain)[0])

    def owners_of(self, block: EventBlock, owners: Any, together: Together = in_turn) -> Any:
        """Return the thread of each event, as int8.

        Parameters
        ----------
        owners: for each bucket the thread that owns it.
        """
        self.hash_columns(block, together)
        threads: Any = np.empty(len(block), np.int8)

        def find_part(part: int, parts: int) -> None:
            first, last = (len(block) * each // parts for each in (part, part + 1))
            threads[first:last] = owners[self.buckets_of(block.part(first, last))]

        together(find_part)
        return threads

    def assign(self, block: EventBlock | None, threads: int) -> tuple[Any, float]:
        """Assign each bucket to a thread; return the owners and the largest share of events of one thread.

        Parameters
        ----------
        block: the block whose first events are used to estimate the load of each bucket.
        """
        some = None if block is None else join_blocks([block.part(0, MAX_COUNTED)])
        counts = np.zeros(BUCKETS) if some is None else np.bincount(self.buckets_of(some), minlength=BUCKETS)
        counts = counts + (1 + counts.sum()) / BUCKETS / 10
        owners: Any = np.zeros(BUCKETS, np.int8)
        shares = balance_work(counts.tolist(), threads)
        for i, share in enumerate(shares):
            owners[share] = i
        return owners, float(max(counts[share].sum() for share in shares) / counts.sum())


def _buckets(values: Any, nulls: Any | None, domain: Domain) -> Any:
    """Return the buckets of keys."""
    return hash_keys(values, nulls, domain) >> np.uint64(64 - BUCKETS.bit_length() + 1)
