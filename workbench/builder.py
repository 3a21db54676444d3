"""Pipelines written in Python.

    @pipeline
    def sum_of_odds(x: int):
        count = Cumulate(ADD)(TurnInto(1)(x))
        odd = Filter()(count, EVEN(Trim(1)(count)))
        return Cumulate(ADD)(odd)

Processors and functions are applied to streams; operators lift their function. Nodes are named with `.named(...)`,
else after their processor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, overload

from workbench.core.domain import INT, Domain, see_domain
from workbench.core.function import Function, as_function, is_part
from workbench.core.pipeline import Node, Pipeline, type_node
from workbench.core.processor import Processor
from workbench.core.term import TRUTH, Overloaded, python_value, refuse
from workbench.core.types import python_domain
from workbench.errors import Location, PipelineError, TypingError, UnknownAttribute, did_you_mean
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import Group


class BuiltStream(Overloaded):
    """A pipe of a pipeline under construction.

    Operators build streams: `+ - * / // %`, comparisons (`==` and `!=`, too), `& | ~` for and, or, not.

    Raises
    ------
    TypingError: Python requests its truth, its items or its number.
    """

    __bool__ = refuse(
        "is neither true nor false while the pipeline is built",
        TRUTH.replace("wb.functions.NOT(a)", "~") + "; test whether two names stand for one stream with 'is'",
    )
    __hash__ = refuse("cannot be a key: its value is not known", "write (x == 1) | (x == 3) for x in {1, 3}")
    __iter__ = __len__ = __getitem__ = __contains__ = refuse(
        "has no items while the pipeline is built",
        "use a processor, e.g. wb.processors.Prefix, wb.processors.Trim or wb.processors.Window",
    )
    __int__ = __float__ = __index__ = __complex__ = __round__ = __trunc__ = refuse(
        "is not a number while the pipeline is built", "convert its events with wb.processors.Cast(wb.INT)(stream)"
    )

    def __init__(self, builder: Builder, pipe: str) -> None:
        self.builder = builder
        self.pipe = pipe

    def feed(self, processor: Processor, streams: Sequence[Any]) -> Any:
        """Return the output stream (or tuple of streams) of `processor` on `streams`."""
        return self.builder.apply(processor, streams)

    def lift(self, function: Any, arguments: Sequence[Any]) -> Any:
        """Apply a function to streams; literals among its arguments become part of the function."""
        streams = [a for a in arguments if isinstance(a, BuiltStream)]
        return self.builder.apply(ApplyFunction(partial(as_function(function), arguments)), streams)

    def __repr__(self) -> str:
        return f"<stream {self.pipe} of pipeline {self.builder.name}>"

    if not TYPE_CHECKING:  # type checkers would take any name for one of ours

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("__"):  # a protocol of Python
                raise AttributeError(name)
            from workbench.processors import PROCESSORS

            words = {cls.keyword: cls.__name__ for cls in PROCESSORS.values()}
            example = f"wb.processors.{words.get(name.lower(), 'Window')}(...)({self.pipe})"
            raise UnknownAttribute(f"{self!r} has no attribute '{name}'", hint=f"apply a processor to it: {example}")

    def named(self, name: str) -> BuiltStream:
        """Rename this stream, with its pipe and processor, to `name`."""
        self.builder.rename(self.pipe, name)
        return self.builder.stream(name)


def partial(function: Function, arguments: Sequence[Any]) -> Function:
    """Return `function` with the arguments that are not streams filled in: `x * 2` has one input."""
    arguments = [a if isinstance(a, BuiltStream) else python_value(a) for a in arguments]
    if any(argument is None for argument in arguments):
        what = f"{function.name} is applied to None, which is neither a stream nor a value"
        raise PipelineError(what, hint="no event is not a value; see wb.processors.Insert")
    holes = [isinstance(a, BuiltStream) for a in arguments]
    if all(holes):
        return function

    filled = [None if hole else a for a, hole in zip(arguments, holes, strict=True)]  # no stream: builds are compared

    def build(*inputs: Any) -> Any:
        rest = iter(inputs)
        return function.build(*(next(rest) if hole else a for a, hole in zip(filled, holes, strict=True)))

    texts = [
        "_" if hole else str(a).lower() if isinstance(a, bool) else str(a)
        for a, hole in zip(arguments, holes, strict=True)
    ]
    name = f"{texts[0]} {function.name} {texts[1]}" if len(texts) == 2 else f"{function.name}({', '.join(texts)})"
    name = name.replace("_ ", "", 1) if holes[0] and len(texts) == 2 else name
    build.__wrapped__ = function.build  # type: ignore[attr-defined]  # whose file and line errors have
    takes = tuple(domain for domain, hole in zip(function.takes, holes, strict=False) if hole)
    return Function(name, sum(holes), build, function.opaque, function.result, takes=takes)


_SEVERAL = refuse("are several streams", "unpack them first: `left, right = ...`")


class BuiltStreams(tuple[BuiltStream, ...]):
    """The output streams of a processor with several: unpack them, `left, right = wb.processors.Fork(2)(x)`."""

    error = TypingError
    __array_ufunc__ = None
    __bool__ = __hash__ = __contains__ = __int__ = __float__ = __index__ = __round__ = lift = feed = _SEVERAL
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _SEVERAL
    __add__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _SEVERAL
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _SEVERAL
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _SEVERAL
    __neg__ = __pos__ = __invert__ = __abs__ = _SEVERAL

    def __radd__(self, other: Any) -> Any:  # a list is extended by the streams
        return NotImplemented if isinstance(other, list) else self + other

    def __getitem__(self, key: Any) -> Any:
        selection = super().__getitem__(key)
        return BuiltStreams(selection) if isinstance(key, slice) else selection


class NamedStreams(BuiltStreams):
    """The output streams of a processor whose outputs have names: `fires.Fire`."""

    builder: Builder
    position: int

    def __new__(cls, streams: Sequence[BuiltStream], builder: Builder, position: int) -> NamedStreams:
        """Return the streams of the node at this position."""
        instance = super().__new__(cls, streams)
        instance.builder, instance.position = builder, position
        return instance

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.builder.nodes[self.position].processor.results_named

    def __getattr__(self, name: str) -> BuiltStream:
        if name.startswith("__") or name not in self.names:
            hint = did_you_mean(name, self.names, "its outputs are: ")
            raise PipelineError(f"{self.builder.nodes[self.position].processor} has no output '{name}'", hint=hint)
        node = self.builder.nodes[self.position]  # its pipes may have been renamed
        return self.builder.stream(node.outputs[self.names.index(name)])


TIME = "time"
"""The name of the stream that clocks read."""


class Names:
    """The names in use, with hints for the least free ones, to avoid trying all of them each time."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._least: dict[str, int] = {}
        """For each wanted name, a number below which `name`, `name2`, ... are all taken."""

    def take(self, *names: str) -> None:
        """Mark names as taken."""
        self._taken.update(names)

    def release(self, *names: str) -> None:
        """Mark names as free again."""
        for name in names:
            self._taken.discard(name)
            digits = len(name) - len(name.rstrip("0123456789"))
            for end in range(len(name) - min(digits, 9), len(name) + 1):
                base, number = name[:end], int(name[end:] or 1)
                self._least[base] = min(self._least.get(base, 1), number)

    def fresh(self, name: str) -> str:
        """Return `name`, or `name2`, `name3`, ... if it is taken."""
        count = self._least.get(name, 1)
        while (candidate := f"{name}{count}" if count > 1 else name) in self._taken:
            count += 1
        self._least[name] = count
        return candidate


class Builder:
    """Collects the nodes of one pipeline."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[tuple[str, Domain]] = []
        self.nodes: list[Node] = []
        self._names = Names()
        self._domains: dict[str, Domain] = {}
        """The domains of the inputs, and of the outputs of the nodes that are typed."""
        self._typed = 0
        self._touching: dict[str, list[int]] = {}
        """For each pipe, the positions of the nodes that read or write it."""

    def input(self, name: str, domain: Domain = INT) -> BuiltStream:
        """Add an open input pipe, and return its stream."""
        see_domain(domain, name)
        self.inputs.append((name, domain))
        self._domains[name] = domain
        self._names.take(name)
        return self.stream(name)

    def stream(self, pipe: str) -> BuiltStream:
        """Return the stream on an existing pipe."""
        return BuiltStream(self, pipe)

    def add(
        self, processor: Processor | Pipeline, streams: Sequence[Any], name: str = "", where: Location | str = ""
    ) -> Any:
        """Add a node, and return its output stream, or a tuple of them."""
        if isinstance(processor, Pipeline):
            processor = Group(processor)
        for stream in streams:
            if not isinstance(stream, BuiltStream) or stream.builder is not self:
                raise PipelineError(
                    f"{processor} is applied to {stream!r}, which is not a stream of pipeline {self.name}", where=where
                )
        streams = self._with_time(processor, streams)
        name = base = self.fresh(name or _short(processor))
        outputs = _output_names(name, processor)
        while any(self.fresh(pipe) != pipe for pipe in outputs):
            name = self.fresh(f"{base}_")
            base, outputs = name, _output_names(name, processor)
        self._put(len(self.nodes), Node(name, processor, tuple(s.pipe for s in streams), outputs, where))
        results = BuiltStreams(map(self.stream, outputs))
        if processor.results_named:
            return NamedStreams(results, self, len(self.nodes) - 1)
        return results if len(results) > 1 else results[0]

    def apply(self, processor: Processor | Pipeline, streams: Sequence[Any]) -> Any:
        """Add a node as `add` does, and type it, so that an error occurs at the user's line."""
        output = self.add(processor, streams)
        for node in self.nodes[self._typed :]:
            type_node(self.name, node, self._domains)
            self._typed += 1
        return output

    def _with_time(self, processor: Processor, streams: Sequence[Any]) -> Sequence[Any]:
        """Return the streams that a processor reads, with the stream `time` for its clock if none is given."""
        clocks = processor.clocks
        if not clocks or processor.in_arity != len(streams) + len(clocks):
            return streams
        pipes = {name for name, _ in self.inputs} | {pipe for node in self.nodes for pipe in node.outputs}
        time = self.stream(TIME) if TIME in pipes else self.input(TIME, INT)
        rest = iter(streams)
        return [time if i in clocks else next(rest) for i in range(processor.in_arity)]

    def _put(self, position: int, node: Node) -> None:
        self.nodes[position : position + 1] = [node]
        self._names.take(node.name, *node.outputs)
        for pipe in {*node.inputs, *node.outputs}:
            self._touching.setdefault(pipe, []).append(position)

    def fresh(self, name: str) -> str:
        """Return `name`, or `name2`, `name3`, ... if it is taken."""
        return self._names.fresh(name)

    def rename(self, pipe: str, name: str) -> None:
        """Rename a pipe, and its processor if that has one output."""
        if name == pipe:
            return
        if pipe in dict(self.inputs):
            raise PipelineError(f"pipeline {self.name}: the input '{pipe}' cannot be renamed", hint="name its result")
        if self.fresh(name) != name:
            raise PipelineError(f"pipeline {self.name}: two pipes are called '{name}'", hint="rename one")

        def swap(pipes: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name if p == pipe else p for p in pipes)

        for position in self._touching.pop(pipe, ()):
            n = self.nodes[position]
            called = name if n.outputs == (pipe,) else n.name
            if pipe in n.outputs:
                self._names.release(pipe, *([n.name] if called != n.name else []))
            self.nodes[position] = replace(n, name=called, inputs=swap(n.inputs), outputs=swap(n.outputs))
            self._names.take(called)
            self._touching.setdefault(name, []).append(position)
        self._names.take(name)
        if pipe in self._domains:
            self._domains[name] = self._domains.pop(pipe)

    def build(
        self, outputs: Mapping[str, BuiltStream] | Sequence[BuiltStream] | BuiltStream, doc: str = ""
    ) -> Pipeline:
        """Return the finished pipeline; unnamed outputs are `out`, or `out1`, `out2`, ..."""
        if isinstance(outputs, BuiltStream):
            outputs = {"out": outputs}
        each: Any = outputs.values() if isinstance(outputs, Mapping) else outputs
        each = tuple(each) if isinstance(each, Iterable) else ()
        if not each or not all(isinstance(stream, BuiltStream) for stream in each):
            raise PipelineError(
                f"pipeline {self.name} returns {outputs!r}, not a stream", hint="return a stream, or several in a tuple"
            )
        if not isinstance(outputs, Mapping):
            outputs = {f"out{i}": s for i, s in enumerate(outputs, 1)} if len(outputs) > 1 else {"out": outputs[0]}
        output_pipes = tuple((name, stream.pipe) for name, stream in outputs.items())
        return Pipeline(self.name, tuple(self.inputs), tuple(self.nodes), output_pipes, doc=doc)


def _output_names(name: str, processor: Processor) -> tuple[str, ...]:
    if processor.results_named:
        return tuple(f"{name}_{each}" for each in processor.results_named)
    arity = processor.out_arity
    return (name,) if arity == 1 else tuple(f"{name}{i}" for i in range(1, arity + 1))


SHORT = {
    "+": "add", "-": "sub", "*": "mul", "/": "ratio", "=": "eq", "!=": "ne", "<": "lt", "<=": "le",
    ">": "gt", ">=": "ge", "->": "implies",
}  # fmt: skip
"""The node names of functions that are written as signs."""


def _short(processor: Processor) -> str:
    if isinstance(processor, ApplyFunction):
        words = processor.label.split()
        word = next((SHORT[w] for w in words if w in SHORT), words[0] if words else "apply")
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in word).rstrip("_")
        return name if name[:1].isalpha() else f"f{name}"
    if isinstance(processor, Group):
        return processor.body.name
    return processor.keyword or type(processor).__name__.lower()


@overload
def pipeline(define: Callable[..., Any], /, **domains: Domain | type) -> Pipeline: ...
@overload
def pipeline(**domains: Domain | type) -> Callable[[Callable[..., Any]], Pipeline]: ...
def pipeline(define: Callable[..., Any] | None = None, /, **domains: Domain | type) -> Any:
    """Turn a Python function over streams into a `Pipeline` (a decorator).

    Annotations or keywords give the types of the inputs, `int` by default: `x: float`, `x: wb.Range(0, 7)`, or
    `@wb.pipeline(x=wb.Range(0, 7))`. An annotation of the result is checked if it is a type.

    Raises
    ------
    TypingError: an annotation or a keyword is no type, they differ, or the result has another type.
    """
    if define is None:
        return lambda function: pipeline(function, **domains)
    if not callable(define):
        raise PipelineError(f"expected a function, not {define!r}", hint="write @wb.pipeline above def name(x): ...")
    builder = Builder(define.__name__)
    signature = inspect.signature(define)
    unknown = set(domains) - set(signature.parameters)
    if unknown:
        hint = did_you_mean(name := min(unknown), signature.parameters, "its inputs are: ")
        raise PipelineError(f"pipeline {define.__name__} has no input '{name}'", hint=hint)
    for name, parameter in signature.parameters.items():
        annotated = _read_annotation(define, name, parameter.annotation)
        domain: Any = domains.get(name, INT if annotated is None else annotated)
        builder.input(name, domain := python_domain(domain) or domain)
        if annotated not in (None, domain):
            what = f"pipeline {builder.name} has the annotation {name}: {annotated}, and the keyword {name}={domain}"
            raise TypingError(what, hint="write the type once")
    built = builder.build(define(*map(builder.stream, signature.parameters)), doc=inspect.getdoc(define) or "")
    declared = python_domain(_evaluate(define, signature.return_annotation))
    if declared is not None and not (built.out_arity == 1 and is_part(built.output_domains[0], declared)):
        returned = ", ".join(map(str, built.output_domains))
        what = f"pipeline {builder.name} is annotated to return {declared}, but it returns {returned}"
        raise TypingError(what, hint="change the annotation, or leave it out")
    return built


def _evaluate(define: Callable[..., Any], annotation: Any) -> Any:
    """Return the object that an annotation stands for; its text if it cannot be evaluated."""
    try:
        return eval(annotation, define.__globals__) if isinstance(annotation, str) else annotation
    except Exception:
        return annotation


def _read_annotation(define: Callable[..., Any], name: str, annotation: Any) -> Domain | None:
    """Return the domain that an annotation declares; None if it only declares a stream."""
    hint = _evaluate(define, annotation)
    word = getattr(hint, "__name__", str(hint)).rpartition(".")[2]
    if hint is inspect.Parameter.empty or word in ("Any", "BuiltStream"):
        return None
    domain = python_domain(hint)
    if domain is None:
        what = f"pipeline {define.__name__} has the annotation {name}: {annotation!r}, which is no type"
        example = f"{name}: wb.Range(0, 50), or @wb.pipeline({name}=wb.Range(0, 50))"
        raise TypingError(what, hint=f"write {name}: int, bool, float or str, {example}")
    return domain
