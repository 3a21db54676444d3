"""Dead paths: the processors and pipes that can be deleted without changing the output (TIME 2021, sections 1 and 4.1).

A truncation of a pipeline P is a pipeline T with some of the processors. It is as good as P
- stepwise, if both emit the same events at every step. Equivalently: their outputs are equal for all finite input
  streams, since what was emitted up to a step is the output on the input up to it;
- up to pace, if T only emits earlier: on every input the output of T begins with that of P; it is at most `lead`
  events longer; and whenever it is longer, some continuation of the input makes P emit what it lacks.
The paper's sequence equivalence alone is too weak: a pipeline that never emits is sequence equivalent to all.

Truncations are short cuts (`truncate`), the removal of processors that no output depends on, and of those on which
only outputs depend that never emit. Random runs refute most short cuts; an engine decides the others.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.budget import Budget
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.errors import LimitMet
from workbench.language import AnyProgram, program_of
from workbench.verify.analyses.constants import never_speaks
from workbench.verify.analyses.sampling import Sampled, fitting
from workbench.verify.analyses.truncate import (
    FULLER,
    MODES,
    PathMode,
    Truncated,
    Truncation,
    find_reached_outputs,
    short_cut,
    truncations,
    without_unread,
)
from workbench.verify.answer.problem import check
from workbench.verify.answer.replay import events_of
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.verdict import BOUNDS_EARLY, Outcome, Verdict, discount_early
from workbench.verify.finding import BEFORE_OVERFLOW, Finding


@dataclass(frozen=True)
class Dead:
    """A short cut that changes nothing, in the sense of `mode`; `verdict` proves it."""

    truncation: Truncation
    mode: PathMode
    verdict: Verdict


@dataclass(frozen=True)
class Needed:
    """A processor that every truncation needs, as far as is known.

    Attributes
    ----------
    verdict: on the short cut from one of its inputs, if one has its type; else on whether its outputs emit, since
        without it they would not. The counterexample shows the difference.
    without: the difference, in words.
    reason: why it is not known whether some short cut could replace it; empty if every one was refuted.
    """

    node: str
    verdict: Verdict
    without: str
    reason: str

    @property
    def decided(self) -> bool:
        """Whether every truncation without it was refuted."""
        return not self.reason


@dataclass(frozen=True)
class DeadPaths:
    """The processors that can be deleted from a pipeline.

    Attributes
    ----------
    pipeline: flat and resolved; everything else refers to its processors.
    unread: processors that no output depends on.
    silent: outputs that never emit, with their verdicts.
    unheard: processors on which only such outputs depend.
    dead: the short cuts that change nothing, each on its own.
    needed: the processors that cannot be deleted.
    reduced: the pipeline after a sequence of short cuts, the largest first, as long as nothing changes; not always the
        smallest possible. None if nothing can be deleted.
    """

    pipeline: Pipeline
    unread: tuple[str, ...]
    silent: Mapping[str, Verdict]
    unheard: tuple[str, ...]
    dead: tuple[Dead, ...]
    needed: tuple[Needed, ...]
    reduced: Reduced | None

    @property
    def deletable(self) -> tuple[str, ...]:
        """The processors that can be deleted, alone or with others, in the pipeline's order."""
        names = {*self.unread, *self.unheard, *(name for dead in self.dead for name in dead.truncation.removed)}
        return tuple(node.name for node in self.pipeline.nodes if node.name in names)

    def __repr__(self) -> str:
        return f"<dead paths of {self.pipeline.name}: {', '.join(self.deletable) or 'nothing'} can be deleted>"

    def best(self, node: str) -> Dead | None:
        """Return the short cut that deletes a processor: stepwise if there is one, and with the fewest others."""
        able = [dead for dead in self.dead if node in dead.truncation.removed]
        return min(able, key=lambda d: (MODES.index(d.mode), len(d.truncation.removed)), default=None)


@dataclass(frozen=True)
class Reduced:
    """A smaller pipeline, and the verdict that it is as good; None if no engine was needed."""

    pipeline: Pipeline
    removed: tuple[str, ...]
    mode: PathMode
    verdict: Verdict | None


def dead_path_findings(pipeline: Program, settings: Settings) -> tuple[Finding]:
    """Return the findings of `dead_paths`, as an analysis."""
    paths = dead_paths(pipeline, settings)
    needed = tuple(_report_needed(each) for each in paths.needed)
    dead = [_report_dead(each, each.truncation.node) for each in paths.dead]
    data = {
        "deletable": paths.deletable, "unread": paths.unread, "silent_outputs": list(paths.silent),
        "unheard": paths.unheard, "dead": dead, "needed": needed,
        "reduced": paths.reduced and _report_reduced(paths.reduced),
    }  # fmt: skip
    text = "\n".join(_list_lines(paths, needed)) or "  there is no processor"
    answer = "deletable" if paths.deletable else "needed"
    decided = all(each.decided for each in needed)
    form = {name: name for name in data}
    return (Finding(paths.pipeline.name, answer, text, decided=decided, data=data, form=form),)


def dead_path_lines(findings: Sequence[Finding]) -> list[str]:
    """Return lines on what can be deleted, what is needed, and which processors suffice together."""
    return findings[0].says.splitlines()


def _report_dead(dead: Dead, name: str) -> Finding:
    """Report that a short cut deletes a processor."""
    cut = dead.truncation
    others = [f"'{other}'" for other in cut.removed if other != name]
    also = f" (and {', '.join(others)} with it)" if others else ""
    text = f"can be deleted{also}; {cut}: the same, {dead.mode}{BEFORE_OVERFLOW * dead.verdict.within_bounds}"
    data = {"read": cut.source, "in_place_of": cut.node, "removed": cut.removed}
    form = {**{each: each for each in data}, "mode": "answer", "verdict": "outcome", "assumptions": "rests_on"}
    return Finding(name, dead.mode, text, dead.verdict, data=data, form=form)


def _report_needed(needed: Needed) -> Finding:
    form = {"processor": "about", "without": "without", "reason": "reason", "counterexample": "counterexample"}
    text = f"needed; {needed.without}" if needed.decided else needed.reason
    data = {"without": needed.without, "reason": needed.reason}
    return Finding(needed.node, "needed", text, needed.verdict, decided=needed.decided, data=data, form=form)


def _report_reduced(reduced: Reduced) -> Finding:
    node_names = [node.name for node in reduced.pipeline.nodes]
    names = ", ".join(f"'{name}'" for name in node_names) or "no processor at all"
    form = {"removed": "removed", "kept": "kept", "mode": "answer", "verdict": "outcome"}
    bounds = BEFORE_OVERFLOW * (reduced.verdict is not None and reduced.verdict.within_bounds)
    text, data = f"{names} would suffice, {reduced.mode}{bounds}", {"removed": reduced.removed, "kept": node_names}
    return Finding("together", reduced.mode, text, reduced.verdict, data=data, form=form)


def _list_lines(paths: DeadPaths, needed: Sequence[Finding]) -> Iterator[str]:
    yield from (f"  {name}: can be deleted; no output depends on it" for name in paths.unread)
    silent = ", ".join(f"'{name}'" for name in paths.silent)
    yield from (f"  {name}: can be deleted; it feeds only outputs that never emit: {silent}" for name in paths.unheard)
    for node in paths.pipeline.nodes:
        best = paths.best(node.name)
        if best is not None and node.name not in {*paths.unread, *paths.unheard}:
            yield _report_dead(best, node.name).line
    yield from (each.line for each in needed)
    if paths.reduced is not None:
        yield _report_reduced(paths.reduced).line


@refuse_loose_settings
def dead_paths(pipeline: AnyProgram, settings: Settings | None = None) -> DeadPaths:
    """Find everything that can be deleted without changing the output, and a counterexample for everything else.

    If the default bounds leave that open, larger ones are tried, as in `check`.
    """
    pipeline = program_of(pipeline)
    settings = require_settings(settings).fit(pipeline)
    paths, end = _find_dead_paths(pipeline, settings), time.monotonic() + settings.grow
    for larger in settings.larger():
        left = end - time.monotonic()
        if left <= 0 or not any(needed.reason in (BOUNDS_EARLY, FULLER) for needed in paths.needed):
            break
        with contextlib.suppress(LimitMet), Budget(left):
            paths = _find_dead_paths(pipeline, larger)
    return paths


def _find_dead_paths(pipeline: Program, settings: Settings) -> DeadPaths:
    whole = settings.flat(pipeline)
    live = without_unread(whole)
    unread = tuple(node.name for node in whole.nodes if node not in live.nodes)
    search = _Search(live, fitting(live, settings))
    unheard = tuple(node.name for node in live.nodes if set(find_reached_outputs(live, node)) <= set(search.silent))
    dead, undecided = search.short_cuts()
    deleted = {*unheard, *(name for path in dead for name in path.truncation.removed)}
    left = [node.name for node in live.nodes if node.name not in deleted]
    needed = tuple(search.find_needed(name, undecided.get(name, "")) for name in left)
    reduced = search.reduce(dead)
    if reduced is None and unread:
        reduced = Reduced(live, (), "stepwise", None)
    if reduced is not None:
        node_names = {node.name for node in reduced.pipeline.nodes}
        reduced = replace(reduced, removed=tuple(n.name for n in whole.nodes if n.name not in node_names))
    return DeadPaths(whole, unread, search.silent, unheard, dead, needed, reduced)


class _Search:
    """The search for short cuts that change nothing.

    Attributes
    ----------
    pipeline: flat and resolved, without unread processors.
    silent, speaking: the outputs that are known never to emit, and the others, each with its verdict.
    """

    def __init__(self, pipeline: Pipeline, settings: Settings) -> None:
        self.pipeline, self.settings = pipeline, settings
        names = [name for name, _ in pipeline.outputs]
        verdicts = {name: discount_early(check(pipeline, never_speaks(name), settings)) for name in names}
        self.silent = {name: verdict for name, verdict in verdicts.items() if verdict.outcome is Outcome.HOLDS}
        self.speaking = {name: verdict for name, verdict in verdicts.items() if name not in self.silent}

    def short_cuts(self) -> tuple[tuple[Dead, ...], dict[str, str]]:
        """Return the short cuts that change nothing, and the reasons why processors are undecided."""
        sampled = Sampled(self.pipeline, self.settings)
        dead: list[Dead] = []
        undecided: dict[str, str] = {}
        for cut in truncations(self.pipeline):
            beside = self._put_beside(cut.pipeline)
            for mode in _find_unrefuted(sampled, cut.pipeline, self.settings):
                verdict = beside.compare(mode)
                if beside.is_as_good(verdict, self.speaking):
                    dead.append(Dead(cut, mode, verdict))
                    break
                if verdict.outcome is not Outcome.FAILS:
                    early = not verdict.reason or (verdict.vacuity and verdict.meets_bounds)
                    undecided |= dict.fromkeys(cut.removed, BOUNDS_EARLY if early else verdict.reason)
        return tuple(dead), undecided

    def _put_beside(self, truncated: Pipeline) -> Truncated:
        return Truncated(self.pipeline, truncated, self.settings)

    def find_needed(self, name: str, reason: str) -> Needed:
        """Find the difference without a processor; `reason`: why it is not known whether a short cut can replace it."""
        for cut in truncations(self.pipeline):
            if cut.node == name and cut.direct:
                verdict = self._put_beside(cut.pipeline).compare("up to pace")
                if verdict.outcome is Outcome.FAILS:
                    where = _name_last_step(verdict)
                    return Needed(name, verdict, f"with '{cut.source}' in its place the output differs{where}", reason)
        outputs = find_reached_outputs(self.pipeline, self.pipeline.node(name))
        output = next(output for output in outputs if output in self.speaking)
        verdict = self.speaking[output]
        if verdict.outcome is not Outcome.FAILS:  # it is not known whether that output ever emits
            reason = reason or verdict.reason or BOUNDS_EARLY
        return Needed(name, verdict, f"without it '{output}' would emit nothing{_name_last_step(verdict)}", reason)

    def reduce(self, dead: Sequence[Dead]) -> Reduced | None:
        """Apply short cuts one after the other, as long as the whole stays as good."""
        best: Reduced | None = None
        for path in sorted(dead, key=lambda d: (MODES.index(d.mode), -len(d.truncation.removed))):
            current, cut = self.pipeline if best is None else best.pipeline, path.truncation
            if cut.node not in {node.name for node in current.nodes} or cut.source not in current.domains:
                continue
            mode = path.mode if best is None or best.mode == "stepwise" else best.mode
            beside = self._put_beside(short_cut(current, current.node(cut.node), cut.source).pipeline)
            verdict = path.verdict if best is None else beside.compare(mode)
            if best is None or beside.is_as_good(verdict, self.speaking):
                best = Reduced(beside.truncated, (), mode, verdict)
        return best


def _find_unrefuted(sampled: Sampled, truncated: Pipeline, settings: Settings) -> list[PathMode]:
    """Return the modes that no random run refutes. Stepwise equivalence is the stronger one."""
    other = Sampled(truncated, settings)
    able = list(MODES)
    for sample in sampled.samples:
        again = other.run(sample.inputs)
        pairs = list(zip(sample.steps, again.steps, strict=False))
        for (_, pipe), (_, instead) in zip(sampled.pipeline.outputs, truncated.outputs, strict=True):
            ours = [events_of(a.pipes[pipe]) for a, _ in pairs]
            theirs = [events_of(b.pipes[instead]) for _, b in pairs]
            agrees = {"stepwise": ours == theirs, "up to pace": _begins_with(theirs, ours)}
            able = [mode for mode in able if agrees[mode]]
    return able


def _begins_with(longer: Iterable[list[Any]], shorter: Iterable[list[Any]]) -> bool:
    """Whether the events of one begin with those of the other, at no later step."""
    emitted, prefixes = itertools.accumulate(longer), itertools.accumulate(shorter)
    return all(a[: len(b)] == b for a, b in zip(emitted, prefixes, strict=True))


def _name_last_step(verdict: Verdict) -> str:
    run = verdict.counterexample
    return "" if run is None else f" at step {len(run.steps) - 1}"
