"""The end of the input streams, and the processors that act at it.

The rule of this module: in a model all inputs end together; with `apart` each ends by itself, as in a run.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.domain import BOOL
from workbench.core.ops import AND, OR, as_term, both, conjunction, either, ite, negate
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Maybe
from workbench.core.term import FALSE, Term, var
from workbench.ir.system import End, StateVariable

END_NAME = "end of stream"
"""The instance of the end of the input streams; no pipe can have this name."""


class Ends:
    """The ends of the inputs of a pipeline, if some processor acts at the end.

    Parameters
    ----------
    apart: whether each input ends by itself.

    Attributes
    ----------
    whole: the end of all inputs, if they end together.
    each: the end of each input, if they do not.
    """

    def __init__(self, pipeline: Pipeline, *, apart: bool) -> None:
        self.whole = _end("") if pipeline.late and not apart else None
        self.each = {name: _end(f" {name}") for name, _ in pipeline.inputs} if pipeline.late and apart else {}
        self.all = [self.whole] if self.whole else list(self.each.values())
        self.variables = [StateVariable(end.over.name, BOOL, False, OR(end.over, end.now)) for end in self.all]
        self._of = {name: frozenset([name]) for name, _ in pipeline.inputs}
        for node in pipeline.nodes:
            self._of.update(dict.fromkeys(node.outputs, self._inputs(node)))

    def _inputs(self, node: Node) -> frozenset[str]:
        """Return the inputs of the pipeline on which a node depends."""
        return frozenset().union(*(self._of[pipe] for pipe in node.inputs))

    def now(self, node: Node) -> Term:
        """Return the condition that, with this step, all inputs on which a node depends have ended."""
        if self.whole or not self.each:
            return self.whole.now if self.whole else FALSE
        ends = [self.each[name] for name in sorted(self._inputs(node))]
        over = conjunction(end.over for end in ends)
        now: Term = both(conjunction(either(end.over, end.now) for end in ends), negate(over))
        return now


def finishing(now: Term, slots: list[Maybe], last: Sequence[Maybe], *, late: bool) -> list[Maybe]:
    """Return the slots of a pipe whose processor emits `last` at the end of the stream.

    If nothing arrives at that step (not `late`), the last events share the slots of other steps.
    """
    ending = [Maybe(AND(now, as_term(each.present, BOOL)), each.value) for each in last]
    if late:
        return slots + ending
    both = [
        Maybe(OR(slot.present, end.present), ite(now, end.value, slot.value))
        for slot, end in zip(slots, ending, strict=False)
    ]
    return [*both, *slots[len(ending) :], *ending[len(slots) :]]


def _end(what: str) -> End:
    return End(var(f"{END_NAME}:now{what}", BOOL), var(f"{END_NAME}:over{what}", BOOL))
