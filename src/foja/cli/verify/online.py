"""`foja verify --online`: ask your own nodes what is missing, then judge as ever.

A node's answer is trusted as a file given with `--headers` or `--trust` would be: it is yours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from foja.cli.output import complain
from foja.core import tiles
from foja.core.note import parse_checkpoint, split_note
from foja.errors import Tampered, Unavailable
from foja.judge.missing import missing_blocks, missing_heights, missing_trees
from foja.judge.trust import Trust
from foja.remote.node import Node, node
from foja.remote.tiles import TileLog, tile_log
from foja.settings import Settings

CONFIRMATIONS = 6


async def completed(trust: Trust, proofs: Sequence[bytes], settings: Settings) -> Trust:
    """Return the trust with what the nodes know; a node that does not answer adds nothing."""
    heights, blocks = missing_heights(proofs, trust), missing_blocks(proofs, trust)
    if heights and settings.bitcoin_rpc_url:
        trust = await _with_headers(trust, heights, settings.bitcoin_rpc_url)
    if blocks and settings.polygon_rpc_url:
        trust = await _with_blocks(trust, blocks, settings.polygon_rpc_url)
    trees = missing_trees(proofs)
    if trees and settings.rekor_url:
        trust = await _with_growths(trust, trees, settings.rekor_url)
    return trust


async def _with_headers(trust: Trust, heights: Sequence[int], url: str) -> Trust:
    try:
        async with node(url) as bitcoin:
            found = [(height, await _header(bitcoin, height)) for height in heights]
    except Unavailable as error:
        complain(str(error))
        return trust
    return replace(trust, headers=(*trust.headers, *((height, header) for height, header in found if header)))


async def _header(bitcoin: Node, height: int) -> bytes | None:
    """Return the header at a height that enough blocks stand upon."""
    top = await bitcoin.ask("getblockcount")
    if not isinstance(top, int) or top - height + 1 < CONFIRMATIONS:
        return None
    name = await bitcoin.ask("getblockhash", height)
    header = await bitcoin.ask("getblockheader", name, False)
    try:
        data = bytes.fromhex(header) if isinstance(header, str) else b""
    except ValueError:
        data = b""
    return data if len(data) == 80 else None


async def _with_blocks(trust: Trust, blocks: Sequence[tuple[int, bytes]], url: str) -> Trust:
    try:
        async with node(url) as chain:
            final = _number(await chain.ask("eth_getBlockByNumber", "finalized", False))
            settled = [each for each in blocks if each[0] <= final]
            found = [name for number, name in settled if await _stands(chain, number, name)]
    except Unavailable as error:
        complain(str(error))
        return trust
    return replace(trust, blocks=(*trust.blocks, *found))


async def _stands(chain: Node, number: int, name: bytes) -> bool:
    """Say whether this block, and no other, is at its height."""
    block = await chain.ask("eth_getBlockByNumber", hex(number), False)
    return isinstance(block, dict) and block.get("hash") == f"0x{name.hex()}"


async def _with_growths(trust: Trust, trees: Sequence[tuple[str, int]], url: str) -> Trust:
    """Ask the log for its newest checkpoint, and for the way to it from each of these trees."""
    try:
        async with tile_log(url) as log:
            note = (await log.read("checkpoint")).decode(errors="replace")
            newest = parse_checkpoint(split_note(note)[0])
            sizes = [size for origin, size in trees if origin == newest.origin and 0 < size <= newest.size]
            found = [(size, note, await _way(log, size, newest.size)) for size in sizes]
    except (Unavailable, Tampered) as error:
        complain(str(error))
        return trust
    return replace(trust, growths=(*trust.growths, *found))


async def _way(log: TileLog, size: int, newest: int) -> tuple[bytes, ...]:
    needed = tiles.consistency_tiles(size, newest)
    return tuple(tiles.prove_consistency(size, newest, {each: await log.read(each.path) for each in needed}))


def _number(block: object) -> int:
    number = block.get("number") if isinstance(block, dict) else None
    try:
        return int(number, 16) if isinstance(number, str) else -1
    except ValueError:
        return -1
