"""The command that adds an extra: that of docs/installing.md for a clone, pip's for the package."""

from pathlib import Path

import pytest

from workbench import extras
from workbench.cli.commands.doctor import look
from workbench.errors import EngineMissing
from workbench.verify.decide.smt import session


def test_the_command_is_that_of_the_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "_CLONE", tmp_path)
    assert extras.install_extra("smt") == "pip install 'streamproof[smt]'"
    (tmp_path / "pyproject.toml").touch()
    assert extras.install_extra("smt") == "pip install -e '.[smt]'"
    pip = tmp_path / ".venv" / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.touch()
    assert extras.install_extra("smt") == ".venv/bin/pip install -e '.[smt]'"


def test_doctor_and_the_engine_name_the_same_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing) as found:
        session.z3_version()
    hints = {item.name: item.hint for item in look()}
    assert found.value.hint == hints["z3"] == hints["invariants"] == extras.install_extra("smt")
