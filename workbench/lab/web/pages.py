"""The pages of the application, and the requests that they may send."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from workbench.errors import WorkbenchError
from workbench.lab.plan import Lab
from workbench.lab.result import Status
from workbench.lab.web.access_control import SANDBOX, OwnPagesOnly, policy
from workbench.lab.web.site import Site, page_of, read_selection

LARGEST_FORM, MAX_FIELDS = 1 << 17, 5000


def application(site: Site, port: int) -> OwnPagesOnly:
    """Build the ASGI application."""
    pages = Pages(site)
    handlers = {WorkbenchError: pages.answer_failure, ClientDisconnect: pages.answer_gone}
    return OwnPagesOnly(Starlette(routes=pages.routes(), exception_handlers=handlers), port)


class Pages:
    """The handlers of requests, which name a suite by its `name` and a measurement by its `id`."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        """Return the routes from requests to methods."""
        return [
            Route("/", self.home),
            Route("/suite/{name}", self.suite),
            Route("/suite/{name}/page/{id}", self.own_page),
            Route("/suite/{name}/progress", self.progress),
            Route("/suite/{name}/start", self.start, methods=["POST"]),
            Route("/suite/{name}/stop", self.stop, methods=["POST"]),
        ]

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template as a page."""
        nonce = secrets.token_urlsafe(16)
        text = self.site.templates.get_template(template).render(nonce=nonce, **values)
        return HTMLResponse(text, status, {"Content-Security-Policy": policy(nonce)})

    def problem(self, status: int, title: str, text: str) -> HTMLResponse:
        """Return a page with an error."""
        return self.page("error.html", status, title=title, text=text)

    def missing(self, what: str) -> HTMLResponse:
        """Return the page for something that does not exist."""
        return self.problem(404, "Not found", what)

    def _lab(self, request: Request) -> Lab | None:
        return self.site.lab(request.path_params["name"])

    async def home(self, _: Request) -> Response:
        """Return the page with all suites."""
        return self.page("home.html", suites=list(self.site.overview()))

    async def suite(self, request: Request) -> Response:
        """Return the report of a suite, with its actions."""
        lab = self._lab(request)
        if lab is None:
            return self.missing(f"There is no suite '{request.path_params['name']}'.")
        report, drawings = self.site.report(lab)
        runner = self.site.runner(lab)
        return self.page("suite.html", report=report, drawings=drawings, runner=runner, statuses=list(Status))

    async def own_page(self, request: Request) -> Response:
        """Return the page that the experiment itself makes for a measurement."""
        lab = self._lab(request)
        result = None if lab is None else self.site.report(lab)[0].results.get(request.path_params["id"])
        if lab is None or result is None:
            return self.missing("There is no such measurement.")
        measured = await run_in_threadpool(page_of, lab, result)
        if measured.status is not Status.OK:
            return self.problem(500, f"No page: {measured.status}", measured.reason)
        return HTMLResponse(measured.outputs["page"], headers={"Content-Security-Policy": SANDBOX})

    async def progress(self, request: Request) -> Response:
        """Return the progress of a sweep, as data."""
        lab = self._lab(request)
        return JSONResponse({} if lab is None else self.site.runner(lab).state())

    async def start(self, request: Request) -> Response:
        """Start the sweep that a form requests."""
        lab = self._lab(request)
        if lab is None:
            return self.missing("There is no such suite.")
        form = await self._form(request)
        if isinstance(form, Response):
            return form
        selection = read_selection(lab, form, self.site.report(lab)[0].results if "id" in form else ())
        if "id" in form and not selection.keys:  # an empty selection would mean all
            return self.missing("There is no such measurement.")
        self.site.runner(lab).start(lab, selection)
        return RedirectResponse(f"/suite/{lab.suite.name}", 303)

    async def _form(self, request: Request) -> Mapping[str, Sequence[str]] | Response:
        """Return the fields of a form, or the page that refuses a form that is too large."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_FORM:
                return self.problem(413, "Too long", "No form of this application is that long.")
        try:
            return parse_qs(body.decode(errors="replace"), max_num_fields=MAX_FIELDS)
        except ValueError:
            message = f"A form has at most {MAX_FIELDS} fields; choose fewer measurements at once."
            return self.problem(413, "Too many", message)

    async def stop(self, request: Request) -> Response:
        """Stop the running sweep."""
        lab = self._lab(request)
        if lab is None:
            return self.missing("There is no such suite.")
        self.site.runner(lab).stop()
        return RedirectResponse(f"/suite/{lab.suite.name}", 303)

    async def answer_failure(self, _: Request, error: Exception) -> Response:
        """Return the page for an error in a suite or its results."""
        text = error.message if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
        return self.problem(500, "This did not work", text)

    async def answer_gone(self, *_: Any) -> Response:
        """Return an answer for a client that has disconnected and will not read it."""
        return Response(status_code=400)
