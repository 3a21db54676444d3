"""Ways to split the run of a rule set: independent rules, events by key, time slices.

The rule of this module: parts share only the order of their composites. The effects of an event in a time slice
depend on the events of the lookback before it, and on nothing else: a rule that remembers what it has emitted
cannot be split.

Source: Balkesen, Dindar, Wetter, Tatbul, RIP: run-based intra-query parallelism for scalable complex event processing
(DEBS 2013), for time slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

from workbench.tesla.lookback import longest_lookback
from workbench.tesla.partition import rule_partition
from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class TimeSplit:
    """The requirements for cutting a stream into time slices.

    Attributes
    ----------
    lookback: the maximum time between an event and the earlier events on which its effects depend.
    fed: whether rules read composites, which have to be created again before a slice.
    reason: why slices are impossible; empty if they are possible.
    named: the maximum time between a composite and the events of its match.
    """

    lookback: int = 0
    fed: bool = False
    reason: str = ""
    named: int = field(default=0, compare=False)

    @property
    def overlap(self) -> int:
        """The time before a slice from which events are repeated.

        If rules read composites, all effects of the events that a slice refers to must be complete: they are numbered.
        """
        return self.lookback + (self.named if self.fed else 0)


@dataclass(frozen=True)
class RuleSplit:
    """The possible ways to split a rule set.

    Attributes
    ----------
    groups: the positions of rules, grouped so that rules that feed each other or the same rule stay together.
    keys: for each type of events the attribute by which it can be partitioned; empty if that is impossible.
    time: the requirements for time slices.
    counted: why rules that do not feed each other stay together; empty if none do.
    in_turn: why events can be partitioned neither by key nor by time; empty if they can.
    """

    groups: Sequence[Sequence[int]]
    keys: Mapping[str, str] = field(default_factory=dict)
    time: TimeSplit = TimeSplit(reason="there is no other way to split it")
    counted: str = ""
    in_turn: str = ""

    @property
    def undivided(self) -> str:
        """The reason why all rules stay together; empty if they can be partitioned."""
        if len(self.groups) > 1:
            return ""
        return self.counted or ("all of them feed each other" if len(self.groups[0]) > 1 else "there is only one")


def rule_split(rules: RuleSet) -> RuleSplit:
    """Determine how a rule set can be split."""
    for rule in rules.rules:
        if rule.counts_events:
            why = f"rule '{rule.name}' counts events in a window, those of all rules and keys among them"
            return RuleSplit([range(len(rules.rules))], time=TimeSplit(reason=why), counted=why, in_turn=why)
    groups, partition = rules.graph.groups, rule_partition(rules)
    again = next(_find_led_back(rules), "")
    why = f"rule '{again}' waits for an absence after an absence was reported" if again else ""
    reasons = (*partition.reasons, *filter(None, [why]))
    keys, time = {} if reasons else partition.keys, time_split(rules)
    in_turn = ""
    if not keys and time.reason:
        in_turn = f"{(reasons or ('there is no rule with a key',))[0]}, and {time.reason}"
    return RuleSplit(groups, keys, time, in_turn=in_turn)


def _find_led_back(rules: RuleSet) -> Iterator[str]:
    """Yield the rules whose absence can follow from another absence: their order among other keys is unknown."""
    waiting = [rule for rule in rules.rules if rule.absence is not None]
    effects = rules.graph.find_effects(rule.emits for rule in waiting)
    return (rule.name for rule in waiting if rule.trigger.type in effects)


def time_split(rules: RuleSet) -> TimeSplit:
    """Determine how a stream can be cut into time slices for a rule set."""
    reason = next(_find_memories(rules), "")
    if reason:
        return TimeSplit(reason=reason)
    graph, reaches = rules.graph, dict[int, int]()
    for number in graph.in_order:
        feeding = [reaches[each] for each in graph.feeding(number)]
        reaches[number] = (longest_lookback([rules.rules[number]]) or 0) + max(feeding, default=0)
    if left := [f"'{rule.name}'" for number, rule in enumerate(rules.rules) if number not in reaches]:
        return TimeSplit(reason=f"rules lead back to themselves: {', '.join(left)}")
    named = longest_lookback(rules.rules) or 0
    return TimeSplit(max(reaches.values(), default=0), any(map(graph.feeding, reaches)), named=named)


def _find_memories(rules: RuleSet) -> Iterator[str]:
    """Yield reasons against time slices: state of rules, or an unbounded lookback."""
    for rule in rules.rules:
        name = f"rule '{rule.name}'"
        if rule.consuming:
            yield f"{name} consumes events"
        if rule.pause is not None:
            yield f"{name} is silent after each composite"
        if rule.absence is not None:
            yield f"{name} waits for an absence"
        if rule.counts_events:
            yield f"{name} counts events in a window"
        if longest_lookback([rule]) is None:
            yield f"{name} has an unbounded lookback"


def balance_work(work: Sequence[float], count: int) -> list[list[int]]:
    """Partition work into balanced shares, greedily: the largest item first, each to the smallest share."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [(0.0, i) for i in range(count)]
    heapify(loads)
    for item in sorted(range(len(work)), key=lambda each: -work[each]):
        load, i = loads[0]
        shares[i].append(item)
        heapreplace(loads, (load + work[item], i))
    return [sorted(share) for share in shares if share]
