"""The rows of a log for a pipeline on Spark.

The rows of a key are brought together (a shuffle by key), sorted within the partition, and fed to the pipeline from
Arrow batches (`mapInArrow`). They are never in memory all at once, so a stream may be of any length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.events.account import Reporter
from workbench.executors.keyed import keyless, told
from workbench.executors.spark.choice import Choice
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.key_streams import PipelineJob
from workbench.executors.spark.layout import Layout
from workbench.executors.spark.worker import run_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class KeyLog:
    """The rows of a log, as a DataFrame with the columns of a layout.

    Attributes
    ----------
    key_type: Spark's type of the key.
    counts: what workers report, if they do.
    shown: the name of the log in messages.
    parts: how many tasks read each of the files that are read in parts.
    """

    rows: DataFrame
    layout: Layout
    key_type: str
    counts: Counts | None = None
    shown: str = ""
    parts: Mapping[str, int] = field(default_factory=dict)

    def job(self, choice: Choice) -> PipelineJob:
        """The job that runs a pipeline on each key."""
        return PipelineJob(choice, self.layout, self.key_type)

    def run(self, choice: Choice) -> DataFrame:
        """Run a pipeline on each key."""
        return run_groups(self.job(choice), self.rows, self.counts)

    def locate(self, error: WorkbenchError, key: str | None, task: int, row: int | None) -> WorkbenchError:
        """Say of an error that a worker met which row of the log it is about, given its `RowPlace`."""
        assert self.counts is not None
        number = None if row is None else row + self.counts.rows_before(task)
        if key is None and number is not None:
            return keyless(self.layout.key, number, self.shown)
        return told(self.layout.key, str(key), number, self.shown, error)

    def settle(self, reporter: Reporter) -> None:
        """Add what workers have counted to an account; InputError where a file has nothing of what an input needs."""
        if self.counts is not None:
            self.counts.settle(reporter, self.parts)
