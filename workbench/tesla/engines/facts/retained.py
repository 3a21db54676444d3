"""The facts of a compiled engine: rows that it retains, and rows that it loads for a block of events.

The rule of this module: small tables of databases are retained whole, and read again after changes. Of large tables, a
few joins load the rows that the events of a block may select, up to a limit. SQL selects a superset, and the program
decides. The keys of a predicate are known in advance if it has an equation with an attribute of its trigger, or of a
fact that is found before it, or if two such attributes bound a number on both sides.

Source: thesis, 4.5 (translation of predicates) and 5.4 (the cost of queries).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import eq, ge, gt, itemgetter, le, lt
from typing import Any

from workbench.core.domain import STR
from workbench.errors import FactsError, Refused
from workbench.tesla import tree as t
from workbench.tesla.engines.facts.query import EXACT_REALS, ComparedColumn, FactKey, FactQuery
from workbench.tesla.engines.facts.table import FactRow, FactTable, quote_name
from workbench.tesla.engines.facts.tables import FactTables
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.engines.set_plan import PlannedColumn, SetPlan, find_indexes
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts
from workbench.tesla.resolved import RuleSlot, expand_parameters

TOGETHER = 256, 16
"""Numbers of keys in one statement; unused ones are null, which no row equals."""
MAX_ANSWERED = 100_000
"""Maximum number of rows that one statement returns, where rows may be repeated."""
COMPARED = {"==": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
_Comparisons = dict[tuple[str, str], tuple[ComparedColumn, int]]
"""For a column and a comparison: the constraint, and the index of the attribute that it compares with."""
RowsById = dict[Any, FactRow]
"""Rows followed by their ids, by these ids, which give their order."""


class TooManyFacts(Exception):
    """The error for a block that needs more rows than are retained; a part of it may need fewer."""


@dataclass(frozen=True)
class TriggerKeys:
    """The keys that the triggers of a rule provide.

    Attributes
    ----------
    type: the type of the triggers.
    at: the indices of attributes.
    texts: whether their values are numbers of texts.
    bounds: conditions on triggers: the index of an attribute, a comparison, and a constant.
    """

    type: str
    at: tuple[int, ...]
    texts: tuple[bool, ...]
    bounds: tuple[tuple[int, str, float], ...]

    def keys(self, block: EventBlock) -> Iterable[FactKey]:
        """Return the keys of all triggers in a block, without those that have a null."""
        import numpy as np

        y = block.names.index(self.type)
        indices, columns = block.type_rows[block.types == y], block.columns[y]
        for at, operator, value in self.bounds:
            indices = indices[COMPARED[operator](columns[at].values[indices], value)]
        for at in self.at:
            nulls = columns[at].nulls
            indices = indices if nulls is None else indices[~nulls[indices]]
        values = [columns[at].values[indices] for at in self.at]
        key_columns = [(np.unique(each) if len(values) == 1 else each).tolist() for each in values]
        texts = (
            map(block.texts.get, each) if text else each for each, text in zip(key_columns, self.texts, strict=True)
        )
        return zip(*texts, strict=True)


@dataclass(frozen=True)
class FactLookup:
    """The query of a predicate to a table.

    Attributes
    ----------
    compared: the comparisons of columns with the parts of a key, as SQL up to the parameter.
    texts: whether there are texts in a key, for which the comparison is equality.
    source: the source of keys: triggers, the rows that another predicate finds, or all rows of a type.
    at: the indices of the attributes of rows that form a key.
    """

    table: FactTable
    compared: tuple[str, ...]
    texts: bool
    source: TriggerKeys | FactLookup | str
    at: tuple[int, ...] = ()

    def query(self, keys: Iterable[FactKey], max_rows: int) -> RowsById:
        """Return the rows for keys, queried in sorted order, the fastest; TooManyFacts if there are too many."""
        table, by_id, rest = self.table, RowsById(), sorted(set(keys))
        if self.texts:
            rest = list(filter(_writable, rest))
        while rest:
            size = TOGETHER[len(rest) <= TOGETHER[1]]
            some, rest = rest[:size], rest[size:]
            values = [value for key in some for value in key]
            values += [None] * (size * len(self.compared) - len(values))
            limit = max(max_rows, min(max_rows * TOGETHER[1], MAX_ANSWERED))  # keys may share rows
            rows = table.read(table.database.rows(self._sql(size, limit + 1), values))
            by_id.update(zip(map(itemgetter(-1), rows), rows, strict=True))
            if len(by_id) > max_rows or len(rows) > limit:
                raise TooManyFacts
        return by_id

    def _sql(self, size: int, limit: int) -> str:
        marks = ", ".join(["(" + ", ".join("?" * len(self.compared)) + ")"] * size)
        names = [f"k{i}" for i in range(len(self.compared))]
        condition = " AND ".join(f"f.{each}k.{name}" for each, name in zip(self.compared, names, strict=True))
        columns = ", ".join(f"f.{quote_name(each.name)}" for each in self.table.columns)
        return (
            f"WITH k ({', '.join(names)}) AS (VALUES {marks}) SELECT {columns}, f.{self.table.row_id}"
            f" FROM k CROSS JOIN {quote_name(self.table.name)} f WHERE {condition} LIMIT {limit}"
        )


class BlockFacts:
    """The queries of a rule set to tables that are not retained.

    Parameters
    ----------
    columns: the columns of facts that the program uses.
    large: the types that are not retained.

    Attributes
    ----------
    unknown: the types among these whose queries are not known in advance.
    """

    def __init__(self, plan: SetPlan, columns: Sequence[PlannedColumn], facts: Facts, large: Collection[str]) -> None:
        self._plan, self._facts, self._large = plan, facts, large
        self._lookups: dict[str, list[FactLookup]] = {}
        self.unknown: list[str] = []
        for type in large:
            users = [user for each in columns if each.type == type for user in each.users]
            lookups = [self._lookup(plan.plans[rule], step) for rule, step in users]
            self._lookups[type] = list(dict.fromkeys(each for each in lookups if each is not None))
            self.unknown += [type] * (None in lookups)

    def rows(self, block: EventBlock, retained: Facts, max_rows: int) -> Mapping[str, Sequence[FactRow]]:
        """Return the rows of each type that a block needs, in their order.

        Raises
        ------
        TooManyFacts: a type has more than `max_rows`. FactsError: a query fails.
        """

        @cache  # predicates share queries, and the rows that give their keys
        def rows_of(lookup: FactLookup) -> RowsById:
            source = lookup.source
            if isinstance(source, TriggerKeys):
                return lookup.query(source.keys(block), max_rows)
            rows = retained[source] if isinstance(source, str) else rows_of(source).values()
            keys = (tuple(row[at] for at in lookup.at) for row in rows)
            return lookup.query((key for key in keys if None not in key), max_rows)

        by_type = {}
        for type, lookups in self._lookups.items():
            rows = RowsById(row for each in lookups for row in rows_of(each).items())
            if len(rows) > max_rows:
                raise TooManyFacts
            by_type[type] = list(map(rows.__getitem__, sorted(rows)))
        return by_type

    # --- queries of predicates --------------------------------------------------------------------------

    def _lookup(self, plan: RulePlan, step: RuleStep) -> FactLookup | None:
        """Return the query of a predicate, keyed by the part that gives most attributes; None if no part has any."""
        table = self._facts[step.type]
        if not isinstance(table, FactTable) or not table.row_id:
            return None
        equal, bounds = dict[int, _Comparisons](), dict[int, _Comparisons]()
        for each in FactQuery(step, table).compared:
            attribute = None if each.rounded else _place(plan, each.bound)
            if attribute is not None:
                by_part = equal if each.operator == "==" else bounds
                by_part.setdefault(attribute[0], {}).setdefault(
                    (each.column.name, each.operator[0]), (each, attribute[1])
                )
        for number, comparisons in sorted(equal.items(), key=lambda one: -len(one[1])) + _bands(bounds):
            compared, at = zip(*comparisons.values(), strict=True)
            source = self._source(plan, plan.steps[number], at)
            if source is not None:
                asks, texts = tuple(each.sql.removesuffix("?") for each in compared), (each.column for each in compared)
                own = () if isinstance(source, TriggerKeys) else at
                return FactLookup(table, asks, any(column.domain == STR for column in texts), source, own)
        return None

    def _source(self, plan: RulePlan, step: RuleStep, at: tuple[int, ...]) -> TriggerKeys | FactLookup | str | None:
        if step.number == 0:
            if step.type in self._plan.rules.composites:  # these are not in a block
                return None
            domains = list(step.declared.domains.values())
            return TriggerKeys(step.type, at, tuple(domains[each] == STR for each in at), tuple(_bounds(step)))
        if not step.fact:
            return None
        return self._lookup(plan, step) if step.type in self._large else step.type


def _bands(bounds: Mapping[int, _Comparisons]) -> list[tuple[int, _Comparisons]]:
    """Return the attributes that bound a number on both sides; a bound on one side has too many rows."""
    bands = []
    for number, comparisons in bounds.items():
        both = {name for name, _ in comparisons if {(name, "<"), (name, ">")} <= comparisons.keys()}
        own = {key: one for key, one in comparisons.items() if key[0] in both and one[0].column.domain != STR}
        bands += [(number, own)] if own else []
    return bands


def _place(plan: RulePlan, bound: t.Expression) -> tuple[int, int] | None:
    """Return the part and the index of the attribute that an expression is; None if it is another expression."""
    same = expand_parameters(bound)
    if not isinstance(same, RuleSlot) or not same.is_attribute or same.part not in plan.numbers:
        return None
    return plan.numbers[same.part], same.index


def _bounds(trigger: RuleStep) -> Iterator[tuple[int, str, float]]:
    """Yield the constraints of a trigger that compare a number attribute with a constant."""
    for each in find_indexes(trigger):
        if not isinstance(each.constant, str) and abs(each.constant) < EXACT_REALS:
            yield each.attribute, each.operator, each.constant


def _writable(key: tuple[Any, ...]) -> bool:
    """Whether all texts of a key can be encoded, as a database requires."""
    try:
        return all(not isinstance(value, str) or value.isascii() or value.encode() for value in key)
    except UnicodeEncodeError:
        return False


# --- retained facts ------------------------------------------------------------------------------------


MAX_FACTS, MAX_SCANNED = 100_000, 10_000
"""Maximum number of retained rows of a type: if found by equations, and if scanned."""
MAX_ASKED, MAX_RANGED = 100_000, 1_000
"""Maximum number of rows of a type loaded for a block: if found by equations, and if scanned."""
UNLIMITED = 1 << 62


class RetainedFacts:
    """The facts of a rule set, as a compiled engine holds them.

    Parameters
    ----------
    columns: the columns of facts that the engine uses.

    Attributes
    ----------
    rows: the retained rows, by type.

    Raises
    ------
    Refused: there are too many of a type, and blocks of events do not determine which are needed.
    FactsError: a query fails.
    """

    def __init__(self, plan: SetPlan, columns: Sequence[PlannedColumn], facts: FactTables) -> None:
        self._facts = facts
        self._for_blocks: BlockFacts | None = None
        self._stretch, self._most = UNLIMITED, MAX_ASKED
        scanned = {each.type for each in columns if not each.keys}
        rows, large = dict[str, Any](), dict[str, Refused]()
        try:
            self._version = facts.version()
            for name in dict.fromkeys(each.type for each in columns):
                try:
                    rows[name] = facts.rows_within_limit(name, MAX_SCANNED if name in scanned else MAX_FACTS)
                except Refused as error:
                    rows[name], large[name] = (), error
        finally:
            facts.settle()
        if large:
            self._for_blocks = BlockFacts(plan, columns, facts, large)
            if self._for_blocks.unknown:
                raise large[self._for_blocks.unknown[0]]
            self._most = MAX_RANGED if scanned & large.keys() else MAX_ASKED
        self.rows: Facts = rows

    @property
    def by_blocks(self) -> bool:
        """Whether facts are loaded for each block of events, as a table is too large to be retained."""
        return self._for_blocks is not None

    def are_outdated(self) -> bool:
        """Whether facts in databases have changed since they were read."""
        try:
            return self._differ()
        finally:
            self._facts.settle()

    def _differ(self) -> bool:
        """Whether retained facts have changed; facts that are loaded for each block cannot be outdated."""
        try:
            version = self._facts.version()
        except FactsError:
            if self._facts.settings.failure != "drop":
                raise
            return True  # `cdp` drops the matches that query
        return bool(version != self._version) and (not self.by_blocks or any(map(len, self.rows.values())))

    def load(self, block: EventBlock) -> tuple[int, Mapping[str, Sequence[FactRow]]]:
        """Return how many events of a block, from the first on, have all their facts loaded, and the new rows by type.

        The number is 0 if a query fails or returns too many rows: `cdp` then queries event by event. The rows
        replace those loaded before.
        """
        if self._for_blocks is None:
            return len(block), {}
        while count := min(len(block), self._stretch):
            with self._facts.lock:
                try:
                    if self._differ():
                        return 0, {}
                    rows = self._for_blocks.rows(block.part(0, count), self.rows, self._most)
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
        row_count = max(map(len, rows.values()), default=0)
        self._stretch = max(1, count * self._most // (2 * row_count)) if row_count else UNLIMITED
        return count, rows
