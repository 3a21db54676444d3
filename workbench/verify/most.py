"""The most that something can hold, while it is searched for: what a run reaches, and what is proved.

The rule of this module: what is reached is reached by a run, that no more is has an argument or a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.core.domain import Value
from workbench.verify.answer.verdict import Verdict

InputSteps = tuple[Mapping[str, Value], ...]
"""What comes on the inputs at each step of a run."""


@dataclass(kw_only=True)
class Most:
    """What is known of the greatest number of something.

    Attributes
    ----------
    at_least: what some run reaches, `reaching`.
    at_most: what no run exceeds; infinite where nothing is known to bound it.
    argument: what proves that, where no model checker does.
    verdict: that of the model checker.
    reason: why no more is known.
    """

    at_least: int = 0
    at_most: float = math.inf
    reaching: InputSteps = ()
    argument: str = ""
    verdict: Verdict | None = None
    reason: str = ""

    def learn(self, value: int, inputs: InputSteps) -> bool:
        """Take in what a run reaches; whether that is more than was known."""
        if value <= self.at_least:
            return False
        self.at_least, self.reaching = value, inputs
        return True
