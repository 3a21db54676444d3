"""How a predicate with bounds looks into a sorted column, as lines.

The rule of this module: a few candidates are asked one by one first, for mostly one of them fits; then the order is
asked where the next one is (`orders`). Where there is no order, or most would fit, all are asked one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.domain import FLOAT
from workbench.executors.compiled.rules import orders
from workbench.executors.compiled.rules.layout import ACCEPT, ACCEPT_CONSTANTS, HEADS, HEADS_MASK, LINK, NUMBER, TIME
from workbench.executors.compiled.rules.step_source import StepSource
from workbench.tesla.engines.set_plan import PlannedStep
from workbench.tesla.resolved import domain_of
from workbench.tesla.tree import Expression

KINDS = {">": 1, ">=": 2, "<": 3, "<=": 4}
MEETS = {">": ("int_below", ">="), ">=": ("int_above", ">"), "<": ("int_above", "<="), "<=": ("int_below", "<")}
"""What a comparison with a whole number becomes, where that is not the float nearest to it but above or below."""
GIVEN = "T, K, W, F, H"
ACCEPTS = "C, CF, W, F, H, V, X, XF"


class BandSource(StepSource):
    """The lines of a rule, those of predicates with bounds among them."""

    def _search(
        self, planned: PlannedStep, *, newest: bool, stops: bool, hit: Sequence[str] | None, k: int | None = None
    ) -> None:
        super()._search(planned, newest=newest, stops=stops, hit=hit, k=k)
        if planned.band is not None and hit is not None:  # what ends the inner loop ends both
            self.code.add("    else: continue", "    break")

    def _range(self, planned: PlannedStep, k: int, *, newest: bool) -> None:
        if planned.band is None:
            super()._range(planned, k, newest=newest)
            return
        code, whole = self.code, self.plan.columns[planned.column].whole
        self._ends(planned, k, newest=newest)
        code.add(f"up{k}, at{k}, at_{k}, hits{k} = -1, 0, 0, 0")
        if newest:
            code.add(f"o{k}, on{k} = u{k}, max(s{k}, u{k} - {orders.NEAR})", f"while o{k} > s{k}:")
        else:
            code.add(f"o{k}, on{k} = s{k}, min(u{k}, s{k} + {orders.NEAR})", f"while o{k} < u{k}:")
        code.depth += 1
        with code.inside(f"if o{k} {'<=' if newest else '>='} on{k}:"):
            with code.inside(f"if up{k} < 0:"):
                self._further(planned, k, newest=newest)
            with code.inside(f"if up{k} >= 0:"):
                self._next_hit(k, newest=newest)
        code.add(f"while o{k} {'>' if newest else '<'} on{k}:")
        code.depth += 1
        code.add(*([f"o{k} -= 1"] if newest else []))
        code.add(f"i = o{k}" if whole else f"i = H[f{k} + (o{k} & x{k})]", f"a{k} = b{k} + (i & q{k}) * w{k}")
        code.add(*([] if newest else [f"o{k} += 1"]))
        if newest:
            code.add(*([f"if W[a{k} + {TIME}] < {self.least}: break"] if self.least else []))
            code.add(*([f"if W[a{k} + {NUMBER}] <= {self.above}: break"] if self.above else []))

    def _next_hit(self, k: int, *, newest: bool = True) -> None:
        """Ask the order where the next candidate is."""
        hit, end, ends = ("newest_hit", "s", "<=") if newest else ("oldest_hit", "u", ">=")
        given = f"o{k}, at{k}, at_{k}, hits{k}, {end}{k}, lk{k}, hk{k}, j{k}, K, H"
        self.code.add(f"o{k}, on{k}, at{k}, at_{k}, hits{k} = {hit}({given})", f"if o{k} {ends} {end}{k}: break")

    def _chain(self, planned: PlannedStep, k: int) -> None:
        """Go along the chain; after a while ask the order where the next one is, as long as few of the group fit."""
        if planned.band is None:
            super()._chain(planned, k)
            return
        code = self.code
        code.add(f"s{k}, l{k}, d{k}, h{k}, f{k}, x{k} = H[2 * y{k}], K[k{k}, {LINK}], -1, h, -1, 0")
        code.add(f"if h >= 0: d{k} = H[K[k{k}, {HEADS}] + (h & K[k{k}, {HEADS_MASK}])]")
        code.add(f"o{k}, on{k}, c{k}, up{k}, at{k}, at_{k}, hits{k} = 0, s{k}, -1, -1, 0, 0, 0")
        code.add(f"n{k}, left{k} = {orders.NEAR}, {orders.NEAR}", f"while d{k} >= s{k}:")
        code.depth += 1
        with code.inside(f"if hits{k} < 0:"):
            code.add(f"hits{k}, a{k} = 0, b{k} + (on{k} & q{k}) * w{k}")
            same = f"accept(K[k{k}, {ACCEPT}], K[k{k}, {ACCEPT_CONSTANTS}], a{k}, {ACCEPTS}) == h{k}"
            with code.inside(f"if {same}:"):
                code.add(f"up{k}, d{k}, on{k}, n{k}, left{k} = -1, c{k}, s{k}, 4 * n{k}, 4 * n{k}")
        with code.inside(f"if left{k} == 0:"):
            code.add(f"o{k}, n{k}, left{k} = d{k} + 1, 4 * n{k}, 4 * n{k}")
            self._begin_of(k)
            self._order(planned, k, f"s{k}, s{k} + n{k}")
            with code.inside(f"if up{k} > s{k}:"):
                self._bounds_of(planned, k)
            code.add(f"else: up{k}, on{k} = -1, s{k}")
        with code.inside(f"if up{k} >= 0:"):
            code.add(f"o{k} = d{k} + 1")
            self._next_hit(k)
            code.add(f"d{k}, left{k} = o{k} - 1, -1")
        code.add(f"while d{k} >= on{k} and left{k} != 0:")
        code.depth += 1
        code.add(f"i = d{k}", f"a{k} = b{k} + (i & q{k}) * w{k}", f"c{k} = W[a{k} + l{k}]", f"left{k} -= 1")
        code.add(f"d{k} = c{k} if up{k} < 0 else i - 1")
        self._inside(k, stop="break")

    def _begin_of(self, k: int) -> None:
        """Where the window begins, which is not behind place `o`."""
        given = f"s{k}, o{k}, b{k}, q{k}, w{k}, f{k}, x{k}, W, H"
        self.code.add(*([f"s{k} = first_place({TIME}, {self.least}, {given})"] if self.least else []))
        self.code.add(*([f"s{k} = first_place({NUMBER}, {self.above} + 1, {given})"] if self.above else []))

    def _further(self, planned: PlannedStep, k: int, *, newest: bool) -> None:
        """Have the order where it pays; else ask four times as many one by one as before, and see again."""
        code = self.code
        if newest:
            self._begin_of(k)
            code.add(f"on{k} = max(s{k}, o{k} - 4 * (u{k} - o{k}))")
        else:
            code.add(f"on{k} = min(u{k}, o{k} + 4 * (o{k} - s{k}))")
        self._order(planned, k, f"on{k}, o{k}" if newest else f"o{k}, on{k}")
        with code.inside(f"if up{k} > {f's{k}' if newest else f'o{k}'}:"):
            self._bounds_of(planned, k)
        code.add(f"else: up{k} = -1")

    def _counted(self, planned: PlannedStep) -> str:
        """How many candidates there are, where bounds decide all."""
        k, code = planned.step.number, self.code
        self._ends(planned, k, newest=False)
        with code.inside(f"if u{k} > s{k}:"):
            self._order(planned, k, f"s{k}, u{k}")
            self._bounds_of(planned, k)
            code.add(f"count{k} = count_hits(s{k}, u{k}, up{k}, lk{k}, hk{k}, j{k}, {GIVEN})")
        return f"count{k}"

    def _order(self, planned: PlannedStep, k: int, next_ones: str) -> None:
        """Have the order where it pays, as far as `up`."""
        assert planned.order is not None
        column = self.plan.columns[planned.column]
        code, whole = self.code, column.whole or bool(column.keys)
        code.add(f"j{k} = {self.constants.whole(len(self.plan.columns) + planned.order.number)}")
        ends = f"H[2 * y{k}], H[2 * y{k} + 1]" if whole else f"H[f{k} - 2], H[f{k} - 1]"
        given = f"{ends}, {next_ones}, {GIVEN}, V, J, C, CF, X, XF"
        code.add(f"up{k} = ordered(j{k}, {given})", f"if up{k} < 0: return -up{k}")

    def _bounds_of(self, planned: PlannedStep, k: int) -> None:
        """The least and the greatest key that fit."""
        assert planned.band is not None
        code = self.code
        real = planned.step.declared.domains[planned.band.attribute] == FLOAT
        code.add(f"lk{k}, hk{k} = {orders.LEAST_KEY}, {orders.MOST_KEY}")
        for operator, bound in planned.band.bounds:
            self._narrow(k, operator, bound, real=real)
        if planned.equations:
            both = ", ".join(f"in_group(h{k}, {end}{k}, {int(real)})" for end in ("lk", "hk"))
            code.add(f"if lk{k} <= hk{k}: lk{k}, hk{k} = {both}")

    def _narrow(self, k: int, operator: str, bound: Expression, *, real: bool) -> None:
        code, kind = self.code, KINDS[operator]
        found, other = code.value(bound), domain_of(bound) == FLOAT
        if found.null:
            code.add(f"if {found.null}: lk{k}, hk{k} = 1, 0")
        with code.inside(f"if not {found.null}:" if found.null else "if True:"):
            bounds, value = f"lk{k}, hk{k}", found.text
            if not real:  # the least number has no key of its own
                least = f"{value} == {-(2.0**63)}" if other else f"{value} <= {orders.LEAST_KEY}"
                code.add(f"if {least}: {self.code.beyond}")
                narrow = "narrowed_by_float" if other else "narrowed"
                code.add(f"{bounds} = {narrow}({bounds}, {kind}, {value})")
                return
            code.add(f"kind = {kind}")
            if other:
                code.add(f"XF[0] = {value}")
            else:
                test, meets = MEETS[operator]
                code.add(f"XF[0] = float({value})", f"if {test}({value}, XF[0]): kind = {KINDS[meets]}")
            code.add(
                f"if XF[0] != XF[0]: {bounds} = 1, 0", f"else: {bounds} = narrowed({bounds}, kind, float_key(X[0]))"
            )
