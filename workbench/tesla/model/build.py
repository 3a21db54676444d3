"""Models of rule sets: pipelines over finite domains, which every analysis of pipelines accepts.

The rule of this module: the bounds of a model are chosen here, once for all rule sets that are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.core.domain import Domain, Range, Value
from workbench.core.fields import Record
from workbench.errors import InputError, Refused, did_you_mean
from workbench.tesla import tree as t
from workbench.tesla.model.attribute_values import count_distinct, count_thresholds, read_attributes, value_tables
from workbench.tesla.model.column_bounds import RuleCounting
from workbench.tesla.model.encoding import COMES, ValueEncoding, pause_domain
from workbench.tesla.model.guarded_values import ValueTable
from workbench.tesla.model.layout import lay_out
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.model.needs import LEAST, chain_needed, choose_capacities, needs
from workbench.tesla.model.rates import ANY_TYPE, EventRate, RuleRate
from workbench.tesla.model.run_constants import MEMORY, RuleFrame, waiting_of
from workbench.tesla.model.sample_values import ComparedAttributes, Detail
from workbench.tesla.model.time_degrees import deciding, time_degree
from workbench.tesla.occurrence import Facts, has_units, in_units
from workbench.tesla.operators import is_comparison
from workbench.tesla.resolved import TIME, slots
from workbench.tesla.rule_processor import RuleGraph, rule_graph_of
from workbench.tesla.rule_set import RuleSet

MAX_VALUES = 64
"""Maximum number of values of an attribute of composites that rules read."""
MAX_EMITTED = 2048
"""Maximum number of values of other attributes of composites, with which no rule computes."""
MAX_PARTS = 8
"""Maximum number of ticks in the greatest common divisor of all times."""
FEWER = "with more values of attributes the model would be too large: other values may give another answer"
MAX_TICKS = 64
"""Maximum number of ticks in the longest window for which there are more parts."""
MAX_RATED = 16
"""Maximum total capacity of columns whose capacity follows from rates."""


@dataclass(frozen=True)
class RuleBounds:
    """The bounds of a model of rules.

    Parameters
    ----------
    capacity: the capacity of a column that needs more than the newest event; None: what rules need to fire, at least
        two. capacities: of columns by type, and of waiting matches.
    values: values of attributes, by type and name, None for null; others follow from the comparisons in rules.
    count: the number of values of an attribute that is compared for equality only; None: two.
    tick: the length of a tick, in microseconds if windows have units; None: the greatest of which all windows are
        multiples.
    facts: the facts of the rules.
    any_facts: the maximum number of rows of types of facts with arbitrary rows: a model has every such table.
    changing: the types among them whose table may change between events; the others have one table for each run.
    by_rule: whether the composites of each rule are an output of their own, too.
    chain: the length of chains of causes whose last composites are an output; 0: no such output.
    rates: maximum rates of events by type, or by input of a pipeline (`ANY_TYPE`: the others); without a rate any
            number of events may come.
    trex: the indices of modelled rule sets whose windows and consumption are as in T-Rex.
    still: (for pipelines) whether a step may take no time.
    compared: comparisons of the question with attributes, whose values the model needs, too.
    detail: the number of values of attributes.
    fewer: the values of attributes with less detail, for a model that would compute with too many combinations.
    depth: the maximum number of composites in a chain of causes.
    growth, variety: factors for default capacities, and for default numbers of values and moments, to enlarge a
            model.
    """

    capacity: int | None = None
    capacities: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[tuple[str, str], Sequence[Value | None]] = field(default_factory=dict)
    count: int | None = None
    tick: int | None = None
    facts: Facts = field(default_factory=dict)
    any_facts: Mapping[str, int] = field(default_factory=dict)
    changing: Collection[str] = ()
    depth: int = 4
    growth: int = 1
    variety: int = 1
    by_rule: bool = False
    chain: int = 0
    rates: Mapping[str, RuleRate] = field(default_factory=dict)
    trex: Collection[int] = ()
    still: bool = False
    compared: Sequence[ComparedAttributes] = ()
    detail: Detail = Detail.FULL
    fewer: Mapping[Detail, Mapping[tuple[str, str], Sequence[Value | None]]] = field(default_factory=dict)

    def with_less(self) -> Iterator[RuleBounds]:
        """Yield these bounds, and those with less detail."""
        for detail in sorted(Detail, reverse=True):
            if detail <= self.detail:
                yield replace(self, detail=detail, values={**self.values, **self.fewer.get(detail, {})})


def build_models(rule_sets: Sequence[RuleSet], bounds: RuleBounds | None = None) -> tuple[RuleGraph, ...]:
    """Build models of rule sets over the same events: pipelines with finite inputs, `elapsed` and one for each type.

    Raises
    ------
    Refused: rules have no finite model. InputError: bounds name an unknown type or attribute.
    """
    bounds = bounds or RuleBounds()
    _refuse_unknown(rule_sets, bounds)
    refused: Refused | None = None
    for each in bounds.with_less():
        fewer = refused is not None and _list_values(rule_sets, each) != _list_values(rule_sets, bounds)
        try:
            return _build_models(rule_sets, each, [FEWER] * fewer)
        except Refused as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _build_models(
    rule_sets: Sequence[RuleSet], bounds: RuleBounds, limits: Sequence[str] = ()
) -> tuple[RuleGraph, ...]:
    tick, unit = choose_tick(rule_sets, bounds)
    ticked, inputs = _scale_to_ticks(rule_sets, bounds, tick, unit)
    limits = (*limits, *_list_limits([in_units(rules, unit) for rules in rule_sets], inputs, bounds, tick))
    names = dict.fromkeys(name for rules in rule_sets for name in rules.primitives)
    rates = rates_in_ticks(rule_sets, names, bounds, tick, united=unit is not None)
    search = FrameSearch(ticked, inputs, replace(bounds, tick=tick), rates)
    frames = search.frames() if bounds.detail < Detail.FULL else search.find(roomy=True)
    outputs, max_ticks = output_tables(frames), longest_pause(frames)
    pairs = zip(rule_sets, frames, strict=True)
    return tuple(
        _build_graph(rules, frame, (tick, unit), max_ticks, outputs, bounds=bounds, limits=limits)
        for rules, frame in pairs
    )


def settle_bounds(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> RuleBounds:
    """Return bounds with the tick and the values of a model of these rules, to use them also for a part of the rules.

    Raises
    ------
    InputError: bounds name an unknown type or attribute.
    """
    _refuse_unknown(rule_sets, bounds)
    fewer = {each.detail: _list_values(rule_sets, each) for each in bounds.with_less()}
    return replace(bounds, tick=choose_tick(rule_sets, bounds)[0], values=fewer.pop(bounds.detail), fewer=fewer)


def _list_values(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> dict[tuple[str, str], Sequence[Value]]:
    """Return the values of all attributes."""
    _, tables = _scale_to_ticks(rule_sets, bounds, *choose_tick(rule_sets, bounds))
    return {key: table.values for key, table in tables.items()}


def _scale_to_ticks(
    rule_sets: Sequence[RuleSet], bounds: RuleBounds, tick: int, unit: str | None
) -> tuple[list[RuleSet], dict[tuple[str, str], ValueTable]]:
    """Return the rules with windows in ticks, and the values of external attributes."""
    ticked = [in_units(rules, unit, trex=n in bounds.trex, tick=tick) for n, rules in enumerate(rule_sets)]
    return ticked, value_tables(
        ticked, bounds.count, bounds.values, bounds.any_facts, bounds.facts, bounds.compared, variety=bounds.variety,
        detail=bounds.detail,
    )  # fmt: skip


def choose_tick(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> tuple[int, str | None]:
    """Return the length of a tick for all rule sets, and its unit."""
    united = any(map(has_units, rule_sets)) or any(rate.united for rate in bounds.rates.values())
    unit = "us" if united else None
    return bounds.tick or _greatest_tick([in_units(rules, unit) for rules in rule_sets], bounds), unit


def longest_pause(frames: Sequence[RuleFrame]) -> int:
    """Return the maximum number of ticks in a step: longer pauses change nothing more; one if there are deadlines."""
    waits = any(frame.absences for frame in frames)
    return 1 if waits else max((frame.longest for frame in frames), default=0) + 1


def output_tables(frames: Sequence[RuleFrame]) -> dict[tuple[str, str], ValueTable]:
    """Return the values of the attributes of composites that some of the rule sets emit."""
    tables: dict[tuple[str, str], ValueTable] = {}
    for frame in frames:
        for key in ((rule.emits, each.name) for rule in frame.rules.rules for each in frame.evaluations(rule)):
            tables[key] = tables.get(key, ValueTable(())) | frame.table(*key)
    return tables


def align_types(left: RuleSet, right: RuleSet) -> tuple[RuleSet, RuleSet]:
    """Give two rule sets that are compared the types of both, in one order.

    Raises
    ------
    InputError: a type is declared differently, or only one of them emits it.
    """
    declared = {**right.declarations, **left.declarations}
    for name, each in declared.items():
        other = right.declarations.get(name, each)
        if (other.domains, other.fact) != (each.domains, each.fact):
            raise InputError(
                f"{name} is declared as {each} and as {other}", hint="only rules over the same types can be compared"
            )
    for one, other_one in ((left, right), (right, left)):
        for name in one.composites:
            if name not in other_one.composites:
                what = f"{one.name} emits {name}, but {other_one.name} does not"
                raise InputError(what, hint="only rules that emit the same types can be compared")
    order = {name: declared[name] for name in (*left.declarations, *right.declarations)}
    return replace(left, declarations=order), replace(right, declarations=order)


def _build_graph(
    rules: RuleSet,
    frame: RuleFrame,
    time: tuple[int, str | None],
    max_ticks: int,
    outputs: Mapping[tuple[str, str], ValueTable],
    *,
    bounds: RuleBounds,
    limits: tuple[str, ...],
) -> RuleGraph:
    own = {key: table for key, table in outputs.items() if key[0] in rules.composites}
    processor = ModelledRules(
        rules, (*rules.primitives, *frame.fact_inputs), facts=frame.facts or None,
        frame=frame, trex=frame.layout.trex, tick=time[0], unit=time[1], max_ticks=max_ticks, outputs=own,
        by_rule=bounds.by_rule, chain=bounds.chain, limits=limits,
    )  # fmt: skip
    return rule_graph_of(processor, (pause_domain(max_ticks), *_input_domains(processor.fed, rules, frame.tables)))


def _input_domains(
    fed: Sequence[str], rules: RuleSet, tables: Mapping[tuple[str, str], ValueTable]
) -> Iterator[Domain]:
    """Yield the types of streams of events, and of arbitrary facts."""
    for name in fed:
        names = rules.declarations[name].domains if name in rules.declarations else ()
        domains = {each: ValueEncoding.of(tables[name, each], exact=True).domain for each in names}
        yield Record(tuple(domains.values()), tuple(domains)) if domains else COMES


@dataclass(frozen=True)
class FrameSearch:
    """The search for frames: values of composites are those that steps produce, found by repeated steps.

    Attributes
    ----------
    rule_sets: rule sets whose windows are in ticks.
    inputs: the values of the attributes of input events, by type and name.
    fed: the types of input events, if they are not the types that no rule emits.
    """

    rule_sets: Sequence[RuleSet]
    inputs: Mapping[tuple[str, str], ValueTable]
    bounds: RuleBounds
    rates: Mapping[str, EventRate]
    fed: Sequence[str] = ()

    def frames(self) -> list[RuleFrame]:
        """Return the frames; if there are too many values, retry with lower capacities than rates or rules require."""
        try:
            return self.find(roomy=True)
        except Refused:
            fewer = self.bounds.capacity is None and self.bounds.growth == 1
            if not self.rates and not fewer:
                raise
            less = replace(self.bounds, capacity=LEAST) if fewer else self.bounds
            return replace(self, bounds=less).find(roomy=False)

    def find(self, *, roomy: bool) -> list[RuleFrame]:
        """Find the frames; `roomy`: columns have the capacity that rates require, otherwise there are fewer values."""
        tables, growths = dict(self.inputs), Counter[tuple[str, str]]()
        max_growths = max(len(rules.rules) for rules in self.rule_sets) + 2
        read = {key for rules in self.rule_sets for key in read_attributes(rules)}
        while True:
            frames = self._attempt(tables, roomy=roomy)
            grown: dict[tuple[str, str], ValueTable] = {}
            for key, values in ((key, values) for frame in frames for key, values in frame.noted.items()):
                before = grown.get(key, tables.get(key, ValueTable(())))
                table = before | ValueTable(values.values())
                if key[0].startswith(MEMORY):  # it consists of values that the model has
                    if len(table) > MAX_VALUES:
                        hint = "give the attributes fewer values: --values TYPE.ATTRIBUTE=1..4"
                        raise Refused(f"{key[0]} remembers one of {len(table)} values ({key[1]})", hint=hint)
                elif growths[key] < max_growths:  # the model lacks further values
                    table = before.extend(values.values(), MAX_VALUES if key in read else MAX_EMITTED)
                else:
                    continue
                grown[key] = table
            changed = [key for key, table in grown.items() if tables.get(key) != table]
            if not changed:
                return [replace(frame, noted={}) for frame in frames]
            growths.update(changed)
            tables |= grown

    def _attempt(self, tables: Mapping[tuple[str, str], ValueTable], *, roomy: bool) -> list[RuleFrame]:
        """Make frames with these tables, and note the values that a step with each of them produces."""
        bounds, rule_sets = self.bounds, self.rule_sets
        composites = [(rules, name) for rules in rule_sets for name in rules.composites]
        keys = [(name, each) for rules, name in composites for each in rules.declarations[name].domains]
        whole = {**dict.fromkeys(keys, ValueTable(())), **tables}
        frames, without = [], frozenset(each for rules in rule_sets for each in _time_attributes(rules))
        needed = choose_capacities(rule_sets, bounds.growth)
        rest = needed if bounds.capacity is None else dict.fromkeys(needed, bounds.capacity)
        layouts = lay_out(rule_sets, whole, bounds.capacities, rest, bounds.trex)
        for rules, layout in zip(rule_sets, layouts, strict=True):
            absences = [rule for rule in rules.rules if rule.absence is not None]
            waits = {rule.name: bounds.capacities.get(waiting_of(rule), needed[waiting_of(rule)]) for rule in absences}
            layout = replace(layout, waits=waits, tick=bounds.tick or 1)
            depth = rules.graph.longest_chain or max(bounds.depth, chain_needed(rules)) * bounds.growth
            any_facts, changing = bounds.any_facts, frozenset(bounds.changing)
            frame = RuleFrame(
                rules, whole, layout, bounds.facts, any_facts, depth, without, self.rates, changing=changing
            )
            frames.append(frame)
        if self.rates and roomy:
            frames = [frame.with_capacities(_count_capacities(frames, bounds)) for frame in frames]
        outputs = {key: whole[key] for key in keys if key not in without}
        for rules, frame in zip(rule_sets, frames, strict=True):
            fed = (*(self.fed or rules.primitives), *frame.fact_inputs)
            processor = ModelledRules(rules, fed, frame=frame, tick=1, max_ticks=1, outputs=outputs)
            processor.machine((Range(1, 1), *_input_domains(processor.fed, rules, whole)))
        return frames


def _count_capacities(frames: Sequence[RuleFrame], bounds: RuleBounds) -> dict[str, int]:
    """Return capacities that suffice by rates, smallest first up to a total; the same for all rule sets."""
    capacities: dict[str, float] = {}
    for frame in frames:
        for name, capacity in RuleCounting(frame).count_capacities().items():
            capacities[name] = max(capacities.get(name, 1), capacity)
    smallest: dict[str, int] = {}
    for name, capacity in sorted(capacities.items(), key=lambda each: each[1]):
        if name not in bounds.capacities and sum(smallest.values()) + capacity <= MAX_RATED:
            smallest[name] = int(capacity)
    return smallest


def _greatest_tick(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> int:
    """Return the greatest common divisor of all windows and rates, or a fraction, for times inside all of them."""
    divisor, parts, exact = _find_divisor(rule_sets, bounds), *_count_parts(rule_sets, bounds)
    longest = max((each for rules in rule_sets for each in _time_amounts(rules)), default=divisor)
    most = max(MAX_PARTS, MAX_TICKS // max(longest // divisor, 1))
    if parts > most:
        parts, exact = min(parts // exact, most), 1
    return divisor // next((each for each in range(parts, divisor + 1) if divisor % each == each % exact == 0), 1)


def _find_divisor(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> int:
    """Return the greatest common divisor of all times in rules and rates."""
    rates = (rate.time for rate in bounds.rates.values())
    return math.gcd(*rates, *(each for rules in rule_sets for each in _time_amounts(rules))) or 1


def _count_parts(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> tuple[int, int]:
    """Return the number of ticks in the divisor of all times with which a model has all runs that differ.

    A composite of an absence comes after a gap that is longer than a length. To fit k such gaps into a window that is
    only a little longer than k lengths, a tick has to be a fraction of what is left. The second number is the least
    with which times in a question are whole ticks; it divides the first one.
    """
    compared, divisor = _compared_spans(rule_sets, bounds), _find_divisor(rule_sets, bounds)
    conditions = (each for rules in rule_sets for rule in rules.resolved for each in deciding(rule))
    parts = 2 if compared or bounds.trex or bounds.variety > 1 or any(map(_reads_time, conditions)) else 1
    thresholds = list(count_thresholds(rule_sets, bounds.compared))
    windows = {each for rules in rule_sets for each in _time_amounts(rules)}
    for each, rule in ((rules, rule) for rules in rule_sets for rule in rules.resolved if rule.absence is not None):
        most = max(needs(each)[rule.emits], *thresholds, 1)
        fitting = ((window, min(most - 1, (window - 1) // max(rule.timeout, 1))) for window in windows if window)
        parts = max(
            [parts, 2, *(math.ceil(gaps * divisor / (window - gaps * rule.timeout)) for window, gaps in fitting)]
        )
    constants = (value for each in compared for value in each.constants if isinstance(value, int | float))
    exact = divisor // math.gcd(divisor, *(int(value) for value in constants if value == int(value)))
    return parts * exact, exact


def _compared_spans(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> list[ComparedAttributes]:
    """Return the comparisons of a question with attributes that rules compute from times."""
    spans = {
        (rule.emits, each.name)
        for rules in rule_sets for rule in rules.resolved for each in rule.evaluations
        if _reads_time(each.value)
    }  # fmt: skip
    return [each for each in bounds.compared if not spans.isdisjoint(each.attributes)]


def _reads_time(expression: t.Expression) -> bool:
    """Whether an expression reads the time of an event, also by a parameter."""
    return any(each.name == TIME or (each.value is not None and _reads_time(each.value)) for each in slots(expression))


def _list_limits(
    rule_sets: Sequence[RuleSet], inputs: Mapping[tuple[str, str], ValueTable], bounds: RuleBounds, tick: int
) -> Iterator[str]:
    """Yield what rules or a question distinguish, and the model does not, a sentence each."""
    for (type, name), number in count_distinct(rule_sets, bounds.compared).items():
        values = inputs.get((type, name), ())
        declared = (rules.declarations[type] for rules in rule_sets if type in rules.declarations)
        if values and len(values) < number and not any(each.domains[name].finite for each in declared):
            known = f"of {type}.{name} the model has {len(values)}"
            yield f"rules distinguish {number} values, and {known}: more may give another answer"
    parts, _ = _count_parts(rule_sets, replace(bounds, trex=(), variety=1))
    if tick > 1 and tick * parts > _find_divisor(rule_sets, bounds):
        yield "rules distinguish times within a tick: a shorter one may give another answer"


def rates_in_ticks(
    rule_sets: Sequence[RuleSet], names: Iterable[str], bounds: RuleBounds, tick: int, *, united: bool
) -> Mapping[str, EventRate]:
    """Return the maximum numbers of events in numbers of ticks, by type or input.

    Raises
    ------
    InputError: a rate has a unit, and windows have none, or vice versa.
    """
    windows = any(has_units(rules) or any(_time_amounts(in_units(rules))) for rules in rule_sets)
    needs_unit = any(map(has_units, rule_sets)) if windows else united
    for rate in bounds.rates.values():
        if rate.united != needs_unit:
            what = "has a unit of time, but windows have none" if rate.united else "has no unit of time, but windows do"
            hint = "write --rate Temp=3/60" if rate.united else "write --rate 'Temp=3/1 min'"
            raise InputError(f"a rate of {rate} {what}", hint=hint)
    rates = {name: bounds.rates.get(name, bounds.rates.get(ANY_TYPE)) for name in names}
    return {name: rate.in_ticks(tick) for name, rate in rates.items() if rate}


def _time_amounts(rules: RuleSet) -> Iterator[int]:
    """Yield the lengths of windows and pauses, and constants that times are compared with."""
    for rule in rules.resolved:
        yield from (int(each.amount) for each in rule.durations if not each.counts)
        for each in (each for expression in rule.expressions for each in t.within(expression)):
            if not isinstance(each, t.Operation) or not (is_comparison(each) or each.operator in ("+", "-")):
                continue
            if _reads_time(each):
                yield from (o.value for o in each.operands if isinstance(o, t.Literal) and type(o.value) is int)


def _time_attributes(rules: RuleSet) -> Iterator[tuple[str, str]]:
    """Yield the attributes of composites that are times, which no rule may read."""
    read = set(read_attributes(rules))
    for rule in rules.resolved:
        for expression in deciding(rule):
            degree = time_degree(rule, expression)
            if not degree.known or degree.count:
                raise Refused(
                    f"{expression} depends on the times of events: a model has only their ages",
                    where=expression.where,
                    hint="compare a time with another: TIME(A) - TIME(B) < 5",
                )  # fmt: skip
        for each in rule.evaluations:
            degree = time_degree(rule, each.value)
            if not degree.known or degree.count:
                if (rule.emits, each.name) in read:
                    raise Refused(
                        f"{rule.emits}.{each.name} is a time that rules read: a model has only ages of events",
                        where=each.where,
                        hint="compare times by windows: within 5 min from ...",
                    )
                yield rule.emits, each.name


def _refuse_unknown(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> None:
    names = [name for rules in rule_sets for name in rules.events]
    shown_types = [name for rules in rule_sets for name in rules.primitives]
    waits = [waiting_of(rule) for rules in rule_sets for rule in rules.rules if rule.absence is not None]
    for name in bounds.capacities:
        if name not in (*names, *waits):
            raise InputError(f"there is no column of '{name}'", hint=did_you_mean(name, (*names, *waits)))
    for name in (each for each in bounds.rates if each not in (ANY_TYPE, *shown_types)):
        what = "is caused by others" if name in names else "is not one of them"
        raise InputError(
            f"rates are for events from outside, and '{name}' {what}", hint=did_you_mean(name, shown_types)
        )
    for name in bounds.any_facts:
        facts = [each.name for rules in rule_sets for each in rules.declarations.values() if each.fact]
        if name not in facts or name in bounds.facts:
            what = "has its facts already" if name in bounds.facts else "is not a type of facts"
            raise InputError(f"'{name}' {what}", hint=did_you_mean(name, facts))
    for name in bounds.changing:
        if name not in bounds.any_facts:
            hint = did_you_mean(name, bounds.any_facts)
            raise InputError(f"'{name}' changes, but its maximum number of rows is not stated", hint=hint)
    inputs = [(rules, name) for rules in rule_sets for name in (*rules.primitives, *bounds.any_facts)]
    known = [f"{name}.{a}" for rules, name in inputs for a in rules.declarations[name].domains]
    for name in map(".".join, bounds.values):
        if name not in known:
            raise InputError(f"events have no attribute '{name}'", hint=did_you_mean(name, known))
