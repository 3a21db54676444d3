"""A web application for one person on this machine: suites, their progress, tables, plots, and the way back from each.

Its rules: it listens on the loopback interface only; it answers only requests addressed to it by that name, and changes
something only for a page of its own (no other `Host`, no other `Origin`); a request names suites, experiments, values
of axes and ids that the server knows already, never a path or code. Pages are made here; scripts only show what they
have.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from workbench.errors import LabError, WorkbenchError
from workbench.lab.data import open_data
from workbench.lab.draw import svg
from workbench.lab.find import load_suite, named, suite_files
from workbench.lab.measure.client import Client
from workbench.lab.plan import Lab, Measurement, Selection, SweepPlan
from workbench.lab.region import Scalar
from workbench.lab.report import Report, environment, gather
from workbench.lab.result import Measured, Result, Status
from workbench.lab.rows import package
from workbench.lab.runner import SweepRunner
from workbench.lab.store import ResultStore

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
LARGEST_FORM, MOST_FIELDS = 1 << 17, 5000
ALWAYS = (
    (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"), (b"cache-control", b"no-store"),
)  # fmt: skip
"""Headers of every answer. With `no-referrer` a browser would not say the origin of its own forms either."""


class Site:
    """What the application knows: suites, what runs, and the pages that need not be made again.

    Parameters
    ----------
    experiments, folder: where suites and results are.
    options: what a command needs to find them.
    """

    def __init__(self, experiments: Path, folder: Path, options: str = "") -> None:
        self.experiments, self.folder, self.options = experiments, folder, options
        self._labs: dict[str, tuple[float, Lab]] = {}
        self._runners: dict[str, SweepRunner] = {}
        self._reports: dict[str, tuple[Any, Report, dict[str, str]]] = {}
        self.templates = environment()

    def lab(self, name: str) -> Lab | None:
        """A suite, read again when its file has changed; None where there is none of that name."""
        path = suite_files(self.experiments).get(name)
        if path is None:
            return None
        changed = path.stat().st_mtime
        if name not in self._labs or self._labs[name][0] != changed:
            self._labs[name] = changed, Lab(load_suite(path), path, ResultStore(self.folder, name), self.options)
        return self._labs[name][1]

    def runner(self, lab: Lab) -> SweepRunner:
        """What runs a suite."""
        return self._runners.setdefault(lab.suite.name, SweepRunner())

    def report(self, lab: Lab) -> tuple[Report, dict[str, str]]:
        """What there is to show, with the plots drawn; kept until there are other results, or another suite."""
        files = tuple(sorted(path.name for path in lab.store.folder.glob("part-*.parquet")))
        key = (files, id(lab.suite))
        kept = self._reports.get(lab.suite.name)
        if kept is None or kept[0] != key:
            with contextlib.closing(open_data(lab.suite, lab.store)) as data:
                report = gather(lab, data)
                drawings = {plot.name: svg(plot, dots, report.link) for plot, dots in report.dots}
                _ = report.grids, report.claims, report.macros, report.numbers  # computed while the data are open
            kept = self._reports[lab.suite.name] = key, report, drawings
        return kept[1], kept[2]

    def close(self) -> None:
        """Stop what runs."""
        for runner in self._runners.values():
            runner.stop()


def application(site: Site, port: int) -> Any:
    """The ASGI application.

    Raises
    ------
    LabError: starlette is not installed.
    """
    package("the web application needs starlette", "starlette")
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect
    from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
    from starlette.routing import Route

    def page(template: str, status: int = 200, **values: Any) -> Any:
        nonce = secrets.token_urlsafe(16)
        text = site.templates.get_template(template).render(nonce=nonce, **values)
        return HTMLResponse(text, status, {"Content-Security-Policy": policy(nonce)})

    def missing(what: str) -> Any:
        return page("error.html", 404, title="Not found", text=what)

    async def home(_: Any) -> Any:
        return page("home.html", suites=list(_overview(site)))

    async def suite(request: Any) -> Any:
        lab = site.lab(request.path_params["name"])
        if lab is None:
            return missing(f"There is no suite '{request.path_params['name']}'.")
        report, drawings = site.report(lab)
        runner = site.runner(lab)
        return page("suite.html", report=report, drawings=drawings, runner=runner, statuses=list(Status))

    async def more(request: Any) -> Any:
        lab = site.lab(request.path_params["name"])
        result = None if lab is None else site.report(lab)[0].results.get(request.path_params["id"])
        if lab is None or result is None:
            return missing("There is no such measurement.")
        measured = await run_in_threadpool(page_of, lab, result)
        if measured.status is not Status.OK:
            return page("error.html", 500, title=f"No page: {measured.status}", text=measured.reason)
        return HTMLResponse(measured.outputs["page"], headers={"Content-Security-Policy": SANDBOX})

    async def progress(request: Any) -> Any:
        lab = site.lab(request.path_params["name"])
        return JSONResponse({} if lab is None else site.runner(lab).state())

    async def start(request: Any) -> Any:
        lab = site.lab(request.path_params["name"])
        if lab is None:
            return missing("There is no such suite.")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_FORM:
                return page("error.html", 413, title="Too long", text="No form of this application is that long.")
        try:
            form = parse_qs(body.decode(errors="replace"), max_num_fields=MOST_FIELDS)
        except ValueError:
            few = f"A form has at most {MOST_FIELDS} fields; choose fewer measurements at once."
            return page("error.html", 413, title="Too many", text=few)
        selection = chosen(lab, form, site.report(lab)[0].results if "id" in form else ())
        if "id" in form and not selection.keys:  # else it would mean all
            return missing("There is no such measurement.")
        site.runner(lab).start(lab, selection)
        return RedirectResponse(f"/suite/{lab.suite.name}", 303)

    async def stop(request: Any) -> Any:
        lab = site.lab(request.path_params["name"])
        if lab is None:
            return missing("There is no such suite.")
        site.runner(lab).stop()
        return RedirectResponse(f"/suite/{lab.suite.name}", 303)

    async def failed(_: Any, error: Exception) -> Any:
        text = error.message if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
        return page("error.html", 500, title="This did not work", text=text)

    async def gone(*_: Any) -> Any:
        return Response(status_code=400)  # nobody reads it

    routes = [
        Route("/", home),
        Route("/suite/{name}", suite),
        Route("/suite/{name}/page/{id}", more),
        Route("/suite/{name}/progress", progress),
        Route("/suite/{name}/start", start, methods=["POST"]),
        Route("/suite/{name}/stop", stop, methods=["POST"]),
    ]
    made = Starlette(routes=routes, exception_handlers={WorkbenchError: failed, ClientDisconnect: gone})
    return OwnPagesOnly(made, port)


def policy(nonce: str) -> str:
    """What a page may load: nothing but what stands in it."""
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)
"""For pages that suites make: they run, as strangers that can ask nothing of us."""


def page_of(lab: Lab, result: Result) -> Measured:
    """What an experiment's `page` says of a measurement's point, made in a process with its limits."""
    client = Client(lab.path, lab.files)
    try:
        task = Measurement(result.experiment, result.point, result.repetition, result.key, result.code)
        client.give(task.frame() | {"seed": result.seed, "page": True})
        return client.take()
    finally:
        client.end()


Scope = dict[str, Any]


class OwnPagesOnly:
    """Refuses what is not addressed to this server by its own name, or comes from a page of another.

    What it answers has the headers `ALWAYS`.
    """

    def __init__(self, application: Callable[..., Awaitable[None]], port: int) -> None:
        self.application, self.port = application, port

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer, or refuse with 403."""

        async def answer(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *ALWAYS]
            await send(message)

        if scope["type"] == "http" and not self.allowed(scope):
            headers = [(b"content-type", b"text/plain")]
            await answer({"type": "http.response.start", "status": 403, "headers": headers})
            await answer({"type": "http.response.body", "body": b"only pages of this application may ask this"})
            return
        await self.application(scope, receive, answer)

    def allowed(self, scope: Scope) -> bool:
        """Whether a request is ours."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        own = [f"{name}:{self.port}" for name in NAMES]
        host, origin = headers.get("host", []), headers.get("origin", [])
        if len(host) != 1 or host[0] not in own or len(origin) > 1:
            return False
        if scope["method"] in ("GET", "HEAD"):
            return not origin or origin[0] == f"http://{host[0]}"
        return origin == [f"http://{host[0]}"]


def _overview(site: Site) -> Iterator[dict[str, Any]]:
    for name in suite_files(site.experiments):
        try:
            lab = site.lab(name)
            if lab is not None:
                plan = SweepPlan.of(lab)
                yield {"name": name, "title": lab.suite.title, "points": len(plan.wanted), "measured": plan.measured,
                       "state": site.runner(lab).state(), "error": ""}  # fmt: skip
        except WorkbenchError as error:
            yield {"name": name, "error": error.message}


def chosen(lab: Lab, form: Mapping[str, Sequence[str]], known: Container[str] = ()) -> Selection:
    """What a form asks for, of what the suite has and the ids that are known; anything else in it means nothing."""
    suite = lab.suite
    keys = tuple(dict.fromkeys(key.partition(".")[0] for key in form.get("id", ()) if key in known))
    experiments = tuple(name for name in suite.experiments if name in form.get("experiment", ()))
    where: dict[str, tuple[Scalar, ...]] = {}
    for experiment in suite.experiments.values():
        for axis, values in experiment.region.axes.items():
            wanted = {*form.get(f"axis-{axis}", ())}
            found = tuple(value for value in values if str(value) in wanted)
            if found and (not experiments or experiment.name in experiments):
                where[axis] = (*where.get(axis, ()), *found)
    retry = tuple(status for status in Status if str(status) in form.get("retry", ()))
    return Selection(experiments, where, keys, again="again" in form, retry=retry)


def server(served: Any) -> Any:
    """What serves an application; it does not wait long for anybody."""
    import uvicorn

    from workbench.lab.connection import impatient

    return uvicorn.Server(
        uvicorn.Config(served, log_level="warning", server_header=False, timeout_graceful_shutdown=2, http=impatient())
    )


def serve(experiments: Path, folder: Path, port: int, suite: str | None = None, options: str = "") -> None:
    """Serve until interrupted; see `Site`.

    Raises
    ------
    LabError: uvicorn is not installed, or the port is taken.
    SuiteError: there is no such folder, or no such suite in it.
    """
    package("the web application is served by uvicorn", "uvicorn")
    if suite:
        named(experiments, suite)
    suite_files(experiments)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise LabError(f"port {port} cannot be used: {error.strerror}", hint="choose another with --port") from error
    port = listening.getsockname()[1]
    site = Site(experiments, folder, options)
    served = application(site, port)
    print(f"http://{HOST}:{port}/{f'suite/{suite}' if suite else ''}  (Ctrl-C ends it)", flush=True)
    try:
        server(served).run(sockets=[listening])
    finally:
        site.close()
        listening.close()
