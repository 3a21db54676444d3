"""Events told apart by their keys, for threads that have keys of their own.

The rule of this module: values that an equation finds equal are in one bucket. Events without a key may be in any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, INT, STR, Domain
from workbench.executors.compiled.rules.words import ODD
from workbench.tesla.engines.rule_split import shared
from workbench.tesla.event_block import CodesOfTexts, EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import as_float

BUCKETS = 1 << 10
"""Keys are told apart so far, and shared out by how many events they have."""


class KeyBuckets:
    """The buckets of events.

    Parameters
    ----------
    keys: of types of events the attribute by which they are told apart.
    codes: the numbers of texts.
    """

    def __init__(self, rules: RuleSet, keys: Mapping[str, str], codes: CodesOfTexts) -> None:
        self.rules, self.keys, self._codes = rules, keys, codes

    def of(self, block: EventBlock) -> Any:
        """The bucket of each event."""
        found: Any = np.arange(len(block)) & (BUCKETS - 1)
        order = block.types.argsort(kind="stable")
        ends = np.bincount(block.types, minlength=len(block.names)).cumsum().tolist()
        for y, (first, last, name) in enumerate(zip([0, *ends], ends, block.names, strict=False)):
            key = self.keys.get(name)
            if key is None or first == last:
                continue
            declared, mine = self.rules.declarations[name], order[first:last]
            column, places = block.columns[y][declared.positions[key]], block.places[mine]
            buckets = _scattered(column.values[places], declared.domains[key])
            found[mine] = buckets if column.nulls is None else np.where(column.nulls[places], 0, buckets)
        return found

    def of_event(self, event: Occurrence) -> int:
        """The bucket of one, whose numbers may be large."""
        declared, key = self.rules.declarations[event.type], self.keys.get(event.type)
        value = None if key is None else event.values[declared.positions[key]]
        if isinstance(value, str):
            value = self._codes([value])[0]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = as_float(value)
        domain = FLOAT if isinstance(value, float) else STR
        return 0 if value is None else int(_scattered(np.array([value]), domain)[0])

    def owners(self, block: EventBlock | None, threads: int) -> tuple[Any, float]:
        """Of each bucket the thread that has it, and the largest part of all events that one has."""
        counts = np.zeros(BUCKETS) if block is None else np.bincount(self.of(block), minlength=BUCKETS)
        counts = counts + (1 + counts.sum()) / BUCKETS / 10
        owners: Any = np.zeros(BUCKETS, np.int8)
        shares = shared(counts.tolist(), threads)
        for i, share in enumerate(shares):
            owners[share] = i
        return owners, float(max(counts[share].sum() for share in shares) / counts.sum())


def _scattered(values: Any, domain: Domain | None) -> Any:
    """The buckets of keys; numbers that are equal as floats have the same, and those that are none have the first."""
    if domain == FLOAT:
        values = values + 0.0  # both zeros are the same
        return np.where(values == values, _hashed(values), 0)
    return _hashed(values.astype(np.float64 if domain == INT else np.int64))


def _hashed(values: Any) -> Any:
    words = values.view(np.uint64)
    mixed = (words ^ (words >> np.uint64(32))) * np.uint64(ODD)
    return (mixed >> np.uint64(64 - BUCKETS.bit_length() + 1)).astype(np.int64)
