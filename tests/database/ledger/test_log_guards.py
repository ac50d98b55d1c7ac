"""The role of the sequencer writes only checkpoints that are true: no row of it breaks the log."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import LiteralString

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.observe.audit import audit
from foja.engine.observe.fsck import Outside, fsck
from foja.pure.core.chain import leaf_entry
from foja.pure.core.merkle import Frontier, leaf_hash
from foja.pure.core.note import Checkpoint, Signer, split_note
from foja.pure.proofs.cosignature import CosignerSigner
from tests.database.schema.rows import Admin

RECORD: LiteralString = "select foja.record_checkpoint(1, %s, %s, %s, %s)"
SAID = {"content": "hi"}


@contextmanager
def sequencing(admin: Admin) -> Iterator[None]:
    """Act as the role of the sequencer."""
    with admin.transaction():
        admin.execute("set local role foja_sweeper")
        yield


async def say(app: App, count: int) -> Conversation:
    talk = await app.conversations.open()
    for _ in range(count):
        await talk.append("user_message_sent", SAID)
    return talk


def tree(admin: Admin, size: int) -> Frontier:
    rows = admin.execute("select entity_id, seq, chain_hash from foja.leaf order by idx limit %s", [size])
    return Frontier().extend(leaf_hash(leaf_entry(*row)) for row in rows.fetchall())


async def test_no_false_checkpoint_is_recorded_and_everything_works_after_the_tries(
    app: App, admin: Admin, database_url: str
) -> None:
    """A checkpoint of 2^63 - 1 leaves stopped every proof for good, and the audit died of it."""
    talk = await say(app, 5)
    await app.publish()
    proof = await talk.prove(0)
    await talk.append("user_message_sent", SAID)
    await app.sequencer.sweep()
    await app.sequencer.number()
    name, signer = app.signer.name, app.signer
    true = tree(admin, 6)
    other = Signer(name, bytes(range(32)))
    root, edge = true.root(), true.encode()
    note = signer.sign(Checkpoint(name, 6, root).text())

    def signed(size: int, root: bytes, origin: str = name, by: Signer = signer) -> str:
        return by.sign(Checkpoint(origin, size, root).text())

    forged: list[tuple[int, bytes, bytes, str]] = [
        (9223372036854775807, b"\x00", b"", "x"),
        (9223372036854775807, root, edge, signed(9223372036854775807, root)),
        (7, root, edge, signed(7, root)),
        (0, root, edge, signed(0, root)),
        (-1, root, edge, note),
        (6, bytes(32), edge, signed(6, bytes(32))),
        (6, root, bytes(8), note),
        (6, root, edge, signed(5, root)),
        (6, root, edge, signed(6, root, "evil.example/log")),
        (6, root, edge, signed(6, root, by=other)),
        (6, root, edge, signed(6, root, by=Signer("evil.example/log", bytes(32)))),
        (6, root, edge, note[:-6] + "AAA=\n"),
        (6, root, edge, note + note.splitlines()[-1] + "\n"),
        (6, root, edge, note.replace("\n\n", "\nmore\n\n")),
        (6, root, edge, ""),
    ]
    for values in forged:
        with pytest.raises(psycopg.Error) as refused, sequencing(admin):
            admin.execute(RECORD, values)
        assert refused.value.sqlstate == "FJ001", values
    with sequencing(admin):
        for size in (6, 7, 9223372036854775807):
            admin.execute("select foja.mark_published(1, %s)", [size])
    with pytest.raises(psycopg.Error, match="bad_payload"), sequencing(admin):
        admin.execute("select foja.restart_log(1, 'evil.example/log', true)")
    await app.publish()
    assert admin.execute("select size from foja.checkpoint order by size").fetchall() == [(5,), (6,)]
    assert (await talk.prove(5)).verify(app.trust).verdict == "TOTAL_PASSED"
    assert (await audit(database_url, max_lag_seconds=60)).clean
    assert (await fsck(database_url, Outside(app.store, [app.signer.verifier()]))).clean
    opened = await app.sequencer.restart()
    assert opened.name == f"{name}/2/6-{root.hex()}"
    await talk.append("user_message_sent", SAID)
    await app.publish()
    for seq in (0, 6):
        assert (await talk.prove(seq)).verify(app.trust).verdict == "TOTAL_PASSED"
    assert proof.verify(app.trust).verdict == "TOTAL_PASSED"
    assert (await audit(database_url, max_lag_seconds=60)).clean
    assert (await fsck(database_url, Outside(app.store, [app.signer.verifier()]))).clean


async def test_a_smaller_checkpoint_is_not_published_after_a_larger_one(app: App, admin: Admin) -> None:
    talk = await say(app, 2)
    await app.sequencer.sweep()
    await app.sequencer.number()
    edge = tree(admin, 1)
    note = app.signer.sign(Checkpoint(app.signer.name, 1, edge.root()).text())
    with sequencing(admin):
        admin.execute(RECORD, [1, edge.root(), edge.encode(), note])
    await app.publish()
    with sequencing(admin):
        admin.execute("select foja.mark_published(1, 1)")
    rows = admin.execute("select size, published_at is null from foja.checkpoint order by size").fetchall()
    assert rows == [(1, True), (2, False)]
    assert (await talk.prove(1)).verify(app.trust).verdict == "TOTAL_PASSED"


@pytest.mark.parametrize(
    "name",
    ["evil\tname", "evil\x01", "evil\r", "evil\x85", "evil\xa0", "evil\u2028", "evil\u3000", "x" * 256],
)
async def test_no_cosigner_has_a_name_that_readers_of_a_note_refuse(
    app: App, admin: Admin, name: str
) -> None:
    """The role signed with its own key under the name `evil<tab>name`: every proof failed from then on."""
    talk = await say(app, 2)
    await app.publish()
    [(note,)] = admin.execute("select note from foja.checkpoint").fetchall()
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public, time = key.public_key().public_bytes_raw(), 1_800_000_000
    text = split_note(note)[0]
    signed = key.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
    identifier = sha256(name.encode() + b"\n\x04" + public).digest()[:4]
    line = f"— {name} {b64encode(identifier + time.to_bytes(8, 'big') + signed).decode()}\n"
    vkey = "+".join([name, identifier.hex(), b64encode(b"\x04" + public).decode()])
    with pytest.raises(psycopg.Error) as refused, sequencing(admin):
        admin.execute("select foja.record_cosignature(1, 2, %s, %s, %s)", [public, vkey, line])
    assert refused.value.sqlstate == "FJ001"
    assert (await talk.prove(1)).verify(app.trust).verdict == "TOTAL_PASSED"


async def test_what_is_said_of_a_cosigner_is_about_its_key(app: App, admin: Admin) -> None:
    """The role gave a cosigner another text as its key: fsck called every cosignature of it false."""
    await say(app, 1)
    await app.publish()
    key = CosignerSigner("cosigner.example/a", bytes(32)).key()
    said = ("away", "it does not answer")
    for vkey, fault, detail in (
        ("evil", *said),
        (CosignerSigner("cosigner.example/a", bytes([1]) * 32).key().vkey(), *said),
        (key.vkey(), "any other fault", "it does not answer"),
        (key.vkey(), "away", "x" * 8193),
    ):
        values = [key.public_key, vkey, fault, detail]
        with pytest.raises(psycopg.Error) as refused, sequencing(admin):
            admin.execute("select foja.record_cosigner_fault(1, %s, %s, %s, %s)", values)
        assert refused.value.sqlstate == ("23514" if fault == "any other fault" else "FJ001")
    with sequencing(admin):
        admin.execute(
            "select foja.record_cosigner_fault(1, %s, %s, %s, %s)", [key.public_key, key.vkey(), *said]
        )
    assert admin.execute("select fault, detail from foja.cosigner").fetchall() == [said]


async def test_no_log_is_halted_without_a_reason(app: App, admin: Admin) -> None:
    """Nothing was published after an empty reason, and `foja log` and doctor said that the log was open."""
    await say(app, 1)
    await app.publish()
    with pytest.raises(psycopg.Error) as refused, sequencing(admin):
        admin.execute("select foja.halt_log(1, '')")
    assert refused.value.sqlstate == "FJ001"


def test_the_sequencer_does_not_choose_the_name_of_the_log(admin: Admin) -> None:
    """The role opened a log of any name, which the key of the installation then signed."""
    calls: list[LiteralString] = [
        "select foja.open_log('evil.example/log')",
        "select foja.name_log_v1('evil.example/log', '\\x')",
    ]
    for call in calls:
        with pytest.raises(psycopg.Error) as refused, sequencing(admin):
            admin.execute(call)
        assert refused.value.sqlstate == "FJ001"


async def test_the_database_makes_the_same_tree(app: App, admin: Admin) -> None:
    await say(app, 21)
    await app.sequencer.sweep()
    await app.sequencer.number()
    for old in range(21):
        for size in range(old, 22):
            query = "select foja.grow_tree(1, %s, %s), foja.tree_root(foja.grow_tree(1, %s, %s))"
            before, after = tree(admin, old).encode(), tree(admin, size)
            found = admin.execute(query, [before, size, before, size]).fetchone()
            assert found == (after.encode(), after.root())


def test_the_database_accepts_the_signatures_that_a_library_makes(admin: Admin) -> None:
    for number in range(8):
        key = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
        message = b"x" * number
        signature, public = key.sign(message), key.public_key().public_bytes_raw()
        tries = [(public, message, signature), (public, message + b"y", signature)]
        tries += [(public, message, flip(signature, bit)) for bit in (0, 255, 256, 511, 60 * number)]
        tries += [(flip(public, bit), message, signature) for bit in (3, 255)]
        tries += [(public, message, signature[:63]), (public, message, signature + b"\x00")]
        found = [admin.execute("select foja.is_signed(%s, %s, %s)", each).fetchone() for each in tries]
        assert found == [(True,)] + [(False,)] * (len(tries) - 1)


def flip(data: bytes, bit: int) -> bytes:
    """Return the bytes with one bit changed."""
    return bytes(byte ^ (1 << bit % 8) if place == bit // 8 else byte for place, byte in enumerate(data))
