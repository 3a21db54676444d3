"""The function of a rule: from its trigger to the composites that come of it, as source.

The rule of this module: what differs between rules that are written alike (constants, windows, columns) is read from a
table, so that ten thousand of them are one function. A rule that waits for what must not come has two: one writes the
match down, the other judges it when the deadline has come.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.domain import BOOL, FLOAT, INT
from workbench.errors import Refused
from workbench.executors.compiled.rules.aggregate_source import PlannedSpans
from workbench.executors.compiled.rules.layout import (
    BASE,
    CAUSE,
    COMPOSED,
    COST_WORDS,
    COSTS,
    DEEP,
    DEPTH,
    DONE,
    DUE,
    FIXED,
    FULL,
    GAPS,
    GROW_JOURNAL,
    GROW_OUTPUT,
    JOURNAL,
    KEY_WORDS,
    LIST_WORDS,
    LISTS,
    MADE,
    MASK,
    NUMBER,
    PARTIAL,
    QUIET,
    RECORD,
    RULE,
    TIME,
    VALUES,
    WAITED,
    WAITING,
    WANTED,
    WHEN,
    WIDTH,
)  # fmt: skip
from workbench.executors.compiled.rules.lines import (
    OTHERS,
    CodeValue,
    RuleConstants,
    WordLines,
)  # fmt: skip
from workbench.executors.compiled.rules.search_source import SearchSource
from workbench.executors.compiled.rules.shared_source import Shared
from workbench.executors.compiled.rules.step_source import ARGUMENTS, ENDS
from workbench.tesla import tree as t
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.search_order import RuleSearches
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan
from workbench.tesla.resolved import domain_of

MOST_PER = 30


class RuleSource(SearchSource):
    """The source of one rule.

    Attributes
    ----------
    text: of a function `name(r, a0, {ARGUMENTS})`, which says what it ends with.
    constants: what it reads from the table.
    size: the words of a composite.
    run: at which of these the columns belong, where composites are written as runs.
    may_choose: whether it may look in another order than is written.
    searches, chosen: what it could look for when, and whether it does.
    """

    run: Sequence[int] = ()
    may_choose = True

    def __init__(
        self, plan: SetPlan, rule: int, types: Sequence[str], settings: EngineSettings, spans: PlannedSpans,
        shared: Shared,
    ) -> None:  # fmt: skip
        super().__init__(plan, rule, types, spans, trex=settings.trex)
        self.profiled = settings.profiled
        self.given_up = self.given_up if not settings.profiled else "continue"  # which counts all
        self.time = f"W[a0 + {TIME}]"
        self.shared, self.searches = shared.get(rule, ()), RuleSearches(plan, rule)
        self.chosen = self.may_choose and bool(self.searches.groups) and not (self.shared or self.profiled)
        self.once = plan.once(rule) - (self.searches.grouped if self.chosen else frozenset())
        self.judged: WordLines | None = None
        self.waiting = WAITED
        self._write()

    def text(self, name: str) -> str:
        """The function under a name."""
        return f"def {name}(r, a0, {ARGUMENTS}):\n    c = R[r, 1]\n{self.code.text()}    return {DONE}\n"

    def judging(self, name: str) -> str:
        """The function of what it waits for, under a name: of the matches from place `first` to before `last`."""
        assert self.judged is not None
        body = self.judged.text()
        return f"def {name}(r, first, last, {ARGUMENTS}):\n    c = R[r, 1]\n{body}    return {DONE}\n"

    def _write(self) -> None:
        code, rule = self.code, self.of.rule
        if len(rule.per) > MOST_PER:
            raise Refused(f"the engine 'compiled' has no room for {len(rule.per)} values of 'per'", hint=OTHERS)
        # what is counted as a match is one before it is filtered
        conditions = [[]] * len(self.of.steps) if self.profiled else self.plan.conditions(self.number)
        awaits = self.plan.absent[self.number]
        if awaits is None:
            self._limit()
        self._enter(self.of.trigger, "a0")
        code.require(self.of.trigger.part.constraints, self.fail)
        self._assign(self.of.trigger)
        self._count(PARTIAL)
        self._filter(conditions[0])
        code.add(*(f"once{k} = False" for k in sorted(self.once)))
        if self.chosen:
            self._searched(self.searches)
        else:
            begun = self._share(conditions)
            for planned, where in zip(self.plan.steps[self.number][begun:], conditions[begun + 1 :], strict=True):
                self._step(planned)
                self._count(PARTIAL)
                self._filter(where)
        if self.profiled:
            self._count(FULL)
            self._filter(rule.where_clause)
        if awaits is None:
            self._emit()
        else:
            self._wait(awaits)
            self._judge(awaits)

    def _share(self, conditions: Sequence[Sequence[t.Expression]]) -> int:
        """Go on from what other rules look for, too; how many steps that is."""
        if not self.shared:
            return 0
        code, constants = self.code, self.constants
        for prefix, shape, first in self.shared:
            rows = f"V[{LISTS}] + {constants.whole(prefix.number * LIST_WORDS)}"
            code.add(f"code = share({constants.whole(shape)}, {constants.whole(first)}, {rows}, a0, {ARGUMENTS})")
            code.add("if code != 0: return code")
        self._listed(prefix)
        for where in conditions[1 : prefix.length + 1]:
            self._filter(where)
        return prefix.length

    def _count(self, what: int) -> None:
        """Count what the rule has cost, where that is asked for."""
        if self.profiled:
            place = f"V[{COSTS}] + r * {COST_WORDS} + {what}"
            self.code.add(f"code = counted({place}, H, V, J)", "if code != 0: return code")

    def _limit(self) -> None:
        if self.of.rule.limit is not None:
            most = self.constants.whole(self.of.rule.limit)
            self.code.add("taken = 0", f"most = {most}", f"if most == 0: return {DONE}")

    # --- what must not come -----------------------------------------------------------------------------

    def _kept(self) -> list[tuple[RuleStep, int]]:
        """What is written down of a match: the steps that bind something or aggregate, and where it begins."""
        found, at = [], WAITED
        for step in self.of.steps:
            if isinstance(step.part, t.Aggregate):
                found.append((step, at))
                at += 2
            elif not step.policy.forbids:
                found.append((step, at))
                at += VALUES + len(step.declared.attributes)
        self.waiting = at
        return found

    def _wait(self, awaits: PlannedStep) -> None:
        """Write the match down: rows as they are, for they may be gone when the deadline has come."""
        code, window = self.code, awaits.step.window
        assert window is not None
        code.add(f"y = R[r, {WAITING}]", "code = row_room(y, T, W, H, V)", "if code != 0: return code")
        code.add(f"if V[{JOURNAL}] + 2 > len(J): return {GROW_JOURNAL}", "i = H[2 * y + 1]")
        code.add(f"a = T[y, {BASE}] + (i & T[y, {MASK}]) * T[y, {WIDTH}]")
        code.add(f"W[a] = {self.time} + {self.constants.whole(window.most or 0)}")
        code.add(f"W[a + 1], W[a + 2] = W[a0 + {NUMBER}], V[{DEEP}]", f"V[{DUE}] = min(V[{DUE}], W[a])")
        for step, at in self._kept():
            if isinstance(step.part, t.Aggregate):
                found = code.parameters[f"${step.part.parameter}"]
                array = "F" if self.of_aggregate(step) == FLOAT else "W"
                code.add(f"{array}[a + {at}] = {found.text}", f"W[a + {at + 1}] = 1 if {found.null or 'False'} else 0")
            else:
                size = VALUES + len(step.declared.attributes)
                code.add(f"for n in range({size}): W[a + {at} + n] = W[{self.addresses[step.slot]} + n]")
        code.add("put(2 * y + 1, i + 1, H, V, J)")

    def _judge(self, awaits: PlannedStep) -> None:
        """The function of matches that have been written down, when their deadline has come."""
        waited, step = self.code, awaits.step
        code = self.code = self.judged = WordLines(self.constants, ENDS)
        self._limit()
        self.top, self.fail = str(FIXED), "continue"
        code.add(f"y = R[r, {WAITING}]", f"b, q, w = T[y, {BASE}], T[y, {MASK}], T[y, {WIDTH}]")
        code.add("for place in range(first, last):")
        code.depth += 1
        code.add("a = b + (place & q) * w")
        self.bound, self.addresses = {}, {}
        for each, at in self._kept():
            if isinstance(each.part, t.Aggregate):
                domain = self.of_aggregate(each)
                text = f"F[a + {at}]" if domain == FLOAT else f"W[a + {at}]"
                found = CodeValue(f"({text} != 0)" if domain == BOOL else text, f"W[a + {at + 1}] != 0")
                code.parameters[f"${each.part.parameter}"] = found
            else:
                code.add(f"p{each.slot} = a + {at}")
                self._enter(each, f"p{each.slot}")
                self._assign(each)
        parameters, k = dict(code.parameters), step.number + 1000
        column = self.plan.columns[awaits.column]
        code.add(f"k{k} = {self.constants.whole(column.number)}")
        code.add(f"y{k} = {self.constants.whole(self.types.index(step.type))}")
        code.add(f"b{k}, q{k}, w{k} = T[y{k}, {BASE}], T[y{k}, {MASK}], T[y{k}, {WIDTH}]")
        self.least = self.below = ""
        self.above, self.most = "W[a + 1]", "W[a]"
        code.add(f"g{k} = -1")
        self._search(awaits, newest=True, stops=True, hit=[f"g{k} = i"], k=k)
        code.parameters = parameters
        code.add(f"if g{k} >= 0: continue")
        self.time = "W[a]"
        self._emit()
        self.code = waited

    # --- what comes of a match --------------------------------------------------------------------------

    def _emit(self) -> None:
        code, rule, of = self.code, self.of.rule, self.of
        code.own = ""
        if rule.limit is not None:
            code.add("taken += 1", f"if taken > most: return {DONE}")
        if of.pause is not None:
            self._pause(of.pause)
        self._record()
        self._count(COMPOSED)
        if rule.limit is not None:
            code.add(f"if taken >= most: return {DONE}")

    def _record(self) -> None:
        """Write the composite."""
        code, given = self.code, len(self.of.emitted.attributes)
        self.size = RECORD + given + len(self.of.event_slots)
        self._head(str(self.size))
        for at in range(given):
            self._evaluate(at, f"o + {RECORD + at}", "gaps")
        for i, slot in enumerate(self.of.event_slots):
            code.add(f"O[o + {RECORD + given + i}] = W[{self.addresses[slot]} + {NUMBER}]")
        code.add(f"O[o + {GAPS}] = gaps", f"V[{MADE}] = o + {self.size}")

    def _head(self, size: str) -> None:
        """Begin a composite, or a run of them, of so many words."""
        self.code.add(f"o = V[{MADE}]", f"if o + {size} > len(O): V[{WANTED}] = o + {size}; return {GROW_OUTPUT}")
        heads = f"O[o + {RULE}], O[o + {WHEN}], O[o + {DEPTH}], O[o + {CAUSE}]"
        self.code.add(f"{heads} = r, {self.time}, 0, -1", "gaps = 0")

    def _evaluate(self, at: int, place: str, gaps: str) -> bool:
        """Write a value of the composite; whether it may be null, which is written down in a variable."""
        code, attribute = self.code, self.of.emitted.attributes[at]
        value = next(each.value for each in self.of.rule.evaluations if each.name == attribute.name)
        found = code.real(value) if attribute.domain == FLOAT else code.value(value)
        array = "OF" if attribute.domain == FLOAT else "O"
        text = f"1 if {found.text} else 0" if attribute.domain == BOOL else found.text
        if found.null:
            code.add(f"if {found.null}: {gaps} |= {1 << at}; {array}[{place}] = {EMPTY_OF[array]}")
            code.add(f"else: {array}[{place}] = {text}")
        else:
            code.add(f"{array}[{place}] = {text}")
        return bool(found.null)

    def _pause(self, pause: int) -> None:
        """Go on only if the rule has emitted nothing for the same values for so long."""
        code = self.code
        code.add("gaps = 0")
        for at, each in enumerate(self.of.rule.per):
            found, domain = code.value(each), domain_of(each)
            array = "XF" if domain == FLOAT else "X"
            text = {FLOAT: f"{found.text} + 0.0", BOOL: f"1 if {found.text} else 0"}.get(domain, found.text)
            place = f"{array}[{KEY_WORDS + at}]"
            code.add(f"{place} = {text}")
            if domain == FLOAT:
                code.add(f"if {found.text} != {found.text}: {place} = NAN")
            if found.null:
                code.add(f"if {found.null}: gaps |= {1 << at}; X[{KEY_WORDS + at}] = 0")
        count = len(self.of.rule.per)
        given = f"r, {self.time}, {self.constants.whole(pause)}, gaps, {count}, H, V, X, J"
        code.add(f"quiet = silent({given})", f"if quiet > 1: return quiet - {QUIET}", f"if quiet == 1: {self.fail}")


EMPTY_OF = {"O": "0", "OF": "0.0"}


class AcceptSource:
    """The source of what a column asks of an event that comes.

    Attributes
    ----------
    text: of a function `name(c, own, ...)`: the hash of its key, -1 where it is not for the column, -2 where a number
        leaves 64 bits, -3 where nobody answers.
    """

    def __init__(self, plan: SetPlan, column: int) -> None:
        planned = plan.columns[column]
        self.constants = RuleConstants()
        self.code = WordLines(self.constants, "return -2", "return -3")
        self.code.own = "own"
        self.code.require(planned.filters, "return -1")
        kinds = list(map(domain_of, planned.keys))
        self.code.hashed(planned.keys, kinds, "return -1")

    def text(self, name: str) -> str:
        """The function under a name."""
        return f"def {name}(c, own, C, CF, W, F, H, V, X, XF):\n{self.code.text()}    return h\n"


__all__ = ["INT", "AcceptSource", "RuleSource"]
