"""The outputs of rules in a model: of each type, of each rule, of all, and of chains of causes.

The rule of this module: it says what comes out where, and nothing of how it is shown.
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.model.course import ModelComposite
from workbench.tesla.occurrence import Occurrence

CHAIN = "chain"
"""The output with the last composites of chains."""


class ModelOutput(NamedTuple):
    """An output of rules in a model: what of all types has this one, if any, and is of this rule, if any.

    Attributes
    ----------
    chain: the length of the chains of causes whose last composites come out there, if it is about such.
    """

    name: str
    type: str = ""
    rule: str = ""
    chain: int = 0

    def has(self, composite: Occurrence | ModelComposite, chain: int) -> bool:
        """Whether a composite comes out there that is the last of a chain of this length."""
        return self.type in ("", composite.type) and self.rule in ("", composite.rule) and self.chain in (0, chain)

    @property
    def typed(self) -> bool:
        """Whether outputs show their type alone."""
        return not (self.type or self.rule)


def output_of(rule: t.Rule) -> str:
    """What the output is called that has what a rule emits."""
    return f"by_{rule.name.replace(' ', '_')}"
