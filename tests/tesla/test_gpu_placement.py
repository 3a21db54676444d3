"""Which rules are for a device, and what the plan says of the others."""

import pytest

from workbench.errors import Refused
from workbench.executors.compiled.rules_gpu.engine import GpuRules
from workbench.executors.compiled.rules_gpu.placement import rule_placement
from workbench.show.rule_set_plan import plan_data, plan_text
from workbench.tesla.check import rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.set_plan import SetPlan

TYPES = """
declare A(x: int, f: float, s: string) declare B(x: int, f: float, s: string) declare P(x: int) declare Q(x: int)
declare fact G(x: int) declare aggregate PRODUCT(a: int, b: int) = a * b from 1
"""
TAKEN = (
    "from A and each B(x > A.x) within 5 from A emit P(x = B.x)",
    "from A and first B(s == A.s) within 2 .. 5 from A and not A(f < B.f) as A2 between B and A emit P(x = B.x)"
    " consuming B",
    "from A and $s = SUM(B(f * 2.0 > A.f / A.x).f within 5 from A) where $s > 1.0 emit P(x = A.x)"
    " at most once in 3 per A.x",
    "from A and last G(x % 2 == 0) ordered by x desc limit 1 emit P(x = G.x)",
)
LEFT = {
    "from A and absent B within 5 after A emit P(x = A.x)": "'absent' waits for a clock",
    "from A and each B within forever from A emit P(x = B.x)": "a window is forever",
    "from A and each B within 9 events from A emit P(x = B.x)": "'r' counts events in a window",
    "from A and each P within 5 from A emit P(x = A.x)": "'r' looks at what 'r' emits",
    'from A(s < "b") and each B within 5 from A emit P(x = B.x)': "only whether they are the same",
    'from A and each B(s + "b" == A.s) within 5 from A emit P(x = B.x)': "only whether they are the same",
    "from A and $p = PRODUCT(B.x within 5 from A) emit P(x = $p)": "does not compute PRODUCT",
    'from A and $p = MIN(B.s within 5 from A) where $p == "b" emit P(x = 1)': "does not compute MIN of texts",
}


@pytest.mark.parametrize("text", TAKEN)
def test_a_device_takes_it(text):
    assert not rule_placement(SetPlan(rules(TYPES + "rule r: " + text))).host


@pytest.mark.parametrize("text", LEFT)
def test_the_host_takes_it(text):
    made = rules(TYPES + "rule r: " + text)
    placement = rule_placement(SetPlan(made))
    assert not placement.sources
    assert LEFT[text] in placement.host[0]
    with pytest.raises(Refused, match="no rule can run on a device: r: "):
        GpuRules(made, {}, EngineSettings(plain=True))


def test_rules_that_are_fed_stay_with_those_that_feed_them():
    fed = "rule a: from A emit P(x = A.x) rule b: from P and last B within 5 from P emit Q(x = B.x)\n"
    placement = rule_placement(SetPlan(rules(TYPES + fed + "rule c: from B emit Q(x = B.x)")))
    assert list(placement.sources) == [2]
    assert list(placement.host.values()) == ["'b' looks at what 'a' emits, so events come one after the other"] * 2


def test_the_plan_says_where_rules_run():
    """Three kernels find the triggers, five go through a window with `each`, three write the composites."""
    made = rules(f"{TYPES}rule a: {TAKEN[0]} rule b: {TAKEN[1]} rule c: {next(iter(LEFT))}")
    told = plan_text(SetPlan(made), made, timed=False)
    assert "with a GPU (a model): 11 kernels and 7 waits for 16,384 events, 16 bytes of each candidate" in told
    assert "waits for a trigger" in told
    assert "with a GPU on the host: 'absent' waits for a clock, which the host has" in told
    first, second, third = plan_data(SetPlan(made), made, timed=False)["gpu"]
    assert (first["kernels"], first["one_by_one"], second["one_by_one"]) == (11, False, True)
    assert "kernels" not in third
