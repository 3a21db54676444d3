"""Inputs driven by an SMV system (TIME 2021, section 4.3, Figure 6).

The system and the pipeline are printed into one model, in which one step of the system is one step of the pipeline: an
input is a definition over the system's state instead of a free variable. `binding` finds these definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from workbench.core.domain import Domain
from workbench.core.ops import disjunction, either, negate
from workbench.core.term import Term, leaves
from workbench.errors import EngineError, Refused
from workbench.ir.system import Instance, System
from workbench.smv.engines.confinement import CLOCK, confine
from workbench.smv.engines.embedded import PynusmvEngine
from workbench.smv.engines.engine import EngineLimits, Query, RawTrace, Task
from workbench.smv.printer import SmvModel, Surroundings, print_model
from workbench.smv.system import SmvSystem
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.formula import build
from workbench.verify.ask.properties import Question
from workbench.verify.decide.table import complete_engine


class Wire(NamedTuple):
    """One scalar part of an input, or its presence, and the expression that gives it.

    Attributes
    ----------
    of, display_name: the input, and the name of the part for people.
    local: the qualified name of the leaf in the pipeline's system.
    text: the SMV expression over the states of the system.
    smv_text: the same over the instance of the system in a model, and fitted to the domain; empty before it is typed.
    """

    of: str
    display_name: str
    local: str
    domain: Domain
    text: str
    smv_text: str = ""

    @property
    def is_presence(self) -> bool:
        """Whether the wire gives the presence of events on the input."""
        return self.local.endswith(":present")


@dataclass(frozen=True, kw_only=True)
class Driven(Environment):
    """An environment that is an SMV system.

    Attributes
    ----------
    wires: the expressions of each scalar part of each input, and of its presence.
    definitions: the DEFINEs that are added to the system for that.
    words: the bindings, for people.
    """

    source: SmvSystem
    name: str
    module: str
    wires: tuple[Wire, ...]
    definitions: Mapping[str, str] = field(hash=False)
    words: str = ""
    engine: str = "auto"
    limits: EngineLimits = field(default_factory=EngineLimits)
    driven: ClassVar[bool] = True

    @property
    def reducible(self) -> bool:
        """Whether steps without input can be omitted: never, since the system moves on."""
        return False

    @property
    def may_end(self) -> bool:
        """Whether the streams may end: never, since a system runs for ever."""
        return False

    def describe(self, question: Question | None = None) -> str:
        """Describe the assumptions that a verdict rests on."""
        runs = ", over its fair runs" if self.source.fairness else ""
        if question is not None and question.kind == "invar" and self.source.fairness:
            runs = ", over all its runs (COMPASSION is left out)"
        return f"inputs from {self.source.path}{runs}: {self.words}"

    def adapt(self, question: Question) -> Question:
        """Return the same question, about the steps that carry an input event, over the fair runs of the system.

        An invariant on fair runs is a CTL question. CTL does not handle COMPASSION, and LTL would take long, and rarely
        make a difference: for such a system the invariant is checked on all runs.
        """
        formula = question.formula
        if question.kind == "ctl" and self.source.fairness == "compassion":
            raise Refused(
                f"the system {self.source.path} has COMPASSION, which CTL does not see",
                hint="use an invariant or an LTL formula",
            )
        if question.kind != "invar":
            return question
        arrives = disjunction([*(i.present for i in question.system.arrivals), question.system.waits])
        if question.stutter and formula.term is not None and not self._always_present:
            formula = replace(formula, term=either(negate(arrives), formula.term))
        if self.source.fairness == "justice":
            return replace(question, kind="ctl", formula=build("AG", formula))
        return replace(question, formula=formula)

    @property
    def _always_present(self) -> bool:
        return any(wire.is_presence and wire.text == "TRUE" for wire in self.wires)

    def print(self, system: System, assume: Sequence[Term], header: Sequence[str]) -> SmvModel:
        """Return the model of the system and the pipeline; every input is in it, so that traces show them all."""
        names = {i.name for i in system.inputs}
        inputs = [Instance(i.name, f"Input {i.name}", self._write_comment(i.name), ()) for i in system.inputs]
        whole = replace(
            system,
            free={leaf.name: leaf.domain for i in system.inputs for leaf in leaves((i.present, i.value))}
            | dict(system.free),
            instances=(*inputs, *(i for i in system.instances if i.name not in names)),
        )
        around = Surroundings(
            self.source.part(self.module, self.definitions),
            self.name,
            self.module,
            {wire.local: wire.smv_text for wire in self.wires} | ({system.end.now.name: "FALSE"} if system.end else {}),
            self.source.words,
        )
        model = print_model(whole, header=header, surroundings=around)
        if renamed := [label for label, smv in model.terms.labels.items() if label != smv]:
            raise Refused(f"the constant '{renamed[0]}' cannot be used in a model", hint="give it another name")
        return model

    def _write_comment(self, name: str) -> str:
        return "; ".join(w.text for w in self.wires if w.local.startswith(f"{name}:") and w.text != "TRUE")

    def outside(self, state: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of the system in an engine's state."""
        prefix = f"{self.name}."
        own = {name.removeprefix(prefix): text for name, text in state.items() if name.startswith(prefix)}
        return {n: text for n, text in own.items() if n.rpartition(".")[2] not in self.source.transient}

    def confirm(self, raw: RawTrace) -> bool:
        """Whether the states of the system in this trace are a run of the system alone."""
        trace = RawTrace(tuple(self.outside(state) for state in raw.steps), raw.loop)
        return follows(self.source.text, trace, self.engine, self.limits)


def follows(model: str, trace: RawTrace, engine: str = "auto", limits: EngineLimits = EngineLimits()) -> bool:  # noqa: B008
    """Whether the model has the run `trace`: a path from an initial state, or a fair lasso.

    A run is given by the values of the model's VARs. An engine that simulates follows a path. Otherwise the model is
    confined to the run, and the engine decides whether it comes to the end of it.
    """
    checker = complete_engine(engine)
    last = len(trace.steps) - 1
    try:
        if isinstance(checker, PynusmvEngine) and trace.loop is None:
            checker.simulate_many(model, (), [trace.steps], (), limits=limits)
            return True
        query = Query("invar", f"{CLOCK} != {last}") if trace.loop is None else Query("ctl", f"!EF {CLOCK} = {last}")
        return checker.check(Task(confine(model, trace), (query,)), limits).answers[0].truth is False
    except EngineError:  # no state matches, or what is confined to them has no initial state or no way on
        return False
