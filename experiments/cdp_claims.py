"""What figures 8 to 16 of Cugola and Margara claim, judged on what suite `cdp2012` has measured.

The rule of this module: a claim is judged by what it is about. What the paper's algorithm does, which looks through
columns, is judged by machine code that does so (`compiled scanning`), at full size; `cdp` and `aip`, which scan in
Python at a tenth of it, stand beside. What an index changes is judged by the code that has one. Each claim tells what
the paper has of it, and what is not reproduced, and why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from experiments.cdp_curves import (
    MACHINE_CODE,
    both,
    curves,
    each_of,
    growth,
    judged,
    scanned,
    slope,
    spread,
    straightness,
    told,
)
from experiments.device_models import DEVICES, scanning_cost
from workbench.lab import fails, ok
from workbench.lab.claim import Judge, Judgement, NoData
from workbench.lab.data import Data

CLAIMS: list[tuple[str, Judge]] = []
"""The statements, and what judges them."""
POLICIES = ("each", "last")
REACHES = 10 / 3
"""How often an event reaches for memory that may be anywhere, at most: see `does_not_grow`."""
IN_PYTHON = (
    "AIP is there in Python only, where an instance with another key is passed over by a comparison, a candidate in a"
    " column by a call, and with `last` instances are copied that nothing comes of"
)


def claim(text: str) -> Callable[[Judge], Judge]:
    """A statement of the suite."""

    def add(judge: Judge) -> Judge:
        CLAIMS.append((text, judge))
        return judge

    return add


def aip_by_cdp(data: Data, experiment: str, axis: str) -> dict[str, dict[float, float]]:
    """How many times as much AIP takes as CDP, both in Python at a tenth of the size, by policy and axis."""
    us = curves(data, experiment, axis, "tenth", [f"{name} scanning {p}" for name in ("aip", "cdp") for p in POLICIES])
    return {
        policy: {at: us[f"aip scanning {policy}"][at] / cost for at, cost in us[f"cdp scanning {policy}"].items()}
        for policy in POLICIES
    }


# --- figure 8: the base scenario -------------------------------------------------------------------------------------


def at_base(data: Data, size: str) -> dict[str, float]:
    """Line to microseconds in the base scenario."""
    return {row["line"]: row["us"] for row in data.rows("base", status="ok", size=size)}


@claim("CDP is slightly faster than AIP (figure 8)")
def cdp_and_aip(data: Data) -> Judgement:
    us = at_base(data, "tenth")
    ratios = {policy: us[f"aip scanning {policy}"] / us[f"cdp scanning {policy}"] for policy in POLICIES}
    words = "AIP by CDP: " + told(ratios)
    return judged(min(ratios.values()) > 1, words, paper="slightly above 1 with both policies", why=IN_PYTHON)


@claim("The selection policy makes little difference in the base scenario (figure 8)")
def policies(data: Data) -> Judgement:
    us, python = at_base(data, "full"), at_base(data, "tenth")
    ratio = us["compiled scanning each"] / us["compiled scanning last"]
    beside = {name: python[f"{name} scanning each"] / python[f"{name} scanning last"] for name in ("cdp", "aip")}
    return judged(
        0.5 < ratio < 2, f"each by last: compiled scanning {ratio:.2f}; in Python, at a tenth: {told(beside)}",
        paper="small; T-Rex 1.22", why="few matches are few sequences to go on with",
        because="`last` stops at the first event that fits, which in most columns there is none of",
    )  # fmt: skip


# --- figure 9: the length of sequences -------------------------------------------------------------------------------


@claim("Longer sequences cost less, since each state has fewer events (figure 9)")
def lengths(data: Data) -> Judgement:
    code, words = both(slope, scanned(data, "length", "states"))
    return judged(
        max(code.values()) < 0, "slopes: " + words, paper="decreases", why="more states are more columns",
        because="of k types one in k triggers, and looks through a k-th of the window: -2, were that all",
    )  # fmt: skip


@claim("The speed-up of CDP over AIP does not depend on the length of sequences (figure 9b)")
def same_for_lengths(data: Data) -> Judgement:
    return constant(aip_by_cdp(data, "length", "states"))


def constant(ratios: dict[str, dict[float, float]]) -> Judgement:
    """Whether ratios are the same within a factor of two all over an axis."""
    words = "; ".join(f"{p}: " + ", ".join(f"{at:,}: {each:.2f}" for at, each in r.items()) for p, r in ratios.items())
    stands = all(max(each.values()) < 2 * min(each.values()) for each in ratios.values())
    return judged(stands, "AIP by CDP, " + words, paper="constant", why=IN_PYTHON)


# --- figure 10: the size of windows ----------------------------------------------------------------------------------


@claim("The cost grows with the window where it is scanned (figure 10)")
def grows(data: Data) -> Judgement:
    code, words = both(slope, scanned(data, "windows", "window"))
    return judged(
        min(code.values()) > 0.5, "slopes: " + words, paper="grows; T-Rex 1.44 with `each`, 1.29 with `last`",
        why="small windows cost what an event costs anyway",
        because="above 1 with `each`, since longer windows have more matches, too",
    )  # fmt: skip


@claim("The speed-up of CDP over AIP does not depend on the window (figure 10b)")
def same_for_windows(data: Data) -> Judgement:
    return constant(aip_by_cdp(data, "windows", "window"))


@claim("With an index a rule of equalities does not grow with the window, but for the processor's cache")
def does_not_grow(data: Data) -> Judgement:
    """For as many matches in each window, and 250 times as much memory.

    What an event takes more is held against how much longer it takes to reach memory of the sizes of the windows
    (`memory`). A trigger reaches at most for an entry of an index and an event in two columns, and for two sums; the
    two others for an entry and the last event of their key: 10 in three events. More the cache does not explain.
    """
    found = curves(data, "alike", "window", "full", ["compiled each", "compiled last"])
    ns = {row["window"]: row["ns"] for row in data.rows("memory", status="ok")}
    wait = ns[max(ns)] - ns[min(ns)]
    more = {line: 1000 * (each[max(each)] - each[min(each)]) for line, each in found.items()}
    reaches = {line: each / wait for line, each in more.items()}
    longer = {line: each[max(each)] / each[min(each)] for line, each in found.items()}
    words = (
        f"slopes {told(each_of(slope, found))}, {told(longer, '.1f')} times from {min(ns):,} to {max(ns):,} ticks:"
        f" {told(more, '.0f')} ns, the time of {told(reaches, '.1f')} reaches for memory ({wait:.0f} ns more each)"
    )
    stands = max(reaches.values()) <= REACHES and max(each_of(slope, found).values()) < 0.25
    why = f"an event reaches for memory {REACHES:.1f} times at most, which explains a part of it only"
    return judged(stands, words, paper="no index: T-Rex's slopes are 1.44 and 1.29", why=why)


@claim("With as many values as before, longer windows cost an index their matches")
def more_matches(data: Data) -> Judgement:
    found = curves(data, "windows", "window", "full", ["compiled each", "compiled last"])
    slopes = each_of(slope, found)
    why = "more than in proportion to the window"
    return judged(max(slopes.values()) < 0.6, "slopes: " + told(slopes), paper="T-Rex 1.44 and 1.29", why=why)


@claim("The last event in a band does not cost more in proportion to the window")
def banded_windows(data: Data) -> Judgement:
    found = each_of(slope, curves(data, "bands", "window", "full"))
    compiled_ones = [number for line, number in found.items() if line.startswith("compiled") and line.endswith("last")]
    return judged(max(compiled_ones) < 0.5, "slopes: " + told(found), why="bands are wider than they need be")


@claim("Which of two constraints is written first makes no difference of a tenth to machine code")
def any_order(data: Data) -> Judgement:
    rows = data.rows("ordered", status="ok", size="full", line="compiled each")
    us = {(row["constraints"], row["first"]): row["us"] for row in rows}
    ratios = {each: us[each, "least"] / us[each, "most"] for each, first in us if first == "least"}
    why = "they are evaluated in the order in which they are written, where one takes as long as the other"
    return judged(max(ratios.values()) < 1.1, "least by most: " + told(ratios), why=why)


# --- figures 11 and 12: values and aggregates ------------------------------------------------------------------------


@claim("With `each` more values cost less (figure 11)")
def by_values(data: Data) -> Judgement:
    code, words = both(slope, scanned(data, "values_", "values"))
    return judged(
        code["compiled scanning each"] < 0, "slopes: " + words, paper="decreases",
        why="there are few matches in any case",
    )  # fmt: skip


@claim("With `last` the number of values makes no difference of half from 10,000 on (figure 11)")
def by_values_last(data: Data) -> Judgement:
    """The paper's figure begins at about 10,000; below, events that fit are near.

    Candidates are counted from probabilities: of n in a column those up to the first that fits are looked at; where
    there is one so are those of the next column, and in the end all of the aggregate's. What they take is told by
    figure 12, where aggregates are left out, for the 50,000 values of the base scenario.
    """
    code, python = scanned(data, "values_", "values")
    found, beside = code["compiled scanning last"], {k: each for k, each in python.items() if k.endswith("last")}
    some = some_of(found)
    of_columns, of_sums = ({values: candidates(100_000 / 3, values)[at] for values in some} for at in (0, 1))
    by_sums = curves(data, "aggregates_", "aggregates", "full", ["compiled scanning last"])["compiled scanning last"]
    ns = 3000 * by_sums[0] / of_columns[50_000], 3000 * (by_sums[1] - by_sums[0]) / of_sums[50_000]
    counted = {values: of_columns[values] + of_sums[values] for values in some}
    timed = {values: ns[0] * of_columns[values] + ns[1] * of_sums[values] for values in some}
    words = "; ".join(f"{at:,}: {us:.1f} µs, {counted[at]:,.0f} candidates" for at, us in some.items())
    ratio = spread(some)
    return judged(
        ratio < 1.5, f"most by least {ratio:.2f} ({words}); of candidates {spread(counted):.2f}, of the time for them"
        f" {spread(timed):.2f}, at {ns[0]:.2f} ns in a column and {ns[1]:.2f} in an aggregate;"
        f" in Python, at a tenth: {told({line: spread(some_of(each)) for line, each in beside.items()})}",
        paper="constant", why="where often none fits fewer are looked at again, above all fewer of the aggregate, which"
        " cost machine code more than others",
    )  # fmt: skip


def some_of(points: Mapping[float, float]) -> dict[float, float]:
    """From 10,000 values on."""
    return {values: us for values, us in points.items() if values >= 10_000}


def candidates(column: float, values: float) -> tuple[float, float]:
    """How many events of two columns, and of the aggregate, a trigger of R5 with `last` looks at on average."""
    fits = 1 - math.exp(-column / values)
    until_first = values * fits
    return until_first + fits * until_first, fits**2 * column


@claim("Aggregates cost little, since few sequences are complete (figure 12)")
def by_aggregates(data: Data) -> Judgement:
    code, words = both(growth, scanned(data, "aggregates_", "aggregates"))
    return judged(
        max(code.values()) < 2, "3 by none: " + words, paper="marginally more",
        why="each is another column that is filled and looked through",
        because="each sequence that is complete looks through one column more for each of them",
    )  # fmt: skip


# --- figures 13 to 16: many rules ------------------------------------------------------------------------------------


def gains(data: Data, rules: int, lines: Sequence[str]) -> dict[str, float]:
    """How many times as many events two threads take.

    Raises
    ------
    NoData: the machine was busy: wall-clock times say nothing then.
    """
    rows = [row for row in data.rows("threads_", status="ok", size="full", rules=rules) if row["line"] in lines]
    if not all(row["reliable"] for row in rows):
        raise NoData("measured on a busy machine: wall-clock times say nothing")
    rate = {(row["line"], row["threads"]): row["events_s"] for row in rows}
    return {line: rate[line, 2] / rate[line, 1] for line in lines}


@claim("Rules dealt out to two threads are faster where there are many (figure 13)")
def by_threads(data: Data) -> Judgement:
    many, one = gains(data, 200, MACHINE_CODE), gains(data, 1, MACHINE_CODE)
    return judged(
        min(many.values()) > 1.5, f"200 rules: {told(many)}; one: {told(one)}", paper="below 2.5 on six cores",
        why="both threads look at each event, and share the memory's width",
    )  # fmt: skip


@claim("With an index 200 rules dealt out to two threads are 1.7 times as fast")
def by_threads_indexed(data: Data) -> Judgement:
    found = {rules: gains(data, rules, ["compiled each", "compiled last"]) for rules in (50, 200)}
    words = "; ".join(f"{rules} rules: {told(each)}" for rules, each in found.items())
    why = "each thread looks at every event; `--threads 2` shares keys or time instead (`experiments/rule_threads.py`)"
    return judged(min(found[200].values()) >= 1.7, words, why=why)


@claim("The cost grows linearly with the number of rules, a tenth of them relevant (figure 14)")
def by_rules(data: Data) -> Judgement:
    return linear(data, "rules_")


@claim("The cost grows linearly with the number of simple rules, a hundredth of them relevant (figure 15)")
def by_simple_rules(data: Data) -> Judgement:
    return linear(data, "simple")


def linear(data: Data, experiment: str) -> Judgement:
    """Whether a straight line, which need not go through zero, fits."""
    found = scanned(data, experiment, "rules")
    code, words = both(straightness, found)
    slopes = told(each_of(slope, found[0]))
    return judged(
        min(code.values()) > 0.97, f"correlation: {words}; slopes of the logarithms: {slopes}", paper="linear",
        why="columns outgrow the cache", because="what an event costs without rules flattens the logarithms",
    )  # fmt: skip


@claim("With an index 200 rules, a tenth of them relevant, take less than 5 µs an event")
def by_rules_indexed(data: Data) -> Judgement:
    found = curves(data, "rules_", "rules", "full", ["compiled each", "compiled last"])
    words = "; ".join(f"{line}, {n} rules: {each[n]:.2f}" for line, each in found.items() for n in sorted(each))
    worst = max(each[200] for each in found.values())
    return (ok if worst < 5 else fails)(f"{words} µs; T-Rex: 2,848 and 2,644 for 200")


@claim("10,000 rules with constants, a thousandth relevant, take less than 5 µs an event and load in seconds")
def by_constants(data: Data) -> Judgement:
    rows = [
        row for row in data.rows("constants_", status="ok", size="full", rules=10_000)
        if row["line"].startswith("compiled")
    ]  # fmt: skip
    us = {row["line"]: row["us"] for row in rows}
    loading = max(row["load_s"] for row in rows)
    words = f"{told(us)} µs; loading {loading:.0f} s"
    return (ok if us["compiled last"] < 5 and loading < 60 else fails)(words)


@claim("Many matches cost much more than the base scenario (figure 16)")
def by_matches(data: Data) -> Judgement:
    found, _ = scanned(data, "accepted_", "accepted")
    line = MACHINE_CODE[0]
    base, least = at_base(data, "full")[line], min(found[line].values())
    return judged(least > 1.5 * base, f"{line}: {least:.0f} µs for {base:.0f}", paper="significantly more")


@claim("What part of the matches is accepted makes little difference on a CPU (figure 16)")
def by_acceptance(data: Data) -> Judgement:
    found = scanned(data, "accepted_", "accepted")
    code, words = both(growth, found)
    indexed = each_of(growth, curves(data, "accepted_", "accepted", "full", ["compiled each"]))
    return judged(
        max(code.values()) < 2, f"0.9 by 0.0001: {words}; with an index: {told(indexed)}",
        paper="nearly the same", why="composites are made of what is accepted",
        because="composites cost little beside candidates; with an index they are most of what is left",
    )  # fmt: skip


# --- a GPU, as modelled ----------------------------------------------------------------------------------------------


@claim("The model of the GTX 460 costs the same for all small windows, and then grows (figure 10)")
def model(data: Data) -> Judgement:
    us = {row["window"]: row["us"] for row in data.rows("gpu_model", device="GTX 460", policy="each", rules=1)}
    words = ", ".join(f"{window:,}: {each:.1f} µs" for window, each in us.items())
    stands = us[4_000] < 1.1 * us[1_000] and us[250_000] > 2 * us[1_000]
    return judged(stands, words, paper="17 µs at first", why="see its constants")


@claim("A GPU that scans, as modelled, is worth it from windows of 4,000 on (figure 10)")
def gpu_worth(data: Data) -> Judgement:
    """Against machine code that scans, and against T-Rex, which is what the paper had."""
    us = curves(data, "windows", "window", "full", ["compiled scanning each"])["compiled scanning each"]
    gpu = {window: scanning_cost(DEVICES["GTX 460"], "each", int(window), 1)["us"] for window in us}
    from_here = [window for window in us if us[window] > gpu[window]]
    words = "; ".join(f"{window:,}: {us[window]:.1f} µs, modelled {gpu[window]:.1f}" for window in us)
    return judged(
        bool(from_here) and min(from_here) <= 5_000, words, paper="4,000; T-Rex 7.8 µs at 1,000, 117 at 10,000",
        why="machine code takes a fiftieth or less of T-Rex's time, and a kernel is started in what it took in 2011",
    )  # fmt: skip


@claim("For equalities an index on one core is worth more than a GPU that scans, as modelled")
def index_or_gpu(data: Data) -> Judgement:
    """In the base scenario; the model is that of the H100."""
    us = {line: each for line, each in at_base(data, "full").items() if line in ("compiled each", "compiled last")}
    line, best = min(us.items(), key=lambda item: item[1])
    of_gpu = min(row["us"] for row in data.rows("gpu_model", device="H100", window=100_000, rules=1))
    return judged(best < of_gpu, f"{line} {best:.2f} µs, modelled {of_gpu:.1f} µs", why="see the model")
