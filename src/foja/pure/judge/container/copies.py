"""The copies of roots and keys in a bundle. Nothing is trusted from them; they hold nothing else either."""

from __future__ import annotations

from functools import lru_cache

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificates

from foja.errors import BadBundle, Refused
from foja.pure.core.bundle import names
from foja.pure.core.bundle.reader import Container
from foja.pure.core.note import Verifier

MAX_BYTES = 1 << 20


def check_copies(container: Container) -> None:
    """Raise `BadBundle` unless `trust/` holds only certificates as PEM, and one key of a log."""
    for name, is_copy in ((names.TSA_COPIES, _is_certificates), (names.LOG_COPY, _is_key)):
        if name not in container:
            continue
        if container.size(name) > MAX_BYTES or not is_copy(container.read(name)):
            raise BadBundle("MALFORMED", f"{name} holds something other than what it is for")


@lru_cache(maxsize=4)  # the bundles of one installation have the same copies; each has at most 1 MiB
def _is_certificates(data: bytes) -> bool:
    try:
        certificates = load_pem_x509_certificates(data) if data else []
        return b"".join(each.public_bytes(Encoding.PEM) for each in certificates) == data
    except Exception:  # the library raises many types for unreadable bytes
        return False


@lru_cache(maxsize=4)
def _is_key(data: bytes) -> bool:
    try:
        return bool(Verifier.from_vkey(data.decode().removesuffix("\n")))
    except (Refused, ValueError):
        return False
