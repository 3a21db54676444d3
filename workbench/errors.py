"""The exceptions of workbench: one root, each with the mistake, its place, and the next step.

A message is composed from its fields, so that the command line, `--json` and a caller's own
handler all show the same text; the fields stay readable on the exception.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import islice, takewhile
from numbers import Integral
from typing import NamedTuple, NoReturn, Self

MAX_NAMES = 40
"""Maximum number of names in a hint."""
MAX_LINE_CHARS = 240
"""Maximum number of characters of a line that is shown under a message."""


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str = "there are: ", fits: Callable[[str], bool] = lambda _: True
) -> str:
    """Return a hint for an unknown name: the closest known one that fits, or the first of all after `otherwise`."""
    from difflib import SequenceMatcher, get_close_matches

    def rank(each: str) -> tuple[float, bool]:  # of equally close names, one with the same letters comes first
        return -SequenceMatcher(None, each, str(name)).ratio(), sorted(each) != sorted(str(name))

    names = list(dict.fromkeys(known))
    close = min(filter(fits, get_close_matches(str(name), names, n=len(names) or 1)), key=rank, default=None)
    if close is not None:
        return f"did you mean '{close}'?"
    return otherwise + listed(names) if names else ""


def suggest_option(name: str, known: Iterable[str], option: str, otherwise: str = "") -> str:
    """Return a hint for an unknown name of an option: the option with the closest known name in place of NAME."""
    likely = did_you_mean(name, known, otherwise)
    if not likely.startswith("did"):
        return likely if otherwise else ""
    close = likely.split("'")[1]
    return f"{likely} If so, {option.replace('NAME', close)}"


def listed(names: Collection[str]) -> str:
    """Return names in one line, of many the first ones; odd ones as Python writes them."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(name if name and name.isprintable() else repr(name) for name in islice(names, MAX_NAMES)) + more


def printable(text: str) -> str:
    """Return a text with its control characters, from a log or a program, escaped as Python does.

    Line ends and tabs stay: messages have some of their own.
    """
    if all(map(str.isprintable, text.split("\n"))):
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text)


def refuse_unknown(what: str, name: object, known: Iterable[str]) -> None:
    """Raise InputError if an object that is chosen by name is unknown."""
    if name not in (names := list(known)):
        raise InputError(f"there is no {what} '{name}'", hint=did_you_mean(str(name), names))


def check_count(what: str, count: object, *, least: int, hint: str = "") -> None:
    """Raise PipelineError if a count is not a whole number, or smaller than `least`."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
        if stream := getattr(count, "pipe", ""):
            hint = f"apply the processor to the stream once it is made, as in wb.processors.Window(3, ...)({stream})"
        raise PipelineError(f"{what} is a whole number of at least {least}, not {count!r}", hint=hint)


def check_kind(value: object, kind: type, hint: str, name: str = "") -> None:
    """Raise InputError if an argument, of this name, is not of a type."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InputError(f"{name}{': ' * bool(name)}expected {article} {kind.__name__}, not {value!r}", hint=hint)


class Location(NamedTuple):
    """A place in a text the user wrote: file name, line and column (both counted from 1)."""

    file: str = ""
    line: int = 0
    column: int = 0
    text: str = ""
    """The offending line, shown under the message with carets from `column` on."""
    length: int = 1
    """The number of characters that are marked, as far as they are on this line."""

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        if self.line:
            parts += [str(self.line), str(self.column)]
        return ":".join(parts)

    @property
    def excerpt(self) -> list[str]:
        """The line and the carets under it; empty if the line is unknown."""
        if not self.text:
            return []
        start = max(0, min(self.column - MAX_LINE_CHARS // 2, len(self.text) - MAX_LINE_CHARS))
        text = printable(self.text[start : start + MAX_LINE_CHARS])
        before, behind = "..." if start else "", "..." if start + MAX_LINE_CHARS < len(self.text) else ""
        column = 1 + len(before) + len(printable(self.text[start : max(start, self.column - 1)]))
        carets = "^" * max(1, min(self.length, len(text) + len(before) - column + 1))
        return [f"    {before}{text}{behind}", "    " + " " * (column - 1) + carets]


MAX_REPEATED = 80
"""The length above which a hint that is common to several mistakes is shown once."""


class WorkbenchError(Exception):
    """The root of all errors that workbench raises on purpose.

    Parameters
    ----------
    what: what is wrong, in the user's own words (names of pipes, processors, files).
    where: the place, a `Location` or a plain description.
    hint: what to do about it.
    """

    exit_code = 2
    others: tuple[WorkbenchError, ...] = ()
    """Further mistakes of the same text that are independent of this one."""
    step: int | None = None
    """The step of a run in which it occurred, and the trace among several runs: where they are known."""
    trace: int | None = None
    exceeds_64_bits: bool = False
    """Whether the only mistake is a number of more than 64 bits."""
    by_compiled: bool = False
    """Whether compiled code has found it, which the reference executor describes better."""

    def __init__(self, what: str, *, where: Location | str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(self.message)

    def at(self, *, step: int | None = None, trace: int | None = None) -> Self:
        """Set the step, or the trace among several, in which the error occurred; its text already has them."""
        self.step = self.step if step is None else step
        self.trace = self.trace if trace is None else trace
        return self

    def retold(self, what: str = "", *, where: Location | str) -> Self:
        """Return the same error with another text or place; its other fields are kept."""
        error = type(self).__new__(type(self))
        vars(error).update(vars(self))
        error.what, error.where = what or self.what, where
        error.others = tuple(other if other.where else other.retold(where=where) for other in self.others)
        error.args = (error.message,)
        return error

    @property
    def message(self) -> str:
        """The whole text, on one or several lines."""
        return printable("\n".join(self._list_lines(set())))

    def _list_lines(self, hints: set[str]) -> list[str]:
        """Return the lines of its text, and of the others'; a long hint in `hints` is not repeated."""
        location = str(self.where)
        lines = [f"{location}: {self.what}" if location else self.what]
        if isinstance(self.where, Location):
            lines += self.where.excerpt
        if self.hint and self.hint not in hints:
            lines.append(f"  hint: {self.hint}")
            hints |= {self.hint} if len(self.hint) > MAX_REPEATED else set()
        return lines + [line for other in self.others for line in other._list_lines(hints)]

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.message}>"

    def _render_traceback_(self) -> list[str]:
        """Format the error for a notebook: the user's line and the message; with WORKBENCH_DEBUG=1 the traceback.

        The line is the last one in the user's cell, which may define a pipeline that is being built.
        """
        import os
        import traceback

        if os.environ.get("WORKBENCH_DEBUG", "0") not in ("", "0"):
            return traceback.format_exception(self)
        ours = os.path.dirname(__file__)
        frames = traceback.extract_tb(self.__traceback__)
        outside = [frame.filename for frame in takewhile(lambda frame: not frame.filename.startswith(ours), frames)]
        lines = [f"line {frame.lineno}: {frame.line}" for frame in frames if frame.filename in outside[-1:]][-1:]
        return [*lines, f"{type(self).__name__}: {self.message}", *getattr(self, "__notes__", ())]


class DomainError(WorkbenchError, ValueError):
    """A value or constant does not belong to the domain it is used in.

    `needs` is the least N for which the integers 0..N-1 would contain it, if there is one.
    """

    def __init__(self, what: str, *, where: Location | str = "", hint: str = "", needs: int | None = None) -> None:
        self.needs = needs
        super().__init__(what, where=where, hint=hint)


class TypingError(WorkbenchError, TypeError):
    """A function, processor or pipe is used with domains it is not defined on."""


class PipelineError(WorkbenchError, ValueError):
    """A pipeline is not a well-formed graph: arity, unknown name, duplicate name, cycle."""


class UnknownAttribute(WorkbenchError, AttributeError):
    """An object or a module has no attribute of this name."""


class LanguageError(WorkbenchError, ValueError):
    """A `.pipe` text or a property cannot be read; `where` is a `Location`."""


class Refused(WorkbenchError, NotImplementedError):
    """A backend cannot do this; raised before the first event, with the declared reason."""

    def refuse(self, *_: object, **__: object) -> NoReturn:
        """Raise the error, in place of a function that starts a backend."""
        raise self.with_traceback(None)


class _OfQueue(WorkbenchError):
    """An error about a queue: `queue` is its name."""

    def __init__(self, what: str, *, where: Location | str = "", hint: str = "", queue: str = "") -> None:
        self.queue = queue
        super().__init__(what, where=where, hint=hint)


class NoCapacity(_OfQueue, Refused):
    """A backend needs the capacity of this queue in advance, and has none."""


class Overflow(_OfQueue, RuntimeError):
    """A running pipeline ended: at a full queue, or (`queue` is empty) a checked number or a monitored contract.

    For a queue inside an inner processor, `queue` is the name without those of the outer processors.
    """


class InputError(WorkbenchError, ValueError):
    """Input data (a row of a CSV file, a JSON line) cannot be read as the events it should hold."""


class LostRows(WorkbenchError, RuntimeError):
    """A run has lost or repeated a row that it has read: its output is not to be used."""

    exit_code = 3


class EndlessChain(InputError):
    """Composites cause composites in a chain that exceeds the limit."""


class FactsError(InputError):
    """Static data is unavailable: a table that does not fit its declaration, a database that does not answer.

    Attributes
    ----------
    reason: `locked`, `slow`, `damaged`, `missing` (the file), `table`, `column`, `type`, `changed` or `other`.
    passing: whether a retry may succeed.
    """

    def __init__(
        self,
        what: str,
        *,
        where: Location | str = "",
        hint: str = "",
        reason: str = "other",
        passing: bool = False,
    ) -> None:
        self.reason, self.passing = reason, passing
        super().__init__(what, where=where, hint=hint)


class EngineError(WorkbenchError, RuntimeError):
    """A model checker refused a model, or the model has no meaning (it deadlocks)."""

    exit_code = 3


RUNNING_LOG = "running the log"
"""The beginning of the phases of a run, for which a limit has a remedy of its own."""


class LimitMet(WorkbenchError, TimeoutError):
    """Work ran into a limit of time or memory.

    Attributes
    ----------
    limit: the limit in words.
    phase: the phase of the work, worded to follow "while".
    """

    exit_code = 3

    def __init__(self, limit: str, phase: str) -> None:
        self.limit, self.phase = limit, phase
        smaller = "a smaller question: a smaller N, smaller queues, fewer properties or rows"
        if phase.startswith(RUNNING_LOG):
            smaller = "fewer rows; with --state FILE the next run continues"
        super().__init__(
            f"{limit} met" + (f" while {phase}" if phase else ""),
            hint=f"allow more time or memory (--timeout, --memory), or try {smaller}",
        )

    def __reduce__(self) -> tuple[type[LimitMet], tuple[str, str]]:
        return type(self), (self.limit, self.phase)


class DeadlockError(EngineError):
    """A reachable state of the model has no successor."""


class BeyondSmv(EngineError):
    """A model or formula is beyond the engines that read SMV text, by its length or its numbers."""


class EngineMissing(WorkbenchError, LookupError):
    """A requested model checker is not installed."""

    exit_code = 2


class EngineDisagreement(WorkbenchError, AssertionError):
    """Two engines disagree on a question: one of them, or the translation, has a defect.

    `model` is the SMV text of the question.
    """

    exit_code = 3

    def __init__(self, what: str, *, model: str) -> None:
        self.model = model
        super().__init__(
            f"engines disagree: {what}", hint="this is a defect; please report it with this model:\n" + model
        )


class EngineGap(WorkbenchError, AssertionError):
    """An engine of rules deviates from the formulas, found while explaining a run.

    Attributes
    ----------
    rule, trigger: those of the composite that it has, or has not, emitted.
    """

    exit_code = 3

    def __init__(self, what: str, *, hint: str = "", rule: str = "", trigger: int = -1) -> None:
        self.rule, self.trigger = rule, trigger
        super().__init__(what, hint=hint)


class SuiteError(WorkbenchError, ValueError):
    """A suite of experiments is not well formed: a region, an experiment, a table or a name in it."""


class LabError(WorkbenchError, RuntimeError):
    """A sweep of experiments cannot begin or continue: no Java, no cluster, no space. Measurements are kept."""


class SparkError(WorkbenchError, RuntimeError):
    """Spark does not start, cannot be reached, or gives up: no Java, no master, no executor."""


class StateError(WorkbenchError, ValueError):
    """A saved state is damaged, or belongs to another pipeline."""


class UnsupportedNode(WorkbenchError, TypeError):
    """A fold met an operator it has no rule for; names the operator and the fold."""
