"""`workbench run --output NAME=FILE`: outputs in files of their own."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Run, command

PIPE = "pipeline two(x: int, y: int) -> big: int, sum: int { return filter(x, x > 2), x + y }"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.pipe").write_text(PIPE)
    Path("log.csv").write_text("x,y,k\n1,2,a\n5,6,b\n3,4,a\n")


def test_outputs_without_a_file_are_named(workbench: Run) -> None:
    done = workbench("run", "two.pipe", "--input", "log.csv", "--output", "big=-")
    assert done.out == "big\n5\n3\n"
    assert "outputs without a file are not written: sum" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--output a.csv --output b.csv", "two files for all outputs: a.csv and b.csv"),
        ("--output big=a.csv --output big=b.csv", "two files for output 'big': a.csv and b.csv"),
        ("--output big=a.csv --output b.csv", "no output is named for b.csv"),
        ("--output big=- --output sum=-", "one file for two outputs, big and sum"),
        ("--output big=a.csv --bad-rows a.csv", "--bad-rows would overwrite --output big"),
        ("--output big=a.csv --backend spark --key k", "not for the spark backend: --output NAME=FILE"),
    ],
)
def test_what_a_command_line_cannot_say(options: str, message: str, workbench: Run) -> None:
    done = workbench("run", "two.pipe", "--input", "log.csv", *options.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert {each.name for each in Path().iterdir()} == {"two.pipe", "log.csv"}


def test_a_file_with_an_equals_sign_in_its_name(workbench: Run) -> None:
    assert workbench("run", "two.pipe", "--input", "log.csv", "--output", "./day=1.csv").code == 0
    assert Path("day=1.csv").read_text() == "big,sum\n,3\n5,11\n3,7\n"


def test_files_grow_as_a_log_comes() -> None:
    """Of a pipe rows are behind those that the files had before, each when it has come."""
    Path("sum.csv").write_text("sum\n100\n")
    asked = command(["run", "two.pipe", "--input", "-", "--output", "sum=sum.csv", "--output", "big=big.csv"])
    with subprocess.Popen(asked, stdin=subprocess.PIPE, env=dict(os.environ)) as running:
        assert running.stdin is not None
        running.stdin.write(b"x,y\n1,2\n")
        running.stdin.flush()
        while Path("sum.csv").read_text() != "sum\n100\n3\n":
            assert running.poll() is None
        running.stdin.close()
    assert running.returncode == 0
    assert Path("big.csv").read_text() == "big\n"
