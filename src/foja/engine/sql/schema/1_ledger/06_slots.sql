-- Numbers promised before the events exist: reserve, extend, fill, void.

-- A null is out of range, too.
create function foja.check_reservation(p_count integer, p_ttl interval, p_intents text[]) returns void
language plpgsql immutable as $$
begin
    if (p_count between 1 and 256 and p_ttl > interval '0' and p_ttl <= interval '1 hour') is not true then
        perform foja.refuse('bad_reservation', 'a reservation holds 1 to 256 numbers for up to one hour');
    elsif cardinality(p_intents) > p_count then
        perform foja.refuse('bad_reservation', format('%s numbers have up to %s intents', p_count, p_count));
    elsif p_intents is not null then
        perform foja.check_size(intent, 1048576, 'an intent') from unnest(p_intents) intent;
        perform foja.check_size(array_to_string(p_intents, ''), 4194304, 'the intents of a reservation together');
    end if;
end $$;

-- A domain that decides from whole histories cannot wait for numbers that may never be filled.
create function foja.check_numbers(p_domain text) returns void
language plpgsql stable as $$
begin
    if exists (select from foja.domain d where d.domain = p_domain and d.head_only) then
        perform foja.refuse('bad_reservation', format('a %s is written at its head; append without a number', p_domain));
    end if;
end $$;

-- `p_claim`: take the stream from Redis first if it numbers it; otherwise such a stream is refused.
-- A reservation lost in a crash is a token the database does not know; so a caller that
-- does nothing else may commit it without waiting for the disk.
create function foja.reserve(
    p_entity uuid, p_domain text, p_tenant text, p_source text, p_count integer, p_ttl interval, p_intents text[],
    p_claim boolean default true
) returns table (first_seq bigint, token uuid, deadline timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    e foja.entity;
    ticket uuid := gen_random_uuid();
    due timestamptz := clock_timestamp() + p_ttl;
begin
    perform foja.check_source(p_source);
    perform foja.check_tenant(p_tenant, p_entity, p_domain);
    perform foja.check_reservation(p_count, p_ttl, p_intents);
    perform foja.check_numbers(p_domain);
    if p_claim then
        perform foja.claim_lanes(array[p_entity]);
    end if;
    e := foja.lock_entity(p_entity, p_domain, p_tenant);
    if e.lane = 'redis' then
        perform foja.refuse_lane(p_entity);
    end if;
    insert into foja.slot (entity_id, seq, token, deadline, intent, tenant)
    select p_entity, e.next_seq + i - 1, ticket, due, p_intents[i]::json, p_tenant from generate_series(1, p_count) i;
    update foja.entity set next_seq = e.next_seq + p_count where entity_id = p_entity;
    return query select e.next_seq::bigint, ticket, due;
end $$;

-- More time for the numbers still open; returns the new deadline.
create function foja.extend(p_entity uuid, p_tenant text, p_token uuid, p_ttl interval) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    due timestamptz := clock_timestamp() + p_ttl;
begin
    if (p_ttl > interval '0' and p_ttl <= interval '1 hour') is not true then
        perform foja.refuse('bad_reservation', 'a reservation holds its numbers for up to one hour at a time');
    end if;
    perform from foja.entity
    where entity_id = p_entity and tenant = p_tenant and foja.may_act_for(p_tenant) for no key update;
    update foja.slot set deadline = due
    where entity_id = p_entity and tenant = p_tenant and token = p_token and foja.may_act_for(p_tenant)
        and state = 'open' and deadline > clock_timestamp();
    if not found then
        perform foja.refuse('slot_voided', 'no number of this reservation is open any more');
    end if;
    return due;
end $$;

-- Record an event at a number taken before. It never seals by itself. The stream's row is
-- touched, so that a caller with an older snapshot is told to retry.
create function foja.record_at(d foja.draft, p_seq bigint, p_at timestamptz) returns foja.receipt
language plpgsql as $$
begin
    insert into foja.event values (d.entity_id, p_seq, d.event_id, d.kind, d.v, p_at, d.actor, d.source,
        d.payload::json, d.salt, d.body_hash, d.idempotency_key, d.tenant);
    insert into foja.unsealed values (d.entity_id, p_seq);
    update foja.entity set last_at = greatest(last_at, p_at) where entity_id = d.entity_id;
    perform foja.track(k.domain, array[d.entity_id], array[p_seq], false) from foja.kind k
    where k.domain = d.domain and k.kind = d.kind and k.v = d.v and k.tracked;
    return row('appended', null, p_seq, d.event_id, p_at, d.body_hash, false, null)::foja.receipt;
end $$;

-- Record the event that explains why a number holds nothing else.
create function foja.void_slot(
    p_entity uuid, p_domain text, p_tenant text, p_seq bigint, p_source text, p_reason text, p_actor text default null
) returns foja.receipt
language plpgsql as $$
begin
    update foja.slot set state = 'voided' where entity_id = p_entity and seq = p_seq;
    insert into foja.voided values (p_entity, p_seq, p_tenant) on conflict do nothing;
    return foja.record_at(foja.void_draft(p_entity, p_domain, p_tenant, p_source, p_reason, p_actor), p_seq, clock_timestamp());
end $$;

create function foja.fill(d foja.draft, p_seq bigint, p_token uuid) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    rule foja.kind;
    stored foja.receipt;
    held foja.slot;
begin
    perform foja.check_source(d.source);
    select * into rule from foja.kind k where k.domain = d.domain and k.kind = d.kind and k.v = d.v;
    perform foja.refuse_problem(foja.body_problem(rule, d.source, d.actor, d.payload, d.salt, d.body_hash, d.idempotency_key));
    perform from foja.entity
    where entity_id = d.entity_id and domain = d.domain and tenant = d.tenant and foja.may_act_for(d.tenant)
    for no key update;
    if not found then
        return row('refused', format('slot_voided: %s is not a %s of this tenant', d.entity_id, d.domain),
            null, null, null, null, null, null)::foja.receipt;
    end if;
    stored := foja.find_replay(d);
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is not null then
        return stored;
    end if;
    select * into held from foja.slot
    where entity_id = d.entity_id and seq = p_seq and token = p_token and tenant = d.tenant for update;
    if held.state = 'open' and held.deadline > clock_timestamp() then
        update foja.slot set state = 'filled' where entity_id = d.entity_id and seq = p_seq;
        return foja.record_at(d, p_seq, clock_timestamp());
    elsif held.state = 'filled' then
        perform foja.refuse('slot_filled', format('number %s holds another event', p_seq));
    elsif held.state = 'open' then
        perform foja.void_slot(d.entity_id, d.domain, d.tenant, p_seq, 'sweeper', 'expired');
    end if;
    -- Returned, not raised: a raise would undo the void.
    return row('refused', format('slot_voided: number %s is no longer reserved', p_seq),
        null, null, null, null, null, null)::foja.receipt;
end $$;

-- Give a number back. Asking twice is harmless; a filled one stays filled.
create function foja.void(
    p_entity uuid, p_domain text, p_tenant text, p_seq bigint, p_token uuid, p_source text, p_reason text,
    p_actor text default null
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    held foja.slot;
    old foja.event;
begin
    perform foja.check_source(p_source);
    if p_reason is null then
        perform foja.refuse('bad_payload', 'say why: a reason is needed');
    end if;
    perform foja.check_size(p_reason, 1048576, 'a reason'), foja.check_size(p_actor, 1024, 'an actor');
    perform from foja.entity
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant and foja.may_act_for(p_tenant)
    for no key update;
    if not found then
        perform foja.refuse('slot_voided', format('%s is not a %s of this tenant', p_entity, p_domain));
    end if;
    select * into held from foja.slot
    where entity_id = p_entity and seq = p_seq and token = p_token and tenant = p_tenant for update;
    if held.state = 'open' then
        return foja.void_slot(p_entity, p_domain, p_tenant, p_seq, p_source, p_reason, p_actor);
    end if;
    select * into old from foja.event
    where entity_id = p_entity and seq = p_seq and tenant = p_tenant and kind = 'slot.voided';
    if not found then
        perform foja.refuse(case when held.state = 'filled' then 'slot_filled' else 'slot_voided' end,
            format('number %s is not an open number of this reservation', p_seq));
    end if;
    perform foja.await_standbys();
    return row('replayed', null, old.seq, old.event_id, old.at, old.body_hash, null, null)::foja.receipt;
end $$;

-- Void slots past their deadline, a bounded number of streams at a time. A stream that another session holds
-- is left for later: none of the others may wait for it.
create function foja.expire_slots(p_streams integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    e foja.entity;
    voided bigint;
    total bigint := 0;
begin
    perform foja.check_source('sweeper');
    for e in
        select free.* from (
            select distinct s.entity_id from foja.slot s where s.state = 'open' and s.deadline <= clock_timestamp()
            order by s.entity_id
        ) due cross join lateral (
            select x.* from foja.entity x where x.entity_id = due.entity_id for no key update skip locked
        ) free limit p_streams
    loop
        perform foja.void_slot(e.entity_id, e.domain, e.tenant, s.seq, 'sweeper', 'expired')
        from (select seq from foja.slot
              where entity_id = e.entity_id and state = 'open' and deadline <= clock_timestamp()
              order by seq for update) s;
        get diagnostics voided = row_count;
        total := total + voided;
    end loop;
    return total;
end $$;
