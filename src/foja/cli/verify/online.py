"""`foja verify --online`: request missing headers and blocks from your own nodes.

The answer of a node is trusted like a file given with `--headers` or `--trust`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from foja.cli.output import print_error
from foja.core import tiles
from foja.core.note import parse_checkpoint, split_note
from foja.errors import Tampered, Unavailable
from foja.judge.missing import missing_blocks, missing_heights, missing_trees
from foja.judge.trust import Trust
from foja.remote.node import Node, node
from foja.remote.tiles import TileLog, tile_log
from foja.settings import Settings

CONFIRMATIONS = 6


async def complete_trust(trust: Trust, proofs: Sequence[bytes], settings: Settings) -> Trust:
    """Return the trust with the answers of the nodes; a node that does not answer adds nothing."""
    heights, blocks = missing_heights(proofs, trust), missing_blocks(proofs, trust)
    if heights and settings.bitcoin_rpc_url:
        trust = await _with_headers(trust, heights, settings.bitcoin_rpc_url)
    if blocks and settings.polygon_rpc_url:
        trust = await _with_blocks(trust, blocks, settings.polygon_rpc_url)
    trees = missing_trees(proofs)
    if trees and settings.rekor_url:
        trust = await _with_consistency(trust, trees, settings.rekor_url)
    return trust


async def _with_headers(trust: Trust, heights: Sequence[int], url: str) -> Trust:
    try:
        async with node(url) as bitcoin:
            found = [(height, await _header(bitcoin, height)) for height in heights]
    except Unavailable as error:
        print_error(str(error))
        return trust
    return replace(trust, headers=(*trust.headers, *((height, header) for height, header in found if header)))


async def _header(bitcoin: Node, height: int) -> bytes | None:
    """Return the header at a height, or None if it has too few confirmations."""
    newest = await bitcoin.ask("getblockcount")
    if not isinstance(newest, int) or newest - height + 1 < CONFIRMATIONS:
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
            newest_final = _number(await chain.ask("eth_getBlockByNumber", "finalized", False))
            finalized = [each for each in blocks if each[0] <= newest_final]
            found = [name for number, name in finalized if await _has_block(chain, number, name)]
    except Unavailable as error:
        print_error(str(error))
        return trust
    return replace(trust, blocks=(*trust.blocks, *found))


async def _has_block(chain: Node, number: int, name: bytes) -> bool:
    """Return whether the chain of the node has this block at this height."""
    block = await chain.ask("eth_getBlockByNumber", hex(number), False)
    return isinstance(block, dict) and block.get("hash") == f"0x{name.hex()}"


async def _with_consistency(trust: Trust, trees: Sequence[tuple[str, int]], url: str) -> Trust:
    """Add the newest checkpoint of the log and the consistency proof from each of these trees."""
    try:
        async with tile_log(url) as log:
            note = (await log.read("checkpoint")).decode(errors="replace")
            newest = parse_checkpoint(split_note(note)[0])
            sizes = [size for origin, size in trees if origin == newest.origin and 0 < size <= newest.size]
            found = [(size, note, await _prove_consistency(log, size, newest.size)) for size in sizes]
    except (Unavailable, Tampered) as error:
        print_error(str(error))
        return trust
    return replace(trust, growths=(*trust.growths, *found))


async def _prove_consistency(log: TileLog, size: int, newest: int) -> tuple[bytes, ...]:
    needed = tiles.consistency_tiles(size, newest)
    return tuple(tiles.prove_consistency(size, newest, {each: await log.read(each.path) for each in needed}))


def _number(block: object) -> int:
    number = block.get("number") if isinstance(block, dict) else None
    try:
        return int(number, 16) if isinstance(number, str) else -1
    except ValueError:
        return -1
