"""The certificates that others are checked with over TLS."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def certificates() -> ssl.SSLContext:
    """Return what all connections of this process share. Reading the certificates takes 20 ms and more."""
    return httpx.create_ssl_context()
