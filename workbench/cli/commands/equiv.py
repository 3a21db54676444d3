"""Decide whether two pipelines compute the same."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli import run_files
from workbench.cli.model_settings import pipeline_settings, rule_bounds, rule_settings
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet
    from workbench.verify.ask.equivalence import EquivalenceMode

MODES = ("sequence", "stepwise", "approximates")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser, "left", "FILE_A[:NAME]")
    other = "the other file; rules may be compared with a variant"
    parser.add_argument("right", metavar="FILE_B[:NAME]", nargs="?", help=other)
    parser.add_argument(
        "--mode", choices=MODES,
        help="sequence: the i-th outputs are equal (default); stepwise: at every step the same output, or "
        "none (default for rules); approximates: stepwise, and where FILE_B emits true, so does FILE_A",
    )  # fmt: skip
    o.check_options(parser)
    o.model_options(parser)
    parser.add_argument(
        "--policy", action="append", default=[], metavar="ONE=OTHER",
        help="of rules: the second ones (FILE_B, or the same) with another policy, as last=each (repeatable)",
    )  # fmt: skip
    parser.add_argument("--compat", choices=("trex",), help="for rules: give the second rules the semantics of T-Rex")
    run_files.options(parser)
    run_files.certificate_option(parser)
    o.examination_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Compare two programs and print the verdict."""
    run_files.check_writable(args)
    if o.is_rules(args.left) or o.is_rules(args.right or ""):
        return _rules(args)
    if args.right is None:
        raise InputError(f"{args.left} has no program to be compared with", hint="name two pipelines: FILE_A FILE_B")
    if args.policy or args.compat:
        what = f"{args.left} is a pipeline: --policy and --compat are for rules"
        raise InputError(what, hint="leave out --policy and --compat")
    mode: EquivalenceMode = args.mode or "sequence"
    from workbench.language import read_file, split_reference

    split = [split_reference(reference) for reference in (args.left, args.right)]
    left, right = o.load_all([(read_file(path), name) for path, name in split], args.param)
    from workbench.cli.output import decide_all
    from workbench.verify.answer.problem import comparison
    from workbench.verify.ask.equivalence import side_by_side

    left = left.faulty(*args.fault)
    both = side_by_side(left.pipeline, right.pipeline, mode)[0]
    return decide_all([comparison(left, right, mode, pipeline_settings(args, both))], args)


def _rules(args: argparse.Namespace) -> int:
    """Compare two rule sets."""
    if args.right is None and not args.policy and not args.compat:
        hint = "name a second file, or a variant: --policy last=each, or --compat trex"
        raise InputError(f"{args.left} has no program to be compared with", hint=hint)
    if not (o.is_rules(args.left) and o.is_rules(args.right or args.left)):
        other = args.right if o.is_rules(args.left) else args.left
        raise InputError("rules are compared with rules", where=other, hint="name two .tesla files, without ':NAME'")
    settings = rule_settings(args)
    from workbench.cli.output import decide_all
    from workbench.verify.rules.problems import rule_comparison

    left = o.rules(args.left)
    right = _variant(left if args.right is None else o.rules(args.right), args)
    bounds = replace(rule_bounds(args, [left, right]), trex=[1] if args.compat else [])
    mode: EquivalenceMode = args.mode or "stepwise"
    return decide_all([rule_comparison(left, right, bounds, settings, mode, deepen=not args.Q)], args)


def _variant(rules: RuleSet, args: argparse.Namespace) -> RuleSet:
    """Return the second rule set, with a name that describes the difference."""
    from workbench.tesla.policies import with_policies

    others: dict[str, str] = {}
    for text in args.policy:
        one, equals, other = text.partition("=")
        if not equals:
            raise InputError(f"--policy {text}: expected OLD=NEW", hint="write --policy last=each")
        others[one.strip()] = other.strip()
    variant = with_policies(rules, others) if others else rules
    return replace(variant, name="_".join([variant.name, *others.values(), *([args.compat] if args.compat else [])]))
