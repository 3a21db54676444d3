"""What a sequence on a device has of a step of its rule.

The rule of this module: it says where words are, and makes none.
"""

from __future__ import annotations

from workbench.executors.compiled.rules.layout import VALUES
from workbench.executors.compiled.rules_gpu.device_aggregates import device_aggregate
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import PlannedStep


class DeviceStep:
    """Where a sequence has what of a step.

    Attributes
    ----------
    word: its first word in a sequence.
    words: how many words of `A` it needs for each sequence.
    pairs: whether a thread looks at two candidates.
    counted: whether the ends of the window say all.
    computed: how it is computed, if it is an aggregate.
    """

    def __init__(self, planned: PlannedStep | None, step: RuleStep, word: int) -> None:
        self.planned, self.step, self.word = planned, step, word
        part = step.part
        self.aggregate = part if isinstance(part, t.Aggregate) else None
        self.counted = (
            isinstance(part, t.Aggregate) and part.attribute is None and planned is not None and not planned.constraints
        )
        self.pairs = self.aggregate is not None
        self.computed = None if self.aggregate is None else device_aggregate(self.aggregate, step.values)
        self.words = 1 if self.computed is None else self.computed.words

    @property
    def kept(self) -> int:
        """The words that a sequence has of it."""
        return 2 if self.aggregate is not None else 0 if self.step.policy.forbids else 1

    @property
    def value(self) -> int:
        """The word of a row that is aggregated."""
        attribute = self.step.attribute
        return 0 if attribute is None else VALUES + attribute

    @property
    def total(self) -> int:
        """What the kernel `total` makes of it: see there; -1: nothing."""
        return -1 if self.computed is None else self.computed.total

    @property
    def each(self) -> bool:
        """Whether there is a sequence for every candidate that fits."""
        return self.step.policy.many

    @property
    def newest(self) -> bool:
        """Whether the newest are looked at first."""
        return self.step.policy.newest_first
