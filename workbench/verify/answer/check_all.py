"""Deciding many problems: one after the other in this process, or in several beside each other."""

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
    examined: what the verdicts rest on is examined, too; `brief`: briefly (`examine`).
    strict: raise what is wrong with a problem, in place of an `unknown` with that reason.

    Raises
    ------
    EngineMissing: the engine of the settings is not installed.
    """
    todo = list(problems)
    wanted = [number for number, item in enumerate(todo) if item.syntax and PROPERTIES[item.syntax.name].wanted]
    opposites = {n: each for n, item in enumerate(todo) for each in wanted if item.is_opposite_of(todo[each])}
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

    def in_process(place: int) -> Verdict:
        return decide(alone[place], -(-(len(alone) - place) // jobs))

    following = 0
    for place, verdict in decide_in_processes([todo[number] for number in alone], in_process, jobs):
        first = alone[place]
        early[first] = _complete_verdict(verdict, todo[first])
        turned = [number for number, each in opposites.items() if each == first]
        early |= {number: decide(number, 1, early[first]) for number in turned}
        order = range(following, len(todo)) if ordered else sorted([first, *turned])
        for number in takewhile(early.__contains__, order):
            yield todo[number], early.pop(number)
            following = number + 1


def _decide(item: Problem, parts: int, known: Verdict | None, *, examined: bool, brief: bool, strict: bool) -> Verdict:
    """The verdict on a problem with its part of the time that is left; `known` is that on its opposite."""
    verdict = None
    try:
        with share(parts):
            verdict = item.decide() if known is None else item.turn_verdict(known)
            if not examined:
                return verdict
            from workbench.verify.answer.examine import examine

            with phase("what it rests on", part=True):
                return examine(verdict, brief=brief)
    except LimitMet as met:
        return verdict or item.make_undecided().give_up(met)  # what was decided stays so
    except EngineMissing as error:
        if strict or item.settings.engine != "auto":
            raise
        return verdict or item.make_undecided(error.message)  # those that need no engine are decided
    except WorkbenchError as error:
        if strict:
            raise
        return verdict or item.make_undecided(error.message)


def _complete_verdict(verdict: Verdict, item: Problem) -> Verdict:
    """A verdict of another process, with what could not be sent."""

    def run(trace: Trace | None) -> Trace | None:
        return trace and replace(trace, pipeline=item.pose(item.fitting)[0])

    found = tuple(replace(each, witness=run(each.witness)) for each in verdict.examined)
    counterexample, witness = run(verdict.counterexample), run(verdict.witness)
    return replace(verdict, problem=item, counterexample=counterexample, witness=witness, examined=found)
