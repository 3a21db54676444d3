"""Rules for the commands that check pipelines: options that bound their model, and the model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.cli.rule_runs import fact_files
from workbench.errors import InputError, refuse_unknown

if TYPE_CHECKING:
    from workbench.core.domain import Domain, Value
    from workbench.core.pipeline import Pipeline
    from workbench.tesla.model.build import RuleBounds
    from workbench.tesla.model.rates import RuleRate
    from workbench.tesla.rule_set import RuleSet
    from workbench.verify.answer.settings import Settings


def options(parser: argparse.ArgumentParser) -> None:
    """What bounds a model of rules."""
    value_options(parser)
    rate_option(parser)
    fact_files(parser)
    parser.add_argument(
        "--facts-any", action="append", default=[], metavar="TYPE=ROWS",
        help="of rules: for every table of a type of facts with at most so many rows, as Line=3 (repeat)",
    )  # fmt: skip
    parser.add_argument(
        "--facts-change", action="append", default=[], metavar="TYPE=ROWS",
        help="of rules: the same, and between any two events it may become another such table (repeat)",
    )  # fmt: skip


def rate_option(parser: argparse.ArgumentParser) -> None:
    """How often events come in it."""
    parser.add_argument(
        "--rate", action="append", default=[], metavar="[TYPE=]COUNT/TIME",
        help="of rules: at most so many events of a type, or on a pipeline's input, come in any stretch of a time, as "
        "'Temp=3/1 min' (repeat; without a name: of each other one)",
    )  # fmt: skip


def refuse_rates(args: argparse.Namespace) -> None:
    """What is asked of pipelines as if their inputs could bring anything at any time."""
    if args.rate:
        what = "--rate is for rules by themselves where a pipeline is analysed or its queues are measured"
        raise InputError(what, hint="ask about the .tesla file; `check`, `equiv` and `export` take it for pipelines")


def value_options(parser: argparse.ArgumentParser) -> None:
    """The times and values that events have in it."""
    parser.add_argument(
        "--tick", metavar="TIME",
        help="of rules: times are multiples of it, as '1 min' (default: the greatest of which all windows are)",
    )  # fmt: skip
    parser.add_argument(
        "--values", action="append", default=[], metavar="TYPE[.ATTRIBUTE]=VALUES",
        help="what a type without a bound is in a model: str=a,b,c or float=-2..2 (default: -N letters; none). "
        "Of rules: the values of an attribute, as Temp.value=44..46 or Temp.area=hall,roof,null "
        "or of a pipeline's input: temp=44..46 (repeat; default: what rules compare it with, and what lies between)",
    )  # fmt: skip


def bounds(args: argparse.Namespace, rule_sets: Sequence[RuleSet]) -> RuleBounds:
    """What the arguments say of a model's bounds."""
    from workbench.tesla.model.build import RuleBounds

    pairs: dict[str, int] = {}
    for item in args.Q:
        pairs |= {name.rpartition(".")[2]: size for name, size in item.items()}
    room = pairs.pop("", RuleBounds.room)
    domains = {
        (name, attribute): domain
        for rules in rule_sets
        for name in rules.declarations
        for attribute, domain in rules.declarations[name].domains.items()
    }
    values = dict(_values(text, domains) for text in args.values)
    any_facts, changing = _any_facts(args)
    for name in any_facts:
        refuse_unknown(
            "type of facts", name, [each.name for r in rule_sets for each in r.declarations.values() if each.fact]
        )
    return RuleBounds(
        room,
        pairs,
        values,
        args.N,
        None if args.tick is None else _time(args.tick, "--tick"),
        facts=_facts(args, rule_sets),
        any_facts=any_facts,
        changing=changing,
        rates=dict(map(_rate, getattr(args, "rate", []))),
    )


def types_in(args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """What `--values` says that `str` and `float` stand for in the model of a pipeline."""
    texts: tuple[str, ...] = ()
    floats = None
    for text in getattr(args, "values", []):
        name, _, listed = text.partition("=")
        if name.strip() == "str":
            texts = tuple(dict.fromkeys(each.strip() for each in listed.split(",")))
        elif name.strip() == "float":
            low, _, high = (each.strip() for each in listed.partition(".."))
            try:
                floats = int(low), int(high or low)
            except ValueError:
                what = f"--values {text}: a model has whole numbers in place of floats"
                raise InputError(what, hint="write --values float=-2..2") from None
            if floats[0] > floats[1]:
                raise InputError(f"--values {text}: there are no such numbers", hint=f"write float={high}..{low}")
        elif name.strip() == "int":
            raise InputError(f"--values {text}: which integers there are is said by -N", hint="write -N 4")
    return texts, floats


def _values_of_inputs(args: argparse.Namespace) -> list[str]:
    """What `--values` says of inputs."""
    return [text for text in getattr(args, "values", []) if text.partition("=")[0].strip() not in ("str", "float")]


def bounds_in(args: argparse.Namespace, pipeline: Pipeline) -> RuleBounds | None:
    """The same of a pipeline with rules in it, whose values are those of its inputs; None: there are no rules."""
    if not pipeline.clocks:
        for option in ("tick", "values", "rate", "facts", "facts_any", "facts_change"):
            if _values_of_inputs(args) if option == "values" else getattr(args, option, None):
                what = f"--{option.replace('_', '-')} is for rules, and there are none in {pipeline.name}"
                hint = "say what a type is: --values str=a,b or float=0..6" if option == "values" else "leave it out"
                raise InputError(what, hint=hint)
        return None
    if any(types_in(args)):
        what = f"{pipeline.name} has rules in it, and --values says there what inputs carry"
        raise InputError(what, hint="name an input, or a field of one: --values temp=44..46")
    from workbench.core.fields import Record
    from workbench.processors.held.group import flatten
    from workbench.tesla.model.build import RuleBounds
    from workbench.tesla.rule_processor import RuleProcessor

    found = [node.processor for node in flatten(pipeline).nodes]
    rule_sets = [each.rules for each in found if isinstance(each, RuleProcessor) and each.looks_up]
    domains: dict[tuple[str, str], Domain] = {}
    for name, domain in pipeline.inputs:
        parts = zip(domain.labels, domain.fields, strict=True) if isinstance(domain, Record) else [("", domain)]
        domains |= {(name, label): part for label, part in parts}
    numbers = [item[""] for item in getattr(args, "Q", []) if "" in item]
    facts = [_facts(args, [rules]) for rules in rule_sets] if getattr(args, "facts", None) else []
    return RuleBounds(
        (numbers or [RuleBounds.room])[-1],
        values=dict(_values(text, domains) for text in _values_of_inputs(args)),
        tick=None if getattr(args, "tick", None) is None else _time(args.tick, "--tick"),
        facts={name: rows for each in facts for name, rows in each.items()},
        any_facts=_any_facts(args)[0],
        rates=dict(map(_rate, getattr(args, "rate", []))),
    )


def settings(args: argparse.Namespace) -> Settings:
    """How the models are checked: at each step one event comes, or time passes."""
    from workbench.verify.answer.settings import Settings
    from workbench.verify.ask.environment import Environment

    if getattr(args, "inputs", None) not in (None, "free"):
        raise InputError(f"--inputs {args.inputs} is not for rules", hint="in their model one event comes at a step")
    if args.param or args.fault:
        raise InputError("rules have no parameters and no faults", hint="leave --param and --fault out")
    engine = getattr(args, "engine", "auto")
    limits = getattr(args, "timeout", None), getattr(args, "memory", None)
    environment = Environment("one", args.fair)
    return Settings(
        {}, environment=environment, engine=engine, seconds=limits[0], memory_mb=limits[1], **strictness(args)
    )


def strictness(args: argparse.Namespace) -> dict[str, Any]:
    """What `--grow` and `--strict` say, as arguments of `Settings`."""
    names = ("grow", "strict", "strict_vacuity")
    return {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}


def _time(text: str, option: str) -> int:
    """A time, in microseconds if it has a unit."""
    from workbench.core.units import MICROSECONDS

    text = text.strip()
    number = text[: len(text) - len(text.lstrip("0123456789"))]
    unit = text.removeprefix(number).strip()
    if not number or not int(number) or (unit and unit not in MICROSECONDS):
        example = "--tick '1 min'" if option == "--tick" else "--rate 'Temp=3/1 min'"
        raise InputError(
            f"{option} {text} is no time", hint=f"write {example}, or a number where windows have no units"
        )
    return int(number) * MICROSECONDS.get(unit, 1)


def _rate(text: str) -> tuple[str, RuleRate]:
    from workbench.tesla.model.rates import RuleRate

    name, _, rate = text.rpartition("=")
    count, slash, time = rate.partition("/")
    if not slash or not count.strip().isdigit() or not int(count):
        raise InputError(f"--rate {text}: how many come in which time?", hint="write --rate 'Temp=3/1 min'")
    time = time.strip() if time.strip()[:1].isdigit() else f"1 {time.strip()}"  # 3/min
    return name.strip(), RuleRate(int(count), _time(time, "--rate"), not time.isdigit())


def _values(text: str, domains: Mapping[tuple[str, str], Domain]) -> tuple[tuple[str, str], list[Value | None]]:
    name, equals, listed = text.partition("=")
    type, dot, attribute = name.strip().partition(".")
    if equals and not dot and (inputs := [input for input, of in domains if not of]):  # of a pipeline
        refuse_unknown("input", type, inputs)
    if not (equals and (dot or (type, "") in domains) and listed.strip()):
        raise InputError(f"--values {text}: which values has which attribute?", hint="write --values Temp.value=44..46")
    domain = domains.get((type, attribute))
    found: list[Value | None] = []
    for item in listed.split(","):
        low, dots, high = item.strip().partition("..")
        try:
            found += range(int(low), int(high) + 1) if dots else [_value(low, domain)]
        except ValueError:
            raise InputError(f"--values {text}: '{item}' is no value of {domain}", hint="write 1..4 or 1,5,9") from None
    return (type, attribute), found


def _value(text: str, domain: Domain | None) -> Value | None:
    from workbench.core.domain import BOOL, FLOAT, INT

    if text == "null":
        return None
    if domain == BOOL:
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else int("no")
    if domain == INT:
        return int(text)
    return float(text) if domain == FLOAT else text


def _any_facts(args: argparse.Namespace) -> tuple[dict[str, int], frozenset[str]]:
    """The types of facts of which a model has every table, with the most rows that they have; those that change."""
    found: dict[str, int] = {}
    for option in ("--facts-any", "--facts-change"):
        for text in getattr(args, option[2:].replace("-", "_"), None) or []:
            name, _, most = (each.strip() for each in text.partition("="))
            if not most.isdigit():
                raise InputError(f"{option} {text}: at most how many rows?", hint=f"write {option} Line=3")
            if name in found:
                raise InputError(f"{option} {text}: how many rows it has was said before", hint="say it once")
            found[name] = int(most)
    changing = (text.partition("=")[0].strip() for text in getattr(args, "facts_change", None) or [])
    return found, frozenset(changing)


def _facts(args: argparse.Namespace, rule_sets: Sequence[RuleSet]) -> Mapping[str, Sequence[tuple[Value | None, ...]]]:
    if not args.facts:
        for name in (part.type for rules in rule_sets for rule in rules.rules for part in rule.parts):
            if name in _any_facts(args)[0]:
                continue
            if any(rules.declarations[name].fact for rules in rule_sets if name in rules.declarations):
                hint = f"give them: --facts bank.db, or --facts {name}=FILE.csv; or ask for any: --facts-any {name}=2"
                raise InputError(f"rules look at facts, {name}", hint=hint)
        return {}
    from workbench.executors.table import Start
    from workbench.logs.rule_facts import named_facts
    from workbench.tesla.occurrence import rows_of

    return rows_of(named_facts(rule_sets[0], args.facts, Start()))
