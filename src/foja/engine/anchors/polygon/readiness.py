"""Whether Polygon can be used now: nodes, chain, key, signer, balance, fee."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from foja.engine.anchors.network import Readiness
from foja.engine.anchors.polygon.nodes import (
    QUORUM,
    WrongChain,
    checked_chain,
    final_head,
    latest_head,
    too_little,
)
from foja.engine.anchors.polygon.signers import ExternalSigner, Signer
from foja.engine.anchors.polygon.terms import GWEI, PolygonTerms
from foja.engine.remote.networks.evm import EvmNode, NodeRefused, connect
from foja.errors import FojaError, Unavailable
from foja.pure.proofs.evm import POLYGON
from foja.pure.proofs.evm.eip1559 import ANCHOR_GAS
from foja.pure.proofs.evm.signer import checksum_address, parse_address

NONCES = ("nonce", "final_nonce")


async def readiness(terms: PolygonTerms, open_signer: Callable[[], Awaitable[Signer]]) -> Readiness:
    """Return a line for each thing that is missing, and what was found."""
    missing, found = list[str](), dict[str, Any]()
    try:
        signer = await open_signer()
        found["account"] = checksum_address(signer.address)
        await _check_signer(signer)
    except FojaError as error:
        missing.append(str(error))
    async with connect(terms.rpc_urls) as nodes:
        account = found.get("account")
        found |= await _check_nodes(nodes, account and parse_address(account), missing)
    return Readiness([*missing, *_too_little(terms, found)], found)


async def _check_signer(signer: Signer) -> None:
    """Raise `Unavailable` if an external signer does not answer, or does not sign for the account."""
    if not isinstance(signer, ExternalSigner):
        return
    async with connect([signer.url]) as [node]:
        try:
            accounts = await node.accounts()
        except NodeRefused:  # it need not tell; what it signs is checked anyway
            return
        if signer.address not in accounts:
            name = checksum_address(signer.address)
            raise Unavailable(
                f"the signer {node.name} does not sign for {name}; correct FOJA_POLYGON_ACCOUNT"
            )


async def _check_nodes(nodes: Sequence[EvmNode], account: bytes | None, missing: list[str]) -> dict[str, Any]:
    """Return what a node that serves says; add a line for each that does not, if too few serve."""
    answers, troubles = list[dict[str, Any]](), list[str]()
    if not nodes:
        missing.append("no Polygon node is set; set FOJA_POLYGON_RPC_URL")
    for node in nodes:
        try:
            answers.append(await _ask(node, account))
        except WrongChain as error:
            missing.append(str(error))
        except Unavailable as error:
            troubles.append(str(error))
    if len(answers) < min(QUORUM, len(nodes)):
        missing.extend(troubles)
        return _newest(answers)
    doubtful = [name for name in NONCES if len({each.get(name) for each in answers}) > 1]
    found = {name: value for name, value in _newest(answers).items() if name not in doubtful}
    if account and "nonce" in doubtful:
        troubles.append(_disagreement(account, answers))
    return {**found, "troubles": troubles} if troubles else found


def _newest(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the node with the newest block says."""
    return max(answers, key=lambda each: each["block"], default={})


def _disagreement(account: bytes, answers: Sequence[dict[str, Any]]) -> str:
    """Return the sentence about nodes that count the transactions of the account differently."""
    shown = ", ".join(map(str, sorted({each["nonce"] for each in answers})))
    return (
        f"the Polygon nodes do not agree on the nonce of {checksum_address(account)} ({shown}); "
        "wait until all have caught up, or correct FOJA_POLYGON_RPC_URL"
    )


async def _ask(node: EvmNode, account: bytes | None) -> dict[str, Any]:
    await checked_chain(node)
    head, final = await latest_head(node), await final_head(node)
    found = {"chain": POLYGON, "block": head.number, "finalized": final.number, "base_fee": head.base_fee}
    if account:
        found["balance"] = await node.balance(account)
        found["final_nonce"] = await node.transaction_count(account, "finalized")
        found["nonce"] = await node.transaction_count(account, "latest")
    return found


def _too_little(terms: PolygonTerms, found: dict[str, Any]) -> list[str]:
    """Return what keeps a transaction from being paid; add the most that one can cost."""
    found["price"] = price = ANCHOR_GAS * terms.max_fee
    lines = list[str]()
    if found.get("balance", price) < price:
        lines.append(too_little(parse_address(found["account"]), found["balance"], price))
    if found.get("base_fee", 0) + terms.priority_fee > terms.max_fee:
        fees = f"a base fee of {found.get('base_fee', 0) / GWEI:g} gwei and a priority fee of"
        cap = f"{terms.priority_fee_gwei:g} are over the cap of {terms.max_fee_gwei:g}"
        lines.append(f"{fees} {cap}; wait, or raise FOJA_POLYGON_MAX_FEE_GWEI")
    return lines
