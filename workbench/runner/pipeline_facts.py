"""The facts of rules in pipelines.

The rule of this module: what a run is given is given to each processor that looks facts up, and to no other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.executors.table import Start, fact_types
from workbench.processors.held.group import Group

if TYPE_CHECKING:
    from workbench.tesla.rule_processor import RuleProcessor


def with_facts(program: Program, start: Start) -> Program:
    """A pipeline whose rules have the facts that a run is given: as they are now, for the whole run."""
    if not start.options.facts or not any(fact_types(program)):
        return program
    fixed = replace(start.options, facts_fixed=True)  # a run may go on from a state before
    return _with_facts(program.pipeline, replace(start, options=fixed))


def _with_facts(pipeline: Pipeline, start: Start) -> Pipeline:
    nodes = []
    for node in pipeline.nodes:
        processor = node.processor
        if isinstance(processor, Group):
            processor = type(processor)(_with_facts(processor.body, start))
        elif getattr(processor, "looks_up", ()):
            from workbench.runner.rules.facts import facts_of

            rules = cast("RuleProcessor", processor)
            processor = replace(rules, facts=facts_of(rules.rules, start))
        nodes.append(replace(node, processor=processor))
    return replace(pipeline, nodes=tuple(nodes))
