"""Sweeps and tables on Spark give what they give without it."""

import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lab.conftest import HEAD, SQUARES, run
from tests.lab.spark_cluster import cluster, free_port, wait_for
from tests.lab.test_data import SUITE
from tests.lab.test_store import forge
from workbench.errors import LabError, SparkError, SuiteError
from workbench.interrupts import descendants
from workbench.lab import spark
from workbench.lab.data import open_data
from workbench.lab.plan import Lab, Origin, Selection, SweepPlan, tasks
from workbench.lab.rows import as_text
from workbench.lab.store import ResultStore
from workbench.lab.suite_search import load_suite

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("pyspark")
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java")

MORE = """
suite.plot("words", of=measure, x="q", y=number(), series="order", kind="bar", where={"exact": True})
"""


@pytest.fixture
def session(spark_session):
    return spark_session


def lab_in(folder: Path, text: str = SUITE + MORE, data: str = "data") -> Lab:
    path = folder / "tiny.py"
    path.write_text(f"{HEAD}suite = Suite('tiny', '')\n{text}")
    return Lab(load_suite(path), path, ResultStore(folder / data, "tiny"))


def on_spark(lab, session, selection=None):
    selection = selection or Selection()
    todo = SweepPlan.of(lab, selection).todo
    return list(spark.sweep(lab, todo, Origin.of(lab), session))


def outcomes(results):
    return {r.id: (r.experiment, r.point, r.measured.status, r.measured.outputs, r.seed) for r in results}


def test_a_sweep_and_its_tables_are_the_same(session, tmp_path):
    """Both ways of measuring, and both ways of computing tables, in one go: a session is slow to warm up."""
    here, there = lab_in(tmp_path), lab_in(tmp_path, data="spark")
    local, swept = run(here), on_spark(there, session)
    assert outcomes(swept) == outcomes(local)
    assert outcomes(there.store.results()[0]) == outcomes(local)
    assert on_spark(there, session) == []
    assert len(list(there.store.folder.glob("part-*"))) == 6, "12 points on 2 cores make 6 batches, a file for each"
    left = there.store.add(there.store.results()[0][:1])  # as a batch that is interrupted leaves it
    again = on_spark(there, session, Selection(where={"order": ("a",), "q": (2,)}, again=True))
    assert len(again) == 3
    assert (len(there.store.results()[0]), left.exists()) == (15, False)
    forged = forge(next(there.store.folder.glob("part-*")), lambda rows: rows[0].update(status="exploded"))
    assert [item.path for item in there.store.results()[1]] == [forged]

    duck, sparks = open_data(there.suite, there.store), spark.open_spark(there.suite, there.store, session)
    assert sparks.grid("wide") == duck.grid("wide")
    assert sparks.grid("long") == duck.grid("long")
    assert sparks.dots("cloud") == duck.dots("cloud")
    assert sparks.dots("words") == duck.dots("words")
    for claim in there.suite.claims.values():
        assert claim.evaluate(sparks) == claim.evaluate(duck)
    sparks.close()


def test_an_error_that_comes_when_rows_are_computed_is_one_of_the_suite():
    from pyspark.errors import PySparkException

    class Frame:
        def collect(self):
            raise PySparkException("[DIVIDE_BY_ZERO] Division by zero.")

    engine = object.__new__(spark.SparkSql)
    engine._spark = SimpleNamespace(sql=lambda _: Frame())
    with pytest.raises(SuiteError, match="DIVIDE_BY_ZERO") as caught:
        engine.query("SELECT 1 / 0")
    assert "SELECT 1 / 0" in str(caught.value)


def test_without_java_it_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SparkError, match="needs Java") as caught:
        spark.session()
    assert "--on local" in caught.value.hint
    monkeypatch.setenv("JAVA_HOME", "/elsewhere")
    with pytest.raises(SparkError, match="JAVA_HOME=/elsewhere"):
        spark.session()


@needs_java
def test_a_master_that_does_not_answer():
    with pytest.raises(SparkError, match="no Spark master answers"):
        spark.session(f"spark://127.0.0.1:{free_port()}")


def test_a_batch_goes_on_where_a_lost_worker_was(tmp_path, monkeypatch):
    """What the workers do, without Spark."""
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("workbench.lab.local_sweep.FIRST_FLUSH", 0.0)
    monkeypatch.setattr("workbench.lab.local_sweep.LONGEST_FLUSH", 0.0)
    lab = lab_in(tmp_path, SQUARES)
    todo = tasks(lab, lab.code(), Selection())
    frame = pd.DataFrame([{**vars(t), "point": as_text(t.point), "batch": "b"} for t in todo])
    made: list[str] = []

    class Dying(spark.Measurer):
        def _measure(self, row, origin):
            if len(made) == 4:
                raise KeyboardInterrupt
            made.append(row["key"])
            return super()._measure(row, origin)

    given = (str(lab.path), str(tmp_path / "data"), "tiny", asdict(Origin.of(lab)))
    with pytest.raises(KeyboardInterrupt):
        list(Dying(*given)(iter([frame])))
    assert [r.key for r in lab.store.results()[0]] == made
    (told,) = spark.Measurer(*given)(iter([frame]))
    assert list(told["status"]) == ["ok"] * 6
    results = lab.store.results()[0]
    assert [r.key for r in results][:4] == made, "they were not measured again"
    assert len(results) == len({r.id for r in results}) == 6
    assert len(list(lab.store.folder.iterdir())) == 1


def test_an_executor_that_cannot_store_says_why(session, tmp_path):
    lab = lab_in(tmp_path, SQUARES)
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(LabError, match="results cannot be stored: Not a directory") as caught:
        on_spark(lab, session)
    assert "run the same command again" in caught.value.hint


SLOW = """
import time

@suite.experiment(Region(n=range(120)), square=Output("n squared", kind=int))
def slow(n):
    time.sleep(0.25)
    return {"square": n * n}
"""


@needs_java
@pytest.mark.slow  # three Java processes start: a minute and more
@pytest.mark.timeout(900)
def test_a_worker_is_killed_in_mid_sweep(tmp_path):
    """One master, two workers; one worker dies with its executor; every point is there, once, and right."""
    lab = lab_in(tmp_path, SLOW)
    with cluster(tmp_path, workers=2) as made:
        arguments = ["lab", "run", "tiny", "--experiments", str(tmp_path), "--data", str(tmp_path / "data")]
        process = subprocess.Popen(
            [sys.executable, "-m", "workbench.cli.main", *arguments, "--master", made.url],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            wait_for(lambda: process.poll() is not None or len(list(lab.store.folder.glob("part-*"))) >= 2, 400)
            assert process.poll() is None, process.stdout.read()
            below = {number: len(descendants(made.members[number].pid)) for number in (1, 2)}
            assert all(below.values()), "both workers have executors"
            done = len(lab.store.results()[0])
            assert 0 < done < 120
            made.kill(2)
            said, _ = process.communicate(timeout=400)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 0, said
        assert "120 ok" in said
    results, broken = lab.store.results()
    assert broken == []
    assert len(results) == len({r.id for r in results}) == 120
    assert {r.point["n"]: r.measured.outputs["square"] for r in results} == {n: n * n for n in range(120)}
