-- The body of an event: its hash, its checks, its source.

-- Refuse a text that is larger than it may be; `words` names it.
create function foja.check_size(value text, most integer, words text) returns void
language plpgsql immutable as $$
begin
    if octet_length(value) > most then
        perform foja.refuse('too_large', format('%s may have %s bytes, not %s', words, most, octet_length(value)));
    end if;
end $$;

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

-- Stable, not immutable, so that the planner can inline it: `to_json` is stable. One `format`, where concatenating takes a
-- dozen calls, each prepared anew for every append.
create function foja.body_hash(salt bytea, actor text, payload text, source text, v integer) returns bytea
language sql stable parallel safe
return sha256('\x03'::bytea || salt || convert_to(format('{"actor":%s,"payload":%s,"source":%s,"v":%s}',
    coalesce(to_json(actor), 'null'), payload, to_json(source), v), 'UTF8'));

create function foja.genesis(domain text, entity_id uuid) returns bytea
language sql immutable strict parallel safe
return sha256('\x020000000d'::bytea || convert_to('foja/chain/v1', 'UTF8')
    || int4send(octet_length(domain)) || convert_to(domain, 'UTF8')
    || '\x00000010'::bytea || uuid_send(entity_id));

-- Stable for the same reason. `array_send` writes the length before each field, as lp() does, after twenty bytes of its own,
-- which the prefix replaces. Times are sent in microseconds since 2000, which is 262,968 hours after 1970. A registered kind
-- is ASCII, so that its bytes do not depend on the encoding of the client.
create function foja.chain_step(
    previous bytea, entity_id uuid, seq bigint, event_id uuid, kind text, at timestamptz, body_hash bytea
) returns bytea
language sql stable parallel safe
return sha256(overlay(array_send(array[
    previous, uuid_send(entity_id), int8send(seq), uuid_send(event_id), textsend(kind),
    timestamptz_send(at + interval '262968 hours'), body_hash]) placing '\x02' from 1 for 20));

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

-- The same, if there is a problem.
create function foja.refuse_problem(problem text) returns void
language plpgsql immutable as $$
begin
    if problem is not null then
        perform foja.refuse_for(problem);
    end if;
end $$;

-- The role this session acts as, also inside a function that runs as its owner.
create function foja.acting_role() returns text
language sql stable parallel safe
return case current_setting('role') when 'none' then session_user::text else current_setting('role') end;

-- A source is a database role: no worker can record as another one.
create function foja.check_source(source text) returns void
language plpgsql stable as $$
declare
    role text := foja.acting_role();
begin
    if role = 'foja_' || replace(source, '-', '_') then  -- a source has no underscore: the role is its alone
        return;
    elsif source = 'api' and (role in ('service_role', 'foja_operator')
            or (select rolsuper or rolname = current_user from pg_roles where rolname = role)) then
        return;
    end if;
    perform foja.refuse('wrong_source', format('the role %s may not write as %s', role, source));
end $$;

-- Does the role of this session work for all tenants? The role of requests and those of readers never do.
create function foja.works_for_all() returns boolean
language plpgsql stable as $$
declare
    role text := foja.acting_role();
begin
    return role in ('service_role', 'foja_reader', 'foja_operator', 'foja_sweeper') or role not in ('foja_api', 'authenticated', 'anon') and exists (
        select from pg_roles r where r.rolname = role and (r.rolsuper or r.rolname = current_user
            or pg_has_role(r.oid, to_regrole('foja_worker'), 'member')));
end $$;

-- The tenant that a caller means who does not say it.
create function foja.acting_tenant() returns text
language sql stable parallel safe
return coalesce(nullif(current_setting('foja.tenant', true), ''), 'default');

-- May this transaction act for a tenant? It names its tenant in `foja.tenant`, and acts for no other one. Without a
-- name only a role that works for all tenants may.
create function foja.may_act_for(p_tenant text) returns boolean
language plpgsql stable as $$
declare
    bound text := nullif(current_setting('foja.tenant', true), '');
begin
    return coalesce(case when bound is null then foja.works_for_all() else p_tenant = bound end, false);
end $$;

-- A stream of another tenant does not show: it is refused as one that does not exist.
create function foja.unknown_stream(p_entity uuid, p_domain text) returns text
language sql immutable
return format('unknown_entity: there is no %s %s of this tenant', p_domain, p_entity);

create function foja.check_tenant(p_tenant text, p_entity uuid, p_domain text) returns void
language plpgsql stable as $$
begin
    if not foja.may_act_for(p_tenant) then
        perform foja.refuse_for(foja.unknown_stream(p_entity, p_domain));
    end if;
end $$;

-- The functions that follow are not strict: the planner would not inline them. Their rare branches are functions that
-- it cannot inline: what is inlined is prepared anew for every append.

-- Is this one JSON object in which no key occurs twice? Before PostgreSQL 16 only serializing it again can tell.
do $do$ begin
    execute 'create function foja.has_unique_keys(payload text) returns boolean
        language sql immutable parallel safe return ' || case
            when current_setting('server_version_num')::integer >= 160000 then 'payload is json object with unique keys'
            else 'foja.canonical(payload::jsonb) = payload' end;
end $do$;

create function foja.refuse_json(payload text) returns json
language plpgsql immutable parallel safe as $$
begin
    raise duplicate_json_object_key_value using message = 'not one JSON object, or a key occurs twice';
end $$;

-- The same object as json, or an error: one search for both, where PostgreSQL can do that.
do $do$ begin
    execute 'create function foja.unique_json(payload text) returns json
        language sql immutable parallel safe return ' || case
            when current_setting('server_version_num')::integer >= 170000 then 'json(payload with unique keys)'
            else 'case when foja.has_unique_keys(payload) then payload::json else foja.refuse_json(payload) end' end;
end $do$;

create function foja.nests_few(payload text) returns boolean
language plpgsql immutable parallel safe as $$
begin
    return octet_length(payload) - octet_length(replace(replace(payload, '{', ''), '[', '')) <= 64
        or not payload::jsonb @? 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")';
end $$;

-- Are at most 64 containers nested? Only a text with more brackets than that is searched.
create function foja.is_shallow(payload text) returns boolean
language sql immutable parallel safe
return octet_length(payload) < 130
    or octet_length(payload) - octet_length(replace(replace(payload, '{', ''), '[', '')) <= 64
    or foja.nests_few(payload);

-- Not for parallel queries, like everything that calls it: before PostgreSQL 17, none of those may catch an error.
create function foja.has_exact_numbers(payload text) returns boolean
language plpgsql immutable as $$
begin
    return not payload::jsonb @? 'strict $.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))'
        or foja.canonical(payload::jsonb) = payload;
exception
    when sqlstate 'FJ001' then
        return false;  -- it has no canonical form
end $$;

-- Has no number sixteen digits before the point, or an exponent? In a text of JSON, a number follows one of these characters.
create function foja.has_short_numbers(payload text) returns boolean
language sql immutable parallel safe
return payload !~ '[:,[\s]-?([0-9]{16}|[0-9.]+[eE][+0-9])';

-- Can every reader hold its numbers? Only a text with a long one is searched.
create function foja.is_exact(payload text) returns boolean
language sql immutable
return foja.has_short_numbers(payload) or foja.has_exact_numbers(payload);

-- Is this one JSON object within all limits? For one text: `check_each` asks the same of many in an inlined form.
create function foja.is_within_limits(payload text) returns boolean
language plpgsql immutable as $$
begin
    return octet_length(payload) <= 1048576 and foja.has_unique_keys(payload) and foja.is_shallow(payload)
        and foja.is_exact(payload);
end $$;

-- Is there nothing wrong with this body, if it is one JSON object within all limits? One expression, for the planner to
-- inline. The order of keys, the spelling of numbers and white space are not checked: every client of ours writes the
-- canonical form, and `foja fsck` finds any other.
create function foja.has_sound_fields(
    rule foja.kind, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea, p_key text
) returns boolean
language sql stable parallel safe
return p_source = any (rule.sources) and not (rule.reserved or rule.retired)
    and greatest(octet_length(p_actor), octet_length(p_key), 0) <= 1024
    and p_payload::jsonb @@ rule.shape
    and octet_length(p_salt) = 16 and foja.body_hash(p_salt, p_actor, p_payload, p_source, rule.v) = p_hash;

-- Is there nothing wrong with this body? A short text with short numbers cannot exceed a limit.
create function foja.is_sound(
    rule foja.kind, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea, p_key text
) returns boolean
language sql stable
return case when octet_length(p_payload) < 130 and foja.has_short_numbers(p_payload) then foja.has_unique_keys(p_payload)
        else foja.is_within_limits(p_payload) end
    and foja.has_sound_fields(rule, p_source, p_actor, p_payload, p_salt, p_hash, p_key);

-- Why this body may not be recorded, or null.
-- Python computed it; the database does not take its word for it.
create function foja.body_problem(
    rule foja.kind, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea, p_key text
) returns text
language sql stable
return case
    when rule.kind is null then 'unknown_kind: this domain has no such kind, or not in this version'
    when rule.reserved then format('unknown_kind: %s is written by the ledger itself', rule.kind)
    when rule.retired then format('unknown_kind: %s v%s is retired; append a newer version', rule.kind, rule.v)
    when (p_source = any (rule.sources)) is not true then format('wrong_source: %s may not be recorded by %s', rule.kind, p_source)
    when octet_length(p_payload) > 1048576 then 'too_large: a body may have 1,048,576 bytes'
    when octet_length(p_actor) > 1024 then 'too_large: an actor may have 1,024 bytes'
    when octet_length(p_key) > 1024 then 'too_large: an idempotency key may have 1,024 bytes'
    when (p_payload::jsonb @@ rule.shape) is not true then format('bad_payload: %s needs %s', rule.kind, rule.required)
    when not foja.has_unique_keys(p_payload) then 'not_canonical: a key occurs twice'
    when not foja.is_shallow(p_payload) then 'not_canonical: nested over 64 levels deep'
    when not foja.is_exact(p_payload) then 'not_canonical: a number is not kept exactly by JSON readers'
    when octet_length(p_salt) is distinct from 16
            or foja.body_hash(p_salt, p_actor, p_payload, p_source, rule.v) is distinct from p_hash
        then 'bad_hash: the body hash does not fit the body' end;
