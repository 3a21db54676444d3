"""A sweep in the background that can be watched and stopped."""

from __future__ import annotations

import threading
from typing import Any

from workbench.errors import WorkbenchError
from workbench.lab.local_sweep import sweep
from workbench.lab.plan import Lab, Origin, Selection, SweepPlan, default_jobs
from workbench.lab.sweep_progress import Pace


class SweepRunner:
    """A runner of one sweep of a suite at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._pace: Pace | None = None
        self._message = ""

    @property
    def running(self) -> bool:
        """Whether a sweep is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, lab: Lab, selection: Selection) -> bool:
        """Start a sweep of the missing measurements; return False if one is running.

        Raises
        ------
        SuiteError: the selection does not fit the suite.
        """
        with self._lock:
            if self.running:
                return False
            todo, jobs = SweepPlan.of(lab, selection).todo, default_jobs()
            self._pace, self._message = Pace(todo, jobs), ""
            self._stop = threading.Event()
            origin = Origin.of(lab, ["lab", "serve"])
            self._thread = threading.Thread(target=self._work, args=(lab, todo, origin, jobs, self._stop, self._pace))
            self._thread.start()
            return True

    def _work(self, lab: Lab, todo: Any, origin: Origin, jobs: int, stop: threading.Event, pace: Pace) -> None:
        try:
            for result in sweep(lab, todo, origin, jobs, stop.is_set):
                pace.add(result)
            nothing = "nothing to do: all of it has been measured"
            self._message = "stopped" if stop.is_set() else "finished" if todo else nothing
        except WorkbenchError as error:
            self._message = error.message
        except Exception as error:
            self._message = f"{type(error).__name__}: {error}"

    def stop(self) -> None:
        """Stop the sweep; finished measurements are stored."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def state(self) -> dict[str, Any]:
        """Return the progress, as data."""
        pace = self._pace
        return {
            "running": self.running,
            "done": pace.done if pace else 0,
            "total": pace.total if pace else 0,
            "line": pace.line() if pace and pace.total else "",
            "message": self._message,
        }
