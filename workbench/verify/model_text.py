"""The model of a whole program as text for NuSMV, with a specification for each property.

The rule of this module: nothing is sliced away, so the text shows the model of the whole program, and `NuSMV
model.smv` decides its properties. (Checks use smaller models.) As in checks, nothing is concluded from what follows
an overflow: each specification is weakened by the overflow flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE
from workbench.ir.compose import compose
from workbench.ir.reduce import focus
from workbench.ir.system import System
from workbench.language import PROPERTIES, PropertySyntax
from workbench.smv.printer import print_model
from workbench.tesla.model.machine import ModelledRules
from workbench.verify.answer.grounds import misfortunes
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.formula import to_smv, weaken
from workbench.verify.ask.labels import property_from
from workbench.verify.ask.properties import Question

RUN = "Printed by `workbench export`. Run: NuSMV FILE"
KEYWORDS = {"invar": "INVARSPEC", "ctl": "CTLSPEC", "ltl": "LTLSPEC"}


def model_text(
    pipeline: Pipeline, properties: Sequence[PropertySyntax], settings: Settings, legend: Iterable[str] = ()
) -> str:
    """Return the model of the whole pipeline as SMV text, with a specification for each property.

    Parameters
    ----------
    legend: further lines of the header.

    Raises
    ------
    Refused, DomainError, TypingError: the pipeline has no finite model over these domains.
    """
    flat = settings.flat(pipeline)
    system, questions = _list_questions(compose(flat, settings.q), properties)
    roots = [*_list_labels(system), *(root for _, q in questions if q for root in (*q.formula.atoms(), *q.roots))]
    model = focus(system, roots)
    env = settings.environment
    smv = print_model(
        model.system,
        assume=env.assumptions(model.system, stutter_reduced=False),
        fair=env.fairness(model.system),
        header=[*_write_header(pipeline, settings, model.system), *legend, RUN],
    )
    lines = list[str]()
    formulas = smv.share(atom for _, each in questions if each for atom in each.formula.atoms())
    for syntax, question in questions:
        lines.append(f"  -- {syntax}")
        if question is None:
            lines.append("  -- compares two pipelines: see `workbench check` and `workbench equiv`")
            continue
        if question.wanted:
            lines.append("  -- false where it can happen: NuSMV's counterexample is such a run")
        hidden = FALSE if question.about_overflow else model.overflow
        formula = weaken(question.formula, hidden)
        lines.append(f"  {KEYWORDS[question.kind]} {to_smv(formula, formulas)};")
    return "\n".join([smv.text.rstrip(), *formulas.define_parts(), "", *lines]).rstrip() + "\n"


def _list_questions(
    system: System, properties: Sequence[PropertySyntax]
) -> tuple[System, list[tuple[PropertySyntax, Question | None]]]:
    """Return the system with the observers of all properties, and the questions; None for comparisons."""
    questions: list[tuple[PropertySyntax, Question | None]] = []
    for syntax in properties:
        if PROPERTIES[syntax.name].mode:
            questions.append((syntax, None))
            continue
        question = property_from(syntax).question(system)
        system = question.system
        questions.append((syntax, question))
    return system, questions


def _list_labels(system: System) -> Iterator[Any]:
    """Yield everything a user can name: all pipes and queues."""
    for pipe in system.pipes.values():
        yield pipe.slots
    for queue in system.queues.values():
        yield queue.length
        yield queue.overflow


def _write_header(pipeline: Pipeline, settings: Settings, system: System) -> Iterator[str]:
    yield f"{pipeline.kind.capitalize()} {pipeline.name}"
    yield from (f"  {line}".rstrip() for line in pipeline.doc.splitlines())
    sizes = ", ".join(f"{queue.name} {queue.capacity}" for queue in system.queues.values())
    yield f"Queues: {sizes or 'none'}"
    if pipeline.kind == "pipeline":
        yield f"int is {settings.domain}"
    yield from misfortunes(system)
    yield settings.environment.describe()


def describe_variables(model: Pipeline) -> Iterator[str]:
    """Yield a description of the variables of a model of rules."""
    for processor in (node.processor for node in model.nodes):
        assert isinstance(processor, ModelledRules)
        frame, tables = processor.frame, processor.frame.tables
        yield from processor.assumes
        if frame.layout.line_columns:
            yield "kind1, kind2, ...: the type of the newest retained event, of the one before it, ...; 0 is none"
            yield "age1, age2, ...: its age in ticks; at1_0, at1_1, ...: the indices of its attributes' values"
        if frame.layout.distance:
            yield "back1, back2, ...: how many events have come since"
        for column in frame.layout.line_columns:
            attribute_texts = (
                f"; at1_{index} is {name}: {', '.join(map(str, tables[column.type, name].values))}"
                for name, index in column.attributes.items()
            )
            retention = [f"up to {column.limit} ticks old"] if column.limit >= 0 else []
            retention += [f"one of the last {column.distance} events"] if column.distance else []
            retention = ["however old"] if column.endless else retention
            yield f"  {column.kind} is {column.type}, {' or '.join(retention)}{''.join(attribute_texts)}"
        for number, (column, key) in enumerate(frame.layout.apart, 1):
            values = zip(column.newest or (), key, strict=True)
            equal = ", ".join(f"{name} = {tables[column.type, name].values[index]}" for name, index in values)
            newest = f"{column.type}({equal})" if equal else column.type
            yield f"since{number}: how many ticks ago the newest {newest} came, {column.limit + 1} where it is too old"
        for index, (rule, _) in enumerate(frame.layout.consuming):
            yield f"used1_{index}, ...: whether {rule} has consumed it"
