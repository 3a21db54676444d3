"""Writing certificates."""

from __future__ import annotations

from dataclasses import replace

from workbench.budget import phase
from workbench.errors import Refused, check_kind
from workbench.verify.answer.problem import Problem
from workbench.verify.answer.verdict import FROM_CHECK, Outcome, Verdict
from workbench.verify.decide.part import remaining_limits
from workbench.verify.proof.question import describe_question, list_obligations
from workbench.verify.proof.script import write_script

RESET = "\n(reset)\n"
"""Separates certificates in a file: a solver forgets everything there."""


@phase("looking for an inductive invariant")
def certificate(verdict: Verdict) -> str:
    """Return a certificate of a verdict `holds`: an SMT-LIB script with an inductive invariant.

    Raises
    ------
    Refused: the verdict is another one, or is about infinite runs; or no invariant is found in the time of the budget.
    EngineMissing: z3 is not installed.
    """
    check_kind(verdict, Verdict, FROM_CHECK)
    problem = verdict.problem
    if type(problem) is not Problem:
        raise Refused("certificates are about pipelines, not about rules or the SMV systems that pipelines watch")
    if verdict.outcome is not Outcome.HOLDS:
        raise Refused(f"only a verdict 'holds' has a certificate, and this one is '{verdict.outcome}'")
    from workbench.verify.proof.search import find_proof

    settings = replace(problem.fitting, engine="auto")
    surely = verdict.ground("overflow") is not False  # or it is unknown whether one can
    obligations = list_obligations(problem, settings, surely=surely)
    proofs = [find_proof(each, remaining_limits()) for each in obligations]
    source = describe_question(problem, settings, [each.depth for each in proofs], surely=surely)
    return write_script(source, list(zip(obligations, proofs, strict=True)))
