-- The Redis lane: Redis gives a number, PostgreSQL records it or returns why not.

-- Whether the stream may leave the fence that was seen. It returns from PostgreSQL to Redis only after `p_rest`.
create function foja.may_move(e foja.entity, p_seen uuid, p_lane text, p_rest interval) returns boolean
language sql stable
return e.fence is not distinct from p_seen and (e.lane = 'redis'
    or p_lane = 'redis' and coalesce(e.moved_at < clock_timestamp() - p_rest, true));

-- Move a stream from the fence that was seen to a new one, or to PostgreSQL. Create the stream if it does not
-- exist. A second caller with the same fence gets the result of the first.
create function foja.move_lane(
    p_entity uuid, p_domain text, p_tenant text, p_source text, p_seen uuid, p_lane text, p_run text, p_rest interval
) returns table (fence uuid, run_id text, next_seq bigint, age double precision, moved boolean, voided bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    e foja.entity;
    lost bigint;
begin
    perform foja.check_source(p_source);
    perform foja.check_tenant(p_tenant, p_entity, p_domain);
    perform foja.need_read_committed();
    perform foja.check_numbers(p_domain);
    perform foja.check_size(p_run, 255, 'the run id of Redis');
    if p_lane = 'redis' and exists (select from foja.domain d where d.domain = p_domain and not d.reserved) then
        perform foja.refuse('bad_reservation', format('a %s is numbered by PostgreSQL', p_domain));
    end if;
    select * into e from foja.entity x where x.entity_id = p_entity and x.domain = p_domain and x.tenant = p_tenant;
    if not found or foja.may_move(e, p_seen, p_lane, p_rest) then
        perform pg_advisory_xact_lock(foja.lane_key(p_entity));
        e := foja.lock_entity(p_entity, p_domain, p_tenant);
        if foja.may_move(e, p_seen, p_lane, p_rest) then
            lost := foja.shift_lane(e, p_lane, p_run);
            select * into e from foja.entity x where x.entity_id = p_entity;
        end if;
    end if;
    return query select e.fence, e.run_id, e.next_seq::bigint,
        extract(epoch from clock_timestamp() - e.moved_at)::double precision, lost is not null, coalesce(lost, 0);
end $$;

-- Record one event at a number from Redis. It never locks the stream's row and never seals. A stream without a
-- lane in Redis has no fence, so none matches. A number below 0 or far above the others is refused like one in use.
-- A refusal is returned, not raised: a raise would undo the void.
create function foja.lane_append(d foja.draft, p_seq bigint, p_fence uuid) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    moment timestamptz;
    sound boolean;
    reserved boolean;
    tracked boolean;
begin
    if current_setting('role') <> 'foja_' || d.source then
        perform foja.check_source(d.source);
    end if;
    if d.tenant is distinct from current_setting('foja.tenant', true) then
        perform foja.check_tenant(d.tenant, d.entity_id, d.domain);
    end if;
    if current_setting('transaction_isolation') <> 'read committed' then
        perform foja.need_read_committed();
    end if;
    perform pg_advisory_xact_lock_shared(foja.lane_key(d.entity_id));
    -- A separate statement, so that it sees everything committed before the lock was acquired.
    select foja.is_sound(k, d.source, d.actor, d.payload, d.salt, d.body_hash, d.idempotency_key),
        p_seq < 0 or exists (select from foja.slot s where s.entity_id = d.entity_id and s.seq = p_seq)
            or p_seq > e.next_seq + 10000
            and not exists (select from foja.event v where v.entity_id = d.entity_id and v.seq >= p_seq - 10000)
            and not exists (select from foja.slot s where s.entity_id = d.entity_id and s.seq >= p_seq - 10000),
        k.tracked
    into sound, reserved, tracked
    from foja.entity e left join foja.kind k on k.domain = d.domain and k.kind = d.kind and k.v = d.v
    where e.entity_id = d.entity_id and e.domain = d.domain and e.tenant = d.tenant and e.fence = p_fence;
    if reserved is null then
        return row('moved', null, null, null, null, null, null, null)::foja.receipt;
    elsif reserved then
        return row('taken', null, null, null, null, null, null, null)::foja.receipt;
    end if;
    if sound then
        moment := clock_timestamp();
        insert into foja.event values (d.entity_id, p_seq, d.event_id, d.kind, d.v, moment, d.actor, d.source,
            d.payload::json, d.salt, d.body_hash, d.idempotency_key, d.tenant)
        on conflict do nothing;
        if found then
            insert into foja.unsealed values (d.entity_id, p_seq);
            if tracked then
                perform foja.track(d.domain, array[d.entity_id], array[p_seq], false);
            end if;
            return row('appended', null, p_seq, d.event_id, moment, d.body_hash, false, null)::foja.receipt;
        end if;
    end if;
    return foja.lane_receipt(d, p_seq, case when sound then null else foja.draft_problem(d) end);
end $$;

-- The receipt of an event that could not be recorded at its number.
create function foja.lane_receipt(d foja.draft, p_seq bigint, p_problem text) returns foja.receipt
language plpgsql as $$
declare
    present foja.event;
    stored foja.receipt;
begin
    select * into present from foja.event where entity_id = d.entity_id and seq = p_seq;
    if present.event_id = d.event_id and p_problem is null then
        return foja.find_replay(d);
    elsif present.event_id is not null then
        return row(case present.kind when 'slot.voided' then 'late' else 'taken' end,
            null, null, null, null, null, null, null)::foja.receipt;
    end if;
    stored := case when p_problem is null
        then foja.find_replay(d)
        else row('refused', p_problem, null, null, null, null, null, null)::foja.receipt end;
    perform foja.void_number(foja.void_draft(d.entity_id, d.domain, d.tenant, d.source,
        case stored.status when 'refused' then 'refused' else 'replayed' end), p_seq);
    return stored;
end $$;

create type foja.reservation as (
    status text,          -- reserved | moved | taken | late
    first_seq bigint,
    token uuid,
    deadline timestamptz
);

-- Reserve numbers from Redis. The lane lock is exclusive: events and slots are in two tables, and a number
-- that was given twice must not become both.
create function foja.lane_reserve(
    p_entity uuid, p_domain text, p_tenant text, p_source text, p_count integer, p_ttl interval, p_intents text[],
    p_first bigint, p_fence uuid
) returns foja.reservation
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- For a range the planner prefers custom plans, and planning costs more than the range.
set plan_cache_mode = force_generic_plan as $$
declare
    new_token uuid := gen_random_uuid();
    due timestamptz;
    wrong boolean;
    voided boolean;
begin
    if current_setting('role') <> 'foja_' || p_source then
        perform foja.check_source(p_source);
    end if;
    if p_tenant is distinct from current_setting('foja.tenant', true) then
        perform foja.check_tenant(p_tenant, p_entity, p_domain);
    end if;
    if current_setting('transaction_isolation') <> 'read committed' then
        perform foja.need_read_committed();
    end if;
    perform foja.check_reservation(p_count, p_ttl, p_intents);
    if p_first not between 0 and 9223372036854775807 - p_count then
        return row('taken', p_first, new_token, null)::foja.reservation;
    end if;
    perform pg_advisory_xact_lock(foja.lane_key(p_entity));
    select exists (select from foja.slot s
            where s.entity_id = p_entity and s.seq between p_first and p_first + p_count - 1)
        or p_first > e.next_seq + 10000
            and not exists (select from foja.event v where v.entity_id = p_entity and v.seq >= p_first - 10000)
            and not exists (select from foja.slot s where s.entity_id = p_entity and s.seq >= p_first - 10000),
        (select bool_and(v.kind = 'slot.voided') from foja.event v
            where v.entity_id = p_entity and v.seq between p_first and p_first + p_count - 1)
    into wrong, voided
    from foja.entity e
    where e.entity_id = p_entity and e.domain = p_domain and e.tenant = p_tenant and e.fence = p_fence;
    if wrong is null or wrong or voided is not null then
        return row(case when wrong is null then 'moved' when wrong or not voided then 'taken' else 'late' end,
            p_first, new_token, null)::foja.reservation;
    end if;
    due := clock_timestamp() + p_ttl;
    insert into foja.slot (entity_id, seq, token, deadline, intent, tenant)
    select p_entity, p_first + i - 1, new_token, due, p_intents[i]::json, p_tenant from generate_series(1, p_count) i;
    return row('reserved', p_first, new_token, due)::foja.reservation;
end $$;

-- The streams with unsealed events, each with its first one. The index is scanned once per stream (skip scan):
-- thousands of events above one open slot cost no more than one.
create function foja.waiting() returns table (entity_id uuid, seq bigint)
language sql stable
begin atomic
    with recursive hop as (
        (select u.entity_id, u.seq::bigint from foja.unsealed u order by u.entity_id, u.seq limit 1)
        union all
        select n.entity_id, n.seq from hop h cross join lateral (
            select u.entity_id, u.seq::bigint from foja.unsealed u where u.entity_id > h.entity_id
            order by u.entity_id, u.seq limit 1
        ) n
    )
    select h.entity_id, h.seq from hop h;
end;

-- The numbers of a stream without an event or a slot, below an event of at least that age.
create function foja.holes(e foja.entity, p_age interval) returns setof bigint
language sql stable
begin atomic
    select n from generate_series(e.sealed, (select max(u.seq) from foja.unsealed u where u.entity_id = e.entity_id)) n
    where not exists (select from foja.event v where v.entity_id = e.entity_id and v.seq = n offset 0)
      and not exists (select from foja.slot s where s.entity_id = e.entity_id and s.seq = n offset 0)
      and (select v.at from foja.event v where v.entity_id = e.entity_id and v.seq > n order by v.seq limit 1)
        < clock_timestamp() - p_age;
end;

-- Streams with holes, found by counting: without a hole, every number above the sealed prefix is recorded or reserved.
create function foja.streams_with_holes(p_age interval) returns setof uuid
language sql stable
begin atomic
    -- `offset 0` forces one look-up per stream, whatever row count the planner estimates.
    select w.entity_id from foja.waiting() w
    cross join lateral (select x.* from foja.entity x where x.entity_id = w.entity_id offset 0) e
    cross join lateral (select count(*) as n, max(u.seq) as top from foja.unsealed u
        where u.entity_id = w.entity_id and u.seq >= e.sealed offset 0) recorded
    cross join lateral (select count(*) as n from foja.slot s
        where s.entity_id = w.entity_id and s.seq < recorded.top and s.state = 'open' offset 0) reserved
    where recorded.top - e.sealed + 1 > recorded.n + reserved.n
      and exists (select from foja.holes(row(e.*)::foja.entity, p_age));
end;

-- Void numbers from Redis that were never recorded. A bounded number of streams at a time; not one that another
-- session holds.
create function foja.void_holes(p_streams integer, p_age interval) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    streams uuid[];
    e foja.entity;
    voided bigint;
    total bigint := 0;
begin
    perform foja.check_source('sweeper');
    select array_agg(h) into streams from (
        select h from foja.streams_with_holes(p_age) h where pg_try_advisory_xact_lock(foja.lane_key(h)) limit p_streams) h;
    for e in
        select * from foja.entity x where x.entity_id = any (streams) order by x.entity_id for no key update skip locked
    loop
        perform foja.void_number(foja.void_draft(e.entity_id, e.domain, e.tenant, 'sweeper', 'unused'), n)
        from foja.holes(e, p_age) n;
        get diagnostics voided = row_count;
        total := total + voided;
    end loop;
    return total;
end $$;

grant execute on function foja.move_lane, foja.claim_lanes, foja.lane_append, foja.lane_reserve
    to service_role, foja_api;
grant execute on function foja.claim_lanes to foja_sweeper, foja_worker;
grant execute on function foja.void_holes to foja_sweeper;
select foja.restrict_functions();
