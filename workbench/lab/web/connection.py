"""Connections of the web application: a request that comes too slowly is not waited for."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT = 10.0
"""Seconds in which a request has to be there whole, headers and body."""
LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class TimedConnection(H11Protocol):  # type: ignore[misc]
    """A connection that is closed where a request takes too long to come; uvicorn itself closes only idle ones."""

    clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let the clock run exactly while a request is coming."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop()
        elif self.clock is None:
            self.clock = self.loop.call_later(REQUEST_TIMEOUT, self._give_up)

    def _stop(self) -> None:
        if self.clock is not None:
            self.clock.cancel()
            self.clock = None

    def _give_up(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.IDLE:  # else an answer is being made, and hears that the client is gone
            self.transport.write(LATE)
        self.transport.close()
