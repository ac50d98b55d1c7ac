"""Requests as one principal sends them, without keys and sessions."""

from __future__ import annotations

from typing import Any, cast

import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from foja.access.model.grant import Grant
from foja.access.model.principal import Principal
from foja.web.access.authentication import grant_of
from foja.web.application import create_application
from foja.web.context import WebContext
from foja.web.pages.frame.visitor import visitor_of


def act_as(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every server that starts from now on take its requests for those of this principal."""

    async def grant() -> Grant:
        return Grant(principal, "local")

    async def visitor() -> Principal:
        return principal

    def restricted(ctx: WebContext) -> ASGIApp:
        application: Any = create_application(ctx)
        web = application
        while not isinstance(web, FastAPI):
            web = web._inner
        web.dependency_overrides |= {grant_of: grant, visitor_of: visitor}
        return cast("ASGIApp", application)

    monkeypatch.setattr("foja.web.server.create_application", restricted)
