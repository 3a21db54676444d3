"""The suites of the lab that a command is about, and where their results are."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.lab.plan import Lab

EXPERIMENTS, STORE = Path("experiments"), Path(".workbench") / "lab"
"""Where suites are and results are kept, below the working folder."""


def open_lab(args: argparse.Namespace, name: str) -> Lab:
    """A suite with its store."""
    from workbench.errors import InputError
    from workbench.lab.find import load_suite, named
    from workbench.lab.plan import Lab
    from workbench.lab.store import ResultStore

    path = named(args.experiments, name)
    suite = load_suite(path)
    if (times := getattr(args, "repeat", None)) is not None:
        if times < 1:
            raise InputError(f"--repeat {times}: at least once")
        suite = suite.repeated(times)
    return Lab(suite, path, ResultStore(args.data, suite.name), places(args))


def places(args: argparse.Namespace) -> str:
    """The options that say where suites and results are, where it is not the usual place."""
    given = {"--experiments": (args.experiments, EXPERIMENTS), "--data": (args.data, STORE)}
    return shlex.join(word for name, (own, usual) in given.items() if own != usual for word in (name, str(own)))
