"""The plan of a sweep: the missing measurements of a suite, as tasks."""

from __future__ import annotations

import datetime
import hashlib
import os
import secrets
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import workbench
from workbench.budget import cores
from workbench.errors import SuiteError
from workbench.lab.experiment import digest
from workbench.lab.measure.machine import commit, machine, versions
from workbench.lab.region import Point, Scalar
from workbench.lab.result import Measured, Result, Status
from workbench.lab.rows import as_text
from workbench.lab.store import Broken, ResultStore
from workbench.lab.suite import Suite

CODE_SUFFIXES = (".py", ".lark", ".js")


@dataclass(frozen=True)
class Lab:
    """A suite, its file, and the store of its results.

    `files` is the folder of prerequisites; `options` are the command-line options that locate the suite and its results
    if they are not in the usual places.
    """

    suite: Suite
    path: Path
    store: ResultStore
    options: str = ""

    @property
    def files(self) -> Path:
        """The folder of prerequisites."""
        return self.store.folder.parent / "files" / self.suite.name

    @property
    def top(self) -> Path:
        """The folder that contains the folder of suites."""
        return self.path.resolve().parent.parent

    def code(self, program: str = "") -> str:
        """Return the version of the code: a hash of workbench, the suite's file, and the suite's dependencies.

        Parameters
        ----------
        program: the hash of workbench (`hash_workbench`), if it is known.
        """
        parts = [self.path.resolve()]
        for name in self.suite.depends:
            part = self.top / name
            if not part.exists():
                raise SuiteError(f"suite '{self.suite.name}' depends on '{name}', which is missing", where=str(part))
            parts += [part] if part.is_file() else [path for path in part.rglob("*") if path.is_file()]
        return hashlib.sha256(f"{program or hash_workbench()} {_hash_files(parts, self.top)}".encode()).hexdigest()[:12]


def hash_workbench() -> str:
    """Return a hash of the parts of workbench that affect measurements.

    The command line and the lab's processing of results do not count.
    """
    home = Path(workbench.__file__).parent
    code = (path for path in home.rglob("*") if path.suffix in CODE_SUFFIXES)
    return _hash_files((path for path in code if _is_measured(path.relative_to(home))), home)


def _hash_files(paths: Iterable[Path], top: Path) -> str:
    """Return a hash of files: their contents, and their paths relative to the folder `top`."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        if "__pycache__" not in path.parts:
            whole.update(os.fsencode(os.path.relpath(path, top)) + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _is_measured(path: Path) -> bool:
    """Whether a file of workbench may affect a measurement."""
    if path.parts[0] == "lab":
        return path.parts[1] in ("measure", "experiment.py", "calls.py")
    return path.parts[0] != "cli"


@dataclass(frozen=True)
class Selection:
    """The selection of measurements to make; by default, all.

    Attributes
    ----------
    experiments: the names of experiments; none: all.
    where: only points with these values.
    keys: only the points with these keys or prefixes of keys, whatever code they were measured with.
    again: whether to repeat existing measurements.
    retry: the statuses to measure again. (Refused points are always measured again: an engine may be installed now.)
    """

    experiments: tuple[str, ...] = ()
    where: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    again: bool = False
    retry: tuple[Status, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """A measurement to be made."""

    experiment: str
    point: Point
    repetition: int
    key: str
    code: str

    @property
    def id(self) -> str:
        """The identifier of the measurement."""
        return f"{self.key}.{self.repetition}"

    @property
    def seed(self) -> int:
        """A number determined by the experiment and the point alone."""
        return int(digest([self.experiment, self.point]), 16) % 2**31

    def frame(self) -> dict[str, Any]:
        """Return the task in the form that the supervisor takes."""
        return {"experiment": self.experiment, "point": dict(self.point), "seed": self.seed, "code": self.code}


@dataclass(frozen=True)
class Origin:
    """The origin of the results of a sweep."""

    run: str
    commit: str
    command: str

    @classmethod
    def of(cls, lab: Lab, argv: Iterable[str] = ()) -> Origin:
        """Return the origin of a new sweep that begins now."""
        timestamp = now().replace(":", "").replace("-", "")[:15]
        arguments = list(argv) or ["lab", "run", lab.suite.name]
        return cls(f"{timestamp}-{secrets.token_hex(2)}", commit(lab.top), shlex.join(["workbench", *arguments]))

    def result(self, task: Measurement, measured: Measured, started: str) -> Result:
        """Return the result of a task that this machine has measured: the measurement with its origin."""
        return Result(
            task.key, task.repetition, task.experiment, task.point, measured, task.code, task.seed, started,
            self.run, self.commit, self.command, machine(), versions(),
        )  # fmt: skip


def now() -> str:
    """Return the current time in UTC as text: ISO 8601 with microseconds."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


def tasks(lab: Lab, code: str, selection: Selection) -> list[Measurement]:
    """Return all selected measurements, whether they exist or not; repetitions of a point are spread apart.

    Raises
    ------
    SuiteError: an experiment, axis, or key does not exist.
    """
    experiments = [lab.suite.get(name) for name in selection.experiments] or list(lab.suite.experiments.values())
    known = {axis for experiment in experiments for axis in experiment.region.axes}
    for axis in selection.where:
        if axis not in known:
            raise SuiteError(f"no experiment has an axis '{axis}'", hint=f"there are {', '.join(sorted(known))}")
    keys = {prefix.partition(".")[0]: False for prefix in selection.keys}
    stored = lab.store.points(keys) if keys else {}
    measurements = []
    for repetition in range(max((experiment.repeat for experiment in experiments), default=0)):
        for experiment in experiments:
            if repetition >= experiment.repeat:
                continue
            for point in experiment.region:
                if not all(axis in point and point[axis] in values for axis, values in selection.where.items()):
                    continue
                key = key_of(lab.suite.name, experiment.name, point, code)
                # a key of other code names the same point, so a key from an old report can be measured again
                own = [prefix for prefix in keys if key.startswith(prefix)]
                own += stored.get((experiment.name, as_text(point)), ()) if keys else ()
                keys.update(dict.fromkeys(own, True))
                if own or not keys:
                    measurements.append(Measurement(experiment.name, point, repetition, key, code))
    for key, met in keys.items():
        if not met:
            hint = "the selection leaves that point out, or the suite no longer has it"
            raise SuiteError(f"no point has the key '{key}'", hint=hint)
    return measurements


def key_of(suite: str, experiment: str, point: Point, code: str) -> str:
    """Return the key of a point of an experiment, measured with this code."""
    return digest([suite, experiment, point, code])[:16]


def missing(measurements: Iterable[Measurement], done: Mapping[str, str], selection: Selection) -> list[Measurement]:
    """Return the measurements that have not been made, or are to be made again."""
    again = {str(status) for status in (*selection.retry, Status.REFUSED)}
    return [task for task in measurements if selection.again or task.id not in done or done[task.id] in again]


@dataclass(frozen=True)
class SweepPlan:
    """The plan of a sweep: the measurements to make, and those already made.

    Attributes
    ----------
    wanted: all selected measurements.
    done: the measurements in the store, each with its newest status.
    todo: the measurements that are missing, or to be made again.
    broken: the files of the store that cannot be read.
    """

    wanted: Sequence[Measurement]
    done: Mapping[str, str]
    todo: Sequence[Measurement]
    broken: Sequence[Broken]

    @classmethod
    def of(cls, lab: Lab, selection: Selection | None = None, program: str = "") -> SweepPlan:
        """Return the plan for a selection; None: for everything that is missing. `program` is as for `Lab.code`."""
        selection = selection or Selection()
        measurements = tasks(lab, lab.code(program), selection)
        done, broken = lab.store.done()
        return cls(measurements, done, missing(measurements, done, selection), broken)

    @property
    def measured(self) -> int:
        """The number of wanted measurements that the store has."""
        return sum(task.id in self.done for task in self.wanted)

    @property
    def again(self) -> int:
        """The number of measurements to make that the store has already."""
        return sum(task.id in self.done for task in self.todo)

    @property
    def earlier_failures(self) -> dict[str, str]:
        """The failed measurements that are not repeated, each with its status."""
        todo_ids = {task.id for task in self.todo}
        settled = (task.id for task in self.wanted if task.id not in todo_ids)
        return {key: self.done[key] for key in settled if self.done[key] != Status.OK}


def default_jobs() -> int:
    """Return the number of measurements that run at once with little interference: one per two cores."""
    return max(1, cores() // 2)
