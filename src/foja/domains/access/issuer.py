"""The keys of an issuer of tokens: found by its metadata, remembered for minutes, read again for a new one.

A key that the issuer withdrew counts until its keys are read again, so for `MAX_AGE_SECONDS` at most.
While the issuer is away, the keys that were read last count on, for `AWAY_SECONDS` at most.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import jwt

from foja.engine.faults import Watch
from foja.engine.remote.issuer import fetch
from foja.engine.tasks import end
from foja.errors import NotAuthenticated, Unavailable
from foja.pure.models.access.claims import VerifiedToken

DISCOVERY: Final = "/.well-known/openid-configuration"
MAX_AGE_SECONDS: Final = 300.0
AWAY_SECONDS: Final = 3_600.0  # how long keys count that cannot be read again
UNKNOWN_SECONDS: Final = 60.0  # between two reads for keys that are not known
RETRY_SECONDS: Final = 5.0
MAX_TOKEN_BYTES: Final = 16_384
KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})
MIN_RSA_BITS: Final = 2_048  # smaller ones can be broken (NIST SP 800-131A)
KEY_PARTS: Final = ("kid", "kty", "n", "e", "crv", "x", "y")


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A public key that signs. `digest` is the same as long as the key is."""

    key: jwt.PyJWK
    digest: bytes


class Issuer:
    """One issuer. It may be away: then the keys that are known are used on for a while."""

    def __init__(self, url: str, jwks_url: str = "", *, algorithms: str) -> None:
        self.url = url
        self._jwks_url, self._algorithms = jwks_url, algorithms.split()
        self._metadata: Mapping[str, Any] = {}
        self._keys: dict[str | None, IssuerKey] = {}
        self._digests: frozenset[bytes] = frozenset()
        self._read_at = self._unknown_at = self._retry_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None
        self._fault = "its keys were not read yet"
        self._watch = Watch("the keys of the issuer")

    async def close(self) -> None:
        """End a read that is under way."""
        if self._reading:
            await end([self._reading])
        self._watch.close()

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
        return (await self.verify(token, audience)).claims

    async def verify(self, token: str, audience: str) -> VerifiedToken:
        """Return a token's claims and which key signed them; raise `NotAuthenticated` if it is not valid."""
        if len(token) > MAX_TOKEN_BYTES:
            raise NotAuthenticated("the token is too long")
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in self._algorithms:
                raise NotAuthenticated("the token has another signature than those that are accepted")
            found = await self._key(header.get("kid"))
            claims: dict[str, Any] = jwt.decode(
                token,
                found.key.key,
                algorithms=self._algorithms,
                audience=audience,
                issuer=self.url,
                options={"require": ["exp", "sub", "aud", "iss"]},
            )
        except (jwt.PyJWTError, TypeError, ValueError) as error:
            raise NotAuthenticated(
                f"the token is not valid ({type(error).__name__}); get a new one"
            ) from None
        return VerifiedToken(claims, found.digest)

    @property
    def due(self) -> float:
        """When the keys are to be read again, by the clock of this process."""
        return max(self._read_at + MAX_AGE_SECONDS, self._retry_at)

    def accepts(self, digest: bytes) -> bool:
        """Return whether a key counts still: the issuer had it when its keys were last read, lately."""
        return digest in self._digests and time.monotonic() < self._read_at + AWAY_SECONDS

    def refresh(self) -> asyncio.Task[None] | None:
        """Begin to read the keys again if they are old; return the task, which does not fail."""
        return self._begin() if time.monotonic() >= self.due else None

    async def _key(self, kid: str | None) -> IssuerKey:
        now = time.monotonic()
        reading, again = self.refresh(), max(self._unknown_at + UNKNOWN_SECONDS, self._retry_at)
        if reading is None and kid not in self._keys and now >= again:
            self._unknown_at = now
            reading = self._begin()
        if reading:
            await asyncio.shield(reading)  # others wait for it too
        if time.monotonic() >= self._read_at + AWAY_SECONDS:
            raise Unavailable(self._fault)
        if kid not in self._keys:
            raise NotAuthenticated(
                f"the issuer has no such key, or it is an RSA key below {MIN_RSA_BITS} bits; get a new token"
            )
        return self._keys[kid]

    def _begin(self) -> asyncio.Task[None]:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        """Read the keys: those that are gone count no longer. If the issuer is away, all count on."""
        began = time.monotonic()
        try:
            found = await fetch(self._jwks_url or str((await self.metadata()).get("jwks_uri", "")))
            if not isinstance(found.get("keys"), list):
                raise Unavailable("the issuer's answer has no keys; check FOJA_JWT_JWKS_URL")
        except Unavailable as error:
            self._retry_at, self._fault = time.monotonic() + RETRY_SECONDS, str(error)
            self._watch.failed(error)
            return
        self._keys, self._read_at = _usable(found["keys"]), began
        self._digests = frozenset(each.digest for each in self._keys.values())
        self._watch.worked()


def _usable(keys: list[object]) -> dict[str | None, IssuerKey]:
    """Return the public keys that sign, by their id; a single key also answers for tokens without an id."""
    found: dict[str | None, IssuerKey] = {}
    for each in keys:
        if isinstance(each, dict) and each.get("kty") in KEY_TYPES and each.get("use", "sig") == "sig":
            try:
                key = jwt.PyJWK(each)
                if getattr(key.key, "key_size", MIN_RSA_BITS) >= MIN_RSA_BITS or each["kty"] != "RSA":
                    found[each.get("kid")] = IssuerKey(key, _digest(each))
            except (jwt.PyJWTError, TypeError, ValueError):
                continue  # of a sort that is not accepted
    if len(found) == 1:
        found.setdefault(None, next(iter(found.values())))
    return found


def _digest(key: Mapping[str, object]) -> bytes:
    return sha256(repr([key.get(part) for part in KEY_PARTS]).encode()).digest()
