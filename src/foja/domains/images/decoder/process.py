"""One decoder process: start it, ask it. What it answers is checked, never trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foja.engine.sandbox.process import Bounds, Died, SandboxProcess, TooSlow
from foja.errors import DecoderFailed

PROGRAM = "foja.domains.images.decoder.program"
__all__ = ["Bounds", "Died", "Process"]


class Process(SandboxProcess):
    """A decoder that runs. It answers one request at a time."""

    heic: bool

    @classmethod
    async def start(cls, bounds: Bounds, *, heic: bool = False) -> Process:
        """Start a decoder. Only one that is started for HEIC can decode it: its library takes memory."""
        process = await cls.start_program(PROGRAM, bounds, int(heic))
        process.heic = heic
        return process

    @property
    def renders(self) -> bool:
        """Whether it can make variants."""
        return bool(self.hello.get("renders"))

    async def ask(self, request: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the answer to a request. On any failure the process is dead: `Died` or `DecoderFailed`."""
        try:
            return await super().ask(request, data)
        except TooSlow:
            raise DecoderFailed(
                "decoder_timeout",
                f"the decoder of images was stopped after {self._bounds.seconds:g} seconds "
                "(FOJA_IMAGE_SECONDS); send a smaller image",
            ) from None
