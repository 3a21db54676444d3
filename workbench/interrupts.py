"""Ctrl-C and its kin: noted when they come, taken where the code is ready for them.

The rule of this module: no error is raised where it would leave something half-done. The handler notes what came. In a
program (`own`, `begin`) `KeyboardInterrupt` comes at the next `checkpoint`, or, where none is reached for `PATIENCE`,
wherever the main thread is, but not in what is held back (`hold`); when `DEADLINE` is over, or on a second signal, the
process and all below it end at once. Elsewhere, in a script or a notebook, Python's own handler stays, and Ctrl-C comes
anywhere but in what is held back: it is noted there, and comes at the end.
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
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, NoReturn

PATIENCE = 0.15
"""Seconds that a program has until its next checkpoint."""
DEADLINE = 0.85
"""Seconds that it has for its end."""
AGAIN = 0.25
"""Seconds in which a second signal is the first one, sent twice: to a process and to its group."""
LATER = 0.01
"""Seconds after which it is tried again where an error would be swallowed."""
_PARTING = 0.1
"""Seconds for what the end of a process waits for."""
AT_ONCE, READY, HELD, POINTS = range(4)
"""What a signal does: it ends the process, it is raised, it waits for the end of `hold`, or for a checkpoint."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a program."""
_CALLED_BACK_BY = {"_raw_object_cache_notify": "llvmlite", "_raw_object_cache_getbuffer": "llvmlite"}
"""What others' foreign code calls, and the package that has it."""
_WEAK = (weakref.__file__, _weak_set)


class _State:
    """Of the thread that takes signals; the others know nothing of them."""

    def __init__(self) -> None:
        self.reset(threading.main_thread().ident or 0)

    def reset(self, owner: int) -> None:
        """Nothing has come, and a thread takes what comes."""
        self.owner = owner
        self.program = False
        """Whether the handlers stay; otherwise there is one in the outermost `hold`, and `does` matters only there."""
        self.does = READY
        self.pending = 0
        """The signal that has come and not been raised; 0: none."""
        self.came, self.when = 0, 0.0
        """The first signal that a program got, and when."""
        self.nudged = False
        """Whether the next signal is our own: no checkpoint was reached."""
        self.told = False


_state = _State()
half_written: dict[str, bool] = {}
"""Files of this process that are not complete, and whether they stay, where something is in them."""


def came() -> int:
    """The signal that this program was sent first; 0: none."""
    return _state.came


def checkpoint() -> None:
    """A place where everything is in order: raise KeyboardInterrupt if there was a signal that ends the work."""
    if _state.pending and _state.does != HELD and _thread.get_ident() == _state.owner:
        _raise_pending()


class hold:  # noqa: N801 - it is used like a function
    """Let no signal interrupt this block: it is noted, and comes at its end."""

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
    """In what is held back: a block that a signal may interrupt, such as waiting, or a call of a user's code."""

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
    """Whether an error would be printed there, and forgotten: in what Python calls by itself.

    That is what is called when garbage is collected, and when an object goes to which there are weak references, and
    what these call in turn.
    """
    unasked = [getattr(each, "__code__", None) for each in gc.callbacks]
    place: FrameType | None = frame
    while place is not None:
        code, place = place.f_code, place.f_back
        if code.co_filename in _WEAK or code.co_name == "__del__" or code in unasked:
            return True
        if code.co_name in _CALLED_BACK_BY and _CALLED_BACK_BY[code.co_name] in code.co_filename:
            return True
        if code.co_name == "cb" and code.co_filename == "<frozen importlib._bootstrap>":  # a module's lock goes
            return True
    return False


# --- programs ------------------------------------------------------------------------------------------------


def own(does: int = AT_ONCE) -> None:
    """Take the signals of this process that are not ignored; for programs, in the main thread.

    Who starts it with the signals blocked (`env --block-signal`) loses none that comes while Python starts.
    """
    _state.reset(_thread.get_ident())
    _state.program, _state.does, _state.told = True, does, does != AT_ONCE
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _arrive)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def begin() -> None:
    """Work begins, in a program: from here on it has time for its end."""
    if _state.program:
        given, taken = os.pipe()
        os.set_blocking(taken, False)
        signal.set_wakeup_fd(taken, warn_on_full_buffer=False)  # where foreign code runs, the handler does not
        _state.does = POINTS
        threading.Thread(target=_watch, args=(given,), daemon=True).start()


@contextlib.contextmanager
def keep_handlers() -> Iterator[None]:
    """Let no package take the signals of a program for itself in this block."""
    module: Any = signal
    own = module.signal
    if _state.program:
        module.signal = lambda number, handler: own(number, signal.getsignal(number) if number in ENDING else handler)
    try:
        yield
    finally:
        module.signal = own


def finish() -> int:
    """The work is done, and no signal is raised any more; the one that this program was sent, 0: none."""
    if _state.program:
        _state.does = HELD
    return _state.came


def end() -> None:
    """All is done: a signal ends the process at once."""
    if _state.program:
        _state.does = AT_ONCE


def leave(number: int) -> NoReturn:
    """End this process, and all below it."""
    ended: list[int] = []
    while below := [pid for pid in descendants(os.getpid()) if pid not in ended]:
        for pid in below:  # parents first, which would say that they miss a child
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        ended += below
    until = time.monotonic() + _PARTING
    with contextlib.suppress(OSError):  # none is left
        while time.monotonic() < until:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(LATER / 4)
    abandon(half_written)
    flushed = threading.Thread(target=_flush, daemon=True)  # it may wait for a reader that takes nothing
    with contextlib.suppress(RuntimeError):
        flushed.start()
        flushed.join(_PARTING)
    say_interrupted()
    os._exit(128 + number)


def abandon(files: Mapping[str, bool]) -> None:
    """Remove files that will not be completed, but for those with rows that may stay: these are named."""
    for name, stays in list(files.items()):
        with contextlib.suppress(OSError):
            if stays and os.path.getsize(name):
                shown = "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)
                text = f"workbench: the output is not complete; its rows so far are in {shown}, the last one cut\n"
                os.write(2, text.encode())
            else:
                os.unlink(name)


def say_interrupted() -> None:
    """Tell it; a program tells it once, also in the midst of other output."""
    if not _state.program:
        print("interrupted", file=sys.stderr)
    elif not _state.told:
        _state.told = True
        with contextlib.suppress(OSError):
            os.write(2, b"interrupted\n")


def descendants(pid: int) -> list[int]:
    """The processes below a process, parents before children; those that have ended meanwhile are left out."""
    found: list[int] = []
    todo = [pid]
    while todo:
        below = _children(todo.pop())
        found += below
        todo += below
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):  # it has ended
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
    """The handler."""
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
    _state.pending, _state.does = 0, HELD  # what ends the work is not interrupted
    if _state.program and "logging" in sys.modules:
        sys.modules["logging"].disable()  # packages would tell at length that they were interrupted
    raise KeyboardInterrupt


def _send_later(number: int) -> None:
    """Until it has come; in a thread."""
    while True:
        time.sleep(LATER)
        _state.nudged = _state.program
        signal.pthread_kill(_state.owner, number)
        if not (_state.program and _state.pending):
            break


def _watch(given: int) -> None:
    """See to it that a program ends in time; in a thread, which also runs while the main thread waits."""
    while (number := os.read(given, 1)[0]) not in ENDING:
        pass
    pause, deadline = PATIENCE, time.monotonic() + DEADLINE
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = LATER
        if _state.pending:
            _state.nudged = True
            signal.pthread_kill(_state.owner, number)
    leave(_state.came or number)


def _forget() -> None:
    """In a forked process: what came was for its parent, whose files are its own."""
    half_written.clear()
    if _state.program:
        signal.set_wakeup_fd(-1)
    _state.reset(_thread.get_ident())


os.register_at_fork(after_in_child=_forget)


def end_with_parent(number: int) -> None:
    """In a child: be sent this signal when the parent dies, however it dies (Linux)."""
    import ctypes

    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(1, number)  # PR_SET_PDEATHSIG
