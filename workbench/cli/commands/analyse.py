"""Analyse a pipeline: dead paths, latency, silence, constant pipes, what depends on the order of arrival; or rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.budget import phase, share
from workbench.cli import options as o
from workbench.cli import rule_models
from workbench.errors import InputError, LimitMet, did_you_mean

if TYPE_CHECKING:
    from workbench.cli.analyse_report import Section

ANALYSES = ("dead-paths", "latency", "silence", "constants", "order", "states")
RULE_ANALYSES = ("fires", "covers", "droppable", "competition", "order", "cascade", "capacity", "effects")
UNDECIDED = 3


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--only", metavar="ANALYSIS,...",
        help=f"some of: {', '.join(ANALYSES)}; of rules: {', '.join(RULE_ANALYSES)} (default: all)",
    )  # fmt: skip
    o.check_options(parser)
    rule_models.options(parser)


def _chosen(text: str | None, there_are: tuple[str, ...]) -> tuple[str, ...]:
    names = there_are if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in there_are:
            raise InputError(f"there is no analysis '{name}'", hint=did_you_mean(name, there_are))
    return tuple(name for name in there_are if name in names)


def execute(args: argparse.Namespace) -> int:
    """Analyse and print."""
    import json

    from workbench.cli.progress import Progress

    rules = o.is_rules(args.file)
    only = _chosen(args.only, RULE_ANALYSES if rules else ANALYSES)
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
    from functools import partial

    rule_models.refuse_rates(args)
    pipeline = o.load(args.file, args.param, args.fault).pipeline
    settings = o.settings(args, pipeline)
    from workbench.cli.analyse_report import SECTIONS
    from workbench.processors.held.group import flatten
    from workbench.processors.moore import Moore

    found: dict[str, Callable[[], Section]] = {
        name: partial(make, pipeline, settings) for name, make in SECTIONS.items()
    }
    if args.only is None and not any(isinstance(node.processor, Moore) for node in flatten(pipeline).nodes):
        del found["states"]
    fitted = settings.fitted(pipeline)
    head = {"pipeline": pipeline.name, "Q": settings.q, "N": fitted.n}
    return head if fitted.floats is None else head | {"float": "{}..{}".format(*fitted.floats)}, found


def _of_rules(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Callable[[], Section]]]:
    settings, rules = rule_models.settings(args), o.rules(args.file)
    from workbench.cli.rule_analyses import rule_sections

    return {"rules": rules.name}, rule_sections(rules, rule_models.bounds(args, [rules]), settings, deepen=not args.Q)


def _section(name: str, make: Callable[[], Section], parts: int) -> Section:
    """What an analysis says with its share of the time that is left."""
    from workbench.cli.analyse_report import Section

    try:
        with share(parts), phase(f"analysing {name}"):
            return make()
    except LimitMet as met:
        return Section(name, (f"? not known: {met.what}",), (), {"reason": met.what, "phase": met.phase}, False)
