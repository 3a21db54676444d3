"""The statements of a step in their order, with loops over the rows of tables where something is collected from them.

The rule of this module: what depends on the number of a row is computed in such a loop and nowhere else. What is
collected from the same rows is collected in one loop, as far as one result does not depend on another.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from workbench.core.evaluate import Assignment
from workbench.core.fold import evaluated_once, postorder
from workbench.core.memory import (
    ANY_ROW,
    ROW,
    SOME_ENTRY,
    SOME_ROW_OF,
    SUM_ROWS,
    SUM_ROWS_OVERFLOWS,
    RowFold,
    RowSearch,
    is_row,
)
from workbench.core.term import Term, same

ROW_NAME = "row"
"""What code calls the number of a row (`ROW`), in a loop over a table."""

_COLLECTED = {
    SUM_ROWS: (["{0} = 0"], ["{0} += {1}"]),
    ANY_ROW: (["{0} = False"], ["{0} = {0} | {1}"]),
    SUM_ROWS_OVERFLOWS: (
        ["{0} = False", "{0}_sum = 0"],
        ["{0} = {0} | sum_overflows({0}_sum, {1})", "{0}_sum += {1}"],
    ),
}
"""The statements that begin with a result `{0}`, and those that add the value `{1}` of a row to it."""


def over_rows(used: str, happens: str, statements: Iterable[str], *, keys: str = "") -> list[str]:
    """Statements for every row of a table that is used, where something happens; `ROW_NAME` is its number.

    The rows come in any order, or in that of the keys in this array.
    """
    if keys:
        head = [f"if {happens}:", f"    for {ROW_NAME} in ordered({used}, {keys}):"]
        return [*head, *(f"        {statement}" for statement in statements)]
    head = [f"if {happens}:", f"    for {ROW_NAME} in range(1, len({used})):", f"        if {used}[at({ROW_NAME})]:"]
    return [*head, *(f"            {statement}" for statement in statements)]


def rows_in(node: Term, inside: Mapping[Term, frozenset[Term]]) -> frozenset[Term]:
    """The rows on whose numbers a term depends, given those of its arguments; without the row of its own."""
    if node is ROW or is_row(node):
        return frozenset((node,))
    if isinstance(node.op, RowSearch):
        return frozenset().union(*(inside.get(arg, ()) for arg in node.args)) - {node.args[-3]}
    return frozenset().union(*(inside.get(arg, ()) for arg in evaluated_once(node)))


class Statements:
    """The assignments of a step as statements.

    Parameters
    ----------
    inside: the terms that depend on the numbers of rows, with these.
    fed: those that depend on inputs; the others come first.
    source: the text of a term.
    """

    def __init__(
        self,
        assignments: Sequence[Assignment],
        inside: Mapping[Term, frozenset[Term]],
        fed: Container[Term],
        source: Callable[[Term], str],
    ) -> None:
        self._source, self._inside, self._fed = source, inside, fed
        self._repeated = [line for line in assignments if line.term in inside]
        self._once = [line for line in assignments if line.term not in inside]
        self._written: set[Term] = set()
        self.early: list[str] = []
        self.late: list[str] = []
        for line in self._once:
            self._write(line)

    def needed(self, term: Term) -> list[str]:
        """What a term needs, before it, in a loop over rows."""
        below = set(postorder([term])) if term in self._inside else ()
        return [f"{line.name} = {line.text}" for line in self._repeated if line.term in below]

    def _write(self, line: Assignment) -> None:
        if line.term in self._written:
            return
        if isinstance(line.term.op, RowFold):
            texts = self._collected(self._together(line))
        elif isinstance(line.term.op, RowSearch):
            self._written.add(line.term)
            texts = self._searched(line, frozenset())
        else:
            self._written.add(line.term)
            texts = [f"{line.name} = {line.text}"]
        (self.late if line.term in self._fed else self.early).extend(texts)

    def _together(self, line: Assignment) -> list[Assignment]:
        """What is collected in the same loop; what it needs is written before."""
        found, of = [line], line.term.args[:2]
        for other in self._once:
            if not isinstance(other.term.op, RowFold) or other is line or not same(other.term.args[:2], of):
                continue
            if other.term not in self._written and (other.term in self._fed) == (line.term in self._fed):
                terms = {each.term for each in found}
                if terms.isdisjoint(postorder([other.term])) and other.term not in set(postorder(terms)):
                    found.append(other)
        self._written.update(each.term for each in found)
        below = set(postorder([each.term for each in found]))
        for each in self._once:
            if each.term in below:
                self._write(each)
        return found

    def _collected(self, lines: Sequence[Assignment]) -> list[str]:
        begin, inside, add = [], list[str](), []
        for name, _, term in lines:
            assert isinstance(term.op, RowFold)
            start, collect = _COLLECTED[term.op]
            begin += [text.format(name) for text in start]
            inside += self.needed(term.args[2])
            add += [f"{name}_v = {self._source(term.args[2])}", *(text.format(name, f"{name}_v") for text in collect)]
        used, happens, _ = map(self._source, lines[0].term.args)
        return [*begin, *over_rows(used, happens, [*dict.fromkeys(inside), *add])]

    def _searched(self, line: Assignment, around: frozenset[Term]) -> list[str]:
        """A loop until a row is found, in loops over the rows `around`."""
        name, _, term = line
        used, *given, row, happens, condition = term.args
        below, known = set(postorder([condition])), around | {row}
        body: list[str] = []
        for each in self._repeated:
            rows = self._inside[each.term]
            if each.term in below and row in rows and rows <= known:
                search = isinstance(each.term.op, RowSearch)
                body += self._searched(each, known) if search else [f"{each.name} = {each.text}"]
        body += [f"if {self._source(condition)}:", f"    {name} = True", "    break"]
        number, array = self._source(row), self._source(used)
        if term.op is SOME_ENTRY:
            of = self._source(given[0])
            loop = [f"for {number} in range({array}[at({of})], {array}[at({of} + 1)]):"]
        elif given:
            key, first = map(self._source, given)
            loop = [f"{number} = first_linked({array}_links, {key}, {first})", f"while {number}:"]
            body.append(f"{number} = next_linked({array}_links, {key}, {number})")
        else:
            loop = [f"for {number} in range(1, len({array})):"]
            body = [f"if {array}[at({number})]:", *(f"    {each}" for each in body)]
        loop += [f"    {each}" for each in body]
        if not around:  # rows are those of the step, and linked once
            linked = self._linked(term)
            loop = [*linked.values(), *loop, *(f"gone({links})" for links in linked)]
        return [f"{name} = False", f"if {self._source(happens)}:", *(f"    {each}" for each in loop)]

    def _linked(self, term: Term) -> dict[str, str]:
        """What links the rows of each table of which only those of a key are looked at, and how it is made."""
        found = (each.args[:2] for each in postorder([term]) if each.op is SOME_ROW_OF)
        pairs = ((self._source(used), self._source(key)) for used, key in found)
        return {f"{used}_links": f"{used}_links = linked({used}, {key})" for used, key in pairs}
