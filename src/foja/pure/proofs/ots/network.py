"""The networks of Bitcoin: the main one, whose blocks prove a time, and those for tests."""

from __future__ import annotations

from typing import Final

MAIN: Final = "main"
# Mainnet passed this before OpenTimestamps existed; a regtest or testnet block cannot reach it cheaply.
MAINNET_DIFFICULTY: Final = 10_000_000_000
# The least difficulty of a block. Those of signet and regtest are below 1.
MINIMUM_DIFFICULTY: Final = {MAIN: MAINNET_DIFFICULTY, "testnet": 1, "signet": 0, "regtest": 0}
NETWORKS: Final = tuple(MINIMUM_DIFFICULTY)


def block_name(network: str, height: int) -> str:
    """Return how a report names a block; the name of a test network is a part of it."""
    return f"Bitcoin block {height}" if network == MAIN else f"Bitcoin {network} block {height}"
