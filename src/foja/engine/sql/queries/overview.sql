-- name: overview_counts
-- What may need a person, each counted up to a limit: dead jobs, approvals that wait, documents with failed evidence;
-- how long the oldest job waits that could be claimed, which types are paused, why the log is halted, when the newest
-- checkpoint was published, and how many networks send no batch.
select
    (select count(*) from (select from foja.job j where j.state = 'dead' and not j.silent
        and (%(tenant)s::text is null or j.tenant = %(tenant)s) limit %(most)s) dead) as dead_jobs,
    (select count(*) from (select from foja.approval_due a where a.tenant = coalesce(%(tenant)s, a.tenant)
        and a.due > clock_timestamp() limit %(most)s) waiting) as approvals,
    (select count(*) from (select from foja.document_summary s where (%(tenant)s::text is null or s.tenant = %(tenant)s)
        and s.failed and foja.is_given_up(s.entity_id) limit %(few)s) stuck) as failed_documents,
    (select coalesce(extract(epoch from clock_timestamp() - min(ready.run_at)), 0)::double precision
        from foja.job_type t cross join generate_series(0, 2) rank cross join lateral (
            select j.run_at from foja.job j where j.type = t.type and j.priority = rank and j.run_at <= clock_timestamp()
                and j.head and j.state in ('queued', 'retry_scheduled') and (%(tenant)s::text is null or j.tenant = %(tenant)s)
            order by j.run_at limit 1) ready
        where not t.paused) as oldest_ready_seconds,
    array(select t.type from foja.job_type t where t.paused order by t.type) as paused,
    (select l.halted from foja.log l where l.closed_size is null) as halted,
    (select c.published_at from foja.log l cross join lateral (select x.published_at from foja.checkpoint x
        where x.origin = l.origin and x.published_at is not null order by x.size desc limit 1) c where l.closed_size is null) as published_at,
    array(select n.network from foja.anchor_network n where n.held is not null order by n.network) as held,
    clock_timestamp() as now;

-- name: job_hours
-- The newest jobs that ended within a day, by hour: how many, how many did not succeed, and how long nineteen of twenty
-- took from their time to their end.
select date_trunc('hour', j.finished_at) as hour, count(*) as ended, count(*) filter (where j.state <> 'succeeded') as failed,
    percentile_cont(0.95) within group (order by extract(epoch from j.finished_at - j.run_at)) as p95_seconds
from (select n.finished_at, n.state, n.run_at from foja.job n where (%(tenant)s::text is null or n.tenant = %(tenant)s)
    order by n.job_id desc limit %(most)s) j
where j.finished_at > clock_timestamp() - interval '1 day' group by 1 order by 1;

-- name: closing_criteria
-- The seed's criteria for closing its four phases.
select phase, criterion, value, threshold, met from public.vw_image_closing_criteria;

-- name: jobs_in_state
-- Ids of the newest jobs in a state. One branch per state, so that each uses its own index; the others cost nothing. Of
-- jobs that wait or run, those of each type that run last are taken. Jobs that wait behind an earlier one of their stream
-- are left out. A type of ended jobs is looked for among the newest in that state.
select job_id from (
    (select f.job_id from foja.job_type t cross join generate_series(0, 2) rank cross join lateral (select j.job_id from foja.job j
        where %(state)s = 'queued' and j.type = t.type and j.priority = rank and j.head
        and j.state in ('queued', 'retry_scheduled') and j.state = 'queued' and (%(tenant)s::text is null or j.tenant = %(tenant)s)
        and (%(before)s::bigint is null or j.job_id < %(before)s)
        order by j.run_at desc, j.job_id desc limit %(limit)s) f where %(type)s::text is null or t.type = %(type)s)
    union all (select f.job_id from foja.job_type t cross join generate_series(0, 2) rank cross join lateral (select j.job_id from foja.job j
        where %(state)s = 'retry_scheduled' and j.type = t.type and j.priority = rank and j.head
        and j.state in ('queued', 'retry_scheduled') and j.state = 'retry_scheduled' and (%(tenant)s::text is null or j.tenant = %(tenant)s)
        and (%(before)s::bigint is null or j.job_id < %(before)s)
        order by j.run_at desc, j.job_id desc limit %(limit)s) f where %(type)s::text is null or t.type = %(type)s)
    union all (select f.job_id from foja.job_type t cross join lateral (select j.job_id from foja.job j
        where %(state)s = 'running' and j.type = t.type and j.state = 'running' and (%(tenant)s::text is null or j.tenant = %(tenant)s)
        and (%(before)s::bigint is null or j.job_id < %(before)s)
        order by j.lease_until desc limit %(limit)s) f where %(type)s::text is null or t.type = %(type)s)
    union all (select w.job_id from (select j.job_id, j.type from foja.job j where %(state)s = 'dead' and j.state = 'dead'
        and (%(tenant)s::text is null or j.tenant = %(tenant)s) and (%(before)s::bigint is null or j.job_id < %(before)s)
        order by j.job_id desc limit %(newest)s) w
        where %(type)s::text is null or w.type = %(type)s order by w.job_id desc limit %(limit)s)
    union all (select w.job_id from (select j.job_id, j.type from foja.job j where %(state)s = 'cancelled' and j.state = 'cancelled'
        and (%(tenant)s::text is null or j.tenant = %(tenant)s) and (%(before)s::bigint is null or j.job_id < %(before)s)
        order by j.job_id desc limit %(newest)s) w
        where %(type)s::text is null or w.type = %(type)s order by w.job_id desc limit %(limit)s)
    union all (select w.job_id from (select j.job_id, j.type from foja.job j where %(state)s = 'succeeded' and j.state = 'succeeded'
        and (%(tenant)s::text is null or j.tenant = %(tenant)s) and (%(before)s::bigint is null or j.job_id < %(before)s)
        order by j.job_id desc limit %(newest)s) w
        where %(type)s::text is null or w.type = %(type)s order by w.job_id desc limit %(limit)s)
) found order by job_id desc limit %(limit)s;

-- name: jobs_of_type
-- Ids of the jobs of one type among the newest of all types.
select w.job_id from (select j.job_id, j.type from foja.job j where j.tenant = %(tenant)s order by j.job_id desc limit %(newest)s) w
where w.type = %(type)s order by w.job_id desc limit %(limit)s;

-- name: jobs_of_stream
-- Ids of the newest jobs of one stream, of one type or in one state.
select j.job_id from foja.job j where j.entity_id = %(entity)s and j.tenant = %(tenant)s
    and (%(type)s::text is null or j.type = %(type)s) and (%(state)s::text is null or j.state = %(state)s)
order by j.job_id desc limit %(limit)s;

-- name: job_counts
-- How many jobs are in each state, each counted up to a limit.
select 'queued', count(*) from (select from foja.job where head and state in ('queued', 'retry_scheduled')
    and state = 'queued' and (%(tenant)s::text is null or tenant = %(tenant)s) limit %(most)s) found
union all select 'retry_scheduled', count(*) from (select from foja.job where head and state in ('queued', 'retry_scheduled')
    and state = 'retry_scheduled' and (%(tenant)s::text is null or tenant = %(tenant)s) limit %(most)s) found
union all select 'running', count(*) from (select from foja.job where state = 'running'
    and (%(tenant)s::text is null or tenant = %(tenant)s) limit %(most)s) found
union all select 'dead', count(*) from (select from foja.job where state = 'dead'
    and (%(tenant)s::text is null or tenant = %(tenant)s) limit %(most)s) found
union all select 'cancelled', count(*) from (select from foja.job where state = 'cancelled'
    and (%(tenant)s::text is null or tenant = %(tenant)s) limit %(most)s) found
union all select 'succeeded', count(*) from (select from foja.job where state = 'succeeded'
    and (%(tenant)s::text is null or tenant = %(tenant)s) limit %(most)s) found;

-- name: job_type_states
-- Every job type, and whether it is paused.
select type, domain, paused from foja.job_type order by type;

-- name: recent_checkpoints
-- The newest published checkpoints.
select c.origin, l.name as log, c.size, encode(c.root, 'hex') as root, c.published_at,
    (select count(*) from foja.cosignature s where s.origin = c.origin and s.size = c.size) as cosignatures
from foja.checkpoint c join foja.log l on l.origin = c.origin
where c.published_at is not null order by c.origin desc, c.size desc limit %(limit)s;
