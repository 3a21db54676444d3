"""A real browser for tests: headless Chromium, driven by the DevTools protocol over two pipes."""

import fcntl
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = os.environ.get("WORKBENCH_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
WITHOUT = "there is no Chromium (apt-get install chromium, or name one in WORKBENCH_CHROMIUM)"
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "PageDown": 34, "PageUp": 33, "[": 219, "]": 221}


class Page:
    """An open page."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb", buffering=0)
        self._rest = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        self._commands.close()
        self._answers.close()

    def send(self, method: str, **params: Any) -> Any:
        """A command and its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._event(answer.get("method"), answer.get("params", {}))

    def _receive(self) -> Any:
        while b"\0" not in self._rest:
            found = self._answers.read(1 << 20)
            assert found, "the browser is gone"
            self._rest += found
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _event(self, method: str | None, params: Any) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file afresh."""
        self.visit(path.as_uri() + (f"#{fragment}" if fragment else ""))

    def visit(self, url: str) -> None:
        """Load a page afresh."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=url)
        loaded = f"complete{url.partition(':')[0]}:"
        self.wait_for(f"document.readyState + location.protocol === {json.dumps(loaded)}")

    def wait_for(self, expression: str) -> None:
        """Until an expression is true."""
        deadline = time.monotonic() + 30
        while not self.ask(expression):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """The value of an expression."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """A key, down and up."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=KEYS[key])

    def click(self, selector: str) -> None:
        """The middle of an element, with the mouse, when it is there."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"{element} !== null")
        box = self.ask(f"""(element => {{
            element.scrollIntoView({{block: 'center'}})
            const b = element.getBoundingClientRect()
            return [b.x + b.width / 2, b.y + b.height / 2]
        }})({element})""")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)


@contextmanager
def chromium() -> Iterator[Page]:
    """A browser with a page, closed at the end."""
    ours, theirs = [], []
    for reading in (False, True):
        pair = os.pipe()
        ours.append(pair[0] if reading else pair[1])
        # high numbers, so that giving them the numbers 3 and 4 overwrites neither
        low = pair[1] if reading else pair[0]
        theirs.append(fcntl.fcntl(low, fcntl.F_DUPFD, 20))
        os.close(low)
    with tempfile.TemporaryDirectory(prefix="workbench-", ignore_cleanup_errors=True) as folder:
        script = f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
        command = ["bash", "-c", script, str(PROGRAM), *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        process = subprocess.Popen(
            command, pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for fd in theirs:
            os.close(fd)
        try:
            page = Page(*ours)
            try:
                yield page
            finally:
                page.close()  # the browser ends with its pipes
        finally:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
