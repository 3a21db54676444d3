"""Errors of ours on their way through Spark, which knows only texts and Java's stack traces; and what Spark's own mean.

The rule of this module: what a worker raises arrives as it was, class, place and hint. It travels at the end of the
message, after the text for people who meet it as it is. Spark's own are told by the names that it gives to its
conditions, `[CANNOT_LOAD_STATE_STORE]`, and by those of its classes: what it says otherwise is Java.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Callable, Iterator

from workbench import errors
from workbench.errors import SparkError, StateError, WorkbenchError

AFRESH = "start afresh, with a new --checkpoint and a new --output"
AGAIN = "run the same command again; if it comes again, there may be too little memory: look for what ended it"
FAILURES: tuple[tuple[str, type[WorkbenchError], str, str], ...] = (
    (
        r"\[(?:CANNOT_LOAD_STATE_STORE|CANNOT_READ_|MALFORMED_LOG_FILE|STREAMING_STATEFUL_OPERATOR_MISSING_STATE"
        r"|STATE_STORE_)[A-Z_.]*\] (.*?)(?: SQLSTATE: .*)?$",
        StateError, "the checkpoint is damaged", AFRESH,
    ),
    (r"Python worker exited|PythonWorkerFactory", SparkError, "a Python process of Spark's was killed", AGAIN),
    (r"Py4JNetworkError|Connection(?:Refused|Reset)Error", SparkError, "the Java process of Spark's was killed", AGAIN),
)  # fmt: skip
"""What tells a failure, the error that it is, what is wrong (before what Spark says of it), and what to do."""

Placing = Callable[[WorkbenchError, str | None, int, int | None], WorkbenchError]
_MARK = re.compile(r"\[workbench:([A-Za-z0-9+/=]+)\]")


RowPlace = tuple[str | None, int, int | None]
"""The key of a row as messages show it (None: it has none), the task that has read it, and its number among the rows of
that; None for the end of the key's streams."""


class PlacedError(Exception):
    """What is wrong with a row whose number in the log the driver knows, who knows what all tasks have read."""

    def __init__(self, error: WorkbenchError, place: RowPlace) -> None:
        self.error, self.place = error, place


class CarriedError(Exception):
    """An error of ours as Spark shall show it."""

    def __init__(self, error: WorkbenchError, place: RowPlace | None = None) -> None:
        told = [type(error).__name__, error.what, str(error.where), error.hint, place]
        super().__init__(f"{error.message}\n[workbench:{base64.b64encode(json.dumps(told).encode()).decode()}]")


@contextlib.contextmanager
def carried() -> Iterator[None]:
    """In a worker: what is raised inside comes back on the driver, through `brought_back`."""
    try:
        yield
    except PlacedError as error:
        raise CarriedError(error.error, error.place) from error
    except WorkbenchError as error:
        raise CarriedError(error) from error


def found_in(error: BaseException, placed: Placing | None = None) -> WorkbenchError | None:
    """The error of ours that one of Spark's is about, if any; `placed` tells where the row is that it is about."""
    match = _MARK.search(str(error))
    if match is None:
        return None
    name, what, where, hint, place = json.loads(base64.b64decode(match[1]))
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, WorkbenchError)):
        kind = WorkbenchError
    made = kind(what, where=where, hint=hint)
    return placed(made, *place) if place and placed else made


@contextlib.contextmanager
def brought_back(hint: str = "", where: str = "", placed: Placing | None = None) -> Iterator[None]:
    """On the driver: an error of ours that a worker met is raised as it was, any other of Spark's as a `SparkError`.

    Parameters
    ----------
    hint: what to do about the others.
    where: the place of what is kept from one run to the next.
    placed: tells of an error where the row is that it is about, given its `RowPlace`.
    """
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        ours = found_in(error, placed)
        if ours is not None:
            raise ours from None
        if not type(error).__module__.startswith(("pyspark.", "py4j.")) and not isinstance(error, ConnectionError):
            raise
        kind, what, remedy = known(error) or (SparkError, f"Spark gave up: {told(error)}", hint)
        raise kind(what, where=where if kind is StateError else "", hint=remedy) from error


def known(error: Exception) -> tuple[type[WorkbenchError], str, str] | None:
    """What a failure of Spark's means, if it is one of `FAILURES`: an error, what is wrong, and what to do."""
    text = f"{type(error).__name__}: {error}"
    for pattern, kind, what, hint in FAILURES:
        if match := re.search(pattern, text, re.MULTILINE):
            said = [group.strip() for group in match.groups()]
            return kind, ": ".join([what, *said]), hint
    return None


def told(error: Exception) -> str:
    """What is wrong, without stacks: what Spark says first, and the error behind it if there is one.

    That is Python's, or Java's where Python's only says that Java had one.
    """
    if found := known(error):
        return found[1]
    text = str(error).replace(": Traceback (most", ":\nTraceback (most")
    shown = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    behind = re.findall(r"^Traceback \(most.*\n(?:[ \t].*\n)*(\S.*)$", text, re.MULTILINE)
    java = re.findall(r"^: (\S.*)$", text, re.MULTILINE)
    if java and "calling o" in (behind or [shown])[-1]:
        return str(java[-1])
    return f"{shown} {behind[-1]}" if behind and behind[-1] not in shown else shown
