"""Databases of facts that change, lie, are locked, slow or damaged, and what engines make of it."""

import os
import pickle
import select
import signal
import sqlite3
import sys
from contextlib import nullcontext
from itertools import count
from subprocess import PIPE, Popen, run
from time import sleep

import pytest

from tests.tesla.events import Kind
from workbench.errors import FactsError, InputError, Refused, StateError
from workbench.tesla.caches.table import FactCaching
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.engines.facts import database as database_module
from workbench.tesla.engines.facts import retained
from workbench.tesla.engines.facts import tables as tables_module
from workbench.tesla.engines.facts.database import FactDatabase, FactSettings, is_database
from workbench.tesla.engines.facts.table import FactTable
from workbench.tesla.engines.facts.tables import LOOK, FactTables, tables_in
from workbench.tesla.event_block import event_block
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import in_units

LINES = """
declare Late(bus: int)
declare Named(name: string)
declare fact Line(bus: int, name: string)
declare Notice(line: string)
rule lines: from Late[$b = bus] and each Line[$l = name](bus == $b) emit Notice(line = $l)
rule named: from Named and each Line(name == Named.name) as It emit Notice(line = It.name)
"""
Late, Named = Kind("Late"), Kind("Named")
ENDLESS = """
WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS bus, 'a' AS name FROM n WHERE x % 2 = 2
"""


@pytest.fixture
def file(tmp_path):
    """A database with three rows, open for others who write."""
    made = sqlite3.connect(tmp_path / "city.db", isolation_level=None, timeout=0)
    made.execute("PRAGMA synchronous = OFF")
    made.execute("CREATE TABLE Line (bus INTEGER, name TEXT)")
    made.executemany("INSERT INTO Line VALUES (?, ?)", [(1, "north"), (2, "south"), (1, "ring")])
    yield made
    made.close()


@pytest.fixture
def tables(tmp_path):
    """The facts of the rules in that database, asked in some way."""

    def made(text=LINES, caching=None, **settings):
        found = parse_rules(text)
        types = {name: declared for name, declared in found.declarations.items() if declared.fact}
        asked = FactSettings(**settings)
        return FactTables(tables_in(types, [FactDatabase(tmp_path / "city.db", asked)]), asked, caching)

    return made


def engine(facts, name="cdp", text=LINES, **settings):
    return rule_engine(in_units(parse_rules(text)), name, facts, EngineSettings(**settings))


def lines(found):
    return [each.values[0] for each in found]


# --- what is there --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "declared", "reason", "told"),
    [
        ("Lines (bus INTEGER, name TEXT)", "", "table", "no table 'Line'\n  hint: did you mean 'Lines'"),
        ("Line (bus INTEGER, nane TEXT)", "", "column", "no column 'name'\n  hint: did you mean 'nane'"),
        ("Line (bus INTEGER)", "", "column", "no column 'name'\n  hint: it has: bus"),
        ("Line (bus TEXT, name TEXT)", "", "type", "'bus' of Line is declared as int, and its column is TEXT"),
        ("Line (bus REAL, name TEXT)", "", "type", "its column is REAL"),
        ("Line (bus INTEGER, name INT)", "", "type", "'name' of Line is declared as string"),
    ],
)
def test_what_does_not_fit_its_declaration_is_told_beforehand(tmp_path, tables, table, declared, reason, told):
    with sqlite3.connect(tmp_path / "city.db") as made:
        made.execute(f"CREATE TABLE {table}")
    with pytest.raises(FactsError) as error:
        tables()
    assert told in str(error.value)
    assert error.value.reason == reason


def test_a_value_of_another_type_is_told_when_it_is_read(file, tables):
    file.execute("INSERT INTO Line VALUES ('two', 'odd'), (3, x'00')")
    running = engine(tables())
    assert lines(running.process(Late(0, 1))) == ["north", "ring"]
    with pytest.raises(FactsError, match=r"'name' of Line is declared as string, and a row has b'\\x00'"):
        running.process(Late(1, 3))


def test_texts_are_values_and_never_sql(file, tables):
    odd = ["' OR '1' = '1", '"; DROP TABLE Line; --', "?", "north\0", "%", "\ud800", "é" * 9]
    for name in odd[:-2]:
        file.execute("INSERT INTO Line VALUES (9, ?)", (name,))
    running = engine(tables())
    assert [lines(running.process(Named(0, name))) for name in odd] == [*([name] for name in odd[:-2]), [], []]
    assert lines(running.process(Late(0, 9))) == odd[:-2]


def test_numbers_that_no_column_holds_are_compared_all_the_same(file, tables):
    text = LINES.replace("(bus == $b)", "(bus < $b)")
    running = engine(tables(text), text=text)
    assert lines(running.process(Late(0, 2**70))) == ["north", "south", "ring"]
    assert lines(running.process(Late(0, -(2**70)))) == []


def test_a_file_that_is_no_database(tmp_path, tables):
    for content, reason in ((b"bus,name\n" * 99, "damaged"), (b"SQLite format 3\0" + b"\1" * 999, "damaged")):
        (tmp_path / "city.db").write_bytes(content)
        with pytest.raises(FactsError) as error:
            tables()
        assert error.value.reason == reason
    (tmp_path / "city.db").unlink()
    with pytest.raises(FactsError, match="there is no such file"):
        tables()
    assert not (tmp_path / "city.db").exists()


def test_pages_that_are_damaged_while_rules_run(file, tmp_path, tables):
    file.executemany("INSERT INTO Line VALUES (?, ?)", ((i, "x" * 50) for i in range(5000)))
    file.execute("CREATE INDEX by_bus ON Line (bus)")
    running = engine(tables())
    with (tmp_path / "city.db").open("r+b") as damaged:
        damaged.seek(20 * 4096)
        damaged.write(b"\xff" * (20 * 4096))
    reasons = set()
    for bus in range(3, 5000, 50):
        try:
            running.process(Late(0, bus))
        except FactsError as error:
            reasons.add(error.reason)
    assert reasons == {"damaged"}


# --- what changes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cdp", "aip", "compiled"])
def test_a_change_is_seen_at_the_next_event(file, tables, name):
    running = engine(tables(), name, plain=name == "compiled")
    assert lines(running.process(Late(0, 1))) == ["north", "ring"]
    file.execute("UPDATE Line SET name = 'metro' WHERE name = 'ring'")
    assert lines(running.process(Late(1, 1))) == ["north", "metro"]
    file.execute("DELETE FROM Line")
    assert running.process(Late(2, 1)) == []


class Writer:
    """Another process, which changes the database while events go on."""

    def __init__(self, path, goes_on):
        self._goes_on = goes_on
        setup = f"import os, sqlite3, sys; c = sqlite3.connect({str(path)!r}, isolation_level=None, timeout=30)"
        loop = "for line in sys.stdin: exec(line); print(flush=True)"
        command = [sys.executable, "-c", f"{setup}\n{loop}"]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, text=True, bufsize=1, cwd=path.parent)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._tells, self._told = self._process.stdin, self._process.stdout

    def does(self, code):
        self._tells.write(f"{code}\n")
        while not select.select([self._told], [], [], 0)[0]:
            self._goes_on()
        assert self._told.readline() == "\n"

    def close(self):
        self._process.communicate()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_what_another_process_changes_is_seen(file, tmp_path, tables, mode, together):
    """By the next event; by one of those that share a look as soon as that is over."""
    file.execute(f"PRAGMA journal_mode = {mode}")
    file.close()
    facts, times = tables(caching=FactCaching("lru")), count()
    running = engine(facts)

    def found():
        return lines(running.process(Late(next(times), 1)))

    writer = Writer(tmp_path / "city.db", found)
    with facts.together() if together else nullcontext():
        assert found() == ["north", "ring"]
        for i, rest in enumerate(["VACUUM", "PRAGMA user_version = 7", "PRAGMA wal_checkpoint(TRUNCATE)"]):
            for code in (f"UPDATE Line SET name = 'line {i}' WHERE name <> 'ring' AND bus = 1", rest):
                writer.does(f'c.execute("{code}").fetchall()')
                if together:
                    sleep(LOOK)
                    found()  # may be the last one that shares the look
                assert found() == [f"line {i}", "ring"]
        writer.does("n = sqlite3.connect('new.db'); n.execute('CREATE TABLE Line (name TEXT, bus INTEGER)')")
        writer.does("n.execute('INSERT INTO Line VALUES (?, 1)', ['only']); n.commit(); n.close()")
        writer.does(f"os.replace('new.db', {str(tmp_path / 'city.db')!r})")
        if together:
            sleep(LOOK)
            found()
        assert found() == ["only"]
        looks = facts.databases[0].version
    assert 4 <= looks <= 8
    writer.close()


def test_events_that_share_a_look_do_so_until_it_is_over(file, tables, monkeypatch):
    """Who looks again after a while, or gives composites away, sees what others have written meanwhile."""
    file.execute("PRAGMA journal_mode = WAL")
    facts = tables()
    running, now = engine(facts), [0.0]
    monkeypatch.setattr(tables_module, "monotonic", lambda: now[0])
    now[0] = 1.0
    with facts.together():
        assert len(running.process(Late(0, 1))) == 2
        file.execute("DELETE FROM Line WHERE name = 'ring'")
        assert len(running.process(Late(0, 1))) == 1  # the first one had no look to share
        file.execute("INSERT INTO Line VALUES (1, 'new')")
        now[0] += LOOK / 2
        assert len(running.process(Late(0, 1))) == 1
        facts.release()
        assert len(running.process(Late(0, 1))) == 2
        file.execute("DELETE FROM Line")
        now[0] += LOOK
        assert len(running.process(Late(0, 1))) == 2
        assert len(running.process(Late(0, 1))) == 0


@pytest.mark.parametrize("name", ["cdp", "compiled"])
def test_columns_that_change_while_rules_run(file, tables, name):
    """SQLite takes a name of no column for a text; what is only in another place, or beside, changes nothing."""
    running = engine(tables(), name, plain=name == "compiled")
    assert lines(running.process(Late(0, 2))) == ["south"]
    file.execute("ALTER TABLE Line ADD COLUMN more TEXT")
    assert lines(running.process(Late(1, 2))) == ["south"]
    for change, told in (
        ("RENAME COLUMN name TO title", "the table 'Line' has no column 'name'"),
        ("RENAME COLUMN title TO name", ""),
        ("ADD COLUMN rowid TEXT", "have changed since the rules began"),
    ):
        file.execute(f"ALTER TABLE Line {change}")
        for _ in range(2):  # it is told as long as it is so
            with pytest.raises(FactsError, match=told) if told else nullcontext():
                assert lines(running.process(Late(2, 2))) == ["south"]


def test_who_promises_that_nothing_changes_does_not_look(file, tables):
    """The facts are those of the beginning; without WAL others cannot write as long."""
    file.execute("PRAGMA journal_mode = WAL")
    facts = tables(fixed=True)
    running = engine(facts)
    file.execute("DELETE FROM Line")
    assert lines(running.process(Late(0, 1))) == ["north", "ring"]
    file.execute("INSERT INTO Line VALUES (1, 'new')")
    assert lines(running.process(Late(1, 1))) == ["north", "ring"]
    assert lines(engine(tables()).process(Late(1, 1))) == ["new"]


def test_another_file_of_that_name_is_opened(file, tmp_path, tables):
    running = engine(tables())
    assert len(running.process(Late(0, 1))) == 2
    with sqlite3.connect(tmp_path / "new.db") as new:
        new.execute("CREATE TABLE Line (name TEXT, bus INTEGER)")
        new.execute("INSERT INTO Line VALUES ('only', 1)")
    os.replace(tmp_path / "new.db", tmp_path / "city.db")
    assert lines(running.process(Late(1, 1))) == ["only"]
    (tmp_path / "city.db").unlink()
    with pytest.raises(FactsError, match="the facts are gone"):
        running.process(Late(2, 1))


@pytest.mark.parametrize("name", ["cdp", "aip"])
def test_an_event_sees_one_state_of_the_facts(file, tables, name):
    """A function that is called while an event is processed writes; the answers after it are those before it."""
    file.execute("PRAGMA journal_mode = WAL")
    writes = []

    def changes(one, other):
        if other == 7 and writes:
            file.execute("INSERT INTO Line VALUES (1, 'late')")
        return one + other

    text = """
    declare Late(bus: int)
    declare fact Line(bus: int, name: string)
    declare Told(before: int, changed: int, after: int)
    from Late[$b = bus] and $x = COUNT(Line(bus == $b)) and $y = CHANGES(Late() within 9 from Late .bus)
    and $z = COUNT(Line(bus == $b)) emit Told(before = $x, changed = $y, after = $z)
    """.replace("CHANGES(Late() within 9 from Late .bus)", "CHANGES(Late().bus within 9 from Late)")
    found = in_units(parse_rules(text, aggregates={"CHANGES": (changes, 0)}))
    facts = tables(text.replace("CHANGES", "SUM"))
    running = rule_engine(found, name, facts)
    running.process(Late(0, 7))
    writes.append(True)  # until now the function was only tried
    assert [each.values for each in running.process(Late(1, 1))] == [(2, 7, 2)]
    assert [each.values for each in running.process(Late(99, 1))] == [(3, 0, 3)]


def test_caches_are_emptied_by_a_change_and_hold_what_was_answered(file, tables):
    facts = tables(caching=FactCaching("lru", 3, shared=True))
    cache = facts.caches(None)
    running = engine(facts)
    for time in range(3):
        assert lines(running.process(Late(time, 1))) == ["north", "ring"]
        assert cache.rows == 2
    assert running.process(Late(3, 8)) == []
    assert cache.rows == 3  # what is empty is an answer, and counts as a row
    cache.entries[1, (8,)].answer = [(8, "remembered")]
    assert lines(running.process(Late(4, 8))) == ["remembered"]
    file.execute("INSERT INTO Line VALUES (8, 'new')")
    assert lines(running.process(Late(5, 8))) == ["new"]
    assert cache.rows == 1
    assert pickle.loads(pickle.dumps(facts)).caching == facts.caching


# --- what does not answer -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cdp", "compiled"])
@pytest.mark.parametrize("failure", ["error", "drop"])
def test_a_locked_database(file, tables, failure, name):
    facts = tables(failure=failure, seconds=0.01)
    running = engine(facts, name, plain=name == "compiled")
    assert len(running.process(Late(0, 1))) == 2
    file.execute("BEGIN EXCLUSIVE")
    if failure == "error":
        with pytest.raises(FactsError, match="another program has the database locked") as error:
            running.process(Late(1, 1))
        assert error.value.passing
    else:
        assert running.process(Late(1, 1)) == []
        assert list(facts.list_report_lines()) == [
            "1 match dropped, since facts Line could not be read: another program has the database locked"
        ]
    file.execute("ROLLBACK")
    assert len(running.process(Late(2, 1))) == 2


def test_who_looks_whether_a_file_is_a_database_leaves_its_locks(file, tmp_path):
    """Of this process, which has begun to write; another one cannot."""
    file.execute("BEGIN IMMEDIATE")
    assert is_database(tmp_path / "city.db")
    code = f"import sqlite3; sqlite3.connect({str(tmp_path / 'city.db')!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    assert "database is locked" in run([sys.executable, "-c", code], stderr=PIPE, text=True, check=False).stderr


def test_a_lock_that_passes(file, tables, monkeypatch):
    """The third time it is asked nobody has it locked; what is wrong for good is not asked again."""
    running, pauses = engine(tables(failure="retry", seconds=0.01)), []
    file.execute("BEGIN EXCLUSIVE")

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            file.execute("ROLLBACK")

    monkeypatch.setattr(database_module, "sleep", pause)
    assert len(running.process(Late(0, 1))) == 2
    assert len(pauses) == 2
    file.execute("DROP TABLE Line")
    with pytest.raises(FactsError, match="there is no table"):
        running.process(Late(1, 1))
    assert len(pauses) == 2


@pytest.mark.parametrize("kind", ["each Line", "not Line", "$n = COUNT"])
def test_a_match_that_is_given_up_is_none_whatever_is_asked(tmp_path, file, tables, kind):
    """Also of `not`: what is not known to be there may be there."""
    body = "each Line(bus == $b)" if "each" in kind else "not Line(bus == $b)"
    body = "$n = COUNT(Line(bus == $b))" if "COUNT" in kind else body
    text = LINES.replace("each Line[$l = name](bus == $b) emit Notice(line = $l)", f'{body} emit Notice(line = "x")')
    facts = tables(text, failure="drop")
    running = engine(facts, text=text)
    file.execute("DROP TABLE Line")
    assert running.process(Late(0, 5)) == []
    assert facts.dropped.total() == 1


def test_a_slow_view(file, tables):
    file.execute("DROP TABLE Line")
    file.execute(f"CREATE VIEW Line AS {ENDLESS}")
    running = engine(tables(seconds=0.02))
    with pytest.raises(FactsError, match=r"longer than 0\.02 seconds") as error:
        running.process(Named(0, "a"))
    assert error.value.reason == "slow"
    with pytest.raises(Refused, match="takes too long to be read"):
        engine(tables(seconds=0.02), "compiled")


def test_a_slow_view_can_be_interrupted(file, tables):
    file.execute("DROP TABLE Line")
    file.execute(f"CREATE VIEW Line AS {ENDLESS}")
    running = engine(tables())

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            running.process(Named(0, "a"))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_settings_that_mean_nothing():
    with pytest.raises(InputError, match="no reaction 'dorp'\n  hint: did you mean 'drop'"):
        FactSettings(failure="dorp")
    with pytest.raises(InputError, match="queries cannot end in 0 seconds"):
        FactSettings(seconds=0)


# --- engines --------------------------------------------------------------------------------------------


def test_facts_go_to_another_process_as_the_file_they_are_in(file, tables):
    facts = tables()
    assert len(engine(facts).process(Late(0, 1))) == 2
    again = pickle.loads(pickle.dumps(facts))
    assert str(again) == str(facts)
    assert len(engine(again).process(Late(0, 1))) == 2
    file.execute("DELETE FROM Line WHERE name = 'ring'")
    assert len(engine(again).process(Late(1, 1))) == 1


def test_a_snapshot_goes_on_with_the_facts_of_then(file, tables):
    """What a match that waits has bound it keeps, as events are kept."""
    text = """
    declare Late(bus: int)
    declare Named(name: string)
    declare fact Line(bus: int, name: string)
    declare Notice(line: string)
    from Late[$b = bus] as Start and each Line[$l = name](bus == $b) and absent Named(name == $l) within 5 after Start
    emit Notice(line = $l)
    """
    first = engine(tables(text), text=text)
    first.process(Late(0, 1))
    state = first.snapshot()
    file.execute("DELETE FROM Line WHERE name = 'north'")
    again = engine(tables(text), text=text)
    again.restore(state)
    assert again.process(Named(1, "ring")) == []
    assert lines(again.process(Late(9, 2))) == ["north"]
    assert lines(again.advance(99)) == ["south"]


@pytest.mark.parametrize("name", ["cdp", "aip", "compiled"])
def test_a_snapshot_names_its_facts(file, tmp_path, tables, name):
    """Facts that change may do so in between as well, unless they are promised not to."""
    file.execute("PRAGMA journal_mode = WAL")
    state, promised = engine(tables(), name).snapshot(), engine(tables(fixed=True), name).snapshot()
    engine(tables(fixed=True), name).restore(promised)
    file.execute("INSERT INTO Line VALUES (1, 'new')")
    again = engine(tables(), name)
    again.restore(state)
    assert lines(again.process(Late(0, 1))) == ["north", "ring", "new"]
    engine(tables(), name).restore(promised)
    with pytest.raises(StateError, match="facts Line have changed since") as error:
        engine(tables(fixed=True), name).restore(promised)
    assert "leave out --facts-fixed" in error.value.hint
    with pytest.raises(StateError, match=r"with table 'Line' of .*city\.db as facts Line, but these are now rows"):
        engine({"Line": [(1, "north")]}, name).restore(state)
    with sqlite3.connect(tmp_path / "other.db") as copy:
        file.backup(copy)
    declared = {"Line": parse_rules(LINES).declarations["Line"]}
    other = FactTables(tables_in(declared, [FactDatabase(tmp_path / "other.db")]))
    with pytest.raises(StateError, match=r"these are now table 'Line' of .*other\.db"):
        engine(other, name).restore(state)


def test_compiled_rules_keep_tables_that_are_small(file, tables, monkeypatch):
    monkeypatch.setattr(retained, "MAX_FACTS", 2)
    monkeypatch.setattr(retained, "MAX_SCANNED", 2)
    text = LINES.replace("(bus == $b)", "(bus <= $b)")
    with pytest.raises(Refused, match="has more than 2 rows"):
        engine(tables(text), "compiled", text)
    file.execute("DELETE FROM Line WHERE name = 'ring'")
    found = engine(tables(), "compiled", plain=True)
    assert not found.by_blocks
    assert lines(found.process(Late(0, 1))) == ["north"]
    file.execute("INSERT INTO Line VALUES (1, 'more')")  # then the database is asked
    assert lines(found.process(Late(1, 1))) == ["north", "more"]
    assert found.by_blocks


def test_compiled_rules_ask_for_each_block_where_tables_are_large(file, tables, monkeypatch):
    """What changes is seen at the next block; what fails is asked event by event, and told then."""
    monkeypatch.setattr(retained, "MAX_FACTS", 2)
    facts = tables(failure="drop")
    found = engine(facts, "compiled", plain=True)
    assert found.by_blocks
    assert lines(found.process(Late(0, 1))) == ["north", "ring"]
    file.execute("INSERT INTO Line VALUES (1, 'more')")
    assert lines(found.process(Named(1, "more"))) == ["more"]
    assert lines(found.process(Named(2, "\ud800"))) == []
    assert lines(found.process(Late(3, 1))) == ["north", "ring", "more"]
    file.execute("DROP TABLE Line")
    assert found.process(Late(4, 1)) == []
    assert facts.dropped.total() == 1


def test_compiled_rules_ask_for_each_block_between_bounds(file, tables, monkeypatch):
    """By numbers, whole and not, from two sides, of triggers and of facts; where that is too much `cdp` asks."""
    monkeypatch.setattr(retained, "MAX_SCANNED", 2)
    monkeypatch.setattr(retained, "MAX_RANGED", 12)
    text = """
    declare Probe(low: float, high: float)
    declare Named(name: string)
    declare fact Line(bus: int, name: string)
    declare fact Step(size: float, count: int)
    declare Told(rule: int, size: float, count: int)
    from Probe[$l = low, $h = high] and each Step(size > $l, $h >= size, count > 2)
    emit Told(rule = 1, size = Step.size, count = Step.count)
    from Probe as It and last Step(count >= It.low, count < It.high) ordered by size
    emit Told(rule = 2, size = Step.size, count = Step.count)
    from Probe[$l = low](high > 3.0) as It and $n = COUNT(Step(size > $l, size < It.high))
    and not Step(count < $n, count > $l, count < It.high)
    emit Told(rule = 3, size = 0.0, count = $n)
    from Named and each Line[$b = bus](name == Named.name) and each Step(count >= $b, count <= $b)
    emit Told(rule = 4, size = Step.size, count = $b)
    """
    file.execute("CREATE TABLE Step (size REAL, count INTEGER)")
    rows = [(i / 2 if i % 7 else None, i % 9 if i % 5 else None) for i in range(30)]
    file.executemany("INSERT INTO Step VALUES (?, ?)", rows)
    found, events = engine(tables(text), "compiled", text, plain=True), []
    assert found.by_blocks
    for i in range(60):
        low, high = i * 7 % 11 / 1, i % 13 / 2 + i * 7 % 11
        probe = Kind("Probe")(i, low if i % 5 else None, high if i != 9 else 99.0)
        events.append(probe if i % 4 else Named(i, "ring" if i % 8 else "north"))
    made = list(found.process_block(event_block(found.rules, events, found.texts.put), sources=True))
    assert len(made) > 4
    facts = {"Line": list(file.execute("SELECT * FROM Line")), "Step": rows}
    expected = meaning(parse_rules(text), events, facts)
    assert {each.values[0] for each in expected} == {1, 2, 3, 4}
    told = (part if isinstance(part, list) else part.occurrences(found.rules) for part in made)
    assert [each for part in told for each in part] == expected
    one_sided = text.replace(", count <= $b", "")
    with pytest.raises(Refused, match="by equations or two bounds"):
        engine(tables(one_sided), "compiled", one_sided)


def test_rules_that_ask_the_same_have_one_query(file, tables):
    """What a match has elsewhere is no reason to ask twice."""
    text = """
    declare Late(bus: int)
    declare Named(name: string)
    declare fact Line(bus: int, name: string)
    declare Notice(line: string)
    from Late and each Line[$l = name](bus == Late.bus) emit Notice(line = $l)
    from Named and each Late within 9 from Named and each Line[$l = name](Late.bus == bus, name != Named.name)
    emit Notice(line = $l)
    """
    facts = tables(text)
    running = engine(facts, text=text)
    given = [Late(0, 1), Named(1, "ring")]
    found = [each for event in given for each in running.process(event)]
    assert found == meaning(parse_rules(text), given, {"Line": [(1, "north"), (2, "south"), (1, "ring")]})
    table = facts["Line"]
    assert isinstance(table, FactTable)
    assert len(facts._queries) == 2  # of the second rule all rows are asked one by one
