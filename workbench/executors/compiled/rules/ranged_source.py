"""The function of a rule whose matches differ in their last event only: a partial match has all of them at once.

The rule of this module: what the last predicate selects lies between two places, so that none of it is looked at.
"""

from __future__ import annotations

from workbench.executors.compiled.rules.rule_source import RuleSource
from workbench.tesla.engines.set_plan import PlannedStep


class RangedSource(RuleSource):
    """The source of a rule, which may be such a one.

    Attributes
    ----------
    ranged: whether it is.
    near: whether places are looked for where they were for the last partial match, whatever the predicate.
    """

    ranged = near = False

    def _step(self, planned: PlannedStep) -> None:
        self.ranged = self._ranges(planned)
        if self.ranged:
            self._range_of(planned)
        else:
            super()._step(planned)

    def _emit(self) -> None:
        if not self.ranged:
            super()._emit()

    def _range_of(self, planned: PlannedStep) -> None:
        """All matches of what is bound so far with the events from place `s` to before `u`."""
        raise NotImplementedError

    def _first(self, k: int, word: int, value: str, end: str) -> str:
        if not (self.ranged or self.near):
            return super()._first(k, word, value, end)
        hint = f"{end}h{k}"
        if f"    {hint} = 0" not in self.code.lines:
            self.code.lines.insert(0, f"    {hint} = 0")
        self.code.add(f"{hint} = near_place({hint}, {word}, {value}, s{k}, u{k}, b{k}, q{k}, w{k}, f{k}, x{k}, W, H)")
        return hint

    def _ranges(self, planned: PlannedStep) -> bool:
        """Whether a predicate is the last, and its events need not be looked at: nothing but the window is asked."""
        step, rule, of = planned.step, self.of.rule, self.of
        if step is not of.steps[-1] or not step.policy.many or step.fact or of.absent is not None:
            return False
        asked = self.plan.columns[planned.column].keys or planned.constraints or self.plan.conditions(self.number)[-1]
        if asked or self.profiled or rule.limit is not None or rule.pause is not None:
            return False
        return all(slot == 0 or other.type != step.type for slot, other in self.bound.items())
