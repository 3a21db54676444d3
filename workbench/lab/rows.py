"""Conversion of results to rows of a file and back, and detection of rows that are not results.

A row may have been written by a newer workbench or another program, so it is not trusted. `unflat` can convert every
row that `sound` keeps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from workbench.errors import LabError
from workbench.extras import install_extra
from workbench.lab.result import OF_GPUS, Measured, Result, Status

TEXTS = ("key", "experiment", "point", "code", "run", "status", "reason", "outputs", "limited_by", "commit", "command",
         "started", "machine", "versions", "log")  # fmt: skip
NUMBERS = ("wall_seconds", "cpu_seconds", "peak_mb", "load", "steal", "gpu_seconds", "gpu_peak_mb")
INTEGERS = ("repetition", "seed")
COLUMNS = (*TEXTS, *INTEGERS, *NUMBERS, "reliable")
OBJECTS = ("point", "outputs", "machine", "versions")
"""Columns that hold the text of a JSON object."""
MISSING = f"install the extra 'lab': {install_extra('lab')}"


def package(purpose: str, name: str, *parts: str) -> Any:
    """Import a package of the extra `lab` and some of its modules, and return the package.

    Raises
    ------
    LabError: the package is not installed; the message begins with `purpose`, which ends in the name of the package.
    """
    try:
        for part in parts:
            import_module(f"{name}.{part}")
        return import_module(name)
    except ImportError as error:
        raise LabError(f"{purpose}, which is not installed", hint=MISSING) from error


def arrow() -> Any:
    """Return the package pyarrow; raise LabError if it is not installed."""
    return package("results are stored in Parquet files by pyarrow", "pyarrow", "parquet")


def schema() -> Any:
    """Return the Arrow schema of a file of results."""
    pa = arrow()
    kinds = {**dict.fromkeys(TEXTS, pa.string()), **dict.fromkeys(INTEGERS, pa.int64()),
             **dict.fromkeys(NUMBERS, pa.float64()), "reliable": pa.bool_()}  # fmt: skip
    return pa.schema([(name, kinds[name]) for name in COLUMNS])


def flat(result: Result) -> dict[str, Any]:
    """Convert a result to a row."""
    own = {**vars(result.measured), **vars(result)}
    own["status"] = str(result.measured.status)
    for name in OBJECTS:
        own[name] = as_text(own[name])
    for name in TEXTS:  # a file cannot hold lone surrogates, which a text may have from a damaged name or output
        own[name] = own[name].encode("utf-8", "replace").decode()
    return {name: own[name] for name in COLUMNS}


def unflat(row: Mapping[str, Any]) -> Result:
    """Convert a row that `sound` keeps to a result."""
    own = dict(row)
    for name in OBJECTS:
        own[name] = json.loads(own[name])
    own["status"] = Status(own["status"])
    of = {name: own[name] for name in vars(Measured(Status.OK))}
    return Result(measured=Measured(**of), **{k: own[k] for k in Result.__dataclass_fields__ if k != "measured"})


def sound(table: Any) -> tuple[Any, str]:
    """Return a table of `schema` without the rows that are not results, and a description of those rows."""
    bad = _unsound(table)
    if not bad:
        return table, ""
    first, more = min(bad), len(bad) - 1
    description = f"row {first + 1}: {bad[first]}" + f" (and {more} more)" * bool(more)
    return table.filter(arrow().array([row not in bad for row in range(table.num_rows)])), description


def _unsound(table: Any) -> dict[int, str]:
    """Return the numbers of the rows that are not results, each with the reason."""
    reasons: dict[int, str] = {}
    for name in COLUMNS:
        column = table.column(name)
        if name == "status" or name in OBJECTS:  # many rows have the same text
            bad = {text for text in column.unique().to_pylist() if _wrong(name, text)}
        else:
            bad = {None} if column.null_count and name not in OF_GPUS else set()
        if bad:
            rows = enumerate(column.to_pylist())
            reasons = {row: _wrong(name, value) for row, value in rows if value in bad} | reasons
    return reasons


def _wrong(name: str, value: Any) -> str:
    """Return the error in a value of a column; empty if there is none."""
    if value is None:
        return f"it has no '{name}'"
    if name == "status":
        return "" if value in set(Status) else f"its status '{value}' is not known"
    try:
        whole = isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        whole = False
    return "" if whole else f"its '{name}' is not a JSON object"


def as_text(data: Mapping[str, Any]) -> str:
    """Return plain data as canonical JSON: the same text for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
