"""The client: one server, one key, and the names of the in-process surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

import httpx

from foja.client.acts import (
    AccessActs,
    AlertsActs,
    AnchorsActs,
    JobsActs,
    LogActs,
    MaintenanceActs,
    WebhooksActs,
)
from foja.client.conversations import Conversations
from foja.client.documents import BYTES, Documents
from foja.client.images import Images
from foja.client.streams import Stream, Streams
from foja.client.transport import Request, Transport
from foja.engine.ledger.event import parse_id
from foja.pure.core.fields import many
from foja.pure.core.registry import Domain
from foja.pure.judge.report import Verdict

SILENCE_SECONDS = 60.0  # a stream sends a heartbeat four times as often


@dataclass(frozen=True, slots=True)
class Report:
    """What the judge of the server found; `raw` is the whole report (`foja/report/v1`)."""

    verdict: Verdict
    headline: list[str]
    evidence: list[Mapping[str, Any]]
    raw: Mapping[str, Any]


class Client:
    """A server of Foja. Use it as an async context manager, or close it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.documents = Documents(transport)
        self.conversations = Conversations(transport)
        self.images = Images(transport)
        self.jobs = JobsActs(transport)
        self.anchors = AnchorsActs(transport)
        self.alerts = AlertsActs(transport)
        self.maintenance = MaintenanceActs(transport)
        self.webhooks = WebhooksActs(transport)
        self.access = AccessActs(transport)
        self.log = LogActs(transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def stream(self, domain: str, stream_id: UUID | str | None = None) -> Stream:
        """Return a stream of a domain of yours: a new one, or the one with this id."""
        found = parse_id(stream_id, domain)
        return Stream(self._transport, found, domain)

    def streams(self, domain: Domain | str) -> Streams:
        """Return the streams of a domain of yours, by the domain or its name."""
        return Streams(self._transport, domain.name if isinstance(domain, Domain) else domain)

    async def verify(
        self,
        data: bytes,
        *,
        trust: str | bytes | Iterable[str | bytes] = (),
        proofs: bytes | Iterable[bytes] = (),
        at: datetime | None = None,
        own_trust: bool = False,
    ) -> Report:
        """Let the server judge a bundle or a file. `foja.verify` does it here, without any server."""
        parts: list[tuple[str, Any]] = [("trust", (None, each)) for each in many(trust)]
        parts += [("proof", ("proof", each, BYTES)) for each in many(proofs)]
        if at is not None:
            parts.append(("at", (None, at.isoformat())))
        parts.append(("file", ("subject", data, BYTES)))
        params = {"own_trust": str(own_trust).lower()}
        found = (await self._transport.send(Request("POST", "/v1/verify", params=params, files=parts))).json()
        return Report(Verdict(found["verdict"]), found["headline"], found["evidence"], found)


def connect(
    url: str,
    *,
    key: str | None = None,
    retry_seconds: float = 10.0,
    timeout_seconds: float = 30.0,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Client:
    """Return a client of a server.

    Args:
        url: the address of the server, without `/v1`.
        key: an access key; it is sent with each request and never logged.
        retry_seconds: how long what is retryable is tried again; 0: once.
        timeout_seconds: the longest wait for a server that does not answer.
        transport: another transport of httpx, for tests and proxies.
    """
    headers = {"User-Agent": "foja-client"} | ({"Authorization": f"Bearer {key}"} if key else {})
    timeout = httpx.Timeout(timeout_seconds, read=max(timeout_seconds, SILENCE_SECONDS))
    inner = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, transport=transport)
    return Client(Transport(inner, retry_seconds))
