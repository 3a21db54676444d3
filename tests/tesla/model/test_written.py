"""Runs of models of rules as tests: they pass as they are written, and fail when the rules say something else."""

import pytest

from workbench.conformance.written_tests.counterexamples import to_test
from workbench.tesla.check import parse_rules
from workbench.tesla.model.build import RuleBounds
from workbench.verify.rules.problems import rule_comparison, rule_problem

FIRE = """declare Temp(area: string, value: float)
declare Smoke(area: string)
declare Fire(area: string, value: float)
rule warm:
from Smoke[$a = area] and last Temp(area == $a, value > 45) as Hot within 2 min from Smoke
emit Fire(area = $a, value = Hot.value)
"""
SILENT = """declare A(x: int)
declare B(x: int)
declare Quiet(x: int)
from A as Start and absent B(x == Start.x) within 2 s after Start emit Quiet(x = Start.x)
"""
BANKS = """declare A(x: int)
declare fact Bank(x: int, limit: int)
declare Over(x: int, limit: int)
from A and each Bank[$l = limit](x == A.x) as Found emit Over(x = A.x, limit = $l)
"""


def can(text, prop, **bounds):
    return rule_problem(parse_rules(text, "found"), prop, RuleBounds(**bounds))


def told_apart(left, right):
    return rule_comparison(parse_rules(left, "left"), parse_rules(right, "right"))


CASES = {
    "composite": (lambda: can(FIRE, "can(Fire)"), "value > 45", "value > 47"),
    "absence": (lambda: can(SILENT, "can(Quiet)"), "within 2 s after", "within 3 s after"),
    "facts": (lambda: can(BANKS, "can(Over)", facts={"Bank": [(1, 7)]}), "limit = $l", "limit = 2 * $l"),
    "difference": (lambda: told_apart(FIRE, FIRE.replace("last", "first")), "and first", "and last"),
    "windows": (lambda: told_apart(SILENT, SILENT.replace("2 s", "4 s")), "within 4 s", "within 2 s"),
    "for ever": (lambda: can(FIRE, "response"), "(area == $a, value > 45) as Hot within 2 min", "() as Hot within 9 h"),
}


def failures(text):
    """The tests of a file that fail."""
    names = {}
    exec(compile(text, "written", "exec"), names)
    failed = []
    for name, test in names.items():
        if name.startswith("test_"):
            try:
                test()
            except AssertionError:
                failed.append(name)
    return failed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_runs_of_rules_as_tests(name):
    problem, old, new = CASES[name]
    text = to_test([problem().decide()])
    assert not failures(text)
    assert old in text
    assert failures(text.replace(old, new))
