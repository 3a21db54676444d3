"""Rules of which only the matches are wanted: what of their composites has to be made all the same.

The rule of this module: what is left out changes no match. A composite is made where a rule looks at it, and where its
place in the order counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from workbench.tesla import tree as t
from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class MatchedRules:
    """A rule set whose matches are wanted.

    Attributes
    ----------
    rules: as they are written, with whole windows.
    """

    rules: RuleSet

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Of each rule why its composites are made one by one; nothing where they are not."""
        counting = next((rule.name for rule in self.rules.rules for part in rule.parts if t.counts_events(part)), None)
        readers: dict[str, str] = {}
        for rule in self.rules.rules:
            for type in rule.types:
                readers.setdefault(type, rule.name)
        found = []
        for rule in self.rules.rules:
            if rule.emits in readers:
                found.append(f"{readers[rule.emits]} looks at {rule.emits}")
            elif counting is not None:
                found.append(f"{counting} counts all events, composites among them")
            else:
                found.append("it consumes events" if rule.consuming else "")
        return tuple(found)

    @cached_property
    def run(self) -> RuleSet:
        """Rules with the same matches: what nobody looks at has no attributes, and a type of its own."""
        read = {type for rule in self.rules.rules for type in rule.types}
        declared, rules = dict(self.rules.declarations), []
        for rule in self.rules.rules:
            if rule.emits not in read:
                name = f"matches of {rule.name}"
                declared[name] = t.Declaration(name, ())
                rule = replace(rule, emits=name, evaluations=())
            rules.append(rule)
        return replace(self.rules, declarations=declared, rules=tuple(rules))

    @cached_property
    def roles(self) -> tuple[tuple[str, ...], ...]:
        """Of each rule what it calls the events of a match, the trigger first."""
        return tuple(tuple(part.name for part in rule.events.values()) for rule in self.rules.resolved)
