"""Decide whether two pipelines compute the same."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.cli import options as o

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline

HELP = "decide whether two pipelines compute the same"
MODES = ("sequence", "stepwise", "approximates")


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser, "left", "FILE_A[:NAME]")
    o.pipeline_argument(parser, "right", "FILE_B[:NAME]")
    parser.add_argument(
        "--mode", choices=MODES, default=MODES[0],
        help="sequence: the i-th outputs are equal (default); stepwise: at every step the same output, or "
        "none; approximates: stepwise, and where FILE_B says true so does FILE_A",
    )  # fmt: skip
    o.check_options(parser)
    o.examine_option(parser)


def execute(args: argparse.Namespace) -> int:
    """Compare and print."""
    from workbench.cli.output import decide_all
    from workbench.cli.problem import Comparison
    from workbench.verify.equivalence import side_by_side

    left, right = _pipelines([args.left, args.right], args.param)
    both = side_by_side(left, right, args.mode)[0]
    comparison = Comparison(left, right, args.mode, o.settings(args, both))
    return decide_all([comparison], as_json=args.json, quiet=args.quiet, examine=args.rests_on)


def _pipelines(references: Sequence[str], params: Sequence[str]) -> list[Pipeline]:
    """Both pipelines; a parameter goes to each that has one of its name, and one of them must."""
    from workbench.errors import InputError
    from workbench.language import parameters, read_file, split_reference

    given = parameters(params)
    unused = set(given)
    found = []
    for reference in references:
        path, name = split_reference(reference)
        source = read_file(path)
        syntax = next((p for p in source.tree.pipelines if p.name == (name or source.default)), None)
        known = {p.name for p in syntax.parameters} if syntax else set()
        unused -= known
        found.append(source.get(name, **{k: v for k, v in given.items() if k in known}).pipeline)
    if unused:
        raise InputError(f"neither pipeline has a parameter '{sorted(unused)[0]}'")
    return found
