-- The sequencer's steps. The row of the log is their lock: two sequencers take turns.

-- Refuse a name that the log of this installation does not have: its key must never sign for another one.
create function foja.check_log_name(p_name text) returns void
language plpgsql stable as $$
begin
    if p_name is distinct from (select i.log_name from foja.installation i) then
        perform foja.refuse('bad_payload', format('%s is not the name of the log of this installation', p_name));
    end if;
end $$;

-- The open log, created on first use with the given name.
create function foja.open_log(p_name text) returns foja.log
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    current foja.log;
begin
    perform foja.check_source('sweeper');
    select * into current from foja.log where closed_size is null;
    if not found then
        perform foja.check_log_name(p_name);
        insert into foja.log (origin, name) values (1, p_name) on conflict do nothing;
        select * into current from foja.log where closed_size is null;
    end if;
    return current;
end $$;

-- Append the oldest sealed events to the log, about `p_limit` of them. Returns how many.
create function foja.number_pending(p_origin integer, p_limit integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    first bigint;
    taken bigint;
begin
    perform foja.check_source('sweeper');
    select l.next_idx into first from foja.log l
    where l.origin = p_origin and l.closed_size is null and l.halted is null for no key update;
    if not found then
        return 0;
    end if;
    with waiting as (
        select p.id, sum(cardinality(p.seq)) over (order by p.id) - cardinality(p.seq) as before
        from (select * from foja.pending order by id limit p_limit) p
    ), moved as (
        delete from foja.pending p using waiting w where p.id = w.id and w.before < p_limit
        returning p.id, p.entity_id, p.seq, p.chain_hash
    ), placed as (
        select u.entity_id, u.seq, u.chain_hash, row_number() over (order by t.id, u.place) - 1 as place
        from moved t
        cross join lateral unnest(t.entity_id, t.seq, t.chain_hash) with ordinality u(entity_id, seq, chain_hash, place)
    ), marked as (
        select *, place % 256 = 0 or (entity_id, seq - 1) is distinct from (lag(entity_id) over last, lag(seq) over last) as starts
        from placed window last as (order by place)
    ), bundled as (
        insert into foja.leaves
        select p_origin, first + min(place), array_agg((place % 256)::integer order by place) filter (where starts),
            array_agg(entity_id order by place) filter (where starts), array_agg(seq order by place) filter (where starts),
            string_agg(chain_hash, '' order by place)
        from marked group by place / 256
    ), found as (
        insert into foja.leaf_place
        select entity_id, p_origin, min(seq), first + place / 256 * 256 from placed group by entity_id, place / 256
    )
    select count(*) into taken from placed;
    if taken > 0 then
        update foja.log l set next_idx = first + taken where l.origin = p_origin;
    end if;
    return taken;
end $$;

-- Stop numbering and signing: the log would contradict its published checkpoint.
create function foja.halt_log(p_origin integer, p_reason text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    perform foja.check_size(p_reason, 8192, 'a reason');
    if p_reason = '' then
        perform foja.refuse('bad_payload', 'a log is halted for a reason; say which');
    end if;
    update foja.log set halted = p_reason where origin = p_origin and halted is null;
end $$;

-- Go on after a halt for this reason, which has ended: what is published is compared again before anything is signed.
create function foja.resume_log(p_origin integer, p_reason text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    update foja.log set halted = null where origin = p_origin and closed_size is null and halted = p_reason;
end $$;

-- Record a signed checkpoint, unless a newer one is published. It is checked before anything is locked: leaves stay.
create function foja.record_checkpoint(
    p_origin integer, p_size bigint, p_root bytea, p_frontier bytea, p_note text
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    if (p_size between 1 and (select l.next_idx from foja.log l where l.origin = p_origin)) is not true then
        perform foja.refuse('bad_payload', format('log %s has no %s leaves', p_origin, p_size));
    end if;
    if exists (select from foja.checkpoint c where c.origin = p_origin
            and (c.size = p_size and c.note = p_note or c.size > p_size and c.published_at is not null)) then
        return;  -- recorded before, or another sequencer was first
    end if;
    perform foja.check_checkpoint(p_origin, p_size, p_root, p_frontier, p_note);
    perform from foja.log where origin = p_origin and closed_size is null for share;
    if not found then
        perform foja.refuse('log_closed', format('log %s is closed; sign in the open log', p_origin));
    end if;
    insert into foja.checkpoint (origin, size, root, frontier, note)
    values (p_origin, p_size, p_root, p_frontier, p_note)
    on conflict (origin, size) do nothing;
end $$;

-- Mark a recorded checkpoint as published. A smaller one than the last is not marked any more: its readers have a newer one.
create function foja.mark_published(p_origin integer, p_size bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    update foja.checkpoint set published_at = clock_timestamp()
    where origin = p_origin and size = p_size and published_at is null
        and size > all (select c.size from foja.checkpoint c where c.origin = p_origin and c.published_at is not null);
end $$;

-- Add a cosignature to a published checkpoint, or to the last one of a closed log. A second one of the same key is not stored.
create function foja.record_cosignature(
    p_origin integer, p_size bigint, p_key bytea, p_vkey text, p_line text
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    perform from foja.checkpoint c join foja.log l using (origin)
    where origin = p_origin and size = p_size and (c.published_at is not null or l.closed_size = size);
    if not found then
        perform foja.refuse('unpublished', format('no published checkpoint of log %s has %s leaves', p_origin, p_size));
    end if;
    perform foja.check_cosignature(p_origin, p_size, p_key, p_vkey, p_line);
    insert into foja.cosignature (origin, size, public_key, line)
    values (p_origin, p_size, p_key, p_line) on conflict do nothing;
    insert into foja.cosigner as c (origin, public_key, vkey, seen) values (p_origin, p_key, p_vkey, p_size)
    on conflict (origin, public_key) do update
    set vkey = p_vkey, seen = greatest(c.seen, p_size), fault = null, detail = null, since = clock_timestamp();
end $$;

-- Record what is wrong with a cosigner; what it signed stays.
create function foja.record_cosigner_fault(
    p_origin integer, p_key bytea, p_vkey text, p_fault text, p_detail text
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    perform foja.check_cosigner_key(p_vkey, p_key);
    perform foja.check_size(p_detail, 8192, 'a detail');
    insert into foja.cosigner as c (origin, public_key, vkey, fault, detail)
    values (p_origin, p_key, p_vkey, p_fault, p_detail)
    on conflict (origin, public_key) do update
    set vkey = p_vkey, fault = p_fault, detail = p_detail, since = clock_timestamp()
    where (c.fault, c.detail) is distinct from (p_fault, p_detail);
end $$;

-- Close the log at its last proven size and open the next one, in a new epoch. The name of the
-- new log contains the old size and root; after a log without entries, those of the log before it.
-- Leaves above that size return to the outbox, in order.
-- If the log is consistent with its published checkpoint, a checkpoint that is only signed counts
-- as proven too: another process may be publishing it.
create function foja.restart_log(p_origin integer, p_name text, p_consistent boolean) returns foja.log
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    opened foja.log;
    closed foja.log;
    proven foja.checkpoint;
    proven_size bigint;
    head text;
begin
    perform foja.check_source('sweeper');
    perform foja.check_log_name(p_name);
    select * into closed from foja.log where origin = p_origin and closed_size is null for update;
    if not found then
        perform foja.refuse('log_closed', format('log %s is not the open log', p_origin));
    end if;
    -- Running appends finish first and later ones wait: their rows come after the returned ones.
    lock table foja.pending in exclusive mode;
    select * into proven from foja.checkpoint
    where origin = p_origin and (p_consistent or published_at is not null) order by size desc limit 1;
    proven_size := coalesce(proven.size, 0);
    update foja.log set closed_size = proven_size where origin = p_origin;
    head := case when proven_size = 0 then substring(closed.name from '[0-9]+-[0-9a-f]{64}$') end;
    head := coalesce(head, format('%s-%s', proven_size, encode(coalesce(proven.root, sha256('')), 'hex')));
    insert into foja.log (origin, name) values (p_origin + 1, format('%s/%s/%s', p_name, p_origin + 1, head))
    returning * into opened;
    with waiting as (
        delete from foja.pending returning id, entity_id, seq, chain_hash
    ), again as (
        select 0 as turn, idx / 256 as place, array_agg(entity_id order by idx) as entity_id,
            array_agg(seq order by idx) as seq, array_agg(chain_hash order by idx) as chain_hash
        from foja.leaf where origin = p_origin and idx >= proven_size group by idx / 256
        union all
        select 1, id, entity_id, seq, chain_hash from waiting
    )
    insert into foja.pending (entity_id, seq, chain_hash)
    select entity_id, seq, chain_hash from again order by turn, place;
    update foja.installation set epoch = encode(substring(uuid_send(gen_random_uuid()) for 6), 'hex');
    return opened;
end $$;
