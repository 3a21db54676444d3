"""The algorithms that decide queries on a loaded model, by sets of states.

The rule of this module: the queries of a task share one search for the reachable states, whose layers (the states
first reached after 0, 1, 2, ... steps) make the counterexamples of invariants and of `AG` shortest.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.frames import Frame

from .bindings import LoadedModel, ParsedQuery
from .confinement import insert_into_main
from .ending import NO_FAIR_PATH, NO_INITIAL_STATE, RejectedError, deadlock
from .engine import slowest_last

Emit = Callable[[Frame], None]
_REPORT_SECONDS = 0.2  # seconds between two frames that report the progress of the search for the states


class ReachableStates:
    """The reachable states of a model, layer by layer, computed on demand."""

    def __init__(self, model: LoadedModel, emit: Emit) -> None:
        self.model = model
        self._emit, self._told = emit, time.monotonic()
        self.layers: list[Any] = []
        self.states = model.initial
        self._frontier = self.states

    def walk(self) -> Iterator[Any]:
        """Yield all layers, those already known first."""
        index = 0
        while index < len(self.layers) or self._advance():
            yield self.layers[index]
            index += 1

    def _advance(self) -> bool:
        """Add one layer; return False if there is none left."""
        if self._frontier.is_false():
            return False
        layer = self._frontier
        self.layers.append(layer)
        self._frontier = self.model.post(layer) & ~self.states
        self.states = self.states | self._frontier
        if time.monotonic() - self._told > _REPORT_SECONDS:
            self._told = time.monotonic()
            self._emit({"depth": len(self.layers)})
        return True

    def all(self) -> Any:
        """Return all reachable states."""
        while self._advance():
            pass
        return self.states

    def path(self, bad: Any) -> list[Any]:
        """Return the states of a shortest path to a set; [] if the set is not reachable."""
        for depth, layer in enumerate(self.walk()):
            hit = layer & bad
            if not hit.is_false():
                return self._go_back(self.model.pick(hit), depth)
        return []

    def _go_back(self, state: Any, depth: int) -> list[Any]:
        path = [state]
        for layer in reversed(self.layers[:depth]):
            state = self.model.pick(self.model.pre(state) & layer)
            path.append(state)
        return path[::-1]


def check(
    text: str,
    order: Sequence[str],
    queries: Sequence[tuple[str, str]],
    required: int,
    count_states: bool,
    watch: Sequence[str],
    emit: Emit,
) -> None:
    """Decide the queries (kind, formula) and emit one frame for each as soon as it is decided.

    If a counterexample may take long, a frame comes first that reports the query as false. The queries from
    number `required` on are side questions.

    Raises
    ------
    RejectedError: the model or a formula is defective, or the model has no meaning.
    """
    model = LoadedModel(text, order)
    formulas = []
    for kind, words in queries:
        emit({"formula": words})  # the last one is to blame if NuSMV exits while reading it
        formulas.append((kind, model.formula(kind, words)))
    watched = (tuple(watch), model.symbols(watch))
    reachable = ReachableStates(model, emit)
    # From here on NuSMV has accepted the text: if the process ends now, the text is not to blame.
    emit({"phase": "search"})
    _refuse_vacuous(model, reachable, any(kind != "invar" for kind, _ in queries))

    def decide(first: int, last: int) -> None:
        for index in slowest_last([kind for kind, _ in queries], first, last):
            kind, formula = formulas[index]
            emit({"deciding": index})
            result = _DECIDE[kind](model, reachable, formula, functools.partial(emit, {"refuted": index}))
            steps = _list_values(model, result.path, watched)
            frame = {"answer": index, "truth": result.truth, "steps": steps, "loop": result.loop}
            emit(frame | {"length": result.length})

    decide(0, required)
    if count_states:
        emit({"reachable": model.count(reachable.all())})
    if required:
        emit({"phase": "side"})
    decide(required, len(formulas))


def _refuse_vacuous(model: LoadedModel, reachable: ReachableStates, temporal: bool) -> None:
    """Refuse a model of which everything is true because it has no (infinite, fair) run."""
    if reachable.states.is_false():
        raise RejectedError(*NO_INITIAL_STATE)
    stuck = model.without_successor()
    # A total transition relation needs no search, and is what a model should have.
    if not stuck.is_false() and (path := reachable.path(stuck)):
        state = ", ".join(f"{name} = {value}" for name, value in model.values(path[-1]).items())
        raise RejectedError(*deadlock(state), is_deadlock=True)
    if temporal and (model.initial & model.fair()).is_false():
        raise RejectedError(*NO_FAIR_PATH)


Refuted = Callable[[], None]
"""Called when a query is known to be false, before the search for its counterexample, which may meet a limit."""


class QueryResult(NamedTuple):
    """The result of a query; the fields are those of an `Answer`."""

    truth: bool
    path: list[Any]
    loop: int | None = None
    length: int | None = None


def _decide_invariant(
    model: LoadedModel, reachable: ReachableStates, formula: ParsedQuery, refuted: Refuted
) -> QueryResult:
    del refuted
    path = reachable.path(~model.satisfying(formula.node))
    return QueryResult(not path, path)


def _decide_ctl(model: LoadedModel, reachable: ReachableStates, formula: ParsedQuery, refuted: Refuted) -> QueryResult:
    model.share_reachable(reachable.all())
    always = formula.always()
    if always is not None:
        # CTL quantifies over fair paths; every state on the way to a fair state is fair.
        path = reachable.path(~model.satisfying(always) & model.fair())
        return QueryResult(not path, path)
    wrong = model.initial & model.fair() & ~model.satisfying(formula.node)
    if wrong.is_false():
        return QueryResult(True, [])
    refuted()
    state = model.pick(wrong)
    path = model.explain(state, formula.node)
    if not path and not formula.is_temporal():
        path = [state]
    return QueryResult(False, *_fold(path))


def _fold(path: list[Any]) -> tuple[list[Any], int | None]:
    """Turn a path whose last state occurs before into a lasso that lists it once."""
    for index, state in enumerate(path[:-1]):
        if state == path[-1]:
            return path[:-1], index
    return path, None


def _decide_ltl(model: LoadedModel, reachable: ReachableStates, formula: ParsedQuery, refuted: Refuted) -> QueryResult:
    model.share_reachable(reachable.all())
    holds, states, loop = model.ltl(formula, refuted)
    return QueryResult(holds, states if loop is None else states[:-1], loop)


def _decide_longest(
    model: LoadedModel, reachable: ReachableStates, formula: ParsedQuery, refuted: Refuted
) -> QueryResult:
    """Peel off, round by round, the states that cannot stay in the set any longer."""
    del refuted
    left = model.satisfying(formula.node) & reachable.all() & model.fair()
    length = 0
    while not left.is_false():
        staying = left & model.pre(left)
        if staying == left:
            return QueryResult(False, *_find_staying(model, reachable, left))
        left, length = staying, length + 1
    return QueryResult(True, [], length=length)


def _find_staying(model: LoadedModel, reachable: ReachableStates, states: Any) -> tuple[list[Any], int]:
    """Return a lasso whose loop stays in a set of reachable states, each of which has a successor in it."""
    path = reachable.path(states)
    begin = len(path) - 1
    while True:
        following = model.pick(model.post(path[-1]) & states)
        for index in range(begin, len(path)):
            if path[index] == following:
                return path, index
        path.append(following)


_DECIDE: dict[str, Callable[[LoadedModel, ReachableStates, ParsedQuery, Refuted], QueryResult]] = {
    "invar": _decide_invariant,
    "ctl": _decide_ctl,
    "ltl": _decide_ltl,
    "longest": _decide_longest,
}


def _list_values(model: LoadedModel, path: list[Any], watched: tuple[Sequence[str], Any]) -> list[dict[str, str]]:
    """Return the values along a path; inputs are listed under the step that they lead to."""
    names, symbols = watched
    listed = [
        model.values(state) | dict(zip(names, model.look(state, symbols) if names else (), strict=True))
        for state in path
    ]
    if model.has_inputs:
        for before, after, values in zip(path, path[1:], listed[1:], strict=False):
            values.update(model.inputs(before, after))
    return listed


# --- simulation: a model is loaded once and serves many runs ----------------------------------------------------------

_WATCH = "workbench_watch_{}"

SmvSteps = Sequence[Mapping[str, str]]


def simulate(text: str, order: Sequence[str], runs: Sequence[SmvSteps], watch: Sequence[str], emit: Emit) -> None:
    """Run every list of steps and emit one frame for each, with the watched values.

    Raises
    ------
    RejectedError: the model, a watched expression or a given value is defective, or no state matches.
    """
    model = LoadedModel(_with_watches(text, watch), order)
    emit({"phase": "search"})
    symbols = model.symbols([_WATCH.format(index) for index in range(len(watch))])

    @functools.cache  # the runs of a test repeat these values
    def having(values: frozenset[tuple[str, str]]) -> Any:
        """Return the states with these values."""
        return model.expression(" & ".join(f"({name} = ({value}))" for name, value in sorted(values)) or "TRUE")

    for index, steps in enumerate(runs):
        values, states = [], model.initial
        for number, step in enumerate(steps):
            matching = states & having(frozenset(step.items())) & model.mask
            if matching.is_false():
                assignment = ", ".join(f"{name} = {value}" for name, value in step.items())
                raise RejectedError(f"run {index}: no state matches step {number}", where=assignment)
            state = model.pick(matching)
            observations = model.look(state, symbols)
            if failed := next((value for value in observations if value.startswith("FAILURE(")), ""):
                raise RejectedError(f"run {index}, step {number}: a watched expression has no value: {failed}")
            values.append(observations)
            states = model.post(state)
        emit({"run": index, "values": values})


def _with_watches(text: str, watch: Sequence[str]) -> str:
    """Return the model with one DEFINE per watched expression, so that NuSMV evaluates them like any other."""
    if not watch:
        return text
    defines = " ".join(f"{_WATCH.format(index)} := ({expression});" for index, expression in enumerate(watch))
    return insert_into_main(text, f"DEFINE {defines}")
