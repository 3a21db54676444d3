"""Report the components that are installed, those that are missing, and how to install these."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache

from workbench import __version__
from workbench.errors import listed
from workbench.extras import NVIDIA, install_extra

OLDEST = (3, 11)
EXTRAS = (
    ("pyarrow", "lab", "results of experiments"),
    ("duckdb", "lab", "tables of experiments"),
    ("matplotlib", "lab", "plots"),
    ("starlette", "lab", "the lab's web application"),
    ("uvicorn", "lab", "the lab's web application"),
    ("jinja2", "lab", "the lab's reports"),
    ("pyspark", "spark", "sweeps on a Spark cluster"),
    ("pandas", "spark", "sweeps on a Spark cluster"),
    ("z3", "smt", "the engines induction, invariants and spacer"),
    ("numba", "fast", "pipelines and the explicit engine as machine code"),
    ("numba_cuda", "gpu", "pipelines and rules on a GPU"),
    ("cupy", "gpu", "arrays on a GPU"),
)
"""Python package, the extra that installs it, and its purpose."""

READY = "Pipelines can be checked."
ALONE = """Pipelines can be checked, by the built-in engine 'explicit' alone: it decides invariants, AG EF and what
recurs for ever (GF, FG). Other formulas, monitors of SMV systems and large models need another engine."""
NOT_READY = "Pipelines cannot be checked: this Python is too old."


@dataclass(frozen=True)
class Item:
    """A component to look for."""

    group: str
    name: str
    available: bool
    detail: str
    """Its version, or the reason why it is missing."""
    hint: str = ""
    """The remedy if it is missing."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--compile", action="store_true", help="compile the kernel of rules, once for this machine")


def execute(args: argparse.Namespace) -> int:
    """Look for all components and print the findings; return 0 if pipelines can be checked."""
    from workbench.verify.decide.table import engine_rows

    if args.compile:
        _compile()
    items = list(look())
    ready = all(item.available for item in items if item.name == "Python")  # is new enough; an engine is built in
    readers = {row.name for row in engine_rows().values() if row.reader}
    alone = not any(item.available for item in items if item.group == "engines" and item.name in readers)
    if args.json:
        print(json.dumps({"works": ready, "found": [asdict(item) for item in items]}))
    else:
        print(_table(items))
        print(f"\n{(ALONE if alone else READY) if ready else NOT_READY}")
    return 0 if ready else 2


def _compile() -> None:
    """Compile the kernel of rules, if there is none; raise Refused without a compiler."""
    from workbench.executors.table import backend_row, refuse_missing

    refuse_missing(backend_row("compiled"))
    from workbench.executors.compiled.rules.compiling import compile_aside, is_cached

    if not is_cached():
        print("compiling the kernel of rules: up to twenty seconds", file=sys.stderr, flush=True)
        compile_aside()


def look() -> Iterator[Item]:
    """Look for all components, in order."""
    yield Item("workbench", "workbench", True, __version__)
    new = sys.version_info[:2] >= OLDEST
    hint = "" if new else f"use Python {'.'.join(map(str, OLDEST))} or newer"
    yield Item("workbench", "Python", new, platform.python_version(), hint)
    yield from _engines()
    yield from _backends()
    yield from _plugins()
    yield _program("drawing", "graphviz", ["dot", "-V"], "install graphviz (Debian: apt-get install graphviz)")
    yield _program("extras", "Java", ["java", "-version"], "install a Java runtime, 17 or newer; Spark needs it")
    for package, extra, purpose in EXTRAS:
        yield _package(package, extra, purpose)
    gpu = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    yield _program("extras", "GPU", gpu, NVIDIA)


def _engines() -> Iterator[Item]:
    from workbench.verify.decide.table import find_engines

    for engine in find_engines():
        detail = f"{engine.version} {engine.path}".strip() if engine.usable else engine.reason
        yield Item("engines", engine.name, engine.usable, detail, engine.hint)


def _backends() -> Iterator[Item]:
    from importlib.util import find_spec

    from workbench.executors.table import backend_rows

    for row in backend_rows().values():
        requirements = {**row.needs, **row.uses}
        missing = [name for name in requirements if find_spec(name) is None and shutil.which(name) is None]
        detail = f"missing: {', '.join(missing)}" if missing else row.description
        yield Item(
            "backends", row.name, not missing, detail, "; ".join(dict.fromkeys(requirements[n] for n in missing))
        )


def _plugins() -> Iterator[Item]:
    from workbench.core.function import LIBRARY
    from workbench.events.table import format_rows
    from workbench.extensions import plugins
    from workbench.processors import CLASSES
    from workbench.tesla.aggregate_table import aggregate_rows
    from workbench.tesla.caches.table import cache_policies

    for table in (LIBRARY, CLASSES, aggregate_rows(), format_rows(), cache_policies()):
        len(table)  # registers the plugins' parts; the tables of engines and backends have done so already
    for plugin in plugins():
        foreign = [repr(part) for part in plugin.parts if id(part) not in plugin.taken]
        wrong = plugin.error or (f"workbench has no table for {listed(foreign)}" if foreign else "")
        hint = f"install another version of {plugin.package}, or uninstall it" if wrong else ""
        detail = wrong or ", ".join(plugin.taken.values())
        yield Item("plugins", plugin.name, not wrong, f"{plugin.package}: {detail}", hint)


def _program(group: str, name: str, command: list[str], hint: str) -> Item:
    """Look for a program, and read the first line of its output."""
    if shutil.which(command[0]) is None:
        return Item(group, name, False, f"no '{command[0]}' on PATH", hint)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Item(group, name, False, f"'{command[0]}' does not answer: {error}", hint)
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    first_line = lines[0] if lines else ""
    if done.returncode:
        return Item(group, name, False, f"'{command[0]}' fails: {first_line}", hint)
    return Item(group, name, True, first_line)


def _package(package: str, extra: str, purpose: str) -> Item:
    """Look for a Python package without importing it."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed
    from importlib.util import find_spec

    if find_spec(package) is None:
        return Item("extras", package, False, f"not installed ({purpose})", install_extra(extra))
    try:
        return Item("extras", package, True, installed(_distributions().get(package, [package])[0]))
    except PackageNotFoundError:
        return Item("extras", package, True, "version unknown")


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Return the distributions by package name, cached: reading the lists of all files takes a tenth of a second."""
    from importlib.metadata import packages_distributions

    return packages_distributions()


def _table(items: list[Item]) -> str:
    width = max(len(item.name) for item in items)
    lines: list[str] = []
    group = ""
    for item in items:
        if item.group != group:
            lines += ([""] if lines else []) + [item.group]
            group = item.group
        lines.append(f"  {'✓' if item.available else '-'} {item.name.ljust(width)}  {item.detail}")
        if item.hint:
            lines.append(f"    {' ' * width}  to do: {item.hint}")
    return "\n".join(lines)
