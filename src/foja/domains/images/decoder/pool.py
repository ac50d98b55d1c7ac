"""A few decoders, started when they are needed, replaced when they are used up or dead."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foja.domains.images.decoder import heic
from foja.domains.images.decoder.process import Bounds, Died, Process
from foja.engine.faults import Report, unreported
from foja.engine.settings import Settings
from foja.errors import DecoderFailed, ImageRefused
from foja.pure.models.images.headers.parser import HEIC_ADVICE, Format, Header, parse_header
from foja.pure.models.images.limits import Limits
from foja.pure.models.images.variants import VariantSpec

TRIES = 2  # of one image: a decoder may be killed for another reason than its image
REFUSALS = frozenset({"image_cut_short", "image_damaged", "image_too_heavy"})  # that a decoder may give
log = logging.getLogger("foja.images")


@dataclass(frozen=True, slots=True)
class Variant:
    """A rendered variant."""

    spec: VariantSpec
    data: bytes
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Rendering:
    """All variants of an image, its size as it is shown, and its ThumbHash."""

    width: int
    height: int
    thumbhash: bytes
    variants: Sequence[Variant]


def open_decoders(settings: Settings, report: Report = unreported) -> Decoders:
    """Return the decoders of an installation; none is started before an image comes."""
    return Decoders(
        Limits(
            int(settings.image_max_mb * 1e6),
            int(settings.image_max_megapixels * 1e6),
            settings.image_max_side,
            settings.image_max_frames,
        ),
        Bounds(settings.image_seconds, settings.image_memory_mb << 20),
        most=settings.image_decoders,
        report=report,
    )


class Decoders:
    """Checks and renders images, each in a process that can do nothing else."""

    def __init__(
        self,
        limits: Limits | None = None,
        bounds: Bounds | None = None,
        *,
        most: int = 2,
        report: Report = unreported,
    ) -> None:
        """`report` is told when a decoder answers, and when decoders die or do not start."""
        self._report = report
        self.limits, self._bounds = limits or Limits(), bounds or Bounds()
        self._free = asyncio.Semaphore(most)
        self._idle: list[Process] = []
        self._closed = self._warned = False

    @property
    def renders(self) -> bool:
        """Whether the library is installed that makes variants."""
        return _has("pyvips")

    async def check(self, data: bytes) -> Header:
        """Return what the image is, decoded to its end, or raise `ImageRefused` or `DecoderFailed`.

        Limits are checked before anything is decoded. Without a library that decodes, only those are.
        """
        header = self.read(data)
        if self.renders or _has("PIL"):
            await self._ask({"image": _image(header)}, data)
        return header

    async def render(self, data: bytes, specs: Sequence[VariantSpec]) -> Rendering:
        """Return the variants of an image, or raise `ImageRefused` or `DecoderFailed`."""
        header = self.read(data)
        request = {"image": _image(header), "specs": [spec.content for spec in specs]}
        return _rendering(specs, *await self._ask(request, data))

    def read(self, data: bytes) -> Header:
        """Return what the header says, or raise `ImageRefused`: nothing is decoded."""
        self.limits.check_size(len(data))
        header = parse_header(data)
        if header.format is Format.HEIC and not heic.INSTALLED:
            raise ImageRefused("image_unsupported", f"HEIC cannot be decoded here; {HEIC_ADVICE}")
        self.limits.check(header)
        return header

    async def close(self) -> None:
        """End all idle decoders; those at work end with their image."""
        self._closed = True
        while self._idle:
            await self._idle.pop().kill()

    async def _ask(self, request: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            answer = await self._answer(request, data)
        except DecoderFailed as error:
            self._report(error)
            raise
        self._report(None)
        return _checked(answer[0]), answer[1]

    async def _answer(self, request: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        async with self._free:
            for tries in range(1, TRIES + 1):
                process = await self._take(heic=request["image"]["kind"] == Format.HEIC)
                try:
                    answer, content = await process.ask(request, data)
                except Died as error:
                    log.warning("a decoder of images died: %s (try %s of %s)", error, tries, TRIES)
                    continue
                await self._give_back(process)
                return answer, content
        raise DecoderFailed(
            "decoder_died",
            f"the decoder of images died {TRIES} times on this image; send it in another format, or smaller",
        )

    async def _take(self, *, heic: bool) -> Process:
        """Return an idle decoder that can do it, or a new one; any other that is idle makes room."""
        while self._idle:
            process = self._idle.pop()
            if process.usable and (process.heic or not heic):
                return process
            await process.kill()
        try:
            process = await Process.start(self._bounds, heic=heic)
        except (Died, OSError, TimeoutError, KeyError) as error:
            raise DecoderFailed(
                "decoder_died",
                f"the decoder of images does not start ({error}); raise FOJA_IMAGE_MEMORY_MB",
            ) from error
        if process.guards.missing and not self._warned:
            self._warned = True
            log.warning("decoders of images run without: %s", ", ".join(process.guards.missing))
        return process

    async def _give_back(self, process: Process) -> None:
        if process.usable and not self._closed:
            self._idle.append(process)
        else:
            await process.kill()


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer, or raise the refusal that it is. A code that is not known counts as damage."""
    if "refused" not in answer:
        return answer
    code, detail = str(answer["refused"]), str(answer.get("detail", ""))
    if code == "image_too_heavy":
        detail = (
            "the image needs more memory than a decoder may use (FOJA_IMAGE_MEMORY_MB); send a smaller one"
        )
    raise ImageRefused(
        code if code in REFUSALS else "image_damaged",
        "".join(each if each.isprintable() else "�" for each in detail[:400]),
    )


def _rendering(specs: Sequence[VariantSpec], answer: dict[str, Any], content: bytes) -> Rendering:
    """Return the variants of an answer, each of which must be what was asked for."""
    try:
        width, height, sizes = int(answer["width"]), int(answer["height"]), list(map(int, answer["sizes"]))
        digest = bytes.fromhex(answer["thumbhash"])
        if sum(sizes) != len(content) or min(sizes) < 0 or len(digest) > 40:
            raise ValueError("its lengths do not add up")
        variants, at = [], 0
        for spec, size in zip(specs, sizes, strict=True):
            variants.append(_variant(spec, content[at : at + size]))
            at += size
    except (KeyError, TypeError, ValueError, ImageRefused) as error:
        raise DecoderFailed("decoder_died", f"a decoder of images gave a wrong answer: {error}") from error
    return Rendering(width, height, digest, variants)


def _variant(spec: VariantSpec, data: bytes) -> Variant:
    header = parse_header(data)
    if header.format.value != spec.format or header.width > spec.width or header.height > spec.height:
        raise ValueError(f"{spec.name} is {header.format}, {header.width} × {header.height}")
    return Variant(spec, data, header.width, header.height)


def _image(header: Header) -> dict[str, Any]:
    return {
        "kind": header.format.value,
        "width": header.width,
        "height": header.height,
        "frames": header.frames,
    }


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
