"""Compare every backend with the reference executor on random traces, and shrink each difference to a test."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli.progress import Progress
from workbench.conformance.compare.search import Search
from workbench.errors import InputError
from workbench.events.files import write_atomically
from workbench.extras import install_extra

if TYPE_CHECKING:
    from workbench.conformance.compare.conformity import Conformity, RuleConformity
    from workbench.conformance.compare.user_files import PythonPipeline
    from workbench.language import Loaded

    Compared = tuple[Loaded | PythonPipeline | None, Conformity | RuleConformity]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE[:NAME]",
        help="a .pipe file, or a Python file with pipelines; without a name, all of a Python file, one of a .pipe file;"
        " or a .tesla file, whose engines are compared with the meaning of its rules",
    )  # fmt: skip
    o.include_option(parser)
    o.python_option(parser)
    parser.add_argument(
        "--backend", action="append", default=[], metavar="NAME",
        help="a backend of `workbench run`, or model (default: all that can be compared; repeatable)",
    )  # fmt: skip
    counts = {"--examples": (Search.examples, "traces"), "--steps": (Search.steps, "maximum steps of a trace")}
    for name, (default, what) in counts.items():
        parser.add_argument(name, type="positive", default=default, metavar="N", help=f"{what} (default: {default})")
    parser.add_argument("--random", type="positive", metavar="N", help="also compare N random pipelines")
    parser.add_argument("--random-rules", type="positive", metavar="N", help="also compare N random sets of rules")
    what = f"the first seed (default: {Search.seed})"
    parser.add_argument("--seed", type=int, default=Search.seed, metavar="N", help=what)
    parser.add_argument("--to-test", metavar="DIR", help="write a pytest file for each difference into this folder")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the pipelines (repeatable)"
    )
    parser.add_argument("-N", type="positive", default=Search.n, help=f"in models int is 0..N-1 (default: {Search.n})")
    what = f"capacity of queues, for backends that need one (default: {Search.q})"
    parser.add_argument("-Q", type=_capacity, default=Search.q, help=what)
    parser.add_argument("--json", action="store_true", help="print only a JSON object per pipeline and backend")


def _capacity(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a capacity: it is a number from 0 on")
    return int(text)


def execute(args: argparse.Namespace) -> int:
    """Search for disagreements and print the outcomes; return 1 if there is one."""
    if not (args.files or args.random or args.random_rules):
        raise InputError("there is nothing to compare", hint="name files, or use --random 100")
    if args.to_test:
        try:
            Path(args.to_test).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write there: {error.strerror}", where=args.to_test) from error
    search = Search(args.examples, args.seed, args.steps, args.N, args.Q)
    differ = False
    with Progress("comparing") as progress:
        position = _SearchPosition(progress, search.seed)
        try:
            for subject, outcome in chain(_rules(args, search, position), _pipelines(args, search, position)):
                progress.clear()
                print(json.dumps(outcome.to_json()) if args.json else outcome, flush=True)
                differ = differ or not outcome.holds
                if args.to_test and not outcome.holds:
                    path = _write_test(args, subject, outcome)
                    print(f"    {path}", file=sys.stderr if args.json else sys.stdout)
        except KeyboardInterrupt:
            print(f"{position.what}: continue with --seed {position.seed}", file=sys.stderr)
            raise
    return int(differ)


class _SearchPosition:
    """The progress of a search, for the progress line, and the seed from which to resume it."""

    def __init__(self, progress: Progress, seed: int) -> None:
        self.progress, self.first, self.seed, self.what = progress, seed, seed, "nothing is compared yet"

    def begin(self, what: str) -> None:
        """Begin the comparison of another subject."""
        self.what, self.seed = what, self.first

    def report(self, text: str, seed: int) -> None:
        """Show a text, and record the seed of the next round."""
        self.progress.text, self.seed = text, seed


def _write_test(
    args: argparse.Namespace, subject: Loaded | PythonPipeline | None, outcome: Conformity | RuleConformity
) -> Path:
    """Write the test of a failure into the folder."""
    from workbench.conformance.written_tests.disagreements import write_test

    name, text = write_test(outcome, subject, args.to_test, shlex.join(["workbench", *args.argv]))
    path = Path(args.to_test) / name
    write_atomically(path, text)
    return path


# --- comparisons ----------------------------------------------------------------------------------------------


def _rules(args: argparse.Namespace, search: Search, position: _SearchPosition) -> Iterator[Compared]:
    """Compare engines with the meaning of rules: rules of files on random streams, and random rules."""
    from workbench.conformance.compare.rule_engines import choose_engines, conform_rules
    from workbench.conformance.generate.rule_cases import make_varied_case
    from workbench.conformance.generate.rule_streams import stream_cases

    files = list(filter(o.is_rules, args.files))
    if not (files or args.random_rules):
        return
    if files and args.param:
        raise InputError("rules have no parameters: --param", hint="leave it out")
    engines = choose_engines(args.backend, strict=not args.random and len(files) == len(args.files))
    comparisons = [(file, stream_cases(file, search.steps), search) for file in files]
    if args.random_rules:
        comparisons.append(("random rules", make_varied_case, replace(search, examples=args.random_rules)))
    for name, cases, own in comparisons:
        position.begin(name)
        yield None, conform_rules(name, cases, own, engines, partial(position.report, f"comparing engines on {name}"))


def _pipelines(args: argparse.Namespace, search: Search, position: _SearchPosition) -> Iterator[Compared]:
    """Compare backends on the pipelines of files, and on random pipelines."""
    files = [file for file in args.files if not o.is_rules(file)]
    if not (files or args.random):
        return
    _hypothesis()
    from workbench.conformance.compare.conform import conform, conform_random
    from workbench.conformance.compare.contenders import choose_contenders

    strict = bool(args.random) or (not args.random_rules and len(files) == len(args.files))
    among = choose_contenders(args.backend, strict=strict)
    subjects = [subject for file in files for subject in _subjects(file, args.param)]
    for subject in subjects:
        for contender in choose_contenders(args.backend, subject.pipeline.kind, strict=strict):
            position.begin(f"{subject.name} on {contender.name}")
            yield from ((subject, each) for each in conform(subject.pipeline, [contender], search, position.report))
    if args.random:
        position.begin("random pipelines")
        yield None, conform_random(among, replace(search, examples=args.random), position.report)


def _hypothesis() -> None:
    from importlib.util import find_spec

    if find_spec("hypothesis") is None:
        raise InputError("this command needs the package hypothesis", hint=install_extra("conform"))


def _subjects(file: str, params: list[str]) -> Iterator[Loaded | PythonPipeline]:
    from workbench.conformance.compare.user_files import python_pipelines, subject
    from workbench.language import parameters
    from workbench.language.load import split_reference

    path, name = split_reference(file)
    arguments = parameters(params)
    if path.endswith(".py") and name is None and not arguments:
        yield from (subject(path, each) for each in python_pipelines(path))
    else:
        yield subject(path, name, **arguments)
