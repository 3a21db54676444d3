"""A standalone Spark cluster on loopback: a master and workers, each with its executors in a process group."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A Java that lives for seconds compiles little."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(condition, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.1)


class Cluster:
    """One master and workers of one core each."""

    def __init__(self, folder: Path, workers: int) -> None:
        import pyspark

        self.folder, self._home = folder, Path(pyspark.__file__).parent
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.members: list[subprocess.Popen[bytes]] = []
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port()))
        wait_for(lambda: self._says(0, "I have been elected leader"))
        for number in range(1, workers + 1):
            self._start("worker.Worker", "--host", "127.0.0.1", "-c", "1", "-m", "600m", "-d", str(folder / "work"),
                        "--webui-port", str(free_port()), self.url)  # fmt: skip
            wait_for(lambda number=number: self._says(number, "Successfully registered with master"))

    def _start(self, role: str, *arguments: str) -> None:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        with open(self.folder / f"member{len(self.members)}.log", "wb") as log:
            command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *arguments]
            self.members.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
            )

    def _says(self, number: int, words: str) -> bool:
        assert self.members[number].poll() is None, self.log(number)
        return words in self.log(number)

    def log(self, number: int) -> str:
        return (self.folder / f"member{number}.log").read_text(errors="replace")

    def kill(self, number: int) -> None:
        """Kill a member and all that it has started, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.members[number].pid, signal.SIGKILL)
        self.members[number].wait()


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    made = Cluster(folder, workers)
    try:
        yield made
    finally:
        for number in range(len(made.members)):
            made.kill(number)
