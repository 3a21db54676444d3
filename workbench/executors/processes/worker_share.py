"""The work of a worker process: the part of a pipeline before its divided holders, and its share of their copies.

The rule of this module: workers are functions of their steps, so they are independent. A worker stops at its first
error. An error outside of copies occurs in the parent, too, which reports it.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from workbench.core.kinds import Answers, Divisible, FailedCopy, Push
from workbench.core.pipeline import Pipeline
from workbench.core.processor import NOTHING, State, Stepped
from workbench.errors import WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.processors.held.group import flatten


class Ended(NamedTuple):
    """The end of an input, or of all, in place of the events of a step."""

    input: str | None


class Failed(NamedTuple):
    """A failure of a share on a front, in place of its answer."""

    order: Any
    error: Exception


class WorkerShare(Reference):
    """The share of one of several workers.

    Parameters
    ----------
    flat: the pipeline.
    divided: the names of its divided holders.
    """

    def __init__(self, flat: Pipeline, divided: Collection[str], index: int, count: int) -> None:
        self._divided = {
            name: holder.share(index, count) for name, holder in flat.typed.items()
            if name in divided and isinstance(holder, Divisible)
        }  # fmt: skip
        self.answers: dict[str, list[Answers | Failed]] = {}
        super().__init__(before(flat, divided), {})
        self._holds = [_anything for _ in self._holds]  # the parent checks the inputs

    def pushing(self, name: str) -> Push:
        if name not in self._divided:
            return super().pushing(name)
        _, step = self._divided[name]

        def push(state: State, front: tuple[Any, ...]) -> Stepped:
            try:
                state, answer = step(state, front)
            except Exception as error:
                failed = isinstance(error, FailedCopy)
                cause = error.__cause__ if failed else error
                order = error.order if isinstance(error, FailedCopy) else None
                self.answers[name].append(Failed(order, portable(cause)))
                raise
            self.answers[name].append(answer)
            return state, (NOTHING,)

        return push

    def reset(self) -> None:
        super().reset()
        for index, cell in enumerate(self._cells):
            if cell.node.name in self._divided:
                self._states[index] = self._divided[cell.node.name][0]

    def answer(self, steps: Sequence[Any]) -> tuple[dict[str, list[Answers | Failed]], str]:
        """Return the answers of its copies on the fronts of some steps, by holder, and why it has stopped, if so."""
        self.answers = {name: [] for name in self._divided}
        try:
            events = [*takewhile(lambda step: not isinstance(step, Ended), steps)]
            deque(self.emitted(events), 0)
            for ended in steps[len(events) :]:
                self.end(ended.input)
        except Exception as error:
            return self.answers, str(error) or type(error).__name__
        return self.answers, ""

    def serve(self, connection: Connection) -> None:
        """Serve steps with answers; these are sent while the next ones are computed, so that neither side deadlocks."""
        answers: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=_send, args=(connection, answers), daemon=True).start()
        why = ""
        while True:
            steps = pickle.loads(connection.recv_bytes())
            answer, why = ({name: [] for name in self._divided}, why) if why else self.answer(steps)
            answers.put(pickle.dumps((answer, why), pickle.HIGHEST_PROTOCOL))


def before(flat: Pipeline, divided: Collection[str]) -> Pipeline:
    """Return the part of a pipeline that ends with some of its processors."""
    outputs = tuple((pipe, pipe) for name in divided for pipe in flat.node(name).outputs)
    return replace(flatten(flat), nodes=flat.upstream(dict(outputs)), outputs=outputs, capacities={})


def portable(error: BaseException | None) -> Exception:
    """Return an error that can be sent to another process: the same one if possible."""
    try:
        round_trip = pickle.loads(pickle.dumps(error))
    except Exception:
        round_trip = None
    return round_trip if isinstance(round_trip, Exception) else WorkbenchError(f"{type(error).__name__}: {error}")


def _anything(_: object) -> bool:
    return True


def _send(connection: Connection, answers: SimpleQueue[bytes]) -> None:
    while True:
        try:
            connection.send_bytes(answers.get())
        except OSError:  # the parent is gone
            return
