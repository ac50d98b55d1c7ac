-- Taking work. A claim waits for no lock, and never ends a job.

create function foja.check_worker(rule foja.job_type, p_type text) returns void
language plpgsql stable as $$
begin
    if rule.type is null then
        perform foja.refuse('unknown_job', format('there is no job type %s', p_type));
    elsif foja.acting_role() <> rule.role then
        perform foja.refuse('wrong_source', format('the role %s may not do %s', foja.acting_role(), p_type));
    end if;
end $$;

-- Up to `p_limit` jobs, of one tenant if it is named, each leased to this worker until it settles it or stops
-- extending the lease. A job whose lease expired comes alone, and says so. Tries are counted here, once per claim; the
-- first claim after a worker was lost does not count: another job may be the cause, or the machine was switched off.
create function foja.claim_jobs_v1(p_type text, p_limit integer, p_worker text, p_tenant text default null)
returns table (
    job_id bigint, type text, entity_id uuid, tenant text, dedupe_key text, payload jsonb, tries integer,
    max_tries integer, lease_token uuid, lease_seconds double precision, alone boolean, corrected boolean
)
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- One plan for every claim, by index: the first one is made while the table is empty.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    rule foja.job_type;
    token uuid := gen_random_uuid();
    moment timestamptz;
    missing integer := p_limit;
    found_now integer;
begin
    select * into rule from foja.job_type t where t.type = p_type;
    perform foja.check_worker(rule, p_type);
    if (p_limit between 1 and 10000) is not true then
        perform foja.refuse('bad_payload', 'a claim takes 1 to 10,000 jobs');
    end if;
    perform foja.check_size(p_worker, 255, 'the name of a worker');
    if rule.paused then
        return;
    elsif rule.level then
        perform foja.queue_woken_v1();
    end if;
    moment := clock_timestamp();
    return query
        with left_behind as materialized (
            select j.job_id, j.correlation_id <> j.entity_id as strange from foja.job j
            where j.type = p_type and j.state = 'running' and j.lease_until < moment
                and (p_tenant is null or j.tenant = p_tenant)
                and (j.tries < j.max_tries or not j.alone)
            order by j.lease_until limit 1 for update skip locked
        )
        update foja.job j
        set tries = j.tries + j.alone::integer, alone = true, lease_token = token, lease_until = moment + rule.lease,
            worker = p_worker, correlation_id = j.entity_id, corrected = j.corrected or l.strange
        from left_behind l where j.job_id = l.job_id
        returning j.job_id, j.type, j.entity_id, j.tenant, j.dedupe_key, j.payload, j.tries, j.max_tries, j.lease_token,
            extract(epoch from rule.lease)::double precision, true, l.strange;
    if found then
        return;
    end if;
    for level in 0 .. 2 loop
        return query
            with due as materialized (
                select j.job_id, j.correlation_id <> j.entity_id as strange from foja.job j
                where j.type = p_type and j.priority = level and j.run_at <= moment
                    and (p_tenant is null or j.tenant = p_tenant) and j.head and j.state in ('queued', 'retry_scheduled')
                order by j.run_at, j.job_id limit missing for update skip locked
            )
            update foja.job j
            set state = 'running', tries = j.tries + 1, alone = false, lease_token = token,
                lease_until = moment + rule.lease, worker = p_worker, correlation_id = j.entity_id,
                corrected = j.corrected or d.strange
            from due d where j.job_id = d.job_id
            returning j.job_id, j.type, j.entity_id, j.tenant, j.dedupe_key, j.payload, j.tries, j.max_tries,
                j.lease_token, extract(epoch from rule.lease)::double precision, false, d.strange;
        get diagnostics found_now = row_count;
        missing := missing - found_now;
        exit when missing <= 0;
    end loop;
end $$;

-- More time for jobs that are still ours; returns which are. One that is being settled right now is
-- left alone.
create function foja.heartbeat_jobs_v1(p_job bigint[], p_token uuid[]) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    with held as materialized (
        select j.job_id, t.lease from unnest(p_job, p_token) u(job_id, token)
        join foja.job j on j.job_id = u.job_id and j.lease_token = u.token and j.state = 'running'
        join foja.job_type t on t.type = j.type and t.role = foja.acting_role()
        order by j.job_id for no key update of j skip locked
    )
    update foja.job j set lease_until = clock_timestamp() + h.lease from held h where j.job_id = h.job_id;
    return query
        select j.job_id from unnest(p_job, p_token) u(job_id, token)
        join foja.job j on j.job_id = u.job_id and j.lease_token = u.token and j.state = 'running';
end $$;
