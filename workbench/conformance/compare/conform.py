"""Conformance of pipelines: comparison of every backend with the reference executor, on random traces.

The rule of this module: examples come in consecutive rounds, each determined by its seed. So a search with the same
seed can be repeated, and an interrupted search resumes from the seed of its round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from workbench.conformance.compare.conformity import RANDOM_PIPELINES, Conformity
from workbench.conformance.compare.contenders import Contender, Match, choose_contenders
from workbench.conformance.compare.differential import Disagreement, agree
from workbench.conformance.compare.executables import InputSequence, Running
from workbench.conformance.compare.reduction import SmallestPart, smallest_part
from workbench.conformance.compare.schedules import Switches
from workbench.conformance.compare.search import ROUND, Search
from workbench.conformance.compare.shrinking import smallest
from workbench.conformance.compare.threaded import Plan
from workbench.conformance.generate.pipelines import long_traces, pipelines
from workbench.core.domain import Integer
from workbench.core.pipeline import Pipeline
from workbench.errors import DomainError, Refused, TypingError
from workbench.language import AnyProgram, program_of


def conform(
    pipeline: AnyProgram,
    backends: Sequence[str | Contender] = (),
    search: Search | None = None,
    progress: Callable[[str, int], object] = lambda _, __: None,
) -> list[Conformity]:
    """Compare a pipeline on every backend with the reference executor, and return an outcome for each.

    It compares values, their order and steps, the end of the streams, the lengths of queues, and errors, under the
    determinism contracts of the pipeline's processors.

    Parameters
    ----------
    backends: names (see `workbench.executors.table`), or contenders of your own; all, if none is given.
    progress: called with a status text and the seed of the round, from which an interrupted search resumes.

    Raises
    ------
    WorkbenchError: there is no such pipeline or backend. Refused: a named backend is not compared on pipelines.
    """
    search, pipeline = search or Search(), program_of(pipeline).pipeline
    return [_compare(pipeline, each, search, progress) for each in choose_contenders(backends, pipeline.kind)]


def _compare(
    pipeline: Pipeline, contender: Contender, search: Search, progress: Callable[[str, int], object]
) -> Conformity:
    """Compare a pipeline on one contender, up to the first round with a disagreement."""
    outcome = Conformity(pipeline.name, contender.name, integers=Integer(search.n) if contender.finite else None)
    try:
        match = Match(contender, pipeline, search.n, search.q)
    except (Refused, DomainError, TypingError) as error:
        return replace(outcome, refused=error.what, hint=error.hint)
    for number, count in search.rounds(contender.share):
        progress(f"{pipeline.name} on {contender.name}: seed {number}, {outcome.agreements} traces agree", number)
        try:
            failure = search_round(match, search, number, count)
        except NotImplementedError as error:
            return replace(outcome, refused=str(error) or "a processor has no specification (`denote`)")
        if failure is not None:
            part, failure = _part(match, failure, search, number) or ((), failure)
            runs = Running(failure.pipeline, {}), Running(failure.pipeline, {})
            repeatable = agree(failure.pipeline, failure.steps, *runs) is None
            return replace(outcome, failure=failure, part=part, repeatable=repeatable)
        outcome = replace(outcome, agreements=outcome.agreements + count)
    return outcome


def search_round(match: Match, search: Search, number: int, count: int) -> Disagreement | None:
    """Return the simplest failure among `count` traces; with threads, schedules with few switches come first."""
    contender = match.contender
    how = {"ends": contender.ends, "together": contender.complete, "regrouped": contender.reassociates}
    traces = long_traces(match.flat, search.steps, **how)
    if not contender.threads:
        return smallest(traces, lambda steps: compare_trace(match, steps, Plan()), count, number)
    certified = tuple(match.certificates)
    for seeded, part in ((False, (count + 1) // 2), (True, count // 2)):
        runs = st.tuples(traces, plans(match.flat, certified, seeded=seeded))
        failure = smallest(runs, lambda run: compare_trace(match, *run), part, number) if part else None
        if failure is not None:
            return failure
    return None


def compare_trace(match: Match, steps: InputSequence, plan: Plan) -> Disagreement | None:
    """Return the disagreement on one trace, or None."""
    ours, theirs = match.executables(plan)
    disagreement = agree(match.pipeline, steps, ours, theirs, match.terms)
    if disagreement is not None and isinstance(disagreement.right[1], NotImplementedError):
        raise disagreement.right[1]
    return disagreement


_RandomRun = tuple[Match, InputSequence, Plan]
"""A random pipeline with a run."""


@st.composite
def _random_runs(draw: st.DrawFn, /, among: Sequence[Contender], search: Search) -> _RandomRun | None:
    """Draw a random pipeline with a run; None where the contender refuses the pipeline."""
    contender = draw(st.sampled_from(among))
    pipeline = draw(pipelines(large=not contender.finite and draw(st.booleans())))
    try:
        match = Match(contender, pipeline, search.n, draw(st.integers(0, search.q)))
    except Refused:
        return None
    steps = draw(long_traces(match.flat, search.steps, ends=contender.ends))
    seeded = draw(st.booleans())
    plan = draw(plans(match.flat, tuple(match.certificates), seeded=seeded)) if contender.threads else Plan()
    return match, steps, plan


def conform_random(
    backends: Sequence[str | Contender] = (),
    search: Search | None = None,
    progress: Callable[[str, int], object] = lambda _, __: None,
) -> Conformity:
    """Compare random pipelines on random backends; the failure is minimal in everything that was drawn.

    A contender that starts slowly is replaced by a quicker one (`Contender.quick`), or left out.

    Raises
    ------
    Refused: no contender is left to compare.
    """
    search = search or Search()
    contenders = choose_contenders(backends)
    quick = [each.quick or each for each in contenders if each.share == 1]
    if not quick:
        slow = ", ".join(each.name for each in contenders)
        hint = "name a file with a pipeline instead"
        raise Refused(f"random pipelines are not compared on {slow}, which starts slowly", hint=hint)
    outcome = Conformity(RANDOM_PIPELINES, ", ".join(each.name for each in quick))
    for number, count in search.rounds():
        progress(f"{RANDOM_PIPELINES}: seed {number}, {outcome.agreements} agree", number)
        tried, failure = _search_randomly(quick, search, number, count)
        if failure is not None:
            return replace(outcome, failure=failure)
        outcome = replace(outcome, agreements=outcome.agreements + tried)
    return outcome


def _search_randomly(
    among: Sequence[Contender], search: Search, number: int, count: int
) -> tuple[int, Disagreement | None]:
    """Return the number of random pipelines that a round compared, and the simplest failure."""
    tried = 0

    def differs(drawn: _RandomRun | None) -> tuple[Match, Disagreement] | None:
        nonlocal tried
        if drawn is None:
            return None
        tried += 1
        difference = compare_trace(*drawn)
        return None if difference is None else (drawn[0], difference)

    failure = smallest(_random_runs(among, search), differs, count, number)
    if failure is None:
        return tried, None
    by_itself = _part(*failure, search, number)
    return tried, by_itself[1] if by_itself else failure[1]


def _part(match: Match, disagreement: Disagreement, search: Search, number: int) -> SmallestPart | None:
    """Return the processors that differ by themselves, and their disagreement, if they are not all processors."""

    def differs(pipeline: Pipeline, steps: InputSequence | None) -> Disagreement | None:
        again = Match(match.contender, pipeline, search.n, search.q)
        known = None if steps is None else compare_trace(again, steps, Plan())
        if known is None and steps is not None and not match.contender.threads:
            return None
        return search_round(again, search, number, ROUND) or known

    return smallest_part(match.flat, disagreement, differs)


@st.composite
def plans(draw: st.DrawFn, /, flat: Pipeline, certified: Collection[str] = (), *, seeded: bool = False) -> Plan:
    """Draw plans for threads, beginning with few cuts, threads and switches; `seeded` schedules switch often."""

    def some(names: Collection[str]) -> tuple[str, ...]:
        return tuple(name for name in names if draw(st.booleans()))

    points = st.one_of(st.integers(0, 8), st.integers(0, 60))
    switches = st.lists(st.tuples(points, st.integers(0, 3)), max_size=6).map(tuple)
    schedule: int | Switches = draw(st.integers(0, 2**16)) if seeded else draw(switches)
    return Plan(
        some([node.name for node in flat.nodes]),
        some(certified),
        draw(st.sampled_from((1, 2, 3, None))),
        draw(st.sampled_from((1, 2, 5))),
        schedule,
    )
