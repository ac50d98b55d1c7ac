-- What an event says, and whether it may be said.

-- Raise one of our errors; `code` is the message, for people and programs the detail.
create function foja.refuse(code text, detail text) returns void
language plpgsql immutable as $$
begin
    raise exception using errcode = 'FJ001', message = code, detail = detail;
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

-- Stable for the same reason.
create function foja.chain_step(
    previous bytea, entity_id uuid, seq bigint, event_id uuid, kind text, at timestamptz, body_hash bytea
) returns bytea
language sql stable parallel safe
return sha256('\x0200000020'::bytea || previous
    || '\x00000010'::bytea || uuid_send(entity_id)
    || '\x00000008'::bytea || int8send(seq)
    || '\x00000010'::bytea || uuid_send(event_id)
    || int4send(octet_length(kind)) || convert_to(kind, 'UTF8')
    || '\x00000008'::bytea || int8send((extract(epoch from at at time zone 'UTC') * 1000000)::bigint)
    || '\x00000020'::bytea || body_hash);

-- The chain as a running aggregate: `head` is where the first row starts from.
create function foja.chain_on(
    state bytea, head bytea, entity_id uuid, seq bigint, event_id uuid, kind text, at timestamptz, body_hash bytea
) returns bytea
language sql stable parallel safe
return foja.chain_step(coalesce(state, head), entity_id, seq, event_id, kind, at, body_hash);

create aggregate foja.chain(bytea, uuid, bigint, uuid, text, timestamptz, bytea) (
    sfunc = foja.chain_on, stype = bytea
);

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
    if role = 'foja_' || replace(source, '-', '_') then
        return;
    elsif source = 'api' and (role = 'service_role'
            or (select rolsuper or rolname = current_user from pg_roles where rolname = role)) then
        return;
    end if;
    perform foja.refuse('wrong_source', format('the role %s may not write as %s', role, source));
end $$;

-- Why this body may not be recorded, or null.
-- Python computed it; the database does not take its word for it.
create function foja.body_problem(
    p_domain text, p_kind text, p_v integer, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea
) returns text
language plpgsql stable as $$
declare
    rule record;
    body jsonb;
begin
    if octet_length(p_payload) > 1048576 then
        return 'too_large: a body may have 1,048,576 bytes';
    end if;
    body := p_payload::jsonb;
    select k.sources, k.required, coalesce((
        select bool_and(coalesce(need.value ? 'any' and body ? need.key
            or need.value ? jsonb_typeof(body -> need.key), false))
        from jsonb_each(k.required) need), true) as complete
    into rule from foja.kind k where k.domain = p_domain and k.kind = p_kind and k.v = p_v;
    if not found then
        return format('unknown_kind: %s v%s is not a kind of %s', p_kind, p_v, p_domain);
    elsif p_source <> all (rule.sources) then
        return format('wrong_source: %s may not be said by %s', p_kind, p_source);
    elsif not rule.complete or jsonb_typeof(body) <> 'object' then
        return format('bad_payload: %s needs %s', p_kind, rule.required);
    elsif foja.canonical(body) <> p_payload then
        return 'not_canonical: the payload is not in canonical form (RFC 8785)';
    elsif foja.body_hash(p_salt, p_actor, p_payload, p_source, p_v) is distinct from p_hash then
        return 'bad_hash: the body hash does not fit the body';
    end if;
    return null;
end $$;
