"""What rules of complex events take, by engine, window, how many rules there are, and how many values tell them apart.

workbench lab run rules --where events=10000
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.core.domain import FLOAT, Value
from workbench.executors.table import rule_engines
from workbench.lab import Limits, NoData, Output, Region, Suite, fails, maximum, median, ok, only
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.lab.rule_runs import RULE_OUTPUTS, rule_run
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

suite = Suite(
    "rules",
    "What rules of complex events take",
    """
Times are processor time of the engine alone, which is fed event by event; the logs are made before. Memory is that of
the whole process, the log in it. The smaller size, `--where events=10000`, takes less than a minute.
""",
    depends=["models/tesla", "experiments/rule_models.py", "experiments/rule_loads.py"],
)
MODELS = Path(__file__).resolve().parents[1] / "models" / "tesla"
NAMES = ("fire", "columns", "scenario", "iteration", "cards", "queue", "stocks", "silence", "trend", "buses")
ENGINES = tuple(rule_engines())
EVENTS = (10_000, 100_000)
LIMITS = Limits(seconds=300, memory_mb=4000)
TYPES = "declare A{i}(att: int, value: int) declare B{i}(att: int, value: int) declare C{i}(att: int, value: int)\n"
SHAPES = {
    "each": "from C{i}[$x = att] and each B{i}(att == $x, value > 25000) within {window} from C{i} emit D(x = $x)",
    "last": "from C{i}[$x = att] and last B{i}(att == $x, value > 25000) within {window} from C{i} emit D(x = $x)",
    "average": "from C{i}[$x = att] and $v = AVG(B{i}(att == $x).value within {window} from C{i}) where $v > 25000.0"
    " emit D(x = $x)",
    "chain": "from C{i}[$x = att] and each B{i}(att == $x, value > 25000) within {window} from C{i}"
    " and last A{i}(att == $x) within {window} from B{i} emit D(x = $x)",
    "sum": "from C{i}[$x = att] and last B{i}(att == $x) within {window} from C{i} and last A{i}(att == $x) within"
    " {window} from B{i} and $s = SUM(A{i}(att == $x).value within {window} from B{i}) emit D(x = $s)",
}
"""Rules R1 to R5 of Cugola and Margara, on the types of their base scenario."""


def load() -> None:
    """Import what makes logs."""
    import experiments.rule_loads
    import experiments.rule_models  # noqa: F401


@cache
def base(events: int, types: int = 1, values: int = 50_000) -> Sequence[Occurrence]:
    """The base scenario: an event a tick, of types A0, B0, C0, A1, ..., attributes in 1..values.

    With one triple of types and 50,000 values it is the stream on which other engines have been measured.
    """
    if (types, values) == (1, 50_000):
        from experiments.rule_loads import uniform_log

        return list(uniform_log(events, 3, values, ("A0", "B0", "C0"), "att", "value").occurrences())
    import numpy as np

    rng = np.random.default_rng(42)
    kinds, att = rng.integers(0, 3 * types, events).tolist(), rng.integers(1, values + 1, events).tolist()
    value = rng.integers(1, 50_001, events).tolist()
    return [Occurrence(f"{'ABC'[k % 3]}{k // 3}", at, (att[at], value[at])) for at, k in enumerate(kinds)]


def shaped(shape: str, window: int, count: int = 1, types: int = 1) -> RuleSet:
    """So many rules of a shape, each about one of the triples of types."""
    declared = "declare D(x: int)\n" + "".join(TYPES.format(i=i) for i in range(types))
    return wb.rules.parse_rules(
        declared + "\n".join(SHAPES[shape].format(i=i % types, window=window) for i in range(count))
    )


def measured(rules: RuleSet, events: Sequence[Occurrence], engine: str, **others: Any) -> dict[str, Any]:
    """Twice: what it takes, and how many matches there are."""
    found = rule_run(rules, events, engine, settings=EngineSettings("us"), **others)
    counted = rule_run(rules, events, engine, settings=EngineSettings("us", profiled=True), **others)
    return {**found, "matches": counted["matches"]}


@suite.experiment(Region(model=NAMES, engine=ENGINES, events=EVENTS), limits=LIMITS, warm_up=load, outputs=RULE_OUTPUTS)
def models(model: str, engine: str, events: int) -> dict[str, Any]:
    """The rules of models/tesla, on logs that are made for them."""
    from experiments.rule_models import fact_rows, log_rows

    rules = wb.rules.load_rules(MODELS / f"{model}.tesla")
    facts = {
        name: [event_values(rules.declarations[name].domains, row) for row in rows]
        for name, rows in fact_rows().items()
        if name in rules.declarations
    }
    return measured(rules, rule_events(rules, log_rows(model, events)), engine, facts=facts)


def rule_events(rules: RuleSet, rows: Iterable[Mapping[str, Value | None]], time: str = "time") -> list[Occurrence]:
    """Rows of a log as events, each with its `type`; times are whole numbers, what is missing is null."""
    domains = {name: rules.declarations[name].domains for name in rules.events}
    found = []
    for row in rows:
        kind, at = row["type"], row[time]
        assert isinstance(kind, str)
        assert isinstance(at, int)
        found.append(Occurrence(kind, at, event_values(domains[kind], row)))
    return found


def event_values(domains: Mapping[str, Any], row: Mapping[str, Value | None]) -> tuple[Value | None, ...]:
    """The attributes of a row, in their order; whole numbers are floats where attributes are."""
    values = ((row.get(name), domain) for name, domain in domains.items())
    return tuple(float(value) if domain == FLOAT and isinstance(value, int) else value for value, domain in values)


def anchored(shape: str, window: int, events: int) -> dict[str, Any] | None:
    """What several other engines emit, too."""
    return {"composites": 1823} if (shape, window, events) == ("sum", 100_000, 100_000) else None


@suite.experiment(
    Region(shape=SHAPES, window=[1000, 10_000, 100_000], engine=ENGINES, events=EVENTS),
    limits=LIMITS, warm_up=load, expected=anchored, outputs=RULE_OUTPUTS,
)  # fmt: skip
def windows(shape: str, window: int, engine: str, events: int) -> dict[str, Any]:
    """Rules R1 to R5 on the base scenario, by the length of their windows in ticks."""
    return measured(shaped(shape, window), base(events), engine)


@suite.experiment(
    Region(rules=[1, 10, 100], engine=ENGINES, events=EVENTS), limits=LIMITS, warm_up=load,
    outputs=RULE_OUTPUTS,
)  # fmt: skip
def counts(rules: int, engine: str, events: int) -> dict[str, Any]:
    """So many rules like R2, window 10,000, ten triples of types: an event is of interest to a tenth of the rules."""
    return measured(shaped("last", 10_000, rules, 10), base(events, 10), engine)


@suite.experiment(
    Region(values=[10, 100, 1000, 10_000], engine=ENGINES, events=EVENTS), limits=LIMITS, warm_up=load,
    outputs={**RULE_OUTPUTS, "events_of_value": Output("events of a type with one value in a window, on average")},
)  # fmt: skip
def values(values: int, engine: str, events: int) -> dict[str, Any]:
    """R1 with a window of 1,000, by how many values tell events apart: the fewer there are, the more it finds."""
    found = measured(shaped("each", 1000), base(events, 1, values), engine)
    return found | {"events_of_value": 1000 / 3 / values}


CELLS = {"us": median("cost"), "MB": maximum("peak_mb"), "composites": only("composites")}
suite.table("models", of=models, rows=["model", "engine"], columns="events", cells=CELLS,
            title="The rules of models/tesla: processor time of an event")  # fmt: skip
suite.table("windows", of=windows, rows=["shape", "engine", "events"], columns="window", cells=CELLS,
            title="Rules R1 to R5 by the length of their windows")  # fmt: skip
suite.table("counts", of=counts, rows=["engine", "events"], columns="rules", cells=CELLS,
            title="By how many rules there are")  # fmt: skip
suite.table("values", of=values, rows=["engine", "events"], columns="values",
            cells={"us": median("cost"), "matches": only("matches")},
            title="By how many values tell events apart")  # fmt: skip
for _engine in ENGINES:
    suite.plot(f"windows-{_engine}", of=windows, x="window", y=median("cost"), series="shape", log="xy",
               where={"engine": _engine, "events": EVENTS[0]},
               title=f"{_engine}: time of an event by window")  # fmt: skip
suite.plot("counts", of=counts, x="rules", y=median("cost"), series="engine", log="xy", where={"events": EVENTS[0]},
           title="Time of an event by the number of rules")  # fmt: skip
suite.plot("values", of=values, x="values", y=median("cost"), series="engine", log="xy", where={"events": EVENTS[0]},
           title="Time of an event by the number of values")  # fmt: skip


@suite.claim("All engines emit the same composites in the same order, and find as many matches")
def same(data: Data) -> Judgement:
    results: dict[Any, set[Any]] = {}
    for name, experiment in suite.experiments.items():
        for row in data.rows(name, status="ok"):
            point = [(axis, row[axis]) for axis in experiment.region.axes if axis != "engine"]
            results.setdefault((name, *point), set()).add((row["checksum"], row["matches"]))
    differing = [point for point, found in results.items() if len(found) > 1]
    return fails(f"{len(differing)} differ: {differing[0]}") if differing else ok(f"{len(results)} runs")


@suite.claim("A window a hundred times as long costs cdp less than three times as much an event where equality selects")
def long_windows(data: Data) -> Judgement:
    """Of what has one partner at most: `last`, `sum`; columns are asked by key and searched in halves."""
    cost = {(row["shape"], row["events"], row["window"]): row["cost"] for row in data.rows(windows, engine="cdp")}
    pairs = [(cost.get((*which, 1000)), cost.get((*which, 100_000))) for which in product(("last", "sum"), EVENTS)]
    factors = [long / short for short, long in pairs if short and long]
    if not factors:
        raise NoData("windows of 1,000 and of 100,000")
    return (ok if max(factors) < 3 else fails)(f"x {min(factors):.1f} to {max(factors):.1f}")
