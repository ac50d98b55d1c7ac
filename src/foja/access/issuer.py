"""The keys of an issuer of tokens: found by its metadata, remembered, read again for one that is new."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

import jwt

from foja.errors import NotAuthenticated, Unavailable
from foja.remote.issuer import fetch

DISCOVERY: Final = "/.well-known/openid-configuration"
MAX_AGE_SECONDS: Final = 3_600.0
UNKNOWN_SECONDS: Final = 60.0  # between two reads for keys that are not known
RETRY_SECONDS: Final = 5.0
MAX_TOKEN_BYTES: Final = 16_384
KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})


class Issuer:
    """One issuer. It may be away: then the keys that are known are used on."""

    def __init__(self, url: str, jwks_url: str = "", *, algorithms: str) -> None:
        self.url = url
        self._jwks_url, self._algorithms = jwks_url, algorithms.split()
        self._metadata: Mapping[str, Any] = {}
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._read_at = self._unknown_at = self._retry_at = float("-inf")
        self._reading = asyncio.Lock()

    async def metadata(self) -> Mapping[str, Any]:
        """Return where the issuer can be asked what, as it says itself."""
        if not self._metadata:
            found = await fetch(self.url.rstrip("/") + DISCOVERY)
            if found.get("issuer") != self.url:
                raise Unavailable(
                    "the issuer calls itself by another name; correct FOJA_JWT_ISSUER or FOJA_OIDC_ISSUER"
                )
            self._metadata = found
        return self._metadata

    async def claims(self, token: str, audience: str) -> Mapping[str, Any]:
        """Return the claims of a token for this audience; raise `NotAuthenticated` if it is not valid."""
        if len(token) > MAX_TOKEN_BYTES:
            raise NotAuthenticated("the token is too long")
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in self._algorithms:
                raise NotAuthenticated("the token has another signature than those that are accepted")
            key = await self._key(header.get("kid"))
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=self._algorithms,
                audience=audience,
                issuer=self.url,
                options={"require": ["exp", "sub", "aud", "iss"]},
            )
        except (jwt.PyJWTError, TypeError, ValueError) as error:
            raise NotAuthenticated(
                f"the token is not valid ({type(error).__name__}); get a new one"
            ) from None
        return claims

    async def _key(self, kid: str | None) -> jwt.PyJWK:
        now = time.monotonic()
        if now >= self._read_at + MAX_AGE_SECONDS or kid not in self._keys:
            async with self._reading:
                await self._read(kid)
        if kid not in self._keys:
            raise NotAuthenticated("the issuer has no such key; get a new token")
        return self._keys[kid]

    async def _read(self, kid: str | None) -> None:
        """Read the keys again if they are old, or one is unknown and it is time."""
        now = time.monotonic()
        old = now >= self._read_at + MAX_AGE_SECONDS
        if not old and (kid in self._keys or now < self._unknown_at + UNKNOWN_SECONDS):
            return
        if now < self._retry_at and self._keys:
            return
        if not old:
            self._unknown_at = now
        try:
            found = await fetch(self._jwks_url or str((await self.metadata()).get("jwks_uri", "")))
        except Unavailable:
            self._retry_at = now + RETRY_SECONDS
            if not self._keys:
                raise
            return
        self._keys, self._read_at = _usable(found.get("keys")), now


def _usable(keys: object) -> dict[str | None, jwt.PyJWK]:
    """Return the public keys that sign, by their id; a single key also answers for tokens without an id."""
    found: dict[str | None, jwt.PyJWK] = {}
    for each in keys if isinstance(keys, list) else []:
        if isinstance(each, dict) and each.get("kty") in KEY_TYPES and each.get("use", "sig") == "sig":
            try:
                found[each.get("kid")] = jwt.PyJWK(each)
            except jwt.PyJWTError:
                continue  # of a sort that is not accepted
    if len(found) == 1:
        found.setdefault(None, next(iter(found.values())))
    return found
