"""Facts as they are named on the command line: databases, tables in them, and files of rows that are put into one."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from workbench.runner.rules import facts as rule_facts
from workbench.tesla.engines.facts import tables
from workbench.tesla.engines.facts.database import FactDatabase

RULES = """
declare Late(bus: int, minutes: float)
declare fact Line(bus: int, name: string)
declare fact Fine(least: float, sum: float)
declare Notice(line: string, sum: float)
from Late[$b = bus] and each Line(bus == $b) and last Fine[$s = sum](least <= Late.minutes) ordered by least
emit Notice(line = Line.name, sum = $s)
"""
NORTH = [{"type": "Notice", "time": 1, "line": "north", "sum": 2.5}]


@pytest.fixture
def city(tmp_path):
    """A folder with a log, rules, a database with both tables and one with another of them, and a file of rows."""
    (tmp_path / "r.tesla").write_text(RULES)
    (tmp_path / "in.jsonl").write_text(json.dumps({"type": "Late", "time": 1, "bus": 1, "minutes": 7}))
    for name, other in (("city", "Fine"), ("old", "Fines")):
        with sqlite3.connect(tmp_path / f"{name}.db") as made:
            made.execute("CREATE TABLE line (name TEXT, bus INTEGER)")
            made.execute("INSERT INTO line VALUES ('north', 1), ('south', 2)")
            made.execute(f"CREATE TABLE {other} (least REAL, sum REAL)")
            made.executemany(f"INSERT INTO {other} VALUES (?, ?)", [(0, 0), (5, 2.5), (9, 7)])
    (tmp_path / "fines.csv").write_text("least,sum\n5,2.5\n9,7\n0,0\nnan,99\n")
    return tmp_path


@pytest.fixture
def run(workbench, city):
    """What a run says, with facts as they are named from the folder on."""

    def made(*facts, code=0, options=()):
        named = [each for fact in facts for each in ("--facts", fact.replace("~", str(city)))]
        done = workbench("run", city / "r.tesla", "--input", city / "in.jsonl", *named, *options)
        assert done.code == code, done.err
        return [json.loads(line) for line in done.out.splitlines()] if code == 0 else done.err

    return made


@pytest.mark.parametrize("engine", ["cdp", "compiled"])
@pytest.mark.parametrize(
    "facts", [("~/city.db",), ("~/city.db", "Fine=~/fines.csv"), ("Line=~/old.db", "Fine=~/old.db:fines")]
)
def test_facts_are_in_databases_and_files(run, facts, engine):
    assert run(*facts, options=("--backend", engine)) == NORTH


def test_answers_are_cached(run, workbench, city):
    assert run("~/city.db", options=("--facts-cache", "gds", "--facts-cache-rows", "7")) == NORTH
    late = {"type": "Late", "time": 1, "bus": 1, "minutes": 7}
    (city / "in.jsonl").write_text("".join(json.dumps({**late, "bus": bus}) + "\n" for bus in (1, 2, 2, 1, 1)))
    asked = ("run", city / "r.tesla", "--input", city / "in.jsonl", "--facts", city / "city.db")
    told = workbench(*asked, "--facts-cache", "lru", "--facts-cache-rows", "1").err
    assert "facts Line: 2 answers from the cache, 3 queries in 0." in told
    assert "facts Fine: 4 answers from the cache, 1 query in 0." in told
    assert "cache 'lru': 2 answers with 2 rows, about 0 kB; 2 were evicted" in told
    assert "facts Line: 5 queries in 0." in workbench(*asked, "--profile").err
    assert "facts" not in workbench(*asked).err
    assert "did you mean 'sieve'" in run("~/city.db", options=("--facts-cache", "sive"), code=2)
    assert "hint: --facts-cache gds" in run("~/city.db", options=("--facts-cache-shared",), code=2)


def test_events_that_were_read_together_share_a_look(workbench, city, monkeypatch):
    looks, see = list[FactDatabase](), FactDatabase.see

    def seen(database):
        looks.append(database)
        see(database)

    monkeypatch.setattr(FactDatabase, "see", seen)
    monkeypatch.setattr(tables, "LOOK", 60.0)
    log = pa.table({"type": ["Late"] * 9, "time": range(9), "bus": [1] * 9, "minutes": [7.5] * 9})
    pq.write_table(log, city / "in.parquet")
    workbench("run", city / "r.tesla", "--input", city / "in.parquet", "--facts", city / "city.db", "--backend", "cdp")
    assert len(looks) == 2  # by the first event, and behind it, when the time begins


def test_facts_that_are_nowhere_or_twice(run):
    assert "facts of type 'Line' are in" in run("~/city.db", "~/old.db", code=2)
    assert "there is no table 'Fine'\n  hint: did you mean 'Fines'" in run("~/old.db", code=2)
    assert "there are no facts of type 'Fine'" in run("Line=~/city.db", code=2)
    assert "'Line' is Line=" in run("Line=~/city.db", "Line=~/old.db", code=2)
    assert "'Fine' is Fine=" in run("~/city.db", "Fine=~/city.db", "Fine=~/fines.csv", code=2)
    assert "expected TYPE=FILE, with a type of facts, or a SQLite database\n  hint: did you mean 'Line'" in run(
        "Lime=~/city.db", code=2
    )
    assert "hint: name the type of that table: --facts Line=" in run("~/city.db:line", code=2)
    assert "there is no such file" in run("~/none.db", code=2)


def test_databases_that_are_not_read_here(run, workbench, city):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(city / "city.duckdb")) as made:
        made.execute("CREATE TABLE Line (bus INTEGER, name VARCHAR)")
    for name in ("duck.db", "duck"):  # the content shows it, whatever the name
        (city / name).write_bytes((city / "city.duckdb").read_bytes())
    files = [f"{kind}~/{name}" for name in ("city.duckdb", "duck.db", "duck") for kind in ("", "Line=")]
    for given in (*files, "Line=~/city.duckdb:Line", "Line=~/duck.db:Line"):
        assert "this is a DuckDB database" in (said := run(given, code=2))
        assert "COPY t TO 't.parquet'" in said
    done = workbench("run", city / "r.tesla", "--input", city / "city.db")
    said = f"'.db' is not a format of events\n  hint: a database has facts, --facts {city / 'city.db'}"
    assert said in done.err


@pytest.mark.parametrize("most", ["FEW", "MANY"])
def test_many_rows_are_put_into_a_database(city, monkeypatch, most):
    """NaN stays what it is: no number is as large where facts are ordered, and it is not a candidate."""
    monkeypatch.setattr(rule_facts, "FEW", 2)
    monkeypatch.setattr(rule_facts, most, 2)
    rows = [{"bus": i, "name": f"line {i}"} for i in range(3)]
    with (city / "lines.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    facts = [f"Line={city / 'lines.jsonl'}", f"Fine={city / 'fines.csv'}"]
    found = wb.run(wb.rules.parse_rules(RULES), city / "in.jsonl", facts=facts)
    assert list(found) == [{"type": "Notice", "time": 1, "line": "line 1", "sum": 2.5}]


def test_numbers_that_are_too_large_for_a_database_are_told(city, monkeypatch):
    monkeypatch.setattr(rule_facts, "FEW", 2)
    monkeypatch.setattr(rule_facts, "MANY", 2)
    (city / "lines.csv").write_text(f"bus,name\n1,a\n2,b\n{2**64},c\n")
    with pytest.raises(wb.errors.InputError, match="a whole number has more than 64 bits"):
        wb.run(
            wb.rules.parse_rules(RULES), city / "in.jsonl", facts=[f"Line={city / 'lines.csv'}", str(city / "city.db")]
        )


def test_what_is_given_up_is_told(run, city, workbench):
    with sqlite3.connect(city / "city.db") as made:
        made.execute("UPDATE Fine SET sum = 'odd' WHERE least = 5")
    assert "declared as float, and a row has 'odd'" in run("~/city.db", code=2)
    done = workbench(
        "run", city / "r.tesla", "--input", city / "in.jsonl", "--facts", city / "city.db", "--on-facts-failure", "drop"
    )
    assert (done.out, "1 match dropped, since facts Fine could not be read" in done.err) == ("", True)


def test_indexes_are_shown_and_made(workbench, city):
    plan = ("rules", "plan", city / "r.tesla", "--facts", city / "city.db")
    wanted = 'CREATE INDEX IF NOT EXISTS "workbench_line_bus" ON "line" ("bus", "name")'
    before = workbench(*plan).out
    assert f"    SCAN line\n    an index would help: {wanted}" in before
    data = json.loads(workbench(*plan, "--json").out)["facts"]
    assert [each["index"] for each in data] == [
        wanted, 'CREATE INDEX IF NOT EXISTS "workbench_Fine_least" ON "Fine" ("least", "sum")'
    ]  # fmt: skip
    with closing(sqlite3.connect(city / "city.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        locked = workbench(*plan, "--create-indexes", "--facts-timeout", "0.01")
    assert "another program has the database locked\n  hint: --facts-timeout waits longer" in locked.err
    made = workbench(*plan, "--create-indexes")
    assert f"city.db: {wanted}" in made.err
    assert "SEARCH line USING COVERING INDEX workbench_line_bus (bus=?)" in made.out
    assert "would help" not in made.out
    assert made.out.startswith(before.partition("facts\n")[0])


def test_running_rules_ask_a_database(city):
    heard = []
    running = wb.rules.parse_rules(RULES).subscribe("Notice", heard.append, facts=city / "city.db")
    running.publish("Late", time=1, bus=1, minutes=10)
    with sqlite3.connect(city / "city.db") as made:
        made.execute("UPDATE line SET bus = 1")
    running.publish("Late", time=2, bus=1, minutes=10)
    assert [each["line"] for each in heard] == ["north", "north", "south"]


def test_facts_that_no_rule_looks_at_need_not_be_given(run, city):
    unused = "declare fact Stop(bus: int)\n"
    (city / "r.tesla").write_text(RULES + unused)
    assert run("~/city.db") == NORTH
    assert run("Line=~/city.db", "Fine=~/fines.csv") == NORTH
    rows: dict[str, list[dict[str, Any]]] = {
        "Line": [{"bus": 1, "name": "north"}],
        "Fine": [{"least": 5.0, "sum": 2.5}],
    }
    assert list(wb.run(wb.rules.parse_rules(RULES + unused), city / "in.jsonl", facts=rows)) == NORTH
    assert "there are no facts of type 'Line'" in run("Fine=~/fines.csv", code=2)


def test_facts_that_rules_may_look_at_later_are_given(run, city):
    (city / "r.tesla").write_text(RULES + "declare fact Stop(bus: int)\n")
    (city / "changes.jsonl").write_text("")
    said = run("~/city.db", code=2, options=["--rules-control", city / "changes.jsonl"])
    assert "'Stop'" in said


def test_an_option_that_a_backend_lacks_names_one_that_has_it(run):
    options = ["--backend", "spark", "--profile"]
    assert "leave it out, or add --backend cdp\n" in run("~/city.db", code=2, options=options)
