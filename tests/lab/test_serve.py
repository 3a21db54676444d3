"""The web application: what it refuses, and a person who starts, watches and stops a sweep in a real browser."""

import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.lab.conftest import HEAD
from tests.verify.browser import PROGRAM, WITHOUT
from workbench.errors import SuiteError
from workbench.lab.plan import Lab
from workbench.lab.store import ResultStore
from workbench.lab.suite_search import load_suite
from workbench.lab.web import connection as connection_module
from workbench.lab.web.pages import MAX_FIELDS, application
from workbench.lab.web.serve import serve, server
from workbench.lab.web.site import Site, read_selection

ROOT = Path(__file__).resolve().parents[2]
PORT = 8765
OWN = f"http://127.0.0.1:{PORT}"
SUITE = """
import time
def shown(n, kind):
    if n == 3: raise ValueError("nothing to show")
    script = "fetch('/').catch(() => p.textContent += ', alone')"
    return f"<!doctype html><title>x</title><p id=p>n is {n}</p><script>{script}</script>"

@suite.experiment(Region(n=[1, 2, 3], kind=["a", "b"]), page=shown, y=Output("a number", kind=int))
def quick(n, kind):
    return {"y": n}

@suite.experiment(Region(m=range(200)), y=Output("a number", kind=int))
def slow(m):
    time.sleep(0.2)
    return {"y": m}

suite.table("t", of=quick, rows="n", columns="kind", cells={"y": median("y")})
suite.plot("p", of=quick, x="n", y=median("y"), series="kind")

@suite.claim("y is n")
def same(data):
    return ok() if all(r["y"] == r["n"] for r in data.rows(quick)) else fails("no")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "tiny.py").write_text(f"{HEAD}suite = Suite('tiny', 'A <suite>')\n{SUITE}")
    (tmp_path / "experiments" / "bad.py").write_text(f"{HEAD}suite = Suite('bad', '')\n1 / 0\n")
    return tmp_path


@pytest.fixture
def site(folder):
    made = Site(folder / "experiments", folder / "data")
    yield made
    made.close()


class Answer:
    """What the server said."""

    def __init__(self, answer):
        self.status_code, self.headers = answer.status, {k.lower(): v for k, v in answer.getheaders()}
        self.text = answer.read().decode()

    def json(self):
        return json.loads(self.text)


class Client:
    """Asks the server; it listens elsewhere, and is told that it is at PORT."""

    def __init__(self, port):
        self.port = port

    def get(self, path, headers=None):
        return self._ask("GET", path, None, headers)

    def post(self, path, data=None, headers=None, content=None):
        return self._ask("POST", path, content or urlencode(data or {}, doseq=True), headers)

    def _ask(self, method, path, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Host": f"127.0.0.1:{PORT}", **(headers or {})})
            return Answer(connection.getresponse())
        finally:
            connection.close()


@pytest.fixture
def client(site):
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    made = server(application(site, PORT))
    thread = threading.Thread(target=made.run, kwargs={"sockets": [listening]})
    thread.start()
    deadline = time.monotonic() + 30
    while not made.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield Client(listening.getsockname()[1])
    made.should_exit = True
    thread.join()
    listening.close()


def wait(client):
    deadline = time.monotonic() + 60
    while (state := client.get("/suite/tiny/progress").json())["running"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return state


def test_pages(client):
    home = client.get("/").text
    assert 'href="/suite/tiny"' in home
    assert "ZeroDivisionError" in home
    assert "A &lt;suite&gt;" in client.get("/suite/tiny").text
    assert client.get("/suite/other").status_code == 404
    assert client.get("/suite/..%2F..%2Fetc").status_code == 404
    assert client.get("/suite/bad").status_code == 500
    assert client.get("/experiments/tiny.py").status_code == 404
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy


def test_a_sweep_is_started_and_shown(client):
    begun = client.post("/suite/tiny/start", data={"experiment": "quick"}, headers={"Origin": OWN})
    assert (begun.status_code, begun.headers["location"]) == (303, "/suite/tiny")
    state = wait(client)
    assert (state["done"], state["total"], state["message"]) == (6, 6, "finished")
    page = client.get("/suite/tiny").text
    assert "y is n" in page
    assert "6 ok" in page
    assert client.get("/suite/tiny").text.count("#r=") > 6


@pytest.mark.slow
def test_the_page_of_a_point(client, site):
    client.post("/suite/tiny/start", data={"experiment": "quick"}, headers={"Origin": OWN})
    wait(client)
    ids = {r.point["n"]: r.id for r in site.lab("tiny").store.results()[0]}
    page = client.get(f"/suite/tiny/page/{ids[2]}")
    assert "n is 2" in page.text
    assert page.headers["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")
    failed = client.get(f"/suite/tiny/page/{ids[3]}")
    assert failed.status_code == 500
    assert "nothing to show" in failed.text
    assert client.get("/suite/tiny/page/none").status_code == 404


def test_a_sweep_is_stopped_and_goes_on(client, site):
    start = {"experiment": "slow"}
    client.post("/suite/tiny/start", data=start, headers={"Origin": OWN})
    deadline = time.monotonic() + 60
    while client.get("/suite/tiny/progress").json()["done"] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert client.post("/suite/tiny/stop", headers={"Origin": OWN}).status_code == 303
    state = client.get("/suite/tiny/progress").json()
    assert (state["running"], state["message"]) == (False, "stopped")
    stored = len(site.lab("tiny").store.results()[0])
    assert stored >= state["done"] >= 2
    client.post("/suite/tiny/start", data=start, headers={"Origin": OWN})
    assert client.get("/suite/tiny/progress").json()["total"] == 200 - stored
    client.post("/suite/tiny/stop", headers={"Origin": OWN})


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": f"evil.example:{PORT}"},
        {"Host": "127.0.0.1"},
        {"Host": f"127.0.0.1:{PORT + 1}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://127.0.0.1:{PORT}"},
        {"Origin": f"http://localhost:{PORT}"},
    ],
)
def test_other_hosts_and_origins_are_refused(client, site, headers):
    assert client.get("/", headers=headers).status_code == 403
    whole = {"Origin": OWN, **headers}
    assert client.post("/suite/tiny/start", data={"experiment": "quick"}, headers=whole).status_code == 403
    assert not site.runner(site.lab("tiny")).running


def test_a_change_needs_an_origin(client):
    assert client.post("/suite/tiny/start", data={"experiment": "quick"}).status_code == 403
    assert client.post("/suite/tiny/stop").status_code == 403
    assert client.get("/suite/tiny/start", headers={"Origin": OWN}).status_code == 405
    assert client.get("/", headers={"Host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.slow
def test_what_is_behind_a_cell_is_measured_again(client, site):
    client.post("/suite/tiny/start", data={"experiment": "quick"}, headers={"Origin": OWN})
    assert wait(client)["message"] == "finished"
    before = site.lab("tiny").store.results()[0]
    wanted = next(r for r in before if r.point == {"n": 2, "kind": "b"})
    client.post("/suite/tiny/start", data={"again": "on", "id": [wanted.id, "nonsense"]}, headers={"Origin": OWN})
    assert wait(client)["total"] == 1
    assert [r.id for r in site.lab("tiny").store.results()[0][len(before) :]] == [wanted.id]
    unknown = client.post("/suite/tiny/start", data={"again": "on", "id": "nonsense"}, headers={"Origin": OWN})
    assert unknown.status_code == 404, "it does not mean everything"


def test_nothing_to_do_is_said(client):
    for said in ("finished", "nothing to do: all of it has been measured"):
        client.post("/suite/tiny/start", data={"experiment": "quick"}, headers={"Origin": OWN})
        assert wait(client)["message"] == said
    assert "made with the code as it is now" in client.get("/").text
    assert "<td>206</td><td>6</td>" in client.get("/").text


def test_a_suite_that_is_not_there_is_not_served(folder):
    with pytest.raises(SuiteError, match="no suite 'other'"):
        serve(folder / "experiments", folder / "data", 0, "other")


def test_a_long_form_is_refused(client):
    sent = client.post("/suite/tiny/start", content="x" * (1 << 18), headers={"Origin": OWN})
    assert sent.status_code == 413


def test_a_form_of_too_many_fields_is_refused(client):
    few, many = ("&".join(["a=1"] * n) for n in (MAX_FIELDS, MAX_FIELDS + 1))
    sent = client.post("/suite/tiny/start", content=many, headers={"Origin": OWN})
    assert (sent.status_code, "at most 5000 fields" in sent.text) == (413, True)
    assert client.post("/suite/tiny/stop", content=few, headers={"Origin": OWN}).status_code == 303


def test_every_answer_says_how_it_may_be_used(client):
    for path, status, headers in (("/", 200, {}), ("/x", 404, {}), ("/", 403, {"Host": "x"}), ("/suite/bad", 500, {})):
        answer = client.get(path, headers)
        assert answer.status_code == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"


BEGUN = f"POST /suite/tiny/start HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nOrigin: {OWN}\r\nContent-Length: 100\r\n\r\nid="


def test_a_client_that_goes_away_is_no_error(capfd, client):
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(BEGUN.encode())
        time.sleep(0.2)
    assert client.get("/").status_code == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("sent", ["", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nSlow: ", BEGUN])
def test_who_sends_too_slowly_is_not_waited_for(capfd, client, monkeypatch, sent):
    monkeypatch.setattr(connection_module, "REQUEST_TIMEOUT", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
        connection.sendall(sent.encode())
        said = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(1000):  # a connection that stays open is a time-out here
                said += part
    assert said.startswith(b"HTTP/1.1 408 ") or sent == BEGUN
    assert capfd.readouterr().err == ""


def test_a_connection_may_be_used_again(client, monkeypatch):
    monkeypatch.setattr(connection_module, "REQUEST_TIMEOUT", 0.3)
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    for _ in range(4):  # in all longer than the patience, which is for each
        connection.request("GET", "/suite/tiny/progress", headers={"Host": f"127.0.0.1:{PORT}"})
        assert connection.getresponse().read().startswith(b"{")
        time.sleep(0.15)
    connection.close()


def test_a_form_means_only_what_the_suite_has(site):
    lab = site.lab("tiny")
    form = {
        "experiment": ["quick", "../x"],
        "axis-n": ["1", "7"],
        "axis-x": ["1"],
        "retry": ["crash", "rm"],
        "again": ["on"],
    }
    found = read_selection(lab, form)
    assert (found.experiments, found.where, found.again) == (("quick",), {"n": (1,)}, True)
    assert [str(status) for status in found.retry] == ["crash"]


@pytest.mark.skipif(PROGRAM is None, reason=WITHOUT)
def test_in_a_browser(folder, two_gpus, page):
    path = folder / "experiments" / "tiny.py"
    lab = Lab(load_suite(path), path, ResultStore(folder / "data", "tiny"))
    command = ["lab", "serve", "tiny", "--port", "0", "--experiments", str(path.parent), "--data", str(folder / "data")]
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench.cli.main", *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().partition("/suite/tiny ")[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        page.visit(f"{address}/suite/tiny")
        page.ask("document.querySelector('input[value=quick]').click()")
        page.click("#start")
        page.wait_for("document.querySelectorAll('#table-t tbody td a.way').length === 6")
        page.click("#table-t tbody tr:nth-child(2) td:nth-child(2) a")
        page.wait_for("!document.getElementById('panel').hidden")
        shown = page.ask("document.getElementById('panel').innerText")
        assert "n = 2, kind = a" in shown
        assert ", 64 MB, 0.40 s on GPUs, limits by" in shown
        page.click("#again")
        page.wait_for("/^1 of 1.*finished/.test(document.querySelector('#progress span')?.innerText)")
        page.click("#table-t tbody tr:nth-child(2) td:nth-child(2) a")
        page.wait_for("!document.getElementById('panel').hidden")
        page.click("#panel article a")
        page.wait_for("document.querySelector('#p')?.textContent === 'n is 2, alone'")
        page.visit(f"{address}/suite/tiny")
        page.ask("document.querySelector('input[value=slow]').click()")
        page.click("#start")
        page.wait_for("document.getElementById('stop') !== null")
        page.wait_for("/^[1-9]\\d* of 200/.test(document.querySelector('#progress span').innerText)")
        page.click("#stop")
        page.wait_for("document.getElementById('start') !== null")
        assert "stopped" in page.ask("document.getElementById('progress').innerText")
        assert json.dumps([url for url in page.requests if not url.startswith((address, "about:", "data:"))]) == "[]"
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
    results = lab.store.results()[0]
    assert {r.experiment for r in results} == {"quick", "slow"}
    assert [r.point for r in results if r.experiment == "quick"][6:] == [{"n": 2, "kind": "a"}], "measured again"
