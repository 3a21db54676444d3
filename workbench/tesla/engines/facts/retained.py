"""The facts that a compiled engine looks at: rows that it retains, and those that it loads for a block of events.

The rule of this module: small tables of databases are retained whole, and read again when they have changed. Of large
ones the rows are loaded that the events of a block may ask for, as many as are allowed at a time.

Source: thesis, 5.4 (what asking a database costs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import FactsError, Refused
from workbench.tesla.engines.facts.block_facts import BlockFacts, TooManyFacts
from workbench.tesla.engines.facts.table import FactRow
from workbench.tesla.engines.facts.tables import FactTables
from workbench.tesla.engines.set_plan import PlannedColumn, SetPlan
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts

MOST_FACTS, MOST_SCANNED = 100_000, 10_000
"""Rows of a type that are retained: where equations find them, and where all are scanned."""
MOST_ASKED, MOST_RANGED = 100_000, 1_000
"""Rows of a type that are loaded for a block: where equations find them, and where all are scanned."""
UNLIMITED = 1 << 62


class RetainedFacts:
    """The facts of a rule set, as an engine has them.

    Parameters
    ----------
    columns: those of facts that the engine looks into.

    Attributes
    ----------
    rows: those that are retained, by their type.

    Raises
    ------
    Refused: there are too many of a type, and it is not known of blocks of events for which they ask.
    FactsError: a database does not answer.
    """

    def __init__(self, plan: SetPlan, columns: Sequence[PlannedColumn], facts: Facts) -> None:
        self._facts = facts
        self._version: tuple[int, ...] = ()
        self._for_blocks: BlockFacts | None = None
        self._stretch, self._most = UNLIMITED, MOST_ASKED
        self.rows: Facts = facts
        if isinstance(facts, FactTables):
            self.rows = self._read(facts, plan, columns)

    def _read(self, facts: FactTables, plan: SetPlan, columns: Sequence[PlannedColumn]) -> Facts:
        scanned = {each.type for each in columns if not each.keys}
        found, large = dict[str, Any](), dict[str, Refused]()
        try:
            self._version = facts.version()
            for name in dict.fromkeys(each.type for each in columns):
                try:
                    found[name] = facts.rows_within_limit(name, MOST_SCANNED if name in scanned else MOST_FACTS)
                except Refused as error:
                    found[name], large[name] = (), error
        finally:
            facts.settle()
        if large:
            self._for_blocks = BlockFacts(plan, columns, facts, large)
            if self._for_blocks.unknown:
                raise large[self._for_blocks.unknown[0]]
            self._most = MOST_RANGED if scanned & large.keys() else MOST_ASKED
        return found

    @property
    def by_blocks(self) -> bool:
        """Whether facts are loaded for each block of events, for a table is too large to be retained."""
        return self._for_blocks is not None

    def are_outdated(self) -> bool:
        """Whether facts in databases have changed."""
        assert isinstance(self._facts, FactTables)
        try:
            return self._differ(self._facts)
        finally:
            self._facts.settle()

    def _differ(self, facts: FactTables) -> bool:
        """Whether they have; of what is loaded for each block nothing is retained that could be outdated."""
        try:
            version = facts.version()
        except FactsError:
            if facts.settings.failure != "drop":
                raise
            return True  # `cdp` gives up the matches that ask
        return bool(version != self._version) and (not self.by_blocks or any(map(len, self.rows.values())))

    def load(self, block: EventBlock) -> tuple[int, Mapping[str, Sequence[FactRow]]]:
        """Of how many events of a block, from the first one on, all facts are known that they look at.

        None of those of which a database does not answer, or answers too much: `cdp` asks event by event. Behind it
        come the rows by type that are to take the place of those that were loaded before.
        """
        if self._for_blocks is None:
            return len(block), {}
        assert isinstance(self._facts, FactTables)
        while count := min(len(block), self._stretch):
            with self._facts.lock:
                try:
                    if self._differ(self._facts):
                        return 0, {}
                    found = self._for_blocks.rows(block.part(0, count), self.rows, self._most)
                    break
                except TooManyFacts:
                    self._stretch = count // 2
                except FactsError:
                    return 0, {}
                finally:
                    self._facts.settle()
        else:
            self._stretch = 1
            return 0, {}
        most = max(map(len, found.values()), default=0)
        self._stretch = max(1, count * self._most // (2 * most)) if most else UNLIMITED
        return count, found
