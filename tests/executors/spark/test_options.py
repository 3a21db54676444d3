"""The options about columns and rows of a log on Spark, and its formats: all as the local executors have them."""

import csv
import gzip
import json

import pytest

from workbench.errors import WorkbenchError
from workbench.language import parse
from workbench.runner.options import make_start
from workbench.runner.pipelines import run_pipeline

pytest.importorskip("pyspark")
pytest.importorskip("numba")
pa = pytest.importorskip("pyarrow")

# These need the packages above.
from pyarrow import feather, parquet  # noqa: E402

from tests.executors.spark.logs import rows_of  # noqa: E402
from workbench.executors.spark.choice import choose  # noqa: E402
from workbench.executors.spark.pipeline_run import SparkPipelineRun  # noqa: E402
from workbench.executors.spark.run import run_batch  # noqa: E402

SUMS = "pipeline p(x: int, q: bool) -> y: int, z: bool { s = cumulate(x, +) return decimate(s, 3), trim(q, 2) }"
RECORDS = "pipeline p(e: {x: int, q: bool}) -> y: {x: int, q: bool} { return keep_last(e) }"
KEYED = "pipeline p(k: int, x: int) -> y: int { return k * 100 + x capacity queue(add.left) = 2 }"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Logs in files of several parts, some with rows that cannot be read."""
    folder = tmp_path_factory.mktemp("the logs")
    note = 'say "so",\nor not'
    rows = [{"k": int(k[1:]), "temp": x, "q": q, "note": note if t % 7 else ""} for k, t, x, q in rows_of(900, keys=20)]
    texts = [{**row, "q": "" if row["q"] is None else str(row["q"]).lower()} for row in rows]
    for number, part in ((2, texts[:500]), (10, texts[500:])):
        with open(folder / f"a{number}.csv", "w", newline="") as file:
            written = csv.DictWriter(file, [*rows[0]][:: 1 if number == 2 else -1])
            written.writeheader()
            written.writerows(part[:300])
            file.write("7,maybe,3,\n" * 2 + "\n,,,\n" + "7,7\n")
            written.writerows(part[300:])
    (folder / "json").mkdir()
    lines = "".join(json.dumps(row) + "\n\n" for row in rows)
    with gzip.open(folder / "json" / "a.jsonl.gz", "wt") as packed:
        packed.write(lines[: len(lines) // 2])  # the last line is cut
    (folder / "json" / "b.jsonl").write_text(lines)
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, folder / "a.parquet", row_group_size=100)
    feather.write_feather(table.slice(0, 300), str(folder / "a.arrow"), compression="lz4")
    with open(folder / "a.tsv", "w", newline="") as file:
        written = csv.DictWriter(file, [*rows[0]], delimiter="\t")
        written.writeheader()
        written.writerows(texts[:200])
    (folder / "keyless.csv").write_text("k,x,q\n" + "1,2,\n" * 2000 + ",5,\n")
    (folder / "full.csv").write_text("k,x\n" + "1,2\n" * 2000 + "3,\n1,2\n" * 4)
    (folder / "twice.csv").write_text("k,x,x\n1,2,3\n")
    return folder


CASES = {
    "damaged CSV, columns in any order, bad rows kept": (
        SUMS, "a*.csv", {"columns": {"x": "temp"}, "bad_rows": "bad.csv"}
    ),
    "the first rows of compressed and other JSON lines": (
        SUMS, "json", {"columns": {"x": "temp"}, "bad_rows": "skip", "head": 700}
    ),
    "numbers as keys, in parts of a file": (SUMS, "a.parquet", {"columns": {"x": "temp"}}),
    "records of several columns, in formats that differ": (
        RECORDS, ["a.arrow", "a.tsv"], {"columns": {"e.x": "temp"}, "null": "error", "bad_rows": "skip"}
    ),
    "a key that is an input, nulls passed over": (
        KEYED, "a.parquet", {"columns": {"x": "temp"}, "null": "error", "bad_rows": "skip"}
    ),
    "a row without a key": (SUMS, "keyless.csv", {}),
    "a queue that is full": (KEYED, "full.csv", {}),
    "a row that cannot be read": (SUMS, "a2.csv", {"columns": {"x": "temp"}}),
    "a key that no line has, in parts of a file": (SUMS, "json/b.jsonl", {"columns": {"x": "tmp"}}),
    "a column that no input needs": (SUMS, "keyless.csv", {"columns": {"x": "k"}, "strict": True}),
    "a column that is not there": (SUMS, "a.tsv", {}),
    "two columns of a name": (SUMS, "twice.csv", {}),
}  # fmt: skip


def outcome(backend, text, files, options, folder, run):
    """What a run says and writes: the rows of each key in their order, bad rows, counts; or what is wrong."""
    said: list[str] = []
    output = folder / f"out.{backend}.jsonl"
    given = dict(options)
    if "bad_rows" in given and given["bad_rows"] != "skip":
        given["bad_rows"] = str(folder / f"{backend}.{given['bad_rows']}")
    start = make_start(files, output, {"backend": backend, "key": "k", **given})
    start.reporter.report = said.append
    try:
        run(parse(text).get().pipeline, start)
    except WorkbenchError as error:
        assert not output.exists(), "nothing is left of a run that fails"
        return type(error), str(error)
    made: dict[object, list[object]] = {}
    for path in [output] if output.is_file() else output.glob("part-*.json"):
        for line in path.read_text().splitlines():
            row = {name: json.loads(each) if name == "y" and isinstance(each, str) else each
                   for name, each in json.loads(line).items() if name != "step"}  # fmt: skip
            made.setdefault(row.pop("k"), []).append(row)
    kept = [path.read_text() for path in folder.glob(f"{backend}.*")]
    reporter = start.reporter
    return (
        made,
        kept,
        said,
        (
            reporter.account.rows,
            reporter.account.bad,
            reporter.account.events_in,
            reporter.account.events_out,
            reporter.account.computed,
            str(reporter.account.first_bad),
        ),
    )


def test_all_is_as_without_spark(spark_session, logs, monkeypatch, tmp_path):
    monkeypatch.setattr("workbench.executors.spark.logs.LEAST", 8000)
    monkeypatch.setattr("workbench.events.lines.MIN_COLUMN_BYTES", 100)  # columns, where rows are plain

    def on_spark(pipeline, start):
        run_batch(SparkPipelineRun(choose(pipeline, backend), start), spark_session, "jsonl")

    for number, (case, (text, names, options)) in enumerate(CASES.items()):
        (folder := tmp_path / str(number)).mkdir()
        files = [str(logs / name) for name in ([names] if isinstance(names, str) else names)]
        backend = ("compiled", "reference")[number % 2]
        made = outcome("spark", text, files, options, folder, on_spark)
        assert made == outcome(backend, text, files, options, folder, run_pipeline), case


def test_a_key_in_a_nested_object_is_refused(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"u": {"id": 1}, "k": 1, "x": 2}\n')
    start = make_start(tmp_path / "log.jsonl", tmp_path / "out", {"key": "u.id", "backend": "spark"})
    with pytest.raises(WorkbenchError, match=r"no keys with dots.*--key u\.id"):
        run_pipeline(parse(KEYED).get(), start)
