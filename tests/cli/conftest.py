"""Running the command in this process, and as a program of its own."""

import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from workbench.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models" / "time2021"
BANNER = 'echo "*** This is NuSMV 2.5.4"; grep -q read_model script || exit 0'
"""How a shell script that is NuSMV begins: with its name, and no answers to questions about itself."""


PROGRESS = re.compile(r"^workbench: .*  \d+ s(?: of \S+ s)?\n", re.MULTILINE)
"""A line that says how far a command is, on a machine on which it takes more than five seconds."""


@dataclass(frozen=True)
class Ended:
    """A command that has ended; `said` is all that it has said on the error stream."""

    code: int
    out: str
    said: str

    @property
    def err(self) -> str:
        """What it has said there, but for how far it was."""
        return PROGRESS.sub("", self.said)

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The JSON objects on its output, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ended]


@pytest.fixture
def workbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line here."""
    monkeypatch.delenv("WORKBENCH_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args: object) -> Ended:
        code = main([str(arg) for arg in args])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Ended(code, captured.out, captured.err)

    return run


def program(*args: object, env: dict[str, str] | None = None, stdin: str = "", cwd: Path | None = None) -> Ended:
    """Runs a command line in a process of its own."""
    done = subprocess.run(
        command(args), input=stdin, capture_output=True, text=True, cwd=cwd or ROOT, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def command(args: Sequence[object]) -> list[str]:
    """The arguments that start the program."""
    return [sys.executable, "-m", "workbench.cli.main", *map(str, args)]


def script(tmp_path: Path, text: str) -> dict[str, str]:
    """The environment in which a shell script is NuSMV."""
    file = tmp_path / "FakeNuSMV"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IEXEC)
    return {"WORKBENCH_NUSMV": str(file)}


def descendants(pid: int) -> list[int]:
    """The processes under a process."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = [int(child) for child in children.read_text().split()] if children.exists() else []
    return found + [deeper for child in found for deeper in descendants(child)]


def busy(pid: int, least: int = 1) -> list[int]:
    """The processes under a process, as soon as there are so many: its engines are at work."""
    end = time.monotonic() + 60
    while len(found := descendants(pid)) < least and time.monotonic() < end:
        time.sleep(0.02)
    assert len(found) >= least
    return found


@pytest.fixture
def pipe(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a `.pipe` file."""

    def write(text: str) -> Path:
        path = tmp_path / "test.pipe"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def hard(pipe: Callable[[str], Path]) -> Path:
    """A pipeline that BDDs do not decide at -N 4096: that of a product grows exponentially."""
    return pipe(
        "pipeline hard(x: int, y: int) -> int {\n"
        "    a = cumulate(x * y, +)\n"
        "    b = cumulate(a * a + y, *)\n"
        "    return a * b + cumulate(b * y, +)\n"
        "}\n"
        "check always (out != 3)\n"
    )
