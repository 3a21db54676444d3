"""Whether the effect of rules depends on an order: of rules in the file, or of events of the same time.

Composites of a step, and of the two exchanged events, are compared as multisets: their order is not part of the
outcome. Source: design of rules in the model, "does the outcome depend on the order".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any

from workbench.budget import Budget, remaining, share
from workbench.core.domain import Value
from workbench.core.ops import EQ, both, conjunction, either, ite, negate
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Maybe
from workbench.core.term import FALSE, const, leaves, var
from workbench.errors import LimitMet
from workbench.ir.reduce import observe
from workbench.ir.system import StateVariable, System
from workbench.processors.held.group import Group
from workbench.tesla.model.encoding import COMES
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.model.needs import growth_for
from workbench.tesla.model.swap import SwappedEvents, both_orders
from workbench.tesla.rule_processor import ALL
from workbench.verify.answer.problem import check
from workbench.verify.answer.verdict import Depth, Outcome, Verdict, deeper
from workbench.verify.ask.formula import atom
from workbench.verify.ask.properties import Property, Question
from workbench.verify.finding import TELLING, Finding, findings_in_turn, limits, report_unknown
from workbench.verify.rules.growing_question import GrowingQuestion
from workbench.verify.rules.measurement import MeasuredRules
from workbench.verify.rules.rule_subject import RequiredFiring, RuleSubject
from workbench.verify.rules.stream import RuleStream, find_modelled
from workbench.verify.rules.variants import Variation, read_output, same_events

ANSWERS = "depends", "does not depend"
EVENTS = "simultaneous events"
OBSERVER = "(exchanged)"
EXPLICIT = 20.0
"""Seconds for the explicit search, which comes first: sets of states of two copies side by side are large."""


def order(subject: RuleSubject) -> tuple[Finding, ...]:
    """Return, for each two neighbouring rules, and for simultaneous events, whether their order matters.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    pairs = [f"{one.name}, {other.name}" for one, other in pairwise(subject.rules.rules)]
    neighbours = ((about, partial(_exchange_rules, subject, index)) for index, about in enumerate(pairs))
    return findings_in_turn([*neighbours, (EVENTS, partial(_exchange_events, subject))])


def _exchange_rules(subject: RuleSubject, index: int) -> Iterator[Finding]:
    rules = subject.rules
    before, (one, other), behind = rules.rules[:index], rules.rules[index : index + 2], rules.rules[index + 2 :]
    about = f"{one.name}, {other.name}"
    if {one.emits, other.emits}.isdisjoint(name for rule in rules.rules for name in rule.types):
        yield Finding(about, ANSWERS[1], "their order does not matter: no rule reads what they emit")
    elif one.trigger.type != other.trigger.type and not (one.absence and other.absence):
        yield Finding(about, ANSWERS[1], "their order does not matter: no event triggers both")
    else:
        variant = replace(rules, rules=(*before, other, one, *behind))
        texts = "their order matters: exchanged, they emit other composites", "their order does not matter"
        exchanged = Variation(("as they are", "exchanged"), ANSWERS, texts, ordered=False)
        yield from exchanged.compare(subject, variant, about)


# --- events ---------------------------------------------------------------------------------------------


def _exchange_events(subject: RuleSubject) -> list[Finding]:
    """Return the findings of the parts of the rules, if all agree; otherwise those of a conclusive part.

    What parts emit in both orders is emitted by all in both. If a part differs, others may compensate for it: then the
    stream, run on all rules, decides.
    """
    findings = list[Finding]()
    parts = list(subject.parts())
    for number, part in enumerate(parts):
        with share(len(parts) - number + (len(parts) > 1), TELLING):
            findings.append(_exchange_in_part(part))
        if findings[-1].runs:
            streams = {name: stream.with_rules(subject.rules) for name, stream in findings[-1].runs.items()}
            if len(parts) == 1 or RuleStream.differs_from(*streams.values()):
                return [replace(findings[-1], runs=streams)]
    if all(each.answer == ANSWERS[1] for each in findings):
        return [next((each for each in findings if each.within_bounds), findings[-1])]
    return findings if len(parts) == 1 else [_exchange_in_part(subject)]


def _exchange_in_part(subject: RuleSubject) -> Finding:
    if subject.deepen and subject.bounds.capacity is None:
        subject = subject.within(replace(subject.bounds, growth=growth_for(subject.rules)))
    model = find_modelled(subject.model())
    orders, verdict = _find_two_events(model), None
    if not orders:
        required = RequiredFiring.of_each([subject.rules], subject.rules.rule_names, subject.settings)
        ask = lambda bounds: _decide_order(subject.within(bounds))  # noqa: E731
        question = GrowingQuestion(ask, subject, required)
        verdict, bounds = question.decide()
        if verdict.counterexample is not None:
            inputs = [step.inputs for step in verdict.counterexample.steps]
            orders = both_orders(inputs, ["swap" in each for each in inputs])
            model = find_modelled(subject.within(bounds).model())
    if orders or verdict is None:
        one, other = (RuleStream.of(model, each) for each in orders)
        text = "their order matters: swapping two of them changes the effect"
        return Finding(EVENTS, ANSWERS[0], text, verdict, {"in one order": one, "in the other": other})
    if verdict.outcome.is_proved:
        return Finding(EVENTS, ANSWERS[1], f"their order does not matter{limits(verdict)}", verdict)
    return report_unknown(EVENTS, verdict)


def _decide_order(subject: RuleSubject) -> Verdict:
    """Decide whether two simultaneous events have the same effect in either order, in the model with these bounds."""
    model, settings = subject.model(), subject.settings
    both_ways = _put_both_ways(model)
    same = _same_outcome([name for name, _ in model.outputs if name != ALL])
    first: Verdict | None = None
    if settings.engine == "auto":
        left = [each / 2 for each in (settings.seconds, remaining().seconds) if each is not None]
        with suppress(LimitMet), Budget(min([EXPLICIT, *left]), soft=True):
            first = check(both_ways, same, replace(settings, engine="explicit"))
        if first is not None and first.outcome is not Outcome.UNKNOWN:
            return first
    verdict = check(both_ways, same, settings)
    if verdict.outcome is not Outcome.UNKNOWN:
        return verdict
    return replace(verdict, depth=_without_exchange(deeper(verdict.depth, first.depth if first else None)))


def _find_two_events(model: ModelledRules) -> Sequence[Sequence[Mapping[str, Value]]]:
    """Return two events in both orders, with nothing before, if their effects differ; empty if there are none."""
    measured = MeasuredRules(model)
    events = [] if model.frame.fact_inputs else list(measured.events())
    for pair in combinations(events, 2):
        orders = [each for each in (pair, pair[::-1]) if measured.pace(each) == each]
        composites = [
            Counter((c.type, repr(c.values)) for step in measured.run(each) for c in step.composites) for each in orders
        ]
        if len(orders) == 2 and composites[0] != composites[1]:
            return orders
    return ()


def _without_exchange(depth: Depth | None) -> Depth | None:
    """Return the depth in steps of a stream: a run that exchanges two of its events has two more."""
    return replace(depth, steps=depth.steps - 2) if depth is not None and depth.steps > 2 else None


def _put_both_ways(model: Pipeline) -> Pipeline:
    """Return two copies of a model, of which the second gets two events in the opposite order."""
    names = tuple(name for name, _ in model.inputs)
    swapped = SwappedEvents(names, len(find_modelled(model).frame.fact_inputs))
    nodes = [Node("exchange", swapped, ("swap", *names), swapped.results_named)]
    outputs = list[str]()
    for side in ("first", "second"):
        inputs = tuple(f"{side}_{name}" for name in names)
        side_outputs = tuple(_name_output(side, name) for name, _ in model.outputs)
        nodes.append(Node(f"{side}_rules", Group(model), inputs, side_outputs))
        outputs += side_outputs
    inputs_of_both, named = (("swap", COMES), *model.inputs), tuple((name, name) for name in (*outputs, "turn"))
    return Pipeline(f"{model.name}_both_ways", inputs_of_both, tuple(nodes), named)


def _name_output(side: str, output: str) -> str:
    return f"{side}_makes_{output}"


def _same_outcome(outputs: list[str]) -> Property:
    """Return the property that both copies emit the same: at each step, but for the two exchanged events in total."""

    def question(system: System) -> Question:
        (turn,) = system.pipes["turn"].slots
        begins, follows, ends = (both(turn.present, EQ(turn.value, each)) for each in (1, 2, 3))
        variables: list[StateVariable] = []
        same = []
        for output in outputs:
            first, second = (read_output(system, _name_output(side, output)) for side in ("first", "second"))
            early = _remember(f"{output}_1", first, begins, follows, variables)
            late = _remember(f"{output}_2", first, follows, FALSE, variables)
            other = _remember(f"{output}_3", second, follows, FALSE, variables)
            same.append(either(turn.present, same_events(first, second)))
            same.append(either(negate(ends), same_events([*early, *late], [*other, *second])))
        watched = observe(system, OBSERVER, variables, [])
        return Question(watched, "invar", atom(conjunction(same)), failure="composites differ")

    return Property("same outcome in both orders", question)


def _remember(name: str, slots: list[Maybe], when: Any, stays: Any, variables: list[StateVariable]) -> list[Maybe]:
    """Store what a pipe carried at a step in variables of an observer; `stays`: the steps at which it is kept."""
    past_slots = []
    for number, slot in enumerate(slots):
        terms = []
        for part, now in enumerate((slot.present, *leaves(slot.value))):
            domain = now.domain
            held = var(f"{OBSERVER}:{name}_{number}_{part}", domain)
            nothing = const(domain.default, domain)
            after = ite(when, now, ite(stays, held, nothing))
            variables.append(StateVariable(held.name, domain, domain.default, after))
            terms.append(held)
        past_slots.append(Maybe(terms[0], tuple(terms[1:])))
    return past_slots
