"""How an aggregate of a rule becomes lines: a walk through its window, or, where that is long, the spans in it.

The rule of this module: what comes of values does not depend on how it is found. A window of few events is walked
through; one of many where the key is all that is asked is put together of spans (`spans`), unless what comes of these
has no room there.

Source: Cugola and Margara, 5.4 (aggregates on columns).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from workbench.core.domain import FLOAT, STR
from workbench.errors import Refused
from workbench.executors.compiled.rules import spans
from workbench.executors.compiled.rules.asked_source import AskedSource
from workbench.executors.compiled.rules.layout import (
    BASE,
    GROW_SCRATCH,
    GROW_SPANS,
    LIMBS,
    MASK,
    NEVER,
    ROOF,
    SPANS,
    WANTED,
    WIDTH,
)  # fmt: skip
from workbench.executors.compiled.rules.lines import OTHERS, CodeValue, attribute_of
from workbench.executors.compiled.rules.step_source import ENDS
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan
from workbench.tesla.scope import RuleScope

SHORT = 16
"""Events of a window that are walked through."""


class AggregateLines(NamedTuple):
    """How an aggregate is computed.

    Attributes
    ----------
    begin, hit, behind: the lines before a walk through the window, with each value, and behind it.
    null: when it is null.
    span: what a span has of such values; None: a window is always walked through.
    total, result: the variables in which values are added, and in which it is in the end.
    """

    begin: Sequence[str] = ()
    hit: Sequence[str] = ()
    behind: Sequence[str] = ()
    null: str = ""
    span: int | None = None
    total: str = "r"
    result: str = "r"


def span_size(kind: int) -> int:
    """The words of a span."""
    return int(spans.span_words(kind))  # type: ignore[no-untyped-call]


class PlannedSpans:
    """The spans of a program.

    Attributes
    ----------
    planned: the column whose events have them, the place of its type, and the words of a span.
    """

    def __init__(self) -> None:
        self.planned: list[tuple[int, int, int]] = []
        self._places: dict[tuple[int, int, int], int] = {}

    def place(self, column: int, type: int, kind: int, attribute: int) -> int:
        """The number of those of a column, for an attribute, -1 where it is none."""
        key = column, kind, attribute
        if key not in self._places:
            self._places[key] = len(self.planned)
            self.planned.append((column, type, span_size(kind)))
        return self._places[key]


class AggregateSource(AskedSource):
    """The lines of a rule, aggregates among them."""

    def __init__(self, plan: SetPlan, rule: int, types: Sequence[str], spans: PlannedSpans, *, trex: bool) -> None:
        super().__init__(plan, rule, types, trex=trex)
        self.spans = spans

    def _aggregate(self, planned: PlannedStep) -> None:
        step, code, k = planned.step, self.code, planned.step.number
        assert isinstance(step.part, t.Aggregate)
        name = step.part.attribute
        code.add(f"count{k} = 0")
        if step.part.declared is not None:
            self._combined(planned, step.part.declared)
            return
        if step.part.function not in CODES:
            what = f"the engine 'compiled' does not compute {step.part.function}"
            raise Refused(what, hint=OTHERS, where=step.part.where)
        if name is None and not planned.constraints and not self.plan.columns[planned.column].keys and not step.fact:
            code.parameters[""] = CodeValue(self._places(planned))
            return
        if name is None and planned.counted:
            code.parameters[""] = CodeValue(self._counted(planned))
            return
        value = CodeValue("") if name is None else attribute_of(step.declared, name, f"a{k}")
        lines = CODES[step.part.function](self, step, value)
        there = [f"if {value.null}: continue"] if value.null else []
        self._walked(planned, lines._replace(hit=[*there, f"count{k} += 1", *lines.hit]))
        code.add(*lines.behind)
        code.parameters[""] = CodeValue(f"{lines.result}{k}", lines.null)

    # --- windows of many events -------------------------------------------------------------------------

    def _walked(self, planned: PlannedStep, lines: AggregateLines) -> None:
        """What comes of the values in a window, walked through if they are few, or else put together."""
        step, code, k = planned.step, self.code, planned.step.number
        if lines.span is None or step.code.constrained or not planned.decided or not step.code.indexed:
            code.add(*lines.begin)
            self._search(planned, newest=True, stops=False, hit=lines.hit)
            return
        before = dict(code.parameters)
        code.add(f"left{k} = {SHORT}")
        with code.inside("while True:"):
            code.add(f"count{k} = 0", *lines.begin)
            counted = [f"left{k} -= 1", f"if left{k} < 0: break"]
            self._search(planned, newest=True, stops=False, hit=[*counted, *lines.hit])
            code.add(f"if left{k} >= 0: break")
            code.parameters = dict(before)
            self._spanned(planned, lines.span, lines.total)
            code.add(f"left{k} = {NEVER}")  # there was no room for what comes of it
        code.parameters = before

    def _spanned(self, planned: PlannedStep, kind: int, total: str) -> None:
        """Write down the spans of the key's events that have none; put what lies in the window together of them."""
        step, code, k = planned.step, self.code, planned.step.number
        n, y, attribute = k + 2000, self.types.index(step.type), -1 if step.attribute is None else step.attribute
        number = self.constants.whole(self.spans.place(planned.column, y, kind, attribute))
        code.add(f"p{k} = H[V[{SPANS}] + {number}]", f"if p{k} < 0: V[{WANTED}] = {number}; return {GROW_SPANS}")
        code.add(f"k{n}, y{n}, z{n}, g{n} = k{k}, y{k}, {self.top}, -1")
        code.add(f"b{n}, q{n}, w{n} = T[y{n}, {BASE}], T[y{n}, {MASK}], T[y{n}, {WIDTH}]")
        window = self.least, self.most, self.above, self.below
        self.least = self.most = self.above = self.below = ""
        mark = f"W[p{k} + (i & q{n}) * {span_size(kind)}] == span_mark(i, V)"
        hit = [f"if {mark}: g{n} = i; break", *self._put_aside(n)]
        self._search(planned, newest=True, stops=False, hit=hit, k=n)
        self.least, self.most, self.above, self.below = window
        given = f"b{k}, q{k}, w{k}, W, F"
        with code.inside(f"while z{n} > {self.top}:"):
            code.add(f"z{n} -= 1", f"write_span({kind}, {attribute}, X[z{n}], g{n}, p{k}, {given}, V, X, XF)")
            code.add(f"g{n} = X[z{n}]")
        ends = f"{self.least or -NEVER}, {self.most or NEVER}, {self.above or -NEVER}, {self.below or NEVER}"
        with code.inside(f"if of_stretch({kind}, {attribute}, g{n}, H[2 * y{k}], {ends}, p{k}, {given}, X, XF):"):
            code.add(f"count{k} = X[{spans.SPAN_SUM}]", *self._put_together(step, kind, total), "break")

    def _put_together(self, step: RuleStep, kind: int, total: str) -> list[str]:
        """The lines by which what has been put together is what a walk would have found."""
        k, value = step.number, spans.SPAN_SUM + 1
        if kind == spans.NUMBERS:
            return []
        if kind == spans.REAL_SUMS:
            limbs = f"X[{self.top} + {spans.LIMB} + n] = X[{value} + n]"
            return [f"no_sum(X, {self.top})", f"for n in range({spans.SOME_LIMBS}): {limbs}"]
        return [f"if count{k} > 0: {total}{k} = X{'F' if step.values == FLOAT else ''}[{value}]"]

    # --- windows of few events --------------------------------------------------------------------------

    def _combined(self, planned: PlannedStep, declared: t.DeclaredAggregate) -> None:
        """The values of a declared aggregate, combined in the order of their events."""
        step, code, k, top = planned.step, self.code, planned.step.number, self.top
        if declared.combined is None:
            what = f"the engine 'compiled' does not compute {declared.name}, a function of Python"
            raise Refused(what, hint=OTHERS, where=step.part.where)
        start = code.literal(t.Literal(declared.first))
        code.add(f"r{k}, rn{k} = {start}, False")
        depth, fail = code.depth, self.fail
        if self.plan.columns[planned.column].keys and not step.fact:  # which are found newest first
            code.add(f"z{k} = {top}")
            self._search(planned, newest=True, stops=False, hit=self._put_aside(k))
            code.add(f"for u{k} in range(z{k} - 1, {top} - 1, -1):")
            code.depth += 1
            code.add(f"a{k} = b{k} + (X[u{k}] & q{k}) * w{k}")
        else:
            self._search(planned, newest=False, stops=False, hit=None)
        assert isinstance(step.part, t.Aggregate)
        assert step.part.attribute is not None
        value = attribute_of(step.declared, step.part.attribute, f"a{k}")
        code.add(f"if {value.null}: continue")
        text = f"float({value.text})" if declared.domain == FLOAT and step.values != FLOAT else value.text
        one, other = (each.name for each in declared.operands)
        code.operands = {one: CodeValue(f"r{k}", f"rn{k}"), other: CodeValue(text)}
        combined = RuleScope(declared.scope).resolve(declared.combined)
        found = (code.real if declared.domain == FLOAT else code.value)(combined)
        code.add(f"r{k}, rn{k} = {found.text}, {found.null or 'False'}")
        code.operands, code.depth, self.fail = {}, depth, fail
        code.parameters[""] = CodeValue(f"r{k}", f"rn{k}")

    # --- aggregates of the language -----------------------------------------------------------------------

    def of_sum(self, step: RuleStep, value: CodeValue) -> AggregateLines:
        """`SUM`."""
        k = step.number
        if step.values == FLOAT:
            return self._exact_sum(k, value, "1")
        return AggregateLines([f"r{k} = 0"], _added(f"r{k}", value), span=spans.SUMS)

    def of_mean(self, step: RuleStep, value: CodeValue) -> AggregateLines:
        """`AVG`."""
        k, none = step.number, f"count{step.number} == 0"
        if step.values == FLOAT:
            return self._exact_sum(k, value, f"count{k}")._replace(null=none)
        begin, behind = f"whole{k}, r{k} = 0, 0.0", f"if count{k} > 0: r{k} = average(whole{k}, count{k})"
        return AggregateLines([begin], _added(f"whole{k}", value), [behind], none, spans.SUMS, "whole")

    def _exact_sum(self, k: int, value: CodeValue, parts: str) -> AggregateLines:
        """The sum of floats, divided and rounded once."""
        full = f"if {self.top} + {LIMBS} > V[{ROOF}]: V[{WANTED}] = len(X) + {LIMBS}; return {GROW_SCRATCH}"
        return AggregateLines(
            [full, f"r{k} = 0.0", f"no_sum(X, {self.top})"],
            [f"add_float(X, {self.top}, {value.text.replace('F[', 'W[', 1)})"],
            [f"if count{k} > 0: r{k} = total_of(X, XF, {self.top}, {parts})"],
            span=spans.REAL_SUMS,
        )

    def of_extreme(self, step: RuleStep, value: CodeValue, sign: str, whole: int, real: int) -> AggregateLines:
        """`MIN` and `MAX`; the newest come first: of equal ones the oldest stays."""
        k, none = step.number, f"count{step.number} == 0"
        better = f"count{k} == 1 or v{k} {sign} r{k}"
        if step.values == STR:
            asked = f"o_{k} = text_order(v{k}, r{k}, H, V) if count{k} > 1 else 0"
            found = [f"v{k} = {value.text}", asked, f"if o_{k} == 2: {self.code.failed}"]
            return AggregateLines([f"r{k} = 0"], [*found, f"if o_{k} {sign} 0: r{k} = v{k}"], null=none)
        start, span = "0", whole
        if step.values == FLOAT:  # NaN stays
            start, span, better = "0.0", real, f"v{k} != v{k} or (r{k} == r{k} and ({better}))"
        hit = [f"v{k} = {value.text}", f"if {better}: r{k} = v{k}"]
        return AggregateLines([f"r{k} = {start}"], hit, null=none, span=span)


def _added(total: str, value: CodeValue) -> list[str]:
    """Add a whole number."""
    return [f"if sum_overflows({total}, {value.text}): {ENDS}", f"{total} += {value.text}"]


CODES: Mapping[str, Callable[[AggregateSource, RuleStep, CodeValue], AggregateLines]] = {
    "COUNT": lambda *_: AggregateLines(span=spans.NUMBERS, result="count"),
    "SUM": AggregateSource.of_sum,
    "AVG": AggregateSource.of_mean,
    "MIN": partial(AggregateSource.of_extreme, sign="<=", whole=spans.MINIMA, real=spans.REAL_MINIMA),
    "MAX": partial(AggregateSource.of_extreme, sign=">=", whole=spans.MAXIMA, real=spans.REAL_MAXIMA),
}
"""The aggregates of the language that are computed, of a step and a value of its attribute; others are refused."""
