"""The program of a decoder: load the library, give everything else up, then serve one pipe.

`process` starts it with an empty environment as `python -I -m foja.domains.images.decoder.program MEMORY CPU
SECONDS HEIC`. It says what it can do and what it gave up, then answers each request until its pipe ends.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from foja.engine.sandbox import guards as sandbox
from foja.engine.sandbox import protocol
from foja.errors import ImageRefused

THREADS = 4  # the library starts them at once and no more
VIPS = {"VIPS_CONCURRENCY": "1", "VIPS_MAX_THREADS": str(THREADS), "VIPS_BLOCK_UNTRUSTED": "1"}
MALLOC = ((-8, 1), (-3, 1 << 20), (-1, 1 << 20))  # one arena; map and trim blocks of a megabyte
Answer = tuple[dict[str, Any], Sequence[bytes]]
Serve = Callable[[dict[str, Any], bytearray], Answer]


def main(memory: int, cpu: int, seconds: int, heic: int) -> None:
    """Serve the pipe at standard input."""
    network = sandbox.leave_network()
    os.environ.update(VIPS)
    _return_memory()
    serve, renders = _prepare(heic=bool(heic))
    entered = sandbox.enter(network=network, memory=memory, cpu=cpu)
    protocol.write(1, {"guards": asdict(entered), "renders": renders})
    while message := protocol.read(0):
        sandbox.allow_seconds(seconds)
        protocol.write(1, *_answer(serve, *message))


def _return_memory() -> None:
    """Let large blocks go back to the system when they are freed; the C library keeps them otherwise."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        for parameter, value in MALLOC:
            libc.mallopt(parameter, value)


def _prepare(*, heic: bool) -> tuple[Serve, bool]:
    """Return what serves a request, and whether it can render; load all that is needed later."""
    if heic:
        from foja.domains.images.decoder.heic import (
            prepare,  # late, as below: only what is needed takes memory
        )

        prepare()
    try:
        from foja.domains.images.decoder import renderer, vips
    except ImportError:
        from foja.domains.images.decoder import pillow

        pillow.prepare()
        return partial(_check, pillow.check), False
    vips.block_loaders()

    def serve(request: dict[str, Any], data: bytearray) -> Answer:
        if "specs" not in request:
            return _check(vips.check, request, data)
        rendered = renderer.render(data, request["image"]["kind"], request["specs"])
        return rendered.description, rendered.contents

    return serve, True


def _check(check: Callable[..., None], request: dict[str, Any], data: bytearray) -> Answer:
    check(data, **request["image"])
    return {}, ()


def _answer(serve: Serve, request: dict[str, Any], data: bytearray) -> Answer:
    try:
        return serve(request, data)
    except ImageRefused as error:
        return {"refused": error.code, "detail": str(error)}, ()
    except MemoryError:
        return {"refused": "image_too_heavy"}, ()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
