"""Rules in a model of a pipeline: streams with finite domains feed them, and a step may bring several events.

The rule of this module: the events of a step are processed one by one, time first, as in a run of the rules; each
one is a step of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from workbench.core.domain import BOOL, FLOAT, INT, NULL, Domain, Enum, Integer, Overflowing, Range, Unknown, Value
from workbench.core.fields import Record, within
from workbench.core.ops import NE, both
from workbench.core.processor import Emission, Machine, Maybe, State
from workbench.core.strict_values import find_guard, leaves_domain, leaves_model
from workbench.core.term import TRUE, Term, const, var
from workbench.errors import Overflow
from workbench.tesla.model.encoding import ValueEncoding, pause_domain
from workbench.tesla.model.guarded_values import ValueTable
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.model.rule_step import ModelComposite
from workbench.tesla.model.run_constants import ModelOutput
from workbench.tesla.model.state import variables
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_processor import ALL
from workbench.tesla.rule_set import find_shared_domains
from workbench.tesla.rule_streams import list_attributes, may_be_null

UNKNOWN = Unknown()


@dataclass(frozen=True)
class RulesInPipeline(ModelledRules):
    """Modelled rules on pipes: `int` is `integers`, and records have the fields that exist in a model."""

    still: bool = field(default=False, kw_only=True)
    """Whether a step may take no time."""
    singly: ClassVar[bool] = False

    @property
    def assumes(self) -> tuple[str, ...]:
        times, *others = super().assumes
        pauses = pause_domain(self.max_ticks, 0 if self.still else 1)
        if isinstance(pauses, Enum):
            times += f"; {', '.join(pauses.labels)} of them pass in a step"
        elif self.frame.absences:
            times += ", one of which passes in a step at most"
        return (times, *others, "each step has a time")

    # --- steps ---

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return 1

    def bound_fronts(self, widths: Sequence[int]) -> int:
        """Return the number of events that a step may emit: the emission of a front depends on its input."""
        return max(1, sum(width * burst for width, burst in zip(widths, self._bursts, strict=True)))

    @cached_property
    def _bursts(self) -> tuple[int, ...]:
        """The maximum number of events that one event on each input causes to be emitted."""
        state = tuple(var(name, domain) for name, domain, _ in variables(self.frame.template))
        ways = [self.way(state, port, var(f"{port}:value", domain)) for port, domain in enumerate(self.shapes)]
        return tuple(max(map(len, self.emitted([(TRUE, way)]))) for way in ways)

    def rounds(self, arrivals: Sequence[Sequence[Maybe]]) -> list[tuple[Any, tuple[Any, ...]]]:
        """Return the rounds of a step: the time that passes, then one event after the other."""
        return [(self._comes(port, slot), (port, slot.value)) for port, s in enumerate(arrivals) for slot in s]

    def _comes(self, port: int, slot: Maybe) -> Any:
        if port or not self.still:
            return slot.present
        return both(slot.present, NE(slot.value, 0))

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        machine = super().machine(inputs, horizon)
        return machine._replace(step=self._front)

    def _front(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        """Process one event, or the time that passes, as terms."""
        port, item = front
        way = self.way(state, port, item, find_guard())
        leaves_model(way.beyond)
        leaves_domain(way.outside)
        emitted = self.bursts(self.emitted([(TRUE, way)]), self._bursts[port])
        return (*way.state, *(way.full[name] for name in self.frame.capacities)), emitted

    # --- encodings of pipes ---

    @cached_property
    def _input_attributes(self) -> Mapping[str, Sequence[tuple[str, int | None, Domain]]]:
        declared = self.rules.declarations
        fed = zip(self.fed, self.shapes[1:], strict=True)
        return {name: list(list_attributes(declared[name], domain, modelled=True)) for name, domain in fed}

    @cached_property
    def _input_encodings(self) -> Mapping[tuple[str, str], ValueEncoding]:
        encodings = {}
        for name, fields in self._input_attributes.items():
            domains = self.rules.declarations[name].domains
            for attribute, _, part in fields:
                codes, table = list(part.values()), self.frame.tables[name, attribute]
                meanings = (meaning_of(each, domains[attribute]) for each in codes)
                encodings[name, attribute] = ValueEncoding.of_pairs(table, part, meanings, codes)
        return encodings

    def attributes(self, name: str, code: Any) -> Iterator[tuple[str, Any]]:
        for attribute, index, _ in self._input_attributes[name]:
            yield attribute, code if index is None else code[index]

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return tuple(self._everything if each.name == ALL else self._record(each.type) for each in self._outputs)

    def _record(self, type: str) -> Domain:
        """Return the fields of composites in a run, in their order; a model lacks the values of some."""
        names = self.rules.declarations[type].domains
        domains = [
            encoding.domain if (encoding := self._output_encodings.get((type, name))) else UNKNOWN for name in names
        ]
        return Record(tuple(domains), tuple(names)) if names else BOOL

    @cached_property
    def _everything(self) -> Record:
        types = self.rules.composites
        columns: dict[str, Domain] = {"type": Enum(types), "time": UNKNOWN}
        for name in find_shared_domains(self.rules.declarations[each] for each in types):
            domains = {
                encoding.domain if (encoding := self._output_encodings.get((of, name))) else UNKNOWN for of in types
            }
            columns[name] = domains.pop() if len(domains) == 1 else UNKNOWN
        return Record(tuple(columns.values()), tuple(columns))

    @cached_property
    def _output_encodings(self) -> Mapping[tuple[str, str], ValueEncoding]:
        events = dict.fromkeys(self.fed, frozenset[str]())
        facts = {name: self._null_in(name) for name in self.fact_types}
        nulls = may_be_null(self.rules, {**events, **facts})
        return {
            (of, name): self._encode_attribute(domain, self.outputs[of, name])
            for of in self.rules.composites
            for name, domain in self.rules.declarations[of].domains.items()
            if (of, name) in self.outputs and name not in nulls[of]
        }

    def _null_in(self, type: str) -> frozenset[str]:
        """Return the attributes that are null in some of the facts, which are known here."""
        rows, names = self.frame.facts.get(type, ()), self.rules.declarations[type].domains
        return frozenset(name for index, name in enumerate(names) if any(row[index] is None for row in rows))

    def _encode_attribute(self, domain: Domain, table: ValueTable) -> ValueEncoding:
        """Encode the values of an attribute: numbers as in the pipeline, others by name."""
        if domain == BOOL:
            return ValueEncoding.of_pairs(table, BOOL, table.values, table.values)
        if domain == INT:
            whole = [value for value in table.values if isinstance(value, int)]
            if self._beyond and any(value not in self.integers for value in whole):
                return ValueEncoding.of_pairs(table, Range(min(whole), max(whole)), whole, whole)
            return ValueEncoding.of_pairs(table, self.integers, whole, map(self.integers.fit, whole))
        names = tuple(map(str, table.values))
        known = (part for shape in self.shapes for part in within(shape) if isinstance(part, Enum))
        labels = Enum(names or (NULL,))
        domain = next((part for part in known if set(labels.labels) <= set(part.labels)), labels)
        return ValueEncoding.of_pairs(table, domain, table.values, names)

    @cached_property
    def _beyond(self) -> bool:
        """Whether there are numbers outside the domain of the pipeline's `int`."""
        keys = (key for encoding in self._input_encodings.values() for key in encoding.codes)
        return any(type is int and value not in self.integers for type, value in keys)

    def row(self, output: ModelOutput, type: str, values: Mapping[str, Any]) -> Value:
        if output.typed:
            own = {**values, "type": type}
            return tuple(own[n] if d != UNKNOWN else UNKNOWN.default for n, d in self._fields(self._everything))
        names = self.rules.declarations[type].domains
        return tuple(values.get(name, UNKNOWN.default) for name in names) or True

    def value(self, here: Sequence[tuple[Term, ModelComposite]], *, typed: bool) -> Any:
        record = self._everything if typed else self._record(here[0][1].type)
        if not isinstance(record, Record):
            return TRUE
        kind = super().value(here, typed=True)
        return tuple(
            const(UNKNOWN.default, UNKNOWN) if domain == UNKNOWN
            else kind if typed and name == "type"
            else self.choose_attribute(here, name)
            for name, domain in self._fields(record)
        )  # fmt: skip

    @staticmethod
    def _fields(record: Record) -> Iterator[tuple[str, Domain]]:
        return zip(record.labels, record.fields, strict=True)

    def _encode_outputs(self, composites: Sequence[Occurrence]) -> tuple[list[Value], ...]:
        if isinstance(self.integers, Integer) and self.integers.overflow is Overflowing.CHECKED:
            for each in composites:
                for name, value in zip(self.rules.declarations[each.type].positions, each.values, strict=True):
                    encoding = self._output_encodings.get((each.type, name))
                    if encoding and encoding.domain == self.integers and value not in self.integers:
                        raise Overflow(f"{value} leaves the domain {self.integers}", hint="choose a larger domain")
        return super()._encode_outputs(composites)


def meaning_of(code: Value, domain: Domain) -> Value:
    """Return the attribute's value for a value on a stream of a model, which may be its name."""
    if domain == FLOAT:
        return float(code)
    return int(code) if domain == INT else code
