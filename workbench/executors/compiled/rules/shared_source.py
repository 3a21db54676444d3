"""What rules share of a trigger, as lines: a function that lists its partial matches, and how a rule goes on from them.

The rule of this module: the list is made by the first rule that asks for it, at the upper end of the scratch, and is
there until the next trigger. A partial match is a row of places, and of values of aggregates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.core.domain import BOOL, FLOAT
from workbench.executors.compiled.rules.aggregate_source import AggregateSource, PlannedSpans
from workbench.executors.compiled.rules.layout import DONE, GROW_SCRATCH, LIST_WORDS, LISTS, ROOF, TRIGGER, WANTED
from workbench.executors.compiled.rules.lines import CodeValue
from workbench.executors.compiled.rules.step_source import ARGUMENTS
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.rule_prefixes import SharedPrefix
from workbench.tesla.engines.set_plan import SetPlan


class PlacedPrefix(NamedTuple):
    """What rules share, and where its function and constants are."""

    prefix: SharedPrefix
    shape: int
    constants: int


Shared = Mapping[int, Sequence[PlacedPrefix]]
"""Rules to what they share, the shortest first, each going on from the one before."""


class SharedSource(AggregateSource):
    """The lines of a rule, or of a part of it, that goes on from partial matches which are listed."""

    def _listed(self, prefix: SharedPrefix) -> None:
        """A loop over what is listed."""
        code = self.code
        width, steps = self._row(prefix.length)
        code.add(f"rows = V[{LISTS}] + {self.constants.whole(prefix.number * LIST_WORDS)}")
        code.add(f"for row in range(H[rows + 1] - {width}, H[rows + 2] - 1, -{width}):")
        code.depth += 1
        self.fail = "continue"
        for planned in self.plan.steps[self.number][: prefix.length]:
            step = planned.step
            if isinstance(step.part, t.Aggregate):
                domain, at = self.of_aggregate(step), steps[step.number]
                text = f"X{'F' * (domain == FLOAT)}[row + {at}]"
                found = CodeValue(f"({text} != 0)" if domain == BOOL else text, f"X[row + {at + 1}] != 0")
                code.parameters[f"${step.part.parameter}"] = found
            elif step.number in steps:
                self._rows_of(planned)
                self._found(step, f"X[row + {steps[step.number]}]")

    def _row(self, length: int) -> tuple[int, dict[int, int]]:
        """How many words a row has, and where in it those of a step begin."""
        found, width = dict[int, int](), 0
        for step in self.of.steps[1 : length + 1]:
            if isinstance(step.part, t.Aggregate) or _binds(step):
                found[step.number] = width
                width += 1 if _binds(step) else 2
        return max(width, 1), found


def _binds(step: RuleStep) -> bool:
    return step.policy.binds


class PrefixSource(SharedSource):
    """The source of what rules share.

    Attributes
    ----------
    text: of a function `name(c, rows, a0, {ARGUMENTS})` that lists partial matches, unless they are listed already.
    """

    def __init__(
        self, plan: SetPlan, prefix: SharedPrefix, types: Sequence[str], spans: PlannedSpans, *, trex: bool
    ) -> None:
        super().__init__(plan, prefix.rules[0], types, spans, trex=trex)
        before = prefix.before.length if prefix.before else 0
        self.once = frozenset(k for k in plan.once(self.number) if before < k <= prefix.length)
        code = self.code
        code.add(f"if H[rows] == V[{TRIGGER}]: return {DONE}")
        code.add(f"H[rows], H[rows + 1], H[rows + 2] = V[{TRIGGER}], V[{ROOF}], V[{ROOF}]", "mine = rows")
        self._enter(self.of.trigger, "a0")
        self._assign(self.of.trigger)
        code.add(*(f"once{k} = False" for k in sorted(self.once)))
        if prefix.before:
            self._listed(prefix.before)
        for planned in plan.steps[self.number][before : prefix.length]:
            self._step(planned)
        self._list(prefix)

    def _list(self, prefix: SharedPrefix) -> None:
        """Write a partial match down."""
        code = self.code
        width, steps = self._row(prefix.length)
        code.add(f"to = V[{ROOF}] - {width}", f"if to < {self.top}: V[{WANTED}] = len(X); return {GROW_SCRATCH}")
        for step in self.of.steps[1 : prefix.length + 1]:
            if isinstance(step.part, t.Aggregate):
                found, at = code.parameters[f"${step.part.parameter}"], steps[step.number]
                array = "X" + "F" * (self.of_aggregate(step) == FLOAT)
                value = f"1 if {found.text} else 0" if self.of_aggregate(step) == BOOL else found.text
                code.add(f"{array}[to + {at}] = {value}", f"X[to + {at + 1}] = 1 if {found.null or 'False'} else 0")
            elif step.number in steps:
                code.add(f"X[to + {steps[step.number]}] = e{step.number}")
        code.add(f"V[{ROOF}] = to", "H[mine + 2] = to")

    def text(self, name: str) -> str:
        """The function under a name."""
        return f"def {name}(c, rows, a0, {ARGUMENTS}):\n{self.code.text()}    return {DONE}\n"
