"""Advice about an undecided property: the few measures most likely to help.

The rule of this module: a hint names an option and a value that can change the outcome.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING

from workbench.budget import Budget
from workbench.core.domain import INT, Integers
from workbench.errors import WorkbenchError
from workbench.extras import install_extra
from workbench.ir.compose import outline
from workbench.ir.system import System, instance_of
from workbench.processors.held.group import flatten
from workbench.smv.engines.embedded import INSTALL_HINT
from workbench.smv.engines.engine import Reached
from workbench.smv.printer import bit_count
from workbench.verify.ask.scope import SMALLEST_N, Adjustable
from workbench.verify.decide.deciders import NOT_INSTALLED, is_installed
from workbench.verify.decide.part import PartQuestion

if TYPE_CHECKING:
    from workbench.verify.answer.problem import Problem
    from workbench.verify.answer.verdict import Verdict

SOME = "without NuSMV, invariants, liveness, and formulas of GF and FG are decided: ltl(G F x.present -> G F out)"
MAXIMUM = 4
"""Maximum number of hints."""
_NAMED = 3
"""Number of largest parts of a state that are named."""
LOOKING = 0.3
"""Seconds for finding out how small N can be."""
MAX_BITS = 45
"""Maximum number of bits of a state for which more time may suffice for all states, one by one."""
_LONGER = 10
"""Factor by which to raise the time limit of the next try."""


def advise(verdict: Verdict, problem: Problem) -> tuple[str, ...]:
    """Return hints that make it likelier that the next try decides a property, one sentence each."""
    settings = problem.settings
    if verdict.ground("permitted"):
        replaced = ", ".join(settings.abstract)
        return (f"a guarantee of {replaced} that excludes this run", "the bodies themselves: leave out --abstract")
    limited = next((each for each in ("time", "memory") if f"{each} limit" in verdict.reason), "")
    if not limited and (verdict.vacuity is not None or verdict.within_bounds):
        return tuple(islice(_widen(verdict, problem), MAXIMUM))
    if verdict.reason == NOT_INSTALLED:
        return (*_name_missing(problem), f"another property: {SOME}")
    if settings.engine not in ("auto", "all"):
        hints = [*_name_missing(problem), "every engine in turn: --engine auto"]
        if not limited:  # the engine decides no such question, even a small one
            return tuple(hints)
    else:
        hints = [*_name_missing(problem), *_choose_engine(verdict)]
    hints += islice(_narrow(verdict, problem), MAXIMUM - 1 - len(hints))
    if limited == "memory" and settings.memory_mb is not None:
        hints.append(f"more memory: --memory {2 * settings.memory_mb}")
    elif settings.seconds is not None:
        hints.append(f"more time: --timeout {_LONGER * settings.seconds:g}")
    return tuple(hints)


def _name_missing(problem: Problem) -> Iterator[str]:
    """Name the engines that are not installed, if they decide such questions, and the command that installs them."""
    if find_spec("z3") is None and not problem.system and _asks_invariant(problem):
        engines = "induction, invariants, spacer (z3), which decide windows over large numbers"
        yield f"{engines}; not installed: {install_extra('smt')}"
    if not is_installed():
        yield f"NuSMV, which decides every formula; not installed: {INSTALL_HINT}"


def _asks_invariant(problem: Problem) -> bool:
    """Whether a question is about an invariant; False if that cannot be said quickly."""
    with contextlib.suppress(WorkbenchError), Budget(LOOKING):
        _, prop = problem.pose(problem.fitting)
        question = prop.question(outline(problem.pipeline, problem.fitting.q))
        return PartQuestion(question.kind, question.formula).invariant is not None
    return False


def _choose_engine(verdict: Verdict) -> Iterator[str]:
    """Suggest giving all the time to one engine, if it made progress in its share."""
    going = {each.engine: each.steps for each in verdict.reached if each.further}
    if "bmc" in going:
        yield "all the time for a short counterexample or proof: --engine bmc"
    elif "explicit" not in going:
        return
    elif all(each.bits <= MAX_BITS for each in verdict.reached):
        yield "all the time for the states, one by one: --engine explicit"
    elif (farthest := max(going, key=lambda name: (going[name], name != "explicit"))) != "explicit" and going[farthest]:
        yield f"all the time for the engine that got farthest: --engine {farthest}"


def _narrow(verdict: Verdict, problem: Problem) -> Iterator[str]:
    """Yield hints that make the model smaller."""
    n = _find_smaller_n(problem, verdict.n) if verdict.n is not None and verdict.ground("N") else None
    if n is not None:
        if name := next((name for name, domain in problem.subject.pipeline.inputs if domain == INT), ""):
            yield f"state ranges: {name}: 0..9 in place of int"
        yield f"fewer integers: -N {n} (N = {verdict.n} now; a smaller question)"
    queues = verdict.ground("queues")
    if queues is None and any(flatten(each.pipeline).queues for each in problem.sides):  # the model was not composed
        queues = {"": verdict.q} if isinstance(verdict.q, int) else verdict.q
    largest = max((queues or {}).values(), default=0)
    if largest > 1 and not verdict.ground("overflow"):  # shorter ones would overflow sooner
        yield f"shorter queues: -Q 1 ({largest} now; a smaller question)"
    yield from _synchronise(problem)


def _find_smaller_n(problem: Problem, now: int) -> int | None:
    """Return the N that the constants of a question need, or half the current N; None if neither is smaller."""
    with contextlib.suppress(WorkbenchError), Budget(LOOKING):
        usual = _find_usual_n(problem)
        smaller = usual if usual < now else max(2, now // 2)
        replace(problem, settings=replace(problem.settings, n=smaller)).validate()
        return smaller if smaller < now else None
    return None


def _find_usual_n(problem: Problem) -> int:
    usual = replace(problem.settings, n=Adjustable(SMALLEST_N)).fit(*problem.sides, properties=[problem.syntax])
    return int(usual.n)


def _widen(verdict: Verdict, problem: Problem) -> Iterator[str]:
    """Yield hints that lift the bound which prevents the missing case."""
    bound = "" if verdict.vacuity is None else verdict.vacuity.bound
    name, _, _ = bound.partition(" ")
    if bound.startswith("-"):
        yield f"leave out {bound}, or raise it"
    elif name == "N":
        yield f"more integers: -N {max(_find_usual_n(problem), 2 * (verdict.n or 1))} (N = {verdict.n} now)"
    elif name == "int":
        inputs = [name for name, domain in problem.subject.pipeline.inputs if isinstance(domain, Integers)]
        yield from (f"declare what {name} carries, with numbers below 0: {name}: -4..3" for name in inputs)
    elif name == "float" and verdict.vacuity is not None and re.search("fraction|between", verdict.vacuity.never):
        yield "whole numbers in a smaller unit, such as x > 2 in place of x > 0.2"
    elif name == "float":
        low, _, high = bound.partition(" = ")[2].partition("..")
        yield f"more numbers: --values float={2 * int(low) - 1}..{2 * int(high) + 1}"
    else:
        yield from _lengthen(verdict, problem)


def _lengthen(verdict: Verdict, problem: Problem) -> Iterator[str]:
    """Yield hints that keep queues from overflowing so early."""
    queues = verdict.ground("queues") or {}
    now = max(queues.values(), default=0)
    if queues and (needed := problem.suggest_capacity(queues)):
        yield f"the capacity that the rules need: {needed} ({now} now)"
    elif queues:
        yield f"longer queues: -Q {4 * max(1, now)} ({now} now)"
    else:
        yield "fix the number that leaves its range: -p stays-in-range shows the run"
        return
    yield from _synchronise(problem)
    if isinstance(problem.settings.q, Adjustable) and problem.settings.grow:
        yield f"more time for longer queues: --grow {_LONGER * problem.settings.grow:g}"


def _synchronise(problem: Problem) -> Iterator[str]:
    """Yield the hint for inputs that carry events at different steps in the model only."""
    arrivals = problem.settings.environment.arrivals
    if arrivals == "free" and not problem.system and len(problem.subject.pipeline.inputs) > 1:
        yield "--inputs synchronised, if events come on all inputs at the same time"


def describe_state(system: System) -> Reached:
    """Return the size of a state in bits, and the parameters, windows or slices that contribute most."""
    bits: Counter[str] = Counter()
    for variable in system.variables:
        bits[instance_of(variable.name)] += max(1, bit_count(variable.domain))
    largest = ", ".join(f"{name} ({count})" for name, count in bits.most_common(_NAMED))
    hint = f", most of them in {largest}: a smaller window, k or range there helps" if largest else ""
    return Reached("model", f"a state has {bits.total()} bits{hint}", further=False, bits=bits.total())
