"""`workbench conform` on rules: the engines, held to what the rules mean."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli.progress import Progress

if TYPE_CHECKING:
    from workbench.conformance.compare.rule_engines import RuleDisagreement
    from workbench.conformance.generate.rule_cases import RuleCase


def compare_rules(args: argparse.Namespace) -> bool:
    """Compare, and print; whether engines differ from what rules mean."""
    differ = False
    for name, count, case in _asked(args):
        with Progress(f"comparing engines on {name}") as progress:
            found = _first(case, args.seed, count)
            progress.clear()
        differ = differ or found is not None
        _tell(args, name, count, found)
    return differ


def _asked(args: argparse.Namespace) -> Iterator[tuple[str, int, Callable[[int], RuleCase]]]:
    """What is compared: its name, how many cases, and the case of a number."""
    from workbench.conformance.generate.rule_cases import varied_case

    for file in filter(o.is_rules, args.files):
        yield file, args.examples, _streams(file, args.steps)
    if args.random_rules:
        yield "random rules", args.random_rules, varied_case


def _streams(file: str, most: int) -> Callable[[int], RuleCase]:
    from workbench.conformance.generate.rule_streams import stream_case
    from workbench.tesla.check import load_rules
    from workbench.tesla.occurrence import in_units

    rules = load_rules(file)
    timed = in_units(rules, "us")
    return lambda seed: stream_case(timed, seed, most)


def _first(case: Callable[[int], RuleCase], seed: int, count: int) -> RuleDisagreement | None:
    """The first disagreement, made small."""
    from workbench.conformance.compare.rule_engines import held_to_meaning, smaller

    for number in range(seed, seed + count):
        found = held_to_meaning(case(number))
        if found is not None:
            return held_to_meaning(smaller(found.case, lambda each: held_to_meaning(each) is not None)) or found
    return None


def _tell(args: argparse.Namespace, name: str, count: int, found: RuleDisagreement | None) -> None:
    if args.json:
        outcome = {"rules": name, "outcome": "agrees" if found is None else "differs", "streams": count}
        print(json.dumps(outcome | ({} if found is None else {"failure": str(found)})), flush=True)
    elif found is None:
        print(f"✓ agree    all engines  on {name}: {count} streams", flush=True)
    else:
        print(
            f"✗ differs  {found.engine}  on {name}: {found}\n\n{textwrap.indent(str(found.case.rules), '    ')}",
            flush=True,
        )
    if found is not None and args.to_test:
        from workbench.conformance.written_tests.recipe import identifier
        from workbench.conformance.written_tests.rule_cases import rule_disagreement
        from workbench.events.files import write_atomically

        path = Path(args.to_test) / f"test_{identifier(Path(name).stem)}_on_{found.engine}.py"
        write_atomically(path, rule_disagreement(found, shlex.join(["workbench", *args.argv])))
        print(f"    {path}", file=sys.stderr if args.json else sys.stdout)
