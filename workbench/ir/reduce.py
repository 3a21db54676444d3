"""The reduction of a system to what a property needs, and the flag that keeps overflow out of every conclusion.

`focus` keeps the cone of influence of a property: data that the property does not read is sliced away, so a
question about queues or liveness costs the same for every N. The queues and the checked numbers in the cone share
one sticky flag; once it is set the state returns to its initial value and stays there, so nothing after an overflow
costs states or can be concluded from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import BOOL, Domain, Integer, Overflowing, SomeFloats, SomeTexts
from workbench.core.fields import Map, within
from workbench.core.ops import OR, disjunction, ite
from workbench.core.range_escape import Bounded, can_escape, escape_condition
from workbench.core.term import FALSE, TRUE, Term, const, leaves, var
from workbench.ir.system import Definition, Instance, Queue, StateVariable, System, instance_of

FLAG = "(overflow)"
"""The instance of the sticky flag; no processor can have this name."""


@dataclass(frozen=True)
class Model:
    """A system reduced to what a property needs.

    Attributes
    ----------
    system: the cone, with the overflow flag in place.
    overflow: true from the step on at which a queue overflows or a checked number leaves its domain;
        the constant false if neither can happen in the cone.
    queues: the queues in the cone.
    escapes: whether a checked number leaves its domain at this step, somewhere in the cone.
    wraps: whether arithmetic wraps (modular) at this step, somewhere in the cone.
    clamps: the same for saturating numbers.
    integers: the finite integer domains in the cone; without the domain of `int`, verdicts hold for every N.
    instead: the domains in the cone that stand for `str` and `float`.
    """

    system: System
    overflow: Term
    queues: tuple[Queue, ...]
    escapes: Term
    wraps: Term
    clamps: Term
    integers: frozenset[Integer]
    instead: frozenset[SomeTexts | SomeFloats] = frozenset()


def focus(system: System, roots: Iterable[Any]) -> Model:
    """Return the part of `system` on which the terms `roots` depend, with its overflow flag."""
    roots = tuple(roots)
    names = system.cone(roots)
    while True:
        instances = {instance_of(name) for name in names}
        names |= {name for name in system.leaving if instance_of(name) in instances}
        system = system.seen(names)
        flags = _flags(system, names)
        grown = system.cone((*roots, *flags)) | names
        if grown == names:  # whether a value wraps depends on its presence, too
            wraps, clamps, escaping = escapes = [escape_in(system, names, kind) for kind in Overflowing]
            grown = system.cone(tuple(escapes)) | names
        if grown == names:
            break
        names = grown
    queues = _queues(system, names)
    cut = system.restrict(names)
    overflow: Term = FALSE
    if flags:
        cut, overflow = _with_flag(cut, disjunction(flags))
    return Model(
        cut,
        overflow,
        queues,
        escaping,
        wraps,
        clamps,
        frozenset(domain for domain in domains_in(system, names) if isinstance(domain, Integer)),
        _instead(system, names),
    )


def _instead(system: System, names: set[str]) -> frozenset[SomeTexts | SomeFloats]:
    """Return the domains for texts, and for the floats of inputs; computed floats may have others."""
    domains = domains_in(system, names)
    floats = any(isinstance(each, SomeFloats) for each in domains)
    input_floats = {part for each in system.inputs for part in within(each.domain) if isinstance(part, SomeFloats)}
    return frozenset(each for each in domains if isinstance(each, SomeTexts)) | (
        input_floats if floats else frozenset()
    )


def domains_in(system: System, names: set[str]) -> set[Domain]:
    """Return the domains of these names, and of the keys of maps on inputs: for each key there is a name."""
    known = system.domains
    domains = {known[name] for name in names if name in known}
    for each in system.inputs:
        if any(leaf.name in names for leaf in leaves(each.value)):
            domains |= keys_in(each.domain)
    return domains


def keys_in(domain: Domain) -> set[Domain]:
    """Return the domains, down to scalars, of the keys of maps in a domain."""
    return {part for each in within(domain) if isinstance(each, Map) for part in within(each.key)}


def flag_alone(system: System, model: Model) -> Model:
    """Return the part that decides whether the overflow flag of `model` is ever set: further data is sliced away.

    `model` was focused from `system`. Joins read the presence of events and what decides it, so this is a small model
    even if the property compares values.
    """
    flags = (*(queue.overflow for queue in model.queues), model.escapes)
    names = system.cone(flags)
    cut, overflow = _with_flag(system.seen(names).restrict(names), disjunction(flags))
    return replace(model, system=cut, overflow=overflow)


def _flags(system: System, names: set[str]) -> list[Term]:
    flags = [queue.overflow for queue in _queues(system, names)]
    escaping = escape_in(system, names, Overflowing.CHECKED)
    return flags if escaping is FALSE else [*flags, escaping]


def _queues(system: System, names: set[str]) -> tuple[Queue, ...]:
    """Return the queues of every join that has any part in the cone."""
    instances = {instance_of(name) for name in names}
    return tuple(q for q in system.queues.values() if instance_of(q.overflow.name) in instances)


def escape_in(system: System, names: set[str], kind: Bounded) -> Term:
    """Return the condition that an operation which computes one of these names leaves a domain of this kind."""
    condition: Term = FALSE
    computed = {name: term for name, term in system.names().items() if name in names}
    escaping = can_escape(tuple(computed.values()), kind)  # visits what definitions share only once
    for name, term in computed.items():
        if name in system.strict:
            condition = OR(condition, var(name, BOOL) if kind is Overflowing.CHECKED else FALSE)
        elif escaping:
            used = system.uses.get(name, TRUE)
            condition = OR(condition, escape_condition([term], kind, used))
    return condition


def _with_flag(system: System, overflows: Term) -> tuple[System, Term]:
    """Return the system with its sticky flag, which resets every variable to its initial value."""
    happened = var(f"{FLAG}:happened", BOOL)
    now = var(f"{FLAG}:now", BOOL)
    reset = [v._replace(next=ite(now, const(v.initial, v.domain), v.next)) for v in system.variables]
    flag = StateVariable(happened.name, BOOL, False, now)
    definition = Definition(now.name, OR(happened, overflows))
    instance = Instance(FLAG, "Overflow", "an event came to a full queue, now or before", ())
    done = replace(
        system,
        variables=(*reset, flag),
        definitions=(*system.definitions, definition),
        instances=(*system.instances, instance),
    )
    return done, now


def observe(system: System, name: str, variables: Iterable[StateVariable], definitions: Iterable[Definition]) -> System:
    """Return the system with an observer: an instance that watches and influences nothing.

    `name` is in parentheses, so that no processor has it.
    """
    return replace(
        system,
        variables=(*system.variables, *variables),
        definitions=(*system.definitions, *definitions),
        instances=(*system.instances, Instance(name, name.strip("()").capitalize(), "an observer", ())),
    )
