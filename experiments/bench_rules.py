"""Benchmark: the engines of rules side by side, in CPU microseconds an event, on the base scenario of their paper.

    python experiments/bench_rules.py [--events 100000] [--engines cdp aip] [--window 100000]

Rule R5 of Cugola and Margara: three types of events, attributes uniform in 1..50000, one event a tick. For 100,000
events and a window of 100,000 several engines agree on 1,823 matches, whose sums add up to 54,544,225; that is checked.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from workbench.tesla.check import rules
from workbench.tesla.engines.table import rule_engine, rule_engines
from workbench.tesla.occurrence import Occurrence

R5 = """
declare A(att: int, value: int)
declare B(att: int, value: int)
declare C(att: int, value: int)
declare CE(att1: int, att2: int)
from C[$x = att]
  and last B(att == $x) within {window} from C
  and last A(att == $x) within {window} from B
  and $s = SUM(A(att == $x).value within {window} from B)
emit CE(att1 = $x, att2 = $s)
"""
ANCHOR = (1823, 54_544_225)


def events(count: int) -> Iterator[Occurrence]:
    """The stream; shorter ones are its first events."""
    rng, most = np.random.default_rng(42), 1_000_000
    kinds = rng.integers(0, 3, most)[:count]
    att = rng.integers(1, 50001, most)[:count]
    value = rng.integers(1, 50001, most)[:count]
    for at, (kind, *values) in enumerate(zip(kinds.tolist(), att.tolist(), value.tolist(), strict=True)):
        yield Occurrence("ABC"[kind], at, tuple(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--window", type=int, default=100_000)
    parser.add_argument("--engines", nargs="+", default=list(rule_engines()))
    given = parser.parse_args()
    stream = list(events(given.events))
    for name in given.engines:
        engine = rule_engine(rules(R5.format(window=given.window)), name)
        began = time.process_time()
        found = [composite for event in stream for composite in engine.process(event)]
        seconds = time.process_time() - began
        result = len(found), sum(int(composite.values[1] or 0) for composite in found)
        if (given.events, given.window) == (100_000, 100_000):
            assert result == ANCHOR, result
        print(f"{name:6} {seconds:8.2f} s {1e6 * seconds / given.events:8.1f} us an event; matches, sums: {result}")


if __name__ == "__main__":
    main()
