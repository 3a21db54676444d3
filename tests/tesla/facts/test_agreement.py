"""Facts in a database: engines tell of them what the formulas tell of the same rows in memory."""

import math
import random
import sqlite3
from dataclasses import replace
from functools import partial

import pytest

from workbench.conformance.compare.rule_engines import compare_to_meaning, same_occurrence
from workbench.conformance.generate.rule_cases import VALUES, random_case
from workbench.core.domain import BOOL, FLOAT, INT, STR
from workbench.errors import Refused
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.engines.facts import retained
from workbench.tesla.engines.facts.database import FactDatabase
from workbench.tesla.engines.facts.table import FactTable, store_rows
from workbench.tesla.engines.facts.tables import FactTables
from workbench.tesla.event_block import event_block
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import Occurrence

CASES = 150
"""Numbers of random cases; a third of their rules have facts."""
KINDS = {
    INT: ("INTEGER", "NUMERIC", "", "BIGINT"),
    FLOAT: ("REAL", "DOUBLE", "INTEGER", "", "NUMERIC"),
    STR: ("TEXT", "TEXT COLLATE NOCASE", "", "DATE", "VARCHAR(9) COLLATE RTRIM"),
    BOOL: ("INTEGER", "", "BOOLEAN"),
}
"""What columns of a type are declared as, by people who know other databases."""


class RandomTables:
    """The facts of a case in tables of all sorts: columns in another order, indexes, views, texts in UTF-16, nulls."""

    def __init__(self, path, rules, rng):
        self.path, self.rules, self.rng = path, rules, rng
        self.rows, self.names = {}, {}
        self.file = sqlite3.connect(path, isolation_level=None)
        self.file.execute("PRAGMA synchronous = OFF")
        self.file.execute(f"PRAGMA encoding = '{rng.choice(['UTF-8', 'UTF-8', 'UTF-16le'])}'")
        self.file.execute("CREATE TABLE other (a)")

    def add(self, name, rows):
        """The rows of a type: in memory where SQLite cannot hold them, in a table of our own, or in a user's."""
        rng, declared = self.rng, self.rules.declarations[name]
        numbers = [value for row in rows for value in row if isinstance(value, int)]
        if any(abs(each) >= 2**63 for each in numbers):
            self.rows[name] = self.names[name] = rows
        elif rng.random() < 0.3:
            self.rows[name], self.names[name] = rows, store_rows(declared, rows, "rows.csv")
        else:
            self.rows[name] = [tuple(None if value != value else value for value in row) for row in rows]
            self._create(name, list(declared.domains.items()), self.rows[name])

    def _create(self, name, attributes, rows):
        rng, order = self.rng, random.Random(name).sample(attributes, len(attributes))
        columns = ", ".join(f'"{each}" {rng.choice(KINDS[domain])}' for each, domain in order)
        self.file.execute(f'CREATE TABLE "{name}" ({columns}{rng.choice(["", ", rowid INT"])})')
        places = [[each for each, _ in attributes].index(each) for each, _ in order]
        for row in rows:
            names = ", ".join(f'"{each}"' for each, _ in order)
            values = [row[i] for i in places]
            self.file.execute(f'INSERT INTO "{name}" ({names}) VALUES ({", ".join("?" * len(row))})', values)
        for i in range(rng.randrange(3)):
            names = rng.sample([f'"{each}"' for each, _ in order], rng.randint(1, len(order)))
            self.file.execute(f'CREATE INDEX "{name} {i}" ON "{name}" ({", ".join(names)})')
        self.names[name] = name
        if rng.random() < 0.2:  # a view has no row ids: its rows come in the order of all their values
            self.file.execute(f'CREATE VIEW "view of {name}" AS SELECT * FROM "{name}"')
            self.names[name] = f"view of {name}"
            self.rows[name] = sorted(rows, key=lambda row: [(value is not None, value) for value in row])

    def facts(self):
        """The tables as engines have them."""
        self.file.close()
        database = FactDatabase(self.path)
        return FactTables(
            {
                name: FactTable(self.rules.declarations[name], database, given) if isinstance(given, str) else given
                for name, given in self.names.items()
            }
        )


def test_engines_tell_of_tables_what_rules_mean(tmp_path):
    asked = 0
    for seed in range(CASES):
        case, rng = random_case(seed), random.Random(seed)
        looked_at = {type for rule in case.rules.rules for type in rule.types} & case.facts.keys()
        if not looked_at:
            continue
        tables = RandomTables(tmp_path / f"{seed}.db", case.rules, rng)
        for name, rows in case.facts.items():
            domains = case.rules.declarations[name].domains.values()
            tables.add(name, [*rows, *(tuple(rng.choice(VALUES[each]) for each in domains) for _ in range(6))])
        facts = tables.facts()
        made = lambda name, rules, _, settings, facts=facts: rule_engine(rules, name, facts, settings)  # noqa: E731
        engines = {name: partial(made, name) for name in ("cdp", "aip")}
        assert compare_to_meaning(replace(case, facts=tables.rows), engines) is None, seed
        asked += len(facts.databases)
    assert asked > CASES / 5


def test_a_table_of_our_own_has_the_rows_that_went_in():
    case = random_case(1)
    rows = [(1, math.nan, "a'; DROP TABLE F; --"), (None, -math.inf, ""), (2**63 - 1, 0.1, None)]
    table = store_rows(case.rules.declarations["F"], rows, "rows.csv")
    assert repr(list(table)) == repr(rows)
    assert len(table) == 3


# --- tables that compiled rules do not keep ---------------------------------------------------------------------------

BY_BLOCKS = """
declare A(x: int, f: float, s: string, b: bool)
declare fact F(x: int, f: float, s: string)
declare fact G(x: int, s: string, b: bool)
declare fact Few(x: int, s: string)
declare O(x: int, f: float, s: string)
from A[$x = x](x > 0, 2 != x) and each F[$f = f](x == $x, f < A.f) and not G(b == A.b, x == $x)
emit O(x = $x, f = $f, s = F.s)
from A and last F(s == A.s) ordered by f desc and each G(F.x == x) and $n = COUNT(F(x == A.x, s == "a"))
where $n > 0 emit O(x = $n, f = F.f, s = G.s)
from A[$s = s](f >= 0.5) and each Few(x == A.x) and first F(s == Few.s, x >= A.x) ordered by x
and $g = SUM(G(s == $s).x) emit O(x = $g, f = F.f, s = Few.s)
from A and each A as Old within 5 from A and each G[$x = x](A.s == s, x != Old.x) limit 9 emit O(x = $x, f = 0, s = G.s)
"""
VALUES_OF = {
    INT: (None, 0, 1, 2, 3), FLOAT: (None, -0.5, 0.0, 0.5, 2.0), STR: (None, "", "a", "é'; --"),
    BOOL: (None, True, False),
}  # fmt: skip


def random_rows(rules, name, count, draw):
    domains = rules.declarations[name].domains.values()
    return [tuple(draw.choice(VALUES_OF[each]) for each in domains) for _ in range(count)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(8))
def test_compiled_rules_ask_for_what_a_block_looks_at(tmp_path, monkeypatch, seed):
    """Of tables that are too large to be kept. Where a block looks at too much it is split, or `cdp` asks."""
    monkeypatch.setattr(retained, "MAX_FACTS", 30)
    monkeypatch.setattr(retained, "MAX_ASKED", (1000, 50, 12)[seed % 3])
    draw, found = random.Random(seed), parse_rules(BY_BLOCKS)
    tables = RandomTables(tmp_path / "f.db", found, random.Random(seed))
    for name, count in (("F", 60), ("G", 40), ("Few", 6)):
        tables.add(name, random_rows(found, name, count, draw))
    stream = [Occurrence("A", time, row) for time, row in enumerate(random_rows(found, "A", 60, draw))]
    try:
        engine = CompiledRules(found, tables.facts(), EngineSettings(plain=True))
    except Refused:  # a view has no row ids
        assert any(name.startswith("view") for name in map(str, tables.names.values()))
        return
    assert engine.by_blocks
    block, told = event_block(found, stream, engine.texts.put), []
    for first in range(0, len(block), 25):
        for part in engine.process_block(block.part(first, first + 25), sources=True):
            told += part if isinstance(part, list) else part.occurrences(found)
    meant = meaning(found, stream, tables.rows)
    assert len(meant) > 30
    assert len(told) == len(meant)
    assert all(map(same_occurrence, told, meant))
