"""Rules in a model: a processor with a clock in ticks and a finite machine.

The rule of this module: the processor is that of `rule_processor`, with the same engine; only its clock and its values
differ, so that a run of the model is a run of the rules. Whatever a model cannot represent is an overflow, never a
different result.

Source: design of rules in the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from workbench.core.domain import BOOL, INT, STR, Domain, Enum, ModelScope, Value
from workbench.core.fields import Record
from workbench.core.kinds import Keeping, Lacking
from workbench.core.processor import Emission, State, Stream, emission
from workbench.core.term import exactly
from workbench.core.units import format_time
from workbench.errors import EndlessChain, Overflow
from workbench.tesla.formulas import TREX
from workbench.tesla.model.encoding import ValueEncoding, ticks_of
from workbench.tesla.model.guarded_values import ValueTable
from workbench.tesla.model.needs import computes
from workbench.tesla.model.run_constants import CHAIN, ModelOutput, RuleFrame, output_of, waiting_of
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_memory import HappensOrFacts, RuleMemory
from workbench.tesla.rule_processor import ALL, RuleProcessor
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Selected, value

FactRows = tuple[tuple[str, Value], ...]
"""The rows of facts that came so far: the type, and the value on the stream, of each."""
_ROWS: FactRows = ()


@dataclass(frozen=True)
class RulesInTicks(RuleProcessor, Keeping):
    """Rules in ticks: the first input carries the ticks that pass, the others events with values from tables.

    Parameters
    ----------
    frame: the constants of the machine.
    tick, unit: the length of a tick, in the unit of times; `us` if windows have units.
    max_ticks: the maximum number of ticks in one step.
    outputs: the values of the attributes of composites, as encoded on outputs.
    by_rule: whether the composites of each rule are an output, too, named by `output_of`.
    chain: the length of chains of causes whose last composites are an output, named `CHAIN`; 0: no such output.
    replayed: whether values that the model lacks are emitted as such; otherwise they are an overflow.
    limits: what rules distinguish and the model does not, a sentence each.
    """

    frame: RuleFrame = field(hash=False, compare=False, repr=False, kw_only=True)
    by_rule: bool = field(default=False, kw_only=True)
    chain: int = field(default=0, kw_only=True)
    replayed: bool = field(default=False, kw_only=True)
    limits: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    tick: int = field(kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    max_ticks: int = field(kw_only=True)
    outputs: Mapping[tuple[str, str], ValueTable] = field(hash=False, compare=False, repr=False, kw_only=True)

    keyword: ClassVar[str] = ""
    holds: ClassVar[str] = "events"

    # --- shape ---

    @property
    def ports(self) -> tuple[str, ...]:
        return ("elapsed", *self.fed)

    @cached_property
    def clocks(self) -> Mapping[int, str]:
        return {}

    @property
    def results_named(self) -> tuple[str, ...]:
        return tuple(each.name for each in self._outputs)

    @cached_property
    def _outputs(self) -> tuple[ModelOutput, ...]:
        outputs = [ModelOutput(name, type=name) for name in self.rules.composites]
        outputs.append(ModelOutput(ALL))
        outputs += [ModelOutput(output_of(rule), rule=rule.name) for rule in self.rules.rules if self.by_rule]
        return (*outputs, ModelOutput(CHAIN, chain=self.chain)) if self.chain else tuple(outputs)

    @cached_property
    def scaled(self) -> RuleSet:
        return in_units(self.rules, self.unit, trex=self.trex)

    def resolve(self, over: Domain | ModelScope) -> Self:
        return self

    # --- typing ---

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, shapes=inputs)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        kinds = Enum(self.rules.composites)
        emitted = {rule.name: rule.emits for rule in self.rules.rules}
        types = (each.type or emitted.get(each.rule, "") for each in self._outputs)
        return tuple(self._record(type) if type else kinds for type in types)

    def _record(self, type: str) -> Domain:
        domains = {name: each.domain for (of, name), each in self._output_encodings.items() if of == type}
        return Record(tuple(domains.values()), tuple(domains)) if domains else BOOL

    @cached_property
    def _output_encodings(self) -> Mapping[tuple[str, str], ValueEncoding]:
        declared = {name: self.rules.declarations[name].domains for name in self.rules.composites}
        return {
            (name, attribute): ValueEncoding.of(self.outputs[name, attribute], texts=domain == STR)
            for name, domains in declared.items()
            for attribute, domain in domains.items()
            if (name, attribute) in self.outputs
        }

    @property
    def sampling(self) -> tuple[str, ...]:
        computed = ["rules compute with values: other values may give another answer"] * computes(self.rules)
        return (*computed, *self.limits)

    @property
    def assumes(self) -> tuple[str, ...]:
        longest = (
            ""
            if self.max_ticks == 1
            else f", and pauses of more than {self.max_ticks} of them count as {self.max_ticks}"
        )
        values = [
            f"{name}.{attribute} is {self._input_encodings[name, attribute].domain}"
            for name in self._types
            for attribute in self.rules.declarations[name].domains
        ]
        assumptions = [f"times are multiples of {self._time(1)}{longest}"]
        changes = dict.fromkeys(self.frame.changing, ", which may change between two events")
        assumptions += [
            f"{name} has arbitrary rows, at most {max_rows}{changes.get(name, '')}"
            for name, max_rows in self.frame.fixed_facts.items()
        ]
        rates = self.frame.rates.items()
        assumptions += [
            f"at most {rate.max_events} {name} come in any {self._time(rate.ticks)}" for name, rate in rates
        ]
        assumptions += [f"windows and consumption of {self.rules.name} are as in T-Rex"] if self.trex else []
        nulls = any(None in self.frame.tables[key].values for key in self._input_encodings)
        rest = "no other one is null" if nulls else "none is null"
        return (*assumptions, *([f"{', '.join(values)}; {rest}"] if values else []))

    def _time(self, ticks: int) -> str:
        return format_time(ticks * self.tick) if self.unit else str(ticks * self.tick)

    # --- queues inside ---

    @property
    def capacities(self) -> Mapping[str, int | None]:
        return dict(self.frame.capacities)

    def with_capacities(self, capacities: Mapping[str, int]) -> Self:
        return replace(self, frame=self.frame.with_capacities(capacities))

    def waiting(self, state: State) -> tuple[int, ...]:
        _, memory, events, *_ = state
        types = [event.type for event, _ in events]
        waits = memory.awaiting if self.frame.absences and isinstance(memory, RuleMemory) else {}
        return (*map(types.count, self.frame.layout.columns), *(waits.get(r.name, 0) for r in self.frame.absences))

    @property
    def queue_domains(self) -> tuple[Domain, ...]:
        """The types of columns as queues: their events with their ages in ticks."""
        records = []
        for name in self.frame.layout.columns:
            encodings = self._attributes(name)
            age = "age" if "age" not in encodings else "ticks"
            domains = (INT, *(each.domain for each in encodings.values()))
            records.append(Record(domains, (age, *encodings)))
        return tuple(records)

    def queue_contents(self, state: State) -> tuple[Sequence[Value], ...]:
        now, _, events, *_ = state
        contents: dict[str, list[Value]] = {name: [] for name in self.frame.layout.columns}
        for event, _ in events:
            names, encodings = self.rules.declarations[event.type].positions, self._attributes(event.type)
            own = dict(zip(names, event.values, strict=True))
            values = [each.code_of(own[name]) for name, each in encodings.items()]
            age = min((now - event.time) // self.tick, max(self.frame.layout.columns[event.type].limit, 1))
            contents[event.type].append((age, *values))
        return tuple(contents.values())

    def _attributes(self, type: str) -> dict[str, ValueEncoding]:
        """Return the attributes that a column retains of its events, with their encodings."""
        encodings = {**self._input_encodings, **self._output_encodings}
        return {
            name: encodings[type, name]
            for name in self.frame.layout.columns[type].attributes
            if (type, name) in encodings
        }

    def for_replay(self) -> Self:
        return replace(self, replayed=True)

    # --- meaning and operation ---

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        steps = [{self.ports[port]: each} for port, each in streams[0]]
        meant = self._evaluate_meaning(list(self.happenings(steps)), self.with_facts(steps).frame.facts, None)
        return tuple(map(list, self._encode_outputs(meant)))

    def initial(self) -> State:
        return (0, "", (), 0, ())

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        state, composites, _ = self.process(state, front)
        return state, tuple(map(emission, self._encode_outputs(composites))) if composites else self._silent

    def process(self, state: State, front: tuple[Any, ...]) -> tuple[State, Sequence[Occurrence], Mapping[str, int]]:
        """Make a step: return the next state, the composites, and the maximum lengths of columns and waiting lines."""
        (now, memory, events, count, rows), (port, item) = state, front
        if (name := self.ports[port]) in self.frame.fact_inputs:
            before, rows = rows, self._with_row(rows, name, item, has_begun=bool(memory))
            if memory and rows != before:  # an engine with the new facts continues from its state
                memory = RuleMemory(
                    self._on(rows)._start_engine, str(memory.saved() if isinstance(memory, RuleMemory) else memory)
                )
            return (now, memory, events, count, rows), (), {}
        if port == 0:
            if not (passed := ticks_of(item)):
                return state, (), {}
            now += passed * self.tick
        if not isinstance(memory, RuleMemory):
            memory = RuleMemory(self._on(rows)._start_engine, memory)
        happening = now if port == 0 else self.event(name, item, now)
        try:
            memory, composites = memory.after(happening)
        except EndlessChain as error:
            raise Overflow(error.what, hint="let a condition or a window end the cascade") from error
        # composites of a deadline have its time, and precede the present
        came, held = [*composites, happening] if port == 0 else [happening, *composites], dict[str, int]()
        for each in came:
            if isinstance(each, Occurrence):
                count += 1
                events = self._with_event(self._drop_old(events, each.time, count), replace(each, number=count - 1))
                held[each.type] = max(held.get(each.type, 0), sum(other.type == each.type for other, _ in events))
        events = self._drop_old(events, now, count)
        return (now, memory, events, count, rows), composites, {**held, **self._check_waiting(memory, composites)}

    def _check_waiting(self, memory: RuleMemory, composites: Sequence[Occurrence]) -> Mapping[str, int]:
        """Return the numbers of waiting matches; Overflow if they exceed the capacity, or a chain exceeds the depth."""
        waits, limits = memory.awaiting if self.frame.absences else {}, self.frame.layout.waits
        for rule in self.frame.absences:
            if waits[rule.name] > limits[rule.name]:
                queue = waiting_of(rule)
                what = f"queue '{queue}' overflows: its capacity is {limits[rule.name]} and more matches wait"
                raise Overflow(what, hint=f"give it more capacity: -Q NAME.{queue}={waits[rule.name]}", queue=queue)
        for each, chain in _measure_chains(composites):
            if chain > self.frame.depth and each.type in self.frame.types_read:
                raise Overflow(
                    f"a chain of more than {self.frame.depth} composites", hint="let a condition end the cascade sooner"
                )
        return {waiting_of(rule): waits[rule.name] for rule in self.frame.absences}

    def _drop_old(self, events: tuple[Any, ...], now: int, count: int) -> tuple[Any, ...]:
        """Return the events that can still be selected at a time, after this number of events."""

        def stays(event: Occurrence) -> bool:
            column = self.frame.layout.columns[event.type]
            recent = now - event.time <= column.limit * self.tick
            return recent or count - event.number <= column.distance or column.endless

        return tuple(each for each in events if stays(each[0]))

    def _with_event(self, events: tuple[Any, ...], event: Occurrence) -> tuple[Any, ...]:
        column = self.frame.layout.columns.get(event.type)
        if column is None:
            return events
        own = dict(zip(self.rules.declarations[event.type].positions, event.values, strict=True))
        if not any(all(value(each, Selected(), own) is True for each in constraints) for constraints in column.filters):
            return events
        key = None if column.newest is None else tuple(exactly(own[name]) for name in column.newest)
        if column.oldest and any(each[0].type == event.type and each[1] == key for each in events):
            return events
        events = tuple(each for each in events if key is None or each[0].type != event.type or each[1] != key)
        if sum(each[0].type == event.type for each in events) >= column.capacity:
            what = f"queue '{event.type}' overflows: its capacity is {column.capacity}, and more would be retained"
            raise Overflow(
                what, hint=f"give it more capacity: -Q NAME.{event.type}={column.capacity + 1}", queue=event.type
            )
        return (*events, (event, key))

    # --- events and values ---

    @cached_property
    def _input_encodings(self) -> Mapping[tuple[str, str], ValueEncoding]:
        names = [(name, each) for name in self._types for each in self.rules.declarations[name].domains]
        return {key: ValueEncoding.of(self.frame.tables[key], exact=True) for key in names}

    @property
    def _types(self) -> Iterator[str]:
        """The types whose events or facts inputs bring."""
        return (name for name in self.fed if name not in self.frame.clearing_inputs)

    def event(self, name: str, code: Value, now: int) -> Occurrence:
        """Decode an event of a type from its value on a stream."""
        values = [self._input_encodings[name, each].decode_value(item) for each, item in self.attributes(name, code)]
        return Occurrence(name, now, tuple(values))

    def attributes(self, name: str, code: Any) -> Iterator[tuple[str, Any]]:
        """Yield the attributes of an event of a type, each with its value on a stream."""
        domains = self.rules.declarations[name].domains
        return zip(domains, code if domains else (), strict=True)

    def happenings(self, steps: Iterable[Mapping[str, Value]]) -> Iterator[HappensOrFacts]:
        """Yield the happenings of a run: events with times, times that the clock reaches, in `unit`, and new facts."""
        return itertools.chain.from_iterable(self._list_happenings(steps))

    def _list_happenings(self, steps: Iterable[Mapping[str, Value]]) -> Iterator[list[HappensOrFacts]]:
        """Yield the happenings of each step."""
        now, has_begun, rows = 0, False, _ROWS
        for step in steps:
            happenings: list[HappensOrFacts] = []
            for name, item in step.items():
                if name in self.frame.fact_inputs:
                    before, rows = rows, self._with_row(rows, name, item, has_begun=has_begun)
                    happenings += [self._on(rows).frame.facts] if has_begun and rows != before else []
                    continue
                has_begun = True
                now += ticks_of(item) * self.tick if name == self.ports[0] else 0
                happenings.append(now if name == self.ports[0] else self.event(name, item, now))
            yield happenings

    def growing(self, steps: Sequence[Mapping[str, Value]]) -> Mapping[str, Sequence[str]]:
        """Return the growth of the matches of each rule."""
        from workbench.tesla.match_growth import follow_matches

        whole = self.with_facts(steps)
        at = [happenings[0] if happenings else None for happenings in self._list_happenings(steps)]
        facts = {name: tuple(rows) for name, rows in whole.frame.facts.items()}
        return follow_matches(self.scaled, whole._start_engine(), at, facts, TREX if self.trex else "", self.rules)

    def with_facts(self, steps: Iterable[Mapping[str, Value]]) -> Self:
        """Return the processor with the facts that are given at the start of a run, if any."""
        rows = _ROWS
        for name, item in (each for step in steps for each in step.items()):
            if name not in self.frame.fact_inputs:
                break
            rows = self._with_row(rows, name, item, has_begun=False)
        return self._on(rows)

    def _with_row(self, rows: FactRows, name: str, code: Value, *, has_begun: bool) -> FactRows:
        """Return the rows after an input has brought a row, or cleared them."""
        if type := self.frame.clearing_inputs.get(name):
            return tuple(each for each in rows if each[0] != type)
        late = has_begun and name not in self.frame.changing
        full = sum(of == name for of, _ in rows) >= self.frame.fixed_facts[name]
        return rows if late or full else (*rows, (name, code))

    def _on(self, rows: FactRows) -> Self:
        """Return the processor with these facts."""
        if not self.frame.fixed_facts:
            return self
        facts: dict[str, list[tuple[Value | None, ...]]] = {name: [] for name in self.frame.fixed_facts}
        for name, code in rows:
            facts[name].append(self.event(name, code, 0).values)
        frame = replace(self.frame, facts={**self.frame.facts, **facts})
        return replace(self, frame=frame, facts=frame.facts)

    def _encode_outputs(self, composites: Sequence[Occurrence]) -> tuple[list[Value], ...]:
        outputs: dict[str, list[Value]] = {name: [] for name in self.results_named}
        for each, chain in _measure_chains(composites):
            values: dict[str, Any] = {}
            for name, item in zip(self.rules.declarations[each.type].positions, each.values, strict=True):
                if (encoding := self._output_encodings.get((each.type, name))) is None:
                    continue
                values[name] = encoding.code_of(item)
                if exactly(item) in encoding.codes and exactly(item) in self.frame.table(each.type, name).places:
                    continue
                values[name] = Lacking(values[name])
                if not self.replayed:
                    raise Overflow(
                        f"{each.type}.{name} is {item!r}, which is not among the values that the model has",
                        hint="give the attributes of events fewer values: --values TYPE.ATTRIBUTE=1..4",
                    )
            for output in self._outputs:
                if output.has(each.type, each.rule, chain):
                    outputs[output.name].append(self.row(output, each.type, values))
        return tuple(outputs.values())

    def row(self, output: ModelOutput, type: str, values: Mapping[str, Any]) -> Value:
        """Encode a composite of a type with these values for an output."""
        return type if output.typed else tuple(values.values()) or True


def _measure_chains(composites: Sequence[Occurrence]) -> Iterator[tuple[Occurrence, int]]:
    """Yield composites that are published together, each with the length of the chain of causes that it ends."""
    lengths: dict[int, int] = {}
    for each in composites:
        lengths[each.number] = lengths.get(each.sources[0], 0) + 1
        yield each, lengths[each.number]
