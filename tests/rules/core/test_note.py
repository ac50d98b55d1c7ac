"""Signed notes: Go's own example, sigstore's reader, and every way to corrupt one."""

from __future__ import annotations

import base64
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from sigstore._internal.rekor.checkpoint import verify_checkpoint
from sigstore._internal.trust import Keyring, RekorKeyring
from sigstore.errors import VerificationError
from sigstore_models.common.v1 import PublicKey, PublicKeyDetails

from foja.errors import Refused, Tampered
from foja.pure.core.note import Checkpoint, Signer, Verifier, open_note, parse_checkpoint, split_note

# The example in the documentation of golang.org/x/mod/sumdb/note, key included.
GO_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_SEED = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
GO_TEXT = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
)
GO_LINE = (
    "— PeterNeumann"
    " x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
GO_NOTE = f"{GO_TEXT}\n{GO_LINE}"

# Real checkpoints of Rekor version 1: signed with ECDSA, an origin with spaces.
REKOR_NOTE = (
    "rekor.sigstore.dev - 2605736670972794746\n75441653\nuAqI3id6JHPMMNUltHIKHuX1kVHpm5y7jSfnbaRO+E4=\n\n"
    "— rekor.sigstore.dev wNI9ajBGAiEA5perJLLm94gCQOQT5/vO29OXWNZ1SoengZDZ/U6vsOUCIQDBL0BIkCjWGR6V622znnVp"
    "XF5D1g0jPgajBlHh8uSc8g==\n"
)

ANA = Signer("example.com/ana", sha256(b"ana").digest())
EVE = Signer("example.com/eve", sha256(b"eve").digest())
ROOT = sha256(b"root").digest()
ROOT64 = base64.b64encode(ROOT).decode()
NOTE = ANA.sign("hello\n")
LINE = NOTE.split("\n\n")[1]

lines = st.text(st.characters(min_codepoint=0x20, exclude_categories=["Cs"]))


def test_go_example_byte_for_byte() -> None:
    signer = Signer("PeterNeumann", GO_SEED)
    assert signer.verifier().vkey() == GO_VKEY
    assert signer.sign(GO_TEXT) == GO_NOTE
    assert open_note(GO_NOTE, [Verifier.from_vkey(GO_VKEY)]) == GO_TEXT


def test_a_key_in_use() -> None:
    vkey = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
    assert Verifier.from_vkey(vkey).vkey() == vkey


@given(st.lists(lines).map(lambda each: "\n".join([*each, ""])).filter(lambda text: text.endswith("\n")))
def test_what_is_signed_opens(text: str) -> None:
    for note in (ANA.sign(text), ANA.sign(text).encode()):
        assert open_note(note, [EVE.verifier(), ANA.verifier()]) == text


def test_signatures_of_others_are_ignored() -> None:
    both = NOTE + EVE.sign("hello\n").split("\n\n")[1]
    stray = NOTE + EVE.sign("something else\n").split("\n\n")[1]
    for note in (both, stray):
        assert open_note(note, [ANA.verifier()]) == "hello\n"
    assert open_note(both, [ANA.verifier(), EVE.verifier()]) == "hello\n"


def test_a_wrong_signature_of_a_known_key_is_refused() -> None:
    corrupt = NOTE + EVE.sign("something else\n").split("\n\n")[1]
    with pytest.raises(Tampered, match="eve"):
        open_note(corrupt, [ANA.verifier(), EVE.verifier()])


def test_a_shared_name_or_a_shared_id_is_not_the_same_key() -> None:
    namesake = Signer(ANA.name, EVE.private_key)
    with pytest.raises(Tampered, match="no key you trust"):
        open_note(NOTE, [namesake.verifier()])
    renamed = NOTE.replace("— example.com/ana", "— example.com/eve")
    with pytest.raises(Tampered, match="no key you trust"):
        open_note(renamed, [ANA.verifier()])


def test_without_trusted_keys_no_note_opens() -> None:
    with pytest.raises(Tampered, match="no key you trust"):
        open_note(NOTE, [])


@given(st.integers(0, len(NOTE.encode()) - 1), st.integers(1, 255))
def test_no_changed_byte_passes(at: int, flip: int) -> None:
    data = bytearray(NOTE.encode())
    data[at] ^= flip
    with pytest.raises(Tampered):
        open_note(bytes(data), [ANA.verifier()])


@given(st.binary() | st.text())
def test_opening_is_total(note: bytes | str) -> None:
    with pytest.raises(Tampered):
        open_note(note, [ANA.verifier()])


@pytest.mark.parametrize(
    "note",
    [
        "",
        "hello\n",
        "hello\n\n",
        f"hello\n{LINE}",
        f"hello\n\n{LINE}"[:-1],
        f"hello\n\n{LINE}\n",
        f"hello\n\n{LINE}trailing\n",
        f"hello\n\n{LINE.replace('— ', '- ')}",
        f"hello\n\n{LINE.replace('— ', '—  ')}",
        f"hello\n\n{LINE[:-1]} \n",
        f"hello\n\n{LINE[:-2]}\n",
        f"hello\n\n{LINE.replace('example', 'exa+mple')}",
        f"hello\n\n{LINE}— bob AAAAAA==\n",
        f"hello\n\n{LINE}— bob AAAAAAB=\n",
        f"hello\n\n{LINE}— bob\n",
        f"hel\tlo\n\n{LINE}",
        f"hel\rlo\n\n{LINE}",
        f"hel\0lo\n\n{LINE}",
        f"hel\ud800lo\n\n{LINE}",
        f"hello\n\n{LINE * 101}",
        b"hel\xfflo\n\n" + LINE.encode(),
    ],
    ids=repr,
)
def test_malformed_notes_are_refused(note: str | bytes) -> None:
    with pytest.raises(Tampered):
        open_note(note, [ANA.verifier()])
    with pytest.raises(Tampered):
        split_note(note)


def test_sixteen_signatures_and_more_are_read() -> None:
    assert open_note(f"hello\n\n{LINE * 100}", [ANA.verifier()]) == "hello\n"


@pytest.mark.parametrize("text", ["", "no newline", "tab\t\n", "return\r\n", "half \ud83d\n", "null\0\n"])
def test_only_whole_plain_lines_are_signed(text: str) -> None:
    with pytest.raises(Refused):
        ANA.sign(text)


@pytest.mark.parametrize(
    "name", ["", "a b", "a+b", "a\u00a0b", "a\u2003", "\u3000a", "a ", "a\x85b", "a\nb", "\ud800"]
)
def test_names_follow_the_rules(name: str) -> None:
    with pytest.raises(Refused):
        Signer(name, bytes(32))
    with pytest.raises(Refused):
        Verifier(name, bytes(32))


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_keys_have_thirty_two_bytes(size: int) -> None:
    with pytest.raises(Refused):
        Signer("a", bytes(size))
    with pytest.raises(Refused):
        Verifier("a", bytes(size))


def test_a_private_key_is_never_printed() -> None:
    assert "private" not in repr(ANA)


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        GO_VKEY.replace("c74f20a3", "c74f20a4"),
        GO_VKEY.replace("Peter", "Pedro"),
        GO_VKEY[:-4],
        GO_VKEY.replace("+AR", "+BR"),
        GO_VKEY + "\n",
        " " + GO_VKEY,
    ],
)
def test_a_verifier_key_is_copied_whole_or_refused(vkey: str) -> None:
    with pytest.raises(Refused):
        Verifier.from_vkey(vkey)


def test_a_checkpoint_reads_back() -> None:
    checkpoint = Checkpoint("foja.example/log/1", 0, ROOT)
    assert checkpoint.text() == f"foja.example/log/1\n0\n{ROOT64}\n"
    assert parse_checkpoint(checkpoint.text()) == checkpoint


@given(lines.filter(bool), st.integers(0, 2**63), st.binary(min_size=32, max_size=32))
def test_any_checkpoint_reads_back(origin: str, size: int, root: bytes) -> None:
    checkpoint = Checkpoint(origin, size, root)
    assert parse_checkpoint(open_note(ANA.sign(checkpoint.text()), [ANA.verifier()])) == checkpoint


def test_extension_lines_are_ignored() -> None:
    assert parse_checkpoint(f"o\n5\n{ROOT64}\nmore\nand more\n") == Checkpoint("o", 5, ROOT)


def test_a_real_checkpoint() -> None:
    text, [signature] = split_note(REKOR_NOTE)
    assert (signature.name, signature.key_id.hex()) == ("rekor.sigstore.dev", "c0d23d6a")
    checkpoint = parse_checkpoint(text)
    assert (checkpoint.origin, checkpoint.size) == ("rekor.sigstore.dev - 2605736670972794746", 75441653)
    with pytest.raises(Tampered, match="no key you trust"):
        open_note(REKOR_NOTE, [ANA.verifier()])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "o\n5\n",
        f"o\n5\n{ROOT64}",
        f"\n5\n{ROOT64}\n",
        f"o\n05\n{ROOT64}\n",
        f"o\n+5\n{ROOT64}\n",
        f"o\n-5\n{ROOT64}\n",
        f"o\n 5\n{ROOT64}\n",
        f"o\n5 \n{ROOT64}\n",
        f"o\n5.0\n{ROOT64}\n",
        f"o\n٥\n{ROOT64}\n",
        f"o\n00\n{ROOT64}\n",
        f"o\n{'9' * 5000}\n{ROOT64}\n",
        f"o\n5\n{ROOT64[:-1]}\n",
        f"o\n5\n{ROOT64} \n",
        f"o\n5\n{ROOT64[:-2]}{chr(ord(ROOT64[-2]) + 1)}=\n",
        f"o\n5\n{base64.b64encode(ROOT[:31]).decode()}\n",
        f"o\n5\n{base64.b64encode(ROOT + ROOT).decode()}\n",
        f"o\n5\n{ROOT64}\n\n",
        f"o\n5\n{ROOT64}\n\nmore\n",
        f"o\t\n5\n{ROOT64}\n",
        f"o\r\n5\r\n{ROOT64}\r\n",
    ],
    ids=repr,
)
def test_loose_checkpoints_are_refused(text: str) -> None:
    with pytest.raises(Tampered):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    ("origin", "size", "root"),
    [("", 1, ROOT), ("a\nb", 1, ROOT), ("a\tb", 1, ROOT), ("a", -1, ROOT), ("a", 1, b"")],
)
def test_no_checkpoint_that_cannot_be_read(origin: str, size: int, root: bytes) -> None:
    with pytest.raises(Refused):
        Checkpoint(origin, size, root)


def sigstore_keyring(verifier: Verifier) -> RekorKeyring:
    key = Ed25519PublicKey.from_public_bytes(verifier.public_key)
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    encoded = base64.b64encode(der)
    return RekorKeyring(Keyring([PublicKey(raw_bytes=encoded, key_details=PublicKeyDetails.PKIX_ED25519)]))


def sigstore_entry(note: str, verifier: Verifier, root: bytes) -> Any:
    inclusion = SimpleNamespace(checkpoint=SimpleNamespace(envelope=note), root_hash=root)
    log = SimpleNamespace(key_id=verifier.key_id + bytes(28))
    return SimpleNamespace(_inner=SimpleNamespace(inclusion_proof=inclusion, log_id=log))


def test_sigstore_accepts_our_checkpoints_and_only_those() -> None:
    note, verifier = ANA.sign(Checkpoint(ANA.name, 5, ROOT).text()), ANA.verifier()
    keyring = sigstore_keyring(verifier)
    verify_checkpoint(keyring, sigstore_entry(note, verifier, ROOT))
    for forged, root in ((note.replace("\n5\n", "\n6\n"), ROOT), (note, bytes(32))):
        with pytest.raises(VerificationError):
            verify_checkpoint(keyring, sigstore_entry(forged, verifier, root))
