"""The bytes as SQL makes them: equal to `foja.pure.core`, or refused where it refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from foja.errors import NotCanonical
from foja.pure.core import chain
from foja.pure.core.canonical import canonical, parse
from foja.pure.core.event import body_bytes, body_hash, event_id_for, microseconds
from tests.cases import all_cases

VECTORS = Path(__file__).parents[2] / "vectors"
CASES: list[dict[str, Any]] = json.loads((VECTORS / "canonical.json").read_text(encoding="utf-8"))
STREAM: dict[str, Any] = json.loads((VECTORS / "chain.json").read_text(encoding="utf-8"))
DERIVED: dict[str, Any] = json.loads((VECTORS / "chain_derived_ids.json").read_text(encoding="utf-8"))
ENTITY = UUID(STREAM["entity_id"])
SAFE = 2**53 - 1

Admin = psycopg.Connection[Any]

# One database serves all examples of a test: nothing below writes to it.
differential = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# Text that sorts one way by code point and another by UTF-16 unit, and text that needs escapes.
characters = (
    st.characters(exclude_characters="\0", exclude_categories=["Cs"])
    | st.characters(min_codepoint=0xE000, max_codepoint=0x10FFFF)
    | st.sampled_from('\x01\x1f\x7f\b\t\n\f\r"\\/\u2028\uffff\U00010000\U0010ffffaé')
)
texts = st.text(characters, max_size=6)
# Few digits and many zeros: a double between two candidates takes the shorter one, as people write it.
round_numbers = st.builds(
    lambda digits, power: float(f"{digits}e{power}"), st.integers(1, 9999), st.integers(-30, 40)
)
numbers = st.integers(-SAFE, SAFE) | (
    round_numbers | st.floats(allow_nan=False, allow_infinity=False)
).filter(lambda number: not SAFE < abs(number) < 1e21)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=6),
    max_leaves=10,
)
many_values = st.lists(values, min_size=20, max_size=60)
digits = st.text("0123456789", min_size=1, max_size=24)
literals = st.builds(
    lambda sign, whole, part, power: f"{sign}{whole.lstrip('0') or '0'}{part}{power}",
    st.sampled_from(["", "-"]),
    digits,
    st.just("") | digits.map(lambda part: f".{part}"),
    st.just("") | st.integers(-330, 330).map(lambda power: f"e{power}"),
)
uuids = st.uuids()
digests = st.binary(min_size=32, max_size=32)
salts = st.binary(min_size=16, max_size=16)
moments = st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def canonical_in_sql(admin: Admin, documents: list[str]) -> list[str | None]:
    """Return what SQL makes of these JSON texts, all in one call; None is a refusal."""
    admin.execute("""
        create or replace function pg_temp.attempt(document text) returns text language plpgsql as $$
        begin
            return foja.canonical(document::jsonb);
        exception when sqlstate 'FJ001' or data_exception or statement_too_complex then
            return null;
        end $$""")
    query: LiteralString = (
        "select pg_temp.attempt(document) from unnest(%s::text[]) with ordinality t(document, n) order by n"
    )
    return [row[0] for row in admin.execute(query, [documents])]


def canonical_in_python(document: str) -> str | None:
    try:
        return canonical(parse(document)).decode()
    except NotCanonical:
        return None


def is_read_alike(document: str) -> bool:
    """Leave out what the vectors mark `python_only`: SQL reads a numeric, Python an int or a double."""
    number = json.loads(document)
    beyond = abs(json.loads(document, parse_int=float)) >= 1e21
    underflows = number == 0 and any(digit in "123456789" for digit in document.partition("e")[0])
    return not underflows and not (isinstance(number, int) and beyond)


def test_vectors(admin: Admin) -> None:
    cases = [case for case in CASES if not case.get("python_only")]
    found = canonical_in_sql(admin, [case["input"] for case in cases])
    expected = [None if case.get("refused") else case["canonical"] for case in cases]
    assert len(cases) > 200
    wrong = [
        (case["name"], made)
        for case, made, right in zip(cases, found, expected, strict=True)
        if made != right
    ]
    assert wrong == []


def test_a_canonical_text_stays_as_it_is(admin: Admin) -> None:
    texts = [case["canonical"] for case in CASES if not case.get("refused")]
    assert canonical_in_sql(admin, texts) == texts


@given(documents=many_values)
@differential
def test_python_and_sql_spell_every_value_alike(admin: Admin, documents: list[Any]) -> None:
    written = [json.dumps(value, ensure_ascii=False, indent=1) for value in documents]
    assert canonical_in_sql(admin, written) == [canonical(value).decode() for value in documents]


@given(keys=st.lists(texts, unique=True, min_size=2, max_size=30))
@example(["\uffff", "\ue000", "\U00010000", "\U0010ffff", "\U0010ffff\ue000", "a", "", "\U0010ffff\x01"])
@differential
def test_python_and_sql_order_keys_alike(admin: Admin, keys: list[str]) -> None:
    value = dict.fromkeys(keys, 0)
    assert canonical_in_sql(admin, [json.dumps(value)]) == [canonical(value).decode()]


@given(documents=st.lists(round_numbers.filter(lambda number: not SAFE < number < 1e21), min_size=50))
@example([1e23, 9e23, 8.41e21, 2e-44, 5e-324, 1.7976931348623157e308])
@differential
def test_python_and_sql_write_round_numbers_alike(admin: Admin, documents: list[float]) -> None:
    written = [repr(number) for number in documents]
    assert canonical_in_sql(admin, written) == [canonical(number).decode() for number in documents]


@given(documents=st.lists(literals.filter(is_read_alike), min_size=20, max_size=60))
@differential
def test_python_and_sql_accept_the_same_numbers(admin: Admin, documents: list[str]) -> None:
    assert canonical_in_sql(admin, documents) == [canonical_in_python(each) for each in documents]


@all_cases(("depth", "fits"), [(64, True), (65, False), (10_000, False)])
@all_cases(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded(admin: Admin, depth: int, fits: bool, start: str, end: str) -> None:
    document = f"{start * depth}0{end * depth}" if start != "[" else f"{start * depth}{end * depth}"
    assert canonical_in_sql(admin, [document]) == [document if fits else None]


def chest(depth: int, filling: str = "0") -> str:
    """Return an object with arrays and objects in turn, `depth` containers in all."""
    starts = ['{"a":' if level % 2 == 0 else "[" for level in range(depth)]
    ends = ["}" if level % 2 == 0 else "]" for level in reversed(range(depth))]
    return f"{''.join(starts)}{filling}{''.join(ends)}"


EXACT = {
    '{"a":9007199254740991,"b":[-9007199254740991]}': True,
    '{"a":9007199254740992}': False,
    '{"a":[0,-9007199254740992]}': False,
    '{"a": \t\n9007199254740993}': False,
    '{"a":[0 ,\r-9007199254740993]}': False,
    '{"a":10000000000000000000000}': False,
    '{"a":9007199254740991.5}': False,
    '{"a":0.12345678901234567890}': True,
    '{"a":1e15}': True,
    '{"a":1E+16}': False,
    '{"a":-1e16}': False,
    '{"a":0.00001e30}': False,
    '{"a":90071992547409920e-1}': False,
    '{"a":123e-400}': True,
    '{"a":1e+21}': True,  # as ECMAScript writes it
    '{"a":1e21}': False,
    '{"a":5e+22,"b":"x"}': True,
    '{"a":"9007199254740992"}': True,
    '{"a":": 9007199254740992, 1e99","b":"[-1e99"}': True,
    '{"9007199254740992":1}': True,
}
# A body with a number that is not short is searched; words that look like one must not count.
SHORT = {
    '{"a":[-12,0.91,1.7671428571428571]}': True,
    '{"a":"01923e2c-7e31-7e22-8e10-5e1a2b3c4d5e","b":"sha256-7e3f"}': True,
    '{"a":"2026-11-18T12:00:00.123456789012345678Z"}': True,
    '{"a":-7e3}': False,
    '{"a":[1, 7E+3]}': False,
    '{"a":1234567890123456}': False,
}
SHALLOW = {
    chest(64): True,
    chest(65): False,
    chest(64, f'"{"[{" * 100}"'): True,
    chest(65, f'"{"]}" * 100}"'): False,
    f'{{"a":[{",".join(["[[]]"] * 100)}]}}': True,
    f'{{"a":[{",".join(["{}"] * 100)},{chest(62, "[]")}]}}': False,
    f'{{"a":[{",".join(["{}"] * 100)},{chest(61, "[]")}]}}': True,
    "{" + '"a":{' * 63 + "}" * 64: True,
    "{" + '"a":{' * 64 + "}" * 65: False,
}
UNIQUE = {
    '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}': True,
    '{"a":1,"a":1}': False,
    '{"a":1,"\\u0061":2}': False,
    '{"b":[[{"a":{"\\ud83d\\ude00":1,"\U0001f600":2}}]]}': False,
    '{"b":{"":1,"":2}}': False,
    '{"b":{"a":1,"x":"a\\",\\"a"}}': True,
    '{"A":1,"a":1,"a\u0301":1,"á":1}': True,
    '{"a":"\\u0000"}': False,
    '{"\\u0000":1}': False,
    '{"a":"\\ud800"}': False,
    '{"a":1': False,
    '{"a":01}': False,
    "": False,
}


@pytest.mark.parametrize(
    ("check", "cases"),
    [("is_exact", EXACT), ("has_short_numbers", SHORT), ("is_shallow", SHALLOW), ("has_unique_keys", UNIQUE)],
)
def test_a_body_is_searched_for_what_it_may_not_hold(
    admin: Admin, check: LiteralString, cases: dict[str, bool]
) -> None:
    if admin.info.server_version < 160000 and check == "has_unique_keys":
        pytest.skip("serializes the body again, and refuses what it cannot read")
    admin.execute(f"""
        create function pg_temp.passes(body text) returns boolean language plpgsql as $$
        begin
            return foja.{check}(body);
        exception when sqlstate 'FJ001' then
            return false;
        end $$""")
    query: LiteralString = (
        "select pg_temp.passes(body) from unnest(%s::text[]) with ordinality t(body, n) order by n"
    )
    found = [row[0] for row in admin.execute(query, [[*cases]])]
    assert dict(zip(cases, found, strict=True)) == cases


@all_cases(("body", "unique"), UNIQUE.items())
def test_a_body_with_a_key_twice_is_never_parsed(admin: Admin, body: str, unique: bool) -> None:
    query = "select foja.unique_json(%s)::text"
    if unique:
        assert admin.execute(query, [body]).fetchone() == (body,)
    else:
        with pytest.raises(psycopg.DataError):
            admin.execute(query, [body])


@pytest.mark.parametrize("stream", [STREAM, DERIVED], ids=["UUIDv5", "UUIDv8"])
def test_vector_chain(admin: Admin, stream: dict[str, Any]) -> None:
    row = admin.execute("select foja.genesis(%s, %s)", [stream["domain"], ENTITY]).fetchone()
    assert row is not None
    digest = row[0]
    assert digest.hex() == stream["genesis"]
    for event in stream["events"]:
        row = admin.execute(
            """select
                foja.body_hash(%(salt)s, %(actor)s, foja.canonical(%(payload)s::jsonb), %(source)s, %(v)s),
                foja.chain_step(%(digest)s, %(entity)s, %(seq)s, %(event_id)s, %(kind)s, %(at)s, %(hash)s),
                foja.event_id_for(%(entity)s, %(idempotency_key)s)""",
            {
                **event,
                "salt": bytes.fromhex(event["salt"]),
                "hash": bytes.fromhex(event["body_hash"]),
                "digest": digest,
                "entity": ENTITY,
            },
        ).fetchone()
        assert row is not None
        hashed, digest, event_id = row
        assert hashed.hex() == event["body_hash"]
        assert digest.hex() == event["chain_hash"]
        if stream is DERIVED:
            assert event_id == (UUID(event["event_id"]) if event["idempotency_key"] else None)


def test_the_aggregate_walks_the_whole_chain(admin: Admin) -> None:
    events = STREAM["events"]
    row = admin.execute(
        """select array_agg(link order by seq) from (
            select seq,
                foja.chain(%(start)s, %(entity)s, seq, event_id, kind, at, body_hash) over (order by seq)
            from unnest(%(seqs)s::bigint[], %(ids)s::uuid[], %(kinds)s::text[], %(ats)s::timestamptz[],
                %(hashes)s::bytea[]) t(seq, event_id, kind, at, body_hash)) links(seq, link)""",
        {
            "start": bytes.fromhex(STREAM["genesis"]),
            "entity": ENTITY,
            "seqs": [event["seq"] for event in events],
            "ids": [event["event_id"] for event in events],
            "kinds": [event["kind"] for event in events],
            "ats": [event["at"] for event in events],
            "hashes": [bytes.fromhex(event["body_hash"]) for event in events],
        },
    ).fetchone()
    assert row is not None
    assert [link.hex() for link in row[0]] == [event["chain_hash"] for event in events]


@given(
    bodies=st.lists(st.tuples(salts, st.none() | texts, values, texts, st.integers(1, 2**31 - 1)), min_size=1)
)
@differential
def test_python_and_sql_hash_a_body_alike(admin: Admin, bodies: list[tuple[Any, ...]]) -> None:
    salt, actor, value, source, v = (list(column) for column in zip(*bodies, strict=True))
    payload = [canonical(each) for each in value]
    rows = admin.execute(
        """select foja.body_hash(salt, actor, payload, source, v) from
            unnest(%s::bytea[], %s::text[], %s::text[], %s::text[], %s::integer[]) with ordinality
            t(salt, actor, payload, source, v, n) order by n""",
        [salt, actor, [each.decode() for each in payload], source, v],
    )
    assert [row[0] for row in rows] == [
        body_hash(body[0], body_bytes(body[1], spelled, body[3], body[4]))
        for body, spelled in zip(bodies, payload, strict=True)
    ]


@given(
    links=st.lists(
        st.tuples(digests, uuids, st.integers(0, 2**63 - 1), uuids, texts, moments, digests), min_size=1
    )
)
@example([(bytes(32), ENTITY, 0, ENTITY, "k", datetime(1970, 1, 1, tzinfo=UTC), bytes(32))])
@example(
    [
        (
            bytes(32),
            ENTITY,
            0,
            ENTITY,
            "k",
            datetime(9999, 1, 1, tzinfo=UTC) - timedelta(microseconds=1),
            bytes(32),
        )
    ]
)
@differential
def test_python_and_sql_chain_alike(admin: Admin, links: list[tuple[Any, ...]]) -> None:
    columns = [list(column) for column in zip(*links, strict=True)]
    rows = admin.execute(
        """select foja.chain_step(previous, entity_id, seq, event_id, kind, at, body_hash) from
            unnest(%s::bytea[], %s::uuid[], %s::bigint[], %s::uuid[], %s::text[], %s::timestamptz[],
                %s::bytea[])
            with ordinality t(previous, entity_id, seq, event_id, kind, at, body_hash, n) order by n""",
        columns,
    )
    assert [row[0] for row in rows] == [
        chain.step(previous, entity, seq, event_id, kind, microseconds(at), hashed)
        for previous, entity, seq, event_id, kind, at, hashed in links
    ]


@given(streams=st.lists(st.tuples(texts, uuids), min_size=1))
@differential
def test_python_and_sql_start_a_chain_alike(admin: Admin, streams: list[tuple[str, UUID]]) -> None:
    domains, ids = [domain for domain, _ in streams], [entity for _, entity in streams]
    rows = admin.execute(
        """select foja.genesis(domain, id) from
            unnest(%s::text[], %s::uuid[]) with ordinality t(domain, id, n) order by n""",
        [domains, ids],
    )
    assert [row[0] for row in rows] == [chain.genesis(domain, entity) for domain, entity in streams]


@given(keys=st.lists(st.tuples(uuids, st.text(characters, max_size=80)), min_size=1, max_size=20))
@example([(ENTITY, "k" * length) for length in (0, 1, 38, 39, 40, 47, 48, 49, 103, 104, 111, 112)])
@differential
def test_python_and_sql_name_an_event_alike(admin: Admin, keys: list[tuple[UUID, str]]) -> None:
    rows = admin.execute(
        """select foja.event_id_for(id, key) from unnest(%s::uuid[], %s::text[]) with ordinality t(id, key, n)
            order by n""",
        [[entity for entity, _ in keys], [key for _, key in keys]],
    )
    assert [row[0] for row in rows] == [event_id_for(entity, key) for entity, key in keys]


def test_new_ids_are_of_version_7_and_in_order_of_time(admin: Admin) -> None:
    rows = admin.execute(
        "select foja.new_id(), extract(epoch from clock_timestamp()) * 1000 from generate_series(1, 500)"
    ).fetchall()
    ids = [row[0] for row in rows]
    assert {each.version for each in ids} == {7}
    assert {each.variant for each in ids} == {ids[0].variant} == {"specified in RFC 4122"}
    assert len(set(ids)) == 500
    assert all(abs((each.int >> 80) - now) < 1000 for each, now in rows)


def test_salts_are_of_16_bytes_and_never_twice_the_same(admin: Admin) -> None:
    salts = [row[0] for row in admin.execute("select foja.new_salt() from generate_series(1, 500)")]
    assert {len(salt) for salt in salts} == {16}
    assert len(set(salts)) == 500
