"""Every kind of bad input: one clear message, the right exit code, no traceback, no half-written file."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.conftest import BANNER, MODELS, Run, program, script
from workbench.errors import Location, WorkbenchError

Pipe = Callable[[str], Path]
GOOD = MODELS / "figure_2a.pipe"


def rejected(done: object, phrase: str, code: int = 2) -> None:
    """One message that says `phrase`, nothing on the output."""
    assert getattr(done, "code") == code  # noqa: B009
    err, out = getattr(done, "err"), getattr(done, "out")  # noqa: B009
    assert phrase in err
    assert err.startswith("workbench: ")
    error, *notes = err.split("workbench: ")[1:]
    assert error
    assert all(note.startswith("the output is not complete") for note in notes)
    assert out == ""


# --- the pipeline -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "phrase"),
    [
        ("pipeline p(x: int) -> int { return x + }", ":1:40", "expected"),
        ("pipeline p(x: int) -> int {\n    return y\n}", ":2:12", "'y'"),
        ("pipeline p(x: int) -> int {\n    return cumulte(x, +)\n}", ":2:12", "did you mean 'cumulate'?"),
        ("pipeline p(x: int) -> int {\n    return trim(x)\n}", ":2:12", "trim"),
        ("pipeline p(x: bool) -> int {\n    return x + 1\n}", ":2:", "bool"),
        ("pipeline p(x: int) -> bool { return x }", ":1:", "bool"),
        ("pipeline p(x: itn) -> int { return x }", ":1:15", "did you mean 'int'?"),
        ("pipeline p(x: int) -> int { return x }\ncheck livenes", ":2:7", "did you mean 'liveness'?"),
        ("", "", "no pipeline"),
    ],
)
@pytest.mark.parametrize("command", ["check", "export", "draw", "run"])
def test_a_pipeline_that_is_wrong(workbench: Run, pipe: Pipe, text: str, place: str, phrase: str, command: str) -> None:
    file = pipe(text)
    more = ["--input", file] if command == "run" else []
    done = workbench(command, file, *more)
    rejected(done, phrase)
    assert f"{file}{place}" in done.err


def test_a_value_of_dashes(workbench: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("x,y\n1,a\n--,b\n2,--\n")
    args = "run", MODELS / "passthrough.pipe", "--input", log, "--carry", "y"
    assert workbench(*args, "--null=--").out == "y,out\na,1\n,2\n"
    hint = "a value that begins with a dash: --null=VALUE"
    rejected(workbench(*args, "--null", "--"), hint)
    rejected(workbench(*args, "--null", "--strict"), hint)
    assert hint not in workbench(*args, "--null").err
    rejected(workbench(*args, "--head=--"), "'--' is not a positive number")


def test_a_file_that_is_not_there(workbench: Run) -> None:
    rejected(workbench("check", "missing.pipe"), "missing.pipe")
    rejected(workbench("check", f"{GOOD}:figure_2"), "did you mean 'figure_2a'?")
    rejected(workbench("check", MODELS), "cannot read")


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("x.jsonl", '{"x": "a\x1b[2Jb"}\n', "a\\x1b[2Jb"),
        ("x.jsonl", '{"x\x9b": 1, "z": 2}\n', "\\x9b"),
        ("x.csv", "x\x00,y\n1,2\n", "there is no column 'x'\n  hint: did you mean 'x\\x00'?"),
        ("x.csv", "x\n\x1b]0;owned\x07\n", "\\x1b]0;owned\\x07"),
        ("x.pipe", "pipeline p(x: int) -> int {\n\treturn \x1b[2J y + 1 }", "\\x1b[2J"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--bad-rows", "skip"]])
def test_control_characters_do_not_reach_the_terminal(
    workbench: Run, pipe: Pipe, name: str, text: str, shown: str, more: list[str], tmp_path: Path
) -> None:
    """They are shown as Python writes them; the ends of lines that messages have of their own stay."""
    (tmp_path / name).write_text(text)
    file = tmp_path / name if name == "x.pipe" else pipe("pipeline p(x: int) -> int { return x }")
    done = workbench("run", file, "--input", tmp_path / name, *more)
    assert shown in done.err
    assert all(line.expandtabs().isprintable() for line in done.err.split("\n"))
    assert done.code == 2 or more


def test_carets_stand_under_what_is_meant_behind_control_characters() -> None:
    error = WorkbenchError("odd", where=Location("f", 1, 5, "a\x1bb c"))
    assert error.message.split("\n")[1:] == ["    a\\x1bb c", "    " + " " * len("a\\x1bb ") + "^"]


def test_a_file_that_is_no_text(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.pipe").write_bytes(b"\xff\xfe\x00")
    rejected(workbench("check", tmp_path / "x.pipe"), "UTF-8")


def test_values_of_an_input_that_is_not_there(workbench: Run) -> None:
    done = workbench("check", MODELS.parent / "tesla" / "freezer.pipe", "--values", "levl=0..1")
    rejected(done, "there is no input 'levl'")
    assert "did you mean 'level'?" in done.err


def test_parameters(workbench: Run) -> None:
    rejected(workbench("check", GOOD, "--param", "k=3"), "no parameter 'k'")
    rejected(workbench("check", GOOD, "--param", "k"), "--param k=3")


# --- the question -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "phrase"),
    [
        ("always (z = 1)", "no pipe 'z'"),
        ("always (thrid = 1)", "third"),
        ("ctl(AG EF z.present)", "no pipe 'z"),
        ("always (yesterday(third = 1))", "give yesterday(...) a name in the pipeline"),
        ("ltl(G F queue(add.lft).length = 0)", "add.left"),
        ("livenes", "did you mean 'liveness'?"),
        ("bounded-liveness", "bounded-liveness(3)"),
        ("always (", "expected"),
        ("equivalent(other)", "no pipeline 'other'"),
    ],
)
@pytest.mark.parametrize("command", ["check", "export"])
def test_a_property_that_is_wrong(workbench: Run, asked: str, phrase: str, command: str) -> None:
    if command == "export" and asked.startswith("equivalent"):
        return  # comparisons are not exported, only mentioned
    rejected(workbench(command, GOOD, "-p", asked), phrase)


def test_nothing_is_decided_when_a_later_property_is_wrong(workbench: Run) -> None:
    rejected(workbench("check", GOOD, "-p", "liveness", "-p", "always (z = 1)"), "no pipe 'z'")


@pytest.mark.parametrize("command", ["check", "export"])
def test_an_n_too_small_for_a_constant(workbench: Run, pipe: Pipe, command: str) -> None:
    file = pipe("pipeline p(x: int) -> int {\n    return turn(x, 5)\n}")
    done = workbench(command, file, "-N", 4, "-p", "always (out = x)")
    rejected(done, "5")
    assert "-N" in done.err
    assert workbench("check", file, "-N", 6, "--quiet").code == 0


def test_pipelines_that_cannot_be_compared(workbench: Run, tmp_path: Path) -> None:
    rejected(workbench("equiv", GOOD, MODELS / "figure_2b.pipe"), "inputs")
    (tmp_path / "one.pipe").write_text("pipeline p(x: int) -> int { return x }")
    (tmp_path / "two.pipe").write_text("pipeline p(x: int, y: int) -> int { return x + y }")
    (tmp_path / "texts.pipe").write_text("pipeline p(x: str) -> str { return x }")
    done = workbench("equiv", tmp_path / "one.pipe", tmp_path / "two.pipe")
    rejected(done, "the first p has 1 input and 1 output, the second p has 2 inputs and 1 output")
    done = workbench("equiv", tmp_path / "one.pipe", tmp_path / "texts.pipe")
    rejected(done, "input 1 carries int in the first p and str in the second p")


def test_a_pipeline_without_a_finite_model(workbench: Run, pipe: Pipe) -> None:
    for kind, way in (
        ("float", "hint: list the whole numbers that a float may be: --values float=0..6"),
        ("any", "hint: -N is for int: declare a finite type, such as 0..7, bool or {red, green}"),
    ):
        file = pipe(f"pipeline p(x: {kind}) -> {kind} {{ return x }}")
        done = workbench("check", file, "-N", 4)
        rejected(done, f"input 'x' carries {kind}, which is not finite")
        assert way in done.err
        assert workbench("check", file, "--values", "float=0..6", "--quiet").code == (0 if kind == "float" else 2)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("float=a..b", "a model has whole numbers in place of floats"),
        ("float=3..1", "there are no such numbers"),
        ("int=3", "-N sets the integers of a model"),
        ("u=1", "hint: without rules, list the values of a type: --values str=a,b or float=0..6"),
    ],
)
def test_values_that_no_type_has(workbench: Run, given: str, told: str) -> None:
    done = workbench("check", GOOD, "--values", given)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("t=0..30", "t is a float: write --values float=0..30"), ("0..30", "hint: write --values float=0..30"),
        ("n=0..30", "without rules, --values sets a type, and n is an int: -N sets the integers, -N 31 for 0..30"),
        ("u=1", "hint: without rules, list the values of a type"),
    ],
)  # fmt: skip
def test_values_of_inputs_where_there_are_no_rules(workbench: Run, pipe: Pipe, given: str, told: str) -> None:
    file = pipe("pipeline hot(t: float, n: int) -> bool { return t > 3.0 }")
    done = workbench("check", file, "--values", given)
    rejected(done, "--values of inputs is for rules, but hot contains none")
    assert told in done.err


def test_floats_beside_int_have_a_remedy_for_the_check(workbench: Run, pipe: Pipe) -> None:
    text = "pipeline p(used: float, time: int) -> bool {{ return used + {} > 3.0 }}"
    done = workbench("check", pipe(text.format("time")), "-N", 4)
    rejected(done, "'+' combines values of float (-1..4 in a check) and of int (int mod 4 in a check)")
    assert "give both a range in the program, such as 0..7" in done.err
    followed = pipe("pipeline p(used: 0..7, time: 0..7) -> bool { return used + time > 3 }")
    assert workbench("check", followed, "--quiet", "-p", "always(not out)").code == 1


def test_start_values_that_are_floats(workbench: Run, pipe: Pipe) -> None:
    text = "pipeline p(x: float) -> bool {{ return cumulate(x, max, {}) > 11.0 }}"
    assert workbench("check", pipe(text.format("0.0")), "--quiet", "-p", "always(not out)").code == 1
    done = workbench("check", pipe(text.format("0.5")))
    rejected(done, "the start value 0.5 is not in -1..12")
    assert "floats are whole numbers in a check, here -1..12" in done.err


def test_a_bool_that_a_property_compares_with_a_number(workbench: Run, pipe: Pipe) -> None:
    file = pipe("pipeline hot(t: 0..9) -> bool { return t > 3 }")
    done = workbench("check", file, "-p", "always(out > 3)")
    rejected(done, "'>' needs numbers, not values of bool")
    assert "hint: leave the comparison out: it is a condition by itself; or write (if NAME then 1 else 0)" in done.err
    assert "hint: write (if NAME then 1 else 0)" in workbench("check", file, "-p", "always(out + 1 = 2)").err
    assert workbench("check", file, "-p", "always(out)", "--quiet").code == 1


SEEN = """machine m(x: KEYS) -> int {
    var seen: map(KEYS, VALUES)
    state a: 1
    a -> a / seen := put(seen, x, START)
}"""


@pytest.mark.parametrize(
    ("keys", "values", "start", "args", "reason"),
    [
        ("int", "bool", "true", ["check", "-N", 65], "has 65 keys, and a map in a model has 64 at most"),
        ("any", "int", "1", ["run", "--backend", "compiled"], "carries any"),
    ],
)
def test_a_map_that_is_refused_for_its_own_reason(
    workbench: Run, pipe: Pipe, tmp_path: Path, keys: str, values: str, start: str, args: list[object], reason: str
) -> None:
    (tmp_path / "x.csv").write_text("x\nA\n")
    text = SEEN.replace("KEYS", keys).replace("VALUES", values)
    more = ["--input", tmp_path / "x.csv"] if args[0] == "run" else []
    done = workbench(args[0], pipe(text.replace("START", start)), *args[1:], *more)
    rejected(done, reason)
    assert "keys of infinite types" not in done.err


# --- the command line -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "phrase"),
    [
        ([], "COMMAND"),
        (["chek"], "there is no 'chek'\n  hint: did you mean 'check'?"),
        (["check"], "FILE[:NAME]"),
        (["check", GOOD, "-Q", "two"], "not a capacity"),
        (["check", GOOD, "-Q", "-1"], "-Q"),
        (["check", GOOD, "-Q", "add.lft=1"], "add.left"),
        (["check", GOOD, "-N", "many"], "-N"),
        (["check", GOOD, "-N", "0"], "N >= 1"),
        (["check", GOOD, "--timeout", "-3"], "not a number of seconds"),
        (["check", GOOD, "--memory", "0"], "not a positive number"),
        (["check", GOOD, "--engine", "pynusvm"], "did you mean 'pynusmv'?"),
        (["run", GOOD], "--input"),
        (["run", GOOD, "--input", "-", "--backend", "gpuu"], "did you mean 'gpu'?"),
        (["run", GOOD, "--inptu", "-"], "--inptu\n  hint: did you mean '--input'?"),
        (["run", GOOD, "--input", "-", "--zebra", "."], "--zebra .\n  hint: see workbench run --help"),
        (["check", GOOD, "--enginne", "bmc"], "did you mean '--engine'?"),
        (["lab", "report", "x", "--format", "pdf"], "--format pdf\n  hint: see workbench lab report --help"),
        (["lab", "run", "x", "--jbs=2"], "did you mean '--jobs'?"),
        (["demo", "--models", "no/such/folder"], "no .pipe file"),
    ],
)
def test_a_command_line_that_is_wrong(workbench: Run, args: list[object], phrase: str) -> None:
    rejected(workbench(*args), phrase)


def test_errors_as_json(workbench: Run, pipe: Pipe) -> None:
    file = pipe("pipeline p(x: int) -> int {\n    return y\n}")
    done = workbench("check", file, "--json")
    assert done.code == 2
    (error,) = done.objects
    assert error.keys() >= {"error", "what", "where", "hint", "exit_code"}
    assert (error["file"], error["line"], error["column"]) == (str(file), 2, 12)
    assert error["exit_code"] == 2
    assert workbench("check", GOOD, "-N", "many", "--json").objects[0]["error"]


def test_all_errors_of_a_file_are_told(workbench: Run, pipe: Pipe) -> None:
    file = pipe("pipeline p(x: int) -> int {\n    a = trim(x, 1) + d\n    b = x + c\n    return filter(x, a > b)\n}")
    done = workbench("check", file)
    rejected(done, f"{file}:2:22: there is no stream or parameter 'd'")
    assert f"\n{file}:3:13: there is no stream or parameter 'c'" in done.err
    done = workbench("check", file, "--json")
    (error,) = done.objects
    assert (error["line"], [other["line"] for other in error["others"]]) == (2, [3])
    assert error["others"][0]["what"] == "there is no stream or parameter 'c'"


def test_the_traceback_on_demand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.cli.main import main

    monkeypatch.setenv("WORKBENCH_DEBUG", "1")
    assert main(["check", "missing.pipe"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_defect_is_called_one(workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("workbench.cli.commands.check.execute", broken)
    done = workbench("check", GOOD)
    rejected(done, "unexpected RuntimeError: oops", 3)
    assert "report" in done.err


# --- events -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("a.json", '[{"x": 1}, {"x": 2}]\n', "jq -c '.[]' FILE makes lines of an array"),
        ("a.json", '[\n  {"x": 1},\n  {"x": 2}\n]\n', "jq -c '.[]' FILE makes lines of an array"),
        ("a.json", '{\n  "x": 1\n}\n', "jq -c . FILE of objects on several lines"),
        ("a.csv", "x,y,x\n1,2,3\n", "--skip-lines 1 --header NAME,... names them instead"),
        ("a.csv", "x\n1,\n", "put quotation marks around a cell that contains the delimiter"),
        ("a.csv", "x,b\n1,yes\n", "the type {yes, ...} has labels: x = yes is true or false"),
        ("a.xlsx", "PK", "unpack it, or save its table as CSV"),
        ("a.csv,b.csv", None, "each file needs an option: --input a.csv --input b.csv"),
    ],
)
def test_a_log_that_does_not_fit_has_a_remedy(
    workbench: Run, pipe: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    program = (
        "x: int, b: bool) -> int { return filter(x, b) }" if text and "b" in text else "x: int) -> int { return x }"
    )
    for each in name.split(","):
        Path(each).write_text(text or "x\n1\n")
    rejected(workbench("run", pipe(f"pipeline p({program}"), "--input", name), hint)


def test_the_remedies_for_a_log_help(workbench: Run, pipe: Pipe, tmp_path: Path) -> None:
    log = tmp_path / "a.csv"
    log.write_text("x,y,x\n1,2,3\n")
    plain = pipe("pipeline p(x: int) -> int { return x }")
    done = workbench("run", plain, "--input", log, "--skip-lines", 1, "--header", "a,b,x")
    assert (done.code, done.out) == (0, "out\n3\n")
    for array, path in (("events", ".events"), ("my rows", '.["my rows"]')):
        nested = tmp_path / "a.json"
        nested.write_text(f'{{"k": 1, "{array}": [{{"x": 1}}, {{"x": 2}}]}}\n')
        assert f"jq -c '{path}[]' FILE makes lines of the array" in workbench("run", plain, "--input", nested).err
    log.write_text("x,b\n1,yes\n2,no\n")
    labels = pipe("pipeline p(x: int, b: {yes, no}) -> int { return filter(x, b = yes) }")
    assert workbench("run", labels, "--input", log).out == "out\n1\n"


@pytest.mark.parametrize(
    ("rows", "phrase"),
    [
        ("x\n1\ntwo\n", ":3: column 'x': expected a whole number, not 'two'"),
        ("x\n1\n2,3\n", ":3: this line has 2 cells"),
        ("y\n1\n", "neither the input's name 'x'"),
        ('x\n"1\n', "CSV"),
    ],
)
def test_a_bad_row(workbench: Run, tmp_path: Path, rows: str, phrase: str) -> None:
    (tmp_path / "events.csv").write_text(rows)
    target = tmp_path / "out.csv"
    done = workbench("run", GOOD, "--input", tmp_path / "events.csv", "--output", target)
    rejected(done, phrase)
    kept = [path for path in tmp_path.iterdir() if path.name != "events.csv"]
    assert [path.read_text() for path in kept] == (["out\n2\n"] if rows.startswith("x\n1\n") else [])
    assert all(str(path) in done.err for path in kept)


def test_a_value_outside_the_domain(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("x\n1\n9\n")
    done = workbench("run", GOOD, "--input", tmp_path / "events.csv", "-N", 4, "--output", tmp_path / "o.csv")
    rejected(done, ":3: column 'x': expected an integer 0..3, not '9'")
    assert not (tmp_path / "o.csv").exists()


def test_leaving_a_checked_domain(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("x\n3\n3\n")
    file = MODELS / "sum_of_doubles.pipe"
    done = workbench(
        "run",
        file,
        "--input",
        tmp_path / "events.csv",
        "-N",
        4,
        "--int",
        "checked",
        "--output",
        tmp_path / "o.csv",
    )
    rejected(done, "step 0")
    assert not (tmp_path / "o.csv").exists()


def test_files_that_cannot_be_read_or_written(workbench: Run, tmp_path: Path) -> None:
    rejected(workbench("run", GOOD, "--input", tmp_path / "none.csv"), "none.csv")
    (tmp_path / "events.csv").write_text("x\n1\n")
    nowhere = tmp_path / "no" / "such"
    rejected(workbench("run", GOOD, "--input", tmp_path / "events.csv", "--output", nowhere / "o.csv"), "write")
    rejected(workbench("export", GOOD, "-o", nowhere / "m.smv"), "write")
    rejected(workbench("draw", GOOD, "-o", nowhere / "p.svg"), "write")
    rejected(workbench("draw", GOOD, "-o", tmp_path / "p.jpeg"), "jpeg")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["events.csv"]


@pytest.mark.parametrize("option", ["--output", "--bad-rows", "--late-output"])
def test_a_missing_folder_is_noticed_at_the_start(workbench: Run, tmp_path: Path, option: str) -> None:
    """Without a late or a bad row, too; the hint creates it."""
    (tmp_path / "events.csv").write_text("x,time\n1,1\n")
    folder = tmp_path / "no such" / "folder"
    run = ["run", GOOD, "--input", tmp_path / "events.csv", "--time", "time", "--late", 1, option, folder / "o.csv"]
    done = workbench(*run)
    rejected(done, "o.csv: cannot write there: No such file or directory")
    command = shlex.split(done.err.rpartition("hint: create the folder: ")[2])
    assert command == ["mkdir", "-p", str(folder)]
    folder.mkdir(parents=True)
    assert workbench(*run).code == 0


@pytest.mark.parametrize("rows", [1, 2000])
def test_times_that_are_hardly_of_the_unit(workbench: Run, pipe: Pipe, tmp_path: Path, rows: int) -> None:
    """One note, which names the unit that is meant."""
    log, file = tmp_path / "log.csv", pipe("pipeline p(x: int) -> int { return x }")
    log.write_text("time,x\n" + "1732419470000,1\n" * rows)
    run = ["run", file, "--input", log, "--time", "time", "--time-unit"]
    note = "'time' is after the year 5000 if it counts s since 1970: --time-unit ms reads it as 2024-11-24T03:37:50"
    assert workbench(*run, "s").err.count(note) == 1
    assert "5000" not in workbench(*run, "ms").err


# --- engines ----------------------------------------------------------------------------------------------


def test_an_engine_that_is_missing(tmp_path: Path) -> None:
    done = program("check", GOOD, "--engine", "nusmv", env={"WORKBENCH_NUSMV": str(tmp_path / "none")})
    rejected(done, "WORKBENCH_NUSMV names no executable")
    done = program("check", GOOD, "--engine", "nuxmv", env={"PATH": str(tmp_path), "WORKBENCH_NUXMV": ""})
    rejected(done, "the engine 'nuxmv' is not installed")
    assert "hint: " in done.err


@pytest.mark.slow
def test_no_engine_at_all(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pynusmv' else find(name, *rest)\n"
        "from workbench.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    env = {**os.environ, "WORKBENCH_NUSMV": str(tmp_path / "none"), "WORKBENCH_NUXMV": str(tmp_path / "none")}
    unusual = ["check", GOOD, "-p", "ltl((X out.present) or (X not out.present))"]
    alone = "by the built-in engine 'explicit' alone"
    for args, wanted, phrase in (
        (unusual, 3, "try NuSMV, which decides every formula; not installed: install"),
        (["doctor"], 0, alone),
        (["check", GOOD, "--quiet"], 0, "holds-within-bounds"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, args)], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == wanted
        assert phrase in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_engine_that_is_something_else(tmp_path: Path) -> None:
    done = program("check", GOOD, "--engine", "nusmv", env=script(tmp_path, "echo hello"))
    rejected(done, "does not present itself as NuSMV", 3)


@pytest.mark.slow
def test_an_engine_that_crashes(tmp_path: Path) -> None:
    env = script(tmp_path, f"{BANNER}; echo last words >&2; kill -SEGV $$")
    done = program("check", GOOD, "-p", "liveness", "--engine", "nusmv", env=env)
    assert done.code == 3
    assert "? unknown  liveness" in done.out
    assert "the engine crashed (signal SIGSEGV): last words" in done.out
    (found,) = program("check", GOOD, "-p", "liveness", "--engine", "nusmv", "--json", env=env).objects
    assert found["verdict"] == "unknown"
    assert "crashed" in found["reason"]


def test_an_engine_out_of_time(workbench: Run, hard: Path) -> None:
    done = workbench("check", hard, "-N", 4096, "--timeout", 1.5, "--engine", "pynusmv")
    assert done.code == 3
    assert "time limit of 1.5 s" in done.out


def test_an_engine_out_of_memory(workbench: Run, hard: Path) -> None:
    done = workbench("check", hard, "-N", 4096, "--memory", 30, "--timeout", 60, "--engine", "pynusmv")
    assert done.code == 3
    assert "memory limit of 30 MB" in done.out


def test_options_are_suggested_that_the_command_has(workbench: Run) -> None:
    """Not those of other commands, which would be refused as well."""
    done = workbench("lab", "list", "--wher", "n=1")
    assert "--where" not in done.err.partition("hint")[2]
    assert "see workbench lab list --help" in done.err
    assert "other commands have --where; see workbench COMMAND --help" in workbench("lab", "list", "--where", "n=1").err
    assert "did you mean '--where'" in workbench("lab", "run", "scaling", "--wehre", "n=1").err


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        ("check p.pipe --certificate p.pipe", "--certificate would overwrite the program"),
        ("check p.pipe:p -p always(out>9) --to-test ./p.pipe", "--to-test would overwrite the program"),
        ("export p.pipe -o p.pipe", "--output would overwrite the program"),
        ("equiv p.pipe q.pipe --html q.pipe", "--html would overwrite the program"),
        ("run p.pipe --input x.csv --output p.pipe", "--output would overwrite the program"),
        ("run p.pipe --input x.csv --state p.pipe", "--state would overwrite the program"),
        ("run p.pipe --input x.csv --output x.csv", "--output would overwrite what is read"),
        ("run p.pipe --input x.csv --output out=x.csv", "--output out would overwrite what is read"),
        ("run r.tesla --input e.csv --facts L=l.csv --output l.csv", "--output would overwrite what is read"),
        ("run r.tesla --input e.csv --facts L=l.csv --bad-rows l.csv", "--bad-rows would overwrite what is read"),
        (
            "run r.tesla --input e.csv --facts L=l.csv --rules-control c.csv --output c.csv",
            "--output would overwrite what is read",
        ),
        ("run r.tesla --input e.csv --facts L=b.db:l --output b.db", "--output would overwrite what is read"),
        ("run r.tesla --input e.csv --facts b.db --state ./b.db", "--state would overwrite what is read"),
        ("check r.tesla --facts L=l.csv --to-test l.csv", "--to-test would overwrite what is read"),
        ("explain r.tesla --event 0 --input A=e.csv --html e.csv", "--html would overwrite what is read"),
    ],
)
def test_what_a_command_reads_it_does_not_overwrite(
    command: str, refused: str, workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"p.pipe": "pipeline p(x: 0..9) -> 0..9 { return x }\n", "x.csv": "x\n1\n"}
    files["q.pipe"] = files["p.pipe"]
    files["r.tesla"] = (
        "declare A(v: int) declare fact L(n: int) declare B(v: int) rule r: from A and each L(n == A.v) emit B(v = A.v)"
    )
    files |= {
        "l.csv": "n\n1\n",
        "e.csv": "type,time,v\nA,1,1\n",
        "c.csv": "time,do,rule\n1,remove,r\n",
        "b.db": "SQLite",
    }
    for name, text in files.items():
        Path(name).write_text(text)
    done = workbench(*command.split())
    assert done.code == 2
    assert refused in done.err
    assert {name: Path(name).read_text() for name in files} == files


@pytest.mark.parametrize("program", ["p.pipe", "p.pipe:p"])
def test_from_python_a_run_does_not_overwrite_its_program(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "pipeline p(x: int) -> int { return x }"
    Path("p.pipe").write_text(text)
    with pytest.raises(WorkbenchError, match="--output would overwrite the program"):
        wb.run(program, [{"x": 1}], output="p.pipe")
    assert Path("p.pipe").read_text() == text


def test_an_option_that_is_not_repeatable_is_given_once(workbench: Run, tmp_path: Path) -> None:
    """The last value would replace the others in silence; the same one twice says nothing new."""
    log = tmp_path / "log.csv"
    log.write_text("user,day,x\na,1,3\n")
    run = ["run", "models/time2021/passthrough.pipe", "--input", log]
    done = workbench(*run, "--key", "user", "--key", "day")
    assert (done.code, "--key is given twice: user and day" in done.err) == (2, True)
    rejected(workbench(*run, "--head", 1, "--head", 2), "--head is given twice: 1 and 2")
    rejected(workbench(*run, "--ke", "user", "--key=day"), "--key is given twice: user and day")
    draw = ["draw", "models/time2021/passthrough.pipe", "-o", tmp_path / "a.svg"]
    rejected(workbench(*draw, "--output", tmp_path / "b.svg"), "--output is given twice: ")
    assert workbench(*run, "--head", 1, "--head", 1, "--carry", "user", "--carry", "day").code == 0


def test_the_hint_for_a_key_of_two_columns_is_followed(workbench: Run, pipe: Pipe, tmp_path: Path) -> None:
    log, joined = tmp_path / "log.csv", tmp_path / "joined.csv"
    log.write_text("a,b,x\nu,v,1\nu,w,2\nu,v,3\n")
    total = pipe("pipeline total(x: int) -> int { return cumulate(x, +) }")
    hint = workbench("run", total, "--input", log, "--key", "a", "--key", "b").err
    joint = tmp_path / "joint.pipe"
    joint.write_text(hint[hint.index("pipeline joint") :])
    assert workbench("run", joint, "--input", log, "--carry", "x", "--output", joined).code == 0
    assert workbench("run", total, "--input", joined, "--key", "key").out == "key,out\nu/v,1\nu/w,2\nu/v,4\n"


def test_a_column_for_two_inputs_is_noted(workbench: Run, pipe: Pipe, tmp_path: Path) -> None:
    """Seldom intended: someone has a file for each input, with a column of one name. A key or a time is not meant."""
    file, log = pipe("pipeline p(a: int, b: int) -> int { return a - b }"), tmp_path / "log.csv"
    log.write_text("time,value\n1,5\n")
    done = workbench("run", file, "--input", log, "--column", "a=value", "--column", "b=value")
    assert (done.code, done.out) == (0, "out\n0\n")
    assert "inputs a and b read the same column 'value'" in done.err
    assert "same column" not in workbench("run", file, "--input", log, "--column", "a=value", "--column", "b=time").err
    rejected(workbench("run", file, "--input", f"a={log}"), f"inputs of a pipeline are columns: --input {log}")
