"""The settings of models and engines that the options of checking commands give, for pipelines and for rules.

The rule of this module: a pipeline that contains rules is bounded like rules, by the values of its inputs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.cli.model_values import TYPES, read_any_facts, read_rate, read_time, read_types, read_values
from workbench.cli.options import note
from workbench.errors import InputError, refuse_unknown

if TYPE_CHECKING:
    from workbench.core.domain import Domain, Value
    from workbench.core.pipeline import Pipeline
    from workbench.language import PropertySyntax
    from workbench.tesla.model.build import RuleBounds
    from workbench.tesla.rule_set import RuleSet
    from workbench.verify.answer.settings import Settings


def pipeline_settings(
    args: argparse.Namespace, pipeline: Pipeline, properties: Sequence[PropertySyntax] = ()
) -> Settings:
    """Return the settings for checking a pipeline, with its queues and the numbers that properties compare with."""
    from workbench.core.domain import Overflowing
    from workbench.verify.answer.settings import Settings
    from workbench.verify.ask.environment import Environment

    texts, floats = read_types(getattr(args, "values", []))
    return Settings(
        q=_capacities(args.Q, pipeline),
        n=Settings.n if args.N is None else args.N,
        integers=Overflowing(args.integers),
        environment=Environment(getattr(args, "inputs", "free"), getattr(args, "fair", False)),
        rules=_bounds_inside(args, pipeline),
        texts=texts,
        floats=floats,
        **_decision(args),
    ).fit(pipeline, properties=properties)


def rule_settings(args: argparse.Namespace) -> Settings:
    """Return the settings for checking models of rules: in each step one event comes, or time passes."""
    from workbench.verify.answer.settings import Settings
    from workbench.verify.ask.environment import Environment

    if getattr(args, "inputs", None) not in (None, "free"):
        hint = "leave it out: in a model of rules, one event comes in each step"
        raise InputError(f"--inputs {args.inputs} is not for rules", hint=hint)
    if args.param or args.fault:
        raise InputError("rules have no parameters and no faults", hint="leave out --param and --fault")
    return Settings({}, environment=Environment("one", args.fair), **_decision(args))


def _decision(args: argparse.Namespace) -> dict[str, Any]:
    """Return the engine, its work and limits, and the strictness of verdicts, as arguments of `Settings`."""
    names = {"engine": "engine", "seconds": "timeout", "memory_mb": "memory", "grow": "grow", "strict": "strict",
             "strict_vacuity": "strict_vacuity", "count_states": "count_states"}  # fmt: skip
    arguments = {name: getattr(args, option, None) for name, option in names.items()}
    return {name: value for name, value in arguments.items() if value is not None}


def _capacities(items: Sequence[dict[str, int]], pipeline: Pipeline) -> int | Mapping[str, int]:
    """Return one capacity for every queue, or one per queue.

    A pair sets the capacity of its queue, a number that of all queues without a pair of which the program states none.
    """
    from workbench.processors.held.group import flatten
    from workbench.verify.answer.settings import Settings

    pairs: dict[str, int] = {}
    for item in items:
        pairs |= item
    number, flat = pairs.pop("", None), flatten(pipeline)
    stated = {name: n for name, n in flat.capacities.items() if name not in pairs}
    if number is not None and (others := {name: n for name, n in stated.items() if n != number}):
        listed = ", ".join(f"{name} = {size}" for name, size in others.items())
        note(f"capacities that the program states stay ({listed}); -Q {next(iter(others))}={number} sets one")
    if not pairs:
        return Settings.q if number is None else number
    return pairs if number is None else {name: number for name in flat.queues if name not in stated} | pairs


def refuse_rates(args: argparse.Namespace) -> None:
    """Raise InputError for rates if the question assumes that any input can come at any time."""
    if args.rate:
        what = "--rate does not apply to the analysis of a pipeline or of its queues"
        raise InputError(what, hint="name the .tesla file; `check`, `equiv` and `export` accept --rate for pipelines")


# --- models of rules ----------------------------------------------------------------------------------------


def rule_bounds(args: argparse.Namespace, rule_sets: Sequence[RuleSet]) -> RuleBounds:
    """Return the bounds of models of rules that the options give."""
    from workbench.tesla.model.build import RuleBounds

    pairs: dict[str, int] = {}
    for item in args.Q:
        pairs |= {name.rpartition(".")[2]: size for name, size in item.items()}
    capacity = pairs.pop("", RuleBounds.capacity)
    domains = {
        (name, attribute): domain
        for rules in rule_sets
        for name in rules.declarations
        for attribute, domain in rules.declarations[name].domains.items()
    }
    any_facts, changing = read_any_facts(args)
    shared = _read_shared_bounds(args, args.values, domains)
    declared = [each.name for rules in rule_sets for each in rules.declarations.values() if each.fact]
    for name in any_facts:
        refuse_unknown("type of facts", name, declared)
    return RuleBounds(capacity, pairs, count=args.N, facts=_facts(args, rule_sets), changing=changing, **shared)


def _read_shared_bounds(
    args: argparse.Namespace, values: Iterable[str], domains: Mapping[tuple[str, str], Domain]
) -> dict[str, Any]:
    """Return the bounds that rules alone and rules in a pipeline share, as arguments of `RuleBounds`."""
    tick = getattr(args, "tick", None)
    return {
        "values": dict(read_values(text, domains) for text in values),
        "tick": None if tick is None else read_time(tick, "--tick"),
        "any_facts": read_any_facts(args)[0],
        "rates": dict(map(read_rate, getattr(args, "rate", []))),
    }


def _bounds_inside(args: argparse.Namespace, pipeline: Pipeline) -> RuleBounds | None:
    """Return the bounds of rules in a pipeline, by the values of its inputs; None without rules."""
    if not pipeline.clocks:
        _refuse_bounds(args, pipeline)
        return None
    if len(_values_of_inputs(args)) < len(getattr(args, "values", [])):
        what = f"{pipeline.name} contains rules, so --values sets the values of inputs"
        raise InputError(what, hint="name an input, or a field of one: --values temp=44..46")
    from workbench.core.fields import Record
    from workbench.processors.held.group import flatten
    from workbench.tesla.model.build import RuleBounds
    from workbench.tesla.rule_processor import RuleProcessor

    processors = [node.processor for node in flatten(pipeline).nodes]
    rule_sets = [each.rules for each in processors if isinstance(each, RuleProcessor) and each.fact_types]
    domains: dict[tuple[str, str], Domain] = {}
    for name, domain in pipeline.inputs:
        parts = zip(domain.labels, domain.fields, strict=True) if isinstance(domain, Record) else [("", domain)]
        domains |= {(name, label): part for label, part in parts}
    numbers = [item[""] for item in getattr(args, "Q", []) if "" in item]
    facts = [_facts(args, [rules]) for rules in rule_sets] if getattr(args, "facts", None) else []
    return RuleBounds(
        (numbers or [RuleBounds.capacity])[-1],
        facts={name: rows for each in facts for name, rows in each.items()},
        **_read_shared_bounds(args, _values_of_inputs(args), domains),
    )


def _refuse_bounds(args: argparse.Namespace, pipeline: Pipeline) -> None:
    """Raise InputError for bounds of rules if the pipeline contains no rules."""
    for option in ("tick", "values", "rate", "facts", "facts_any", "facts_change"):
        if _values_of_inputs(args) if option == "values" else getattr(args, option, None):
            what, hint = "is for rules", "leave it out"
            if option == "values":
                what, hint = "of inputs is for rules", _suggest_values(args, pipeline)
            raise InputError(f"--{option.replace('_', '-')} {what}, but {pipeline.name} contains none", hint=hint)


def _suggest_values(args: argparse.Namespace, pipeline: Pipeline) -> str:
    """Return the correct spelling of `--values` for a pipeline without rules."""
    name, _, listed = _values_of_inputs(args)[0].rpartition("=")
    types = {input: str(domain) for input, domain in pipeline.inputs if not name or input == name.strip()}
    known = [each for each in TYPES if each in types.values()]
    if len(known) == 1:
        return f"{name} is a {known[0]}: " * bool(name) + f"write --values {known[0]}={listed}"
    if "int" in types.values() and name:
        return f"without rules, --values sets a type, and {name} is an int: -N sets the integers, -N 31 for 0..30"
    return "without rules, list the values of a type: --values str=a,b or float=0..6; -N sets the integers"


def _values_of_inputs(args: argparse.Namespace) -> list[str]:
    """Return the `--values` of inputs, without those of types."""
    return [text for text in getattr(args, "values", []) if text.partition("=")[0].strip() not in TYPES]


def _facts(args: argparse.Namespace, rule_sets: Sequence[RuleSet]) -> Mapping[str, Sequence[tuple[Value | None, ...]]]:
    if not args.facts:
        for name in (part.type for rules in rule_sets for rule in rules.rules for part in rule.parts):
            if name in read_any_facts(args)[0]:
                continue
            if any(rules.declarations[name].fact for rules in rule_sets if name in rules.declarations):
                hint = f"add --facts bank.db, or --facts {name}=FILE.csv; or allow any facts: --facts-any {name}=2"
                raise InputError(f"the rules need facts of type {name}", hint=hint)
        return {}
    from workbench.executors.table import Start
    from workbench.runner.rules.facts import read_named_facts
    from workbench.tesla.occurrence import rows_of

    return rows_of(read_named_facts(rule_sets[0], args.facts, Start()))
