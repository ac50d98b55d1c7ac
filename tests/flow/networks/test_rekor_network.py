"""Anchors in a real Rekor log over HTTP: confirmed only by what every verifier accepts, recorded once."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from foja.engine.anchors.network import Confirmed, Refused, Waiting
from foja.engine.anchors.rekor.log import log_key
from foja.engine.embedded.signing_keys import SigningKeys
from foja.engine.embedded.tsa.responder import ReplyEncoder, granted
from foja.errors import SetupFailed, Unavailable
from foja.interfaces.cli import main
from foja.pure.core.note import Verifier
from foja.pure.judge.report import Verdict
from foja.pure.proofs.rekor.batched import split_batched
from foja.pure.proofs.tsa import read_request, request
from tests.counterparties.cosign import cosign, version
from tests.counterparties.rekor import RekorLog, running_rekor
from tests.flow.networks.rekor_scene import (
    DIGESTS,
    FILES,
    Scene,
    case,
    cosign_says,
    drafted,
    judge_with_sigstore,
    places,
    stored,
)
from tests.other_tools import COSIGN, agreed
from tests.rules.bundles import NOW, Stamper


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with running_rekor() as log:
        log.grow(300)
        yield Scene(log, tmp_path, Stamper())


async def test_a_batch_is_recorded_once_and_every_digest_of_it_is_proven(scene: Scene) -> None:
    network = scene.network()
    found = await network.check()
    assert (found.missing, found.found["log"], found.found["size"]) == ([], "rekor.example", 300)
    for digests in (DIGESTS, DIGESTS[:1]):
        batch = await drafted(network, digests)
        before = len(scene.log.entries)
        confirmed = await network.send(batch)
        assert isinstance(confirmed, Confirmed), confirmed
        assert len(scene.log.entries) == before + 1
        assert confirmed.payload == {"log_index": before}
        assert abs(confirmed.confirmed_at - NOW) < timedelta(seconds=5)
        batch = stored(batch, confirmed.state)
        proofs = [network.prove(batch, place) for place in places(digests)[1]]
        for file, proof in zip(FILES, proofs, strict=False):
            assert scene.verify(file, proof, confirmed).verdict is Verdict.TOTAL_PASSED
            assert scene.verify(file, proof, None).verdict is Verdict.INDETERMINATE
            assert scene.verify(b"another", proof, confirmed).verdict is Verdict.TOTAL_FAILED
        assert await network.watch(batch) == confirmed
        judge_with_sigstore(scene, batch, digests, proofs[0])
    assert scene.log.posts == 2


class PlainStamper(Stamper):
    """An authority whose policy Go can read: the numbers of that of a local authority have 128 bits."""

    def reply(self, digest: bytes, at: datetime = NOW, algorithm: str = "sha256") -> bytes:
        self.serial += 1
        asked = read_request(request(digest, nonce=self.serial, algorithm=algorithm))
        return granted(ReplyEncoder.of(self.signer, "1.2.3.4"), asked, at, self.serial)


@pytest.mark.long
async def test_cosign_accepts_the_same_bundles(scene: Scene, tmp_path: Path) -> None:
    scene.stamper = PlainStamper()
    program, network = cosign(), scene.network()
    for digests in (DIGESTS, DIGESTS[:1]):
        batch = await drafted(network, digests)
        confirmed = await network.send(batch)
        proof = network.prove(stored(batch, confirmed.state), places(digests)[1][0])
        bundle, file = proof, FILES[0]
        if len(digests) > 1:
            bundle, place = split_batched(proof)
            file = place.root_file(digests[0])
        honest = case(scene, json.loads(bundle), file)
        assert cosign_says(program, tmp_path, honest) == "Verified OK"
        other = b64encode(b"another file").decode()
        assert cosign_says(program, tmp_path, {**honest, "file": other}) != "Verified OK"
        del honest["bundle"]["verificationMaterial"]["timestampVerificationData"]
        assert cosign_says(program, tmp_path, honest) != "Verified OK"
    agreed("Sigstore bundles", COSIGN, version(program))


@pytest.mark.long
async def test_an_answer_that_was_lost_but_saved_is_recovered_from_tiles(scene: Scene) -> None:
    """The second upload has the same bytes: the log answers with the index of the first."""
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    scene.log.behave("lost", "honest")
    with pytest.raises(Unavailable):
        await network.send(batch)
    assert len(scene.log.entries) == 301
    scene.log.grow(500)
    confirmed = await network.send(batch)
    assert isinstance(confirmed, Confirmed), confirmed
    assert confirmed.payload == {"log_index": 300}
    assert (len(scene.log.entries), scene.log.posts) == (801, 2)
    proof = network.prove(stored(batch, confirmed.state), places(DIGESTS)[1][2])
    assert scene.verify(FILES[2], proof, confirmed).verdict is Verdict.TOTAL_PASSED


@pytest.mark.long
async def test_a_request_that_was_lost_and_not_saved_is_sent_again(scene: Scene) -> None:
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    scene.log.behave("unsaved", "honest")
    with pytest.raises(Unavailable):
        await network.send(batch)
    assert len(scene.log.entries) == 300
    assert isinstance(await network.send(batch), Confirmed)
    assert len(scene.log.entries) == 301


@pytest.mark.long
async def test_what_is_confirmed_is_not_sent_again(scene: Scene) -> None:
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    first = await network.send(batch)
    again = await network.send(stored(batch, first.state))
    assert again == replace(first, state=again.state)
    assert again.state == json.loads(json.dumps(first.state))
    assert scene.log.posts == 1


@pytest.mark.long
async def test_a_refusal_of_the_log_ends_the_batch(scene: Scene) -> None:
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    scene.log.behave("400", "500", "honest")
    refused = await network.send(batch)
    assert isinstance(refused, Refused)
    assert (refused.code, "made to answer 400" in refused.detail) == ("log_refused", True)
    with pytest.raises(Unavailable, match="500"):
        await network.send(batch)
    tampered = stored(batch, {**batch.state, "signature": b64encode(b"no signature").decode()})
    refused = await network.send(tampered)
    assert isinstance(refused, Refused)
    assert refused.code == "log_refused"
    assert len(scene.log.entries) == 300


@pytest.mark.long
async def test_a_slow_checkpoint_is_waited_for(scene: Scene) -> None:
    network = scene.network(timeout_seconds=0.5)
    batch = await drafted(network, DIGESTS)
    scene.log.automatic = False
    scene.log.behave("slow", "honest")
    slow = await network.send(batch)
    assert isinstance(slow, Waiting)
    assert "did not answer within 0.5 seconds" in slow.detail
    network = scene.network()
    waiting = await network.look(stored(batch, slow.state))
    assert isinstance(waiting, Waiting)
    assert "checkpoint of 300 entries does not cover entry 300" in waiting.detail
    waiting = await network.look(stored(batch, waiting.state))
    assert isinstance(waiting, Waiting)
    assert scene.log.posts == 2  # the index is known: it is not sent again
    scene.log.publish()
    confirmed = await network.look(stored(batch, waiting.state))
    assert isinstance(confirmed, Confirmed)
    assert len(scene.log.entries) == 301


LIES = [
    "another entry",
    "another body",
    "another path",
    "another root",
    "no proof",
    "forged checkpoint",
    "garbage",
]


@pytest.mark.parametrize("way", LIES)
@pytest.mark.long
async def test_an_answer_that_proves_nothing_never_confirms(scene: Scene, way: str) -> None:
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    scene.log.behave(way)
    refused = await network.send(batch)
    assert isinstance(refused, Refused)
    assert refused.code == "proof_invalid"
    assert "bundle" not in refused.state


@pytest.mark.long
async def test_an_index_of_another_entry_never_confirms(scene: Scene) -> None:
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    scene.log.behave("lost", "no index", "wrong index")
    with pytest.raises(Unavailable):
        await network.send(batch)
    scene.log.grow(10)
    waiting = await network.send(batch)
    assert isinstance(waiting, Waiting)
    assert "does not say at which index" in waiting.detail
    refused = await network.send(batch)
    assert isinstance(refused, Refused)
    assert refused.code == "proof_invalid"
    assert "entry 301 of the log does not prove it" in refused.detail


@pytest.mark.long
async def test_a_rotated_key_of_the_log_is_said_and_then_accepted(scene: Scene) -> None:
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    scene.log.rotate()
    waiting = await network.send(batch)
    assert isinstance(waiting, Waiting)
    assert "if its key was rotated, set FOJA_REKOR_KEY" in waiting.detail
    waiting = await network.look(stored(batch, waiting.state))  # now from tiles
    assert isinstance(waiting, Waiting)
    [line] = (await network.check()).missing
    assert "if its key was rotated, set FOJA_REKOR_KEY" in line
    confirmed = await scene.network().look(stored(batch, waiting.state))
    assert isinstance(confirmed, Confirmed)
    assert confirmed.trust[0] == f"rekor:{scene.log.vkey}"
    assert len(scene.log.entries) == 301


@pytest.mark.long
async def test_another_log_at_the_same_address_is_named(scene: Scene) -> None:
    network = scene.network(log=Verifier.from_vkey(RekorLog("other.example").vkey))
    waiting = await network.send(await drafted(network, DIGESTS))
    assert isinstance(waiting, Waiting)
    assert "the log signs as rekor.example+" in waiting.detail
    assert "if it is the right log, set FOJA_REKOR_KEY" in waiting.detail


@pytest.mark.long
async def test_a_rotated_signing_key_does_not_change_what_was_signed(scene: Scene) -> None:
    network = scene.network()
    batch = await drafted(network, DIGESTS)
    keys = SigningKeys(scene.home)
    first, second = keys.current(), keys.rotate()
    confirmed = await network.send(batch)
    assert isinstance(confirmed, Confirmed)
    assert confirmed.trust[1] == first.public_pem()
    later = await network.send(await drafted(network, DIGESTS[:2]))
    assert isinstance(later, Confirmed)
    assert later.trust[1] == second.public_pem()


@pytest.mark.long
async def test_a_log_that_is_down_is_unavailable(scene: Scene) -> None:
    network = scene.network(url="http://127.0.0.1:1")
    batch = await drafted(network, DIGESTS)
    with pytest.raises(Unavailable, match="does not answer"):
        await network.send(batch)
    [line] = (await network.check()).missing
    assert "cannot read checkpoint of the log" in line


@pytest.mark.long
async def test_nothing_is_signed_for_the_log_without_a_timestamp(scene: Scene) -> None:
    async def away(digest: bytes) -> bytes:
        raise Unavailable("no authority answers")

    with pytest.raises(Unavailable, match="no authority"):
        await scene.network(stamp=away).draft(DIGESTS[0], None)
    assert scene.log.posts == 0


@pytest.mark.long
async def test_a_token_of_another_authority_never_confirms(scene: Scene) -> None:
    async def foreign(digest: bytes) -> bytes:
        return Stamper().token(digest)

    network = scene.network(stamp=foreign)
    refused = await network.send(await drafted(network, DIGESTS))
    assert isinstance(refused, Refused)
    assert refused.code == "proof_invalid"


@pytest.mark.long
async def test_reads_may_be_served_elsewhere(scene: Scene) -> None:
    network = scene.network(read_url=f"{scene.log.url}/static/")
    scene.log.behave("lost", "honest")
    batch = await drafted(network, DIGESTS)
    with pytest.raises(Unavailable):
        await network.send(batch)
    assert isinstance(await network.send(batch), Confirmed)


@pytest.mark.long
@pytest.mark.parametrize("others", [0, 1, 255, 256, 257, 511, 512, 700])
@pytest.mark.parametrize("more", [0, 1, 255, 400])
async def test_every_place_is_recovered_from_tiles(tmp_path: Path, others: int, more: int) -> None:
    """Full and partial tiles, of trees of every shape; partial ones are deleted when they are full."""
    with running_rekor() as log:
        scene = Scene(log, tmp_path, Stamper())
        log.grow(others)
        network = scene.network()
        batch = await drafted(network, DIGESTS)
        log.behave("lost", "honest")
        with pytest.raises(Unavailable):
            await network.send(batch)
        log.grow(more)
        confirmed = await network.send(batch)
        assert isinstance(confirmed, Confirmed), confirmed
        assert confirmed.payload == {"log_index": others}


def test_the_key_of_a_log_is_read_in_every_form(tmp_path: Path) -> None:
    log = RekorLog()
    url = "https://rekor.example:8443/log"
    files = {"log.vkey": log.vkey + "\n", "log.pem": log.pem}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for given in (log.vkey, log.pem, str(tmp_path / "log.vkey"), str(tmp_path / "log.pem")):
        assert log_key(given, url).vkey() == log.vkey
    p256 = ec.generate_private_key(ec.SECP256R1()).public_key()
    other = p256.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for wrong in ("", "nowhere.vkey", log.vkey[:-4], "a+b+c", "-----BEGIN PUBLIC KEY-----", other):
        with pytest.raises(SetupFailed, match="FOJA_REKOR_KEY"):
            log_key(wrong, url)


@pytest.mark.long
def test_the_command_judges_a_proof_of_a_batch_alone_and_online(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def confirm() -> tuple[bytes, Confirmed]:
        network = scene.network()
        batch = await drafted(network, DIGESTS)
        confirmed = await network.send(batch)
        assert isinstance(confirmed, Confirmed)
        return network.prove(stored(batch, confirmed.state), places(DIGESTS)[1][4]), confirmed

    proof, confirmed = asyncio.run(confirm())
    trust = "\n".join([*confirmed.trust, scene.stamper.root.pem.decode()])
    for name, data in {"x.txt": FILES[4], "x.rekor.json": proof, "trust": trust.encode()}.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    words = ["verify", "x.txt", "--proof", "x.rekor.json", "--trust", "trust", "--json"]
    assert main(words) == 0
    [alone] = json.loads(capsys.readouterr().out)["evidence"]
    assert any("same checkpoint" in each for each in alone["not_checked"])
    scene.log.grow(100)
    monkeypatch.setenv("FOJA_REKOR_URL", scene.log.url)
    assert main([*words, "--online"]) == 0
    [online] = json.loads(capsys.readouterr().out)["evidence"]
    assert "which its newer one of 401 entries extends, in a batch of 5" in online["detail"]
    assert main(words[:4]) == 2
