"""Leave out parts without effect, merge rules and shorten windows; each step with its reason."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace

from workbench.cli import options as o
from workbench.cli.model_settings import rule_bounds
from workbench.errors import InputError
from workbench.events.files import write_atomically


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    o.rules_argument(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="a file for the rules ('-': print them, and no steps)")
    text = "also apply steps that hold only while no column of the model is full"
    parser.add_argument("--within-bounds", action="store_true", help=text)
    text = "seconds for each question to the model (default: 10); 0: only laws are applied"
    parser.add_argument("--seconds", type=float, default=10, metavar="S", help=text)
    parser.add_argument("--json", action="store_true", help="the steps and the rules as JSON")
    o.limit_options(parser, timeout=o.TIMEOUT)
    o.queue_options(parser)
    parser.add_argument("-N", type="positive", metavar="N", help="values of an attribute compared for equality only")
    o.value_options(parser)
    parser.set_defaults(decides=True, facts=[], facts_any=[], facts_change=[])


def execute(args: argparse.Namespace) -> int:
    """Simplify the rules, and print the steps."""
    rules = o.rules(args.file)
    if not args.seconds >= 0:
        raise InputError(f"--seconds {args.seconds:g} is not a time", hint="write a maximum number of seconds")
    facts = {name for name, each in rules.declarations.items() if each.fact}
    modelled = tuple(each for each in rules.rules if facts.isdisjoint(each.types))
    bounds = rule_bounds(args, [replace(rules, rules=modelled)])
    simplification = rules.simplify(bounds=bounds, within_bounds=args.within_bounds, seconds=args.seconds)
    if args.output not in (None, "-"):
        write_atomically(args.output, str(simplification.rules))
    if args.json:
        print(json.dumps(simplification.to_json()))
    elif args.output == "-":
        sys.stdout.write(str(simplification.rules))
    else:
        print(simplification)
        if args.output is None and simplification.steps:
            print(f"\n{simplification.rules}", end="")
    return 0
