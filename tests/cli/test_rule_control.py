"""Rules that change while a log is read: when, what they know then, and what is wrong with a control file."""

import json
import os
import threading
import time

import pytest

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.executors.table import engines_here

RULES = """
declare A(x: int)
declare B(x: int)
declare C(x: int)
declare Told(x: int)
rule count: from B and $n = COUNT(A within 5 from B) emit Told(x = $n)
rule gone: from C as Start and absent A within 5 after Start emit Told(x = 100 + Start.x)
"""
LATEST = "from B and last A within {} from B emit Told(x = 10 * A.x)"
SEEN = "declare N(y: int) declare Seen(y: int) from N emit Seen(y = N.y)"


def event(type, time, **values):
    return {"type": type, "time": time, **values}


def change(time, do, rule=None, text=None, **others):
    given = {"time": time, "do": do, "rule": rule, "text": text, **others}
    return {name: value for name, value in given.items() if value is not None}


LOG = [
    event("C", 0, x=0), event("C", 1, x=1), event("A", 4, x=1), event("B", 8, x=0), event("N", 9, y=1),
    event("A", 10, x=2), event("B", 10, x=0), event("B", 12, x=0), event("N", 14, y=2), event("B", 20, x=0),
    event("C", 21, x=3), event("C", 23, x=4), event("B", 30, x=0),
]  # fmt: skip
CONTROL = [
    change(6, "remove", "gone"),
    change(10, "add", "latest", LATEST.format(4)),
    change(14, "replace", "count", "rule twice: " + LATEST.format(9).replace("10 *", "1000 *")),
    change(14, "add", text=SEEN),
    change(20, "remove", "latest"),
    change(21, "add", text="rule gone: from C as Start and absent A within 5 after Start emit Told(x = -Start.x)"),
    change(28, "remove", "gone"),
    change(99, "remove", "twice"),
]
TOLD = [
    # The A at 4 comes in time for both Cs.
    event("Told", 8, x=1),  # it lies in 3..8
    # The first A lies before 5, and before 6; the second one is there when the B of the same time comes.
    event("Told", 10, x=1), event("Told", 10, x=20),
    event("Told", 12, x=1), event("Told", 12, x=20),
    event("Seen", 14, y=2),  # the N at 9 was of no type that was declared
    # `twice` would reach back to 11 at 20: there is no A. C3 is told at 26, before 28; C4 would be at 28.
    event("Told", 26, x=-3),
]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    (tmp_path / "r.tesla").write_text(RULES)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LOG))
    (tmp_path / "control.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CONTROL))
    return tmp_path


@pytest.mark.parametrize("engine", engines_here())
def test_rules_change_as_time_passes(workbench, files, engine):
    given = ("run", files / "r.tesla", "--input", files / "in.jsonl", "--rules-control", files / "control.jsonl")
    done = workbench(*given, "--backend", engine)
    assert [json.loads(line) for line in done.out.splitlines()] == TOLD
    told = done.err.replace(f"workbench: {files}/control.jsonl", "").splitlines()
    assert told[:2] == [":1: at 6 rule 'gone' is removed", ":2: at 10 rule 'latest' is added: complete at once"]
    assert told[2].startswith(":3: at 14 rule 'twice' replaces 'count': complete ")
    assert told[3] == ":4: at 14 rule 'rule 3' is added: complete at once"
    assert told[-2:] == [
        "workbench: ignored rows of types that are not declared: N (1)",
        ": a change lies after the last event, and had no effect (--until moves time)",
    ]
    until = workbench(*given, "--backend", engine, "--until", "99")
    assert ":8: at 99 rule 'twice' is removed" in until.err


def test_absences_that_a_rule_waits_for_go_with_it(files):
    """One whose deadline lies before the change is told, though no event came between."""
    log = [event("C", 0, x=0), event("C", 1, x=1), event("B", 9, x=0)]
    assert wb.run(files / "r.tesla", log, rules_control=[change(6, "remove", "gone")]) == [
        event("Told", 5, x=100), event("Told", 9, x=0),
    ]  # fmt: skip


def test_a_rule_may_lie_in_a_file_of_its_own(workbench, files):
    (files / "more.tesla").write_text(SEEN)
    (files / "c.csv").write_text("time,do,rule,file\n9,add,new,more.tesla\n9,remove,new,\n9,add,other,more.tesla\n")
    out = files / "out.csv"
    done = workbench(
        "run", files / "r.tesla", "--input", files / "in.jsonl", "--rules-control", files / "c.csv", "--output", out
    )
    assert "rule 'other' is added" in done.err
    assert out.read_text().splitlines()[:4] == ["type,time,x,y", "Told,8,1,", "Seen,9,,1", "Told,10,1,"]


def test_all_mistakes_are_told_before_anything_runs(workbench, files):
    wrong = [
        change(1, "ad", "new", LATEST.format(4)),
        change(2, "add", "new", LATEST.format(4).replace("last A", "last Aa")),
        change(3, "replace", "cuont", LATEST.format(4)),
        change(4, "add", "new"),
        change(4, "remove", "new", LATEST.format(4)),
        change(3, "remove", "count"),
        change(5, "add", "new", LATEST.format("5 min")),
        change(5, "add", "count", LATEST.format(5)),
        change("soon", "remove", "count"),
        change(6, "remove"),
        change(6, "add", "b", "rule a: " + LATEST.format(5)),
        change(6, "add", "b", file="no.tesla"),
        {"time": 7, "do": "remove", "rul": "gone"},
        {"do": "remove", "rule": "gone"},
    ]
    (files / "control.jsonl").write_text("".join(json.dumps(row) + "\n" for row in wrong) + "{\n")
    out = files / "out.jsonl"
    done = workbench(
        "run", files / "r.tesla", "--input", files / "in.jsonl", "--rules-control", files / "control.jsonl",
        "--output", out,
    )  # fmt: skip
    assert done.code == 2
    assert not out.exists()
    found = done.err.removeprefix("workbench: ").split(f"{files}/control.jsonl:")[1:]
    says = [
        "1: there is no action 'ad'\n  hint: did you mean 'add'?", "2:1:17: no type 'Aa'", "2:1:55: no event 'A'",
        "3: there is no rule 'cuont'", "4: 'add' takes a 'text' or a 'file'", "5: 'remove' takes no 'text'",
        "6: its time is before that of the previous change", "7:1:26: '5 min' has a unit",
        "8:1:1: there is a rule 'count'", "9: input", "10: 'remove' takes the name of a 'rule'",
        "11: the text has rules other than 'b'", "12: cannot read", "13: key 'rul'",
        "14: a change has no 'time'", "15: not a JSON value",
    ]  # fmt: skip
    assert [text for text, says in zip(found, says, strict=True) if not text.startswith(says)] == []
    assert "did you mean 'count'?" in done.err


def test_times_are_those_of_the_log(files):
    noon = [change("2024-05-01T12:00:00Z", "remove", "a")]
    with pytest.raises(
        WorkbenchError, match=r"5 needs a unit \(the times of rules_control are dates with a time zone\)"
    ):
        wb.run(files / "r.tesla", LOG, rules_control=noon)
    with pytest.raises(WorkbenchError, match="its times are dates with a time zone, but those of the log numbers"):
        wb.run(wb.rules.parse_rules("declare C(x: int) rule a: from C emit C(x = 1)"), LOG, rules_control=noon)
    with pytest.raises(WorkbenchError, match="for rules only: --rules-control"):
        wb.run(wb.parse("pipeline p(x: int) -> int { return x }").get().pipeline, [{"x": 1}], rules_control=noon)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe with a name")
def test_changes_come_through_a_pipe_while_events_flow(files, caplog):
    """What is wrong is told, and changes nothing; the others are made before the next event of their time or later."""
    caplog.set_level("INFO", "workbench")
    os.mkfifo(files / "pipe")
    fact = "declare fact F(x: int) from B and each F emit Told(x = F.x)"
    latest = change(0, "replace", "count", LATEST.format(4))
    lines = [change(0, "remove", "cuont"), change(0, "add", text=SEEN), change(0, "add", text=fact), latest]
    begun, seen = threading.Event(), threading.Event()

    def write():
        with open(files / "pipe", "w") as pipe:
            begun.wait(20)
            pipe.write("".join(json.dumps(line) + "\n" for line in lines))
            pipe.flush()
            seen.wait(20)

    def events():
        ends = time.monotonic() + 20
        for at in range(1, 10**9):
            yield event("A", at, x=7)
            yield event("B", at, x=0)
            if seen.is_set() or time.monotonic() > ends:
                return

    writer = threading.Thread(target=write)
    writer.start()
    rows = []
    for row in wb.run(files / "r.tesla", events(), rules_control=files / "pipe"):
        rows.append(row["x"])
        begun.set()
        if row["x"] == 70:
            seen.set()
    writer.join()
    assert rows[0] == 1
    assert rows[-1] == 70
    assert "did you mean 'count'?\n  this change is not made" in caplog.text
    assert "the output has no column for 'y' of Seen" in caplog.text
    assert "there are no facts of type 'F'" in caplog.text
