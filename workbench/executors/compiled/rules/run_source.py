"""The function of a rule whose composites are written as runs, where its matches differ in their last event only.

The rule of this module: what is the same in all of a run is written once, what differs as columns: the values that hang
on the last event, nulls if there are any, and the numbers of these events. Nobody looks at such composites, and nothing
is consumed with them, so nothing asks for one alone before they are given out.
"""

from __future__ import annotations

from workbench.executors.compiled.rules.layout import GAPS, MADE, NUMBER, RECORD, RUN_WORDS
from workbench.executors.compiled.rules.ranged_source import RangedSource
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import PlannedStep


class RunSource(RangedSource):
    """The source of a rule, whose composites are written as runs if that is possible."""

    def _ranges(self, planned: PlannedStep) -> bool:
        of = self.of
        alone = not of.consumed_slots and of.rule.emits not in self.plan.required_types
        return alone and planned.step.slot == of.event_slots[-1] and super()._ranges(planned)

    def _range_of(self, planned: PlannedStep) -> None:
        code, step, given = self.code, planned.step, len(self.of.emitted.attributes)
        k, last = step.number, RECORD + given + len(self.of.event_slots) - 1
        self._rows_of(planned)
        self._bounds(step)
        self._ends(planned, k, newest=False)
        code.add(f"if u{k} <= s{k}: {self.fail}", f"many = u{k} - s{k}")
        alike = {at: self._alike(at, step) for at in range(given)}
        loop, nulls = self._columns(planned, [at for at in alike if not alike[at]])
        self.run = (*(RECORD + at for at in alike if not alike[at]), *[GAPS] * nulls, last)
        self.size = last + 1
        self._head(f"{self.size + RUN_WORDS} + {len(self.run)} * many")
        code.own = ""
        for at in alike:
            if alike[at]:
                self._evaluate(at, f"o + {RECORD + at}", "gaps")
        for i, slot in enumerate(self.of.event_slots[:-1]):
            code.add(f"O[o + {RECORD + given + i}] = W[{self.addresses[slot]} + {NUMBER}]")
        size = self.size + RUN_WORDS
        code.add(f"O[o + {GAPS}] = gaps", f"O[o + {self.size}] = many")
        code.add(f"O[o + {self.size + 1}] = {size} + {len(self.run)} * many")
        code.lines += loop
        code.add(f"V[{MADE}] = o + {size} + {len(self.run)} * many")

    def _alike(self, at: int, last: RuleStep) -> bool:
        """Whether a value of the composites hangs on nothing that the last predicate binds."""
        name = self.of.emitted.attributes[at].name
        value = next(each.value for each in self.of.rule.evaluations if each.name == name)
        return last.number not in self.of.binders(value)

    def _columns(self, planned: PlannedStep, values: list[int]) -> tuple[list[str], bool]:
        """The lines that write what differs, and whether nulls do."""
        code, k, step = self.code, planned.step.number, planned.step
        assert isinstance(step.part, t.Predicate)
        before, code.lines = code.lines, []
        depth, to = code.depth, f"to = o + {RECORD + len(self.of.emitted.attributes) + len(self.of.event_slots)}"
        code.add(f"{to} + {RUN_WORDS} - s{k}", f"for place in range(s{k}, u{k}):")
        code.depth += 1
        whole = self.plan.columns[planned.column].whole
        code.add("i = place" if whole else f"i = H[f{k} + (place & x{k})]", f"a{k} = b{k} + (i & q{k}) * w{k}")
        self._enter(step, f"a{k}")
        self._assign(step)
        code.own = ""
        code.add(*["more = gaps"] * bool(values))
        nulls = [self._evaluate(at, f"to + {i} * many + place", "more") for i, at in enumerate(values)]
        columns = len(values)
        if any(nulls):
            code.add(f"O[to + {columns} * many + place] = more")
            columns += 1
        code.add(f"O[to + {columns} * many + place] = W[a{k} + {NUMBER}]")
        loop, code.lines, code.depth = code.lines, before, depth
        return loop, any(nulls)
