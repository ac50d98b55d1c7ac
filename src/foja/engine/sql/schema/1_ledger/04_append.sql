-- One event at a time. `05_batch.sql` is the same for many.

-- An event ready to be recorded: the one form in which events come in.
create type foja.draft as (
    entity_id uuid, domain text, tenant text, kind text, v integer, event_id uuid, actor text, source text,
    payload text, salt bytea, body_hash bytea, idempotency_key text, expected_seq bigint
);

create type foja.receipt as (
    status text,          -- appended | replayed | erased | refused
    detail text,
    seq bigint,
    event_id uuid,
    at timestamptz,
    body_hash bytea,
    sealed boolean,       -- part of the chained prefix already
    result integer        -- what the guard of its domain returned for it; null: nothing
);

-- The streams of the domain `system`: the installation's own, which has its id and the tenant `system`, and one of each tenant.
create function foja.find_system_stream(p_tenant text) returns uuid
language sql stable
return case p_tenant when 'system' then (select i.installation_id from foja.installation i)
    else (select s.entity_id from foja.system_stream s where s.tenant = p_tenant) end;

-- No other stream has their ids, or the tenant `system`.
create function foja.is_own_stream(p_entity uuid, p_domain text, p_tenant text) returns boolean
language sql stable
return case when p_domain = 'system' then p_entity is not distinct from foja.find_system_stream(p_tenant)
    else p_tenant <> 'system' and not exists (select from foja.installation i where i.installation_id = p_entity)
        and not exists (select from foja.system_stream s where s.entity_id = p_entity) end;

-- A name of 1 to 255 bytes, without characters that control a terminal, break a line or change its direction.
create function foja.check_tenant_name(name text) returns void
language plpgsql immutable as $$
begin
    perform foja.check_size(name, 255, 'the name of a tenant');
    if name = '' then  -- a setting that was set before, and is not now, reads like this
        perform foja.refuse('wrong_entity', 'the name of a tenant is empty; it has 1 to 255 bytes');
    elsif name ~ '[\u0001-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]' then
        perform foja.refuse('wrong_entity', 'the name of a tenant has control characters; it has printable ones only');
    end if;
end $$;

-- Create a stream that is new; refuse one of another domain or tenant, or with another next number.
create function foja.create_entity(p_entity uuid, p_domain text, p_tenant text, p_expected bigint default null)
returns void
language plpgsql as $$
declare
    e foja.entity;
begin
    perform foja.check_tenant_name(p_tenant);
    if not foja.is_own_stream(p_entity, p_domain, p_tenant) then
        perform foja.refuse('wrong_entity', 'the id of the installation, the domain system and the tenant system belong together');
    end if;
    insert into foja.entity (entity_id, domain, tenant, head)
    values (p_entity, p_domain, p_tenant, foja.genesis(p_domain, p_entity))
    on conflict do nothing;
    select * into e from foja.entity where entity_id = p_entity for no key update;
    if e.tenant <> p_tenant then
        perform foja.refuse_for(foja.unknown_stream(p_entity, p_domain));
    elsif e.domain <> p_domain then
        perform foja.refuse('wrong_entity', format('%s is not a %s', p_entity, p_domain));
    elsif e.lane = 'redis' then
        perform foja.refuse_lane(p_entity);
    elsif p_expected <> e.next_seq then
        perform foja.refuse('wrong_expected_seq', format('the next number is %s, not %s', e.next_seq, p_expected));
    end if;
end $$;

-- Lock a stream's row, creating the stream first if it is new.
create function foja.lock_entity(p_entity uuid, p_domain text, p_tenant text) returns foja.entity
language plpgsql as $$
declare
    e foja.entity;
begin
    select * into e from foja.entity
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant for no key update;
    if not found then
        perform foja.create_entity(p_entity, p_domain, p_tenant);
        select * into e from foja.entity where entity_id = p_entity for no key update;
    end if;
    return e;
end $$;

-- Make the commit of this transaction wait as the commit of an append does, where the server waits for standbys. For an
-- answer "recorded before": after a crash the event may be on this server only, and a transaction that writes nothing waits
-- for no standby.
create function foja.await_standbys() returns void
language plpgsql as $$
begin
    if current_setting('synchronous_standby_names') <> '' then
        perform pg_logical_emit_message(true, 'foja', '');
    end if;
end $$;

-- The stored result of an event recorded before, which is acknowledged like a new one; refused if it has another kind or body.
create function foja.find_replay(d foja.draft) returns foja.receipt
language plpgsql as $$
declare
    old foja.event;
begin
    select * into old from foja.event
    where entity_id = d.entity_id and event_id = d.event_id and tenant = d.tenant;
    if not found then
        return null;
    elsif old.kind <> d.kind or old.salt is not null
            and foja.body_hash(old.salt, d.actor, d.payload, d.source, d.v) <> old.body_hash then
        return row('refused', format('idempotency_conflict: it is event %s, a %s', old.seq, old.kind),
            null, null, null, null, null, null)::foja.receipt;
    end if;
    perform foja.await_standbys();
    return row(case when old.salt is null then 'erased' else 'replayed' end,
        null, old.seq, old.event_id, old.at, old.body_hash,
        old.seq < (select sealed from foja.entity where entity_id = d.entity_id), null)::foja.receipt;
end $$;

-- The stored result of an event that `append` found recorded before.
create function foja.replay(d foja.draft) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    stored foja.receipt;
begin
    perform foja.check_source(d.source);
    perform foja.check_tenant(d.tenant, d.entity_id, d.domain);
    stored := foja.find_replay(d);
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is null then
        raise serialization_failure using message = 'the event was recorded after this snapshot';
    end if;
    return stored;
end $$;

-- Why this draft, which is not sound, may not be recorded. Not inlined: hardly any append asks.
create function foja.draft_problem(d foja.draft) returns text
language plpgsql stable as $$
declare
    words text;
begin
    return coalesce(
        (select foja.body_problem(k, d.source, d.actor, d.payload, d.salt, d.body_hash, d.idempotency_key)
            from foja.kind k where k.domain = d.domain and k.kind = d.kind and k.v = d.v),
        'unknown_kind: this domain has no such kind, or not in this version');
exception
    when data_exception or statement_too_complex then
        return format('bad_payload: not a JSON object that can be stored (%s)', sqlerrm);
    when sqlstate 'FJ001' then  -- before PostgreSQL 16 a body is serialized again, and has no canonical form
        get stacked diagnostics words = pg_exception_detail;
        return format('%s: %s', sqlerrm, words);
end $$;

-- One event: check it, take the number and chain it, record it, put it in the outbox.
-- An event recorded before is a unique violation here; the caller then calls `replay`.
create function foja.append(d foja.draft) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    moment timestamptz := clock_timestamp();
    sound boolean;
    wakes boolean;
    tracked boolean;
    e record;
    results integer[];
begin
    if current_setting('role') is distinct from 'foja_' || d.source
            or current_setting('foja.tenant', true) is distinct from d.tenant then
        perform foja.check_source(d.source);
        perform foja.check_tenant(d.tenant, d.entity_id, d.domain);
    end if;
    select foja.is_sound(k, d.source, d.actor, d.payload, d.salt, d.body_hash, d.idempotency_key), k.wakes, k.tracked
    into sound, wakes, tracked
    from foja.kind k where k.domain = d.domain and k.kind = d.kind and k.v = d.v;
    if sound is not true then
        perform foja.refuse_for(foja.draft_problem(d));
    end if;
    update foja.entity
    set next_seq = next_seq + 1, last_at = greatest(moment, last_at),
        sealed = case when sealed = next_seq then sealed + 1 else sealed end,
        head = case when sealed = next_seq then foja.chain_step(
                head, d.entity_id, next_seq, d.event_id, d.kind, greatest(moment, last_at), d.body_hash)
            else head end,
        awake = case when awake is null and wakes and sealed = next_seq then next_seq else awake end
    where entity_id = d.entity_id and domain = d.domain and tenant = d.tenant and fence is null  -- not on Redis
        and (d.expected_seq is null or next_seq = d.expected_seq)
    returning next_seq - 1 as seq, last_at as at, head, sealed = next_seq as sealed, awake into e;
    if e.seq is null then
        return foja.append_first(d);
    end if;
    insert into foja.event values (d.entity_id, e.seq, d.event_id, d.kind, d.v, e.at, d.actor, d.source,
        d.payload::json, d.salt, d.body_hash, d.idempotency_key, d.tenant);
    if tracked then
        results := foja.track(d.domain, array[d.entity_id], array[e.seq]);
    end if;
    if e.sealed then
        insert into foja.pending (entity_id, seq, chain_hash) values (array[d.entity_id], array[e.seq], array[e.head]);
        if e.awake = e.seq then
            insert into foja.woken (entity_id) values (array[d.entity_id]);
        end if;
    else
        insert into foja.unsealed values (d.entity_id, e.seq);
    end if;
    return row('appended', null, e.seq, d.event_id, e.at, d.body_hash, e.sealed, results[1])::foja.receipt;
end $$;

-- The same where no row could be numbered: a new stream, or a number that is not the next.
create function foja.append_first(d foja.draft) returns foja.receipt
language plpgsql as $$
declare
    stored foja.receipt := foja.find_replay(d);
begin
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is not null then
        return stored;
    end if;
    perform foja.create_entity(d.entity_id, d.domain, d.tenant, d.expected_seq);
    return foja.append(d);
end $$;
