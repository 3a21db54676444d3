"""Matches in a model: what parameters are in one."""

from workbench.core.term import TRUE
from workbench.tesla.check import parse_rules
from workbench.tesla.model.guarded_values import GuardedValue, holds
from workbench.tesla.model.matching import GuardedMatch


def test_a_parameter_that_is_named_twice_is_evaluated_once():
    """Each of a chain names the one before it twice: 8192 reads of x, if nothing is retained."""
    chain = ", ".join(["$p0 = x == 1", *(f"$p{i} = $p{i - 1} and $p{i - 1}" for i in range(1, 14))])
    (rule,) = parse_rules(f"declare A(x: int)\ndeclare C(x: int)\nfrom A[{chain}]($p13) emit C(x = 1)").resolved
    read = []

    def own(name):
        read.append(name)
        return GuardedValue.constant(1)

    assert holds(rule.trigger.constraints, GuardedMatch(TRUE).look(own)) is TRUE
    assert read == ["x"]
