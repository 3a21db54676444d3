"""Rules with `--key` are the same rules that join on the key, with the one clock of the log."""

import json
from random import Random
from typing import Any

import pytest

import workbench as wb

KEYED = """declare C(n: int)
declare A(n: int)
declare Pair(n: int)
declare Gone(n: int)
declare Twice(n: int)
rule pair: from A as Now and last C(n == Now.n) within 20 from Now emit Pair(n = Now.n)
rule gone: from C as S and absent A(n == S.n) within 5 after S emit Gone(n = S.n)
rule twice: from Gone as G and absent C() within 3 after G emit Twice(n = G.n)
"""
JOINED = """declare C(k: string, n: int)
declare A(k: string, n: int)
declare Pair(k: string, n: int)
declare Gone(k: string, n: int)
declare Twice(k: string, n: int)
rule pair: from A as Now and last C(k == Now.k, n == Now.n) within 20 from Now emit Pair(k = Now.k, n = Now.n)
rule gone: from C as S and absent A(k == S.k, n == S.n) within 5 after S emit Gone(k = S.k, n = S.n)
rule twice: from Gone as G and absent C(k == G.k) within 3 after G emit Twice(k = G.k, n = G.n)
"""


def random_log(seed: int) -> list[dict[str, Any]]:
    random, time, rows = Random(seed), 0, []
    for _ in range(random.choice([5, 60, 400])):
        time += random.randrange(3)
        row = {"type": random.choice("AC"), "time": time, "n": random.randrange(3)}
        rows.append(row | {"k": random.choice("uvwxyz")})
    return rows


def lines_of(rows: Any) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("until", [{}, {"until": 10**6}], ids=str)
@pytest.mark.parametrize("backend", ["cdp", "aip", "compiled"])
@pytest.mark.parametrize("seed", range(3))
def test_keyed_rules_are_rules_that_join_on_the_key(seed: int, backend: str, until: Any) -> None:
    rows = random_log(seed)
    keyed = list(wb.run(wb.rules.parse_rules(KEYED), rows, key="k", backend=backend, **until))
    joined = list(wb.run(wb.rules.parse_rules(JOINED), rows, backend="cdp", **until))
    assert lines_of(keyed) == lines_of(joined)
    assert [row["time"] for row in keyed] == [row["time"] for row in joined]


def test_the_data_tell_what_a_key_is_that_nobody_declares() -> None:
    pa = pytest.importorskip("pyarrow")
    rows = [{"type": "C", "time": 1, "n": 1, "k": 7}, {"type": "C", "time": 20, "n": 1, "k": 8}]
    table, columns = pa.Table.from_pylist(rows), {name: [row[name] for row in rows] for name in rows[0]}
    found = wb.run(wb.rules.parse_rules(KEYED), table, key="k")
    assert found.schema.field("k").type == pa.int64()
    assert found.to_pylist()[0] == {"type": "Gone", "time": 6, "n": 1, "k": 7}
    assert wb.run(wb.rules.parse_rules(KEYED), columns, key="k")["k"] == [7, 7]
    with pytest.raises(wb.errors.InputError, match="nothing shows the type of the key 'j'"):
        wb.run(wb.rules.parse_rules(KEYED), table, key="j")


def test_the_clock_of_a_key_that_has_no_more_events_goes_on() -> None:
    rows = [{"type": "C", "time": time, "n": 1, "k": key} for time, key in ((1, "a"), (2, "b"), (7, "b"), (20, "c"))]
    found = wb.run(wb.rules.parse_rules(KEYED), rows, key="k")
    assert [(row["type"], row["time"], row["k"]) for row in found] == [
        ("Gone", 6, "a"), ("Gone", 7, "b"), ("Twice", 9, "a"), ("Twice", 10, "b"), ("Gone", 12, "b"),
        ("Twice", 15, "b"),
    ]  # fmt: skip
