"""Look at how the dataflow executor runs a pipeline, and check its scheduler for the graph of one."""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli.help_pages import positive
from workbench.cli.run_options import reading_options, run_options
from workbench.events.files import write_atomically
from workbench.verify.decide.table import engine_rows

if TYPE_CHECKING:
    from experiments.scheduler.model import SchedulerModel


PARTS = ("numbering", "overtaking", "any_phase", "unlocked")
"""The parts of the algorithm that can be left out: `Variant`s."""


def options(parser: argparse.ArgumentParser) -> None:
    """The subcommands and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _show_options(actions)
    text = "check the scheduler of the pipeline's graph: whatever threads do and whatever vertices send"
    check = actions.add_parser("check", help=text, description=text)
    _model_options(check)
    check.add_argument("--claim", action="append", default=[], metavar="NAME", help="only this one (repeat)")
    check.add_argument("--engine", choices=engine_rows(), default="explicit", help="what decides (default: explicit)")
    check.add_argument("--json", action="store_true", help="one JSON object per claim, and nothing else")
    o.limit_options(check)
    text = "print the scheduler of the pipeline's graph as a model for NuSMV"
    export = actions.add_parser("export", help=text, description=text)
    _model_options(export)
    export.add_argument("-o", "--output", metavar="MODEL.smv", help="the file to write (default: standard output)")


def _model_options(parser: argparse.ArgumentParser) -> None:
    """Which graph, and how much of it."""
    o.pipeline_argument(parser)
    parser.register("type", "positive", positive)
    parser.add_argument("--threads", type="positive", default=2, metavar="N", help="so many threads (default: 2)")
    parser.add_argument("--phases", type="positive", default=2, metavar="N", help="so many steps (default: 2)")
    parser.add_argument("--groups", action="store_true", help="what is in a pipeline that is called is one vertex")
    parser.add_argument("--order", metavar="V,V,...", help="number the vertices so, the log first")
    parser.add_argument(
        "--without", action="append", default=[], choices=PARTS,
        help="leave a part of the algorithm out, to see what it is for (repeat)",
    )  # fmt: skip
    o.parameter_options(parser)


def _show_options(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "run the first steps of a log in phases, and show after each choice of a thread where every pair is"
    show = actions.add_parser("show", help=text, description=text)
    o.pipeline_argument(show)
    show.add_argument("--input", required=True, metavar="FILE", help="a log, or -")
    show.register("type", "positive", positive)
    for flag, default, what in (
        ("--threads", 2, "so many threads"),
        ("--phases", 3, "so many steps of the log"),
    ):
        show.add_argument(flag, type="positive", default=default, metavar="N", help=f"{what} (default: {default})")
    show.add_argument("--seed", type=int, default=0, metavar="N", help="who goes on when (default: 0)")
    show.add_argument("--groups", action="store_true", help="what is in a pipeline that is called runs as one")
    show.add_argument("--json", action="store_true", help="as JSON")
    show.add_argument("-o", "--output", metavar="PAGE", help="a page of HTML to walk through it")
    o.parameter_options(show)
    reading_options(show)


def execute(args: argparse.Namespace) -> int:
    """Run some steps and show them, or check the scheduler."""
    if args.action == "show":
        return _show(args)
    model, names = _model(args)
    if args.action == "check":
        return _check(model, names, args)
    from experiments.scheduler.claims import export_scheduler

    text = export_scheduler(model)
    if args.output:
        write_atomically(args.output, text)
    else:
        sys.stdout.write(text)
    return 0


def _model(args: argparse.Namespace) -> tuple[SchedulerModel, tuple[str, ...]]:
    """The scheduler of the graph, and what its vertices are called."""
    from experiments.scheduler.graphs import renumbered
    from experiments.scheduler.listings import Variant
    from experiments.scheduler.model import SchedulerModel
    from workbench.executors.dataflow.vertices import VertexGraph, groups_together, processors_apart
    from workbench.processors.held.group import flatten

    program = o.program(args.file, args.param, args.fault)
    flat = flatten(program.pipeline)
    parts = groups_together(program, flat) if args.groups else processors_apart(flat)
    vertices = VertexGraph.of(flat, parts)
    graph, names = vertices.graph, vertices.names
    if args.order:
        names = tuple(name.strip() for name in args.order.split(","))
        graph = renumbered(vertices, names)
    lacks = Variant.WHOLE
    for name in args.without:
        lacks |= Variant[name.upper()]
    return SchedulerModel(graph, args.phases, args.threads, lacks), names


def _check(model: SchedulerModel, names: tuple[str, ...], args: argparse.Namespace) -> int:
    """Decide, and print a line for each claim."""
    import json

    from experiments.scheduler.claims import CLAIMS, check_scheduler
    from workbench.cli.progress import Progress

    with Progress():
        found = check_scheduler(model, args.claim or CLAIMS, engine=args.engine)
    if args.json:
        for verdict in found:
            print(json.dumps({"vertices": names, **verdict.to_dict()}))
    else:
        print("vertices: " + ", ".join(f"{v} {name}" for v, name in enumerate(names, 1)))
        for verdict in found:
            print(f"{verdict.outcome.sign} {verdict.outcome:<8} {verdict.claim}: {CLAIMS[verdict.claim]}")
            if verdict.reason:
                print(f"    {verdict.reason}")
            if verdict.run is not None:
                print("".join(f"    {line}\n" for line in [*verdict.run.lines(), verdict.replay]), end="")
    codes = [verdict.outcome.exit_code for verdict in found]
    return 1 if 1 in codes else max(codes, default=0)


def _show(args: argparse.Namespace) -> int:
    """Run some steps, and show them."""
    from experiments.scheduler.flow_moments import flow_history, history_page, history_text
    from workbench.events.read import read_events
    from workbench.executors.table import backend_row, refuse_kind

    program = o.program(args.file, args.param, args.fault)
    refuse_kind(backend_row("dataflow"), program)
    steps = list(
        itertools.islice(read_events(args.input, program, run_options(args, output=None).reading()), args.phases)
    )
    history = flow_history(program, steps, args.threads, args.seed, groups=args.groups)
    if args.json:
        import json

        print(json.dumps(history.to_json(), indent=2))
    if args.output is not None:
        write_atomically(args.output, history_page(history))
    elif not args.json:
        sys.stdout.write(history_text(history))
    return 0
