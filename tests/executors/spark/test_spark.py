"""Pipelines per key on Spark itself: in batch, as a stream that is interrupted, and on the command line."""

import contextlib
import datetime
import doctest
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from pyarrow import parquet

import workbench as wb
from tests.cli.conftest import ROOT
from tests.executors.spark.logs import SUMS, expected, pipeline, rows_of, write_csv, write_jsonl
from tests.lab.spark_cluster import QUICK_JAVA, cluster, free_port, wait_for
from workbench.cli.main import main
from workbench.errors import DomainError, InputError, LostRows, Refused, SparkError, StateError
from workbench.language import parse

pytest.importorskip("pyspark")
pytest.importorskip("numba")

from workbench.executors.spark.choice import choose
from workbench.executors.spark.error_transfer import bring_back
from workbench.executors.spark.logs import read_log
from workbench.executors.spark.output import print_rows, row_ports, write_rows
from workbench.executors.spark.pipeline_run import SparkPipelineRun
from workbench.executors.spark.run import start_query
from workbench.runner.options import make_start

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java")
ROWS = rows_of(400)


@pytest.fixture
def session(spark_session):
    return spark_session


def sorted_rows(frame):
    return sorted(map(tuple, frame.collect()), key=str)


def run_log(session, path, order=None, backend="auto"):
    log = read_log(session, path, pipeline(), key="k", order=order)
    with bring_back(locate=log.locate):
        return sorted_rows(log.run(choose(pipeline(), backend)))


def test_rows_out_of_order_and_compressed(session, tmp_path):
    shuffled = ROWS[1::2] + ROWS[::2]
    write_csv(tmp_path / "a.csv", shuffled)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    assert run_log(session, tmp_path / "a.csv.gz", "t", "reference") == expected(ROWS, pipeline())
    assert run_log(session, tmp_path / "a.csv.gz") == expected(shuffled, pipeline())
    # as Spark itself brings the bytes of files that only it can read
    assert run_log(session, f"file://{tmp_path}/a.csv.gz", "t") == expected(ROWS, pipeline())


def test_json_to_parquet_and_back(session, tmp_path):
    write_jsonl(tmp_path / "a.jsonl", ROWS)
    log = read_log(session, tmp_path / "a.jsonl", pipeline(), key="k")
    made = log.run(choose(pipeline()))
    for format, read in (("parquet", session.read.parquet), ("jsonl", session.read.schema(made.schema).json)):
        write_rows(made, row_ports(made, pipeline().ports.outputs_by_name), str(tmp_path / format), format)
        assert sorted_rows(read(str(tmp_path / format))) == expected(ROWS, pipeline())
    with pytest.raises(InputError, match="this output exists already"):
        write_rows(made, row_ports(made, pipeline().ports.outputs_by_name), str(tmp_path / "parquet"), "parquet")
    rows = session.createDataFrame(ROWS, "k string, t int, x int, q boolean")
    rows.selectExpr("k", "timestamp_seconds(t) t", "x", "q").write.parquet(str(tmp_path / "in"))
    assert run_log(session, tmp_path / "in", "t") == expected(ROWS, pipeline())


@pytest.mark.parametrize("mode", ["errorifexists", "overwrite"])
@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_an_output_is_complete_when_all_rows_are_accounted_for(session, tmp_path, format, mode):
    rows, out = session.range(3), tmp_path / "out"

    def fail():
        assert list(out.glob("part-*"))
        assert not (out / "_SUCCESS").exists()
        raise LostRows("1 is lost")

    with pytest.raises(LostRows):
        write_rows(rows, row_ports(rows), str(out), format, mode=mode, settle=fail)
    assert not out.exists()
    write_rows(rows, row_ports(rows), str(out), format, mode=mode)
    assert (out / "_SUCCESS").exists()


def test_a_dataframe_of_ones_own(session):
    day = datetime.datetime(2024, 1, 1)
    rows = [(k, day + datetime.timedelta(minutes=t), x, q) for k, t, x, q in ROWS]
    frame = session.createDataFrame(rows, "`the key` string, t timestamp, x int, q boolean").repartition(3)
    assert sorted_rows(wb.run_keyed(pipeline(), frame, key="the key", order="t")) == expected(ROWS, pipeline())
    for key, order, what in (
        ("k", "t", "no column 'k'"), ("the key", "time", "no column 'time'"), ("the key", [], "no order of its own"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=what):
            wb.run_keyed(pipeline(), frame, key=key, order=order)
    with pytest.raises(InputError, match="column 'x' is of type string, and input 'x' carries int"):
        wb.run_keyed(pipeline(), frame.withColumn("x", frame.x.cast("string")), key="the key", order="t")
    with pytest.raises(InputError, match="is of type boolean, which cannot order rows"):
        wb.run_keyed(pipeline(), frame, key="the key", order="q")
    with pytest.raises(InputError, match="the key 'x' is of type double"):
        wb.run_keyed(pipeline(), frame.withColumn("x", frame.x.cast("double")), key="x", order="t")
    with pytest.raises(InputError, match="output 'y' would have the name of the column for the key"):
        wb.run_keyed(pipeline(), frame.withColumnRenamed("the key", "y"), key="y", order="t")


def test_records_are_structs(session):
    text = "pipeline p(e: {kind: {a, b}, n: int}) -> y: int { return cumulate(e.n, +) }"
    rows = [("k", 1, ("a", 5)), ("k", 2, ("b", 6)), ("k", 3, None), ("k", 4, ("a", 7))]
    frame = session.createDataFrame(rows, "k string, t int, e struct<kind: string, n: int>")
    made = wb.run_keyed(parse(text).get().pipeline, frame, key="k", order="t")
    assert sorted_rows(made) == [("k", 0, 5), ("k", 1, 11), ("k", 3, 18)]
    bad = session.createDataFrame([("k", 1, ("c", 5))], frame.schema)
    with pytest.raises(DomainError, match="key 'k': input 'e': expected one of a, b"), bring_back():
        wb.run_keyed(parse(text).get().pipeline, bad, key="k", order="t").collect()


class Killed(Exception):
    """What stands for the end of the driver, in mid-batch."""


def drop_files(folder, rows, size):
    """The rows in files, one after the other."""
    for i in range(0, len(rows), size):
        write_csv(folder / f"f{i:05}.csv", rows[i : i + size], time=1_000_000_000 + i)


@pytest.mark.slow
def test_a_query_that_is_interrupted_goes_on(session, tmp_path):
    """It dies when the outputs of a micro-batch are written, and before it is complete: that batch is done again."""
    (tmp_path / "in").mkdir()
    drop_files(tmp_path / "in", ROWS[:300], 100)
    batches = []

    def go(stop_at=None, order="t", text=SUMS):
        class Run(SparkPipelineRun):
            def settle_batch(self):
                super().settle_batch()
                last = max((tmp_path / "out").iterdir())
                assert not (last / "_SUCCESS").exists()
                batches.append(int(last.name.removeprefix("batch=")))
                if batches[-1] == stop_at:
                    raise Killed

        options = {"key": "k", "order": order, "files": 1, "checkpoint": str(tmp_path / "ck"), "once": True}
        start = make_start([str(tmp_path / "in")], tmp_path / "out", {"backend": "spark", "stream": True, **options})
        with bring_back():
            start_query(Run(choose(pipeline(text)), start), session, "jsonl").awaitTermination()
        account = start.reporter.account
        assert account.computed == account.read > 0

    with pytest.raises(SparkError, match="Killed"):
        go(stop_at=1)
    assert not (tmp_path / "out" / "batch=00000001").exists()
    go()
    drop_files(tmp_path / "in", ROWS, 100)
    go()
    assert batches == [0, 1, 1, 2, 3]

    def stored():
        schema = "k string, step long, y long, z boolean"
        return sorted_rows(session.read.schema(schema).json(str(tmp_path / "out")).drop("batch"))

    assert stored() == expected(ROWS, pipeline(), end=False)

    with pytest.raises(StateError, match="another code"):
        go(text=SUMS.replace("3)", "4)"))
    # a row that comes late stops the query; with the file corrected, the batch is done anew
    write_csv(tmp_path / "in" / "late.csv", [("u1", 50, 1, True)])
    with pytest.raises(InputError, match=f"k 'u1', row 1 of {tmp_path}/in/late.csv: a row with t = 50 comes late"):
        go()
    write_csv(tmp_path / "in" / "late.csv", [("u1", 500, 1, True)])
    go()
    more = [*ROWS, ("u1", 500, 1, True)]
    assert stored() == expected(more, pipeline(), end=False)
    for path in (tmp_path / "ck" / "state").rglob("*.delta"):
        path.unlink()
    write_csv(tmp_path / "in" / "last.csv", [("u1", 501, 1, True)])
    with pytest.raises(StateError, match=r"the checkpoint is damaged: .*\.delta does not exist") as damaged:
        go()
    assert "a new --checkpoint and a new --output" in damaged.value.hint
    (tmp_path / "ck").rename(tmp_path / "old")
    with pytest.raises(StateError, match="has contents that do not belong to the checkpoint"):
        go()
    assert stored() == expected(more, pipeline(), end=False)


def test_the_examples_of_the_guide(session):
    page = ROOT / "docs" / "reference" / "spark.md"
    names = {"spark": session}
    for text in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
        told: list[str] = []
        assert not doctest.DocTestRunner().run(example, out=told.append, clear_globs=False).failed, "".join(told)
        names = example.globs


# --- the command ----------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    (tmp_path / "p.pipe").write_text(SUMS)
    (tmp_path / "in").mkdir()
    write_csv(tmp_path / "in" / "a.csv", ROWS[:50])
    return tmp_path


STREAM = ["--key", "k", "--stream", "--checkpoint", "ck", "--output", "y"]


def command(files, *more):
    read = [] if "--input" in more else ["--input", str(files / "in")]
    backend = [] if "--backend" in more else ["--backend", "spark"]
    given = ["run", str(files / "p.pipe"), *read, *backend, *map(str, more)]
    return [each for each in given if each != "None"]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ([], "separates the streams: --key "), (["--key", "k", "--seed", "1"], "not for the spark backend: --seed"),
        (["--key", "k", "--steps"], "not for the spark backend: --steps"),
        (["--key", "k", "--once"], "for a stream only: --once"),
        (["--key", "k", "--stream"], "add --checkpoint DIR"),
        (["--key", "k", "--stream", "--checkpoint", "ck"], "add --output DIR"),
        (["--key", "k", "--input", "-"], "not the standard input"),
        ([*STREAM, "--head", "3"], "an endless stream does not take --head"),
        ([*STREAM, "--bad-rows", "bad.csv"], "are not stored"),
        ([*STREAM, "--input", "a", "--input", "b"], "reads one folder"),
        (["--key", "k", "--output", "y.arrow"], "does not write arrow"),
        (["--order", "t", "--backend", "compiled"], "add --backend spark"),
        (["--key", "k", "--master", f"spark://127.0.0.1:{free_port()}"], "no Spark master answers"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(files, capsys, more, what):
    if shutil.which("java") is None and "--master" in more:
        pytest.skip("there is no Java")
    assert main(command(files, *more)) == 2
    shown = capsys.readouterr()
    assert what in shown.err
    assert shown.out == ""


def test_without_java_it_says_what_else_can_be_done(files, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(command(files, "--key", "k")) == 2
    said = capsys.readouterr().err
    assert "Spark needs Java" in said
    assert "or use --backend compiled" in said


def program(files, *more):
    (files / "spark-defaults.conf").write_text("spark.executor.memory 512m\n")  # what the workers of tests have
    return subprocess.Popen(
        [sys.executable, "-m", "workbench.cli.main", *command(files, *more)], cwd=files, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JDK_JAVA_OPTIONS": QUICK_JAVA, "SPARK_CONF_DIR": str(files)},
    )  # fmt: skip


def rows_in(folder):
    """What any reader finds in the files of a stream's output."""
    import pyarrow.parquet as pq

    tables = [pq.ParquetFile(path).read() for path in sorted(folder.glob("batch=*/part-*.parquet"))]
    return sorted((tuple(row.values()) for table in tables for row in table.to_pylist()), key=str)


@needs_java
@pytest.mark.slow  # several Java processes start, one after the other
@pytest.mark.timeout(900)
def test_the_command_is_killed_and_started_again(files):
    """SIGKILL to the driver and all its processes, twice, at any moment: nothing is lost, nothing is there twice."""
    (files / "in" / "a.csv").unlink()
    rows = rows_of(3000)
    drop_files(files / "in", rows, 100)
    given = ("--key", "k", "--stream", "--checkpoint", "ck", "--output", "out.parquet", "--files", 1)
    out = files / "out.parquet"
    for least in (4, 12):
        process = program(files, *given)
        try:
            wait_for(lambda n=least: len(list(out.glob("batch=*/_SUCCESS"))) >= n, 300)
            assert process.poll() is None, process.communicate()
            time.sleep(0.15)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    process = program(files, *given, "--once")
    said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    # one file each, but for what Spark had planned and not begun when it was killed: that joins the batch after it
    assert 28 <= len(list(out.glob("batch=*"))) <= 30
    assert rows_in(out) == expected(rows, pipeline(), end=False)


@needs_java
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_on_a_cluster_and_ctrl_c(files):
    with cluster(files, workers=1) as made:
        process = program(files, "--key", "k", "--order", "t", "--master", made.url, None)
        out, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        assert out.splitlines()[0] == "k,step,y,z"
        shown = [tuple(line.split(",")) for line in out.splitlines()[1:]]
        wanted = expected(ROWS[:50], pipeline())
        assert sorted(shown) == sorted(
            (k, str(s), "" if y is None else str(y), "" if z is None else str(z).lower()) for k, s, y, z in wanted
        )
    process = program(
        files, "--key", "k", "--stream", "--checkpoint", "ck", "--output", "o.jsonl", "--master", "local[2]"
    )
    try:
        wait_for(lambda: process.poll() is not None or list((files / "o.jsonl").glob("batch=*/_SUCCESS")), 300)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=100)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, said
    assert "run the same command again to continue" in said[1]
    assert "at org.apache" not in said[1]


VALUES: dict[str, list[Any]] = {
    "int": [1, -2, 2**40],
    "0..5": [3, 4, 5],
    "float": [20.0, 1e300, 1e-7, float("inf"), 0.5],
    "bool": [True, False, True],
    "{red, green}": ["red", "green", "red"],
    "str": ["a", 'q"x', "n,\nl\\", " b ", "ü"],
    "(int, float)": [[1, 2.0], [3, 0.5]],
    "{a: int, b: str}": [{"a": 1, "b": 'x"y'}],
    "map(str, int)": [{"b": 1, "a,": 2}],
}
"""Values of each type, some of which systems write differently."""


def typed_log(folder, kind):
    path = folder / "in.jsonl"
    rows = ({"k": "a", "x": value} for value in VALUES[kind])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, wb.parse(f"pipeline p(x: {kind}) -> {kind} {{ return x }}").get().pipeline


@pytest.mark.sampled(6)
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "logfmt"])
@pytest.mark.parametrize("kind", VALUES)
def test_local_backends_write_values_alike(kind, form, tmp_path):
    path, program = typed_log(tmp_path, kind)
    made: dict[bool, set[str]] = {}
    options: list[dict[str, Any]] = [{}, {"key": "k"}]
    for backend in ("reference", "threaded", "dataflow", "compiled", "parallel", "gpu"):
        for key in options:
            with contextlib.suppress(Refused):
                wb.run(program, path, output=tmp_path / f"o.{form}", backend=backend, **key)
                made.setdefault(bool(key), set()).add((tmp_path / f"o.{form}").read_text())
    assert list(map(len, made.values())) == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "logfmt", "parquet"])
@pytest.mark.parametrize("kind", VALUES)
def test_spark_writes_values_as_all_backends_do(kind, form, session, tmp_path, capsys):
    path, program = typed_log(tmp_path, kind)
    wb.run(program, path, output=tmp_path / f"o.{form}", backend="reference", key="k")
    made = read_log(session, path, program, key="k").run(choose(program))
    ports = row_ports(made, program.ports.outputs_by_name)
    write_rows(made, ports, str(tmp_path / "spark"), form)
    (part,) = [each for each in (tmp_path / "spark").iterdir() if each.name[0] not in "._"]
    assert part.suffix == {"jsonl": ".json"}.get(form, f".{form}")
    if form == "parquet":
        expected = parquet.read_table(tmp_path / "o.parquet").to_pydict()
        assert parquet.read_table(part).drop(["step"]).to_pydict() == expected
        return
    text = part.read_text()
    assert without_steps(text, form) == (tmp_path / f"o.{form}").read_text()
    print_rows(made, ports, form)
    assert capsys.readouterr().out == text


def without_steps(text, form):
    """The same rows without the second column, which only Spark's have."""
    between = "\t" if form == "tsv" else ","
    if form == "jsonl":
        return re.sub(r'"step": \d+, ', "", text)
    if form == "logfmt":
        return re.sub(r" step=\d+", "", text)
    return re.sub(rf"^([ak]){between}(?:step|\d+){between}", rf"\1{between}", text, flags=re.M)
