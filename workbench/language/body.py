"""The body of one pipeline: turning statements into nodes and binding the names that they define."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.builder import TIME, BuiltStream, NamedStreams
from workbench.core.domain import Domain, Value
from workbench.core.function import NumberTable
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.pipeline import type_node
from workbench.core.readable import plural
from workbench.core.term import var
from workbench.errors import LanguageError, Location, WorkbenchError
from workbench.language import syntax as s
from workbench.language import types
from workbench.language.evaluate import Evaluator, FunctionBody, at
from workbench.language.streams import StreamReader, is_many
from workbench.processors.passthrough import Passthrough

if TYPE_CHECKING:
    from workbench.language.elaborate import Elaborator


class Body(StreamReader):
    """One pipeline under elaboration: its statements in order, and the names that they bind."""

    def __init__(self, file: Elaborator, syntax: s.PipelineSyntax, constants: Mapping[str, Value]) -> None:
        super().__init__(file, syntax)
        self.syntax = syntax
        self.sound = True
        """Whether no statement has failed so far; the errors are among the mistakes of the file."""
        self.places: dict[str, Location] = {}
        self.statement: s.Binding | s.Return | None = None
        for parameter in syntax.parameters:
            with self.apart(parameter.name):
                self.bind(parameter.name, constants[parameter.name], parameter.where)
        for port in syntax.inputs:
            name = str(port.name)
            with self.apart(name):
                domain = self.domain(port.type)
                self.bind(name, BuiltStream(self.builder, name), port.where)
                self.builder.input(name, domain)
        for port in syntax.outputs:
            with self.apart():
                self.domain(port.type)

    def domain(self, e: s.Expression) -> Domain:
        """Return the domain of a type in this pipeline; its bounds may be parameters."""
        return types.domain(e, self.value)

    @contextmanager
    def apart(self, *names: str) -> Iterator[None]:
        """Store an error raised inside as a mistake, and mark the names as lost."""
        try:
            yield
        except WorkbenchError as error:
            self.file.mistakes.add(error)
            self.lost.update(names)
            self.sound = False

    # --- statements ---

    def run(self) -> list[BuiltStream]:
        """Evaluate all statements in order and return the returned streams; raise FollowUp where one failed."""
        returned: list[BuiltStream] | None = None
        for statement in self.syntax.statements:
            self.statement, self.whole = statement, statement.values
            if returned is not None:
                hint = "'return' is the last statement; write return a, b for two outputs"
                raise statement.error(f"pipeline {self.syntax.name} has returned already", hint)
            with self.apart(*statement.names):
                if isinstance(statement, s.Return):
                    returned = []  # counts as a return statement even if its evaluation fails
                    returned = self._return(statement)
                else:
                    self._bind(statement)
        if returned is None:
            what = f"pipeline {self.syntax.name} returns nothing"
            raise self.syntax.error(what, "its last statement is: return STREAM")
        if not self.sound:
            raise FollowUp
        return returned

    def judge_types(self) -> None:
        """Store the type errors of all processors whose inputs have types as mistakes."""
        self._list_domains(self.file.mistakes)

    def _list_domains(self, mistakes: Mistakes | None = None) -> dict[str, Domain]:
        """Return the domain of each pipe that has one so far; type errors are stored as mistakes."""
        mistakes, domains = mistakes or Mistakes(), dict(self.builder.inputs)
        for node in self.builder.nodes:
            if domains.keys() >= set(node.inputs):
                with mistakes.apart():
                    type_node(self.syntax.name, node, domains)
        return domains

    def _return(self, statement: s.Return) -> list[BuiltStream]:
        streams: list[BuiltStream] = []
        for e in statement.values:
            with self.apart():
                streams += self.streams(e)
        return streams

    def streams(self, e: s.Expression) -> list[BuiltStream]:
        """Return the streams of an expression; raise LanguageError if it is a constant."""
        value = self.value(e)
        if not is_many(value) and not isinstance(value, BuiltStream):
            raise self.constant_error(e)
        return list(value) if is_many(value) else [value]

    def _bind(self, statement: s.Binding) -> None:
        value = self.value(statement.value)
        if isinstance(value, NamedStreams) and len(statement.names) == 1:
            self.bind(statement.names[0], value, statement.locations[0])
            return
        values = list(value) if is_many(value) else [value]
        if len(values) != len(statement.names):
            raise statement.error(
                f"'{statement.value}' gives {plural(len(values) or 'no', 'stream')},"
                f" {plural(len(statement.names) or 'no', 'name')} on the left",
                f"write {', '.join('abcdefgh'[: len(values)])} = ...",
            )
        for name, where, item in zip(statement.names, statement.locations, values, strict=True):
            self.bind(name, self._give_name(item, name, where), where)

    def _give_name(self, item: Any, name: str, where: Location) -> Any:
        """Give a value the user's name, and return it; a second name for a pipe adds a passthrough."""
        self._check_free(name, where)
        if not isinstance(item, BuiltStream):
            return item
        if item.pipe not in self.anonymous:
            item = self.add(Passthrough(), [item], "passthrough", where)
        self.anonymous.discard(item.pipe)
        with at(where):
            return self.builder.give(item.pipe, name)

    def bind(self, name: str, value: Any, where: Location) -> None:
        """Bind a name to its value; raise LanguageError where the name is taken."""
        self._check_free(name, where)
        self.scope[name] = value
        self.places[name] = where

    def _check_free(self, name: str, where: Location) -> None:
        if name in self.scope:
            what = f"the name '{name}' is taken, by line {self.places[name].line}"
            raise LanguageError(what, where=where, hint="a name is defined once; choose another")

    # --- names ---

    def unknown(self, e: s.Identifier) -> LanguageError:
        if e.name in self.lost:
            return FollowUp()
        below = next((b for b in self.syntax.statements if e.name in b.names), None)
        if below is not None:
            hint = f"it is defined in line {below.where.line}; move that line up"
            if below.where.line == e.where.line:
                hint = "it is defined later on this line; move its definition to the front"
            if below is self.statement:
                hint = "a stream cannot be defined by itself; use cumulate for what depends on earlier events"
            return e.error(f"'{e.name}' is used before it has a value", hint)
        if e.name == TIME:
            hint = "make it an input: time: int; rules read the time even if no input is named"
            return e.error(f"there is no stream or parameter '{TIME}'", hint)
        if e.name in self.file.callables():
            return e.error(f"'{e.name}' is not a stream", f"apply it to streams: {e.name}(...)")
        what = f"there is no stream or parameter '{e.name}'"
        tables = [name for name, each in self.functions.items() if isinstance(each, NumberTable)]
        return e.error(what, self.suggest(e, [*self.scope, *self.labels, *tables]))

    def probe(self) -> Evaluator:
        domains = self._list_domains()
        scope = {
            name: value if not isinstance(value, BuiltStream) else var(name, domains[value.pipe])
            for name, value in self.scope.items()
            if not isinstance(value, NamedStreams) and getattr(value, "pipe", "") in {"", *domains}
        }
        return FunctionBody(scope, self.functions, self.labels)
