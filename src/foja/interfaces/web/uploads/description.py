"""The headers and bodies of tus in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from foja.interfaces.web.operation import BINARY, Json
from foja.interfaces.web.uploads.headers import CHUNK_TYPE, VERSION

_NUMBER = {"type": "string", "pattern": "^[0-9]{1,18}$"}
_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "Tus-Resumable": ({"type": "string", "enum": [VERSION]}, "the version of the protocol"),
    "Upload-Length": (_NUMBER, "how many bytes the upload will have"),
    "Upload-Offset": (_NUMBER, "where the bytes of this request begin"),
    "Upload-Metadata": (
        {"type": "string", "pattern": "^$|^filename [A-Za-z0-9+/]{4}$"},
        "`name base64,name base64`: target, filename, filetype, protect, predecessor, product_id, alt …",
    ),
    "Upload-Checksum": (
        {"type": "string", "pattern": "^sha256 [A-Za-z0-9+/]{43}=$"},
        "`sha256` and the digest of this body in Base64",
    ),
}


BODY: Json = {"content": {CHUNK_TYPE: {"schema": BINARY}}}


def headers(*required: str, optional: tuple[str, ...] = ()) -> list[Json]:
    """Return the description of these headers."""
    return [
        {"name": name, "in": "header", "required": name in required, "schema": schema, "description": about}
        for name in (*required, *optional)
        for schema, about in [_HEADERS[name]]
    ]
