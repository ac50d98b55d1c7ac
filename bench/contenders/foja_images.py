"""Our own decoders as a contender: `python foja_images.py DO VARIANTS FILE...`.

The processor time is that of the parent and of the decoder together, the peak of memory that of the decoder.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from foja.domains.images.decoder.pool import Decoders
from foja.domains.images.decoder.process import Bounds
from foja.pure.models.images.limits import Limits
from foja.pure.models.images.variants import VariantSpec

TICKS = os.sysconf("SC_CLK_TCK")


async def main(do: str, variants: str, *files: str) -> None:
    """Print the processor time, the peak of memory and the bytes of each variant."""
    specs = [
        VariantSpec(str(side), side, side, "webp", quality, effort)
        for side, quality, effort in json.loads(variants)
    ]
    pool, sizes = Decoders(Limits(pixels=100_000_000), Bounds(jobs=10_000), most=1), []

    async def work(file: str) -> list[int]:
        data = Path(file).read_bytes()
        if do == "check":
            await pool.check(data)
            return []
        return [len(each.data) for each in (await pool.render(data, specs)).variants]

    if len(files) > 1:
        await work(files[0])
    else:
        await pool.check(TINY)
    [process] = pool._idle
    began = _seconds(process.pid)
    for file in files:
        sizes.append(await work(file))
    seconds = _seconds(process.pid) - began
    print(json.dumps({"seconds": seconds, "peak": _peak(process.pid), "sizes": sizes}))
    await pool.close()


def _seconds(pid: int) -> float:
    """Return the processor time of this process and of a decoder."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return time.process_time() + (int(user) + int(system)) / TICKS


def _peak(pid: int) -> int:
    """Return the largest resident memory of a decoder in kilobytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


TINY = bytes.fromhex("47494638396101000100800000ffffff0000002c00000000010001000002024401003b")

if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
