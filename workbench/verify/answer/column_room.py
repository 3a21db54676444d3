"""Rules in a pipeline whose columns always have room, so that the queues behind them are those of the pipeline.

The rule of this module: rules are asked by themselves, on any streams: then it is so wherever they stand.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.core.kinds import Deferring, Keeping
from workbench.core.pipeline import Node, Pipeline
from workbench.errors import Refused
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.properties import no_overflow


def refuse_full_columns(flat: Pipeline, settings: Settings) -> None:
    """Refused where rules in a model may keep more events than it has room for: then queues hold other events."""
    free = replace(settings, q=settings.q if isinstance(settings.q, int) else {}, environment=Environment())
    for node in flat.nodes:
        kept = isinstance(node.processor, Keeping) and not isinstance(node.processor, Deferring)
        if kept and check(_alone(flat, node), no_overflow(), free).outcome is not Outcome.HOLDS:
            raise Refused(
                f"{node.processor} may keep more events than there is room for, and what waits behind is not known",
                where=node.where,
                hint="`check -p no-overflow` answers within bounds; proofs are of rules that ask for the newest events",
            )


def _alone(flat: Pipeline, node: Node) -> Pipeline:
    inputs = tuple((f"in{i}", flat.domains[pipe]) for i, pipe in enumerate(node.inputs))
    alone = replace(node, inputs=tuple(name for name, _ in inputs))
    return Pipeline(node.name, inputs, (alone,), tuple((pipe, pipe) for pipe in node.outputs))
