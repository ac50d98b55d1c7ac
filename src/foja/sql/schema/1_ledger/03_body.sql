-- What an event says, and whether it may be said.

-- Raise one of our errors; `code` is the message, for people and programs the detail.
create function foja.refuse(code text, detail text) returns void
language plpgsql immutable as $$
begin
    raise exception using errcode = 'FJ001', message = code, detail = detail;
end $$;

-- The number has to come from Redis, or the stream has to be claimed first.
create function foja.refuse_lane(entity_id uuid) returns void
language plpgsql immutable as $$
begin
    raise exception using errcode = 'FJ003', message = 'on_redis', detail = format('%s is numbered by Redis', entity_id);
end $$;

-- Stable, not immutable, so that the planner can inline it: `to_json` is stable.
create function foja.body_hash(salt bytea, actor text, payload text, source text, v integer) returns bytea
language sql stable parallel safe
return sha256('\x03'::bytea || salt || convert_to(
    '{"actor":' || coalesce(to_json(actor)::text, 'null') || ',"payload":' || payload
    || ',"source":' || to_json(source)::text || ',"v":' || v || '}', 'UTF8'));

create function foja.genesis(domain text, entity_id uuid) returns bytea
language sql immutable strict parallel safe
return sha256('\x020000000d'::bytea || convert_to('foja/chain/v1', 'UTF8')
    || int4send(octet_length(domain)) || convert_to(domain, 'UTF8')
    || '\x00000010'::bytea || uuid_send(entity_id));

-- Stable for the same reason. `array_send` writes the length before each field, as lp() does,
-- after twenty bytes of its own: one call, where concatenating them takes a dozen.
create function foja.chain_step(
    previous bytea, entity_id uuid, seq bigint, event_id uuid, kind text, at timestamptz, body_hash bytea
) returns bytea
language sql stable parallel safe
return sha256('\x02'::bytea || substring(array_send(array[
    previous, uuid_send(entity_id), int8send(seq), uuid_send(event_id), convert_to(kind, 'UTF8'),
    int8send((extract(epoch from at at time zone 'UTC') * 1000000)::bigint), body_hash]) from 21));

-- The chain as a running aggregate: `head` is where the first row starts from.
create function foja.chain_on(
    state bytea, head bytea, entity_id uuid, seq bigint, event_id uuid, kind text, at timestamptz, body_hash bytea
) returns bytea
language plpgsql stable parallel safe as $$
begin
    return foja.chain_step(coalesce(state, head), entity_id, seq, event_id, kind, at, body_hash);
end $$;

create aggregate foja.chain(bytea, uuid, bigint, uuid, text, timestamptz, bytea) (
    sfunc = foja.chain_on, stype = bytea
);

-- Refuse with a problem written `code: words`.
create function foja.refuse_for(problem text) returns void
language plpgsql immutable as $$
begin
    perform foja.refuse(split_part(problem, ': ', 1), problem);
end $$;

-- The role this session acts as, also inside a function that runs as its owner.
create function foja.acting_role() returns text
language sql stable parallel safe
return case current_setting('role') when 'none' then session_user::text else current_setting('role') end;

-- A source is a database role: nobody can speak for another worker.
create function foja.check_source(source text) returns void
language plpgsql stable as $$
declare
    role text := foja.acting_role();
begin
    if role = 'foja_' || replace(source, '-', '_') then  -- a source has no underscore: the role is its alone
        return;
    elsif source = 'api' and (role = 'service_role'
            or (select rolsuper or rolname = current_user from pg_roles where rolname = role)) then
        return;
    end if;
    perform foja.refuse('wrong_source', format('the role %s may not write as %s', role, source));
end $$;

-- Is the payload nothing but its kind's only field, a string, in canonical form?
-- The common case, decided without looking at each member.
create function foja.is_plain(rule foja.kind, payload text) returns boolean
language sql stable parallel safe
return case when rule.sole_string
    then payload = '{"' || rule.sole_field || '":' || to_json(payload::jsonb ->> rule.sole_field)::text || '}'
    else false end;

-- Is there plainly nothing wrong with this body? One expression, for the planner to inline.
create function foja.is_sound(
    rule foja.kind, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea
) returns boolean
language sql stable parallel safe
return p_source = any (rule.sources) and not rule.reserved and octet_length(p_payload) <= 1048576
    and foja.is_plain(rule, p_payload) and octet_length(p_salt) = 16
    and foja.body_hash(p_salt, p_actor, p_payload, p_source, rule.v) = p_hash;

-- Why this body may not be recorded, or null.
-- Python computed it; the database does not take its word for it.
create function foja.body_problem(
    rule foja.kind, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea
) returns text
language plpgsql stable as $$
declare
    body jsonb;
begin
    if rule.kind is null then
        return 'unknown_kind: this domain has no such kind, or not in this version';
    elsif rule.reserved then
        return format('unknown_kind: %s is written by the ledger itself', rule.kind);
    elsif p_source <> all (rule.sources) then
        return format('wrong_source: %s may not be said by %s', rule.kind, p_source);
    elsif octet_length(p_payload) > 1048576 then
        return 'too_large: a body may have 1,048,576 bytes';
    end if;
    if foja.is_plain(rule, p_payload) is not true then
        body := p_payload::jsonb;
        if (body @@ rule.shape) is not true then
            return format('bad_payload: %s needs %s', rule.kind, rule.required);
        elsif foja.canonical(body) <> p_payload then
            return 'not_canonical: the payload is not in canonical form (RFC 8785)';
        end if;
    end if;
    if octet_length(p_salt) is distinct from 16
            or foja.body_hash(p_salt, p_actor, p_payload, p_source, rule.v) is distinct from p_hash then
        return 'bad_hash: the body hash does not fit the body';
    end if;
    return null;
end $$;
