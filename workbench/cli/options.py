"""Options that several commands share, and their values."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.cli.help_pages import positive
from workbench.cli.rule_runs import fact_files
from workbench.errors import InputError, printable

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.language import Loaded, Source
    from workbench.tesla.rule_set import RuleSet
    from workbench.tesla.tree import Declaration

KINDS = ("modular", "saturating", "checked")
ARRIVALS = ("free", "synchronised", "always")
N, Q = 4, 2
TIMEOUT = 60.0
"""Default time limit of a command that decides something, in seconds."""
PIPE_HELP = "a .pipe or .tesla file; FILE:NAME names one of its pipelines"


def pipeline_argument(
    parser: argparse.ArgumentParser,
    name: str = "file",
    metavar: str = "FILE[:NAME]",
    default: str = "main, else the last",
) -> None:
    """Add the argument for the pipeline, and the options for its files."""
    parser.add_argument(name, metavar=metavar, help=f"{PIPE_HELP} (default: {default})")
    include_option(parser)
    python_option(parser)


def python_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that allows programs to run Python files."""
    text = "run the Python files that the program names with `use`"
    parser.add_argument("--allow-python", action="store_true", help=text)


def rules_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the file of rules."""
    parser.add_argument("file", metavar="FILE", help="a .tesla file")
    include_option(parser)


def include_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for folders with files that programs name."""
    parser.add_argument(
        "--include", action="append", default=[], metavar="DIR",
        help="another folder in which to search for files that the program names (repeatable)",
    )  # fmt: skip


def parameter_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for values of `pipeline f<k = 3>`, and for faults."""
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the pipeline (repeatable)"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="FAULT",
        help="possible faults, besides those of the file: 'lose y', 'duplicate y at most 2', "
        "'delay y by 3 when y > 2' (repeatable)",
    )


def domain_options(parser: argparse.ArgumentParser, *, n: int | None = N) -> None:
    """Add the options for finite integers."""
    default = "plain Python numbers" if n is None else f"by the constants of the program, at least {n}"
    parser.add_argument("-N", type=int, help=f"integers are 0..N-1 (default: {default})")
    parser.add_argument(
        "--int", dest="integers", choices=KINDS, default=None if n is None else KINDS[0],
        help="arithmetic at the bounds of 0..N-1 (default: modular)",
    )  # fmt: skip


def queue_options(parser: argparse.ArgumentParser) -> None:
    """Add the option for the capacities of queues."""
    parser.add_argument(
        "-Q", action="append", type=_capacity, default=[], metavar="CAPACITY",
        help=f"capacity of every queue (default: {Q}, or more if that decides more), or pairs: -Q add.left=3",
    )  # fmt: skip


def environment_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for assumptions about the inputs."""
    text = "whether inputs carry events at any step, only together, or at every step (default: free)"
    parser.add_argument("--inputs", choices=ARRIVALS, default="free", help=text)
    parser.add_argument("--fair", action="store_true", help="every input carries an event infinitely often")


def engine_options(parser: argparse.ArgumentParser, each: str) -> None:
    """Add the options for the model checker, and for the limits that all questions share."""
    from workbench.verify.decide.table import engine_rows

    parser.add_argument("--engine", choices=engine_rows(), default="auto", help="the model checker (default: auto)")
    limit_options(parser, f"; each {each} gets its share of the rest", TIMEOUT)
    parser.set_defaults(decides=True)


def limit_options(parser: argparse.ArgumentParser, shared: str = "", timeout: float | None = None) -> None:
    """Add the limits of the whole command (`cli.command_line` enforces them); `timeout` is the default."""
    usual = "" if timeout is None else f"; 0 or none: no limit (default: {timeout:g})"
    text = f"time limit of the whole command, in seconds{shared}{usual}"
    parser.add_argument("--timeout", type=_timeout, metavar="S", default=timeout, help=text)
    parser.add_argument("--memory", type=positive, metavar="MB", help="memory limit of the whole command, in megabytes")
    parser.set_defaults(bounded=True)


def check_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a check."""
    environment_options(parser)
    decision_options(parser)


def decision_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a check, without those about the inputs."""
    parameter_options(parser)
    queue_options(parser)
    domain_options(parser)
    engine_options(parser, "property")
    strictness_options(parser)
    parser.add_argument("--json", action="store_true", help="print only a JSON object per property")
    parser.add_argument("--quiet", action="store_true", help="one line per property")


def strictness_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the growth of bounds, and for the verdicts that count as undecided."""
    parser.add_argument(
        "--grow", type=_duration, metavar="SECONDS",
        help="seconds to spend on larger bounds where the default ones leave a verdict weak; 0: none (default: 5)",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 if a property holds only within bounds or for some values"
    )
    parser.add_argument("--strict-vacuity", action="store_true", help="exit with 3 if a property holds vacuously")


def examination_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for examining verdicts."""
    parser.add_argument("--count-states", action="store_true", help="also count the reachable states")
    parser.add_argument(
        "--rests-on", action="store_true",
        help="examine each verdict thoroughly: whether it is vacuous, and whether it holds for every N and Q",
    )  # fmt: skip


def model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the bounds of a model of rules."""
    value_options(parser)
    rate_option(parser)
    fact_files(parser)
    parser.add_argument(
        "--facts-any", action="append", default=[], metavar="TYPE=ROWS",
        help="for rules: check with every possible table of TYPE of at most ROWS rows: Line=3 (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--facts-change", action="append", default=[], metavar="TYPE=ROWS",
        help="for rules: like --facts-any, and the table may change between any two events (repeatable)",
    )  # fmt: skip


def rate_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the rates of events in a model."""
    parser.add_argument(
        "--rate", action="append", default=[], metavar="[TYPE=]COUNT/TIME",
        help="for rules: at most COUNT events of a type (or on an input) come in any such time, as "
        "'Temp=3/1 min' (repeat; without a name: of each other one)",
    )  # fmt: skip


def value_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the times and values of events in a model."""
    parser.add_argument(
        "--tick", metavar="TIME",
        help="for rules: all times are multiples of TIME: '1 min' (default: the gcd of the windows)",
    )  # fmt: skip
    parser.add_argument(
        "--values", action="append", default=[], metavar="TYPE[.ATTRIBUTE]=VALUES",
        help="the values in the model (repeatable). In a pipeline: of a type, str=a,b,c or float=-2..2. "
        "In rules: of an attribute, Temp.value=44..46 or Temp.area=hall,roof,null. "
        "In a pipeline with rules: of an input, temp=44..46. "
        "Default: -N letters for str; else the constants that are compared, and values next to them",
    )  # fmt: skip


def _capacity(text: str) -> dict[str, int]:
    """Parse capacities: `2` as {"": 2}, `a=1,b=0` by name."""
    capacities: dict[str, int] = {}
    for item in text.split(","):
        name, equals, number = item.rpartition("=")
        if not number.strip().isdigit() or bool(equals) != bool(name.strip()):
            raise argparse.ArgumentTypeError(f"'{item}' is not a capacity: write -Q 2 or -Q add.left=3")
        capacities[name.strip()] = int(number)
    return capacities


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def _duration(text: str) -> float:
    return 0.0 if text in ("0", "0.0") else _seconds(text)


def _timeout(text: str) -> float | None:
    return None if text == "none" or not (seconds := _duration(text)) else seconds


def load(reference: str, params: Sequence[str], faults: Sequence[str] = ()) -> Loaded:
    """Load the pipeline that an argument names, with `--param` values and `--fault`s.

    Commands import the modules that process it afterwards, so that a mistake in the file is reported without delay.
    """
    if is_rules(reference):
        from workbench.errors import InputError

        commands = "run check equiv buffers analyse explain export draw conform rules".split()
        hint = f"commands for rules: {', '.join(commands)}"
        raise InputError("these are rules, but this command is for pipelines", where=reference, hint=hint)
    from workbench.cli.progress import Progress
    from workbench.language import load as read
    from workbench.language import parameters

    with Progress():
        loaded = read(reference, **parameters(params)).faulty(*faults)
    print_warnings(loaded.pipeline)
    return loaded


def note(text: str, kind: str = "workbench") -> None:
    """Print a note, or another kind of message, on standard error."""
    print(f"{kind}: {printable(text)}", file=sys.stderr)


def print_warnings(pipeline: Pipeline) -> None:
    """Print the warnings about a pipeline."""
    from workbench.processors.held.warnings import report_warnings

    report_warnings(pipeline, lambda warning: note(warning, "warning"))


def is_rules(reference: str) -> bool:
    """Whether an argument names a file of rules."""
    return reference.endswith(".tesla")


def program(
    reference: str, params: Sequence[str], faults: Sequence[str] = (), types: Mapping[str, Declaration] | None = None
) -> Pipeline | RuleSet:
    """Load the pipeline or the rules that an argument names; see `load`. `types` are types of events known already."""
    if not is_rules(reference):
        return load(reference, params, faults).pipeline
    if params or faults:
        raise InputError("rules have no parameters and no faults", hint="leave out --param and --fault")
    return rules(reference, types)


def rules(reference: str, types: Mapping[str, Declaration] | None = None) -> RuleSet:
    """Load the rules of a file, and print warnings. `types` are types of events known already."""
    from workbench.tesla.check import load_rules

    rule_set = load_rules(reference, types)
    for warning in rule_set.warnings:
        note(str(warning), "warning")
    return rule_set


def load_all(
    sources: Sequence[tuple[Source, str | None]], params: Sequence[str], faults: Sequence[str] = ()
) -> list[Loaded]:
    """Load several pipelines, with `--fault`s; a parameter goes to each that has one of its name, and one must."""
    from workbench.language import parameters

    arguments = parameters(params)
    unused = set(arguments)
    pipelines = []
    for source, name in sources:
        syntax = next((p for p in source.tree.pipelines if p.name == (name or source.default)), None)
        known = {p.name for p in syntax.parameters} if syntax else set()
        unused -= known
        own = {k: v for k, v in arguments.items() if k in known}
        pipelines.append(source.get(name, **own).faulty(*faults))
        print_warnings(pipelines[-1].pipeline)
    if unused:
        raise InputError(f"{'neither' if len(pipelines) == 2 else 'no'} pipeline has a parameter '{sorted(unused)[0]}'")
    return pipelines
