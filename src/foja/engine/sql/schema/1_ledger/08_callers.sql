-- For callers that speak only SQL: the same append, with its bytes made here.

create function foja.new_salt() returns bytea
language sql volatile parallel safe
return substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) for 16);

-- A time-ordered id (UUIDv7).
create function foja.new_id() returns uuid
language sql volatile parallel safe
return overlay(overlay(encode(uuid_send(gen_random_uuid()), 'hex')
    placing lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') from 1)
    placing '7' from 13)::uuid;

-- The id that these fields always give: a UUIDv8 made of the SHA-256 of their length-prefixed form.
-- `array_send` writes the length before each field, as lp() does, after twenty bytes of its own.
create function foja.derived_id(variadic fields bytea[]) returns uuid
language plpgsql immutable strict parallel safe as $$
declare
    digest bytea := sha256(substring(array_send(fields) from 21));
begin
    return encode(substring(set_byte(set_byte(digest, 6, get_byte(digest, 6) & 15 | 128),
        8, get_byte(digest, 8) & 63 | 128) for 16), 'hex')::uuid;
end $$;

-- The id of an event with an idempotency key.
create function foja.event_id_for(entity_id uuid, idempotency_key text) returns uuid
language sql immutable strict parallel safe
return foja.derived_id('foja/event/v1'::bytea, uuid_send(entity_id), convert_to(idempotency_key, 'UTF8'));

-- A draft whose salt, hash and, unless given, id are made here. `p_payload` is canonical.
create function foja.new_draft(
    p_entity uuid, p_domain text, p_tenant text, p_kind text, p_payload text, p_source text, p_actor text default null,
    p_event uuid default null, p_key text default null, p_expected bigint default null, p_v integer default 1
) returns foja.draft
language plpgsql as $$
declare
    salt bytea := foja.new_salt();
begin
    return row(p_entity, p_domain, p_tenant, p_kind, p_v,
        coalesce(p_event, foja.event_id_for(p_entity, p_key), foja.new_id()), p_actor, p_source, p_payload, salt,
        foja.body_hash(salt, p_actor, p_payload, p_source, p_v), p_key, p_expected)::foja.draft;
end $$;

create function foja.void_draft(
    p_entity uuid, p_domain text, p_tenant text, p_source text, p_reason text, p_actor text default null
) returns foja.draft
language sql volatile
return foja.new_draft(p_entity, p_domain, p_tenant, 'slot.voided', '{"reason":' || to_json(p_reason)::text || '}', p_source,
    p_actor);

-- The idempotency key that events of this kind always have; null if the caller may choose.
create function foja.forced_key(p_domain text, p_kind text, p_v integer, payload jsonb) returns text
language sql stable
return (select k.keyed_by[1] || ':' || (payload ->> k.keyed_by[2]) from foja.kind k
    where k.domain = p_domain and k.kind = p_kind and k.v = p_v);

create function foja.append_event(
    entity_id uuid, domain text, kind text, payload jsonb, source text default 'api', actor text default null,
    idempotency_key text default null, expected_seq bigint default null, v integer default 1,
    tenant text default foja.acting_tenant(), event_id uuid default null
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    forced text := foja.forced_key(domain, kind, v, payload);
    key text := coalesce(forced, idempotency_key);
    d foja.draft := foja.new_draft(entity_id, domain, tenant, kind, foja.canonical(payload), source, actor,
        case when forced is null then event_id end, key, expected_seq, v);
begin
    if event_id is not null and idempotency_key is not null then
        perform foja.refuse('bad_payload', 'an event with an idempotency key gets its id from the key; give one of the two');
    end if;
    return foja.append(d);
exception
    when unique_violation then
        return foja.replay(d);
    when sqlstate 'FJ003' then
        perform foja.claim_lanes(array[entity_id]);
        return foja.append_event(entity_id, domain, kind, payload, source, actor, idempotency_key, expected_seq, v, tenant,
            event_id);
end $$;
