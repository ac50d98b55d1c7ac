-- A batch is created in one transaction: its row, its members, `anchor.submitted` of each, the end of their jobs and
-- the job that sends it. Nothing is sent before.

-- Whether a batch of ours has a nonce: another one may not have it, too.
create function foja.has_nonce(p_network text, p_account text, p_nonce bigint) returns boolean
language sql stable
return exists (select from foja.anchor_batch b where b.network = p_network and b.account = p_account and b.nonce = p_nonce
    and (b.status <> 'refused' or b.spent));

-- The first nonce from this one on that no batch of ours has.
create function foja.unused_nonce(p_network text, p_account text, p_from bigint) returns bigint
language sql stable
return case when not foja.has_nonce(p_network, p_account, p_from) then p_from else (
    select min(b.nonce) + 1 from foja.anchor_batch b
    where b.network = p_network and b.account = p_account and b.nonce >= p_from and (b.status <> 'refused' or b.spent)
        and not foja.has_nonce(p_network, p_account, b.nonce + 1)) end;

-- The next nonce of an account: one that a refused batch left, else the next of all.
create function foja.free_nonce(p_network text, p_account text, p_next bigint) returns bigint
language sql stable
return least(foja.unused_nonce(p_network, p_account, p_next), (select min(b.nonce) from foja.anchor_batch b
    where b.network = p_network and b.account = p_account and b.status = 'refused' and not b.spent
        and not exists (select from foja.anchor_batch o where o.network = b.network and o.account = b.account
            and o.nonce = b.nonce and (o.status <> 'refused' or o.spent))));

-- The next nonce of an account. `p_nonce` and `p_final` count its transactions in all blocks and in final ones, as the
-- nodes agree on them, or are null. The first batch, and an operator who enables the network again, take it from
-- `p_nonce`. Otherwise only our own batches move it, or upwards foreign transactions in final blocks.
create function foja.agreed_nonce(a foja.anchor_account, p_nonce bigint, p_final bigint) returns bigint
language sql stable
return case when p_nonce is not null and (a.renew or not exists (
            select from foja.anchor_batch b where b.network = a.network and b.account = a.account))
        then foja.unused_nonce(a.network, a.account, p_nonce)
    else greatest(a.next_nonce, p_final) end;

-- Lease an account for one draft; no row if another worker has it. `p_nonce` and `p_final` as above.
create function foja.lease_anchor_account_v1(
    p_network text, p_account text, p_nonce bigint, p_final bigint, p_seconds double precision
) returns table (token uuid, nonce bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    a foja.anchor_account;
begin
    perform foja.check_source('submit-anchor-' || p_network);
    insert into foja.anchor_account (network, account, next_nonce) values (p_network, p_account, p_nonce)
    on conflict do nothing;
    select * into a from foja.anchor_account x where x.network = p_network and x.account = p_account
    for no key update skip locked;
    if not found or a.lease_until > clock_timestamp() then
        return;
    end if;
    update foja.anchor_account x set lease_token = gen_random_uuid(),
        lease_until = clock_timestamp() + make_interval(secs => p_seconds),
        next_nonce = foja.agreed_nonce(a, p_nonce, p_final), renew = x.renew and p_nonce is null
    where x.network = p_network and x.account = p_account
    returning x.lease_token, foja.free_nonce(p_network, p_account, x.next_nonce) into token, nonce;
    return next;
end $$;

-- Give the account back without a batch; its nonce goes to the next draft.
create function foja.release_anchor_account_v1(p_network text, p_account text, p_token uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('submit-anchor-' || p_network);
    update foja.anchor_account x set lease_token = null, lease_until = null
    where x.network = p_network and x.account = p_account and x.lease_token = p_token;
end $$;

-- Say why no new batch is made, or with null that batches are made again.
create function foja.hold_anchors_v1(p_network text, p_reason text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('submit-anchor-' || p_network);
    update foja.anchor_network n set held = left(p_reason, 2000), held_at = case when p_reason is not null then clock_timestamp() end
    where n.network = p_network and n.held is distinct from left(p_reason, 2000);
end $$;

-- The jobs whose attempt cannot be submitted in a new batch: it has ended, it was submitted, its evidence is confirmed,
-- or another batch may still confirm it. The streams are locked.
create function foja.unfit_submissions(
    p_network text, p_job bigint[], p_entity uuid[], p_witness text[], p_attempt integer[]
) returns bigint[]
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
return (select array_agg(u.job_id)
    from unnest(p_job, p_entity, p_witness, p_attempt) u(job_id, entity_id, witness, attempt)
    left join foja.document d on d.entity_id = u.entity_id
    -- The attempts of one document at a time, in one look: a batch has many documents.
    cross join lateral (select bool_or(a.evidence = p_network and a.attempt = u.attempt and a.state = 'open'
                and a.submitted_seq is null) as open,
            bool_or(a.evidence = p_network and a.state = 'confirmed') as confirmed,
            bool_or(a.evidence = 'tsa' and a.state = 'confirmed') as stamped
        from foja.attempt a where u.attempt > 0 and a.entity_id = u.entity_id and a.witness_hash = u.witness) own
    where u.attempt > 0 and (d.closed is not null or (own.open and own.stamped and not own.confirmed) is not true)
        or u.attempt = 0 and u.entity_id is distinct from (select i.installation_id from foja.installation i)
        or exists (select from foja.anchor_member m join foja.anchor_batch b on b.batch_id = m.batch_id
            where m.entity_id = u.entity_id and m.network = p_network and m.witness_hash = u.witness
                and b.status <> 'refused'));

-- Lock the streams of these jobs; return the jobs whose stream another session holds, or null.
create function foja.held_submissions(p_job bigint[], p_entity uuid[]) returns bigint[]
language plpgsql set enable_hashjoin = on as $$
declare
    locked uuid[];
begin
    locked := array(select e.entity_id from foja.entity e where e.entity_id = any (p_entity)
        order by e.entity_id for no key update skip locked);
    if cardinality(locked) >= (select count(distinct each) from unnest(p_entity) each) then
        return null;
    end if;
    return (select array_agg(u.job_id) from unnest(p_job, p_entity) u(job_id, entity_id)
        where not exists (select from unnest(locked) l(entity_id) where l.entity_id = u.entity_id)
            and exists (select from foja.entity e where e.entity_id = u.entity_id));
end $$;

-- Lock these jobs; return those whose lease is not ours any more, or null. Their streams are locked.
create function foja.lost_submissions(p_network text, p_job bigint[], p_token uuid[], p_entity uuid[]) returns bigint[]
language plpgsql as $$
begin
    perform from foja.job j where j.job_id = any (p_job) order by j.job_id for no key update;
    return (select array_agg(u.job_id order by u.job_id)
        from unnest(p_job, p_token, p_entity) u(job_id, token, entity_id)
        left join foja.job j on j.job_id = u.job_id
        where j.lease_token is distinct from u.token or j.state is distinct from 'running'
            or j.type <> 'submit_anchor_' || p_network or j.entity_id <> u.entity_id);
end $$;

-- What a network spent within 24 hours, and the most that its batches may cost which are not settled.
create function foja.anchor_spending(p_network text) returns numeric
language sql stable
return (select coalesce(sum(case when b.status in ('drafted', 'sent', 'reorged') then b.max_fee else coalesce(b.fee, b.max_fee) end), 0)
    from foja.anchor_batch b where b.network = p_network and (b.status in ('drafted', 'sent', 'reorged')
        or greatest(b.created_at, b.confirmed_at) > clock_timestamp() - interval '24 hours'));

-- What a network may still spend under a daily cap, or null without one.
create function foja.anchor_allowance(p_network text, p_cap numeric) returns numeric
language sql stable
return p_cap - foja.anchor_spending(p_network);

-- The tick that looks at the batches of a network: due at the next look.
create function foja.plan_look(p_network text, p_tenant text, p_every double precision, p_due timestamptz) returns void
language sql as $$
    insert into foja.tick as t (name, type, every, due, tenant)
    values (format('process_%s_anchors:%s', p_network, p_tenant), format('process_%s_anchors', p_network),
        make_interval(secs => p_every), p_due, p_tenant)
    on conflict (name) do update set due = least(t.due, excluded.due), every = excluded.every;
$$;

-- Refuse a batch that does not have one leaf for each job, and one `anchor.submitted` for each job of an attempt, in order.
create function foja.check_submissions(
    p_batch uuid, p_network text, p_leaves bytea, p_job bigint[], p_token uuid[], p_entity uuid[], p_witness text[],
    p_attempt integer[], p_drafts foja.draft[]
) returns void
language plpgsql stable as $$
declare
    entities uuid[];
    witnesses text[];
    attempts integer[];
begin
    select array_agg(u.entity_id order by u.place), array_agg(u.witness order by u.place), array_agg(u.attempt order by u.place)
    into entities, witnesses, attempts
    from unnest(p_entity, p_witness, p_attempt) with ordinality u(entity_id, witness, attempt, place) where u.attempt > 0;
    if cardinality(p_job) <> any (array[cardinality(p_token), cardinality(p_entity), cardinality(p_witness),
                cardinality(p_attempt), octet_length(p_leaves) / 32])
            or coalesce(cardinality(p_drafts), 0) <> coalesce(cardinality(entities), 0)
            or (select count(*) <> count(distinct (u.entity_id, u.witness)) or count(*) <> count(distinct u.job_id)
                from unnest(p_job, p_entity, p_witness) u(job_id, entity_id, witness)) then
        perform foja.refuse('bad_payload', 'a batch needs a token, a digest, a leaf and an event for each job');
    elsif exists (select from unnest(p_drafts, entities, witnesses, attempts) d(entity_id, domain, tenant, kind, v, event_id,
                actor, source, payload, salt, body_hash, idempotency_key, expected_seq, entity, witness, attempt)
            cross join lateral (select d.payload::jsonb as p offset 0) body
            where (d.entity_id, d.domain, d.kind, d.source, p ->> 'network', p ->> 'witness_hash', p ->> 'attempt', p ->> 'batch')
                is distinct from (d.entity, 'document', 'anchor.submitted', 'submit-anchor-' || p_network, p_network,
                    d.witness, d.attempt::text, p_batch::text)) then
        perform foja.refuse('bad_payload', 'anchor.submitted must name the batch and the attempt of its job');
    end if;
end $$;

-- Create a batch. The digest of job n is leaf n; the drafts are the `anchor.submitted` of its jobs, in order. Attempt 0 is
-- a checkpoint of the log, which has no such event. Returns `created`, or why nothing was: `already` (created before, the
-- answer was lost), `lost` (the jobs whose lease is not ours any more), `held` (the jobs whose stream another session
-- holds), `unfit` (the jobs whose attempt cannot be submitted), `stale` (the account is leased to another, or the nonce is
-- not its next one), `cap` (it may cost more than is left of the daily cap).
create function foja.create_anchor_batch_v1(
    p_batch uuid, p_network text, p_account text, p_lease uuid, p_nonce bigint, p_root bytea, p_leaves bytea, p_salts bytea,
    p_state jsonb, p_max_fee numeric, p_cap numeric, p_tenant text, p_every double precision, p_job bigint[],
    p_token uuid[], p_entity uuid[], p_witness text[], p_attempt integer[], p_drafts foja.draft[]
) returns table (verdict text, jobs bigint[])
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    a foja.anchor_account;
begin
    perform foja.check_source('submit-anchor-' || p_network);
    if exists (select from foja.anchor_batch b where b.batch_id = p_batch) then
        return query select 'already', null::bigint[];
        return;
    end if;
    verdict := 'held';  -- first: a batch that waits for another network's asks again and again
    jobs := foja.held_submissions(p_job, p_entity);
    if jobs is null then
        perform foja.check_submissions(p_batch, p_network, p_leaves, p_job, p_token, p_entity, p_witness, p_attempt, p_drafts);
        verdict := 'lost';
        jobs := foja.lost_submissions(p_network, p_job, p_token, p_entity);
    end if;
    if jobs is null then
        verdict := 'unfit';
        jobs := foja.unfit_submissions(p_network, p_job, p_entity, p_witness, p_attempt);
    end if;
    if jobs is not null then
        return next;
        return;
    end if;
    select * into a from foja.anchor_account x where x.network = p_network and x.account = p_account for no key update;
    if a.lease_token is distinct from p_lease
            or foja.free_nonce(p_network, p_account, a.next_nonce) is distinct from p_nonce then
        return query select 'stale', null::bigint[];
        return;
    elsif p_max_fee > foja.anchor_allowance(p_network, p_cap) then
        return query select 'cap', null::bigint[];
        return;
    end if;
    insert into foja.anchor_batch (batch_id, network, account, nonce, root, size, leaves, salts, state, max_fee, next_look)
    values (p_batch, p_network, p_account, p_nonce, p_root, cardinality(p_job), p_leaves, p_salts, p_state, p_max_fee,
        clock_timestamp() + interval '1 minute');
    insert into foja.anchor_member
    select p_batch, u.place - 1, p_network, u.entity_id, u.witness, u.attempt, j.tenant
    from unnest(p_job, p_entity, p_witness, p_attempt) with ordinality u(job_id, entity_id, witness, attempt, place)
    join foja.job j on j.job_id = u.job_id;
    perform foja.close_jobs(array(select row(u.job_id, u.token, 'done', null, null, null)::foja.settlement
        from unnest(p_job, p_token) u(job_id, token)), array_fill('done'::text, array[cardinality(p_job)]));
    for start in 1 .. coalesce(cardinality(p_drafts), 0) by 1000 loop  -- the time of one call grows faster than its events
        perform foja.append_drafts(p_drafts[start : start + 999], true, false);
    end loop;
    perform foja.insert_jobs(array[row('broadcast_anchor_' || p_network, p_batch, p_tenant, 'broadcast', '{}', null, 0, null,
        null)::foja.new_job]);
    update foja.anchor_account x set lease_token = null, lease_until = null,
        next_nonce = greatest(x.next_nonce, p_nonce + 1)
    where x.network = p_network and x.account = p_account;
    update foja.anchor_network n set held = null, held_at = null where n.network = p_network and n.held is not null;
    perform foja.plan_look(p_network, p_tenant, p_every, clock_timestamp() + interval '1 minute');
    return query select 'created', null::bigint[];
end $$;
