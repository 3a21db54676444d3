"""Models of pipelines with rules, over finite domains.

The rule of this module: the processors are those of the pipeline, over finite domains; rules receive their time in
ticks from one input, and distinguish the values that the pipes in front of them carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.core.domain import FLOAT, LOOKS, STR, Domain, Integer, Range, Value
from workbench.core.fields import Record, resolve
from workbench.core.pipeline import Node, Pipeline, type_node
from workbench.core.program import Program
from workbench.core.units import ELAPSED
from workbench.errors import DomainError, InputError, Refused, TypingError, did_you_mean
from workbench.processors.held.group import flatten
from workbench.tesla import tree as t
from workbench.tesla.model.attribute_values import value_tables
from workbench.tesla.model.build import (
    FrameSearch,
    RuleBounds,
    choose_tick,
    longest_pause,
    output_tables,
    rates_in_ticks,
)
from workbench.tesla.model.encoding import ValueEncoding, pause_domain
from workbench.tesla.model.guarded_values import ValueTable
from workbench.tesla.model.paced_inputs import PacedInputs
from workbench.tesla.model.rates import ANY_TYPE, EventRate
from workbench.tesla.model.rules_in_pipeline import RulesInPipeline, meaning_of
from workbench.tesla.model.run_constants import free_name
from workbench.tesla.occurrence import in_units, rows_of
from workbench.tesla.rule_processor import RuleProcessor
from workbench.tesla.rule_streams import list_attributes

RATES = "rates"
"""The name of the processor that assumes the rates of inputs."""


def model_pipelines(
    programs: Sequence[Program], integers: Domain, bounds: RuleBounds | None = None, *, still: bool = False
) -> tuple[Pipeline, ...]:
    """Model pipelines that are checked together: `int` becomes `integers`, and time is in ticks.

    Parameters
    ----------
    bounds: the bounds of the models of rules; its values are for inputs and their fields.
    still: whether a step may take no time.

    Raises
    ------
    Refused: rules have no finite model. InputError: bounds name an unknown input.
    """
    bounds = bounds or RuleBounds()
    flat = [flatten(each) if each.pipeline.clocks else each.pipeline for each in programs]
    rules = [node.processor for each in flat for node in each.nodes if isinstance(node.processor, RuleProcessor)]
    if not any(each.clocks for each in rules):
        return tuple(each.pipeline.resolve(integers) for each in programs)
    _refuse_unknown(flat, bounds)
    trex = [n for n, each in enumerate(rules) if each.trex]
    tick, unit = choose_tick([each.rules for each in rules], replace(bounds, trex=trex))
    inputs = dict.fromkeys(name for each in flat for name, _ in each.inputs if name not in each.clocks)
    rates = rates_in_ticks([each.rules for each in rules], inputs, bounds, tick, united=unit is not None)
    models = [_make_finite(each, integers, replace(bounds, tick=tick, any_facts={}), unit, rates) for each in flat]
    frames = [
        node.processor.frame for each in models for node in each.nodes if isinstance(node.processor, RulesInPipeline)
    ]
    max_ticks = longest_pause(frames)
    if not any(frame.absences for frame in frames):
        max_ticks = max((max_ticks, *(rate.ticks for rate in rates.values())))
    elif still and any(rate.ticks > max_ticks for rate in rates.values()):
        what = "rates of inputs that come together, at steps of at most one tick"
        raise Refused(what, hint="rules with 'absent' have no longer steps: use free inputs")
    return tuple(_assume_rates(_with_ticks(each, max_ticks, still=still), rates, tick, unit) for each in models)


def _assume_rates(pipeline: Pipeline, rates: Mapping[str, EventRate], tick: int, unit: str | None) -> Pipeline:
    """Add a processor that assumes the rates of a pipeline's inputs."""
    inputs = dict(pipeline.inputs)
    own = {name: rate for name, rate in rates.items() if name in inputs}
    if not own or ELAPSED not in inputs:
        return pipeline
    name = free_name(RATES, {each.name for each in pipeline.nodes})
    return replace(pipeline, nodes=(*pipeline.nodes, Node(name, PacedInputs(own, tick, unit), (ELAPSED, *own), ())))


def _refuse_unknown(flat: Sequence[Pipeline], bounds: RuleBounds) -> None:
    if bounds.any_facts:
        raise InputError(
            "rules in a pipeline need known facts",
            hint="write --facts; --facts-any and --facts-change are for a .tesla file",
        )
    inputs = {name: domain for each in flat for name, domain in each.inputs}
    for name in bounds.rates:
        known = [each for each in inputs if not any(each in pipeline.clocks for pipeline in flat)]
        if name not in (ANY_TYPE, *known):
            raise InputError(f"rates are for inputs, and '{name}' is not an input", hint=did_you_mean(name, known))
    for (name, part), values in bounds.values.items():
        if None in values:
            raise InputError("inputs of a pipeline have no null in a model", hint="leave null out of --values")
        fields = getattr(inputs.get(name), "labels", ())
        if name not in inputs or (part not in fields if part or fields else False):
            known = [*inputs, *(f"{name}.{each}" for each in fields)]
            raise InputError(f"no input is '{f'{name}.{part}'.strip('.')}'", hint=did_you_mean(name, known))


def _with_ticks(pipeline: Pipeline, max_ticks: int, *, still: bool) -> Pipeline:
    """Give a pipeline an input for ticks, at most `max_ticks` of them in a step."""
    inputs = [
        (n, pause_domain(max_ticks, 0 if still else 1) if n == ELAPSED else domain) for n, domain in pipeline.inputs
    ]
    nodes = [
        replace(node, processor=replace(node.processor, max_ticks=max_ticks, still=still))
        if isinstance(node.processor, RulesInPipeline) else node
        for node in pipeline.nodes
    ]  # fmt: skip
    return replace(pipeline, inputs=tuple(inputs), nodes=tuple(nodes))


def _make_finite(
    flat: Pipeline, integers: Domain, bounds: RuleBounds, unit: str | None, rates: Mapping[str, EventRate]
) -> Pipeline:
    """Convert a pipeline to finite domains, processor by processor; one tick passes in a step."""
    time = _time_input(flat)
    read = ((name, domain) for name, domain in flat.inputs if name != time)
    input_domains = {name: _input_domain(flat, name, domain, integers, bounds, unit) for name, domain in read}
    inputs = [(name, input_domains[name]) if name != time else (ELAPSED, Range(1, 1)) for name, _ in flat.inputs]
    domains, nodes, behind = dict(inputs), list[Node](), set[str]()
    for node in flat.nodes:
        if isinstance(node.processor, RuleProcessor):
            carried = (ELAPSED, *node.inputs[1:])
            shapes = tuple(domains[pipe] for pipe in carried)
            fed = zip(node.processor.fed, node.inputs[1:], strict=True)
            own = {type: rates[pipe] for type, pipe in fed if pipe in rates}
            processor = _model_rules(node.processor, shapes, integers, bounds, unit, own)
            node = replace(node, inputs=carried, processor=processor)
        else:
            node = replace(node, processor=node.processor.resolve(integers))
        nodes.append(node)
        if isinstance(node.processor, RulesInPipeline) or not behind.isdisjoint(node.inputs):
            behind.update(node.outputs)
        try:
            type_node(flat.name, node, domains)
        except TypingError as error:
            if behind.isdisjoint(node.inputs):
                raise
            raise Refused(error.what, where=error.where, hint=LOOKS) from error
    return replace(flat, inputs=tuple(inputs), nodes=tuple(nodes))


def _time_input(flat: Pipeline) -> str:
    """Return the input that carries the time; only rules may read it."""
    clocks = flat.clocks
    timed = [node for node in flat.nodes if isinstance(node.processor, RuleProcessor)]
    for node in timed:
        if node.inputs[0] not in clocks:
            what = f"the time of {node.processor} is '{node.inputs[0]}', which the pipeline computes"
            raise Refused(what, hint="a model has only the time from outside: leave that stream out", where=node.where)
    if len(clocks) > 1:
        raise Refused(f"the times of rules differ: {' and '.join(clocks)}", hint="give all rules the same time")
    (time,) = clocks or (ELAPSED,)
    for node in flat.nodes:
        if time in (node.inputs[1:] if node in timed else node.inputs):
            what = f"{node.processor} reads the time of day: a model knows only how much time has passed"
            raise Refused(what, hint="leave it out, or check the rules by themselves", where=node.where)
    if time in dict(flat.outputs).values():
        raise Refused("an output is the time: a model has only the time that has passed", hint="leave it out")
    if time != ELAPSED and ELAPSED in dict(flat.inputs):
        raise Refused(f"an input is called '{ELAPSED}', the name for the ticks of a model", hint="rename it")
    return time


def _input_domain(
    flat: Pipeline, name: str, domain: Domain, integers: Domain, bounds: RuleBounds, unit: str | None
) -> Domain:
    """Return the domain of an input: its given values, or for texts and fractions those that rules distinguish."""

    def part(label: str, of: Domain) -> Domain:
        values = bounds.values.get((name, label))
        if values is None and of in (FLOAT, STR):
            values = _values_read(flat, name, label, bounds, unit)
        return resolve(of, integers) if not values else ValueEncoding.of(ValueTable(values), exact=True).domain

    if isinstance(domain, Record):
        return Record(tuple(map(part, domain.labels, domain.fields)), domain.labels)
    return part("", domain)


def _values_read(flat: Pipeline, name: str, label: str, bounds: RuleBounds, unit: str | None) -> Sequence[Value | None]:
    """Return the values of an input or of its field that rules distinguish; none if other processors read it."""
    table = ValueTable(())
    domain = dict(flat.inputs)[name]
    for node in flat.nodes:
        if name not in node.inputs:
            continue
        if not isinstance(node.processor, RuleProcessor):
            return ()
        rules, fed = node.processor.rules, zip(node.processor.fed, node.inputs[1:], strict=True)
        tables = value_tables([in_units(rules, unit)], bounds.count, {})
        for type in (each for each, pipe in fed if pipe == name):
            for attribute, index, _ in list_attributes(rules.declarations[type], domain):
                if index is None or not label or getattr(domain, "labels", ())[index] == label:
                    table |= tables.get((type, attribute), ValueTable(()))
    return table.values


def _model_rules(
    rules: RuleProcessor, shapes: Sequence[Domain], integers: Domain, bounds: RuleBounds, unit: str | None,
    rates: Mapping[str, EventRate],
) -> RulesInPipeline:  # fmt: skip
    """Model rules on pipes with these domains; one tick passes in a step. Rates determine capacities."""
    facts = rows_of(rules.facts) if rules.facts is not None else bounds.facts
    for name in rules.fact_types:
        if name not in facts:
            raise InputError(f"{rules} needs facts of type {name}", hint=f"add --facts {name}=FILE.csv")
    tick = bounds.tick or 1
    tables: dict[tuple[str, str], ValueTable] = {}
    for name, shape in zip(rules.fed, shapes[1:], strict=True):
        declared = rules.rules.declarations[name]
        for attribute, _, part in list_attributes(declared, shape, modelled=True):
            if not part.finite:
                what = (
                    f"{name}.{attribute} is {part} on the stream that is given for it: the model needs finite domains"
                )
                raise Refused(what, hint="use whole numbers in front of rules; fractions and texts are for inputs only")
            domain = declared.domains[attribute]
            tables[name, attribute] = ValueTable(meaning_of(each, domain) for each in part.values())
            if part == integers:
                _require_constants(rules, integers)
    ticked = in_units(rules.rules, unit, trex=rules.trex, tick=tick)
    own = replace(bounds, facts=facts, trex=[0] if rules.trex else ())
    (frame,) = FrameSearch([ticked], tables, own, rates, rules.fed).frames()
    frame = replace(frame, rates={})  # the inputs have the rates
    return RulesInPipeline(
        rules.rules, rules.fed, shapes=tuple(shapes), facts=facts or None, integers=integers, trex=rules.trex,
        frame=frame, tick=tick, unit=unit, max_ticks=1, outputs=output_tables([frame]),
    )  # fmt: skip


def _require_constants(rules: RuleProcessor, integers: Domain) -> None:
    """Raise a DomainError if rules name a number outside the domain of the pipeline's `int`."""
    leaves = (leaf for rule in rules.rules.rules for each in rule.expressions for leaf in t.within(each))
    whole = [leaf.value for leaf in leaves if isinstance(leaf, t.Literal) and type(leaf.value) is int]
    if (greatest := max(whole, default=0)) not in integers and isinstance(integers, Integer):
        raise DomainError(
            f"{rules} names {greatest}, which {integers} does not have",
            hint=f"choose a larger domain, e.g. -N {greatest + 2}, or give inputs values: --values temp=44..46",
            needs=greatest + 2,
        )
