"""A cosigner over HTTP (c2sp.org/tlog-witness), as a minimal ASGI application."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from foja.engine.embedded.cosigner import TEXT_TYPE, CosignerAnswer
from foja.interfaces.web.endpoints.asgi import read_body, send_answer
from foja.pure.proofs.cosignature import MAX_REQUEST_BYTES

PATH = "/add-checkpoint"
TEXT = TEXT_TYPE.encode()
log = logging.getLogger("foja.cosigner")


class CosignerEndpoint:
    """Answers requests posted to `/add-checkpoint`, one after the other."""

    def __init__(self, reply: Callable[[bytes], CosignerAnswer]) -> None:
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != PATH:
            await send_answer(send, 404, TEXT, b"post a checkpoint to /add-checkpoint\n")
        elif scope["method"] != "POST":
            await send_answer(send, 405, TEXT, b"post a checkpoint\n")
        elif (body := await read_body(receive, MAX_REQUEST_BYTES)) is None:
            await send_answer(send, 413, TEXT, b"the request is too large\n")
        else:
            answer = self._answer(body)
            await send_answer(send, answer.status, answer.media_type.encode(), answer.text.encode())

    def _answer(self, body: bytes) -> CosignerAnswer:
        try:
            return self._reply(body)
        except OSError as error:  # nothing was signed: the state was not stored
            log.error("the state of the cosigner cannot be stored: %s", error)
            return CosignerAnswer(503, "the state cannot be stored; nothing is signed\n")
