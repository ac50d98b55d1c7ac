"""Asking authorities over real HTTP: whatever they do, only a proof is believed, and there is an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from foja.domains.documents.stamper import Confirmed, Stamper, Unconfirmed
from foja.engine.embedded.tsa import LocalAuthority as Local
from foja.engine.remote.tsa import Connections, NoReply, RemoteAuthority, Trouble
from foja.pure.proofs.finding import Reason
from foja.pure.proofs.tsa import Terms, request, trusted
from tests.tsa_server import TsaServer, running_tsa

DIGEST = sha256(b"a sheet").digest()
QUERY = request(DIGEST, nonce=1)
PATIENCE = 1.0


@pytest.fixture(scope="module")
def servers() -> Iterator[list[TsaServer]]:
    with running_tsa() as one, running_tsa() as two:
        yield [one, two]


@pytest.fixture
def tsa(servers: list[TsaServer]) -> TsaServer:
    servers[0].behave("honest")
    return servers[0]


@pytest.fixture
def other(servers: list[TsaServer]) -> TsaServer:
    servers[1].behave("honest")
    return servers[1]


@asynccontextmanager
async def stamper(*servers: TsaServer, urls: tuple[str, ...] = ()) -> AsyncIterator[Stamper]:
    async with aclosing(Connections(timeout_seconds=PATIENCE)) as connections:
        asked = [RemoteAuthority(url, connections) for url in (*urls, *(each.url for each in servers))]
        yield Stamper(asked, Terms(trusted(*(each.root for each in servers))))


async def test_an_honest_authority_confirms(tsa: TsaServer) -> None:
    async with stamper(tsa) as each:
        found = await each.stamp(DIGEST)
    assert isinstance(found, Confirmed)
    assert found.stamp.imprint == DIGEST
    assert (found.authority, found.failures) == (tsa.url, ())


@pytest.mark.parametrize(
    ("way", "code"),
    [
        ("refuse", Reason.STATUS_NOT_GRANTED),
        ("hang", Trouble.HUNG),
        ("hang up", Trouble.UNREACHABLE),
        ("busy", Trouble.HTTP_STATUS),
        ("too large", Trouble.TOO_LARGE),
        ("garbage", Reason.MALFORMED),
        ("empty", Reason.MALFORMED),
        ("cut", Reason.MALFORMED),
        ("another digest", Reason.IMPRINT_MISMATCH),
        ("another algorithm", Reason.IMPRINT_ALGORITHM),
        ("another nonce", Reason.NONCE_MISMATCH),
        ("untrusted", Reason.NO_TRUST_ANCHOR),
        ("expired", Reason.CERT_EXPIRED_AT_GENTIME),
        ("expired, clock set back", Reason.BACKDATED),
        ("clock set back", Reason.BACKDATED),
        ("clock ahead", Reason.AFTER_VALIDATION_TIME),
        ("embedded rogue root", Reason.ROOT_NOT_TRUSTED),
        ("forged root", Reason.CHAIN_INVALID),
        ("ESSCertID of another", Reason.ESS_CERT_ID_MISMATCH),
        ("purpose not critical", Reason.EKU_INVALID),
        ("two purposes", Reason.EKU_INVALID),
        ("two signers", Reason.SIGNER_COUNT),
    ],
)
async def test_every_misbehaviour_has_its_reason_and_the_next_authority_is_asked(
    tsa: TsaServer, other: TsaServer, way: str, code: str
) -> None:
    tsa.behave(way)
    async with stamper(tsa) as alone:
        found = await alone.stamp(DIGEST)
    assert isinstance(found, Unconfirmed)
    assert found.code == code
    assert tsa.url in found.detail
    async with stamper(tsa, other) as both:
        found = await both.stamp(DIGEST)
    assert isinstance(found, Confirmed)
    assert found.authority == other.url
    assert [each.code for each in found.failures] == [code]


async def test_nobody_there_is_a_reason_too(tsa: TsaServer) -> None:
    nowhere = "http://127.0.0.1:9/tsr"
    async with stamper(tsa, urls=(nowhere, "no address at all")) as each:
        found = await each.stamp(DIGEST)
    assert isinstance(found, Confirmed)
    assert [failure.code for failure in found.failures] == [Trouble.UNREACHABLE] * 2


async def test_a_connection_that_broke_is_tried_once_more(tsa: TsaServer) -> None:
    async with stamper(tsa) as each:
        await each.stamp(DIGEST)
        tsa.behave("hang up", "honest")
        found = await each.stamp(DIGEST)
    assert isinstance(found, Confirmed)
    assert found.failures == ()


async def test_every_try_has_a_nonce_of_its_own(tsa: TsaServer) -> None:
    before = len(tsa.asked)
    async with stamper(tsa) as each:
        for _ in range(3):
            await each.stamp(DIGEST)
    nonces = [question.nonce for question in tsa.asked[before:]]
    assert len(set(nonces)) == 3
    assert None not in nonces


async def test_an_authority_that_hung_is_not_waited_for_again_at_once(
    tsa: TsaServer, other: TsaServer
) -> None:
    tsa.behave("hang")
    async with stamper(tsa, other) as each:
        await each.stamp(DIGEST)
        asked = tsa.requests
        found = await each.stamp(DIGEST)
    assert isinstance(found, Confirmed)
    assert found.failures == ()
    assert tsa.requests == asked > 0


async def test_waiting_for_a_turn_is_not_the_silence_of_an_authority(
    tsa: TsaServer, other: TsaServer
) -> None:
    tsa.behave("hang")
    async with aclosing(Connections(timeout_seconds=PATIENCE, most=1)) as connections:
        slow = [asyncio.create_task(connections.post(tsa.url, QUERY)) for _ in range(2)]
        quick = asyncio.create_task(connections.post(other.url, QUERY))
        answers = await asyncio.gather(*slow, quick)
    assert [isinstance(each, NoReply) and each.trouble for each in answers] == [Trouble.HUNG] * 2 + [False]


async def test_the_local_authority_needs_no_socket(tmp_path: Path) -> None:
    local = Local(tmp_path)
    found = await Stamper([local], Terms(trusted(local.root))).stamp(DIGEST)
    assert isinstance(found, Confirmed)
    assert found.stamp.local
