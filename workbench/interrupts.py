"""Handle Ctrl-C and other ending signals: note them when they come, and raise them where the code is ready.

The rule of this module: no error is raised where it would leave an operation half-done. The handler notes the signal.
In a program (`own`, `begin`) `KeyboardInterrupt` comes at the next `checkpoint`, or, if none is reached for
`GRACE_SECONDS`, anywhere in the main thread, but not where signals are held back (`hold`); after `DEADLINE`, or on a
second signal, the process and all below it end at once. Elsewhere, in a script or a notebook, Python's own handler
stays, and Ctrl-C comes anywhere except in `hold`: there it is noted, and comes at the end of the block.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal looks for the name of each handler, which costs ten times as much
import _thread
import contextlib
import gc
import os
import signal
import sys
import threading
import time
import weakref
from _weakrefset import __file__ as _weak_set
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NoReturn

GRACE_SECONDS = 0.15
"""Seconds that a program has until its next checkpoint."""
DEADLINE = 0.85
"""Seconds that a program has to end."""
AGAIN = 0.25
"""Seconds within which a second signal is the first one, sent twice: to a process and to its group."""
LATER = 0.01
"""Seconds until another attempt where an error would be swallowed."""
_PARTING = 0.1
"""Seconds to wait at the end of a process."""
AT_ONCE, READY, HELD, POINTS = range(4)
"""The effect of a signal: it ends the process, it is raised, it waits for the end of `hold`, or for a checkpoint."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a program."""
_CALLED_BACK_BY = {"_raw_object_cache_notify": "llvmlite", "_raw_object_cache_getbuffer": "llvmlite"}
"""Functions that foreign code calls, and the packages that define them."""
_WEAK = (weakref.__file__, _weak_set)


class _State:
    """The state of the thread that takes signals; other threads are not affected."""

    def __init__(self) -> None:
        self.reset(threading.main_thread().ident or 0)

    def reset(self, owner: int) -> None:
        """Forget all signals; the given thread takes those to come."""
        self.owner = owner
        self.program = False
        """Whether the handlers stay; otherwise there is one in the outermost `hold`, and `does` matters only there."""
        self.does = READY
        self.pending = 0
        """The signal that has come and not been raised; 0: none."""
        self.came, self.when = 0, 0.0
        """The first signal that a program got, and its time."""
        self.nudged = False
        """Whether the next signal is our own, sent because no checkpoint was reached."""
        self.reported = False


_state = _State()
half_written: dict[str, bool] = {}
"""The incomplete files of this process, and whether each is kept if it has content."""


def came() -> int:
    """Return the signal that this program got first; 0: none."""
    return _state.came


def checkpoint() -> None:
    """Raise KeyboardInterrupt if a signal has come: no operation is half-done here."""
    if _state.pending and _state.does != HELD and _thread.get_ident() == _state.owner:
        _raise_pending()


class hold:  # noqa: N801 - it is used like a function
    """A block that no signal interrupts: a signal is noted, and comes at its end."""

    def __enter__(self) -> None:
        self._inside, self._handler = False, None
        if _thread.get_ident() != _state.owner:
            return
        if _is_owned():
            self._before, _state.does, self._inside = _state.does, HELD, True
            return
        _state.pending, _state.does = 0, HELD
        self._handler = _signal.signal(signal.SIGINT, _arrive)

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            _signal.signal(signal.SIGINT, self._handler)
            if _state.pending:
                _state.pending = 0
                if is_deaf(sys._getframe(1)):
                    _thread.start_new_thread(_send_later, (signal.SIGINT,))
                else:
                    signal.raise_signal(signal.SIGINT)
        elif self._inside:
            _state.does = self._before
            if _state.pending and self._before == AT_ONCE:
                leave(_state.pending)
            if _state.pending and self._before in (READY, POINTS) and not is_deaf(sys._getframe(1)):
                _raise_pending()


class admit:  # noqa: N801
    """A block inside `hold` that a signal may interrupt, such as waiting, or a call of a user's code."""

    def __enter__(self) -> None:
        self._inside = False
        if _thread.get_ident() == _state.owner and _is_owned() and _state.does != AT_ONCE:
            self._before, self._inside = _state.does, True
            _state.does = READY
            if _state.pending:
                _raise_pending()

    def __exit__(self, *_: object) -> None:
        if self._inside:
            _state.does = self._before


def is_deaf(frame: FrameType) -> bool:
    """Whether an error would be printed and forgotten there: in code that Python calls by itself.

    Such code is called when garbage is collected, and when an object with weak references is deleted; this includes
    the functions that it calls in turn.
    """
    unasked = [getattr(each, "__code__", None) for each in gc.callbacks]
    current: FrameType | None = frame
    while current is not None:
        code, current = current.f_code, current.f_back
        if code.co_filename in _WEAK or code.co_name == "__del__" or code in unasked:
            return True
        if code.co_name in _CALLED_BACK_BY and _CALLED_BACK_BY[code.co_name] in code.co_filename:
            return True
        if code.co_name == "cb" and code.co_filename == "<frozen importlib._bootstrap>":  # a module's lock is released
            return True
    return False


# --- programs ------------------------------------------------------------------------------------------------


def own(does: int = AT_ONCE) -> None:
    """Take the signals of this process that are not ignored; for programs, in the main thread.

    A caller that starts it with the signals blocked (`env --block-signal`) loses none that comes while Python starts.
    """
    _state.reset(_thread.get_ident())
    _state.program, _state.does, _state.reported = True, does, does != AT_ONCE
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _arrive)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def begin() -> None:
    """Begin the work of a program, which from here on has time to end."""
    if _state.program:
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)  # in foreign code the handler does not run
        _state.does = POINTS
        threading.Thread(target=_watch, args=(read_end,), daemon=True).start()


@contextlib.contextmanager
def keep_handlers() -> Iterator[None]:
    """Prevent packages from replacing the signal handlers of a program in this block."""
    module: Any = signal
    own = module.signal
    if _state.program:
        module.signal = lambda number, handler: own(number, signal.getsignal(number) if number in ENDING else handler)
    try:
        yield
    finally:
        module.signal = own


def finish() -> int:
    """End the work: signals are no longer raised. Return the signal that this program got, 0: none."""
    if _state.program:
        _state.does = HELD
    return _state.came


def end() -> None:
    """Let a signal end the process at once, since all work is done."""
    if _state.program:
        _state.does = AT_ONCE


def leave(number: int) -> NoReturn:
    """End this process, and all below it."""
    ended: list[int] = []
    while below := [pid for pid in descendants(os.getpid()) if pid not in ended]:
        for pid in below:  # parents first, which would report a missing child
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        ended += below
    until = time.monotonic() + _PARTING
    with contextlib.suppress(OSError):  # no child is left
        while time.monotonic() < until:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(LATER / 4)
    abandon(half_written)
    flushed = threading.Thread(target=_flush, daemon=True)  # it may wait for a reader that never reads
    with contextlib.suppress(RuntimeError):
        flushed.start()
        flushed.join(_PARTING)
    report_interrupt()
    os._exit(128 + number)


def abandon(files: Mapping[str, bool]) -> None:
    """Remove incomplete files, except those with rows that are kept: these are named."""
    for name, stays in list(files.items()):
        with contextlib.suppress(OSError):
            if stays and os.path.getsize(name):
                printable_name = "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)
                cut = "which Parquet readers refuse" if name.endswith(".parquet") else "the last one cut off"
                text = f"workbench: the output is not complete; its rows so far are in {printable_name}, {cut}\n"
                os.write(2, text.encode())
            else:
                os.unlink(name)


def report_interrupt() -> None:
    """Report the interrupt; a program reports it once, also in the midst of other output."""
    if not _state.program:
        print("interrupted", file=sys.stderr)
    elif not _state.reported:
        _state.reported = True
        with contextlib.suppress(OSError):
            os.write(2, b"interrupted\n")


def omit_report() -> None:
    """Omit the report of the interrupt, since the program has reported its effect."""
    _state.reported = _state.program


def descendants(pid: int) -> list[int]:
    """List the processes below a process, parents before children; those that have ended meanwhile are left out."""
    pids: list[int] = []
    todo = [pid]
    while todo:
        below = _children(todo.pop())
        pids += below
        todo += below
    return pids


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):  # the process has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                children += map(int, file.read().split())
    return children


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()


# --- signals -------------------------------------------------------------------------------------------------


def _is_owned() -> bool:
    return _state.program or _signal.getsignal(signal.SIGINT) is _arrive


def _arrive(number: int, frame: FrameType | None) -> None:
    """Handle a signal."""
    nudged, _state.nudged = _state.nudged, False
    if _state.program and not nudged:
        if _state.does == AT_ONCE or (_state.came and time.monotonic() - _state.when > AGAIN):
            leave(_state.came or number)
        if _state.came:
            return
        _state.came, _state.when = number, time.monotonic()
    if not nudged:
        _state.pending = number
    ready = _state.does == READY or (nudged and _state.does == POINTS)
    if _state.pending and ready:
        if frame is not None and not is_deaf(frame):
            _raise_pending()
        if not nudged:
            _thread.start_new_thread(_send_later, (number,))


def _raise_pending() -> NoReturn:
    _state.pending, _state.does = 0, HELD  # the end of the work is not interrupted
    if _state.program:  # packages would report at length that they, or objects half made, were interrupted
        sys.unraisablehook = lambda _: None
        if "logging" in sys.modules:
            sys.modules["logging"].disable()
    raise KeyboardInterrupt


def _send_later(number: int) -> None:
    """Send a signal again until it has been raised; runs in a thread."""
    while True:
        time.sleep(LATER)
        _state.nudged = _state.program
        signal.pthread_kill(_state.owner, number)
        if not (_state.program and _state.pending):
            break


def _watch(read_end: int) -> None:
    """End a program in time; runs in a thread, which also works while the main thread waits."""
    while (number := os.read(read_end, 1)[0]) not in ENDING:
        pass
    pause, deadline = GRACE_SECONDS, time.monotonic() + DEADLINE
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = LATER
        if _state.pending:
            _state.nudged = True
            signal.pthread_kill(_state.owner, number)
    leave(_state.came or number)


def _forget() -> None:
    """Reset the state in a forked process: signals and files were those of its parent."""
    half_written.clear()
    if _state.program:
        signal.set_wakeup_fd(-1)
    _state.reset(_thread.get_ident())


os.register_at_fork(after_in_child=_forget)


def end_with_parent(number: int) -> None:
    """Make the system send this signal to a child process when its parent dies, however it dies (Linux)."""
    prepare_end_with_parent(number)()


def prepare_end_with_parent(number: int) -> Callable[[], object]:
    """Return `end_with_parent` for a child that is forked later, which should load no more code."""
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return lambda: prctl and prctl(1, number)  # PR_SET_PDEATHSIG
