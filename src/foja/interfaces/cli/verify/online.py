"""`foja verify --online`: request missing headers and blocks from your own nodes.

The answer of a node is trusted like a file given with `--headers` or `--trust`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace

from foja.engine.remote.online import Node, TileLog, connect
from foja.engine.settings import Settings
from foja.errors import ObjectMissing, Tampered, Unavailable
from foja.interfaces.cli.output import print_error
from foja.pure.core import tiles
from foja.pure.core.note import parse_checkpoint, split_note
from foja.pure.judge.missing import missing_blocks, missing_heights, missing_trees
from foja.pure.judge.trust import Trust

CONFIRMATIONS = 6


async def complete_trust(trust: Trust, proofs: Sequence[bytes], settings: Settings) -> Trust:
    """Return the trust with the answers of the nodes; a node that does not answer adds nothing."""
    heights, blocks = missing_heights(proofs, trust), missing_blocks(proofs, trust)
    trees = missing_trees(proofs)
    if heights and settings.bitcoin_rpc_url:
        trust = await _or_same(trust, _with_headers(trust, heights, settings.bitcoin_rpc_url))
    if blocks and settings.polygon_rpc_url:
        trust = await _or_same(trust, _with_blocks(trust, blocks, settings.polygon_rpc_url))
    if trees and (log := settings.rekor_read_url or settings.rekor_url):
        trust = await _or_same(trust, _with_consistency(trust, trees, log))
    return trust


async def _or_same(trust: Trust, completed: Awaitable[Trust]) -> Trust:
    """Return the completed trust, or the given one if the node does not answer as it should."""
    try:
        return await completed
    except (ObjectMissing, Unavailable, Tampered) as error:
        print_error(str(error))
        return trust


async def _with_headers(trust: Trust, heights: Sequence[int], url: str) -> Trust:
    async with connect(Node, url) as bitcoin:
        found = [(height, await _header(bitcoin, height)) for height in heights]
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


async def _with_blocks(trust: Trust, blocks: Sequence[tuple[int, bytes]], urls: str) -> Trust:
    """Add the blocks that every node has and calls final. `urls` is separated by commas."""
    for url in filter(None, map(str.strip, urls.split(","))):
        async with connect(Node, url) as chain:
            newest_final = _number(await chain.ask("eth_getBlockByNumber", "finalized", False))
            finalized = [each for each in blocks if each[0] <= newest_final]
            blocks = [each for each in finalized if await _has_block(chain, *each)]
    return replace(trust, blocks=(*trust.blocks, *(name for _, name in blocks)))


async def _has_block(chain: Node, number: int, name: bytes) -> bool:
    """Return whether the chain of the node has this block at this height."""
    block = await chain.ask("eth_getBlockByNumber", hex(number), False)
    return isinstance(block, dict) and block.get("hash") == f"0x{name.hex()}"


async def _with_consistency(trust: Trust, trees: Sequence[tuple[str, int]], url: str) -> Trust:
    """Add the newest checkpoint of the log and the consistency proof from each of these trees."""
    async with connect(TileLog, url) as log:
        note = (await log.read("checkpoint")).decode(errors="replace")
        newest = parse_checkpoint(split_note(note)[0])
        sizes = [size for origin, size in trees if origin == newest.origin and 0 < size <= newest.size]
        found = [(size, note, await _prove_consistency(log, size, newest.size)) for size in sizes]
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
