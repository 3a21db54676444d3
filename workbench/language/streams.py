"""Expressions over streams: operators that are lifted, and calls of processors, pipelines and functions.

Constants become part of a lifted function; several streams are joined. The rule of this module: an expression
evaluates to processors of a pipeline under construction; statements bind the names (`body`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.builder import SHORT, Builder, BuiltStream, BuiltStreams, NamedStreams, partial
from workbench.core.fields import Tuple
from workbench.core.function import Function
from workbench.core.kinds import FileProcessor
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.processor import Processor
from workbench.core.readable import plural
from workbench.errors import LanguageError, Location, PipelineError, did_you_mean
from workbench.language import arguments as args
from workbench.language import syntax as s
from workbench.language import types
from workbench.language.evaluate import at, projection
from workbench.named_files import find_named
from workbench.processors import PROCESSORS
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import Group, showing
from workbench.processors.held.inner_processor import SingleHolder

if TYPE_CHECKING:
    from workbench.language.elaborate import Elaborator

NODE_NAMES = {
    **SHORT, "and": "both", "or": "either", "not": "negate", "div": "quotient", "mod": "remainder",
    "if": "choose",
}  # fmt: skip
"""Names of anonymous nodes for operators; reserved words cannot be names in a property."""


class NamingBuilder(Builder):
    """A Builder that never uses the user's names for anonymous nodes."""

    def __init__(self, name: str, reserved: frozenset[str]) -> None:
        super().__init__(name)
        self.reserved = reserved

    def fresh(self, name: str) -> str:
        """Return an unused name for an anonymous node."""
        candidate, count = super().fresh(name), 1
        while candidate in self.reserved:
            count += 1
            candidate = super().fresh(f"{name}{count}")
        return candidate

    def give(self, pipe: str, name: str) -> BuiltStream:
        """Give an anonymous pipe the user's name, and its processor too if it has one output."""
        reserved, self.reserved = self.reserved, frozenset()
        try:
            return self.stream(pipe).named(name)
        finally:
            self.reserved = reserved


class StreamReader(args.Reader):
    """The evaluator of expressions in one pipeline: constants, and streams of the builder.

    Attributes
    ----------
    anonymous: the pipes that no user has named.
    lost: names that are undefined because of a mistake.
    """

    def __init__(self, file: Elaborator, syntax: s.PipelineSyntax) -> None:
        super().__init__({}, file.functions, file.labels_in(syntax))
        bound = [name for b in syntax.statements if isinstance(b, s.Binding) for name in b.names]
        outputs = [p.name or "out" for p in syntax.outputs]
        self.file, self.builder = file, NamingBuilder(syntax.name, frozenset([*bound, *outputs]))
        self.anonymous: set[str] = set()
        self.lost: set[str] = set()
        self._streams: dict[int, tuple[s.Expression, frozenset[str], bool]] = {}

    def values(self, parts: Iterable[s.Expression]) -> list[Any]:
        return list(Mistakes().all(parts, self.value))

    def apply(self, function: Function, arguments: list[Any], e: s.Expression) -> Any:
        for part, value in zip(e.parts, arguments, strict=False):
            if is_many(value):
                raise _several(part, value)
        streams = [a for a in arguments if isinstance(a, BuiltStream)]
        if not streams:
            return super().apply(function, arguments, e)
        name = NODE_NAMES.get(function.name, function.name)
        output = self.add(ApplyFunction(partial(function, arguments)), streams, name, e.where)
        return self._note(
            output, [part for part, a in zip(e.parts, arguments, strict=True) if isinstance(a, BuiltStream)]
        )

    def call(self, e: s.Call) -> Any:
        if self.file.is_pipeline(e.name):
            return self._group(e)
        if e.name in PROCESSORS and e.name not in self.file.own:
            cls = PROCESSORS[e.name]
            return self._of_file(cls, e) if issubclass(cls, FileProcessor) else self._processor(cls, e)
        function = self.functions.get(e.name)
        if function is None:
            raise self.no_function(e)
        return self.apply_function(function, e, self.values(e.arguments))

    def named(self, e: s.Identifier) -> Any:
        if e.name in self.lost and e.name not in self.scope:
            raise FollowUp
        return super().named(e)

    def no_function(self, e: s.Call) -> LanguageError:
        what = f"there is no processor, pipeline or function '{e.name}'"
        hint = args.FOREIGN_NAMES.get(e.name) or did_you_mean(e.name, self.file.callables())
        return LanguageError(what, where=e.name_place, hint=hint)

    def field(self, e: s.Field) -> Any:
        value = self.value(e.value)
        if isinstance(value, NamedStreams):
            with at(e.where):
                return getattr(value, e.name)
        if not isinstance(value, BuiltStream):
            return super().field(e)
        domain = self.builder.build(value).domains[value.pipe]
        names = domain.names() if isinstance(domain, Tuple) else ()
        label = f"field{e.name}" if e.name.isdigit() else e.name
        if e.name in names:
            return self.add(ApplyFunction(projection(names.index(e.name), e.name)), [value], label, e.where)
        hint = did_you_mean(e.name, names, "its fields are: ") or "only tuples and records have fields"
        raise e.error(f"'{e.value}' carries {domain}, which has no field '{e.name}'", hint)

    # --- processors and pipelines ---

    def add(self, processor: Processor, streams: Sequence[BuiltStream], name: str, where: Location) -> Any:
        with at(where):
            output = self.builder.add(processor, streams, name, where)
        self.anonymous |= {stream.pipe for stream in (output if is_many(output) else [output])}
        return output

    def _note(self, output: Any, parts: Sequence[s.Expression]) -> Any:
        """Record in the last node the user's source for its input streams."""
        node = self.builder.nodes[-1]
        written = tuple(str(e) if s.is_short(e) else pipe for e, pipe in zip(parts, node.inputs, strict=False))
        self.builder.nodes[-1] = replace(node, written=written)
        return output

    def _processor(self, cls: type[Processor], e: s.Call) -> Any:
        if e.parameters:
            raise e.error(f"the processor '{e.name}' has no parameters in < >", f"write {args.signature(cls)}")
        count = self._leading_streams(cls, e)
        if count < _streams(cls) and len(e.arguments) > count + len(args.slots(cls)):
            raise self.constant_error(e.arguments[count])
        outputs = [self._apply_processor(each, e, count) for each in self._instances(cls, e.arguments[count:], e.where)]
        return outputs[0] if len(outputs) == 1 else BuiltStreams(outputs)

    def _apply_processor(self, processor: Processor, e: s.Call, count: int) -> Any:
        """Apply a processor to the first arguments of a call."""
        if count > 1 and hasattr(processor, "ways"):
            processor = replace(processor, ways=processor.ways + count - processor.in_arity)  # type: ignore[call-arg]
        if processor.in_arity != count:
            what = f"takes {plural(processor.in_arity or 'no', 'stream')} here, {count or 'none'} given"
            error = self.count_error(type(processor), what, e.where)
            if isinstance(inner := getattr(processor, "inner", None), ApplyFunction):
                takes = plural(inner.in_arity, "stream")
                what = f"'{inner.label}' takes {takes}, and '{e.name}' gives it {count or 'none'}"
                error = e.error(what, f"write cumulate({inner.label}), or {error.hint[6:]}")
            raise error
        output = self.add(processor, Mistakes().all(e.arguments[:count], self._stream), e.name, e.where)
        return self._note(output, e.arguments[:count])

    def _of_file(self, cls: type[FileProcessor], e: s.Call) -> Any:
        first, *rest = e.arguments or (None,)
        if e.parameters or not isinstance(first, s.Literal) or not isinstance(first.value, str):
            raise e.error(f"'{e.name}' takes the name of a file first, in quotes", f"write {args.signature(cls)}")
        ordered, named = list[s.Expression](), dict[str, s.Expression]()
        for each in rest:
            name = each.operands[0] if isinstance(each, s.Operation) and each.operator == "=" else None
            if not isinstance(name, s.Identifier):
                ordered.append(each)
            elif name.name in named:
                raise name.error(f"two streams are given for '{name.name}'", "leave one out")
            else:
                named[name.name] = each.parts[1]
        streams = [self._stream(each) for each in (*ordered, *named.values())]
        with at(e.where):
            path = find_named(first.value, Path(e.where.file).parent, e.where)
            processor, order = cls.of_file(str(path), len(ordered), list(named))
        return self.add(processor, [streams[index] for index in order], e.name, e.where)

    def _instance(self, cls: type[Processor], rest: tuple[s.Expression, ...], where: Location) -> Processor:
        fields = self.fields(cls, rest, where)
        with at(where):
            return cls(**fields)

    def _instances(self, cls: type[Processor], rest: tuple[s.Expression, ...], where: Location) -> list[Processor]:
        """Return one processor; or, for a pipeline inside with several outputs, one per output."""
        fields = self.fields(cls, rest, where)
        inner = fields.get("inner")
        if not issubclass(cls, SingleHolder) or not cls.splits or not isinstance(inner, Group) or inner.out_arity == 1:
            return [self._instance(cls, rest, where)]
        with at(where):
            if fields.get("until") is not None:
                what = f"the emission of a slice ends it, but pipeline {inner.body.name} has several outputs"
                raise PipelineError(what, hint="let it return one record of them: return {a: x, b: y}")
            bodies = [showing(inner.body, output) for output, _ in inner.body.outputs]
            return [cls(**fields | {"inner": Group(body)}) for body in bodies]

    def _leading_streams(self, cls: type[Processor], e: s.Call) -> int:
        """Return the number of arguments that are streams; they all precede the parameters."""
        words = args.words(cls)

        def is_stream(item: tuple[int, s.Expression]) -> bool:
            index, a = item
            self._check_parameter(cls, a)
            return args.keyword_argument(cls, a, self) is None and self._is_stream(a, words | _own_name(cls, index, a))

        flags = Mistakes().all(enumerate(e.arguments), is_stream)
        count = flags.index(False) if False in flags else len(flags)
        if True in flags[count:]:
            late = e.arguments[count + flags[count:].index(True)]
            raise late.error(f"the stream '{late}' comes after a parameter", f"write {args.signature(cls)}")
        return count

    def _check_parameter(self, cls: type[Processor], e: s.Expression) -> None:
        """Raise LanguageError for `name = value` with an unknown name: a misspelt parameter."""
        first = e.operands[0] if isinstance(e, s.Operation) and e.operator == "=" else None
        names = [slot.name for slot in args.slots(cls)]
        if isinstance(first, s.Identifier) and first.name not in {*self.scope, *self.labels, *names}:
            error = first.error(
                f"'{cls.keyword}' has no parameter '{first.name}', and there is no stream of that name",
                did_you_mean(first.name, [*names, *self.scope], "parameters and streams are: "),
            )
            raise FollowUp if first.name in self.lost else error

    def _is_stream(self, e: s.Expression, words: frozenset[str]) -> bool:
        """Whether an argument is a stream; cached, since enclosing expressions need it again."""
        entry = self._streams.get(id(e))
        if entry is None or entry[0] is not e or entry[1] != words:
            entry = self._streams[id(e)] = e, words, self._has_stream(e, words)
        return entry[2]

    def _has_stream(self, e: s.Expression, words: frozenset[str]) -> bool:
        if isinstance(e, s.Identifier):
            if e.name in self.scope:
                return isinstance(self.scope[e.name], BuiltStream | NamedStreams)
            if e.name in self.lost:
                raise FollowUp
            known = e.name in words or e.name in self.labels or types.is_type(e) or e.name in self.file.callables()
            if not known:
                raise self.unknown(e)
            return False
        if types.is_type(e):
            return False
        parts = e.parts
        if isinstance(e, s.Call) and e.name in PROCESSORS and e.name not in self.file.own:
            cls = PROCESSORS[e.name]
            if issubclass(cls, FileProcessor):
                return True
            words |= args.words(cls)
            parts = tuple(part for part in parts if args.keyword_argument(cls, part, self) is None)
        elif isinstance(e, s.Call) and not self.file.is_pipeline(e.name) and e.name not in self.functions:
            raise self.no_function(e)
        return any(Mistakes().all(parts, lambda part: self._is_stream(part, words)))  # each may hold an unknown name

    def _stream(self, e: s.Expression) -> BuiltStream:
        value = self.value(e)
        if is_many(value):
            raise _several(e, value)
        if not isinstance(value, BuiltStream):
            raise self.constant_error(e)
        return value

    def constant_error(self, e: s.Expression) -> LanguageError:
        first = next(iter(self.builder.inputs), ("x",))[0]
        hint = f"a constant for every event of {first} is turn({first}, {e})"
        return e.error(f"'{e}' is a constant where a stream is needed", hint)

    def _group(self, e: s.Call) -> Any:
        syntax = self.file.pipelines[e.name]
        params = self.file.read_parameters(syntax, e.parameters, self)
        if len(e.arguments) != len(syntax.inputs):
            takes = plural(len(syntax.inputs) or "no", "stream")
            what = f"pipeline {e.name} takes {takes}, {len(e.arguments) or 'none'} given"
            raise e.error(what, f"write {syntax.signature}")
        pipeline = self.file.pipeline(e.name, params, e.where)
        return self.add(Group(pipeline), Mistakes().all(e.arguments, self._stream), e.name, e.where)

    # --- processors as parameters (Reader) ---

    def is_callable(self, name: str) -> bool:
        return name in self.file.callables()

    def inner(self, what: str, e: s.Expression) -> Processor:
        """Return a processor without its streams: `sum`, `sum<3>`, `cumulate(+)`, `passthrough`, `even`."""
        if isinstance(e, s.Identifier | s.Instantiation) and self.file.is_pipeline(e.name):
            items = e.parameters if isinstance(e, s.Instantiation) else ()
            params = self.file.read_parameters(self.file.pipelines[e.name], items, self)
            return Group(self.file.pipeline(e.name, params, e.where))
        if isinstance(e, s.Identifier | s.Call) and e.name in PROCESSORS and e.name not in self.file.own:
            if issubclass(PROCESSORS[e.name], FileProcessor):
                hint = f"call it outside: {args.signature(PROCESSORS[e.name])}"
                raise e.error(f"{what} cannot be '{e.name}', which takes streams", hint)
            return self._instance(PROCESSORS[e.name], e.arguments if isinstance(e, s.Call) else (), e.where)
        if isinstance(e, s.Identifier) and e.name in self.functions:
            return ApplyFunction(self.functions[e.name])
        name = e.name if isinstance(e, s.Identifier | s.Call | s.Instantiation) else ""
        hint = args.FOREIGN_NAMES.get(name) or did_you_mean(name, self.file.callables())
        hint = f"write cumulate({e})" if isinstance(e, s.Sign) else hint
        raise e.error(f"{what} is a processor or pipeline, not '{e}'", hint)


def _streams(cls: type[Processor]) -> int:
    """Return the minimum number of inputs of processors of the class, 0 where that is unknown."""
    return cls.streams if cls.in_arity is Processor.in_arity or "streams" in vars(cls) else 0


def _own_name(cls: type[Processor], position: int, e: s.Expression) -> frozenset[str]:
    """Return the name of an argument that cannot be a stream, so that the parameter's own message reports it."""
    return frozenset({e.name} if isinstance(e, s.Identifier) and position >= max(1, _streams(cls)) else ())


def _several(e: s.Expression, value: tuple[Any, ...]) -> LanguageError:
    names = value.names if isinstance(value, NamedStreams) else ()
    hint = f"select one of them: {e}.{names[0]}" if names else "name them first: a, b = ..."
    return e.error(f"'{e}' has {len(value)} streams where one is needed", hint)


def is_many(value: Any) -> bool:
    """Whether a value is a group of outputs of one processor (a tuple constant is not)."""
    return isinstance(value, BuiltStreams)
