"""The facts of rules, as the user names them: files of rows, and SQLite databases.

The rule of this module: few rows of a file are kept in memory as they are; many are put into a database in memory with
the indexes that rules need. A database is queried, and never read as a whole. In a pipeline, only processors that query
facts get them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.domain import ANY, Value
from workbench.core.pipeline import Pipeline
from workbench.core.program import TABLE, Port, Ports, Program
from workbench.errors import InputError, did_you_mean
from workbench.events.read import read_events
from workbench.events.values import short
from workbench.executors.table import Start
from workbench.processors.held.group import Group
from workbench.runner.rules.log import row_reader
from workbench.runner.source import record_batches
from workbench.tesla.occurrence import Facts, has_units, in_units
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.tree import Declaration, Operation

if TYPE_CHECKING:
    from workbench.tesla.caches.table import FactCaching
    from workbench.tesla.engines.facts.database import FactSettings
    from workbench.tesla.engines.facts.table import FactTable

FEW, MANY = 1_000, 100_000
"""Row counts above which a file is put into a database: if rules compare ranges of its values, and in any case."""

RENAME = "rename the column in the file, or the attribute in the declaration"
"""The remedy for a missing column: options name columns of the log only."""


def facts_of(rules: RuleSet, start: Start) -> Facts:
    """Return the facts of a run by their types.

    Raises
    ------
    InputError: a type has no facts, or a file cannot be read. FactsError: a table does not fit its declaration.
    """
    facts: Any = start.options.facts
    if isinstance(facts, Mapping):
        return _read_python_facts(rules, facts, start)
    return read_named_facts(rules, [facts] if isinstance(facts, str | Path) else facts, start)


def list_needed_facts(rules: RuleSet, start: Start) -> Set[str]:
    """Return the types of facts that rules use; where rules may be added later, all declared types."""
    declared = {name for name, each in rules.declarations.items() if each.fact}
    if start.options.rules_control is not None:
        return declared
    return declared.intersection(part.type for rule in rules.rules for part in rule.parts)


def read_named_facts(rules: RuleSet, arguments: Sequence[str | Path], start: Start) -> Facts:
    """Read the facts of files: `city.db` has a table for each type, `Line=lines.csv` the rows of one."""
    files = _FactFiles(rules, start)
    for each in map(str, arguments):
        files.add(each)
    return files.facts()


class _FactFiles:
    """A collection of fact files, added one by one as they are named."""

    def __init__(self, rules: RuleSet, start: Start) -> None:
        self.rules, self._start = rules, start
        self.types = {name: declared for name, declared in rules.declarations.items() if declared.fact}
        self.rows: dict[str, tuple[list[str], list[Iterator[tuple[Any, ...]]]]] = {}
        self.tables: dict[str, FactTable] = {}
        self.databases: list[Any] = []

    @property
    def settings(self) -> FactSettings:
        from workbench.tesla.engines.facts.database import FactSettings

        options = self._start.options
        return FactSettings(
            options.facts_fixed, options.facts_timeout, options.on_facts_failure or FactSettings.failure
        )

    @property
    def caching(self) -> FactCaching | None:
        from workbench.tesla.caches.table import ROWS, FactCaching

        options = self._start.options
        policy, rows, shared = options.facts_cache, options.facts_cache_rows, options.facts_cache_shared
        if not policy and (rows or shared):
            what = "the options give the size or the sharing of a cache of facts, but not its policy"
            raise InputError(what, hint="--facts-cache gds")
        return FactCaching(policy, rows or ROWS, shared) if policy else None

    def add(self, argument: str) -> None:
        """Add a file, which may be preceded by its type."""
        from workbench.tesla.engines.facts.database import DUCKDB, FactDatabase, is_database, is_duckdb

        name, equals, path = argument.partition("=")
        if name not in self.types and (Path(argument).exists() or not equals) and is_database(argument):
            self.databases.append(FactDatabase(argument, self.settings))
            return
        file, table = self._database(path if name in self.types else argument)
        if not is_database(file) and is_duckdb(file):
            what, hint = DUCKDB
            raise InputError(what, where=file, hint=hint)
        if not equals or name not in self.types:
            hint = did_you_mean(name, self.types) or "the rules declare no facts"
            if self.types and not equals and table is not None:
                hint = f"name the type of that table: --facts {next(iter(self.types))}={argument}"
            what = f"--facts {argument}: expected TYPE=FILE, with a type of facts, or a SQLite database"
            raise InputError(what, hint=hint)
        if not is_database(file):
            paths, rows = self.rows.setdefault(name, ([], []))
            paths.append(path)
            rows.append(_rows_of(self.types[name], path))
        elif name in self.tables:
            raise InputError(f"--facts {argument}: '{name}' is {self.tables[name]} already", hint="leave one out")
        else:
            self.tables[name] = self._table(self.types[name], FactDatabase(file, self.settings), table)

    @staticmethod
    def _database(path: str) -> tuple[str, str | None]:
        """Split off the name of the table after that of a file: `city.db:lines`."""
        file, colon, table = path.rpartition(":")
        return (file, table) if colon and not Path(path).exists() and Path(file).is_file() else (path, None)

    @staticmethod
    def _table(declared: Declaration, database: Any, table: str | None = None) -> FactTable:
        from workbench.tesla.engines.facts.table import FactTable

        try:
            return FactTable(declared, database, table)
        finally:
            database.settle()

    def facts(self) -> Facts:
        """Return the rows or the table of each type."""
        if self.databases and not self.types:
            self._start.report("--facts is not read: the rules declare no facts")
        facts: dict[str, Any] = dict(self.tables)
        for name, (paths, rows) in self.rows.items():
            if name in facts:
                raise InputError(f"--facts: '{name}' is {facts[name]}, and a file", hint="leave one out")
            facts[name] = self._load_rows(name, paths, itertools.chain(*rows))
        needed = list_needed_facts(self.rules, self._start)
        if without := {name: declared for name, declared in self.types.items() if name in needed - facts.keys()}:
            facts |= _tables(without, self.databases)
        facts = {name: [] for name in self.types} | facts
        if all(isinstance(each, list) for each in facts.values()):
            return {name: facts[name] for name in self.types}
        from workbench.tesla.engines.facts.tables import FactTables

        fact_tables = FactTables({name: facts[name] for name in self.types}, self.settings, self.caching)
        if any(each.in_memory for each in fact_tables.databases):
            from workbench.tesla.engines.facts.access import FactAccesses

            list(FactAccesses.of(in_units(self.rules, dates=has_units(self.rules)), fact_tables).create(memory=True))
        return fact_tables

    def _load_rows(self, name: str, paths: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> Any:
        """Return the rows of files, or the table that they are put into."""
        head = list(itertools.islice(rows, FEW + 1))
        if len(head) <= FEW:
            return head
        if not self._is_ranged(name):
            head += itertools.islice(rows, MANY + 1 - len(head))
            if len(head) <= MANY:
                return head
        from workbench.tesla.engines.facts.table import store_rows

        try:
            return store_rows(self.types[name], itertools.chain(head, rows), ", ".join(paths))
        except (OverflowError, UnicodeEncodeError) as error:
            what = f"facts of type '{name}': a whole number has more than 64 bits, or a text cannot be written"
            hint = f"large tables (more than {len(head) - 1:,} rows) are put into a database, which has no such values"
            raise InputError(what, where=", ".join(paths), hint=hint) from error

    def _is_ranged(self, name: str) -> bool:
        """Whether rules compare attributes of a type by more than equality."""
        return any(
            isinstance(each, Operation) and each.operator in ("<", "<=", ">", ">=")
            for rule in self.rules.rules for part in rule.predicates if part.type == name for each in part.constraints
        )  # fmt: skip


def _tables(types: Mapping[str, Declaration], databases: Sequence[Any]) -> Mapping[str, FactTable]:
    if not databases:
        name = next(iter(types))
        hint = f"name their file: --facts {name}=F, or --facts F.db"
        raise InputError(f"there are no facts of type '{name}'", hint=hint)
    from workbench.tesla.engines.facts.tables import tables_in

    return tables_in(types, databases)


def _rows_of(declared: Declaration, path: str) -> Iterator[tuple[Any, ...]]:
    ports = Ports(declared.name, tuple(Port(n, d, remedy=RENAME) for n, d in declared.domains.items()), kind=TABLE)
    return (tuple(map(row.get, declared.domains)) for row in read_events(path, ports))


def _read_python_facts(rules: RuleSet, facts: Mapping[str, Any], start: Start) -> Facts:
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for name, declared in rules.declarations.items():
        if declared.fact and name not in facts and name in list_needed_facts(rules, start):
            raise InputError(f"there are no facts of type '{name}'", hint=f"pass them: facts={{'{name}': [...]}}")
        if declared.fact:
            read = row_reader(declared, dict.fromkeys(declared.domains, ANY))
            rows[name] = [read(row) for row in _list_python_rows(name, facts.get(name, ()))]
    return rows


def _list_python_rows(name: str, rows: Any) -> Iterator[Mapping[str, Value]]:
    """Yield the rows of a table, a frame, or mappings; InputError for other data."""
    if not isinstance(rows, Mapping) and (stream := record_batches(rows)) is not None:
        rows = itertools.chain.from_iterable(batch.to_pylist() for batch in stream[1])
    if isinstance(rows, Mapping | str | Path) or not isinstance(rows, Iterable):
        hint = "pass rows ([{'id': 1}, ...]), a table, a frame or a relation; name a file in facts=['TYPE=FILE']"
        raise InputError(f"facts of type '{name}': expected rows, not data of type {type(rows).__name__}", hint=hint)
    for row in rows:
        if not isinstance(row, Mapping):
            raise InputError(f"facts of type '{name}': expected a mapping for each row, not {short(repr(row))}")
        yield row


# --- in pipelines -------------------------------------------------------------------------------------------


def with_facts(program: Program, start: Start) -> Program:
    """Add the facts of a run to the rules in a pipeline: the present facts, for the whole run."""
    fixed = replace(start.options, facts_fixed=True)  # a run may continue from an earlier state
    return _with_facts(program.pipeline, replace(start, options=fixed))


def _with_facts(pipeline: Pipeline, start: Start) -> Pipeline:
    from workbench.tesla.rule_processor import RuleProcessor  # runs of rule sets do not need this import

    nodes = []
    for node in pipeline.nodes:
        processor = node.processor
        if isinstance(processor, Group):
            processor = type(processor)(_with_facts(processor.body, start))
        elif isinstance(processor, RuleProcessor) and processor.fact_types:
            processor = replace(processor, facts=facts_of(processor.rules, start))
        nodes.append(replace(node, processor=processor))
    return replace(pipeline, nodes=tuple(nodes))
