"""Spark sessions: their requirements, and the errors where these are missing."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import workbench
from workbench.errors import SparkError
from workbench.executors.spark.error_transfer import summarize
from workbench.extras import install_extra
from workbench.interrupts import keep_handlers

LOCAL = "local[*]"
JAVA_OPTIONS = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
"""Options of every Java process; further options of a driver must be added to these."""
INSTALL_JAVA = "install a Java runtime, 17 or newer (Debian: apt-get install default-jre-headless)"
_LOCAL_MASTER = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?")
_CLUSTER_MASTER = re.compile(r"spark://[^\s,]+:\d+(,[^\s,]+:\d+)*")
_CONNECT_SECONDS = 8.0
_EXECUTOR_SECONDS = 120.0


def find_java(otherwise: str = "") -> str:
    """Return the path of a Java program that runs.

    Parameters
    ----------
    otherwise: alternatives without Java, for the hint.

    Raises
    ------
    SparkError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    hint = f"{INSTALL_JAVA}, or {otherwise}" if otherwise else INSTALL_JAVA
    path = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if path is None:
        where = f"JAVA_HOME={home}" if home else "no 'java' on PATH"
        raise SparkError(f"Spark needs Java, but there is none: {where}", hint=hint)
    done = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SparkError(f"Spark needs Java, but it does not run: {done.stderr.strip()}", where=path, hint=hint)
    return path


def check_master(master: str) -> None:
    """Raise SparkError for an invalid master, or one that does not answer: Spark itself would wait for minutes."""
    if _LOCAL_MASTER.fullmatch(master):
        return
    if not _CLUSTER_MASTER.fullmatch(master):
        raise SparkError(f"'{master}' is not a Spark master", hint="write local[2] or spark://host:port")
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with (
            contextlib.suppress(OSError, ValueError),
            socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS),
        ):
            return
    raise SparkError(
        f"no Spark master answers at {master}", hint="start one, or leave out --master to use this machine"
    )


def start_session(master: str = LOCAL, *, name: str = "workbench", otherwise: str = "", **settings: str) -> Any:
    """Start a Spark session, or return the present one.

    Parameters
    ----------
    master: `local[2]`, `local[*]` (a thread per core) or `spark://host:port`.
    name: the name of the application in Spark.
    otherwise: alternatives without Java, for the hint.
    settings: settings of Spark, e.g. `**{"spark.executor.memory": "2g"}`.

    Raises
    ------
    SparkError: Spark or Java is missing, or the master cannot be reached.
    """
    try:
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkError("pyspark is not installed", hint=install_extra("spark")) from error
    find_java(otherwise)
    check_master(master)
    home = str(Path(workbench.__file__).resolve().parent.parent)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    paths = os.pathsep.join(dict.fromkeys([home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))
    builder = SparkSession.builder.master(master).appName(name)
    all_settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.executorEnv.PYTHONPATH": paths,
        "spark.driver.host": "127.0.0.1" if master.startswith("local") else _address(master),
        "spark.sql.shuffle.partitions": "2",
        "spark.task.maxFailures": "8",  # a lost worker fails all its tasks
        **settings,
    }
    for name, value in all_settings.items():
        builder = builder.config(name, value)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = paths  # for the Python workers of a local master
    try:
        with keep_handlers():  # Spark's Ctrl-C handler would ask it to cancel all its jobs
            spark = builder.getOrCreate()
        _wait_for_executors(spark, master)
        return spark
    except SparkError:
        raise
    except Exception as error:
        raise SparkError(f"Spark does not start: {summarize(error)}", where=master) from error
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _wait_for_executors(spark: Any, master: str) -> None:
    """Raise SparkError where a cluster provides no executor: Spark itself would wait for ever, and print nothing."""
    deadline = time.monotonic() + _EXECUTOR_SECONDS
    while not master.startswith("local") and spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > deadline:
            spark.stop()
            raise SparkError(
                f"no worker of {master} provided an executor within {_EXECUTOR_SECONDS:.0f} s",
                hint="it needs a worker with a free core and the memory of spark.executor.memory",
            )
        time.sleep(0.2)


def _address(master: str) -> str:
    """Return the address of this machine that the master's machine can reach."""
    host, _, port = master.removeprefix("spark://").split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS) as link:
        return str(link.getsockname()[0])
