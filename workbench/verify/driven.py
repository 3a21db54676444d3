"""Inputs driven by an SMV system (design section 7; TIME 2021, section 4.3, Figure 6).

The system and the pipeline are printed into one model, in which one step of the system is one step of the pipeline:
an input is a definition over the system's state instead of a free variable. What the system gives must lie in the
input's domain; where the types do not say so, the engine is asked, on the system alone.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from workbench.backends.smv import SmvModel, Surroundings, print_model
from workbench.backends.smv_terms import CAST_LIMIT, constant, type_of, word_width
from workbench.core.domain import Bool, Domain, Enum, Integer, Range, scalars
from workbench.core.ops import disjunction, either, negate
from workbench.core.pipeline import Pipeline
from workbench.core.term import leaves
from workbench.errors import DomainError, EngineError, InputError, Location, Refused, TypingError, WorkbenchError
from workbench.ir.system import Instance, System
from workbench.verify.engines import Limits, Query, RawTrace, Result, Task, get_engine
from workbench.verify.environment import Environment
from workbench.verify.formula import build
from workbench.verify.path import follows
from workbench.verify.properties import Question
from workbench.verify.smv_system import SmvSystem, expression
from workbench.verify.timeline import show_smv

LARGEST_WORD = 12
"""Bits of a word that is converted to a number."""


class Undecided(EngineError):
    """The inputs could not be bound within the limits, or the engine crashed over it."""


class Wire(NamedTuple):
    """One scalar part of an input: what gives it.

    `local` is the qualified name of the leaf in the pipeline's system, `text` the SMV expression over the states of the
    system, `given` the same over the instance of the system in a model, and fitted to the domain.
    """

    local: str
    domain: Domain
    text: str
    given: str


@dataclass(frozen=True, kw_only=True)
class Driven(Environment):
    """An environment that is an SMV system.

    Attributes
    ----------
    wires: what gives each scalar part of each input, and whether the input carries an event.
    definitions: the DEFINEs that the system gets for that.
    words: what is bound to what, for people.
    """

    source: SmvSystem
    name: str
    module: str
    wires: tuple[Wire, ...]
    definitions: Mapping[str, str] = field(hash=False)
    words: str = ""
    engine: str = "auto"
    limits: Limits = field(default_factory=Limits)

    @property
    def reducible(self) -> bool:
        """Steps without input stay in the model: the system moves on."""
        return False

    @property
    def may_end(self) -> bool:
        """A system runs for ever."""
        return False

    def describe(self, question: Question | None = None) -> str:
        """For people: what the verdict rests on."""
        runs = ", over its fair runs" if self.source.fairness else ""
        if question is not None and question.kind == "invar" and self.source.fairness:
            runs = ", over all its runs (COMPASSION is left out)"
        return f"inputs from {self.source.path}{runs}: {self.words}"

    def adapt(self, question: Question) -> Question:
        """The same question, about the steps that carry an input event, over the fair runs of the system.

        An invariant is asked of the fair runs with CTL. CTL does not see COMPASSION, and LTL would take long for what
        seldom makes a difference: such a system is asked for the invariant on all of its runs.
        """
        formula = question.formula
        if question.kind == "ctl" and self.source.fairness == "compassion":
            raise Refused(
                f"the system {self.source.path} has COMPASSION, which CTL does not see",
                hint="ask an invariant or an LTL formula",
            )
        if question.kind != "invar":
            return question
        arrives = disjunction(i.present for i in question.system.inputs)
        if question.stutter and formula.term is not None and not self._always_present:
            formula = replace(formula, term=either(negate(arrives), formula.term))
        if self.source.fairness == "justice":
            return replace(question, kind="ctl", formula=build("AG", formula))
        return replace(question, formula=formula)

    @property
    def _always_present(self) -> bool:
        return any(wire.local.endswith(":present") and wire.text == "TRUE" for wire in self.wires)

    def print(self, system: System, *, stutter_reduced: bool, ends: bool, header: Sequence[str]) -> SmvModel:
        """The model of the system and the pipeline; every input is in it, so that traces show them all."""
        names = {i.name for i in system.inputs}
        inputs = [Instance(i.name, f"Input {i.name}", self._comment(i.name), ()) for i in system.inputs]
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
            {wire.local: wire.given for wire in self.wires} | ({system.end.now.name: "FALSE"} if system.end else {}),
            self.source.words,
        )
        model = print_model(whole, header=header, surroundings=around)
        _refuse_renamed(model)
        return model

    def _comment(self, name: str) -> str:
        return "; ".join(w.text for w in self.wires if w.local.startswith(f"{name}:") and w.text != "TRUE")

    def outside(self, state: Mapping[str, str]) -> dict[str, str]:
        """The variables of the system in an engine's state."""
        prefix = f"{self.name}."
        own = {name.removeprefix(prefix): text for name, text in state.items() if name.startswith(prefix)}
        return {n: text for n, text in own.items() if n.rpartition(".")[2] not in self.source.transient}

    def confirm(self, raw: RawTrace) -> bool:
        """Whether the states of the system in this trace are a run of the system alone."""
        trace = RawTrace(tuple(self.outside(state) for state in raw.steps), raw.loop)
        return follows(self.source.text, trace, self.engine, self.limits)


def drive(
    source: SmvSystem,
    pipeline: Pipeline,
    bind: Mapping[str, str] | None = None,
    when: Mapping[str, str] | None = None,
    engine: str = "auto",
    limits: Limits = Limits(),  # noqa: B008 - immutable
) -> Driven:
    """The environment in which `source` drives the inputs of a pipeline over finite domains.

    Parameters
    ----------
    bind: input (or `input.field`) to an SMV expression over the states of the system; an input that is not
        named is bound to the variable or definition of its own name.
    when: input to a condition on states: the steps at which it carries an event; by default every step.

    Raises
    ------
    InputError: an input has nothing to be bound to, or something else is bound. LanguageError: no expression.
    TypingError: an expression gives values of another kind. DomainError: it gives a value outside of the domain.
    EngineError: the system is defective, or has no (fair) run. Undecided: a limit was met.
    """
    wanted = _bound(source, pipeline, dict(bind or {}), dict(when or {}))
    driver = _Driver(source, engine, limits)
    wires = driver.wires(wanted)
    words = "; ".join(_words(name, wanted) for name, _ in pipeline.inputs)
    return Driven(
        source=source, name=driver.name, module=driver.module, wires=wires, definitions=driver.definitions,
        words=words, engine=engine, limits=limits,
    )  # fmt: skip


class _Wanted(NamedTuple):
    """A leaf of an input, before it is typed: `of` is the input, `shown` the name people know it by."""

    of: str
    shown: str
    local: str
    domain: Domain
    text: str


def _bound(
    source: SmvSystem, pipeline: Pipeline, bind: dict[str, str], when: dict[str, str]
) -> list[tuple[_Wanted, list[_Wanted]]]:
    """Per input its presence and its parts."""
    found = []
    inputs = [name for name, _ in pipeline.inputs]
    for name, domain in pipeline.inputs:
        condition = when.pop(name, "TRUE")
        presence = _Wanted(name, f"the presence of {name}", f"{name}:present", Bool(),
                           expression(condition, f"when {name}", source))  # fmt: skip
        parts = []
        for path, part in scalars(domain):
            label = ".".join((name, *path))
            text = bind.pop(label) if label in bind else _by_name(source, label)
            local = f"{name}:{'.'.join(('value', *path))}"
            parts.append(_Wanted(name, label, local, part, expression(text, label, source)))
        found.append((presence, parts))
    for left in (*bind, *when):
        close = difflib.get_close_matches(left, inputs, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"its inputs: {', '.join(inputs)}"
        raise InputError(f"pipeline {pipeline.name} has no input '{left}' that could be bound", hint=hint)
    return found


def _by_name(source: SmvSystem, name: str) -> str:
    if name in source.names:
        return name
    close = difflib.get_close_matches(name, source.names, n=1)
    likely = f"'{close[0]}'" if close else "an expression over " + (", ".join(source.names) or "its states")
    raise InputError(
        f"the system {source.path} has no variable or definition '{name}' for the input of that name",
        hint=f"bind it, for example to {likely}: --bind '{name}={close[0] if close else '...'}'",
    )


def _words(name: str, wanted: Sequence[tuple[_Wanted, list[_Wanted]]]) -> str:
    presence, parts = next(found for found in wanted if found[0].of == name)
    said = ", ".join(p.shown if p.text == p.shown else f"{p.shown} := {p.text}" for p in parts)
    return said if presence.text == "TRUE" else f"{said} when {presence.text}"


class _Driver:
    """Finds out, by asking the engine, what type each expression has and whether its values fit."""

    def __init__(self, source: SmvSystem, engine: str, limits: Limits) -> None:
        self.source, self.engine, self.limits = source, get_engine(engine), limits
        self.name, self.module = source.fresh("system"), source.fresh("System")
        self.definitions: dict[str, str] = {}

    def wires(self, wanted: Sequence[tuple[_Wanted, list[_Wanted]]]) -> tuple[Wire, ...]:
        leaves_of = [leaf for presence, parts in wanted for leaf in (presence, *parts)]
        # whatever is wrong with the system itself comes first; CTL looks for fair runs, too
        self._checked("", Query("ctl" if self.source.fairness else "invar", "FALSE"))
        names = {leaf.local: self._named(leaf) for leaf in leaves_of}
        if self._fits([(leaf, names[leaf.local]) for leaf in leaves_of]):
            return tuple(Wire(leaf.local, leaf.domain, leaf.text, names[leaf.local]) for leaf in leaves_of)
        return tuple(self._fitted(leaf, names[leaf.local], names[f"{leaf.of}:present"]) for leaf in leaves_of)

    def _named(self, leaf: _Wanted) -> str:
        """How a model speaks of an expression: a name of the system as it is, anything else by a DEFINE."""
        if leaf.text in ("TRUE", "FALSE"):
            return leaf.text
        first = leaf.text.partition(".")[0]
        if re.fullmatch(r"[\w$#.]+", leaf.text) and first in self.source.names:
            return f"{self.name}.{leaf.text}"
        what = "when" if leaf.local.endswith(":present") else "is"
        name = self.source.fresh(re.sub(r"\W", "_", f"{leaf.of if what == 'when' else leaf.shown}_{what}"))
        while name in self.definitions:
            name = self.source.fresh(f"{name}_")
        self.definitions[name] = f"({leaf.text})"
        try:
            self._ask("", f"({self.name}.{name} = {self.name}.{name}) & FALSE")
        except Undecided:
            raise
        except EngineError as error:
            message = re.sub(r"^(TYPE ERROR : )?line \d+ ?: ", "", error.what).partition("\n")[0]
            raise TypingError(
                f"'{leaf.text}' for {leaf.shown}: {message}",
                where=self.source.path,
                hint=f"it is read in the main module, which has {', '.join(self.source.names)}",
            ) from error
        return f"{self.name}.{name}"

    def _fits(self, leaves_of: Sequence[tuple[_Wanted, str]]) -> bool:
        """Whether the types alone say that these values lie in their domains: NuSMV then takes the assignment."""
        fit = self.source.fresh("fit")
        lines = []
        for number, (leaf, given) in enumerate(leaves_of):
            labels = {label: label for label in getattr(leaf.domain, "labels", ())}
            lines.append(f"VAR {fit}{number} : {type_of(leaf.domain, labels)}; ASSIGN {fit}{number} := {given};")
        return self._accepts("\n".join(lines), "FALSE")

    def _fitted(self, leaf: _Wanted, given: str, present: str) -> Wire:
        """A leaf that may need a conversion, or a proof that its values lie in its domain."""
        if self._fits([(leaf, given)]):
            return Wire(leaf.local, leaf.domain, leaf.text, given)
        if isinstance(leaf.domain, Enum):
            inside = f"{given} in {{{', '.join(leaf.domain.labels)}}}"
            self._typed(leaf, f"CONSTANTS {', '.join(leaf.domain.labels)};", inside, "its constants")
            self._stays(leaf, inside, given, present)
            return self._wire(leaf, f"case {inside} : {given}; TRUE : {leaf.domain.default}; esac")
        if isinstance(leaf.domain, Integer | Range):
            number = given if self._accepts("", f"({given} + 0 = 0) & FALSE") else self._word(leaf, given)
            self._typed(leaf, "", f"{number} >= 0", "numbers")
            if self._accepts("", f"({given} -> TRUE) & FALSE"):
                raise self._mistyped(leaf, "numbers", "write case ... : 1; TRUE : 0; esac")
            inside = f"{number} >= {leaf.domain.lo} & {number} <= {leaf.domain.hi}"
            self._stays(leaf, inside, given, present)
            return self._wire(leaf, _number(leaf.domain, number, inside))
        raise self._mistyped(leaf, "truth values", "compare it, e.g. count > 0")

    def _word(self, leaf: _Wanted, given: str) -> str:
        """A word as a number, which takes a case for each of its values."""
        if self._accepts("", f"({given}[{LARGEST_WORD}:{LARGEST_WORD}] = 0ud1_0) & FALSE"):
            raise Refused(
                f"'{leaf.text}' is a word of more than {LARGEST_WORD} bits, too many for {leaf.domain}",
                where=self.source.path,
                hint=f"bind some of its bits: {leaf.text}[3:0]",
            )
        return f"toint({given})"

    @staticmethod
    def _wire(leaf: _Wanted, given: str) -> Wire:
        return Wire(leaf.local, leaf.domain, leaf.text, given)

    def _typed(self, leaf: _Wanted, sections: str, formula: str, what: str) -> None:
        try:
            self._ask(sections, f"({formula}) & FALSE")
        except Undecided:
            raise
        except EngineError as error:
            raise self._mistyped(leaf, what, error.what.removeprefix("the formula is not correct: ")) from error

    def _mistyped(self, leaf: _Wanted, what: str, hint: str) -> TypingError:
        return TypingError(
            f"{_carrier(leaf)} carries {leaf.domain}, but '{leaf.text}' does not give {what}",
            where=self.source.path,
            hint=hint,
        )

    def _stays(self, leaf: _Wanted, inside: str, given: str, present: str) -> None:
        """That the values stay in the domain whenever the input carries an event."""
        constants = f"CONSTANTS {', '.join(leaf.domain.labels)};" if isinstance(leaf.domain, Enum) else ""
        answer = self._checked(constants, Query("invar", f"{present} -> ({inside})"), (given,)).answers[0]
        if answer.trace is not None:
            value, step = show_smv(answer.trace.steps[-1][given]), len(answer.trace.steps) - 1
            raise DomainError(
                f"{_carrier(leaf)} carries {leaf.domain}, but '{leaf.text}' is {value} in step {step} of a run",
                where=self.source.path,
                hint=_wider(leaf.domain),
            )

    def _accepts(self, sections: str, formula: str) -> bool:
        try:
            self._ask(sections, formula)
        except Undecided:
            raise
        except EngineError:
            return False
        return True

    def _ask(self, sections: str, formula: str) -> None:
        """Have the engine read the system with more sections in main; EngineError if it does not."""
        self._checked(sections, Query("invar", formula))

    def _checked(self, sections: str, query: Query, watch: tuple[str, ...] = ()) -> Result:
        text = f"{self.source.part(self.module, self.definitions)}\nMODULE main\nVAR {self.name} : {self.module};\n"
        try:
            result = self.engine.check(Task(f"{text}{sections}\n", (query,), watch=watch), self.limits)
        except EngineError as error:
            raise _located(error, self.source, self.name) from error
        if result.answers[0].truth is None:
            raise Undecided(f"binding the inputs: {result.answers[0].reason}", where=self.source.path)
        return result


def _carrier(leaf: _Wanted) -> str:
    return leaf.shown if leaf.local.endswith(":present") else f"input '{leaf.shown}'"


def _number(domain: Integer | Range, number: str, inside: str) -> str:
    """A number as a value of a domain; outside of it, where no run comes, it is the default."""
    if not word_width(domain):
        return f"case {inside} : {number}; TRUE : {domain.default}; esac"
    if domain.hi >= CAST_LIMIT:
        raise Refused(f"a conversion to {domain} has too many cases for the model", hint="use fewer values")
    rows = [f"{number} = {value} : {constant(domain, value, {})};" for value in domain.values() if value]
    return f"case {' '.join(rows)} TRUE : {constant(domain, 0, {})}; esac"


def _wider(domain: Domain) -> str:
    if isinstance(domain, Integer):
        return "choose a larger -N, or bind another expression"
    return "widen the type of the input, or bind another expression"


def _located(error: EngineError, source: SmvSystem, instance: str) -> WorkbenchError:
    """The engine's message at its place in the user's file, in the names of that file."""
    where: Location | str = source.path
    lines = source.text.splitlines()
    if isinstance(error.where, Location) and 0 < error.where.line <= len(lines):
        where = Location(source.path, error.where.line, 1, lines[error.where.line - 1])
    what = re.sub(rf"file \S+: |\b{re.escape(instance)}\.(?=[A-Za-z_])", "", error.what)
    return EngineError(what, where=where, hint=error.hint)


def _refuse_renamed(model: SmvModel) -> None:
    for label, smv in model.terms.labels.items():
        if label != smv:
            raise Refused(f"the constant '{label}' cannot be used in a model", hint="give it another name")
