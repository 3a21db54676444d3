"""What is allowed in rules, and seldom meant.

Predicates that nothing satisfies, cascades that may not end, memory that nothing bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.errors import LanguageError, WorkbenchError
from workbench.rules import tree as t

if TYPE_CHECKING:
    from workbench.rules.rule_set import RuleSet


def remarks(rules: RuleSet) -> Iterator[WorkbenchError]:
    """The remarks about a rule set, in the order of the text."""
    for rule in rules.rules:
        for part in rule.parts:
            yield from _never(part)
            window = part.window
            if isinstance(window, t.WithinWindow) and window.most is None:
                what = f"all events of type {part.type} are kept: their window is forever"
                yield LanguageError(what, where=part.where, hint="bound it where memory matters")
    for cycle in _cycles(rules):
        named = " -> ".join(rule.name for rule in (*cycle, cycle[0]))
        what = f"a cascade of these rules may not end: {named}"
        yield LanguageError(what, where=cycle[0].where, hint="what one event causes is limited to 1000 in a chain")


def _never(part: t.Predicate | t.Aggregate) -> Iterator[WorkbenchError]:
    """Constraints that contradict each other: constants, and bounds of one attribute."""
    least: dict[str, tuple[float, bool]] = {}
    most: dict[str, tuple[float, bool]] = {}
    for each in part.constraints:
        if isinstance(each, t.Literal) and each.value is False:
            yield LanguageError(f"nothing satisfies this predicate about {part.type}", where=each.where)
        if not isinstance(each, t.Operation) or len(each.operands) != 2:
            continue
        one, other = each.operands
        operator = each.operator
        if isinstance(one, t.Literal) and isinstance(other, t.OwnAttribute):
            one, other, operator = other, one, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        if not (isinstance(one, t.OwnAttribute) and isinstance(other, t.Literal)) or isinstance(
            other.value, str | bool
        ):
            continue
        value, strict = other.value, operator in ("<", ">")
        if operator in (">", ">=", "=="):
            least[one.name] = max(least.get(one.name, (value, strict)), (value, strict))
        if operator in ("<", "<=", "=="):
            most[one.name] = min(most.get(one.name, (value, not strict)), (value, not strict))
        if one.name in least and one.name in most:
            (low, open_low), (high, closed_high) = least[one.name], most[one.name]
            if low > high or (low == high and (open_low or not closed_high)):
                what = f"nothing satisfies this predicate about {part.type}: no '{one.name}' is that large and small"
                yield LanguageError(what, where=each.where)
                return


def _cycles(rules: RuleSet) -> list[list[t.Rule]]:
    """Rules that trigger each other in a circle; of each strongly connected part one circle."""
    after = {
        i: [j for j, other in enumerate(rules.rules) if other.trigger.type == rule.emits]
        for i, rule in enumerate(rules.rules)
    }
    found, done = [], set[int]()
    for start in after:
        if start in done:
            continue
        path = _way_back(start, after)
        if path:
            found.append([rules.rules[i] for i in path])
            done.update(path)
        done.add(start)
    return found


def _way_back(start: int, after: dict[int, list[int]]) -> list[int]:
    """A shortest way from a rule to itself; nothing where there is none."""
    before: dict[int, int] = {}
    reached = [start]
    for here in reached:
        for there in after[here]:
            if there == start:
                way = [here]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if there not in before:
                before[there] = here
                reached.append(there)
    return []
