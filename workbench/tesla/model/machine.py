"""The finite machine of rules whose time is in ticks.

The rule of this module: a step on terms does the same as a step on values, which `ticks` defines.

Source: design of rules in the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.domain import BOOL, Domain, Enum
from workbench.core.form import Form
from workbench.core.ops import both, disjunction, ite
from workbench.core.processor import Burst, Emission, Machine, Maybe, State, slots_of
from workbench.core.strict_values import leaves_domain, leaves_model
from workbench.core.term import FALSE, TRUE, Term, const, var
from workbench.tesla.model.encoding import ticks_of
from workbench.tesla.model.guarded_values import GuardedValue, select
from workbench.tesla.model.rule_step import ModelComposite, ModelCourse, either_all
from workbench.tesla.model.state import variables
from workbench.tesla.model.ticks import RulesInTicks


@dataclass(frozen=True)
class ModelledRules(RulesInTicks):
    """Rules in ticks with a machine, for steps with one event each."""

    singly: ClassVar[bool] = True

    # --- steps ---

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self._machine_of(inputs)[1]

    def bound_fronts(self, widths: Sequence[int]) -> int:
        return 1

    def rounds(self, arrivals: Sequence[Sequence[Maybe]]) -> list[tuple[Any, tuple[Any, ...]]]:
        """Return one front: in each step one event comes or time passes, as the environment `one` ensures."""
        front = tuple(slots[0] for slots in arrivals)
        return [(disjunction(each.present for each in front), front)]

    # --- the machine ---

    def refusal(self, form: Form) -> str:
        return ""

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        return self._machine_of(inputs)[0]

    def _machine_of(self, inputs: tuple[Domain, ...]) -> tuple[Machine, int]:
        frame = self.frame
        slots = tuple(variables(frame.template))
        state = tuple(var(slot.name, slot.domain) for slot in slots)
        front = tuple(Maybe(var(f"{i}:present", BOOL), var(f"{i}:value", domain)) for i, domain in enumerate(inputs))
        _, emitted = self._step_terms(state, front)
        width = max(1, *(len(slots_of(each)) for each in emitted))
        return (
            Machine(
                slots,
                self._step_terms,
                queues=tuple(frame.capacities),
                lengths=lambda s: ModelCourse.read(frame, s).lengths,
                shares=True,
                comes=self._may_come if frame.rates else None,
            ),
            width,
        )

    def _step_terms(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        """Make one step on terms, from the state and, for each input, the event that may be present."""
        frame = self.frame
        before = ModelCourse.read(frame, state)
        ways = [(each.present, self.way(state, port, each.value, each.present)) for port, each in enumerate(front)]
        leaves_model(either_all(both(when, each.beyond) for when, each in ways))
        leaves_domain(either_all(both(when, each.outside) for when, each in ways))
        after = before.state
        for when, each in reversed(ways):
            after = tuple(ite(when, a, b) for a, b in zip(each.state, after, strict=True))
        full = tuple(either_all(both(when, each.full[name]) for when, each in ways) for name in frame.capacities)
        emitted = self.emitted(ways)
        return (*after, *full), self.bursts(emitted, max(1, *map(len, emitted)))

    def way(self, state: State, port: int, item: Any, comes: Term = TRUE) -> ModelCourse:
        """Return the course for an item that may come on one input: time passes, or an event comes."""
        course = ModelCourse.read(self.frame, state, comes)
        if port == 0:
            course.passes(TRUE, ticks_of(item))
        elif type := self.frame.clearing_inputs.get(name := self.ports[port]):
            course.given[type] = course.given[type].without_rows()
        elif name in self.frame.fixed_facts:
            course.add_fact(name, self._read(name, item))
        else:
            course.happens(TRUE, name, self._read(name, item))
        return course

    def _may_come(self, state: State, front: tuple[Any, ...]) -> Mapping[int, Term]:
        """Return, for each input with a rate, the condition that another event keeps the rate."""
        del front  # time passes in steps of its own
        recent = ModelCourse.read(self.frame, state).recent
        return {self.ports.index(type): rate.may_come(recent[type]) for type, rate in self.frame.rates.items()}

    def _read(self, name: str, code: Any) -> dict[str, GuardedValue]:
        """Read the attributes of an event of a stream."""
        return {each: self._input_encodings[name, each].decode(item) for each, item in self.attributes(name, code)}

    def emitted(self, ways: Sequence[tuple[Term, ModelCourse]]) -> list[list[Maybe]]:
        """Return the emissions of each output, in the order of publication, for whichever way the step takes."""
        outputs = []
        for output in self._outputs:
            lines = [
                [(both(w, c.when), c) for c in course.composites if output.has(c.type, c.rule, c.chain)]
                for w, course in ways
            ]
            slots: list[Maybe] = []
            for number in range(max(map(len, lines))):
                here = [line[number] for line in lines if number < len(line)]
                slots.append(Maybe(either_all(when for when, _ in here), self.value(here, typed=output.typed)))
            outputs.append(slots)
        return outputs

    def bursts(self, outputs: Sequence[Sequence[Maybe]], width: int) -> tuple[Emission, ...]:
        """Return the emissions with the same number of slots for each output."""
        return tuple(
            Burst([*slots, *[Maybe(FALSE, const(domain.default, domain))] * (width - len(slots))])
            for slots, domain in zip(outputs, self.results(self.shapes), strict=True)
        )

    def value(self, here: Sequence[tuple[Term, ModelComposite]], *, typed: bool) -> Any:
        """Return the item in a slot of an output, of which one alternative holds; `typed`: its type."""
        if typed:
            kinds = Enum(self.rules.composites)
            kind: Any = const(kinds.labels[0], kinds)
            for when, composite in here:
                kind = ite(when, const(composite.type, kinds), kind)
            return kind
        type = here[0][1].type
        return tuple(self.choose_attribute(here, name) for of, name in self._output_encodings if of == type) or TRUE

    def choose_attribute(self, here: Sequence[tuple[Term, ModelComposite]], attribute: str) -> Any:
        """Return an attribute of the item in a slot, in the encoding of the first alternative."""
        cases = [(when, composite.values[attribute]) for when, composite in here]
        return self._output_encodings[here[0][1].type, attribute].encode(select(cases))
