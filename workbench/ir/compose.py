"""The crawl: from a pipeline to its transition system (TIME 2021, section 3.2).

The `step` of every processor is run once on symbols (`Processor.machine`); pipes become definitions; every join gets
its bounded queues. One transition is one upstream push and everything that it triggers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.budget import phase
from workbench.core.contract import Contract
from workbench.core.domain import BOOL, Domain, Range
from workbench.core.fields import Map, within
from workbench.core.join import Join
from workbench.core.kinds import Clocked, Deferring, Tick, pack_slots
from workbench.core.memory import ANY_ROW, Array, Cells
from workbench.core.ops import (
    AND,
    GT,
    MAX,
    NOT,
    OR,
    as_term,
    both,
    conjunction,
    disjunction,
    either,
    ite,
    negate,
    restrict_to_range,
)  # fmt: skip
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Machine, Maybe, Repeated, Scattered, Stepped, slots_of
from workbench.core.program import Program
from workbench.core.strict_values import Computed, strictly
from workbench.core.term import FALSE, TRUE, Others, Term, const, has_view, leaves, var
from workbench.errors import Refused, WorkbenchError
from workbench.ir.ends import END_NAME, Ends, finishing
from workbench.ir.queues import Queues, Round
from workbench.ir.ring_buffer import ENDLESS, Ring, is_long, name_max_waited
from workbench.ir.system import Holding, Input, Instance, Memory, Pipe, Queue, StateVariable, System, WatchedContract
from workbench.ir.variable_contents import DEFAULT_CAPACITY, HeldDomains, canonical, capacities_of, guard_state
from workbench.ir.wires import Wires, name_shared
from workbench.processors.held.group import flatten, with_capacities

_WAITING = "limit the positions that may wait: pending = 4"


@phase("composing the model")
def compose(pipeline: Program, capacity: int | Mapping[str, int] = DEFAULT_CAPACITY, *, arrays: bool = False) -> System:
    """Compose the transition system of a pipeline over finite domains.

    Parameters
    ----------
    pipeline: resolved to finite domains (`Pipeline.resolve`).
    capacity: of every queue in events, or per queue name; other queues get the pipeline's own capacity, else 2.
    arrays: whether the system may have state that no model has: `int` and `float` as domains, arrays for long queues,
        windows and slices by any key, and a separate end for each input.

    Raises
    ------
    Refused: a domain is infinite, or a processor or function has no finite translation.
    """
    return outline(pipeline, capacity, arrays=arrays).whole()


@phase("composing the model")
def outline(pipeline: Program, capacity: int | Mapping[str, int] = DEFAULT_CAPACITY, *, arrays: bool = False) -> System:
    """Compose the same system with counters of queues only: their contents are built when needed (`System.seen`)."""
    flat = flatten(pipeline)
    if not isinstance(capacity, int):
        flat = with_capacities(flat, capacity)
        capacity = {queue: size for queue, size in capacity.items() if queue not in flat.inner_capacities}
    return _Crawl(flat, capacity, arrays).system()


class _Crawl:
    """One walk over a flat pipeline, node by node in topological order."""

    def __init__(self, pipeline: Pipeline, capacity: int | Mapping[str, int], arrays: bool) -> None:
        self.pipeline = pipeline
        self.arrays = arrays
        self.held = HeldDomains(arrays)
        self.capacities = capacities_of(pipeline, capacity)
        self.pipes: dict[str, Pipe] = {}
        self.sources: dict[str, str] = {}
        """The instance that drives each pipe."""
        self.inputs: list[Input] = []
        self.wires = Wires()
        self.instances: list[Instance] = []
        self.queues: dict[str, Queue] = {}
        self.holding: dict[str, Holding] = {}
        self.strict: set[str] = set()
        self.leaving: set[str] = set()
        self.ends = Ends(pipeline, apart=arrays)
        self.kept: list[Cells] = []
        self.pending: list[Term] = []
        self.coming: dict[str, Term] = {}
        self.more: dict[str, Term] = {}
        """The number of further repetitions of an event, per instance that repeats its events."""
        self.rows: dict[str, Others] = {}
        """The rows, per instance that emits an event for each of many rows of a table."""

    def system(self) -> System:
        for name, domain in self.pipeline.inputs:
            self._input(name, domain)
        self.wires.variables += self.ends.variables
        if self.ends.all:
            self.instances.append(Instance(END_NAME, "End", "the input streams end, now or before", ()))
        for node in self.pipeline.nodes:
            try:
                self._node(node)
            except WorkbenchError as error:
                error.where = error.where or node.where
                raise
        watched = {each.name: self._watch(each) for each in self.pipeline.contracts if each.name in self.pipes}
        memories = [self._memory(cells) for cells in self.kept]
        free = leaves((*((i.present, i.value) for i in self.inputs), *(end.now for end in self.ends.all)))
        return System(
            self.pipeline.name,
            tuple(self.inputs),
            tuple(self.wires.variables),
            tuple(self.wires.definitions),
            tuple(self.instances),
            self.pipes,
            self.pipeline.outputs,
            self.queues,
            {leaf.name: leaf.domain for leaf in free},
            dict(self.pipeline.domains),
            self.ends.whole,
            self.wires.uses,
            tuple(self.pending),
            self.ends.each,
            tuple(memories),
            frozenset(self.strict | self.leaving),
            frozenset(self.leaving),
            self.holding,
            self.pipeline.kind,
            self.coming,
            watched,
        )

    def _input(self, name: str, domain: Domain) -> None:
        if name in self.pipeline.clocks:
            raise Refused(
                f"input '{name}' is the time of steps, which a model does not have",
                hint="check the parts before and after its readers as pipelines of their own",
            )
        if not self.held.fits(domain, maps=self.arrays):
            why, hint = self.held.obstacle(domain, computed=False)
            raise Refused(f"input '{name}' carries {domain}, {why}: the model needs finite domains", hint=hint)
        if self.arrays and any(isinstance(part, Map) and part.finite for part in within(domain)):
            raise Refused(
                f"input '{name}' carries {domain}: code by column does not read maps",
                hint="let the pipeline build the map, with slice",
            )
        event = Maybe(var(f"{name}:present", BOOL), var(f"{name}:value", domain))
        self.inputs.append(Input(name, domain, *event))
        if not self.arrays and any(isinstance(part, Map) for part in within(domain)):
            normal_form = self.wires.define_value(f"{name}:kept", canonical(event.value), domain, event.present)
            event = Maybe(event.present, normal_form)
        comment = "an oracle" if name in self.pipeline.oracles else ""
        self.instances.append(Instance(name, f"Input {domain}", comment, ()))
        self.pipes[name] = Pipe((event,))
        self.sources[name] = name

    def _node(self, node: Node) -> None:
        domains = tuple(self.pipeline.domains[pipe] for pipe in node.inputs)
        single = self.arrays and all(self.pipes[pipe].width == 1 for pipe in node.inputs) and not node.processor.merges
        stored = self.pipeline.typed[node.name].stored(domains) if single else None
        cells = self._cells(node.name, stored.arrays) if stored else []
        repeated = next((self.pipes[pipe].more for pipe in node.inputs if self.pipes[pipe].more is not None), None)
        rows = next((self.pipes[pipe].rows for pipe in node.inputs if self.pipes[pipe].rows is not None), None)
        many = repeated is not None or rows is not None
        unbounded = any(self.pipeline.widths[pipe] is None for pipe in node.outputs)
        named = f"`{node.processor}` (processor '{node.name}')"
        if self.arrays and unbounded and stored is None and not many:
            raise Refused(
                f"{named} can emit any number of events in a step, and a model needs a bound",
                hint=_WAITING if isinstance(node.processor, Deferring) else "give its input a finite domain",
            )
        machine = stored.machine(cells) if stored else self._machine(node, domains)
        arrivals = [self.pipes[pipe].slots for pipe in node.inputs]
        roles = tuple((role, self.sources[pipe]) for role, pipe in zip(node.processor.ports, node.inputs, strict=True))
        rounds: tuple[Round, ...] = ()
        clocked = isinstance(node.processor, Clocked)
        if clocked:
            pass
        elif node.queues:
            rounds = self._join(node, domains, arrivals, roles)
            roles = (("queue", f"{node.name}.queue"),)
        else:
            rounds = tuple(node.processor.rounds(arrivals))
            roles = roles if node.processor.merges else (("input", roles[0][1]),)
        wiring = f"{', '.join(node.inputs)} -> {', '.join(node.outputs)}"
        self.instances.append(Instance(node.name, str(node.processor), wiring, roles))
        for each in cells:
            each.fires = rounds[0][0]
        emitted = self._tick_machine(node, machine) if clocked else self._rounds(node, machine, rounds)
        self.kept += cells
        widths = [self.pipeline.widths[pipe] for pipe in node.outputs]
        # fewer if little waits at a join
        assert all(w is None or max(1, len(o)) <= w for w, o in zip(widths, emitted, strict=True)), node.name
        if many and (machine.slots or cells or len(node.inputs) > 1 or max(map(len, emitted)) > 1):
            raise Refused(
                f"any number of events can reach {named} in a step, and only functions of one stream read such a pipe",
                hint=_WAITING if rows is None else "",
            )
        if rows is not None:
            self.rows[node.name] = self._in_rows(node, machine, rows)
        for position, (pipe, slots) in enumerate(zip(node.outputs, emitted, strict=True), 1):
            self.held.check(node, self.pipeline.domains[pipe], pipe, slots, in_table=bool(stored))
            prefix = f"{node.name}:" + (f"out{position}." if len(node.outputs) > 1 else "")
            out_pipe = self._pipe(prefix, slots, self.pipeline.domains[pipe])
            more = self.more.get(node.name, repeated)
            self.pipes[pipe] = replace(out_pipe, more=more, rows=self.rows.get(node.name))
            self.sources[pipe] = node.name

    def _in_rows(self, node: Node, machine: Machine, rows: Others) -> Others:
        """Apply a machine without memory to the events of rows of a table."""
        with strictly(rows.which) as inside:
            _, (out,) = self._step_machine(node, machine, (), (rows.value,))
        (each,) = slots_of(out)
        anywhere = ANY_ROW.build((rows.used, rows.happens, inside.escape))
        self._escapes(f"{node.name}:inner_escape_in_rows", Computed(known=[anywhere]))
        return rows._replace(which=both(rows.which, each.present), value=each.value)

    def _step_machine(self, node: Node, machine: Machine, state: tuple[Any, ...], front: Any) -> Stepped:
        """Step a machine on terms; an error names the processor."""
        try:
            return machine.on_symbols(state, front, node.processor.out_arity)
        except Refused as error:
            named = f"processor '{node.name}' ({node.processor}): {error.what}"
            raise error.retold(named, where=error.where or node.where) from error

    def _rounds(self, node: Node, machine: Machine, rounds: Sequence[Round]) -> list[list[Maybe]]:
        """Run the machine on the fronts of a step, one after the other; return what it emits on each output."""
        state = before = tuple(var(f"{node.name}:{slot.name}", slot.domain) for slot in machine.slots)
        emitted: list[list[Maybe]] = [[] for _ in node.outputs]
        for port, may_come in (machine.comes(before, rounds[0][1]) if machine.comes else {}).items():
            self._assume(f"{node.name}:may_come{port}", self.pipes[node.inputs[port]], may_come)
        full: dict[str, Term] = {}
        for number, (fires, front) in enumerate(rounds, 1):
            with strictly(fires) as step_values:
                following, results = self._step_machine(node, machine, state, front)
            if machine.shares:
                following, results = name_shared(
                    self.wires, f"{node.name}:part{number}", following, results, step_values
                )
            self._escapes(f"{node.name}:inner_escape{number if number > 1 else ''}", step_values)
            if node.pending in self.pipeline.inner_capacities:
                (count, *rest), capacity = following, self.pipeline.inner_capacities[node.pending]
                full[node.pending] = OR(full.get(node.pending, FALSE), AND(fires, GT(count, capacity)))
                following = (restrict_to_range(count, Range(0, capacity)), *rest)
            for queue, overflow in zip(machine.queues, following[len(machine.slots) :], strict=True):
                name = f"{node.name}.{queue}"
                full[name] = OR(full.get(name, FALSE), AND(fires, as_term(overflow, BOOL)))
            following = following[: len(machine.slots)]
            for slot, new in zip(machine.slots, following, strict=True):
                if has_view(new):
                    raise self.held.refusal(node, f"state '{slot.name}'", slot.domain)
            state = tuple(
                guard_state(fires, new, old, slot.domain)
                for slot, old, new in zip(machine.slots, state, following, strict=True)
            )
            if number < len(rounds):
                names = (f"{node.name}:{slot.name}_after{number}" for slot in machine.slots)
                state = tuple(self.wires.share_value(name, part) for name, part in zip(names, state, strict=True))
            out: Any  # also `Repeated` and `Scattered`, which only `Stored` machines emit
            for slots, out in zip(emitted, results, strict=True):
                if isinstance(out, Repeated):
                    self.more[node.name] = out.more
                elif isinstance(out, Scattered):
                    self.rows[node.name] = out.rows._replace(happens=AND(fires, out.rows.happens))
                slots += [Maybe(AND(fires, as_term(each.present, BOOL)), each.value) for each in slots_of(out)]
        if machine.emits and len(rounds) > 1:
            results = machine.emits(before, rounds, lambda name, term: self.wires.share(f"{node.name}:{name}", term))
            emitted = [list(slots_of(out)) for out in results]
        for slot, old, new in zip(machine.slots, before, state, strict=True):
            self.wires.store(slot, old, new)
        lengths = state[:1] if node.pending in full else machine.lengths(state)
        for (queue, overflow), length in zip(full.items(), lengths, strict=True):
            self._own_queue(node, queue, length, overflow)
        if machine.finish and self.ends.all:
            late, now = bool(self.pipeline.late.intersection(node.inputs)), self.ends.now(node)
            with strictly(now) as step_values:
                last = machine.finish(state)
            self._escapes(f"{node.name}:inner_escape_at_end", step_values)
            return [finishing(now, slots, slots_of(out), late=late) for slots, out in zip(emitted, last, strict=True)]
        return emitted

    def _assume(self, name: str, pipe: Pipe, may_come: Term) -> None:
        """Assume that the pipe carries events only where a condition is true."""
        for present in (slot.present for slot in pipe.slots if slot.present.is_var):
            known = self.wires.define(name, may_come)
            self.coming[present.name] = both(self.coming.get(present.name, TRUE), known)

    def _watch(self, contract: Contract) -> WatchedContract:
        """Define the condition that a contract is kept at a step; assume it where the pipeline may."""
        slots = self.pipes[contract.name].slots
        condition = conjunction(either(negate(slot.present), slot.value) for slot in slots)
        known = self.wires.define(f"{self.sources[contract.name]}:kept", condition)
        for each in self.inputs if contract.is_own_assumption else ():
            if each.name in contract.reads:
                name = each.present.name
                self.coming[name] = both(self.coming.get(name, TRUE), known)
        return WatchedContract(known, contract.is_own_assumption, str(contract))

    def _own_queue(self, node: Node, queue: str, waiting: Any, overflow: Term) -> None:
        """Add a queue inside a processor, in the form of other queues."""
        own = queue.removeprefix(f"{node.name}.")
        length = self.wires.define(f"{node.name}:length_{own}", waiting)
        overflow_wire = self.wires.define(f"{node.name}:overflow_{own}", overflow)
        self.queues[queue] = Queue(queue, self.pipeline.inner_capacities[queue], length, overflow_wire)

    def _tick_machine(self, node: Node, machine: Machine) -> list[list[Maybe]]:
        """Run a clocked machine on the events of a step, even if there are none; return what it emits per output."""
        state = tuple(var(f"{node.name}:{slot.name}", slot.domain) for slot in machine.slots)
        source, *oracles = node.inputs
        ends = self.ends.now(node)

        def strike(number: int, possible: Any) -> Maybe:
            position, oracle = next((i, each) for i, each in enumerate(self.inputs) if each.name == oracles[number])
            heard = AND(oracle.present, AND(as_term(possible, BOOL), NOT(ends)))
            heard = self.wires.define(f"{node.name}:strikes{number + 1 if number else ''}", heard)
            anywhere = heard if oracle.heard is None else OR(oracle.heard, heard)
            self.inputs[position] = oracle._replace(heard=anywhere, of=(node.name, node.processor))
            self.pipes[oracle.name] = Pipe((Maybe(anywhere, oracle.value),))
            return Maybe(heard, oracle.value)

        tick = Tick(tuple(pack_slots(self.pipes[source].slots)), strike, ends)
        following, results = self._step_machine(node, machine, state, tick)
        for number in range(len(tick.events), len(oracles)):  # bounded queues may let fewer events come
            strike(number, FALSE)
        for slot, old, new in zip(machine.slots, state, following, strict=True):
            self.wires.store(slot, old, guard_state(TRUE, new, old, slot.domain))
        if machine.pending:
            self.pending.append(machine.pending(state))
        return [[Maybe(as_term(each.present, BOOL), each.value) for each in slots_of(out)] for out in results]

    def _pipe(self, prefix: str, slots: Sequence[Maybe], domain: Domain) -> Pipe:
        """Return a pipe that carries these events."""
        defined = []
        nothing = Maybe(FALSE, const(domain.default, domain))
        for number, slot in enumerate(slots or (nothing,), 1):
            suffix = str(number) if number > 1 else ""
            present = self.wires.define(f"{prefix}present{suffix}", slot.present)
            value = self.wires.define_value(f"{prefix}value{suffix}", slot.value, domain, present)
            defined.append(Maybe(present, value))
        return Pipe(tuple(defined))

    def _machine(self, node: Node, domains: tuple[Domain, ...]) -> Machine:
        machine = self.pipeline.typed[node.name].machine(domains)
        if node.pending in self.pipeline.inner_capacities:
            # count the waiting events exactly; one above the capacity is an overflow, as in other queues
            (count, *rest), capacity = machine.slots, self.pipeline.inner_capacities[node.pending]
            machine = machine._replace(slots=(count._replace(domain=Range(0, capacity)), *rest))
        for what, domain in [*((f"state '{s.name}'", s.domain) for s in machine.slots)] + [
            (f"pipe '{pipe}'", self.pipeline.domains[pipe]) for pipe in node.outputs
        ]:
            if not self.held.fits(domain, maps=self.arrays):
                raise self.held.refusal(node, what, domain)
        return machine

    def _cells(self, instance: str, arrays: Mapping[str, Array]) -> list[Cells]:
        """Return the arrays of an instance, to be read and written."""
        return [Cells(f"{instance}:{name}", domain) for name, domain in arrays.items()]

    def _memory(self, cells: Cells) -> Memory:
        """Return a memory with the writes of its instance where that fires; totals over it become variables."""
        fires = cells.fires
        for symbol, after in cells.totals.values():
            self.wires.variables.append(StateVariable(symbol.name, symbol.domain, 0, ite(fires, after, symbol)))
        writes = tuple(write._replace(happens=AND(fires, write.happens)) for write in cells.writes)
        updates = tuple(update._replace(happens=AND(fires, update.happens)) for update in cells.updates)
        return Memory(cells.name, cells.domain, cells.columns, writes, updates)

    def _join(
        self,
        node: Node,
        domains: tuple[Domain, ...],
        arrivals: list[tuple[Maybe, ...]],
        roles: tuple[tuple[str, str], ...],
    ) -> tuple[Round, ...]:
        """Add the queues of a node as an instance of their own; return the fronts that they let through."""
        name = f"{node.name}.queue"
        capacities = tuple(self.capacities[q] for q in node.queues)
        coming = {part for _, domain in self.pipeline.inputs for part in within(domain) if isinstance(part, Map)}
        maps = [{part for part in within(d) if isinstance(part, Map)} for d in domains]
        fit = [
            self.held.fits(d, maps=self.arrays and inside <= coming) for d, inside in zip(domains, maps, strict=True)
        ]
        misfit = next((d for d, q, holds in zip(domains, capacities, fit, strict=True) if q and not holds), None)
        if misfit is not None:
            why, hint = self.held.obstacle(misfit)
            what = f"a queue of processor '{node.name}' has to hold events of {misfit}, {why}"
            raise Refused(what, where=node.where, hint=hint)
        long = self.arrays and is_long(capacities)
        join: Join | Ring = Ring(domains, capacities) if long else Join(domains, capacities)
        capacity_text = ", ".join("any" if q == ENDLESS else str(q) for q in capacities)
        self.instances.append(Instance(name, f"Queues {capacity_text}", f"the queues of {node.name}", roles))
        queues = Queues(name, node.processor.ports, node.queues, Join(domains, capacities), tuple(arrivals))
        if isinstance(join, Ring):
            ring, cells = join, self._cells(name, join.arrays())
            part = queues.step_slots(
                ring.slots(), lambda state, share: ring.rounds(state, queues.arrivals, cells, share)
            )
            self.kept += cells
        elif self.arrays:
            part = queues.part()
        else:
            part = queues.part(0, blind=True)  # their contents are left out
            self.holding[name] = queues.holding(part.rounds)
        self.wires.add(part.wires)
        self.queues.update((queue.name, queue) for queue in part.queues)
        for queue in part.queues:
            if queue.capacity == ENDLESS:
                maximum = var(name_max_waited(queue.name), queue.length.domain)
                self.wires.variables.append(StateVariable(maximum.name, maximum.domain, 0, MAX(maximum, queue.length)))
        return part.rounds

    def _escapes(self, name: str, step_values: Computed) -> None:
        """Define when something inside a processor leaves a checked domain, if it can."""
        ends = disjunction((FALSE, *step_values.ends))
        for each, condition, names in ((name, step_values.escape, self.strict), (f"{name}_ends", ends, self.leaving)):
            if condition is not FALSE:
                self.wires.define(each, condition)
                names.add(each)
