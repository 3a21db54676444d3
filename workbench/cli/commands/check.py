"""Decide properties of a pipeline with a model checker."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli import run_files
from workbench.cli.model_properties import (
    list_file_properties,
    list_properties,
    list_rule_properties,
    property_option,
)
from workbench.cli.model_settings import pipeline_settings, rule_bounds, rule_settings
from workbench.errors import InputError, refuse_unknown

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser, default="all with properties")
    property_option(parser)
    o.check_options(parser)
    o.model_options(parser)
    parser.add_argument(
        "--abstract", action="append", default=[], metavar="NAME",
        help="put the guarantees of a called pipeline, or of one call, in place of its body (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type="positive", default=1, metavar="J",
        help="number of properties at a time, each with the memory of --memory (default: 1)",
    )  # fmt: skip
    run_files.options(parser)
    run_files.certificate_option(parser)
    o.examination_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Check the properties and print the verdicts."""
    run_files.check_writable(args)
    if o.is_rules(args.file):
        return _rules(args)
    loaded = o.load(args.file, args.param, args.fault)
    from workbench.language import split_reference

    named = any("".join(each) for each in args.Q)  # -Q with names is for one pipeline
    whole = not (split_reference(args.file)[1] or args.property or args.fault or args.param or named)
    pairs = list_file_properties(loaded) if whole else [(loaded, list_properties(loaded, args.property))]
    from workbench.cli.output import decide_all
    from workbench.verify.answer.problem import problem

    replaced = _list_replaced([each.pipeline for each, _ in pairs], args.abstract)
    problems = [
        problem(each, syntax, replace(pipeline_settings(args, each.pipeline, [syntax]), abstract=names))
        for (each, properties), names in zip(pairs, replaced, strict=True)
        for syntax in properties
    ]
    return decide_all(problems, args)


def _list_replaced(pipelines: Sequence[Pipeline], names: Sequence[str]) -> list[Sequence[str]]:
    """List for each pipeline those names that are of its calls; InputError for a name that is of none."""
    if not names:
        return [()] * len(pipelines)
    from workbench.verify.ask.abstraction import list_calls

    called = [dict.fromkeys(name for call in list_calls(pipeline) for name in call) for pipeline in pipelines]
    known = {name: None for each in called for name in each}
    for name in names:
        refuse_unknown("call", name, known)
    return [[name for name in names if name in each] for each in called]


def _rules(args: argparse.Namespace) -> int:
    """Check the properties of the model of rules."""
    if args.abstract:
        raise InputError("--abstract is for pipelines: rules have no contracts", hint="leave it out")
    settings, rules = rule_settings(args), o.rules(args.file)
    from workbench.cli.output import decide_all
    from workbench.verify.rules.problems import rule_problem

    bounds = rule_bounds(args, [rules])
    properties = list_rule_properties(rules, args.property)
    return decide_all([rule_problem(rules, text, bounds, settings, deepen=not args.Q) for text in properties], args)
