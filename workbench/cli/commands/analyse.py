"""Analyse a pipeline: dead paths, latency, silence, constant pipes, and what depends on the order of arrival."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from workbench.budget import phase, share
from workbench.cli import options as o
from workbench.errors import LimitMet

if TYPE_CHECKING:
    from workbench.cli.analyse_report import Section
    from workbench.core.pipeline import Pipeline
    from workbench.verify.answer.check import Settings

ANALYSES = ("dead-paths", "latency", "silence", "constants", "order")
UNDECIDED = 3


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--only", type=_chosen, default=ANALYSES, metavar="ANALYSIS,...",
        help=f"some of: {', '.join(ANALYSES)} (default: all)",
    )  # fmt: skip
    o.check_options(parser)


def _chosen(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in ANALYSES:
            raise argparse.ArgumentTypeError(f"there is no analysis '{name}': there are {', '.join(ANALYSES)}")
    return tuple(name for name in ANALYSES if name in names)


def execute(args: argparse.Namespace) -> int:
    """Analyse and print."""
    import json

    from workbench.cli.progress import Progress

    loaded = o.load(args.file, args.param, args.fault)

    settings = o.settings(args, loaded.pipeline)
    code = 0
    for number, name in enumerate(args.only):
        with Progress(f"{name} of {loaded.pipeline.name}"):
            section = _section(name, loaded.pipeline, settings, len(args.only) - number)
        if args.json:
            head = {"pipeline": loaded.pipeline.name, "analysis": name, "Q": settings.q, "N": settings.n}
            print(json.dumps(head | section.data), flush=True)
        else:
            print(("\n" if number and not args.quiet else "") + section.text(quiet=args.quiet), flush=True)
        code = code if section.decided else UNDECIDED
    return code


def _section(name: str, pipeline: Pipeline, settings: Settings, parts: int) -> Section:
    """What an analysis says with its share of the time that is left."""
    from workbench.cli.analyse_report import SECTIONS, Section

    try:
        with share(parts), phase(f"analysing {name}"):
            return SECTIONS[name](pipeline, settings)
    except LimitMet as met:
        return Section(name, (f"? not known: {met.what}",), (), {"reason": met.what, "phase": met.phase}, False)
