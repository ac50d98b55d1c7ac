"""Login of people with OpenID Connect: code flow with PKCE, state and nonce."""

from __future__ import annotations

import hmac

from foja.domains.access.issuer import Issuer
from foja.engine.remote.issuer import post
from foja.errors import NotAuthenticated
from foja.pure.models.access.claims import ClaimRules
from foja.pure.models.access.login import Login
from foja.pure.models.access.principal import Principal


class Provider:
    """The OpenID Connect provider of an installation."""

    def __init__(self, issuer: Issuer, client_id: str, client_secret: str, rules: ClaimRules) -> None:
        self._issuer, self._client_id, self._rules = issuer, client_id, rules
        self._secret, self._audience = client_secret, client_id

    async def address(self, login: Login, redirect_uri: str) -> str:
        """Return the address at which a person logs in."""
        endpoint = str((await self._issuer.metadata()).get("authorization_endpoint", ""))
        joint = "&" if "?" in endpoint else "?"
        return f"{endpoint}{joint}{login.question(self._client_id, redirect_uri)}"

    async def person(self, login: Login, code: str, state: str, redirect_uri: str) -> Principal:
        """Return who logged in, or raise `NotAuthenticated`."""
        if not hmac.compare_digest(state.encode(), login.state.encode()):
            raise NotAuthenticated("this login was not begun in this browser; log in again")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": login.verifier,
            **({} if self._secret else {"client_id": self._client_id}),
        }
        endpoint = str((await self._issuer.metadata()).get("token_endpoint", ""))
        user = (self._client_id, self._secret) if self._secret else None
        answer = await post(endpoint, form, user)
        if answer is None or not isinstance(answer.get("id_token"), str):
            raise NotAuthenticated("the provider refused the login; log in again")
        claims = await self._issuer.claims(answer["id_token"], self._audience)
        nonce = claims.get("nonce")
        if not (isinstance(nonce, str) and hmac.compare_digest(nonce.encode(), login.nonce.encode())):
            raise NotAuthenticated("the token was made for another login; log in again")
        if claims.get("azp", self._client_id) != self._client_id:
            raise NotAuthenticated("the token was made for another service; log in again")
        return self._rules.principal(claims)
