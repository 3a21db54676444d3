"""Binding the inputs of a pipeline to an SMV system: the expression and the type of each, and whether it fits.

The values of the system must lie in the input's domain. If the types do not guarantee that, the engine checks it, on
the system alone: nothing wraps, and an error names the value and the step of a run in which it occurs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from workbench.core.domain import Bool, Enum, Integer, Range
from workbench.core.fields import scalars
from workbench.core.pipeline import Pipeline
from workbench.core.program import Ports
from workbench.errors import (
    DomainError,
    EngineError,
    InputError,
    Location,
    Refused,
    TypingError,
    WorkbenchError,
    did_you_mean,
)
from workbench.smv.engines.engine import EngineLimits, Query, Task, TaskResult
from workbench.smv.system import SmvSystem, expression
from workbench.smv.terms import CAST_LIMIT, constant, show_smv, type_of, word_width
from workbench.verify.decide.table import complete_engine
from workbench.verify.monitor.driven_inputs import Driven, Wire

LARGEST_WORD = 12
"""Maximum number of bits of a word that is converted to a number."""


class Undecided(EngineError):
    """The inputs could not be bound within the limits, or the engine crashed meanwhile."""


def drive(
    source: SmvSystem,
    pipeline: Pipeline,
    bind: Mapping[str, str] | None = None,
    when: Mapping[str, str] | None = None,
    engine: str = "auto",
    limits: EngineLimits = EngineLimits(),  # noqa: B008 - immutable
) -> Driven:
    """Return the environment in which `source` drives the inputs of a pipeline over finite domains.

    Parameters
    ----------
    bind: input (or `input.field`) to an SMV expression over the states of the system; an input that is not
        named is bound to the variable or definition of its own name.
    when: input to a condition on states: the steps at which it carries an event; by default every step.

    Raises
    ------
    InputError: an input has no expression, or a name in `bind` or `when` is not an input. LanguageError: no expression.
    TypingError: an expression has another type. DomainError: its value lies outside of the domain.
    EngineError: the system is defective, or has no (fair) run. Undecided: a limit was met.
    """
    leaves = _bind_term(source, pipeline.ports, dict(bind or {}), dict(when or {}))
    driver = _Driver(source, engine, limits)
    wires = driver.wires(leaves)
    words = "; ".join(_words(*(leaf for leaf in leaves if leaf.of == name)) for name in pipeline.ports.arrivals)
    return Driven(
        source=source, name=driver.name, module=driver.module, wires=wires, definitions=driver.definitions,
        words=words, engine=engine, limits=limits,
    )  # fmt: skip


def _bind_term(source: SmvSystem, ports: Ports, bind: dict[str, str], when: dict[str, str]) -> list[Wire]:
    """Return, for each input, its presence, and then its parts."""
    wires = list[Wire]()
    for name in ports.arrivals:
        condition = when.pop(name, "TRUE")
        presence = expression(condition, f"when {name}", source)
        wires.append(Wire(name, f"the presence of {name}", f"{name}:present", Bool(), presence))
        for path, part in scalars(ports.domains[name]):
            label = ".".join((name, *path))
            text = bind.pop(label) if label in bind else _bind_by_name(source, label)
            local = f"{name}:{'.'.join(('value', *path))}"
            wires.append(Wire(name, label, local, part, expression(text, label, source)))
    for left in (*bind, *when):
        raise InputError(
            f"{ports.of} has no input '{left}' that could be bound",
            hint=did_you_mean(left, ports.arrivals, "its inputs: "),
        )
    return wires


def _bind_by_name(source: SmvSystem, name: str) -> str:
    if name in source.names:
        return name
    close = difflib.get_close_matches(name, source.names, n=1)
    likely = f"'{close[0]}'" if close else "an expression over " + (", ".join(source.names) or "its states")
    raise InputError(
        f"the system {source.path} has no variable or definition '{name}' for the input of that name",
        hint=f"bind it, for example to {likely}: --bind '{name}={close[0] if close else '...'}'",
    )


def _words(presence: Wire, *parts: Wire) -> str:
    bindings = ", ".join(p.display_name if p.text == p.display_name else f"{p.display_name} := {p.text}" for p in parts)
    return bindings if presence.text == "TRUE" else f"{bindings} when {presence.text}"


class _Driver:
    """The search for the type of each expression, and whether its values fit, by queries to an engine."""

    def __init__(self, source: SmvSystem, engine: str, limits: EngineLimits) -> None:
        self.source, self.engine, self.limits = source, complete_engine(engine), limits
        self.name, self.module = source.fresh("system"), source.fresh("System")
        self.definitions: dict[str, str] = {}

    def wires(self, leaves: Sequence[Wire]) -> tuple[Wire, ...]:
        # errors of the system itself come first; CTL looks for fair runs, too
        self._check("", Query("ctl" if self.source.fairness else "invar", "FALSE"))
        named = tuple(leaf._replace(smv_text=self._name(leaf)) for leaf in leaves)
        presence = {leaf.of: leaf.smv_text for leaf in named if leaf.is_presence}
        return named if self._fits(named) else tuple(self._fit(leaf, presence[leaf.of]) for leaf in named)

    def _name(self, leaf: Wire) -> str:
        """Return the name of an expression in a model: a name of the system as it is, anything else as a DEFINE."""
        if leaf.text in ("TRUE", "FALSE"):
            return leaf.text
        first = leaf.text.partition(".")[0]
        if re.fullmatch(r"[\w$#.]+", leaf.text) and first in self.source.names:
            return f"{self.name}.{leaf.text}"
        what = f"{leaf.of}_when" if leaf.is_presence else f"{leaf.display_name}_is"
        name = self.source.fresh(re.sub(r"\W", "_", what))
        while name in self.definitions:
            name = self.source.fresh(f"{name}_")
        self.definitions[name] = f"({leaf.text})"
        if error := self._find_error("", f"({self.name}.{name} = {self.name}.{name}) & FALSE"):
            message = re.sub(r"^(TYPE ERROR : )?line \d+ ?: ", "", error.what).partition("\n")[0]
            raise TypingError(
                f"'{leaf.text}' for {leaf.display_name}: {message}",
                where=self.source.path,
                hint=f"it is read in the main module, which has {', '.join(self.source.names)}",
            ) from error
        return f"{self.name}.{name}"

    def _fits(self, leaves: Sequence[Wire]) -> bool:
        """Whether the types alone guarantee that these values lie in their domains: NuSMV accepts the assignment."""
        fit = self.source.fresh("fit")
        lines = []
        for number, leaf in enumerate(leaves):
            labels = {label: label for label in getattr(leaf.domain, "labels", ())}
            lines.append(
                f"VAR {fit}{number} : {type_of(leaf.domain, labels)}; ASSIGN {fit}{number} := {leaf.smv_text};"
            )
        return not self._find_error("\n".join(lines), "FALSE")

    def _fit(self, leaf: Wire, present: str) -> Wire:
        """Return the leaf, with a conversion or a proof that its values lie in its domain where necessary."""
        if self._fits([leaf]):
            return leaf
        smv_text = leaf.smv_text
        if isinstance(leaf.domain, Enum):
            inside = f"{smv_text} in {{{', '.join(leaf.domain.labels)}}}"
            self._check_type(leaf, f"CONSTANTS {', '.join(leaf.domain.labels)};", inside, "its constants")
            self._stays(leaf, inside, present)
            return leaf._replace(smv_text=f"case {inside} : {smv_text}; TRUE : {leaf.domain.default}; esac")
        if isinstance(leaf.domain, Integer | Range):
            number = self._read_word(leaf) if self._find_error("", f"({smv_text} + 0 = 0) & FALSE") else smv_text
            self._check_type(leaf, "", f"{number} >= 0", "numbers")
            if not self._find_error("", f"({smv_text} -> TRUE) & FALSE"):
                raise self._report_type(leaf, "numbers", "write case ... : 1; TRUE : 0; esac")
            inside = f"{number} >= {leaf.domain.lo} & {number} <= {leaf.domain.hi}"
            self._stays(leaf, inside, present)
            return leaf._replace(smv_text=_convert_number(leaf.domain, number, inside))
        raise self._report_type(leaf, "truth values", "compare it, e.g. count > 0")

    def _read_word(self, leaf: Wire) -> str:
        """Return a word as a number, which takes a case for each of its values."""
        if not self._find_error("", f"({leaf.smv_text}[{LARGEST_WORD}:{LARGEST_WORD}] = 0ud1_0) & FALSE"):
            raise Refused(
                f"'{leaf.text}' is a word of more than {LARGEST_WORD} bits, too many for {leaf.domain}",
                where=self.source.path,
                hint=f"bind some of its bits: {leaf.text}[3:0]",
            )
        return f"toint({leaf.smv_text})"

    def _check_type(self, leaf: Wire, sections: str, formula: str, what: str) -> None:
        if error := self._find_error(sections, f"({formula}) & FALSE"):
            raise self._report_type(leaf, what, error.what.removeprefix("the formula is not correct: ")) from error

    def _report_type(self, leaf: Wire, what: str, hint: str) -> TypingError:
        return TypingError(
            f"{_name_carrier(leaf)} carries {leaf.domain}, but '{leaf.text}' does not give {what}",
            where=self.source.path,
            hint=hint,
        )

    def _stays(self, leaf: Wire, inside: str, present: str) -> None:
        """Check that the values stay in the domain whenever the input carries an event."""
        constants = f"CONSTANTS {', '.join(leaf.domain.labels)};" if isinstance(leaf.domain, Enum) else ""
        answer = self._check(constants, Query("invar", f"{present} -> ({inside})"), (leaf.smv_text,)).answers[0]
        if answer.trace is not None:
            value, step = show_smv(answer.trace.steps[-1][leaf.smv_text]), len(answer.trace.steps) - 1
            wider = "choose a larger -N" if isinstance(leaf.domain, Integer) else "widen the type of the input"
            raise DomainError(
                f"{_name_carrier(leaf)} carries {leaf.domain}, but '{leaf.text}' is {value} in step {step} of a run",
                where=self.source.path,
                hint=f"{wider}, or bind another expression",
            )

    def _find_error(self, sections: str, formula: str) -> EngineError | None:
        """Let the engine read the system with more sections in main; return its error, if any."""
        try:
            self._check(sections, Query("invar", formula))
        except Undecided:
            raise
        except EngineError as error:
            return error
        return None

    def _check(self, sections: str, query: Query, watch: tuple[str, ...] = ()) -> TaskResult:
        text = f"{self.source.part(self.module, self.definitions)}\nMODULE main\nVAR {self.name} : {self.module};\n"
        try:
            result = self.engine.check(Task(f"{text}{sections}\n", (query,), watch=watch), self.limits)
        except EngineError as error:
            raise _locate(error, self.source, self.name) from error
        if result.answers[0].open:
            raise Undecided(f"binding the inputs: {result.answers[0].reason}", where=self.source.path)
        return result


def _name_carrier(leaf: Wire) -> str:
    return leaf.display_name if leaf.is_presence else f"input '{leaf.display_name}'"


def _convert_number(domain: Integer | Range, number: str, inside: str) -> str:
    """Return a number as a value of a domain; outside of it, where no run comes, it is the default."""
    if not word_width(domain):
        return f"case {inside} : {number}; TRUE : {domain.default}; esac"
    if domain.hi >= CAST_LIMIT:
        raise Refused(f"a conversion to {domain} has too many cases for the model", hint="use fewer values")
    rows = [f"{number} = {value} : {constant(domain, value, {})};" for value in domain.values() if value]
    return f"case {' '.join(rows)} TRUE : {constant(domain, 0, {})}; esac"


def _locate(error: EngineError, source: SmvSystem, instance: str) -> WorkbenchError:
    """Return the engine's error at its position in the user's file, in the names of that file."""
    where: Location | str = source.path
    lines = source.text.splitlines()
    if isinstance(error.where, Location) and 0 < error.where.line <= len(lines):
        where = Location(source.path, error.where.line, 1, lines[error.where.line - 1])
    what = re.sub(rf"file \S+: |\b{re.escape(instance)}\.(?=[A-Za-z_])", "", error.what)
    return EngineError(what, where=where, hint=error.hint)
