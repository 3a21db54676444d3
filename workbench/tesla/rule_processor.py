"""The processor for rules: events of several types in, composites out.

The rule of this module: it connects rules with streams, and defines nothing about rules. Their meaning is
`meaning`, which shares only tables with the engines that run them.

The events of a step have its time, which arrives before them on the first input; they come in the order of the
inputs. Events before the first time are older than all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Self

from workbench.core.domain import INT, Domain, Enum, Integer, Integers, ModelScope, Range, Value
from workbench.core.fields import Nullable, Record, fit_value, resolve
from workbench.core.form import Form
from workbench.core.kinds import FileProcessor
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Emission, State, Stream, emission
from workbench.core.readable import plural
from workbench.errors import InputError, PipelineError, TypingError, did_you_mean
from workbench.tesla import tree as t
from workbench.tesla.formulas import TREX
from workbench.tesla.occurrence import Facts, Occurrence, in_units, rows_of
from workbench.tesla.rule_memory import HappensOrFacts, RuleMemory
from workbench.tesla.rule_set import RuleSet, find_shared_domains
from workbench.tesla.rule_streams import Nulls, list_attributes, may_be_null, record_of, value_reader

BEGINNING = -(1 << 62)
"""The time of events that come before the first time."""
ALL = "all"
"""The name of the output with all composites, their types and times, in the order of publication."""


@dataclass(frozen=True)
class RuleProcessor(FileProcessor):
    """Emits the composites of rules, each on the output of its type, and all of them on `all`.

    Parameters
    ----------
    facts: the facts of the rules for the whole run; None: none are given.
    trex: whether windows and consumption are as in T-Rex.
    fed: the types of the events on its inputs, after the time.
    engine: the name of the engine that runs the rules.
    shapes: the types of the inputs; typing sets them.
    integers: the domain of `int` in composites.
    """

    rules: RuleSet = field(hash=False)
    fed: tuple[str, ...]
    engine: str = "cdp"
    shapes: tuple[Domain, ...] = ()
    integers: Domain = INT
    facts: Facts | None = field(default=None, hash=False, repr=False)
    trex: bool = False

    keyword: ClassVar[str] = "rules"
    symbol: ClassVar[str] = "⚑"
    merges: ClassVar[bool] = True
    marks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.rules.composites or ALL in self.rules.composites:
            what = "no rule emits anything" if not self.rules.composites else f"a type of composites is called '{ALL}'"
            raise PipelineError(f"{what}, in {self.rules.name}", hint="such rules cannot be part of a pipeline")
        if not self.fed:
            raise PipelineError(f"no stream feeds the rules of {self.rules.name}", hint=self.signature)
        bare = [each for each in _list_durations(self.rules) if not each.unit]
        if bare and any(_list_units(self.rules)):
            hint = "write its unit: the log defines the unit of a bare number"
            raise PipelineError(f"{bare[0]} needs a unit: other windows have units", where=bare[0].where, hint=hint)

    @property
    def signature(self) -> str:
        """A description of the streams that it needs."""
        return f"streams are, in this order: {', '.join(self.rules.primitives)}"

    def __str__(self) -> str:
        return f"rules({', '.join((self.rules.name, *self.fed))})"

    @property
    def label(self) -> str:
        return f"{self.symbol} {self.rules.name}"

    # --- shape ---

    @property
    def in_arity(self) -> int:
        return 1 + len(self.fed)

    @property
    def out_arity(self) -> int:
        return len(self.results_named)

    @property
    def ports(self) -> tuple[str, ...]:
        return ("time", *self.fed)

    @property
    def results_named(self) -> tuple[str, ...]:
        return (*self.rules.composites, ALL)

    @cached_property
    def clocks(self) -> Mapping[int, str]:
        units = {*_list_units(self.rules)}
        return {0: "us" if True in units else "numbers" if units else "any"}

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return None

    def resolve(self, over: Domain | ModelScope) -> Self:
        return replace(self, integers=resolve(self.integers, over))

    # --- typing ---

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        time, *events = inputs
        if not isinstance(time, Integers | Integer | Range):
            raise TypingError(f"the time of rules is in whole numbers, not {time}", hint="cast it")
        for name, domain in zip(self.fed, events, strict=True):
            value_reader(self.rules.declarations[name], domain)
        return replace(self, shapes=inputs)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        nulls = may_be_null(self.rules, self._find_nulls(inputs[1:]))
        emitted = [self.rules.declarations[name] for name in self.rules.composites]
        records = [resolve(record_of(each, nulls[each.name]), self.integers) for each in emitted]
        columns: dict[str, Domain] = {"type": Enum(self.rules.composites), "time": INT}
        for name, domain in find_shared_domains(emitted).items():
            always = all(name in each.domains and name not in nulls[each.name] for each in emitted)
            columns[name] = resolve(domain if always else Nullable(domain), self.integers)
        return (*records, Record(tuple(columns.values()), tuple(columns)))

    def _find_nulls(self, events: Sequence[Domain]) -> Nulls:
        """Return the attributes that may be null: on the inputs, and all of facts, which are unknown here."""
        nulls = {name: frozenset(self.rules.declarations[name].domains) for name in self.fact_types}
        for name, domain in zip(self.fed, events, strict=True):
            attributes = list_attributes(self.rules.declarations[name], domain)
            nulls[name] = frozenset(attribute for attribute, _, part in attributes if isinstance(part, Nullable))
        return nulls

    # --- meaning ---

    @cached_property
    def scaled(self) -> RuleSet:
        """The rules with windows as whole numbers."""
        return in_units(self.rules, "us" if self.clocks[0] == "us" else None, trex=self.trex)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        now: int | None = None
        events = []
        for port, value in streams[0]:
            if port == 0:
                _check_time(now, value)
                now = value
            else:
                events.append(self._read_event(port, value, now))
        return tuple(map(list, self._collect_outputs(self._evaluate_meaning(events, rows_of(self.facts or {}), now))))

    def _evaluate_meaning(self, events: Sequence[HappensOrFacts], facts: Facts, now: int | None) -> list[Occurrence]:
        from workbench.tesla.meaning import meaning

        until = None if now is None else now - 1
        return meaning(self.scaled, events, facts, until=until, compat=TREX if self.trex else "")

    # --- operation ---

    def initial(self) -> State:
        return (None, "")

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        (now, memory), (port, value) = state, front
        if port == 0:
            _check_time(now, value)
            if value == now:
                return state, self._silent
            now = value
        if not isinstance(memory, RuleMemory):
            memory = RuleMemory(self._start_engine, memory)
        memory, composites = memory.after(now if port == 0 else self._read_event(port, value, now))
        return (now, memory), tuple(map(emission, self._collect_outputs(composites))) if composites else self._silent

    def refusal(self, form: Form) -> str:
        if form != Form.VALUES:
            return "rules retain an unbounded number of events"
        if self.facts is None and self.fact_types:
            return f"it needs facts of type {self.fact_types[0]}: add --facts"
        return ""

    @cached_property
    def fact_types(self) -> tuple[str, ...]:
        looked_at = {name for rule in self.rules.rules for name in rule.types}
        return tuple(name for name, declared in self.rules.declarations.items() if declared.fact and name in looked_at)

    @cached_property
    def _silent(self) -> tuple[Emission, ...]:
        return (emission(()),) * self.out_arity

    def _start_engine(self) -> Any:
        from workbench.tesla.engines.engine import EngineSettings, rule_engine

        return rule_engine(self.scaled, self.engine, self.facts, EngineSettings(trex=self.trex))

    # --- events and values ---

    @cached_property
    def _readers(self) -> tuple[Callable[[Value], tuple[Value, ...]], ...]:
        declared = (self.rules.declarations[name] for name in self.fed)
        return tuple(value_reader(each, domain) for each, domain in zip(declared, self.shapes[1:], strict=True))

    def _read_event(self, port: int, value: Value, now: int | None) -> Occurrence:
        return Occurrence(self.fed[port - 1], BEGINNING if now is None else now, self._readers[port - 1](value))

    @cached_property
    def _domains(self) -> Mapping[str, Domain]:
        return dict(zip(self.results_named, self.results(self.shapes), strict=True))

    def _collect_outputs(self, composites: Sequence[Occurrence]) -> tuple[list[Value], ...]:
        """Return the composites for each output."""
        outputs: dict[str, list[Value]] = {name: [] for name in self.results_named}
        everything = self._domains[ALL]
        assert isinstance(everything, Record)
        for each in composites:
            domain, names = self._domains[each.type], self.rules.declarations[each.type].positions
            values = fit_value(domain, each.values) if names else ()
            outputs[each.type].append(values if names else True)
            row = {"type": each.type, "time": each.time, **dict(zip(names, values, strict=True))}
            outputs[ALL].append(tuple(map(row.get, everything.labels)))
        return tuple(outputs.values())

    # --- use ---

    @property
    def landmarks(self) -> tuple[Value, ...]:
        values: list[Value] = [0, 1, "a", "b"]
        for rule in self.rules.rules:
            inside = [each for part in rule.parts for each in part.constraints]
            leaves = (leaf for each in (*inside, *rule.where_clause) for leaf in t.within(each))
            values += [leaf.value for leaf in leaves if isinstance(leaf, t.Literal)]
        return tuple(values)

    @property
    def pauses(self) -> tuple[int, ...]:
        return tuple(int(each.amount) for each in _list_durations(self.scaled))

    @classmethod
    def of(cls, rules: RuleSet, ordered: int, named: Sequence[str]) -> tuple[Self, Sequence[int]]:
        """Make a processor as `of_file` does, from a rule set."""
        types = rules.primitives
        if ordered > len(types):
            what = f"{rules.name} takes {plural(len(types), 'stream')}, {ordered} are given"
            raise PipelineError(what, hint=f"streams are, in this order: {', '.join(types)}")
        stream_names = list(types[:ordered])
        for name in named:
            if name not in rules.events:
                raise PipelineError(f"{rules.name} has no events '{name}'", hint=did_you_mean(name, rules.events))
            if name in stream_names:
                raise PipelineError(f"two streams are given for '{name}'", hint="leave one out")
            stream_names.append(name)
        looked_at = {name for rule in rules.rules for name in rule.types}
        if missing := [name for name in types if name in looked_at and name not in stream_names]:
            what = f"rules of {rules.name} read '{missing[0]}', but no stream is given for it"
            raise PipelineError(what, hint=f"add it after the others, or by name: {missing[0]} = STREAM")
        fed = [name for name in rules.events if name in stream_names]
        return cls(rules, tuple(fed)), [stream_names.index(name) for name in fed]

    @classmethod
    def of_file(cls, path: str, ordered: int, named: Sequence[str]) -> tuple[Self, Sequence[int]]:
        from workbench.tesla.check import load_rules

        return cls.of(load_rules(path), ordered, named)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return tuple(cls(rules, rules.primitives) for rules in _samples())


class RuleGraph(Pipeline):
    """A pipeline made of a rule set."""

    kind = "rule set"


def rule_graph(rules: RuleSet) -> RuleGraph:
    """Return a rule set as a pipeline, whose inputs carry records of attributes that may be null."""
    processor = RuleProcessor(rules, rules.primitives)
    domains = (INT, *(record_of(rules.declarations[name]) for name in processor.fed))
    return rule_graph_of(processor, domains)


def rule_graph_of(processor: RuleProcessor, domains: Sequence[Domain]) -> RuleGraph:
    """Return the pipeline with a single processor, given the types of its inputs."""
    name, inputs = processor.rules.name, zip(processor.ports, domains, strict=True)
    pipes = tuple(f"{name}_{each}" for each in processor.results_named)
    outputs = zip(processor.results_named, pipes, strict=True)
    return RuleGraph(name, tuple(inputs), (Node(name, processor, processor.ports, pipes),), tuple(outputs))


def feed_rules(rules: RuleSet, streams: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Apply rules to streams of a pipeline under construction, and return the streams of composites."""
    processor, order = RuleProcessor.of(rules, len(streams), list(named))
    all_streams = [*streams, *named.values()]
    return processor(*(all_streams[index] for index in order))


def _check_time(before: int | None, time: int) -> None:
    if before is not None and time < before:
        raise InputError(f"the time goes back from {before} to {time}", hint="sort the events by time")


def _list_durations(rules: RuleSet) -> Iterator[t.Duration]:
    """Yield all times in rules that are longer than zero."""
    return (each for rule in rules.rules for each in rule.durations if each.amount and not each.counts)


def _list_units(rules: RuleSet) -> Iterator[bool]:
    return (bool(each.unit) for each in _list_durations(rules))


@cache  # random pipelines use them often
def _samples() -> tuple[RuleSet, ...]:
    from workbench.tesla.check import parse_rules

    texts = {
        "alarms": """
declare Temp(value: int)
declare Smoke(area: int)
declare Fire(area: int, value: int, count: int)
rule fire:
from Smoke[$a = area]() and last Temp[$v = value](value > 1) as Hot within 2 from Smoke
  and $n = COUNT(Temp() within 2 from Smoke)
emit Fire(area = $a, value = $v, count = $n)
consuming Hot
""",
        "silence": """
declare A(v: int)
declare B(v: int)
declare Quiet(v: int, greatest: int)
declare Twice(v: int)
from A as Start and absent B(v == Start.v) within 2 after Start and $m = MAX(A().v within 3 from Start)
emit Quiet(v = Start.v, greatest = $m)
from Quiet[$v = v]() and each Quiet() as Before within 5 from Quiet
emit Twice(v = $v + Before.v)
""",
    }
    return tuple(parse_rules(text, name) for name, text in texts.items())
