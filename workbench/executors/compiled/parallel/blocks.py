"""Analysis of how to start a system in the middle of a stream: the state of each variable there, and its cost.

A long stream can be run in concurrent blocks if the state at the start of each block is known before earlier blocks
have run. Where every input has an event in every step, that is so for a state made of

- *clocks*: they depend on each other only and are periodic, so that the number of the step determines them;
- *scans*: `v := v op t` with an associative operation (or `v`, under a condition), where `t` does not depend on `v`.
  The effect of a block is computed from the operation's neutral element, and the effects are combined (Blelloch,
  "Prefix sums and their applications", 1990);
- *recent* ones: some steps after any state they no longer depend on it. They are computed by running these steps.

Variables of other kinds, and writes to a memory under conditions on data, are refused. The analysis is one of
dependences. It does not know that the total of a window is that of its events: such a total is assumed to be recent if
they are. The caller has to compare the state in which a block ends with that in which the next was started; then only
speed depends on the analysis, not correctness.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from workbench.core import function as f
from workbench.core.domain import Integer, Overflowing, Reals, Value
from workbench.core.fold import Substitute, postorder
from workbench.core.memory import READS
from workbench.core.ops import ADD, AND, ITE, MAX, MIN, MUL, OR, SUB, Operator
from workbench.core.term import TRUE, Term, const, leaves, var
from workbench.errors import Refused
from workbench.executors.compiled.lower.periodic_part import Circle, circles, find_reached
from workbench.ir.system import System, instance_of

LONGEST = 1 << 15
"""Maximum number of steps of a clock's period, and of the history that determines the recent variables."""

ASSOCIATIVE = {ADD: f.ADD, MUL: f.MUL, MIN: f.MIN, MAX: f.MAX, AND: f.AND, OR: f.OR}


class Scan(NamedTuple):
    """A variable that accumulates: its position among the variables, and the operation."""

    position: int
    op: Operator
    neutral: Value


class Last(NamedTuple):
    """A scan on which only outputs depend, which show it: its blocks are combined at the end.

    Attributes
    ----------
    outputs: number of each output, and of its scalar field.
    """

    scan: Scan
    outputs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Starts:
    """A way to start a system anywhere in a stream.

    Attributes
    ----------
    clocks: position of a variable to its period.
    levels: the scans on which others depend; those of a level depend on lower levels only.
    needed: for each level the names on which its scans depend, memories by their first arrays.
    last: see `Last`.
    history: number of steps after which all other variables are determined.
    """

    clocks: Mapping[int, Circle]
    levels: tuple[tuple[Scan, ...], ...]
    needed: tuple[frozenset[str], ...]
    last: tuple[Last, ...]
    history: int

    def silent(self, system: System, level: int) -> System:
        """Return the system without outputs; up to the last level, all frozen that the level does not need."""
        if level == len(self.levels):
            return replace(system, outputs=())
        needed = self.needed[level]
        still = (v if v.name in needed else v._replace(next=var(v.name, v.domain)) for v in system.variables)
        memories = (m if m.columns[0].name in needed else m._replace(writes=()) for m in system.memories)
        return replace(system, outputs=(), variables=tuple(still), memories=tuple(memories))


def blocks(system: System, constants: Mapping[Term, Term], *, reassociate: bool = False) -> Starts:
    """Analyse how a system can be started anywhere, given constants for inputs (that each has an event).

    Parameters
    ----------
    reassociate: whether to treat sums and products of floats as associative.

    Raises
    ------
    Refused: it cannot, because of some processor.
    """
    tables = [memory.name for memory in system.memories if memory.is_table]
    repeats = [name for name, pipe in system.pipes.items() if pipe.more is not None]
    if tables or repeats:
        why = "memory is a table" if tables else "any number of verdicts may wait"
        raise Refused(
            f"{system.kind} {system.name} cannot be started in the middle of a stream:"
            f" '{instance_of((tables or repeats)[0])}', whose {why}",
            hint="run it with one thread",
        )
    return _Analysis(system, constants, reassociate).starts()


class _Analysis:
    def __init__(self, system: System, constants: Mapping[Term, Term], reassociate: bool) -> None:
        self.system, self.reassociate = system, reassociate
        self.known = Substitute(dict(constants))
        self.variables = {v.name: v for v in system.variables}
        self.after = {v.name: self.known(system.inline(v.next)) for v in system.variables}
        memories = {m.columns[0].name: m for m in system.memories if m.columns}
        self.writes = {a: [self._scalars(write[:3]) for write in m.writes] for a, m in memories.items()}
        self.array = {column.name: array for array, memory in memories.items() for column in memory.columns}
        self.owner = {array: instance_of(array) for array in memories}
        self.sizes = {array: memory.domain.length or 0 for array, memory in memories.items()}
        self.clocks = circles(system, constants, LONGEST)
        self.needs = {name: self._names([term]) for name, term in self.after.items()}
        self.needs |= {
            array: self._names([leaf for write in writes for leaf in write]) for array, writes in self.writes.items()
        }
        self.scans = {name: scan for name in self.after if (scan := self._scan(name)) is not None}

    def _scalars(self, value: Any) -> tuple[Term, ...]:
        """Return the simplified scalars of a write or a slot (its condition and position come first)."""
        return tuple(map(self.known, leaves(self.system.inline(tuple(value)))))

    def _names(self, terms: Sequence[Term]) -> set[str]:
        """Return the variables and memories that terms depend on, each memory by its first array."""
        names = set()
        for term in postorder(terms):
            if term.is_var and term.name in self.variables:
                names.add(term.name)
            elif term.is_var and term.name in self.array:
                names.add(self.array[term.name])
        return names

    def _cone(self, names: set[str]) -> set[str]:
        return find_reached(names, self.needs)

    # --- scans ----------------------------------------------------------------------------------------------

    def _scan(self, name: str) -> Scan | None:
        if name in self.clocks:
            return None
        variable, term = self.variables[name], self.after[name]
        symbol: Term = var(name, variable.domain)
        ops = set(self._operations(symbol, term))
        others = self._cone(self.needs[name] - {name})
        if len(ops) != 1 or None in ops or name in others:
            return None
        if any(self.owner.get(other) == instance_of(name) for other in self.needs[name]):
            return None  # the total of a window, from which evicted events are subtracted: it is recent
        (op,) = ops
        assert op is not None
        neutral = ASSOCIATIVE[op].start_in(variable.domain)
        if neutral is None:
            return None
        if variable.domain.finite and neutral not in variable.domain:
            return None
        return Scan(list(self.variables).index(name), op, neutral)

    def _operations(self, symbol: Term, term: Term) -> Iterator[Operator | None]:
        """Yield the associative operations that build a term from the symbol and independent terms; None for others."""
        if term is symbol:
            return
        if term.op is ITE and not _occurs(symbol, term.args[0]):
            yield from self._operations(symbol, term.args[1])
            yield from self._operations(symbol, term.args[2])
            return
        op = ADD if term.op is SUB else term.op
        sides = [arg for arg in term.args if _occurs(symbol, arg)]
        if op not in ASSOCIATIVE or len(sides) != 1 or (term.op is SUB and sides[0] is not term.args[0]):
            yield None
            return
        other = next(arg for arg in term.args if arg is not sides[0])
        yield op if term.domain == symbol.domain and self._associative(term, other) else None
        yield from self._operations(symbol, sides[0])

    def _associative(self, term: Term, other: Term) -> bool:
        domain, op = term.domain, ADD if term.op is SUB else term.op
        assert op is not None
        if isinstance(domain, Reals):
            return op in (MIN, MAX) or self.reassociate
        if isinstance(domain, Integer) and domain.overflow is not Overflowing.MODULAR and op in (ADD, MUL):
            # with an upper limit, min(a + b, hi) is associative if nothing is negative
            return term.op is not SUB and other.domain.numeric and bool(getattr(other.domain, "lo", -1) >= 0)
        return ASSOCIATIVE[op].is_associative(domain)

    # --- the whole analysis ------------------------------------------------------------------------------------------

    def starts(self) -> Starts:
        last = {name: outputs for name, scan in self.scans.items() if (outputs := self._last(name)) is not None}
        inner = [name for name in self.scans if name not in last]
        levels: dict[str, int] = {}
        while len(levels) < len(inner):  # the ones below them first; scans have no cycles
            for name in inner:
                below = (self._cone(self.needs[name]) & set(inner)) - {name}
                if name not in levels and below <= levels.keys():
                    levels[name] = 1 + max((levels[each] for each in below), default=0)
        ordered = [[n for n in inner if levels[n] == level] for level in range(1, max(levels.values(), default=0) + 1)]
        positions = {name: i for i, name in enumerate(self.variables)}
        return Starts(
            {positions[name]: circle for name, circle in self.clocks.items()},
            tuple(tuple(self.scans[n] for n in names) for names in ordered),
            tuple(frozenset(self._cone(set(names))) for names in ordered),
            tuple(Last(self.scans[name], outputs) for name, outputs in last.items()),
            self._history(),
        )

    def _last(self, name: str) -> tuple[tuple[int, int], ...] | None:
        """Return the outputs that show a scan on which nothing else depends; None if there are none."""
        term, symbol = self.after[name], var(name, self.variables[name].domain)
        if any(name in needs for other, needs in self.needs.items() if other != name):
            return None
        changed, condition = (term.args[1], term.args[0]) if term.op is ITE and term.args[2] is symbol else (term, TRUE)
        if all(arg is not symbol for arg in changed.args):  # one operation, so that each intermediate sum is checked
            return None
        for _, definition in self.system.definitions:
            inside = self.known(self.system.inline(definition))
            if _occurs(symbol, inside) and inside is not changed and inside is not term:
                return None
        outputs = []
        for j, (_, pipe) in enumerate(self.system.outputs):
            slots = list(map(self._scalars, self.system.pipes[pipe].slots))
            for present, *values in slots:
                where = [k for k, value in enumerate(values) if _occurs(symbol, value)]
                if not where:
                    continue
                happening = present is TRUE or present is condition
                if len(slots) > 1 or not happening or any(values[k] is not changed for k in where):
                    return None
                outputs += [(j, k) for k in where]
        return tuple(outputs) or None

    # --- recent variables -------------------------------------------------------------------------------------

    def _history(self) -> int:
        """Return the number of steps after which all but clocks and scans are determined; Refused if they never are."""
        past = _Past(self)
        period = math.lcm(*(circle.length for circle in self.clocks.values()))
        time = max((circle.start for circle in self.clocks.values()), default=0)
        first, previous = time, past.left()
        while past.left():
            if time - first >= LONGEST:
                raise self._refusal(past.left())
            past.step(time)
            time += 1
            if (time - first) % period == 0:
                if past.left() == previous:  # a fixed point: what remains never grows from period to period
                    raise self._refusal(past.left())
                previous = past.left()
        # from another point of the period it can take longer
        return time - first + min(period - 1, time - first)

    def _refusal(self, left: frozenset[str]) -> Refused:
        name = min(left, key=lambda each: (len(self._cone({each})), each))  # the one with the fewest dependences
        instance = self.owner.get(name) or instance_of(name)
        comment = next((i.comment or i.module for i in self.system.instances if i.name == instance), "")
        module = next((i.module for i in self.system.instances if i.name == instance), instance)
        what = f"`{module}` (processor '{instance}')" if not instance.endswith(".queue") else f"{comment} ({module})"
        domain = self.variables[name].domain if name in self.variables else None
        if isinstance(domain, Reals):
            why = "sums of floats depend on the order of operations"
            hint = "reassociate=True (--reassociate) lets it differ; results then agree up to rounding only"
        else:
            why = "its state depends on arbitrarily old events by an operation that is not associative"
            hint = "run it with one thread (after a filter, the last events may be arbitrarily old)"
        return Refused(
            f"{self.system.kind} {self.system.name} cannot be started in the middle of a stream: {what}: {why}",
            hint=hint,
        )


class _Past:
    """The parts of a state that depend on an unknown initial state, as steps run; clocks and scans are known."""

    def __init__(self, analysis: _Analysis) -> None:
        self.of = analysis
        self.sources = set(analysis.clocks) | set(analysis.scans)
        self.names = {name for name in analysis.after if name not in self.sources}
        self.cells = {array: set(range(size)) for array, size in analysis.sizes.items()}
        self.whole = {array: frozenset(cells) for array, cells in self.cells.items()}
        self.memo: dict[tuple[Any, ...], tuple[Term, ...]] = {}

    def left(self) -> frozenset[str]:
        """Return the variables and memories that still depend on it."""
        return frozenset(self.names | {array for array, cells in self.cells.items() if cells})

    def step(self, time: int) -> None:
        """Simulate one step, at a time that determines the clocks."""
        after = {name for name in self.of.after if name not in self.sources and self._variable(name, time)}
        written = []
        for array, writes in self.of.writes.items():
            for number, write in enumerate(writes):
                condition, position, *values = self._at(time, (array, number), write)
                written.append((array, condition, position, any(map(self._reads, values))))
        for array, condition, position, dirty in written:
            if not (condition.is_const and position.is_const):
                if dirty or self._reads(condition) or self._reads(position):
                    self.cells[array] |= self.whole[array]
            elif condition is TRUE and dirty:
                self.cells[array].add(position.payload)
            elif condition is TRUE:
                self.cells[array].discard(position.payload)
        self.names = after

    def _variable(self, name: str, time: int) -> bool:
        own = [array for array, owner in self.of.owner.items() if owner == instance_of(name)]
        (term,) = self._at(time, (name,), (self.of.after[name],))
        if own and _occurs(var(name, term.domain), term):  # see the module: a total of a window
            return any(self.cells[array] for array in own)
        return self._reads(term)

    def _at(self, time: int, key: tuple[Any, ...], terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return the terms with the values of the clocks at this time."""
        names = sorted(self.of._names(terms) & self.of.clocks.keys())
        positions = tuple(self.of.clocks[name].at(time) for name in names)
        if (key, positions) not in self.memo:
            bindings: dict[Term, Term] = {}
            for name, position in zip(names, positions, strict=True):
                circle, domain = self.of.clocks[name], self.of.variables[name].domain
                bindings[var(name, domain)] = const(circle.values[position][circle.cone.index(name)], domain)
            fold = Substitute(bindings)
            self.memo[key, positions] = tuple(map(fold, terms))
        return self.memo[key, positions]

    def _reads(self, term: Term) -> bool:
        """Whether a term still depends on the unknown state."""
        for node in postorder([term]):
            if node.is_var and node.name in self.names:
                return True
            if node.op in READS:
                array, position = self.of.array[node.args[0].name], node.args[1]
                if position.payload in self.cells[array] if position.is_const else self.cells[array]:
                    return True
        return False


def _occurs(symbol: Term, term: Term) -> bool:
    return any(node is symbol for node in postorder([term]))
