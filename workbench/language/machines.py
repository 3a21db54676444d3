"""State machines of the language: a `machine` becomes a pipeline around one Moore processor.

Guards, updates and outputs are functions of the inputs and the variables, by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.builder import Names
from workbench.core.domain import Domain, Enum, Value
from workbench.core.fields import FrozenMap, IndexedTuple, Map, within
from workbench.core.function import Function
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.pipeline import Node, Pipeline
from workbench.core.term import var
from workbench.errors import did_you_mean, listed
from workbench.language import syntax as s
from workbench.language.evaluate import NAMES_HERE, Evaluator, FunctionBody, at
from workbench.language.types import constants as enumerated
from workbench.language.types import domain
from workbench.processors.moore import Moore, Transition, Variable, check_states

if TYPE_CHECKING:
    from workbench.language.elaborate import Elaborator

CONNECTIVES = frozenset(("and", "or", "not", "->"))
"""The operators whose operands are conditions."""
STATE = "state"
"""The name of the pipe that carries the state of a machine."""


class _Machine:
    """A machine under elaboration."""

    def __init__(self, file: Elaborator, syntax: s.PipelineSyntax, constants: Mapping[str, Value]) -> None:
        self.file, self.syntax, self.constants = file, syntax, constants
        self.labels = file.labels_in(syntax)
        plain = Evaluator(constants, file.functions, self.labels)
        self.value = plain.value
        self.inputs = tuple((str(port.name), domain(port.type, plain.value)) for port in syntax.inputs)
        self.domains: dict[str, Domain] = dict(self.inputs)

    def pipeline(self) -> Pipeline:
        syntax, body = self.syntax, self.syntax.machine
        assert body is not None
        names = {*self.constants, *self.domains}
        if STATE in names:
            raise syntax.error(f"'{STATE}' is the machine's own state", "rename the input")
        each = self.file.mistakes.each
        variables = each(body.variables, lambda v: self._variable(v, names))
        port = next(iter(syntax.outputs), None)
        result = domain(port.type, self.value) if port else None
        states = each(body.states, lambda state: (state.name, self._action(state.output, result)))
        checked = each((body,), self._check_outputs)
        transitions = each(body.transitions, self._transition)
        if len(variables) + len(checked) < len(body.variables) + 1:
            raise FollowUp
        sound = dict(states)
        states = tuple((state.name, sound.get(state.name)) for state in body.states)
        locations = {state.name: state.where for state in body.states}
        with at(syntax.where):
            moore = Moore(states, transitions, variables, len(self.inputs), result, locations)
            moore.specialise(tuple(domain for _, domain in self.inputs))
            if len(sound) + len(transitions) < len(body.states) + len(body.transitions):
                raise FollowUp
            out = (port.name or "out") if port else STATE
            pipes = (STATE, out) if port else (STATE,)
            inputs, taken = tuple(name for name, _ in self.inputs), Names()
            taken.take(*inputs, *pipes)
            node = Node(taken.fresh("machine"), moore, inputs, pipes, syntax.where)
            return Pipeline(syntax.name, self.inputs, (node,), ((out, out),), doc=syntax.doc)

    def _variable(self, v: s.VariableSyntax, names: set[str]) -> Variable:
        if v.name in names:
            raise v.error(f"the name '{v.name}' is taken", "choose another")
        names.add(v.name)
        kind = domain(v.type, self.value, arrays=True)
        if isinstance(kind, Map) != (v.start is None):
            what = f"the map '{v.name}' begins empty" if v.start else f"the variable '{v.name}' has no first value"
            raise v.error(what, f"write var {v.name}: {kind}" + ("" if v.start else " = ..."))
        self.domains[v.name] = kind
        if v.start is not None:
            each = kind.fields[0] if isinstance(kind, IndexedTuple) else kind
            FunctionBody(self.constants, self.file.functions, self.labels).check_names(v.start, each)
        start = FrozenMap() if v.start is None else self.value(v.start)
        if isinstance(kind, IndexedTuple) and not isinstance(start, tuple):
            start = (start,) * len(kind.fields)
        return Variable(v.name, kind, start, v.where)

    def _check_outputs(self, body: s.MachineSyntax) -> None:
        if not body.states:
            raise self.syntax.error(f"machine {self.syntax.name} has no state", "write state NAME: OUTPUT")
        speaking = next((state for state in body.states if state.output is not None), None)
        if self.syntax.outputs and speaking is None:
            hint = f"write state {body.states[0].name}: OUTPUT; or leave out '->', and the machine emits its state"
            raise self.syntax.outputs[0].error(f"no state of machine {self.syntax.name} emits anything", hint)
        if not self.syntax.outputs and speaking is not None:
            what = f"machine {self.syntax.name} does not declare the type that state {speaking.name} emits"
            raise speaking.error(what, "write machine NAME(...) -> TYPE {")

    def _transition(self, t: s.TransitionSyntax) -> Transition:
        # the source replaces an unknown target: later transitions are checked as usual
        mistakes, target, unknown = Mistakes(), t.source, t.target
        states = [state.name for state in self.syntax.machine.states] if self.syntax.machine else []
        with self.file.mistakes.apart():
            check_states(t.source, t.target, states or (t.source, t.target), t.where, t.target_at)
            target, unknown = t.target, ""
        guard = mistakes.each((t.guard,), self._action)
        written = _join_writes(t.updates)
        updates = mistakes.each(written, self._update)
        mistakes.refuse()
        if len(guard) + len(updates) < 1 + len(written) or (states and t.source not in states):
            raise FollowUp
        updated_at = {update.name: update.where for update in written}
        return Transition(t.source, target, guard[0], updates, t.where, t.target_at, unknown, updated_at)

    def _update(self, update: s.UpdateSyntax) -> tuple[str, Function]:
        known = [v.name for v in self.syntax.machine.variables] if self.syntax.machine else []
        if update.name not in known:
            hint = did_you_mean(update.name, known, "variables are: ") or "write var NAME: TYPE = START"
            raise update.error(f"there is no variable '{update.name}'", hint)
        own = self.domains.get(update.name)
        if isinstance(update.value, s.ItemUpdate) and own is not None and not isinstance(own, IndexedTuple):
            index, value = update.value.index, update.value.value
            hint = f"write {update.name} := ..., or var {update.name}: array(0..7, {own}) = ..."
            if isinstance(own, Map):
                hint = f"an entry of a map is updated by {update.name} := put({update.name}, {index}, {value})"
            raise update.error(f"'{update.name}' of {own} is not an array", hint)
        return update.name, self._function(update.value, self.domains.get(update.name))

    def _action(self, e: s.Expression | None, result: Domain | None = None) -> Function | None:
        return None if e is None else self._function(e, result)

    def _function(self, e: s.Expression, result: Domain | None) -> Function:
        """Build a function from an expression; `result` is its expected domain, whose labels take precedence."""
        assert self.syntax.machine is not None
        names = (*(name for name, _ in self.inputs), *(v.name for v in self.syntax.machine.variables))
        domains = within(result) if result is not None else ()
        labels = {**self.labels, **enumerated(part for part in domains if isinstance(part, Enum))}
        symbols = {name: var(name, self.domains[name]) if name in self.domains else None for name in names}
        _MachineBody({**self.constants, **symbols}, self.file.functions, labels, self).check_names(e, result)

        # the variables of the closure distinguish this function from others (`executors.snapshot.fingerprint`)
        constants, functions = dict(self.constants), self.file.functions

        def build(*arguments: Any) -> Any:
            return FunctionBody({**constants, **dict(zip(names, arguments, strict=True))}, functions, labels).value(e)

        return Function(str(e), len(names), build)


class _MachineBody(FunctionBody):
    """The body of a guard, an update or an output of a machine."""

    def __init__(
        self,
        scope: Mapping[str, Any],
        functions: Mapping[str, Function],
        labels: Mapping[str, str],
        machine: _Machine,
    ) -> None:
        super().__init__(scope, functions, labels)
        self.machine = machine

    def suggest(self, e: s.Expression, known: Iterable[str], name: str = "") -> str:
        hint, syntax = super().suggest(e, known, name), self.machine.syntax
        if not hint.startswith(NAMES_HERE) or syntax.machine is None:
            return hint
        states = [state.name for state in syntax.machine.states if state.name in self.labels]
        groups = {
            "inputs": [each for each, _ in self.machine.inputs],
            "variables": [each.name for each in syntax.machine.variables],
            "parameters": [*self.machine.constants],
            "labels": [each for each in self.labels if each not in states],
            "states": states,
        }
        names = "; ".join(f"{kind}: {listed(each)}" for kind, each in groups.items() if each)
        around = self.around(e)
        operator = "and" if around is None else around.operator if isinstance(around, s.Operation) else "="
        kind = "bool = false" if operator in CONNECTIVES else "TYPE = START" if operator in ("=", "!=") else "int = 0"
        return f"{names}; or declare it: var {e}: {kind}"


def _join_writes(updates: Sequence[s.UpdateSyntax]) -> list[s.UpdateSyntax]:
    """Return updates of whole variables: writes to items of an array become one, in their order."""
    writes: list[s.UpdateSyntax] = []
    for update in updates:
        if update.index is None:
            writes.append(update)
            continue
        before = next((u for u in writes if u.name == update.name and isinstance(u.value, s.ItemUpdate)), None)
        array = before.value if before else s.Identifier(update.name, where=update.where)
        stored = replace(update, value=s.ItemUpdate(array, update.index, update.value, where=update.where), index=None)
        writes = [stored if u is before else u for u in writes] if before else [*writes, stored]
    return writes


def machine(file: Elaborator, syntax: s.PipelineSyntax, constants: Mapping[str, Value]) -> Pipeline:
    """Build the pipeline of a machine with values for its parameters."""
    return _Machine(file, syntax, constants).pipeline()
