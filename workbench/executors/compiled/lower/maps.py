"""Maps of any size in a pipeline's state, as tables: translates variables that are maps to arrays.

The rule of this module: a map is never copied. The value of a map is a view of a table, with the changes of the step;
and a step changes at most one entry of a table. A map of maps is two tables, of which the second has pairs of keys; a
variable that always equals another one shares its table; any other copy is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from workbench.core import maps
from workbench.core.domain import BOOL, INT, Domain, Integers, Overflowing
from workbench.core.fields import Map, within
from workbench.core.fold import Fold, Substitute, map_leaves, postorder, substitute
from workbench.core.memory import READ, SOME_ROW, SOME_ROW_OF, Array, Write, row_of
from workbench.core.ops import AND, NOT, as_term, both, either, ite, negate
from workbench.core.pipeline import Pipeline
from workbench.core.range_escape import can_escape
from workbench.core.term import FALSE, TRUE, Term, const, leaves, var
from workbench.errors import Refused
from workbench.executors.compiled.lower.input_maps import (
    MapNumber,
    heaps_in,
    list_choices,
    number_array,
    number_domain,
)
from workbench.executors.compiled.lower.map_views import (
    InputMap,
    InTable,
    MapTable,
    MapView,
    NoEntries,
    OneOf,
    WithEntry,
    changes,
    choose_value,
    number_of,
    symbol,
    total,
)
from workbench.ir.system import Definition, Memory, Pipe, StateVariable, System, instance_of, local_of

_SEARCHING: Term = var("a search takes place", BOOL)
"""Placeholder for the condition under which the value of a term with a search is used."""
_ALWAYS = {_SEARCHING: TRUE}
"""A search takes place in every step: in conditions themselves, and in the next values of variables and tables."""


def large(domain: Domain) -> TypeGuard[Map]:
    """Whether a domain is one of maps that are not stored key by key."""
    return isinstance(domain, Map) and not domain.finite


def in_tables(system: System, flat: Pipeline) -> System:
    """Return the system with tables for its maps.

    Raises
    ------
    Refused: a step's result for a map needs a copy of it; names the map and the operation.
    """
    if not any(large(part) for v in system.domains.values() for part in within(v)):
        return system
    return _Tabled(system, flat).system()


class _Tabled:
    """The translation of a system to tables."""

    def __init__(self, system: System, flat: Pipeline) -> None:
        self.before, self.nodes = system, {node.name: node for node in flat.nodes}
        held = [v for v in system.variables if large(v.domain)]
        self.nexts = {var(v.name, v.domain): system.inline(v.next) for v in held}
        self.tables: dict[Term, MapTable] = {}
        coming = {leaf for source in system.inputs for leaf in leaves(source.value) if large(leaf.domain)}
        columns = (column for memory in system.memories for column in memory.columns)
        self.arrays = {c: number_array(c) for c in columns if _elements(c) in {each.domain for each in coming}}
        self.given = self._replace_input_maps(coming | self.arrays.keys())
        self.lower = _Lower({**self._meanings(held), **self.given, **self.arrays})
        self.ending = Substitute({end.now: FALSE for end in system.ends.values()})

    def _replace_input_maps(self, terms: set[Term]) -> dict[Term, InputMap]:
        """Return the `InputMap` of each map on an input or in an array, and of variables that may be one."""
        before = -1
        while before < len(terms):
            before = len(terms)
            terms |= {each for each, after in self.nexts.items() if not terms.isdisjoint(list_choices(after))}
        return {
            each: InputMap(each.domain, var(each.name, MapNumber(each.domain))) for each in terms if large(each.domain)
        }

    def _empty(self) -> set[Term]:
        """Return the variables whose maps never get an entry."""
        puts = {
            each
            for each, after in self.nexts.items()
            if any(node.op is not None and node.op.name == "map_put" for node in postorder([after]))
        }
        variables, before = self.nexts.keys() - puts, -1
        while before != len(variables):
            before = len(variables)
            variables = {each for each in variables if variables.issuperset(list_choices(self.nexts[each]))}
        return variables

    def _meanings(self, held: list[StateVariable]) -> dict[Term, MapView]:
        """Return the view of each variable that is a map."""
        views: dict[Term, MapView] = {}
        empty = self._empty()
        for each in held:
            domain, variable = each.domain, var(each.name, each.domain)
            assert isinstance(domain, Map)
            if each.initial:
                raise self._make_refusal(each.name, "is not empty at first")
            if variable in self.given:
                continue
            same = next((other for other in views if self._equal(variable, other)), None)
            if same is not None:
                views[variable] = views[same]
            elif variable in empty:
                views[variable] = NoEntries(domain)
            else:
                nodes = list(postorder([self.nexts[variable]]))
                puts, removes = ([n for n in nodes if n.op is not None and n.op.name == f"map_{what}"]
                                 for what in ("put", "remove"))  # fmt: skip
                self.tables[variable] = MapTable.of(each.name, domain, puts, removes=bool(removes))
                views[variable] = InTable(self.tables[variable])
        return views

    def _equal(self, variable: Term, other: Term) -> bool:
        """Whether a variable equals another one after each step if it does before."""
        if variable.domain != other.domain:
            return False
        return bool(substitute(self.nexts[variable], {variable: other}) is self.nexts[other])

    def system(self) -> System:
        """Return the translated system."""
        before = self.before
        definitions = tuple(self._definitions())
        variables = tuple(self._variables())
        memories = tuple(
            Memory(cells.name, cells.domain, cells.columns, tuple(cells.writes), ())
            for table in self.tables.values()
            for cells in table.levels
        )
        other_memories = tuple(map(self._memory, before.memories))
        written = [each[:3] for memory in other_memories for each in memory.writes]
        numbers = [var(v.name, v.domain) for v in variables if isinstance(v.domain, MapNumber)]
        ways = [*(v.next for v in variables), *(d.term for d in definitions), *numbers, *self.arrays.values()]
        inputs = tuple(each._replace(value=map_leaves(self._number, each.value)) for each in before.inputs)
        return replace(
            before,
            inputs=inputs,
            free={name: number_domain(domain) for name, domain in before.free.items()},
            definitions=definitions,
            variables=variables,
            memories=(*other_memories, *memories, *heaps_in((*ways, *written))),
            pipes={name: pipe for name, pipe in before.pipes.items() if not self._has_maps(name, pipe)},
            uses={d.name: before.uses[d.name] for d in definitions if d.name in before.uses},
        )

    def _definitions(self) -> Iterator[Definition]:
        """Yield the definitions that are not maps, and record the views of the others."""
        for name, term in self.before.definitions:
            variable: Term = var(name, term.domain)
            used = self.before.inline(self.before.uses.get(name, TRUE))
            try:
                if any(large(node.domain) for node in postorder([term])) and self.ending(used) is FALSE:
                    term = self._at_end(self.before.inline(term), used)
                meaning = self.lower(term)
            except Refused as error:
                raise self._make_refusal(name, error.what, error.hint) from error
            if large(term.domain):
                self.lower.memo[variable] = meaning
                continue
            searches = any(node is _SEARCHING for node in postorder([meaning]))
            when = substitute(self.lower(used), _ALWAYS) if searches else TRUE
            yield Definition(name, substitute(meaning, {_SEARCHING: when}))

    def _at_end(self, term: Term, used: Term) -> Term:
        """Simplify a term that is used only where inputs end: no event arrives then."""
        known: dict[Term, Term] = {source.present: FALSE for source in self.before.inputs}
        while True:
            term, used = substitute((term, used), known)
            known = dict(_literals(used))
            if not known:
                return term

    def _variables(self) -> Iterator[StateVariable]:
        for each in self.before.variables:
            variable: Term = var(each.name, each.domain)
            try:
                if not large(each.domain):
                    yield each._replace(next=substitute(self.lower(each.next), _ALWAYS))
                elif variable in self.given:
                    after = substitute(number_of(self.lower(self.nexts[variable])), _ALWAYS)
                    yield each._replace(domain=MapNumber(each.domain), initial=0, next=after)
                elif variable in self.tables:
                    self._keep(self.tables[variable], self.lower(self.nexts[variable]))
            except Refused as error:
                raise self._make_refusal(each.name, error.what, error.hint) from error
        for variable, table in self.tables.items():
            after = self.lower(self.nexts[variable])
            for name, measure in table.totals.items():
                now = substitute(total(after, name, measure), _ALWAYS)
                yield StateVariable(symbol(table, name).name, INT, 0, now)

    def _keep(self, table: MapTable, after: MapView) -> None:
        """Write the changes of a step."""
        for cells, entry_changes in zip(table.levels, changes(after, InTable(table)), strict=True):
            if len(entry_changes) > 1:
                raise Refused("two entries of it change in one step", hint="put one entry a step")
            for each in entry_changes:
                condition, key, rest = substitute((each.happens, each.key, table.rest(cells, each)), _ALWAYS)
                row = ite(condition, cells.find(key), 0)  # a row is searched only where it is written
                cells.keep(row, key, rest, condition)

    def _memory(self, memory: Memory) -> Memory:
        """Translate a memory: maps become numbers."""
        if self.arrays.keys().isdisjoint(memory.columns):
            return memory
        columns = tuple(self.arrays.get(column, column) for column in memory.columns)
        words = self._words
        writes = tuple(Write(words(w.happens), words(w.position), words(w.value), w.first) for w in memory.writes)
        domain = replace(memory.domain, element=number_domain(memory.domain.element))
        return Memory(memory.name, domain, columns, writes, memory.updates)

    def _number(self, leaf: Term) -> Term:
        return self.given[leaf].number if leaf in self.given else leaf

    def _words(self, value: Any) -> Any:
        """Replace the maps in a value by their numbers."""
        lowered = map_leaves(self.lower, value)
        numbers = map_leaves(lambda part: number_of(part) if isinstance(part, MapView) else part, lowered)
        return substitute(numbers, _ALWAYS)

    def _has_maps(self, name: str, pipe: Pipe) -> bool:
        """Whether a pipe carries maps, which cannot be shown outside."""
        has_maps = any(isinstance(leaf, Term) and large(leaf.domain) for leaf in leaves(pipe.slots))
        if has_maps and name in dict(self.before.outputs).values():
            node = next((node for node in self.nodes.values() if name in node.outputs), None)
            raise Refused(
                f"pipe '{name}' carries a map out that no slices emit",
                where=node.where if node else "",
                hint="let the pipeline emit only parts of it, with get, has or size",
            )
        return has_maps

    def _make_refusal(self, name: str, what: str, hint: str = "") -> Refused:
        instance = instance_of(name)
        where = self.nodes[instance].where if instance in self.nodes else ""
        hint = hint or "the reference executor runs everything"
        return Refused(f"'{local_of(name)}' of processor '{instance}': {what}", where=where, hint=hint)


def _elements(column: Term) -> Domain:
    assert isinstance(column.domain, Array)
    return column.domain.element


def _literals(condition: Term) -> Iterator[tuple[Term, Term]]:
    """Yield variables that have a constant value where a condition holds."""
    if condition.op is AND:
        for arg in condition.args:
            yield from _literals(arg)
    elif condition.is_var:
        yield condition, TRUE
    elif condition.op is NOT and condition.args[0].is_var:
        yield condition.args[0], FALSE


class _Lower(Fold[Any]):
    """Translation of terms: the value of a map is a view, and that of a tuple its fields."""

    def __init__(self, bindings: Mapping[Term, Any]) -> None:
        super().__init__()
        self.memo.update(bindings)

    def on_const(self, term: Term) -> Any:
        if not large(term.domain):
            return term
        if term.payload:
            raise Refused("a term contains a map that is not empty")
        return NoEntries(term.domain)

    def on_var(self, term: Term) -> Any:
        return term

    def on_ite(self, term: Term, condition: Term, then: Any, otherwise: Any) -> Any:
        del term
        return choose_value(condition, then, otherwise)

    def on_map_get(self, _: Term, m: MapView, key: Any, default: Any) -> Any:
        present, value = m.look(key)
        return choose_value(present, value, default)

    def on_map_has(self, _: Term, m: MapView, key: Any) -> Any:
        return m.look(key)[0]

    def on_map_put(self, _: Term, m: MapView, key: Any, value: Any) -> Any:
        return WithEntry(m, key, TRUE, value)

    def on_map_remove(self, term: Term, m: MapView, key: Any) -> Any:
        del term
        if isinstance(m.domain.value, Map):
            raise Refused("'remove' takes a whole map out of a map")
        return WithEntry(m, key, FALSE, const(m.domain.value.default, m.domain.value))

    def on_read(self, term: Term, column: Term, *position: Any) -> Any:
        assert term.op is not None
        entry = term.op.build((column, *position))
        return InputMap(entry.domain.of, entry) if isinstance(entry.domain, MapNumber) else entry

    on_recall = on_read

    def on_map_size(self, term: Term, m: MapView) -> Any:
        if isinstance(m, InputMap):
            return as_term(m.size, term.domain)
        return as_term(maps.size(m.entry), term.domain)

    def on_map_all(self, _: Term, m: MapView) -> Any:
        if isinstance(m, InputMap):
            return negate(m.some(row_of(0), _SEARCHING, negate(m.value(row_of(0)))))
        return maps.all_values(m.entry)

    def on_map_any(self, _: Term, m: MapView) -> Any:
        if isinstance(m, InputMap):
            return m.some(row_of(0), _SEARCHING, m.value(row_of(0)))
        return maps.any_value(m.entry)

    def on_map_sum(self, term: Term, m: MapView) -> Any:
        if isinstance(m, InputMap):
            raise Refused("the values of an input map are added up", hint="carry the sum in a field of the event")
        return as_term(maps.sum_values(m.entry), term.domain)

    def on_some_key(self, term: Term, m: MapView, key: Any, condition: Term) -> Any:
        """Return whether a row is found; see `core.maps.some_key`."""
        if isinstance(m, NoEntries):
            return FALSE
        if isinstance(m, OneOf):
            then, otherwise = (self.on_some_key(term, each, key, condition) for each in (m.then, m.otherwise))
            return either(both(m.condition, then), both(negate(m.condition), otherwise))
        if not isinstance(m, InTable | InputMap):
            raise Refused(
                "a quantifier ranges over a map in the same step in which it changes",
                hint="let it range over keep_last of the map, which reads one input, after the end of the stream",
            )
        if can_escape([condition], Integers) or can_escape([condition], Overflowing.CHECKED):
            raise Refused("a quantifier over a map does arithmetic that can leave its domain")
        row = row_of(maps.level(term.args[1]))
        if isinstance(m, InputMap):
            return m.some(row, _SEARCHING, substitute(condition, {next(leaves(key)): m.key(row)}))
        columns, words = m.cells.columns, len(list(leaves(key)))
        own = [READ.build((column, row)) for column in columns[1 + len(m.prefix) :][:words]]
        there, _ = m.table.look(m.cells, row)
        row_condition = both(there, substitute(condition, dict(zip(leaves(key), own, strict=True))))
        if m.prefix:
            return SOME_ROW_OF.build((columns[0], columns[1], *m.prefix, row, _SEARCHING, row_condition))
        return SOME_ROW.build((columns[0], row, _SEARCHING, row_condition))

    def default(self, term: Term, *args: Any) -> Any:
        assert term.op is not None
        if any(isinstance(arg, MapView) for arg in args):
            raise Refused(f"'{term.op.symbol}' has no compiled form for maps of any size")
        if term.op is maps.tuple_of(len(args)):
            return args
        if term.op.symbol.startswith(".") and isinstance(args[0], tuple):
            return args[0][int(term.op.symbol[1:])]
        if all(new is old for new, old in zip(args, term.args, strict=True)):
            return term
        return term.op.rebuild(args, term.domain)
