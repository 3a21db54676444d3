"""Limits on the time and memory of a piece of work, and its current phase: limits are met only here.

The rule of this module: a `Budget` bounds all work in its `with` block. Code that checks the clock itself (an engine, a
search) reads `remaining()`, and reports its progress in its own words. All other work, plain Python that reads,
composes, prints or replays, is interrupted by a thread that watches it, and ends in `LimitMet`, which names the phase.
Foreign code that holds Python's lock cannot be interrupted by a thread; it ends with its process, which
`cli.supervised` kills.
"""

from __future__ import annotations

import _thread
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from workbench.errors import LimitMet
from workbench.interrupts import half_written, is_deaf

_Function = TypeVar("_Function", bound=Callable[..., Any])

GRACE = 0.3
"""Seconds between the limit and an interrupt, at most half of the limit: work that stops by itself comes first,
since it can report more."""
AGAIN = 1.0
"""Seconds until a repeated interrupt: one interrupt may get lost, and an outer budget leaves an inner one time."""
GLANCE = 0.05
"""Seconds between two checks of the memory in use."""


class Interrupt(BaseException):
    """The interrupt of a thread whose budget is spent.

    It does not derive from `Exception`, so no handler on its way up catches it.

    `met` is its meaning: the block ends in that error, unless the interrupt comes while the block is being left.
    """

    met: LimitMet


class _Work:
    """The work of a thread: its phases and budgets, outermost first, and the listener to new phases."""

    def __init__(self) -> None:
        self.phases: list[phase] = []
        self.budgets: list[Budget] = []
        self.listener: Callable[..., None] | None = None

    @property
    def phase(self) -> str:
        """The innermost phase that is no part."""
        return next((each.doing for each in reversed(self.phases) if not each.part), "")

    def describe(self) -> str:
        """Describe the current parts of the whole, the innermost phase, and its progress."""
        *outer, last = self.phases[:] or [phase("")]
        parts = [each.doing for each in outer if each.part]
        return ", ".join([*parts, f"{last.doing}: {last.far}" if last.far else last.doing])

    def report(self) -> None:
        if self.listener is not None:
            self.listener(phase=self.phase, files=half_written)


_local = threading.local()
_LOCK = threading.Lock()
"""The lock held while a thread is interrupted, and while a budget ends: nothing is thrown after the end."""


def work() -> _Work:
    """Return the work of the current thread."""
    if not hasattr(_local, "work"):
        _local.work = _Work()
    current_work: _Work = _local.work
    return current_work


class phase(ContextDecorator):  # noqa: N801 - it is used like a function
    """The phase of this block or function, worded to follow "while": `composing the model`.

    Parameters
    ----------
    part: whether it is one of several parts of the work, which progress shows before the phase: `queue 2 of 5`.

    Raises
    ------
    LimitMet: there is no memory left for it.
    """

    def __init__(self, doing: str, *, part: bool = False) -> None:
        self.doing, self.part, self.far = doing, part, ""

    def __enter__(self) -> None:
        current_work, self.far = work(), ""
        current_work.phases.append(self)
        current_work.report()

    def now(self, doing: str) -> None:
        """Change the text of the phase, to report its progress."""
        current_work, self.doing = work(), doing
        if self in current_work.phases:
            current_work.report()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        current_work = work()
        if current_work.phases:  # an interrupt may have come before the phase was entered
            current_work.phases.pop()
        ended = kind is not None and (issubclass(kind, LimitMet) or not issubclass(kind, Exception))
        if not ended:  # otherwise the phase is the one that was interrupted
            current_work.report()
        if kind is not None and issubclass(kind, MemoryError):
            raise LimitMet("memory limit of the system", self.doing) from None


def report(far: str) -> None:
    """Report the progress of the innermost phase: its depth, its states, or the step of its question."""
    current_work = work()
    if current_work.phases:
        current_work.phases[-1].far = far
        current_work.report()


class Remaining(NamedTuple):
    """The rest of the tightest budgets of the current thread, and their totals; None: no limit."""

    seconds: float | None = None
    memory_mb: int | None = None
    of_seconds: float | None = None
    of_memory_mb: int | None = None


def remaining() -> Remaining:
    """Return the rest of the current thread's budgets."""
    budgets = [b for b in work().budgets if b.is_limited and _under_way(threading.get_ident(), b._frame)]
    timed = min((b for b in budgets if b.deadline is not None), key=lambda b: b.left, default=None)
    sized = min((b for b in budgets if b.memory_mb is not None), key=lambda b: b.remaining, default=None)
    return Remaining(
        timed.left if timed else None,
        max(1, int(sized.remaining)) if sized else None,
        timed.stated[0] if timed else None,
        sized.stated[1] if sized else None,
    )


def share(parts: int, reserve: float = 0.0) -> Budget:
    """Return one of `parts` equal parts of the remaining time, less `reserve` seconds, with all the memory."""
    rest = remaining()
    budget = Budget(
        None if rest.seconds is None else max(rest.seconds - reserve, 0.0) / parts, rest.memory_mb, soft=True
    )
    budget.stated = rest.of_seconds if parts == 1 else budget.seconds, rest.of_memory_mb
    return budget


def lengthen(seconds: float) -> None:
    """Extend soft budgets of the current thread, up to the innermost other one, to at least `seconds` from now."""
    end = time.monotonic() + seconds
    for each in reversed(work().budgets):
        if each.deadline is not None:
            if not each.soft:
                break
            each.deadline = max(each.deadline, end)


class Budget:
    """The time and memory for the work in a `with` block.

    Parameters
    ----------
    seconds: wall-clock time. None: unlimited.
    memory_mb: megabytes (2**20 bytes) by which resident memory of this process may grow. None: unlimited.
    soft: whether reporting the results may take longer (`lengthen`): the user has not set this limit itself.

    Raises
    ------
    LimitMet: at the end of the block that was interrupted. Budgets nest; an inner one is met before an outer one.
    """

    def __init__(self, seconds: float | None = None, memory_mb: int | None = None, *, soft: bool = False) -> None:
        self.soft = soft
        self.seconds, self.memory_mb = self.stated = seconds, memory_mb
        """`stated`: the limits in messages, of which these are the rest."""
        self.deadline: float | None = None
        self._open = False
        """Whether the block is active; the last assignment of `__enter__`, and the first at its end."""
        self._gate = threading.Lock()
        """The lock held until the end; a plain one, since an interrupt may leave Python's other primitives locked."""
        self._frame: FrameType | None = None
        self._interrupt: type[Interrupt] = type("Interrupt", (Interrupt,), {})  # none is mistaken for another's

    @property
    def left(self) -> float:
        """The remaining seconds."""
        return float("inf") if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def grace(self) -> float:
        """The seconds for code that checks the clock itself to report its progress."""
        return min(GRACE, (self.seconds or 0.0) / 2)

    @property
    def remaining(self) -> float:
        """The remaining megabytes."""
        return float("inf") if self.memory_mb is None else self._begun_mb + self.memory_mb - resident_mb()

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.seconds is not None or self.memory_mb is not None

    def __enter__(self) -> Self:
        self._work, self._thread, self._frame = work(), threading.get_ident(), sys._getframe(1)
        self._depth = len(self._work.phases)
        self._begun_mb = resident_mb() if self.memory_mb is not None else 0.0
        self.deadline = None if self.seconds is None else time.monotonic() + self.seconds
        self._work.budgets.append(self)
        if self.is_limited:
            import ctypes  # noqa: F401 - so that no interrupt comes while it is imported

            self._gate.acquire()
            start_lock = threading.Lock()
            start_lock.acquire()
            with _LOCK:  # what is thrown while a thread starts may reach that thread
                _meet_interrupts()
                _thread.start_new_thread(self._watch, (start_lock,))
                start_lock.acquire()
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while True:
            try:
                self._leave()
                break
            except self._interrupt:  # it came on the way out, after the work
                continue
        if kind is self._interrupt:
            raise self._interrupt.met from None

    def _leave(self) -> None:
        self._open = False
        budgets = self._work.budgets
        with _LOCK:
            # An interrupt may have left inner ones open.
            for each in budgets[budgets.index(self) :] if self in budgets else []:
                each._open, each._frame = False, None
                budgets.remove(each)
            if self.is_limited and self._gate.locked():
                self._gate.release()
        _meet_interrupts()
        del self._work.phases[self._depth :]  # for an interrupt between entering a phase and its block
        self._work.report()

    # --- in the thread that watches ---

    def _watch(self, start_lock: threading.Lock) -> None:
        start_lock.release()
        glances = self.memory_mb is not None
        pause, since = GLANCE if glances else self.left + self.grace, 0.0
        while not self._gate.acquire(timeout=pause) and self._frame is not None:
            limit, now = self._find_exceeded(), time.monotonic()
            since = (since or now) if limit else 0.0
            pause = GLANCE if glances or limit else self.left + self.grace
            if limit and now >= since + AGAIN * self._inside() and self._throw(limit):
                since, pause = 0.0, AGAIN

    def _throw(self, limit: str) -> bool:
        """Interrupt the work, unless the interrupt would be lost there."""
        with _LOCK:
            frame = _under_way(self._thread, self._frame) if self._open else None
            if frame is None or not _can_be_interrupted(frame, self._frame) or is_deaf(frame):
                return False
            self._interrupt.met = LimitMet(limit, self._work.phase)
            _throw_into(self._thread, self._interrupt)
            return True

    def _find_exceeded(self) -> str:
        """Return the limit that is met; empty if none is."""
        if self.deadline is not None and time.monotonic() >= self.deadline + self.grace:
            return time_limit(self.stated[0] or 0.0)
        return memory_limit(self.stated[1] or 0) if self.remaining < 0 else ""

    def _inside(self) -> int:
        """Return the number of limited budgets inside this one: they are met first."""
        budgets = self._work.budgets
        return sum(each.is_limited for each in budgets[budgets.index(self) + 1 :]) if self in budgets else 0


def uninterruptible(function: _Function) -> _Function:
    """Mark a short function that no limit interrupts, since it acquires or releases a resource.

    A generator is uninterruptible up to its `yield`, and after it.
    """
    _UNINTERRUPTIBLE.add(function.__code__)
    return function


def _can_be_interrupted(top_frame: FrameType, work: FrameType | None) -> bool:
    """Whether an interrupt there leaves nothing half-done, such as a half-imported module."""
    frame: FrameType | None = top_frame
    inside = True
    while frame is not None and frame.f_code not in _UNINTERRUPTIBLE:
        if inside and (frame.f_code.co_filename == _IMPORT or _is_constructor_of_z3(frame.f_code)):
            return False
        inside = inside and frame is not work
        frame = frame.f_back
    return frame is None


def _is_constructor_of_z3(code: CodeType) -> bool:
    """Whether an interrupt leaves an object of z3 there whose deletion fails, which Python prints."""
    return code.co_name == "__init__" and code.co_filename.replace("\\", "/").endswith("/z3/z3.py")


_IMPORT = "<frozen importlib._bootstrap>"
"""The file of Python's import: an interrupt there leaves modules incomplete that others hold."""


_UNINTERRUPTIBLE = {Budget.__exit__.__code__}


def time_limit(seconds: float) -> str:
    """Return a limit of time in words."""
    return f"time limit of {round(seconds, 2) or seconds:g} s"


def memory_limit(megabytes: int) -> str:
    """Return a limit of memory in words."""
    return f"memory limit of {megabytes} MB"


def _meet_interrupts() -> None:
    """Run code at whose end an interrupt arrives that was thrown into this thread earlier."""
    for _ in range(2):
        pass


def _throw_into(thread: int, error: type[BaseException]) -> None:
    """Throw an error into a thread, which meets it at its next step.

    It is never taken back: in Python 3.11 a thread whose error was taken back (NULL) hangs as soon as it is traced or
    profiled, since the flag that asks for its attention is never reset.
    """
    import ctypes  # not at the top: it is not needed where there are no limits

    if not isinstance(sys.unraisablehook, _LostInterrupts):
        sys.unraisablehook = _LostInterrupts(sys.unraisablehook)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


class _LostInterrupts:
    """A hook for errors that Python cannot raise: it does not report an interrupt, which is thrown again.

    A thread may enter code that Python calls by itself, in which an error is lost, after the thread was checked and
    before the interrupt arrives.
    """

    def __init__(self, say: Callable[[sys.UnraisableHookArgs], object]) -> None:
        self._say = say

    def __call__(self, lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, Interrupt):
            self._say(lost)


def _under_way(thread: int, frame: FrameType | None) -> FrameType | None:
    """Return the place of a thread if it still runs a function or its callees: blocks may be left without their end."""
    with suspend_collection():  # a collection may let the thread run, whose frames would then be gone
        top = caller = _frame_of(thread)
        while caller is not None and caller is not frame:
            caller = caller.f_back
    return top if caller is not None else None


@contextmanager
def suspend_collection() -> Iterator[None]:
    """Suspend garbage collection in this block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _frame_of(thread: int) -> FrameType | None:
    """Return the frame that a thread executes; of another thread only one call at a time.

    Python 3.11 holds a lock of its own while it collects the frames of all threads, and hangs if it frees garbage
    meanwhile that needs this lock (python/cpython#106883).
    """
    if thread == threading.get_ident():
        return sys._getframe()
    with suspend_collection():
        return sys._current_frames().get(thread)


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resident_mb(pid: int | str = "self") -> float:
    """Return the resident memory of a process in megabytes; 0 if the system does not report it."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError):
        return 0.0


def free_mb() -> float:
    """Return the available memory of the system in megabytes; all of it where the system does not report more."""
    try:
        with open("/proc/meminfo") as file:
            available = next(line for line in file if line.startswith("MemAvailable"))
        return int(available.split()[1]) / 2**10
    except (OSError, StopIteration):
        pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"  # macOS has no other
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def spare_mb() -> float:
    """Return the megabytes that the current thread may still use, by its budgets and by the system."""
    left = remaining().memory_mb
    return free_mb() if left is None else min(left, free_mb())
