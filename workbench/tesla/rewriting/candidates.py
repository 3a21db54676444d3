"""What might be left out of a rule where no law says so: the model is asked.

The rule of this module: models have no nulls. So a constraint is a candidate only if what stays says that all it speaks
of is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.tesla import tree as t
from workbench.tesla.resolved import ResolvedRule, written
from workbench.tesla.rewriting.known import Known, normalize
from workbench.tesla.rewriting.laws import constraints_before, negations, no_longer, one_less, with_part, without_part


def make_smaller(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    """Smaller rules, as they are written, each with what is left out of it."""
    return ((what, written(each)) for what, each in _smaller(rule))


def _smaller(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    for place, part in enumerate(rule.parts):
        before = constraints_before(rule, place)
        for fewer, left_out in one_less(part.constraints):
            if Known([*before, *normalize(fewer, place)]).never_null(*normalize([left_out], place)):
                yield f"`{left_out}` is left out", with_part(rule, place, replace(part, constraints=fewer))
    before = constraints_before(rule, len(rule.parts))
    for fewer, left_out in one_less(rule.where_clause):
        if Known([*before, *normalize(fewer)]).never_null(*normalize([left_out])):
            yield f"`{left_out}` is left out", replace(rule, where_clause=fewer)
    for place, part in negations(rule):
        yield f"`{part}` is left out", without_part(rule, place)
    for place, part in enumerate(rule.parts):
        window = part.window
        for most in _shorter(rule, window) if isinstance(window, t.WithinWindow) else ():
            tighter = replace(window, most=most)  # type: ignore[type-var]
            yield f"`{window}` is `{tighter}`", with_part(rule, place, replace(part, window=tighter))


def _shorter(rule: t.Rule, window: t.WithinWindow) -> Iterator[t.Duration]:
    """The durations in a rule that are shorter than a window, the shortest first."""
    windows = (part.window for part in rule.predicates if part.window is not None)
    lengths = (each for other in windows for each in reversed(other.bounds))
    found = {str(each): each for each in lengths if each.amount > 0}
    shorter = [each for each in found.values() if no_longer(each, window.most) and not no_longer(window.most, each)]
    least = window.least
    yield from sorted(
        (each for each in shorter if least is None or no_longer(least, each)), key=lambda each: each.amount
    )
