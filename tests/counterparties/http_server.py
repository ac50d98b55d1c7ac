"""Servers of the standard library that answer in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from threading import Thread


@contextmanager
def listening(server: HTTPServer) -> Iterator[str]:
    """Let a server answer, and yield its address; at the end, close it."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
