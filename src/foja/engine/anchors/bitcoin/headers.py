"""What our own nodes say about Bitcoin blocks. Where several are set, they must agree."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from foja.engine.remote.networks.bitcoin import HeaderSource, header_sources
from foja.errors import Unavailable
from foja.pure.proofs.ots.header import Header

# Block 0 of each network; testnet has two.
GENESIS: Mapping[str, frozenset[str]] = {
    "main": frozenset({"000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"}),
    "testnet": frozenset(
        {
            "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
            "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
        }
    ),
    "signet": frozenset({"00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6"}),
    "regtest": frozenset({"0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"}),
}


@dataclass(frozen=True, slots=True)
class Chain:
    """The best height that all sources reach, and the headers at some heights up to it."""

    height: int
    headers: Mapping[int, Header]

    def depth(self, height: int) -> int:
        """Return how many confirmations the block at a height has; 0 or less: it is not there yet."""
        return self.height - height + 1


@dataclass(frozen=True, slots=True)
class Sources:
    """Our own nodes, or servers of blocks of others, of which two must agree."""

    network: str
    rpc_urls: tuple[str, ...] = ()
    header_urls: tuple[str, ...] = ()

    @property
    def needed(self) -> int:
        """How many must answer: one, if it is a node of our own and the only source."""
        return 1 if len(self.rpc_urls) == 1 and not self.header_urls else 2

    async def chain(self, heights: Iterable[int] = ()) -> Chain:
        """Return what the sources agree on, or raise `Unavailable`."""
        wanted = sorted(set(heights))
        async with header_sources(self.rpc_urls, self.header_urls) as sources:
            found = await asyncio.gather(
                *(self._ask(each, wanted) for each in sources), return_exceptions=True
            )
        for each in found:
            if isinstance(each, BaseException) and not isinstance(each, Unavailable):
                raise each
        chains = [each for each in found if isinstance(each, Chain)]
        faults = [str(each) for each in found if isinstance(each, Unavailable)]
        if len(chains) < self.needed:
            why = "; ".join(faults) or "set FOJA_BITCOIN_RPC_URL, or two FOJA_BITCOIN_HEADER_URLS"
            raise Unavailable(f"{len(chains)} of {self.needed} sources of Bitcoin headers answered: {why}")
        return _agreed(chains)

    async def _ask(self, source: HeaderSource, heights: Sequence[int]) -> Chain:
        genesis = Header(0, await source.header(0)).name
        if genesis not in GENESIS[self.network]:
            raise Unavailable(
                f"{source.name} is of another network than {self.network}: its first block is {genesis};"
                " set FOJA_BITCOIN_NETWORK to that of the node"
            )
        best = await source.height()
        known = [each for each in heights if each <= best]
        return Chain(best, {each: Header(each, await source.header(each)) for each in known})


def _agreed(chains: Sequence[Chain]) -> Chain:
    best = min(each.height for each in chains)
    headers = dict[int, Header]()
    for chain in chains:
        for height, header in chain.headers.items():
            if headers.setdefault(height, header) != header:
                raise Unavailable(
                    f"the sources of Bitcoin headers disagree about block {height}:"
                    f" {headers[height].name} and {header.name}; find out which one is wrong"
                )
    return Chain(best, {height: header for height, header in headers.items() if height <= best})
