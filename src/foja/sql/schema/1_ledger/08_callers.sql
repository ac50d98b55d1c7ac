-- For callers that speak only SQL: the same append, with its bytes made here.

create function foja.new_salt() returns bytea
language sql volatile parallel safe
return substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) for 16);

-- A time-ordered id (UUIDv7).
create function foja.new_id() returns uuid
language sql volatile parallel safe
return encode(set_byte(set_byte(
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        || substring(uuid_send(gen_random_uuid()) from 7 for 1) || substring(foja.new_salt() for 9),
    6, get_byte(uuid_send(gen_random_uuid()), 0) & 15 | 112),
    8, get_byte(uuid_send(gen_random_uuid()), 0) & 63 | 128), 'hex')::uuid;

create function foja.rotate(word bigint, bits integer) returns bigint
language sql immutable strict parallel safe
return ((word << bits) | (word >> (32 - bits))) & 4294967295;

-- SHA-1, only because UUIDv5 is made of it; PostgreSQL has none without an extension.
create function foja.sha1(message bytea) returns bytea
language plpgsql immutable strict parallel safe as $$
declare
    size integer := octet_length(message);
    data bytea := message || '\x80'::bytea || decode(repeat('00', (119 - size % 64) % 64), 'hex')
        || int8send(size::bigint * 8);
    h bigint[] := array[1732584193, 4023233417, 2562383102, 271733878, 3285377520];
    w bigint[];
    a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; k bigint; t bigint;
begin
    for block in 0 .. octet_length(data) / 64 - 1 loop
        for i in 0 .. 15 loop
            w[i] := ('x' || lpad(encode(substring(data from block * 64 + i * 4 + 1 for 4), 'hex'), 16, '0'))::bit(64)::bigint;
        end loop;
        for i in 16 .. 79 loop
            w[i] := foja.rotate(w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16], 1);
        end loop;
        a := h[1]; b := h[2]; c := h[3]; d := h[4]; e := h[5];
        for i in 0 .. 79 loop
            if i < 20 then f := (b & c) | ((b # 4294967295) & d); k := 1518500249;
            elsif i < 40 then f := b # c # d; k := 1859775393;
            elsif i < 60 then f := (b & c) | (b & d) | (c & d); k := 2400959708;
            else f := b # c # d; k := 3395469782;
            end if;
            t := (foja.rotate(a, 5) + f + e + k + w[i]) & 4294967295;
            e := d; d := c; c := foja.rotate(b, 30); b := a; a := t;
        end loop;
        h := array[(h[1] + a) & 4294967295, (h[2] + b) & 4294967295, (h[3] + c) & 4294967295,
            (h[4] + d) & 4294967295, (h[5] + e) & 4294967295];
    end loop;
    return decode((select string_agg(lpad(to_hex(word), 8, '0'), '' order by ord)
        from unnest(h) with ordinality u(word, ord)), 'hex');
end $$;

-- The id of an event with an idempotency key: UUIDv5 in the entity's namespace.
create function foja.event_id_for(entity_id uuid, idempotency_key text) returns uuid
language plpgsql immutable strict parallel safe as $$
declare
    digest bytea := foja.sha1(uuid_send(entity_id) || convert_to(idempotency_key, 'UTF8'));
begin
    return encode(substring(set_byte(set_byte(digest, 6, get_byte(digest, 6) & 15 | 80),
        8, get_byte(digest, 8) & 63 | 128) for 16), 'hex')::uuid;
end $$;

-- The idempotency key that events of this kind always have; null if the caller may choose.
create function foja.forced_key(p_domain text, p_kind text, p_v integer, payload jsonb) returns text
language sql stable
return (select k.keyed_by[1] || ':' || (payload ->> k.keyed_by[2]) from foja.kind k
    where k.domain = p_domain and k.kind = p_kind and k.v = p_v);

create function foja.append_event(
    entity_id uuid, domain text, kind text, payload jsonb, source text default 'api', actor text default null,
    idempotency_key text default null, expected_seq bigint default null, v integer default 1,
    tenant text default 'default', event_id uuid default null
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    bytes text := foja.canonical(payload);
    salt bytea := foja.new_salt();
    forced text := foja.forced_key(domain, kind, v, payload);
    id uuid := coalesce(foja.event_id_for(entity_id, forced), event_id,
        foja.event_id_for(entity_id, idempotency_key), foja.new_id());
begin
    if event_id is not null and idempotency_key is not null then
        perform foja.refuse('bad_payload', 'an event with an idempotency key gets its id from the key; give one of the two');
    end if;
    return foja.append(entity_id, domain, tenant, kind, v, id, actor, source, bytes, salt,
        foja.body_hash(salt, actor, bytes, source, v), coalesce(forced, idempotency_key), expected_seq);
exception
    when unique_violation then
        return foja.replay(entity_id, tenant, kind, v, id, actor, source, bytes);
    when sqlstate 'FJ003' then
        perform foja.claim_lanes(array[entity_id]);
        return foja.append_event(entity_id, domain, kind, payload, source, actor, idempotency_key, expected_seq, v, tenant,
            event_id);
end $$;
