"""Transition systems: the meaning of a pipeline for model checking, and all that verification reads.

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
    """An open input: the environment freely chooses whether it carries an event, and which."""

    name: str
    domain: Domain
    present: Term
    value: Any
    """A variable, or nested tuples of variables."""
    heard: Term | None = None
    """For an oracle: whether its value at a step counts. None if events arrive on the input."""
    of: tuple[str, Processor] | None = None
    """For an oracle: the name of its processor, and the processor."""


@dataclass(frozen=True)
class Pipe:
    """The contents of a pipe at a step: the events of its slots that are present, in order.

    Most pipes have one slot; the output of a processor that emits several events in a step has more.
    """

    slots: tuple[Maybe, ...]
    more: Term | None = None
    """In a system with arrays: the number of further repetitions of the event in its one slot; a variable."""
    rows: Others | None = None
    """In a system with arrays: events that come after the event in its one slot."""

    @property
    def width(self) -> int:
        """The maximum number of events in one step."""
        return len(self.slots)

    @property
    def present(self) -> Term:
        """The condition that the pipe carries an event."""
        condition: Term = disjunction(slot.present for slot in self.slots)
        return condition

    @property
    def value(self) -> Any:
        """The value of the event, on a pipe of width 1."""
        (slot,) = self.slots
        return slot.value


class Queue(NamedTuple):
    """A queue: its capacity, its length at the end of a step, and the condition that an event finds it full."""

    name: str
    capacity: int
    length: Term
    overflow: Term


class WatchedContract(NamedTuple):
    """A contract: the condition that a step keeps it, whether that is assumed, and its words."""

    holds: Term
    assumed: bool
    text: str


class Block(NamedTuple):
    """The variables and definitions of an instance."""

    variables: tuple[StateVariable, ...]
    definitions: tuple[Definition, ...]


class Holding(NamedTuple):
    """The contents of the queues of a join, of which a system may have the lengths only.

    Attributes
    ----------
    join, queues: the queues, and their names.
    arrivals: the events that arrive at each queue in a step, in order.
    fires: per round of a step, whether a front is consumed.
    block: makes the instance with all contents; given a number, with that many of the oldest events (`Join.window`).
    """

    join: Join
    queues: tuple[str, ...]
    arrivals: tuple[tuple[Maybe, ...], ...]
    fires: tuple[Term, ...]
    block: Callable[[int | None], Block]


class Memory(NamedTuple):
    """A state variable that is an array, or a table of rows; and what a step writes to it."""

    name: str
    domain: Array
    columns: tuple[Term, ...]
    """The array of each scalar part, as terms."""
    writes: tuple[Write, ...]
    updates: tuple[Update, ...]

    @property
    def is_table(self) -> bool:
        """Whether the memory is a table."""
        return isinstance(self.domain, KeyedArray)


class End(NamedTuple):
    """The end of input streams: an input for the end itself, and whether it has come in an earlier step."""

    now: Term
    over: Term


class Instance(NamedTuple):
    """The presentation of an instance: its module, and a comment."""

    name: str
    module: str
    comment: str
    roles: tuple[tuple[str, str], ...]
    """Parameter name, and the instance it stands for."""


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
    """The contents of each pipe, as terms."""
    outputs: tuple[tuple[str, str], ...]
    queues: Mapping[str, Queue] = field(default_factory=dict)
    free: Mapping[str, Domain] = field(default_factory=dict)
    """The leaves of the inputs in the system: presence flags and values."""
    domains_of_pipes: Mapping[str, Domain] = field(default_factory=dict)
    end: End | None = None
    """The end of all inputs; None if no processor acts at the end."""
    uses: Mapping[str, Term] = field(default_factory=dict)
    """For definitions of values: the condition that the value is used (its pipe's presence)."""
    pending: tuple[Term, ...] = ()
    """Conditions on the state under which a step without events can change something (otherwise none does)."""

    ends: Mapping[str, End] = field(default_factory=dict)
    """In a system with arrays, instead: the end of each input, by name."""
    memories: tuple[Memory, ...] = ()
    strict: frozenset[str] = frozenset()
    """Definitions: a number leaves its checked domain inside a processor (`core.strict_values`)."""
    leaving: frozenset[str] = frozenset()
    """Those of them after which nothing more is known about the processor."""
    holding: Mapping[str, Holding] = field(default_factory=dict, compare=False)
    """The instances of queues with lengths only, and how to make the rest."""
    kind: str = "pipeline"
    """The kind of the program, as messages call it."""
    coming: Mapping[str, Term] = field(default_factory=dict)
    """For presence flags of pipes: the condition that events are assumed to satisfy."""
    watched: Mapping[str, WatchedContract] = field(default_factory=dict)
    """The contracts whose streams are in the system (`held.contracts.watch`), by name."""

    @property
    def symbols(self) -> list[Term]:
        """The symbols that a step depends on: those of the variables, then those of the leaves of the inputs."""
        domains = {variable.name: variable.domain for variable in self.variables} | dict(self.free)
        return [var(name, domain) for name, domain in domains.items()]

    @property
    def restrictions(self) -> tuple[str, ...]:
        """The names of the assumptions that restrict the runs of the system."""
        known = self.domains
        return tuple(name for name, each in self.watched.items() if each.assumed and each.holds.name in known)

    @property
    def is_restricted_by_state(self) -> bool:
        """Whether there may be states in which no event meets the assumptions."""
        names = self.cone(tuple(self.watched[name].holds for name in self.restrictions))
        return any(variable.name in names for variable in self.variables)

    @property
    def own_queues(self) -> tuple[Queue, ...]:
        """The queues of the pipeline, without those of contracts, which a run does not have."""
        prefixes = tuple(f"{name}." for name in self.watched)
        return tuple(queue for queue in self.queues.values() if not queue.name.startswith(prefixes))

    @property
    def arrivals(self) -> tuple[Input, ...]:
        """The inputs on which events arrive, without the oracles."""
        return tuple(each for each in self.inputs if each.heard is None)

    @property
    def waits(self) -> Term:
        """The condition that a step without events can change something in the system."""
        known = self.domains
        terms = [term for term in self.pending if all(t.name in known for t in postorder([term]) if t.is_var)]
        condition: Term = disjunction(terms) if terms else FALSE
        return condition

    @property
    def assumptions(self) -> list[Term]:
        """The assumptions about pipes of the system."""
        known = self.domains
        return [either(negate(var(name, BOOL)), may) for name, may in self.coming.items() if name in known]

    def __post_init__(self) -> None:
        defined = len(self.variables) + len(self.definitions)
        assert len(self.names()) == defined, f"{self.name}: a name with two meanings"

    def names(self) -> dict[str, Term]:
        """Return every defined name with its defining term: next-state terms of variables, terms of definitions."""
        return {v.name: v.next for v in self.variables} | dict(self.definitions)

    def inline(self, value: Any) -> Any:
        """Return `value` with all definitions replaced by their terms."""
        bindings: dict[Term, Term] = {}
        fold = Substitute(bindings)
        names = self.cone(value, through_state=False)
        for name, term in self.definitions:
            if name in names:
                bindings[var(name, term.domain)] = fold(term)
        return map_leaves(fold, value)

    def cone(self, value: Any, *, through_state: bool = True) -> set[str]:
        """Return the names that `value` depends on (the cone of influence), including inputs."""
        assert through_state or not self.holding, f"{self.name}: what its queues hold is not known yet"
        known = self.names() if through_state else dict(self.definitions)
        names: set[str] = set()
        todo = [leaf for leaf in leaves(value) if isinstance(leaf, Term)]
        while todo:
            fresh = {t.name for t in postorder(todo) if t.is_var} - names
            names |= fresh
            for instance in self._find_queue_instances(fresh - known.keys()):
                variables, definitions = self.holding[instance].block(None)
                known |= {v.name: v.next for v in variables} | dict(definitions)
            todo = [terms[name] for name in fresh for terms in (known, self.coming) if name in terms]
        if self.end and self.end.now.name in names:
            names.add(self.end.over.name)  # the possible events of a step depend on whether the streams have ended
        return names

    def _find_queue_instances(self, names: Iterable[str]) -> set[str]:
        """Return the instances of queues that hold these names, none of which is defined here."""
        return self.holding.keys() & map(instance_of, names) if self.holding else set()

    def seen(self, names: set[str]) -> System:
        """Return the system with everything that these names refer to: needed contents of queues are made."""
        return self.with_held(dict.fromkeys(self._find_queue_instances(names - self.names().keys())))

    def whole(self) -> System:
        """Return the system with the contents of all queues."""
        return self.with_held(dict.fromkeys(self.holding))

    def with_held(self, windows: Mapping[str, int | None]) -> System:
        """Return the system with the contents of these instances, or with some of the oldest events of each queue."""
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
        """Return the part of the system with these names; `names` must be closed under dependency."""
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
        domains = dict(self.free)
        domains.update((v.name, v.domain) for v in self.variables)
        domains.update((d.name, d.term.domain) for d in self.definitions)
        return domains


def _splice(items: tuple[Named, ...], blocks: Mapping[str, tuple[Named, ...]]) -> tuple[Named, ...]:
    """Replace items by blocks, each at the position of the first item of its instance."""
    sequence: list[Named] = []
    done: set[str] = set()
    for item in items:
        instance = instance_of(item.name)
        if instance not in blocks:
            sequence.append(item)
        elif instance not in done:
            sequence += blocks[instance]
            done.add(instance)
    return tuple(sequence)


def instance_of(name: str) -> str:
    """Return the instance part of a qualified name."""
    return name.partition(":")[0]


def by_instance(names: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Group qualified names, with their items, by instance."""
    groups: dict[str, dict[str, T]] = {}
    for name, item in names.items():
        groups.setdefault(instance_of(name), {})[name] = item
    return groups


def local_of(name: str) -> str:
    """Return the local part of a qualified name."""
    return name.partition(":")[2]
