"""The facts of a run, some of them in databases: the form that engines receive if memory does not suffice.

The rule of this module: it holds the state shared by all engines and rules of a run: the databases, the queries, the
caches, and the counts of dropped matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from workbench.errors import FactsError, InputError, Refused, StateError
from workbench.tesla.caches.cache import FactCache
from workbench.tesla.caches.table import FactCaching
from workbench.tesla.declared import Declaration
from workbench.tesla.engines.facts.database import FactDatabase, FactSettings
from workbench.tesla.engines.facts.query import FactQuery
from workbench.tesla.engines.facts.table import FactRow, FactTable

LOOK = 0.001
"""Seconds for which buffered events share one state of the databases; a writer waits as long."""
FactFiles = dict[str, list[Any]]
"""For each type of facts: a database file, the table in it, and its stamp if it is promised not to change."""


class FactTables(dict[str, Any]):
    """The facts of each type: rows in memory, or a `FactTable`.

    Attributes
    ----------
    caches: returns the cache for a query, shared or its own; None: everything is queried from the database.
    lock: for queries from several threads.
    dropped: the number of dropped matches for each reason (`FactSettings.failure`).
    """

    def __init__(
        self, facts: Mapping[str, Any], settings: FactSettings | None = None, caching: FactCaching | None = None
    ) -> None:
        super().__init__(facts)
        self.settings, self.caching = settings or FactSettings(), caching
        self.caches: Callable[[FactQuery], FactCache] | None = None if caching is None else caching.caches()
        self.dropped: Counter[tuple[str, str]] = Counter()
        self.lock = Lock()
        self._queries: dict[str, FactQuery] = {}
        self._together, self._shared_until = False, 0.0
        tables = [rows for rows in self.values() if isinstance(rows, FactTable)]
        self.databases = list(dict.fromkeys(table.database for table in tables))
        self.changing = [each for each in self.databases if not each.is_fixed]
        for database in self.databases:
            database.changed.append(self._forget)
        for table in tables:
            table.database.changed.append(table.check)

    def __reduce__(self) -> Any:
        """Reduce to arguments: files are opened anew, and caches start empty."""
        return FactTables, (dict(self), self.settings, self.caching)

    def __str__(self) -> str:
        return str(dict(self))

    def _forget(self) -> None:
        """Clear the caches, as a database has changed."""
        for cache in self._caches():
            cache.clear()

    def _caches(self) -> Iterable[FactCache]:
        """Return all caches, each once."""
        return {id(each.cache): each.cache for each in self._queries.values() if each.cache is not None}.values()

    def share_query(self, query: FactQuery) -> FactQuery:
        """Return the first query that is equal to this one, so that equal queries share a cache."""
        first = self._queries.setdefault(query.name, query)
        if first is query:
            query.number = len(self._queries)
            query.cache = self.caches and self.caches(query)
        return first

    def table(self, type: str) -> FactTable | None:
        """Return the table of a type of facts; None if its rows are in memory."""
        rows = self.get(type)
        return rows if isinstance(rows, FactTable) else None

    def files(self) -> FactFiles:
        """Return the databases to record in a saved state, by the type of facts."""
        files: FactFiles = {}
        for name, rows in self.items():
            if isinstance(rows, FactTable) and not rows.database.in_memory:
                stamp = rows.database.stamp() if rows.database.is_fixed else None
                files[name] = [str(Path(rows.database.path).resolve()), rows.name, stamp]
        return files

    def settle(self) -> None:
        """End an event's view of the databases, so that they may change, unless the next event shares it."""
        if self._together:
            if (now := monotonic()) < self._shared_until:
                return
            self._shared_until = now + LOOK
        self.release()

    def release(self) -> None:
        """Let databases change; the next event sees their new state."""
        for database in self.changing:
            database.settle()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let buffered events share views of the databases; they see everything that is committed by now."""
        self._together = True
        try:
            yield
        finally:
            self._together = False
            self.release()

    def version(self) -> tuple[int, ...]:
        """Return a value that changes whenever a database changes; FactsError if that cannot be determined."""
        for database in self.changing:
            database.see()
        return tuple(each.version for each in self.changing)

    def rows_within_limit(self, type: str, limit: int) -> list[FactRow]:
        """Return the rows of a type of facts, to be retained; Refused if they are too many, or reading is too slow."""
        rows = self.table(type)
        if rows is None:
            return list(self[type])
        try:
            facts = None if rows.more_than(limit) else rows.rows(limit + 1)
        except FactsError as error:
            if error.reason != "slow":
                raise
            why = "takes too long to be read"
        else:
            if facts is not None and len(facts) <= limit:
                return facts
            why = f"has more than {limit:,} rows"
        what = f"facts of type '{type}' are held in memory there, and {rows} {why}"
        hint = "--backend cdp or aip queries the database; so does compiled, by equations or two bounds from triggers"
        raise Refused(what, hint=hint)

    def close(self) -> None:
        """Close the files; the next query opens them again."""
        for database in self.databases:
            if not database.in_memory:
                database.close()

    def _costs(self) -> Iterable[str]:
        by_type: dict[str, list[FactQuery]] = {}
        for query in self._queries.values():
            by_type.setdefault(query.table.declared.name, []).append(query)
        for name, some in by_type.items():
            queries, known = sum(each.queries for each in some), sum(each.known for each in some)
            if queries or known:
                cached = "" if self.caches is None else f"{known:,} answers from the cache, "
                query_text = f"{queries:,} quer{'y' if queries == 1 else 'ies'}"
                yield f"facts {name}: {cached}{query_text} in {sum(each.seconds for each in some):.2f} s"
        if self.caching is not None and (caches := list(self._caches())):
            answers, stored = sum(len(each.answers()) for each in caches), sum(each.stored for each in caches)
            rows, size = sum(each.rows for each in caches), sum(each.size for each in caches) / 1000
            what = f"{answers:,} answers with {rows:,} rows, about {size:,.0f} kB; {stored - answers:,} were evicted"
            yield f"cache '{self.caching.policy}': {what}"

    def drop(self, type: str, error: FactsError) -> None:
        """Count a dropped match."""
        self.dropped[type, error.what] += 1

    def list_report_lines(self, costs: bool = False) -> Iterable[str]:
        """Yield the report for the end of a run.

        Parameters
        ----------
        costs: whether to report on queries even if there are no caches.
        """
        if costs or self.caches is not None:
            yield from self._costs()
        for (type, why), count in self.dropped.most_common():
            yield f"{count:,} match{'es' * (count != 1)} dropped, since facts {type} could not be read: {why}"


def check_files(then: FactFiles, now: FactFiles) -> None:
    """Raise a StateError if a state was saved with other databases, or with a fixed one that has changed."""
    for name in [*then, *now]:
        before, here = then.get(name), now.get(name)
        if before is None or here is None or before[:2] != here[:2]:
            one, other = ("rows" if each is None else f"table '{each[1]}' of {each[0]}" for each in (before, here))
            what = f"this state was saved with {one} as facts {name}, but these are now {other}"
            raise StateError(what, hint="use the facts that it was saved with; or start afresh")
        if before[2] and here[2] and before[2] != here[2]:
            what = f"facts {name} have changed since this state was saved, against the promise of --facts-fixed"
            raise StateError(what, where=here[0], hint="leave out --facts-fixed to continue with the present rows")


def tables_in(types: Mapping[str, Declaration], databases: Sequence[FactDatabase]) -> dict[str, FactTable]:
    """Find the table of each type, in the one database that has it.

    Raises
    ------
    FactsError: no database has it, or it does not fit its declaration. InputError: two have it.
    """
    return {name: _table_in(declared, databases) for name, declared in types.items()}


def _table_in(declared: Declaration, databases: Sequence[FactDatabase]) -> FactTable:
    tables, wrong = list[FactTable](), None
    for database in databases:
        try:
            tables.append(FactTable(declared, database))
        except FactsError as error:
            if error.reason != "table":
                raise
            wrong = wrong or error
        finally:
            database.settle()
    if len(tables) > 1:
        hint = f"name one: --facts {declared.name}={tables[0].database}"
        paths = " and ".join(each.database.path for each in tables)
        raise InputError(f"facts of type '{declared.name}' are in {paths}", hint=hint)
    if not tables:
        assert wrong is not None
        raise wrong
    return tables[0]
