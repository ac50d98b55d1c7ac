"""The bytes of a request that become an image."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from foja.interfaces.web.caller import Caller
from foja.interfaces.web.transfer.form import open_body
from foja.interfaces.web.transfer.spool import spooled

FIELDS = frozenset({"name", "alt", "supplier_id"})


@dataclass(frozen=True, slots=True)
class ReceivedImage:
    """The bytes of an image in a file, and what the form says about them."""

    path: Path
    name: str | None
    fields: Mapping[str, str]


@asynccontextmanager
async def received_image(caller: Caller, allowed: frozenset[str]) -> AsyncIterator[ReceivedImage]:
    """Yield the image that a request carries as it is, or in a form with these fields."""
    most = int(caller.app.settings.image_max_mb * 1e6) + 65_536
    form, pieces = await open_body(caller.http, most, allowed)
    async with spooled(pieces) as path:
        if form:
            yield ReceivedImage(path, form.fields.get("name", form.filename), form.fields)
        else:
            yield ReceivedImage(path, None, {})
