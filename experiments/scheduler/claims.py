"""What is claimed of the scheduler, and whether it is so: the paper's informal argument (section 3.3), checked.

A claim that fails comes with the choices that lead there, which the running scheduler is driven through (`replayed`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.scheduler.interleaving import FlowChoice
from experiments.scheduler.listings import Variant
from experiments.scheduler.model import SchedulerModel
from experiments.scheduler.replay import SchedulerRun, replayed
from workbench.budget import Budget, phase, share
from workbench.core.ops import NOT, disjunction
from workbench.core.term import FALSE
from workbench.errors import LimitMet, refuse_unknown
from workbench.executors.dataflow.scheduler import Pair
from workbench.ir.reduce import Model
from workbench.smv.engines.engine import RawTrace
from workbench.smv.printer import SmvModel, print_model
from workbench.verify.answer.verdict import Outcome
from workbench.verify.ask.formula import atom, build
from workbench.verify.decide.deciders import get_decider
from workbench.verify.decide.part import Part, PartQuestion, remaining_limits

CLAIMS: Mapping[str, str] = {
    "definitions": "while nobody has the lock, x and the sets are those of definitions (7) to (9)",
    "one-at-a-time": "a vertex runs at most one phase at a time",
    "in-order": "the phases of a vertex start in order",
    "exactly-once": "no pair is ready twice",
    "serialisable": "when (v, p) starts, no ancestor of v has a phase up to p unfinished, and v none before p",
    "no-deadlock": "as long as not all has ended, something can happen",
    "ends": "if threads and the environment go on, every phase ends",
}
"""The claims, by name."""
OF_STATES = ("definitions", "one-at-a-time", "exactly-once", "no-deadlock", "ends")
"""Claims that a state shows to be wrong; the others a step does."""


@dataclass(frozen=True)
class SchedulerVerdict:
    """Whether a claim is true of the scheduler of a graph.

    Attributes
    ----------
    claim: its name, one of `CLAIMS`.
    outcome: `holds`, `fails` or `unknown`.
    engine: what decided it.
    run: where it fails, what happens until then.
    replay: what the running scheduler does when it is driven through that; empty where nothing was to replay.
    reason: why it is unknown.
    """

    claim: str
    outcome: Outcome
    engine: str
    run: SchedulerRun | None = None
    replay: str = ""
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {"claim": self.claim, "verdict": str(self.outcome), "engine": self.engine}
        if self.run is not None:
            found |= {"steps": self.run.lines(), "replay": self.replay}
        return found | ({"reason": self.reason} if self.reason else {})


def asked_of(model: SchedulerModel) -> dict[str, PartQuestion]:
    """The claims as questions."""
    found = {name: PartQuestion("invar", atom(model.claim(name))) for name in CLAIMS if name != "ends"}
    return found | {"ends": PartQuestion("ltl", build("G", build("F", atom(model.claim("finished")))))}


def scheduler_part(model: SchedulerModel, claims: Collection[str] = tuple(CLAIMS)) -> Part:
    """The model with claims, for an engine; something happens again and again, as long as something can."""
    goes_on = disjunction([model.moves, model.claim("finished"), NOT(model.claim("no-deadlock"))])
    whole = Model(model.system, FALSE, (), FALSE, FALSE, FALSE, frozenset())
    asked = {name: each for name, each in asked_of(model).items() if name in claims}
    return Part(whole, _print(model, goes_on), asked, model.assume, (goes_on,))


def export_scheduler(model: SchedulerModel) -> str:
    """The model as a file for NuSMV, with its claims as specifications."""
    part = scheduler_part(model)
    keyword = {"invar": "INVARSPEC", "ltl": "LTLSPEC"}
    lines = [f"  {keyword[query.kind]} {query.formula};  -- {CLAIMS[name]}" for name, query in part.queries.items()]
    return "\n".join([part.smv.text.rstrip(), *lines, ""])


def _print(model: SchedulerModel, goes_on: Any) -> SmvModel:
    graph = model.graph
    size = f"{graph.size} vertices, {model.phases} phases and {model.threads} threads"
    header = [f"Listings 1 and 2 of Zimmerman and Chandy for {size}{without(model.variant)}"]
    for v, before in enumerate(graph.predecessors, 1):
        header.append(f"vertex {v}: " + (f"fed by {', '.join(map(str, sorted(before)))}" if before else "a source"))
    return print_model(model.system, assume=model.assume, fair=(goes_on,), header=header)


def without(variant: Variant) -> str:
    """What is left out, in words."""
    return "".join(f", without {VARIANTS[each]}" for each in variant)


VARIANTS: Mapping[Variant, str] = {
    Variant.NUMBERING: "the restriction on numbers",
    Variant.OVERTAKING: "x_p <= x_(p-1)",
    Variant.ANY_PHASE: "the least phase in ready",
    Variant.UNLOCKED: "the lock",
}
"""What each broken variant does without."""


def check_scheduler(
    model: SchedulerModel,
    claims: Iterable[str] = tuple(CLAIMS),
    *,
    engine: str = "explicit",
    seconds: float | None = None,
    memory_mb: int | None = None,
) -> list[SchedulerVerdict]:
    """Decide claims about the scheduler of a graph; failures are replayed on the running one.

    Parameters
    ----------
    engine, seconds, memory_mb: as in `workbench.Settings`, for all claims together. States are few and have many
        moves, which suits the explicit search.

    Raises
    ------
    InputError: there is no such claim. EngineError, EngineMissing: the engine cannot be used.
    """
    names = list(dict.fromkeys(claims))
    for name in names:
        refuse_unknown("claim", name, CLAIMS)
    doing = phase("composing the model")
    try:
        with Budget(seconds, memory_mb), share(1), doing:
            part = scheduler_part(model, names)
            doing.now("deciding")
            decision = get_decider(engine).decide(part, remaining_limits())
    except LimitMet as met:
        size = f"{model.graph.size} vertices, {model.phases} phases and {model.threads} threads"
        reason = f"{met.what}, for {size}: fewer of them have fewer states, as with --groups"
        return [SchedulerVerdict(name, Outcome.UNKNOWN, engine, reason=reason) for name in names]
    found = []
    for name in names:
        answer = decision.answers[name]
        if answer.truth is None:
            found.append(SchedulerVerdict(name, Outcome.UNKNOWN, decision.engine, reason=answer.reason))
        elif answer.truth:
            found.append(SchedulerVerdict(name, Outcome.HOLDS, decision.engine))
        else:
            run = _run(model, part, answer.trace, name) if answer.trace else None
            said = replayed(model, name, run) if run else ""
            found.append(SchedulerVerdict(name, Outcome.FAILS, decision.engine, run, said, answer.reason))
    return found


def _run(model: SchedulerModel, part: Part, trace: RawTrace, claim: str) -> SchedulerRun:
    """What happens in a trace."""
    smv, choices, messages = part.smv, list[FlowChoice](), dict[Pair, tuple[int, ...]]()
    threads: dict[Pair, int] = {}
    known = {smv.names[name]: name for name in smv.domains}
    steps = [{known[n]: smv.value(known[n], text) for n, text in step.items() if n in known} for step in trace.steps]
    for before, after in zip(steps, [*steps[1:], None], strict=True):
        if after is None and claim in OF_STATES:
            break
        what, pair = model.choices[str(before["choice:what"])]
        if not model.happens(before, what, pair):
            continue
        if what == "take":
            threads[pair] = next(t for t in range(model.threads) if t not in threads.values())
            choices.append(FlowChoice("take", threads[pair], pair))
        elif what == "end":
            choices.append(FlowChoice("end", threads[pair], pair))
            v, p = pair
            stage = int(str(before[f"stage:v{v}p{p}"]))
            if stage == model.sending:
                after_v = model.graph.successors[v]
                messages[pair] = tuple(w for i, w in enumerate(after_v) if before[f"choice:message{i}"])
            if stage == model.last_stage:
                del threads[pair]
        else:
            choices.append(FlowChoice("begin"))
    return SchedulerRun(tuple(choices), messages)
