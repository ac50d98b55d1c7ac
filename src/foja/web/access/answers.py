"""The bodies of the routes of access."""

from __future__ import annotations

from pydantic import Field

from foja.web.bodies import RequestBody
from foja.web.reference.answers.answer import Answer


class NewKey(RequestBody):
    """A key to make."""

    scopes: list[str]
    name: str = ""
    tenant: str | None = None
    installation: bool = False
    expires_at: str | None = Field(default=None, description="left out: after 365 days; null: never")


class KeyRotation(RequestBody):
    """A new secret for a key; the one before stays valid for a while."""

    overlap_seconds: float = 86_400.0


class KeyAnswer(Answer):
    """A key, without its secret."""

    id: str
    tenant: str
    name: str
    scopes: list[str]
    installation: bool = Field(description="whether it covers what all tenants share")
    created_at: str
    created_by: str | None
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None = Field(description="noted at most once a minute")


class KeyList(Answer):
    """The newest keys."""

    keys: list[KeyAnswer]


class NewKeyAnswer(Answer):
    """A key with its text, which is shown this once."""

    id: str
    key: str


class RotatedKey(NewKeyAnswer):
    """A key with its new text."""

    overlap_until: str = Field(description="until when the text before is valid")


class SessionAnswer(Answer):
    """A session that is not over."""

    id: str
    tenant: str
    actor: str
    scopes: list[str]
    installation: bool
    key_id: str | None = Field(description="the key that it was opened with")
    created_at: str
    seen_at: str
    ends_at: str


class SessionList(Answer):
    """The newest sessions."""

    sessions: list[SessionAnswer]


class Revoked(Answer):
    """What was revoked."""

    id: str
    revoked: bool = Field(description="false if it was revoked before")


class NameList(Answer):
    """The names of actors, by actor. Those without a name are left out."""

    names: dict[str, str]


class Me(Answer):
    """Who sends this request."""

    actor: str
    name: str | None = Field(description="for people who read; events have the actor")
    tenant: str
    scopes: list[str]
    installation: bool
    credential: str = Field(description="`key`, `token`, `session` or `local`")
