"""Rule sets: checked declarations and rules, as a program with ports.

The rule of this module: it holds what `check` has accepted, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.domain import ANY, Domain
from workbench.display import Displayed
from workbench.errors import WorkbenchError, listed
from workbench.extensions import later
from workbench.language import program_of
from workbench.tesla import tree as t
from workbench.tesla.resolved import ResolvedRule
from workbench.tesla.rule_graph import CauseGraph

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.core.program import Ports, Program
    from workbench.language import AnyProgram
    from workbench.tesla.rule_explanation import RuleExplanation
    from workbench.tesla.rule_matches import RuleMatches
    from workbench.tesla.rule_simplification import RuleSimplification
    from workbench.tesla.running_rules import RunningRules


@dataclass(frozen=True)
class RuleSet(Displayed):
    """Rules and the types of events and facts that they use.

    Attributes
    ----------
    name: the name that the user gave it.
    declarations: all types of events and facts by name, in the order of the text.
    rules: in the order of the text.
    aggregates: the declared aggregates, by name.
    warnings: remarks on constructs that are allowed but rarely intended.
    """

    name: str
    declarations: Mapping[str, t.Declaration]
    rules: tuple[t.Rule, ...]
    aggregates: Mapping[str, t.DeclaredAggregate] = field(default_factory=dict)
    warnings: tuple[WorkbenchError, ...] = field(default=(), compare=False)

    kind = "rule set"

    @cached_property
    def composites(self) -> tuple[str, ...]:
        """The types of composite events, in the order of their declarations."""
        emitted = {rule.emits for rule in self.rules}
        return tuple(name for name in self.declarations if name in emitted)

    @cached_property
    def events(self) -> tuple[str, ...]:
        """The types of events, including composites."""
        return tuple(name for name, declared in self.declarations.items() if not declared.fact)

    @cached_property
    def primitives(self) -> tuple[str, ...]:
        """The types of events that no rule emits."""
        return tuple(name for name in self.events if name not in self.composites)

    @cached_property
    def rule_names(self) -> tuple[str, ...]:
        """The names of the rules."""
        return tuple(rule.name for rule in self.rules)

    @cached_property
    def resolved(self) -> tuple[ResolvedRule, ...]:
        """The rules with slots for names (`resolved`)."""
        resolve = later("workbench.tesla.scope", "resolve_rule")
        return tuple(resolve(rule, self.declarations) for rule in self.rules)

    @cached_property
    def graph(self) -> CauseGraph:
        """The graph of causes: which rules trigger which others."""
        return CauseGraph(self.rules)

    @cached_property
    def no_columns(self) -> tuple[Any, ...]:
        """The columns of a block without events, for each type in `events`."""
        columns: tuple[Any, ...] = later("workbench.tesla.event_block", "empty_columns")(self)
        return columns

    @property
    def ports(self) -> Ports:
        """The inputs (the time of the step and events of the types that no rule emits) and outputs (composites)."""
        return self.pipeline.ports

    @cached_property
    def pipeline(self) -> Pipeline:
        """The rules as a pipeline with a single processor."""
        pipeline: Pipeline = later("workbench.tesla.rule_processor", "rule_graph")(self)
        return pipeline

    def __call__(self, *streams: Any, **named: Any) -> Any:
        """Add the rules to a pipeline under construction: `rules(temp, Smoke=smoke).Fire` is a stream of composites.

        Streams are those of types that no rule emits, in the order of the text, or given by the name of their type.

        Raises
        ------
        PipelineError: there is no such type, or a stream is missing for a type that a rule reads.
        """
        return later("workbench.tesla.rule_processor", "feed_rules")(self, streams, named)

    def subscribe(
        self, type: str | None, subscriber: Callable[[dict[str, Any]], object], **settings: Any
    ) -> RunningRules:
        """Start the rules, and call `subscriber` with each composite event of a type, or of all types if it is None.

            running = wb.rules.parse_rules(text).subscribe("Fire", print, unit="s")
            running.publish("Smoke", time=12, area="hall")

        Parameters
        ----------
        settings: those of `RunningRules`, the result, which accepts events and more subscribers.
        """
        running: RunningRules = later("workbench.tesla.running_rules", "RunningRules")(self, **settings)
        running.subscribe(type, subscriber)
        return running

    def matches(self, data: Any, **options: Any) -> RuleMatches:
        """Return the matches on a log, searched lazily: for each match the events that it consists of.

            matches = wb.rules.parse_rules(text).matches("log.parquet", time_unit="s")
            matches.first(3), matches.to_arrow()

        Parameters
        ----------
        data, options: those of `workbench.run`.
        """
        matches: RuleMatches = later("workbench.tesla.rule_matches", "RuleMatches")(self, data, **options)
        return matches

    def count(self, data: Any, **options: Any) -> dict[str, int]:
        """Count the composites that each rule emits for a log, without creating them."""
        return self.matches(data, **options).count()

    def explain(
        self, data: Any, event: int | None = None, output: int | str | None = None, *, limit: int = 10, **options: Any
    ) -> RuleExplanation:
        """Explain why composites were emitted: their matches, with the candidates of each part of a rule.

            wb.rules.parse_rules(text).explain("log.parquet", event=1234, time_unit="s")
            wb.rules.parse_rules(text).explain("log.parquet", output="Fire at 12:00:05")

        Parameters
        ----------
        event: the number of a row of the log, from 1 on: explain the composites that it is a part of, and name those
            whose aggregates have counted it.
        output: explain one composite, by its position among all, from 1 on, or by its type and time.
        limit: explain at most this number of composites.
        data, options: those of `workbench.run`.

        Raises
        ------
        InputError: there is no such event or composite.
        """
        return self._explain(data, options, event=event, output=output, limit=limit)

    def explain_missing(self, data: Any, what: str, **options: Any) -> RuleExplanation:
        """Explain why a composite was not emitted: the reasons why the nearest partial matches stopped.

            wb.rules.parse_rules(text).explain_missing("log.parquet", "Fire(area = 1) at 12:00:05")

        Parameters
        ----------
        what: its type and time, and optionally values of attributes.
        data, options: those of `workbench.run`.

        Raises
        ------
        InputError: no rule emits such a composite.
        """
        return self._explain(data, options, missing=what)

    def simplify(self, **settings: Any) -> RuleSimplification:
        """Return the rules with fewer constraints, predicates and rules, and shorter windows, with grounds for each.

        Parameters
        ----------
        settings: `seconds` for one query to the model (10; 0: only laws are applied), its `bounds`, and whether
            results that hold only `within_bounds` are applied, too (no).
        """
        simplify = later("workbench.conformance.compare.simplified_rules", "simplified_rules")
        simplification: RuleSimplification = simplify(self, **settings)
        return simplification

    def analyse(self, question: str, **options: Any) -> tuple[Any, ...]:
        """Answer a question about the rules themselves (`Finding`), with shortest streams as evidence.

            for each in wb.rules.parse_rules(text).analyse("fires"):
                print(each.about, each.says)

        Parameters
        ----------
        question: as in `workbench analyse --only`: `fires`, `covers`, ...
        options: `bounds` of their model (`RuleBounds`), `settings`, and `deepen`: whether to query larger models.

        Raises
        ------
        Refused: the rules have no finite model.
        """
        findings: tuple[Any, ...] = later("workbench.verify.analysis", "answers")(self, question, **options)
        return findings

    def _explain(self, data: Any, options: dict[str, Any], **fields: Any) -> RuleExplanation:
        module = "workbench.runner.rules.explained"
        question = later(module, "RuleQuestion")(**fields)
        explanation: RuleExplanation = later(module, "explain_rules")(self, data, question, options)
        return explanation

    def __str__(self) -> str:
        return str(self.file)

    def __repr__(self) -> str:
        return f"<rules {self.name}: {listed(self.rule_names)}; they emit {listed(self.composites) or 'nothing'}>"

    @property
    def file(self) -> t.RuleFile:
        """The rule set as a tree."""
        return t.RuleFile(tuple(self.declarations.values()), self.rules, tuple(self.aggregates.values()))


def rules_or_program(program: AnyProgram | RuleSet) -> Program | RuleSet:
    """Return rules or a program as they are, or load them from a file; see `program_of`."""
    if isinstance(program, str | Path) and str(program).endswith(".tesla"):
        rules: RuleSet = later("workbench.tesla.check", "load_rules")(program)
        return rules
    return program if isinstance(program, RuleSet) else program_of(program)


def find_shared_domains(types: Iterable[t.Declaration]) -> dict[str, Domain]:
    """Return the type of each attribute in a column that several types share; `ANY` where they differ."""
    domains: dict[str, Domain] = {}
    for each in types:
        for name, domain in each.domains.items():
            domains[name] = domain if domains.get(name, domain) == domain else ANY
    return domains
