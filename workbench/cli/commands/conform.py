"""Compare every backend with the reference executor on random traces, and shrink what differs to a test."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli import options as o
from workbench.cli.progress import Progress
from workbench.errors import InputError
from workbench.events.files import write_atomically

if TYPE_CHECKING:
    from workbench.conformance.compare.conform import Conformity, Search
    from workbench.conformance.compare.contenders import Contender
    from workbench.conformance.compare.user_files import PythonPipeline
    from workbench.language import Loaded

EXAMPLES = 100


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE[:NAME]",
        help="a .pipe file, or a Python file with pipelines; without a name, all of a Python file, one of a .pipe file;"
        " or a .tesla file, whose engines are compared with what its rules mean",
    )  # fmt: skip
    o.include_option(parser)
    parser.add_argument(
        "--backend", action="append", default=[], metavar="NAME",
        help="one of those that `workbench run` has, or model (default: all that can be compared; repeat)",
    )  # fmt: skip
    parser.add_argument("--examples", type="positive", default=EXAMPLES, metavar="N", help="traces (default: 100)")
    parser.add_argument("--steps", type="positive", default=24, metavar="N", help="the most steps of one (default: 24)")
    parser.add_argument("--random", type="positive", metavar="N", help="also compare N random pipelines")
    parser.add_argument("--random-rules", type="positive", metavar="N", help="also compare N random sets of rules")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="where to begin (default: 0)")
    parser.add_argument("--to-test", metavar="DIR", help="write a pytest file for what differs into this folder")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the pipelines (repeat)"
    )
    parser.add_argument("-N", type="positive", default=o.N, help=f"in models int is 0..N-1 (default: {o.N})")
    parser.add_argument("-Q", type=_capacity, default=4, help="capacity of queues, for what needs one (default: 4)")
    parser.add_argument("--json", action="store_true", help="one JSON object per pipeline and backend, nothing else")


def _capacity(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no capacity: it is a number from 0 on")
    return int(text)


def execute(args: argparse.Namespace) -> int:
    """Search and print."""
    if not (args.files or args.random or args.random_rules):
        raise InputError("there is nothing to compare", hint="name files, or ask for --random 100")
    if args.to_test:
        try:
            Path(args.to_test).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write there: {error.strerror}", where=args.to_test) from error
    from workbench.cli.rule_conformance import compare_rules

    differ = compare_rules(args)
    args.files = [file for file in args.files if not o.is_rules(file)]
    if args.files or args.random:
        differ = _compare(args) or differ
    return int(differ)


def _compare(args: argparse.Namespace) -> bool:
    """Compare the backends of pipelines; whether some differ."""
    _hypothesis()
    from workbench.conformance.compare.conform import Search, contenders

    among = contenders(args.backend)
    search = Search(args.examples, args.seed, args.steps, args.N, args.Q)
    subjects = [subject for file in args.files for subject in _subjects(file, args.param)]
    differ = False
    with Progress("comparing") as progress:
        for subject, outcome in _outcomes(args, subjects, among, search, progress):
            progress.clear()
            print(json.dumps(as_json(outcome)) if args.json else block(outcome), flush=True)
            differ = differ or not outcome.holds
            if args.to_test and not outcome.holds:
                path = _written(args, subject, outcome)
                print(f"    {path}", file=sys.stderr if args.json else sys.stdout)
    return differ


def _hypothesis() -> None:
    from importlib.util import find_spec

    if find_spec("hypothesis") is None:
        raise InputError("this command needs the package hypothesis", hint="pip install 'workbench[conform]'")


def _subjects(file: str, params: list[str]) -> Iterator[Loaded | PythonPipeline]:
    from workbench.conformance.compare.user_files import python_pipelines, subject
    from workbench.language import parameters

    path, name = (file, None) if Path(file).exists() or ":" not in file else file.rsplit(":", 1)
    given = parameters(params)
    if path.endswith(".py") and name is None and not given:
        yield from (subject(path, each) for each in python_pipelines(path))
    else:
        yield subject(path, name, **given)


def _outcomes(
    args: argparse.Namespace,
    subjects: list[Loaded | PythonPipeline],
    among: tuple[Contender, ...],
    search: Search,
    progress: Progress,
) -> Iterator[tuple[Loaded | PythonPipeline | None, Conformity]]:
    from workbench.conformance.compare.conform import conform, conform_random, contenders

    reached = [search.seed]

    def tell(text: str, seed: int) -> None:
        progress.text, reached[0] = text, seed

    what = ""
    try:
        for subject in subjects:
            for contender in contenders(args.backend, subject.pipeline.kind):
                what = f"{subject.name} on {contender.name}"
                reached[0] = search.seed
                yield from ((subject, each) for each in conform(subject.pipeline, [contender], search, tell))
        if args.random:
            from dataclasses import replace

            what, reached[0] = "random pipelines", search.seed
            yield None, conform_random(among, replace(search, examples=args.random), tell)
    except KeyboardInterrupt:
        print(f"{what}: go on with --seed {reached[0]}", file=sys.stderr)
        raise


def block(outcome: Conformity) -> str:
    """An outcome as people read it."""
    from workbench.conformance.compare.explanation import account

    within = f"{', '.join(outcome.part)} in " if outcome.part else ""
    head = f"{outcome.backend}  of {within}{outcome.pipeline}"
    over = f", int is 0..{outcome.integers.n - 1}" if outcome.integers else ""
    if outcome.refused:
        return f"– refused  {head}: {outcome.refused}" + (f"\n    hint: {outcome.hint}" if outcome.hint else "")
    if outcome.failure is None:
        kind = "pipelines" if outcome.pipeline == "random pipelines" else "traces"
        return f"✓ agrees   {head}: {outcome.agreements} {kind}{over}"
    found = outcome.failure
    text = account(found)
    if outcome.pipeline == "random pipelines":
        from workbench.conformance.generate.python_source import body

        text += "\n\n" + body(found.pipeline)
    if found.made[1]:
        text += f"\nby {found.made[1]}"
    if not outcome.repeatable:
        text += "\nthe reference executor does not do the same twice: a processor depends on more than state and events"
    return f"✗ differs  {head}{over}: {found.what} at step {found.step}\n\n{textwrap.indent(text, '    ')}\n"


def as_json(outcome: Conformity) -> dict[str, Any]:
    """The object that `--json` prints."""
    found: dict[str, Any] = {
        "pipeline": outcome.pipeline,
        "backend": outcome.backend,
        "outcome": "refused" if outcome.refused else "agrees" if outcome.holds else "differs",
        "agreements": outcome.agreements,
        "refused": outcome.refused,
        "hint": outcome.hint,
        "part": list(outcome.part),
        "integers": None if outcome.integers is None else outcome.integers.n,
        "repeatable": outcome.repeatable,
        "failure": None,
    }
    if outcome.failure is not None:
        each = outcome.failure
        steps = each.steps[: each.step + 1]
        found["failure"] = {
            "step": each.step,
            "what": each.what,
            "steps": [{name: _plain(value) for name, value in events.items()} for events in steps],
            "left": {"name": each.left[0], "shows": repr(each.left[1]), "made": each.made[0]},
            "right": {"name": each.right[0], "shows": repr(each.right[1]), "made": each.made[1]},
        }
    return found


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: floats that are no numbers are texts, and so are maps."""
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    whole = isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if whole or value is None else str(value)


def _written(args: argparse.Namespace, subject: Loaded | PythonPipeline | None, outcome: Conformity) -> Path:
    """The test of a failure, in the folder."""
    from workbench.conformance.written_tests.disagreements import disagreement
    from workbench.conformance.written_tests.recipe import Recipe, identifier

    assert outcome.failure is not None
    recipe = None if subject is None else Recipe.of(subject, outcome.integers, args.to_test)
    if recipe is not None and outcome.part:
        recipe = recipe.of_part(outcome.part)
    name = f"test_{identifier(outcome.pipeline)}_on_{identifier(outcome.failure.right[0])}.py"
    path = Path(args.to_test) / name
    write_atomically(path, disagreement(outcome.failure, recipe, shlex.join(["workbench", *args.argv])))
    return path
