"""The questions to the engines about a property: itself, on its cone of influence, and side questions, each in a role.

Roles: `property`; `surely`: the property holds even if a queue overflows; `overflow`, `wraps`, `clamps`: a bound is
met, or arithmetic wraps or saturates; `ranges`: a number that the property does not depend on leaves its range; `in
bounds`: the promised event comes before any overflow; `case 0`, ...: a condition without which the property is
vacuous never comes true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from workbench.core.domain import BOOL, Overflowing
from workbench.core.fold import postorder, substitute, variables
from workbench.core.ops import AND, IMPLIES, NOT, OR, as_term, disjunction
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE, TRUE, Term, var
from workbench.errors import Refused
from workbench.ir.compose import outline
from workbench.ir.correspond import correspond
from workbench.ir.reduce import Model, escape_in, flag_alone, focus
from workbench.ir.system import System, instance_of
from workbench.processors.held.group import flatten
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.formula import atom, weaken
from workbench.verify.ask.properties import Property, Question
from workbench.verify.decide.part import Part, PartQuestion


def prepare(pipeline: Pipeline, prop: Property, settings: Settings, *, up_to_escapes: bool = False) -> Prepared:
    """Prepare a question up to the call of the engine; `pipeline` is resolved to finite domains.

    Parameters
    ----------
    up_to_escapes: whether a number that leaves its range ends a run even if the property does not depend on it.
    """
    _refuse_several_events(pipeline, settings)
    return Prepared(pipeline, prop, settings, up_to_escapes=up_to_escapes)


def _refuse_several_events(pipeline: Pipeline, settings: Settings) -> None:
    alone = next((node for node in flatten(pipeline).nodes if node.processor.singly), None)
    if alone is not None and not settings.environment.row.single:
        arrivals = settings.environment.arrivals
        what = f"the model of `{alone.processor}` takes one event at a step, and the inputs are {arrivals}"
        raise Refused(what, hint='use Settings(environment=Environment("one")), as `rule_problem` does')


class Prepared:
    """A property of a pipeline over finite domains, ready for the engine.

    Attributes
    ----------
    model: the cone of the property.
    main: the property on its cone.
    bound: whether the bounds are ever met, on a smaller model of its own if there is one.
    ranges: whether a number that the property does not depend on leaves its range, which ends a run.
    settled: answers of roles that need no engine, because the term is constant.
    structure: how structure alone proves the property; empty if it does not.

    Parameters
    ----------
    merged: whether registers that are always equal are one.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        prop: Property,
        settings: Settings,
        *,
        up_to_escapes: bool = False,
        merged: bool = True,
    ) -> None:
        self.pipeline, self.prop, self.settings = pipeline, prop, settings
        question = settings.environment.adapt(prop.question(outline(pipeline, settings.q)))
        question, self.structure = _merge_equal(question) if merged else (question, "")
        roots = (*question.formula.atoms(), *question.roots)
        if up_to_escapes:
            names = question.system.names()
            roots = (*roots, *(var(name, names[name].domain) for name in self._list_obliged(names)))
        if settings.environment.row.together:  # then every input has events, also one that the property does not read
            coming = question.system.coming
            roots = (*roots, *(each.present for each in question.system.arrivals if each.present.name in coming))
        self.model = focus(question.system, roots)
        if not question.compares and question.kind == "invar":
            question = replace(question, exercised=(*question.exercised, *_find_implications(self.model.system)))
        self.question = question
        self.hidden = FALSE if question.about_overflow else self.model.overflow
        self.bound, self.settled = self._query_bound(), dict[str, bool]()
        self.main, self.ranges = self.part(self.model, self._list_queries()), self._query_ranges()

    @property
    def trivial(self) -> bool:
        """Whether the property is the constant true, and reads nothing that a bound may cut short."""
        constant = self.question.formula.term is TRUE and self.question.kind != "longest"
        return constant and (not self.question.roots or self.hidden is FALSE)

    def _list_queries(self) -> dict[str, PartQuestion]:
        """Return the questions to the engines about the cone of the property, side questions last."""
        questions = self._query_property()
        if self.structure and self.settings.engine != "all":  # `all` queries the engines, too
            self.settled["property"] = True
            del questions["property"]
        for role, term in self._list_limits().items():
            if term is FALSE:
                self.settled[role] = False
            else:
                # for a wanted run, bounds that other runs meet do not matter
                unless = "property" if self.question.wanted else ""
                questions[role] = _query_never(term, side=role != "overflow")._replace(unless=unless)
        return questions | self._list_side_queries()

    def _query_property(self) -> dict[str, PartQuestion]:
        """Return the question about the property itself, as far as overflow does not hide it."""
        question = self.question
        measures = question.kind == "longest"  # measure only what overflow does not hide
        questions = {
            "property": PartQuestion(question.kind, weaken(question.formula, self.hidden, optimistic=not measures))
        }
        if question.kleene and self.hidden is not FALSE:
            questions["surely"] = PartQuestion(question.kind, weaken(question.formula, self.hidden, optimistic=False))
        return questions

    def _list_limits(self) -> dict[str, Term]:
        """Return the conditions at which a model ends; each may come true on some run."""
        limits = {} if self.bound else {"overflow": self._find_end()}
        return {**limits, "wraps": self.model.wraps, "clamps": self.model.clamps}

    def _find_end(self) -> Term:
        """Return the condition at which the model ends, except for what the property is about."""
        condition: Term
        if self.question.about_ranges:
            condition = as_term(disjunction(queue.overflow for queue in self.model.queues), BOOL)
            return condition
        if self.question.about_overflow:
            own = {queue.name for queue in self.question.system.own_queues}
            beside = as_term(disjunction(q.overflow for q in self.model.queues if q.name not in own), BOOL)
            condition = OR(self.model.escapes, beside)
            return condition
        return self.model.overflow

    def _query_ranges(self) -> Part | None:
        """Return the question whether numbers outside the model stay in their ranges."""
        system = self.question.system
        if self.question.about_overflow or not any(each.has_obligations for each in self.pipeline.typed.values()):
            return None
        names = set(self._list_obliged(system.names())) - self.model.system.names().keys()
        escapes = escape_in(system, names, Overflowing.CHECKED)
        if escapes is FALSE:
            return None
        return self.part(focus(system, (escapes,)), {"ranges": _query_never(escapes)})

    def _list_obliged(self, names: Iterable[str]) -> list[str]:
        """Return the names whose processors compute numbers that have to stay in their ranges."""
        obliged = {name for name, processor in flatten(self.pipeline).typed.items() if processor.has_obligations}
        return [name for name in names if instance_of(name) in obliged]

    def _list_side_queries(self) -> dict[str, PartQuestion]:
        """Return the questions whether bounds are met, and whether the cases occur that the property needs."""
        question, questions = self.question, dict[str, PartQuestion]()
        if question.in_bounds and self.hidden is not FALSE:
            questions["in bounds"] = PartQuestion(question.kind, question.in_bounds(self.hidden), side=True)
        if self.structure or question.wanted or self.settings.environment.row.single:
            return questions
        for role, _, term in cases_of(question):
            if variables([term]).keys() <= self.model.system.domains.keys():
                case = weaken(atom(NOT(term)), self.hidden, optimistic=True)
                questions[role] = PartQuestion("invar", case, side=True, unless="property")
        return questions

    def _query_bound(self) -> Part | None:
        """Return the question whether the bounds are ever met, without the data that only the property reads."""
        question, model = self.question, self.model
        if question.about_overflow or model.overflow is FALSE:
            return None
        alone = flag_alone(question.system, model)
        if len(alone.system.variables) + len(alone.system.free) == len(model.system.variables) + len(model.system.free):
            return None
        return self.part(alone, {"overflow": _query_never(alone.overflow)})

    def part(self, model: Model, questions: Mapping[str, PartQuestion], *, idle: bool = False) -> Part:
        """Return a part with a model in the environment of the question.

        Parameters
        ----------
        idle: whether there are steps without input in any case.
        """
        env, settings, question = self.settings.environment, self.settings, self.question
        if idle and not env.row.idle:
            env = replace(env, arrivals="synchronised")
        header = [f"{self.pipeline.name}: {self.prop}", f"Q = {settings.q}, {settings.domain}, {env.describe()}"]
        reduced = question.stutter and not idle
        assume = env.assumptions(model.system, stutter_reduced=reduced, ends=question.ends)
        smv = env.print(model.system, assume, header)
        return Part(model, smv, questions, tuple(assume), tuple(env.fairness(model.system)), env.driven)


def cases_of(question: Question) -> Iterator[tuple[str, str, Term]]:
    """Yield the conditions that must come true on some run: role, words and condition."""
    for number, (words, term) in enumerate(question.exercised):
        yield f"case {number}", words, term


def _query_never(term: Term, *, side: bool = False) -> PartQuestion:
    return PartQuestion("invar", atom(NOT(term)), side)


def _find_implications(system: System) -> Iterator[tuple[str, Term]]:
    """Yield the left sides of the implications that a system computes."""
    for name, term, *_ in system.definitions:
        for part in postorder([term]):
            if part.op is IMPLIES:
                words = f"the left side of an implication in '{instance_of(name)}' is true"
                yield words, AND(system.uses.get(name, TRUE), part.args[0])


def _merge_equal(question: Question) -> tuple[Question, str]:
    """Merge registers that are always equal; return the reduced question, and how that proves it (or "").

    Where something changes at an overflow, the result is still what the model does there; as always, nothing is
    concluded from it, since another question is whether an overflow can be reached.
    """
    term = question.formula.term
    if not question.compares or term is None or term is TRUE:
        return question, ""
    end = question.system.end
    correspondence = correspond(question.system.whole(), [end.over.name] if end else [])
    proved = correspondence.simplify(term) is TRUE
    count, many = len(correspondence.equal), len(correspondence.system.variables)
    text = f"structure: {count} of {many} state variables never differ from others, and what is compared is one term"
    equal = dict(correspondence.equal)
    cases = tuple(
        (words, FALSE if correspondence.simplify(case) is FALSE else substitute(case, equal))
        for words, case in question.exercised
    )
    question = replace(
        question, system=correspondence.reduce_system(), formula=atom(substitute(term, equal)), exercised=cases
    )
    return question, text if proved else ""
