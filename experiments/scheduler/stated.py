"""The claims of the paper's correctness argument (section 3.3) as terms over the scheduler's model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from experiments.scheduler.interleaving import ancestors
from experiments.scheduler.state import PairTerms, SchedulerState
from workbench.core.ops import both, conjunction, disjunction, either, equal, ite, negate
from workbench.core.term import FALSE, TRUE, Term


def stated(model: SchedulerState) -> dict[str, Term]:
    """What every step has to make true, by name, and whether all has `finished`."""
    return {
        "definitions": _defined(model),
        "one-at-a-time": _one_at_a_time(model),
        "in-order": _in_order(model),
        "exactly-once": negate(model.twice),
        "serialisable": _serialisable(model),
        "no-deadlock": _live(model),
        "finished": either(_finished(model), model.twice),
    }


def _pending(model: SchedulerState) -> PairTerms:
    """Pairs with a message, and those that have not sent theirs."""
    return {k: either(model.msg[k], equal(model.stage[k], 2) if model.unlocked else FALSE) for k in model.pairs}


def _finished(model: SchedulerState) -> Term:
    """All phases have begun, and ended."""
    nothing = [negate(model.msg[k]) for k in model.pairs] + [equal(model.stage[k], 0) for k in model.pairs]
    found: Term = conjunction([equal(model.begun, model.phases), *nothing])
    return found


def _defined(model: SchedulerState) -> Term:
    """While nobody has the lock, x and the sets are what definitions (7) to (9) say of msg."""
    free = conjunction(model.stage[k] <= 1 for k in model.pairs)
    x, claims = [model.x[0]], []
    for i in range(1, model.phases + 1):
        own = model.least(model.msg, i)
        x.append(ite(own > x[-1], x[-1], own))
        claims.append(either(model.begun < i, equal(model.x[i], x[i])))
    full = {(v, p): conjunction([model.msg[v, p], x[p] < v, model.reaches(x[p], v)]) for v, p in model.pairs}
    for v, p in model.pairs:
        partial = both(model.msg[v, p], negate(model.reaches(x[p], v)))
        ready = conjunction([full[v, p], *(negate(full[v, r]) for r in range(1, p))])
        claims += [equal(model.partial[v, p], partial), equal(model.full[v, p], full[v, p])]
        claims.append(equal(model.ready[v, p], ready))
    found: Term = either(negate(free), conjunction(claims))
    return found


def _one_at_a_time(model: SchedulerState) -> Term:
    """No two phases of a vertex run at the same time."""
    runs = {k: equal(model.stage[k], 1) for k in model.pairs}
    return _none(both(runs[v, p], runs[v, q]) for v, p in model.pairs for q in range(1, p))


def _in_order(model: SchedulerState) -> Term:
    """The phases of a vertex start in order."""
    started = {k: both(model.seen[k], negate(model.queue[k])) for k in model.pairs}
    later = ((v, p, q) for v, p in model.pairs for q in range(p + 1, model.phases + 1))
    return _none(both(model.takes[v, p], started[v, q]) for v, p, q in later)


def _serialisable(model: SchedulerState) -> Term:
    """When (v, p) starts, no ancestor of v has a phase up to p unfinished, and v itself none before p."""
    before, pending = ancestors(model.graph), _pending(model)
    wrong = []
    for v, p in model.pairs:
        unfinished = [pending[u, q] for u in before[v] for q in range(1, p + 1)]
        unfinished += [model.msg[v, q] for q in range(1, p)]
        wrong += [both(model.takes[v, p], each) for each in unfinished]
    return _none(wrong)


def _live(model: SchedulerState) -> Term:
    """As long as not all has ended, something can happen."""
    can = [negate(equal(model.begun, model.phases)), *model.queue.values()]
    can += [negate(equal(model.stage[k], 0)) for k in model.pairs]
    found: Term = disjunction([_finished(model), model.twice, *can])
    return found


def _none(wrong: Iterable[Any]) -> Term:
    found: Term = conjunction([TRUE, *map(negate, wrong)])
    return found
