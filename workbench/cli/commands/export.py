"""Print the model of a pipeline, with properties, for NuSMV."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli.model_properties import list_properties, list_rule_properties, property_option
from workbench.cli.model_settings import pipeline_settings, rule_bounds, rule_settings
from workbench.cli.progress import Progress
from workbench.errors import InputError
from workbench.events.files import write_atomically

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser)
    property_option(parser)
    o.parameter_options(parser)
    o.queue_options(parser)
    o.domain_options(parser)
    o.environment_options(parser)
    o.limit_options(parser)
    o.model_options(parser)
    parser.add_argument(
        "--show",
        metavar="STAGE",
        help="print a stage of the compiled loop instead: system, layout, lowered, the name of a pass, or python; "
        "of rules: plan, the tables that a kernel interprets",
    )
    parser.add_argument("-o", "--output", metavar="MODEL.smv", help="the file to write (default: standard output)")


def execute(args: argparse.Namespace) -> int:
    """Print the model, or write it."""
    with Progress():
        text = _stage(args) if args.show else _of_rules(args) if o.is_rules(args.file) else _of_pipeline(args)
    if args.output:
        write_atomically(args.output, text)
    else:
        sys.stdout.write(text)
    return 0


def _of_pipeline(args: argparse.Namespace) -> str:
    loaded = o.load(args.file, args.param, args.fault)
    from workbench.verify.model_text import model_text

    properties = list_properties(loaded, args.property)
    return model_text(loaded.pipeline, properties, pipeline_settings(args, loaded.pipeline, properties))


def _stage(args: argparse.Namespace) -> str:
    """Return a stage of the loop in which every input has an event; for rules, their tables."""
    if o.is_rules(args.file):
        return _tables(o.rules(args.file), args.show)
    from workbench.executors.compiled.code.stages import format_stage
    from workbench.executors.compiled.execute.executor import Compiled

    running = Compiled(o.load(args.file, args.param, args.fault).pipeline, machine=False)
    return format_stage(running.system, running.phases("dense"), args.show)


def _tables(rules: RuleSet, stage: str) -> str:
    """Return the tables of rules; windows with a unit are in microseconds."""
    if stage != "plan":
        raise InputError(f"rules have no stage '{stage}'", hint="--show plan prints their tables")
    from workbench.executors.compiled.rules.show import format_rules
    from workbench.tesla.occurrence import has_units, in_units

    return format_rules(in_units(rules, "us" if has_units(rules) else None))


def _of_rules(args: argparse.Namespace) -> str:
    """Return the model of rules."""
    settings, rules = rule_settings(args), o.rules(args.file)
    from workbench.language import parse_property
    from workbench.tesla.model.build import build_models
    from workbench.verify.model_text import describe_variables, model_text

    (model,) = build_models([rules], rule_bounds(args, [rules]))
    properties = list(map(parse_property, list_rule_properties(rules, args.property)))
    return model_text(model, properties, settings, describe_variables(model))
