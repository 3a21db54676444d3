"""The lab of TIME 2021: Bédard and Hallé, Model Checking of Stream Processing Pipelines, section 5.

Its 162 problems are combinations of the queue sizes, domain sizes and values of k below; which ones, the paper does not
say. The suite has all combinations.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.lab import Beside, Limits, Output, Region, Suite, fails, maximum, median, number, ok, only, total, warns
from workbench.lab.claim import Judgement, NoData
from workbench.lab.data import Data
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.equivalence import EquivalenceMode

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models" / "time2021"

suite = Suite(
    "time2021",
    "The lab of TIME 2021: model checking of stream processing pipelines",
    """
Every pipeline of the paper's section 5, for Q = 1..4, N = 2..5 and k = 2..5 wherever its constants are in the domain,
with each property; the comparisons; the reachable states. Times are CPU time of the whole process tree for one check,
crawling, printing, model checking and replaying the counterexample included, the engine being loaded before.

Beside ours stand the figures of the paper (nuXmv 2.0.0, Xeon 3.6 GHz, as printed in its Figure 7) and those of the
peer, symbolic-beepbeep, its published successor (NuSMV 2.5.4, static variable order, time-out 120 s): both quoted, not
measured here. The authors' lab calls "sum on window of 3" what multiplies; we have both pipelines. The verdicts differ
where the peer's models do not do what the pipeline does (for example, its "sum of odds" is not connected to the output,
and its "full queue" counts a window's own buffer).
""",
    depends=["models/time2021"],
)

FILES = {
    "Passthrough": "passthrough",
    "Output if smaller than k": "output_if_smaller_than_k",
    "Product of 1 and k-th": "product_of_1_and_kth",
    "Product on window of 3": "product_on_window_of_3",
    "Sum on window of 3": "sum_on_window_of_3",
    "Sum of doubles": "sum_of_doubles",
    "Sum of odds": "sum_of_odds",
    "Sum of 1s on window": "sum_of_ones_on_window",
}
WITH_K = ("Output if smaller than k", "Product of 1 and k-th", "Sum of 1s on window")
WITHOUT_QUEUES = ("Passthrough", "Product on window of 3", "Sum on window of 3", "Sum of 1s on window")
PAIRS = {
    "Window sum of 2, two implementations": ("window_sum_of_2", "window_sum_of_2", "trim_sum_of_2"),
    "Window sum of 3, two implementations": ("window_sum_of_3", "window_sum_of_3", "trim_sum_of_3"),
    "Passthrough against delay": ("passthrough_against_delay", "passthrough_against_delay", "delay"),
}
PROPERTIES = {
    "no full queues": wb.properties.no_full_queues(),
    "liveness": wb.properties.liveness(),
    "bounded liveness": wb.properties.bounded_liveness(3),
}
NO_K = 0
"""The value of k where a pipeline has none."""
MODES = ("stepwise", "sequence")


def smallest_n(query: str, k: int) -> int:
    """The smallest domain 0..N-1 with the pipeline's constants in it."""
    return {"Output if smaller than k": k + 1, "Sum of 1s on window": k + 1, "Sum of doubles": 3}.get(query, 2)


def impossible(query: str, n: int, k: int) -> bool:
    """Points that no model has."""
    return (k != NO_K) != (query in WITH_K) or n < smallest_n(query, k)


REGION = Region(query=FILES, property=PROPERTIES, n=range(2, 6), q=range(1, 5), k=[NO_K, 2, 3, 4, 5]).excluding(
    impossible
)
LIMITS = Limits(seconds=120, memory_mb=2048)
OUTPUTS = {
    "verdict": Output("what was decided", kind=str),
    "engine": Output("who decided", kind=str),
    "shortest": Output("whether no shorter counterexample exists; nothing where there is none", kind=bool),
    "confirmed": Output(
        "whether the counterexample was confirmed by execution; nothing where there is none", kind=bool
    ),
}


@cache
def pipeline(file: str, name: str | None = None, k: int = NO_K) -> wb.Pipeline:
    """A pipeline of models/time2021."""
    parameters = {} if k == NO_K else {"k": k}
    found: wb.Pipeline = wb.read_file(MODELS / f"{file}.pipe").get(name, **parameters).pipeline
    return found


def load() -> None:
    """Start the engine, and read every pipeline."""
    wb.check(pipeline("sum_of_odds"), wb.properties.liveness(), wb.Settings(engine="pynusmv"))
    for file in FILES.values():
        pipeline(file)


def told(verdict: Verdict) -> dict[str, Any]:
    """A verdict as outputs."""
    trace = verdict.counterexample
    return {
        "verdict": str(verdict.outcome),
        "engine": verdict.engine,
        "shortest": None if trace is None else trace.shortest,
        "confirmed": None if trace is None else bool(trace.replay) and not trace.gap,
    }


def known(query: str, property: str, q: int, k: int) -> dict[str, Any] | None:
    """Verdicts that follow from what the pipelines do (models/time2021 says what that is)."""
    grows = query == "Product of 1 and k-th"  # the events that wait for the decimated branch grow without bound
    if property == "liveness":
        return {"verdict": "holds-within-bounds" if grows else "holds"}
    if property == "no full queues":
        full = grows or (query == "Sum of odds" and q == 1)  # one count waits for the next one
        return {"verdict": "fails" if full else "holds"}
    if k == 5 and query == "Sum of 1s on window":  # silent for the first four steps
        return {"verdict": "fails"}
    if k == 5 and grows and q == 4:  # silent for four steps, in which four events wait
        return {"verdict": "fails"}
    return {"verdict": "holds-within-bounds" if grows else "holds"}


def checked(query: str, property: str, n: int, q: int, k: int) -> Verdict:
    """The verdict on a point of `check`."""
    settings = wb.Settings(n=n, q=q, engine="pynusmv")
    verdict: Verdict = wb.check(pipeline(FILES[query], k=k), PROPERTIES[property], settings)
    return verdict


def check_page(query: str, property: str, n: int, q: int, k: int) -> str:
    """The pipeline's drawing and the run that shows the verdict, where there is one."""
    page: str = wb.explorer([checked(query, property, n, q, k)])
    return page


@suite.experiment(
    REGION, limits=LIMITS, repeat=3, persistent=True, warm_up=load, expected=known, page=check_page, outputs=OUTPUTS
)
def check(query: str, property: str, n: int, q: int, k: int) -> dict[str, Any]:
    """A property of a pipeline; k = 0 where the pipeline has no k. Bounded liveness is for 3 steps."""
    return told(checked(query, property, n, q, k))


COMPARED = Region(query=[*FILES, *PAIRS], mode=MODES, n=range(2, 6), q=[2]).excluding(
    lambda query, n: n < smallest_n(query, 3)
)


def compared(query: str, mode: EquivalenceMode, n: int, q: int) -> Verdict:
    """The verdict on a point of `compare`."""
    file, left, right = PAIRS.get(query, (FILES.get(query, ""), None, None))
    k = 3 if query in WITH_K else NO_K
    sides = pipeline(file, left, k), pipeline(file, right, k)
    return wb.equiv(*sides, mode, wb.Settings(n=n, q=q, engine="pynusmv"))


def compare_page(query: str, mode: EquivalenceMode, n: int, q: int) -> str:
    """The drawing of both, and the run on which they differ, where there is one."""
    page: str = wb.explorer([compared(query, mode, n, q)])
    return page


@suite.experiment(COMPARED, limits=LIMITS, repeat=3, persistent=True, warm_up=load, page=compare_page, outputs=OUTPUTS)
def compare(query: str, mode: EquivalenceMode, n: int, q: int) -> dict[str, Any]:
    """Two pipelines side by side: two copies of one, or two implementations."""
    return told(compared(query, mode, n, q))


@suite.experiment(
    Region(query=FILES, n=range(2, 6), q=range(1, 5)).excluding(lambda query, n: n < smallest_n(query, 3)),
    limits=LIMITS, persistent=True, warm_up=load, states=Output("reachable states of the pipeline's model", kind=int),
)  # fmt: skip
def reach(query: str, n: int, q: int) -> dict[str, Any]:
    """The reachable states, counted by the model checker on a property that looks at the output and its value."""
    k = 3 if query in WITH_K else NO_K
    whole = wb.properties.property_from(wb.properties.parse_property("ltl(G (out.present -> out >= 0))"))
    settings = wb.Settings(n=n, q=q, engine="pynusmv", count_states=True)
    return {"states": wb.check(pipeline(FILES[query], k=k), whole, settings).reachable_states}


# --- known figures --------------------------------------------------------------------------------------------

PAPER = "TIME 2021, Figure 7, milliseconds; its columns give no N"
PEER = "symbolic-beepbeep on NuSMV 2.5.4, CPU time in milliseconds; > 120000 is a time-out"


def by(keys: list[Any], rows: dict[str, tuple[float | None, ...]], scale: float = 1) -> dict[Any, float | None]:
    """Figures by query and another value."""
    return {
        (query, key): None if figure is None else figure * scale
        for query, figures in rows.items()
        for key, figure in zip(keys, figures, strict=True)
    }


ALL = list(PROPERTIES)
PAPER_A = by(ALL, {
    "Output if smaller than k": (53, 56, 88), "Passthrough": (24, 25, 26), "Product of 1 and k-th": (387, 342, 1139),
    "Sum of 1s on window": (1317, 1330, 5231), "Sum of doubles": (1269, 1116, 11220), "Sum of odds": (612, 526, 2075),
    "Sum on window of 3": (4842, 4948, 15641),
})  # fmt: skip
PEER_A = by(ALL, {
    "Passthrough": (0.01, 0.01, 0.01), "Output if smaller than k": (0.08, 0.12, 0.15),
    "Product of 1 and k-th": (0.31, 0.25, 0.37), "Product on window of 3": (0.12, 0.09, 0.18),
    "Sum of doubles": (0.08, 0.10, 0.11), "Sum of odds": (1.0, 3.5, 4.5), "Sum of 1s on window": (3.7, 1.0, 7.3),
}, 1000)  # fmt: skip
PAPER_B = by([1, 2, 3, 4], {
    "Sum of odds": (719, 2992, 2249, 8207), "Sum of 1s on window": (4761, 4525, 4513, 4458),
    "Passthrough": (23, 23, 24, 23), "Sum of doubles": (175, 1694, 17012, 95619),
    "Product of 1 and k-th": (78, 206, 823, 4158), "Sum on window of 3": (23216, 23385, 22901, 23018),
    "Output if smaller than k": (49, 58, 67, 95),
})  # fmt: skip
PEER_B = by([1, 2, 3, 4], {
    "Passthrough": (0.01, 0.01, 0.01, 0.01), "Output if smaller than k": (0.04, 0.09, 0.15, 0.27),
    "Product of 1 and k-th": (0.10, 0.74, 11.2, None), "Product on window of 3": (0.11, 0.10, 0.11, 0.09),
    "Sum of doubles": (0.07, 0.11, 0.10, 0.16), "Sum of odds": (0.79, 1.3, 16.7, None),
    "Sum of 1s on window": (4.0, 3.9, 3.8, 3.2),
}, 1000)  # fmt: skip
PAPER_C = by(list(MODES), {
    "Passthrough": (26, 34), "Passthrough against delay": (31, 44), "Product of 1 and k-th": (176, 450),
    "Sum of 1s on window": (2085, 10868), "Sum of odds": (1259, 1423), "Sum on window of 3": (468, 10966),
    "Window sum of 2, two implementations": (488, 963), "Window sum of 3, two implementations": (16107, 116959),
})  # fmt: skip
PEER_C = by(list(MODES), {
    "Passthrough": (0.01, 0.03), "Product on window of 3": (0.63, 3.0), "Product of 1 and k-th": (None, None),
    "Sum of 1s on window": (None, None), "Sum of odds": (None, None),
    "Window sum of 2, two implementations": (0.29, 0.41), "Window sum of 3, two implementations": (16.6, None),
    "Passthrough against delay": (0.03, 0.08),
}, 1000)  # fmt: skip
PEER_STATES: dict[Any, float | None] = {
    ("Passthrough",): 6, ("Output if smaller than k",): 30, ("Product of 1 and k-th",): 868, ("Sum of odds",): 216,
    ("Product on window of 3",): 186, ("Sum of doubles",): 30, ("Sum of 1s on window",): 7860,
}  # fmt: skip


def beside(axes: tuple[str, ...], paper: dict[Any, float | None], peer: dict[Any, float | None]) -> list[Beside]:
    """The paper's and the peer's figures."""
    return [
        Beside("paper", axes, paper, "ms", source=PAPER),
        Beside("peer", axes, peer, "ms", missing="> 120000", source=PEER),
    ]


# --- tables and plots -----------------------------------------------------------------------------------------

CPU = median("cpu_seconds").as_("ms", 1000)
CELLS = {"ours": CPU, "verdict": only("verdict")}
USUAL_K = [NO_K, 3]

suite.table(
    "properties", of=check, rows="query", columns="property", cells=CELLS, where={"n": 4, "q": 2, "k": USUAL_K},
    beside=beside(("query", "property"), PAPER_A, PEER_A), title="Figure 7a: the property (N = 4, Q = 2, k = 3)",
)  # fmt: skip
suite.table(
    "queues", of=check, rows="query", columns="q", cells=CELLS,
    where={"n": 5, "property": "no full queues", "k": USUAL_K},
    beside=beside(("query", "q"), PAPER_B, PEER_B), title="Figure 7b: queue size, no full queues (N = 5, k = 3)",
)  # fmt: skip
suite.table(
    "comparisons", of=compare, rows="query", columns="mode", cells=CELLS, where={"n": 4},
    beside=beside(("query", "mode"), PAPER_C, PEER_C),
    title="Figure 7c: implementations compared (N = 4, Q = 2; the peer: N = 2)",
)  # fmt: skip
for name in ("liveness", "bounded liveness", "no full queues"):
    suite.table(
        f"domains-{name.replace(' ', '-')}", of=check, rows="query", columns="n", cells=CELLS,
        where={"property": name, "q": 3, "k": USUAL_K}, title=f"Impact of domain size, {name} (Q = 3, k = 3)",
    )  # fmt: skip
suite.table(
    "k", of=check, rows=["query", "property"], columns="k", cells=CELLS, where={"n": 5, "q": 2, "query": WITH_K},
    title="Impact of parameter k (N = 5, Q = 2)",
)  # fmt: skip
suite.table(
    "comparisons-by-domain", of=compare, rows=["query", "mode"], columns="n", cells=CELLS,
    title="Implementations compared, by domain size (Q = 2)",
)  # fmt: skip
suite.table(
    "states", of=reach, rows="query", cells={"states": maximum("states")}, where={"n": 4, "q": 2},
    beside=[Beside("peer", ("query",), PEER_STATES, source="symbolic-beepbeep, N = 4, Q = 2, k = 3")],
    title="Reachable states (N = 4, Q = 2, k = 3)",
    doc="Of the cone of influence of the output; an environment that may send nothing is included.",
)  # fmt: skip
suite.table(
    "states-by-q", of=reach, rows="query", columns="q", cells={"states": maximum("states")}, where={"n": 5},
    title="Reachable states by queue size (N = 5, k = 3)",
)  # fmt: skip
suite.table(
    "totals", of=check, rows="property", cells={"measured": number(), "CPU, s": total("cpu_seconds"),
    "slowest, ms": maximum("cpu_seconds").as_("ms", 1000), "most memory, MB": maximum("peak_mb")},
    title="All checks, three times each",
)  # fmt: skip
suite.plot(
    "queues-plot", of=check, x="q", y=CPU, series="query", log="y",
    where={"n": 5, "property": "no full queues", "k": USUAL_K}, title="CPU time by queue size, no full queues (N = 5)",
)  # fmt: skip
suite.plot(
    "domains-plot", of=check, x="n", y=CPU, series="query", log="y",
    where={"q": 3, "property": "liveness", "k": USUAL_K}, title="CPU time by domain size, liveness (Q = 3)",
)  # fmt: skip
suite.plot(
    "properties-plot", of=check, x="query", y=CPU, series="property", kind="bar", where={"n": 4, "q": 2, "k": USUAL_K},
    title="CPU time by property (N = 4, Q = 2)",
)  # fmt: skip
suite.plot(
    "times", of=check, y=CPU, kind="histogram", log="x", title="CPU time of every check",
)  # fmt: skip
suite.plot(
    "memory", of=check, x="cpu_seconds", y=median("peak_mb"), kind="scatter", series="property", log="x",
    title="Memory of the process tree beside CPU time",
)  # fmt: skip


# --- claims ---------------------------------------------------------------------------------------------------

NOISE = 1.25
"""Two medians of three on a shared machine are told apart from this factor on."""


def medians(data: Data, experiment: Any, axes: list[str], **where: Any) -> dict[tuple[Any, ...], float]:
    """Median CPU milliseconds by some axes."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for row in data.rows(experiment, **where):
        if row["status"] in ("ok", "wrong verdict"):
            found.setdefault(tuple(row[axis] for axis in axes), []).append(1000 * row["cpu_seconds"])
    return {key: sorted(values)[len(values) // 2] for key, values in found.items()}


@suite.claim("Every verdict is the one that follows from what the pipeline does")
def verdicts(data: Data) -> Judgement:
    rows = data.rows(check)
    wrong = [row for row in rows if row["status"] != "ok"]
    if wrong:
        return fails(f"{len(wrong)} of {len(rows)} measurements: {wrong[0]['query']}, {wrong[0]['property']}")
    return ok(f"{len(rows)} measurements")


@suite.claim("Every property of every pipeline is decided within a second of CPU time")
def reasonable(data: Data) -> Judgement:
    """The paper: "formal guarantees on pipelines can indeed be checked in reasonable time"; its slowest took 275 s."""
    rows = [*data.rows(check), *data.rows(compare)]
    slowest = max(row["cpu_seconds"] for row in rows)
    median_ = sorted(row["cpu_seconds"] for row in rows)[len(rows) // 2]
    undecided = sum(row["status"] not in ("ok", "wrong verdict") or row["verdict"] == "unknown" for row in rows)
    if undecided or slowest > 1:
        return fails(f"{undecided} undecided, the slowest took {slowest:.2f} s")
    return ok(f"{len(rows)} measurements, the slowest {slowest:.3f} s, the median {median_:.3f} s")


@suite.claim("For all pipelines, bounded liveness dominates verification time")
def dominates(data: Data) -> Judgement:
    """The paper, on Figure 7a. Ours asks it as an invariant with a counter, not as an LTL formula with nested X."""
    found = medians(data, check, ["query", "property"], n=4, q=2, k=USUAL_K)
    others = {}
    for query in FILES:
        if (query, "bounded liveness") not in found:
            raise NoData(f"no result of {query}")
        most_of_others = max(found[query, name] for name in ("liveness", "no full queues"))
        others[query] = most_of_others / found[query, "bounded liveness"]
    return _all_below(others, "of")


@suite.claim("Verification time is constant in Q where nothing is queued")
def constant(data: Data) -> Judgement:
    """The paper, on Figure 7b."""
    found = medians(data, check, ["query", "q"], property="no full queues", n=5, k=USUAL_K)
    factors = {name: found[name, 4] / found[name, 1] for name in WITHOUT_QUEUES}
    return _small(factors, 2.0)


@suite.claim("Verification time grows exponentially with Q where there are queues")
def exponential(data: Data) -> Judgement:
    """The paper, on Figure 7b. No queue's length depends on data, so ours leaves the data out: states grow linearly."""
    found = medians(data, check, ["query", "q"], property="no full queues", n=5, k=USUAL_K)
    queued = [query for query in FILES if query not in WITHOUT_QUEUES]
    factors = {name: found[name, 4] / found[name, 1] for name in queued}
    grow = [name for name, factor in factors.items() if factor > 4]
    told_ = ", ".join(f"{name} x {factor:.1f}" for name, factor in factors.items())
    if len(grow) == len(queued):
        return ok(told_)
    return (warns if grow else fails)(f"from Q = 1 to 4: {told_}")


@suite.claim("The domain size N has a similar effect")
def domain(data: Data) -> Judgement:
    """The paper, without figures. Ours leaves out the data that a property does not look at, for every N at once."""
    found = medians(data, check, ["query", "n"], property="liveness", q=3, k=USUAL_K)
    factors = {name: found[name, 5] / found[name, smallest_n(name, 3)] for name in FILES}
    told_ = ", ".join(f"{name} x {factor:.1f}" for name, factor in factors.items())
    grow = [name for name, factor in factors.items() if factor > 4]
    return ok(told_) if len(grow) > len(factors) / 2 else fails(f"from the smallest N to 5: {told_}")


@suite.claim("Stepwise equivalence is easier to verify than sequence equivalence")
def stepwise(data: Data) -> Judgement:
    """The paper, on Figure 7c."""
    found = medians(data, compare, ["query", "mode"], n=4)
    ratios = {q: found[q, "stepwise"] / found[q, "sequence"] for q in {query for query, _ in found}}
    return _all_below(ratios, "for")


@suite.claim("Where a queue can be full, the counterexample is of the shortest possible length")
def shortest(data: Data) -> Judgement:
    """The paper, of the counterexamples that it examined."""
    rows = [row for row in data.rows(check, property="no full queues") if row["verdict"] == "fails"]
    longer = [row for row in rows if not row["shortest"]]
    return fails(f"{len(longer)} of {len(rows)} may be longer") if longer else ok(f"{len(rows)} counterexamples")


@suite.claim("Every counterexample is confirmed by execution")
def confirmed(data: Data) -> Judgement:
    rows = [row for e in (check, compare) for row in data.rows(e) if row["verdict"] == "fails"]
    gaps = [row for row in rows if not row["confirmed"]]
    return fails(f"{len(gaps)} of {len(rows)} are not") if gaps else ok(f"{len(rows)} counterexamples")


def _all_below(ratios: dict[str, float], of: str) -> Judgement:
    """Whether no ratio is above 1, beyond noise."""
    above = [query for query, ratio in sorted(ratios.items()) if ratio > NOISE]
    alike = [query for query, ratio in sorted(ratios.items()) if 1 < ratio <= NOISE]
    if above:
        return fails(f"not {of} {', '.join(above)}")
    return warns(f"within noise {of} {', '.join(alike)}") if alike else ok()


def _small(factors: dict[str, float], limit: float) -> Judgement:
    told_ = ", ".join(f"{name} x {factor:.1f}" for name, factor in factors.items())
    large = [name for name, factor in factors.items() if not 1 / limit < factor < limit]
    if not large:
        return ok(told_)
    return (warns if len(large) < len(factors) / 2 else fails)(told_)


# --- numbers --------------------------------------------------------------------------------------------------


@suite.macro("problems: a property of a pipeline, or a comparison")
def problems(data: Data) -> int:
    return sum(len({tuple(row[a] for a in suite.get(e).region.axes) for row in data.rows(e)}) for e in (check, compare))


@suite.macro("the slowest problem, the paper's being 275 s", "s")
def slowest_problem(data: Data) -> float:
    rows = [*data.rows(check), *data.rows(compare)]
    return float(max(row["cpu_seconds"] for row in rows))


@suite.macro("the problems of the peer's three tables, all together", "s")
def ours_on_the_peers_problems(data: Data) -> float:
    return _on_the_peers(data)[0]


@suite.macro("the same problems, the peer's figures, time-outs counted at 120 s", "s")
def peers_on_its_problems(data: Data) -> float:
    return _on_the_peers(data)[1]


def _on_the_peers(data: Data) -> tuple[float, float]:
    a = medians(data, check, ["query", "property"], n=4, q=2, k=USUAL_K)
    b = medians(data, check, ["query", "q"], n=5, property="no full queues", k=USUAL_K)
    pairs = [(a[key], figure) for key, figure in PEER_A.items()] + [(b[key], figure) for key, figure in PEER_B.items()]
    for (query, mode), figure in PEER_C.items():
        n = smallest_n(query, 3)
        pairs.append((medians(data, compare, ["query"], query=query, mode=mode, n=n)[query,], figure))
    return sum(ours for ours, _ in pairs) / 1000, sum(120e3 if peer is None else peer for _, peer in pairs) / 1000
