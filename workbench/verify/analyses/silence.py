"""The longest silence: the smallest k for which `bounded-liveness(k)` holds, found in one search.

A silent step carries an input event and no output. The engine peels the silent states off round by round (the
longest path inside a set of states); the number of rounds is k, and a set of which nothing peels off any more is a
silence without end.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.core.ops import both, disjunction, negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.readable import plural
from workbench.errors import Refused
from workbench.ir.system import System
from workbench.processors.held.group import flatten
from workbench.verify.analyses.measure import find_longest, measure
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.formula import Formula, atom
from workbench.verify.ask.properties import Property, arrivals, bounded_liveness, make_property, outputs
from workbench.verify.finding import Finding


def silent_steps() -> Property:
    """How many silent steps in a row there can be; it `fails` where there can be any number."""

    def falls_silent(system: System) -> Formula:
        if system.pending:
            raise Refused(
                "the longest silence is not measured where a pipe delays events: time passes without input, too",
                hint="ask for bounded-liveness(k), which counts the steps with input",
            )
        return atom(both(disjunction(arrivals(system)), negate(disjunction(outputs(system)))))

    return make_property("longest-silence", "longest", falls_silent, "no output comes, whatever the loop feeds")


def longest_silence(pipeline: Program, settings: Settings | None = None, output: str | None = None) -> Finding:
    """The most steps in a row that carry an input event and no output event: `measure`.

    Parameters
    ----------
    output: listen to this output only; None: a step on which any output speaks is not silent.
    """
    settings = (settings or Settings()).fitted(pipeline)
    if output is not None:
        pipeline = _with_output(pipeline, output)
    verdict, witness = find_longest(pipeline, silent_steps(), bounded_liveness, settings)
    if verdict.length and witness is not None:
        witness = replace(witness, shows=f"{plural(verdict.length, 'step')} with input and without output")
    what = "silence" if output is None else f"silence of {output}"
    return measure(what, verdict, verdict.length, witness)


def silences(pipeline: Pipeline, settings: Settings) -> list[Finding]:
    """The longest silence, of all outputs together and of each."""
    names = [name for name, _ in pipeline.outputs] if pipeline.out_arity > 1 else []
    return [longest_silence(pipeline, settings, name) for name in (None, *names)]


def _with_output(pipeline: Program, output: str) -> Pipeline:
    """The pipeline with one of its outputs only."""
    flat = flatten(pipeline)
    return replace(flat, outputs=((output, flat.pipe(output)),))
