"""Show the events that the compiled engine retains, how each predicate finds them, and why."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli.rule_runs import fact_files, fact_timeout
from workbench.cli.run_options import reading_options, run_options
from workbench.events.account import Reporter

if TYPE_CHECKING:
    from workbench.tesla.engines.facts.access import FactAccesses
    from workbench.tesla.engines.rule_sample import RulesSampled
    from workbench.tesla.rule_set import RuleSet

SAMPLE = 10_000
"""Default number of events of a log for the sample (`--head`)."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    o.rules_argument(parser)
    parser.add_argument("--json", action="store_true", help="the plan as JSON")
    parser.add_argument("-o", "--output", metavar="PICTURE", help="draw it: a .svg, .png, .pdf or .dot file")
    text = "show what predicates find in the first events of a log (10,000, or --head N)"
    parser.add_argument("--input", action="append", metavar="FILE", help=text)
    reading_options(parser)
    parser.add_argument("--time", metavar="COLUMN", help="the column of times (default: time)")
    parser.add_argument("--time-unit", metavar="UNIT", help="the unit of its numbers, as for run")
    fact_files(parser)
    fact_timeout(parser)
    text = "create the indexes that databases of facts lack; no other option writes to them"
    parser.add_argument("--create-indexes", action="store_true", help=text)


def execute(args: argparse.Namespace) -> int:
    """Print or draw the plan of the rules."""
    rules = o.rules(args.file)
    from workbench.show.rule_set_plan import plan_data, plan_text
    from workbench.tesla.engines.set_plan import SetPlan
    from workbench.tesla.occurrence import has_units, in_units

    timed = has_units(rules)
    plan = SetPlan(in_units(rules, "us" if timed else None))
    if args.output is not None:
        from workbench.show.draw import write_picture

        write_picture(plan, args.output)
        return 0
    accesses = _find_accesses(plan.rules, args)
    sample = None if args.input is None else _sample(rules, args)
    if args.json:
        data = plan_data(plan, rules, timed=timed, sample=sample)
        print(json.dumps(data if accesses is None else {**data, "facts": accesses.data()}, indent=2))
    else:
        sys.stdout.write(plan_text(plan, rules, timed=timed, sample=sample))
        for line in () if accesses is None else accesses.lines():
            print(line)
    return 0


def _sample(rules: RuleSet, args: argparse.Namespace) -> RulesSampled:
    """Run the rules on the first events of a log, and return the sample of each predicate."""
    from workbench.executors.table import Start
    from workbench.runner.order import singly
    from workbench.runner.rules.opening import OpenedRules
    from workbench.runner.rules.order import event_form
    from workbench.runner.source import source_of
    from workbench.tesla.engines.rule_sample import sample_rules

    options = run_options(args, output=None)
    options = replace(options, head=SAMPLE if options.head is None else options.head)
    opened = OpenedRules(rules, Start(options, reporter=Reporter(o.note)), source_of(args.input))
    facts = opened.read_facts()
    with opened.start.reporter.doing:
        opened.begin()
        return sample_rules(opened.scale_windows(), facts, list(singly(opened.pieces, event_form(rules))))


def _find_accesses(rules: RuleSet, args: argparse.Namespace) -> FactAccesses | None:
    """Return the queries to the named databases of facts, or None; create missing indexes if wanted."""
    if not args.facts:
        return None
    from workbench.executors.table import Start
    from workbench.runner.rules.facts import facts_of
    from workbench.tesla.engines.facts.access import FactAccesses
    from workbench.tesla.engines.facts.tables import FactTables

    facts = facts_of(rules, Start(run_options(args, output=None)))
    if not isinstance(facts, FactTables):
        return None
    accesses = FactAccesses.of(rules, facts)
    if not args.create_indexes:
        return accesses
    for index in accesses.create():
        print(f"made {index}", file=sys.stderr)
    return FactAccesses.of(rules, facts)
