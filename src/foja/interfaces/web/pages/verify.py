"""`/verify`: judge a bundle, or a file with its proofs. For anyone; nothing is stored.

The script sends the digest of a file instead of the file where a digest is enough. What was sent is judged
in a process of its own, with limits of time and memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO, Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from foja.errors import Refused, TooLarge
from foja.interfaces.web.context import context_of
from foja.interfaces.web.pages.frame.forms import field, files_of, read_form
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.interfaces.web.verify.judge import VerifyRequest
from foja.pure.judge.proof import MAX_BYTES

MAX_REQUEST_BYTES: Final = 512 * 1024 * 1024


async def show(page: Page) -> Response:
    """Show the form."""
    return page.render("verify.html", "verify", report=None, own=True, digest="")


async def verify(page: Page) -> Response:
    """Judge what was sent, and show the report below the form."""
    request, anonymous = page.request, page.visitor is None
    ctx = context_of(request)
    ctx.judges.check_room(anonymous=anonymous)
    _check_size(request)
    form = await read_form(request)
    own, digest = field(form, "own") == "yes", field(form, "digest")
    files = files_of(form, "file")
    if not files and not digest:
        raise Refused("there is nothing to verify; choose a bundle, or a file with its proofs")
    wanted = VerifyRequest(
        trust=[*(ctx.app.trust if own else ()), *await _trust(form)],
        proofs=[await each.read(MAX_BYTES + 1) for each in files_of(form, "proofs")],
        digest=digest or None,
        name=(files[0].filename if files else field(form, "name")) or None,
        language=page.language,
    )
    report: dict[str, Any] = json.loads(
        await ctx.judges.judge(_on_disk(files[0].file) if files else None, wanted, anonymous=anonymous)
    )
    return page.render("verify.html", "verify", report=report, own=own, digest=digest)


def _check_size(request: Request) -> None:
    """Raise `TooLarge` before anything is read; what is judged here waits on the disk of this server."""
    if int(request.headers.get("content-length", MAX_REQUEST_BYTES + 1)) > MAX_REQUEST_BYTES:
        size = MAX_REQUEST_BYTES // (1024 * 1024)
        raise TooLarge(f"the files are over {size} MB; use `foja verify` on your computer instead")


async def _trust(form: FormData) -> Sequence[str | bytes]:
    lines = field(form, "trust")
    given: list[str | bytes] = [await each.read() for each in files_of(form, "trust_files")]
    return [*given, f"{lines}\n"] if lines else given


def _on_disk(file: BinaryIO) -> BinaryIO:
    """Return an uploaded file that another process can read: a small one was in memory until now."""
    file.fileno()
    file.flush()
    file.seek(0)
    return file


PAGES = (
    PageRoute("GET /verify", show, anyone=True),
    PageRoute("POST /verify", verify, anyone=True),
)
