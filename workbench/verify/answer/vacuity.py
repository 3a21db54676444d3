"""Vacuity: what never happens in a model, so that a verdict holds for want of cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.core.domain import SomeFloats
from workbench.core.pipeline import Pipeline
from workbench.ir.reduce import Model
from workbench.ir.system import instance_of
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import flatten
from workbench.verify.answer.rests_on import depends_on_no_n
from workbench.verify.answer.verdict import Outcome, Vacuity
from workbench.verify.ask.scope import comparisons_in

if TYPE_CHECKING:
    from workbench.verify.answer.settings import Settings


def find_vacuity(
    pipeline: Pipeline, model: Model, settings: Settings, never: Sequence[str], outcome: Outcome
) -> Vacuity | None:
    """What makes a verdict vacuous: a condition of the property, or a comparison in its cone, that is never true.

    Parameters
    ----------
    never: the words of the conditions that were found never to come true.
    """
    branches = [] if depends_on_no_n(model, settings.domain) else list(_branches(pipeline, model, settings))
    if never:
        known, room = [bound for _, bound in branches], _room(model) if outcome is Outcome.WITHIN_BOUNDS else ""
        return Vacuity(_sentence(never[0]), next(iter(known), room), certain=bool(known))
    return Vacuity(*branches[0]) if branches else None


def _sentence(words: str) -> str:
    condition = words.startswith("'") and words.endswith("'")
    return f"{words.replace(chr(39), '')} is never true" if condition else f"no run on which {words}"


def _room(model: Model) -> str:
    """The capacities that are in the way."""
    sizes = {queue.capacity for queue in model.queues}
    return f"Q = {sizes.pop()}" if len(sizes) == 1 else ", ".join(f"{q.name} = {q.capacity}" for q in model.queues)


def _branches(pipeline: Pipeline, model: Model, settings: Settings) -> Iterator[tuple[str, str]]:
    """The comparisons with constants in the cone that are never true, or never false, and the bound that is why."""
    flat, cone = flatten(pipeline), {instance_of(name) for name in model.system.domains}
    for node in flat.nodes:
        for each, term in comparisons_in(flat.typed[node.name]) if node.name in cone else ():
            settled, domain = each.settled, each.operand
            floats = isinstance(domain, SomeFloats)
            if settled is None or not (floats or domain == settings.domain):
                continue
            low, high = (floats and settings.floats) or (0, settings.n - 1)
            above = high < each.needs[1]
            if settled and not above and not floats:  # as of `x >= 0`: no larger domain makes a difference
                continue
            alone = term.is_var and isinstance(node.processor, ApplyFunction)
            name = node.inputs[int(term.name.lstrip("_"))] if alone else "a value"
            bound = f"N = {settings.n}" if above and not floats else f"{'float' if floats else 'int'} = {low}..{high}"
            yield f"{name} {each.symbol} {each.constant:g} is never {'false' if settled else 'true'}", bound
