"""Who follows a hint of a command comes to one that runs: `«wrong→right»` is the change that the hint proposes."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.test_hints import variants

NGINX = """\
10.0.0.1 - - [24/Nov/2026:03:37:50 +0000] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0 (X11) (KHTML, like Gecko)"
"""
FILES = {
    "p.pipe": """
pipeline p(x: int) -> int { return x }
pipeline late<k = 2>(x: int) -> int { return trim(x, k) }
pipeline later<k>(x: int) -> int { return trim(x, k) }
pipeline wide(x: int, y: int) -> int { return x + y }
pipeline delayed(x: bool) -> bool { return x or not x }
pipeline text(x: str) -> str { return x }
pipeline field(x: {y: int?}) -> {y: int?} { return x }
pipeline record(x: {a: int, b: int}) -> int { return x.a + x.b }
""",
    "r.tesla": "declare A(v: int)\ndeclare B(v: int)\nrule r: from A(v > 1) emit B(v = A.v)\n",
    "half.pipe": """
pipeline half(x: float) -> float { return x * 0.5 }
pipeline whole(x: int) -> int { return x div 2 }
""",
    "one.pipe": "pipeline one(x: 1..9) -> 1..9 { return x }",
    "m.pipe": "machine m(x: 0..9) -> int { state a: x }",
    "windows.tesla": "declare A(v: int)\ndeclare B(v: int)\nfrom A and last B within 5 s from A emit B(v = A.v)\n",
    "facts.tesla": """
declare A(v: int)
declare B(v: int)
declare fact Line(name: string, number: int)
rule r: from A(v > 1) and each Line(number == A.v) emit B(v = A.v)
""",
    "fact.tesla": """
declare A(v: int)
declare B(v: int)
declare fact Limit(number: int)
rule r: from A(v > 1) and each Limit(number == A.v) emit B(v = A.v)
""",
    "name.csv": "name,number\nx,1\n",
    "nme.csv": "nme,number\nx,1\n",
    "no_names.csv": "x,1\n",
    "number.csv": "number\n1\n",
    "num.csv": "num\n1\n",
    "cells.csv": 'c\n"{""a"": 1, ""b"": 2}"\n',
    "log.csv": "x\n1\n2\n",
    "points.csv": "x\n20.5\n",
    "time_temp.csv": "time,temp\n1,2\n",
    "items.jsonl": '{"items": [{"x": 1}]}\n',
    "messages": NGINX,
    "messages.txt": NGINX,
    "other.csv": "y\n1\n2\n",
    "two.csv": "y,z\n1,2\n2,3\n",
    "rows.csv": "1,2\n3,4\n",
    "log.jsonl": '{"type": "A", "time": 1, "v": 5}\n',
    "aware.jsonl": '{"type": "A", "time": "2024-05-01T12:00:00Z", "v": 5}\n',
    "naive.jsonl": '{"type": "A", "time": "2024-05-01 12:00:00", "v": 5}\n',
    "untyped.csv": "time,v\n1,5\n",
    "at.jsonl": '{"type": "A", "at": 1, "v": 5}\n',
}
COMMANDS = [
    # what the hint says, and the command
    ("did you mean 'log.csv'?", "run p.pipe:p --input «lgo.csv→log.csv»"),
    ("repeat the option for each column", "run p.pipe:p --input two.csv --column x=y --carry «y,z→y --carry z»"),
    ("did you mean 'p.pipe'?", "run «pp.pipe→p.pipe:p» --input log.csv"),
    ("its pipelines are: p, late, later, wide, delayed, text, field, record", "run p.pipe:«q→p» --input log.csv"),
    ("did you mean 'k'?", "run p.pipe:late --param «kk→k»=1 --input log.csv"),
    ("--param kk=3", "run p.pipe:late --param «kk→k=3» --input log.csv"),
    ("leave 'k' out", "run p.pipe:p« --param k=3→» --input log.csv"),
    ("add --param k=3 (k=3 in Python), or", "run p.pipe:later« → --param k=3 »--input log.csv"),
    ("leave out --policy and --compat", "equiv p.pipe:p p.pipe:p« --policy last=each→»"),
    ("leave out --policy and --compat", "equiv p.pipe:p p.pipe:p« --compat trex→»"),
    ("--param k=3", "run p.pipe:late --param «k→k=3» --input log.csv"),
    ("--column x=y", "run p.pipe:p --input other.csv« → --column x=y»"),
    (
        "its columns are: y, z; read one of them as 'x': --column x=NAME",
        "run p.pipe:p --input two.csv« → --column x=y»",
    ),
    (
        "its columns are: y, z; read one of them as 'x': --column x=NAME, or as its field: --column x.a=NAME",
        "run p.pipe:record --input two.csv« → --column x.a=y --column x.b=z»",
    ),
    ("--column x.y=y", "run p.pipe:field --input other.csv« → --column x.y=y»"),
    ("--column x=c, or as its field: --column x.a=c", "run p.pipe:record --input cells.csv« → --column x=c»"),
    ("did you mean 'nme'? If so, rename the column", "run facts.tesla --input log.jsonl --facts Line=«nme→name».csv"),
    ("rename the column in the file, or", "run facts.tesla --input log.jsonl --facts Line=«no_names→name».csv"),
    ("rename the column in the file, or", "run fact.tesla --input log.jsonl --facts Limit=«num→number».csv"),
    ("did you mean 'name.csv'?", "run facts.tesla --input log.jsonl --facts Line=«names→name».csv"),
    ("--header x,y", "run p.pipe:wide --input rows.csv« → --header x,y»"),
    ("--header x,column2", "run p.pipe:p --input rows.csv« → --header x,column2»"),
    ("did you mean 'compiled'?", "run p.pipe:p --input log.csv --backend «compield→compiled»"),
    ("did you mean '--output'?", "run p.pipe:p --input log.csv «--outptu→--output» out.csv"),
    ("did you mean 'jsonl'?", "run r.tesla --input log.jsonl --format «jsnl→jsonl»"),
    ("--output-format csv", "run p.pipe:p --input log.csv --output out.prq« → --output-format csv»"),
    ("did you mean 'x'?", "run p.pipe:p --input log.csv --column «xx→x»=x"),
    ("did you mean 'temp'? If so, write --column x=temp", "run p.pipe:p --input time_temp.csv --column x=«tmep→temp»"),
    (
        "did you mean 'items.0.x'? If so, write --column x=items.0.x",
        "run p.pipe:p --input items.jsonl --column x=items.«→0.»x",
    ),
    ("--carry time", "run p.pipe:p --input time_temp.csv --column x=temp --carry «tmie→time»"),
    ("--key time", "run p.pipe:p --input time_temp.csv --column x=temp --key «tmie→time»"),
    ("--time time", "run p.pipe:p --input time_temp.csv --column x=temp --time «tmie→time»"),
    ("name the column to copy: --carry NAME", "run p.pipe:p --input two.csv --column x=y --carry «v→z»"),
    ("If so, write --key v", "run p.pipe:p --input log.jsonl --column x=v --key «vv→v»"),
    ("If so, name the column of times: --time time", "run p.pipe:p --input log.jsonl --column x=v --time «tme→time»"),
    ("leave out '--decimal ,' if", "run half.pipe:half --input points.csv« --decimal ,→ »"),
    ("--bad-rows out.jsonl", "run p.pipe:p --input log.csv --bad-rows «bad.log→out.jsonl»"),
    ("--bad-rows bad.csv", "run p.pipe:p --input log.csv --bad-rows bad.«txt→csv»"),
    ("--late-output out.jsonl", "run r.tesla --input log.jsonl --late 1 --late-output «late.log→out.jsonl»"),
    ("--pattern syslog, nginx", "run p.pipe:p --input messages.txt --column x=status« → --pattern nginx»"),
    ("--pattern syslog, nginx", "run p.pipe:p --input messages« → --pattern nginx --column x=status»"),
    (
        "--pattern syslog, nginx",
        "run p.pipe:wide --input messages« → --pattern nginx --column x=status --column y=bytes»",
    ),
    ("leave it out", "run p.pipe:p --input log.csv« --until 3→ »"),
    ("--input A=FILE", "run r.tesla --input «→A=»untyped.csv"),
    ("--time NAME", "run r.tesla --input at.jsonl« → --time at»"),
    (
        "its columns are: y, z; name the column of times: --time NAME",
        "run p.pipe:p --input two.csv --column x=y --time «v→z»",
    ),
    ('--fault "lose x"', "run p.pipe:p« → --fault=lose˙x »--rate 0.5 --input log.csv"),
    ('--fault "lose x"', "check p.pipe:delayed -p tolerates« → --fault=lose˙x»"),
    ("leave it out: in a model of rules, one event", "check r.tesla -p can(B)« --inputs always→»"),
    ("an int: -N sets the integers", "check p.pipe:p -p liveness «--values x=0..30→-N 31»"),
    ("x is a str: write --values str=a,b", "check p.pipe:text -p liveness --values «x→str»=a,b"),
    ("a rule file is used as a whole: leave ':NAME' out", "run r.tesla«:r→» --input log.jsonl"),
    ("a rule file is used as a whole: leave ':NAME' out", "check r.tesla«:r→» -p can(B)"),
    ("name two .tesla files, without ':NAME'", "equiv r.tesla«:r→» r.tesla"),
    ("--time-unit s, in Python", "run windows.tesla --input log.jsonl« → --time-unit s»"),
    ("the log does: 300", "run r.tesla --input log.jsonl --until «5s→300»"),
    ("the log does: 2024-05-01T12:05:00Z", "run r.tesla --input aware.jsonl --until «12:05→2024-05-01T12:05:00Z»"),
    ("the log does: 2024-05-01T12:05:00Z", "run r.tesla --input aware.jsonl --until «2024-05-01→2024-05-01T12:05:00Z»"),
    ("the log does: 2024-05-01T12:05:00", "run r.tesla --input naive.jsonl --until «300→2024-05-01T12:05:00»"),
    ("--key NAME", "run p.pipe:p --input two.csv --column x=y --key «v→z»"),
    ("--input -", "run p.pipe:p« → --input log.csv»"),
    ("a model has no fractions", "check half.pipe:«half→whole»"),
    ("use -N 10", "check m.pipe« → -N 10»"),
    ("repeat -p", "check p.pipe:p -p liveness«,response→ -p response»"),
    ("write a number", 'check p.pipe:p -p can(out=«"a"→1»)'),
    ("compare it, e.g. out > 0", "check one.pipe -p always(«out→out>0»)"),
    ("did you mean 'check'?", "rules «chek→check» r.tesla"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spaced(word: str) -> str:
    """The word of a command line with the spaces that a shell would find in its quotes."""
    return word.replace("˙", " ")


@pytest.mark.parametrize(("hint", "case"), COMMANDS, ids=[case[-50:] for _, case in COMMANDS])
def test_who_follows_the_hint_of_a_command_comes_to_one_that_runs(hint, case, here: Path, workbench: Run):
    wrong, right = (workbench(*map(spaced, text.split())) for text in variants(case))
    assert wrong.code == 2
    assert hint in wrong.err.partition("  hint: ")[2]
    assert right.code == 0, right.err


def test_values_are_no_advice_once_they_are_given(here: Path, workbench: Run):
    done = workbench("check", "half.pipe:half", "--values", "float=0..4")
    assert "a model has no fractions" in done.err
    assert "--values" not in done.err


def test_spark_names_the_columns_that_may_be_the_key(here: Path, workbench: Run):
    pytest.importorskip("pyspark")
    done = workbench("run", "p.pipe:p", "--input", "two.csv", "--column", "x=y", "--backend", "spark")
    assert done.err.endswith("name the column that separates the streams: --key z\n")
    done = workbench("run", "p.pipe:p", "--input", "log.csv", "--backend", "spark")
    assert "add a column that separates the streams" in done.err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, "cannot read F.smt2: No such file or directory"),
        (b"\xff", "cannot read F.smt2: it is not UTF-8 text"),
        (b"(((", "F.smt2:1:1: this is not a certificate: a bracket is not closed"),
        (b"(check-sat)", "F.smt2:1:1: this is not a certificate: it states no question"),
        (b'(set-info :question "[1]")', "F.smt2:1:1: this is not a certificate: it states no question"),
    ],
)
def test_a_certificate_is_written_first(text: bytes | None, error: str, here: Path, workbench: Run):
    pytest.importorskip("z3")
    if text is not None:
        (here / "F.smt2").write_bytes(text)
    assert workbench("certify", "F.smt2").err == (
        f"workbench: {error}\n  hint: write one: workbench check FILE --certificate F.smt2\n"
    )
    assert workbench("check", "p.pipe:p", "-p", "always (out >= 0)", "--certificate", "F.smt2").code == 0
    assert workbench("certify", "F.smt2").code == 0
