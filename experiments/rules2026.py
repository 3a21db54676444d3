"""What it takes to check rules: R1 to R4 by window and values, sets of rules, the models, and mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import workbench as wb
from experiments.faulty_rules import FAULTY
from workbench.budget import Budget
from workbench.lab import Limits, Output, Region, Suite, fails, maximum, median, ok, only, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds, build_models
from workbench.tesla.rule_set import RuleSet
from workbench.verify.analysis import analyses as analyses_of
from workbench.verify.analysis import answers
from workbench.verify.rules.problems import rule_comparison, rule_problem
from workbench.verify.rules.rule_subject import WITH_TIME
from workbench.verify.rules.stream import find_modelled

suite = Suite(
    "rules2026",
    "Questions about rules, and how long their answers take",
    """
A question is asked of a model in which a step is an event or time that passes, a tick is a minute, windows are so many
minutes, and attributes that rules compare for equality have so many values. R1 to R4 are those of Cugola and Margara
(R1: each temperature before smoke, R2: the last one, R3: their average, R4: a chain of two windows).

`can`: a composite can come, and a shortest stream shows it. `never`: the same asked the other way round. `older`: the
rules as the paper writes them, in the older grammar, are those in the newer one. `shorter`: they are told from rules
whose first window is a minute shorter. `policy`: from those with another policy. The others are those of
`workbench analyse`, which asks each of all parts of the rules; a minute is for all of them.

Windows of 4 to 64 ticks are asked about with two and three values, 2 to 16 values with windows of 4, and both at their
most; one to eight rules with windows of all lengths; all questions of `analyse` about R1 to R4, sets of two, four and
eight rules, and all models. Of the models each composite is asked for with the tick that is usual, and with finer ones.

Times are CPU seconds of the whole process tree, building the model and replaying what is found included; the engine has
been started before.
""",
    depends=["models/tesla", "experiments/faulty_rules.py"],
)
MINUTE = 60 * 10**6
MODELS = Path(__file__).resolve().parents[1] / "models" / "tesla"
WINDOWS = [4, 8, 16, 32, 64]
VALUES = [2, 3, 4, 8, 16]
TRENDS: dict[tuple[str, str], list[Any]] = {
    ("Reading", "value"): list(map(float, range(1, 7))),
    ("Reading", "machine"): ["a"],
}
"""Values of the readings of `trend.tesla`: five rises are an alarm."""
FIRE = "declare Temp(area: string, value: float)\ndeclare Smoke(area: string)\n"
DECLARED = f"{FIRE}declare Fire(area: string, measuredTemp: float)\n"
COLUMNS = "declare A(p: int)\ndeclare B(p: int, v: int)\ndeclare C(p: int)\n"
NEWER = {
    "R1": DECLARED + "from Smoke[$a = area] and each Temp(area == $a, value > 45) as Hot within {w} min from Smoke\n"
    "emit Fire(area = $a, measuredTemp = Hot.value)",
    "R2": DECLARED + "from Smoke[$a = area] and last Temp(area == $a, value > 45) as Hot within {w} min from Smoke\n"
    "emit Fire(area = $a, measuredTemp = Hot.value)",
    "R3": DECLARED + "from Smoke[$a = area] and $t = AVG(Temp(area == $a).value within {w} min from Smoke)\n"
    "where $t > 45 emit Fire(area = $a, measuredTemp = $t)",
    "R4": COLUMNS + "declare Found()\nfrom C[$x = p] and each B(p == $x, v > 10) within {w} min from C\n"
    "and last A(p == $x) within {v} min from B emit Found",
}
OLDER = {
    "R1": FIRE + "Rule R1\ndefine Fire(area: string, measuredTemp: double)\n"
    "from Smoke(area=$a) and each Temp(area=$a and value>45) within {w} min. from Smoke\n"
    "where area=Smoke.area and measuredTemp=Temp.value",
    "R2": FIRE + "Rule R2\ndefine Fire(area: string, measuredTemp: double)\n"
    "from Smoke(area=$a) and last Temp(area=$a and value>45) within {w} min. from Smoke\n"
    "where area=Smoke.area and measuredTemp=Temp.value",
    "R3": FIRE + "Rule R3\ndefine Fire(area: string, measuredTemp: double)\n"
    "from Smoke(area=$a) and 45 < $t=Avg(Temp(area=$a).value within {w} min. from Smoke)\n"
    "where area=Smoke.area and measuredTemp=$t",
    "R4": COLUMNS + "Rule R4\ndefine Found()\nfrom C(p=$x) and each B(p=$x and v>10) within {w} min. from C\n"
    "and last A(p=$x) within {v} min. from B",
}
ANSWERS = {"can": "holds", "never": "fails", "older": "holds", "shorter": "fails", "policy": "fails"}
"""What each question is to be answered: the mistake in `shorter` and `policy` is found."""
ENGINES = ["auto", "pynusmv", "explicit"]
TOLD = {
    "verdict": Output("what was decided", kind=str), "by": Output("which engine decided", kind=str),
    "steps": Output("steps of the stream that shows it", "steps", int),
    "overflow": Output("whether a bound is met", kind=bool),
}  # fmt: skip
LIMITS = Limits(seconds=120, memory_mb=6000)


def named(which: str, window: int, texts: dict[str, str], name: str = "rules") -> RuleSet:
    """One of R1 to R4 with windows of so many minutes; the second window of R4 is three eighths of the first."""
    return wb.rules.parse_rules(
        texts[which].replace("{w}", str(window)).replace("{v}", str(max(1, 3 * window // 8))), name
    )


def asked(which: str, window: int, question: str, bounds: RuleBounds, engine: str = "auto") -> Any:
    """A question about one of R1 to R4."""
    rules, settings = named(which, window, NEWER), replace(WITH_TIME, engine=engine, seconds=60)
    if question in ("can", "never"):
        return rule_problem(rules, f"{question}({rules.composites[0]})", bounds, settings)
    if question == "policy":
        one, other = ("each", "last") if "each" in NEWER[which] else ("last", "first")
        others = wb.rules.parse_rules(str(rules).replace(f" {one} ", f" {other} "), "others")
    else:
        others = named(which, window - (question == "shorter"), OLDER if question == "older" else NEWER, "others")
    return rule_comparison(rules, others, bounds, settings)


def told(problem: Any) -> dict[str, Any]:
    """The verdict of a question as outputs."""
    verdict = problem.decide()
    run = verdict.run
    return {
        "verdict": str(verdict.outcome), "by": verdict.engine, "steps": len(run.steps) if run else 0,
        "overflow": bool(verdict.ground("overflow")),
    }  # fmt: skip


def start() -> None:
    """Start the engines once, unmeasured."""
    for engine in ENGINES:
        asked("R1", 2, "can", RuleBounds(tick=MINUTE), engine).decide()


def asking(**axes: Any) -> Region:
    """All questions about R1 to R4; R3 has no policy."""
    region = Region(rule=list(NEWER), question=list(ANSWERS), **axes)
    return region.excluding(lambda rule, question: (rule, question) == ("R3", "policy"))


@suite.experiment(
    asking(window=WINDOWS, values=[2, 3], engine=["auto"]) + asking(window=[4], values=VALUES, engine=["auto"])
    + asking(window=[64], values=[16], engine=["auto"]) + asking(window=[4, 8], values=[2, 3], engine=ENGINES),
    limits=LIMITS, warm_up=start, persistent=True, outputs=TOLD,
)  # fmt: skip
def single(rule: str, question: str, window: int, values: int, engine: str) -> dict[str, Any]:
    """One rule, by window, by how many values attributes have, and by engine."""
    return told(asked(rule, window, question, RuleBounds(tick=MINUTE, count=values), engine))


@suite.experiment(
    Region(rule=list(NEWER), window=[2, 4, 8], values=[2, 3]), limits=LIMITS, warm_up=start, persistent=True,
    states=Output("states that can be reached", "states", int),
)  # fmt: skip
def states(rule: str, window: int, values: int) -> dict[str, Any]:
    """How many states a model has, counted by the explicit engine."""
    settings = replace(WITH_TIME, engine="explicit", count_states=True, seconds=60)
    rules = named(rule, window, NEWER)
    problem = rule_problem(rules, "no-full-queues", RuleBounds(tick=MINUTE, count=values), settings, deepen=False)
    return {"states": problem.decide().reachable_states or 0}


def several(count: int, window: int) -> RuleSet:
    """So many rules, each about its own threshold."""
    rule = "from Smoke[$a = area] and last Temp(area == $a, value > {}) as Hot within {} min from Smoke\n"
    found = (rule.format(45 + i, window) + f"emit Fire(area = $a, measuredTemp = {i}.0)" for i in range(count))
    return wb.rules.parse_rules(DECLARED + "\n".join(found), "several")


@suite.experiment(
    Region(rules=range(1, 9), window=WINDOWS, question=["can", "shorter"]),
    limits=LIMITS, warm_up=start, persistent=True, outputs=TOLD,
)  # fmt: skip
def sets(rules: int, window: int, question: str) -> dict[str, Any]:
    """Sets of rules; `shorter`: told from those of which the last has a shorter window."""
    found, settings, bounds = several(rules, window), replace(WITH_TIME, seconds=60), RuleBounds(tick=MINUTE)
    if question == "can":
        return told(rule_problem(found, "can(Fire)", bounds, settings))
    last = several(rules, window - 1).rules[-1]
    return told(
        rule_comparison(found, replace(found, name="shorter", rules=(*found.rules[:-1], last)), bounds, settings)
    )


QUESTIONS = list(analyses_of("rules"))
FOUND = {
    "parts": Output("what is asked of: rules, pairs of rules, parts of rules", kind=int),
    "unknown": Output("parts of which a limit was met", kind=int),
    "bounded": Output("parts of which the answer holds within bounds", kind=int),
    "streams": Output("parts of which a stream shows it", kind=int),
}  # fmt: skip


def analysed(rules: RuleSet, question: str, bounds: RuleBounds) -> dict[str, Any]:
    """One of the questions of `workbench analyse`, with a minute for all its parts."""
    with Budget(60):
        found = answers(rules, question, bounds=bounds)
    return {
        "parts": len(found), "unknown": sum(not each.decided for each in found),
        "bounded": sum(each.within_bounds and each.decided for each in found),
        "streams": sum(bool(each.runs) for each in found),
    }  # fmt: skip


@suite.experiment(
    Region(rule=list(NEWER), question=QUESTIONS, window=[4, 8, 64], values=[3])
    + Region(rule=list(NEWER), question=QUESTIONS, window=[4], values=[16]),
    limits=LIMITS, warm_up=start, persistent=True, outputs=FOUND,
)  # fmt: skip
def analyses(rule: str, question: str, window: int, values: int) -> dict[str, Any]:
    """What `analyse` asks of one rule."""
    return analysed(named(rule, window, NEWER), question, RuleBounds(tick=MINUTE, count=values))


@suite.experiment(
    Region(rules=[2, 4, 8], window=[4], question=QUESTIONS), limits=LIMITS, warm_up=start, persistent=True,
    outputs=FOUND,
)  # fmt: skip
def analysed_sets(rules: int, window: int, question: str) -> dict[str, Any]:
    """What `analyse` asks of sets of rules."""
    return analysed(several(rules, window), question, RuleBounds(tick=MINUTE))


NAMES = sorted(path.stem for path in MODELS.glob("*.tesla"))


@suite.experiment(
    Region(model=NAMES, question=QUESTIONS), limits=LIMITS, warm_up=start, persistent=True, outputs=FOUND,
)  # fmt: skip
def analysed_models(model: str, question: str) -> dict[str, Any]:
    """What `analyse` asks of the models."""
    rules = wb.rules.load_rules(MODELS / f"{model}.tesla")
    return analysed(rules, question, bounded(rules))


@suite.experiment(
    Region(model=NAMES, finest=[1, 16, 64]), limits=Limits(seconds=300, memory_mb=6000), warm_up=start,
    persistent=True, can=Output("types of composites that can come", kind=int),
    unknown=Output("types of which it was not decided", kind=int),
    types=Output("types of composites", kind=int), seconds=Output("for one of them, on average", "s"),
    window=Output("how far back rules look", "ticks", int),
)  # fmt: skip
def models(model: str, finest: int) -> dict[str, Any]:
    """Whether each composite of the models can come; with finer ticks, as far as rules then look back so many."""
    rules = wb.rules.load_rules(MODELS / f"{model}.tesla")
    bounds, settings = bounded(rules), replace(WITH_TIME, seconds=60)
    found = find_modelled(*build_models([rules], bounds))
    finer = max(1, finest // max(found.frame.longest, 1))
    bounds = replace(bounds, tick=found.tick // finer) if found.unit else bounds
    verdicts = [rule_problem(rules, f"can({name})", bounds, settings).decide() for name in rules.composites]
    said = [str(verdict.outcome) for verdict in verdicts]
    spent = sum(verdict.seconds for verdict in verdicts) / len(verdicts)
    found = find_modelled(*build_models([rules], bounds))
    return {
        "can": said.count("holds"), "unknown": said.count("unknown"), "types": len(said), "seconds": spent,
        "window": found.frame.longest,
    }  # fmt: skip


def bounded(rules: RuleSet) -> RuleBounds:
    """Two facts of each type, of the same texts and other numbers; and as many readings as a trend takes to rise."""
    declared = [each for each in rules.declarations.values() if each.fact]
    facts: dict[str, list[tuple[Any, ...]]] = {}
    for each in declared:
        for number in (1, 2):
            values = {"int": number, "float": float(number), "string": "a", "bool": True}
            facts.setdefault(each.name, []).append(tuple(values[t.SPELLED[of]] for of in each.domains.values()))
    return RuleBounds(facts=facts, values=TRENDS if rules.name == "trend" else {})


@suite.experiment(
    Region(mistake=list(FAULTY)), limits=LIMITS, warm_up=start, persistent=True, outputs=TOLD,
    expected=lambda mistake: {"verdict": "fails", "steps": FAULTY[mistake].steps},
)  # fmt: skip
def mistakes(mistake: str) -> dict[str, Any]:
    """Rules told from those with a mistake that is easily made."""
    return told(rule_comparison(*FAULTY[mistake].rule_sets, RuleBounds(tick=MINUTE), replace(WITH_TIME, seconds=60)))


# --- what they tell --------------------------------------------------------------------------------------------------

CELLS = {"s": median("cpu_seconds"), "verdict": only("verdict"), "steps": maximum("steps"), "by": only("by")}
suite.table("single", of=single, rows=["rule", "question", "values", "window", "engine"], cells=CELLS,
            title="A question about one rule")  # fmt: skip
suite.table("states", of=states, rows=["rule", "window", "values"], cells={"states": maximum("states")}, title="States")
suite.table("sets", of=sets, rows=["question", "window", "rules"], cells=CELLS, title="Several rules")
suite.table("models", of=models, rows=["model", "finest"], title="The models",
            cells={"ticks": maximum("window"), "types": maximum("types"), "can": maximum("can"),
                   "not decided": maximum("unknown"),
                   "s for one": median("seconds")})  # fmt: skip
ASKED = {"s": median("cpu_seconds"), "parts": maximum("parts"), "streams": maximum("streams"),
         "within bounds": maximum("bounded"), "not known": maximum("unknown")}  # fmt: skip
suite.table(
    "analyses", of=analyses, rows=["rule", "question", "values", "window"], cells=ASKED, title="One rule analysed"
)
suite.table("analysed-sets", of=analysed_sets, rows=["question", "rules"], cells=ASKED, title="Several rules analysed")
suite.table("analysed-models", of=analysed_models, rows=["model", "question"], cells=ASKED, title="The models analysed")
suite.table("mistakes", of=mistakes, rows="mistake", cells=CELLS, title="Rules with mistakes")
suite.plot("by-window", of=single, x="window", y=median("cpu_seconds"), series="rule", log="xy",
           where={"question": "can", "values": 3, "engine": "auto"}, title="Whether a composite can come")  # fmt: skip


def _slow(rows: list[dict[str, Any]], seconds: float) -> list[str]:
    return [f"{r['rule']} {r['question']} at {r['window']}, {r['values']} values: {r['cpu_seconds']:.1f} s"
            for r in rows if r["cpu_seconds"] > seconds]  # fmt: skip


@suite.claim("R1 to R4 with windows up to 8 ticks and 3 values: under 2 s a question")
def small(data: Data) -> Judgement:
    rows = [row for row in data.rows(single, values=3, engine="auto", status="ok") if row["window"] <= 8]
    late = _slow(rows, 2.0)
    return (warns if late else ok)(f"{len(rows) - len(late)} of {len(rows)} questions; {'; '.join(late)}".rstrip("; "))


@suite.claim("R1 in the older grammar is R1 in the newer one: under 1 s")
def grammars(data: Data) -> Judgement:
    rows = [
        row for row in data.rows(single, rule="R1", question="older", engine="auto", status="ok") if row["window"] <= 8
    ]
    late = _slow(rows, 1.0)
    return (warns if late else ok)("; ".join(late) or f"{len(rows)} questions")


@suite.claim("Windows of 64 ticks: 9 of 10 questions are decided within 60 s")
def wide(data: Data) -> Judgement:
    rows = list(data.rows(single, window=64, engine="auto"))  # with two, three and sixteen values
    done = [row for row in rows if row.get("verdict") in ("holds", "fails", "holds-within-bounds")]
    asked_of = [row for row in data.rows(analyses, window=64) if row["parts"] != 0]
    known = [row for row in asked_of if row["parts"] and not row["unknown"]]
    words = f"{len(done)} of {len(rows)}; of `analyse`, {len(known)} of {len(asked_of)}"
    decided, count = len(done) + len(known), len(rows) + len(asked_of)
    return (ok if 10 * decided >= 9 * count else warns)(words)


@suite.claim("Sets of up to eight rules: under 10 s a question")
def many(data: Data) -> Judgement:
    rows = list(data.rows(sets, status="ok"))
    late = [f"{row['rules']} rules, {row['question']} at {row['window']}: {row['cpu_seconds']:.1f} s"
            for row in rows if row["cpu_seconds"] > 10]  # fmt: skip
    return (warns if late else ok)(f"{len(rows) - len(late)} of {len(rows)} questions; {'; '.join(late)}".rstrip("; "))


@suite.claim("Answers are what they have to be, or it is said that they are not known")
def right(data: Data) -> Judgement:
    wrong = [f"{row['rule']} {row['question']}: {row['verdict']}" for row in data.rows(single, status="ok")
             if not row["verdict"].startswith(ANSWERS[row["question"]]) and row["verdict"] != "unknown"]  # fmt: skip
    wrong += [f"{row['rules']} rules, {row['question']}: {row['verdict']}" for row in data.rows(sets, status="ok")
              if row["verdict"] not in (ANSWERS[row["question"]], "unknown")]  # fmt: skip
    return fails("; ".join(wrong)) if wrong else ok()


@suite.claim("Each mistake is told by a stream as short as is argued for it")
def mistaken(data: Data) -> Judgement:
    rows = list(data.rows(mistakes, status="ok"))
    wrong = [row["mistake"] for row in rows if row["steps"] != FAULTY[row["mistake"]].steps]
    return fails("; ".join(wrong)) if wrong else ok(f"{len(rows)} mistakes")
