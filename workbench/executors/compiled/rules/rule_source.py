"""The function of a rule: from its trigger to the composites that come of it, as source.

The rule of this module: what differs between rules that are written alike (constants, windows, columns) is read from a
table, so that ten thousand of them are one function. A predicate that takes all that fit is a loop around what follows;
one that takes the first or last, or none, is a loop before it.

Source: Cugola and Margara, 4.2 (algorithm 2), 5.3 and 5.4 (selection and aggregates on columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.core.domain import BOOL, FLOAT, INT, STR
from workbench.errors import Refused
from workbench.executors.compiled.rules.layout import (
    BASE,
    BEYOND,
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
    GROW_SCRATCH,
    HEADS,
    HEADS_MASK,
    JOURNAL,
    KEY_WORDS,
    LIMBS,
    LINK,
    MADE,
    MASK,
    NUMBER,
    PARTIAL,
    QUIET,
    RECORD,
    RING,
    RING_MASK,
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
    attribute_of,
)  # fmt: skip
from workbench.tesla import tree as t
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan, substituted, substitution
from workbench.tesla.scope import RuleScope, aggregate_domain

ARGUMENTS = "T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L"
"""The arrays that every function is given."""
ENDS = f"return {BEYOND}"
COMPUTED = ("COUNT", "SUM", "AVG", "MIN", "MAX")
"""The aggregates that there is code for."""
MOST_ATTRIBUTES, MOST_PER = 62, 30


class RuleSource:
    """The source of one rule.

    Attributes
    ----------
    text: of a function `name(r, a0, {ARGUMENTS})`, which says what it ends with.
    constants: what it reads from the table.
    """

    def __init__(self, plan: SetPlan, rule: int, types: Sequence[str], settings: EngineSettings) -> None:
        self.plan, self.number, self.types = plan, rule, types
        self.trex, self.profiled = settings.trex, settings.profiled
        self.of = plan.plans[rule]
        self.constants = RuleConstants()
        self.code = WordLines(self.constants, ENDS)
        self.fail = f"return {DONE}"
        self.top = str(FIXED)
        self.addresses: dict[int, str] = {}  # slots of events to where their rows are
        self.bound: dict[int, RuleStep] = {}
        self.time = f"W[a0 + {TIME}]"
        self.judged: WordLines | None = None
        self.waiting = WAITED
        self._write()

    def text(self, name: str) -> str:
        """The function under a name."""
        return f"@helper\ndef {name}(r, a0, {ARGUMENTS}):\n    c = R[r, 1]\n{self.code.text()}    return {DONE}\n"

    def judging(self, name: str) -> str:
        """The function of what it waits for, under a name: of the matches from place `first` to before `last`."""
        assert self.judged is not None
        body = self.judged.text()
        return f"@helper\ndef {name}(r, first, last, {ARGUMENTS}):\n    c = R[r, 1]\n{body}    return {DONE}\n"

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
        for planned, where in zip(self.plan.steps[self.number], conditions[1:], strict=True):
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

    def _count(self, what: int) -> None:
        """Count what the rule has cost, where that is asked for."""
        if self.profiled:
            place = f"V[{COSTS}] + r * {COST_WORDS} + {what}"
            self.code.add(f"code = counted({place}, H, V, J)", "if code != 0: return code")

    def _limit(self) -> None:
        if self.of.rule.limit is not None:
            most = self.constants.whole(self.of.rule.limit)
            self.code.add("taken = 0", f"most = {most}", f"if most == 0: return {DONE}")

    def _filter(self, conditions: Sequence[t.Expression]) -> None:
        self.code.scope = self.code.scope.about(None)
        self.code.require(conditions, self.fail)

    # --- what is bound ----------------------------------------------------------------------------------

    def _enter(self, step: RuleStep, address: str) -> None:
        """What is known at a predicate; parameters that it assigns are expressions of its own."""
        if len(step.declared.attributes) > MOST_ATTRIBUTES:
            what = f"the engine 'compiled' has no events of more than {MOST_ATTRIBUTES} attributes: {step.type}"
            raise Refused(what, hint=OTHERS, where=step.part.where)
        code = self.code
        code.scope, code.own = step.scope.types, address
        for each in step.part.assignments if isinstance(step.part, t.Predicate) else ():
            self._parameter(each.name, code.value(each.value), step)

    def _parameter(self, name: str, found: CodeValue, step: RuleStep) -> None:
        """Keep the value of a parameter in variables, or read it where it is."""
        assert isinstance(step.part, t.Predicate)
        self.code.parameters[name] = found
        value = next(each.value for each in step.part.assignments if each.name == name)
        self.code.scope = self.code.scope.with_parameter(name, self.code.scope.domain(value))

    def _assign(self, step: RuleStep) -> None:
        """What a predicate has bound is known from here on."""
        assert isinstance(step.part, t.Predicate)
        self.addresses[step.slot] = self.code.own
        self.code.addresses[step.part.name] = self.code.own
        self.bound[step.slot] = step
        self.code.scope = self.code.scope.with_bound(step.part.name, step.declared).about(None)

    # --- steps ------------------------------------------------------------------------------------------

    def _step(self, planned: PlannedStep) -> None:
        step, code = planned.step, self.code
        k = step.number
        before = code.scope, dict(code.parameters)
        code.add(f"k{k} = {self.constants.whole(planned.column)}")
        code.add(f"y{k} = {self.constants.whole(self.types.index(step.type))}")
        code.add(f"b{k}, q{k}, w{k} = T[y{k}, {BASE}], T[y{k}, {MASK}], T[y{k}, {WIDTH}]")
        if not step.fact:
            self._bounds(step)
        if isinstance(step.part, t.Aggregate):
            self._aggregate(planned)
            code.scope, code.parameters = before[0], {**before[1], step.part.parameter: code.parameters.pop("")}
            found = self.of_aggregate(step)
            code.scope = code.scope.with_parameter(step.part.parameter, found)
        elif step.policy is t.Policy.NOT:
            code.add(f"g{k} = -1")
            self._search(planned, newest=True, stops=True, hit=[f"g{k} = i"])
            code.scope, code.parameters = before
            code.add(f"if g{k} >= 0: {self.fail}")
        elif step.policy is t.Policy.EACH:
            self._each(planned)
        else:
            self._one(planned)

    def of_aggregate(self, step: RuleStep) -> Any:
        """The type of an aggregate's value."""
        assert isinstance(step.part, t.Aggregate)
        return aggregate_domain(step.part.function, step.values)

    def _one(self, planned: PlannedStep) -> None:
        step, code, k = planned.step, self.code, planned.step.number
        last = step.policy is t.Policy.LAST
        chained = bool(self.plan.columns[planned.column].keys) and not step.fact
        code.add(f"g{k} = -1")
        before = code.scope, dict(code.parameters)
        self._search(planned, newest=last or chained, stops=last or not chained, hit=[f"g{k} = i"])
        code.scope, code.parameters = before
        code.add(f"if g{k} < 0: {self.fail}")
        self._found(step, f"g{k}")

    def _each(self, planned: PlannedStep) -> None:
        step, code, k = planned.step, self.code, planned.step.number
        column = self.plan.columns[planned.column]
        if column.keys and not step.fact:
            before = code.scope, dict(code.parameters)
            code.add(f"z{k} = {self.top}")
            full = f"if z{k} >= len(X): V[{WANTED}] = z{k}; return {GROW_SCRATCH}"
            self._search(planned, newest=True, stops=False, hit=[*full.split("\n"), f"X[z{k}] = i", f"z{k} += 1"])
            code.scope, code.parameters = before
            code.add(f"for u{k} in range(z{k} - 1, {self.top} - 1, -1):")
            code.depth += 1
            self.fail, self.top = "continue", f"z{k}"
            self._found(step, f"X[u{k}]")
            return
        self._search(planned, newest=False, stops=False, hit=None)
        self.fail = "continue"
        self._assign(step)

    def _found(self, step: RuleStep, place: str) -> None:
        """What is bound at a place among all events of its type is known from here on."""
        k = step.number
        self.code.add(f"e{k} = {place}", f"a{k} = b{k} + (e{k} & q{k}) * w{k}")
        self._enter(step, f"a{k}")
        self._assign(step)

    # --- where to look ----------------------------------------------------------------------------------

    def _bounds(self, step: RuleStep) -> None:
        """The window: least and greatest times, and numbers between which it lies, as far as there are any."""
        window, code, k = step.window, self.code, step.number
        assert window is not None
        self.least = self.most = self.above = self.below = ""
        addresses = [self.addresses[slot] for slot in window.anchors]
        if window.between:
            one, two = addresses
            word = TIME if self.trex else NUMBER
            low, high = (f"{end}(W[{one} + {word}], W[{two} + {word}])" for end in ("min", "max"))
            if self.trex:
                code.add(f"lt{k} = {low} + 1", f"ht{k} = {high} - 1")
                self.least, self.most = f"lt{k}", f"ht{k}"
            else:
                code.add(f"ln{k} = {low}", f"hn{k} = {high}")
                self.above, self.below = f"ln{k}", f"hn{k}"
            return
        (address,) = addresses
        if window.counted:
            code.add(f"hn{k} = W[{address} + {NUMBER}] - {self.constants.whole(max(1, window.least))} + 1")
            self.below = f"hn{k}"
            if window.most is not None:
                code.add(f"ln{k} = W[{address} + {NUMBER}] - {self.constants.whole(window.most)} - 1")
                self.above = f"ln{k}"
            return
        if window.most is not None:
            open_end = " + 1" if self.trex else ""
            code.add(f"lt{k} = W[{address} + {TIME}] - {self.constants.whole(window.most)}{open_end}")
            self.least = f"lt{k}"
        if self.trex or window.least:
            open_end = " - 1" if self.trex else ""
            code.add(f"ht{k} = W[{address} + {TIME}] - {self.constants.whole(window.least)}{open_end}")
            self.most = f"ht{k}"
        if not self.trex and window.anchors != (0,):
            code.add(f"hn{k} = W[{address} + {NUMBER}]")
            self.below = f"hn{k}"

    def _search(
        self, planned: PlannedStep, *, newest: bool, stops: bool, hit: Sequence[str] | None, k: int | None = None
    ) -> None:
        """A loop over the candidates that fit, each as place `i` with the row at `own`.

        Parameters
        ----------
        newest: whether it begins with the newest.
        stops: whether it ends with the first that fits.
        hit: what is done with each; None: what comes next is written into the loop.
        k: the number in names; else that of the step.
        """
        step, code = planned.step, self.code
        k = step.number if k is None else k
        column, depth = self.plan.columns[planned.column], code.depth
        if column.keys:
            self._hash(step)
        if step.fact:
            self._facts(k, newest=newest, keyed=bool(column.keys))
        elif column.keys:
            self._chain(k)
        else:
            self._range(planned, k, newest=newest)
        fail, self.fail = self.fail, "continue"
        self._fits(planned, k)
        if hit is not None:
            code.add(*hit)
            if stops:
                code.add("break")
            code.depth, self.fail = depth, fail

    def _hash(self, step: RuleStep) -> None:
        """The hash of what is bound before as `h`, -1 where nothing is equal to it."""
        code, own = self.code, substitution(step.part)
        sides = [(substituted(one, own), other) for one, other in step.code.equations]
        before = code.scope
        kinds = [step.scope.types.domain(one) for one, _ in sides]
        code.scope = before.about(None)
        with code.inside("while True:"):
            code.hashed([other for _, other in sides], kinds, "h = -1; break")
            code.add("break")
        code.scope = before

    def _chain(self, k: int) -> None:
        code = self.code
        code.add(f"s{k}, l{k}, j{k} = H[2 * y{k}], K[k{k}, {LINK}], -1")
        code.add(f"if h >= 0: j{k} = H[K[k{k}, {HEADS}] + (h & K[k{k}, {HEADS_MASK}])]")
        code.add(f"while j{k} >= s{k}:")
        code.depth += 1
        code.add(f"i = j{k}", f"a{k} = b{k} + (i & q{k}) * w{k}", f"j{k} = W[a{k} + l{k}]")
        self._inside(k, stop="break")

    def _inside(self, k: int, stop: str) -> None:
        """Go on only in the window, where the newest is looked at first."""
        code = self.code
        code.add(*([f"if W[a{k} + {TIME}] < {self.least}: {stop}"] if self.least else []))
        code.add(*([f"if W[a{k} + {NUMBER}] <= {self.above}: {stop}"] if self.above else []))
        code.add(*([f"if W[a{k} + {TIME}] > {self.most}: continue"] if self.most else []))
        code.add(*([f"if W[a{k} + {NUMBER}] >= {self.below}: continue"] if self.below else []))

    def _ends(self, planned: PlannedStep, k: int, *, newest: bool) -> None:
        """From which place to before which candidates lie, of all events of a type or in a column's ring.

        Parameters
        ----------
        newest: the newest is looked at first, and the other end of the window is seen when it is met.
        """
        code = self.code
        whole = self.plan.columns[planned.column].whole
        code.add(f"f{k}, x{k} = -1, 0" if whole else f"f{k}, x{k} = K[k{k}, {RING}], K[k{k}, {RING_MASK}]")
        at = f"2 * y{k}" if whole else f"f{k} - 2"
        code.add(f"s{k}, u{k} = H[{at}], H[{at} + 1]")
        given = f"b{k}, q{k}, w{k}, f{k}, x{k}, W, H"
        if self.most:
            code.add(f"u{k} = first_place({TIME}, {self.most} + 1, s{k}, u{k}, {given})")
        if self.below:
            code.add(f"u{k} = first_place({NUMBER}, {self.below}, s{k}, u{k}, {given})")
        if self.least and not newest:
            code.add(f"s{k} = first_place({TIME}, {self.least}, s{k}, u{k}, {given})")
        if self.above and not newest:
            code.add(f"s{k} = first_place({NUMBER}, {self.above} + 1, s{k}, u{k}, {given})")

    def _places(self, planned: PlannedStep) -> str:
        """How many candidates there are."""
        self._ends(planned, planned.step.number, newest=False)
        return f"(u{planned.step.number} - s{planned.step.number})"

    def _range(self, planned: PlannedStep, k: int, *, newest: bool) -> None:
        """Places in the order of time."""
        code = self.code
        whole, place = self.plan.columns[planned.column].whole, f"o{k}"
        self._ends(planned, k, newest=newest)
        if newest:
            code.add(f"{place} = u{k}", f"while {place} > s{k}:")
            code.depth += 1
            code.add(f"{place} -= 1")
        else:
            code.add(f"for {place} in range(s{k}, u{k}):")
            code.depth += 1
        code.add(f"i = {place}" if whole else f"i = H[f{k} + ({place} & x{k})]", f"a{k} = b{k} + (i & q{k}) * w{k}")
        if newest:
            code.add(*([f"if W[a{k} + {TIME}] < {self.least}: break"] if self.least else []))
            code.add(*([f"if W[a{k} + {NUMBER}] <= {self.above}: break"] if self.above else []))

    def _facts(self, k: int, *, newest: bool, keyed: bool) -> None:
        """Rows in the order that is written, those of one hash together."""
        code = self.code
        if not keyed:
            code.add("h = 0")
        code.add(f"s{k}, u{k} = 0, 0")
        with code.inside("if h >= 0:"):
            code.add(f"f{k} = K[k{k}, {HEADS}] + (h & K[k{k}, {HEADS_MASK}])", f"s{k}, u{k} = H[f{k}], H[f{k} + 1]")
        code.add(f"for o{k} in range({f'u{k} - 1, s{k} - 1, -1' if newest else f's{k}, u{k}'}):")
        code.depth += 1
        code.add(f"i = H[K[k{k}, {RING}] + o{k}]", f"a{k} = b{k} + (i & q{k}) * w{k}")

    def _fits(self, planned: PlannedStep, k: int) -> None:
        """Go on only with candidates that satisfy what is asked, and are not selected or consumed already."""
        step, code = planned.step, self.code
        self._enter(step, f"a{k}")
        if step.selects:
            for slot, other in self.bound.items():
                if slot and other.type == step.type and not other.fact:
                    code.add(f"if i == e{other.number}: continue")
            if self.of.consumed_slots:
                slot = step.slot if self.trex else 0
                code.add(f"if consumed(r * 4096 + {slot} + 1, W[a{k} + {NUMBER}], H, V): continue")
        if step.policy is t.Policy.EACH:
            code.add(f"e{k} = i")
        code.require(planned.asked, "continue")

    # --- aggregates -------------------------------------------------------------------------------------

    def _aggregate(self, planned: PlannedStep) -> None:
        step, code, k = planned.step, self.code, planned.step.number
        assert isinstance(step.part, t.Aggregate)
        function, name = step.part.function, step.part.attribute
        code.add(f"count{k} = 0")
        if function not in COMPUTED:
            where = step.part.where
            raise Refused(f"the engine 'compiled' does not compute {function}", hint=OTHERS, where=where)
        if step.values == STR and function != "COUNT":
            raise Refused(f"the engine 'compiled' does not compute {function} of texts", hint=OTHERS)
        if name is None and not planned.asked and not self.plan.columns[planned.column].keys and not step.fact:
            code.parameters[""] = CodeValue(self._places(planned))
            return
        if name is None:
            self._search(planned, newest=True, stops=False, hit=[f"count{k} += 1"])
            code.parameters[""] = CodeValue(f"count{k}")
            return
        value = attribute_of(step.declared, name, f"a{k}")
        begin, hit, value_of, null = self._summed(step, function, value)
        code.add(*begin)
        self._search(planned, newest=True, stops=False, hit=[f"if {value.null}: continue", f"count{k} += 1", *hit])
        code.add(*value_of)
        code.parameters[""] = CodeValue(f"count{k}" if function == "COUNT" else f"r{k}", null)

    def _summed(self, step: RuleStep, function: str, value: CodeValue) -> tuple[list[str], list[str], list[str], str]:
        """What is done before, with each value, and behind; and when the result is null."""
        k, some = step.number, f"count{step.number} > 0"
        real = step.values == FLOAT
        none = f"count{k} == 0"
        if function == "COUNT":
            return [], [], [], ""
        if function in ("MIN", "MAX"):
            sign = "<=" if function == "MIN" else ">="  # the newest come first: of equal ones the oldest stays
            start = "0.0" if real else "0"
            better = f"count{k} == 1 or v{k} {sign} r{k}"
            if real:  # what is no number stays
                better = f"v{k} != v{k} or (r{k} == r{k} and ({better}))"
            return [f"r{k} = {start}"], [f"v{k} = {value.text}", f"if {better}: r{k} = v{k}"], [], none
        if real:
            full = f"if {self.top} + {LIMBS} > len(X): V[{WANTED}] = {self.top} + {LIMBS}; return {GROW_SCRATCH}"
            word = value.text.replace("F[", "W[", 1)
            by = f"count{k}" if function == "AVG" else "1"
            return (
                [full, f"r{k} = 0.0", f"no_sum(X, {self.top})"],
                [f"add_float(X, {self.top}, {word})"],
                [f"if {some}: r{k} = total_of(X, XF, {self.top}, {by})"],
                none if function == "AVG" else "",
            )
        hit = [f"if sum_overflows(r{k}, {value.text}): {ENDS}", f"r{k} += {value.text}"]
        if function == "SUM":
            return [f"r{k} = 0"], hit, [], ""
        hit = [each.replace(f"r{k}", f"whole{k}") for each in hit]
        return [f"whole{k}, r{k} = 0, 0.0"], hit, [f"if {some}: r{k} = average(whole{k}, count{k})"], none

    # --- what must not come -----------------------------------------------------------------------------

    def _kept(self) -> list[tuple[RuleStep, int]]:
        """What is written down of a match: the steps that bind something or aggregate, and where it begins."""
        found, at = [], WAITED
        for step in self.of.steps:
            if isinstance(step.part, t.Aggregate):
                found.append((step, at))
                at += 2
            elif step.policy is not t.Policy.NOT:
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
                found = code.parameters[step.part.parameter]
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
                array = "F" if self.of_aggregate(each) == FLOAT else "W"
                code.parameters[each.part.parameter] = CodeValue(f"{array}[a + {at}]", f"W[a + {at + 1}] != 0")
            else:
                code.add(f"p{each.slot} = a + {at}")
                self._enter(each, f"p{each.slot}")
                self._assign(each)
        parameters, k = dict(code.parameters), step.number + 1000
        column = self.plan.columns[awaits.column]
        code.add(f"k{k} = {self.constants.whole(column.number)}")
        code.add(f"y{k} = {self.constants.whole(self.types.index(step.type))}")
        code.add(f"b{k}, q{k}, w{k} = T[y{k}, {BASE}], T[y{k}, {MASK}], T[y{k}, {WIDTH}]")
        code.scope = step.scope.types
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
        code.scope = of.scope.types
        code.own = ""
        if rule.limit is not None:
            code.add("taken += 1", f"if taken > most: return {DONE}")
        if of.pause is not None:
            self._pause(of.pause)
        given = {each.name: each.value for each in rule.evaluations}
        sources = [self.bound[slot] for slot in of.event_slots]
        size = RECORD + len(of.emitted.attributes) + len(sources)
        code.add(f"o = V[{MADE}]", f"if o + {size} > len(O): V[{WANTED}] = o + {size}; return {GROW_OUTPUT}")
        code.add(f"O[o + {RULE}], O[o + {WHEN}], O[o + {DEPTH}], O[o + {CAUSE}] = r, {self.time}, 0, -1", "gaps = 0")
        for at, attribute in enumerate(of.emitted.attributes):
            value = given[attribute.name]
            found = code.real(value) if attribute.domain == FLOAT else code.value(value)
            array = "OF" if attribute.domain == FLOAT else "O"
            text = f"1 if {found.text} else 0" if attribute.domain == BOOL else found.text
            if found.null:
                code.add(f"if {found.null}: gaps |= {1 << at}; {array}[o + {RECORD + at}] = {EMPTY_OF[array]}")
                code.add(f"else: {array}[o + {RECORD + at}] = {text}")
            else:
                code.add(f"{array}[o + {RECORD + at}] = {text}")
        for i, step in enumerate(sources):
            code.add(f"O[o + {RECORD + len(of.emitted.attributes) + i}] = W[{self.addresses[step.slot]} + {NUMBER}]")
        code.add(f"O[o + {GAPS}] = gaps", f"V[{MADE}] = o + {size}")
        self.size = size
        self._count(COMPOSED)
        if rule.limit is not None:
            code.add(f"if taken >= most: return {DONE}")

    def _pause(self, pause: int) -> None:
        """Go on only if the rule has emitted nothing for the same values for so long."""
        code = self.code
        code.add("gaps = 0")
        for at, each in enumerate(self.of.rule.per):
            found, domain = code.value(each), code.scope.domain(each)
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
        leaves 64 bits.
    """

    def __init__(self, plan: SetPlan, column: int) -> None:
        planned = plan.columns[column]
        declared = plan.rules.declarations[planned.type]
        self.constants = RuleConstants()
        self.code = WordLines(self.constants, "return -2")
        self.code.scope, self.code.own = replace(RuleScope(), own=declared), "own"
        self.code.require(planned.filters, "return -1")
        kinds = [self.code.scope.domain(each) for each in planned.keys]
        self.code.hashed(planned.keys, kinds, "return -1")

    def text(self, name: str) -> str:
        """The function under a name."""
        return f"@helper\ndef {name}(c, own, C, CF, W, F, X, XF):\n{self.code.text()}    return h\n"


__all__ = ["INT", "AcceptSource", "RuleSource"]
