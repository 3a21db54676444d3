"""Rule sets: declarations and rules that have been checked, as a program with ports.

The rule of this module: it holds what `check` has found to be right, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.core.domain import ANY, Domain
from workbench.display import Displayed
from workbench.errors import WorkbenchError, listed
from workbench.extensions import later
from workbench.tesla import tree as t
from workbench.tesla.resolved import ResolvedRule
from workbench.tesla.rule_graph import CauseGraph

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.core.program import Ports
    from workbench.tesla.live import RunningRules
    from workbench.tesla.rule_explanation import RuleExplanation
    from workbench.tesla.rule_matches import RuleMatches
    from workbench.tesla.rule_simplification import RuleSimplification


@dataclass(frozen=True)
class RuleSet(Displayed):
    """Rules and the types that they are about.

    Attributes
    ----------
    name: what the user calls it.
    declarations: all types of events and facts by name, in the order of the text.
    rules: in the order of the text.
    aggregates: those that are not the language's own, by name.
    warnings: what is allowed and seldom meant.
    """

    name: str
    declarations: Mapping[str, t.Declaration]
    rules: tuple[t.Rule, ...]
    aggregates: Mapping[str, t.DeclaredAggregate] = field(default_factory=dict)
    warnings: tuple[WorkbenchError, ...] = field(default=(), compare=False)

    kind = "rule set"

    @cached_property
    def composites(self) -> tuple[str, ...]:
        """The types of what is emitted, in the order of their declarations."""
        emitted = {rule.emits for rule in self.rules}
        return tuple(name for name in self.declarations if name in emitted)

    @cached_property
    def events(self) -> tuple[str, ...]:
        """The types of events, composites among them."""
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
        """Who causes whom."""
        return CauseGraph(self.rules)

    @cached_property
    def no_columns(self) -> tuple[Any, ...]:
        """The columns of a block without events, of each type in `events`."""
        found: tuple[Any, ...] = later("workbench.tesla.event_block", "empty_columns")(self)
        return found

    @property
    def ports(self) -> Ports:
        """What a log brings, the time of the step and events of the types that no rule emits, and what comes of it."""
        return self.pipeline.ports

    @cached_property
    def pipeline(self) -> Pipeline:
        """The graph as which it is crawled: a single processor."""
        found: Pipeline = later("workbench.tesla.rule_processor", "rule_graph")(self)
        return found

    def __call__(self, *streams: Any, **named: Any) -> Any:
        """The streams of composites on streams of a pipeline under construction: `rules(temp, Smoke=smoke).Fire`.

        Streams are of the types that no rule emits, in the order of the text, or of the types that they are given for.

        Raises
        ------
        PipelineError: there is no such type, or none is given for one that a rule looks at.
        """
        return later("workbench.tesla.rule_processor", "feed_rules")(self, streams, named)

    def subscribe(self, type: str | None, told: Callable[[dict[str, Any]], object], **settings: Any) -> RunningRules:
        """Let the rules run, and have something told of each composite of a type, or of all types for None.

            running = wb.rules.parse_rules(text).subscribe("Fire", print, unit="s")
            running.publish("Smoke", time=12, area="hall")

        Parameters
        ----------
        settings: those of `RunningRules`, which is what runs, and takes events and more subscribers.
        """
        running: RunningRules = later("workbench.tesla.live", "RunningRules")(self, **settings)
        running.subscribe(type, told)
        return running

    def matches(self, data: Any, **options: Any) -> RuleMatches:
        """The matches on a log, looked for as far as they are asked for: which events each of them consists of.

            found = wb.rules.parse_rules(text).matches("log.parquet", time_unit="s")
            found.first(3), found.to_arrow()

        Parameters
        ----------
        data, options: those of `workbench.run`.
        """
        found: RuleMatches = later("workbench.tesla.rule_matches", "RuleMatches")(self, data, **options)
        return found

    def count(self, data: Any, **options: Any) -> dict[str, int]:
        """How many composites each rule makes of a log; none of them is made."""
        return self.matches(data, **options).count()

    def explain(
        self, data: Any, event: int | None = None, output: int | str | None = None, *, most: int = 10, **options: Any
    ) -> RuleExplanation:
        """Why composites are there: their matches, with what each part of a rule saw.

            wb.rules.parse_rules(text).explain("log.parquet", event=1234, time_unit="s")
            wb.rules.parse_rules(text).explain("log.parquet", output="Fire at 12:00:05")

        Parameters
        ----------
        event: the number of a row of the log, from 1 on: the composites that it is a part of.
        output: one of them, by its place among all, from 1 on, or by its type and time.
        most: so many composites are told.
        data, options: those of `workbench.run`.

        Raises
        ------
        InputError: there is no such event or composite.
        """
        return self._explain(data, options, event=event, output=output, most=most)

    def explain_missing(self, data: Any, what: str, **options: Any) -> RuleExplanation:
        """Why a composite is not there: what stopped the nearest partial matches.

            wb.rules.parse_rules(text).explain_missing("log.parquet", "Fire(area = 1) at 12:00:05")

        Parameters
        ----------
        what: its type and time, and perhaps values of attributes.
        data, options: those of `workbench.run`.

        Raises
        ------
        InputError: no rule emits such.
        """
        return self._explain(data, options, missing=what)

    def simplify(self, **settings: Any) -> RuleSimplification:
        """The same with fewer constraints, predicates and rules, and shorter windows; what each step rests on is told.

            found = wb.rules.load_rules("fire.tesla").simplified()
            print(found)
            found.rules

        Parameters
        ----------
        settings: `seconds` for one question to the model (10; 0: only laws are applied), its `bounds`, and whether what
            holds `within_bounds` is applied, too (no).
        """
        made = later("workbench.conformance.compare.simplified_rules", "simplified_rules")
        found: RuleSimplification = made(self, **settings)
        return found

    def analyse(self, question: str, **options: Any) -> tuple[Any, ...]:
        """The answers to a question about the rules themselves (`Finding`), with shortest streams that show them.

            for each in wb.rules.parse_rules(text).analyse("fires"):
                print(each.about, each.says)

        Parameters
        ----------
        question: as `workbench analyse --only` has it: `fires`, `covers`, ...
        options: `bounds` of their model (`RuleBounds`), `settings`, and `deepen`: whether larger models are asked.

        Raises
        ------
        Refused: the rules have no finite model.
        """
        found: tuple[Any, ...] = later("workbench.verify.analysis", "answers")(self, question, **options)
        return found

    def _explain(self, data: Any, options: dict[str, Any], **asked: Any) -> RuleExplanation:
        module = "workbench.runner.rules.explained"
        question = later(module, "RuleQuestion")(**asked)
        found: RuleExplanation = later(module, "explain_rules")(self, data, question, options)
        return found

    def __str__(self) -> str:
        return str(self.file)

    def __repr__(self) -> str:
        return f"<rules {self.name}: {listed(self.rule_names)}; they emit {listed(self.composites) or 'nothing'}>"

    @property
    def file(self) -> t.RuleFile:
        """The tree of it."""
        return t.RuleFile(tuple(self.declarations.values()), self.rules, tuple(self.aggregates.values()))


def find_shared_domains(types: Iterable[t.Declaration]) -> dict[str, Domain]:
    """What each attribute holds, in a column that several types share; anything where they differ."""
    domains: dict[str, Domain] = {}
    for each in types:
        for name, domain in each.domains.items():
            domains[name] = domain if domains.get(name, domain) == domain else ANY
    return domains
