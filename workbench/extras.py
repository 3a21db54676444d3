"""Extras: how packages that are not installed are added to this installation."""

from __future__ import annotations

from pathlib import Path

_CLONE = Path(__file__).parents[1]

NVIDIA = "install the driver of the NVIDIA GPU, if there is one; otherwise the CPU runs everything"
"""The remedy where no NVIDIA driver answers."""


def install_extra(extra: str) -> str:
    """Return the command that installs an extra: into the environment of a clone, or for the installed package."""
    if not (_CLONE / "pyproject.toml").is_file():
        return f"pip install 'streamproof[{extra}]'"
    own = Path(".venv", "bin", "pip")
    return f"{own if (_CLONE / own).exists() else 'pip'} install -e '.[{extra}]'"
