"""The state of a running pipeline as bytes, and back, so that it survives a restart.

The rule of this module: a state can be restored only into the pipeline that saved it. The bytes are

    4    b"WBS" and the form of what is stored (`workbench.stored`)
    16   the checksum: the first bytes of a SHA-256 over all that follows
    16   the fingerprint: the first bytes of a SHA-256 over backend, pipeline and the form of the state
    ...  what the backend writes: the compiled executor its arrays (`Compiled.snapshot`), the reference executor
         JSON text (`Reference.snapshot`)

Reading them executes no code.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from workbench.core.domain import Value
from workbench.core.fields import FrozenMap
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Burst, Maybe, Remembered
from workbench.errors import Location, Refused, StateError
from workbench.stored import checksum

HINT = "use the pipeline, the backend and the version of workbench that saved it; or start afresh"

TUPLES: dict[str, Callable[[Sequence[Value]], Value]] = {
    "tuple": tuple,
    "maybe": Maybe._make,
    "burst": Burst,
    "list": list,
    "map": lambda flat: FrozenMap(dict(zip(flat[::2], flat[1::2], strict=True))),
}
"""Constructors by type name; stored as a name, the number of parts, and the parts (a map: key, value, ...)."""


def fingerprint(backend: str, flat: Pipeline, *form: Any) -> bytes:
    """Return a hash that identifies a pipeline, the same in every process.

    A Python function is identified by its code and its closure, not by the modules that it uses; an object by the name
    of its class and its attributes. No module is named, so that one may move.

    Parameters
    ----------
    flat: the pipeline without groups.
    form: further values that must be equal.
    """
    nodes = [(n.name, n.processor, n.inputs, n.outputs) for n in flat.nodes]
    description = describe((backend, flat.inputs, nodes, flat.outputs, dict(flat.capacities), form))
    return checksum(description.encode())


def describe(value: Any, around: frozenset[int] = frozenset()) -> str:
    """Return the text that a fingerprint hashes; `around` has the ids of the enclosing values."""
    if isinstance(value, Location) or id(value) in around:  # a function may enclose itself
        return ""
    around |= {id(value)}

    def inside(values: Iterable[Any]) -> str:
        return f"({','.join(describe(each, around) for each in values)})"

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__ + inside(getattr(value, f.name) for f in dataclasses.fields(value))
    if isinstance(value, tuple | list):
        return inside(value)
    if isinstance(value, dict):
        return inside(value.items())
    if isinstance(value, set | frozenset | FrozenMap):  # sorted, so that the order is the same in every process
        items = value.items() if isinstance(value, FrozenMap) else value
        return f"({','.join(sorted(describe(each, around) for each in items))})"
    if isinstance(value, FunctionType):
        enclosed = [cell.cell_contents for cell in value.__closure__ or ()]
        return inside([value.__code__, value.__defaults__, value.__kwdefaults__, *enclosed])
    if isinstance(value, MethodType):
        return inside([value.__func__, value.__self__])
    if isinstance(value, partial):
        return inside([value.func, value.args, value.keywords])
    if isinstance(value, CodeType):
        return value.co_code.hex() + inside([*value.co_names, *value.co_consts])
    if isinstance(value, type | BuiltinFunctionType):
        return value.__qualname__
    if getattr(type(value), "__repr__", None) is object.__repr__:  # it has no repr of its own
        return type(value).__qualname__ + inside([value.__getstate__()])
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def join_states(keys: Sequence[Value], states: Iterable[bytes]) -> bytes:
    """Join the states of the runs of several keys into one value."""
    texts = [base64.b85encode(state).decode() for state in states]
    return to_text((tuple(keys), tuple(texts)))


def split_states(data: bytes) -> Iterator[tuple[Value, bytes]]:
    """Yield each key with its state, from the output of `join_states`; StateError if the data is not such output."""
    keys, texts = from_text(data)
    return zip(keys, map(base64.b85decode, texts), strict=True)


# --- any values -----------------------------------------------------------------------------------------------


def to_parts(value: Value) -> list[Any]:
    """Convert a value to flat JSON data: a container precedes its parts, as `{"tuple": 2}`; flat, for nesting is deep.

    Raises
    ------
    Refused: a part is an object that has no form as data.
    """
    parts: list[Any] = []
    rest = [value]
    while rest:
        item = rest.pop()
        item = item.saved() if isinstance(item, Remembered) else item
        inside: Sequence[Value]
        if item is None or type(item) in (bool, int, float, str):
            parts.append(item)
            continue
        if isinstance(item, FrozenMap):
            name, inside = "map", [part for pair in item.items() for part in pair]
        elif type(item) in (tuple, list, Maybe, Burst):
            name, inside = type(item).__name__.lower(), item
        else:
            raise Refused(
                f"a state that holds {item!r} (of type {type(item).__name__}) cannot be saved",
                hint="numbers, texts, truth values, tuples, lists and maps can",
            )
        parts.append({name: len(inside)})
        rest.extend(reversed(inside))
    return parts


def from_parts(parts: Sequence[Any]) -> Value:
    """The inverse of `to_parts`."""
    stack: list[Value] = []
    for part in reversed(parts):
        if isinstance(part, dict):
            ((name, size),) = part.items()
            inside = [stack.pop() for _ in range(size)]
            stack.append(TUPLES[name](inside))
        else:
            stack.append(part)
    (value,) = stack
    return value


def to_text(value: Value) -> bytes:
    """Convert a value to JSON text."""
    return json.dumps(to_parts(value), separators=(",", ":")).encode()


def from_text(text: bytes) -> Value:
    """The inverse of `to_text`; StateError if the text is damaged."""
    try:
        return from_parts(json.loads(text))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise StateError(f"this state is damaged: {error!r}", hint=HINT) from error
