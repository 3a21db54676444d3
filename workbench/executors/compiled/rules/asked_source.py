"""What candidates are asked, in the order that takes least, as lines.

The rule of this module: a constraint has no effect, so that any order of them says the same. The first candidates are
looked at twice: in a loop of its own all constraints are asked, and nothing else is done; then they are asked as they
are written or, once it is known, the one first with which that takes least (`asking`). Where that one leaves 64 bits,
though it is asked before its turn, the run ends only if all others hold: in no order more often than as written.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.executors.compiled.rules.asking import CHOSEN, REFUSED, SEEN
from workbench.executors.compiled.rules.band_source import BandSource
from workbench.tesla.engines.expressions import effort
from workbench.tesla.engines.set_plan import PlannedStep
from workbench.tesla.resolved import expanded
from workbench.tesla.tree import Expression

MOST = 4
"""Constraints among which one is chosen."""
TEXTS = 20
"""The effort from which on texts are compared; they come last in any case."""


def rivals_of(planned: PlannedStep) -> list[tuple[Expression, int]]:
    """The constraints of a predicate that may come first, with what they take; none where there is nothing to choose.

    An equation holds for nearly all that a chain leads to, bounds where blocks are sorted by them.
    """
    step = planned.step
    free = set(map(id, [*step.code.joint, *step.code.local]))
    asked = [each for each in planned.constraints if id(each) in free]
    weighed = [(each, effort(expanded(each, own=True))) for each in asked]
    found = [pair for pair in weighed if pair[1] < TEXTS][:MOST]
    return found if len(found) - len(planned.band.bounds if planned.band else ()) > 1 else []


class AskedSource(BandSource):
    """The lines of a rule, those that choose which constraint comes first among them."""

    _begin, _chosen, _looking = 0, "", False

    def _search(
        self, planned: PlannedStep, *, newest: bool, stops: bool, hit: Sequence[str] | None, k: int | None = None
    ) -> None:
        rivals = rivals_of(planned)
        if rivals:
            self._begin, self._chosen = len(self.constants.values), self.code.fresh("m")
            for word in (-1, 0, *(0 for _ in rivals), *(takes for _, takes in rivals)):
                self.constants.whole(word)
            with self.code.inside(f"if C[c + {self._begin + CHOSEN}] < 0:"):
                self._look(planned, k, newest=newest)
            self.code.add(f"{self._chosen} = asked_first(c + {self._begin}, {len(rivals)}, C)")
        super()._search(planned, newest=newest, stops=stops, hit=hit, k=k)

    def _look(self, planned: PlannedStep, k: int | None, *, newest: bool) -> None:
        """A loop over the candidates, which changes nothing but what is known of the constraints."""
        code = self.code
        before = code.own, dict(code.parameters)
        self._looking = True
        enough = [f"if C[c + {self._begin + SEEN}] >= ENOUGH: break"]
        super()._search(planned, newest=newest, stops=False, hit=enough, k=k)
        self._looking = False
        code.own, code.parameters = before

    def _ask(self, planned: PlannedStep) -> None:
        rivals = [each for each, _ in rivals_of(planned)]
        if not rivals:
            super()._ask(planned)
            return
        if self._looking:
            self._count_refused(rivals)
            return
        code, rival = self.code, set(map(id, rivals))
        rest = [each for each in planned.constraints if id(each) not in rival]
        for i, each in [*enumerate(rivals)][::-1]:
            head = "else:" if i == 0 else f"{'el' * (i < len(rivals) - 1)}if {self._chosen} == {i}:"
            with code.inside(head):
                refused, beyond = self._refused(each)
                code.add(f"if {refused}: continue")
                code.require([one for one in rivals if one is not each], "continue")
                self._end(rest, beyond)

    def _count_refused(self, rivals: Sequence[Expression]) -> None:
        """Ask all rivals, and count what each refuses."""
        code = self.code
        for i, each in enumerate(rivals):
            refused, _ = self._refused(each)
            code.add(f"if {refused}: C[c + {self._begin + REFUSED + i}] += 1")
        code.add(f"C[c + {self._begin + SEEN}] += 1")

    def _end(self, rest: Sequence[Expression], beyond: Sequence[str]) -> None:
        self.code.require(rest, "continue")
        if beyond:
            self.code.add(f"if {' or '.join(beyond)}: {self.code.beyond}")

    def _refused(self, condition: Expression) -> tuple[str, list[str]]:
        """Source of whether a constraint does not hold, and what says that nobody knows, where that may be."""
        code, begun, beyond, name = self.code, len(self.code.lines), self.code.beyond, self.code.fresh("o")
        code.beyond = f"{name} = True"
        found = code.value(condition)
        code.beyond = beyond
        refused = " or ".join([*filter(None, [found.null]), f"not {found.text}"])
        if not any(line.endswith(f" {name} = True") for line in code.lines[begun:]):
            return refused, []
        code.lines.insert(begun, "    " * code.depth + f"{name} = False")
        return f"not {name} and ({refused})", [name]


__all__ = ["AskedSource", "rivals_of"]
