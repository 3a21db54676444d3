"""Comparison of the engines of rules with the meaning of the rules.

The rule of this module: composites agree in everything, and in their order. A float differs from a whole number, a
truth value differs from a number, and NaN equals NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.conformance.compare.conformity import RuleConformity
from workbench.conformance.compare.search import Search, minimize
from workbench.conformance.generate.rule_cases import RuleCase
from workbench.conformance.generate.smaller_rules import smaller_cases
from workbench.core.determinism import same
from workbench.errors import InputError, Refused
from workbench.executors.table import backend_row, engines_here, rule_engines
from workbench.tesla.engines.engine import EngineSettings, MakesEngine
from workbench.tesla.formulas import TREX
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import Occurrence

RuleOutcome = Sequence[Occurrence] | str
"""The outcome of a rule set: its composites, or the kind of the error that ends it."""


@dataclass(frozen=True)
class RuleDisagreement:
    """A disagreement between an engine and the formulas.

    Attributes
    ----------
    at: the index of the first composite that differs.
    """

    case: RuleCase
    engine: str
    meant: RuleOutcome
    outcome: RuleOutcome
    at: int

    def __str__(self) -> str:
        meant, actual = (_show(each, self.at) for each in (self.meant, self.outcome))
        what = f"{self.engine} differs from the formulas at composite {self.at}"
        return f"{what}: it has {actual}, the formulas have {meant}"


def compare_to_meaning(
    case: RuleCase, engines: Mapping[str, MakesEngine] | None = None, refused: Counter[str] | None = None
) -> RuleDisagreement | None:
    """Return the disagreement of the first engine that differs from `meaning`; None if all agree.

    Parameters
    ----------
    engines: by name; None: all that run on this machine.
    refused: counts the refusals of each engine.
    """
    meant = evaluate_meaning(case)
    for name, make in (engines_here() if engines is None else engines).items():
        try:
            outcome = run_engine(case, make)
        except Refused:  # before the first event
            if refused is not None:
                refused[name] += 1
            continue
        at = _first_difference(meant, outcome)
        if at is not None:
            return RuleDisagreement(case, name, meant, outcome, at)
    return None


def smallest_disagreement(
    case: RuleCase, engines: Mapping[str, MakesEngine] | None = None, refused: Counter[str] | None = None
) -> RuleDisagreement | None:
    """Return the disagreement of `compare_to_meaning` on a minimal case."""
    disagreement = compare_to_meaning(case, engines, refused)
    return disagreement and minimize(
        disagreement, lambda each: smaller_cases(each.case), lambda each: compare_to_meaning(each, engines)
    )


def conform_rules(
    name: str,
    case_of: Callable[[int], RuleCase],
    search: Search,
    engines: Mapping[str, MakesEngine] | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> RuleConformity:
    """Compare engines with the meaning of rules, on the cases of `search`, up to the first disagreement.

    Parameters
    ----------
    engines: by name; None: all that run on this machine.
    progress: called with the number of each case before it runs.
    """
    among, refused = engines_here() if engines is None else engines, Counter[str]()
    outcome = RuleConformity(name, 0, tuple(among), engines is not None, refused)
    for streams, number in enumerate(range(search.seed, search.seed + search.examples), 1):
        progress(number)
        outcome = replace(outcome, streams=streams, failure=smallest_disagreement(case_of(number), among, refused))
        if outcome.failure is not None:
            break
    return outcome


def choose_engines(names: Sequence[str], *, strict: bool = True) -> Mapping[str, MakesEngine] | None:
    """Return the engines of rules of the named backends; None, which means all, without names.

    Parameters
    ----------
    strict: whether a backend without an engine is an error; else it gets one that refuses all rules.

    Raises
    ------
    PipelineError: there is no such backend. Refused: it has no engine of rules, or this machine lacks a requirement.
    """
    engines: dict[str, MakesEngine] = {}
    for name in names:
        row = backend_row(name)
        if row.engine is None:
            hint = f"compare {', '.join(rule_engines())}"
            refused = Refused(f"backend '{row.name}' has no engine of rules", hint=hint)
        elif missing := row.missing():
            refused = Refused(missing)
        else:
            engines[row.name] = row.engine
            continue
        if strict:
            raise refused
        engines[row.name] = refused.refuse
    return engines or None


def evaluate_meaning(case: RuleCase) -> RuleOutcome:
    """Evaluate the formulas, and return their composites."""
    compat = TREX if case.trex else ""
    return _collect(lambda: meaning(case.rules, case.events, case.facts, until=case.until, compat=compat))


def run_engine(case: RuleCase, make: MakesEngine) -> RuleOutcome:
    """Run an engine, and return what it emits."""
    return _collect(lambda: _run(case, make))


def _run(case: RuleCase, make: MakesEngine) -> list[Occurrence]:
    settings = EngineSettings(trex=case.trex, plain=True)
    engine, composites = make(case.rules, case.facts, settings), list[Occurrence]()
    for i, event in enumerate(case.events):
        if i == case.saved:
            state = engine.snapshot()
            engine = make(case.rules, case.facts, settings)
            engine.restore(state)
        composites += engine.process(event)
    return composites if case.until is None else composites + engine.advance(case.until)


def _collect(run: Callable[[], list[Occurrence]]) -> RuleOutcome:
    try:
        return run()
    except InputError as error:
        return type(error).__name__


def _first_difference(meant: RuleOutcome, outcome: RuleOutcome) -> int | None:
    if isinstance(meant, str) or isinstance(outcome, str):
        return None if meant == outcome else 0
    pairs = enumerate(zip(meant, outcome, strict=False))
    shorter = None if len(meant) == len(outcome) else min(len(meant), len(outcome))
    return next((i for i, (one, other) in pairs if not same_occurrence(one, other)), shorter)


def same_occurrence(one: Occurrence, other: Occurrence) -> bool:
    """Whether two composites agree in everything."""
    return replace(one, values=()) == replace(other, values=()) and same(tuple(one.values), tuple(other.values))


def _show(outcome: RuleOutcome, at: int) -> str:
    if isinstance(outcome, str):
        return outcome
    return str(outcome[at]) if at < len(outcome) else "nothing"
