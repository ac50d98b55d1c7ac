"""Ports that are free on this machine."""

from __future__ import annotations

from socket import socket


def free_port() -> int:
    """Return a port of the loopback interface that nothing uses now."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
