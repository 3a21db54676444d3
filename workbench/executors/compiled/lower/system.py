"""Translation of a pipeline to the transition system that compiled executors run, or a refusal before the first event.

The rule of this module: the state of a pipeline is 64-bit words; values that do not fit in words are refused.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple

from workbench.core.domain import WORDS, Domain, Integers, Overflowing, Range, Texts
from workbench.core.fields import Map, Tuple, scalars, within
from workbench.core.fold import postorder
from workbench.core.kinds import Clocked
from workbench.core.memory import ANY_ROW, Array, KeyedArray
from workbench.core.ops import OR, disjunction, negate
from workbench.core.pipeline import Pipeline
from workbench.core.processor import FIND_ESCAPES, advise_range
from workbench.core.program import Program, unknown
from workbench.core.range_escape import Bounded, Unchecked, escape_condition
from workbench.core.term import FALSE, TRUE, Others, Term, const, leaves, var
from workbench.errors import Refused, TypingError
from workbench.executors.backend import check_support
from workbench.executors.compiled.lower.input_maps import find_input_maps
from workbench.executors.compiled.lower.maps import in_tables
from workbench.executors.compiled.lower.words import refuse_large, refuse_long
from workbench.ir.compose import compose
from workbench.ir.reduce import escape_in
from workbench.ir.ring_buffer import ENDLESS
from workbench.ir.system import Memory, StateVariable, System, instance_of, local_of
from workbench.processors.held.contracts import MONITOR, UNMONITORED, breaks

Substitution = Mapping[Term, Term]
"""Constants for variables and inputs."""


class Hazard(NamedTuple):
    """A condition that must not come true in a step."""

    what: str
    """The error's message after the step's number."""
    hint: str
    happens: Term
    queue: str = ""
    """The queue that overflows."""
    exceeds_64_bits: bool = False
    """Whether the only error is a number that exceeds the words of compiled code."""
    gets: Term = FALSE
    """The value outside its range that a variable gets."""


def translate(
    pipeline: Program,
    backend: str,
    capacities: Mapping[str, int] | None = None,
    rest: int = ENDLESS,
    *,
    maps: bool = False,
) -> System:
    """Return the system of a pipeline over 64-bit words and finite domains.

    Parameters
    ----------
    capacities: queue name to capacity; None takes the pipeline's own.
    rest: the capacity of the other queues; 0 for queues of events that no memory can hold.
    maps: whether inputs may carry maps of any size.

    Raises
    ------
    Refused: a pipe carries values that compiled code cannot hold, or a processor has no translation; names it.
    """
    flat = check_support(pipeline, backend)
    for pipe, domain in flat.domains.items():
        inside = (part for part in within(domain) if not isinstance(part, Map | Tuple))
        odd = next((part for part in inside if not (part.finite or isinstance(part, WORDS))), None)
        if odd is not None:
            raise Refused(
                f"pipe '{pipe}' of {flat.ports.of} carries {odd}, which backend '{backend}' cannot hold",
                hint="use bool, int, float, str, a finite type, or tuples of them; the reference executor runs all",
            )
    map_domains = set[Domain]()
    for name, domain in flat.inputs:
        message = f"input '{name}' of {flat.ports.of} carries {domain}, but backend '{backend}' takes no"
        try:
            map_domains.update(find_input_maps(domain))
        except Refused as error:
            raise Refused(f"{message} such maps: {error.what}", hint=error.hint) from error
        if map_domains and not maps:
            hint = "use one thread of numba, without keys; the reference executor runs everything"
            raise Refused(f"{message} maps in", hint=hint)
    for node in flat.nodes:
        if isinstance(node.processor, Clocked):
            raise Refused(
                f"`{node.processor}` (processor '{node.name}') works on steps, not on events, and backend"
                f" '{backend}' has no such processors",
                where=node.where,
                hint="run it in the reference executor",
            )
    known = find_capacities(flat, capacities)
    sizes = {queue: known.get(queue, rest if _is_storable(flat, queue, map_domains) else 0) for queue in flat.queues}
    try:
        system = in_tables(compose(flat, {**known, **sizes}, arrays=True), flat)
    except (Refused, TypingError) as error:
        raise Refused(f"backend '{backend}': {error.what}", where=error.where, hint=error.hint) from error
    _check_words(system, flat)
    ordered = next((name for name, pipe in system.pipes.items() if pipe.rows and _keys(pipe.rows) is Texts), None)
    if ordered is not None:
        raise Refused(
            f"backend '{backend}': several slices can emit in one step on pipe '{ordered}' of {flat.ports.of}, in the"
            " order of their keys, which are texts, but compiled code has numbers for texts, in any order",
            hint="the reference executor runs everything; or let the keys be labels, {a, b}, or numbers",
        )
    return system


def terms_of(system: System) -> Iterator[Term]:
    """Yield every term of a system."""
    pipes = [(pipe.slots, () if pipe.rows is None else pipe.rows[:3]) for pipe in system.pipes.values()]
    memories = [each[:3] for memory in system.memories for each in (*memory.writes, *memory.updates)]
    yield from postorder([*system.names().values(), *leaves((tuple(pipes), tuple(memories)))])


def texts_in(system: System) -> list[str]:
    """Return the text constants of a system."""
    texts = {term.payload for term in terms_of(system) if term.is_const and isinstance(term.domain, Texts)}
    texts.update(v.initial for v in system.variables if isinstance(v.domain, Texts))
    fresh = [leaf for m in system.memories if isinstance(m.domain, KeyedArray) for leaf in leaves(m.domain.fresh)]
    return sorted(map(str, {*texts, *(leaf for leaf in fresh if isinstance(leaf, str))}))


def _keys(rows: Others) -> type[Domain]:
    """Return the type of the keys of a table."""
    array = rows.keys.domain
    assert isinstance(array, Array)
    return type(array.element)


def find_capacities(flat: Pipeline, capacities: Mapping[str, int] | None) -> dict[str, int]:
    """Return the capacities of queues that have one: of the pipeline, or given instead."""
    known = dict(flat.capacities if capacities is None else capacities)
    for queue in known:
        if queue not in flat.queues:
            raise unknown(flat.ports.of, "queue", queue, flat.queues)
    return known


def _is_storable(flat: Pipeline, queue: str, map_domains: Container[Domain]) -> bool:
    """Whether a memory can hold the events in a queue, given the types of input maps."""
    waiting = flat.domains[flat.sources[queue]]
    return all(part.finite or isinstance(part, WORDS) or part in map_domains for _, part in scalars(waiting))


def _check_words(system: System, flat: Pipeline) -> None:
    """Refuse numbers that do not fit in a word, naming the processor (or the input)."""
    terms: dict[str, list[Any]] = {each.name: [each.value] for each in system.inputs}
    for name, term in system.names().items():
        terms.setdefault(instance_of(name), []).append(term)
    for memory in system.memories:
        terms.setdefault(instance_of(memory.name), []).extend(each[:3] for each in (*memory.writes, *memory.updates))
    nodes = {node.name: node for node in flat.nodes}
    for instance, own_terms in terms.items():
        node = nodes.get(instance.removesuffix(".queue"))
        try:
            for term in postorder(list(leaves(tuple(own_terms)))):
                refuse_large(term)
            for variable in system.variables:
                if instance_of(variable.name) == instance and isinstance(variable.domain, Integers):
                    refuse_long(variable.initial)
        except Refused as error:
            what = f"{'input' if node is None else 'processor'} '{instance}': {error.what}"
            raise Refused(what, where=node.where if node else "", hint=error.hint) from error


def find_constants(system: System) -> dict[Term, Term]:
    """Return the variables that have only one value (mostly those of queues that never hold an event)."""
    return {var(v.name, v.domain): const(v.initial, v.domain) for v in system.variables if v.domain.size == 1}


def dense(system: System) -> dict[Term, Term]:
    """Return the constants of a step in which every input has an event."""
    open_ = {end.over: FALSE for end in system.ends.values()}
    return {source.present: TRUE for source in system.inputs} | open_ | sparse(system)


def sparse(system: System) -> dict[Term, Term]:
    """Return the constants of a step that is not the end of a stream."""
    over = {end.over: FALSE for end in system.ends.values() if len(system.inputs) == 1}
    return find_constants(system) | {end.now: FALSE for end in system.ends.values()} | over


def ending(system: System, names: Container[str] | None = None) -> dict[Term, Term]:
    """Return the constants of the step at which these inputs end: by default all that are open."""
    now = {end.now: TRUE if names is None or name in names else FALSE for name, end in system.ends.items()}
    return sparse(system) | {source.present: FALSE for source in system.inputs} | now


def list_known(system: System, kind: str) -> dict[Term, Term]:
    """Return the constants of every step of a loop: `dense`, `sparse`, `ending`, or `ending NAME` for one input."""
    _, _, name = kind.partition(" ")
    if name:
        return ending(system, [name])
    return {"dense": dense, "sparse": sparse, "ending": ending}[kind](system)


def escaping(memory: Memory, kind: Bounded) -> Iterator[Term]:
    """Yield the conditions under which a value written to a memory leaves a domain of this kind."""
    for write in memory.writes:
        yield escape_condition([write.happens], kind)
        yield escape_condition([write.position, write.value], kind, write.happens)
    for update in memory.updates:
        yield escape_condition([update.happens], kind)
        yield ANY_ROW.build((memory.columns[0], update.happens, escape_condition([update.value], kind, update.which)))


def _escaping_in(rows: Others, kind: Bounded) -> Term:
    """Return the condition under which a result for many rows of a table leaves a domain of this kind."""
    condition = OR(escape_condition([rows.which], kind), escape_condition([rows.value], kind, rows.which))
    return ANY_ROW.build((rows.used, rows.happens, condition))


def _leaving(system: System, variable: StateVariable) -> Hazard | None:
    """Return the hazard that a variable leaves its range, if it can."""
    escapes = escape_in(system, {variable.name}, Overflowing.CHECKED)
    message = f"processor '{instance_of(variable.name)}': '{local_of(variable.name)}' of {variable.domain} gets"
    gets = FALSE if escapes is FALSE else system.inline(Unchecked({})(variable.next))
    return None if escapes is FALSE else Hazard(message, FIND_ESCAPES + advise_range(), escapes, gets=gets)


def hazards(system: System) -> tuple[Hazard, ...]:
    """Return the conditions that end a run: full queues, and numbers that leave a checked domain or a word."""
    candidates = []
    for queue in system.queues.values():
        if queue.capacity == ENDLESS:
            continue
        what = f"queue '{queue.name}' of {system.kind} {system.name} overflows: its capacity is {queue.capacity}"
        candidates.append(Hazard(what, "give it a larger capacity", queue.overflow, queue.name))
    instances = dict.fromkeys(instance_of(name) for name in system.names())
    for kind, what, hint in (
        (Overflowing.CHECKED, "leaves its checked domain", "choose a larger domain, or modular or saturating integers"),
        (Integers, "leaves the 64 bits of compiled integers", "the reference executor has integers of any size"),
    ):
        for instance in instances:
            names = {name for name in system.names() if instance_of(name) == instance}
            if kind is Overflowing.CHECKED:
                ranges = [v for v in system.variables if v.name in names and isinstance(v.domain, Range)]
                candidates += [each for variable in ranges if (each := _leaving(system, variable)) is not None]
                names -= {variable.name for variable in ranges}
            escapes = escape_in(system, names, kind)
            for memory in system.memories:
                if instance_of(memory.name) == instance:
                    escapes = disjunction([escapes, *escaping(memory, kind)])
            for pipe in system.pipes.values():
                if pipe.rows is not None and instance_of(pipe.slots[0].present.name) == instance:
                    escapes = disjunction([escapes, _escaping_in(pipe.rows, kind)])
            contract = system.watched.get(instance.removesuffix(MONITOR)) if instance.endswith(MONITOR) else None
            if contract is not None and kind is Overflowing.CHECKED:
                candidates.append(Hazard(breaks(contract.text), UNMONITORED, negate(contract.holds)))
            if escapes is not FALSE:
                message = f"processor '{instance}': a result {what}"
                candidates.append(Hazard(message, hint, escapes, exceeds_64_bits=kind is Integers))
    happening = zip(candidates, system.inline(tuple(h.happens for h in candidates)), strict=True)
    return tuple(h._replace(happens=condition) for h, condition in happening if condition is not FALSE)
