-- Who numbers a stream: PostgreSQL by the stream's own row, or Redis by a counter that belongs to
-- one fence. The lane lock says when that may change: shared for a number that Redis gave, alone
-- for a move. It is taken before the stream's row, never after.

create function foja.lane_key(entity_id uuid) returns bigint
language sql immutable strict parallel safe
return hashtextextended('foja/lane/' || entity_id::text, 0);

-- What happened to a number is asked after the lane lock was waited for; an older snapshot cannot tell.
create function foja.need_read_committed() returns void
language plpgsql stable as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise serialization_failure using message = 'a stream that Redis numbers is written in read committed only';
    end if;
end $$;

-- The next number of a stream. Its row knows it only while PostgreSQL numbers it.
create function foja.next_seq(e foja.entity) returns bigint
language sql stable parallel safe
return case when e.lane = 'postgres' then e.next_seq else greatest(e.next_seq,
    (select max(v.seq) + 1 from foja.event v where v.entity_id = e.entity_id),
    (select max(s.seq) + 1 from foja.slot s where s.entity_id = e.entity_id)) end;

-- Record the event that explains an unused number. Unlike `void_slot` it does not touch the stream's row.
create function foja.void_number(d foja.draft, p_seq bigint) returns boolean
language plpgsql as $$
begin
    insert into foja.event values (d.entity_id, p_seq, d.event_id, d.kind, d.v, clock_timestamp(), d.actor, d.source,
        d.payload::json, d.salt, d.body_hash, d.idempotency_key, d.tenant)
    on conflict do nothing;
    if not found then
        return false;
    end if;
    insert into foja.voided values (d.entity_id, p_seq, d.tenant) on conflict do nothing;
    insert into foja.unsealed values (d.entity_id, p_seq);
    return true;
end $$;

-- Give a stream another fence; returns how many numbers were lost to the old one. The lane lock is
-- held alone and the row is locked: what the old fence numbered is recorded by now, or never will be.
create function foja.shift_lane(e foja.entity, p_lane text, p_run text) returns bigint
language plpgsql as $$
declare
    next bigint := foja.next_seq(e);
    voided bigint;
begin
    -- `offset 0` keeps one look-up per number: joined freely, a generic plan reads the whole stream.
    perform foja.void_number(foja.void_draft(e.entity_id, e.domain, e.tenant, 'sweeper', 'unused'), n)
    from generate_series(e.sealed, next - 1) n
    where not exists (select from foja.event v where v.entity_id = e.entity_id and v.seq = n offset 0)
      and not exists (select from foja.slot s where s.entity_id = e.entity_id and s.seq = n offset 0);
    get diagnostics voided = row_count;
    update foja.entity set lane = p_lane, next_seq = next, moved_at = clock_timestamp(),
        fence = case p_lane when 'redis' then gen_random_uuid() end,
        run_id = case p_lane when 'redis' then p_run end,
        last_at = greatest(last_at, clock_timestamp())
    where entity_id = e.entity_id;
    return voided;
end $$;

-- Let PostgreSQL number these streams from here on. For head appends that it has to number.
create function foja.claim_lanes(p_entity uuid[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    claimed uuid[] := (select array_agg(entity_id order by entity_id) from foja.entity
        where entity_id = any (p_entity) and lane = 'redis' and foja.may_act_for(tenant));
    stream uuid;
    e foja.entity;
    moved bigint := 0;
begin
    if claimed is null then
        return 0;
    end if;
    perform foja.need_read_committed();
    foreach stream in array claimed loop
        perform pg_advisory_xact_lock(foja.lane_key(stream));
    end loop;
    for e in select * from foja.entity where entity_id = any (claimed) order by entity_id for no key update loop
        if e.lane = 'redis' then
            perform foja.shift_lane(e, 'postgres', null);
            moved := moved + 1;
        end if;
    end loop;
    return moved;
end $$;
