"""Moore machines with guards and variables (BeepBeep's `MooreMachine`).

For every front the transitions of the current state are tried in the order in which they are written. The first one
whose guard is true is taken: its updates are made all at once, and the output of the target state is emitted, which may
depend on the front and the new values. If no guard is true, state and variables stay, and the output of the state is
emitted again. Nothing is emitted before the first front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, Anything, Bool, Domain, Enum, Integer, ModelScope, Range, SomeFloats, Value
from workbench.core.fields import fit_value, resolve
from workbench.core.form import Form
from workbench.core.function import Function, TypedFunction, fits, remove_types, same_domain
from workbench.core.mistakes import Mistakes
from workbench.core.ops import EQ, MIN, as_term, disjunction, ite, negate
from workbench.core.pipeline import Node
from workbench.core.processor import (
    NOTHING,
    Maybe,
    Processor,
    State,
    Stream,
    event,
    run_in_range,
    specialise_function,
)
from workbench.core.readable import show_value
from workbench.core.term import TRUE, Term, const
from workbench.core.typing_rules import advise_condition
from workbench.errors import DomainError, Location, PipelineError, TypingError, WorkbenchError, did_you_mean, listed

Action = Function | TypedFunction
"""A function of the events of a front and of all variables, in this order."""

ValueFunction = Callable[..., Value]

_Way = tuple[ValueFunction | None, str, tuple[ValueFunction | None, ...] | None]
"""A guard, a target, and an update for each variable; None where there is none."""


@dataclass(frozen=True)
class Transition:
    """A transition from one state to another, under a guard (always, without one), with new values of variables."""

    source: str
    target: str
    guard: Action | None = None
    updates: tuple[tuple[str, Action], ...] = ()
    where: Location | str = field(default="", compare=False)
    """The place in the user's text."""
    target_at: Location | str = field(default="", compare=False)
    """The place of its target in the user's text."""
    unknown: str = field(default="", compare=False)
    """The target in the user's text, where that is not a state and `target` stands for it."""
    updated_at: Mapping[str, Location | str] = field(default_factory=dict, compare=False, repr=False)
    """The place of the update of each variable in the user's text."""

    def __str__(self) -> str:
        return f"the transition {self.source} -> {self.unknown or self.target}"


@dataclass(frozen=True)
class Variable:
    """A variable of a machine: its name, domain and first value."""

    name: str
    domain: Domain
    start: Value
    where: Location | str = field(default="", compare=False, repr=False)

    def over(self, domain: Domain) -> Self:
        """Return the variable over another domain."""
        return replace(self, domain=domain, start=SomeFloats.number_for(domain, self.start))


@dataclass(frozen=True)
class Moore(Processor):
    """A state machine. Its outputs: the state that is reached, and what this state emits, where any emits something.

    Parameters
    ----------
    states: the states, of which the first is the initial one, with the output of each (None: nothing).
    transitions: in the order in which they are tried.
    variables: the variables that it remembers beside its state.
    ways: number of inputs.
    result: the domain of the outputs of states; None infers it.
    locations: the places of states in the user's text.
    """

    states: tuple[tuple[str, Action | None], ...]
    transitions: tuple[Transition, ...]
    variables: tuple[Variable, ...] = ()
    ways: int = 1
    result: Domain | None = None
    locations: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)

    symbol: ClassVar[str] = "⚙"

    __call__: ClassVar[Any]  # one stream or several: it depends on whether states emit something

    def __post_init__(self) -> None:
        names = self.names
        for kind, kind_names in (("state", names), ("variable", tuple(v.name for v in self.variables))):
            twice = next((name for i, name in enumerate(kind_names) if name in kind_names[:i]), None)
            if twice is not None:
                what, where = f"the machine has two {kind}s called '{twice}'", self.locations.get(twice, "")
                raise PipelineError(what, where=where, hint="rename one")
        if not names:
            raise PipelineError("a machine has at least one state")
        closed: set[str] = set()
        mistakes = Mistakes()
        for transition in self.transitions:
            with mistakes.apart():
                self._check(transition, names, closed)
            if transition.guard is None:
                closed.add(transition.source)
        mistakes.refuse()
        for name, output in self.states:
            self._check_arity(f"the output of '{name}'", output, "")

    @property
    def unentered(self) -> tuple[str, ...]:
        """The states to which no sequence of transitions leads."""
        entered, todo = {self.states[0][0]}, [self.states[0][0]]
        while todo:
            source = todo.pop()
            after = {each.target for each in self.transitions if each.source == source} - entered
            entered |= after
            todo += after
        return tuple(name for name in self.names if name not in entered)

    def _check(self, transition: Transition, names: Sequence[str], closed: set[str]) -> None:
        text, where = str(transition), transition.where
        check_states(transition.source, transition.target, names, where, transition.target_at or where)
        if transition.source in closed:
            raise PipelineError(
                f"{text} is never taken: one above it, from the same state, has no guard",
                where=where,
                hint="transitions are tried in the order in which they are written; move it up",
            )
        self._check_arity(f"the guard of {text}", transition.guard, where)
        known = [variable.name for variable in self.variables]
        for i, (name, update) in enumerate(transition.updates):
            if name not in known:
                what = f"{text}: there is no variable '{name}'"
                raise PipelineError(what, where=where, hint=f"variables are: {', '.join(known) or 'none'}")
            if name in dict(transition.updates[:i]):
                hint = "updates happen all at once: write one expression for the new value"
                raise PipelineError(f"{text} gives '{name}' two values", where=where, hint=hint)
            self._check_arity(f"'{name}' in {text}", update, where)

    def _check_arity(self, what: str, action: Action | None, where: Location | str) -> None:
        arity = self.ways + len(self.variables)
        if action is not None and (own := remove_types(action).arity) != arity:
            raise PipelineError(f"{what} is a function of {own}, not of the {arity} events and variables", where=where)

    # --- shape ---

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the states."""
        return tuple(name for name, _ in self.states)

    @cached_property
    def speaks(self) -> bool:
        """Whether any state emits something."""
        return any(output is not None for _, output in self.states)

    @property
    def in_arity(self) -> int:
        return self.ways

    @property
    def out_arity(self) -> int:
        return 2 if self.speaks else 1

    @property
    def lag(self) -> int | None:
        return 0 if not self.speaks or all(output is not None for _, output in self.states) else None

    # --- typing ---

    def resolve(self, over: Domain | ModelScope) -> Self:
        def inner(action: Action | None) -> Any:
            return action.resolve(over) if isinstance(action, Function) else action

        return replace(
            self,
            states=tuple((name, inner(output)) for name, output in self.states),
            transitions=tuple(
                replace(t, guard=inner(t.guard), updates=tuple((n, inner(u)) for n, u in t.updates))
                for t in self.transitions
            ),
            variables=tuple(v.over(resolve(v.domain, over)) for v in self.variables),
            result=None if self.result is None else resolve(self.result, over),
        )

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        domains = (*inputs, *(variable.domain for variable in self.variables))
        mistakes = Mistakes()
        mistakes.each(self.variables, _check_start)
        states = mistakes.each(
            self.states,
            lambda s: (s[0], s[1] and _type_action(s[1], domains, f"state {s[0]}", self.locations.get(s[0], ""))),
        )
        untrue: dict[str, list[Term]] = {name: [] for name in self.names}  # earlier guards, negated, by state
        transitions = mistakes.each(self.transitions, lambda t: self._transition(t, domains, untrue[t.source]))
        result = self.result or _common([output.result for _, output in states if isinstance(output, TypedFunction)])
        if result is not None:
            states = tuple((name, output and output.into(result, checked=True)) for name, output in states)
        for name, output in states:
            if isinstance(output, TypedFunction) and result is not None and not fits(output.result, result):
                what = f"state {name} emits {output.result}, not {result}"
                hint = _advise_result(result, output.result)
                mistakes.add(TypingError(what, where=self.locations.get(name, ""), hint=hint))
        mistakes.refuse()
        variables = tuple(replace(v, start=fit_value(v.domain, v.start)) for v in self.variables)
        return replace(self, states=states, transitions=transitions, variables=variables, result=result)

    def _transition(self, t: Transition, domains: tuple[Domain, ...], untrue: list[Term]) -> Transition:
        """Type a transition, given conditions that hold; append the condition that it is not taken."""
        text, guard, mistakes = str(t), None, Mistakes()
        with mistakes.apart():
            guard = self._guard(t, domains)
        own = {variable.name: variable.domain for variable in self.variables}
        condition = guard.body if isinstance(guard, TypedFunction) and isinstance(guard.result, Bool) else None
        known = untrue if condition is None else [*untrue, condition]

        def update(named: tuple[str, Action]) -> tuple[str, TypedFunction]:
            name, action = named
            where = t.updated_at.get(name, t.where)
            function = _type_action(action, domains, text, where).into(own[name], known, checked=True)
            if not fits(function.result, own[name]):
                what = f"{text}: '{name}' of {own[name]} gets {_show_range(function.result)}"
                raise TypingError(what, where=where, hint=_advise(name, own[name], function))
            return name, function

        updates = mistakes.all(t.updates, update)
        if condition is not None:
            untrue.append(negate(condition))
        return replace(t, guard=guard, updates=updates)

    def _guard(self, t: Transition, domains: tuple[Domain, ...]) -> TypedFunction | None:
        guard = None if t.guard is None else _type_action(t.guard, domains, str(t), t.where)
        if guard is not None and not isinstance(guard.result, Bool | Anything):
            what = f"{t}: '{guard.name}' is not a condition: it gives {_show_range(guard.result)}"
            raise TypingError(what, where=t.where, hint=advise_condition(guard.result, guard.name))
        return guard

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        output_domains = (self.result,) if self.speaks and self.result is not None else ()
        return (Enum(self.names), *output_domains)

    @property
    def has_obligations(self) -> bool:
        actions = [update for t in self.transitions for _, update in t.updates] + [output for _, output in self.states]
        return any(isinstance(action, TypedFunction) and action.obliged for action in actions)

    # --- meaning ---

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        name, values = self.names[0], {variable.name: variable.start for variable in self.variables}
        visited, emitted = list[Value](), list[Value]()
        for front in zip(*streams, strict=False):
            arguments = (*front, *values.values())
            enabled = [t for t in self.transitions if t.source == name and (t.guard is None or t.guard(*arguments))]
            if enabled:
                name = enabled[0].target
                values = {**values, **{n: update(*arguments) for n, update in enabled[0].updates}}
            visited.append(name)
            output = dict(self.states)[name]
            if output is not None:
                emitted.append(output(*front, *values.values()))
        return (visited, emitted) if self.speaks else (visited,)

    def initial(self) -> State:
        return (self.names[0], *(variable.start for variable in self.variables))

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("state", Enum(self.names)), *((variable.name, variable.domain) for variable in self.variables))

    @cached_property
    def _leaving(self) -> dict[str, list[_Way]]:
        """The transitions out of each state."""
        ways: dict[str, list[_Way]] = {name: [] for name in self.names}
        for t in self.transitions:
            updates = tuple(_run_update(t, variable) for variable in self.variables)
            ways[t.source].append((run_in_range(t.guard), t.target, updates if t.updates else None))
        return ways

    @cached_property
    def _emitting(self) -> dict[str, ValueFunction | None]:
        return {name: run_in_range(output, f"state {name} of {self.result} emits") for name, output in self.states}

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        name, *values = state
        if not isinstance(name, str):
            return self._symbolic(state, front)
        arguments = (*front, *values)
        for guard, target, updates in self._leaving[name]:
            if guard is None or guard(*arguments):
                name = target
                if updates is not None:
                    values = [old if u is None else u(*arguments) for u, old in zip(updates, values, strict=True)]
                    arguments = (*front, *values)
                break
        reached = event(name)
        if not self.speaks:
            return (name, *values), (reached,)
        output = self._emitting[name]
        return (name, *values), (reached, NOTHING if output is None else event(output(*arguments)))

    def _symbolic(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        """Make the step on terms: the result for each state, and one choice among these at the end.

        The transition that is tried first is the outermost condition.
        """
        states, (name, *values) = Enum(self.names), state
        domains = [states, *(variable.domain for variable in self.variables)]
        after: list[Any] = []
        for source in self.names:
            there = self._step_state(source, [const(source, states), *values], front, domains)
            after = [ite(EQ(name, source), a, b) for a, b in zip(there, after, strict=True)] if after else there
        reached = event(after[0])
        if not self.speaks or self.result is None:
            return tuple(after), (reached,)
        value: Any = const(self.result.default, self.result)
        for state_name, output in self.states:
            if output is not None:
                value = ite(EQ(after[0], state_name), as_term(output(*front, *after[1:]), self.result), value)
        speaking = [EQ(after[0], state_name) for state_name, output in self.states if output is not None]
        present = TRUE if len(speaking) == len(self.states) else disjunction(speaking)
        return tuple(after), (reached, Maybe(present, value))

    def _step_state(
        self, source: str, state: list[Any], front: tuple[Any, ...], domains: Sequence[Domain]
    ) -> list[Any]:
        """Return the result of the transitions of one state, with these values of the variables."""
        after, arguments = state, (*front, *state[1:])
        for t in reversed([t for t in self.transitions if t.source == source]):
            changes = dict(t.updates)
            new = [changes[v.name](*arguments) if v.name in changes else old
                   for v, old in zip(self.variables, state[1:], strict=True)]  # fmt: skip
            next_state = map(as_term, [const(t.target, domains[0]), *new], domains)
            fires = TRUE if t.guard is None else as_term(t.guard(*arguments), BOOL)
            after = [ite(fires, a, b) for a, b in zip(next_state, after, strict=True)]
        return after

    def refusal(self, form: Form) -> str:
        if form == Form.VALUES:
            return ""
        actions = [a for t in self.transitions for a in (t.guard, *(u for _, u in t.updates))]
        actions += [output for _, output in self.states]
        return next((a.obstacle for a in actions if isinstance(a, TypedFunction) and a.obstacle), "")

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        even, up = Function("even", 2, lambda a, _: f.EVEN(a)), Function("up", 2, lambda _, n: MIN(n + 1, 3))
        count = Function("n", 2, lambda _, n: n)
        turn = (Transition("a", "b", even, (("n", up),)), Transition("b", "a"))
        plain = Transition("off", "on", Function("true", 1, lambda a: a))
        return (
            cls((("a", count), ("b", None)), turn, (Variable("n", Range(0, 3), 0),)),
            cls((("off", None), ("on", None)), (plain,)),
        )

    def __str__(self) -> str:
        return f"machine({', '.join(self.names)})"


def _run_update(t: Transition, variable: Variable) -> ValueFunction | None:
    """Return the update of a variable in a transition, on values; None where there is none."""
    name, action = variable.name, dict(t.updates).get(variable.name)
    gives = f"{t}: '{name}' of {variable.domain} gets"
    return action and run_in_range(action, gives, t.updated_at.get(name, t.where), action.name)


def name_variables(nodes: Iterable[Node]) -> dict[str, tuple[Node, Moore, int]]:
    """Return the variables of machines by the names that users know: `n`, or `call.n` of a machine that is called.

    Each is given by the node, its machine and the position in the machine's variables.
    """
    return {
        f"{node.name.removesuffix('machine')}{variable.name}": (node, node.processor, position)
        for node in nodes
        if isinstance(node.processor, Moore)
        for position, variable in enumerate(node.processor.variables)
    }


def check_states(
    source: str, target: str, names: Sequence[str], where: Location | str, target_at: Location | str
) -> None:  # fmt: skip
    """Raise PipelineError if a transition is from or to a state that is none of these."""
    for name, location in ((source, where), (target, target_at)):
        if name not in names:
            what = f"the transition {source} -> {target}: there is no state '{name}'"
            raise PipelineError(what, where=location, hint=did_you_mean(name, names, "states are: "))


TRUTHS = {"false": 0, "true": 1}
"""The truth values, with the numbers that may be meant."""


def _advise(name: str, own: Domain, function: TypedFunction) -> str:
    """Return the advice about an update whose values are not all in the variable's domain."""
    got = function.result
    if own.numeric and isinstance(got, Enum | Bool):
        if isinstance(got, Enum) and function.name in got.labels:
            return f"{name} is a number, and {function.name} a label: write one of {own}"
        if function.name in TRUTHS:
            return f"{name} is a number: write {TRUTHS[function.name]}"
        kind, comparison = ("a label", f" = {got.labels[0]}") if isinstance(got, Enum) else ("a condition", "")
        return f"{function.name} is {kind}, and {name} a number: write if {function.name}{comparison} then 1 else 0"
    if isinstance(own, Integer) and isinstance(got, Range) and got.lo >= 0:
        return f"declare {replace(own, n=got.hi + 1)}, or use -N {got.hi + 1} where int is declared"
    if isinstance(own, Range) and isinstance(got, Range) and got.lo == got.hi:
        return f"write a value of {own}, or declare var {name}: {Range(min(own.lo, got.lo), max(own.hi, got.hi))}"
    if isinstance(own, Range) and isinstance(got, Range):
        inside = f"min({function.name}, {own.hi})" if got.hi > own.hi else f"max({function.name}, {own.lo})"
        return f"ranges are exact: bound it, e.g. {inside}, or declare {name}: int"
    return _advise_value(own)


def _show_range(domain: Domain) -> str:
    """Return a domain as text: a number if it is the only value."""
    return str(domain.lo) if isinstance(domain, Range) and domain.lo == domain.hi else str(domain)


def _advise_result(domain: Domain, got: Domain) -> str:
    """Return the advice about a state that emits other values than those of the machine's domain."""
    if isinstance(domain, Integer) and isinstance(got, Range) and got.lo >= 0:
        return f"declare the output as {got}, or use -N {got.hi + 1} where int is declared"
    return _advise_value(domain)


def _advise_value(domain: Domain) -> str:
    """Return the advice about a value of another kind than the domain's."""
    if isinstance(domain, Bool):
        return "write true, false or a condition"
    if isinstance(domain, Enum):
        return f"write one of {listed(domain.labels)}"
    return f"write a number of {domain}" if domain.numeric else ""


def _check_start(variable: Variable) -> None:
    if variable.start not in variable.domain:
        own, is_number, larger = variable.domain, type(variable.start) is int, "choose a larger type, or another start"
        if isinstance(own, Range) and is_number:
            whole = Range(min(own.lo, variable.start), max(own.hi, variable.start))
            larger = f"choose a larger range, var {variable.name}: {whole}, or another start"
        start_text = repr(variable.start) if isinstance(variable.start, str) else show_value(variable.start)
        raise DomainError(
            f"the variable '{variable.name}' begins with {start_text}, not a value of {variable.domain}",
            where=variable.where,
            hint=larger if variable.domain.numeric and is_number else _advise_value(variable.domain) or larger,
        )


def _type_action(action: Action, domains: tuple[Domain, ...], what: str, where: Location | str) -> TypedFunction:
    try:
        return specialise_function(action, domains)
    except WorkbenchError as error:
        raise error.retold(f"{what}: {error.what}", where=error.where or where) from error


def _common(domains: Sequence[Domain]) -> Domain | None:
    """Return the one domain of the outputs of states; for ranges, their hull."""
    if not domains:
        return None
    ranges = [domain for domain in domains if isinstance(domain, Range)]
    if len(ranges) == len(domains):
        return Range(min(r.lo for r in ranges), max(r.hi for r in ranges))
    odd = next((domain for domain in domains if not same_domain(domain, domains[0])), None)
    if odd is not None:
        raise TypingError(f"states emit {domains[0]} and {odd}", hint="give the machine a result domain")
    return domains[0]
