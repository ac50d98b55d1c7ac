"""Access, put together for an installation."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from uuid import UUID

from foja.domains.access.service import Access
from foja.engine.driver.database import Database
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.settings import Settings
from foja.errors import NotAllowed, SetupFailed
from foja.pure.models.access.claims import ClaimRules
from foja.pure.models.access.principal import Scope, parse_scopes

if TYPE_CHECKING:
    from foja.domains.access.provider import Provider
    from foja.domains.access.tokens import Tokens

ROLE = "foja_access"
CONNECTIONS = 2  # of its own: a check of a key must not wait behind requests


def assemble(
    settings: Settings, notifier: Notifier, installation_id: UUID, closing: AsyncExitStack
) -> Access:
    """Return access for an installation. Nothing is opened before it is used."""
    database = Database(settings.database_url, ROLE, CONNECTIONS, settings.answer_seconds)
    closing.push_async_callback(database.close)
    tokens, provider = _tokens(settings, closing), _provider(settings, closing)
    access = Access(settings, database, notifier, installation_id, tokens, provider)
    closing.push_async_callback(access.close)
    return access


def _tokens(settings: Settings, closing: AsyncExitStack) -> Tokens | None:
    if not settings.jwt_issuer:
        return None
    if not settings.jwt_audience:
        raise SetupFailed("FOJA_JWT_ISSUER needs FOJA_JWT_AUDIENCE: the name of this service in its tokens")
    from foja.domains.access.issuer import Issuer  # late: PyJWT is needed by those who set an issuer
    from foja.domains.access.tokens import Tokens

    issuer = Issuer(settings.jwt_issuer, settings.jwt_jwks_url, algorithms=settings.jwt_algorithms)
    closing.push_async_callback(issuer.close)
    return Tokens(issuer, settings.jwt_audience, _rules(settings))


def _provider(settings: Settings, closing: AsyncExitStack) -> Provider | None:
    if not settings.oidc_issuer:
        return None
    if not settings.oidc_client_id:
        raise SetupFailed("FOJA_OIDC_ISSUER needs FOJA_OIDC_CLIENT_ID: the name of this service there")
    from foja.domains.access.issuer import Issuer
    from foja.domains.access.provider import Provider

    try:
        scopes = parse_scopes(settings.oidc_default_scopes.split())
    except NotAllowed as error:
        raise SetupFailed(f"FOJA_OIDC_DEFAULT_SCOPES is not valid: {error}") from None
    issuer = Issuer(settings.oidc_issuer, algorithms=settings.jwt_algorithms)
    closing.push_async_callback(issuer.close)
    rules = _rules(settings, scopes)
    return Provider(issuer, settings.oidc_client_id, settings.oidc_client_secret, rules)


def _rules(settings: Settings, scopes: frozenset[Scope] = frozenset()) -> ClaimRules:
    return ClaimRules(settings.jwt_tenant_claim, settings.jwt_scopes_claim, settings.own_tenant, scopes)
