"""Analyse a pipeline: dead paths, latency, silence, constant pipes, what depends on the order of arrival; or rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.budget import phase, share
from workbench.cli import options as o
from workbench.cli.model_settings import pipeline_settings, refuse_rates, rule_bounds, rule_settings
from workbench.errors import InputError, LimitMet, Refused, did_you_mean
from workbench.verify.analysis import AnalysisRow, analyses

if TYPE_CHECKING:
    from workbench.cli.analyse_report import Section
    from workbench.core.pipeline import Pipeline

UNDECIDED = 3


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--only", metavar="ANALYSIS,...",
        help=f"some of: {', '.join(analyses('pipeline'))}; of rules: {', '.join(analyses('rules'))} (default: all)",
    )  # fmt: skip
    o.check_options(parser)
    o.model_options(parser)


def _select_analyses(text: str | None, there_are: Iterable[str]) -> tuple[str, ...]:
    names = [*there_are] if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in there_are:
            raise InputError(f"there is no analysis '{name}'", hint=did_you_mean(name, there_are))
    return tuple(name for name in there_are if name in names)


class _Analysed(NamedTuple):
    """The subject of the analyses.

    Attributes
    ----------
    head: its name and bounds, for JSON.
    rows: the analyses that apply to it, by name.
    arguments: the arguments of the analyses.
    flat: builds the pipeline over finite domains for drawing runs; None for rules.
    """

    head: dict[str, Any]
    rows: Mapping[str, AnalysisRow]
    arguments: tuple[Any, ...]
    flat: Callable[[], Pipeline] | None = None


def execute(args: argparse.Namespace) -> int:
    """Analyse and print the findings."""
    import json

    from workbench.cli.progress import Progress

    rules = o.is_rules(args.file)
    only = _select_analyses(args.only, analyses("rules" if rules else "pipeline"))
    analysed = _load_rules(args) if rules else _load_pipeline(args)
    head, rows = analysed.head, [analysed.rows[name] for name in only if name in analysed.rows]
    code = 0
    for number, row in enumerate(rows):
        with Progress(f"analysis {number + 1} of {len(rows)}: {row.name} of {next(iter(head.values()))}"):
            section = _analyse(analysed, row, len(rows) - number)
        if args.json:
            print(json.dumps({**head, "analysis": row.name, **section.data}), flush=True)
        else:
            bounds = ", ".join(f"{bound} = {value}" for bound, value in list(head.items())[1:]) if args.quiet else None
            print(("\n" if number and not args.quiet else "") + section.text(bounds), flush=True)
        weak = (args.strict and section.within_bounds) or (args.strict_vacuity and section.vacuous)
        code = code if section.decided and not weak else UNDECIDED
    return code


def _load_pipeline(args: argparse.Namespace) -> _Analysed:
    refuse_rates(args)
    pipeline = o.load(args.file, args.param, args.fault).pipeline
    settings = pipeline_settings(args, pipeline)
    fitted = settings.fit(pipeline)
    head = {"pipeline": pipeline.name, "Q": settings.q, "N": fitted.n}
    if fitted.floats is not None:
        head["float"] = "{}..{}".format(*fitted.floats)
    rows = {name: row for name, row in analyses("pipeline").items() if args.only or row.applies(pipeline)}
    return _Analysed(head, rows, (pipeline, settings), lambda: settings.flat(pipeline))


def _load_rules(args: argparse.Namespace) -> _Analysed:
    settings, rules = rule_settings(args), o.rules(args.file)
    from workbench.verify.rules.rule_subject import RuleSubject

    subject = RuleSubject(rules, rule_bounds(args, [rules]), settings, deepen=not args.Q)
    return _Analysed({"rules": rules.name}, analyses("rules"), (subject,))


def _analyse(analysed: _Analysed, row: AnalysisRow, parts: int) -> Section:
    """Run an analysis with its share of the remaining time, and return its section."""
    from workbench.cli.analyse_report import Section, section

    try:
        with share(parts), phase(f"analysing {row.name}"):
            return section(row, row.run(*analysed.arguments), analysed.flat)
    except LimitMet as met:
        return Section(row.name, (f"? not known: {met.what}",), (), {"reason": met.what, "phase": met.phase}, False)
    except Refused as error:
        if row.refused is None:
            raise
        return Section(row.title, (f"? {error.what}",), (), {**row.refused, "reason": error.what}, False)
