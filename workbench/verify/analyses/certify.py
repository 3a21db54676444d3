"""Whether a processor may be pipelined (Multiple Threads, section 4.4): decided by its machine, or by a model checker.

A pipeline in which a copy of its own processes every event computes the `History` of the original. So the claim is
that the two are equivalent. It is established in one of three ways, and the certificate names which:

- by structure, for all values of its domains: no symbol of an earlier front survives n fronts (`ir.lookback`);
- by structure from some state on: nothing changes that state any more (*adaptive*);
- by the model checker, over finite domains: stepwise equivalence with the `History`. Integers are then 0..N-1.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.core.domain import Domain, Reals, Texts
from workbench.core.fields import resolve, within
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Processor
from workbench.core.readable import show_value
from workbench.errors import PipelineError, Refused, WorkbenchError
from workbench.executors.threaded.certificate import Certificate, by_structure, domains_of
from workbench.executors.threaded.pipelined import as_processor, list_outputs
from workbench.language import AnyProgram, program_of
from workbench.processors.held.group import flatten
from workbench.processors.held.history import History
from workbench.verify.answer.problem import equiv
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.trace import Trace, TraceStep
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.environment import Environment

LONGEST = 3
"""The longest history that the model checker tries, if none is claimed."""


class NotCertified(Refused):
    """The claim is false, or could not be decided.

    Attributes
    ----------
    verdict: the verdict on the last question, with its counterexample; None if the pipeline has no finite model.
    """

    def __init__(self, what: str, verdict: Verdict | None = None, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.verdict = verdict


@refuse_loose_settings
def certify(pipeline: AnyProgram, history: int | None = None, settings: Settings | None = None) -> Certificate:
    """Certify that a pipeline (of one input, or of one processor) may be pipelined.

    Parameters
    ----------
    history: the claimed maximum number of last events that it depends on, the present one included; None: find out.
    settings: settings of the model checker, if it is needed.

    Raises
    ------
    NotCertified: the claim is false, with the counterexample; or it could not be decided.
    """
    pipeline = program_of(pipeline).pipeline
    node, processor = as_processor(pipeline)
    domains = pipeline.input_domains
    certificate = by_structure(processor, domains)
    if certificate is not None and (
        history is None or (certificate.settled is None and certificate.history <= history)
    ):
        return certificate
    settings = replace(require_settings(settings).fit(pipeline), vacuity=False)  # valid only for its domains
    verdict: Verdict | None = None
    for events in range(1, LONGEST + 1) if history is None else (history,):
        verdict = _check_pipelined(pipeline, node, events, settings)
        if verdict.outcome is Outcome.HOLDS:
            return _make_certificate(processor, domains, events, verdict, settings)
    assert verdict is not None
    raise _make_refusal(processor, history or LONGEST, verdict)


def certify_nodes(pipeline: AnyProgram) -> dict[str, Certificate]:
    """Return the certificates by structure of the processors of a pipeline, with groups expanded, by name."""
    flat = flatten(program_of(pipeline))
    certificates: dict[str, Certificate] = {}
    for node in flat.nodes:
        processor = flat.typed[node.name]
        if not processor.is_timed:
            certificate = by_structure(processor, tuple(flat.domains[pipe] for pipe in node.inputs))
            if certificate is not None:
                certificates[node.name] = certificate
    return certificates


def _check_pipelined(pipeline: Pipeline, node: Node, events: int, settings: Settings) -> Verdict:
    """Decide whether the pipeline is stepwise equivalent to its history."""
    own = Node("pipelined", History(events, node.processor), node.inputs, node.outputs)
    other = Pipeline(f"{pipeline.name}_pipelined", pipeline.inputs, (own,), tuple(list_outputs(pipeline, node)))
    if pipeline.in_arity > 1:  # a copy gets complete fronts
        settings = replace(settings, environment=Environment("synchronised"))
    try:
        return equiv(pipeline, other, "stepwise", settings)
    except PipelineError:
        raise
    except WorkbenchError as error:
        raise NotCertified(
            f"{pipeline.ports.of} cannot be certified: {error.what}",
            hint="choose finite domains, or pipeline processors by themselves",
        ) from error


def _make_certificate(
    processor: Processor, inputs: tuple[Domain, ...], events: int, verdict: Verdict, settings: Settings
) -> Certificate:
    """Make the certificate of the model checker's result, over the domains that it has checked."""
    domains = domains_of(processor, inputs)
    scope = settings.scope()  # further values that a processor names do not widen a certificate
    checked = tuple(resolve(domain, scope) for domain in domains)
    over = "over its domains"
    if checked != domains and verdict.for_every_n:
        over, checked = "for every N", domains
    elif checked != domains:
        others = any(isinstance(part, Texts | Reals) for domain in domains for part in within(domain))
        only = ", ".join(map(str, checked)) if others else settings.domain
        over = f"over {only} only{'' if others else ', not over all integers'}"
    why = f"it is equivalent to its pipelined self, checked {over} ({verdict.engine})"
    return Certificate.establish(processor, checked, events, why)


def _make_refusal(processor: Processor, events: int, verdict: Verdict) -> NotCertified:
    claim = f"`{processor}` depends on more than the last {events} event{'s' if events > 1 else ''}"
    if verdict.outcome is Outcome.FAILS and verdict.counterexample is not None:
        return NotCertified(
            f"{claim}: it cannot be pipelined. A copy that begins with them emits other events: "
            f"{_describe(verdict.counterexample)}",
            verdict,
            hint="wb.render_timeline draws the run: `verdict.counterexample` of this error",
        )
    why = verdict.reason or f"the verdict is '{verdict.outcome}'"
    return NotCertified(f"whether {claim} is not decided: {why}", verdict, hint="give it more time, or a smaller N")


def _describe(run: Trace) -> str:
    """Describe the events on the inputs, and what both sides carry at the last step."""

    def text(pipe: str, step: TraceStep) -> str:
        value = step.pipes.get(pipe)
        return "no event" if value is None else show_value(value, run.domains.get(pipe))

    inputs = [f"{name} = {', '.join(text(name, step) for step in run.steps)}" for name in run.inputs]
    carried = [f"{pipe} = {text(pipe, run.steps[-1])}" for pipe in run.steps[-1].pipes if pipe not in run.inputs]
    return f"after {'; '.join(inputs)} there are {', '.join(carried)}"
