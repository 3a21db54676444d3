"""The set-up scripts: what they take for finished, and what they pass on to the build."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The set-up script, looking at a clone in `tmp_path` that seems ready except for the stamp."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script = importlib.import_module("set_up")
    venv = tmp_path / ".venv"
    for name in ("python", "workbench", "NuSMV", "pytest"):
        path = venv / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (venv / ".workbench").mkdir()
    (venv / "pyvenv.cfg").write_text(f"version = 3.11.2\ncommand = /usr/bin/python3 -m venv {venv}\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / ".setup").mkdir()
    places = {
        "ROOT": tmp_path,
        "VENV": venv,
        "PYTHON": venv / "bin" / "python",
        "MARKS": venv / ".workbench",
        "READY": venv / ".workbench" / "ready",
        "BUSY": venv / ".workbench" / "busy",
        "LOG": tmp_path / ".setup" / "setup.log",
        "NEEDED": tuple((venv / "bin").iterdir()),
    }
    for name, value in places.items():
        monkeypatch.setattr(script, name, value)
    return script


def test_a_stamp_is_needed(set_up: ModuleType) -> None:
    assert not set_up.is_ready()
    set_up.READY.write_text(set_up.fingerprint())
    assert set_up.is_ready()


@pytest.mark.parametrize("changed", ["pyproject.toml", ".venv/pyvenv.cfg"])
def test_a_change_makes_the_stamp_stale(set_up: ModuleType, changed: str) -> None:
    set_up.READY.write_text(set_up.fingerprint())
    (set_up.ROOT / changed).write_text("changed\n")
    assert not set_up.is_ready()


def test_a_removed_program_is_noticed(set_up: ModuleType) -> None:
    set_up.READY.write_text(set_up.fingerprint())
    (set_up.VENV / "bin" / "NuSMV").unlink()
    assert not set_up.is_ready()


def test_an_interrupted_installation_is_not_built_upon(set_up: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(set_up, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        set_up.pip("install", "anything")
    set_up.READY.write_text(set_up.fingerprint())
    assert not set_up.is_ready()
    assert "interrupted" in set_up.reason_to_make_venv(False)


def test_a_moved_venv_is_made_anew(set_up: ModuleType) -> None:
    (set_up.VENV / "pyvenv.cfg").write_text("version = 3.11.2\ncommand = python3 -m venv /elsewhere/.venv\n")
    assert "another folder" in set_up.reason_to_make_venv(False)


def test_another_python_counts_only_when_named(set_up: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    (set_up.VENV / "pyvenv.cfg").write_text(f"version = 3.0.0\ncommand = p -m venv {set_up.VENV}\n")
    monkeypatch.setattr(set_up, "PYTHON", Path(sys.executable))
    assert set_up.reason_to_make_venv(False) is None
    assert "is wanted" in set_up.reason_to_make_venv(True)


def test_a_failed_command_is_in_the_log(set_up: ModuleType) -> None:
    with pytest.raises(set_up.CommandFailedError, match="exit code 3"):
        set_up.run([sys.executable, "-c", "print('the reason'); raise SystemExit(3)"])
    assert "the reason" in set_up.LOG.read_text()


def test_what_is_kept_replaces_what_was_there(set_up: ModuleType, tmp_path: Path) -> None:
    result, place = tmp_path / "result", tmp_path / "cache" / "key"
    for text in ("first", "second"):
        result.mkdir(exist_ok=True)
        (result / "NuSMV").write_text(text)
        set_up.keep(result, place)
        assert (place / "NuSMV").read_text() == text
        assert [path.name for path in place.parent.iterdir()] == ["key"]


def test_the_build_does_not_see_the_callers_flags(set_up: ModuleType) -> None:
    theirs = {"MAKEFLAGS": "-j8", "CFLAGS": "-O0", "PYTHONPATH": "/x", "PATH": "/usr/bin", "HOME": "/h"}
    environment = set_up.nusmv.build_environment(Path("/tools"), theirs)
    assert "-j8" not in environment["MAKEFLAGS"]
    assert not {"CFLAGS", "PYTHONPATH"} & environment.keys()
    assert environment["PATH"] == "/tools:/usr/bin"
    assert environment["HOME"] == "/h"


def test_only_missing_packages_are_asked_for(set_up: ModuleType) -> None:
    needs = {"there": lambda: True, "absent": lambda: False}
    assert set_up.debian.missing(needs) == ["absent"]


def test_without_root_the_message_names_the_packages(set_up: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up.debian, "administrator", lambda: None)
    monkeypatch.setattr(set_up.debian.shutil, "which", lambda _: "/usr/bin/apt-get")
    with pytest.raises(set_up.debian.PackagesMissingError, match="apt-get install absent"):
        set_up.debian.require({"absent": lambda: False}, set_up.run, print)


def test_the_recipe_and_the_extra_name_one_version(set_up: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["nusmv"] == [set_up.nusmv.REQUIREMENT]


def test_the_engines_beside_this_python_work() -> None:
    program = Path(sys.executable).with_name("NuSMV")
    if not program.exists():
        pytest.skip("this Python was not set up with `make setup`")
    check = [sys.executable, str(ROOT / "scripts" / "check_nusmv.py"), str(program)]
    done = subprocess.run(check, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_are_compiled_where_python_may_not_write(set_up: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(set_up, "run", lambda command, env: given.append(env))
    set_up.compile_project()
    assert given
    assert not any("PYTHONDONTWRITEBYTECODE" in env for env in given)
