"""Signatures as Standard Webhooks (standardwebhooks.com) has them: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from foja.errors import BadPayload

PREFIX: Final = "whsec_"
SHORTEST, LONGEST = 24, 64  # bytes of a secret


def encode_secret(secret: bytes) -> str:
    """Return a secret as its receiver is given it."""
    return PREFIX + b64encode(secret).decode()


def decode_secret(text: str) -> bytes:
    """Return the bytes of a secret, or raise `BadPayload`. The message does not repeat it."""
    try:
        secret = b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if not text.startswith(PREFIX) or not SHORTEST <= len(secret) <= LONGEST:
        raise BadPayload(
            f"not a valid secret: expected {PREFIX} and {SHORTEST} to {LONGEST} bytes in base64; "
            "leave it out, and one is made"
        )
    return secret


def sign(secrets: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """Return the three headers of a message, with one signature for each secret."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = [hmac.digest(secret, signed, sha256) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{b64encode(digest).decode()}" for digest in digests),
    }
