"""Analyse a pipeline: dead paths, latency, silence, constant pipes, what depends on the order of arrival; or rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.budget import phase, share
from workbench.cli import options as o
from workbench.cli.model_settings import pipeline_settings, refuse_rates, rule_bounds, rule_settings
from workbench.errors import InputError, LimitMet, Refused, did_you_mean
from workbench.verify.analysis import AnalysisRow, analyses

if TYPE_CHECKING:
    from workbench.cli.analyse_report import Section

UNDECIDED = 3


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--only", metavar="ANALYSIS,...",
        help=f"some of: {', '.join(analyses('pipeline'))}; of rules: {', '.join(analyses('rules'))} (default: all)",
    )  # fmt: skip
    o.check_options(parser)
    o.model_options(parser)


def _chosen(text: str | None, there_are: Iterable[str]) -> tuple[str, ...]:
    names = [*there_are] if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in there_are:
            raise InputError(f"there is no analysis '{name}'", hint=did_you_mean(name, there_are))
    return tuple(name for name in there_are if name in names)


def execute(args: argparse.Namespace) -> int:
    """Analyse and print."""
    import json

    from workbench.cli.progress import Progress

    rules = o.is_rules(args.file)
    only = _chosen(args.only, analyses("rules" if rules else "pipeline"))
    head, sections = _of_rules(args) if rules else _of_pipeline(args)
    only = tuple(name for name in only if name in sections or args.only)
    code = 0
    for number, name in enumerate(only):
        with Progress(f"{name} of {next(iter(head.values()))}"):
            section = _section(name, sections[name], len(only) - number)
        if args.json:
            print(json.dumps({**head, "analysis": name, **section.data}), flush=True)
        else:
            bounds = ", ".join(f"{bound} = {value}" for bound, value in list(head.items())[1:]) if args.quiet else None
            print(("\n" if number and not args.quiet else "") + section.text(bounds), flush=True)
        weak = (args.strict and section.within_bounds) or (args.strict_vacuity and section.vacuous)
        code = code if section.decided and not weak else UNDECIDED
    return code


def _of_pipeline(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Callable[[], Section]]]:
    """What is analysed, and what each analysis says of it."""
    refuse_rates(args)
    pipeline = o.load(args.file, args.param, args.fault).pipeline
    settings = pipeline_settings(args, pipeline)
    from workbench.cli.analyse_report import Section, section

    def asked(row: AnalysisRow) -> Section:
        try:
            found = row.ask(pipeline, settings)
        except Refused as error:
            if row.refused is None:
                raise
            return Section(row.title, (f"? {error.what}",), (), {**row.refused, "reason": error.what}, False)
        return section(row, found, lambda: settings.flat(pipeline))

    rows = analyses("pipeline").items()
    sections: dict[str, Callable[[], Section]] = {
        name: partial(asked, row) for name, row in rows if args.only or row.applies(pipeline)
    }
    fitted = settings.fitted(pipeline)
    head = {"pipeline": pipeline.name, "Q": settings.q, "N": fitted.n}
    return head if fitted.floats is None else head | {"float": "{}..{}".format(*fitted.floats)}, sections


def _of_rules(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Callable[[], Section]]]:
    settings, rules = rule_settings(args), o.rules(args.file)
    from workbench.cli.analyse_report import section
    from workbench.verify.rules.subject import RuleSubject

    subject = RuleSubject(rules, rule_bounds(args, [rules]), settings, deepen=not args.Q)

    def answer(row: AnalysisRow) -> Section:
        return section(row, row.ask(subject))

    return {"rules": rules.name}, {name: partial(answer, row) for name, row in analyses("rules").items()}


def _section(name: str, make: Callable[[], Section], parts: int) -> Section:
    """What an analysis says with its share of the time that is left."""
    from workbench.cli.analyse_report import Section

    try:
        with share(parts), phase(f"analysing {name}"):
            return make()
    except LimitMet as met:
        return Section(name, (f"? not known: {met.what}",), (), {"reason": met.what, "phase": met.phase}, False)
