"""What names and parameters at a place in a rule stand for, so that expressions of two places can be compared.

The rule of this module: the event or fact that a part binds is called by the place of the part, the trigger's is 0; two
expressions that are the same then have the same value in every match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.tesla import tree as t


@dataclass(frozen=True)
class Sight:
    """What is seen at a place.

    Attributes
    ----------
    own: the place itself; None behind the last part.
    names: the places of what is bound.
    parameters: the place that binds each of them, and what it stands for.
    """

    own: int | None = None
    names: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, tuple[int, t.Expression]] = field(default_factory=dict)

    def resolved(self, expression: t.Expression, own: int | None = None) -> t.Expression:
        """The expression with places for names; `own` is the place that it is about, if not this one."""
        about = str(self.own if own is None else own)

        def leaf(each: t.Expression) -> t.Expression:
            if isinstance(each, t.OwnAttribute):
                return t.OtherAttribute(about, each.name)
            if isinstance(each, t.OtherAttribute):
                return t.OtherAttribute(str(self.names[each.of]), each.name)
            if isinstance(each, t.TimeOf):
                return t.TimeOf(str(self.names[each.name]))
            return self.parameters[each.name][1] if isinstance(each, t.BoundParameter) else each

        return changed(expression, leaf)

    def needs(self, expression: t.Expression) -> set[int]:
        """The places of what is bound before, or here, that it speaks of."""
        found = set()
        for each in t.within(expression):
            if isinstance(each, t.BoundParameter):
                found.add(self.parameters[each.name][0])
            elif isinstance(each, t.OtherAttribute | t.TimeOf):
                found.add(self.names[each.of if isinstance(each, t.OtherAttribute) else each.name])
        return found


def changed(expression: t.Expression, leaf: Callable[[t.Expression], t.Expression]) -> t.Expression:
    """The same with other leaves."""
    if not isinstance(expression, t.Operation):
        return leaf(expression)
    return replace(expression, operands=tuple(changed(each, leaf) for each in expression.operands))


def sights(rule: t.Rule) -> Sequence[Sight]:
    """What is seen at each part of a rule, behind its assignments; the last one is what `where` and `emit` see."""
    found, sight = [], Sight()
    for place, part in enumerate(rule.parts):
        before = sight = replace(sight, own=place)
        for each in part.assignments:
            sight = _with_parameter(sight, each.name, place, each.value)
        found.append(sight)
        if isinstance(part, t.Aggregate):
            sight = _with_parameter(sight, part.parameter, place, None)
        elif part.policy.binds:
            sight = replace(sight, names={**sight.names, part.name: place})
        else:
            sight = before  # what is bound in it is known only there
    return [*found, replace(sight, own=None)]


def _with_parameter(sight: Sight, name: str, place: int, value: t.Expression | None) -> Sight:
    """A parameter stands for an attribute or a constant, where it is one; else for itself."""
    plain = value is not None and not isinstance(value, t.Operation)
    stands = sight.resolved(value) if plain and value else t.BoundParameter(f"{place}_{name}")
    return replace(sight, parameters={**sight.parameters, name: (place, stands)})


def read_by(part: t.Predicate | t.Aggregate, sight: Sight) -> set[int]:
    """The places before a part that it hangs on."""
    found = {place for each in t.expressions_of(part) for place in sight.needs(each)}
    return (found | {sight.names[name] for name in window_names(part.window)}) - {sight.own}


def window_names(window: t.EventWindow | None) -> tuple[str, ...]:
    """The names of the events that a window hangs on."""
    if isinstance(window, t.BetweenWindow):
        return (window.one, window.two)
    return () if window is None else (window.of,)
