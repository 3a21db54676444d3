"""Read rules of complex events: check, print and simplify them, and tell how they are run."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli import rule_models
from workbench.cli.rule_runs import fact_files, fact_timeout
from workbench.cli.run_options import reading_options, run_options
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.tesla.engines.facts.access import FactAccesses
    from workbench.tesla.engines.rule_sample import RulesSampled
    from workbench.tesla.rule_set import RuleSet


def options(parser: argparse.ArgumentParser) -> None:
    """The subcommands and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in (
        ("check", "whether rules mean something: all mistakes at once, and what is seldom meant"),
        ("plan", "what the compiled engine keeps of events, how each predicate finds them, and why"),
        ("format", "print rules, also those of the older grammar, in the extended one"),
        ("simplify", "leave out what changes nothing, merge rules and shorten windows; each step with its reason"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("file", metavar="FILE", help="a .tesla file")
        o.include_option(action)
        if name == "simplify":
            _simplify_options(action)
        if name == "plan":
            action.add_argument("--json", action="store_true", help="the plan as JSON")
            action.add_argument("-o", "--output", metavar="PICTURE", help="draw it: a .svg, .png, .pdf or .dot file")
            text = "show what predicates find in the first events of a log (10,000, or --head N)"
            action.add_argument("--input", action="append", metavar="FILE", help=text)
            reading_options(action)
            action.add_argument("--time", metavar="COLUMN", help="the column of times (default: time)")
            action.add_argument("--time-unit", metavar="UNIT", help="what the numbers in it count, as for run")
            fact_files(action)
            fact_timeout(action)
            text = "make the indexes that databases of facts lack; nothing else ever writes them"
            action.add_argument("--create-indexes", action="store_true", help=text)


def _simplify_options(action: argparse.ArgumentParser) -> None:
    """How rules are made simpler."""
    action.add_argument("-o", "--output", metavar="OUT", help="write the rules there ('-': print them, and no steps)")
    text = "also what holds as far as no column of the model is full"
    action.add_argument("--within-bounds", action="store_true", help=text)
    text = "for each question to the model (default: 10); 0: only laws are applied"
    action.add_argument("--seconds", type=float, default=10, metavar="S", help=text)
    action.add_argument("--json", action="store_true", help="the steps and the rules as JSON")
    o.queue_options(action)
    action.add_argument("-N", type="positive", metavar="N", help="how many values has what is compared for equality")
    rule_models.value_options(action)
    action.set_defaults(facts=[], facts_any=[], facts_change=[])


def execute(args: argparse.Namespace) -> int:
    """Read, and say what is there."""
    from workbench.tesla.check import load_rules

    found = load_rules(args.file)
    for warning in found.warnings:
        o.note(str(warning), "warning")
    if args.action == "plan":
        _plan(found, args)
    elif args.action == "simplify":
        _simplify(found, args)
    elif args.action == "format":
        sys.stdout.write(str(found))
    else:
        rules, types = len(found.rules), len(found.declarations)
        from workbench.core.readable import plural

        print(f"{args.file}: {plural(rules, 'rule')}, {plural(types, 'type')}")
    return 0


def _simplify(rules: RuleSet, args: argparse.Namespace) -> None:
    """Make rules simpler, and say how."""
    import json

    from workbench.events.files import write_atomically

    if not args.seconds >= 0:
        raise InputError(f"--seconds {args.seconds:g} is no time", hint="write how many seconds a question may take")
    facts = {name for name, each in rules.declarations.items() if each.fact}
    asked = [each for each in rules.rules if facts.isdisjoint(each.types)]
    bounds = rule_models.bounds(args, [replace(rules, rules=tuple(asked))])
    found = rules.simplified(bounds=bounds, within_bounds=args.within_bounds, seconds=args.seconds)
    if args.output not in (None, "-"):
        write_atomically(args.output, str(found.rules))
    if args.json:
        print(json.dumps(found.to_json()))
    elif args.output == "-":
        sys.stdout.write(str(found.rules))
    else:
        print(found)
        if args.output is None and found.steps:
            print(f"\n{found.rules}", end="")


def _plan(rules: RuleSet, args: argparse.Namespace) -> None:
    """Print or draw how rules are run."""
    import json

    from workbench.show.rule_set_plan import plan_data, plan_text
    from workbench.tesla.engines.set_plan import SetPlan
    from workbench.tesla.occurrence import has_units, in_units

    timed = has_units(rules)
    plan = SetPlan(in_units(rules, "us" if timed else None))
    if args.output is not None:
        from workbench.events.files import replacing
        from workbench.show.draw import render

        with replacing(Path(os.path.realpath(args.output))) as name:
            render(plan, str(name))
        return
    asked = _asked(plan.rules, args)
    found = None if args.input is None else _sample(rules, args)
    if args.json:
        data = plan_data(plan, rules, timed=timed, sample=found)
        print(json.dumps(data if asked is None else {**data, "facts": asked.data()}, indent=2))
    else:
        sys.stdout.write(plan_text(plan, rules, timed=timed, sample=found))
        for line in () if asked is None else asked.lines():
            print(line)


def _sample(rules: RuleSet, args: argparse.Namespace) -> RulesSampled:
    """What predicates find in the first events of a log."""
    from workbench.events.account import Reporter
    from workbench.executors.table import Start
    from workbench.logs.rule_facts import facts_of
    from workbench.logs.rule_sample import sampled_log

    reporter, options = Reporter(o.note), run_options(args, output=None)
    facts = facts_of(rules, Start(options))
    with reporter.doing:
        return sampled_log(rules, args.input, options.reading(), options.clock(), facts, reporter)


def _asked(rules: RuleSet, args: argparse.Namespace) -> FactAccesses | None:
    """How the databases of facts that are named are asked; None where there are none. Indexes are made if wanted."""
    if not args.facts:
        return None
    from workbench.executors.table import Start
    from workbench.logs.rule_facts import facts_of
    from workbench.tesla.engines.facts.access import FactAccesses
    from workbench.tesla.engines.facts.tables import FactTables

    facts = facts_of(rules, Start(run_options(args, output=None)))
    if not isinstance(facts, FactTables):
        return None
    found = FactAccesses.of(rules, facts)
    if not args.create_indexes:
        return found
    for index in found.create():
        print(f"made {index}", file=sys.stderr)
    return FactAccesses.of(rules, facts)
