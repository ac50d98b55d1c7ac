"""A published log, judged by programs that are not ours: sigstore and pymerkle.

Nothing of `foja.pure.core` is used to read the files: they are opened as c2sp.org describes them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pymerkle import InmemoryTree, verify_consistency
from sigstore._internal.merkle import verify_merkle_inclusion
from sigstore._internal.rekor.checkpoint import SignedCheckpoint, verify_checkpoint
from sigstore._internal.trust import Keyring, RekorKeyring
from sigstore.errors import VerificationError
from sigstore_models.common.v1 import PublicKey, PublicKeyDetails

from foja.app import App

STREAMS, FIRST, SIZE = 10, 300, 1_000
WIDTH, HASH = 256, 32


@dataclass(frozen=True)
class Published:
    """What stands in the store: a first checkpoint, the last one, and the entries under it."""

    app: App
    early: str
    note: str
    entries: list[bytes]
    names: set[tuple[UUID, int]]

    def tree(self) -> Any:
        return InmemoryTree.init_from_entries(self.entries, algorithm="sha256")


@pytest.fixture
async def published(app: App) -> Published:
    """A log of a thousand events of ten streams, published in two steps."""
    talks = [await app.conversations.open() for _ in range(STREAMS)]
    drafts = [talks[n % STREAMS].draft("user_message_sent", {"content": f"message {n}"}) for n in range(SIZE)]
    written = await app.ledger.append_many(drafts[:FIRST])
    await app.work(until_idle=True)
    early = await read(app, "checkpoint")
    written += await app.ledger.append_many(drafts[FIRST:])
    await app.work(until_idle=True)
    entries = [entry for name in tile_names("entries", SIZE) for entry in split_bundle(await read(app, name))]
    names = {(event.entity_id, event.seq) for event in written}
    return Published(app, early.decode(), (await read(app, "checkpoint")).decode(), entries, names)


async def read(app: App, name: str) -> bytes:
    return (await app.store.read(f"log/1/{name}")).data


def tile_names(level: str, size: int) -> list[str]:
    """c2sp.org/tlog-tiles, for logs of less than a thousand tiles."""
    full, rest = divmod(size, WIDTH)
    return [f"tile/{level}/{n:03d}" for n in range(full)] + (
        [f"tile/{level}/{full:03d}.p/{rest}"] if rest else []
    )


def split_bundle(data: bytes) -> list[bytes]:
    entries = []
    while data:
        end = 2 + int.from_bytes(data[:2], "big")
        entries.append(data[2:end])
        data = data[end:]
    return entries


def head(note: str) -> tuple[int, bytes]:
    checkpoint = SignedCheckpoint.from_text(note).checkpoint
    return checkpoint.log_size, bytes.fromhex(checkpoint.log_hash)


def trusted(vkey: str) -> tuple[bytes, RekorKeyring]:
    """Return the key id of a verifier key, and sigstore's keyring with that key in it."""
    _, key_id, key = vkey.split("+", 2)
    public = Ed25519PublicKey.from_public_bytes(b64decode(key)[1:])
    encoded = b64encode(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    keys = [PublicKey(raw_bytes=encoded, key_details=PublicKeyDetails.PKIX_ED25519)]
    return bytes.fromhex(key_id), RekorKeyring(Keyring(keys))


def check_note(note: str, vkey: str, root: bytes) -> None:
    key_id, keyring = trusted(vkey)
    proof = SimpleNamespace(checkpoint=SimpleNamespace(envelope=note), root_hash=root)
    log = SimpleNamespace(key_id=key_id + bytes(28))
    verify_checkpoint(keyring, like_rekor(inclusion_proof=proof, log_id=log))


def check_place(entry: bytes, index: int, path: list[bytes], note: str) -> None:
    size, root = head(note)
    proof = SimpleNamespace(log_index=index, tree_size=size, hashes=path, root_hash=root)
    verify_merkle_inclusion(like_rekor(inclusion_proof=proof, canonicalized_body=entry))


def like_rekor(**fields: object) -> Any:
    return SimpleNamespace(_inner=SimpleNamespace(**fields))


async def test_sigstore_accepts_the_published_checkpoint_and_no_other(published: Published) -> None:
    vkey = published.app.trust[0]
    size, root = head(published.note)
    assert size == SIZE
    check_note(published.note, vkey, root)
    forged = published.note.replace(f"\n{SIZE}\n", f"\n{SIZE - 1}\n")
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    name, key_id, _ = vkey.split("+", 2)
    stranger = f"{name}+{key_id}+{b64encode(bytes([1]) + other).decode()}"
    for note, key, stated in (
        (forged, vkey, root),
        (published.note, stranger, root),
        (published.note, vkey, head(published.early)[1]),
    ):
        with pytest.raises(VerificationError):
            check_note(note, key, stated)


async def test_pymerkle_builds_the_signed_tree_out_of_the_published_entries(published: Published) -> None:
    tree = published.tree()
    assert (tree.get_size(), tree.get_root()) == head(published.note)
    assert (FIRST, tree.get_root(FIRST)) == head(published.early)
    verify_consistency(tree.get_root(FIRST), tree.get_root(), tree.prove_consistency(FIRST, SIZE))
    # An entry ends with the stream's id, the event's number and its link of the chain.
    named = [(UUID(bytes=each[-56:-40]), int.from_bytes(each[-40:-32], "big")) for each in published.entries]
    assert len(set(named)) == SIZE
    assert set(named) == published.names


async def test_every_tile_holds_the_hashes_of_pymerkle(published: Published) -> None:
    tree, app = published.tree(), published.app
    leaves = b"".join([await read(app, name) for name in tile_names("0", SIZE)])
    assert leaves == b"".join(tree.get_leaf(n + 1) for n in range(SIZE))
    above = b"".join([await read(app, name) for name in tile_names("1", SIZE // WIDTH)])
    roots = [
        InmemoryTree.init_from_entries(published.entries[n * WIDTH : (n + 1) * WIDTH], algorithm="sha256")
        for n in range(SIZE // WIDTH)
    ]
    assert above == b"".join(each.get_root() for each in roots)


async def test_sigstore_accepts_the_place_of_every_event_and_no_changed_leaf(published: Published) -> None:
    tree, vkey = published.tree(), published.app.trust[0]
    seen = set()
    for entity_id, seq in sorted(published.names):
        proof = await published.app.ledger.log.prove(entity_id, seq)
        index, path, note = proof.index, list(proof.path), proof.note
        entry = published.entries[index]
        assert (note, entry[1:25]) == (published.note, entity_id.bytes + seq.to_bytes(8))
        assert path == tree.prove_inclusion(index + 1, SIZE).path[1:]
        check_place(entry, index, path, note)
        changed = bytes([*entry[:-1], entry[-1] ^ 1])
        for other, at in ((changed, index), (entry, index ^ 1)):
            with pytest.raises(VerificationError):
                check_place(other, at, path, note)
        seen.add(index)
    assert seen == set(range(SIZE))
    check_note(published.note, vkey, tree.get_root())


async def test_one_changed_leaf_changes_the_root_that_was_signed(published: Published) -> None:
    entries, vkey = list(published.entries), published.app.trust[0]
    entries[SIZE // 2] = bytes([*entries[SIZE // 2][:-1], entries[SIZE // 2][-1] ^ 1])
    rebuilt = InmemoryTree.init_from_entries(entries, algorithm="sha256")
    with pytest.raises(VerificationError):
        check_note(published.note, vkey, rebuilt.get_root())
