"""`workbench rules`: rules are checked, and printed in the extended grammar."""

import json

import pytest

from tests.cli.conftest import program
from tests.tesla.test_language import OLDER
from workbench.tesla.check import load_rules


def test_the_command_checks_and_prints(workbench, tmp_path):
    (tmp_path / "old.tesla").write_text(OLDER)
    done = workbench("rules", "check", tmp_path / "old.tesla")
    assert (done.code, done.out) == (0, f"{tmp_path / 'old.tesla'}: 7 rules, 9 types\n")
    (tmp_path / "new.tesla").write_text(workbench("rules", "format", tmp_path / "old.tesla").out)
    assert load_rules(tmp_path / "new.tesla").rules == load_rules(tmp_path / "old.tesla").rules
    (tmp_path / "old.tesla").write_text(OLDER.replace("Val <= $x", "Vel <= $x"))
    done = workbench("rules", "check", tmp_path / "old.tesla")
    assert done.code == 2
    assert "RepA has no attribute 'Vel'" in done.err


def test_a_plan_tells_what_predicates_find_in_a_log(workbench, tmp_path):
    """Of three triggers each sees the A's before it: 1, then 3 twice; nulls satisfy nothing."""
    (tmp_path / "r.tesla").write_text(
        """declare A(x: int, s: string) declare B(x: int, t: string) declare P(x: int)
        from B[$x = x, $t = t] and each A(s >= $t, x + $x > 3, x != 9) within 9 from B emit P(x = A.x)"""
    )
    rows = ["A,1,b,,0", "B,1,,b,1", "A,4,a,,2", "A,,c,,3", "B,1,,b,4", "B,9,,b,5"]
    (tmp_path / "log.csv").write_text("\n".join(["type,x,s,t,time", *rows, ""]))
    plan = ("rules", "plan", tmp_path / "r.tesla", "--input", tmp_path / "log.csv")
    told = workbench(*plan).out
    assert "in 6 events searched for 3 partial matches, found 1\n" in told
    # s: 1 + 2 + 2 of 7; x + $x: of 1, 4 and null 0 + 1 + 2; x: 1 + 2 + 2; all: that of the last B and the first A
    assert "2.3 candidates each, fitting 14.3 %" in told
    assert "(s >= $t: 71.4 %; x + $x > 3: 42.9 %; x != 9: 71.4 %)" in told
    assert "the cheapest first: x + $x > 3; s >= $t" in told
    few = workbench(*plan, "--head", "2", "--json").out
    found = json.loads(few)["steps"][0]["steps"][0]["sample"]
    assert (found["events"], found["asked"], found["candidates"]) == (2, 1, 1)


def test_the_command_explains_as_data_and_as_a_page(workbench, tmp_path):
    log = ["models/tesla/silence.tesla", "--input", "models/tesla/silence.jsonl", "--time-unit", "s", "--until", "400"]
    (found,) = workbench("explain", *log, "--event", "3", "--json").objects
    assert [each["event"] for each in found["composites"]] == ["#2"]
    assert (found["composites"][0]["part_of"], found["composites"][0]["rows"]) == (["#3"], [3])
    (missing,) = workbench("explain", *log, "--missing", "Gateway(room = roof) at 360", "--json").objects
    (rule,) = missing["missing"]["rules"]
    (reason,) = rule["triggers"][0]["reasons"]
    assert reason["nearest"][0]["reasons"][0]["text"] == 'room == $r: "hall" == "roof" is false'
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


MODEL = """declare A(x: int) declare B(x: int) declare P(x: int)
# Kept.
rule one: from B and each A(x > 4) within 4 from B where 2 * A.x > 5 emit P(x = 1)
"""


@pytest.mark.slow
def test_the_model_is_asked_what_no_law_says(workbench, tmp_path):
    """`2 * x > 5` where `x > 4`: it holds as far as the model goes, so it is left out where that is wanted."""
    (tmp_path / "r.tesla").write_text(MODEL)
    asked = ("rules", "simplify", tmp_path / "r.tesla", "--seconds", "30")
    done = workbench(*asked)
    assert "`2 * x > 5` is left out: it holds within bounds; --within-bounds applies it" in done.out
    told = workbench(*asked, "--within-bounds", "-o", tmp_path / "made.tesla").out
    assert "model: `2 * x > 5` is left out" in told
    assert "in the model it holds within bounds, which rests on" in told
    assert "none is null" in told
    made = (tmp_path / "made.tesla").read_text()
    assert "# Kept.\nrule one:\nfrom B\n  and each A(x > 4) within 4 from B\nemit P(x = 1)\n" in made
    (found,) = workbench("rules", "simplify", tmp_path / "made.tesla", "--seconds", "0", "--json").objects
    assert (found["steps"], found["undecided"], found["rules"]) == ([], [], made)
    again = workbench("rules", "simplify", tmp_path / "made.tesla", "--seconds", "0").out
    assert again == "made is not simplified: no law applies, and the model confirms no removal\n"


def test_rules_that_are_written_to_a_stream_do_not_take_its_place(tmp_path):
    """`-o` of a pipe or a device writes there, as other commands do."""
    (tmp_path / "r.tesla").write_text(MODEL)
    done = program("rules", "simplify", tmp_path / "r.tesla", "--seconds", "0", "-o", "/dev/stdout")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("declare A(x: int)\ndeclare B(x: int)\ndeclare P(x: int)\n\n# Kept.\nrule one:\n")


@pytest.mark.slow
def test_a_set_of_many_values_is_shortened_in_text_only(tmp_path):
    """Up to a dozen are printed; JSON has them all."""
    file = tmp_path / "hot.tesla"
    file.write_text("declare Temp(value: int) declare Hot() from Temp(value > 9) emit Hot()")

    def grounds(count, *more):
        values = ",".join(str(2 * i) for i in range(count))
        return program("check", str(file), "-p", "can(Hot)", "--values", f"Temp.value={values}", *more).out

    assert "- Temp.value is {0, 2, ... 24} (13 values); none is null\n" in grounds(13)
    assert "- Temp.value is {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}; none is null\n" in grounds(12)
    (whole,) = [said for said in json.loads(grounds(13, "--json"))["assumptions"] if said.startswith("Temp.value")]
    assert whole.count(",") == 12
