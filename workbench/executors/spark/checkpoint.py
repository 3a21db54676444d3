"""The checkpoint of a stream, beside Spark's own files: the query and the output to which it belongs.

The rule of this module: one checkpoint, one query, one output. A run that continues with another query or output is
refused before anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import StateError
from workbench.events.files import replacing
from workbench.executors.spark.error_transfer import AFRESH
from workbench.stored import FORM, other_form

ABOUT = "workbench.json"


def see_checkpoint(checkpoint: Path, job: Mapping[str, Any], output: str, format: str) -> None:
    """Check that a checkpoint and an output belong to this query; record the query in a new checkpoint.

    Parameters
    ----------
    job: properties of the workers' job that must not change (`Job.about`).
    output, format: the folder of the output, and its format.

    Raises
    ------
    StateError: it belongs to another query, or the output has files that are unknown to the checkpoint.
    """
    file = checkpoint / ABOUT
    about = {"form": FORM, **job, "output": str(Path(output).resolve()), "format": format}
    before = _read(file)
    _read(checkpoint / "metadata")  # Spark's
    if before is not None:
        _refuse_change(before, about, checkpoint)
    _refuse_others(Path(output), checkpoint)
    if before is None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        with replacing(file) as aside:
            aside.write_text(json.dumps(about, indent=1) + "\n")


def _refuse_change(before: Mapping[str, Any], about: Mapping[str, Any], checkpoint: Path) -> None:
    """Refuse the checkpoint of another query, or of another form."""
    if before.get("form") != FORM:
        hint = f"use the version of workbench that wrote it; or {AFRESH}"
        raise other_form("the checkpoint", before.get("form", "of an earlier version"), hint, checkpoint)
    for name, value in about.items():
        if before.get(name) != value:
            what = "code" if name == "fingerprint" else name
            difference = "" if name == "fingerprint" else f": {before.get(name)!r} there, {value!r} now"
            raise StateError(
                f"the checkpoint is of a query with another {what}{difference}",
                where=str(checkpoint),
                hint="use the same pipeline and options, or name a new --checkpoint and a new --output",
            )


def _read(file: Path) -> dict[str, Any] | None:
    """Return the query of a checkpoint; None where it is new."""
    try:
        before = json.loads(file.read_text())
        if not isinstance(before, dict):
            raise ValueError("this is not a JSON object")
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise StateError(f"the checkpoint is damaged: {error}", where=str(file), hint=AFRESH) from error
    return before


def _refuse_others(output: Path, checkpoint: Path) -> None:
    """Refuse an output that has more than the micro-batches that the checkpoint has begun.

    Spark records a micro-batch in `offsets` before it runs it, and begins with 0 without a record: it would overwrite
    some of the output, and leave the rest.
    """
    last_batch = max((int(path.name) for path in (checkpoint / "offsets").glob("*") if path.name.isdigit()), default=-1)
    for path in sorted(output.glob("[!._]*")):
        name, _, number = path.name.partition("=")
        if (int(number) if name == "batch" and number.isdigit() else 0) > last_batch:
            raise StateError(
                f"the output has contents that do not belong to the checkpoint {checkpoint}: {path.name}",
                where=str(output),
                hint=f"use the checkpoint of that output; or {AFRESH}",
            )
