"""Rules with mistakes that are easily made are told from the right ones by streams as short as is argued."""

import pytest

from experiments.faulty_rules import FAULTY
from workbench.tesla.model.build import RuleBounds
from workbench.verify.answer.verdict import Outcome
from workbench.verify.rules.problems import rule_comparison

MINUTE = 60 * 10**6


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FAULTY)
def test_what_tells_faulty_rules_from_right_ones(name):
    verdict = rule_comparison(*FAULTY[name].rule_sets, RuleBounds(tick=MINUTE)).decide()
    assert verdict.outcome is Outcome.FAILS
    assert verdict.counterexample.shortest
    assert len(verdict.counterexample.steps) == FAULTY[name].steps
    assert verdict.counterexample.replay == "confirmed by execution"
