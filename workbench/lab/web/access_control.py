"""Access control: the application answers requests to its own address, and changes come from its own pages only.

The rule of this module: no other `Host` gets an answer, and no other `Origin` can change anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
ALWAYS = (
    (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"), (b"cache-control", b"no-store"),
)  # fmt: skip
"""Headers of every answer. With the policy `no-referrer`, browsers would omit the origin of our own forms, too."""


def policy(nonce: str) -> str:
    """Return the content security policy of a page, which allows only its own contents."""
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)
"""The policy for pages that suites make: scripts run, but as a foreign origin without access to the application."""


Scope = dict[str, Any]


class OwnPagesOnly:
    """ASGI middleware that refuses requests with another host, or from a page of another origin.

    Its answers have the headers `ALWAYS`.
    """

    def __init__(self, application: Callable[..., Awaitable[None]], port: int) -> None:
        self.application, self.port = application, port

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer the request, or refuse it with 403."""

        async def answer(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *ALWAYS]
            await send(message)

        if scope["type"] == "http" and not self.is_allowed(scope):
            headers = [(b"content-type", b"text/plain")]
            await answer({"type": "http.response.start", "status": 403, "headers": headers})
            text = f"only pages of this application may send requests: open http://{HOST}:{self.port}/"
            await answer({"type": "http.response.body", "body": text.encode()})
            return
        await self.application(scope, receive, answer)

    def is_allowed(self, scope: Scope) -> bool:
        """Whether a request has our address, and an origin that is ours; only a request that reads may omit it."""
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
