"""Deciding many problems: one after the other in this process, or in several beside each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from workbench.budget import share
from workbench.errors import EngineMissing, LimitMet, WorkbenchError
from workbench.verify.answer.problem import Problem
from workbench.verify.answer.verdict import Trace, Verdict


def check_all(
    problems: Iterable[Problem],
    *,
    jobs: int | None = None,
    ordered: bool = False,
    examined: bool = False,
    strict: bool = False,
) -> Iterator[tuple[Problem, Verdict]]:
    """Decide many problems at the same time; each verdict comes as soon as it is known, with its problem.

    `can(P)` and `never(P)` of one program are one question, which is decided once.
    What has come is yours, whatever happens then: an interrupt ends the processes and goes on to you.

        found = []
        found.extend(wb.check_all(wb.problems("models/time2021/sum_of_odds.pipe")))

    Parameters
    ----------
    problems: made by `problem`, `problems` and `comparison`.
    jobs: how many at a time. None: one for each core. With 1 they are decided in this process, in their order, and
        share the time that is left where a `Budget` bounds it.
    ordered: they come in the order of the problems, each as soon as those before it have.
    examined: what the verdicts rest on is examined, too.
    strict: raise what is wrong with a problem, in place of an `unknown` with that reason.

    Raises
    ------
    EngineMissing: there is no engine to decide with.
    """
    todo = list(problems)
    same: dict[int, int] = {}
    for number, item in enumerate(todo):
        same[number] = next((i for i in same if same[i] == i and todo[i].is_opposite_of(item)), number)
    alone = [number for number in same if same[number] == number]
    early: dict[int, Verdict] = {}
    following = 0
    for number, verdict in _each(todo, alone, jobs, examined=examined, strict=strict):
        early[number] = verdict
        early |= {n: verdict.opposite(todo[n]) for n in same if same[n] == number != n}
        while ready := [n for n in early if n == following or not ordered]:
            following = ready[0] + 1
            yield todo[ready[0]], early.pop(ready[0])


def _each(
    todo: list[Problem], numbers: list[int], jobs: int | None, *, examined: bool, strict: bool
) -> Iterator[tuple[int, Verdict]]:
    """Decide the problems of these numbers; each verdict comes with its number."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = min(cores if jobs is None else max(jobs, 1), len(numbers))
    if jobs <= 1 or not hasattr(os, "fork"):
        for done, number in enumerate(numbers):
            yield number, _decided(todo[number], len(numbers) - done, examined=examined, strict=strict)
        return
    from workbench.verify.answer.processes import in_processes

    def decided(place: int) -> Verdict:
        item = todo[numbers[place]]
        return _decided(item, -(-(len(numbers) - place) // jobs), examined=examined, strict=strict)

    for place, verdict in in_processes([todo[number] for number in numbers], decided, jobs):
        yield numbers[place], _at_home(verdict, todo[numbers[place]])


def _decided(item: Problem, parts: int, *, examined: bool, strict: bool) -> Verdict:
    """The verdict on a problem with its part of the time that is left."""
    verdict = None
    try:
        with share(parts):
            verdict = item.decide()
            if not examined:
                return verdict
            from workbench.verify.answer.examine import examine

            return examine(verdict)
    except LimitMet as met:
        return verdict or item.undecided().given_up(met)  # what was decided stays so
    except EngineMissing:
        raise
    except WorkbenchError as error:
        if strict:
            raise
        return verdict or item.undecided(error.message)


def _at_home(verdict: Verdict, item: Problem) -> Verdict:
    """A verdict of another process, with what could not be sent."""

    def run(trace: Trace | None) -> Trace | None:
        return trace and replace(trace, pipeline=item.asked(item.fitting)[0])

    found = tuple(replace(each, witness=run(each.witness)) for each in verdict.examined)
    counterexample, witness = run(verdict.counterexample), run(verdict.witness)
    return replace(verdict, problem=item, counterexample=counterexample, witness=witness, examined=found)
