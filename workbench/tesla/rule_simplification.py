"""The result of simplifying a rule set, step by step.

The rule of this module: it holds data and their text, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import ndiff
from typing import TYPE_CHECKING, Any

from workbench.core.readable import plural

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class RewritingStep:
    """A step of a simplification.

    Attributes
    ----------
    by: the name of the law, or `model`.
    why: the statement of the law, or the removed part.
    before, after: the texts of the changed rules; after is empty if a rule was removed.
    seconds: the time that it took to find the step.
    bounds: the grounds of the model's verdict, one sentence each.
    outcome: the model's verdict; empty for a law.
    """

    by: str
    why: str
    before: str
    after: str
    seconds: float
    bounds: tuple[str, ...] = ()
    outcome: str = ""


@dataclass(frozen=True)
class UndecidedRewriting:
    """A removal that is not known to preserve the meaning."""

    rule: str
    what: str
    reason: str


@dataclass(frozen=True)
class RuleSimplification:
    """A simplified rule set.

    Attributes
    ----------
    original, rules: the rule set before and after; `str` of a rule set reads back.
    steps: the steps from one to the other.
    undecided: removals that the model did not confirm, which are not applied.
    """

    original: RuleSet
    rules: RuleSet
    steps: tuple[RewritingStep, ...]
    undecided: tuple[UndecidedRewriting, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "rules": str(self.rules),
            "steps": [{**vars(each), "bounds": list(each.bounds)} for each in self.steps],
            "undecided": [vars(each) for each in self.undecided],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        for number, step in enumerate(self.steps, 1):
            yield f"{number}. {step.by}: {step.why} ({step.seconds:.2f} s)"
            diff = ndiff(step.before.splitlines(), step.after.splitlines())
            yield from (f"    {line}".rstrip() for line in diff if not line.startswith("?"))
            if step.outcome:
                yield f"    in the model it {step.outcome.replace('-', ' ')}, which rests on"
                yield from (f"        {each}" for each in step.bounds)
        for each in self.undecided:
            yield f"not applied in {each.rule}: {each.what}: {each.reason}"
        steps, rules, before = len(self.steps), len(self.rules.rules), len(self.original.rules)
        if not steps:
            yield f"{self.original.name} is not simplified: no law applies, and the model confirms no removal"
        else:
            yield f"{plural(steps, 'step')}; {plural(before, 'rule')} before, {rules} after"
