"""Requests as one principal sends them, without keys and sessions."""

from __future__ import annotations

import pytest

from foja.pure.models.access.grant import Grant
from foja.pure.models.access.principal import Principal


def act_as(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every request of the local user from now on for one of this principal."""
    monkeypatch.setattr("foja.domains.access.service.Access.local", lambda _access: Grant(principal, "local"))
