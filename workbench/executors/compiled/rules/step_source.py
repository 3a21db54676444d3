"""How a predicate of a rule becomes lines: where it looks for events, which fit, and what it binds.

The rule of this module: a predicate that takes all that fit is a loop around what follows; one that takes the first or
last, or none, and an aggregate are a loop before it.

Source: Cugola and Margara, 4.2 (algorithm 2), 5.3 (selection on columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.errors import Refused
from workbench.executors.compiled.rules.layout import (
    BASE,
    BEYOND,
    DONE,
    FIXED,
    GROW_SCRATCH,
    HEADS,
    HEADS_MASK,
    LINK,
    MASK,
    NUMBER,
    RING,
    RING_MASK,
    ROOF,
    TIME,
    WANTED,
    WIDTH,
)  # fmt: skip
from workbench.executors.compiled.rules.lines import (
    OTHERS,
    RuleConstants,
    WordLines,
)  # fmt: skip
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan
from workbench.tesla.resolved import domain_of

ENDS = f"return {BEYOND}"
ARGUMENTS = "T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L"
"""The arrays that every function is given."""
MOST_ATTRIBUTES = 62


class StepSource:
    """The lines of a rule as they grow, predicate after predicate.

    Attributes
    ----------
    constants: what the lines read from a table.
    fail, given_up: how a match is given up, and how all of a trigger are.
    once: the steps that find the same for all of them.
    top: where in the scratch there is room.
    addresses: slots of events and facts to where their rows are.
    bound: slots to the predicates that bind them.
    """

    def __init__(self, plan: SetPlan, rule: int, types: Sequence[str], *, trex: bool) -> None:
        self.plan, self.number, self.types, self.trex = plan, rule, types, trex
        self.of = plan.plans[rule]
        self.constants = RuleConstants()
        self.code = WordLines(self.constants, ENDS)
        self.fail = self.given_up = f"return {DONE}"
        self.once: frozenset[int] = frozenset()
        self.top = str(FIXED)
        self.addresses: dict[int, str] = {}
        self.bound: dict[int, RuleStep] = {}

    # --- what is bound ----------------------------------------------------------------------------------

    def _enter(self, step: RuleStep, address: str) -> None:
        """What is known at a predicate; parameters that it assigns are expressions of its own."""
        if len(step.declared.attributes) > MOST_ATTRIBUTES:
            what = f"the engine 'compiled' has no events of more than {MOST_ATTRIBUTES} attributes: {step.type}"
            raise Refused(what, hint=OTHERS, where=step.part.where)
        code = self.code
        code.own = address
        for each in step.part.assignments:
            code.parameters[f"${each.name}"] = code.value(each.value)

    def _assign(self, step: RuleStep) -> None:
        """What a predicate has bound is known from here on."""
        self.addresses[step.slot] = self.code.addresses[step.place] = self.code.own
        self.bound[step.slot] = step

    # --- steps ------------------------------------------------------------------------------------------

    def _step(self, planned: PlannedStep) -> None:
        step, code = planned.step, self.code
        k = step.number
        before = dict(code.parameters)
        self._begin_once(k)
        self._rows_of(planned)
        if not step.fact:
            self._bounds(step)
        if isinstance(step.part, t.Aggregate):
            self._aggregate(planned)
            self._end_once(k)
            code.parameters = {**before, f"${step.part.parameter}": code.parameters.pop("")}
        elif step.policy.forbids:
            code.add(f"g{k} = -1")
            self._search(planned, newest=True, stops=True, hit=[f"g{k} = i"])
            self._end_once(k)
            code.parameters = before
            code.add(f"if g{k} >= 0: {self.given_up if k in self.once else self.fail}")
        elif step.policy.many:
            self._each(planned)
        else:
            self._one(planned)

    def _begin_once(self, k: int) -> None:
        """What follows is done for the first of the matches that a trigger begins, and says the same for the others."""
        if k in self.once:
            self.code.add(f"if not once{k}:")
            self.code.depth += 1
            self.code.add(f"once{k} = True")

    def _end_once(self, k: int) -> None:
        self.code.depth -= k in self.once

    def _rows_of(self, planned: PlannedStep) -> None:
        """Where the column of a predicate and the rows of its type are."""
        code, k = self.code, planned.step.number
        code.add(f"k{k} = {self.constants.whole(planned.column)}")
        code.add(f"y{k} = {self.constants.whole(self.types.index(planned.step.type))}")
        code.add(f"b{k}, q{k}, w{k} = T[y{k}, {BASE}], T[y{k}, {MASK}], T[y{k}, {WIDTH}]")

    def of_aggregate(self, step: RuleStep) -> Any:
        """The type of an aggregate's value."""
        return step.aggregate.result(step.values)

    def _one(self, planned: PlannedStep) -> None:
        step, code, k = planned.step, self.code, planned.step.number
        last = step.policy.newest
        chained = bool(self.plan.columns[planned.column].keys) and not step.fact
        code.add(f"g{k} = -1")
        before = dict(code.parameters)
        self._search(planned, newest=last or chained, stops=last or not chained, hit=[f"g{k} = i"])
        self._end_once(k)
        code.parameters = before
        code.add(f"if g{k} < 0: {self.given_up if k in self.once else self.fail}")
        self._found(step, f"g{k}")

    def _each(self, planned: PlannedStep) -> None:
        step, code, k = planned.step, self.code, planned.step.number
        column = self.plan.columns[planned.column]
        if column.keys and not step.fact:
            before = dict(code.parameters)
            code.add(f"z{k} = {self.top}")
            self._search(planned, newest=True, stops=False, hit=self._put_aside(k))
            code.parameters = before
            code.add(f"for u{k} in range(z{k} - 1, {self.top} - 1, -1):")
            code.depth += 1
            self.fail, self.top = "continue", f"z{k}"
            self._found(step, f"X[u{k}]")
            return
        self._search(planned, newest=False, stops=False, hit=None)
        self.fail = "continue"
        self._assign(step)

    def _put_aside(self, k: int) -> list[str]:
        """The lines by which a candidate is looked at later."""
        full = f"if z{k} >= V[{ROOF}]: V[{WANTED}] = len(X); return {GROW_SCRATCH}"
        return [full, f"X[z{k}] = i", f"z{k} += 1"]

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
        if step.lookback.endless and step.lookback.bounded:
            what = "the engine 'compiled' would keep all events: windows by count and by time hang on each other"
            raise Refused(what, hint=OTHERS, where=step.part.where)
        self.least = self.most = self.above = self.below = ""
        addresses = [self.addresses[slot] for slot in window.anchors]
        if window.between:
            one, two = addresses
            word = TIME if self.trex else NUMBER
            low, high = (f"{end}(W[{one} + {word}], W[{two} + {word}])" for end in ("min", "max"))
            if self.trex:
                code.add(f"lt{k} = {low} + 1", f"ht{k} = {high} - 1")
                self.least, self.most = f"lt{k}", f"ht{k}"
            elif 0 in window.anchors:  # nothing is behind the trigger
                self.above = f"W[{addresses[1 if window.anchors[0] == 0 else 0]} + {NUMBER}]"
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
            self._hash(planned)
        if step.fact:
            self._facts(k, newest=newest, keyed=bool(column.keys))
        elif column.keys:
            self._chain(planned, k)
        else:
            self._range(planned, k, newest=newest)
        fail, self.fail = self.fail, "continue"
        self._fits(planned, k)
        if hit is not None:
            code.add(*hit)
            if stops:
                code.add("break")
            code.depth, self.fail = depth, fail

    def _hash(self, planned: PlannedStep) -> None:
        """The hash of what is bound before as `h`, -1 where nothing is equal to it."""
        code, kinds = self.code, [domain_of(one) for one, _ in planned.equations]
        with code.inside("while True:"):
            code.hashed([other for _, other in planned.equations], kinds, "h = -1; break")
            code.add("break")

    def _chain(self, planned: PlannedStep, k: int) -> None:
        del planned
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
        if whole:
            code.add(f"s{k}, u{k} = H[2 * y{k}], H[2 * y{k} + 1]")
        else:  # rows that have made room are other events by now
            code.add(f"s{k}, u{k} = first_there(f{k}, x{k}, H[2 * y{k}], H), H[f{k} - 1]")
        if self.most:
            code.add(f"u{k} = {self._first(k, TIME, f'{self.most} + 1', 'u')}")
        if self.below:
            code.add(f"u{k} = {self._first(k, NUMBER, self.below, 'u')}")
        if self.least and not newest:
            code.add(f"s{k} = {self._first(k, TIME, self.least, 's')}")
        if self.above and not newest:
            code.add(f"s{k} = {self._first(k, NUMBER, f'{self.above} + 1', 's')}")

    def _first(self, k: int, word: int, value: str, end: str) -> str:
        """Source of the first place of a step's candidates whose row has a word that is not less than a value.

        Parameters
        ----------
        end: which end of the candidates it is, `s` or `u`.
        """
        return f"first_place({word}, {value}, s{k}, u{k}, b{k}, q{k}, w{k}, f{k}, x{k}, W, H)"

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
        if step.policy.many:
            code.add(f"e{k} = i")
        self._ask(planned)

    def _ask(self, planned: PlannedStep) -> None:
        """Go on only with candidates that satisfy the constraints."""
        self.code.require(planned.constraints, "continue")

    # --- aggregates -------------------------------------------------------------------------------------

    def _aggregate(self, planned: PlannedStep) -> None:
        """An aggregate becomes the parameter without a name (`AggregateSource`)."""
        raise NotImplementedError
