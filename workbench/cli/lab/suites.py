"""Load suites and their results from the folders that the options name."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.options import note
from workbench.cli.progress import Progress
from workbench.errors import InputError, printable

if TYPE_CHECKING:
    from workbench.lab.plan import Lab
    from workbench.lab.result import Result
    from workbench.lab.store import Broken

EXPERIMENTS, STORE = Path("experiments"), Path(".workbench") / "lab"
"""The folders of suites and results, below the working folder."""


def place_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the folders of suites and results."""
    parser.add_argument("--experiments", type=Path, default=EXPERIMENTS, metavar="DIR", help="the folder of suites")
    parser.add_argument("--data", type=Path, default=STORE, metavar="DIR", help="the folder of results")


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the engine that measures or computes tables."""
    parser.add_argument("--on", choices=("local", "spark"), default="local", help="this machine's processes, or Spark")
    parser.add_argument(
        "--master", metavar="URL", help="of Spark: spark://host:port (default: local[*]); means --on spark"
    )


def places(args: argparse.Namespace) -> str:
    """Return the options for the folders of suites and results, unless they have the default values."""
    folders = {"--experiments": (args.experiments, EXPERIMENTS), "--data": (args.data, STORE)}
    return shlex.join(word for name, (own, usual) in folders.items() if own != usual for word in (name, str(own)))


def open_lab(args: argparse.Namespace, name: str) -> Lab:
    """Load a suite with its store."""
    from workbench.lab.plan import Lab
    from workbench.lab.store import ResultStore
    from workbench.lab.suite_search import find_suite, load_suite

    path = find_suite(args.experiments, name)
    suite = load_suite(path)
    if (times := getattr(args, "repeat", None)) is not None:
        if times < 1:
            raise InputError(f"--repeat {times}: expected at least 1")
        suite = suite.repeat(times)
    return Lab(suite, path, ResultStore(args.data, suite.name), places(args))


def is_local(args: argparse.Namespace) -> bool:
    """Whether this machine does the work, not Spark."""
    return args.on == "local" and not args.master


@contextlib.contextmanager
def open_spark(args: argparse.Namespace) -> Iterator[Any]:
    """Yield a Spark session, and stop it at the end."""
    from workbench.lab import spark

    with Progress("Spark is starting", always=True):  # it takes up to a minute on a loaded machine
        session = spark.session(args.master or spark.LOCAL)
    try:
        yield session
    finally:
        session.stop()


def load_results(folder: Path) -> dict[str, list[Result]]:
    """Load the results of each suite that has any."""
    from workbench.lab.store import ResultStore

    names = sorted(path.name.removeprefix("suite=") for path in folder.glob("suite=*"))
    contents = {name: ResultStore(folder, name).results() for name in names}
    warn([item for _, broken in contents.values() for item in broken])
    return {name: results for name, (results, _) in contents.items()}


def warn(broken: Sequence[Broken]) -> None:
    """Print a note about each file that cannot be read, and the remedy."""
    for hint in dict.fromkeys(item.hint for item in broken):
        for item in broken:
            if item.hint == hint:
                note(f"left out, since it cannot be read: {item}")
        print(printable(f"  hint: {hint}"), file=sys.stderr)


def plain_result(result: Result) -> dict[str, Any]:
    """Return a result as plain data for JSON."""
    from workbench.lab.rows import OBJECTS, flat

    row = flat(result)
    return {"id": result.id, **row, **{name: json.loads(row[name]) for name in OBJECTS}}
