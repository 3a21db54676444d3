"""The lookback of a whole rule set, so that a time slice of a stream is evaluated without what came long before it.

The rule of this module: what an event causes is said by the events of the reach before it, and by nothing else. So
whatever a rule remembers of what it has told is in the way.

Source: Balkesen, Dindar, Wetter, Tatbul, RIP: run-based intra-query parallelism for scalable complex event processing
(DEBS 2013).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.tesla import tree as t
from workbench.tesla.lookback import lookbacks
from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class TimeSplit:
    """Whether a stream can be cut into time slices.

    Attributes
    ----------
    reach: how long before an event those lie on which it hangs what it causes, in the unit of times.
    fed: whether rules look at what others emit, which is then to be made again before a slice.
    reason: why there are no slices; empty where there are.
    named: how long before a composite the events of its match lie.
    """

    reach: int = 0
    fed: bool = False
    reason: str = ""
    named: int = field(default=0, compare=False)

    @property
    def repeated(self) -> int:
        """How long before a slice events are repeated.

        Where rules feed others, what the events cause that the slice names is to be complete, too: each has its number.
        """
        return self.reach + (self.named if self.fed else 0)


def time_split(rules: RuleSet) -> TimeSplit:
    """How a stream can be cut for a rule set."""
    reason = next(_reasons(rules), "")
    if reason:
        return TimeSplit(reason=reason)
    graph, reaches = rules.graph, dict[int, int]()
    for number in graph.in_order:
        feeding = [reaches[each] for each in graph.feeding(number)]
        reaches[number] = _reach(rules.rules[number]) + max(feeding, default=0)
    if left := [f"'{rule.name}'" for number, rule in enumerate(rules.rules) if number not in reaches]:
        return TimeSplit(reason=f"what rules emit leads back to themselves: {', '.join(left)}")
    named = max(map(_reach, rules.rules), default=0)
    return TimeSplit(max(reaches.values(), default=0), any(map(graph.feeding, reaches)), named=named)


def _reasons(rules: RuleSet) -> Iterator[str]:
    """What rules remember, or look for where it cannot be seen beforehand."""
    for rule in rules.rules:
        name = f"rule '{rule.name}'"
        if rule.consuming:
            yield f"{name} consumes events"
        if rule.pause is not None:
            yield f"{name} is silent after what it has told"
        if rule.absence is not None:
            yield f"{name} waits for what must not come"
        if rule.counts_events:
            yield f"{name} counts events in a window"
        if any(each.time is None for each in lookbacks(rule).values()):
            yield f"{name} looks back for ever"


def _reach(rule: t.Rule) -> int:
    """How long before its trigger a rule looks."""
    return max(each.time or 0 for each in lookbacks(rule).values())
