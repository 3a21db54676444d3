"""Decide properties of a pipeline that monitors an SMV system, on all its runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli import run_files
from workbench.cli.model_settings import pipeline_settings
from workbench.cli.rule_runs import fact_files
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.language import Loaded, WatchedPipeline
    from workbench.verify.answer.problem import Problem

DEFAULT = "never-false"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "files", nargs="+", metavar="[SYSTEM.smv] FILE[:NAME]",
        help="an SMV system, and the pipeline that watches it; without a system, those that the file names in its "
        "monitor statements",
    )  # fmt: skip
    o.include_option(parser)
    o.python_option(parser)
    parser.add_argument(
        "-p", "--property", action="append", default=[], metavar="PROPERTY",
        help="any property of `check`, never-false or often-true (repeat; default: the checks in the monitor "
        f"statement, else {DEFAULT})",
    )  # fmt: skip
    parser.add_argument(
        "--bind", action="append", default=[], metavar="INPUT=EXPR",
        help="the SMV expression whose value an input carries (repeat; default: the variable or definition of "
        "the input's name)",
    )  # fmt: skip
    parser.add_argument(
        "--when", action="append", default=[], metavar="INPUT=EXPR",
        help="the condition under which an input carries an event (repeat; default: at every step)",
    )  # fmt: skip
    o.decision_options(parser)
    o.value_options(parser)
    fact_files(parser)
    run_files.options(parser)


def execute(args: argparse.Namespace) -> int:
    """Check the properties and print the verdicts."""
    run_files.check_writable(args)
    *system, file = args.files
    if len(system) > 1:
        raise InputError("name at most one system and one pipeline", hint="workbench monitor SYSTEM.smv FILE[:NAME]")
    if o.is_rules(file):
        hint = 'use them in a pipeline, alarm = rules("R.tesla", door, smoke).Alarm, and name that'
        raise InputError(f"'{file}' contains rules, but only a pipeline can watch a system", hint=hint)
    if file.endswith(".smv"):
        raise InputError(f"'{file}' is not a pipeline", hint="put the system first: workbench monitor SYSTEM.smv FILE")
    bind, when = _pairs(args.bind, "--bind"), _pairs(args.when, "--when")
    watching = _watching(file, args.param, args.fault, *system)
    from workbench.cli.output import decide_all
    from workbench.verify.monitor.monitor import Watching

    problems: list[Problem] = []
    for loaded, path, statement in watching:
        settings = pipeline_settings(args, loaded.pipeline)
        watch = Watching(loaded, path, {**statement.bind, **bind}, {**statement.when, **when}, settings)
        problems += map(watch.problem, args.property or statement.checks or [DEFAULT])
    return decide_all(problems, args)


def _watching(
    reference: str, params: Sequence[str], faults: Sequence[str], system_file: str = ""
) -> list[tuple[Loaded, str, WatchedPipeline]]:
    """Return the pipelines to check, each with a system and its monitor statement.

    Without a name in `reference`, these are all pipelines of the file that watch the given system, or any system.
    """
    from workbench.language import read_file, split_reference

    path, name = split_reference(reference)
    source = read_file(path)
    names = [name] if name else [p.name for p in source.tree.pipelines if p.monitors] or [source.default]
    loaded = o.load_all([(source, one) for one in names], params, faults)
    if not system_file:
        subjects = [(one, system, m) for one in loaded for m in one.monitors for system in m.systems]
        if not subjects:
            raise InputError(
                f"{reference} names no system to watch",
                hint='name one, workbench monitor SYSTEM.smv FILE, or write monitor "SYSTEM.smv" below the pipeline',
            )
        return subjects
    from workbench.language import WatchedPipeline

    if same := [(one, system_file, m) for one in loaded for m in one.monitors if m.watches(system_file)]:
        return same
    return [(one, system_file, WatchedPipeline()) for one in o.load_all([(source, name)], params, faults)]


def _pairs(items: Sequence[str], option: str) -> dict[str, str]:
    bindings = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals or not name.strip():
            raise InputError(f"'{item}' binds nothing", hint=f"write {option} 'input=EXPRESSION'")
        bindings[name.strip()] = text.strip()
    return bindings
