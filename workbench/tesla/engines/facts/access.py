"""Access to facts: how a database answers the queries of rules, and which index is missing.

The rule of this module: SQLite reports the access path (`EXPLAIN QUERY PLAN`); an index is suggested where a table is
scanned for rows that an index would find, and created only on request.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import FactsError
from workbench.tesla import tree as t
from workbench.tesla.engines.facts.database import FactDatabase
from workbench.tesla.engines.facts.query import FactQuery
from workbench.tesla.engines.facts.table import quote_name, write_comparable
from workbench.tesla.engines.facts.tables import FactTables
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.rule_set import RuleSet

COVERED = 4
"""Maximum number of attributes of a type for a covering index: rows are read from it alone, three times as fast."""


@dataclass(frozen=True)
class FactAccess:
    """The access path of one statement.

    Attributes
    ----------
    users: the predicates that issue the statement, each with its rule.
    rest: constraints that are tested for each row rather than in SQL.
    steps: the steps of SQLite's plan, in its words.
    index: the columns of a missing index, as SQL; empty if none is missing, or for a view.
    """

    query: FactQuery
    users: Sequence[str]
    rest: Sequence[str]
    steps: Sequence[str]
    index: list[str]

    @property
    def scans(self) -> bool:
        """Whether it scans all rows for those that satisfy the statement."""
        return bool(self.query.compared) and any(_scan(each) for each in self.steps)


@dataclass(frozen=True)
class FactAccesses:
    """The access paths of all statements of rules, each once; facts in memory are left out."""

    accesses: Sequence[FactAccess]

    @classmethod
    def of(cls, rules: RuleSet, facts: FactTables) -> FactAccesses:
        """Return the access paths with the databases as they are now."""
        users: dict[int, tuple[FactQuery, list[str], dict[str, None]]] = {}
        for rule in rules.resolved:
            for step in RulePlan(rule).steps[1:]:
                table = facts.table(step.type)
                if table is not None:
                    own = FactQuery(step, table)
                    query = facts.share_query(own)
                    _, named, rest = users.setdefault(query.number, (query, [], {}))
                    named.append(f"{rule.name}: {step.part}")
                    rest.update(dict.fromkeys(map(str, own.rest)))
        try:
            return cls([_access(query, named, list(rest)) for query, named, rest in users.values()])
        finally:
            facts.settle()

    def create(self, memory: bool = False) -> Iterator[str]:
        """Create the missing indexes, which writes to databases, and yield each one after its creation.

        Parameters
        ----------
        memory: only in databases in memory.
        """
        indexes = [(each.query.table.database, self.index(each)) for each in self.accesses if each.index]
        for database, index in dict.fromkeys(indexes):
            if database.in_memory or not memory:
                make_index(database, index)
                yield f"{database}: {index}"

    def index(self, access: FactAccess) -> str:
        """Return the statement that creates the missing index, or one that extends it; empty if none is missing."""
        table, columns = access.query.table, access.index
        others = [each.index for each in self.accesses if each.query.table is table]
        columns = max((each for each in others if each[: len(columns)] == columns), key=len, default=columns)
        if not columns:
            return ""
        named = [each.partition('" ')[0].strip('"') for each in columns]
        name = "_".join(["workbench", table.name, *named])
        if len(table.columns) <= COVERED:
            columns = [*columns, *(quote_name(each.name) for each in table.columns if each.name not in named)]
        return f"CREATE INDEX IF NOT EXISTS {quote_name(name)} ON {quote_name(table.name)} ({', '.join(columns)})"

    def data(self) -> list[dict[str, Any]]:
        """Return the access paths as data."""
        return [
            {
                "table": str(each.query.table), "sql": each.query.sql, "used_by": list(each.users),
                "steps": list(each.steps), "asked_of_rows": list(each.rest), "index": self.index(each) or None,
            }
            for each in self.accesses
        ]  # fmt: skip

    def lines(self) -> Iterator[str]:
        """Yield the access paths as lines of text."""
        yield "facts"
        for each in self.accesses:
            yield f"  {each.query.table}"
            yield from (f"    {user}" for user in each.users)
            yield f"    {each.query.sql}"
            yield f"    {'; '.join(each.steps)}"
            if each.rest:
                yield f"    evaluated for each row: {', '.join(each.rest)}"
            if each.index:
                yield f"    an index would help: {self.index(each)}"
            elif each.scans:
                yield "    all rows are scanned: an index of the tables that the view reads may help"


def _access(query: FactQuery, users: Sequence[str], rest: Sequence[str]) -> FactAccess:
    database, values = query.table.database, [None] * len(query.compared)
    steps = [str(row[3]) for row in database.rows(f"EXPLAIN QUERY PLAN {query.sql}", values)]
    sorts = query.is_limited and "USE TEMP B-TREE FOR ORDER BY" in steps
    lacks = (query.compared and any(map(_scan, steps))) or sorts
    return FactAccess(query, users, rest, steps, _index(query) if lacks and not query.table.view else [])


def _scan(step: str) -> bool:
    return step.startswith("SCAN")


def _index(query: FactQuery) -> list[str]:
    """Return the columns of an index: those compared by equality, then the first other one, or those of the order."""
    table = query.table
    equal = [each.column for each in query.compared if each.operator == "=="]
    ranged = [each.column for each in query.compared if each.operator != "==" and each.column not in equal][:1]
    columns = {each.name: write_comparable(each) for each in (*equal, *ranged)}
    if query.is_limited and not ranged and isinstance(query.step.part, t.Predicate):
        for each in query.step.part.ordering:
            column = table.columns[query.step.declared.positions[each.name]]
            columns.setdefault(column.name, write_comparable(column) + " DESC" * each.descending)
    return list(columns.values())


def make_index(database: FactDatabase, index: str) -> None:
    """Create an index; FactsError if the database cannot be written."""
    with database.writable() as connection:
        try:
            connection.execute(index)
        except sqlite3.Error as error:
            failure = database.failure(error)
            hint = "--facts-timeout waits longer for it to end" if failure.reason == "locked" else failure.hint
            raise FactsError(failure.what, where=failure.where, hint=hint, reason=failure.reason) from error
