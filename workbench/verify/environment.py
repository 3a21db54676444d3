"""What is assumed of the inputs (design section 3, Environment)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.core.ops import conjunction, disjunction, either, negate
from workbench.core.term import Term
from workbench.ir.system import System

Arrivals = Literal["free", "synchronised", "always"]


@dataclass(frozen=True)
class Environment:
    """How events come.

    Parameters
    ----------
    arrivals: `free` (each input may carry an event at each step or not), `synchronised` (all inputs or none),
        `always` (all inputs at every step).
    fair: every input carries an event infinitely often.
    """

    arrivals: Arrivals = "free"
    fair: bool = False

    def assumptions(self, system: System, *, stutter_reduced: bool) -> list[Term]:
        """Conditions that hold at every step; with stutter reduction some input carries an event."""
        present = [i.present for i in system.inputs if i.present.name in system.domains]
        if not present:
            return []
        if self.arrivals == "always":
            return [conjunction(present)]
        assume = []
        if self.arrivals == "synchronised" and len(present) > 1:
            assume.append(either(conjunction(present), conjunction(negate(p) for p in present)))
        if stutter_reduced:
            assume.append(disjunction(present))
        return assume

    def fairness(self, system: System) -> list[Term]:
        """Conditions that hold infinitely often."""
        if not self.fair:
            return []
        return [i.present for i in system.inputs if i.present.name in system.domains]

    def describe(self) -> str:
        """For people: what the verdict rests on."""
        words = {
            "free": "inputs free: each may carry any event, or none, at each step",
            "synchronised": "inputs synchronised: all carry an event, or none",
            "always": "inputs always present",
        }[self.arrivals]
        return words + (", each infinitely often" if self.fair else "")
