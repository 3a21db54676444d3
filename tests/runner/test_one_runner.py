"""Random runs (`random_runs`) are the same however a log is cut, in whatever format it lies, in any number of threads.

`scripts/compare_trees.py` holds a checkout to another one with the same runs.
"""

import csv
import io
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.runner.random_runs import TYPED, outcome, random_run, typed_rows, without
from workbench.events import lines, rows, typed
from workbench.events.formats import csv as csv_reader
from workbench.executors.backends import compiled
from workbench.executors.session import Session

pytest.importorskip("pyarrow")
pytest.importorskip("numba")

RUNS = [random_run(seed) for seed in range(250)]
CUT = [each for each in RUNS if not each.odd or each.output not in TYPED][:34]
"""Columns are written some rows at a time, and may not take a value that comes before a bad row."""
CUT += [each for each in RUNS if {"numba", "--with-row"} <= {*each.options} and "error" not in each.options][:3]
THREADED = [each for each in RUNS if "parallel" in each.options and "--progress" not in each.options][:8]
ODD_OPTIONS = {"--steps", "--with-sources"}
PLAIN = [each for each in RUNS if not each.odd and each.program != "points" and ODD_OPTIONS.isdisjoint(each.options)]
SMALL: Mapping[str, Mapping[tuple[object, str], int]] = {
    "few rows": {
        (lines, "SIZE"): 997, (lines, "MIN_COLUMN_BYTES"): 0, (csv_reader, "PIECE"): 300, (rows, "BLOCK"): 7,
        (typed, "LARGE"): 50, (typed, "BATCH"): 13, (compiled, "START"): 0, (Session, "size"): 11,
    },
    "rows one by one": {(lines, "MIN_COLUMN_BYTES"): 1 << 40},
}  # fmt: skip


def cut(monkeypatch, name):
    """Have blocks cut like this from now on."""
    for (module, size), value in SMALL[name].items():
        monkeypatch.setattr(module, size, value)


def ran(case, folder):
    """What a run leaves; columns as their rows, as they may be written in other batches."""
    found = outcome(case.command(folder), folder)
    return {name: typed_rows(name, each) if isinstance(each, bytes) else each for name, each in found.items()}


def cells(data, between):
    return list(csv.reader(io.StringIO(data.decode()), delimiter=between))


def pairs(line):
    """The pairs of a line of logfmt, as a shell would take it apart."""
    return dict(word.split("=", 1) for word in shlex.split(line) if not word.endswith("="))


def texts(row):
    """What stands in an object of JSON, as text."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CUT, ids=map(str, range(len(CUT))))
def test_any_cut(case, monkeypatch, tmp_path):
    whole = ran(case, tmp_path)
    for name in SMALL:
        cut(monkeypatch, name)
        assert ran(case, tmp_path) == whole, name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", THREADED, ids=map(str, range(len(THREADED))))
def test_any_number_of_threads(case, monkeypatch, tmp_path):
    """But where a run fails, more rows may have been written before by one thread."""
    options = without(case.options, "--threads")
    cut(monkeypatch, "few rows")
    found = [ran(replace(case, options=[*options, "--threads", str(n)]), tmp_path) for n in (1, 2, 3)]
    for each in found:
        for name in [name for name in each if name.startswith("unfinished")]:
            del each[name]
        each["err"] = re.sub("workbench: the output is not complete.*\n", "", each["err"])
    assert found[0] == found[1] == found[2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", PLAIN[:6], ids=map(str, range(6)))
def test_any_format_of_the_log(case, tmp_path):
    found = {form: ran(replace(case, form=form), tmp_path) for form in ("csv", "tsv", "jsonl", "logfmt", *TYPED)}
    for form, each in found.items():  # an empty file of JSON lines has no columns
        each["err"] = re.sub(".*ignored columns.*\n", "", each["err"]).replace(f".{form}", "")
    assert all(each == found["csv"] for each in found.values())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", PLAIN[6:12], ids=map(str, range(6)))
def test_any_format_of_the_output(case, tmp_path):
    forms = ("csv", "tsv", "jsonl", "logfmt", *TYPED)
    found = {form: ran(replace(case, output=form), tmp_path).get(f"out.{form}") for form in forms}
    if found["csv"] is None:
        assert set(found.values()) == {None}
        return
    rows = [json.loads(line) for line in found["jsonl"].splitlines()]
    assert cells(found["csv"], ",") == cells(found["tsv"], "\t")
    assert len(cells(found["csv"], ",")) == len(rows) + 1
    assert list(map(pairs, found["logfmt"].decode().splitlines())) == [texts(row) for row in rows]
    for form in TYPED:
        assert [{k: v for k, v in row.items() if v is not None} for row in found[form]] == rows
