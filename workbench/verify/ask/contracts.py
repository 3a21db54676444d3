"""The properties that contracts are kept: guarantees of a pipeline, and assumptions of the pipelines that it uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from workbench.core.contract import Contract
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.term import Term
from workbench.errors import PipelineError
from workbench.ir.system import System
from workbench.language.properties import CONTRACTS
from workbench.processors.held.contracts import watch
from workbench.processors.held.group import flatten
from workbench.verify.ask.properties import OverDomains, Property, Question, invariant


@dataclass(frozen=True, repr=False)
class ContractHolds(Property):
    """The property that no run which meets the assumptions up to a step breaks a contract at that step.

    Attributes
    ----------
    of: the name of the property, a key of `CONTRACTS`.
    number: the number of the contract, from 1 on.
    """

    of: str = ""
    number: int = 1

    def pose(self, subject: Program, over: OverDomains) -> tuple[Pipeline, Property]:
        """Return the pipeline with the stream of the contract, and the property that it never carries `false`."""
        flat = flatten(over(subject)[0])
        known = [*filter(CONTRACTS[self.of], flat.contracts)]
        if not 0 < self.number <= len(known):
            listed = "; ".join(f"{self.of}({number}): {each}" for number, each in enumerate(known, 1))
            what = f"{subject.ports.of} has no contract {self}"
            raise PipelineError(what, hint=f"there are: {listed or 'none'}")
        contract = known[self.number - 1]
        posed = watch(flat, lambda each: each.is_own_assumption or each.name == contract.name)
        prop = invariant(
            str(self),
            lambda system: system.watched[contract.name].holds,
            f"{contract} is broken",
            partial(_speaks, contract),
        )
        return posed, replace(prop, conditions=self.conditions)


def contract_property(of: str, number: int) -> Property:
    """Return the property that a contract, by its number, is kept: `guarantee(1)`, `meets(2)`."""
    return ContractHolds(f"{of}({number})", _unposed, of=of, number=number)


def _unposed(system: System) -> Question:
    raise AssertionError(f"a contract of {system.name} is checked before it is watched")


def _speaks(contract: Contract, system: System) -> tuple[tuple[str, Term], ...]:
    return ((f"something is compared in: {contract}", system.pipes[contract.name].present),)
