"""The bytes of images: checked, then stored, then referred to by an event."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foja.domains.images.decoder.pool import Decoders
from foja.engine.blobs.objects import Objects
from foja.errors import BadPayload, ObjectMissing
from foja.pure.models.images.gallery import OBJECT, Image


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes that passed the check, and what the check found in them."""

    data: bytes
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Uploads:
    """Checks and stores the bytes of images. Nothing is recorded here."""

    objects: Objects
    decoders: Decoders

    async def check(self, data: bytes | Path) -> Upload:
        """Return the bytes if they are an image that is accepted, decoded to its end."""
        content = await asyncio.to_thread(self._read, data) if isinstance(data, Path) else bytes(data)
        header = await self.decoders.check(content)
        return Upload(
            content,
            {
                "media_type": header.media_type,
                "width": header.width,
                "height": header.height,
                "frames": header.frames,
            },
        )

    def _read(self, path: Path) -> bytes:
        """Return the content of a file; one that is too large is refused before more of it is read.

        A pipe would be waited for, and a device has no end: neither is read.
        """
        limits = self.decoders.limits
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise BadPayload(f"{path} is not a regular file; give a file, or its bytes")
            limits.check_size(state.st_size)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(limits.size + 1)  # it may grow meanwhile
        finally:
            os.close(descriptor)
        limits.check_size(len(content))
        return content

    async def store(self, tenant: str, upload: Upload) -> dict[str, Any]:
        """Store the bytes and return the fields of the event that refers to them."""
        stored = await self.objects.of(tenant).put(upload.data)
        return {"object": stored.sha256, "size": stored.size, **upload.metadata}

    async def read(self, tenant: str, image: Image, variant: str | None) -> bytes:
        """Return the bytes of an image or of one of its variants, or raise `ObjectMissing`."""
        url = image.url if variant is None else image.variants.get(variant, "")
        if not url.startswith(OBJECT):
            what = "its bytes" if variant is None else f"a variant {variant!r}"
            raise ObjectMissing(f"the image {image.id} has not {what} here: {url or 'none was made'}")
        return await self.objects.get(tenant, url.removeprefix(OBJECT))
