"""The headers of tus 1.0: read strictly, written on every answer. Pure."""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode
from collections.abc import Mapping
from email.utils import formatdate
from typing import NamedTuple

from foja.interfaces.web.problems import Rejected

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,expiration,termination,checksum"
CHUNK_TYPE = "application/offset+octet-stream"
ALGORITHM = "sha256"
RESUMABLE = {"Tus-Resumable": VERSION, "Cache-Control": "no-store"}
MAX_METADATA = 16


class Checksum(NamedTuple):
    """The digest that a client states of the bytes of one request."""

    digest: bytes

    def matches(self, found: bytes) -> bool:
        """Return whether the bytes are those that were sent."""
        return found == self.digest


def check_version(headers: Mapping[str, str]) -> None:
    """Raise `Rejected` (412) unless the client speaks this version."""
    if headers.get("tus-resumable") != VERSION:
        raise Rejected(412, "Another version of tus.", f"send the header Tus-Resumable: {VERSION}")


def read_length(headers: Mapping[str, str], name: str) -> int:
    """Return a number of bytes, or raise `Rejected`."""
    text = headers.get(name.lower(), "")
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise Rejected(400, f"{name} is missing or not valid.", f"send {name} with a number of bytes")
    return int(text)


def read_metadata(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of Upload-Metadata: `name base64,name base64`."""
    found: dict[str, str] = {}
    for pair in filter(None, (each.strip() for each in headers.get("upload-metadata", "").split(","))):
        name, _, value = pair.partition(" ")
        try:
            found[name] = b64decode(value.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError, ValueError):
            raise Rejected(
                400, "Upload-Metadata is not valid.", f"the value of {name[:80]!r} is not Base64 of UTF-8"
            ) from None
    if any("\0" in each for each in found.values()):
        raise Rejected(400, "Upload-Metadata is not valid.", "a value contains U+0000; leave it out")
    if len(found) > MAX_METADATA:
        raise Rejected(400, "Upload-Metadata is not valid.", f"use at most {MAX_METADATA} names")
    return found


def read_checksum(headers: Mapping[str, str]) -> Checksum | None:
    """Return the checksum of a request, if it states one."""
    text = headers.get("upload-checksum")
    if text is None:
        return None
    name, _, value = text.partition(" ")
    try:
        digest = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if name != ALGORITHM or len(digest) != hashlib.sha256().digest_size:
        raise Rejected(400, "The checksum is not valid.", f"send Upload-Checksum: {ALGORITHM} BASE64")
    return Checksum(digest)


def expiry(moment: float) -> dict[str, str]:
    """Return the header that says when an upload expires."""
    return {"Upload-Expires": formatdate(moment, usegmt=True)}
