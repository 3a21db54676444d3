"""How rules are divided among threads, and why they are not; and the rules that `test_compiled_threads` divides."""

from typing import Any

import numpy as np
import pytest

from tests.tesla.events import A, B, Kind
from workbench.errors import InputError, Refused
from workbench.tesla.check import parse_rules
from workbench.tesla.engines import key_buckets
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.engines.key_buckets import KeyBuckets
from workbench.tesla.engines.rule_split import TimeSplit, balance_work, rule_split
from workbench.tesla.event_block import LargeNumberError, event_block, join_blocks
from workbench.tesla.occurrence import Occurrence

N = Kind("N")
TYPES = """
declare A(x: int, f: float) declare B(x: int, s: string) declare N()
declare P(x: int, f: float) declare Q(x: int, s: string) declare R(x: int) declare Z(n: int)
declare fact G(x: int)
"""
JOINED = (
    "from A[$x = x] and each B(x == $x) within 5 from A emit P(x = $x, f = A.f)",
    "from B[$x = x] and each A(x == $x) within 3 from B and $s = SUM(A(x == $x).f within 9 from B)"
    " emit P(x = $x, f = $s) consuming A",
    "from A[$x = x] and absent B(x == $x) within 3 after A emit Q(x = $x, s = 'late')",
    "from P[$x = x] and absent B(x == $x) within 2 after P emit Q(x = $x, s = 'gone')",
    "from Q[$x = x] and first Q(x == $x, s == 'late') as Old within 9 from Q emit R(x = $x)",
    "from A(f > 0.5) emit P(x = A.x, f = A.f) at most once in 3 per A.x",
    "from R and each G(x == R.x) emit Z(n = G.x)",
    "from N emit Z(n = 1)",
)
APART = (
    "from A and each B within 2 from A emit P(x = B.x, f = A.f)",
    "from P and last P as Old within forever from P where P.f > Old.f emit Z(n = P.x)",
    "from A and absent A(x > 1) as M within 0 after A emit Q(x = A.x, s = 'q')",
    "from Q and absent B within 0 after Q emit R(x = Q.x)",
    "from B and each A(x != B.x) within 3 from B emit Z(n = A.x) consuming A",
    "from N and absent N as M within 3 after N emit Z(n = 0)",
    "from B and each A within 4 from B emit Z(n = A.x)",
)


STRETCHED = (
    "from A and each B within 5 from A emit P(x = B.x, f = A.f)",
    "from P and last P as Old within 7 from P where P.f > Old.f emit Z(n = P.x)",
    "from B and first A within 4 from B and not N between A and B emit Q(x = A.x, s = B.s)",
    "from Q and each G(x == Q.x) emit R(x = Q.x)",
    "from B and each A(x != B.x) as One within 3 from B and each A as Two within 6 from One emit Z(n = Two.x)",
    "from A and $s = SUM(A.f within 9 from A) and $m = MAX(B.x within 6 from A) emit P(x = $m, f = $s)",
    "from A and $s = AVG(P.f within 12 from A) and $c = COUNT(R within 4 from A) emit Z(n = $c) ",
    "from N and last Q within 2 .. 6 from N and each B between Q and N limit 2 emit Z(n = B.x)",
    "from B and each A(f > 0.5, x == B.x) within 0 from B emit P(x = A.x, f = A.f)",
)


def fed(running, case, cuts, singly=()):
    """What an engine tells when the stream comes in blocks, some of them event by event."""
    found, first = [], 0
    for block_of, last in enumerate((*cuts, len(case.events))):
        some, first = case.events[first:last], last
        try:
            if block_of in singly:
                raise LargeNumberError("not as a block")
            block = event_block(case.rules, some, running.texts.put)
        except LargeNumberError:
            found += [each for event in some for each in running.process(event)]
            continue
        for part in running.process_block(block, sources=True) if some else ():
            found += part if isinstance(part, list) else part.occurrences(case.rules)
    return found if case.until is None else found + running.advance(case.until)


def drawn(pool, rng, count):
    """A rule set of some rules of a pool."""
    texts = (f"rule r{i}: {each}" for i, each in enumerate(rng.sample(pool, count)))
    return parse_rules(TYPES + "\n".join(texts).replace("'", '"'))


ONE = "from B and each A within 5 from B emit P(x = A.x, f = A.f)"
TWO = "from N and each P within 4 from N emit Z(n = 1)"


FAR = """
rule far: from B and each A within 20 from B emit R(x = A.x)
rule near: from B and last N within 2 from B emit Q(x = B.x, s = B.s)
rule fed: from N and last Q within 5 from N emit Z(n = Q.x)
"""
FAR_EVENTS = [A(0, 1, 1.0), N(19), B(20, 7, "b"), N(25), N(26)]
"""Of rule `fed` the second slice needs no more than 7, and names what stands behind a composite of rule `far`."""


def split_of(*texts):
    return rule_split(parse_rules(TYPES + "\n".join(f"rule r{i}: {each}" for i, each in enumerate(texts))))


def test_what_cannot_be_split_says_why():
    unkeyed = split_of("from A and each B within 2 from A emit Z(n = B.x) consuming B").in_turn
    assert "`each B within 2 from A` needs an equation" in unkeyed
    assert unkeyed.endswith(", and rule 'r0' consumes events")
    counted = "from A[$x = x] and each B(x == $x) within 5 events from A emit Z(n = $x)"
    assert split_of(counted).in_turn.startswith("rule 'r0' counts events")
    again = "from Q[$x = x] and absent B(x == $x) within 2 after Q emit Q(x = $x, s = Q.s)"
    assert split_of(again).in_turn.startswith("rule 'r0' waits for an absence after an absence was reported")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("from A and each B within 2 from A emit Z(n = 1) consuming B", "'r0' consumes events"),
        ("from A emit Z(n = 1) at most once in 3", "'r0' is silent after each composite"),
        ("from A and absent B within 3 after A emit Z(n = 1)", "'r0' waits for an absence"),
        ("from A and not B within forever from A emit Z(n = 1)", "'r0' has an unbounded lookback"),
        ("from P and each A within 2 from P emit P(x = 1, f = 1.0)", "lead back to themselves: 'r0'"),
    ],
)
def test_time_is_not_cut_where_rules_remember_what_they_have_told(text, why):
    assert why in split_of(text).time.reason


def test_a_reach_is_the_longest_way_back_through_windows_and_through_rules():
    chain = "from A and last B within 5 from A and $n = COUNT(A within 7 from B) emit Q(x = $n, s = 's')"
    chain = chain.replace("'", '"')
    assert split_of(chain).time == TimeSplit(12)
    between = "from A and last B within 5 from A and not N between B and A emit R(x = 1)"
    fed = "from R and last Q within 4 from R and not R within 3 from Q emit Z(n = Q.x)"
    assert split_of(between).time == TimeSplit(5)
    assert split_of(chain, between, fed).time == TimeSplit(4 + 3 + 12, fed=True)


def test_work_is_shared_out_by_what_it_costs():
    assert balance_work([5.0, 1.0, 4.0, 2.0, 2.0], 2) == [[0, 4], [1, 2, 3]]
    assert balance_work([1.0], 3) == [[0]]


def test_threads_are_for_engines_that_have_them_and_their_state_stays_where_it_is():
    made = parse_rules(TYPES + "from A[$x = x] and each B(x == $x) within 5 from A emit Z(n = $x)")
    with pytest.raises(InputError, match="'gpu' has one thread"):
        rule_engine(made, "gpu", settings=EngineSettings(threads=2))
    running = rule_engine(made, "compiled", settings=EngineSettings(threads=2, plain=True))
    assert running.process(Occurrence("B", 1, (2**70, "b"))) == []
    with pytest.raises(Refused, match="not changed or saved"):
        running.snapshot()


def test_equal_keys_are_in_one_bucket() -> None:
    """In a block, in a part of it, and one by one; whole numbers and floats that are equal, and both zeros."""
    keyed = parse_rules("declare A(k: int) declare B(k: float) declare D(k: int) from A emit D(k = 1)")
    found = KeyBuckets(keyed, {"A": "k", "B": "k"}, lambda texts: [])
    values: list[tuple[str, Any]] = [
        ("A", 3), ("B", 3.0), ("A", 0), ("B", -0.0), ("B", 0.0), ("D", 3), ("A", 2**53 + 1), ("B", 2.0**53),
        ("B", float("nan")), ("A", None), ("B", None), ("B", 0.5), ("A", -7), ("B", -7.0),
    ]  # fmt: skip
    events = [Occurrence(name, time, (value,)) for time, (name, value) in enumerate(values)]
    block = event_block(keyed, events, lambda texts: [])
    whole = found.buckets_of(block).tolist()
    assert whole == found.buckets_of(join_blocks([block])).tolist()
    assert whole[5:11] == found.buckets_of(block.part(5, 11)).tolist()
    one_by_one = [found.bucket_of_event(event) for event in events]
    assert [each for each, event in zip(whole, events, strict=True) if event.type != "D"] == [
        each for each, event in zip(one_by_one, events, strict=True) if event.type != "D"
    ]
    for a, b in (0, 1), (2, 3), (3, 4), (6, 7), (12, 13):
        assert whole[a] == whole[b]
    assert whole[8] == whole[9] == whole[10] == 0
    assert len({whole[i] for i in (0, 2, 6, 11, 12)}) > 1
    owners = (np.arange(key_buckets.BUCKETS) % 3).astype(np.int8)
    assert found.owners_of(block, owners).tolist() == [bucket % 3 for bucket in whole]
