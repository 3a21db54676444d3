"""What users of the wheel see: a type for every name, and for all that a user's script does."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

workbench = importlib.import_module("workbench")  # a type checker knows only its names
ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "script.py"
pytest.importorskip("setuptools", minversion="77")  # else the project file cannot be read

BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the wheel installed, and this one's packages."""
    folder = tmp_path_factory.mktemp("user")
    copied = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(re.compile(r"workbench/|models/|pyproject.toml$|README.md$|LICENSE$").match, copied.split("\0")):
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "source" / name, follow_symlinks=False)
    subprocess.run([sys.executable, "-c", BUILD, folder], cwd=folder / "source", capture_output=True, check=True)
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "venv" / "bin" / "python"


@pytest.mark.slow
def test_every_name_and_all_that_a_script_does_have_types(python: Path, tmp_path: Path) -> None:
    """What a strict type checker says of the names and of a script, in one run: reading the library takes longest."""
    names = sorted({*workbench.__all__} - {"Value"})  # which is what any event may be
    assert all(hasattr(workbench, name) for name in names)
    (tmp_path / "names.py").write_text("\n".join(["import workbench as wb", *(f"reveal_type(wb.{n})" for n in names)]))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", "--python-executable"]
    done = subprocess.run(
        [*command, python, tmp_path / "names.py", SCRIPT],
        cwd=python.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    told = re.findall(r'names.py:(\d+): note: Revealed type is "(.*)"', done.stdout)
    assert len(told) == len(names)
    assert [names[int(line) - 2] for line, found in told if found == "Any"] == []
    assert (len(done.stdout.splitlines()), done.stderr) == (len(names), ""), done.stdout


@pytest.mark.slow
def test_the_wheel_has_the_models(python: Path, tmp_path: Path) -> None:
    """In an empty folder they are listed, copied and checked."""
    command = [str(python), "-m", "workbench.cli.main"]

    def run(*words: str) -> str:
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    names = re.findall(r"^models/\S+", run("models"), re.MULTILINE)
    programs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "models").rglob("*.[pt]*e*")}
    assert set(names) == {name for name in programs if name.endswith((".pipe", ".tesla"))}
    assert "files are in models" in run("models", "tesla", "--copy", ".")
    rules = ["models/tesla/silence.tesla", "--input", "models/tesla/silence.jsonl", "--time-unit", "s"]
    assert '"type": "Silent"' in run("run", *rules)
    assert "figure_2a" in run("demo", "--jobs", "1")


@pytest.mark.slow
def test_the_script_runs(python: Path) -> None:
    done = subprocess.run([python, SCRIPT], cwd=python.parent, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
