"""What a rule looks for, as lines: in the order that takes least, before the loops that tell its matches.

The rule of this module: what all of a group find is known before anything is told of it. A predicate with `each` puts
its places aside, or knows from where to where they lie; then its loop stands where it is written. Where there are
several orders, each predicate is a branch of a loop whose turns are the order (`searching`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workbench.executors.compiled.rules.searching import LOOKED, PLACE_BITS, packed_order, search_words
from workbench.executors.compiled.rules.shared_source import SharedSource
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.search_order import RuleSearches, SearchGroup
from workbench.tesla.engines.set_plan import PlannedStep


class SearchSource(SharedSource):
    """The lines of a rule, what it looks for in any order among them.

    Attributes
    ----------
    learning: of each group of which the order is chosen, where what is known of it begins among the constants.
    """

    learning: Mapping[int, int] = {}
    _open: list[tuple[frozenset[int], t.Expression]]
    _counting = ""
    _ready: frozenset[int] = frozenset()
    _aside: frozenset[int] = frozenset()

    def _filter(self, conditions: Sequence[t.Expression]) -> None:
        """Go on only if conditions hold."""
        self.code.require(conditions, self.fail)

    def _searched(self, searches: RuleSearches) -> None:
        """All behind the trigger."""
        self._open = [(named, each) for each in self.of.rule.where_clause if (named := searches.named(each)) - {0}]
        known = {0}
        for level in range(len(searches.loops) + 1):
            first = searches.loops[level - 1] if level else 0
            last = searches.loops[level] if level < len(searches.loops) else len(self.of.steps)
            if level:
                self._step(self._written(first))
                self._known(known, first)
            if level in searches.groups:
                self._group(searches.groups[level], known, searches)
            for number in range(first + 1, last):
                if number not in searches.grouped:
                    self._step(self._written(number))
                    self._known(known, number)

    def _written(self, number: int) -> PlannedStep:
        """A step, which knows of what is written before it."""
        return self.plan.steps[self.number][number - 1]

    def _known(self, known: set[int], *numbers: int) -> None:
        """What some steps bind is known from here on: conditions are asked that name nothing else."""
        known |= {*numbers}
        asked = [each for named, each in self._open if named <= known]
        self._open = [(named, each) for named, each in self._open if not named <= known]
        self._filter(asked)

    # --- groups -----------------------------------------------------------------------------------------

    def _group(self, group: SearchGroup, known: set[int], searches: RuleSearches) -> None:
        code, level, fail = self.code, group.level, self.fail
        code.add(f"top{level} = {self.top}")
        self.top = f"top{level}"
        singles = [n for n in group.steps if n not in searches.loops]
        if len(group.orders) == 1:
            for number in group.steps:
                self._sought(number)
                self._known(known, *({number} - set(searches.loops)))
            return
        places = {number: place for place, number in enumerate(group.steps)}
        begin = len(self.constants.values)
        self.learning = {**self.learning, level: begin}
        orders = [packed_order([places[n] for n in order]) for order in self._orders_of(group)]
        for word in search_words(len(places), orders):
            self.constants.whole(word)
        order, learns, lost, ran = (f"{name}{level}" for name in ("order", "learns", "lost", "ran"))
        code.add(f"{order}, {lost}, {ran} = search_order(c + {begin}, C), 0, 0")
        code.add(f"{learns} = {order} < 0", f"if {learns}: {order} = -1 - {order}")
        code.add(", ".join(f"n{n}" for n in places) + f" = {', '.join('0' for _ in places)}")
        with code.inside(f"for turn{level} in range({len(places)}):"):
            code.add(f"if {lost} != 0 and not {learns}: break")
            code.add(f"turned{level} = ({order} >> ({PLACE_BITS} * turn{level})) & {(1 << PLACE_BITS) - 1}")
            for number, behind in zip(group.steps, group.behind, strict=True):
                place = places[number]
                with code.inside(f"{'el' * bool(place)}if turned{level} == {place}:"):
                    self.fail = f"{lost} |= {1 << place}; continue"
                    if behind:
                        code.add(f"if {lost} & {sum(1 << places[n] for n in behind)} != 0: continue")
                    code.add(f"{ran} |= {1 << place}")
                    self._counting = f"n{number}"
                    self._sought(number)
                    self._counting = ""
                    self._known(known | behind, *({number} - set(searches.loops)))
        self.fail = fail
        looked = " + ".join(f"n{n}" for n in places)
        code.add(f"C[c + {begin + LOOKED}] += {looked} + {len(places)}")
        with code.inside(f"if {learns}:"):
            for number, place in places.items():
                code.add(f"seen_search(c + {begin}, {place}, {ran}, {lost}, n{number}, C)")
            code.add(f"learn_order(c + {begin}, {len(places)}, {len(orders)}, {lost}, {looked}, C)")
        code.add(f"if {lost} != 0: {fail}")
        self._known(known, *singles)

    def _orders_of(self, group: SearchGroup) -> Sequence[Sequence[int]]:
        """Those among which one is chosen, the first until then."""
        return group.orders

    def _sought(self, number: int) -> None:
        """Look for what a step selects, rejects or aggregates; of one with `each` for all that it finds."""
        planned = self._written(number)
        if planned.step.policy.many:
            self._gather(planned)
        else:
            self._step(planned)

    def _gather(self, planned: PlannedStep) -> None:
        """Put all that fits aside; where the window decides all, know from where to where it lies."""
        step, code, k = planned.step, self.code, planned.step.number
        before = dict(code.parameters)
        keyed = bool(self.plan.columns[planned.column].keys)
        self._rows_of(planned)
        self._bounds(step)
        if not (keyed or planned.constraints or self.of.consumed_slots):
            self._ends(planned, k, newest=False)
            code.add(f"if u{k} <= s{k}: {self.fail}")
            self._ready |= {k}
        else:
            code.add(f"from{k}, z{k} = {self.top}, {self.top}")
            self._search(planned, newest=keyed, stops=False, hit=self._put_aside(k))
            code.add(f"if z{k} <= from{k}: {self.fail}", f"{self.top} = z{k}")
            self._aside |= {k}
        code.parameters = before

    # --- what has been looked for -----------------------------------------------------------------------

    def _each(self, planned: PlannedStep) -> None:
        step, code, k = planned.step, self.code, planned.step.number
        if k not in self._aside:
            super()._each(planned)
            return
        turned = bool(self.plan.columns[planned.column].keys)  # chains begin with the newest
        places = f"z{k} - 1, from{k} - 1, -1" if turned else f"from{k}, z{k}"
        code.add(f"for u{k} in range({places}):")
        code.depth += 1
        self.fail = "continue"
        rivals = list(self._rivals(step))
        self._found(step, f"X[u{k}]")
        code.add(*(f"if e{k} == e{other.number}: continue" for other in rivals))

    def _rivals(self, step: RuleStep) -> Iterator[RuleStep]:
        """The predicates before it that have bound events of its type."""
        return (other for slot, other in self.bound.items() if slot and other.type == step.type and not other.fact)

    def _rows_of(self, planned: PlannedStep) -> None:
        if planned.step.number not in self._ready | self._aside:
            super()._rows_of(planned)

    def _bounds(self, step: RuleStep) -> None:
        if step.number not in self._ready | self._aside:
            super()._bounds(step)

    def _ends(self, planned: PlannedStep, k: int, *, newest: bool) -> None:
        if k not in self._ready:
            super()._ends(planned, k, newest=newest)

    def _fits(self, planned: PlannedStep, k: int) -> None:
        if self._counting:
            self.code.add(f"{self._counting} += 1")
        super()._fits(planned, k)
