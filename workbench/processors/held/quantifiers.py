"""Quantifiers over the values in an event (LTL-FO+; Event Stream Processing with Multiple Threads, section 4.2).

At every position a function of the front yields values. For each value, a copy of the inner processor reads that value
together with every front from this position on; the first event that the copy emits is its verdict. The verdict of a
position is that of all copies together, and is emitted, in order, as soon as it is known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Anything, Domain, Value
from workbench.core.fields import Map, Tuple
from workbench.core.form import Form
from workbench.core.function import Function, TypedFunction, as_function, on_values, require_typed, same_domain
from workbench.core.kinds import (
    Answers,
    Divisible,
    Each,
    FailedCopy,
    PendingVerdicts,
    PlacePart,
    PlacesJoined,
    Push,
    begin_stepping,
    in_turn,
)
from workbench.core.maps import some_key
from workbench.core.ops import as_term, both, conjunction, disjunction, either, negate
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import (
    Emission,
    Machine,
    Maybe,
    Processor,
    State,
    Stepped,
    Stream,
    emission,
    event,
    specialise_function,
)
from workbench.core.strict_values import mark_computed, when
from workbench.core.term import FALSE, TRUE, Change, Entries, Term, const
from workbench.errors import PipelineError, Refused, TypingError
from workbench.processors.apply import ApplyFunction
from workbench.processors.filter import Filter
from workbench.processors.held.inner_processor import SingleHolder, advance, briefly, check_verdicts, first_event, wrap
from workbench.processors.held.waiting_copies import WaitingCopies


@dataclass(frozen=True)
class ForAll(SingleHolder, Divisible, PendingVerdicts):
    """Emits, for each front, whether `inner` holds for every value of the front.

    Parameters
    ----------
    domain: the values of a front: a function that returns a tuple of them, or a map, whose keys they are.
    inner: a processor, or a pipeline, with one output of truth values. Its first input carries the value, the others
        the fronts.
    pending: the maximum number of positions that wait for their verdict: more are an overflow. A model needs it if
        copies do not emit their verdict at once.
    """

    domain: Function | TypedFunction
    inner: Processor | Pipeline
    pending: int | None = None

    keyword: ClassVar[str] = "forall"
    symbol: ClassVar[str] = "∀"
    breaks: ClassVar[bool] = False
    """The verdict of one copy that decides a position; without copies the verdict is the opposite."""
    shift: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if not isinstance(self.domain, TypedFunction):
            object.__setattr__(self, "domain", as_function(self.domain))
        object.__setattr__(self, "inner", wrap(self.keyword, self.inner))
        if self._inner.in_arity < 2:
            raise PipelineError(
                f"the processor in '{self.keyword}' reads a value and a stream, {self.inner} has one input"
            )
        super().__post_init__()

    @property
    def in_arity(self) -> int:
        return self._inner.in_arity - 1

    @property
    def label(self) -> str:
        return f"{self.symbol} {self.domain.name}"

    @property
    def lag(self) -> int | None:
        return 0 if self._inner.lag == 0 else None

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        if self.lag == 0:
            return 1
        return None if self.pending is None else self.pending + 1

    @property
    def defers(self) -> bool:
        return self.lag != 0

    def waiting(self, state: State) -> tuple[int, ...]:
        return (len(state),) if self.defers else ()

    copies: ClassVar[bool] = True

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        domain = specialise_function(self.domain, inputs)
        inner_inputs = (_element(self.keyword, domain), *inputs)
        inner = self._inner.specialise(inner_inputs)
        check_verdicts(self.keyword, inner, inner_inputs)
        return replace(self, domain=domain, inner=inner)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (BOOL,)

    def _values(self, front: tuple[Value, ...]) -> Collection[Value]:
        return dict.fromkeys(self._domain(*front))

    @cached_property
    def _domain(self) -> Callable[..., Any]:
        return on_values(self.domain)

    @cached_property
    def on_values(self) -> Callable[..., Any] | None:
        inner_verdict, domain, breaks = self._inner.on_values, self._domain, self.breaks
        if inner_verdict is None:
            return None
        always = itertools.repeat(breaks)

        def verdict(*front: Value) -> bool:
            broken = any(map(is_, [inner_verdict(value, *front) for value in dict.fromkeys(domain(*front))], always))
            return breaks if broken else not breaks

        return verdict

    def verdict(self, streams: tuple[Stream, ...]) -> bool | None:
        """Return the verdict on the first position; the copies see the fronts from there on, until it is known."""
        waiting = self._values(tuple(stream[0] for stream in streams))
        for length in range(1, min(map(len, streams)) + 1):
            fronts = tuple(stream[:length] for stream in streams)
            verdicts = {value: self._inner.denote_open(([value] * length, *fronts))[0][:1] for value in waiting}
            if [self.breaks] in verdicts.values():
                return self.breaks
            waiting = tuple(value for value in waiting if not verdicts[value])
            if not waiting:
                break
        return None if waiting else not self.breaks

    # --- operation: for each waiting position its verdict, or the copies without a verdict ------------------------

    def step(self, state: State, front: tuple[Any, ...], each: Each = in_turn) -> Stepped:
        if self.on_values is not None and each is in_turn:
            return state, (event(self.on_values(*front)),)
        positions = [*state, self._copies(front)]
        push = self._push
        if each is not in_turn:
            jobs = [(copy, (value, *front)) for at in positions if not isinstance(at, bool) for value, copy in at]
            push = begin_stepping(self._inner, each, jobs)
        after = [at if isinstance(at, bool) else self._feed(at, front, push) for at in positions]
        known = _count_known(after)
        self.check_capacity(len(after) - known)
        return tuple(after[known:]), (emission(after[:known]),)

    def _copies(self, front: tuple[Any, ...]) -> list[tuple[Value, State]]:
        """Return the copies that start with a front."""
        return [(value, self._initial_copy) for value in self._values(front)]

    def _is_broken(self, verdict: Maybe) -> Any:
        """Return whether a copy emits the deciding verdict."""
        return verdict.value if self.breaks else negate(verdict.value)

    def _feed(self, copies: Iterable[Any], front: tuple[Any, ...], push: Push) -> Any:
        """Return a position after its copies have seen the front: a verdict, or the copies without one."""
        silent, broken = [], False
        for value, before in copies:
            following, (out,) = push(before, (value, *front))
            verdict = first_event(out)
            if not verdict.present:
                silent.append((value, following))
            elif verdict.value is self.breaks:
                broken = True
        if broken:
            return self.breaks
        return tuple(silent) if silent else not self.breaks

    # --- why it is false ---------------------------------------------------------------------------------------

    @property
    def inner_processor(self) -> Processor:
        """The inner processor."""
        return self._inner

    def list_refuted(self, state: State, front: tuple[Any, ...]) -> list[tuple[int, list[tuple[Value, State]]]]:
        """Return the positions that a front makes false, by their numbers among the waiting ones and its own.

        Each has the values whose copies emit false, and the states of these copies before that.
        """
        positions: list[tuple[int, list[tuple[Value, State]]]] = []
        for number, at in enumerate([*state, self._copies(front)]):
            if isinstance(at, bool):
                continue
            verdicts = [(value, before, first_event(self._push(before, (value, *front))[1][0])) for value, before in at]
            false = [
                (value, before) for value, before, verdict in verdicts if verdict.present and verdict.value is False
            ]
            if len(false) == len(verdicts) if self.breaks else false:
                positions.append((number, false))
        return positions

    # --- in several places: each place has all copies of every n-th position --------------------------------------

    @property
    def undivided(self) -> str:
        counted = self.pending is not None and self.defers
        return f"no more than {self.pending} positions may wait, which are counted together" if counted else ""

    def share(self, index: int, count: int) -> PlacePart:
        def step(state: State, front: tuple[Any, ...]) -> tuple[State, Answers]:
            number, oldest, positions = state
            after: list[Any] = []
            if number % count == index:
                positions = (*positions, None if self.on_values else self._copies(front))
            try:
                for at in positions:
                    if at is None and self.on_values:
                        after.append(self.on_values(*front))
                    else:
                        after.append(at if isinstance(at, bool) else self._feed(at, front, self._push))
            except Exception as error:
                raise FailedCopy(oldest + count * len(after)) from error
            known = _count_known(after)
            return (number + 1, oldest + count * known, tuple(after[known:])), tuple(after[:known])

        return (0, index, ()), step

    def joint(self, count: int) -> PlacesJoined:
        def step(state: State, answers: Sequence[Answers]) -> Stepped:
            turn, before = state
            waiting = [[*old, *new] for old, new in zip(before, answers, strict=True)]
            verdicts: list[Value] = []
            while waiting[turn]:
                verdicts.append(waiting[turn].pop(0))
                turn = (turn + 1) % count
            return (turn, tuple(map(tuple, waiting))), (emission(verdicts),)

        return (0, ((),) * count), step

    # --- the finite machine: a copy with an immediate verdict has no state ----------------------------------------

    @cached_property
    def _brief(self) -> Processor:
        """The inner processor for as many fronts as a copy sees."""
        return self._inner if self.pending is None or not self.defers else briefly(self._inner, self.pending + 1)

    def refusal(self, form: Form) -> str:
        if self.boundless and form != Form.VALUES:
            reason = self.with_capacity(1).refusal(form)
            return reason or f"nothing bounds how many positions wait; write {self.keyword}(..., pending = 4)"
        if self._brief is not self._inner:
            return replace(self, inner=self._brief).refusal(form)
        inner = super().refusal(form)
        if inner or form == Form.VALUES:
            return inner
        if isinstance(self.domain, TypedFunction) and not self.domain.result.finite:
            collection = self.domain.result
            if form != Form.ARRAYS:
                return f"the values it ranges over, {collection}, are not finitely many"
            if not isinstance(collection, Tuple | Map):
                return f"nothing bounds the number of values that it ranges over, {collection}"
            if self.defers and isinstance(collection, Map) and not collection.key.finite:
                return f"copies of any number of values wait for their verdict; let '{self._inner}' give it at once"
        return ""

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        reason = self.refusal(Form.ARRAYS)  # a model has been refused before, if its values are not finitely many
        if reason:
            raise Refused(f"{self} has no finite machine: {reason}")
        element = _element(self.keyword, require_typed(self.domain))
        if self.defers:
            return self._waiting_machine(inputs, element)
        inner = self._inner.machine((element, *inputs), 1)
        initial = tuple(const(slot.initial, slot.domain) for slot in inner.slots)
        nothing = Maybe(FALSE, const(self.breaks, BOOL))

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
            verdicts = []
            values = self.domain(*front)
            mark_computed((values,))
            if isinstance(values, Term):
                broken = some_key(
                    values, lambda key: self._is_broken(advance(inner, initial, nothing, (key, *front))[1])
                )
                return state, (event(broken if self.breaks else negate(broken)),)
            if isinstance(values, Change):
                raise Refused(f"{self} ranges over a table of slices", hint="let a machine build a map of the keys")
            for there, value in _elements(values, element):
                with when(there):
                    _, verdict = advance(inner, initial, nothing, (value, *front))
                verdicts.append(both(there, verdict.value) if self.breaks else either(negate(there), verdict.value))
            whole = disjunction(verdicts) if self.breaks else conjunction(verdicts)
            return state, (event(as_term(whole, BOOL)),)

        return Machine((), step)

    def _waiting_machine(self, inputs: tuple[Domain, ...], element: Domain) -> Machine:
        assert self.pending is not None
        inner, domain = self._brief.machine((element, *inputs), self.pending + 1), require_typed(self.domain)
        collection = domain.result
        assert isinstance(collection, Map | Tuple)
        keys = [key for key, _ in collection.slots] if isinstance(collection, Map) else [None] * len(collection.fields)
        copies = WaitingCopies(self.pending, inner, element, keys, self.breaks)

        def step(state: State, front: tuple[Any, ...]) -> Stepped:
            values = domain(*front)
            mark_computed((values,))
            return copies.step(state, front, _elements(values, element))

        return Machine(copies.slots(), step, shares=True)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        pair, single = Function("pair", 2, lambda a, b: (a, b)), Function("single", 1, lambda a: (a,))
        smallest = Function("smallest", 3, lambda v, a, b: both(v <= a, v <= b))
        return cls(single, _greater()), cls(pair, ApplyFunction(smallest)), cls(single, ApplyFunction(f.EQ))


@dataclass(frozen=True)
class Exists(ForAll):
    """Emits, for each front, whether `inner` holds for some value of the front; parameters as in `ForAll`."""

    keyword: ClassVar[str] = "exists"
    symbol: ClassVar[str] = "∃"
    breaks: ClassVar[bool] = True


def _count_known(positions: Sequence[Any]) -> int:
    """Return the number of verdicts before the first position that waits."""
    return next((i for i, at in enumerate(positions) if not isinstance(at, bool)), len(positions))


def _greater() -> Pipeline:
    """Return a pipeline: whether the first event that differs from the value is greater."""
    reads = (("v", INT), ("x", INT))
    differs = Node("differs", ApplyFunction(f.NE), ("v", "x"), ("differs",))
    more = Node("more", ApplyFunction(f.LT), ("v", "x"), ("more",))
    filter_node = Node("kept", Filter(), ("more", "differs"), ("kept",))
    return Pipeline("greater", reads, (differs, more, filter_node), (("out", "kept"),))


def _element(keyword: str, function: TypedFunction) -> Domain:
    """Return the domain of the values that a function returns."""
    collection = function.result
    if isinstance(collection, Map):
        return collection.key
    if isinstance(collection, Anything):
        return collection
    if not isinstance(collection, Tuple) or not collection.fields:
        raise TypingError(f"'{keyword}' ranges over the fields of a tuple or the keys of a map, not over {collection}")
    odd = next((field for field in collection.fields if not same_domain(field, collection.fields[0])), None)
    if odd is not None:
        raise TypingError(f"'{keyword}' ranges over values of one domain, not of {collection.fields[0]} and {odd}")
    return collection.fields[0]


def _elements(value: Any, element: Domain) -> list[tuple[Any, Any]]:
    """Return the values in a symbolic one, each with its presence."""
    if isinstance(value, Entries):
        return [(present, const(key, element)) for key, (present, _) in value.items()]
    return [(TRUE, as_term(field, element)) for field in value]
