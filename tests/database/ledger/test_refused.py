"""What may not be written: a typed error, nothing written, and no neighbour hurt."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable
from typing import Any

import pytest

from foja import errors
from foja.app import App
from foja.engine.ledger.event import MAX_BODY, Draft, Event, draft
from foja.pure.core import event as core
from foja.pure.core.canonical import canonical
from foja.pure.models.conversations.events import CONVERSATION
from tests.cases import all_cases
from tests.database.schema.rows import SAID, Admin, check_stream, first_in_each, outcome, rows

UNSALTED = hashlib.sha256(b'\3{"actor":null,"payload":{"content":"hi"},"source":"api","v":1}').digest()
APPROVED = {"approval_id": "a", "decision": "approved", "reason": None}


def nested(depth: int) -> dict[str, Any]:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return {"content": "x", "deep": value}


def rehashed(event: Draft, **changes: Any) -> Draft:
    """Return a changed draft whose hash fits again, so that only its content is wrong."""
    changed = event._replace(**changes)
    body = b'{"actor":%b,"payload":%b,"source":%b,"v":%b}' % (
        canonical(changed.actor),
        changed.payload.encode(),
        canonical(changed.source),
        canonical(changed.v),
    )
    return changed._replace(body_hash=core.body_hash(changed.salt, body))


BAD: dict[str, tuple[str, dict[str, Any], dict[str, Any], type[errors.FojaError]]] = {
    "unknown kind": ("shrugged", SAID, {}, errors.UnknownKind),
    "kind with a lone surrogate": ("\ud800", SAID, {}, errors.UnknownKind),
    "transient kind": ("message_chunk", {"text": "h"}, {}, errors.UnknownKind),
    "placeholder": ("slot.open", {}, {}, errors.UnknownKind),
    "reserved: slot.voided": ("slot.voided", {"reason": "r"}, {}, errors.UnknownKind),
    "reserved: body.erased": ("body.erased", {"reason": "r", "seq": 0}, {}, errors.UnknownKind),
    "wrong version": ("user_message_sent", SAID, {"v": 2}, errors.UnknownKind),
    "missing field": ("user_message_sent", {}, {}, errors.BadPayload),
    "wrong type": ("user_message_sent", {"content": 1}, {}, errors.BadPayload),
    "wrong choice": ("approval_completed", {**APPROVED, "decision": "maybe"}, {}, errors.BadPayload),
    "payload is a list": ("user_message_sent", [SAID], {}, errors.BadPayload),  # type: ignore[dict-item]
    "NaN": ("thinking", {"content": "x", "n": math.nan}, {}, errors.NotCanonical),
    "infinity": ("thinking", {"content": "x", "n": -math.inf}, {}, errors.NotCanonical),
    "integer beyond 2^53-1": ("thinking", {"content": "x", "n": 2**53}, {}, errors.NotCanonical),
    "integer below -(2^53-1)": ("thinking", {"content": "x", "n": -(2**53)}, {}, errors.NotCanonical),
    "lone surrogate": ("thinking", {"content": "\udc00"}, {}, errors.NotCanonical),
    "lone surrogate in a key": ("thinking", {"content": "x", "\ud800": 1}, {}, errors.NotCanonical),
    "U+0000": ("thinking", {"content": "a\0b"}, {}, errors.NotCanonical),
    "65 levels": ("thinking", nested(64), {}, errors.NotCanonical),
    "10,000 levels": ("thinking", nested(10_000), {}, errors.NotCanonical),
    "not JSON": ("thinking", {"content": "x", "n": b"bytes"}, {}, errors.NotCanonical),
    "oversized": ("thinking", {"content": "x" * MAX_BODY}, {}, errors.TooLarge),
    "actor with U+0000": ("thinking", SAID, {"actor": "a\0"}, errors.NotCanonical),
    "actor with a lone surrogate": ("thinking", SAID, {"actor": "\ud800"}, errors.NotCanonical),
    "actor that is no text": ("thinking", SAID, {"actor": 5}, errors.Refused),
    "key that is no text": ("thinking", SAID, {"idempotency_key": 5}, errors.Refused),
    "number that is text": ("thinking", SAID, {"expected_seq": "0"}, errors.Refused),
    "key with U+0000": ("thinking", SAID, {"idempotency_key": "a\0"}, errors.NotCanonical),
    "key with a lone surrogate": ("thinking", SAID, {"idempotency_key": "\ud800"}, errors.NotCanonical),
    "number already taken": ("thinking", SAID, {"expected_seq": 0}, errors.WrongExpectedSeq),
    "number still far": ("thinking", SAID, {"expected_seq": 7}, errors.WrongExpectedSeq),
    "negative number": ("thinking", SAID, {"expected_seq": -1}, errors.WrongExpectedSeq),
    "number beyond 64 bits": ("thinking", SAID, {"expected_seq": 2**64}, errors.WrongExpectedSeq),
}


async def test_a_bad_append_says_why_and_writes_nothing(either_app: App, admin: Admin) -> None:
    (talk,) = await first_in_each(either_app, 1)
    before = rows(admin)
    wrong = {}
    for name, (kind, payload, more, expected) in BAD.items():
        found = await outcome(talk.append(kind, payload, **more))
        if not isinstance(found, expected) or len(str(found)) < 20:
            wrong[name] = found
        assert rows(admin) == before, name
    assert wrong == {}
    assert (await talk.append("thinking", SAID)).seq == 1
    check_stream(admin, talk, 2)


async def test_a_source_that_may_not_say_it_is_refused(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    with pytest.raises(errors.WrongSource, match="only by api"):
        draft(CONVERSATION, talk.id, "user_message_sent", SAID, source="sweeper", tenant="default")
    forged = draft(CONVERSATION, talk.id, "approval_completed", APPROVED, source="sweeper", tenant="default")
    with pytest.raises(errors.WrongSource):
        await either_app.ledger.append(forged)
    assert rows(admin)["event"] == 0


async def test_a_body_of_exactly_the_limit_fits(either_app: App) -> None:
    talk = await either_app.conversations.open()
    room = MAX_BODY - len(canonical({"content": ""}))
    assert (await talk.append("thinking", {"content": "x" * room})).seq == 0
    with pytest.raises(errors.TooLarge, match="1,048,577"):
        await talk.append("thinking", {"content": "x" * (room + 1)})
    with pytest.raises(errors.TooLarge):
        await talk.append("thinking", {"content": "é" * (room // 2 + 1)})


async def test_what_is_just_allowed_is_written(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    edges = {
        "content": "x",
        "most": 2**53 - 1,
        "least": -(2**53 - 1),
        "far": 1e21,
        "round": 5e22,
        "small": 5e-324,
    }
    await talk.append("thinking", edges)
    await talk.append("thinking", nested(63))
    assert [event.payload for event in await talk.events()] == [edges, nested(63)]
    check_stream(admin, talk, 2)


async def test_a_refused_first_event_leaves_no_stream_behind(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    with pytest.raises(errors.WrongExpectedSeq):
        await talk.append("thinking", SAID, expected_seq=3)
    with pytest.raises(errors.Refused):
        await either_app.ledger.append(talk.draft("thinking", SAID)._replace(kind="shrugged"))
    assert admin.execute("select count(*) from foja.entity").fetchone() == (0,)


async def test_a_stream_belongs_to_one_tenant(open_app: Callable[..., App], admin: Admin) -> None:
    async with open_app() as ours, open_app(tenant="other") as theirs:
        talk = await ours.conversations.open()
        await talk.append("user_message_sent", SAID)
        same = await theirs.conversations.open(talk.id)
        before = rows(admin)
        with pytest.raises(errors.UnknownEntity):
            await same.append("user_message_sent", SAID)
        with pytest.raises(errors.UnknownEntity):
            await same.append_many([same.draft("user_message_sent", SAID)])
        with pytest.raises(errors.UnknownEntity):
            await same.reserve(1)
        with pytest.raises(errors.UnknownEntity):
            await same.erase(0, reason="not mine")
        assert await same.events() == []
        assert rows(admin) == before


def with_number(number: str) -> Callable[[Draft], Draft]:
    """Return a function that puts this number into the payload of a draft."""
    return lambda event: rehashed(event, payload=f'{{"content":"x","n":{number}}}')


TAMPERED: dict[str, tuple[Callable[[Draft], Draft], type[errors.FojaError]]] = {
    "key twice inside": (
        lambda d: rehashed(d, payload='{"content":[{"a":{"b":1,"b":2}}]}'),
        errors.NotCanonical,
    ),
    "number no double holds": (
        lambda d: rehashed(d, payload='{"content":"x","n":-1e400}'),
        errors.BadPayload,
    ),
    "key twice": (lambda d: rehashed(d, payload='{"content":"hi","content":"hi"}'), errors.NotCanonical),
    "integer too large": (
        lambda d: rehashed(d, payload='{"content":"x","n":9007199254740992}'),
        errors.NotCanonical,
    ),
    **{
        f"number too large: {number!r}": (
            with_number(number),
            errors.NotCanonical,
        )
        for number in ("1E+16", " 1e16", "[\t-9007199254740992]", "[0,9007199254740993.5]", "[[\n0.9e17]]")
    },
    "key twice, once escaped": (
        lambda d: rehashed(d, payload='{"content":"x","\\u0063ontent":"y"}'),
        errors.NotCanonical,
    ),
    "key twice far inside, once escaped": (
        lambda d: rehashed(d, payload='{"content":[[{"a":[{"é":1,"\\u00e9":1}]}]]}'),
        errors.NotCanonical,
    ),
    "nested too deep": (
        lambda d: rehashed(d, payload=f'{{"content":{"[" * 65}{"]" * 65}}}'),
        errors.NotCanonical,
    ),
    "nested 10,000 deep": (
        lambda d: rehashed(d, payload=f'{{"content":{"[" * 10_000}{"]" * 10_000}}}'),
        errors.NotCanonical,
    ),
    "U+0000 escaped": (lambda d: rehashed(d, payload='{"content":"\\u0000"}'), errors.BadPayload),
    "U+0000 raw": (lambda d: d._replace(payload='{"content":"\0"}'), errors.Refused),
    "lone surrogate escaped": (lambda d: rehashed(d, payload='{"content":"\\ud800"}'), errors.BadPayload),
    "lone surrogate raw": (lambda d: d._replace(payload='{"content":"\ud800"}'), errors.Refused),
    "payload not JSON": (lambda d: rehashed(d, payload='{"content":'), errors.BadPayload),
    "payload a list": (lambda d: rehashed(d, payload="[]"), errors.BadPayload),
    "payload null": (lambda d: rehashed(d, payload="null"), errors.BadPayload),
    "payload without its field": (lambda d: rehashed(d, payload="{}"), errors.BadPayload),
    "payload with a wrong type": (lambda d: rehashed(d, payload='{"content":5}'), errors.BadPayload),
    "payload too large": (
        lambda d: rehashed(d, payload=f'{{"content":"{"x" * MAX_BODY}"}}'),
        errors.TooLarge,
    ),
    "wrong hash": (lambda d: d._replace(body_hash=bytes(32)), errors.BadPayload),
    "hash of another actor": (lambda d: d._replace(actor="eva"), errors.BadPayload),
    "hash too short": (lambda d: d._replace(body_hash=d.body_hash[:31]), errors.BadPayload),
    "salt too short": (lambda d: d._replace(salt=bytes(15)), errors.BadPayload),
    "no salt, hash fits": (lambda d: d._replace(salt=b"", body_hash=UNSALTED), errors.Refused),
    "unknown kind": (lambda d: d._replace(kind="shrugged"), errors.UnknownKind),
    "unknown version": (lambda d: rehashed(d, v=2), errors.UnknownKind),
    "unknown domain": (lambda d: d._replace(domain="gossip"), errors.Refused),
    "reserved kind: body.erased": (
        lambda d: rehashed(d, kind="body.erased", payload='{"reason":"r","seq":0}'),
        errors.Refused,
    ),
    "reserved kind: slot.voided": (
        lambda d: rehashed(d, kind="slot.voided", payload='{"reason":"r"}'),
        errors.Refused,
    ),
    "actor that is no text": (lambda d: d._replace(actor=5), errors.Refused),  # type: ignore[arg-type]
    "payload that is no text": (lambda d: d._replace(payload=5), errors.Refused),  # type: ignore[arg-type]
    "version beyond 32 bits": (lambda d: d._replace(v=2**40), errors.Refused),
    "number beyond 64 bits": (lambda d: d._replace(expected=2**64), errors.Refused),
    "wrong number": (lambda d: d._replace(expected=1_000_000), errors.WrongExpectedSeq),
}


async def test_the_database_refuses_what_python_would_never_send(either_app: App, admin: Admin) -> None:
    (talk,) = await first_in_each(either_app, 1)
    wrong = {}
    for name, (tamper, expected) in TAMPERED.items():
        found = await outcome(either_app.ledger.append(tamper(talk.draft("thinking", SAID))))
        if not isinstance(found, expected):
            wrong[name] = found
    assert wrong == {}
    check_stream(admin, talk, 1)


async def test_append_many_refuses_what_python_would_never_send(app: App, admin: Admin) -> None:
    (talk,) = await first_in_each(app, 1)
    wrong = {}
    for name, (tamper, expected) in TAMPERED.items():
        pair = [talk.draft("thinking", SAID), tamper(talk.draft("thinking", SAID))]
        found = await outcome(app.ledger.append_many(pair))
        if not isinstance(found, expected):
            wrong[name] = found
    assert wrong == {}
    check_stream(admin, talk, 1)


async def test_a_bad_neighbour_in_a_batch_hurts_nobody(app: App, admin: Admin) -> None:
    wrong: dict[str, list[Any]] = {}
    for name, (tamper, expected) in TAMPERED.items():
        talks = await first_in_each(app, 5)
        bad = [n % 10 == 3 for n in range(50)]
        drafts = [talks[n % 5].draft("thinking", SAID) for n in range(50)]
        sent = [tamper(event) if spoilt else event for event, spoilt in zip(drafts, bad, strict=True)]
        results = await asyncio.gather(*[outcome(app.ledger.append(event)) for event in sent])
        for event, spoilt, result in zip(sent, bad, results, strict=True):
            if not isinstance(result, expected if spoilt else Event):
                wrong.setdefault(name, []).append(result)
            elif isinstance(result, Event):
                assert (result.id, result.payload) == (event.event_id, SAID)
    assert wrong == {}
    for talk, count in zip(talks, (11, 11, 11, 6, 11), strict=True):
        check_stream(admin, talk, count)


async def test_all_kinds_of_bad_neighbours_at_once(app: App, admin: Admin) -> None:
    talks = await first_in_each(app, 4)
    names = list(TAMPERED)
    good = [talks[n % 4].draft("thinking", {"content": str(n)}) for n in range(50)]
    wrong = [TAMPERED[name][0](talks[n % 4].draft("thinking", SAID)) for n, name in enumerate(names)]
    mixed = [event for pair in zip(good, wrong, strict=False) for event in pair] + good[len(wrong) :]
    results = dict(
        zip(
            [event.event_id for event in mixed],
            await asyncio.gather(*[app.ledger.append(event) for event in mixed], return_exceptions=True),
            strict=True,
        )
    )
    assert all(isinstance(results[event.event_id], Event) for event in good)
    for name, event in zip(names, wrong, strict=True):
        assert isinstance(results[event.event_id], TAMPERED[name][1]), name
    for place, talk in enumerate(talks):
        check_stream(admin, talk, 1 + sum(n % 4 == place for n in range(50)))


async def test_only_one_of_many_gets_an_expected_number(either_app: App, admin: Admin) -> None:
    talk = await either_app.conversations.open()
    callers = [talk.append("thinking", {"content": str(n)}, expected_seq=0) for n in range(20)]
    plain = [talk.append("thinking", {"content": "plain"}) for _ in range(20)]
    results = await asyncio.gather(*callers, *plain, return_exceptions=True)
    chosen = [result for result in results[:20] if isinstance(result, Event)]
    assert [event.seq for event in chosen] in ([0], [])
    assert sum(isinstance(result, errors.WrongExpectedSeq) for result in results[:20]) == 20 - len(chosen)
    assert all(isinstance(result, Event) for result in results[20:])
    check_stream(admin, talk, 20 + len(chosen))


@all_cases("name", ["wrong hash", "payload not JSON", "unknown kind", "wrong number"])
async def test_append_many_writes_all_or_nothing(app: App, admin: Admin, name: str) -> None:
    tamper, expected = TAMPERED[name]
    talks = await first_in_each(app, 3)
    before = rows(admin)
    for place in (0, 4, 8):
        drafts = [talks[n % 3].draft("thinking", {"content": str(n)}) for n in range(9)]
        drafts[place] = tamper(drafts[place])
        with pytest.raises(expected):
            await app.ledger.append_many(drafts)
        assert rows(admin) == before
    for talk in talks:
        check_stream(admin, talk, 1)
