"""Requests from pages of other origins (CORS): those that the settings name, with a key, without cookies."""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from foja.interfaces.web.access.front import Front

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SENT = (
    *("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Cache-Control"),
    *("Range", "If-Range", "If-None-Match", "If-Match"),
    *("Tus-Resumable", "Upload-Length", "Upload-Offset", "Upload-Metadata", "Upload-Checksum"),
    *("Upload-Defer-Length", "X-HTTP-Method-Override", "X-Requested-With"),
)
SHOWN = (
    *("Location", "ETag", "Retry-After", "Content-Disposition", "Content-Range", "Accept-Ranges", "Allow"),
    *("Tus-Resumable", "Tus-Version", "Tus-Extension", "Tus-Max-Size", "Tus-Checksum-Algorithm"),
    *("Upload-Offset", "Upload-Length", "Upload-Expires", "WWW-Authenticate"),
)
PREFLIGHT_SECONDS = 600


def shared(inner: ASGIApp, front: Front) -> ASGIApp:
    """Return an application that the pages of the named origins may use; the same one if there are none."""
    if not front.origins:
        return inner
    return CORSMiddleware(
        inner,
        allow_origins=front.origins,
        allow_methods=METHODS,
        allow_headers=SENT,
        expose_headers=SHOWN,
        allow_credentials=False,  # a session of a person stays with the pages of this server
        max_age=PREFLIGHT_SECONDS,
    )
