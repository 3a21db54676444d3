"""Files that grow, are renamed, truncated and left alone between runs: each row is run once, in its order."""

import os
import signal
import subprocess
import threading
import time
from itertools import accumulate, islice

import pytest

from tests.cli.conftest import command
from workbench import parse, run
from workbench.errors import InputError, WorkbenchError
from workbench.events import follow
from workbench.events.follow import FileMark, Follower, list_files
from workbench.runner import state
from workbench.runner.answers import rows_of
from workbench.runner.options import make_start
from workbench.runner.pipelines import open_pipeline
from workbench.tesla.check import load_rules

SUMS = parse("pipeline s(x: int) -> total: int { return cumulate(x, +) }").get().pipeline
PAIRS = """
declare A(k: int)
declare Pair(k: int)
rule pair: from A[$k = k] as New and last A(k == $k) within 1 h from New emit Pair(k = $k)
"""


def rule_set(folder):
    (folder / "pairs.tesla").write_text(PAIRS)
    return load_rules(folder / "pairs.tesla")


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(follow, "POLL", 0.001)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x\n")
    return path


def append(path, *rows) -> None:
    with path.open("a") as file:
        file.writelines(f"{row}\n" for row in rows)


def rotate(path, *rows) -> None:
    """Rename a file, and begin a new one."""
    for number in (2, 1):
        older = path.with_name(f"{path.name}.{number}")
        if older.exists():
            older.rename(path.with_name(f"{path.name}.{number + 1}"))
    path.rename(path.with_name(f"{path.name}.1"))
    path.write_text("x\n")
    append(path, *rows)


def test_the_bytes_of_a_file_end_when_another_one_with_its_name_has_some(log) -> None:
    file, older = next(Follower(str(log)).files()), log.with_name("older")
    assert file.read(9) == b"x\n"
    log.rename(older)
    append(older, 1)  # whoever writes it has not seen that it was renamed
    assert file.read(9) == b"1\n"
    log.touch()
    append(older, 2)
    assert file.read(9) == b"2\n"
    log.write_text("x\n")
    assert file.read(9) == b""
    file.close()


def test_a_file_that_is_truncated_is_begun_again(log) -> None:
    append(log, 1)
    files = Follower(str(log)).files()
    assert next(files).read(9) == b"x\n1\n"
    log.write_text("x\n")
    assert next(files).read(9) == b"x\n"


def test_rows_are_run_as_they_come(log) -> None:
    append(log, 1, 2)
    running = open_pipeline(SUMS, make_start(log, None, {"follow": True}))
    rows = (
        row["total"] for part in running.answers() for row in rows_of(part, running.session.outputs.outputs_by_name)
    )
    assert list(islice(rows, 2)) == [1, 3]
    append(log, 3)
    assert next(rows) == 6
    rotate(log, 4)
    append(log.with_name("log.csv.1"), 10)
    assert list(islice(rows, 2)) == [16, 20]
    append(log, 5)
    assert next(rows) == 25
    log.write_text("x\n6\n")  # shorter than what has been read of it
    assert next(rows) == 31
    with running.start.closing:
        rows.close()
    with pytest.raises(InputError, match="would have no end"):
        run(SUMS, log, follow=True)
    assert list(run(SUMS, log, follow=True, head=1)) == [{"total": 6}]


def resume(log, out, head, program=SUMS, **options) -> str:
    run(program, log, follow=True, state=out.with_suffix(".state"), output=out, head=head, **options)
    return out.read_text()


def test_a_state_goes_on_in_the_same_file(log, tmp_path) -> None:
    out = tmp_path / "out.csv"
    append(log, 1, 2, 3)
    assert resume(log, out, 2) == "total\n1\n3\n"
    append(log, 4)
    assert resume(log, out, 2) == "total\n1\n3\n6\n10\n"


def test_a_state_goes_on_in_files_that_have_been_rotated_since(log, tmp_path) -> None:
    out = tmp_path / "out.csv"
    append(log, 1, 2)
    assert resume(log, out, 1) == "total\n1\n"
    rotate(log, 3)
    time.sleep(0.01)
    rotate(log, 4, 5)
    assert resume(log, out, 3) == "total\n1\n3\n6\n10\n"
    assert resume(log, out, 1) == "total\n1\n3\n6\n10\n15\n"
    rotate(log, 6)
    log.with_name("log.csv.1").unlink()
    assert resume(log, out, 1) == "total\n1\n3\n6\n10\n15\n21\n"


def test_a_state_waits_for_the_file_that_was_rotated_away(log, tmp_path) -> None:
    out = tmp_path / "out.csv"
    append(log, 1, 2)
    assert resume(log, out, 2) == "total\n1\n3\n"
    log.rename(log.with_name("log.csv.1"))
    begin = threading.Timer(0.05, lambda: log.write_text("x\n3\n"))
    begin.start()
    assert resume(log, out, 1) == "total\n1\n3\n6\n"


@pytest.mark.parametrize("rules", [False, True])
def test_a_file_that_is_not_there_yet_is_awaited(rules, log, tmp_path, caplog) -> None:
    path, out = log.with_name("readings.csv" if rules else "lag.csv"), tmp_path / "out.jsonl"
    given = {"program": rule_set(tmp_path), "time_unit": "s", "head": 2} if rules else {"program": SUMS, "head": 1}
    begin = threading.Timer(0.5, lambda: path.write_text("type,time,k\nA,1,1\nA,2,1\n" if rules else "x\n4\n"))
    begin.start()
    with caplog.at_level("INFO", "workbench"):
        run(data=path, follow=True, output=out, **given)
    begin.join()
    assert out.read_text() == ('{"type": "Pair", "time": 2, "k": 1}\n' if rules else '{"total": 4}\n')
    (note,) = (each for each in caplog.messages if "waiting for it" in each)
    assert note.startswith(f"{path}: there is no such file yet")
    assert ("did you mean 'log.csv'?" in note) != rules


def test_a_state_counts_the_bad_rows_of_each_file(log, tmp_path) -> None:
    out = tmp_path / "out.csv"
    append(log, "?", 1)
    assert resume(log, out, 2, bad_rows="skip") == "total\n1\n"
    rotate(log, "?", "?", 2, 3)
    assert resume(log, out, 3, bad_rows="skip") == "total\n1\n3\n"
    assert resume(log, out, 1, bad_rows="skip") == "total\n1\n3\n6\n"


def stop(monkeypatch, log, out, program=SUMS, **options) -> list[str]:
    """Run until a signal comes when the run waits for bytes, and return the notes of the error."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(follow, "checkpoint", interrupt)
        with pytest.raises(KeyboardInterrupt) as error:
            resume(log, out, None, program, **options)
    return error.value.__notes__


@pytest.mark.parametrize(
    ("header", "before", "rows", "options"),
    [
        ("", "no\nno\n", "A 1 1\nA 2 1\n", {"pattern": r"(?P<type>\w) (?P<time>\d+) (?P<k>\d+)", "bad_rows": "skip"}),
        ("type,time,k\n", "", "A,1,1\nA,2,1\n", {}),
    ],
    ids=["no row matches", "only a header"],
)
def test_rules_that_are_stopped_before_their_first_row(
    header, before, rows, options, tmp_path, monkeypatch, caplog
) -> None:
    """The rows that come in the same file, before it is rotated, are not lost."""
    log, out, rules = tmp_path / "log.csv", tmp_path / "out.jsonl", rule_set(tmp_path)
    log.write_text(header + before)
    options = {**options, "time_unit": "s"}
    (note,) = stop(monkeypatch, log, out, rules, **options)
    assert note == f"the state is in {out.with_suffix('.state')}: run the same command again to continue"
    log.write_text(header + before + rows)
    log.rename(tmp_path / "log.csv.1")
    log.write_text(header + before)
    with caplog.at_level("INFO", "workbench"):
        assert resume(log, out, before.count("\n") + 2, rules, **options) == '{"type": "Pair", "time": 2, "k": 1}\n'
    notes = [each for each in caplog.messages if "resuming" in each]
    assert notes == ([f"{log}.1: resuming after row 2 (0 run, 2 bad)"] if before else [])


def test_a_pipeline_that_is_stopped_before_its_file_has_a_byte(log, tmp_path, monkeypatch) -> None:
    out = tmp_path / "out.csv"
    log.write_text("")
    for _ in range(2):
        stop(monkeypatch, log, out)
    log.write_text("x\n1\n")
    rotate(log, 2)
    assert resume(log, out, 2) == "total\n1\n3\n"


def test_a_note_reports_that_the_run_follows(log, tmp_path, monkeypatch, caplog) -> None:
    """It comes after the rows that were there, and once."""
    append(log, 1)
    with caplog.at_level("INFO", "workbench"):
        stop(monkeypatch, log, tmp_path / "out.csv")
        assert caplog.messages.count(f"following {log}") == 1
        caplog.clear()
        append(log, 2)
        resume(log, tmp_path / "out.csv", 1)
        assert f"following {log}" not in caplog.messages


def test_a_stop_before_there_is_a_file_saves_nothing(tmp_path, monkeypatch) -> None:
    out = tmp_path / "out.csv"
    for program in (SUMS, rule_set(tmp_path)):
        assert stop(monkeypatch, tmp_path / "log.csv", out, program) == ["nothing has been read: no state is saved"]
    assert not out.with_suffix(".state").exists()


@pytest.mark.parametrize(("run_rows", "rows"), [((1, 2), (4, 5)), ((1, 2), (4, 2, 7)), ((1,), (2, 1)), ((), (8, 9))])
def test_a_new_file_with_the_inode_of_the_old_one(run_rows, rows, log, tmp_path, monkeypatch, caplog) -> None:
    out = tmp_path / "out.csv"
    append(log, *run_rows)
    stop(monkeypatch, log, out)
    log.write_text("x\n")  # the inode stays
    append(log, *rows)
    sums = list(accumulate([*run_rows, *rows]))
    with caplog.at_level("INFO", "workbench"):
        assert resume(log, out, len(rows)).split()[1:] == list(map(str, sums))
    assert any("the file that was read last is gone" in each for each in caplog.messages) == bool(run_rows)


def test_a_row_of_a_followed_file_is_mended(log, tmp_path) -> None:
    out = tmp_path / "out.csv"
    for bad, mended, rows in (("x\n?\n2\n", "x\n1\n2\n", 2), ("x\n1\n2\n?\n4\n", "x\n1\n2\n3\n4\n", 2)):
        log.write_text(bad)
        with pytest.raises(WorkbenchError, match=r"\?"):
            resume(log, out, None)
        log.write_text(mended)
        resume(log, out, rows)
    assert out.read_text() == "total\n1\n3\n6\n10\n"


def test_a_state_without_the_first_lines_of_its_file(log, tmp_path, monkeypatch) -> None:
    """Those that were written before there was more than the inode go on."""
    out = tmp_path / "out.csv"
    append(log, 1)
    with monkeypatch.context() as patched:
        patched.setattr(state.RunState, "_identify", lambda _, mark, __: {"followed": (mark.inode, mark.length)})
        resume(log, out, 1)
    append(log, 2)
    assert resume(log, out, 1) == "total\n1\n3\n"


def test_files_that_are_rotated_faster_than_they_are_polled(log) -> None:
    append(log, 1)
    files = Follower(str(log)).files()
    first = next(files)
    assert first.read(9) == b"x\n1\n"
    for row in (2, 3, 4):
        rotate(log, row)
    assert first.read(9) == b""
    assert [next(files).read(9) for _ in range(3)] == [b"x\n2\n", b"x\n3\n", b"x\n4\n"]


def replace_older(log, row) -> None:
    """Rename a file in place of an older one, and begin a new one."""
    log.rename(log.with_name("log.csv.1"))
    log.write_text(f"x\n{row}\n")


def follow_by_hand(log) -> tuple[Follower, list[str]]:
    """Return a follower of a file that was last written long ago, and the list of its notes."""
    os.utime(log, (1, 1))
    notes = list[str]()
    return Follower(str(log), report=notes.append), notes


def read_files(files, count) -> list[bytes]:
    return [next(files).read(99) for _ in range(count)]


GONE = "%s: the file that was read last is gone: the run goes on with %s; rows in between may be missing"


@pytest.mark.parametrize("is_begun", [True, False], ids=["being read", "at the start"])
def test_new_files_are_opened_while_an_older_one_is_read(is_begun, log) -> None:
    append(log, 1)
    follower, notes = follow_by_hand(log)
    files = follower.files()
    first = [next(files)] if is_begun else []
    for row in (2, 3, 4):
        assert follower.look()
        replace_older(log, row)
    texts = [file.read(99) for file in first]
    assert [*texts, *read_files(files, 4 - len(first))] == [b"x\n1\n", b"x\n2\n", b"x\n3\n", b"x\n4\n"]
    assert notes == []


@pytest.mark.parametrize("rows", [(2, 3), (2, 3, 4)])
def test_a_note_reports_that_the_next_file_is_not_certain(rows, log) -> None:
    """A file that was never seen is newer than the one that was read, so it is read."""
    append(log, 1)
    follower, notes = follow_by_hand(log)
    files = follower.files()
    first = next(files)
    for row in rows:
        replace_older(log, row)
    texts = [b"x\n%d\n" % row for row in rows[-2:]]
    assert [first.read(99), *read_files(files, 2)] == [b"x\n1\n", *texts]
    assert notes == [GONE % (log, f"{log}.1")]


def test_a_file_that_is_older_than_the_one_that_was_read_is_not_read(log) -> None:
    rotate(log, 1)
    os.utime(log.with_name("log.csv.1"), (0, 0))
    follower, notes = follow_by_hand(log)
    files = follower.files()
    assert read_files(files, 0) == []
    first = next(files)
    log.unlink()
    assert follower.look()
    assert notes == []
    log.write_text("x\n2\n")
    assert [first.read(99), *read_files(files, 1)] == [b"x\n1\n", b"x\n2\n"]
    assert notes == [GONE % (log, log)]


def test_an_empty_file_between_two_others_is_left_out_but_not_its_note(log) -> None:
    append(log, 1)
    follower, notes = follow_by_hand(log)
    files = follower.files()
    first = next(files)
    log.unlink()
    log.touch()
    assert follower.look()
    rotate(log, 2)
    assert [first.read(99), *read_files(files, 1)] == [b"x\n1\n", b"x\n2\n"]
    assert notes == [GONE % (log, log)]


def test_a_file_that_is_read_is_not_read_again(log) -> None:
    """Its writer writes to it after it was renamed, so that it seems to be newer than the next one."""
    log.write_text("")
    follower, notes = follow_by_hand(log)
    first = next(follower.files())
    assert not follower.waiting
    append(log, "x", 1)
    assert first.read(99) == b"x\n1\n"
    rotate(log, 2)
    os.utime(log, (2, 2))
    assert follower.look()
    rotate(log, 3)
    os.utime(log, (3, 3))
    assert follower.look()
    assert [file.readall() for file in follower.waiting] == [b"x\n2\n", b"x\n3\n"]
    for name in ("log.csv.1", "log.csv"):
        log.with_name(name).unlink()
    assert follower.look()
    assert len(follower.waiting) == 2
    assert notes == []


def test_files_that_are_renamed_during_a_look_are_seen_by_the_next_one(log, monkeypatch) -> None:
    append(log, 1)
    follower, notes = follow_by_hand(log)
    files = follower.files()
    first = next(files)
    rotate(log, 2)

    def list_before_a_rotation(path):
        monkeypatch.setattr(follow, "list_files", list_files)
        entries = list_files(path)
        rotate(log, 3)
        return entries

    monkeypatch.setattr(follow, "list_files", list_before_a_rotation)
    assert not follower.look()
    assert [first.read(99), *read_files(files, 2)] == [b"x\n1\n", b"x\n2\n", b"x\n3\n"]
    assert notes == []


def test_a_file_that_is_truncated_before_it_was_read(log) -> None:
    append(log, 1)
    follower, notes = follow_by_hand(log)
    files = follower.files()
    assert next(files).read(9) == b"x\n1\n"
    append(log, 20)
    assert follower.look()
    log.write_text("x\n")
    assert next(files).read(9) == b"x\n"
    assert notes == [f"{log}: truncated before all of it was read: rows are missing"]


def test_a_run_that_is_busy_looks_for_new_files(log) -> None:
    append(log, 1)
    running = open_pipeline(SUMS, make_start(log, None, {"follow": True}))
    follower, until = running.start.follower, time.monotonic() + 30
    for row in (2, 3):
        replace_older(log, row)
        while len(follower.waiting) < row - 1:
            assert time.monotonic() < until
            time.sleep(0.001)
    rows = (
        row["total"] for part in running.answers() for row in rows_of(part, running.session.outputs.outputs_by_name)
    )
    with running.start.closing:
        assert list(islice(rows, 3)) == [1, 3, 6]
        rows.close()


@pytest.mark.parametrize(
    ("is_copy", "sums", "note"),
    [(False, [1, 3, 6], GONE % ("{0}", "{0}.1")), (True, [1, 4], GONE % ("{0}", "{0}") + " ({0}.1 may have them)")],
    ids=["rotated twice", "copied and truncated"],
)
def test_the_file_in_which_the_last_run_stopped_is_gone(is_copy, sums, note, log, tmp_path, monkeypatch, caplog):
    out = tmp_path / "out.csv"
    append(log, 1)
    os.utime(log, (1, 1))
    stop(monkeypatch, log, out)
    append(log, 9)
    if is_copy:
        log.with_name("log.csv.1").write_text(log.read_text())
        log.write_text("x\n3\n")
    else:
        replace_older(log, 2)
        replace_older(log, 3)
    with caplog.at_level("INFO", "workbench"):
        assert resume(log, out, len(sums) - 1).split()[1:] == list(map(str, sums))
    assert [each for each in caplog.messages if "gone" in each] == [note.format(log)]


def test_the_last_of_several_files_is_read_until_the_next_one_has_content(log) -> None:
    append(log, 1)
    older = log.with_name("log.csv.1")
    log.rename(older)
    log.touch()
    file = next(Follower(str(log), FileMark(older.stat().st_ino)).files())
    assert file.read(9) == b"x\n1\n"
    append(older, 2)
    assert file.read(9) == b"2\n"


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "rotated"])
def test_a_new_year_begins(is_gone, tmp_path) -> None:
    log, out, rules = tmp_path / "log.csv", tmp_path / "out.jsonl", rule_set(tmp_path)
    header, pair = "type,time,k\n", '{"type": "Pair", "time": "2020-01-01T00:00:0%d", "k": 1}\n'
    log.write_text(f"{header}A,Dec 31 23:59:59,1\nA,Jan  1 00:00:01,1\n")
    options = {"year": 2019, "bad_rows": "skip"}
    assert resume(log, out, 2, rules, **options) == pair % 1
    log.rename(tmp_path / "log.csv.1")
    log.write_text(f"{header}A,Jan  1 00:00:02,1\nA,Jan  1 00:00:03,1\n")
    if is_gone:
        (tmp_path / "log.csv.1").unlink()
    assert resume(log, out, 1, rules, **options) == pair % 1 + pair % 2
    assert resume(log, out, 1, rules, **options) == pair % 1 + pair % 2 + pair % 3


def test_rules(tmp_path) -> None:
    rules, log, out = rule_set(tmp_path), tmp_path / "log.csv", tmp_path / "out.jsonl"
    log.write_text("type,time,k\nA,1,1\nB,2,0\nA,3,2\n")
    options = {"program": rules, "time_unit": "s"}
    assert resume(log, out, 2, **options) == ""
    log.rename(tmp_path / "log.csv.1")
    log.write_text("type,time,k\nB,3,0\nA,4,1\nA,5,2\n")
    pairs = ['{"type": "Pair", "time": 4, "k": 1}\n', '{"type": "Pair", "time": 5, "k": 2}\n']
    assert resume(log, out, 3, **options) == pairs[0]
    assert resume(log, out, 1, **options) == "".join(pairs)


def test_older_files_are_found_by_what_they_are(log) -> None:
    append(log, 1)
    mark = FileMark(os.stat(log).st_ino, 4)

    def resume(mark: FileMark) -> list[str] | None:
        follower = Follower(str(log), mark)
        return [file.path for file in follower.waiting] if follower.resume() else None

    assert resume(mark) == [str(log)]
    assert resume(mark._replace(length=5)) is None  # it has been truncated
    assert resume(mark._replace(head=b"y\n")) is None
    rotate(log, 2)
    for other in ("log.csv.3.gz", "log.csv.state", "log.csv-old"):
        (log.parent / other).write_text("x\n9\n")
    assert resume(mark) == [f"{log}.1", str(log)]
    log.with_name("log.csv.1").rename(log.with_name("log.csv-20261124"))
    assert resume(mark) == [f"{log}-20261124", str(log)]


@pytest.mark.parametrize(
    ("name", "what"),
    [("-", "as it comes"), (".", "one file"), ("*.c", "one file"), ("x.gz", "compressed"), ([{"x": 1}], "in memory")],
)
def test_what_is_not_followed(name, what) -> None:
    with pytest.raises(InputError, match=f"--follow: .*{what}"):
        run(SUMS, name, follow=True, head=1)


def test_other_refusals(log, tmp_path) -> None:
    for options in ({"state": tmp_path / "state", "late": "1"}, {"backend": "spark", "key": "x"}):
        with pytest.raises(WorkbenchError, match="--follow"):
            run(SUMS if "key" in options else rule_set(tmp_path), log, follow=True, head=1, **options)
    (tmp_path / "log.xml").write_text("<a/>")
    with pytest.raises(InputError, match="--follow reads lines"):
        list(run(SUMS, tmp_path / "log.xml", follow=True, xml="x", head=1))


@pytest.mark.slow
def test_a_signal_ends_it_with_its_rows_written_and_its_state_saved(log, tmp_path) -> None:
    (tmp_path / "s.pipe").write_text("pipeline s(x: int) -> int { return cumulate(x, +) }")
    out, state = tmp_path / "out.csv", tmp_path / "state"
    given = command(["run", "s.pipe", "--input", "log.csv", "--follow", "--output", "out.csv", "--state", str(state)])
    append(log, 1)
    with subprocess.Popen(given, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        for row, text in ((2, "out\n1\n"), (3, "out\n1\n3\n")):
            until = time.monotonic() + 30
            while not (out.exists() and out.read_text() == text):
                assert time.monotonic() < until
                time.sleep(0.02)
            append(log, row)
            begun = time.monotonic()
        while out.read_text() != "out\n1\n3\n6\n":
            assert time.monotonic() < begun + 5  # a second, on a machine that does nothing else
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=10)[1]
    assert process.returncode == 128 + signal.SIGTERM
    note = f"stopped after 3 rows, 3 events out; the state is in {state}: run the same command again to continue"
    assert err == f"workbench: following log.csv\nworkbench: {note}\n"
    assert state.exists()
