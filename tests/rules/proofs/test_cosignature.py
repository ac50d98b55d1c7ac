"""Cosignatures: a real checkpoint with four real cosigners, the specification's request, and every fault."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import Refused, Tampered
from foja.pure.core.note import Checkpoint, Signer, Verifier, open_note, parse_checkpoint, split_note
from foja.pure.proofs.cosignature import (
    MAX_HASHES,
    CosignerKey,
    CosignerSigner,
    CosignRequest,
    Policy,
    find_cosignatures,
    parse_policy,
    parse_request,
    read_answer,
)

VECTORS = Path(__file__).parents[2] / "vectors" / "cosignatures"
# A checkpoint of a public log of 23 May 2026, as published: other kinds of signatures are among the lines.
REAL = (VECTORS / "arche2025h1.checkpoint").read_text()
REAL_LOG = "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
REAL_COSIGNERS = (
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
    "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO",
)
# The example of c2sp.org/tlog-witness.
EXAMPLE = (VECTORS / "example.request").read_text()
TIME = 1_763_337_600
LOG = Signer("log.example", sha256(b"log").digest())
TEXT = Checkpoint("log.example", 7, sha256(b"root").digest()).text()
NOTE = LOG.sign(TEXT)
ANA, EVE = (CosignerSigner(f"{name}.example", sha256(name.encode()).digest()) for name in ("ana", "eve"))


def cosigned(*signers: CosignerSigner, note: str = NOTE, time: int = TIME) -> str:
    return note + "".join(each.cosign(split_note(note)[0], time) for each in signers)


def test_real_cosigners_vouch_for_a_real_checkpoint() -> None:
    keys = [CosignerKey.from_vkey(each) for each in REAL_COSIGNERS]
    assert [each.vkey() for each in keys] == [*REAL_COSIGNERS]
    log = Verifier.from_vkey(REAL_LOG)
    assert parse_checkpoint(open_note(REAL, [log])).size == 1432088532
    found = find_cosignatures(REAL, keys, {log.public_key})
    assert [each.key.vkey() for each in found] == [*REAL_COSIGNERS]
    assert {each.time for each in found} == {1779573024}
    assert all(each.line in REAL for each in found)


def test_a_changed_real_checkpoint_has_no_cosigner() -> None:
    for change in (("1432088532", "1432088533"), ("arche2025h1.staging", "arche2025h2.staging")):
        changed = REAL.replace(*change, 1)
        assert changed != REAL
        for vkey in REAL_COSIGNERS:
            with pytest.raises(Tampered):
                find_cosignatures(changed, [CosignerKey.from_vkey(vkey)], ())


def test_the_keys_of_logs_and_cosigners_are_not_exchangeable() -> None:
    with pytest.raises(Refused, match="of a cosigner"):
        CosignerKey.from_vkey(REAL_LOG)
    with pytest.raises(Refused, match="verifier key"):
        Verifier.from_vkey(REAL_COSIGNERS[0])
    assert CosignerKey("a", bytes(32)) != Verifier("a", bytes(32))


def test_each_key_counts_once_whatever_its_name() -> None:
    alias = CosignerSigner("another.example", ANA.private_key)
    note = cosigned(ANA, ANA, alias, EVE)
    found = find_cosignatures(note, [ANA.key(), alias.key(), EVE.key()], ())
    assert len(found) == len({each.key.public_key for each in found}) == 2


def test_of_two_lines_of_one_key_the_earlier_time_counts() -> None:
    note = cosigned(ANA, time=TIME + 5) + ANA.cosign(TEXT, TIME) + ANA.cosign(TEXT, TIME + 9)
    [found] = find_cosignatures(note, [ANA.key()], ())
    assert found.time == TIME


def test_a_log_does_not_vouch_for_itself_under_another_name() -> None:
    own = CosignerSigner("independent.example", LOG.private_key)
    assert find_cosignatures(cosigned(own), [own.key()], {LOG.verifier().public_key}) == ()
    assert len(find_cosignatures(cosigned(own), [own.key()], ())) == 1


def test_unknown_keys_are_ignored_and_a_wrong_line_of_a_known_one_is_refused() -> None:
    wrong = NOTE + ANA.cosign("something else\n", TIME)
    assert find_cosignatures(wrong, [EVE.key()], ()) == ()
    with pytest.raises(Tampered, match=r"ana\.example"):
        find_cosignatures(wrong, [ANA.key()], ())


@given(st.integers(0, 2**63 - 1), st.integers(0, 71), st.integers(1, 255))
def test_every_byte_of_a_cosignature_counts(time: int, place: int, flip: int) -> None:
    signature = split_note(cosigned(ANA, time=time))[1][-1]
    assert ANA.key().accepts(TEXT, signature.data)
    changed = bytearray(signature.data)
    changed[place] ^= flip
    assert not ANA.key().accepts(TEXT, bytes(changed))


def test_a_time_is_a_signed_64_bit_number() -> None:
    for time in (-1, 2**63):
        with pytest.raises(Refused, match="clock"):
            ANA.cosign(TEXT, time)
    assert not ANA.key().accepts(TEXT, (2**63).to_bytes(8, "big") + bytes(64))


def test_a_time_is_compared_with_the_time_to_judge_at() -> None:
    [found] = find_cosignatures(cosigned(ANA), [ANA.key()], ())
    moment = datetime.fromtimestamp(TIME, UTC)
    assert not found.is_after(moment)
    assert found.is_after(datetime.fromtimestamp(TIME - 1, UTC))


def test_the_answer_of_a_cosigner_is_its_line_and_nothing_else_is_used() -> None:
    line = ANA.cosign(TEXT, TIME)
    assert read_answer(NOTE, EVE.cosign(TEXT, TIME) + line, ANA.key()).line == line
    for answer in (
        "",
        "ok\n",
        EVE.cosign(TEXT, TIME),
        CosignerSigner("ana.example", EVE.private_key).cosign(TEXT, TIME),
        ANA.cosign("something else\n", TIME),
        line.rstrip("\n"),
        f"\n{line}",
        f"x\n1\n{base64.b64encode(bytes(32)).decode()}\n\n{line}",
    ):
        with pytest.raises(Tampered):
            read_answer(NOTE, answer, ANA.key())


def test_the_request_of_the_specification_is_read_and_written() -> None:
    request = parse_request(EXAMPLE.encode())
    assert (request.old_size, len(request.proof)) == (20852014, 4)
    assert parse_checkpoint(split_note(request.note)[0]).size == 20852163
    assert request.text() == EXAMPLE


@given(st.integers(0, 10**18), st.lists(st.binary(min_size=32, max_size=32), max_size=MAX_HASHES))
def test_a_request_is_read_as_it_was_written(old: int, proof: list[bytes]) -> None:
    request = CosignRequest(old, tuple(proof), NOTE)
    assert parse_request(request.text().encode()) == request


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"old 1\n",
        b"old 01\n\nx",
        b"old -1\n\nx",
        b"new 1\n\nx",
        b"old 1\nAAAA\n\nx",
        b"old 1\n????\n\nx",
        b"old 1\n" + b"\n".join([base64.b64encode(bytes(32))] * 64) + b"\n\nx",
    ],
)
def test_what_is_not_a_request_is_refused(data: bytes) -> None:
    with pytest.raises(Tampered):
        parse_request(data)


def test_a_policy_names_the_number_of_different_keys() -> None:
    keys = [ANA.key(), EVE.key(), CosignerKey("other.example", EVE.key().public_key)]
    assert parse_policy("2 of 2", keys) == Policy(2, 2)
    assert str(Policy(2, 3)) == "2 of 3"
    for text in ("2 of 3", "0 of 2", "3 of 2", "2", "two of two", "2 of 2 of 2", "", "1 of 02"):
        with pytest.raises(Refused):
            parse_policy(text, keys)
