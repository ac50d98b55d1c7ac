-- For operators: which networks are used, and when what waits is sent.

-- Let what waits for other digests of its network be claimed now, without `p_held` only what has no error: the rest waits
-- because no batch can be made.
create function foja.hasten_submissions(p_network text, p_held boolean) returns bigint
language plpgsql as $$
declare
    hastened bigint;
begin
    with waiting as materialized (
        select j.job_id from foja.job j
        where j.type = 'submit_anchor_' || p_network and j.head and j.state = 'queued' and j.priority between 0 and 2
            and j.run_at > clock_timestamp() and (p_held or j.last_error is null) and case
                when j.payload -> 'attempt' = '1' then true  -- it has no pause
                when j.dedupe_key ~ '^\d{1,18}$' then coalesce(
                (select foja.moment(v.payload ->> 'run_at') <= clock_timestamp() from foja.event v
                    where v.entity_id = j.entity_id and v.seq = j.dedupe_key::bigint), true) else true end
        for no key update of j skip locked
    )
    update foja.job j set run_at = clock_timestamp() from waiting w where j.job_id = w.job_id;
    get diagnostics hastened = row_count;
    return hastened;
end $$;

-- The same for a worker that is about to claim: if one job is due, since a batch is made then, or if `p_size` jobs wait that
-- were never claimed, since that batch is full. A job waits for at most `p_seconds`. Returns how many waited, up to `p_size`.
create function foja.close_gathering_v1(p_network text, p_size integer, p_seconds double precision) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    moment timestamptz := clock_timestamp();
    waiting bigint;
begin
    perform foja.check_source('submit-anchor-' || p_network);
    select count(*) into waiting from (select from foja.job j where j.type = 'submit_anchor_' || p_network
        and j.priority = any ('{0,1,2}') and j.run_at > moment and j.run_at <= moment + make_interval(secs => p_seconds)
        and j.head and j.state in ('queued', 'retry_scheduled') and j.lease_token is null limit p_size) w;
    if waiting = p_size then  -- what is left out of a full batch waits for no other digest either
        update foja.anchor_network n set flushed_at = moment where n.network = p_network;
    end if;
    if waiting = p_size or exists (select from foja.job j where j.type = 'submit_anchor_' || p_network
            and j.priority = any ('{0,1,2}') and j.run_at <= moment and j.head and j.state in ('queued', 'retry_scheduled')) then
        perform foja.hasten_submissions(p_network, false);
    end if;
    return waiting;
end $$;

create function foja.check_is_network(p_network text) returns void
language plpgsql stable as $$
begin
    if not exists (select from foja.anchor_network n where n.network = p_network) then
        perform foja.refuse('bad_payload', format('%s is not a network: expected polygon, bitcoin or rekor', p_network));
    end if;
end $$;

-- Send what waits, without waiting for more digests; returns how many jobs there were.
create function foja.flush_anchors_v1(p_network text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_is_network(p_network);
    update foja.anchor_network n set flushed_at = clock_timestamp() where n.network = p_network;
    return foja.hasten_submissions(p_network, true);
end $$;

-- Let documents require a network. The next draft takes the nonce of its account from what the nodes agree on; only the
-- maker of batches can say it. Executors of documents that wait for the network decide again; returns how many.
create function foja.enable_network_v1(p_network text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    waiting uuid[];
begin
    perform foja.check_is_network(p_network);
    insert into foja.ability values (p_network) on conflict do nothing;
    update foja.anchor_account a set renew = true where a.network = p_network and a.next_nonce is not null and not a.renew;
    select array_agg(d.entity_id) into waiting from foja.document d join foja.entity e on e.entity_id = d.entity_id
    where d.required_evidence @> array[p_network] and not d.finalized and d.closed is null and e.awake is null
        and not exists (select from foja.attempt a where a.entity_id = d.entity_id and a.evidence = p_network
            and a.witness_hash = d.witness_hash and a.state in ('open', 'confirmed'));
    if waiting is not null then
        perform from foja.entity e where e.entity_id = any (waiting) order by e.entity_id for no key update;
        update foja.entity e set awake = e.sealed where e.entity_id = any (waiting) and e.awake is null;
        perform foja.wake(waiting);
    end if;
    return coalesce(cardinality(waiting), 0);
end $$;

-- Let no document require a network any more. Attempts that are open go on.
create function foja.disable_network_v1(p_network text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_is_network(p_network);
    delete from foja.ability a where a.evidence = p_network;
    return found;
end $$;

-- Why no batch of a network is made, and what the batches of a document wait for, each by network.
create function foja.anchor_obstacles_v1(p_document uuid, out held jsonb, out waiting jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select (select coalesce(jsonb_object_agg(n.network, n.held), '{}') from foja.anchor_network n where n.held is not null),
        (select coalesce(jsonb_object_agg(b.network, b.detail order by b.created_at), '{}')
        from foja.anchor_member m join foja.anchor_batch b on b.batch_id = m.batch_id
        where m.entity_id = p_document and foja.may_act_for(m.tenant) and b.status in ('drafted', 'sent', 'reorged')
            and b.detail is not null)
$$;

-- Whether a batch of a document has a job that runs now or within this time, or is looked at by then.
create function foja.is_anchoring_v1(p_document uuid, p_seconds double precision) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select exists (select from foja.anchor_member m join foja.anchor_batch b on b.batch_id = m.batch_id
        where m.entity_id = p_document and foja.may_act_for(m.tenant) and (b.told is not null
            or b.status in ('sent', 'reorged') and b.next_look <= clock_timestamp() + make_interval(secs => p_seconds)
            or exists (select from foja.job j join foja.job_type t on t.type = j.type
                where j.entity_id = b.batch_id and j.type = 'broadcast_anchor_' || b.network and (j.state = 'running'
                    or j.state in ('queued', 'retry_scheduled') and not t.paused
                        and j.run_at <= clock_timestamp() + make_interval(secs => p_seconds)))))
$$;
