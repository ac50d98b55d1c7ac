"""The settings of Polygon as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

GWEI = 10**9


@dataclass(frozen=True, slots=True)
class PolygonTerms:
    """Nodes, key and limits. Exactly one of the four key sources is set."""

    rpc_urls: tuple[str, ...] = field(default=(), repr=False)  # where two or more are set, they must agree
    private_key: str = field(default="", repr=False)  # 0x and 64 hexadecimal digits
    key_file: Path | None = None  # the same in a file that only its owner can read
    keystore: Path | None = None  # encrypted, version 3
    keystore_password_file: Path | None = None
    signer_url: str = field(default="", repr=False)  # speaks `eth_signTransaction`
    account: str = ""  # needed with `signer_url`; with a key it must be the account of the key
    max_fee_gwei: float = 500.0  # the most per unit of gas, base fee and priority fee together
    priority_fee_gwei: float = 30.0  # at least; Polygon's nodes accept no less than 25
    depth: int = 128  # blocks above that of the transaction
    replace_after_seconds: float = 180.0  # in the pool and in no block

    @property
    def max_fee(self) -> int:
        """The most per unit of gas, in wei."""
        return int(self.max_fee_gwei * GWEI)

    @property
    def priority_fee(self) -> int:
        """The lowest priority fee per unit of gas, in wei."""
        return int(self.priority_fee_gwei * GWEI)
