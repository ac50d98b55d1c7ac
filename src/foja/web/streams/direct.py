"""Appends to conversations without FastAPI, which takes several times as long as everything else.

The routes of `conversations.routes` describe them and do the same; a test compares the answers of both.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from foja.access.model import principal
from foja.errors import FojaError
from foja.web.access.authentication import grant_of
from foja.web.bodies import NextEvent, parse_body
from foja.web.caller import Caller
from foja.web.context import WebContext
from foja.web.problems import Rejected, failed, incomplete, problem_of, rejection
from foja.web.streams.appends import append_to, describe_event, status_of
from foja.web.streams.batches import EventBatch, append_batch
from foja.web.transfer.encoder import JsonAnswer

ADDRESS = re.compile("/v1/conversations/([^/]+)/events(/batch)?")
log = logging.getLogger("foja.web")


@dataclass(frozen=True, slots=True)
class DirectRoute:
    """A route as metrics and spans name it."""

    path_format: str


SINGLE = DirectRoute("/v1/conversations/{conversation_id}/events")
BATCH = DirectRoute("/v1/conversations/{conversation_id}/events/batch")


class DirectAppends:
    """Answers appends to conversations, and passes every other request on."""

    def __init__(self, inner: ASGIApp, ctx: WebContext) -> None:
        self._inner, self._ctx = inner, ctx

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "POST"
            or not (found := ADDRESS.fullmatch(scope["path"]))
        ):
            await self._inner(scope, receive, send)
            return
        conversation_id, many = found[1], found[2] is not None
        scope["app"] = self._inner  # as its own router does
        scope["route"], scope["path_params"] = BATCH if many else SINGLE, {"conversation_id": conversation_id}
        answer = await self._answer(Request(scope, receive), conversation_id, many=many)
        await answer(scope, receive, send)

    async def _answer(self, request: Request, conversation_id: str, *, many: bool) -> Response:
        """Return the answer, also to what is refused or fails."""
        try:
            return await self._append(request, conversation_id, many=many)
        except FojaError as error:
            return problem_of(error)
        except Rejected as error:
            return rejection(error)
        except ClientDisconnect:
            return incomplete()
        except Exception:
            log.exception("a request failed")
            return failed()

    async def _append(self, request: Request, conversation_id: str, *, many: bool) -> Response:
        caller = Caller(await grant_of(request, self._ctx), self._ctx)
        caller.principal.check(principal.Scope.WRITE)
        await self._ctx.rate.admit(caller.principal)
        conversation = await caller.app.conversations.open(conversation_id)
        key = request.headers.get("idempotency-key")
        if many:
            return await append_batch(conversation, await parse_body(request, EventBatch), key, caller)
        event = await append_to(conversation, await parse_body(request, NextEvent), key, caller)
        return JsonAnswer(describe_event(event), status_of(event))
