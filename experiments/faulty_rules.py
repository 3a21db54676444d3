"""Rules, each with a mistake that is easily made, and how short a stream tells one from the other.

The rule of this module: how many steps it takes is argued beside each; a step is an event, or time that passes.
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.tesla.check import parse_rules
from workbench.tesla.rule_set import RuleSet

TYPES = """
declare Temp(area: string, value: float)
declare Smoke(area: string)
declare Fire(area: string, value: float)
declare A(p: int)
declare B(p: int)
declare C(p: int)
declare Found(p: int)
declare Other(p: int)
"""
EACH = """from Smoke[$a = area] and each Temp(area == $a, value > 45) as Hot within 3 min from Smoke
emit Fire(area = $a, value = Hot.value)"""
LAST = EACH.replace("each", "last")
AVERAGE = """from Smoke[$a = area] and $m = AVG(Temp(area == $a).value within 4 min from Smoke) where $m > 45
emit Fire(area = $a, value = $m)"""
CHAIN = """from C[$p = p] and each B(p == $p) within 2 min from C and last A(p == $p) within 1 min from B
emit Found(p = $p)"""
NEGATED = """from C[$p = p] and last A(p == $p) within 2 min from C and not B(p == $p) between A and C
emit Found(p = $p)"""
ONCE = "from B[$p = p] and last A(p == $p) within 4 min from B emit Found(p = $p)"
SILENT = "from A[$p = p] as Start and absent B(p == $p) within 3 min after Start emit Found(p = $p)"
PAUSE = "from A[$p = p] emit Found(p = $p) at most once in 3 min per $p"
BOTH = """rule one: from A[$p = p] emit Found(p = $p)
rule two: from A[$p = p] emit Other(p = $p)"""
SWAPPED = "\n".join(reversed(BOTH.splitlines()))


class FaultyRules(NamedTuple):
    """Rules as they should be and as they are, and the steps of the shortest stream on which they differ."""

    right: str
    wrong: str
    steps: int

    @property
    def rule_sets(self) -> tuple[RuleSet, RuleSet]:
        """Both."""
        return parse_rules(TYPES + self.right, "right"), parse_rules(TYPES + self.wrong, "wrong")


FAULTY = {
    # warm; three minutes; smoke
    "a window too short": FaultyRules(EACH, EACH.replace("3 min", "2 min"), 3),
    # warm in one area, smoke in another
    "a missing parameter": FaultyRules(EACH, EACH.replace("area == $a, ", ""), 2),
    # exactly 45, smoke
    "at least for more than": FaultyRules(EACH, EACH.replace("> 45", ">= 45"), 2),
    # warm, warmer, smoke
    "first for last": FaultyRules(LAST, LAST.replace("last", "first"), 3),
    "each for last": FaultyRules(LAST, LAST.replace("last", "each"), 3),
    # cold, warm, smoke: the greatest is not the average
    "MAX for AVG": FaultyRules(AVERAGE, AVERAGE.replace("AVG", "MAX"), 3),
    # B, A, C: the A comes before C, and not before B
    "a window from another event": FaultyRules(CHAIN, CHAIN.replace("1 min from B", "1 min from C"), 3),
    # A, B in between, C
    "a negation forgotten": FaultyRules(NEGATED, NEGATED.replace(" and not B(p == $p) between A and C", ""), 3),
    # the same with a B of another value
    "a negation of too much": FaultyRules(NEGATED, NEGATED.replace("not B(p == $p)", "not B()"), 3),
    # A, B, and B again
    "a consumption that should not be": FaultyRules(ONCE, f"{ONCE} consuming A", 3),
    # A, a minute, and A again
    "a pause too short": FaultyRules(PAUSE, PAUSE.replace("3 min", "1 min"), 3),
    # A twice, with other values
    "a pause for all together": FaultyRules(PAUSE, PAUSE.replace(" per $p", ""), 2),
    # A, and three minutes one by one: then the shorter deadline has passed
    "a deadline too soon": FaultyRules(SILENT, SILENT.replace("3 min", "2 min"), 4),
    # A: what comes first is another
    "two rules swapped": FaultyRules(BOTH, SWAPPED, 1),
}
