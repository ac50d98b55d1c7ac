-- A batch after it was created: claimed, sent, looked at; its result is recorded for its documents in steps.

-- Only the workers of a network may change its batches.
create function foja.check_anchor_worker(p_network text) returns void
language plpgsql stable as $$
begin
    if foja.acting_role() not in ('foja_submit_anchor_' || p_network, 'foja_process_' || p_network || '_anchors') then
        perform foja.refuse('wrong_source', format('the role %s may not change batches of %s', foja.acting_role(), p_network));
    end if;
end $$;

-- Lease up to `p_limit` batches that are due, or this one, so that two workers do not look at one at the same time.
create function foja.claim_anchors_v1(
    p_network text, p_limit integer, p_seconds double precision, p_batch uuid default null
) returns table (
    batch_id uuid, root bytea, size integer, account text, nonce bigint, state jsonb, created_at timestamptz, status text,
    told integer, outcome jsonb, confirmed_at timestamptz, token uuid
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform foja.check_anchor_worker(p_network);
    return query
        with due as materialized (
            select b.batch_id from foja.anchor_batch b
            where b.network = p_network and (b.lease_until is null or b.lease_until < moment)
                and case when p_batch is null then b.next_look <= moment else b.batch_id = p_batch end
            order by b.nonce, b.next_look limit p_limit for no key update skip locked
        )
        update foja.anchor_batch b set lease_token = gen_random_uuid(), lease_until = moment + make_interval(secs => p_seconds)
        from due d where b.batch_id = d.batch_id
        returning b.batch_id, b.root, b.size, b.account, b.nonce, b.state, b.created_at, b.status, b.told, b.outcome,
            b.confirmed_at, b.lease_token;
end $$;

-- Store what was found about a batch, if it is still ours, and give it back unless there is something to tell. `p_seconds`
-- until the next look; null: none. A state with which it may cost more (`p_max_fee`) than is left of the daily cap is not
-- stored, so nothing of it is sent: the batch waits as it is. Returns whether it was ours.
create function foja.note_anchor_v1(
    p_batch uuid, p_token uuid, p_status text, p_state jsonb, p_seconds double precision, p_detail text, p_outcome jsonb,
    p_confirmed_at timestamptz, p_trust text[], p_fee numeric, p_spent boolean,
    p_max_fee numeric, p_cap numeric
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    b foja.anchor_batch;
    news boolean;
begin
    select * into b from foja.anchor_batch x where x.batch_id = p_batch for no key update;
    perform foja.check_anchor_worker(b.network);
    if b.lease_token is distinct from p_token or b.told is not null then
        return false;
    elsif (b.status, p_status) not in (('drafted', 'sent'), ('drafted', 'confirmed'), ('drafted', 'refused'), ('sent', 'sent'),
            ('sent', 'confirmed'), ('sent', 'refused'), ('confirmed', 'confirmed'), ('confirmed', 'reorged'),
            ('drafted', 'drafted')) then
        perform foja.refuse('bad_payload', format('a batch that is %s does not become %s', b.status, p_status));
    end if;
    if p_max_fee > b.max_fee then
        -- One at a time: what another batch of the account may cost is counted.
        perform from foja.anchor_account a where a.network = b.network and a.account = b.account for no key update;
        if p_max_fee - b.max_fee > foja.anchor_allowance(b.network, p_cap) then
            p_state := null;
            p_max_fee := null;
            p_seconds := greatest(p_seconds, 60);
            p_detail := 'it is stuck, and a replacement with a higher fee is over the daily cap; it waits; see docs/settings.md';
        end if;
    end if;
    news := p_status in ('confirmed', 'reorged', 'refused') and p_status <> b.status;
    update foja.anchor_batch x set status = p_status, state = coalesce(p_state, x.state), detail = left(p_detail, 2000),
        told = case when news then 0 end, outcome = coalesce(p_outcome, x.outcome),
        confirmed_at = case p_status when 'confirmed' then coalesce(p_confirmed_at, x.confirmed_at) end,
        trust = case p_status when 'confirmed' then coalesce(p_trust, x.trust) else '{}' end,
        fee = coalesce(p_fee, x.fee), max_fee = greatest(x.max_fee, p_max_fee), spent = coalesce(p_spent, x.spent),
        next_look = case when news then clock_timestamp() else clock_timestamp() + make_interval(secs => p_seconds) end,
        lease_token = case when news then x.lease_token end, lease_until = case when news then x.lease_until end
    where x.batch_id = p_batch;
    return true;
end $$;

-- The events that members `p_from` to `p_to` of a batch still need, or after the last of them those that were left out: for a confirmation the newest submitted attempt, late
-- if it has ended; for a refusal the submitted attempt that is open; for a reorganisation the confirmed one.
create function foja.anchor_endings(p_batch uuid, p_from integer, p_to integer)
returns table (index integer, entity_id uuid, tenant text, witness_hash text, attempt integer, late boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
begin atomic
    select m.index, m.entity_id, m.tenant, m.witness_hash, a.attempt, b.status = 'confirmed' and a.state <> 'open'
    from foja.anchor_batch b join foja.anchor_member m on m.batch_id = b.batch_id
    cross join lateral (
        select x.attempt, x.state from foja.attempt x
        where x.entity_id = m.entity_id and x.evidence = m.network and x.witness_hash = m.witness_hash
            and x.submitted_seq is not null
            and case b.status when 'reorged' then x.state = 'confirmed' when 'refused' then x.state = 'open' else true end
        order by x.attempt desc limit 1
    ) a
    where b.batch_id = p_batch
        and (m.index >= p_from and m.index < p_to or p_from >= b.size and m.index = any (b.untold))
        and (b.status <> 'confirmed' or not foja.is_confirmed(m.entity_id, m.network, m.witness_hash))
    order by m.index;
end;

-- Lock the streams of these members; return the members whose stream another session holds.
create function foja.held_members(b foja.anchor_batch, p_from integer, p_to integer) returns integer[]
language plpgsql as $$
declare
    places integer[] := case when p_from >= b.size then b.untold else array(select generate_series(p_from, p_to - 1)) end;
    locked uuid[];
begin
    locked := array(select e.entity_id from foja.entity e where e.entity_id = any (array(
            select m.entity_id from foja.anchor_member m where m.batch_id = b.batch_id and m.index = any (places)))
        order by e.entity_id for no key update skip locked);
    return array(select m.index from foja.anchor_member m join foja.entity e on e.entity_id = m.entity_id
        where m.batch_id = b.batch_id and m.index = any (places) and m.entity_id <> all (locked) order by m.index);
end $$;

-- Append the events of one step; members whose stream another session holds come later. Returns `told`; `changed` if a
-- document needs another event than the one given: read them again; `stale` if the batch is not ours any more, or this
-- step was told before.
create function foja.tell_anchor_v1(
    p_batch uuid, p_token uuid, p_from integer, p_to integer, p_drafts foja.draft[], p_seconds double precision
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
    b foja.anchor_batch;
    held integer[];
    later integer[];
begin
    select * into b from foja.anchor_batch x where x.batch_id = p_batch;
    perform foja.check_anchor_worker(b.network);
    held := foja.held_members(b, p_from, p_to);
    select * into b from foja.anchor_batch x where x.batch_id = p_batch for no key update;
    if b.lease_token is distinct from p_token or b.told is distinct from p_from then
        return 'stale';
    elsif held <> '{}' then
        p_drafts := (select array_agg(d) from unnest(p_drafts) d where d.entity_id not in (
            select m.entity_id from foja.anchor_member m where m.batch_id = p_batch and m.index = any (held)));
    end if;
    if exists (
            (select e.entity_id, e.witness_hash, e.attempt, e.late from foja.anchor_endings(p_batch, p_from, p_to) e
            where e.index <> all (held))
            except all
            (select d.entity_id, d.payload::jsonb ->> 'witness_hash', (d.payload::jsonb -> 'attempt')::integer,
                coalesce((d.payload::jsonb -> 'late')::boolean, false) from unnest(p_drafts) d))
            or coalesce(cardinality(p_drafts), 0) <> (select count(*) from foja.anchor_endings(p_batch, p_from, p_to) e
                where e.index <> all (held)) then
        return 'changed';
    end if;
    if b.status = 'confirmed' and exists (select from unnest(p_drafts) d
            where d.kind not in ('anchor.confirmed', 'rekor.confirmed')) then
        perform foja.refuse('bad_payload', format('these are not confirmations of %s', b.network));
    elsif p_drafts is not null then
        perform foja.append_drafts(p_drafts, true, false);
    end if;
    later := case when p_from >= b.size then held else b.untold || held end;
    if p_to < b.size then
        update foja.anchor_batch x set told = p_to, untold = later, lease_until = greatest(x.lease_until, clock_timestamp() + interval '1 minute')
        where x.batch_id = p_batch;
    else
        update foja.anchor_batch x set told = case when later <> '{}' then x.size end, untold = later,
            status = case when later = '{}' and x.status = 'reorged' then 'sent' else x.status end,
            next_look = case when later <> '{}' or x.status <> 'refused' then clock_timestamp() + make_interval(secs => p_seconds) end,
            lease_token = null, lease_until = null
        where x.batch_id = p_batch;
    end if;
    return 'told';
end $$;

-- Let the ticks of a network come at the next look; without batches to look at they end.
create function foja.plan_anchors_v1(p_network text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    next timestamptz;
begin
    perform foja.check_anchor_worker(p_network);
    perform from foja.tick t where t.type = format('process_%s_anchors', p_network) order by t.name for update;
    -- A statement of its own: it sees the batches that were created before the lock was granted.
    select min(b.next_look) into next from foja.anchor_batch b where b.network = p_network and b.next_look is not null;
    if next is null then
        delete from foja.tick t where t.type = format('process_%s_anchors', p_network);
    else
        update foja.tick t set due = next where t.type = format('process_%s_anchors', p_network);
    end if;
end $$;
