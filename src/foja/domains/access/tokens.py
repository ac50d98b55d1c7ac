"""Bearer tokens (JWT) of programs and people, by their issuer."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

from foja.domains.access.issuer import Issuer
from foja.pure.models.access.claims import ClaimRules
from foja.pure.models.access.grant import Grant, Signature

AGAIN_SECONDS = 1.0  # after which what lasts is looked at again while the keys are read


class Tokens:
    """Checks the tokens of one issuer for this service."""

    def __init__(self, issuer: Issuer, audience: str, rules: ClaimRules) -> None:
        self._issuer, self._audience, self._rules = issuer, audience, rules

    async def grant(self, token: str, digest: bytes) -> Grant:
        """Return what a token gives until its key is checked again; raise `NotAuthenticated` if not valid."""
        found = await self._issuer.verify(token, self._audience)
        left = float(found.claims["exp"]) - datetime.now(UTC).timestamp()
        signature = Signature(found.key, time.monotonic() + left)
        ends = min(signature.expires, self._issuer.due)
        return Grant(self._rules.principal(found.claims), "token", digest, ends=ends, signature=signature)

    def accepts(self, grant: Grant) -> bool:
        """Return whether a grant is no token's, or that of one whose key the issuer has not withdrawn."""
        return grant.signature is None or self._issuer.accepts(grant.signature.key)

    def again(self, grant: Grant) -> Grant | None:
        """Return a grant with the time of its next check, or None if it is over. It does not wait.

        The keys are read in the background if they are old: a slow issuer must not delay other checks.
        """
        now, signature = time.monotonic(), grant.signature
        self._issuer.refresh()
        if signature is None or now >= signature.expires or not self.accepts(grant):
            return None
        return replace(grant, ends=min(signature.expires, max(self._issuer.due, now + AGAIN_SECONDS)))
