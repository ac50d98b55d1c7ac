"""The bytes of a request that become an image."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request

from foja.errors import BadPayload
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.transfer.bodies import check_same_site, media_type_of, pieces_of
from foja.interfaces.web.transfer.form import FORM, FormReader
from foja.interfaces.web.transfer.spool import spooled

FIELDS = frozenset({"name", "alt", "supplier_id"})


@dataclass(frozen=True, slots=True)
class ReceivedImage:
    """The bytes of an image in a file, and what the form says about them."""

    path: Path
    name: str | None
    fields: Mapping[str, str]


@asynccontextmanager
async def received_image(
    request: Request, caller: Caller, allowed: frozenset[str]
) -> AsyncIterator[ReceivedImage]:
    """Yield the image that a request carries as it is, or in a form with these fields."""
    check_same_site(request)
    pieces = pieces_of(request, int(caller.app.settings.image_max_mb * 1e6) + 65_536)
    if media_type_of(request) != FORM:
        async with spooled(pieces) as path:
            yield ReceivedImage(path, None, {})
        return
    reader = FormReader(request, pieces)
    form = await reader.open()
    if unknown := sorted(form.fields.keys() - allowed):
        raise BadPayload(f"the form has no field {unknown[0]!r}: expected {', '.join(sorted(allowed))}")
    async with spooled(reader.pieces()) as path:
        yield ReceivedImage(path, form.fields.get("name", form.filename), form.fields)
