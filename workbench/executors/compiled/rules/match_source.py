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
from workbench.executors.compiled.rules.ranged_source import RangedSource
from workbench.executors.compiled.rules.shared_source import Shared
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan


class MatchSource(RangedSource):
    """The source of a rule that makes no composites.

    Parameters
    ----------
    numbers: whether the events of matches are written; else matches are counted.
    """

    near = True

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
