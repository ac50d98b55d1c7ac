"""Remarks that reports must show. Apart from the checks, so that showing one imports no cryptography."""

from __future__ import annotations

from typing import Final

LOCAL_NOTICE: Final = "local authority: proves order to you, not time to others"
TEST_NOTICE: Final = "test network: its blocks take no work and prove no time to others"
CHAIN_NOTICE: Final = "chain: whether it is a public main network; blocks of others may take no work"
OLD_CERTIFICATE: Final = "old certificate: that of"
OLD_ALGORITHM: Final = "algorithm: ETSI TS 119 312 does not recommend"
IN_A_BATCH: Final = "over a batch of documents that this one is part of (RFC 4998)"
SEALED_IN_A_BATCH: Final = "over a batch of bundles that this one is part of (RFC 4998)"
GROUP_NOT_GIVEN: Final = "group: the other files of its group in the evidence record were not given"


def remark(local: bool | None, note: str | None, test_network: str | None = None) -> str | None:
    """Return the remark that a report must show: about the stamp, or `note` while there is none.

    `test_network` is the network of Bitcoin that confirmed an anchor, if it is a test network.
    """
    stamp = note if local is None else LOCAL_NOTICE if local else None
    anchor = f"Bitcoin {test_network}, a {TEST_NOTICE}" if test_network else None
    return "; ".join(filter(None, (stamp, anchor))) or None
