"""The server of the application."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from workbench.errors import LabError
from workbench.lab.rows import package
from workbench.lab.suite_search import find_suite, suite_files
from workbench.lab.web.access_control import HOST
from workbench.lab.web.site import Site


def server(served: Any) -> Any:
    """Return the server of an application, with short timeouts for clients."""
    import uvicorn

    from workbench.lab.web.connection import TimedConnection

    options = {"log_level": "warning", "server_header": False, "timeout_graceful_shutdown": 2}
    return uvicorn.Server(uvicorn.Config(served, http=TimedConnection, **options))


def serve(experiments: Path, folder: Path, port: int, suite: str | None = None, options: str = "") -> None:
    """Serve until interrupted; see `Site`.

    Raises
    ------
    LabError: starlette or uvicorn is not installed, or the port is taken.
    SuiteError: there is no such folder, or no such suite in it.
    """
    package("the web application is served by uvicorn", "uvicorn")
    if suite:
        find_suite(experiments, suite)
    suite_files(experiments)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # a reader of the address below may connect at once
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "ports are 0 to 65535"
        raise LabError(f"port {port} cannot be used: {why}", hint="choose another with --port") from error
    port = listening.getsockname()[1]
    package("the web application needs starlette", "starlette")
    from workbench.lab.web.pages import application

    site = Site(experiments, folder, options)
    served = application(site, port)
    print(f"http://{HOST}:{port}/{f'suite/{suite}' if suite else ''}  (Ctrl-C ends it)", flush=True)
    try:
        server(served).run(sockets=[listening])
    finally:
        site.close()
        listening.close()
