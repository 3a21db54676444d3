"""Transfer of errors from Spark's workers to the driver, and interpretation of Spark's own errors.

The rule of this module: a worker's error arrives unchanged: class, place and hint. Spark transfers only texts and
Java's stack traces, so an error is encoded at the end of its message, after the text for human readers. Spark's own
errors are recognised by the names of its conditions, `[CANNOT_LOAD_STATE_STORE]`, and by those of its classes.
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
AGAIN = "run the same command again; if that fails, too, there may be too little memory"
FAILURES: tuple[tuple[str, type[WorkbenchError], str, str], ...] = (
    (
        r"\[(?:CANNOT_LOAD_STATE_STORE|CANNOT_READ_|MALFORMED_LOG_FILE|STREAMING_STATEFUL_OPERATOR_MISSING_STATE"
        r"|STATE_STORE_)[A-Z_.]*\] (.*?)(?: SQLSTATE: .*)?$",
        StateError, "the checkpoint is damaged", AFRESH,
    ),
    (r"Python worker exited|PythonWorkerFactory", SparkError, "a Python process of Spark was killed", AGAIN),
    (r"Py4JNetworkError|Connection(?:Refused|Reset)Error", SparkError, "the Java process of Spark was killed", AGAIN),
)  # fmt: skip
"""Pattern of a Spark failure, corresponding error class, the message (before Spark's), and the hint."""

Locate = Callable[[WorkbenchError, str | None, int, int | None], WorkbenchError]
"""Adds the row of the log to an error, given the parts of its `RowPlace`."""
_MARK = re.compile(r"\[workbench:([A-Za-z0-9+/=]+)\]")

RowPlace = tuple[str | None, int, int | None]
"""The key of a row as in messages (None: it has none), the task that has read it, and its number among the rows of that
task; None for the end of the key's streams."""


class PlacedError(Exception):
    """An error about a row whose number in the log only the driver knows, since it knows what all tasks have read."""

    def __init__(self, error: WorkbenchError, location: RowPlace) -> None:
        self.error, self.place = error, location


class CarriedError(Exception):
    """An error of workbench in a form that Spark transfers."""

    def __init__(self, error: WorkbenchError, location: RowPlace | None = None) -> None:
        parts = [type(error).__name__, error.what, str(error.where), error.hint, location]
        super().__init__(f"{error.message}\n[workbench:{base64.b64encode(json.dumps(parts).encode()).decode()}]")


@contextlib.contextmanager
def carry() -> Iterator[None]:
    """Raise errors of workbench, in a worker, so that `bring_back` raises them again on the driver."""
    try:
        yield
    except PlacedError as error:
        raise CarriedError(error.error, error.place) from error
    except WorkbenchError as error:
        raise CarriedError(error) from error


def error_in(error: BaseException, locate: Locate | None = None) -> WorkbenchError | None:
    """Return the workbench error in an error of Spark, if any; `locate` adds the row that it is about."""
    match = _MARK.search(str(error))
    if match is None:
        return None
    name, what, where, hint, location = json.loads(base64.b64decode(match[1]))
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, WorkbenchError)):
        kind = WorkbenchError
    carried = kind(what, where=where, hint=hint)
    return locate(carried, *location) if location and locate else carried


@contextlib.contextmanager
def bring_back(where: str = "", locate: Locate | None = None) -> Iterator[None]:
    """Raise, on the driver, a worker's workbench error as it was, and any other error of Spark as a `SparkError`.

    Parameters
    ----------
    where: the folder of the state that is saved between runs.
    locate: adds the row of the log to an error.
    """
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        ours = error_in(error, locate)
        if ours is not None:
            raise ours from None
        if not type(error).__module__.startswith(("pyspark.", "py4j.")) and not isinstance(error, ConnectionError):
            raise
        kind, what, remedy = find_known_failure(error) or (SparkError, f"Spark gave up: {summarize(error)}", "")
        raise kind(what, where=where if kind is StateError else "", hint=remedy) from error


def find_known_failure(error: Exception) -> tuple[type[WorkbenchError], str, str] | None:
    """Return error class, message and hint for a Spark failure in `FAILURES`; else None."""
    text = f"{type(error).__name__}: {error}"
    for pattern, kind, what, hint in FAILURES:
        if match := re.search(pattern, text, re.MULTILINE):
            details = [group.strip() for group in match.groups()]
            return kind, ": ".join([what, *details]), hint
    return None


def summarize(error: Exception) -> str:
    """Summarize an error without stack traces: Spark's first line, and the error that has caused it.

    The cause is Python's error, or Java's where Python's only says that Java had one.
    """
    if failure := find_known_failure(error):
        return failure[1]
    text = str(error).replace(": Traceback (most", ":\nTraceback (most")
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    causes = re.findall(r"^Traceback \(most.*\n(?:[ \t].*\n)*(\S.*)$", text, re.MULTILINE)
    java = re.findall(r"^: (\S.*)$", text, re.MULTILINE)
    if java and "calling o" in (causes or [first])[-1]:
        return str(java[-1])
    return f"{first} {causes[-1]}" if causes and causes[-1] not in first else first
