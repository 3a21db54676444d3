"""Decide what a pipeline says of all runs of an SMV system that it watches."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli import runs
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.cli.problem import Selected
    from workbench.conformance.written_tests.recipe import Recipe
    from workbench.core.pipeline import Pipeline
    from workbench.language import PropertySyntax, WatchedPipeline
    from workbench.verify.answer.check import Settings
    from workbench.verify.answer.verdict import Verdict
    from workbench.verify.monitor.driven import Driven

DEFAULT = "never-false"


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "files", nargs="+", metavar="[SYSTEM.smv] FILE[:NAME]",
        help="an SMV system, and the pipeline that watches it; without a system, those that the file names in its "
        "monitor statements",
    )  # fmt: skip
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
    runs.options(parser)


@dataclass(frozen=True)
class WatchedSystem:
    """A system with the pipeline that watches it, which several properties are asked of."""

    system: str
    part: Selected
    bind: Mapping[str, str]
    when: Mapping[str, str]
    settings: Settings

    @cached_property
    def environment(self) -> Driven:
        """The inputs, bound to the system."""
        from workbench.smv.system import read_system
        from workbench.verify.monitor.monitor import driven

        return driven(read_system(self.system), self.part.pipeline, self.bind, self.when, self.settings)


@dataclass(frozen=True)
class Monitored:
    """A property of a pipeline that watches a system."""

    watched: WatchedSystem
    syntax: PropertySyntax

    @property
    def text(self) -> str:
        """The property as written."""
        return str(self.syntax)

    @property
    def asked(self) -> PropertySyntax:
        """What is asked."""
        return self.syntax

    def examine(self, verdict: Verdict) -> Verdict:
        """The verdict as it is: what it rests on is the system's, and is not varied."""
        return verdict

    def recipes(self) -> tuple[Recipe, ...]:
        """How a test builds the pipeline."""
        return (self.watched.part.recipe(self.watched.settings),)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline, flat and over finite domains."""
        from workbench.processors.held.group import flatten

        return flatten(self.watched.part.pipeline.resolve(self.watched.settings.domain))

    @property
    def capacities(self) -> Mapping[str, int]:
        """The capacity of each queue."""
        from workbench.ir.compose import outline

        system = outline(self.pipeline, self.watched.settings.q)
        return {queue.name: queue.capacity for queue in system.queues.values()}

    def validate(self) -> None:
        """Bind the inputs and build the question, without asking it."""
        from workbench.ir.compose import outline
        from workbench.verify.answer.from_syntax import property_from
        from workbench.verify.monitor.binding import Undecided

        question = property_from(self.syntax).question(outline(self.pipeline, self.watched.settings.q))
        with contextlib.suppress(Undecided):  # `decide` says it of this property, and goes on to the next
            self.watched.environment.adapt(question)

    def undecided(self) -> Verdict:
        """The verdict as long as there is none."""
        from workbench.verify.answer.check import undecided

        return undecided(self.watched.part.pipeline.name, self.text, self.watched.settings, system=self.watched.system)

    def decide(self) -> Verdict:
        """The verdict, under the names the user wrote."""
        from workbench.verify.answer.from_syntax import property_from
        from workbench.verify.monitor.binding import Undecided
        from workbench.verify.monitor.monitor import monitored, unbound

        w, prop = self.watched, property_from(self.syntax)
        try:
            verdict = monitored(w.part.pipeline, w.environment, prop, w.settings)
        except Undecided as error:
            verdict = unbound(w.system, w.part.pipeline, prop, w.settings, error)
        return replace(verdict, property=self.text)


def execute(args: argparse.Namespace) -> int:
    """Ask and print."""
    runs.check_writable(args)
    *system, file = args.files
    if len(system) > 1:
        raise InputError("give at most one system and one pipeline", hint="workbench monitor SYSTEM.smv FILE[:NAME]")
    if file.endswith(".smv"):
        raise InputError(f"'{file}' is no pipeline", hint="the system comes first: workbench monitor SYSTEM.smv FILE")
    bind, when = _pairs(args.bind, "--bind"), _pairs(args.when, "--when")
    problems = []
    for part, path, statement in _watching(file, args.param, args.fault, *system):
        settings = o.settings(args, part.pipeline)
        watched = WatchedSystem(path, part, {**statement.bind, **bind}, {**statement.when, **when}, settings)
        problems += [Monitored(watched, syntax) for syntax in _asked(args.property, statement.checks)]
    from workbench.cli.output import decide_all

    return decide_all([*problems], as_json=args.json, quiet=args.quiet, then=partial(runs.write, args))


def _watching(
    reference: str, params: Sequence[str], faults: Sequence[str], given: str = ""
) -> list[tuple[Selected, str, WatchedPipeline]]:
    """The pipelines to ask about, each with a system and what the file says about that.

    Without a name in `reference` these are all pipelines of the file that watch the given system, or any.
    """
    from workbench.language import read_file, split_reference

    path, name = split_reference(reference)
    source = read_file(path)
    names = [name] if name else [p.name for p in source.tree.pipelines if p.monitors] or [source.default]
    loaded = o.load_all([(source, one) for one in names], params, faults)
    found = [(one, system, m) for one in loaded for m in one.loaded.monitors for system in m.systems]
    if not given:
        if not found:
            raise InputError(
                f"{reference} names no system to watch",
                hint='give one, workbench monitor SYSTEM.smv FILE, or write monitor "SYSTEM.smv" below the pipeline',
            )
        return found
    from workbench.language import WatchedPipeline

    same = [item for item in found if Path(item[1]).resolve() == Path(given).resolve()]
    if same:
        return same
    return [(one, given, WatchedPipeline()) for one in o.load_all([(source, name)], params, faults)]


def _asked(given: Sequence[str], checks: Sequence[PropertySyntax]) -> list[PropertySyntax]:
    from workbench.language import parse_property
    from workbench.verify.answer.from_syntax import EQUIVALENCES
    from workbench.verify.answer.tolerance import TOLERATES

    if checks and not given:
        return list(checks)
    found = [parse_property(text) for text in given or [DEFAULT]]
    for syntax in found:
        if syntax.name in (*EQUIVALENCES, TOLERATES):
            raise InputError(f"'{syntax}' compares two pipelines; it is asked with `workbench equiv`")
    return found


def _pairs(items: Sequence[str], option: str) -> dict[str, str]:
    found = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals or not name.strip():
            raise InputError(f"'{item}' binds nothing", hint=f"write {option} 'input=EXPRESSION'")
        found[name.strip()] = text.strip()
    return found
