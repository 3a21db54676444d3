"""Deciding many problems: one after the other in this process, or in parallel processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from workbench.budget import cores, phase, share
from workbench.errors import EngineMissing, LimitMet, WorkbenchError
from workbench.language.properties import PROPERTIES
from workbench.verify.answer.problem import Problem
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import Verdict


def check_all(
    problems: Iterable[Problem],
    *,
    jobs: int | None = None,
    ordered: bool = False,
    examined: bool = False,
    brief: bool = False,
    strict: bool = False,
) -> Iterator[tuple[Problem, Verdict]]:
    """Decide many problems in parallel; yield each problem with its verdict as soon as it is known.

    `can(P)` and `never(P)` of one program are one question, which is decided once.
    An interrupt ends the processes and propagates to the caller, who keeps the verdicts yielded so far.

        found = []
        found.extend(wb.check_all(wb.problems("models/time2021/sum_of_odds.pipe")))

    Parameters
    ----------
    problems: from `problem`, `problems` and `comparison`.
    jobs: number of problems decided in parallel. None: one for each core. With 1, problems are decided in this process,
        in order, and share the time that is left if a `Budget` bounds it.
    ordered: yield verdicts in the order of the problems, each as soon as all earlier ones are known.
    examined: also examine what the verdicts rest on; `brief`: briefly (`examine`).
    strict: raise the error of an invalid problem, instead of an `unknown` verdict with it as the reason.

    Raises
    ------
    EngineMissing: the engine that the settings name is not installed.
    """
    todo = list(problems)
    can_numbers = [number for number, item in enumerate(todo) if item.syntax and PROPERTIES[item.syntax.name].wanted]
    opposites = {n: each for n, item in enumerate(todo) for each in can_numbers if item.is_opposite_of(todo[each])}
    alone = [number for number in range(len(todo)) if number not in opposites]
    jobs = min(cores() if jobs is None else max(jobs, 1), len(alone))

    def decide(number: int, parts: int, known: Verdict | None = None) -> Verdict:
        return _decide(todo[number], parts, known, examined=examined, brief=brief, strict=strict)

    early: dict[int, Verdict] = {}
    if jobs <= 1 or not hasattr(os, "fork"):
        for number, item in enumerate(todo):
            first = opposites.get(number, number)
            if first not in early:
                early[first] = decide(first, len(todo) - number)
            yield item, early[first] if first == number else decide(number, len(todo) - number, early[first])
        return
    from workbench.verify.answer.processes import decide_in_processes

    def in_process(index: int) -> Verdict:
        return decide(alone[index], -(-(len(alone) - index) // jobs))

    following = 0
    for index, verdict in decide_in_processes([todo[number] for number in alone], in_process, jobs):
        first = alone[index]
        early[first] = _complete_verdict(verdict, todo[first])
        turned = [number for number, each in opposites.items() if each == first]
        early |= {number: decide(number, 1, early[first]) for number in turned}
        order = range(following, len(todo)) if ordered else sorted([first, *turned])
        for number in takewhile(early.__contains__, order):
            yield todo[number], early.pop(number)
            following = number + 1


def _decide(item: Problem, parts: int, known: Verdict | None, *, examined: bool, brief: bool, strict: bool) -> Verdict:
    """Decide a problem in its share of the time that is left; `known` is the verdict on its opposite."""
    verdict = None
    try:
        with share(parts):
            verdict = item.decide() if known is None or known.vacuity else item.turn_verdict(known)
            if not examined:
                return verdict
            from workbench.verify.answer.examine import examine

            with phase("what it rests on", part=True):
                return examine(verdict, brief=brief)
    except LimitMet as met:
        return verdict or item.make_undecided().give_up(met)  # the decision is valid without it
    except EngineMissing as error:
        if item.settings.engine != "auto":
            raise
        return verdict or item.make_undecided(error.what)  # other problems are decided by the installed engines
    except WorkbenchError as error:
        if strict:
            raise
        return verdict or item.make_undecided(error.message)


def _complete_verdict(verdict: Verdict, item: Problem) -> Verdict:
    """Return a verdict of another process, completed with what could not be sent."""

    def run(trace: Trace | None) -> Trace | None:
        return trace and replace(trace, pipeline=item.pose(item.fitting)[0])

    grounds = tuple(replace(each, witness=run(each.witness)) for each in verdict.examined)
    counterexample, witness = run(verdict.counterexample), run(verdict.witness)
    return replace(verdict, problem=item, counterexample=counterexample, witness=witness, examined=grounds)
