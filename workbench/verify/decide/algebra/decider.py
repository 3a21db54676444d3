"""Deciding a part by algebra: what it can prove is true, and all else stays open."""

from __future__ import annotations

import time

from workbench.budget import report
from workbench.smv.engines.engine import Answer, EngineLimits
from workbench.verify.decide.algebra.polynomial import Exhausted, Generators
from workbench.verify.decide.algebra.relations import MonomialKind, Relations
from workbench.verify.decide.part import Decision, Part

WORK = 1_000_000
"""How many products of monomials a proof may take: a few seconds."""


class AlgebraDecider:
    """Polynomial relations between the variables of a state. It proves invariants, or does not decide."""

    name = "algebra"

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """See `Decider.decide`."""
        del count_states
        begin, cpu = time.monotonic(), time.thread_time()
        answers = {role: Answer(None, reason="it proves invariants only") for role in part.asked}
        invariants = [role for role, asked in part.asked.items() if asked.kind == "invar"]
        if part.driven:
            reason = "algebra knows pipelines, not the SMV system that drives the inputs"
            answers = dict.fromkeys(part.asked, Answer(None, reason=reason))
        elif invariants:
            answers |= _prove(part, invariants, limits)
        return Decision(answers, self.name, time.thread_time() - cpu, time.monotonic() - begin)


def _prove(part: Part, roles: list[str], limits: EngineLimits) -> dict[str, Answer]:
    """The simplest relations first, and more where these are not enough."""
    deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
    found: dict[str, Answer] = {}
    reason = "no relation that was found proves it"
    relations = None
    try:
        generators = Generators(WORK, deadline)
        for kind in MonomialKind:
            report(f"{kind.name.lower()} relations")
            relations = Relations(part.model.system, part.assume, generators, kind, relations)
            for role in roles:
                term = part.asked[role].formula.term
                if role not in found and term is not None and relations.prove(term):
                    found[role] = Answer(True)
            if len(found) == len(roles):
                break
    except Exhausted as stop:
        reason = str(stop)
    return {role: found.get(role, Answer(None, reason=reason)) for role in roles}
