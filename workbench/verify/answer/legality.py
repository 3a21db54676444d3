"""Whether runs meet the assumptions of a pipeline for ever, and up to which step some do.

The rule of this module: an input is judged by its events. Assumptions contradict each other if no run that meets them
has infinitely many events on an input that they read; a run without events meets every assumption.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.budget import phase
from workbench.core.domain import Range
from workbench.core.ops import AND, GE, LT, NOT, ite
from workbench.core.term import FALSE, Term, var
from workbench.ir.reduce import Model, focus, observe
from workbench.ir.system import Input, StateVariable, System
from workbench.smv.engines.engine import limit_side_questions
from workbench.verify.answer.grounds import list_assumptions
from workbench.verify.ask.formula import atom, build, weaken
from workbench.verify.decide.deciders import get_decider
from workbench.verify.decide.part import PartQuestion, remaining_limits

if TYPE_CHECKING:
    from workbench.verify.answer.prepare import Prepared

ENDS = "ends"
"""The role of the question whether a queue of the assumptions overflows."""
OBSERVER = "(events)"
"""The name of the observer that counts the events on an input."""
COUNTED = 64
"""Maximum number of events of an input that are counted to find the step of a contradiction."""


def find_contradiction(prepared: Prepared) -> str | None:
    """Return the input on which events stop in every run, and from which step on; None if that is not decided."""
    inputs = [*_list_restricted(prepared)]
    if not inputs or prepared.trivial or prepared.settings.environment.driven:
        return ""
    model = focus(prepared.question.system, [each.present for each in inputs])
    questions = {each.name: _query_forever(model, each) for each in inputs}
    if model.overflow is not FALSE:
        questions[ENDS] = PartQuestion("invar", atom(NOT(model.overflow)), side=True)
    decider, limits = get_decider(prepared.settings.engine), remaining_limits()
    if limits.seconds is not None:
        limits = replace(limits, seconds=min(limits.seconds / 4, limit_side_questions(0)))
    with phase("deciding whether the assumptions contradict each other"):
        answers = decider.decide(prepared.part(model, questions, idle=True), limits).answers
    ends = ENDS in questions and answers[ENDS].truth is not True  # beyond that nothing is known
    stopped = next((each for each in inputs if answers[each.name].truth is True), None)
    if stopped is None or ends:
        return None if stopped or any(answers[each.name].truth is None for each in inputs) else ""
    step = _count_events(prepared, stopped)
    since = f"step {step}" if step < COUNTED else "some step"
    return f"the assumptions contradict from {since} on: no event on '{stopped.name}' meets them there"


def _list_restricted(prepared: Prepared) -> Iterator[Input]:
    """Yield the inputs that are read by the assumptions on which the property rests."""
    read = {port for each in list_assumptions(prepared.pipeline, prepared.model.system) for port in each.reads}
    yield from (each for each in prepared.question.system.arrivals if each.name in read)


def _query_forever(model: Model, source: Input) -> PartQuestion:
    """Return the question whether events stop on an input; without a state, one event shows that they need not."""
    silent = atom(NOT(source.present))
    if not model.system.is_restricted_by_state:
        return PartQuestion("invar", silent)
    return PartQuestion("ltl", weaken(build("F", build("G", silent)), model.overflow))


def _count_events(prepared: Prepared, source: Input) -> int:
    """Return the maximum number of events of an input on runs that meet the assumptions, up to `COUNTED`."""
    system, count = _observe_events(prepared.question.system, source)
    coming = {str(n): AND(source.present, GE(count, n)) for n in range(COUNTED)}
    questions = {role: PartQuestion("invar", atom(NOT(term))) for role, term in coming.items()}
    part = prepared.part(focus(system, coming.values()), questions, idle=True)
    answers = get_decider(prepared.settings.engine).decide(part, remaining_limits()).answers
    return next((n for n in range(COUNTED) if answers[str(n)].truth is not False), COUNTED)


def _observe_events(system: System, source: Input) -> tuple[System, Term]:
    """Return the system with an observer that counts the events on an input, and the count before a step."""
    count = var(f"{OBSERVER}:count", Range(0, COUNTED))
    after = ite(AND(source.present, LT(count, COUNTED)), count + 1, count)
    return observe(system, OBSERVER, [StateVariable(count.name, count.domain, 0, after)], []), count
