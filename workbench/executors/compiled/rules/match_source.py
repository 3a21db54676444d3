"""The function of a rule of which only the matches are wanted: it counts them, or writes the numbers of their events.

The rule of this module: a match costs a few words, and a trigger one composite, which says how many matches it has and
where they begin.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.executors.compiled.rules.aggregate_source import PlannedSpans
from workbench.executors.compiled.rules.layout import (
    CAUSE,
    DEPTH,
    FOUND,
    GAPS,
    GIVE_ROWS,
    GROW_OUTPUT,
    MADE,
    NUMBER,
    RECORD,
    ROOM,
    ROWS,
    RULE,
    WANTED,
    WHEN,
)  # fmt: skip
from workbench.executors.compiled.rules.rule_source import RuleSource
from workbench.executors.compiled.rules.shared_source import Shared
from workbench.tesla import tree as t
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan


class MatchSource(RuleSource):
    """The source of a rule that makes no composites.

    Parameters
    ----------
    numbers: whether the events of matches are written; else matches are counted.
    """

    def __init__(
        self, plan: SetPlan, rule: int, types: Sequence[str], settings: EngineSettings, spans: PlannedSpans,
        shared: Shared, *, numbers: bool,
    ) -> None:  # fmt: skip
        self._numbers = numbers
        super().__init__(plan, rule, types, settings, spans, shared)

    def _limit(self) -> None:
        super()._limit()
        self.code.add("kept, seen = -1, 0")
        if self._numbers:
            self.code.add(f"reached, room, rows = V[{FOUND}], V[{ROOM}], V[{ROWS}]")

    def _record(self) -> None:
        code = self.code
        if self._numbers:
            code.add(self._full("reached >= room"))
        self._begun()
        code.add("seen += 1", f"O[kept + {RECORD}] = seen")
        if self._numbers:
            with code.inside("if reached >= 0:"):
                for i, number in enumerate(self._bound()):
                    code.add(f"put_word(rows, {i} * room + reached, {number})")
            code.add("reached += 1", f"V[{FOUND}] = reached")

    def _full(self, condition: str) -> str:
        return f"if {condition}: V[{WANTED}] = V[{MADE}]; return {GIVE_ROWS}"

    def _begun(self) -> None:
        """What stands for all matches of a trigger is there."""
        code = self.code
        self.size = RECORD + 2
        with code.inside("if kept < 0:"):
            code.add(f"kept = V[{MADE}]")
            code.add(f"if kept + {self.size} > len(O): V[{WANTED}] = kept + {self.size}; return {GROW_OUTPUT}")
            code.add(f"O[kept + {RULE}], O[kept + {WHEN}], O[kept + {DEPTH}] = r, {self.time}, 0")
            code.add(f"O[kept + {CAUSE}], O[kept + {GAPS}], V[{MADE}] = -1, 0, kept + {self.size}")
            code.add(*([f"O[kept + {RECORD + 1}] = reached"] if self._numbers else []))

    def _bound(self) -> list[str]:
        """The numbers of the events that are bound."""
        steps = (self.bound[slot] for slot in self.of.event_slots if slot in self.bound)
        return [f"W[{self.addresses[step.slot]} + {NUMBER}] + 1" for step in steps]

    # --- matches that differ in their last event only ---------------------------------------------------

    def _step(self, planned: PlannedStep) -> None:
        if self._ranged(planned):
            self._range_of(planned)
        else:
            super()._step(planned)

    def _emit(self) -> None:
        if not (self.plan.steps[self.number] and self._ranged(self.plan.steps[self.number][-1])):
            super()._emit()

    def _first(self, k: int, word: int, value: str, end: str) -> str:
        hint = f"{end}h{k}"  # where it was for the last partial match
        if f"    {hint} = 0" not in self.code.lines:
            self.code.lines.insert(0, f"    {hint} = 0")
        self.code.add(f"{hint} = near_place({hint}, {word}, {value}, s{k}, u{k}, b{k}, q{k}, w{k}, f{k}, x{k}, W, H)")
        return hint

    def _ranged(self, planned: PlannedStep) -> bool:
        """Whether a predicate is the last, and its events need not be looked at: nothing but the window is asked."""
        step, rule, of = planned.step, self.of.rule, self.of
        if step is not of.steps[-1] or step.policy is not t.Policy.EACH or step.fact or of.absent is not None:
            return False
        asked = self.plan.columns[planned.column].keys or planned.asked or rule.where_clause or self.profiled
        if asked or rule.limit is not None or rule.pause is not None:
            return False
        return all(slot == 0 or other.type != step.type for slot, other in self.bound.items())

    def _range_of(self, planned: PlannedStep) -> None:
        """All matches of what is bound so far with the events from one place to before another."""
        code, k = self.code, planned.step.number
        self._rows_of(planned)
        self._bounds(planned.step)
        self._ends(planned, k, newest=False)
        code.add(f"if u{k} <= s{k}: {self.fail}")
        if self._numbers:
            code.add(self._full("reached >= room"))
        self._begun()
        if not self._numbers:
            code.add(f"seen += u{k} - s{k}", f"O[kept + {RECORD}] = seen")
            return
        code.add(f"low, high = max(reached, 0), min(reached + u{k} - s{k}, room)")
        bound = self._bound()
        for i, number in enumerate(bound):
            code.add(f"fill_words(rows, {i} * room + low, {i} * room + high, {number})")
        given = f"s{k} + low - reached, b{k}, q{k}, w{k}, f{k}, x{k}, W, H"
        code.add(f"fill_numbers(rows, {len(bound)} * room + low, {len(bound)} * room + high, {given})")
        code.add("seen += high - reached", f"reached, part = high, reached + u{k} - s{k} > room")
        code.add(f"O[kept + {RECORD}], V[{FOUND}] = seen, reached", self._full("part"))
