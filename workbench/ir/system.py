"""Transition systems: what a pipeline becomes, and all that is ever looked at on the model's side.

A system is flat: variables with initial values and next-state terms, and definitions (wires) in dependency
order. Names are `instance:local`; an instance is an input, a processor, a processor's queues, or an observer that
a property adds. Only queues, counters and processor memory are variables; pipes are
definitions. Variables and definitions are scalar: a tuple has one per field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.fold import Substitute, map_leaves, postorder
from workbench.core.join import Join
from workbench.core.memory import Array, KeyedArray, Update, Write
from workbench.core.ops import disjunction, either, negate
from workbench.core.processor import Maybe, Processor
from workbench.core.term import FALSE, Others, Term, leaves, var

T = TypeVar("T")


class StateVariable(NamedTuple):
    """A state variable. `next` is over variables, definitions and inputs of the current step."""

    name: str
    domain: Domain
    initial: Value
    next: Term


class Definition(NamedTuple):
    """A named term: a wire, a queue's length, an overflow condition."""

    name: str
    term: Term


class Input(NamedTuple):
    """An open input: the environment chooses freely whether it carries an event, and which."""

    name: str
    domain: Domain
    present: Term
    value: Any
    """A variable, or nested tuples of variables."""
    heard: Term | None = None
    """Of an oracle: whether what it says at a step counts. None where events arrive."""
    of: tuple[str, Processor] | None = None
    """Of an oracle: the name of the processor that it is for, and the processor."""


@dataclass(frozen=True)
class Pipe:
    """What a pipe carries at a step: the events of those of its slots that are present, in order.

    Most pipes have one slot; one behind a processor that emits several events in a step has more.
    """

    slots: tuple[Maybe, ...]
    more: Term | None = None
    """In a system with arrays: how many more times the event of its one slot comes; a variable."""
    rows: Others | None = None
    """In a system with arrays: events that come after that of its one slot."""

    @property
    def width(self) -> int:
        """The most events it carries in one step."""
        return len(self.slots)

    @property
    def present(self) -> Term:
        """Whether it carries an event."""
        found: Term = disjunction(slot.present for slot in self.slots)
        return found

    @property
    def value(self) -> Any:
        """The event's value, on a pipe of width 1."""
        (slot,) = self.slots
        return slot.value


class Queue(NamedTuple):
    """A queue: its capacity, the length at the end of a step, and when an event arrives at it full."""

    name: str
    capacity: int
    length: Term
    overflow: Term


class Block(NamedTuple):
    """All variables and definitions of an instance."""

    variables: tuple[StateVariable, ...]
    definitions: tuple[Definition, ...]


class Holding(NamedTuple):
    """What the queues of a join hold, of which a system may have the lengths only.

    Attributes
    ----------
    join, queues: the queues, and their names.
    arrivals: what comes to each of them in a step, in order.
    fires: per round of a step, whether a front is consumed.
    block: the instance with what it holds; or given a number with so many of the oldest events (`Join.window`).
    """

    join: Join
    queues: tuple[str, ...]
    arrivals: tuple[tuple[Maybe, ...], ...]
    fires: tuple[Term, ...]
    block: Callable[[int | None], Block]


class Memory(NamedTuple):
    """A state variable that is an array, or a table of rows; what a step writes to it."""

    name: str
    domain: Array
    columns: tuple[Term, ...]
    """What it is in terms: the array of each scalar part."""
    writes: tuple[Write, ...]
    updates: tuple[Update, ...]

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return isinstance(self.domain, KeyedArray)


class End(NamedTuple):
    """The end of input streams: an input of its own, and whether it has come in an earlier step."""

    now: Term
    over: Term


class Instance(NamedTuple):
    """How an instance is presented: the module it belongs to and what a comment says of it."""

    name: str
    module: str
    comment: str
    roles: tuple[tuple[str, str], ...]
    """Parameter name and the instance it stands for."""


Named = TypeVar("Named", StateVariable, Definition)


@dataclass(frozen=True)
class System:
    """A transition system with labels for a pipeline's pipes and queues."""

    name: str
    inputs: tuple[Input, ...]
    variables: tuple[StateVariable, ...]
    definitions: tuple[Definition, ...]
    instances: tuple[Instance, ...]
    pipes: Mapping[str, Pipe]
    """What each pipe carries, as terms."""
    outputs: tuple[tuple[str, str], ...]
    queues: Mapping[str, Queue] = field(default_factory=dict)
    free: Mapping[str, Domain] = field(default_factory=dict)
    """The leaves of the inputs that are in the system: presence flags and values."""
    domains_of_pipes: Mapping[str, Domain] = field(default_factory=dict)
    end: End | None = None
    """That of all inputs; None where no processor acts at the end."""
    uses: Mapping[str, Term] = field(default_factory=dict)
    """For definitions of values: when the value is used (its pipe's presence)."""
    pending: tuple[Term, ...] = ()
    """Conditions on the state under which a step that brings nothing can change something (else none does)."""

    ends: Mapping[str, End] = field(default_factory=dict)
    """In a system with arrays, instead: that of each input, by its name."""
    memories: tuple[Memory, ...] = ()
    strict: frozenset[str] = frozenset()
    """Definitions that say when a number leaves its checked domain inside a processor (`core.strict`)."""
    holding: Mapping[str, Holding] = field(default_factory=dict, compare=False)
    """The instances of queues of which only the lengths are here, and how the rest of them is made."""
    kind: str = "pipeline"
    """What messages call the program whose system it is."""
    coming: Mapping[str, Term] = field(default_factory=dict)
    """For presence flags of pipes: it is assumed that an event comes there only where this is true."""

    @property
    def arrivals(self) -> tuple[Input, ...]:
        """The inputs on which events arrive, without the oracles."""
        return tuple(each for each in self.inputs if each.heard is None)

    @property
    def waits(self) -> Term:
        """Whether a step that brings nothing can change something that the system has."""
        known = self.domains
        kept = [term for term in self.pending if all(t.name in known for t in postorder([term]) if t.is_var)]
        found: Term = disjunction(kept) if kept else FALSE
        return found

    @property
    def assumptions(self) -> list[Term]:
        """What is assumed of pipes that the system has."""
        known = self.domains
        return [either(negate(var(name, BOOL)), may) for name, may in self.coming.items() if name in known]

    def __post_init__(self) -> None:
        defined = len(self.variables) + len(self.definitions)
        assert len(self.names()) == defined, f"{self.name}: a name with two meanings"

    def names(self) -> dict[str, Term]:
        """Every defined name with its defining term: next-state terms of variables, terms of definitions."""
        return {v.name: v.next for v in self.variables} | dict(self.definitions)

    def inline(self, value: Any) -> Any:
        """`value` with all definitions replaced by their terms."""
        bindings: dict[Term, Term] = {}
        fold = Substitute(bindings)
        wanted = self.cone(value, through_state=False)
        for name, term in self.definitions:
            if name in wanted:
                bindings[var(name, term.domain)] = fold(term)
        return map_leaves(fold, value)

    def cone(self, value: Any, *, through_state: bool = True) -> set[str]:
        """The names that `value` depends on (the cone of influence), inputs included."""
        assert through_state or not self.holding, f"{self.name}: what its queues hold is not known yet"
        known = self.names() if through_state else dict(self.definitions)
        found: set[str] = set()
        todo = [leaf for leaf in leaves(value) if isinstance(leaf, Term)]
        while todo:
            fresh = {t.name for t in postorder(todo) if t.is_var} - found
            found |= fresh
            for instance in self._find_queue_instances(fresh - known.keys()):
                variables, definitions = self.holding[instance].block(None)
                known |= {v.name: v.next for v in variables} | dict(definitions)
            todo = [terms[name] for name in fresh for terms in (known, self.coming) if name in terms]
        if self.end and self.end.now.name in found:
            found.add(self.end.over.name)  # what may come at a step depends on whether the streams have ended
        return found

    def _find_queue_instances(self, names: Iterable[str]) -> set[str]:
        """The instances of queues that hold these names, none of which is defined here."""
        return self.holding.keys() & map(instance_of, names) if self.holding else set()

    def seen(self, names: set[str]) -> System:
        """The system with all that these names mean: where they speak of what a queue holds, that is made."""
        return self.with_held(dict.fromkeys(self._find_queue_instances(names - self.names().keys())))

    def whole(self) -> System:
        """The system with all that its queues hold."""
        return self.with_held(dict.fromkeys(self.holding))

    def with_held(self, windows: Mapping[str, int | None]) -> System:
        """The system with what these instances hold, or with so many of the oldest events of each queue."""
        if not windows:
            return self
        blocks = {instance: self.holding[instance].block(window) for instance, window in windows.items()}
        return replace(
            self,
            variables=_splice(self.variables, {name: block.variables for name, block in blocks.items()}),
            definitions=_splice(self.definitions, {name: block.definitions for name, block in blocks.items()}),
            holding={name: held for name, held in self.holding.items() if name not in blocks},
        )

    def restrict(self, names: set[str]) -> System:
        """The part of the system with these names; `names` must be closed under dependency."""
        assert not self._find_queue_instances(names - self.names().keys()), (
            f"{self.name}: what its queues hold is not known yet"
        )
        kept_instances = {instance_of(name) for name in names}

        def whole(value: Any) -> bool:
            return all(leaf.name in names for leaf in leaves(value))

        return replace(
            self,
            pipes={name: pipe for name, pipe in self.pipes.items() if whole(pipe.slots)},
            queues={name: q for name, q in self.queues.items() if whole((q.length, q.overflow))},
            free={name: domain for name, domain in self.free.items() if name in names},
            variables=tuple(v for v in self.variables if v.name in names),
            definitions=tuple(d for d in self.definitions if d.name in names),
            instances=tuple(i for i in self.instances if i.name in kept_instances),
            holding={},
        )

    @property
    def domains(self) -> dict[str, Domain]:
        """The domain of every input leaf, variable and definition."""
        found = dict(self.free)
        found.update((v.name, v.domain) for v in self.variables)
        found.update((d.name, d.term.domain) for d in self.definitions)
        return found


def _splice(items: tuple[Named, ...], blocks: Mapping[str, tuple[Named, ...]]) -> tuple[Named, ...]:
    """The items, all of an instance in the place of the first one that there was of it."""
    found: list[Named] = []
    done: set[str] = set()
    for item in items:
        instance = instance_of(item.name)
        if instance not in blocks:
            found.append(item)
        elif instance not in done:
            found += blocks[instance]
            done.add(instance)
    return tuple(found)


def instance_of(name: str) -> str:
    """The instance part of a qualified name."""
    return name.partition(":")[0]


def by_instance(names: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Qualified names with what belongs to them, by their instance."""
    found: dict[str, dict[str, T]] = {}
    for name, item in names.items():
        found.setdefault(instance_of(name), {})[name] = item
    return found


def local_of(name: str) -> str:
    """The local part of a qualified name."""
    return name.partition(":")[2]
