"""One login with OpenID Connect: everything that binds its steps follows from one secret of the browser."""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlencode

FORM, STATE, NONCE, VERIFIER = b"foja/form/v1", b"foja/state/v1", b"foja/nonce/v1", b"foja/verifier/v1"
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")  # of this server: neither //host nor a control character


@dataclass(frozen=True, slots=True)
class Login:
    """The secret of a login, which only its browser has (in a cookie), and what follows from it."""

    secret: str

    @property
    def state(self) -> str:
        """What the provider returns with the code: the same browser asked."""
        return derive(self.secret, STATE)

    @property
    def nonce(self) -> str:
        """What the token must contain: it was made for this login."""
        return derive(self.secret, NONCE)

    @property
    def verifier(self) -> str:
        """What the provider wants with the code: the same server asked (PKCE)."""
        return derive(self.secret, VERIFIER)

    def question(self, client_id: str, redirect_uri: str) -> str:
        """Return the query of the request to the provider."""
        challenge = _encode(sha256(self.verifier.encode()).digest())
        fields: Mapping[str, str] = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "scope": "openid email profile",
            "state": self.state,
            "nonce": self.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return urlencode(fields)


def derive(secret: str, purpose: bytes) -> str:
    """Return a value for one purpose that follows from a secret and does not show it."""
    return _encode(hmac.digest(secret.encode(), purpose, "sha256"))


def form_token(secret: str) -> str:
    """Return the token that a form must send with the cookie that has this secret."""
    return derive(secret, FORM)


def own_path(text: str | None) -> str:
    """Return where to continue after a login: a path of this server, or the first page."""
    return text if text and _OWN_PATH.fullmatch(text) else "/"


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
