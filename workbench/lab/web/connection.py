"""Connections of the web application, which close if a request arrives too slowly."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT = 10.0
"""Seconds within which a request has to arrive completely, headers and body."""
LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class TimedConnection(H11Protocol):  # type: ignore[misc]
    """A connection that closes if a request takes too long to arrive; uvicorn itself closes only idle ones."""

    clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the timer if the first request is awaited or a request is arriving; stop it otherwise."""
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
        if self.conn.our_state is h11.IDLE:  # otherwise the handler of a request learns that the client is gone
            self.transport.write(LATE)
        self.transport.close()
