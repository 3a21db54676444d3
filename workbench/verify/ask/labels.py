"""Properties as text (`check ...` lines, `-p`): their expressions, over pipe and queue names, as terms of a system.

A pipe that carries no event has no value. A condition of `ctl` and `ltl` that reads values is therefore false
where one of its pipes carries none, and `always` is about the steps at which all pipes whose values it mentions
carry an event. Of a pipe that carries several events at a step, `always` means each of them, `ctl` and `ltl` some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.core.domain import NULL, Bool, Domain, Enum, Range, SomeNumbers, SomeTexts
from workbench.core.fields import parts
from workbench.core.function import LIBRARY, Function
from workbench.core.ops import COMPARISONS, EQ, both, conjunction, disjunction, either, ite, negate
from workbench.core.term import FALSE, TRUE, Term, const, leaves
from workbench.core.typing_rules import advise_condition
from workbench.errors import LanguageError, TypingError
from workbench.ir.system import System
from workbench.language import syntax as s
from workbench.language.evaluate import Evaluator, apply_untyped, at
from workbench.language.properties import PROPERTIES, join_dotted, suggest_pipe
from workbench.language.syntax import Expression, PipelineReference, PropertySyntax
from workbench.language.types import labels_within
from workbench.processors import PROCESSORS
from workbench.smv.engines.engine import QueryKind
from workbench.verify.ask.equivalence import Equivalence
from workbench.verify.ask.formula import BOOLEAN, Formula, atom, build
from workbench.verify.ask.properties import (
    Property,
    Question,
    always,
    can,
    never,
    queue_named,
    temporal,
)
from workbench.verify.ask.scope import conditions_of

if TYPE_CHECKING:
    from workbench.language import Loaded

T = TypeVar("T")
OPERATORS = {"->": "implies", "R": "V"}
"""The names of operators in formulas, where they differ from the language."""
CONDITIONS = "and", "or", "not", "->"
"""The operators whose operands are conditions."""
MAX_NUMBER = 10**9
"""Maximum absolute value of a number in arithmetic of properties of rules."""


class Labels(Evaluator):
    """An evaluator of expressions over the labels of one system."""

    def __init__(self, system: System) -> None:
        super().__init__({}, LIBRARY, labels_within(system.domains_of_pipes.values()))
        self.system = system
        self.pipes = {**{name: name for name in system.pipes}, **dict(system.outputs)}
        self.mentioned: list[Term] = []
        """Presence of the events whose values were read."""
        self.read: list[Any] = []
        """The values that were read."""
        self.chosen: dict[str, int] = {}
        """Number of the event chosen for each wide pipe whose value was read."""

    def invariant(self, e: s.Expression) -> Term:
        """Return the condition of an `always`."""
        guarded: Term = conjunction(
            either(negate(conjunction(mentioned)), term) if mentioned else term for mentioned, term in self._cases(e)
        )
        return guarded

    def somewhere(self, e: s.Expression) -> Term:
        """Return the condition of a `never` or `can`; composites and pipes that are not Boolean stand for events."""
        pipe = self._find_pipe(e)
        return self._satisfy(e) if pipe is None else self.system.pipes[pipe].present

    def list_exercised(self, e: s.Expression) -> tuple[tuple[str, Term], ...]:
        """Return the cases that must occur, or else a `never` holds for want of events."""
        return self.cases(e) if self._find_pipe(e) is None else ()

    def _find_pipe(self, e: s.Expression) -> str | None:
        """Return the pipe that an expression names if it stands for the pipe's events, else None."""
        pipe = self.pipes.get(join_dotted(e) or "")
        is_value = not self._of_rules and isinstance(self.system.domains_of_pipes.get(pipe or ""), Bool)
        return None if is_value else pipe

    def _satisfy(self, e: s.Expression) -> Term:
        """Return the condition that is true if the events it mentions are present and satisfy it."""
        condition: Term = disjunction(conjunction([*mentioned, term]) for mentioned, term in self._cases(e))
        return condition

    def formula(self, e: s.Expression) -> Formula:
        """Return a CTL or LTL formula."""
        if isinstance(e, s.Temporal | s.Operation):
            operator = OPERATORS.get(e.operator, e.operator)
            if isinstance(e, s.Temporal) or operator in BOOLEAN:
                return build(operator, *map(self.formula, e.operands))
        return atom(self._satisfy(e))

    def _cases(self, e: s.Expression) -> list[tuple[list[Term], Term]]:
        """Return, for each choice of one event per pipe, the presence of these events and the condition on them."""
        self.chosen = {}
        cases = []
        while True:
            self.mentioned = []
            term = self._condition(e)
            cases.append((self.mentioned, term))
            # counting: the first pipe that has a further event takes it, and the pipes before it start again
            for pipe, number in self.chosen.items():
                if number + 1 < self.system.pipes[pipe].width:
                    self.chosen[pipe] = number + 1
                    break
                self.chosen[pipe] = 0
            else:
                return cases

    def cases(self, e: s.Expression, premises: tuple[s.Expression, ...] = ()) -> tuple[tuple[str, Term], ...]:
        """Return the cases that must occur, or else the expression holds for want of cases.

        Cases are the left sides of its implications, and that pipes carry the values it reads.
        """
        if isinstance(e, s.Temporal) and e.operator in ("AG", "G"):
            return self.cases(e.operands[0], premises)
        if isinstance(e, s.Operation) and e.operator == "and":
            return tuple(case for part in e.operands for case in self.cases(part, premises))
        if isinstance(e, s.Operation) and e.operator == "->":
            return self.cases(e.operands[1], (*premises, e.operands[0]))
        if any(isinstance(part, s.Temporal) for whole in premises for part in s.walk(whole)):
            return ()
        self.mentioned = []
        terms = [self._condition(part) for part in premises]
        temporal = any(isinstance(part, s.Temporal) for part in s.walk(e))
        if not temporal:
            self._condition(e)
        if not premises and not self.mentioned:
            return ()
        words = " and ".join(f"'{part}'" for part in premises) or "the pipes it reads carry events"
        return ((words, conjunction([*self.mentioned, *terms])),)

    def _condition(self, e: s.Expression) -> Term:
        self.whole = (e,)
        value = self._pipe(e, [e.name]) if isinstance(e, s.Identifier) and e.name in self.pipes else self.value(e)
        if isinstance(value, bool):
            value = const(value, Bool())
        if not isinstance(value, Term) or not isinstance(value.domain, Bool):
            self._refuse_event(e, value)
            hint = advise_condition(value.domain, str(e)) if isinstance(value, Term) else ""
            raise LanguageError(f"'{e}' is not a condition", where=e.where, hint=hint or "compare it with a value")
        return value

    def _refuse_event(self, e: s.Expression, value: Any) -> None:
        """Refuse an event of rules in place of a condition."""
        if self._of_rules and self._find_pipe(e) and not (isinstance(value, Term) and isinstance(value.domain, Bool)):
            what = f"'{e}' is an event, not a condition"
            raise LanguageError(what, where=e.where, hint=f"write {e}.present for the condition that it comes")

    @property
    def _of_rules(self) -> bool:
        return self.system.kind != "pipeline"

    def apply(self, function: Function, arguments: list[Any], e: s.Expression) -> Any:
        if isinstance(e, s.Operation) and e.operator in CONDITIONS:
            for operand, value in zip(e.operands, arguments, strict=True):
                self._refuse_event(operand, value)
        if isinstance(e, s.Operation) and e.operator in ("=", "!=") and self._is_about_null(arguments, e):
            return FALSE
        with at(e.where):
            if isinstance(e, s.Operation) and e.operator in COMPARISONS:
                return _compare(function, arguments)
            return apply_untyped(function, list(map(_number, arguments)))

    def _is_about_null(self, arguments: list[Any], e: s.Operation) -> bool:
        """Whether a text is compared with an attribute without values; refuse a text that the model does not have."""
        kinds = [each.domain for each in arguments if isinstance(each, Term) and isinstance(each.domain, Enum)]
        texts = [each for each in arguments if type(each) is str and kinds and each not in kinds[0]]
        if not texts or not (self._of_rules or isinstance(kinds[0], SomeTexts)):
            return False
        if self._of_rules and kinds[0].labels == (NULL,):
            return True
        of = self._find_source(e, kinds[0]) if self._of_rules else "str"
        hint = f"name the texts of the model: --values {of}={','.join((*kinds[0].labels, texts[0]))}"
        raise LanguageError(f"no text of the model is '{texts[0]}'", where=e.where, hint=hint)

    def _find_source(self, e: s.Operation, kind: Enum) -> str:
        """Return an attribute of input events with the texts of an operand: one of the same name, if there is one."""
        names = {(join_dotted(each) or "").rpartition(".")[2] for each in e.operands}
        paths = [
            (label not in names, f"{each.name}.{label}")
            for each in self.system.inputs
            for label, domain in parts(each.domain)
            if isinstance(domain, Enum) and domain.labels == kind.labels
        ]
        return min(paths, default=(True, "TYPE.ATTRIBUTE"), key=lambda path: path[0])[1]

    def value(self, e: s.Expression) -> Any:
        path = join_dotted(e)
        if path in self.labels and path in self.pipes:
            hint = f'write {path}.value for the pipe, "{path}" for the label'
            raise e.error(f"'{path}' is both a pipe and a label", hint)
        if path is not None and path not in self.labels:
            return self._pipe(e, path.split("."))
        if isinstance(e, s.Operation):
            return self.apply(LIBRARY[e.operator], [self._operand(each, e) for each in e.operands], e)
        if isinstance(e, s.Field) and isinstance(e.value, s.Call) and e.value.name == "queue":
            return self._queue(e)
        return super().value(e)

    def _operand(self, e: s.Expression, whole: s.Operation) -> Any:
        """Return the value of an operand; the name of both a pipe and a label means the one that fits."""
        path = join_dotted(e) or ""
        if path not in self.labels or path not in self.pipes:
            return self.value(e)
        if whole.operator in CONDITIONS:
            return self._pipe(e, [path])
        if whole.operator in ("=", "!=") and not isinstance(self.system.domains_of_pipes[self.pipes[path]], Enum):
            others = [self.value(each) for each in whole.operands if each is not e]
            if all(isinstance(each, Term) and isinstance(each.domain, Enum) for each in others):
                return self.labels[path]
        return self.value(e)

    def no_function(self, e: s.Call) -> LanguageError:
        error = super().no_function(e)
        if e.name in PROCESSORS:
            error.hint = f"a property reads pipes: give {e.name}(...) a name in the pipeline, and write that name here"
        return error

    def _pipe(self, e: s.Expression, parts: list[str]) -> Any:
        if parts == ["overflow"] and "overflow" not in self.pipes:
            return disjunction(q.overflow for q in self.system.own_queues) if self.system.own_queues else False
        for size in range(len(parts), 0, -1):
            name = self.pipes.get(".".join(parts[:size]))
            if name is not None:
                return self._label(e, name, parts[size:])
        name = parts[0] if len(parts) < 3 else ".".join(parts[:-1])
        what = f"{self.system.kind} {self.system.name} has no pipe '{join_dotted(e)}'"
        raise e.error(what, suggest_pipe(e, name, self, self.pipes))

    def _label(self, e: s.Expression, pipe: str, rest: list[str]) -> Any:
        stream = self.system.pipes[pipe]
        if rest == ["present"]:
            return stream.present
        slot = stream.slots[self.chosen.setdefault(pipe, 0) if stream.width > 1 else 0]
        if all(slot.present is not each for each in (TRUE, *self.mentioned)):
            self.mentioned.append(slot.present)
        value, domain = slot.value, self.system.domains_of_pipes[pipe]
        is_field = rest[1:2] != ["value"] and "value" in dict(parts(domain))
        for label in rest[1:] if rest[:1] == ["value"] and not is_field else rest:
            value, domain = _part(e, pipe, value, domain, label)
        self.read.append(value)
        return value

    def _queue(self, e: s.Field) -> Any:
        assert isinstance(e.value, s.Call)
        name = join_dotted(e.value.arguments[0]) if len(e.value.arguments) == 1 else None
        if name is None or e.name not in ("length", "full"):
            raise LanguageError(
                f"'{e}' is not a label of a queue",
                where=e.where,
                hint="write queue(add.left).length or .full",
            )
        with at(e.where):
            queue = queue_named(self.system, name)
        return queue.length if e.name == "length" else EQ(queue.length, queue.capacity)


def _compare(function: Function, arguments: list[Any]) -> Any:
    """Apply a comparison to values, of which some may be numbers by name; with null it is false."""
    for index, each in enumerate(arguments):
        if isinstance(each, Term) and isinstance(each.domain, SomeNumbers):
            truths = [
                (label, _compare(function, [*arguments[:index], number, *arguments[index + 1 :]]))
                for label, number in each.domain.numbers
            ]
            named = ((EQ(each, const(label, each.domain)), truth) for label, truth in truths if truth is not False)
            return disjunction(here if truth is True else both(here, truth) for here, truth in named)
    return apply_untyped(function, arguments)


def _number(value: Any) -> Any:
    """Return a number by name as a number, and other values as they are; TypingError if it may be no whole number."""
    if not isinstance(value, Term) or not isinstance(value.domain, SomeNumbers):
        return value
    numbers = value.domain.numbers
    if len(numbers) < len(value.domain.labels) or not all(abs(n) <= MAX_NUMBER and n == int(n) for _, n in numbers):
        raise TypingError(f"a model has no arithmetic on values of {value.domain}", hint="compare them with numbers")
    whole = Range(min(int(number) for _, number in numbers), max(int(number) for _, number in numbers))
    (_, first), *others = numbers
    result: Any = const(int(first), whole)
    for label, number in others:
        result = ite(EQ(value, const(label, value.domain)), const(int(number), whole), result)
    return result


def _part(e: s.Expression, pipe: str, value: Any, domain: Domain, label: str) -> tuple[Any, Domain]:
    names = [name for name, _ in parts(domain)]
    if label not in names:
        fields = ", ".join(names) if names else "present, value"
        raise LanguageError(f"pipe '{pipe}' ({domain}) has no '{label}'", where=e.where, hint=f"it has: {fields}")
    position = names.index(label)
    return value[position], parts(domain)[position][1]


# --- properties as written ------------------------------------------------------------------------------------------


def property_from(syntax: PropertySyntax) -> Property:
    """Return the property of one pipeline that `syntax` defines."""
    row = PROPERTIES[syntax.name]
    if row.mode:
        raise LanguageError(
            f"'{syntax}' compares two pipelines: it is not a property of one pipeline",
            where=syntax.where,
            hint="from Python: check(pipeline, equivalent_to(other))",
        )
    prop: Property = row.build(*([] if row.argument is None else [syntax.argument]))
    return replace(prop, conditions=partial(conditions_of, syntax))


def make_question(syntax: PropertySyntax, loaded: Loaded | None = None) -> Property | Equivalence:
    """Return the question that `syntax` asks; other pipelines are found in the file of `loaded`."""
    row = PROPERTIES[syntax.name]
    equivalence: Equivalence
    if row.mode and row.argument is None:
        equivalence = row.build()
        return equivalence
    if row.mode and loaded is not None and isinstance(syntax.argument, PipelineReference):
        equivalence = row.build(loaded.other(syntax.argument), row.mode)
        return replace(equivalence, name=str(syntax))
    return property_from(syntax)


def _read(read: Callable[[Labels, Expression], T], e: Expression) -> Callable[[System], T]:
    """Return the function that reads an expression over the labels of a system."""
    return lambda system: read(Labels(system), e)


def _express(condition: Callable[[Labels], Any], make: Callable[[Callable[[System], Any]], Property]) -> Property:
    """Make a property of a condition; for rules its model has all values that it reads.

    A condition on a value that the model of rules lacks is simplified away, and proves nothing.
    """

    def question(system: System) -> Question:
        labels = Labels(system)
        own = make(lambda _: condition(labels)).question(system)
        read = leaves(tuple(labels.read)) if system.kind != "pipeline" else ()
        return replace(own, roots=(*own.roots, *(each for each in read if isinstance(each, Term))))

    return replace(make(lambda system: condition(Labels(system))), question=question)


def always_expressed(e: Expression) -> Property:
    """Return the property `always (e)`."""
    return _express(lambda labels: labels.invariant(e), lambda term: always(term, str(e), _read(Labels.cases, e)))


def never_expressed(e: Expression) -> Property:
    """Return the property `never(e)`."""
    return _express(
        lambda labels: labels.somewhere(e), lambda term: never(term, str(e), _read(Labels.list_exercised, e))
    )


def can_expressed(e: Expression) -> Property:
    """Return the property `can(e)`."""
    return _express(lambda labels: labels.somewhere(e), lambda term: can(term, str(e), _read(Labels.list_exercised, e)))


def formula_expressed(kind: QueryKind, e: Expression) -> Property:
    """Return the property `ctl(e)` or `ltl(e)`."""
    return _express(lambda labels: labels.formula(e), lambda term: temporal(kind, term, str(e), _read(Labels.cases, e)))
