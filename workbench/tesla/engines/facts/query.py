"""Queries of a predicate or aggregate over facts: one statement, and the values of its parameters.

The rule of this module: SQL preselects rows, and rules decide. Constraints that compare an attribute with bound values
become part of the statement, with the values as parameters, never as text; each returned row is tested again, as an
event would be. Comparisons that may differ in SQLite are made wider, or left out of the statement.

Source: thesis, 4.5 (translation of predicates) and 4.6 (cache key: the statement and its parameters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from workbench.core.domain import FLOAT, STR, Domain, sort_key
from workbench.errors import FactsError
from workbench.tesla import tree as t
from workbench.tesla.caches.cache import FactCache
from workbench.tesla.engines.expressions import PythonLines, as_tuple
from workbench.tesla.engines.facts.table import FactColumn, FactRow, FactTable, quote_name, write_comparable
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.occurrence import sort_facts
from workbench.tesla.operators import operator_of
from workbench.tesla.resolved import domain_of, own_comparisons

if TYPE_CHECKING:
    from workbench.tesla.engines.facts.tables import FactTables

EXACT_REALS = 2**53
"""Bound below which all whole numbers are exact as floats."""
FactKey = tuple[Any, ...]
FactAnswer = Sequence[Any]
"""Rows in the order of selection; for an aggregate its value alone."""
FindsRows = Callable[[PartialMatch], tuple[FactAnswer, int, int]]
TestsRow = Callable[[Any, Any], tuple[Any, ...] | None]


class ComparedColumn:
    """A constraint in the statement: a column, and the expression that it is compared with.

    Attributes
    ----------
    at: the index of the attribute.
    exact: whether SQLite decides the comparison as rules do.
    """

    def __init__(self, at: int, column: FactColumn, operator: str, bound: t.Expression, domain: Domain) -> None:
        self.at, self.column, self.operator, self.bound = at, column, operator, bound
        real = column.domain == FLOAT
        self.exact = column.exact and (not real or domain == FLOAT)
        self.rounded = real and not self.exact
        """Whether SQLite rounds large numbers in it."""

    @property
    def sql(self) -> str:
        sign = operator_of(self.operator).sql
        return f"{write_comparable(self.column)} {sign if self.exact else sign.rstrip('=') + '='} ?"


class FactQuery:
    """The query of a step to its table.

    Attributes
    ----------
    number: its identity among the queries of all rules; equal queries share one (`FactTables.share_query`).
    sql: the statement.
    compared: the constraints in the statement, in the order of its parameters.
    rest: the other constraints, which are tested for each returned row.
    cache: the cache in front of the database.
    known, queries, seconds: the number of cache hits, the number of queries, and their total time.
    """

    def __init__(self, step: RuleStep, table: FactTable) -> None:
        self.step, self.table, self.number = step, table, -1
        self._database = table.database
        self.cache: FactCache | None = None
        self.known, self.queries, self.seconds = 0, 0, 0.0
        self.compared, self.rest = list[ComparedColumn](), list[t.Expression]()
        for constraint in step.part.constraints:
            comparison = self._find_comparison(constraint)
            if comparison is None:
                self.rest.append(constraint)
            else:
                self.compared.append(comparison)
        self.policy = step.policy
        self.counts = isinstance(step.part, t.Aggregate) and not self.rest and self._exact and step.attribute is None
        self.sql = self._sql(self.compared)
        self._rounded = [i for i, each in enumerate(self.compared) if each.rounded]
        self._decides = self._decision()
        self._answered = self._reduction()

    @property
    def name(self) -> str:
        """A key that is equal for queries with equal answers to equal values."""
        part = self.step.part
        reduction: tuple[Any, ...] = (self.policy, self.step.part.ordering)
        if isinstance(part, t.Aggregate):
            reduction = (part.function, part.attribute, part.declared)
        operators = [each.operator for each in self.compared]  # the statement may have a wider one
        return repr((str(self.table), self.sql, operators, reduction, not self.rest))

    def key(self) -> Callable[[PartialMatch], FactKey | None]:
        """Compile a function from a match to the parameters' values; None if one is null or NaN, as no row fits."""
        code = PythonLines(self.step.layout, "m")
        return code.function(as_tuple(code.bind_keys(each.bound for each in self.compared)))

    def answer(self, values: FactKey) -> FactAnswer:
        """Query the table, and store the answer, which is not in the cache yet.

        Raises
        ------
        FactsError: the query fails, or a row has a value of another type.
        """
        began = perf_counter()
        rows = self._select_rows(values)
        answer = tuple(rows[0]) if self.counts else self._answered(self._decides(self.table.read(rows), values))
        seconds = perf_counter() - began
        self.queries += 1
        self.seconds += seconds
        if (cache := self.cache) is not None:
            cache.store((self.number, values), answer, max(1, len(answer)), seconds)
        return answer

    @property
    def nothing(self) -> FactAnswer:
        """The answer if no row satisfies the constraints."""
        return self._answered([])

    # --- the database -----------------------------------------------------------------------------------

    def _select_rows(self, values: FactKey) -> list[Any]:
        if not any(not -EXACT_REALS < values[i] < EXACT_REALS for i in self._rounded):
            try:
                return self._database.rows(self.sql, values)
            except (OverflowError, UnicodeEncodeError):  # no row has such values, though one may be less
                pass
        rows = self._database.rows(self._sql(()))
        if not self.counts:
            return rows
        return [(len(self._decides(self.table.read(rows), values)),)]

    def _sql(self, compared: Sequence[ComparedColumn]) -> str:
        everything = len(compared) < len(self.compared)
        columns = "COUNT(*)" if self.counts and not everything else self.table.shown
        text = f"SELECT {columns} FROM {quote_name(self.table.name)}"
        text += f" WHERE {' AND '.join(each.sql for each in compared)}" if compared else ""
        text += f" ORDER BY {self._order}" if self._order else ""
        return text + " LIMIT 1" * (self.is_limited and not everything)

    @property
    def is_limited(self) -> bool:
        """Whether the first row from SQLite suffices."""
        one = (self.policy.ends or self.policy.forbids) and (self._is_sorted or not self._matters)
        return one and self._exact and not self.rest

    @property
    def _exact(self) -> bool:
        return all(each.exact for each in self.compared)

    @property
    def _matters(self) -> bool:
        """Whether the order of rows matters."""
        part = self.step.part
        return self.step.aggregate.ordered if isinstance(part, t.Aggregate) else not part.policy.forbids

    @property
    def _is_sorted(self) -> bool:
        """Whether SQLite sorts as rules do; otherwise rules sort."""
        columns = self.table.columns
        positions = self.step.declared.positions
        return self.table.is_ordered and all(columns[positions[each.name]].exact for each in self.step.part.ordering)

    @property
    def _order(self) -> str:
        """The order in the statement: that in which rows are selected."""
        if not self._matters or not (self._is_sorted or self.table.is_ordered):
            return ""
        last, positions = self.policy.newest and self._is_sorted, self.step.declared.positions
        written = [
            write_comparable(self.table.columns[positions[each.name]]) + " DESC" * (each.descending != last)
            for each in self.step.part.ordering if self._is_sorted
        ]  # fmt: skip
        # Rows that are equal in the stated order keep their own order, also in a descending one.
        return ", ".join([*written, self.table.order(last=last)])

    # --- processing of rows -----------------------------------------------------------------------------

    def _find_comparison(self, constraint: t.Expression) -> ComparedColumn | None:
        """Turn a constraint that compares an attribute of the row with a bound value into one in SQL, if possible."""
        for own, sign, bound in own_comparisons(constraint):
            column = self.table.columns[own.index]
            other_order = column.domain == STR and not column.exact and sign != "=="
            if operator_of(sign).sql and not other_order:
                return ComparedColumn(own.index, column, sign, bound, domain_of(bound))
        return None

    def _decision(self) -> Callable[[list[FactRow], FactKey], list[FactRow]]:
        """Compile a function that filters rows by the constraints in the statement, given the parameters' values."""
        tests = [f"r[{c.at}] is not None and r[{c.at}] {c.operator} k[{i}]" for i, c in enumerate(self.compared)]
        row_filter: Callable[[list[FactRow], FactKey], list[FactRow]]
        row_filter = eval(
            f"lambda rows, k: [r for r in rows if {' and '.join(tests)}]" if tests else "lambda rows, k: rows"
        )
        return row_filter

    def _reduction(self) -> Callable[[list[FactRow]], FactAnswer]:
        """Return a function from the filtered rows to the answer, reduced as far as the statement determines it."""
        part, last = self.step.part, self.policy.newest
        if not self._matters or self._is_sorted:
            in_order: Callable[[list[FactRow]], list[FactRow]] = list
        else:
            in_order = self._put_in_order
        if isinstance(part, t.Aggregate) and not self.rest:
            at = self.step.attribute
            if at is None:
                return lambda rows: (len(rows),)
            computed = self.step.aggregate.compute(self.step.values)
            return lambda rows: (computed([row[at] for row in in_order(rows) if row[at] is not None]),)
        one = self.policy.ends or self.policy.forbids
        if isinstance(part, t.Aggregate) or not one or (self.rest and not last):
            return in_order
        if not self.rest:
            return lambda rows: in_order(rows)[:1]
        return lambda rows: in_order(rows)[::-1]

    def _put_in_order(self, rows: list[FactRow]) -> list[FactRow]:
        """Sort rows in the order of selection, where SQLite has another order."""
        if not self.table.is_ordered:
            rows = sorted(rows, key=lambda row: tuple(map(sort_key, row)))
        sorted_rows = sort_facts(self.step.part, self.step.declared, rows)
        return sorted_rows[::-1] if self.policy.newest else sorted_rows


def find_in_table(
    step: RuleStep, table: FactTable, facts: FactTables
) -> tuple[FindsRows, TestsRow | None, Callable[[PartialMatch], Any] | None]:
    """Return functions that find the rows for a match, that test each of them, and that compute the aggregate.

    There is no test where all rows fit, and no aggregate where rows are tested one by one.
    """
    own = FactQuery(step, table)
    key, query, database = own.key(), facts.share_query(own), table.database  # matches differ in their layout
    number, cache = query.number, query.cache

    def find(match: PartialMatch) -> tuple[FactAnswer, int, int]:  # cached answers, the most frequent, take few calls
        values = key(match)
        if values is None:
            return (nothing := query.nothing), 0, len(nothing)
        if not database.open:
            database.see()  # so that cached answers are current, too
        rows: FactAnswer | None = None if cache is None else cache.fetch((number, values))
        if rows is None:
            rows = query.answer(values)
        else:
            query.known += 1
        return rows, 0, len(rows)

    is_value = isinstance(step.part, t.Aggregate) and not own.rest
    return find, step.compile_test(own.rest), (lambda match: find(match)[0][0]) if is_value else None


def drop_failed(
    extend: Callable[[PartialMatch], Any], dropped: Callable[[FactsError], object]
) -> Callable[[PartialMatch], Iterator[PartialMatch]]:
    """Wrap an extension so that a match is dropped, and reported, if the database fails."""

    def extended(match: PartialMatch) -> Iterator[PartialMatch]:
        try:
            yield from extend(match)
        except FactsError as error:
            dropped(error)

    return extended
