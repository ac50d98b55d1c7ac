"""What the claims of a checked token say: who it is, of which tenant, with which scopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foja.errors import NotAllowed, Refused
from foja.pure.core.fields import check_tenant
from foja.pure.models.access.principal import Principal, Scope

INSTALLATION = "installation"  # beside the scopes: it covers what all tenants share
PREFIX = "foja:"
MOST_NAME = 200  # characters


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """What a token says, and the digest of the key that signed it."""

    claims: Mapping[str, Any]
    key: bytes


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """Which claims name the tenant and the scopes, and what holds where they are absent."""

    tenant_claim: str
    scopes_claim: str
    own_tenant: str
    default_scopes: frozenset[Scope] = frozenset()

    def principal(self, claims: Mapping[str, Any]) -> Principal:
        """Return the principal of these claims, or raise `NotAllowed` if they give no scope or no tenant."""
        names = _names(claims.get(self.scopes_claim))
        scopes = frozenset(Scope(name) for name in names if name in set(Scope)) or self.default_scopes
        if not scopes:
            raise NotAllowed(
                f"the token gives no scope: its claim `{self.scopes_claim}` needs one of {', '.join(Scope)}"
            )
        actor = f"user:{_subject(claims)}"
        whole = INSTALLATION in names
        return Principal(self._tenant(claims), actor, scopes, whole, person=True, name=_name(claims))

    def _tenant(self, claims: Mapping[str, Any]) -> str:
        if not self.tenant_claim:
            return self.own_tenant
        try:
            return check_tenant(claims.get(self.tenant_claim))
        except Refused as error:
            raise NotAllowed(
                f"the token names no tenant in its claim `{self.tenant_claim}`: {error}; "
                "FOJA_JWT_TENANT_CLAIM chooses the claim"
            ) from None


def _names(value: object) -> frozenset[str]:
    """Return the names in a claim: a text with spaces, or a list."""
    found = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(name.removeprefix(PREFIX) for name in found if isinstance(name, str))


def _name(claims: Mapping[str, Any]) -> str | None:
    """Return the name for people who read, as the issuer gives it, without what cannot be printed."""
    for claim in ("name", "preferred_username"):
        value = claims.get(claim)
        if isinstance(value, str) and (name := "".join(filter(str.isprintable, value))[:MOST_NAME].strip()):
            return name
    return None


def _subject(claims: Mapping[str, Any]) -> str:
    """Return the name to record: the address if the issuer checked it, or else the subject."""
    email = claims.get("email")
    return email if isinstance(email, str) and claims.get("email_verified") is True else str(claims["sub"])
