"""`workbench rules`: rules are checked, and printed in the extended grammar."""

from tests.tesla.test_language import OLDER
from workbench.tesla.check import load_rules


def test_the_command_checks_and_prints(workbench, tmp_path):
    (tmp_path / "old.tesla").write_text(OLDER)
    done = workbench("rules", "check", tmp_path / "old.tesla")
    assert (done.code, done.out) == (0, f"{tmp_path / 'old.tesla'}: 6 rules, 8 types\n")
    (tmp_path / "new.tesla").write_text(workbench("rules", "format", tmp_path / "old.tesla").out)
    assert load_rules(tmp_path / "new.tesla").rules == load_rules(tmp_path / "old.tesla").rules
    (tmp_path / "old.tesla").write_text(OLDER.replace("Val <= $x", "Vel <= $x"))
    done = workbench("rules", "check", tmp_path / "old.tesla")
    assert done.code == 2
    assert "RepA has no attribute 'Vel'" in done.err


def test_the_command_explains_as_data_and_as_a_page(workbench, tmp_path):
    log = ["models/tesla/silence.tesla", "--input", "models/tesla/silence.jsonl", "--time-unit", "s", "--until", "400"]
    (found,) = workbench("explain", *log, "--event", "3", "--json").objects
    assert [each["event"] for each in found["composites"]] == ["#2"]
    assert (found["composites"][0]["part_of"], found["composites"][0]["needed"]) == (["#3"], [3])
    (missing,) = workbench("explain", *log, "--missing", "Gateway(room = roof) at 360", "--json").objects
    (rule,) = missing["missing"]["rules"]
    (reason,) = rule["triggers"][0]["reasons"]
    assert reason["but_for_one"][0]["reasons"][0]["text"] == 'room == $r: "hall" == "roof" is false'
    page = tmp_path / "why.html"
    assert workbench("explain", *log, "--output", "3", "--html", page).out == f"{page}\n"
    text = page.read_text()
    assert text.count("<section") == 1
    assert "why is there #3?" in text
    assert "left:100.000%" in text
    for wrong, what in (
        (["--missing", "Silnt at 3"], "did you mean 'Silent'?"), (["--output", "Silent at 61"], "no Silent at 61"),
        (["--event", "5"], "counted from 1 on"), ([], "one of the arguments --event --output --missing is required"),
    ):  # fmt: skip
        done = workbench("explain", *log, *wrong)
        assert done.code == 2
        assert what in done.err
    assert workbench("explain", "p.pipe", "--input", "x", "--event", "1").code == 2
