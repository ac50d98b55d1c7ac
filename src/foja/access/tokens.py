"""Bearer tokens (JWT) of programs and people, by their issuer."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from foja.access.issuer import Issuer
from foja.access.model.claims import ClaimRules
from foja.access.model.grant import Grant


class Tokens:
    """Checks the tokens of one issuer for this service."""

    def __init__(self, issuer: Issuer, audience: str, rules: ClaimRules) -> None:
        self._issuer, self._audience, self._rules = issuer, audience, rules

    async def grant(self, token: str, digest: bytes) -> Grant:
        """Return what a token gives until it expires; raise `NotAuthenticated` if it is not valid."""
        claims = await self._issuer.claims(token, self._audience)
        left = float(claims["exp"]) - datetime.now(UTC).timestamp()
        return Grant(self._rules.principal(claims), "token", digest, ends=time.monotonic() + left)
