-- For operators: which networks are used, and when what waits is sent.

-- Let what waits for other digests of its network be claimed now.
create function foja.hasten_submissions(p_network text) returns bigint
language plpgsql as $$
declare
    hastened bigint;
begin
    with waiting as materialized (
        select j.job_id from foja.job j
        where j.type = 'submit_anchor_' || p_network and j.head and j.state = 'queued' and j.priority between 0 and 2
            and j.run_at > clock_timestamp() and case when j.dedupe_key ~ '^\d{1,18}$' then coalesce(
                (select foja.moment(v.payload ->> 'run_at') <= clock_timestamp() from foja.event v
                    where v.entity_id = j.entity_id and v.seq = j.dedupe_key::bigint), true) else true end
        for no key update of j skip locked
    )
    update foja.job j set run_at = clock_timestamp() from waiting w where j.job_id = w.job_id;
    get diagnostics hastened = row_count;
    return hastened;
end $$;

-- The same for a worker, which found that enough digests wait for a full batch.
create function foja.close_gathering_v1(p_network text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('submit-anchor-' || p_network);
    return foja.hasten_submissions(p_network);
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
    return foja.hasten_submissions(p_network);
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
