"""What anchors cost and how large their proofs are, by the size of a batch."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import uuid4

import foja
from bench.contenders.authorities import RunningAuthority
from bench.harness import Bench
from bench.outcome import Table, Target, at_most
from bench.servers.networks import Networks
from bench.workloads.protect import installation_settings
from foja.engine.anchors.batch import SALT_BYTES, hash_leaves, places_of, root_of, split
from foja.engine.anchors.network import Batch, Confirmed, Network

SIZES, FEW_SIZES = (1, 100, 10_000), (1, 4, 16)
MAX_DOUBLING = 110  # bytes: a hash in base64 or hexadecimal, and its punctuation


@dataclass(frozen=True, slots=True)
class Cost:
    """What a batch of one size costs on one network."""

    network: str
    size: int
    gas: int  # of the whole batch; 0 where nothing is paid
    proof_bytes: int  # of the largest proof


async def measure_costs(
    bench: Bench, authority: RunningAuthority, networks: Networks, sizes: Sequence[int]
) -> list[Cost]:
    """Anchor batches of these sizes on every network, one after the other."""
    with bench.server.create_database() as database:
        settings = installation_settings(database, authority) | networks.settings
        async with foja.connect(**settings) as app:
            return [
                await _cost(networks, network, size)
                for network in app.anchors.networks.values()
                for size in sizes
            ]


async def _cost(networks: Networks, network: Network, size: int) -> Cost:
    digests = [secrets.token_bytes(32) for _ in range(size)]
    salts = secrets.token_bytes(SALT_BYTES * size)
    leaves = hash_leaves(digests, split(salts, SALT_BYTES))
    root = root_of(network.name, digests, leaves)
    nonce = networks.nonce() if network.account else None
    state = (await network.draft(root, nonce)).state
    batch = Batch(uuid4(), network.name, root, size, network.account, nonce, state, datetime.now(UTC))
    batch = replace(batch, state=(await network.send(batch)).state)
    networks.confirm(network.name)
    found = await network.look(batch)
    if not isinstance(found, Confirmed):
        raise RuntimeError(f"a batch of {network.name} is not confirmed: {found}")
    batch = replace(batch, state=found.state)
    largest = max(len(network.prove(batch, each)) for each in places_of(digests, b"".join(leaves), salts))
    return Cost(network.name, size, _gas(networks, found), largest)


def _gas(networks: Networks, found: Confirmed) -> int:
    if not networks.chain or "txid" not in found.payload or not found.fee:
        return 0
    return int(networks.chain.ask("eth_getTransactionReceipt", found.payload["txid"])["gasUsed"], 16)


def cost_table(costs: Sequence[Cost]) -> Table:
    rows = [
        (
            f"{each.network}, {each.size:,}",
            f"{1 / each.size:g}",
            f"{each.gas / each.size:,.1f}" if each.gas else "none",
            f"{each.proof_bytes:,}",
        )
        for each in costs
    ]
    columns = (
        "documents of a batch",
        "entries per document",
        "gas per document",
        "bytes of the largest proof",
    )
    return Table("Cost and proofs of anchors by the size of a batch", columns, rows)


def size_targets(costs: Sequence[Cost]) -> list[Target]:
    """Return the targets that a proof grows by one hash for each doubling of its batch."""
    found = []
    for network in dict.fromkeys(each.network for each in costs):
        *_, small, large = [each for each in costs if each.network == network]
        doublings = math.ceil(math.log2(large.size)) - math.ceil(math.log2(small.size))
        title = f"Bytes that each doubling of a batch adds to a proof of {network}"
        grown = (large.proof_bytes - small.proof_bytes) / doublings
        found.append(at_most(title, MAX_DOUBLING, grown))
    return found
