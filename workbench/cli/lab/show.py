"""Show all data of a measurement."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from workbench.cli.lab.suites import load_results, place_options, places, plain_result
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.lab.result import Result


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    place_options(parser)
    parser.add_argument("id", help="the id in reports, or its beginning")
    parser.add_argument("--json", action="store_true", help="print a JSON object")


def execute(args: argparse.Namespace) -> int:
    """Print the measurements whose ids have a prefix."""
    stored = load_results(args.data)
    matches = [(suite, r) for suite, results in stored.items() for r in results if r.id.startswith(args.id)]
    if not matches:
        raise InputError(f"there is no measurement '{args.id}'", where=str(args.data))
    for suite, result in matches:
        if args.json:
            print(json.dumps({"suite": suite, **plain_result(result)}))
        else:
            print(describe(suite, result, places(args)))
    return 0


def describe(suite: str, result: Result, options: str) -> str:
    """Return a measurement as text for people."""
    from workbench.lab.report_text import on_gpus, rerun

    m = result.measured
    lines = [f"{suite} {result.experiment} {result.id}: {m.status}"]
    lines += [f"    {name} = {value}" for name, value in result.point.items()]
    lines += [f"    -> {name} = {value}" for name, value in m.outputs.items()]
    lines += [f"    {line}" for line in m.reason.splitlines()]
    memory = ", ".join(filter(None, [f"at most {m.peak_mb:.0f} MB", on_gpus(m.gpu_peak_mb, m.gpu_seconds)]))
    lines += [
        f"  {m.cpu_seconds:.4f} CPU s, {m.wall_seconds:.4f} s, {memory}; limits by {m.limited_by}",
        f"  load {m.load:.1f}, stolen {m.steal:.1%}: timings are {'reliable' if m.reliable else 'unreliable'}",
        f"  {result.started} UTC, run {result.run}, code {result.code}, commit {result.commit or 'unknown'}",
        f"  {', '.join(f'{name} {value}' for name, value in result.machine.items())}",
        f"  {', '.join(f'{name} {value}' for name, value in result.versions.items())}",
        f"  seed {result.seed}; measured by: {result.command}",
        f"  again: {rerun(suite, result.key, options)}",
    ]
    if m.log.strip():
        lines += ["  printed:", *(f"    | {line}" for line in m.log.rstrip().splitlines())]
    return "\n".join(lines)
