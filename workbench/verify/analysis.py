"""The table of analyses, of pipelines and of rules; the command, its help and its sections come from the rows.

The rule of this module: what a row names is imported when the analysis runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workbench.errors import refuse_unknown
from workbench.extensions import later

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.tesla.rule_set import RuleSet
    from workbench.verify.finding import Finding

Subject = Literal["pipeline", "rules"]


@dataclass(frozen=True)
class AnalysisRow:
    """An analysis.

    Attributes
    ----------
    of: the subject of the analysis.
    title: the title of its section.
    run: computes the findings; it takes a pipeline and settings, or `RuleSubject`.
    nothing: the text of the section if there is nothing to analyse.
    key: the name of the findings in JSON; empty: the only finding is the whole object.
    lines: formats the findings for people.
    grounds: the heading of the grounds; None: they are not printed.
    refused: the JSON if the analysis refuses the pipeline; None: then the analyses end with the error.
    applies: whether the analysis applies to a program when it is not requested explicitly.
    """

    name: str
    of: Subject
    title: str
    run: Callable[..., Sequence[Finding]]
    nothing: str = ""
    key: str = "findings"
    lines: Callable[[Sequence[Finding]], Iterable[str]] = later("workbench.verify.finding", "lines_of")
    grounds: str | None = None
    refused: Mapping[str, Any] | None = None
    applies: Callable[[Program], bool] = lambda _: True


def _find_function(of: str, function: str) -> Callable[..., Any]:
    """Return the function of a module of analyses, given as `module.function`."""
    module, _, name = function.partition(".")
    return later(f"workbench.verify.{of}.{module}", name)


def _pipelines(name: str, title: str, ask: str, lines: str = "", applies: str = "", **more: Any) -> AnalysisRow:
    if lines:
        more["lines"] = _find_function("analyses", lines)
    if applies:
        more["applies"] = _find_function("analyses", applies)
    return AnalysisRow(name, "pipeline", title, _find_function("analyses", ask), **more)


def _rules(name: str, title: str, ask: str, nothing: str = "") -> AnalysisRow:
    return AnalysisRow(name, "rules", title, _find_function("rules", ask), nothing=nothing, grounds="this rests on:")


NO_MACHINE = "there is no state machine; for one in slices or windows, analyse the pipeline inside them"
ROWS = (
    _pipelines("dead-paths", "dead paths", "dead_paths.dead_path_findings", "dead_paths.dead_path_lines", key=""),
    _pipelines(
        "latency", "latency", "measure.latencies", key="latency", refused={"latency": []},
        nothing="no input leads to an output",
    ),
    _pipelines("silence", "longest silence", "measure.silences", key="silence", refused={"silence": []}),
    _pipelines("constants", "constant pipes", "constants.constants", "constants.constant_lines", key="pipes"),
    _pipelines(
        "order", "order of arrival", "order.order_findings", "order.order_lines", key="", refused={"order": None}
    ),
    _pipelines(
        "states", "states", "states.states", "states.state_lines", "states.has_machines", key="machines",
        nothing=NO_MACHINE, grounds="",
    ),
    _rules("fires", "rules that can fire", "firing.fires", "there are no rules"),
    _rules("covers", "rules that cover others", "coverage.covers", "no two rules emit the same type"),
    _rules("droppable", "parts that can be dropped", "variants.droppable", "rules have only triggers"),
    _rules("competition", "triggers that compete", "variants.competition", "no rule consumes anything"),
    _rules("order", "order of rules and events", "rule_order.order"),
    _rules("cascade", "cascades", "firing.cascade"),
    _rules("capacity", "contents of columns", "capacities.capacities", "no rule looks for events"),
    _rules("effects", "effects of one event", "capacities.effects"),
)  # fmt: skip
"""All analyses, in the order in which they are reported."""


def analyses(of: Subject) -> dict[str, AnalysisRow]:
    """Return the analyses of pipelines, or of rules, by name."""
    return {row.name: row for row in ROWS if row.of == of}


def answers(rules: RuleSet, question: str, **options: Any) -> tuple[Finding, ...]:
    """Return the answers to a question about rules, named after one of their analyses."""
    known = analyses("rules")
    refuse_unknown("question about rules", question, known)
    subject = later("workbench.verify.rules.rule_subject", "RuleSubject")(rules, **options)
    return tuple(known[question].run(subject))
