"""Events and their chain: what is hashed, and that every change is detected."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import NotCanonical, Tampered
from foja.pure.core.canonical import canonical
from foja.pure.core.chain import Link, check, genesis, leaf_entry, step
from foja.pure.core.event import body_bytes, body_hash, event_id_for, keyed_id, lp, microseconds, u64
from foja.pure.core.merkle import Frontier, check_consistency, check_inclusion, leaf_hash
from foja.pure.core.note import Checkpoint, Signer, Verifier, open_note, parse_checkpoint

VECTORS = Path(__file__).parents[2] / "vectors"
VECTOR: dict[str, Any] = json.loads((VECTORS / "chain.json").read_text(encoding="utf-8"))
# The same stream with ids as they are derived now; in the older one they are UUIDv5.
DERIVED: dict[str, Any] = json.loads((VECTORS / "chain_derived_ids.json").read_text(encoding="utf-8"))
ENTITY = UUID(VECTOR["entity_id"])
DOMAIN: str = VECTOR["domain"]
EVENTS: list[dict[str, Any]] = VECTOR["events"]
HEAD = bytes.fromhex(VECTOR["head"])
LINKS = [
    Link(
        event["seq"],
        UUID(event["event_id"]),
        event["kind"],
        event["at_us"],
        bytes.fromhex(event["body_hash"]),
    )
    for event in EVENTS
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["kind"])
def test_vector_body(event: dict[str, Any]) -> None:
    payload = canonical(json.loads(event["payload"]))
    body = body_bytes(event["actor"], payload, event["source"], event["v"])
    assert payload == event["payload"].encode()
    assert body == event["body"].encode()
    assert body_hash(bytes.fromhex(event["salt"]), body).hex() == event["body_hash"]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["kind"])
def test_vector_identity_and_time(event: dict[str, Any]) -> None:
    assert microseconds(datetime.fromisoformat(event["at"])) == event["at_us"]


def test_vector_derived_ids() -> None:
    digest = genesis(DOMAIN, ENTITY)
    for event in DERIVED["events"]:
        if event["idempotency_key"] is not None:
            assert event_id_for(ENTITY, event["idempotency_key"]) == UUID(event["event_id"])
        fields = (event["kind"], event["at_us"], bytes.fromhex(event["body_hash"]))
        digest = step(digest, ENTITY, event["seq"], UUID(event["event_id"]), *fields)
        assert digest.hex() == event["chain_hash"]
        assert leaf_entry(ENTITY, event["seq"], digest).hex() == event["leaf_entry"]
        assert leaf_hash(bytes.fromhex(event["leaf_entry"])).hex() == event["leaf_hash"]
    assert digest.hex() == DERIVED["head"] != VECTOR["head"]


def test_vector_keyed_ids() -> None:
    """Documents, threads, sessions and requests are found again by these ids. Made with `hmac` alone."""
    vectors = json.loads((VECTORS / "keyed_ids.json").read_text(encoding="utf-8"))
    for each in vectors:
        fields = map(str.encode, each["fields"])
        assert keyed_id(bytes.fromhex(each["key"]), *fields) == UUID(each["id"])
    assert len({each["id"] for each in vectors}) == 3


def test_vector_chain() -> None:
    digest = genesis(DOMAIN, ENTITY)
    assert digest.hex() == VECTOR["genesis"]
    for link, event in zip(LINKS, EVENTS, strict=True):
        digest = step(digest, ENTITY, link.seq, link.event_id, link.kind, link.at_us, link.body_hash)
        assert digest.hex() == event["chain_hash"]
        assert leaf_entry(ENTITY, link.seq, digest).hex() == event["leaf_entry"]
        assert leaf_hash(bytes.fromhex(event["leaf_entry"])).hex() == event["leaf_hash"]
    assert check(DOMAIN, ENTITY, LINKS, HEAD) == digest == HEAD


def test_vector_tree() -> None:
    tree = VECTOR["tree"]
    leaves = [bytes.fromhex(event["leaf_hash"]) for event in EVENTS]
    roots = [bytes.fromhex(root) for root in tree["roots"]]
    assert [Frontier().extend(leaves[:size]).root() for size in range(6)] == roots
    assert Frontier().extend(leaves).encode().hex() == tree["frontier"]
    inclusion, consistency = tree["inclusion"], tree["consistency"]
    check_inclusion(leaves[2], 2, 5, [bytes.fromhex(each) for each in inclusion["proof"]], roots[5])
    check_consistency(3, roots[3], 5, roots[5], [bytes.fromhex(each) for each in consistency["proof"]])


def test_vector_checkpoint() -> None:
    expected = VECTOR["checkpoint"]
    signer = Signer(expected["name"], bytes.fromhex(expected["seed"]))
    checkpoint = Checkpoint(expected["origin"], expected["size"], bytes.fromhex(VECTOR["tree"]["roots"][5]))
    assert signer.verifier().vkey() == expected["vkey"]
    assert signer.sign(checkpoint.text()) == expected["note"]
    text = open_note(expected["note"], [Verifier.from_vkey(expected["vkey"])])
    assert parse_checkpoint(text) == checkpoint


def test_an_empty_stream_has_its_genesis_for_head() -> None:
    assert check(DOMAIN, ENTITY, []) == genesis(DOMAIN, ENTITY)


@pytest.mark.parametrize("removed", range(len(LINKS) - 1))
def test_a_removed_event_is_named(removed: int) -> None:
    with pytest.raises(Tampered, match=f"expected number {removed}, found"):
        check(DOMAIN, ENTITY, LINKS[:removed] + LINKS[removed + 1 :])


def test_a_cut_end_shows_against_the_head() -> None:
    check(DOMAIN, ENTITY, LINKS[:-1])
    with pytest.raises(Tampered, match="4 events lead to"):
        check(DOMAIN, ENTITY, LINKS[:-1], HEAD)


@pytest.mark.parametrize("swapped", range(len(LINKS) - 1))
def test_events_cannot_change_places(swapped: int) -> None:
    moved = [*LINKS]
    moved[swapped], moved[swapped + 1] = moved[swapped + 1], moved[swapped]
    with pytest.raises(Tampered, match=f"expected number {swapped}, found"):
        check(DOMAIN, ENTITY, moved)
    renumbered = [replace(link, seq=seq) for seq, link in enumerate(moved)]
    with pytest.raises(Tampered, match="not to the head"):
        check(DOMAIN, ENTITY, renumbered, HEAD)


@pytest.mark.parametrize("at", range(len(LINKS)))
@pytest.mark.parametrize(
    "change",
    [
        {"event_id": UUID(int=7)},
        {"kind": "document.archived"},
        {"at_us": 1},
        {"body_hash": bytes(32)},
    ],
    ids=str,
)
def test_every_field_of_every_event_counts(at: int, change: dict[str, Any]) -> None:
    changed = [*LINKS[:at], replace(LINKS[at], **change), *LINKS[at + 1 :]]
    with pytest.raises(Tampered, match="not to the head"):
        check(DOMAIN, ENTITY, changed, HEAD)


def test_domain_and_entity_count() -> None:
    for domain, entity in (("images", ENTITY), (DOMAIN, UUID(int=1))):
        with pytest.raises(Tampered):
            check(domain, entity, LINKS, HEAD)


@pytest.mark.parametrize("change", [{"at_us": -1}, {"at_us": 2**64}, {"kind": "\ud800"}], ids=str)
def test_a_link_no_event_can_have_is_tampering(change: dict[str, Any]) -> None:
    with pytest.raises(Tampered, match="number 1 cannot be an event"):
        check(DOMAIN, ENTITY, [LINKS[0], replace(LINKS[1], **change)])


@given(st.lists(st.binary(max_size=5), max_size=4), st.lists(st.binary(max_size=5), max_size=4))
def test_lp_is_one_to_one(one: list[bytes], other: list[bytes]) -> None:
    assert (lp(*one) == lp(*other)) == (one == other)


def test_lp_and_u64_are_big_endian() -> None:
    assert lp(b"ab", b"") == b"\0\0\0\x02ab\0\0\0\0"
    assert u64(258) == struct.pack(">Q", 258)


@pytest.mark.parametrize("number", [-1, 2**64, pytest.param(10**5000, id="huge")])
def test_refuses_what_does_not_fit(number: int) -> None:
    with pytest.raises(NotCanonical):
        u64(number)


whole_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.none() | whole_text, whole_text, st.integers(1, 99), st.dictionaries(whole_text, whole_text))
def test_a_body_is_canonical(actor: str | None, source: str, v: int, payload: dict[str, str]) -> None:
    body = {"source": source, "payload": payload, "v": v, "actor": actor}
    assert body_bytes(actor, canonical(payload), source, v) == canonical(body)


@pytest.mark.parametrize("actor", ["\0", "\udfff"])
def test_an_actor_has_the_limits_of_any_text(actor: str) -> None:
    with pytest.raises(NotCanonical):
        body_bytes(actor, b"{}", "api", 1)


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_salt_is_sixteen_bytes(size: int) -> None:
    with pytest.raises(NotCanonical, match="16"):
        body_hash(bytes(size), b"{}")


@given(st.uuids(), whole_text)
def test_a_key_names_one_event_of_one_entity(entity: UUID, key: str) -> None:
    fields = (b"foja/event/v1", entity.bytes, key.encode())
    form = b"".join(struct.pack(">I", len(field)) + field for field in fields)
    digest = bytearray(sha256(form).digest()[:16])
    digest[6], digest[8] = digest[6] & 0x0F | 0x80, digest[8] & 0x3F | 0x80
    assert event_id_for(entity, key) == UUID(bytes=bytes(digest))
    assert event_id_for(entity, key).version == 8
    assert event_id_for(entity, key) != event_id_for(UUID(int=entity.int ^ 1), key)


def test_a_key_is_whole_characters() -> None:
    with pytest.raises(NotCanonical):
        event_id_for(ENTITY, "\ud800")


@given(
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3)), timezone(timedelta(minutes=345))])
    )
)
def test_microseconds_are_exact(at: datetime) -> None:
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds(at)) == at


def test_a_time_needs_a_zone() -> None:
    with pytest.raises(NotCanonical, match="time zone"):
        microseconds(datetime(2026, 1, 1))  # noqa: DTZ001
