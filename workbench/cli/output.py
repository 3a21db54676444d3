"""Verdicts as text for people: a block of text each, in colour on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING

from workbench.budget import phase, share
from workbench.cli.progress import Progress
from workbench.cli.supervised import report_missing
from workbench.core.readable import plural, shorten_sets
from workbench.errors import LimitMet, WorkbenchError
from workbench.events.files import unwritten
from workbench.events.values import standard_json
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import Outcome, Verdict, worst_exit_code

if TYPE_CHECKING:
    import argparse

    from workbench.core.pipeline import Pipeline
    from workbench.verify.answer.problem import Problem

SIGNS = {
    Outcome.HOLDS: (Outcome.HOLDS.sign, "32"),
    Outcome.WITHIN_BOUNDS: (Outcome.WITHIN_BOUNDS.sign, "33"),
    Outcome.FAILS: (Outcome.FAILS.sign, "31"),
    Outcome.UNKNOWN: (Outcome.UNKNOWN.sign, "35"),
}
"""The sign and the colour (ANSI) of each outcome; the word is always printed too."""

WITHIN_BOUNDS = "no counterexample before a queue overflows or a number leaves its range"
GAP = "DEFECT OF WORKBENCH: {} of the counterexample: model and execution disagree. Please report this."
SHORTEST = {True: "no shorter run shows it", False: "a shorter run may show it, too"}

EXAMINED = {"N + 1": "N", "Q + 1": "queues", "every Q": "queues"}
"""The kind of ground that each aspect of a brief examination is about."""

LOOKING = 4
"""Divisor of the time limit: the share in which all questions are validated before the first is decided."""

INDENT = "    "


def colour(text: str, code: str, stream: IO[str]) -> str:
    """Colour the text if `stream` is a terminal that supports it."""
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def headline(verdict: Verdict, *, bounded: bool = False) -> str:
    """Return the verdict in one line; with its bounds, if wanted or if it holds within them."""
    sign, code = SIGNS[verdict.outcome]
    word = colour(f"{sign} {verdict.words}", code, sys.stdout)
    line = f"{word}  {colour(verdict.property, '1', sys.stdout)}  of {verdict.pipeline}"
    if verdict.system:
        line += f" over {verdict.system}"
    known, limited = verdict.count_known_steps, verdict.outcome is Outcome.WITHIN_BOUNDS
    if (bounded or limited or verdict.has_sampled_values) and (bounds := _bounds(verdict)):
        line += f"  ({bounds})"
    beyond = f"nothing is known beyond {plural(known, 'step')}" if limited and known is not None else ""
    remark = "; ".join(filter(None, [beyond, str(verdict.depth or ""), shorten_sets(verdict.explanation)]))
    return f"{line}: {remark}" if remark else line


def _bounds(verdict: Verdict) -> str:
    """Return the bounds of a verdict: Q, N, and k, the number of steps that every run has without an overflow."""
    bounds = list[str]()
    if verdict.trivial is None:
        capacities = (
            verdict.q if isinstance(verdict.q, int) else ", ".join(f"{q}: {size}" for q, size in verdict.q.items())
        )
        return f"Q = {capacities}" + (f", N = {verdict.n}" if verdict.n is not None else "")
    if verdict.trivial:
        return ""
    if queues := verdict.ground("queues"):
        sizes = {*queues.values()}
        named = ", ".join(f"{name}: {size}" for name, size in queues.items())
        bounds.append(f"Q = {sizes.pop()}" if len(sizes) == 1 else f"Q = {named}")
    floats, is_sampled = verdict.ground("floats"), verdict.outcome.is_proved and bool(verdict.ground("sampled"))
    if verdict.for_every_n or (verdict.n is not None and (verdict.ground("N") or not floats)):
        bounds.append("every N" if verdict.for_every_n else f"N = {verdict.n}")
    bounds += [f"float = {floats}"] * bool(floats) + ["sampled values"] * is_sampled
    return ", ".join([*bounds, *([] if verdict.count_known_steps is None else [f"k = {verdict.count_known_steps}"])])


def block(verdict: Verdict, *, brief: bool = True) -> str:
    """Return the verdict with its grounds, one per line, and the run that shows it.

    Parameters
    ----------
    brief: whether the results of examinations follow their grounds; otherwise they have separate lines.
    """
    lines = [headline(verdict)]
    if verdict.outcome is Outcome.WITHIN_BOUNDS:
        lines.append(f"{INDENT}{WITHIN_BOUNDS}")
    lines += [f"{INDENT}{line}" for line in _list_grounds(verdict, brief=brief)]
    if verdict.examined and not brief:
        lines.append(f"{INDENT}examined:")
        lines += [f"{INDENT}{item}" for item in verdict.examined]
    lines.append(INDENT + ", ".join(filter(None, [f"{verdict.seconds:.2f} s", verdict.engine, verdict.size])))
    lines += [f"{INDENT}so far: {text}" for text in verdict.reached]
    lines += [f"{INDENT}try {text}" for text in verdict.advice]
    if verdict.counterexample:
        lines += ["", run(verdict.counterexample)]
    if verdict.witness:
        lines += ["", f"{INDENT}the bound is reached, for example on this run:", "", run(verdict.witness)]
    for ground in verdict.grounds:
        lines += ["", run(ground.witness)] if ground.witness else []
    return "\n".join(lines)


def _list_grounds(verdict: Verdict, *, brief: bool) -> Iterator[str]:
    """Yield the grounds of a verdict, one per line, with the results of examinations."""
    examinations = {EXAMINED[each.kind]: each for each in verdict.examined if each.kind in EXAMINED} if brief else {}
    for ground in verdict.grounds:
        if ground.text and (one := examinations.get(ground.kind)) is not None and one.finding is not None:
            yield f"{one.finding.sign} {shorten_sets(ground.text)}; {one.text}"
        elif ground.text:
            yield f"- {shorten_sets(ground.text)}"


def run(trace: Trace) -> str:
    """Return a run as an indented timeline, followed by the result of the replay."""
    from workbench.processors.held.group import flatten

    assert trace.pipeline is not None
    return textwrap.indent(render_trace(trace, flatten(trace.pipeline), longer=SHORTEST[False]), INDENT)


def render_trace(
    trace: Trace, pipeline: Pipeline, capacities: Mapping[str, int] | None = None, *, longer: str = ""
) -> str:
    """Return a run as a timeline for indenting, followed by the result of the replay and whether it is the shortest.

    Parameters
    ----------
    longer: the text for a run that may not be the shortest.
    """
    from workbench.show.timeline import render_timeline

    width = max(shutil.get_terminal_size((100, 24)).columns - len(INDENT), 40)
    words = filter(None, [trace.replay, SHORTEST[True] if trace.shortest else longer])
    return f"{render_timeline(trace, pipeline, width, capacities=capacities)}\n{'; '.join(words)}".rstrip()


def gap(verdict: Verdict) -> str:
    """Return the disagreement between model and execution in this verdict, or ""."""
    return next((t.replay for t in (verdict.counterexample, verdict.witness) if t and t.gap), "")


def short(verdict: Verdict) -> str:
    """Return the grounds of a verdict in a few words."""
    if verdict.trivial is None:
        return ""
    if verdict.trivial:
        return "by construction"
    grounds = []
    if verdict.ground("queues"):
        grounds.append(f"Q={verdict.q}" if isinstance(verdict.q, int) else "given queues")
    overflow = verdict.ground("overflow")
    if overflow and not (verdict.ground("asked") and verdict.outcome is Outcome.FAILS):
        grounds.append("overflow" if grounds else "domain left")
    if overflow is None:
        grounds.append("overflow undecided")
    if verdict.for_every_n or verdict.n is not None:
        grounds.append("every N" if verdict.for_every_n else f"N={verdict.n}")
    grounds += ["wraps"] * bool(verdict.wraps)
    grounds += ["saturates"] * bool(verdict.ground("saturates"))
    return ", ".join(grounds)


def exit_code(verdicts: list[Verdict]) -> int:
    """Return the worst exit code of the verdicts: a model gap (nothing can be trusted), fails, unknown, holds."""
    if any(map(gap, verdicts)):
        return 3
    return worst_exit_code(v.exit_code for v in verdicts)


def decide_all(problems: list[Problem], args: argparse.Namespace) -> int:
    """Decide the problems and print each verdict, write the requested files, and return the exit code."""
    from workbench.cli import run_files
    from workbench.verify.answer.check_all import check_all

    _validate(problems)
    verdicts: list[Verdict] = []
    jobs, long = getattr(args, "jobs", 1), getattr(args, "rests_on", False)
    brief = not (long or args.json or args.quiet)
    checks = check_all(problems, jobs=jobs, ordered=True, examined=long or brief, brief=brief, strict=True)
    _report_missing(problems, verdicts, args)
    for number, item in enumerate(problems, 1):
        with Progress(f"property {number} of {len(problems)}: {item.text}"), phase("deciding"):
            _, verdict = next(checks)
        verdicts.append(verdict)
        with _guard_writing(verdicts):
            if args.json:
                print(json.dumps(standard_json(verdict.to_json())), flush=True)
            elif args.quiet:
                print(headline(verdict, bounded=True), flush=True)
            else:
                print(("" if number == 1 else "\n") + block(verdict, brief=brief), flush=True)
        _report_missing(problems, verdicts, args)
        if gap(verdict):
            print(GAP.format(gap(verdict)), file=sys.stderr)
    with _guard_writing(verdicts):
        if not args.json and not args.quiet and len(verdicts) > 1:
            print(f"\n{_summary(verdicts)}", flush=True)
        run_files.write(args, verdicts)
    return exit_code(verdicts)


def _report_missing(problems: list[Problem], verdicts: list[Verdict], args: argparse.Namespace) -> None:
    """Report the lines to print if this process is killed: the verdicts that have not been printed."""
    missing = [problem.make_undecided() for problem in problems[len(verdicts) :]]
    report_missing([each.to_json() if args.json else headline(each) for each in missing], exit_code(verdicts))


def _validate(problems: list[Problem]) -> None:
    """Validate all questions before the first is decided, within a share of the time.

    A limit that is met here is ignored: deciding will report it.
    """
    with Progress("reading the properties"):
        for number, item in enumerate(problems):
            with contextlib.suppress(LimitMet), share(LOOKING * (len(problems) - number)):
                item.validate()


@contextlib.contextmanager
def _guard_writing(verdicts: list[Verdict]) -> Iterator[None]:
    """Keep the exit code of the verdicts if writing fails, unless all of them hold."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (WorkbenchError, OSError) as error:
        failure = error if isinstance(error, WorkbenchError) else unwritten(error)
        failure.exit_code = exit_code(verdicts) or failure.exit_code
        raise failure from error


def _summary(verdicts: list[Verdict]) -> str:
    counts = [(sum(v.outcome is outcome for v in verdicts), outcome) for outcome in Outcome]
    return ", ".join(f"{count} {outcome}" for count, outcome in counts if count)
