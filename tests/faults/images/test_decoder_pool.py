"""A decoder that dies, hangs, lies or is used up: a typed error, and the pool works on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from foja.domains.images.decoder.pool import Decoders, _checked, _rendering
from foja.domains.images.decoder.process import Bounds
from foja.errors import DecoderFailed, ImageRefused
from foja.pure.models.images.limits import Limits
from foja.pure.models.images.variants import VariantSpec, specs_of
from tests import pictures

SMALL = pictures.encoded(pictures.corners())
LARGE = pictures.encoded(pictures.photo(3000, 2000), "PNG", compress_level=1)
CATALOG = specs_of("catalog", "jpeg")


@pytest.fixture
async def decoders() -> AsyncIterator[Decoders]:
    pool = Decoders(most=1)
    yield pool
    await pool.close()


def pids(pool: Decoders) -> list[int]:
    return [process.pid for process in pool._idle]


async def disturb(pool: Decoders, data: bytes, act: Callable[[int], None]) -> Any:
    """Check an image while something happens to the decoder that has it."""
    if not pids(pool):
        await pool.check(SMALL)
    [pid] = pids(pool)
    os.kill(pid, signal.SIGSTOP)  # it takes the image and does not begin
    work = asyncio.create_task(pool.check(data))
    await asyncio.sleep(0.05)
    act(pid)
    return await work


async def test_a_killed_decoder_is_replaced_and_the_image_tried_again(decoders: Decoders) -> None:
    header = await disturb(decoders, LARGE, lambda pid: os.kill(pid, signal.SIGKILL))
    assert (header.width, header.height) == (3000, 2000)
    assert (await decoders.check(SMALL)).width == 240


async def test_a_decoder_that_always_dies_is_a_typed_error() -> None:
    pool = Decoders(bounds=Bounds(memory=1 << 20), most=1)  # it cannot even read the image
    with pytest.raises(DecoderFailed) as failed:
        await pool.check(LARGE)
    assert (failed.value.code, failed.value.retryable) == ("decoder_died", True)
    await pool.close()


async def test_a_decoder_that_hangs_is_killed_and_the_pool_works_on() -> None:
    pool = Decoders(most=1)
    await pool.check(SMALL)
    [process] = pool._idle
    process._bounds = Bounds(seconds=2.0)  # only this one: the next has all the time it needs
    with pytest.raises(DecoderFailed, match="after 2 seconds") as failed:
        await disturb(pool, SMALL, lambda pid: None)
    assert failed.value.code == "decoder_timeout"
    assert pids(pool) == []
    assert (await pool.check(SMALL)).width == 240
    await pool.close()


async def test_a_cancelled_check_kills_its_decoder(decoders: Decoders) -> None:
    await decoders.check(SMALL)
    [pid] = pids(decoders)
    os.kill(pid, signal.SIGSTOP)
    work = asyncio.create_task(decoders.check(SMALL))
    await asyncio.sleep(0.05)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not Path(f"/proc/{pid}").exists()
    assert (await decoders.check(SMALL)).width == 240


async def test_a_check_that_is_cancelled_twice_leaves_nothing_open(decoders: Decoders) -> None:
    """The second cancellation, as at the end of a worker, left a process that ended and its open pipes."""
    before = sorted(Path("/proc/self/fd").iterdir())
    await decoders.check(SMALL)
    [pid] = pids(decoders)
    os.kill(pid, signal.SIGSTOP)
    work = asyncio.create_task(decoders.check(SMALL))
    await asyncio.sleep(0.05)
    for _ in range(2):
        work.cancel()
        await asyncio.sleep(0)
    await asyncio.gather(work, return_exceptions=True)
    assert work.cancelled()
    assert not Path(f"/proc/{pid}").exists()
    assert sorted(Path("/proc/self/fd").iterdir()) == before


async def test_a_decoder_is_replaced_after_its_number_of_images() -> None:
    pool = Decoders(bounds=Bounds(jobs=2), most=1)
    seen = []
    for _ in range(4):
        await pool.check(SMALL)
        seen.append(pids(pool))
    assert [len(each) for each in seen] == [1, 0, 1, 0]
    assert seen[0] != seen[2]
    await pool.close()


async def test_no_more_decoders_run_than_are_allowed() -> None:
    pool = Decoders(most=2)
    await asyncio.gather(*(pool.check(SMALL) for _ in range(8)))
    found = pids(pool)
    assert 1 <= len(found) <= 2
    await pool.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


async def test_an_image_that_needs_too_much_memory_is_refused(decoders: Decoders) -> None:
    pool = Decoders(Limits(pixels=200_000_000), Bounds(memory=300 << 20), most=1)
    wide = pictures.encoded(pictures.photo(6000, 4000), "WEBP", quality=40, method=0)
    assert (await pool.check(wide)).width == 6000, "at an eighth of its size it needs little"
    with pytest.raises((ImageRefused, DecoderFailed)) as refused:
        await pool.render(wide, [VariantSpec("wide", 4096, 4096, "jpeg", 80, 0)])
    assert refused.value.code in {"image_too_heavy", "decoder_died"}
    assert (await pool.check(SMALL)).width == 240
    await pool.close()


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        ({}, b""),
        ({"width": "x", "height": 1, "sizes": [], "thumbhash": ""}, b""),
        ({"width": 1, "height": 1, "sizes": [3], "thumbhash": ""}, b"abc"),
        ({"width": 1, "height": 1, "sizes": [len(SMALL)] * 4, "thumbhash": ""}, SMALL * 3),
        ({"width": 1, "height": 1, "sizes": [len(LARGE)] * 4, "thumbhash": ""}, LARGE * 4),
        ({"width": 1, "height": 1, "sizes": [-1, 1, 0, 0], "thumbhash": "00" * 99}, b""),
    ],
)
def test_a_wrong_answer_is_not_believed(answer: dict[str, Any], content: bytes) -> None:
    with pytest.raises(DecoderFailed, match="wrong answer"):
        _rendering(CATALOG, answer, content)


def test_a_refusal_of_a_decoder_is_one_of_ours() -> None:
    with pytest.raises(ImageRefused) as refused:
        _checked({"refused": "wrong_entity", "detail": "\x1b[2Jhello" + "x" * 1000})
    assert refused.value.code == "image_damaged"
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) <= 400
