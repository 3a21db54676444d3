"""Whatever is read may be wrong: programs, properties, logs, states, databases. All end in an error that says so.

`tests/events/test_damage.py` does the same with the formats that are written, `tests/tesla/test_fuzzed.py` with rules.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from tests.tesla.mutated import _TOKEN, _mutate
from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum
from workbench.core.program import Port, Ports
from workbench.errors import WorkbenchError
from workbench.events.read import read_blocks
from workbench.events.reading_options import Reading
from workbench.extras import install_extra
from workbench.language.load import parameters
from workbench.language.parser import parse_check, parse_expression, parse_trouble
from workbench.language.properties import elaborate
from workbench.stored import MAGIC, SIZE, mark_of, seal
from workbench.verify.ask.labels import property_from

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = [path.read_text() for path in sorted(ROOT.glob("models/**/*.pipe"))]
SEEDS = st.integers(0, 1 << 60)


def mutate(chosen: Random, texts: list[str], most: int) -> str:
    """One of these texts, wrong in some places."""
    tokens = _TOKEN.findall(chosen.choice(texts))
    for _ in range(chosen.randint(1, most)):
        _mutate(tokens, chosen)
    return "".join(tokens)


def tried(done: Callable[[], object]) -> bool:
    """Whether it goes well; no other error is raised than ours, which has a text."""
    try:
        done()
    except WorkbenchError as error:
        return not error.message  # which all have
    return True


# --- texts ----------------------------------------------------------------------------------------------------


@examples(32)
@given(seed=SEEDS)
def test_programs(seed: int) -> None:
    text = mutate(Random(seed), PROGRAMS, 6)

    def read() -> None:
        source = wb.parse(text)
        for name in source.pipelines:
            tried(lambda name=name: str(source.get(name).pipeline))  # type: ignore[misc]

    tried(read)


PROPERTIES = [
    "always (out != 3)", "ltl(G F x.present -> G F out.present)", "liveness", "stepwise-equivalent(a<k = 1>)",
    "can(out = 3)", "AG (x > 1 -> AF y)", "A[p U q]", "never(Fire)", "lose y at most 2", "corrupt y",
    "delay y by 3 at most 2 when y > 0", "(1, 2.5)", '"text"', "{1: 2}",
]  # fmt: skip


@examples(150)
@given(seed=SEEDS)
def test_properties_faults_and_parameters(seed: int) -> None:
    text = mutate(Random(seed), PROPERTIES, 4)
    loaded = wb.parse("pipeline p(x: int, y: int) -> out: int, b: bool { return x + y, x > y }").get()
    tried(lambda: str(property_from(elaborate(parse_check(text), {}))))
    for read in (parse_expression, parse_trouble, loaded.faulty, lambda text: parameters([f"k={text}"])):
        tried(lambda read=read: read(text))  # type: ignore[misc]


# --- logs -----------------------------------------------------------------------------------------------------

LOG = Ports("log", tuple(Port(n, d) for n, d in {"x": INT, "f": FLOAT, "b": BOOL, "s": STR, "e": Enum(("a",))}.items()))
XML = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<log a="1"><r n="1"><x>1</x><f>1.5</f><b>true</b><s>a</s><e>a</e>'
    b'<m><i k="1">2</i></m></r>\n<r><x>2</x><f/><s>&lt;<![CDATA[x]]></s><e>a</e></r></log>\n'
)
TEXT = b"".join(b"%d %.2f true t%d a\n" % (i, i / 7, i) for i in range(20))
PATTERNS = [
    r"(?P<x>\d+) (?P<f>\S+) (?P<b>\S+) (?P<s>.*) (?P<e>\w+)", r"(?P<x>.*)?(?P<s>.)(?P<f>)(?P<b>)(?P<e>)", r"\d+", "[",
    r"(?P<x>(a|(?P<s>b))*)", "(?P<x>", r"(?P<x>\d+)(?(x)a|b)", "(?P<x>a)(?P<x>b)", "(?i", "\\", "(?P<é>.)",
]  # fmt: skip
PATHS = [
    "x", "x/y", "@n", "m/i[@k]", "m/i[k]", "i[", "..", ".", "//", "*", "x[1]", 'x[@n="1"]', "{u}x", "m/*", "", "x/",
    "/x", "@", "x@n", "m/i[@k]/..", 'x[.="1"]', "x[last()]", "x[-1]", "x[0]", "x[a=]", "x[='1']", "x[()]",
]  # fmt: skip


@examples(120)
@given(seed=SEEDS)
def test_logs_whose_rows_the_user_describes(seed: int, tmp_path: Path) -> None:
    damage: Any = pytest.importorskip("tests.events.damage")
    chosen = Random(seed)
    data = (XML, TEXT)[seed % 2]
    for _ in range(chosen.randint(0, 3)):
        data = chosen.choice(damage.DAMAGES)(chosen, data, dict.fromkeys(damage.NAMES, data))
    path = tmp_path / ("log.txt" if seed % 2 else "log.xml")
    path.write_bytes(data)
    bad_rows, null = chosen.choice(["error", "skip"]), chosen.choice(["absent", "error", "zero"])
    reading = Reading(bad_rows=bad_rows, null=null, format="text", pattern=chosen.choice(PATTERNS))  # type: ignore[arg-type]
    if not seed % 2:
        columns = {name: chosen.choice(PATHS) for name in chosen.sample(list(LOG.domains), chosen.randrange(4))}
        tag = chosen.choice(["r", "r", "r", "log", "x", "*", "é"])
        reading = Reading(bad_rows=bad_rows, null=null, format="xml", xml=tag, columns=columns)  # type: ignore[arg-type]
    tried(lambda: [block.columns() or list(block.steps()) for block in read_blocks(path, LOG, reading)])


@pytest.mark.parametrize("encoding", ["tf-8", "utf-7", "idna", "rot13", "utf-32", "cp1252", "koi8-r"])
def test_encodings_that_documents_name(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "log.xml"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?><log><r><x>1</x></r></log>')
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    read = tried(lambda: wb.run(program.pipeline, path, xml="r", backend="reference").to_dict())
    assert read == (encoding in ("cp1252", "koi8-r"))


# --- states ---------------------------------------------------------------------------------------------------

STATEFUL = [
    "pipeline p(x: int) -> int { return cumulate(x, +) }",
    "pipeline p(x: int) -> int { return window(x, 3, cumulate(+)) }",
    "pipeline p(x: int, y: int) -> int { return x + trim(y, 2) }",
    "machine p(x: int) -> int {\n  var k: int = 0\n  state a: k\n  a -> a when x > 1 { k = k + x }\n}",
]
ODD = [b"\0" * 8, b"9" * 30, b'{"map":3}', b"[]", b"null", b'{"tuple":99999999}', b"\xff" * 8, b'"a"', b"1e999", b"NaN"]


@pytest.fixture(scope="module")
def states() -> list[tuple[Any, Any, bytes]]:
    """What runs a pipeline, the pipeline, and the state of a run."""
    makers: list[Any] = [wb.executors.Reference]
    if find_spec("numba"):
        from workbench.executors.compiled.execute.executor import Compiled

        makers.append(Compiled)
    found = []
    for text in STATEFUL:
        pipeline = tried(lambda text=text: wb.parse(text).get()) and wb.parse(text).get().pipeline  # type: ignore[misc]
        for make in makers if pipeline else ():
            running = make(pipeline)
            for i in range(5):
                running.step({name: i for name, _ in pipeline.inputs})
            found.append((make, pipeline, running.snapshot()))
    assert len(found) >= 3
    return found


@examples(120)
@given(seed=SEEDS)
def test_states(states: list[tuple[Any, Any, bytes]], seed: int) -> None:
    """Damaged, and sealed again as whole: by somebody, or by another version."""
    chosen = Random(seed)
    make, pipeline, state = chosen.choice(states)
    data = bytearray(state[len(MAGIC) + 1 + 2 * SIZE :])
    for _ in range(chosen.randint(1, 3)):
        i = chosen.randrange(len(data) + 1)
        number = chosen.choice([0, 1, -1, 1 << 31, 1 << 62, -(1 << 63)]) & ((1 << 64) - 1)
        match chosen.randrange(4):
            case 0:
                data[i : i + 1] = bytes([chosen.choice([0, 1, 127, 128, 255, *b'"[{9'])])
            case 1:
                del data[i:]
            case 2:
                data[i:i] = chosen.choice(ODD)
            case _:
                data[i : i + 8] = number.to_bytes(8, "little")
    whole = chosen.random() < 0.8
    running = make(pipeline)

    def go_on() -> None:
        running.restore(seal(mark_of(state), bytes(data)) if whole else state[: chosen.randrange(len(state))])
        running.step({name: 1 for name, _ in pipeline.inputs})

    tried(go_on)


# --- databases ------------------------------------------------------------------------------------------------

RULES = """declare fact Line(bus: int, line: int, name: string) declare A(bus: int) declare B(line: int, name: string)
from A and each Line(bus == A.bus) as L emit B(line = L.line, name = L.name)"""
ROWS = [
    (1, 2, "a"), (None, 1, "b"), (1, None, None), ("1", 2, "x"), (1, b"\xff", b"\xff"), (1.5, 2, "c"), (1e300, 2, "d"),
    (2**63 - 1, -(2**63), ""), (float("inf"), 1, "x"), (1, 2, "\0"), (1, "x", "y"), (1, 2, 3), (1, 2, 3.5),
]  # fmt: skip
SCHEMAS = [
    "create table Line(bus integer, line integer, name text)", "create table Line(bus, line, name)",
    "create view Line as select 1 as bus, 2 as line, 'x' as name", "create table Line(bus integer)",
    "create table line(BUS integer primary key, LINE integer, NAME text) without rowid", "create table Other(a)",
    "create table Line(bus integer, line integer, name text generated always as (line || 'x'))",
    "create table Line(bus text collate nocase, line real, name numeric)", "create view Line as select * from Nothing",
    "create view Line as select * from Two; create view Two as select * from Line",
]  # fmt: skip


def write_database(path: Path, chosen: Random) -> None:
    """A database as one finds them: of another shape, with other values, or damaged."""
    made = sqlite3.connect(path)
    try:
        made.executescript(chosen.choice(SCHEMAS))
        for row in chosen.choices(ROWS, k=3):
            made.execute("insert into Line values(?, ?, ?)", row)
        made.commit()
    except sqlite3.Error:
        pass
    made.close()
    data = bytearray(path.read_bytes())
    for _ in range(chosen.choice([0, 0, 1, 2, 20]) if data else 0):
        data[chosen.randrange(len(data))] = chosen.choice([0, 1, 127, 128, 255])
    path.write_bytes(data[: chosen.choice([len(data)] * 9 + [chosen.randrange(len(data) + 1)])])


@examples(40)
@given(seed=SEEDS)
def test_databases(seed: int, tmp_path: Path) -> None:
    chosen, path = Random(seed), tmp_path / "facts.db"
    for each in tmp_path.iterdir():
        each.unlink()
    write_database(path, chosen)
    facts: Any = chosen.choice([str(path), f"Line={path}", f"Line={path}:Line"])
    rows = [{"type": "A", "time": i, "bus": i % 3} for i in range(5)]
    engine = chosen.choice(["cdp", "aip"])
    tried(lambda: list(wb.run(wb.rules.parse_rules(RULES), rows, facts=facts, engine=engine)))


def test_what_a_database_says_in_other_letters(tmp_path: Path) -> None:
    """SQLite's own message quotes the schema, which may be any bytes."""
    path = tmp_path / "facts.db"
    made = sqlite3.connect(path)
    made.executescript("create table Line(bus integer, line integer, name text)")
    made.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE Line(", b"CREATE TABLE \x80\xff\x80\xff("))
    with pytest.raises(WorkbenchError, match=r"facts\.db"):
        wb.run(wb.rules.parse_rules(RULES), [{"type": "A", "time": 1, "bus": 1}], facts=str(path))


# --- packages that are not installed --------------------------------------------------------------------------

HIDING = """
import importlib.machinery as m, sys
hidden, find = set(sys.argv[1].split(",")), m.PathFinder.find_spec
class Finder(m.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else find(name, path, target)
sys.meta_path[:] = [Finder if each is m.PathFinder else each for each in sys.meta_path]
from workbench.cli.main import main
for line in sys.argv[2:]:
    print(main(line.split()), file=sys.stderr)
"""
BASE = "numba,llvmlite,numpy,pyarrow,pandas,pyspark,duckdb,matplotlib,jinja2,starlette,uvicorn,hypothesis,cupy"


def outcomes(folder: Path, hidden: str, *lines: str) -> tuple[list[str], str]:
    """The exit codes of commands where packages are hidden, and what is said beside."""
    (folder / "p.pipe").write_text("pipeline p(x: int) -> int { return cumulate(x, +) }")
    (folder / "l.csv").write_text("x,s\n" + "".join(f"{i},u{i % 3}\n" for i in range(3000)))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HIDING, hidden, *lines]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    said = done.stderr.splitlines()
    return [line for line in said if line.isdigit()], "\n".join(line for line in said if not line.isdigit())


RUN = "run p.pipe --input l.csv --output o.csv --backend"


@pytest.mark.parametrize(
    "hidden",
    ["pyarrow", pytest.param("numba,llvmlite", marks=pytest.mark.slow), pytest.param(BASE, marks=pytest.mark.slow)],
)
def test_backends_say_what_they_need(hidden: str, tmp_path: Path) -> None:
    names, others = ("compiled", "gpu"), ("reference", "auto", "threaded", "dataflow")
    keys, some = ("", " --key s"), others[:2] if hidden == "pyarrow" else others
    lines = [f"{RUN} {name}{key}" for name in names for key in keys] + [f"{RUN} {name}" for name in some]
    codes, said = outcomes(tmp_path, hidden, *lines)
    assert codes == ["2"] * 4 + ["0"] * len(some), said
    for name in names:
        assert said.count(f"backend '{name}' needs the package {hidden.partition(',')[0]}") == 2
    assert said.count(install_extra("fast")) == 4
    assert "unexpected" not in said


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["pyarrow", "numpy", BASE])
def test_commands_say_what_they_need(hidden: str, tmp_path: Path) -> None:
    """Those of rules, whose columns are arrays; none of them is surprised."""
    fire = ROOT / "models" / "tesla"
    log = f"{fire / 'fire.tesla'} --input {fire / 'fire.jsonl'}"
    lines = [
        *(f"run {log} --backend {name} --output o.csv" for name in ("cdp", "aip", "compiled", "auto", "gpu")),
        f"run {log} --backend cdp --matches rows --output o.csv", f"run {log} --matches count",
        f"explain {log} --event 1", f"rules plan {fire / 'fire.tesla'}",
        f"analyse {fire / 'fire.tesla'} --only fires --timeout 9",
        f"conform {fire / 'fire.tesla'} --examples 2", "check p.pipe -p liveness", "doctor", "draw p.pipe -o d.svg",
    ]  # fmt: skip
    codes, said = outcomes(tmp_path, hidden, *lines)
    assert codes[:2] == ["0", "0"], said
    assert set(codes) <= {"0", "2"}, said
    assert "unexpected" not in said
    if hidden != "pyarrow":
        assert "needs the package numpy, which is not installed" in said
