-- One event at a time. The plain way in; `05_batch.sql` is the same for many.

create type foja.receipt as (
    status text,          -- appended | replayed | erased | refused
    detail text,
    seq bigint,
    event_id uuid,
    at timestamptz,
    body_hash bytea,
    sealed boolean        -- part of the chained prefix already
);

-- Make a stream that is new; refuse one that is somebody else's or stands elsewhere.
create function foja.create_entity(p_entity uuid, p_domain text, p_tenant text, p_expected bigint default null)
returns void
language plpgsql as $$
declare
    e foja.entity;
begin
    insert into foja.entity (entity_id, domain, tenant, head)
    values (p_entity, p_domain, p_tenant, foja.genesis(p_domain, p_entity))
    on conflict do nothing;
    select * into e from foja.entity where entity_id = p_entity for no key update;
    if e.domain <> p_domain or e.tenant <> p_tenant then
        perform foja.refuse('wrong_entity', format('%s is not a %s of this tenant', p_entity, p_domain));
    elsif e.lane = 'redis' then
        perform foja.refuse_lane(p_entity);
    elsif p_expected <> e.next_seq then
        perform foja.refuse('wrong_expected_seq', format('the next number is %s, not %s', e.next_seq, p_expected));
    end if;
end $$;

-- Lock a stream's row, making the stream first if it is new.
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

-- The stored result of an event recorded before; refused if it says something else.
create function foja.find_replay(
    p_entity uuid, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text, p_source text, p_payload text
) returns foja.receipt
language plpgsql stable as $$
declare
    old foja.event;
begin
    select * into old from foja.event where entity_id = p_entity and event_id = p_event and tenant = p_tenant;
    if not found then
        return null;
    elsif old.kind <> p_kind or old.salt is not null
            and foja.body_hash(old.salt, p_actor, p_payload, p_source, p_v) <> old.body_hash then
        return row('refused', format('idempotency_conflict: it is event %s, a %s', old.seq, old.kind),
            null, null, null, null, null)::foja.receipt;
    end if;
    return row(case when old.salt is null then 'erased' else 'replayed' end,
        null, old.seq, old.event_id, old.at, old.body_hash,
        old.seq < (select sealed from foja.entity where entity_id = p_entity))::foja.receipt;
end $$;

-- The stored result of an event that `append` found recorded before.
create function foja.replay(
    p_entity uuid, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text, p_source text, p_payload text
) returns foja.receipt
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    stored foja.receipt;
begin
    perform foja.check_source(p_source);
    stored := foja.find_replay(p_entity, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload);
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is null then
        raise serialization_failure using message = 'the event was recorded after this snapshot';
    end if;
    return stored;
end $$;

-- One event: judge the body, take the number and chain it, record, put in the outbox.
-- An event recorded before is a unique violation here; the caller then asks `replay`.
create function foja.append(
    p_entity uuid, p_domain text, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text,
    p_source text, p_payload text, p_salt bytea, p_hash bytea, p_key text, p_expected bigint
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    moment timestamptz := clock_timestamp();
    problem text;
    wakes boolean;
    tracked boolean;
    e record;
begin
    if current_setting('role') <> 'foja_' || p_source then
        perform foja.check_source(p_source);
    end if;
    select case when foja.is_sound(k, p_source, p_actor, p_payload, p_salt, p_hash) then null
        else foja.body_problem(k, p_source, p_actor, p_payload, p_salt, p_hash) end, k.wakes, k.tracked
    into problem, wakes, tracked
    from foja.kind k where k.domain = p_domain and k.kind = p_kind and k.v = p_v;
    if problem is not null or wakes is null then
        perform foja.refuse_for(coalesce(problem, 'unknown_kind: this domain has no such kind, or not in this version'));
    end if;
    update foja.entity
    set next_seq = next_seq + 1, last_at = greatest(moment, last_at),
        sealed = case when sealed = next_seq then sealed + 1 else sealed end,
        head = case when sealed = next_seq
            then foja.chain_step(head, p_entity, next_seq, p_event, p_kind, greatest(moment, last_at), p_hash)
            else head end,
        awake = case when awake is null and wakes and sealed = next_seq then next_seq else awake end
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant and fence is null  -- not on Redis
        and (p_expected is null or next_seq = p_expected)
    returning next_seq - 1 as seq, last_at as at, head, sealed = next_seq as sealed, awake into e;
    if e.seq is null then
        return foja.append_first(p_entity, p_domain, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload,
            p_salt, p_hash, p_key, p_expected);
    end if;
    insert into foja.event values (p_entity, e.seq, p_event, p_kind, p_v, e.at, p_actor, p_source, p_payload::json,
        p_salt, p_hash, p_key, p_tenant);
    if tracked then
        perform foja.track(p_domain, new, true) from foja.event new where new.entity_id = p_entity and new.seq = e.seq;
    end if;
    if e.sealed then
        insert into foja.pending (entity_id, seq, chain_hash) values (array[p_entity], array[e.seq], array[e.head]);
        if e.awake = e.seq then
            insert into foja.woken (entity_id) values (array[p_entity]);
        end if;
    else
        insert into foja.unsealed values (p_entity, e.seq);
    end if;
    return row('appended', null, e.seq, p_event, e.at, p_hash, e.sealed)::foja.receipt;
end $$;

-- The same where no row could be numbered: a new stream, or a number that is not the next.
create function foja.append_first(
    p_entity uuid, p_domain text, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text,
    p_source text, p_payload text, p_salt bytea, p_hash bytea, p_key text, p_expected bigint
) returns foja.receipt
language plpgsql as $$
declare
    stored foja.receipt := foja.find_replay(p_entity, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload);
begin
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is not null then
        return stored;
    end if;
    perform foja.create_entity(p_entity, p_domain, p_tenant, p_expected);
    return foja.append(p_entity, p_domain, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload, p_salt,
        p_hash, p_key, p_expected);
end $$;
