"""One thing to decide: a property of a pipeline, or whether two pipelines are equivalent.

Both kinds can be looked at before an engine is started (`validate`), decided, and drawn afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.ir.compose import outline
from workbench.ir.system import System
from workbench.language import Loaded, PipelineReference, PropertySyntax
from workbench.processors.held.group import flatten
from workbench.verify.answer.check import Settings, check, undecided
from workbench.verify.answer.equivalence import NAMES, EquivalenceMode, equivalent, side_by_side
from workbench.verify.answer.from_syntax import EQUIVALENCES, property_from, sides
from workbench.verify.answer.tolerance import TOLERATES, faultless
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.properties import Property

if TYPE_CHECKING:
    from workbench.conformance.written_tests.recipe import Recipe


class Problem(Protocol):
    """Something that can be decided."""

    @property
    def text(self) -> str:
        """What is asked, as the user wrote it."""

    @property
    def pipeline(self) -> Pipeline:
        """The flat pipeline over finite domains that counterexamples are runs of."""

    def validate(self) -> None:
        """Raise what is wrong with the question, before an engine is asked."""

    def undecided(self) -> Verdict:
        """The verdict as long as there is none."""

    def decide(self) -> Verdict:
        """The verdict."""

    @property
    def asked(self) -> PropertySyntax | None:
        """What is asked, understood; None where it was not written as a property."""

    def recipes(self) -> tuple[Recipe, ...]:
        """How a test builds the pipelines."""

    def examine(self, verdict: Verdict) -> Verdict:
        """The verdict, with what examining its grounds found."""


@dataclass(frozen=True)
class Selected:
    """A pipeline of a file, and the values that were given to its parameters."""

    loaded: Loaded
    given: Mapping[str, Value] = field(default_factory=dict)
    sound: bool = False
    """Whether its faults never strike."""

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline, over the domains as written."""
        return faultless(self.loaded.pipeline) if self.sound else self.loaded.pipeline

    def recipe(self, settings: Settings) -> Recipe:
        """How a test builds it."""
        from workbench.conformance.written_tests.recipe import Recipe

        made, name = self.loaded, self.loaded.pipeline.name
        return Recipe.of_text(made.source.text, name, self.given, settings.domain, made.added, sound=self.sound)


@dataclass(frozen=True)
class Single:
    """A property of one pipeline."""

    loaded: Loaded
    syntax: PropertySyntax
    settings: Settings
    given: Mapping[str, Value] = field(default_factory=dict)

    @property
    def asked(self) -> PropertySyntax:
        """What is asked."""
        return self.syntax

    def recipes(self) -> tuple[Recipe, ...]:
        """How a test builds the pipeline."""
        return (Selected(self.loaded, self.given).recipe(self.settings),)

    @property
    def text(self) -> str:
        """The property as written."""
        return str(self.syntax)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline, flat and over finite domains."""
        return flatten(self.loaded.pipeline.resolve(self.settings.domain))

    @cached_property
    def _system(self) -> System:
        return outline(self.pipeline, self.settings.q)

    def validate(self) -> None:
        """Build the question without asking it."""
        property_from(self.syntax).question(self._system)

    def decide(self) -> Verdict:
        """The verdict, under the names the user wrote."""
        verdict = check(self.loaded.pipeline, property_from(self.syntax), self.settings)
        return replace(verdict, property=self.text)

    def undecided(self) -> Verdict:
        """The verdict as long as there is none."""
        return undecided(self.loaded.pipeline.name, self.text, self.settings)

    def examine(self, verdict: Verdict) -> Verdict:
        """The verdict, with what examining its grounds found."""
        from workbench.verify.answer.examine import examined

        asked = self.loaded.pipeline, property_from(self.syntax)
        return examined(verdict, lambda _: asked, self.settings)


@dataclass(frozen=True)
class Equivalence:
    """Whether two pipelines are equivalent; `text` and `title` are shown for property and pipeline."""

    left: Selected
    right: Selected
    mode: EquivalenceMode
    given: Settings
    text: str = ""
    title: str = ""
    asked: PropertySyntax | None = None

    def recipes(self) -> tuple[Recipe, ...]:
        """How a test builds both pipelines."""
        return self.left.recipe(self.given), self.right.recipe(self.given)

    @cached_property
    def pipeline(self) -> Pipeline:
        """Both pipelines side by side."""
        domain = self.given.domain
        left, right = (part.pipeline.resolve(domain) for part in (self.left, self.right))
        return flatten(side_by_side(left, right, self.mode)[0])

    @cached_property
    def settings(self) -> Settings:
        """The settings, with capacities for queues of one pipeline meaning those queues side by side."""
        if isinstance(self.given.q, int):
            return self.given
        spread: dict[str, int] = {}
        for name, size in self.given.q.items():
            inside = [queue for queue in self.pipeline.queues if queue.endswith(f".{name}")]
            spread |= dict.fromkeys([name] if name in self.pipeline.queues else inside or [name], size)
        return replace(self.given, q=spread)

    def validate(self) -> None:
        """Build both sides without asking."""
        outline(self.pipeline, self.settings.q)

    def decide(self) -> Verdict:
        """The verdict."""
        verdict = equivalent(self.left.pipeline, self.right.pipeline, self.mode, self.settings)
        return replace(verdict, pipeline=self.title or verdict.pipeline, property=self.text or verdict.property)

    def undecided(self) -> Verdict:
        """The verdict as long as there is none."""
        title = self.title or f"{self.left.loaded.pipeline.name}, {self.right.loaded.pipeline.name}"
        return undecided(title, self.text or NAMES[self.mode], self.given)

    def examine(self, verdict: Verdict) -> Verdict:
        """The verdict, with what examining its grounds found."""
        from workbench.verify.answer.examine import examined

        def asked(settings: Settings) -> tuple[Pipeline, Property]:
            domain = settings.domain
            return side_by_side(self.left.pipeline.resolve(domain), self.right.pipeline.resolve(domain), self.mode)

        return examined(verdict, asked, self.settings)


def problem(
    loaded: Loaded, syntax: PropertySyntax, settings: Settings, given: Mapping[str, Value] | None = None
) -> Problem:
    """What a property asks of a pipeline; `given` are the values its parameters were given."""
    given = given or {}
    if syntax.name == TOLERATES:
        both = Selected(loaded, given), Selected(loaded, given, sound=True)
        return Equivalence(*both, "sequence", settings, str(syntax), loaded.pipeline.name, syntax)
    if syntax.name not in EQUIVALENCES or not isinstance(syntax.argument, PipelineReference):
        return Single(loaded, syntax, settings, given)
    other = Selected(loaded.other(syntax.argument), dict(syntax.argument.params))
    mode = EQUIVALENCES[syntax.name]
    left, right = sides(Selected(loaded, given), other, mode)
    return Equivalence(left, right, mode, settings, str(syntax), loaded.pipeline.name, syntax)
