"""The ending of an engine process: a limit, a crash, or a defect of its input text.

Shared by all engines, so that the same event has the same message with every engine.
"""

from __future__ import annotations

import math
import re
import signal
import time
from dataclasses import dataclass

from workbench.errors import DeadlockError, EngineError, Location

from .engine import EngineLimits, limit_side_questions

MODEL_FILE = "model.smv"
"""The file name of the model, which messages of engines mention; relative, so they show no folder."""

TIME, SIDE_QUESTION = "time", "side question"
"""The time limit that was met."""

_PLACE = re.compile(r"(TYPE ERROR )?file \S+: line \d+ ?: ?")
_LINE = re.compile(r"\bline (\d+)")
_MEMORY = re.compile(r"out of memory|memory exhausted|bad_alloc|cannot allocate", re.IGNORECASE)
_NOISE = re.compile(r"^(WARNING|\*\*\*|aborting 'source|ERROR: Property)|^\s*$")
_LAST_WORDS = 3  # lines


class Deadline:
    """The deadline of a task, and its limit: `TIME`, or `SIDE_QUESTION` once only side questions are left."""

    def __init__(self, seconds: float | None) -> None:
        self._begin, self.limit = time.monotonic(), TIME
        self._end = math.inf if seconds is None else self._begin + seconds

    @property
    def seconds_left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._end - time.monotonic())

    def begin_side_questions(self) -> None:
        """Limit the rest of the task to what `limit_side_questions` allows."""
        now = time.monotonic()
        if self.limit is TIME and now + limit_side_questions(now - self._begin) < self._end:
            self._end, self.limit = now + limit_side_questions(now - self._begin), SIDE_QUESTION


def out_of_memory(log: str) -> bool:
    """Whether an engine reports that it is out of memory."""
    return bool(_MEMORY.search(log))


@dataclass(frozen=True)
class Ending:
    """The end of a process.

    Parameters
    ----------
    status: exit status; negative: minus the number of the signal.
    log: the text on stderr.
    peak_mb: largest resident memory.
    timed_out: "" or the time limit at which it was killed: `TIME`, or `SIDE_QUESTION` for a side question.
    gone: the way in which the whole worker was lost, if it was.
    """

    status: int
    log: str
    peak_mb: float
    limits: EngineLimits
    timed_out: str = ""
    gone: str = ""

    def memory_limit_met(self) -> bool:
        """Whether the process died for lack of memory.

        NuSMV seldom reports that: if an allocation fails it may also crash. Its tables grow by
        doubling, so the allocation that fails can be as large as all the memory in use before it.
        """
        if self.timed_out or self.gone or self.status == 0:
            return False
        if out_of_memory(self.log):
            return True
        return self.limits.memory_mb is not None and self.peak_mb > 0.4 * self.limits.memory_mb

    def reason(self) -> str:
        """Return the reason why queries are undecided."""
        if self.timed_out == SIDE_QUESTION:
            return "a side question that took much longer than the others"
        if self.timed_out:
            return self.limits.time
        if self.gone:
            return self.gone
        died = f"signal {_name_signal(-self.status)}" if self.status < 0 else f"exit status {self.status}"
        if self.memory_limit_met():
            return f"{self.limits.memory or 'out of memory'} (reached {self.peak_mb:.0f} MB, {died})"
        words = "; ".join(_words(self.log)[-_LAST_WORDS:])
        return f"the engine crashed ({died})" + (f": {words}" if words else "")


def defect(
    log: str, model: str, what: str = "", hint: str = "", *, where: str = "", is_deadlock: bool = False
) -> EngineError:
    """Return the error for a defective model or formula, in NuSMV's own words.

    The message about a formula has the line on which the model ends, which is meaningless; so with `where` (the
    formula, or a state) no line is taken from it.
    """
    kind = DeadlockError if is_deadlock else EngineError
    words = "\n".join(dict.fromkeys(_words(log)))  # NuSMV repeats itself
    if where:
        words = _PLACE.sub("", words)
    message = ": ".join(part for part in (what, words) if part) or "the engine refuses it without a reason"
    if where:
        return kind(message, where=where, hint=hint)
    match = _LINE.search(message)
    if match is None:
        return kind(message, where=MODEL_FILE, hint=hint)
    line = int(match[1])
    lines = model.splitlines()
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return kind(message, where=Location(file=MODEL_FILE, line=line, column=1, text=text), hint=hint)


def _words(log: str) -> list[str]:
    return [line.strip() for line in log.splitlines() if not _NOISE.match(line)]


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


NO_INITIAL_STATE = "the model is vacuous: it has no initial state", "INIT, init(...) and INVAR contradict each other"
"""The defect, and a hint."""
NO_FAIR_PATH = (
    "the model is vacuous: no fair path starts in an initial state",
    "no run meets all FAIRNESS constraints infinitely often",
)


def deadlock(state: str) -> tuple[str, str]:
    """Return the message and hint about a reachable state without successor."""
    what = f"the model deadlocks: there is no successor of the reachable state {state}"
    return what, "TRANS and INVAR must leave every reachable state a next one"


class RejectedError(Exception):
    """The model or a formula is defective; `where` is the offending text, `hint` the remedy.

    `printed`: whether NuSMV has printed the defect on stderr; then `what` may be empty.
    `is_deadlock`: whether a reachable state has no successor.
    """

    def __init__(
        self, what: str, hint: str = "", *, where: str = "", printed: bool = False, is_deadlock: bool = False
    ) -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.printed, self.is_deadlock = what, where, hint, printed, is_deadlock
